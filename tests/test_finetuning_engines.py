"""Fine-tuning computes the same with both engines, in one process and in two."""

import numpy as np
import pytest

from babelmill.finetuning.batches import TrainingBatches
from babelmill.finetuning.evaluation import evaluate
from babelmill.finetuning.objective import of_parts
from babelmill.finetuning.sparsity import mask_2_of_4
from babelmill.heads.sequence_classification import SequenceClassification
from babelmill.training.processes import Processes
from babelmill.training.run import Run
from finetuning_cases import CLASSES, DEV, EXACT, OPTIONS, PAD, TRAIN, finetuned

FIELDS = ["input_ids", "input_mask"]


def difference(weights, others):
    assert weights.keys() == others.keys()
    return max(np.abs(weights[name] - others[name]).max() for name in weights)


@pytest.mark.parametrize(
    ("model_type", "settings"), [("bert", {}), ("bert", OPTIONS), ("ernie", {})]
)
def test_engines_agree_in_every_bit(tmp_path, model_type, settings):
    runs = {
        "dynamic": Run("dynamic", gradient_merge_steps=2),
        "compiled": Run("dynamic", to_static=True, gradient_merge_steps=2),
        "static": Run("static", gradient_merge_steps=2),
    }
    found = {
        name: finetuned(model_type, tmp_path / name, run, **settings)
        for name, run in runs.items()
    }
    weights, records = found["dynamic"]
    for others, other_records in found.values():
        assert difference(weights, others) == 0
        assert other_records == records
    # Dropout is on.
    without = finetuned(model_type, tmp_path / "without", dropout=0.0, **settings)
    assert difference(weights, without[0]) > 0


def test_engines_agree_on_an_xlm(tmp_path):
    """Paddle multiplies by a reciprocal in dynamic mode, and divides in a program."""
    weights, records = finetuned("xlm", tmp_path / "1", Run("dynamic"), **OPTIONS)
    others, other_records = finetuned("xlm", tmp_path / "2", Run("static"), **OPTIONS)
    assert difference(weights, others) < 2e-5
    losses = [[r["loss"] for r in run] for run in (records, other_records)]
    assert np.abs(np.subtract(*losses)).max() < 2e-5


@pytest.mark.parametrize("engine", ["dynamic", "static"])
def test_options_do_what_they_say(tmp_path, engine):
    first, _ = finetuned("bert", tmp_path / "1", max_steps=1, learning_rate=1e-30)
    weights, _ = finetuned("bert", tmp_path / "2", Run(engine), **OPTIONS)
    for name in ("embeddings.word_embeddings.weight", "encoder.layers.0.norm1.weight"):
        assert (weights[f"bert.{name}"] == first[f"bert.{name}"]).all()
    for layer in (0, 1):
        name = f"bert.encoder.layers.{layer}.linear1.weight"
        assert ((weights[name] != 0) == mask_2_of_4(first[name])).all()
    moved = np.abs(weights[name] - first[name] * mask_2_of_4(first[name])).max()
    assert moved > 1e-4


def test_engines_agree_in_every_bit_in_two_processes(two_processes):
    records, weights = two_processes("fine-tuning bert dynamic")
    others, other_weights = two_processes("fine-tuning bert static")
    assert records == others
    assert difference(weights, other_weights) == 0


@pytest.mark.parametrize("model_type", ["bert", "xlm"])
def test_two_processes_are_one_that_accumulates(two_processes, tmp_path, model_type):
    records, weights = two_processes(f"fine-tuning {model_type} exact")
    one, one_records = finetuned(
        model_type, tmp_path, Run(gradient_merge_steps=2), **EXACT
    )
    assert difference(weights, one) < 1e-6
    for record, other in zip(records, one_records, strict=True):
        assert record["dev"] == other["dev"]
        assert record["loss"] == pytest.approx(other["loss"], abs=2e-6)
    # The best of several, by what is the same in both.
    assert len({record["dev_mean"] for record in records}) > 1


def batches(rank=0, world=1, merged=1, step=0, steps=12):
    run = Run(gradient_merge_steps=merged, processes=Processes(rank, world))
    made = TrainingBatches(TRAIN, CLASSES, FIELDS, 8, PAD, 1, run)
    return made.from_step(step, steps)


def examples(parts):
    """The real tokens of each example, and its label."""
    return [
        (*map(int, ids[mask > 0]), int(label))
        for part in parts
        for ids, mask, label in zip(
            *(part.arrays[n] for n in (*FIELDS, "labels")), strict=True
        )
    ]


@pytest.mark.parametrize(("world", "merged"), [(1, 1), (2, 1), (3, 2), (1, 3)])
def test_each_example_is_seen_once_an_epoch_over_all_processes(world, merged):
    ends = np.cumsum(TRAIN.inputs.lengths)[:-1]
    ids = np.split(TRAIN.inputs.ids, ends)
    every = sorted(
        (*map(int, tokens), int(label))
        for tokens, label in zip(ids, TRAIN.targets, strict=True)
    )
    alone = list(batches())
    shared = list(
        zip(*(batches(rank, world, merged) for rank in range(world)), strict=True)
    )
    for epoch in (slice(0, 6), slice(6, 12)):
        seen = [
            e for step in shared[epoch] for parts, _ in step for e in examples(parts)
        ]
        assert sorted(seen) == every
    for (whole, tokens), step in zip(alone, shared, strict=True):
        # All processes together have the batch that one has, and know its size.
        rows = [e for parts, _ in step for e in examples(parts)]
        assert sorted(rows) == sorted(examples(whole))
        sizes = {float(p.arrays["per_target"]) for parts, _ in step for p in parts}
        assert sizes == {np.float32(1 / len(rows))}
        assert {count for _, count in step} == {tokens}
        assert tokens == sum(len(e) - 1 for e in rows)
        for parts, _ in step:
            sizes = [len(part.arrays["labels"]) for part in parts]
            assert all(size <= -(-8 // (world * merged)) for size in sizes)


def test_a_resumed_run_sees_what_is_left():
    whole = [examples(parts) for parts, _ in batches()]
    assert [examples(parts) for parts, _ in batches(step=7)] == whole[7:]


class Oracle:
    """A family whose logits are 1 at the class that the second token tells."""

    @staticmethod
    def classify(model, batch):
        import paddle

        return paddle.nn.functional.one_hot(batch["input_ids"][:, 1] % 3, 3)


class Model:
    def eval(self):
        """A layer has it."""

    train = eval


def test_each_dev_example_is_evaluated_by_one_process(monkeypatch):
    shares = []
    monkeypatch.setattr(
        Processes, "summed", lambda _, logits: shares.append(logits) or logits
    )
    arguments = (Oracle, Model(), DEV["en"], CLASSES, PAD)
    assert evaluate(*arguments) == 1.0
    for rank in range(2):
        assert evaluate(*arguments, Processes(rank, 2)) < 1.0
    whole, *rest = shares
    assert (np.sum(rest, axis=0) == whole).all()
    counted = [share.any(1) for share in rest]
    assert (np.sum(counted, axis=0) == 1).all()
    # 150 in batches of 64: the first and the third, and the second.
    assert [count.sum() for count in counted] == [86, 64]


@pytest.mark.parametrize(
    ("head", "targets"),
    [
        (CLASSES, np.array([0, 2, 1, 1, 0])),
        (
            SequenceClassification([], "pearson"),
            np.array([0.5, 4, 1, 2.5, 3], np.float32),
        ),
    ],
)
def test_parts_add_up_to_the_mean_over_the_batch(head, targets):
    import paddle

    logits = np.random.default_rng(1).normal(size=(5, head.outputs))
    logits = logits.astype(np.float32)
    if head.labels:
        chances = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
        mean = -np.log(chances[np.arange(5), targets]).mean()
    else:
        mean = ((logits[:, 0] - targets) ** 2).mean()

    class Given:
        classify = staticmethod(lambda model, batch: batch["logits"])

    losses = of_parts(head, Given)
    scale = paddle.to_tensor(np.float32(1 / head.count(targets)))
    found = sum(
        losses(
            None,
            {
                "logits": paddle.to_tensor(logits[rows]),
                "labels": paddle.to_tensor(targets[rows]),
                "per_target": scale,
            },
            False,
        ).numpy()
        for rows in (slice(0, 2), slice(2, 5))
    )
    assert found == pytest.approx([mean, 0], rel=1e-5)
