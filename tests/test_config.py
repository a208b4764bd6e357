"""The config: closed, described, and checked before anything runs."""

import copy
from pathlib import Path

import pytest
import yaml
from snakemake.utils import update_config, validate

from babelmill import task_config
from babelmill.config import check as check_models
from babelmill.config import check_schema, complete
from babelmill.errors import UserError
from babelmill.task_plan import TaskPlan as Plan
from conftest import ROOT, load_config

OVERLAYS = sorted(path.stem for path in (ROOT / "configs").glob("*.yaml"))


def check(config):
    check_models(config)
    task_config.check(config)


def schema():
    return yaml.safe_load((ROOT / "schemas" / "config.schema.yaml").read_text())


def objects(node, path="config"):
    """Every object of the schema, with its place."""
    if isinstance(node, dict):
        if node.get("type") == "object" or "properties" in node:
            yield path, node
        for key, value in node.items():
            if key != "if":
                yield from objects(value, f"{path}.{key}")


def test_every_object_is_closed_and_every_key_described():
    defined = schema()["$defs"]
    for path, node in objects(schema()):
        # Or else the schemas that a condition chooses from are.
        assert "additionalProperties" in node or "then" in node, path
        for key, value in node.get("properties", {}).items():
            name = value.get("$ref", "").rpartition("/")[2]
            described = {**defined.get(name, {}), **value}
            assert "description" in described, f"{path}.{key}"


@pytest.mark.parametrize("name", [None, *OVERLAYS])
def test_configs_fit_the_schema_and_each_other(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    config = load_config(name)
    config["data_folder"] = "data"
    for corpus, entry in config["corpora"].items():
        for lang in Plan(config).languages_of(corpus):
            if "path" in entry:
                path = tmp_path / Plan(config).raw_text(corpus, lang)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.touch()
    for name, model in config["models"].items():
        if "folder" in model:
            folder = Path(Plan(config).encoder(name))
            folder.mkdir(parents=True)
            (folder / "config.json").touch()
    check(config)


@pytest.mark.parametrize(
    "change, message",
    [
        (
            lambda c: c["models"]["demo-mlm"].update(tokenizer="x"),
            "models.demo-mlm.tokenizer: there is no 'x'; there are: demo-bpe",
        ),
        (
            lambda c: c["models"]["demo-mlm"].update(monolingual=["web"]),
            "models.demo-mlm.monolingual: there is no 'web'",
        ),
        (
            lambda c: c["models"]["demo-mlm-tlm"].update(parallel=["demo-monolingual"]),
            "corpus demo-monolingual is not aligned: true",
        ),
        (
            lambda c: c["models"]["demo-mlm-tlm"].update(parallel=[]),
            "objective tlm needs corpora in parallel",
        ),
        (
            lambda c: c["models"]["demo-mlm"]["architecture"].update(n_heads=7),
            "n_heads (7) must divide emb_dim",
        ),
        (
            lambda c: c["models"]["demo-mlm"]["shards"].update(max_seq_length=999),
            "max_seq_length (999) is longer than max_position_embeddings",
        ),
        (
            lambda c: c["tables"]["xnli"].update(task="glue"),
            "tables.xnli.task: there is no 'glue'; there are: demo-nli",
        ),
        (
            lambda c: c["corpora"]["demo-parallel"].update(lines_per_document=0),
            "aligned text needs lines_per_document",
        ),
        (
            lambda c: c["corpora"].update(web={"path": "x.txt", "aligned": False}),
            'corpora.web: x.txt has no "{lang}" in it',
        ),
        (
            lambda c: (
                c["corpora"].update(
                    web={"path": "no/{lang}.txt", "aligned": False, "languages": ["fr"]}
                ),
                c["models"]["demo-mlm"].update(monolingual=["web"]),
            ),
            "corpora.web: no text for fr: no/fr.txt does not exist",
        ),
        (
            lambda c: c["tasks"]["demo-nli"].update(metric="f1"),
            "f1 is for tasks of two labels",
        ),
        (
            lambda c: c["tables"]["xnli"].update(settings=["translate-train-all"]),
            "the demo has no translated training set",
        ),
        (
            lambda c: c["corpora"]["demo-parallel"].update(languages=["de", "fr"]),
            "demo-parallel has no pair of languages with pivot en",
        ),
        (
            lambda c: (
                c["tokenizers"]["demo-bpe"].update(learn_from=["demo-monolingual"]),
                c["corpora"]["demo-monolingual"].update(languages=["en", "de"]),
            ),
            "tokenizer demo-bpe is learned from no text in ar bg el",
        ),
    ],
)
def test_what_does_not_fit_is_named(change, message):
    config = copy.deepcopy(load_config())
    change(config)
    with pytest.raises(UserError) as error:
        check(config)
    assert message in str(error.value)


def test_a_task_without_its_file_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    config = load_config()
    task = config["tasks"]["demo-nli"]
    del task["source"]
    task |= {"format": "tsv"}
    task |= {split: f"{split}.{{lang}}.tsv" for split in ("train", "dev", "test")}
    for name in ("train.en", "dev.en", *(f"test.{lang}" for lang in ("en", "fr"))):
        (tmp_path / f"{name}.tsv").touch()
    with pytest.raises(
        UserError, match=r"no file for ar: test\.ar\.tsv does not exist"
    ):
        check(config)
    config["languages"] = ["en", "fr"]
    check(config)


def test_a_fault_of_the_schema_is_one_line():
    config = load_config()
    config["langauges"] = ["en"]
    with pytest.raises(UserError) as error:
        check_schema(config, schema())
    assert "'langauges' was unexpected" in str(error.value)
    assert "\n" not in str(error.value) and len(str(error.value)) < 400


BERT = {
    "tokenizer": "pieces",
    "monolingual": ["demo-monolingual"],
    "objectives": {"mlm_nsp": 1},
    "architecture": {
        "model_type": "bert",
        "hidden_size": 16,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
    },
    "training": {"max_steps": 5},
}


def config_with_bert(**changes):
    config = load_config()
    config["tokenizers"]["pieces"] = {
        "type": "bert",
        "learn_from": ["demo-monolingual"],
    }
    config["models"]["bert"] = {**copy.deepcopy(BERT), **changes}
    validate(config, str(ROOT / "schemas" / "config.schema.yaml"))
    return config


def test_settings_of_paddlenlps_trainers_are_named_with_what_there_is_instead():
    config = load_config()
    config["models"]["demo-mlm"]["training"]["enable_addto"] = True
    with pytest.raises(UserError) as error:
        check_schema(config, schema())
    message = str(error.value)
    assert message.startswith("models.demo-mlm.training: ")
    assert message.endswith("; for enable_addto: the environment variable"
                            " FLAGS_max_inplace_grad_add=8")  # fmt: skip


def test_a_part_of_the_config_gets_its_defaults_and_is_closed():
    made = complete("pretraining", {"max_steps": 5, "weight_decay": 0.5})
    from_config = load_config()["models"]["demo-mlm"]["training"]
    assert set(made) == set(from_config)
    assert (made["max_steps"], made["weight_decay"], made["optim"]) == (5, 0.5, "adamw")
    with pytest.raises(UserError, match="pretraining: 'max_steps' is a required"):
        complete("pretraining", {})


def test_a_bert_gets_its_own_defaults_and_flags():
    config = config_with_bert(shards={"whole_word_mask": True})
    check(config)
    architecture = config["models"]["bert"]["architecture"]
    assert architecture["layer_norm_eps"] == 1e-12
    assert "n_langs" not in architecture and "emb_dim" not in architecture
    flags = Plan(config).shard_flags("bert")
    assert "mlm_nsp=1" in flags and "--whole_word_mask" in flags
    assert flags[flags.index("--short_seq_prob") + 1] == "0.1"
    assert "en=results/tokenized/demo-monolingual/pieces/en.h5" in flags


@pytest.mark.parametrize(
    "changes, message",
    [
        (
            {"tokenizer": "demo-bpe"},
            "demo-bpe is of type xlm, and models of model_type bert need one of type"
            " bert",
        ),
        ({"objectives": {"mlm": 1}}, "objectives: mlm is not for model_type bert"),
        (
            {"architecture": {**BERT["architecture"], "num_attention_heads": 3}},
            r"num_attention_heads \(3\) must divide hidden_size \(16\)",
        ),
        ({"monolingual": []}, "objective mlm_nsp needs corpora in monolingual"),
    ],
)
def test_a_bert_that_fits_nothing_is_refused(changes, message):
    with pytest.raises(UserError, match=message):
        check(config_with_bert(**changes))


@pytest.mark.parametrize(
    "entry, flags",
    [
        ({"vocab_file": "{data_folder}/vocab.txt"}, ["--vocab_file", "data/vocab.txt"]),
        ({"bert_model": "bert-base-cased"}, []),
        ({"vocab_file": "v", "do_lower_case": False}, ["--vocab_file", "v"]),
    ],
)
def test_given_wordpieces(entry, flags):
    config = load_config()
    config["tokenizers"]["pieces"] = {"type": "bert", **entry}
    validate(config, str(ROOT / "schemas" / "config.schema.yaml"))
    check(config)
    plan = Plan(config)
    assert plan.given_flags("pieces") == flags
    wanted = ["--type", "bert"]
    if "bert_model" in entry:
        wanted += ["--bert_model", "bert-base-cased"]
    if "do_lower_case" in entry:
        wanted += ["--no-do_lower_case"]
    assert plan.tokenizer_flags("pieces") == wanted


@pytest.mark.parametrize(
    "entry",
    [
        {"type": "xlm", "vocab_file": "v"},
        {"type": "bert", "vocab_file": "v", "codes_file": "c"},
    ],
)
def test_codes_go_with_an_xlm_vocabulary(entry):
    config = load_config()
    config["tokenizers"]["pieces"] = entry
    validate(config, str(ROOT / "schemas" / "config.schema.yaml"))
    with pytest.raises(UserError, match="type xlm needs codes_file and vocab_file"):
        check(config)


def test_keys_of_one_architecture_are_unknown_to_the_other():
    config = load_config()
    config["models"]["demo-mlm"]["architecture"]["hidden_size"] = 16
    with pytest.raises(UserError, match="'hidden_size' was unexpected"):
        check_schema(config, schema())


@pytest.mark.parametrize(
    "training, message",
    [
        ({"model_name_or_path": "nothing"}, "nothing is no model of the config and no"),
        ({"model_name_or_path": "bert"}, "bert needs itself"),
    ],
)
def test_a_start_that_cannot_be(training, message):
    with pytest.raises(UserError, match=message):
        check(config_with_bert(training={"max_steps": 5, **training}))


def test_word_weights_are_not_drawn_anew():
    config = load_config()
    config["models"]["demo-mlm"]["training"]["dynamic_masking"] = True
    with pytest.raises(UserError, match=r"not with shards\.word_sampling_alpha"):
        check(config)


def test_plan_names_every_shard_and_score_once():
    plan = Plan(load_config())
    shards = plan.training_shards("demo-mlm")
    settings = plan.config["models"]["demo-mlm"]["shards"]
    assert len(set(shards)) == settings["shards"] * settings["dupe_factor"]
    scores = plan.table_scores("xnli")
    # 2 models, 1 setting, 3 seeds, 15 languages.
    assert len(set(scores)) == 2 * 1 * 3 * 15


def test_plan_takes_local_archives_where_they_are(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    plan = Plan({"data_folder": "d", "tasks": {"x": {"format": "xnli", "folder": "f"}}})
    assert plan.task_file("x", "dev", "sw") == (
        "xnli",
        "results/datasets/xnli/XNLI-1.0/xnli.dev.tsv",
    )
    (tmp_path / "f" / "XNLI-1.0").mkdir(parents=True)
    (tmp_path / "f" / "XNLI-1.0" / "xnli.dev.tsv").touch()
    assert plan.task_file("x", "dev", "sw") == ("", "f/XNLI-1.0/xnli.dev.tsv")


def test_examples_of_the_readme_fit_the_schema():
    text = (ROOT / "README.md").read_text()
    examples = [part.split("```")[0] for part in text.split("```yaml\n")[1:]]
    assert len(examples) == 6
    for example in examples:
        config = yaml.safe_load((ROOT / "config.yaml").read_text())
        update_config(config, yaml.safe_load(example.replace("{path: …, ", "{")))
        validate(config, str(ROOT / "schemas" / "config.schema.yaml"))
        assert len(example.splitlines()) <= 10


def test_defaults_reach_every_part():
    """A default behind a $ref is not seen by the validator: none may hide there."""
    config = load_config()
    properties = schema()["$defs"]
    for part, name in (
        (config["models"]["demo-mlm"]["training"], "pretraining"),
        (config["models"]["demo-mlm"]["shards"], "shards"),
        (config["models"]["demo-mlm"]["architecture"], "xlm_architecture"),
        (config["tasks"]["demo-nli"]["finetuning"], "finetuning"),
    ):
        # Without it, what another setting says, or nothing.
        without = {"embed_init_std", "model_name_or_path"}
        assert set(part) - without == set(properties[name]["properties"]) - without
