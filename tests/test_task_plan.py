"""Which runs, files and languages the settings of tables need."""

import pytest
from snakemake.utils import validate

from babelmill import config, task_config
from babelmill.errors import UserError
from babelmill.glue import GLUE, submissions
from babelmill.task_plan import TaskPlan
from conftest import ROOT, load_config


def plan_of(**changes):
    settings = load_config("smoke")
    for part, entries in changes.items():
        settings[part] = {**settings[part], **entries}
    validate(settings, str(ROOT / "schemas" / "config.schema.yaml"))
    return TaskPlan(settings)


@pytest.mark.parametrize(
    ("setting", "training", "trained_on", "chosen_on", "examples", "texts_in"),
    [
        ("zero-shot", "zero-shot", ["en"], ["en"], "test.sw", "sw"),
        ("translate-train", "translate-train.sw", ["sw"], ["sw"], "test.sw", "sw"),
        (
            "translate-train-all",
            "translate-train-all",
            ["de", "en", "sw", "th", "zh"],
            ["en"],
            "test.sw",
            "sw",
        ),
        ("translate-test", "zero-shot", ["en"], ["en"], "test_translated.sw", "en"),
    ],
)
def test_settings_of_a_language(
    setting, training, trained_on, chosen_on, examples, texts_in
):
    plan = plan_of()
    assert plan.training(setting, "sw") == training
    assert plan.training_languages(training) == trained_on
    assert plan.dev_languages("demo-nli", training) == chosen_on
    path = f"results/tasks/demo-nli/{examples}.tsv"
    assert plan.evaluated("demo-nli", setting, "test", "sw") == (path, texts_in)
    assert plan.exported("m", "demo-nli", setting, "7", "sw") == (
        f"results/exported/m/demo-nli/{training}/seed7"
    )


def test_english_needs_no_translation():
    assert plan_of().evaluated("demo-nli", "translate-test", "test", "en") == (
        "results/tasks/demo-nli/test.en.tsv",
        "en",
    )


def test_a_model_may_take_the_encoder_of_another_and_its_own_settings(tmp_path):
    own = {"sparsity": "2:4", "learning_rate": [0.1, 3e-05]}
    plan = plan_of(
        models={
            "given": {"folder": "{data_folder}/given"},
            "sparse": {"encoder": "given", "finetuning": own},
            "mlm-sparse": {"encoder": "demo-mlm", "finetuning": {"sparsity": "2:4"}},
        }
    )
    assert plan.encoder("sparse") == "data/given"
    assert plan.encoder_inputs("mlm-sparse") == ["results/pretrained/demo-mlm"]
    assert plan.pretrained(["given", "mlm-sparse", "demo-mlm"]) == ["demo-mlm"]
    task = plan.config["tasks"]["demo-nli"]["finetuning"]
    assert plan.finetuning("demo-mlm", "demo-nli") == task
    assert plan.finetuning("sparse", "demo-nli") == {**task, **own}
    assert plan.grid("sparse", "demo-nli", "zero-shot", "1") == [
        f"results/finetuned/sparse/demo-nli/zero-shot/seed1/lr{rate}"
        for rate in ("0.1", "3e-05")
    ]
    settings = plan.finetuning_settings("sparse", "demo-nli", "3e-05", "1")
    assert settings == {**task, **own, "learning_rate": 3e-05, "seed": 1}


def test_a_published_name_is_looked_up_in_the_caches(tmp_path, monkeypatch):
    monkeypatch.setenv("PPNLP_HOME", str(tmp_path))
    plan = plan_of(models={"x": {"published": "no-such-model"}})
    with pytest.raises(
        UserError, match="no-such-model is neither in PaddleNLP's cache"
    ):
        config.check(plan.config)
    folder = tmp_path / "models" / "no-such-model"
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    config.check(plan.config)
    assert plan.encoder("x") == str(folder)
    assert plan.encoder_inputs("x") == [str(folder / "config.json")]


def glue_plan(tasks=("mnli", "sts-b"), **table):
    entry = {"format": "glue", "folder": "glue", "data": "GLUE dev"}
    table = {"tasks": [*tasks], "models": ["demo-mlm"], "seeds": [1], **table}
    return plan_of(
        tasks={name: dict(entry) for name in tasks},
        tables={"xnli": None, "glue": table},
    )


def test_mnli_has_two_dev_and_two_test_sets(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    plan = glue_plan()
    folder = "results/scores/demo-mlm/{}/fine-tuning/seed1/{}.en.json".format
    assert plan.table_scores("glue") == [
        folder("mnli", "dev"),
        folder("mnli", "dev_mismatched"),
        folder("sts-b", "dev"),
    ]
    assert plan.glue_columns() == ["mnli", "mnli-mm", "sts-b"]
    for split, file in (
        ("train", "train"),
        ("dev", "dev_matched"),
        ("dev_mismatched", "dev_mismatched"),
        ("test", "test_matched"),
        ("test_mismatched", "test_mismatched"),
    ):
        path = f"results/datasets/glue_mnli/MNLI/{file}.tsv"
        assert plan.task_file("mnli", split, "en") == ("glue_mnli", path)
    flags = plan.task_flags("mnli", "dev_mismatched")
    assert flags[: flags.index("--labels")] == ["--format", "glue", "--split", "dev"]
    assert flags[-2:] == ["--task_name", "mnli-mm"]
    fields = plan.score_fields(
        "m", "mnli", "fine-tuning", "dev_mismatched", "en", seed="1"
    )
    assert (fields["task"], fields["split"]) == ("mnli-mm", "dev")


def test_sts_b_is_a_regression():
    plan = glue_plan()
    assert plan.labels("sts-b") == []
    assert "--labels" not in plan.task_flags("sts-b", "train")
    assert plan.metrics("sts-b")[0] == "pearson_spearman"


def test_submissions_have_the_official_names():
    """As gluebenchmark.com wants them, but for its diagnostic set."""
    official = ["CoLA", "MNLI-m", "MNLI-mm", "MRPC", "QNLI", "QQP", "RTE"]
    official += ["SST-2", "STS-B", "WNLI"]
    assert sorted(submissions()) == official
    assert submissions()["MNLI-mm"] == ("mnli", "test_mismatched")
    plan = glue_plan()
    assert plan.submission("m", "MNLI-mm", "2") == (
        "results/exported/m/mnli/fine-tuning/seed2",
        "results/tasks/mnli/test_mismatched.en.tsv",
    )
    assert plan.glue_submissions() == [
        f"results/glue_submission/demo-mlm/seed1/{name}.tsv"
        for name in ("STS-B", "MNLI-m", "MNLI-mm")
    ]


def test_labels_of_official_files_are_known(test_data):
    for task in ("cola", "sst-2", "rte", "qnli"):
        path = test_data("data", "glue", GLUE[task].name, "dev.tsv")
        rows = [line.split("\t") for line in path.read_text("utf-8").splitlines()]
        column = 1 if task in ("cola", "sst-2") else 3
        labels = {row[column] for row in (rows if task == "cola" else rows[1:])}
        assert labels == set(GLUE[task].labels), task


FILES = {split: f"{split}.{{lang}}.tsv" for split in ("train", "dev", "test")}
OWN = {"format": "tsv", "data": "mine", **FILES}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"tasks": {"x": {"format": "glue", "data": "x"}}}, "by name"),
        (
            {"tasks": {"rte": {"format": "glue", "data": "x", "labels": ["a", "b"]}}},
            "GLUE says what its labels and metrics are",
        ),
        ({"tasks": {"x": {"format": "xnli", "data": "x"}}}, "labels are missing"),
        (
            {"tasks": {"x": {**OWN, "labels": "numbers", "metric": "f1"}}},
            "tasks.x.metric: f1 is not for labels that are numbers",
        ),
        (
            {"tasks": {"x": {**OWN, "labels": ["a", "b"], "metric": "pearson"}}},
            "tasks.x.metric: pearson is not for labels that are classes",
        ),
        (
            {"tables": {"xnli": {"task": "demo-nli", "models": ["demo-mlm"],
                                 "settings": ["translate-test"]}}},
            "translate-test needs tasks.demo-nli.test_translated",
        ),
        (
            {"tables": {"xnli": {"task": "demo-nli", "models": ["demo-mlm"],
                                 "settings": ["translate-train"]}}},
            "the demo has no translated training set",
        ),
        (
            {"tasks": {"wnli": {"format": "glue", "data": "x", "folder": "no"}},
             "tables": {"glue": {"tasks": ["wnli"], "models": ["demo-mlm"]}}},
            "no/WNLI/train.tsv does not exist, and there is no dataset",
        ),
        (
            {"tables": {"glue": {"tasks": ["demo-nli"], "models": ["demo-mlm"]}}},
            "demo-nli is not of format glue",
        ),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_named(changes, message):
    plan = plan_of(**changes)
    with pytest.raises(UserError) as error:
        task_config.check(plan.config)
    assert message in str(error.value)


def test_numbers_are_learned_by_a_correlation():
    plan = plan_of(tasks={"x": {**OWN, "labels": "numbers"}})
    assert plan.labels("x") == [] and plan.metrics("x") == ["pearson"]
    task_config.check(plan.config)


WORDS = {"format": "conll", "data": "mine", **FILES}
ANSWERS = {"format": "squad", "data": "mine", **FILES}
CHOICES = {
    **{"format": "multiple_choice", "data": "mine", **FILES},
    **{"text_columns": ["premise"], "choice_columns": ["a", "b"]},
}


def flags_after_split(plan, split="train"):
    flags = plan.task_flags("x", split)
    return flags[0:2], flags[flags.index("--split") + 2 :]


def test_words_answers_and_choices_need_no_labels():
    plan = plan_of(tasks={"x": WORDS})
    assert (plan.kind("x"), plan.labels("x"), plan.metrics("x")) == (
        *("token_classification", []),
        ["f1"],
    )
    assert flags_after_split(plan) == (
        ["--format", "conll"],
        ["--token_column", "0", "--label_column", "-1"],
    )
    labels = ["B-X", "I-X", "O"]
    own = {"labels": labels, "token_column": 1, "label_column": 3, "metric": "accuracy"}
    plan = plan_of(tasks={"x": {**WORDS, **own}})
    assert plan.metrics("x") == ["accuracy"]
    assert flags_after_split(plan)[1] == [
        *("--labels", *labels),
        *("--token_column", "1", "--label_column", "3"),
    ]
    plan = plan_of(tasks={"x": CHOICES})
    assert flags_after_split(plan)[1] == [
        *("--text_columns", "premise", "--choice_columns", "a", "b"),
        *("--label_column", "label"),
    ]
    assert plan.metrics("x") == ["accuracy"]
    task_config.check(plan.config)


def test_answers_are_read_with_settings_of_their_own():
    plan = plan_of(tasks={"x": {**ANSWERS, "doc_stride": 64}})
    assert flags_after_split(plan) == (["--format", "squad"], [])
    settings = plan.finetuning_settings("demo-mlm", "x", "1e-5", "1")
    assert settings["doc_stride"] == 64
    assert settings["max_query_length"] == 64
    assert settings["max_answer_length"] == 30
    assert plan.metrics("x") == ["f1", "exact_match"]
    assert plan.tasks_predicted_as("json") == ["x"]
    assert plan.tasks_predicted_as("tsv") == ["demo-nli"]
    nli = plan.finetuning_settings("demo-mlm", "demo-nli", "1e-5", "1")
    assert "doc_stride" not in nli


@pytest.mark.parametrize(
    ("task", "message"),
    [
        ({**WORDS, "metric": "matthews"}, "x.metric: metric matthews is not for token"),
        ({**WORDS, "labels": "numbers"}, "x.labels: not for format conll"),
        ({**WORDS, "label_column": "ner"}, "x.label_column: of conll it is a number"),
        ({**ANSWERS, "labels": ["a", "b"]}, "x.labels: not for format squad"),
        ({**ANSWERS, "max_query_length": 124}, "max_seq_length (128) leaves no room"),
        ({n: v for n, v in CHOICES.items() if n != "choice_columns"}, "choice_columns"),
        ({n: v for n, v in WORDS.items() if n != "dev"}, "tasks.x: no dev file"),
        (
            {**OWN, "labels": ["a", "b"], "metric": "exact_match"},
            "x.metric: exact_match is for format squad",
        ),
    ],
)
def test_what_does_not_go_with_a_kind_is_named(task, message):
    plan = plan_of(tasks={"x": task})
    with pytest.raises(UserError) as error:
        task_config.check(plan.config)
    assert message in str(error.value)
