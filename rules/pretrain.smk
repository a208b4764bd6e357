"""Pretraining: shards in, an encoder out.

needs: results/shards/{model}/*.hdf5, results/shards/{model}/manifest.json
gives: results/pretrained/{model}/
"""


rule pretrain:
    """Train an encoder from scratch; a job that was killed goes on where it was."""
    input:
        script=script("pretrain.py"),
        shards=lambda w: plan.training_shards(w.model),
        validation="results/shards/{model}/validation.hdf5",
        manifest="results/shards/{model}/manifest.json",
        tokenizer=lambda w: plan.tokenizer_of(w.model),
    output:
        folder=directory("results/pretrained/{model}"),
    log:
        "results/logs/pretrain/{model}.log",
    benchmark:
        "results/benchmarks/pretrain/{model}.jsonl"
    conda:
        environment
    threads: 1
    resources:
        gpu=0,
        mem_mb=4000,
        runtime=1440,
    params:
        architecture=lambda w: as_json(config["models"][w.model]["architecture"]),
        settings=lambda w: as_json(
            {**config["models"][w.model]["training"], "seed": config["seed"]}
        ),
        # Not an output: Snakemake deletes outputs before it tries a job again.
        state="results/state/pretrained/{model}",
    shell:
        "python {input.script:q} --shards {input.shards}"
        " --validation {input.validation} --manifest {input.manifest}"
        " --tokenizer {input.tokenizer} --architecture {params.architecture:q}"
        " --settings {params.settings:q} --state {params.state}"
        " --gpus {resources.gpu} --threads {threads}"
        " --output_dir {output.folder} &> {log}"
