"""Checks of the config that its JSON schema cannot say: what must fit or exist."""

from pathlib import Path
from typing import Any

import yaml
from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

from babelmill.errors import UserError
from babelmill.plan import OBJECTIVES, Plan

Config = dict[str, Any]

SCHEMA = Path(__file__).parents[2] / "schemas" / "config.schema.yaml"

_LONGEST_MESSAGE = 300
# Settings that people know from PaddleNLP's trainers, and what there is instead.
_ELSEWHERE = {
    "batch_size": "global_batch_size counts the rows of all devices",
    "device": "--set-resources pretrain:gpu=1",
    "enable_addto": "the environment variable FLAGS_max_inplace_grad_add=8",
    "fuse_transformer": "engine static or use_amp; fused layers name weights otherwise",
    "gradient_merge_steps": "--set-resources pretrain:gradient_merge_steps=2",
    "num_train_epochs": "max_steps",
    "profiler_options": "the flag of pretrain.py",
}


def check_schema(config: Config, schema: Config, *where: str) -> None:
    """Refuse a config that its JSON schema does not allow.

    Args:
        where: names of the keys above it, for messages.

    Raises:
        UserError: the first fault, in one line.
    """
    error = best_match(Draft202012Validator(schema).iter_errors(config))
    if error:
        key = ".".join(map(str, [*where, *error.absolute_path])) or "the top level"
        hint = ""
        if error.validator == "additionalProperties":
            unknown = sorted(set(error.instance) & set(_ELSEWHERE))
            hint = "".join(f"; for {name}: {_ELSEWHERE[name]}" for name in unknown)
        raise UserError(f"{key}: {error.message[:_LONGEST_MESSAGE]}{hint}")


def complete(part: str, values: Config) -> Config:
    """A part of a config with its defaults, as where a script is run by hand.

    Args:
        part: a name in the schema's ``$defs``, such as ``pretraining``.
        values: without the seed, which is not a part's.

    Raises:
        UserError: the schema does not allow the values.
    """
    defined = yaml.safe_load(SCHEMA.read_text())["$defs"]
    check_schema(values, {"$defs": defined, "$ref": f"#/$defs/{part}"}, part)
    properties = defined[part]["properties"].items()
    return {k: v["default"] for k, v in properties if "default" in v} | values


def check(config: Config) -> None:
    """Refuse a config whose parts do not fit each other.

    Raises:
        UserError: the key and what would be right.
    """
    for name, tokenizer in config["tokenizers"].items():
        where = f"tokenizers.{name}.learn_from"
        known(where, tokenizer.get("learn_from", []), config["corpora"])
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


def _check_model(where: str, model: Config, config: Config) -> None:
    if "objectives" not in model:
        _check_encoder(where, model, config)
        return
    known(f"{where}.tokenizer", [model["tokenizer"]], config["tokenizers"])
    for key, served in OBJECTIVES.items():
        known(f"{where}.{key}", model[key], config["corpora"])
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


def _check_encoder(where: str, model: Config, config: Config) -> None:
    """Refuse an encoder that is not pretrained here and not there."""
    if other := model.get("encoder"):
        known(f"{where}.encoder", [other], config["models"])
        if "encoder" in config["models"][other]:
            raise UserError(f"{where}.encoder: {other} takes another model's encoder")
        return
    folder = Path(Plan(config).encoder(where.removeprefix("models.")))
    if not (folder / "config.json").is_file():
        raise UserError(f"{where}: {folder} is no model folder: it has no config.json")


# Family of a model: its tokenizer's type and its objectives.
_XLM = ("xlm", {"mlm", "clm", "tlm"})
_BERT = ("bert", {"mlm_nsp"})


def _check_family(where: str, model: Config, tokenizer: Config) -> None:
    """Refuse an architecture that its tokenizer, objectives or sizes do not fit."""
    architecture, length = model["architecture"], model["shards"]["max_seq_length"]
    family = architecture["model_type"]
    type, objectives = _XLM if family == "xlm" else _BERT
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
    check_heads(f"{where}.architecture", architecture)
    if length > architecture["max_position_embeddings"]:
        raise UserError(
            f"{where}.shards.max_seq_length ({length}) is longer than"
            f" max_position_embeddings ({architecture['max_position_embeddings']})"
        )


def check_heads(where: str, architecture: Config) -> None:
    """Refuse attention heads that do not share a layer's width evenly.

    Raises:
        UserError: both numbers.
    """
    names = ("emb_dim", "n_heads")
    if "hidden_size" in architecture:
        names = ("hidden_size", "num_attention_heads")
    width, heads = (architecture[name] for name in names)
    if width % heads:
        raise UserError(
            f"{where}: {names[1]} ({heads}) must divide {names[0]} ({width})"
        )


def known(where: str, names: list[str], there: Config) -> None:
    """Refuse names that are not there.

    Raises:
        UserError: the first of them, and those that there are.
    """
    for name in names:
        if name not in there:
            raise UserError(
                f"{where}: there is no {name!r};"
                f" there are: {', '.join(there) or 'none'}"
            )


def check_languages(name: str, wanted: set[str], config: Config) -> None:
    """Refuse languages that a model's tokenizer learns nothing of.

    Args:
        name: of a model that is pretrained here.
        wanted: the languages of its tables.

    Raises:
        UserError: the languages, or a parallel corpus without a pair.
    """
    model = config["models"][name]
    plan = Plan(config)
    if "learn_from" not in config["tokenizers"][model["tokenizer"]]:
        return
    learned = {lang for lang, _ in plan.texts_to_learn_from(model["tokenizer"])}
    corpora = [*model["monolingual"], *model["parallel"]]
    needed = wanted.union(*map(plan.languages_of, corpora))
    if unknown := needed - learned:
        raise UserError(
            f"models.{name}: tokenizer {model['tokenizer']} is learned from no text in"
            f" {' '.join(sorted(unknown))}, which models.{name} or its table needs"
        )
    for corpus in model["parallel"] if "tlm" in model["objectives"] else []:
        langs = plan.languages_of(corpus)
        if len(langs) < 2 or model["pivot"] not in (None, *langs):
            raise UserError(
                f"models.{name}.parallel: {corpus} has no pair of languages with"
                f" pivot {model['pivot']}"
            )


def check_texts(name: str, config: Config) -> None:
    """Refuse languages without a file in the local corpora of a pretrained model.

    Snakemake itself would not miss one whose results are there from an earlier run.

    Raises:
        UserError: the corpus, the language and the path that is missing.
    """
    model = config["models"][name]
    learned = config["tokenizers"][model["tokenizer"]].get("learn_from", [])
    for corpus in [*model["monolingual"], *model["parallel"], *learned]:
        _check_local_text(Plan(config), corpus)


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
