"""Task data: official layouts and own files become one normalized table."""

import csv
import json
import subprocess
import sys
from pathlib import Path

import pytest

from babelmill.errors import UserError
from babelmill.tasks.examples import Example, read_examples, write_examples
from babelmill.tasks.layouts import task_examples
from babelmill.tasks.source import Source

NLI = ("entailment", "neutral", "contradiction")
SCRIPT = Path(__file__).parents[1] / "workflow_scripts" / "prepare_task.py"
XNLI_HEADER = "language\tgold_label\tsentence1\tsentence2\tpairID\n"


def write(folder: Path, text: str, name: str = "in.tsv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8", newline="")
    return path


def examples(layout, path, labels=NLI, split="dev", **options):
    source = Source(path, split, labels=tuple(labels), **options)
    return list(task_examples(layout, source))


def prepare(*arguments: str | Path) -> subprocess.CompletedProcess:
    command = [sys.executable, SCRIPT, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


# XNLI


def test_xnli_keeps_the_rows_of_one_language_and_drops_those_without_gold_label(
    tmp_path,
):
    path = write(
        tmp_path,
        XNLI_HEADER
        + "en\tneutral\tA\tB\t1\n"
        + "de\tneutral\tC\tD\t1\n"
        + "en\t-\tE\tF\t2\n"
        + "en\tcontradiction\tG\tH\t3\n",
    )
    assert examples("xnli", path, lang="en") == [
        Example("1", "A", "B", "neutral"),
        None,
        Example("3", "G", "H", "contradiction"),
    ]


def test_xnli_train_says_contradictory_and_means_contradiction(tmp_path):
    path = write(tmp_path, "premise\thypo\tlabel\nA\tB\tcontradictory\n")
    assert examples("xnli", path, split="train", lang="en") == [
        Example("0", "A", "B", "contradiction")
    ]


def test_quotes_are_plain_characters(tmp_path):
    path = write(tmp_path, XNLI_HEADER + 'en\tneutral\t"A\tB "" b\t1\n')
    assert examples("xnli", path, lang="en") == [
        Example("1", '"A', 'B "" b', "neutral")
    ]


def test_a_language_that_is_not_there_is_named_with_those_that_are(tmp_path):
    path = write(tmp_path, XNLI_HEADER + "fr\tneutral\tA\tB\t1\nde\tneutral\tA\tB\t1\n")
    with pytest.raises(UserError, match=r"no row of language sw.* de, fr$"):
        examples("xnli", path, lang="sw")


def test_official_xnli_dev_set_has_2490_pairs_in_each_language(test_data, tmp_path):
    source = test_data("data", "xnli", "XNLI-1.0", "xnli.dev.tsv")
    output = tmp_path / "dev.sw.tsv"
    done = prepare(
        *("--format", "xnli", "--split", "dev", "--lang", "sw"),
        *("--labels", *NLI, "--output", output, source),
    )
    assert done.returncode == 0, done.stderr
    with source.open(encoding="utf-8", newline="") as lines:
        rows = csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
        expected = [
            Example(
                row["pairID"], row["sentence1"], row["sentence2"], row["gold_label"]
            )
            for row in rows
            if row["language"] == "sw"
        ]
    assert len(expected) == 2490
    assert read_examples(output, NLI) == expected


def test_official_train_sets_are_aligned_across_languages(test_data):
    folder = test_data("data", "xnli", "XNLI-MT-1.0", "multinli")
    labels = {
        path.name: [
            example.label
            for example in examples("xnli", path, split="train", lang="any")
        ]
        for path in folder.glob("multinli.train.*.tsv")
    }
    assert set(map(tuple, labels.values())) == {tuple(labels["multinli.train.en.tsv"])}


# GLUE


def test_cola_has_no_header_but_in_its_test_set(tmp_path):
    dev = write(tmp_path, "gj04\t0\t*\tHe go.\ngj04\t1\t\tHe goes.\n")
    assert examples("glue", dev, ("0", "1"), task_name="cola") == [
        Example("0", "He go.", "", "0"),
        Example("1", "He goes.", "", "1"),
    ]
    test = write(tmp_path, "index\tsentence\n0\tHe went.\n")
    assert examples("glue", test, ("0", "1"), "test", task_name="cola") == [
        Example("0", "He went.", "", None)
    ]


@pytest.mark.parametrize(
    ("task", "header", "row", "labels", "expected"),
    [
        ("sst-2", "sentence label", "A 1", "01", ("A", "", "1")),
        (
            "mrpc",
            "Quality|#1 ID|#2 ID|#1 String|#2 String",
            "1|7|8|A|B",
            "01",
            ("A", "B", "1"),
        ),
        (
            "qqp",
            "id qid1 qid2 question1 question2 is_duplicate",
            "5 7 8 A B 0",
            "01",
            ("A", "B", "0"),
        ),
        (
            "sts-b",
            "index genre filename year old_index source1 source2 sentence1 sentence2"
            " score",
            "0 g f y o s s A B 4.750",
            "",
            ("A", "B", "4.750"),
        ),
        (
            "mnli",
            "index promptID pairID genre sentence1_binary_parse"
            " sentence2_binary_parse sentence1_parse sentence2_parse sentence1"
            " sentence2 label1 gold_label",
            "0 p p g x x y y A B entailment neutral",
            NLI,
            ("A", "B", "neutral"),
        ),
        (
            "mnli-mm",
            "index sentence1 sentence2 label1 gold_label",
            "0 A B neutral entailment",
            NLI,
            ("A", "B", "entailment"),
        ),
        ("qnli", "index question sentence label", "0 A B x", "x", ("A", "B", "x")),
        ("rte", "index sentence1 sentence2 label", "0 A B x", "x", ("A", "B", "x")),
        ("wnli", "index sentence1 sentence2 label", "0 A B 1", "01", ("A", "B", "1")),
    ],
)
def test_glue_columns(tmp_path, task, header, row, labels, expected):
    separator = "|" if "|" in header else " "
    path = write(tmp_path, f"{header}\n{row}\n".replace(separator, "\t"))
    assert examples("glue", path, tuple(labels), task_name=task) == [
        Example("0", *expected)
    ]


def test_torn_rows_are_left_out_of_qqp_and_refused_elsewhere(tmp_path):
    header = "id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate\n"
    path = write(tmp_path, header + "5\t7\t8\tA\nB\t1\n6\t7\t8\tC\tD\t1\n")
    assert examples("glue", path, ("0", "1"), task_name="qqp") == [
        None,
        None,
        Example("2", "C", "D", "1"),
    ]
    path = write(tmp_path, "index\tsentence1\tsentence2\tlabel\n0\tA\n")
    with pytest.raises(UserError, match=r"line 2: 2 columns, but the header has 4"):
        examples("glue", path, ("0", "1"), task_name="wnli")


@pytest.mark.parametrize(
    ("file", "task", "split", "labels", "count"),
    [
        ("CoLA/train.tsv", "cola", "train", ("0", "1"), 8551),
        ("CoLA/dev.tsv", "cola", "dev", ("0", "1"), 1043),
        ("CoLA/test.tsv", "cola", "test", ("0", "1"), 1063),
        ("SST-2/train.tsv", "sst-2", "train", ("0", "1"), 67349),
        ("SST-2/test.tsv", "sst-2", "test", ("0", "1"), 1821),
        ("STS-B/train.tsv", "sts-b", "train", (), 5749),
        ("STS-B/dev.tsv", "sts-b", "dev", (), 1500),
        ("QNLI/dev.tsv", "qnli", "dev", ("entailment", "not_entailment"), 5463),
        ("RTE/train.tsv", "rte", "train", ("entailment", "not_entailment"), 2490),
        ("RTE/test.tsv", "rte", "test", ("entailment", "not_entailment"), 3000),
    ],
)
def test_official_glue_sets_have_the_published_sizes(
    test_data, file, task, split, labels, count
):
    path = test_data("data", "glue", *file.split("/"))
    read = examples("glue", path, labels, split, task_name=task)
    assert len(read) == count
    assert all(example.text_a.strip() for example in read)
    assert all((example.label is None) == (split == "test") for example in read)


# Own tasks


def test_tsv_takes_the_columns_that_are_named(tmp_path):
    path = write(tmp_path, "gold\thypothesis\tx\tpremise\nneutral\tB\tx\tA\n")
    read = examples(
        "tsv", path, text_columns=("premise", "hypothesis"), label_column="gold"
    )
    assert read == [Example("0", "A", "B", "neutral")]
    unlabeled = examples("tsv", path, split="test", text_columns=("premise",))
    assert unlabeled == [Example("0", "A", "", None)]


def test_jsonl_and_line_breaks_within_a_text(tmp_path):
    rows = [
        {"a": "one\ttwo\r\nthree\u2028four", "b": "B", "y": 3},
        {"a": "five", "y": "1e1"},
    ]
    path = write(tmp_path, "".join(json.dumps(row) + "\n" for row in rows))
    read = examples("jsonl", path, (), text_columns=("a",), label_column="y")
    assert [example.label for example in read] == ["3", "1e1"]
    output = tmp_path / "out.tsv"
    write_examples(output, read)
    assert output.read_bytes() == (
        b"id\ttext_a\ttext_b\tlabel\n0\tone two three four\t\t3\n1\tfive\t\t1e1\n"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": "x", "y": "neutral"}\n[1]\n', "line 2: a JSON object is needed"),
        ('{"a": "x", "y": "neutral"}\n{"a"\n', "line 2: not JSON"),
        ('{"text": "x", "y": "neutral"}\n', "line 1: no key a; the object has text, y"),
        ('{"a": "\\ud800", "y": "neutral"}\n', "line 1: a holds half a surrogate pair"),
        ('{"a": 5, "y": "neutral"}\n', "line 1: a is 5, not a string"),
        ('{"a": "x", "y": true}\n', "line 1: label 'true' is not one of"),
        ("\n", "no examples"),
    ],
)
def test_bad_jsonl(tmp_path, text, message):
    path = write(tmp_path, text)
    with pytest.raises(UserError, match=message):
        examples("jsonl", path, text_columns=("a",), label_column="y")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file is empty"),
        ("a\ty\n", "no examples"),
        ("b\ty\nA\tneutral\n", "line 1: no column a; the header has b, y"),
        ("a\ty\nA\tneutral\nB\n", "line 3: 1 columns, but the header has 2"),
        ("a\ty\nA\tx\tneutral\n", "line 2: 3 columns, but the header has 2"),
        (
            "a\ty\nA\tneutral\nA\tmaybe\n",
            r"line 3: label 'maybe' is not one of .*entailment, neutral, contradiction",
        ),
        ("a\ty\nA\t\n", "line 2: label '' is not one of"),
    ],
)
def test_bad_tsv(tmp_path, text, message):
    path = write(tmp_path, text)
    with pytest.raises(UserError, match=message) as error:
        examples("tsv", path, text_columns=("a",), label_column="y")
    assert str(path) in str(error.value)


@pytest.mark.parametrize("label", ["high", "nan", "inf", ""])
def test_the_labels_of_a_regression_are_finite_numbers(tmp_path, label):
    path = write(tmp_path, f"a\ty\nA\t{label}\n")
    with pytest.raises(UserError, match=r"line 2: label .* is not a number"):
        examples("tsv", path, (), text_columns=("a",), label_column="y")


# The normalized file


def test_normalized_file_reads_back(tmp_path):
    path = tmp_path / "out.tsv"
    written = [Example("a", 'x "y', "z", "neutral"), Example("b", "x", "", None)]
    write_examples(path, written)
    assert read_examples(path) == written
    with pytest.raises(UserError, match=r"line 3: label '' is not one of"):
        read_examples(path, NLI)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1: the header is ''"),
        ("id\ttext\n", "line 1: the header is"),
        ("id\ttext_a\ttext_b\tlabel\n", "no examples"),
        ("id\ttext_a\ttext_b\tlabel\n0\tA\tB\n", "line 2: 3 columns instead of 4"),
    ],
)
def test_bad_normalized_file(tmp_path, text, message):
    with pytest.raises(UserError, match=message):
        read_examples(write(tmp_path, text))


# The script


def test_limit_keeps_the_first_examples(tmp_path):
    path = write(tmp_path, "a\ty\n" + "".join(f"text {n}\tneutral\n" for n in range(9)))
    output = tmp_path / "deep" / "out.tsv"
    own = ("--format", "tsv", "--text_columns", "a", "--label_column", "y")
    done = prepare(
        *own,
        *("--split", "dev", "--labels", *NLI, "--limit", "3", "--output", output, path),
    )
    assert done.returncode == 0, done.stderr
    assert [example.text_a for example in read_examples(output)] == [
        "text 0",
        "text 1",
        "text 2",
    ]


def test_bad_input_is_one_line_exit_code_2_and_no_file(tmp_path):
    path = write(tmp_path, "a\ty\nA\tneutral\nB\twrong\n")
    output = tmp_path / "out.tsv"
    own = ("--format", "tsv", "--text_columns", "a", "--label_column", "y")
    done = prepare(
        *own, *("--split", "dev", "--labels", *NLI, "--output", output, path)
    )
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert done.stderr.splitlines()[-1].startswith(f"error: {path}, line 3: label")
    assert sorted(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--format", "xnli"), "needs --lang"),
        (("--format", "glue"), "needs --task_name"),
        (("--format", "tsv", "--label_column", "y"), "one or two --text_columns"),
        (("--format", "tsv", "--text_columns", "a"), "needs --label_column"),
        (("--format", "xnli", "--lang", "en", "--limit", "0"), "at least 1"),
    ],
)
def test_a_missing_flag_is_named(tmp_path, arguments, message):
    done = prepare(*arguments, "--split", "dev", "--output", "out.tsv", "in.tsv")
    assert done.returncode == 2
    assert message in done.stderr


@pytest.mark.parametrize(
    ("layout", "text", "line"),
    [
        ("tsv", "a\tb\ty\none\ttwo\tyes\none\t \tyes\n", 3),
        ("jsonl", '{"a": "", "b": "two", "y": "yes"}\n', 1),
    ],
)
def test_an_empty_text_of_ones_own_is_refused(tmp_path, layout, text, line):
    path = write(tmp_path, text)
    options = {"text_columns": ("a", "b"), "label_column": "y"}
    column = "b" if layout == "tsv" else "a"
    with pytest.raises(UserError, match=rf"line {line}: nothing in column {column}"):
        examples(layout, path, ("yes", "no"), **options)


def test_empty_texts_of_official_data_stay(tmp_path):
    header = "id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate\n"
    path = write(tmp_path, header + "0\t1\t2\tone\t\t0\n")
    read = examples("glue", path, ("0", "1"), task_name="qqp")
    assert read == [Example("0", "one", "", "0")]
