"""Scores become tables; every number is worked out by hand."""

import csv
import io
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from babelmill.errors import UserError
from babelmill.tables.aggregate import Number, Row, gather_runs, published_rows
from babelmill.tables.render import Column, Table, to_csv, to_latex, to_markdown
from babelmill.tables.scores import collect, read_scores, write_scores

ROOT = Path(__file__).parents[1]
PUBLISHED = ROOT / "resources" / "published"
XNLI_LANGUAGES = [
    *("en", "fr", "es", "de", "el", "bg", "ru", "tr"),
    *("ar", "vi", "th", "zh", "hi", "sw", "ur"),
]
SCORE = {
    "model": "xlm",
    "setting": "zero-shot",
    "task": "nli",
    "data": "demo NLI (synthetic)",
    "seed": 1,
    "language": "en",
    "split": "test",
    "metric": "accuracy",
    "value": 0.5,
    "n": 10,
}


def score_file(folder: Path, **values) -> Path:
    score = SCORE | values
    if {"metric", "value"} <= set(score):
        score["metrics"] = {score.pop("metric"): score.pop("value")}
    path = folder / f"{len(list(folder.iterdir()))}.json"
    path.write_text(json.dumps(score))
    return path


def script(name: str, *arguments: str | Path) -> subprocess.CompletedProcess:
    command = [sys.executable, ROOT / "workflow_scripts" / name, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def make_table(name: str, folder: Path, scores: list[dict], *arguments: str | Path):
    """Write the scores as CSV and run a table script on them."""
    files = folder / "scores"
    files.mkdir(exist_ok=True)
    path = folder / "scores.csv"
    write_scores(path, collect([score_file(files, **score) for score in scores]))
    outputs = {kind: folder / f"table.{kind}" for kind in ("csv", "md", "tex")}
    done = script(
        *(name, "--scores", path, *arguments),
        *(part for kind, path in outputs.items() for part in (f"--{kind}", path)),
    )
    return done, outputs


def rows_of(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8"))))


# Scores


def test_collected_scores_are_sorted_whatever_the_order_of_the_files(tmp_path):
    files = [
        score_file(tmp_path, seed=10, value=0.25),
        score_file(tmp_path, seed=9, value=1),
        score_file(tmp_path, seed=9, language="de", value=0.8123),
    ]
    outputs = [tmp_path / "a.csv", tmp_path / "b.csv"]
    assert script("collect_scores.py", "--output", outputs[0], *files).returncode == 0
    assert (
        script("collect_scores.py", "--output", outputs[1], *files[::-1]).returncode
        == 0
    )
    start = "xlm,zero-shot,nli,demo NLI (synthetic)"
    assert outputs[0].read_text() == (
        "model,setting,task,data,seed,language,split,metric,value,n\n"
        f"{start},9,de,test,accuracy,0.8123,10\n"
        f"{start},9,en,test,accuracy,1.0,10\n"
        f"{start},10,en,test,accuracy,0.25,10\n"
    )
    assert outputs[0].read_bytes() == outputs[1].read_bytes()
    assert read_scores(outputs[0]) == collect(files)


def test_two_files_with_the_same_score_are_an_error(tmp_path):
    first, second = score_file(tmp_path), score_file(tmp_path, value=0.9)
    done = script("collect_scores.py", "--output", tmp_path / "out.csv", first, second)
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: {second}: scores the same as {first}: xlm")
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"value": 81.23}, "fractions, not percent"),
        ({"value": float("nan")}, "fractions, not percent"),
        ({"value": True}, "value is True, not a number"),
        ({"seed": "1"}, "seed is '1', not a whole number"),
        ({"model": None}, "model is None, not text"),
        ({"n": 0}, "n is 0"),
    ],
)
def test_bad_score(tmp_path, values, message):
    with pytest.raises(UserError, match=message):
        collect([score_file(tmp_path, **values)])


def test_incomplete_score(tmp_path):
    path = tmp_path / "score.json"
    path.write_text('{"model": "xlm", "metrics": {"f1": 1}}')
    with pytest.raises(UserError, match=r"no data, language, n, seed, setting"):
        collect([path])
    path.write_text('{"model": "xlm"}')
    with pytest.raises(UserError, match="with metrics in it"):
        collect([path])


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("model,", "name,", "line 1: the columns are not model, setting"),
        (",0.5,", ",half,", "line 2: not a score"),
        (",10\n", "\n", "line 2: not a score"),
        ("accuracy,0.5,10\n", "accuracy,0.5,10\nxlm", "line 3: not a score"),
    ],
)
def test_bad_table_of_scores(tmp_path, old, new, message):
    path = tmp_path / "scores.csv"
    write_scores(path, collect([score_file(tmp_path)]))
    path.write_text(path.read_text().replace(old, new, 1))
    with pytest.raises(UserError, match=message):
        read_scores(path)


# Aggregation


def test_mean_and_deviation():
    name = ("xlm", "zero-shot", "demo")
    (run,) = gather_runs(
        [
            *((name, 1, "en", 0.70), (name, 1, "de", 0.50)),
            *((name, 2, "en", 0.80), (name, 2, "de", 0.54)),
            *((name, 3, "en", 0.75), (name, 3, "de", 0.61)),
        ]
    )
    row = run.row(["en", "de"], average="avg")
    assert row.seeds == 3
    assert row.numbers["en"].mean == pytest.approx(75.0)
    assert row.numbers["de"].mean == pytest.approx(55.0)
    # Averages of the seeds 60, 67, 68: mean 65, squares 25 + 4 + 9 over n - 1 = 2.
    assert row.numbers["avg"].mean == pytest.approx(65.0)
    assert row.numbers["avg"].std == pytest.approx(19**0.5)


def test_one_seed_has_no_deviation():
    (run,) = gather_runs([(("xlm", "", "demo"), 1, "en", 0.5)])
    assert run.row(["en"]).numbers["en"].std is None


def test_a_missing_score_is_named():
    name = ("xlm", "zero-shot", "demo")
    (run,) = gather_runs(
        [(name, 1, "en", 0.7), (name, 1, "de", 0.5), (name, 2, "en", 0.8)]
    )
    with pytest.raises(
        UserError, match=r"model xlm, setting zero-shot, data demo, seed 2 for de"
    ):
        run.row(["en", "de"])


def test_published_averages_are_the_means_of_their_languages():
    rows = published_rows(PUBLISHED / "xnli.csv", XNLI_LANGUAGES, average="avg")
    assert len(rows) == 26
    for row in rows:
        assert row.source.startswith("published: ")
        assert row.data == "XNLI test"
        languages = [row.numbers[x].mean for x in XNLI_LANGUAGES if x in row.numbers]
        assert ("avg" in row.numbers) == (len(languages) == 15)
        if "avg" in row.numbers:
            # Both are rounded to one decimal.
            assert sum(languages) / 15 == pytest.approx(
                row.numbers["avg"].mean, abs=0.1
            )


def test_published_facts_are_those_of_the_reference(test_data):
    for name in ("xnli", "glue"):
        reference = rows_of(test_data("reference", f"published_{name}.csv"))
        ours = rows_of(PUBLISHED / f"{name}.csv")
        assert len(ours) == len(reference)
        for row, expected in zip(ours, reference, strict=True):
            split = expected.pop("split", None)
            assert row.items() >= expected.items()
            assert row["data"] == (f"GLUE {split}" if split else "XNLI test")


def test_the_average_of_all_languages_is_not_that_of_some():
    rows = published_rows(PUBLISHED / "xnli.csv", ["en", "de"], average="avg")
    assert all(set(row.numbers) <= {"en", "de"} for row in rows)


def test_bad_published_number(tmp_path):
    path = tmp_path / "published.csv"
    path.write_text("model,setting,data,en,source\nA,,d,81.0,s\nB,,d,8l.0,s\n")
    with pytest.raises(UserError, match=r"line 3: en is '8l.0', not a number"):
        published_rows(path, ["en"])


# Rendering


def table(*rows: Row, compare_by=("data", "setting")) -> Table:
    columns = [Column("en", "English"), Column("avg", "avg", std=True)]
    return Table(list(rows), columns, compare_by)


def row(model, en, avg=None, *, setting="zero-shot", data="demo", source="this run"):
    numbers = {"en": Number(en)} | ({"avg": Number(*avg)} if avg else {})
    seeds = 2 if source == "this run" else None
    return Row(model, setting, data, seeds, numbers, source)


def bold_words(text: str) -> list[str]:
    return re.findall(r"\*\*(.*?)\*\*", text)


def test_csv_has_the_deviation_in_a_column_of_its_own_and_no_bold():
    text = to_csv(table(row("a, b", 75.04, (65.0, 4.36)), row("c", 1, source="x")))
    assert text == (
        "model,setting,data,seeds,en,avg,avg_std,source\n"
        '"a, b",zero-shot,demo,2,75.0,65.0,4.4,this run\n'
        "c,zero-shot,demo,,1.0,,,x\n"
    )


def test_markdown():
    text = to_markdown(table(row("a|b", 75.04, (65.0, 4.36)), row("c", 80.0)))
    assert text.splitlines()[:4] == [
        "| model | setting | data | seeds | English | avg | source |",
        "| --- | --- | --- | ---: | ---: | ---: | --- |",
        "| a\\|b | zero-shot | demo | 2 | 75.0 | 65.0 ± 4.4 | this run |",
        "| c | zero-shot | demo | 2 | **80.0** |  | this run |",
    ]
    assert "same data and setting" in text.splitlines()[-1]


def test_bold_is_the_best_within_the_same_data_and_setting():
    rows = [
        row("a", 50.0),
        row("b", 60.0),
        # Another setting, and other data: none of them competes with a and b.
        row("c", 70.0, setting="translate-train"),
        row("d", 71.0, setting="translate-train"),
        row("e", 90.0, data="XNLI test", source="published: p"),
        row("f", 91.0, data="XNLI test", source="published: p"),
        # Without a rival.
        row("g", 99.0, data="other"),
    ]
    assert bold_words(to_markdown(table(*rows))) == ["60.0", "71.0", "91.0"]
    by_data = table(*rows, compare_by=("data",))
    assert bold_words(to_markdown(by_data)) == ["71.0", "91.0"]


def test_numbers_that_print_alike_are_bold_alike():
    rows = [row("a", 60.01), row("b", 60.04), row("c", 59.9)]
    assert bold_words(to_markdown(table(*rows))) == ["60.0", "60.0"]


@pytest.mark.parametrize(
    ("mean", "text"), [(88.35, "88.4"), (81.25, "81.3"), (0, "0.0")]
)
def test_halves_round_up(mean, text):
    assert f"demo,2,{text}," in to_csv(table(row("a", float(mean))))


def test_latex():
    text = to_latex(
        table(
            row("a_b & c", 75.0, (65.0, 4.36)),
            row("50% ~^\\{}#$", 80.0, (60.0, 1.0)),
            row("p", 90.0, data="XNLI test", source="published: q"),
        )
    )
    lines = [line for line in text.splitlines() if not line.startswith("%")]
    assert lines[0] == r"\begin{tabular}{lllrrrl}"
    assert lines[1] == r"\toprule"
    assert lines[2] == r"model & setting & data & seeds & English & avg & source \\"
    assert lines[3] == r"\midrule"
    assert lines[4] == (
        r"a\_b \& c & zero-shot & demo & 2 & 75.0 & \textbf{65.0} $\pm$ 4.4"
        r" & this run \\"
    )
    assert lines[5].startswith(
        r"50\% \textasciitilde{}\textasciicircum{}\textbackslash{}\{\}\#\$ & zero-shot"
        r" & demo & 2 & \textbf{80.0} & 60.0 $\pm$ 1.0"
    )
    assert lines[6] == r"\midrule"
    assert lines[7] == r"p & zero-shot & XNLI test &  & 90.0 &  & published: q \\"
    assert lines[8:] == [r"\bottomrule", r"\end{tabular}"]
    # Every row has as many cells as the tabular has columns.
    cells = [len(re.findall(r"(?<!\\)&", line)) for line in lines if "&" in line]
    assert cells == [6] * 4


# The scripts


def xnli_scores(seeds=(1, 2)) -> list[dict]:
    """Language number i of seed s scores 0.80 + i / 100 + s / 50."""
    return [
        {"language": language, "seed": seed, "value": 0.8 + i / 100 + seed / 50}
        for i, language in enumerate(XNLI_LANGUAGES)
        for seed in seeds
    ]


XNLI = ("--task", "nli", "--split", "test", "--languages", *XNLI_LANGUAGES)


def test_xnli_table(tmp_path):
    others = [{"split": "dev"}, {"metric": "f1"}, {"task": "x"}, {"language": "ja"}]
    done, outputs = make_table(
        "make_xnli_table.py",
        tmp_path,
        xnli_scores() + others,
        *XNLI,
        *("--published", PUBLISHED / "xnli.csv"),
    )
    assert done.returncode == 0, done.stderr
    rows = rows_of(outputs["csv"])
    assert list(rows[0]) == [
        *("model", "setting", "data", "seeds", *XNLI_LANGUAGES),
        *("avg", "avg_std", "source"),
    ]
    # Seeds 1 and 2 add 2 and 4 percent: 3 on average. The languages add 7 on average.
    # Averages of the seeds 89 and 91: deviation sqrt(2).
    assert rows[0] == {
        "model": "xlm",
        "setting": "zero-shot",
        "data": "demo NLI (synthetic)",
        "seeds": "2",
        **{x: f"{83 + i}.0" for i, x in enumerate(XNLI_LANGUAGES)},
        "avg": "90.0",
        "avg_std": "1.4",
        "source": "this run",
    }
    assert len(rows) == 27
    paper = [row for row in rows if row["model"] == "XLM MLM+TLM"]
    assert [(row["setting"], row["avg"]) for row in paper] == [
        ("translate-train", "76.7"),
        ("translate-test", "74.2"),
        ("zero-shot", "75.1"),
        ("translate-train-all", "77.8"),
    ]
    assert {row["seeds"] for row in rows[1:]} == {""}
    # Numbers of a demo are ranked against nothing that was published: they are above
    # all published averages, and yet those keep the bold.
    _, _, ours, *lines = outputs["md"].read_text(encoding="utf-8").splitlines()
    assert "| 90.0 ± 1.4 |" in ours
    assert not bold_words(ours)
    (best,) = [line for line in lines if line.startswith("| ERNIE-M large | zero")]
    assert "| **82.0** |" in best
    assert outputs["tex"].read_text(encoding="utf-8").count(r"\midrule") == 2


def test_one_seed_leaves_the_deviation_empty(tmp_path):
    done, outputs = make_table(
        "make_xnli_table.py", tmp_path, xnli_scores(seeds=[0]), *XNLI
    )
    assert done.returncode == 0, done.stderr
    (only,) = rows_of(outputs["csv"])
    assert (only["seeds"], only["avg"], only["avg_std"]) == ("1", "87.0", "")


def test_a_missing_language_is_one_line_and_no_table(tmp_path):
    scores = [x for x in xnli_scores() if (x["language"], x["seed"]) != ("sw", 2)]
    done, outputs = make_table("make_xnli_table.py", tmp_path, scores, *XNLI)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert "model xlm, setting zero-shot" in done.stderr
    assert "seed 2 for sw" in done.stderr
    assert not any(path.exists() for path in outputs.values())


@pytest.mark.parametrize("name", ["make_xnli_table.py", "make_glue_table.py"])
def test_no_score_at_all(tmp_path, name):
    task = ("--task", "nli", "--languages", "en") if "xnli" in name else ()
    done, _ = make_table(name, tmp_path, [{"task": "x"}], "--split", "dev", *task)
    assert done.returncode == 2
    assert re.match(r"error: .*scores.csv: no .* on split dev", done.stderr)


def test_glue_table(tmp_path):
    glue = {"split": "dev", "data": "GLUE dev", "setting": "fine-tuning"}
    scores = [
        glue | {"task": task, "metric": metric, "seed": seed, "value": value}
        for task, metric, values in [
            ("cola", "matthews", (0.60, 0.64)),
            ("sts-b", "pearson", (0.88, 0.90)),
            ("sts-b", "spearman", (0.87, 0.87)),
            ("sts-b", "pearson_spearman", (0.875, 0.885)),
            ("rte", "accuracy", (0.70, 0.71)),
        ]
        for seed, value in enumerate(values)
    ]
    others = [glue | {"task": "qnli"}, glue | {"task": "rte", "metric": "f1"}]
    done, outputs = make_table(
        *("make_glue_table.py", tmp_path, scores + others, "--split", "dev"),
        *("--tasks", "cola", "sts-b", "rte", "--published", PUBLISHED / "glue.csv"),
    )
    assert done.returncode == 0, done.stderr
    rows = rows_of(outputs["csv"])
    # Deviations of two seeds: their difference over sqrt(2).
    assert rows[0] == {
        "model": "xlm",
        "setting": "fine-tuning",
        "data": "GLUE dev",
        "seeds": "2",
        "cola_mcc": "62.0",
        "cola_mcc_std": "2.8",
        "stsb_pearson": "89.0",
        "stsb_pearson_std": "1.4",
        "stsb_spearman": "87.0",
        "stsb_spearman_std": "0.0",
        "stsb_mean": "88.0",
        "stsb_mean_std": "0.7",
        "stsb_corr": "",
        "rte_acc": "70.5",
        "rte_acc_std": "0.7",
        "source": "this run",
    }
    assert len(rows) == 6
    markdown = outputs["md"].read_text(encoding="utf-8").splitlines()
    # Ours has the best CoLA and Pearson of the dev sets, the published rows the rest.
    assert bold_words(markdown[2]) == ["62.0", "89.0"]
    assert bold_words(markdown[4]) == ["88.4", "71.1"]


def test_a_missing_glue_task_is_named(tmp_path):
    scores = [{"task": "rte", "split": "dev"}]
    done, _ = make_table(
        *("make_glue_table.py", tmp_path, scores, "--split", "dev"),
        *("--tasks", "rte", "mnli-mm"),
    )
    assert done.returncode == 2
    assert "seed 1 for mnli_mm_acc" in done.stderr
