"""Validation, constraints and helpers that every rule file shares; defines no rules."""

import os
import re
import sys
from pathlib import Path

import yaml
from snakemake.exceptions import WorkflowError

sys.path.insert(0, os.path.join(workflow.basedir, "workflow_scripts"))

import babelmill.config
import babelmill.task_config
from babelmill.errors import UserError
from babelmill.glue import submissions
from babelmill.plan import as_json, demo_languages, named
from babelmill.task_plan import TaskPlan

schema = babelmill.config.SCHEMA
try:
    babelmill.config.check_schema(config, yaml.safe_load(schema.read_text()))
    validate(config, str(schema))  # sets the defaults
    babelmill.config.check(config)
    babelmill.task_config.check(config)
except UserError as error:
    raise WorkflowError(f"config: {error}")

plan = TaskPlan(config)
environment = f"../envs/{config['environment']}.yaml"


def any_of(names):
    """A regular expression of these names alone; without names, one of nothing."""
    return "|".join(map(re.escape, names)) or "(?!)"


wildcard_constraints:
    corpus=any_of(config["corpora"]),
    lang="[a-z]{2,3}",
    tokenizer=any_of(config["tokenizers"]),
    model=any_of(config["models"]),
    task=any_of(config["tasks"]),
    setting="zero-shot|translate-train|translate-train-all|translate-test|fine-tuning",
    # What a setting trains on, where that is one run for each language.
    training="zero-shot|translate-train-all|translate-train[.][a-z]{2,3}|fine-tuning",
    split="train|dev|test|dev_mismatched|test_mismatched|test_translated",
    rate="[0-9.e+-]+",
    seed="[0-9]+",
    submission=any_of(submissions()),
    shard="[0-9]+",
    shards="[0-9]+",
    dupe="[0-9]+",


def script(name):
    """Path of a workflow script, relative to the working directory."""
    return os.path.relpath(os.path.join(workflow.basedir, "workflow_scripts", name))


def resource(path):
    """A file that the user has, or else the one of that name in the workflow."""
    if os.path.exists(path):
        return path
    return os.path.relpath(os.path.join(workflow.basedir, path))


def published_rows(table):
    """The file of published rows of a table's entry, as a list of one or none."""
    return [resource(table["published"])] if table["published"] else []


lexicons = resource("resources/demo")
demo_langs = sorted({"en"} | set(config["languages"]) & set(demo_languages(lexicons)))
