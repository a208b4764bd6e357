"""What follows from the config for tasks, fine-tuning and tables.

A *setting* says how a model was trained for a task and what it is shown (the columns of
XLM's table); a *training* is the run that this needs. ``zero-shot`` and
``translate-test`` need the same one, in English, and ``translate-train`` one for each
language, such as ``translate-train.sw``.
"""

import os
from itertools import product
from typing import Any

from babelmill.glue import GLUE, MISMATCHED, evaluations, submissions
from babelmill.kinds import KIND_OF, KINDS, reported
from babelmill.plan import Plan

FINE_TUNING = "fine-tuning"  # The setting of GLUE.
TRANSLATED = "test_translated"  # The split of test sets in English translation.
XNLI_FILES = {
    "train": ("xnli_mt", "XNLI-MT-1.0/multinli/multinli.train.{lang}.tsv"),
    "dev": ("xnli", "XNLI-1.0/xnli.dev.tsv"),
    "test": ("xnli", "XNLI-1.0/xnli.test.tsv"),
}
_ENGLISH = ("zero-shot", "translate-test", FINE_TUNING)


class TaskPlan(Plan):
    """As ``Plan``, for what comes after pretraining."""

    # Tasks

    def kind(self, task: str) -> str:
        """The kind of a task, a key of ``KINDS``."""
        return KIND_OF[self._task(task).get("format", "tsv")]

    def tasks_predicted_as(self, suffix: str) -> list[str]:
        """The tasks whose predictions have a suffix."""
        return [
            name
            for name in self.config["tasks"]
            if KINDS[self.kind(name)].predictions == suffix
        ]

    def labels(self, task: str) -> list[str]:
        """The classes of a task, in the order of the model's outputs.

        None are numbers, or classes that the training set names.
        """
        entry = self._task(task)
        if entry.get("format") == "glue":
            return list(GLUE[task].labels)
        labels = entry.get("labels", [])
        return [] if labels == "numbers" else labels

    def metrics(self, task: str) -> list[str]:
        """What is reported of a task; the best step is chosen by the first."""
        entry = self._task(task)
        if entry.get("format") == "glue":
            return list(GLUE[task].metrics)
        kind = self.kind(task)
        first = KINDS[kind].metrics[0][0]
        if entry.get("labels") == "numbers":
            first = "pearson"
        return reported(kind, entry.get("metric", first))

    def task_file(self, task: str, split: str, lang: str) -> tuple[str, str]:
        """The dataset to download ("" for local files) and the file to read in it."""
        entry = self._task(task)
        if "source" in entry:
            return "", f"results/demo/nli/{split}.{lang}.tsv"
        if split in entry:
            return "", self._fill(entry[split], lang)
        if entry["format"] == "glue":
            dataset, member = GLUE[task].dataset, GLUE[task].file(split)
        else:
            dataset, member = XNLI_FILES[split]
        member = member.format(lang=lang)
        local = os.path.join(self._fill(entry.get("folder", ""), lang), member)
        if os.path.exists(local) or not dataset:
            return "", local
        return dataset, f"results/datasets/{dataset}/{member}"

    def task_input(self, task: str, split: str, lang: str) -> str:
        """What a job that prepares a split reads: a file, or a downloaded folder."""
        dataset, path = self.task_file(task, split, lang)
        return f"results/datasets/{dataset}" if dataset else path

    def task_flags(self, task: str, split: str) -> list[str]:
        """Flags of prepare_task.py."""
        entry = self._task(task)
        layout = entry.get("format", "tsv")
        columns = {"label_column": -1 if layout == "conll" else "label", **entry}
        if layout == "xnli" and split == TRANSLATED:
            # XNLI's own columns, in a file of one language.
            layout = "tsv"
            columns["text_columns"] = ["sentence1", "sentence2"]
            columns["label_column"] = "gold_label"
        flags = ["--format", layout, "--split", split.partition("_")[0]]
        if labels := self.labels(task):
            flags += ["--labels", *labels]
        if layout == "glue":
            flags += ["--task_name", _scored_as(task, split)]
        for name in KINDS[KIND_OF[layout]].layouts[layout]:
            value = columns[name]
            words = value if isinstance(value, list) else [str(value)]
            flags += [f"--{name}", *words]
        if split in entry["limit"]:
            flags += ["--limit", str(entry["limit"][split])]
        return flags

    def prepared(self, task: str, split: str, langs: list[str]) -> list[str]:
        """The normalized tables of a split."""
        return [f"results/tasks/{task}/{split}.{lang}.tsv" for lang in langs]

    # Fine-tuning

    def training(self, setting: str, lang: str) -> str:
        """The training that a setting needs to be evaluated in a language."""
        if setting == "translate-train":
            return f"translate-train.{lang}"
        return "zero-shot" if setting == "translate-test" else setting

    def training_languages(self, training: str) -> list[str]:
        """The languages whose training sets a training uses."""
        if training in _ENGLISH:
            return ["en"]
        if training == "translate-train-all":
            return sorted(self.config["languages"])
        return [training.removeprefix("translate-train.")]

    def dev_languages(self, task: str, training: str) -> list[str]:
        """The languages whose dev sets choose the best step of a training."""
        if training.startswith("translate-train."):
            return self.training_languages(training)
        return ["en"] if training == FINE_TUNING else self._task(task)["select_on"]

    def finetuning(self, model: str, task: str) -> dict[str, Any]:
        """The settings of a model on a task: the model's go before the task's."""
        own = self._model(model).get("finetuning", {})
        return {**self._task(task)["finetuning"], **own}

    def finetuning_settings(
        self, model: str, task: str, rate: str, seed: str
    ) -> dict[str, Any]:
        """The settings of one job of the grid."""
        grid, entry = self.finetuning(model, task), self._task(task)
        reading = {name: entry[name] for name in KINDS[self.kind(task)].reading}
        return {**grid, **reading, "learning_rate": float(rate), "seed": int(seed)}

    def learning_rates(self, model: str, task: str) -> list[str]:
        """The grid of learning rates, as they stand in paths."""
        rates = self.finetuning(model, task)["learning_rate"]
        return [str(float(r)) for r in (rates if isinstance(rates, list) else [rates])]

    def grid(self, model: str, task: str, training: str, seed: str) -> list[str]:
        """The fine-tuned models of one seed, of which the best on dev is exported."""
        folder = f"results/finetuned/{model}/{task}/{training}/seed{seed}"
        return [f"{folder}/lr{rate}" for rate in self.learning_rates(model, task)]

    # Evaluation

    def exported(
        self, model: str, task: str, setting: str, seed: str, lang: str
    ) -> str:
        """The exported model that is evaluated in a language."""
        training = self.training(setting, lang)
        return f"results/exported/{model}/{task}/{training}/seed{seed}"

    def evaluated(
        self, task: str, setting: str, split: str, lang: str
    ) -> tuple[str, str]:
        """The table of examples that stands for a language, and what it is in.

        With ``translate-test`` that is English, for the texts were translated.
        """
        if setting == "translate-test":
            split = split if lang == "en" else TRANSLATED
            return f"results/tasks/{task}/{split}.{lang}.tsv", "en"
        return f"results/tasks/{task}/{split}.{lang}.tsv", lang

    def score_fields(
        self, model: str, task: str, setting: str, split: str, lang: str, seed: str
    ) -> dict[str, Any]:
        """What a score file says of its run."""
        return {
            "model": model,
            "setting": setting,
            "task": _scored_as(task, split),
            "data": self._task(task)["data"],
            "seed": int(seed),
            "language": lang,
            "split": split.removesuffix(MISMATCHED),
        }

    def submission(self, model: str, name: str, seed: str) -> tuple[str, str]:
        """The exported model and the examples of one file of a GLUE submission."""
        task, split = submissions()[name]
        (examples,) = self.prepared(task, split, ["en"])
        return self.exported(model, task, FINE_TUNING, seed, "en"), examples

    # Tables

    def tables(self) -> dict[str, Any]:
        """The tables that the config asks for."""
        return {name: entry for name, entry in self.config["tables"].items() if entry}

    def table_scores(self, table: str) -> list[str]:
        """The score files behind a table."""
        entry = self.config["tables"][table]
        if table == "glue":
            splits = [(t, s) for t in entry["tasks"] for s in evaluations(t, "dev")]
            settings, langs = [FINE_TUNING], ["en"]
        else:
            splits = [(entry["task"], "test")]
            settings, langs = entry["settings"], self.config["languages"]
        runs = product(entry["models"], splits, settings, entry["seeds"], langs)
        return [
            f"results/scores/{model}/{task}/{setting}/seed{seed}/{split}.{lang}.json"
            for model, (task, split), setting, seed, lang in runs
        ]

    def all_scores(self) -> list[str]:
        """The score files behind all tables, each once."""
        tables = map(self.table_scores, self.tables())
        return list(dict.fromkeys(path for table in tables for path in table))

    def table_models(self) -> list[str]:
        """The models of all tables, each once."""
        entries = self.tables().values()
        return list(dict.fromkeys(m for entry in entries for m in entry["models"]))

    def glue_columns(self) -> list[str]:
        """The tasks of the GLUE table, as scores name them."""
        tasks = self.config["tables"]["glue"]["tasks"]
        return [_scored_as(t, s) for t in tasks for s in evaluations(t, "dev")]

    def glue_submissions(self) -> list[str]:
        """All files of the submissions of the GLUE table's models."""
        entry = self.config["tables"]["glue"]
        wanted = [n for n, (t, _) in submissions().items() if t in entry["tasks"]]
        return [
            f"results/glue_submission/{model}/seed{seed}/{name}.tsv"
            for model, seed, name in product(entry["models"], entry["seeds"], wanted)
        ]

    def _task(self, name: str) -> dict[str, Any]:
        return self.config["tasks"][name]


def _scored_as(task: str, split: str) -> str:
    """The name of a task in scores: MNLI's mismatched sets are ``mnli-mm``."""
    return f"{task}-mm" if split.endswith(MISMATCHED) else task
