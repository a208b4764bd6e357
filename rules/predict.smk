"""Prediction: an exported model labels the test set of one language, once.

needs: results/exported/{model}/{task}/{setting}/seed{seed}/,
       results/tasks/{task}/{split}.{lang}.tsv
gives: results/predictions/{model}/{task}/{setting}/seed{seed}/{split}.{lang}.tsv,
       results/scores/{model}/{task}/{setting}/seed{seed}/{split}.{lang}.json
"""


rule predict:
    """Label one test set and score the labels."""
    input:
        script=script("predict.py"),
        model="results/exported/{model}/{task}/{setting}/seed{seed}",
        examples="results/tasks/{task}/{split}.{lang}.tsv",
    output:
        predictions="results/predictions/{model}/{task}/{setting}/seed{seed}/"
        "{split}.{lang}.tsv",
        score="results/scores/{model}/{task}/{setting}/seed{seed}/{split}.{lang}.json",
    log:
        "results/logs/predict/{model}/{task}/{setting}/seed{seed}/{split}.{lang}.log",
    benchmark:
        (
            "results/benchmarks/predict/{model}/{task}/{setting}/seed{seed}/"
            "{split}.{lang}.jsonl"
        )
    conda:
        environment
    threads: 1
    resources:
        gpu=0,
    params:
        metric=lambda w: config["tasks"][w.task]["metric"],
        fields=lambda w: as_json(
            {
                **{key: w[key] for key in ("model", "setting", "task", "split")},
                "seed": int(w.seed),
                "data": config["tasks"][w.task]["data"],
            }
        ),
    shell:
        "python {input.script:q} --model {input.model} --input {input.examples}"
        " --lang {wildcards.lang} --metric {params.metric}"
        " --score_fields {params.fields:q} --score {output.score}"
        " --gpus {resources.gpu} --threads {threads}"
        " --output {output.predictions} &> {log}"
