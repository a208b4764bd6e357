"""Fine-tuning: one job a model, task, training, seed and learning rate.

needs: an encoder's folder, results/tasks/{task}/{train,dev}.{lang}.tsv
gives: results/finetuned/{model}/{task}/{training}/seed{seed}/lr{rate}/
"""


rule finetune:
    """Train on a task and keep the step that is best on dev."""
    input:
        script=script("finetune.py"),
        encoder=lambda w: plan.encoder_inputs(w.model),
        train=lambda w: plan.prepared(
            w.task, "train", plan.training_languages(w.training)
        ),
        dev=lambda w: plan.prepared(
            w.task, "dev", plan.dev_languages(w.task, w.training)
        ),
    output:
        folder=directory(
            "results/finetuned/{model}/{task}/{training}/seed{seed}/lr{rate}"
        ),
    log:
        "results/logs/finetune/{model}/{task}/{training}/seed{seed}/lr{rate}.log",
    benchmark:
        "results/benchmarks/finetune/{model}/{task}/{training}/seed{seed}/lr{rate}.jsonl"
    # A warning before a time limit (exit code 75), or a kill: go on where it was.
    retries: 2
    conda:
        environment
    # How it is done, not what comes of it, as in rule pretrain.
    threads: 1
    resources:
        gpu=0,
        processes=1,
        engine="dynamic",
        gradient_merge_steps=1,
        mem_mb=4000,
        runtime=720,
    params:
        encoder=lambda w: plan.encoder(w.model),
        train=lambda w, input: named(
            zip(plan.training_languages(w.training), input.train)
        ),
        dev=lambda w, input: named(
            zip(plan.dev_languages(w.task, w.training), input.dev)
        ),
        kind=lambda w: plan.kind(w.task),
        labels=lambda w: plan.labels(w.task),
        metric=lambda w: plan.metrics(w.task)[0],
        settings=lambda w: as_json(
            plan.finetuning_settings(w.model, w.task, w.rate, w.seed)
        ),
        # Not an output: Snakemake deletes outputs before it tries a job again.
        state="results/state/finetuned/{model}/{task}/{training}/seed{seed}/lr{rate}",
    shell:
        "python {input.script:q} --encoder {params.encoder:q} --train {params.train}"
        " --dev {params.dev} --kind {params.kind} --labels {params.labels:q}"
        " --metric {params.metric}"
        " --settings {params.settings:q} --state {params.state}"
        " --gpus {resources.gpu} --devices {resources.processes} --threads {threads}"
        " --engine {resources.engine}"
        " --gradient_merge_steps {resources.gradient_merge_steps}"
        " --output_dir {output.folder} &> {log}"
