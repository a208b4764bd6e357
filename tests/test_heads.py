"""Inputs, targets, losses and predictions of words, answers and choices."""

import json
from itertools import product

import numpy as np
import pytest

import bert_by_definition
import head_samples
from babelmill.errors import UserError
from babelmill.finetuning.batches import Labeled, TrainingBatches
from babelmill.heads import HEADS
from babelmill.heads.base import IGNORED
from babelmill.heads.multiple_choice import MultipleChoice
from babelmill.heads.question_answering import QuestionAnswering
from babelmill.heads.token_classification import TokenClassification
from babelmill.kinds import KINDS, reported
from babelmill.models.families import family
from babelmill.models.inputs import Inputs
from babelmill.tasks.conll import Sentence
from babelmill.tasks.multiple_choice import Choice
from babelmill.tasks.squad import Answer, Question
from babelmill.tokenizers import load_tokenizer
from babelmill.training.run import Run

LABELS = ["B-LOC", "B-PER", "I-PER", "O"]
SENTENCES = [
    Sentence("0", ("Asha", "Mwangi", "back", "."), ("B-PER", "I-PER", "O", "O")),
    Sentence("1", ("\u200b", "Berlin"), ("O", "B-LOC")),
    Sentence("2", ("John", "sleeps", "in", "Berlin", ".") * 3,
             ("B-PER", "O", "O", "B-LOC", "O") * 3),
]  # fmt: skip
CONTEXT = "In New York, Asha Mwangi sleeps. John lives in Berlin, in Mombasa."
QUESTIONS = [
    Question("a", "Who is in Mombasa?", CONTEXT, (Answer(33, "John"),)),
    Question("b", "Where is Asha?", CONTEXT, (Answer(3, "New York"), Answer(0, "x"))),
    Question("c", "Who?", "Asha.", (Answer(0, "Asha"),)),
]


@pytest.fixture(scope="module", params=["bert", "xlm"])
def tokenizer(tmp_path_factory, request):
    folder = tmp_path_factory.mktemp("tokenizer") / "x"
    head_samples.write_tokenizer(folder, request.param)
    return load_tokenizer(folder)


def test_every_kind_has_a_head_and_every_head_a_kind():
    assert HEADS.keys() == KINDS.keys()
    for name, kind in KINDS.items():
        head = HEADS[name](["a", "b"], kind.metrics[0][0])
        assert head.kind == name and head.outputs in (1, 2)
    with pytest.raises(UserError, match="metric matthews is not for question_answ"):
        reported("question_answering", "matthews")
    assert reported("question_answering", "exact_match") == ["exact_match", "f1"]


# Words


def encoded_words(tokenizer, length):
    head = TokenClassification(LABELS, "f1")
    return head, head.encode(SENTENCES, tokenizer, "en", {"max_seq_length": length})


@pytest.mark.parametrize("length", [6, 8, 40])
def test_every_word_has_its_label_at_its_first_piece(tokenizer, length):
    head, encoded = encoded_words(tokenizer, length)
    inputs, targets = encoded.inputs, head.targets(encoded)
    assert inputs.lengths.max() <= length
    assert (len(inputs) > len(SENTENCES)) == (length < 40)
    batch = inputs.batch(np.arange(len(inputs)), tokenizer.pad_id)
    rows, places = np.nonzero(targets != IGNORED)
    labels = [label for s in SENTENCES for label in s.labels]
    assert [LABELS[i] for i in targets[rows, places]] == labels
    words = [word for s in SENTENCES for word in s.words]
    starts = [ids[0] if len(ids) else tokenizer.unk_id
              for ids in tokenizer.encode_words(words, "en")]  # fmt: skip
    assert batch["input_ids"][rows, places].tolist() == starts
    assert (batch["input_ids"][:, 0] == tokenizer.cls_id).all()
    special = np.isin(batch["input_ids"], [tokenizer.sep_id, tokenizer.pad_id])
    assert (targets[special] == IGNORED).all() and (targets[:, 0] == IGNORED).all()


@pytest.mark.parametrize("length", [6, 40])
def test_predictions_are_read_where_the_targets_stand(tokenizer, length):
    head, encoded = encoded_words(tokenizer, length)
    targets = head.targets(encoded).astype(int)
    shape = head.output_shape(encoded.inputs)
    assert shape == (*targets.shape, len(LABELS))
    # What is no word says something else.
    outputs = np.zeros(shape, np.float32)
    outputs[..., 2] = 0.5
    rows, places = np.nonzero(targets != IGNORED)
    outputs[rows, places, targets[rows, places]] = 1
    predictions = head.predictions(encoded, outputs)
    assert predictions == [list(s.labels) for s in SENTENCES]
    assert head.score("f1", SENTENCES, predictions) == 1
    predictions[0][1] = "O"
    # Of 8 entities, one has another end: 7 right of 8 and of 8.
    assert head.score("f1", SENTENCES, predictions) == pytest.approx(7 / 8)
    assert head.score("accuracy", SENTENCES, predictions) == pytest.approx(20 / 21)
    lines = head.file(SENTENCES, predictions).split("\n")
    assert lines[:6] == [
        "Asha\tB-PER\tB-PER",
        "Mwangi\tI-PER\tO",
        "back\tO\tO",
        ".\tO\tO",
        "",
        "\u200b\tO\tO",
    ]
    unlabeled = [Sentence(s.id, s.words, None) for s in SENTENCES]
    assert head.file(unlabeled, predictions).split("\n")[1] == "Mwangi\tO"


def test_the_loss_of_words_is_the_sum_over_them(tokenizer):
    import paddle

    head, encoded = encoded_words(tokenizer, 8)
    targets = head.targets(encoded).astype(int)
    rng = np.random.default_rng(2)
    logits = rng.normal(size=head.output_shape(encoded.inputs)).astype(np.float32)
    chances = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
    rows, places = np.nonzero(targets != IGNORED)
    expected = -np.log(chances[rows, places, targets[rows, places]]).sum()
    loss = head.loss(paddle.to_tensor(logits), paddle.to_tensor(targets))
    assert float(loss) == pytest.approx(expected, rel=1e-5)
    assert head.count(targets) == len(rows) == 21


def test_a_longer_word_than_there_is_room_for_is_cut(tokenizer):
    head = TokenClassification(["O"], "f1")
    sentence = Sentence("0", ("x" * 50, "in"), ("O", "O"))
    encoded = head.encode([sentence], tokenizer, "en", {"max_seq_length": 8})
    assert encoded.inputs.lengths.max() <= 8
    assert [len(places) for places in encoded.places] in ([1, 1], [2])


def test_batches_of_words_have_targets_as_wide_as_they_are(tokenizer):
    head = TokenClassification(LABELS, "f1")
    parts = [
        Labeled(part.inputs, head.targets(part), True)
        for part in (
            head.encode(some, tokenizer, "en", {"max_seq_length": 40})
            for some in (SENTENCES[:2], SENTENCES[2:])
        )
    ]
    assert parts[0].targets.shape[1] < parts[1].targets.shape[1]
    fields = ["input_ids", "input_mask"]
    batches = TrainingBatches(
        Labeled.joined(parts), head, fields, 1, tokenizer.pad_id, 1, Run()
    )
    seen = []
    for (part,), _ in batches.from_step(0, batches.per_epoch):
        ids, labels = part.arrays["input_ids"], part.arrays["labels"]
        assert ids.shape == labels.shape
        assert part.arrays["per_target"] == np.float32(1 / head.count(labels))
        seen.append([LABELS[i] for i in labels[labels != IGNORED]])
    assert sorted(seen) == sorted(list(s.labels) for s in SENTENCES)


# Answers


def reading(length, stride=3, query=4, answer=30):
    return {
        "max_seq_length": length,
        "doc_stride": stride,
        "max_query_length": query,
        "max_answer_length": answer,
    }


def encoded_answers(tokenizer, settings):
    head = QuestionAnswering([], "f1")
    return head, head.encode(QUESTIONS, tokenizer, "en", settings)


@pytest.mark.parametrize("length", [14, 20, 64])
def test_targets_are_the_tokens_of_the_answer(tokenizer, length):
    head, encoded = encoded_answers(tokenizer, reading(length))
    inputs, targets = encoded.inputs, head.targets(encoded)
    assert inputs.lengths.max() <= length
    batch = inputs.batch(np.arange(len(inputs)), tokenizer.pad_id)
    found = set()
    for window, (start, end), row in zip(
        encoded.places[0], targets, batch["input_ids"], strict=True
    ):
        example = QUESTIONS[window.question]
        asked = tokenizer.encode_lines([example.question], "en")[0][:4]
        ids = tokenizer.encode_lines([example.context], "en")[0]
        framed, _ = tokenizer.build_inputs(asked, ids[window.first : window.last])
        assert row[: len(framed)].tolist() == framed
        answer = example.answers[0]
        wanted = tokenizer.encode_lines([answer.text], "en")[0].tolist()
        if start:
            assert row[start : end + 1].tolist() == wanted
            found.add(window.question)
        else:
            # Not all of the answer is there.
            assert end == 0
            spans = window.offsets[window.first : window.last]
            inside = (spans[:, 0] >= answer.start) & (
                spans[:, 1] <= answer.start + len(answer.text)
            )
            assert inside.sum() < len(wanted)
    assert found == {0, 1, 2}
    assert (len(inputs) > 3) == (length < 64)


def google_windows(tokens, room, stride):
    """As run_squad.py of BERT makes them."""
    spans, start = [], 0
    while start < tokens:
        length = min(tokens - start, room)
        spans.append((start, length))
        if start + length == tokens:
            break
        start += min(length, stride)
    return spans


def google_is_max_context(spans, current, position):
    """As ``_check_is_max_context`` of run_squad.py."""
    best_score, best_index = None, None
    for index, (start, length) in enumerate(spans):
        end = start + length - 1
        if position < start or position > end:
            continue
        score = min(position - start, end - position) + 0.01 * length
        if best_score is None or score > best_score:
            best_score, best_index = score, index
    return current == best_index


@pytest.mark.parametrize(("stride", "answer"), [(3, 2), (5, 30), (40, 4)])
def test_the_likeliest_answer_of_all_windows_is_found(tokenizer, stride, answer):
    """Against loops over all starts and ends, on random outputs."""
    head, encoded = encoded_answers(tokenizer, reading(16, stride, 4, answer))
    rng = np.random.default_rng(stride)
    outputs = rng.normal(size=head.output_shape(encoded.inputs)).astype(np.float32)
    predictions = head.predictions(encoded, outputs)
    windows = encoded.places[0]
    for number, example in enumerate(QUESTIONS):
        asked = tokenizer.encode_lines([example.question], "en")[0][:4]
        ((_, offsets),) = tokenizer.encode_with_offsets([example.context], "en")
        spans = google_windows(len(offsets), 16 - 3 - len(asked), stride)
        rows = [i for i, window in enumerate(windows) if window.question == number]
        assert [(windows[i].first, windows[i].last) for i in rows] == [
            (start, start + length) for start, length in spans
        ]
        best = []
        for (index, (first, length)), row in zip(enumerate(spans), rows, strict=True):
            scores = outputs[row][len(asked) + 2 :]
            for start, end in product(range(length), range(length)):
                if not start <= end < start + answer:
                    continue
                if google_is_max_context(spans, index, first + start):
                    text = example.context[
                        offsets[first + start, 0] : offsets[first + end, 1]
                    ]
                    best.append((scores[start, 0] + scores[end, 1], text))
        assert predictions[number] == max(best)[1]


def test_predictions_and_scores_of_answers(tokenizer):
    head, encoded = encoded_answers(tokenizer, reading(20))
    outputs = np.zeros(head.output_shape(encoded.inputs), np.float32)
    # What is no context would like to be the answer.
    outputs[:, :2] = outputs[:, -1] = 50
    for row, (start, end) in zip(outputs, head.targets(encoded), strict=True):
        if start:
            row[start, 0] += 5
            row[end, 1] += 5
    predictions = head.predictions(encoded, outputs)
    assert predictions == ["John", "New York", "Asha"]
    assert head.score("exact_match", QUESTIONS, predictions) == 1
    assert head.score("f1", QUESTIONS, ["John", "York", ""]) == pytest.approx(5 / 9)
    assert json.loads(head.file(QUESTIONS, predictions)) == {
        "a": "John",
        "b": "New York",
        "c": "Asha",
    }


def test_a_context_of_blanks_has_an_empty_answer(tokenizer):
    head = QuestionAnswering([], "f1")
    blank = [Question("a", "Who?", "  ", (Answer(0, "x"),)), QUESTIONS[2]]
    encoded = head.encode(blank, tokenizer, "en", reading(16))
    assert head.targets(encoded)[0].tolist() == [0, 0]
    outputs = np.zeros(head.output_shape(encoded.inputs), np.float32)
    assert head.predictions(encoded, outputs)[0] == ""


def test_the_loss_of_answers_is_the_mean_of_start_and_end():
    import paddle

    rng = np.random.default_rng(4)
    logits, targets = (
        rng.normal(size=(3, 7, 2)).astype(np.float32),
        [[1, 2], [0, 0], [5, 6]],
    )
    chances = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    expected = -sum(
        np.log(chances[row, place, i]) / 2
        for row, pair in enumerate(targets)
        for i, place in enumerate(pair)
    )
    loss = QuestionAnswering([], "f1").loss(
        paddle.to_tensor(logits), paddle.to_tensor(targets)
    )
    assert float(loss) == pytest.approx(expected, rel=1e-5)


def test_a_question_leaves_room_for_a_context(tokenizer):
    with pytest.raises(UserError, match="leaves no room for a context"):
        encoded_answers(tokenizer, reading(11, query=8))


# Choices


def test_choices_of_an_example_compete(tokenizer):
    import paddle

    examples = [
        Choice("0", "Asha sleeps .", ("then John", "then Asha", "in"), "1"),
        Choice("1", "John lives in Berlin .", ("a", "b", "because John"), "2"),
    ]
    head = MultipleChoice(MultipleChoice.labels_of(iter(examples)), "accuracy")
    assert head.labels == ["0", "1", "2"] and head.outputs == 1
    encoded = head.encode(examples, tokenizer, "en", {"max_seq_length": 24})
    assert head.output_shape(encoded.inputs) == (6, 1)
    targets = head.targets(encoded)
    assert targets.tolist() == [1, 2]
    batch = encoded.inputs.batch(np.arange(6), tokenizer.pad_id)
    for row, (example, i) in zip(
        batch["input_ids"], product(examples, range(3)), strict=True
    ):
        pair = tokenizer.encode_lines([example.text, example.choices[i]], "en")
        framed, _ = tokenizer.build_inputs(*pair)
        assert row[: len(framed)].tolist() == framed
    logits = np.array([[1], [3], [0], [2], [2], [0.5]], np.float32)
    chances = [np.exp(x) / np.exp(x).sum() for x in (logits[:3, 0], logits[3:, 0])]
    loss = head.loss(paddle.to_tensor(logits), paddle.to_tensor(targets))
    expected = -np.log(chances[0][1]) - np.log(chances[1][2])
    assert float(loss) == pytest.approx(expected, rel=1e-5)
    predictions = head.predictions(encoded, logits)
    assert head.score("accuracy", examples, predictions) == 0.5
    rows = [line.split("\t") for line in head.file(examples, predictions).splitlines()]
    assert [row[:3] for row in rows[1:]] == [["0", "1", "1"], ["1", "2", "0"]]
    assert float(rows[2][5]) == pytest.approx(chances[1][2], abs=1e-6)


def test_batches_hold_all_choices_of_an_example():
    tokens = np.arange(24)
    inputs = Inputs.of(
        [[i] * (1 + i % 5) for i in tokens], [[0] * (1 + i % 5) for i in tokens], 0
    )
    train = Labeled(inputs, np.arange(8))
    head = MultipleChoice(["0", "1", "2"], "accuracy")
    batches = TrainingBatches(train, head, ["input_ids"], 3, 99, 1, Run())
    assert batches.per_epoch == 3
    seen = []
    for (part,), count in batches.from_step(0, 3):
        ids, labels = part.arrays["input_ids"], part.arrays["labels"]
        assert ids[:, 0].tolist() == [3 * x + i for x in labels for i in range(3)]
        assert count == (ids != 99).sum()
        seen += labels.tolist()
    assert sorted(seen) == list(range(8))


# Models


@pytest.mark.parametrize("model_type", ["bert", "ernie"])
@pytest.mark.parametrize("kind", KINDS)
def test_heads_of_bert_by_definition(model_type, kind):
    """A linear layer on every token, or on the pooled first one."""
    import paddle

    config = bert_by_definition.config(model_type=model_type)
    models = family(config)
    model = models.classification_model(config, 2, 0.3, kind)
    model.eval()
    rng = np.random.default_rng(1)
    mask = (np.arange(9) < np.array([[9], [5]])).astype(np.float32)
    batch = {
        "input_ids": rng.integers(0, 40, (2, 9)),
        "segment_ids": rng.integers(0, 2, (2, 9)),
        "input_mask": mask,
    }
    tensors = {name: paddle.to_tensor(value) for name, value in batch.items()}
    encoder = getattr(model, model.base_model_prefix)
    hidden = models.encode(encoder, tensors).numpy()
    weight, bias = model.classifier.weight.numpy(), model.classifier.bias.numpy()
    assert weight.shape == (16, 1 if kind == "multiple_choice" else 2)
    if kind in ("token_classification", "question_answering"):
        expected = hidden @ weight + bias
    else:
        dense = encoder.pooler.dense
        pooled = np.tanh(hidden[:, 0] @ dense.weight.numpy() + dense.bias.numpy())
        expected = pooled @ weight + bias
    logits = models.classify(model, tensors).numpy()
    assert logits.shape == expected.shape
    if kind == "question_answering":
        assert (logits[mask == 0] < -5000).all()
        logits, expected = logits[mask > 0], expected[mask > 0]
    assert np.abs(logits - expected).max() < 1e-5


@pytest.mark.parametrize("kind", KINDS)
def test_heads_of_xlm_by_definition(kind):
    import paddle

    config = {
        **{"model_type": "xlm", "emb_dim": 16, "n_layers": 1, "n_heads": 2},
        **{"vocab_size": 40, "n_langs": 3, "max_position_embeddings": 20},
    }
    models = family(config)
    outputs = 1 if kind == "multiple_choice" else 2
    model = models.classification_model(config, outputs, 0.3, kind)
    model.eval()
    rng = np.random.default_rng(1)
    mask = (np.arange(9) < np.array([[9], [5]])).astype(np.float32)
    batch = {
        "input_ids": rng.integers(0, 40, (2, 9)),
        "lang_ids": rng.integers(0, 3, (2, 9)),
        "position_ids": np.tile(np.arange(9), (2, 1)),
        "input_mask": mask,
    }
    tensors = {name: paddle.to_tensor(value) for name, value in batch.items()}
    hidden = models.encode(model.xlm, tensors).numpy()
    weight, bias = model.classifier.weight.numpy(), model.classifier.bias.numpy()
    of_tokens = kind in ("token_classification", "question_answering")
    expected = (hidden if of_tokens else hidden[:, 0]) @ weight + bias
    logits = models.classify(model, tensors).numpy()
    if kind == "question_answering":
        assert (logits[mask == 0] < -5000).all()
        logits, expected = logits[mask > 0], expected[mask > 0]
    assert logits.shape == expected.shape
    assert np.abs(logits - expected).max() < 1e-5
