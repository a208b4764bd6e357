"""Checks of the config's tasks and tables that its JSON schema cannot say."""

from pathlib import Path
from typing import Any

from babelmill.config import check_languages, check_texts, known
from babelmill.errors import UserError
from babelmill.glue import GLUE, evaluations
from babelmill.kinds import KIND_OF, reported
from babelmill.metrics import CORRELATIONS
from babelmill.task_plan import TRANSLATED, TaskPlan

Config = dict[str, Any]


def check(config: Config) -> None:
    """Refuse tasks and tables that do not fit each other, or lack their files.

    Raises:
        UserError: the key and what would be right.
    """
    plan = TaskPlan(config)
    for name, task in config["tasks"].items():
        _check_task(f"tasks.{name}", name, task)
    for table, entry in plan.tables().items():
        where = f"tables.{table}"
        tasks = entry["tasks"] if table == "glue" else [entry["task"]]
        known(
            f"{where}.{'tasks' if table == 'glue' else 'task'}", tasks, config["tasks"]
        )
        known(f"{where}.models", entry["models"], config["models"])
        for task in tasks:
            if table == "glue":
                _check_glue(where, task, plan)
            else:
                _check_settings(where, task, entry["settings"], plan)
            for model in entry["models"]:
                _check_lengths(model, task, plan)
    for model in plan.pretrained(plan.table_models()):
        check_languages(model, _languages(model, plan), config)
        check_texts(model, config)


def _check_task(where: str, name: str, task: Config) -> None:
    """Refuse files, labels or a metric that do not go with the task's format."""
    if task.get("format") == "glue":
        if name not in GLUE:
            raise UserError(
                f"{where}: format glue is for the tasks {', '.join(GLUE)}, by name"
            )
        if "labels" in task or "metric" in task:
            raise UserError(f"{where}: GLUE says what its labels and metrics are")
        return
    layout = task.get("format", "tsv")
    kind = KIND_OF[layout]
    for split in ("train", "dev", "test"):
        if "format" in task and layout != "xnli" and split not in task:
            raise UserError(f"{where}: no {split} file")
    if kind != "sequence_classification":
        _check_own_kind(where, kind, task)
        return
    if "labels" not in task:
        raise UserError(f"{where}: labels are missing: a list, or the word numbers")
    numbers, metric = task["labels"] == "numbers", task.get("metric")
    if metric == "exact_match":
        raise UserError(f"{where}.metric: {metric} is for format squad")
    if metric and numbers != (metric in CORRELATIONS):
        kind = "numbers" if numbers else "classes"
        raise UserError(f"{where}.metric: {metric} is not for labels that are {kind}")
    if metric in ("f1", "accuracy_f1") and len(task["labels"]) != 2:
        raise UserError(f"{where}.metric: {metric} is for tasks of two labels")


def _check_own_kind(where: str, kind: str, task: Config) -> None:
    """Refuse what does not go with words, answers or choices."""
    if "metric" in task:
        try:
            reported(kind, task["metric"])
        except UserError as error:
            raise UserError(f"{where}.metric: {error}") from None
    labels = task.get("labels", [])
    if labels == "numbers" or (labels and kind == "question_answering"):
        raise UserError(f"{where}.labels: not for format {task['format']}")
    if kind == "multiple_choice" and "choice_columns" not in task:
        raise UserError(f"{where}: choice_columns are missing: the keys of the choices")
    column = task.get("label_column", -1)
    if kind == "token_classification" and not isinstance(column, int):
        raise UserError(f"{where}.label_column: of conll it is a number, from 0")
    longest = task["finetuning"]["max_seq_length"]
    if kind == "question_answering" and longest < task["max_query_length"] + 8:
        raise UserError(
            f"{where}: finetuning.max_seq_length ({longest}) leaves no room for a text"
            f" after a question of max_query_length ({task['max_query_length']})"
        )


def _check_settings(where: str, name: str, settings: list[str], plan: TaskPlan) -> None:
    """Refuse settings that a task has no data for."""
    task = plan.config["tasks"][name]
    if task.get("format") == "glue":
        raise UserError(f"{where}.task: {name} is of GLUE, whose table is tables.glue")
    if "source" in task:
        if any(setting.startswith("translate-train") for setting in settings):
            raise UserError(
                f"{where}.settings: the demo has no translated training set"
            )
        if unknown := set(task["select_on"]) - set(plan.config["languages"]) - {"en"}:
            raise UserError(f"tasks.{name}.select_on: no dev set of {min(unknown)}")
    if "translate-test" in settings and TRANSLATED not in task:
        raise UserError(
            f"{where}.settings: translate-test needs tasks.{name}.{TRANSLATED}: test"
            " sets in English translation, which you bring"
        )
    for split, langs in _needed(name, settings, plan).items():
        if len(langs) > 1 and "{lang}" not in task.get(split, "{lang}"):
            raise UserError(
                f'tasks.{name}.{split}: {task[split]} has no "{{lang}}" in it, but is'
                " asked for in several languages"
            )
        if split in task:
            _check_files(name, split, langs, plan)


def _needed(name: str, settings: list[str], plan: TaskPlan) -> dict[str, set[str]]:
    """The languages that a table needs of each split."""
    languages = plan.config["languages"]
    needed = {"train": set(), "dev": set(), "test": set(languages), TRANSLATED: set()}
    for setting in settings:
        if setting == "translate-test":
            needed[TRANSLATED] = set(languages) - {"en"}
        for lang in languages:
            training = plan.training(setting, lang)
            needed["train"] |= set(plan.training_languages(training))
            needed["dev"] |= set(plan.dev_languages(name, training))
    return needed


def _check_files(name: str, split: str, langs: set[str], plan: TaskPlan) -> None:
    for lang in sorted(langs):
        _, path = plan.task_file(name, split, lang)
        if not Path(path).exists():
            raise UserError(
                f"tasks.{name}.{split}: no file for {lang}: {path} does not exist"
            )


def _check_glue(where: str, name: str, plan: TaskPlan) -> None:
    """Refuse a task that is not GLUE's, or that is neither there nor to be had."""
    if plan.config["tasks"][name].get("format") != "glue":
        raise UserError(f"{where}.tasks: {name} is not of format glue")
    for split in ("train", *evaluations(name, "dev")):
        dataset, path = plan.task_file(name, split, "en")
        if not dataset and not Path(path).exists():
            raise UserError(
                f"tasks.{name}: {path} does not exist, and there is no dataset of it to"
                " download: put the official files there"
            )


def _check_lengths(model: str, task: str, plan: TaskPlan) -> None:
    """Refuse inputs longer than a model that is pretrained here can take."""
    longest = plan.finetuning(model, task)["max_seq_length"]
    for name in plan.pretrained([model]):
        architecture = plan.config["models"][name]["architecture"]
        positions = architecture["max_position_embeddings"]
        if longest > positions:
            raise UserError(
                f"tasks.{task}.finetuning.max_seq_length ({longest}) is longer than"
                f" models.{name}'s max_position_embeddings ({positions})"
            )


def _languages(model: str, plan: TaskPlan) -> set[str]:
    """The languages that a pretrained model meets in its tables."""
    found = {"en"}
    for table, entry in plan.tables().items():
        if table != "glue" and model in plan.pretrained(entry["models"]):
            for langs in _needed(entry["task"], entry["settings"], plan).values():
                found |= langs
    return found
