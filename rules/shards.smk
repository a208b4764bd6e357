"""Pretraining examples: one job for each (shard, dupe) pair of a model.

needs: results/tokenized/{corpus}/{tokenizer}/{lang}.h5
gives: results/shards/{model}/{shard}-of-{shards}.dupe{dupe}_training.hdf5,
       results/shards/{model}/validation.hdf5, results/shards/{model}/manifest.json
"""


rule make_shards:
    """Mask and mix the examples of one shard, for one dupe."""
    input:
        script=script("make_shards.py"),
        documents=lambda w: plan.shard_inputs(w.model),
        tokenizer=lambda w: plan.tokenizer_of(w.model),
    output:
        shard="results/shards/{model}/{shard}-of-{shards}.dupe{dupe}_training.hdf5",
    log:
        "results/logs/make_shards/{model}/{shard}-of-{shards}.dupe{dupe}.log",
    benchmark:
        "results/benchmarks/make_shards/{model}/{shard}-of-{shards}.dupe{dupe}.jsonl"
    conda:
        environment
    params:
        flags=lambda w: plan.shard_flags(w.model),
    shell:
        "python {input.script:q} --tokenizer {input.tokenizer} {params.flags:q}"
        " --shard {wildcards.shard} --dupe {wildcards.dupe}"
        " --output {output.shard} &> {log}"


rule make_validation_shard:
    """Make the examples of the held-out documents."""
    input:
        script=script("make_shards.py"),
        documents=lambda w: plan.shard_inputs(w.model),
        tokenizer=lambda w: plan.tokenizer_of(w.model),
    output:
        shard="results/shards/{model}/validation.hdf5",
    log:
        "results/logs/make_shards/{model}/validation.log",
    benchmark:
        "results/benchmarks/make_shards/{model}/validation.jsonl"
    conda:
        environment
    params:
        flags=lambda w: plan.shard_flags(w.model),
    shell:
        "python {input.script:q} --tokenizer {input.tokenizer} {params.flags:q}"
        " --validation --output {output.shard} &> {log}"


rule write_manifest:
    """List the shards of a model with rows, tokens and checksums."""
    input:
        script=script("write_manifest.py"),
        shards=lambda w: plan.training_shards(w.model),
        validation="results/shards/{model}/validation.hdf5",
        tokenizer=lambda w: plan.tokenizer_of(w.model),
    output:
        manifest="results/shards/{model}/manifest.json",
    log:
        "results/logs/write_manifest/{model}.log",
    benchmark:
        "results/benchmarks/write_manifest/{model}.jsonl"
    conda:
        environment
    params:
        settings=lambda w: as_json(plan.shard_settings(w.model)),
    shell:
        "python {input.script:q} --shards {input.shards} {input.validation}"
        " --settings {params.settings:q} --tokenizer {input.tokenizer}"
        " --output {output.manifest} &> {log}"
