"""Tables: the scores of all languages and seeds, beside published ones.

needs: results/scores/{model}/{task}/{setting}/seed{seed}/{split}.{lang}.json
gives: results/scores.csv, results/xnli_table.{csv,md,tex}, results/provenance.json
"""


rule collect_scores:
    """Collect the scores of a table in long form."""
    input:
        script=script("collect_scores.py"),
        scores=plan.table_scores("xnli"),
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


rule make_xnli_table:
    """Print the table: mean over seeds, one column a language."""
    input:
        script=script("make_xnli_table.py"),
        scores="results/scores.csv",
        published=[resource(table["published"])] if table["published"] else [],
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
        task=table["task"],
        metric=config["tasks"][table["task"]]["metric"],
        languages=config["languages"],
        published=lambda w, input: [f"--published={path}" for path in input.published],
    shell:
        "python {input.script:q} --scores {input.scores} --task {params.task}"
        " --metric {params.metric} --split test {params.published:q}"
        " --languages {params.languages}"
        " --csv {output.csv} --md {output.md} --tex {output.tex} &> {log}"


rule write_provenance:
    """Say which config, code, data and models the table's numbers come from."""
    input:
        script=script("write_provenance.py"),
        scores="results/scores.csv",
        table="results/xnli_table.csv",
        manifests=expand("results/shards/{model}/manifest.json", model=table["models"]),
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
        "python {input.script:q} --scores {input.scores} --table {input.table}"
        " --manifests {input.manifests} --config {params.config:q}"
        " --code {params.code:q} --output {output.provenance} &> {log}"
