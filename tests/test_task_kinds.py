"""Readers of CoNLL's columns, SQuAD v1.1 and multiple choice."""

import json

import pytest

from babelmill.errors import UserError
from babelmill.tasks.conll import Sentence, read_sentences
from babelmill.tasks.examples import write_examples
from babelmill.tasks.layouts import form, task_examples
from babelmill.tasks.multiple_choice import Choice, read_choices
from babelmill.tasks.source import Source
from babelmill.tasks.squad import Answer, Question, read_questions


def read(tmp_path, layout, text, split="train", lang="en", **options):
    path = tmp_path / "given"
    path.write_text(text, encoding="utf-8", newline="")
    return list(task_examples(layout, Source(path, split, lang, **options)))


# CoNLL


def sentences(tmp_path, text, **options):
    found = read(tmp_path, "conll", text, **{"label_column": -1, **options})
    return [(sentence.words, sentence.labels) for sentence in found]


def test_columns_of_conll_2003(tmp_path):
    text = (
        "-DOCSTART- -X- -X- O\n\nEU NNP B-NP B-ORG\nsays VBZ B-VP O\n\n\nYes UH O O\n"
    )
    expected = [(("EU", "says"), ("B-ORG", "O")), (("Yes",), ("O",))]
    assert sentences(tmp_path, text) == expected
    assert sentences(tmp_path, text, label_column=1) == [
        (("EU", "says"), ("NNP", "VBZ")),
        (("Yes",), ("UH",)),
    ]
    assert sentences(tmp_path, text.replace("\n", "\r\n")) == expected


def test_tabs_part_columns_so_that_tokens_may_hold_blanks(tmp_path):
    text = "sân bay\tB-LOC\n#\tO\n\u00a0x\tO\n"
    (found,) = sentences(tmp_path, text)
    assert found == (("sân bay", "#", "x"), ("B-LOC", "O", "O"))


def test_conllu_has_comments_ranges_and_empty_nodes(tmp_path):
    text = (
        "# newdoc id = a\n# sent_id = 1\n# text = don't\n"
        "1-2\tdon't\t_\t_\n1\tdo\tdo\tAUX\n2\tn't\tnot\tPART\n2.1\tgo\tgo\tVERB\n"
    )
    options = {"token_column": 1, "label_column": 3}
    expected = [(("do", "n't"), ("AUX", "PART"))]
    assert sentences(tmp_path, text, **options) == expected
    # "1-2" is a token where tokens stand first.
    assert sentences(tmp_path, "1-2\tO\n") == [(("1-2",), ("O",))]


def test_wikiann_names_the_language_of_each_token(tmp_path):
    text = "sw:Juma B-PER\nsw:: O\n"
    expected = [(("Juma", ":"), ("B-PER", "O"))]
    assert sentences(tmp_path, text, lang="sw") == expected
    assert sentences(tmp_path, text) == [(("sw:Juma", "sw::"), ("B-PER", "O"))]


def test_a_test_set_may_have_no_labels(tmp_path):
    text = "Juma\nlala\n"
    assert sentences(tmp_path, text, split="test", label_column=None) == [
        (("Juma", "lala"), None)
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a x O\n\nb O\n", "line 3: 2 columns, but the first token has 3"),
        ("a O\nb B-XYZ\n", "line 2: label 'B-XYZ' is not one of the task's labels"),
        ("a\n", "line 1: the only column 'a' is token and label"),
        ("en:a O\nb O\n", "line 2: no token after 'en:'"),
        ("a\tO\n\tO\n", "line 2: an empty token or label"),
        ("-DOCSTART- O\n\n", "no examples in the file"),
    ],
)
def test_bad_columns_are_refused_with_their_line(tmp_path, text, message):
    with pytest.raises(UserError, match="given") as error:
        sentences(tmp_path, text, labels=("O", "B-PER"))
    assert message in str(error.value)


def test_a_column_that_is_not_there_is_named(tmp_path):
    with pytest.raises(UserError, match="line 1: no column 3 among 2"):
        sentences(tmp_path, "a O\n", label_column=3)


def test_sentences_come_back_as_written(tmp_path):
    written = [
        Sentence("0", ("sân bay", '"', "[", "a\u2028b"), ("O", "B-X", "O", "O")),
        Sentence("1", ("x",), None),
    ]
    path = tmp_path / "x.tsv"
    write_examples(path, written, Sentence)
    again = read_sentences(path)
    assert again[0].words[:3] == written[0].words[:3]
    assert len(again[0].words) == 4
    assert again[1] == written[1]
    with pytest.raises(UserError, match="line 3: no labels"):
        read_sentences(path, [])
    with pytest.raises(UserError, match="line 2: label 'B-X' is not one"):
        read_sentences(path, ["O"])


# SQuAD


def squad(context, *questions):
    paragraph = {"context": context, "qas": list(questions)}
    return json.dumps({"data": [{"title": "t", "paragraphs": [paragraph]}]})


def question(id, *answers, **more):
    spans = [{"answer_start": start, "text": text} for start, text in answers]
    return {"id": id, "question": "Who?\n", "answers": spans, **more}


def test_line_breaks_of_a_context_move_no_answer(tmp_path):
    context = "Line one.\n\tJuma\u2028sleeps."
    (found,) = read(tmp_path, "squad", squad(context, question("q", (11, "Juma"))))
    assert found == Question(
        "q", "Who? ", "Line one.  Juma sleeps.", (Answer(11, "Juma"),)
    )
    path = tmp_path / "x.tsv"
    write_examples(path, [found], Question)
    assert read_questions(path) == [found]


def test_training_answers_that_stand_elsewhere_are_left_out(tmp_path, capsys):
    text = squad("Juma sleeps.", question("q", (1, "Juma")), question("r", (0, "Juma")))
    out, kept = read(tmp_path, "squad", text)
    assert out is None and kept.id == "r"
    warning = "warning: {}, question q: 'Juma' does not stand at 1: left out\n"
    assert capsys.readouterr().err == warning.format(tmp_path / "given")
    # Scores need the text alone, and every question counts.
    assert [q.id for q in read(tmp_path, "squad", text, split="dev")] == ["q", "r"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "given: not JSON"),
        ('{"x": 1}', "given: no data that is a list"),
        (squad("c", {"id": "q", "question": "?"}), "question q: no answers that is a"),
        (squad("c", question("q")), "question q: no answer: questions without one are"),
        (
            squad("c", question("q", (0, "c")), question("q", (0, "c"))),
            "question q: its id comes a second time",
        ),
        (squad("c", question("q", ("0", "c"))), "no answer_start that is a whole"),
        (squad("c", question("q", (3, "c"))), "no examples in the file"),
        (squad("\ud800", question("q", (0, "c"))), "half a surrogate pair"),
    ],
)
def test_bad_questions_are_refused(tmp_path, text, message):
    with pytest.raises(UserError) as error:
        read(tmp_path, "squad", text)
    assert message in str(error.value)


def test_a_test_set_may_have_no_answers(tmp_path):
    text = squad("c", {"id": "q", "question": "?"})
    (found,) = read(tmp_path, "squad", text, split="test")
    assert found.answers == ()
    path = tmp_path / "x.tsv"
    write_examples(path, [found], Question)
    assert read_questions(path, answered=False) == [found]
    with pytest.raises(UserError, match="line 2: no answer"):
        read_questions(path)


# Multiple choice

COPA = {
    "text_columns": ("premise", "question"),
    "choice_columns": ("choice1", "choice2"),
    "label_column": "label",
}


def copa(**changes):
    row = {
        **{"premise": "It rains.", "question": "effect", "label": 1},
        **{"choice1": "I stay dry.", "choice2": "I get wet.", **changes},
    }
    return json.dumps(row) + "\n"


def test_the_second_text_stands_before_every_choice(tmp_path):
    assert read(
        tmp_path, "multiple_choice", copa() + "\n" + copa(label="0"), **COPA
    ) == [
        Choice("0", "It rains.", ("effect I stay dry.", "effect I get wet."), "1"),
        Choice("1", "It rains.", ("effect I stay dry.", "effect I get wet."), "0"),
    ]


def test_choices_may_be_a_list_and_have_names(tmp_path):
    row = {"ctx": "x", "endings": ["a", "b", "c"], "answer": "B"}
    options = {
        "text_columns": ("ctx",),
        "choice_columns": ("endings",),
        "label_column": "answer",
        "labels": ("A", "B", "C"),
    }
    (found,) = read(tmp_path, "multiple_choice", json.dumps(row), **options)
    assert found == Choice("0", "x", ("a", "b", "c"), "B")
    path = tmp_path / "x.tsv"
    write_examples(path, [found], form("multiple_choice"))
    assert read_choices(path, ["A", "B", "C"]) == [found]
    with pytest.raises(UserError, match="line 2: label 'B' is not one"):
        read_choices(path, [])
    with pytest.raises(UserError, match="line 2: 3 choices instead of 2"):
        read_choices(path, ["A", "B"])


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (copa() + copa(label=2), COPA, "line 2: label '2' is not one"),
        (copa(choice1=" "), COPA, "line 1: an empty choice"),
        (copa(choice1=3), COPA, "line 1: a choice is 3, not a string"),
        (copa(), {**COPA, "choice_columns": ("x",)}, "line 1: no key x"),
        (copa(), {**COPA, "choice_columns": ("choice1",)}, "choice1 is not a list"),
        (copa(), {**COPA, "labels": ("a", "b", "c")}, "line 1: 2 choices instead of 3"),
        ("[]", COPA, "line 1: a JSON object is needed"),
    ],
)
def test_bad_choices_are_refused_with_their_line(tmp_path, text, options, message):
    with pytest.raises(UserError) as error:
        read(tmp_path, "multiple_choice", text, **options)
    assert message in str(error.value)
