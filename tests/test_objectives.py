"""What rows are trained to predict, by hand and by definition."""

import h5py
import numpy as np
import pytest

from babelmill.models.families import family
from babelmill.pretraining.examples import Share
from babelmill.pretraining.objectives import NO_TARGET, arrays, objective, parts
from babelmill.pretraining.validation import summary, validate
from babelmill.shards.layout import concatenate
from babelmill.training.processes import Processes
from pretraining_cases import VOCABULARY, model_config, rows_of, share

XLM_FIELDS = ["input_ids", "input_mask", "position_ids", "lang_ids"]


def row(ids, masked=(), labels=(), causal=0):
    """One row of 8, padded with 2, in language 1."""
    length = len(ids)
    return {
        "input_ids": np.array([[*ids, *[2] * (8 - length)]], np.int32),
        "input_mask": (np.arange(8) < length).astype(np.int8)[None],
        "segment_ids": np.zeros((1, 8), np.int8),
        "masked_lm_positions": np.array(
            [[*masked, *[0] * (3 - len(masked))]], np.int32
        ),
        "masked_lm_ids": np.array([[*labels, *[0] * (3 - len(labels))]], np.int32),
        "next_sentence_labels": np.ones(1, np.int8),
        "lang_ids": np.ones((1, 8), np.int8),
        "position_ids": np.arange(8, dtype=np.int16)[None],
        "causal": np.full(1, causal, np.int8),
    }


def test_masked_positions_are_flattened_over_the_longest_row():
    rows = concatenate([row([1, 5, 7, 8], [1], [30]), row([1, 9, 5], [2], [31])])
    batch = arrays(rows, XLM_FIELDS, causal=False)
    assert batch["input_ids"].tolist() == [[1, 5, 7, 8], [1, 9, 5, 2]]
    assert batch["input_mask"].tolist() == [[1, 1, 1, 1], [1, 1, 1, 0]]
    assert batch["flat_positions"].tolist() == [1, 4 + 2]
    assert batch["labels"].tolist() == [30, 31]
    assert batch["input_mask"].dtype == np.float32
    assert batch["flat_positions"].dtype == batch["labels"].dtype == np.int64


def test_every_real_token_but_the_first_is_predicted_from_the_one_before():
    rows = concatenate([row([1, 7, 8, 9], causal=1), row([1, 6], causal=1)])
    batch = arrays(rows, XLM_FIELDS, causal=True)
    assert batch["flat_positions"].tolist() == [0, 1, 2, 4]
    assert batch["labels"].tolist() == [7, 8, 9, 6]


def test_rows_without_a_target_give_one_that_does_not_count():
    batch = arrays(row([1, 7, 8]), XLM_FIELDS, causal=False)
    assert batch["labels"].tolist() == [NO_TARGET]


def test_kinds_of_rows_are_parts_of_their_own():
    rows = concatenate([row([1, 7, 8], causal=1), row([1, 5, 8], [1], [9])])
    both = parts(Share([rows, row([1, 4], causal=1)], 4, 3, 8), XLM_FIELDS)
    assert [part.causal for part in both] == [False, True, True]
    assert [part.arrays["labels"].tolist() for part in both] == [[9], [7, 8], [4]]
    assert {float(p.arrays["per_prediction"]) for p in both} == {0.25}


def tensors(arrays):
    import paddle

    return {name: paddle.to_tensor(value) for name, value in arrays.items()}


def log_probabilities(scores):
    scores = scores.astype(float) - scores.max(-1, keepdims=True)
    return scores - np.log(np.exp(scores).sum(-1, keepdims=True))


@pytest.mark.parametrize("model_type", ["xlm", "bert"])
def test_losses_are_means_over_the_global_batch(model_type):
    import paddle

    config = model_config(model_type, dropout=0.0)
    models = family(config)
    paddle.seed(1)
    model = models.pretraining_model(config)
    model.eval()
    fields = models.input_fields(config)
    causal = model_type == "xlm"
    words, word_count, pairs, pair_count = 0.0, 0, 0.0, 0
    # By definition: row by row, every position scored.
    whole = share(0, causal=causal).micro_batches[0]
    for number in range(8):
        one = {name: values[number : number + 1] for name, values in whole.items()}
        is_causal = bool(one["causal"][0])
        batch = tensors(arrays(one, fields, is_causal))
        batch["flat_positions"] = paddle.arange(batch["input_ids"].shape[1])
        scores, pair = models.pretraining_scores(model, batch, is_causal)
        logs = log_probabilities(scores.numpy())
        length = int(one["input_mask"].sum())
        if is_causal:
            targets = [(p, one["input_ids"][0, p + 1]) for p in range(length - 1)]
        else:
            masked = one["masked_lm_positions"][0]
            targets = [
                (p, t)
                for p, t in zip(masked, one["masked_lm_ids"][0], strict=True)
                if p
            ]
        words -= sum(logs[p, t] for p, t in targets)
        word_count += len(targets)
        if pair is not None:
            label = one["next_sentence_labels"][0]
            pairs -= log_probabilities(pair.numpy())[0, label]
            pair_count += 1
    found = np.zeros(2)
    for given in (share(0, r, 2, micro_batches=2, causal=causal) for r in range(2)):
        for part in parts(given, fields):
            batch = tensors(part.arrays)
            found += objective(models)(model, batch, part.causal).numpy()
    assert found[0] == pytest.approx(words / word_count, rel=1e-5)
    assert found[1] == pytest.approx(pairs / pair_count if pair_count else 0, rel=1e-5)


class Oracle:
    """A family whose model always gives the word 7: a score of 3, 0 for all others."""

    @staticmethod
    def input_fields(config):
        return ["input_ids", "input_mask"]

    @staticmethod
    def pretraining_scores(model, batch, causal):
        import paddle

        one_hot = paddle.nn.functional.one_hot
        words = 3.0 * one_hot(paddle.full_like(batch["labels"], 7), VOCABULARY)
        if not model.pairs:
            return words, None
        rows = paddle.ones([len(batch["input_ids"])], "int64")
        return words, 3.0 * one_hot(rows, 2)


class Model:
    def __init__(self, pairs):
        self.pairs = pairs

    def eval(self):
        pass

    train = eval


RIGHT = np.log(np.exp(3) + VOCABULARY - 1) - 3
WRONG = np.log(np.exp(3) + VOCABULARY - 1)


def write(path, rows):
    with h5py.File(path, "w") as shard:
        for name, values in rows.items():
            shard[name] = values


def test_validation_keeps_languages_pairs_and_directions_apart(tmp_path):
    pair = row([1, 5, 3, 1, 5], [1, 4], [7, 7])
    pair["lang_ids"][:, 3:] = 0
    pair["position_ids"][0, 3:5] = [0, 1]
    rows = [row([1, 5, 3], [1], [7]), row([1, 5, 5], [1, 2], [7, 8]), pair]
    rows += [row([1, 7, 7, 6], causal=1)] * 9
    write(tmp_path / "validation.hdf5", concatenate(rows))
    config = {"lang2id": {"de": 0, "en": 1}}
    scores = validate(Oracle, config, Model(False), tmp_path / "validation.hdf5")
    assert {name: score["n"] for name, score in scores.items()} == {
        "de+": 1,
        "en": 3,
        "en+": 1,
        "en>": 27,
    }
    assert scores["en"]["accuracy"] == pytest.approx(2 / 3, abs=1e-6)
    assert scores["en>"]["accuracy"] == pytest.approx(2 / 3, abs=1e-6)
    mean = (2 * RIGHT + WRONG) / 3
    assert scores["en"]["loss"] == pytest.approx(mean, abs=1e-6)
    assert scores["en"]["perplexity"] == pytest.approx(np.exp(mean), abs=1e-3)
    assert summary({"en": scores["en"]}) == f"en {np.exp(mean):.1f}"


def test_validation_of_a_bert_scores_pairs(tmp_path):
    rows = [row([1, 5, 3], [1], [7]), row([1, 5, 5], [1, 2], [8, 8])]
    rows[0]["next_sentence_labels"][:] = 0
    rows = concatenate(rows)
    del rows["lang_ids"], rows["position_ids"], rows["causal"]
    write(tmp_path / "validation.hdf5", rows)
    scores = validate(Oracle, {}, Model(True), tmp_path / "validation.hdf5")
    assert scores["mlm"]["n"] == 3
    assert scores["mlm"]["accuracy"] == pytest.approx(1 / 3, abs=1e-6)
    assert scores["nsp"]["accuracy"] == 0.5
    assert scores["nsp"]["loss"] == pytest.approx(np.log(1 + np.exp(3)) - 1.5, abs=1e-5)
    assert "perplexity" not in scores["nsp"]


def test_validation_of_a_bert_keeps_languages_apart(tmp_path):
    rows = [row([1, 5, 3], [1], [7]), row([1, 5, 5], [1, 2], [7, 8])]
    rows.append(row([1, 5, 3, 5], [1, 3], [8, 7]))
    rows[1]["next_sentence_labels"][:] = 0
    rows = concatenate(rows)
    rows["language"] = np.array(["en", "de", "en"], "S3")
    del rows["lang_ids"], rows["position_ids"], rows["causal"]
    write(tmp_path / "validation.hdf5", rows)
    scores = validate(Oracle, {}, Model(True), tmp_path / "validation.hdf5")
    assert list(scores) == ["mlm", "nsp", "de", "en"]
    # The model takes every pair for a random one.
    found = {
        name: (
            scores[name]["n"],
            scores[name]["accuracy"],
            scores[name]["nsp_accuracy"],
        )
        for name in ("de", "en")
    }
    assert found["de"] == (2, 0.5, 0.0)
    assert found["en"] == (3, pytest.approx(2 / 3, abs=1e-6), 1.0)
    mean = (2 * RIGHT + WRONG) / 3
    assert scores["en"]["loss"] == pytest.approx(mean, abs=1e-6)
    assert scores["en"]["perplexity"] == pytest.approx(np.exp(mean), abs=1e-3)
    assert scores["mlm"]["n"] == 5 and "nsp_accuracy" not in scores["mlm"]
    assert scores["nsp"]["accuracy"] == pytest.approx(2 / 3, abs=1e-6)


def test_processes_validate_every_row_once(tmp_path, monkeypatch):
    rows = rows_of(np.random.default_rng(2), 300, causal=True)
    write(tmp_path / "validation.hdf5", rows)
    config = {"lang2id": {"de": 0, "en": 1}}
    summed = []
    monkeypatch.setattr(
        Processes, "summed", lambda _, sums: summed.append(sums) or sums
    )
    path = tmp_path / "validation.hdf5"
    whole = validate(Oracle, config, Model(False), path)
    for rank in range(3):
        validate(Oracle, config, Model(False), path, Processes(rank, 3))
    assert np.sum(summed[1:], axis=0) == pytest.approx(summed[0])
    assert sum(score["n"] for score in whole.values()) == summed[0][:, 2].sum()
