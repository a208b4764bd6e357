"""2:4 sparsity against Paddle's own masks, and on weights that were trained."""

import numpy as np
import pytest

import bert_by_definition
from babelmill.errors import UserError
from babelmill.finetuning.sparsity import mask_2_of_4, prune
from babelmill.models.families import family


def test_masks_are_those_of_paddle():
    from paddle.incubate.asp import utils

    weight = np.random.default_rng(1).normal(size=(64, 24)).astype(np.float32)
    # Paddle masks rows; its linear layers are (in, out), and sums run over the first.
    theirs = utils.create_mask(weight.T, utils.MaskAlgo.MASK_1D, 2, 4).T
    ours = mask_2_of_4(weight)
    assert ours.shape == weight.shape
    assert (ours == (theirs != 0)).all()
    assert utils.check_sparsity((weight * ours).T, utils.CheckMethod.CHECK_1D, 2, 4)


def test_a_mask_by_hand():
    weight = np.array([[3, 0], [-4, 0], [1, 0], [2, 0]], np.float32)
    expected = [[True, True], [True, True], [False, False], [False, False]]
    assert mask_2_of_4(weight).tolist() == expected


def test_linear_layers_of_the_encoder_alone_are_masked():
    config = bert_by_definition.config()
    model = family(config).classification_model(config, 2, dropout=0.0)
    before = {name: p.numpy() for name, p in model.named_parameters()}
    masks = prune(model)
    for name, parameter in model.named_parameters():
        value = parameter.numpy()
        masked = "encoder.layers" in name and value.ndim == 2
        expected = before[name] * mask_2_of_4(before[name]) if masked else before[name]
        assert (value == expected).all(), name
        assert (name in masks) == masked
        if masked:
            assert (masks[name] == mask_2_of_4(before[name])).all()


def test_a_width_that_is_no_multiple_of_four_is_refused():
    config = bert_by_definition.config(hidden_size=18, num_attention_heads=2)
    model = family(config).classification_model(config, 2, dropout=0.0)
    with pytest.raises(UserError, match="has 18 inputs, not a multiple of four"):
        prune(model)
