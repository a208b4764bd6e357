"""Checks of the config that its JSON schema cannot say: what must fit or exist."""

from pathlib import Path
from typing import Any

from babelmill.errors import UserError
from babelmill.plan import Plan

Config = dict[str, Any]


def check(config: Config) -> None:
    """Refuse a config whose parts do not fit each other.

    Raises:
        UserError: the key and what would be right.
    """
    for name, tokenizer in config["tokenizers"].items():
        where = f"tokenizers.{name}.learn_from"
        _known(where, tokenizer.get("learn_from", []), config["corpora"])
    for name, model in config["models"].items():
        _check_model(f"models.{name}", model, config)
    for name, table in config["tables"].items():
        _check_table(f"tables.{name}", table, config)
    for name, corpus in config["corpora"].items():
        where = f"corpora.{name}"
        if corpus["aligned"] and not corpus["lines_per_document"]:
            raise UserError(f"{where}: aligned text needs lines_per_document, say 10")
        pattern = corpus.get("path", corpus.get("member", "{lang}"))
        if "{lang}" not in pattern:
            raise UserError(f'{where}: {pattern} has no "{{lang}}" in it')
    check_texts(config)


def _check_model(where: str, model: Config, config: Config) -> None:
    _known(f"{where}.tokenizer", [model["tokenizer"]], config["tokenizers"])
    for key, objective in (("monolingual", "mlm"), ("parallel", "tlm")):
        _known(f"{where}.{key}", model[key], config["corpora"])
        if objective in model["objectives"] and not model[key]:
            raise UserError(f"{where}: objective {objective} needs corpora in {key}")
    for name in model["parallel"]:
        if not config["corpora"][name]["aligned"]:
            raise UserError(f"{where}.parallel: corpus {name} is not aligned: true")
    architecture, length = model["architecture"], model["shards"]["max_seq_length"]
    if architecture["emb_dim"] % architecture["n_heads"]:
        raise UserError(
            f"{where}.architecture: n_heads ({architecture['n_heads']}) must divide"
            f" emb_dim ({architecture['emb_dim']})"
        )
    if length > architecture["max_position_embeddings"]:
        raise UserError(
            f"{where}.shards.max_seq_length ({length}) is longer than"
            f" max_position_embeddings ({architecture['max_position_embeddings']})"
        )


def _check_table(where: str, table: Config, config: Config) -> None:
    _known(f"{where}.task", [table["task"]], config["tasks"])
    _known(f"{where}.models", table["models"], config["models"])
    longest = config["tasks"][table["task"]]["finetuning"]["max_seq_length"]
    for name in table["models"]:
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
    """Refuse languages without text in the local corpora that the tables need.

    Raises:
        UserError: the corpus, the language and the path that is missing.
    """
    plan = Plan(config)
    for table in config["tables"].values():
        for name in table["models"]:
            model = config["models"][name]
            learned = config["tokenizers"][model["tokenizer"]].get("learn_from", [])
            for corpus in [*model["monolingual"], *model["parallel"], *learned]:
                _check_local_text(plan, corpus)


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
