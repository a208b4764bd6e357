"""Checks of the config that its JSON schema cannot say: what must fit or exist."""

from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

from babelmill.errors import UserError
from babelmill.plan import OBJECTIVES, Plan

Config = dict[str, Any]

_LONGEST_MESSAGE = 300


def check_schema(config: Config, schema: Config) -> None:
    """Refuse a config that its JSON schema does not allow.

    Raises:
        UserError: the first fault, in one line.
    """
    error = best_match(Draft202012Validator(schema).iter_errors(config))
    if error:
        where = ".".join(map(str, error.absolute_path)) or "the top level"
        raise UserError(f"{where}: {error.message[:_LONGEST_MESSAGE]}")


def check(config: Config) -> None:
    """Refuse a config whose parts do not fit each other.

    Raises:
        UserError: the key and what would be right.
    """
    for name, tokenizer in config["tokenizers"].items():
        where = f"tokenizers.{name}.learn_from"
        _known(where, tokenizer.get("learn_from", []), config["corpora"])
        if {"kytea_model", "kytea_text"} <= set(tokenizer):
            raise UserError(
                f"tokenizers.{name}: give kytea_model or kytea_text, not both"
            )
        if ("vocab_file" in tokenizer and tokenizer["type"] == "xlm") != (
            "codes_file" in tokenizer
        ):
            raise UserError(
                f"tokenizers.{name}: type xlm needs codes_file and vocab_file, type"
                " bert vocab_file alone"
            )
    for name, model in config["models"].items():
        _check_model(f"models.{name}", model, config)
    for name, table in config["tables"].items():
        _check_table(f"tables.{name}", table, config)
    for name, corpus in config["corpora"].items():
        where = f"corpora.{name}"
        if corpus["aligned"] and not corpus["lines_per_document"]:
            raise UserError(f"{where}: aligned text needs lines_per_document, say 10")
        if corpus["aligned"] and corpus["split_sentences"]:
            raise UserError(
                f"{where}: split_sentences would break the alignment of aligned text"
            )
        pattern = corpus.get("path", corpus.get("member", "{lang}"))
        if "{lang}" not in pattern:
            raise UserError(f'{where}: {pattern} has no "{{lang}}" in it')
    check_texts(config)


def _check_model(where: str, model: Config, config: Config) -> None:
    _known(f"{where}.tokenizer", [model["tokenizer"]], config["tokenizers"])
    for key, served in OBJECTIVES.items():
        _known(f"{where}.{key}", model[key], config["corpora"])
        for objective in served & set(model["objectives"]):
            if not model[key]:
                raise UserError(
                    f"{where}: objective {objective} needs corpora in {key}"
                )
    for name in model["parallel"]:
        if not config["corpora"][name]["aligned"]:
            raise UserError(f"{where}.parallel: corpus {name} is not aligned: true")
    _check_family(where, model, config["tokenizers"][model["tokenizer"]])
    _check_training(where, model, config)


def _check_training(where: str, model: Config, config: Config) -> None:
    """Refuse a start that is not there, and masks that cannot be drawn anew."""
    training, models = model["training"], config["models"]
    if training["dynamic_masking"] and model["shards"]["word_sampling_alpha"]:
        raise UserError(
            f"{where}.training.dynamic_masking: not with shards.word_sampling_alpha,"
            " whose counts are known to the shards alone"
        )
    seen = [where.removeprefix("models.")]
    start = training.get("model_name_or_path")
    if start and start not in models and not Path(start).is_dir():
        raise UserError(
            f"{where}.training.model_name_or_path: {start} is no model of the config"
            " and no folder"
        )
    while start in models:
        if start in seen:
            raise UserError(
                f"{where}.training.model_name_or_path: {start} needs itself"
            )
        seen.append(start)
        start = models[start]["training"].get("model_name_or_path")


# Family of a model: its tokenizer's type, its objectives, its width and its heads.
_XLM = ("xlm", {"mlm", "clm", "tlm"}, "emb_dim", "n_heads")
_BERT = ("bert", {"mlm_nsp"}, "hidden_size", "num_attention_heads")


def _check_family(where: str, model: Config, tokenizer: Config) -> None:
    """Refuse an architecture that its tokenizer, objectives or sizes do not fit."""
    architecture, length = model["architecture"], model["shards"]["max_seq_length"]
    family = architecture["model_type"]
    type, objectives, width, heads = _XLM if family == "xlm" else _BERT
    if tokenizer["type"] != type:
        raise UserError(
            f"{where}.tokenizer: {model['tokenizer']} is of type {tokenizer['type']},"
            f" and models of model_type {family} need one of type {type}"
        )
    if unfit := set(model["objectives"]) - objectives:
        raise UserError(
            f"{where}.objectives: {min(unfit)} is not for model_type {family}; there"
            f" are: {', '.join(sorted(objectives))}"
        )
    if architecture[width] % architecture[heads]:
        raise UserError(
            f"{where}.architecture: {heads} ({architecture[heads]}) must divide"
            f" {width} ({architecture[width]})"
        )
    if length > architecture["max_position_embeddings"]:
        raise UserError(
            f"{where}.shards.max_seq_length ({length}) is longer than"
            f" max_position_embeddings ({architecture['max_position_embeddings']})"
        )


def _check_task(where: str, name: str, config: Config) -> None:
    """Refuse a task whose files or languages cannot serve the table."""
    task = config["tasks"][name]
    for split in ("train", "dev", "test"):
        if task.get("format") in ("tsv", "jsonl") and split not in task:
            raise UserError(f"tasks.{name}: no {split} file")
    several = {
        "dev": len(task["select_on"]) > 1,
        "test": len(config["languages"]) > 1,
    }
    for split, needed in several.items():
        if needed and "{lang}" not in task.get(split, "{lang}"):
            raise UserError(
                f'tasks.{name}.{split}: {task[split]} has no "{{lang}}" in it, but is'
                " asked for in several languages"
            )
    if task["metric"] == "f1" and len(task["labels"]) != 2:
        raise UserError(f"tasks.{name}.metric: f1 is for tasks of two labels")
    if "source" in task:
        if "translate-train-all" in config["tables"]["xnli"]["settings"]:
            raise UserError(
                f"{where}.settings: the demo has no translated training set"
            )
        if unknown := set(task["select_on"]) - set(config["languages"]) - {"en"}:
            raise UserError(f"tasks.{name}.select_on: no dev set of {min(unknown)}")


def _check_languages(where: str, name: str, config: Config) -> None:
    """Refuse languages of texts or tables that the tokenizer learns nothing of."""
    model = config["models"][name]
    tokenizer = config["tokenizers"][model["tokenizer"]]
    plan = Plan(config)
    if "learn_from" not in tokenizer:
        return
    known = {lang for lang, _ in plan.texts_to_learn_from(model["tokenizer"])}
    task = config["tasks"][config["tables"]["xnli"]["task"]]
    wanted = {"en", *config["languages"], *task["select_on"]}
    for corpus in [*model["monolingual"], *model["parallel"]]:
        wanted |= set(plan.languages_of(corpus))
    if unknown := wanted - known:
        raise UserError(
            f"{where}: tokenizer {model['tokenizer']} is learned from no text in"
            f" {' '.join(sorted(unknown))}, which models.{name} or its table needs"
        )
    for corpus in model["parallel"] if "tlm" in model["objectives"] else []:
        langs = plan.languages_of(corpus)
        if len(langs) < 2 or model["pivot"] not in (None, *langs):
            raise UserError(
                f"models.{name}.parallel: {corpus} has no pair of languages with"
                f" pivot {model['pivot']}"
            )


def _check_table(where: str, table: Config, config: Config) -> None:
    _known(f"{where}.task", [table["task"]], config["tasks"])
    _known(f"{where}.models", table["models"], config["models"])
    _check_task(where, table["task"], config)
    longest = config["tasks"][table["task"]]["finetuning"]["max_seq_length"]
    for name in table["models"]:
        _check_languages(where, name, config)
        positions = config["models"][name]["architecture"]["max_position_embeddings"]
        if longest > positions:
            raise UserError(
                f"tasks.{table['task']}.finetuning.max_seq_length ({longest}) is longer"
                f" than models.{name}'s max_position_embeddings ({positions})"
            )


def _known(where: str, names: list[str], known: Config) -> None:
    for name in names:
        if name not in known:
            raise UserError(
                f"{where}: there is no {name!r};"
                f" there are: {', '.join(known) or 'none'}"
            )


def check_texts(config: Config) -> None:
    """Refuse languages without a file in the local corpora and tasks of the tables.

    Snakemake itself would not miss one whose results are there from an earlier run.

    Raises:
        UserError: the corpus or task, the language and the path that is missing.
    """
    plan = Plan(config)
    for table in config["tables"].values():
        _check_task_files(plan, table["task"], table["settings"])
        for name in table["models"]:
            model = config["models"][name]
            learned = config["tokenizers"][model["tokenizer"]].get("learn_from", [])
            for corpus in [*model["monolingual"], *model["parallel"], *learned]:
                _check_local_text(plan, corpus)


def _check_task_files(plan: Plan, name: str, settings: list[str]) -> None:
    """Refuse a task of one's own whose files are not there."""
    task = plan.config["tasks"][name]
    if task.get("format") not in ("tsv", "jsonl"):
        return
    wanted = {
        "train": {lang for s in settings for lang in plan.training_languages(s)},
        "dev": set(task["select_on"]),
        "test": set(plan.config["languages"]),
    }
    for split, langs in wanted.items():
        for lang in sorted(langs):
            _, path = plan.task_file(name, split, lang)
            if not Path(path).exists():
                raise UserError(
                    f"tasks.{name}.{split}: no file for {lang}: {path} does not exist"
                )


def _check_local_text(plan: Plan, corpus: str) -> None:
    if "path" not in plan.config["corpora"][corpus]:
        return
    for lang in plan.languages_of(corpus):
        path = plan.raw_text(corpus, lang)
        if not Path(path).exists():
            raise UserError(
                f"corpora.{corpus}: no text for {lang}: {path} does not exist; put it"
                f" there, or list the languages that there are in its languages"
            )
