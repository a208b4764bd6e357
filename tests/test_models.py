"""XLM computes what an independent implementation computes, from its weights."""

import json
import subprocess
import sys

import numpy as np
import pytest

from babelmill.errors import UserError
from babelmill.models import folders, xlm
from babelmill.models.weights import load_tensors, read_weights, save_weights
from conftest import ROOT

TOLERANCE = 1e-5


@pytest.fixture(scope="module")
def tiny(test_data):
    folder = test_data("golden", "xlm_tiny")
    with np.load(folder / "reference.npz") as arrays:
        return folder, xlm.load_config(folder), {n: arrays[n] for n in arrays.files}


def batch_of(reference, position_ids=None):
    import paddle

    length = reference["input_ids"].shape[1]
    if position_ids is None:
        position_ids = np.broadcast_to(np.arange(length), reference["langs"].shape)
    return {
        "input_ids": paddle.to_tensor(reference["input_ids"]),
        "lang_ids": paddle.to_tensor(reference["langs"]),
        "input_mask": paddle.to_tensor(reference["attention_mask"].astype("float32")),
        "position_ids": paddle.to_tensor(position_ids.astype("int64")),
    }


def real_positions(reference):
    return reference["attention_mask"].astype(bool)


def test_masked_lm_agrees_with_the_reference(tiny):
    import paddle

    folder, config, reference = tiny
    model = xlm.pretraining_model(config)
    xlm.load(model, folder)
    model.eval()
    real = real_positions(reference)
    batch = batch_of(reference)
    hidden = xlm.encode(model.xlm, batch).numpy()
    assert np.abs(hidden - reference["hidden"])[real].max() < TOLERANCE
    assert not hidden[~real].any()
    labels = reference["mlm_labels"].ravel()
    chosen = np.flatnonzero(labels != -100)
    batch["flat_positions"] = paddle.to_tensor(chosen)
    logits, _ = xlm.pretraining_scores(model, batch)
    expected = reference["mlm_logits"].reshape(-1, config["vocab_size"])[chosen]
    assert np.abs(logits.numpy() - expected).max() < TOLERANCE
    loss = paddle.nn.functional.cross_entropy(logits, paddle.to_tensor(labels[chosen]))
    assert float(loss) == pytest.approx(float(reference["mlm_loss"]), abs=TOLERANCE)


def test_restarting_positions_agree_with_the_reference(tiny):
    folder, config, reference = tiny
    model = xlm.pretraining_model(config)
    xlm.load(model, folder)
    model.eval()
    hidden = xlm.encode(model.xlm, batch_of(reference, reference["position_ids"]))
    expected = reference["hidden_with_position_ids"]
    real = real_positions(reference)
    assert np.abs(hidden.numpy() - expected)[real].max() < TOLERANCE


def test_classification_agrees_with_the_reference(tiny):
    folder, config, reference = tiny
    model = xlm.classification_model(config, 3, dropout=0.0)
    xlm.load(model, folder)
    model.eval()
    logits = xlm.classify(model, batch_of(reference)).numpy()
    assert np.abs(logits - reference["cls_logits"]).max() < TOLERANCE


def scores_of_all(model, batch, causal):
    """Scores of the vocabulary at every position (positions, vocabulary)."""
    import paddle

    everywhere = paddle.arange(batch["input_ids"].size)
    batch = {**batch, "flat_positions": everywhere}
    words, pairs = xlm.pretraining_scores(model, batch, causal=causal)
    assert pairs is None
    return words.numpy()


def test_causal_scores_agree_with_the_reference(tiny):
    folder, config, reference = tiny
    model = xlm.pretraining_model(config)
    xlm.load(model, folder)
    model.eval()
    scores = scores_of_all(model, batch_of(reference), causal=True)
    expected = reference["causal_logits"].reshape(scores.shape)
    real = real_positions(reference).ravel()
    assert np.abs(scores - expected)[real].max() < TOLERANCE


SMALL = {
    "emb_dim": 16,
    "n_layers": 2,
    "n_heads": 2,
    "vocab_size": 50,
    "n_langs": 3,
    "max_position_embeddings": 32,
}


def small_batch(padding_id=2, left=False):
    """Rows of 7 and 4 tokens, padded to 7 on one side or the other."""
    import paddle

    rng = np.random.default_rng(4)
    batch = {
        "input_ids": rng.integers(5, 50, (2, 7)),
        "lang_ids": rng.integers(0, 3, (2, 7)),
        "position_ids": np.tile(np.arange(7), (2, 1)),
        "input_mask": np.ones((2, 7), np.float32),
    }
    batch["input_ids"][1, 4:] = padding_id
    batch["input_mask"][1, 4:] = 0
    if left:
        batch = {n: np.stack([v[0], np.roll(v[1], 3)]) for n, v in batch.items()}
    return {name: paddle.to_tensor(value) for name, value in batch.items()}


@pytest.mark.parametrize("causal", [False, True])
def test_padding_is_never_seen(causal):
    model = xlm.pretraining_model(SMALL)
    model.eval()
    right = scores_of_all(model, small_batch(), causal).reshape(2, 7, -1)
    other = scores_of_all(model, small_batch(padding_id=9), causal).reshape(2, 7, -1)
    assert (right[0] == other[0]).all()
    assert (right[1, :4] == other[1, :4]).all()
    left = scores_of_all(model, small_batch(left=True), causal).reshape(2, 7, -1)
    assert np.abs(right[0] - left[0]).max() < TOLERANCE
    assert np.abs(right[1, :4] - left[1, 3:]).max() < TOLERANCE


def test_the_activation_is_the_one_that_hugging_face_says():
    import paddle

    below_zero = paddle.to_tensor([-1.0])
    for gelu, expected in ((True, -0.158655), (False, 0.0)):
        model = xlm.pretraining_model({**SMALL, "gelu_activation": gelu})
        value = float(model.xlm.ffns[0].act(below_zero))
        assert value == pytest.approx(expected, abs=1e-6)


def as_paddlenlp(batch):
    return {name: batch[field] for field, name in xlm.INPUTS.items()}


def test_a_training_encoder_is_paddlenlps():
    """The same draws too."""
    import paddle

    model = xlm.classification_model(SMALL, 3, dropout=0.3)
    model.train()
    batch = small_batch()
    paddle.seed(5)
    ours = xlm.encode(model.xlm, batch)
    paddle.seed(5)
    theirs = model.xlm(**as_paddlenlp(batch))[0]
    assert (ours == theirs).all()


def test_a_classifier_is_paddlenlps():
    """Though its last layer is computed for the first token alone."""
    model = xlm.classification_model(SMALL, 3, dropout=0.0)
    batch = small_batch()
    ours, theirs = xlm.classify(model, batch), model(**as_paddlenlp(batch))
    assert np.abs((ours - theirs).numpy()).max() < 1e-6
    gradients = []
    for logits in (ours, theirs):
        logits.exp().sum().backward()
        gradients.append({n: p.grad.numpy() for n, p in model.named_parameters()})
        model.clear_gradients()
    for name, gradient in gradients[0].items():
        assert np.abs(gradient - gradients[1][name]).max() < 1e-5, name
    first = xlm.encode(model.xlm, batch, first_alone=True)
    assert first.shape == [2, 1, SMALL["emb_dim"]]


def test_what_a_classifier_reads_is_dropped_out():
    model = xlm.classification_model(SMALL, 3, dropout=0.0)
    model.train()
    model.dropout.p = 1.0
    logits = xlm.classify(model, small_batch())
    assert (logits == model.classifier.bias).all()


def test_causal_scores_do_not_see_what_comes():
    model = xlm.pretraining_model(SMALL)
    model.eval()
    batch = small_batch()
    before = scores_of_all(model, batch, causal=True).reshape(2, 7, -1)
    batch["input_ids"][0, 3] = 49
    after = scores_of_all(model, batch, causal=True).reshape(2, 7, -1)
    assert (before[0, :3] == after[0, :3]).all()
    assert (np.abs(before[0, 3:] - after[0, 3:]).max(-1) > TOLERANCE).all()


def test_weights_that_do_not_fit_are_named(tmp_path, tiny):
    folder, config, _ = tiny
    model = xlm.classification_model(config, 3, dropout=0.0)
    tensors = folders.tensors(model, folder)
    tensors["xlm.extra.weight"] = tensors.pop("xlm.embeddings.weight")
    with pytest.raises(UserError) as error:
        load_tensors(model, tensors, folder, xlm.PREFIX, (), xlm.HEADS)
    assert "missing xlm.embeddings.weight" in str(error.value)
    assert "left over xlm.extra.weight" in str(error.value)


def test_torn_weights_are_an_error_for_people(tmp_path):
    path = tmp_path / "model.safetensors"
    save_weights(path, {"a": np.zeros((10, 10), np.float32)})
    path.write_bytes(path.read_bytes()[:-8])
    with pytest.raises(UserError, match="not readable as safetensors"):
        read_weights(path)


def test_light_import_leaves_most_of_paddlenlp_out():
    code = (
        "import json, sys; from babelmill.models.paddlenlp_classes import model_module;"
        "model_module('xlm').XLMModel; print(json.dumps(sorted(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT / "workflow_scripts",
        capture_output=True,
        text=True,
        check=True,
    )
    modules = json.loads(done.stdout.splitlines()[-1])
    assert "paddlenlp.transformers.xlm.modeling" in modules
    heavy = {"paddlenlp.taskflow", "paddlenlp.trainer", "datasets"}
    heavy.add("paddlenlp.transformers.xlm.tokenizer")
    assert not heavy & set(modules)
