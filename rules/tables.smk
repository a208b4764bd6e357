"""Tables: the scores of all languages and seeds, beside published ones.

needs: results/scores/{model}/{task}/{setting}/seed{seed}/{split}.{lang}.json
gives: results/scores.csv, results/{xnli,glue}_table.{csv,md,tex},
       results/provenance.json
"""

xnli_table = plan.tables().get("xnli")
glue_table = plan.tables().get("glue")


rule collect_scores:
    """Collect the scores of all tables in long form."""
    input:
        script=script("collect_scores.py"),
        scores=plan.all_scores(),
    output:
        scores="results/scores.csv",
    log:
        "results/logs/collect_scores.log",
    benchmark:
        "results/benchmarks/collect_scores.jsonl"
    localrule: True
    conda:
        environment
    shell:
        "python {input.script:q} --output {output.scores} {input.scores} &> {log}"


if xnli_table:

    rule make_xnli_table:
        """Print the table: mean over seeds, one column a language."""
        input:
            script=script("make_xnli_table.py"),
            scores="results/scores.csv",
            published=published_rows(xnli_table),
        output:
            csv=report(
                "results/xnli_table.csv",
                caption="../report/xnli_table.rst",
                category="Tables",
            ),
            md="results/xnli_table.md",
            tex="results/xnli_table.tex",
        log:
            "results/logs/make_xnli_table.log",
        benchmark:
            "results/benchmarks/make_xnli_table.jsonl"
        localrule: True
        conda:
            environment
        params:
            task=xnli_table["task"],
            metrics=plan.metrics(xnli_table["task"]),
            languages=config["languages"],
            published=lambda w, input: [
                f"--published={path}" for path in input.published
            ],
        shell:
            "python {input.script:q} --scores {input.scores} --task {params.task}"
            " --metrics {params.metrics} --split test {params.published:q}"
            " --languages {params.languages}"
            " --csv {output.csv} --md {output.md} --tex {output.tex} &> {log}"


if glue_table:

    rule make_glue_table:
        """Print the table: mean and deviation over seeds, one column a metric."""
        input:
            script=script("make_glue_table.py"),
            scores="results/scores.csv",
            published=published_rows(glue_table),
        output:
            csv=report(
                "results/glue_table.csv",
                caption="../report/glue_table.rst",
                category="Tables",
            ),
            md="results/glue_table.md",
            tex="results/glue_table.tex",
        log:
            "results/logs/make_glue_table.log",
        benchmark:
            "results/benchmarks/make_glue_table.jsonl"
        localrule: True
        conda:
            environment
        params:
            tasks=plan.glue_columns(),
            published=lambda w, input: [
                f"--published={path}" for path in input.published
            ],
        shell:
            "python {input.script:q} --scores {input.scores} --split dev"
            " --tasks {params.tasks} {params.published:q}"
            " --csv {output.csv} --md {output.md} --tex {output.tex} &> {log}"

    rule glue_submission:
        """All files of a GLUE submission, for each model and seed."""
        input:
            plan.glue_submissions(),
        localrule: True


rule write_provenance:
    """Say which config, code, data and models the table's numbers come from."""
    input:
        script=script("write_provenance.py"),
        scores="results/scores.csv",
        tables=[f"results/{name}_table.csv" for name in plan.tables()],
        manifests=[
            f"results/shards/{model}/manifest.json"
            for model in plan.pretrained(plan.table_models())
        ],
        encoders=plan.published(plan.table_models()),
    output:
        provenance="results/provenance.json",
    log:
        "results/logs/write_provenance.log",
    benchmark:
        "results/benchmarks/write_provenance.jsonl"
    localrule: True
    conda:
        environment
    params:
        config=lambda w: as_json(config),
        code=os.path.relpath(workflow.basedir),
    shell:
        "python {input.script:q} --scores {input.scores} --tables {input.tables}"
        " --manifests {input.manifests} --encoders {input.encoders:q}"
        " --config {params.config:q} --code {params.code:q}"
        " --output {output.provenance} &> {log}"
