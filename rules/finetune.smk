"""Fine-tuning: one job a model, task, setting and seed.

needs: results/pretrained/{model}/, results/tasks/{task}/{train,dev}.{lang}.tsv
gives: results/finetuned/{model}/{task}/{setting}/seed{seed}/
"""


rule finetune:
    """Train a classifier and keep the step that is best on dev."""
    input:
        script=script("finetune.py"),
        encoder="results/pretrained/{model}",
        train=lambda w: expand(
            "results/tasks/{task}/train.{lang}.tsv",
            task=w.task,
            lang=plan.training_languages(w.setting),
        ),
        dev=lambda w: expand(
            "results/tasks/{task}/dev.{lang}.tsv",
            task=w.task,
            lang=config["tasks"][w.task]["select_on"],
        ),
    output:
        folder=directory("results/finetuned/{model}/{task}/{setting}/seed{seed}"),
    log:
        "results/logs/finetune/{model}/{task}/{setting}/seed{seed}.log",
    benchmark:
        "results/benchmarks/finetune/{model}/{task}/{setting}/seed{seed}.jsonl"
    conda:
        environment
    threads: 1
    resources:
        gpu=0,
        mem_mb=4000,
        runtime=720,
    params:
        train=lambda w, input: named(
            zip(plan.training_languages(w.setting), input.train)
        ),
        dev=lambda w, input: named(zip(config["tasks"][w.task]["select_on"], input.dev)),
        labels=lambda w: config["tasks"][w.task]["labels"],
        metric=lambda w: config["tasks"][w.task]["metric"],
        settings=lambda w: as_json(
            {**config["tasks"][w.task]["finetuning"], "seed": int(w.seed)}
        ),
        # Not an output: Snakemake deletes outputs before it tries a job again.
        state="results/state/finetuned/{model}/{task}/{setting}/seed{seed}",
    shell:
        "python {input.script:q} --encoder {input.encoder} --train {params.train}"
        " --dev {params.dev} --labels {params.labels:q} --metric {params.metric}"
        " --settings {params.settings:q} --state {params.state}"
        " --gpus {resources.gpu} --threads {threads}"
        " --output_dir {output.folder} &> {log}"
