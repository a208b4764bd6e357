"""babelmill: raw text in, paper tables out. See README.md."""

from snakemake.utils import min_version, validate

min_version("9.20")


configfile: f"{workflow.basedir}/config.yaml"


report: "report/workflow.rst"


include: "rules/common.smk"


rule all:
    """The tables of the config, the scores behind them, and where they come from."""
    input:
        [f"results/{name}_table.csv" for name in plan.tables()],
        "results/provenance.json",
    localrule: True


include: "rules/corpora.smk"
include: "rules/tokenize.smk"
include: "rules/shards.smk"
include: "rules/pretrain.smk"
include: "rules/tasks.smk"
include: "rules/finetune.smk"
include: "rules/export.smk"
include: "rules/predict.smk"
include: "rules/tables.smk"


onsuccess:
    from babelmill.training.checkpoints import forget_finished

    forget_finished(Path("results/state"))
