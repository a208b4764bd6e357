"""Pretraining: shards in, an encoder out.

needs: results/shards/{model}/*.hdf5, results/shards/{model}/manifest.json
gives: results/pretrained/{model}/
"""


rule pretrain:
    """Train an encoder; a job that was killed goes on where it was."""
    input:
        script=script("pretrain.py"),
        shards=lambda w: plan.training_shards(w.model),
        validation="results/shards/{model}/validation.hdf5",
        manifest="results/shards/{model}/manifest.json",
        tokenizer=lambda w: plan.tokenizer_of(w.model),
        first_weights=lambda w: plan.first_weights(w.model),
    output:
        folder=directory("results/pretrained/{model}"),
    log:
        "results/logs/pretrain/{model}.log",
    benchmark:
        "results/benchmarks/pretrain/{model}.jsonl"
    # A warning before a time limit (exit code 75), or a kill: go on where it was.
    retries: 2
    conda:
        environment
    # How it is done, not what comes of it: a profile or --set-resources changes these
    # and runs nothing again. Processes are for the CPU; every GPU has one of its own.
    threads: 1
    resources:
        gpu=0,
        processes=1,
        engine="dynamic",
        gradient_merge_steps=1,
        mem_mb=4000,
        runtime=1440,
    params:
        architecture=lambda w: as_json(config["models"][w.model]["architecture"]),
        start=lambda w: plan.start_flags(w.model),
        settings=lambda w: as_json(
            {**config["models"][w.model]["training"], "seed": config["seed"]}
        ),
        # Not an output: Snakemake deletes outputs before it tries a job again.
        state="results/state/pretrained/{model}",
    shell:
        "python {input.script:q} --shards {input.shards}"
        " --validation {input.validation} --manifest {input.manifest}"
        " --tokenizer {input.tokenizer} --architecture {params.architecture:q}"
        " {params.start} --settings {params.settings:q} --state {params.state}"
        " --gpus {resources.gpu} --devices {resources.processes} --threads {threads}"
        " --engine {resources.engine}"
        " --gradient_merge_steps {resources.gradient_merge_steps}"
        " --output_dir {output.folder} &> {log}"
