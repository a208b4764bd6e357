"""Exported models label as the models that they were exported from."""

import numpy as np
import pytest

import bert_by_definition
from babelmill.models import xlm
from babelmill.models.families import family
from babelmill.models.inputs import Inputs, sorted_batches

CONFIG = {
    "emb_dim": 16,
    "n_layers": 2,
    "n_heads": 2,
    "vocab_size": 50,
    "n_langs": 3,
    "max_position_embeddings": 32,
    "num_labels": 3,
    "dropout": 0.1,
    "attention_dropout": 0.1,
}
PAD = 2


def inputs(count=17):
    """Texts of 2 to 19 tokens, in two segments."""
    rng = np.random.default_rng(1)
    ids = [rng.integers(5, 50, rng.integers(2, 20)) for _ in range(count)]
    segments = [np.arange(len(row)) * 2 // len(row) for row in ids]
    return Inputs.of(ids, segments, lang_id=1)


BERT = bert_by_definition.config(vocab_size=50, pad_token_id=PAD, num_labels=3)
XLM_INPUTS = ["input_ids", "input_mask", "lang_ids", "position_ids"]
BERT_INPUTS = ["input_ids", "input_mask", "segment_ids"]


@pytest.mark.parametrize(
    ("config", "fields"),
    [
        (CONFIG, XLM_INPUTS),
        (
            {**CONFIG, "use_lang_emb": False},
            [name for name in XLM_INPUTS if name != "lang_ids"],
        ),
        (BERT, BERT_INPUTS),
        ({**BERT, "model_type": "ernie"}, BERT_INPUTS),
    ],
)
def test_predictor_agrees_with_the_model_on_any_batch(tmp_path, config, fields):
    import paddle

    from babelmill.inference.export import export_classifier
    from babelmill.inference.predictor import Predictor

    models = family(config)
    model = models.classification_model(config, 3, dropout=0.1)
    models.save(tmp_path, config, model)
    export_classifier(config, "sequence_classification", tmp_path, tmp_path)
    model.eval()
    examples = inputs()
    expected = np.zeros((len(examples), 3), np.float32)
    for rows, batch in sorted_batches(examples, 1, PAD):
        tensors = {name: paddle.to_tensor(value) for name, value in batch.items()}
        expected[rows] = models.classify(model, tensors).numpy()
    for batch_size in (1, 4, 64):
        predictor = Predictor(tmp_path, gpus=0, threads=1)
        assert sorted(predictor.fields) == fields
        logits = predictor.predict(examples, batch_size, PAD)
        assert np.abs(logits - expected).max() < 1e-5


def test_batches_hold_every_input_once_and_are_padded_by_hand():
    examples = inputs(10)
    ids = np.split(examples.ids, np.cumsum(examples.lengths)[:-1])
    segments = np.split(examples.segments, np.cumsum(examples.lengths)[:-1])
    seen = []
    for rows, batch in sorted_batches(examples, 4, PAD):
        seen += rows.tolist()
        for place, row in enumerate(rows):
            length = len(ids[row])
            assert batch["input_ids"][place, :length].tolist() == ids[row].tolist()
            assert (batch["input_ids"][place, length:] == PAD).all()
            padded = batch["segment_ids"][place]
            assert padded.tolist() == [
                *segments[row],
                *[0] * (len(padded) - length),
            ]
            assert batch["input_mask"][place].sum() == length
            assert batch["lang_ids"][place].tolist() == [1] * len(batch["lang_ids"][0])
    assert sorted(seen) == list(range(10))


def test_inputs_of_several_languages_share_a_batch():
    parts = [Inputs.of([[5, 6]], [[0, 1]], 0), Inputs.of([[7], [8]], [[0], [1]], 2)]
    joined = Inputs.joined(parts)
    assert len(joined) == 3
    batch = joined.batch(np.asarray([2, 0]), PAD)
    assert batch["input_ids"].tolist() == [[8, PAD], [5, 6]]
    assert batch["segment_ids"].tolist() == [[1, 0], [0, 1]]
    assert batch["position_ids"].tolist() == [[0, 1], [0, 1]]
    assert batch["lang_ids"].tolist() == [[2, 2], [0, 0]]
    assert batch["input_mask"].tolist() == [[1, 0], [1, 1]]
    assert {batch[n].dtype.name for n in ("input_ids", "lang_ids")} == {"int64"}


def test_centering_cancels_the_mean_word_of_a_language(tmp_path):
    from babelmill.models.weights import save_weights

    config = {**CONFIG, "n_langs": 2}
    model = xlm.classification_model(config, 3, dropout=0.0)
    counts = np.zeros((2, 50), np.float32)
    counts[0, [10, 11]] = 3, 1
    save_weights(tmp_path / xlm.TOKEN_COUNTS, {"counts": counts})
    xlm.center_languages(model, tmp_path)
    words = model.xlm.embeddings.weight.numpy()
    langs = model.xlm.lang_embeddings.weight.numpy()
    assert langs[0] == pytest.approx(-(0.75 * words[10] + 0.25 * words[11]), abs=1e-6)
    assert not langs[1].any()
