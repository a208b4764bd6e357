"""Prediction: an exported model labels the test set of one language, once.

needs: results/exported/{model}/{task}/{training}/seed{seed}/,
       results/tasks/{task}/{split}.{lang}.tsv
gives: results/predictions/{model}/{task}/{setting}/seed{seed}/{split}.{lang}.{tsv,json},
       results/scores/{model}/{task}/{setting}/seed{seed}/{split}.{lang}.json,
       results/glue_submission/{model}/seed{seed}/{submission}.tsv
"""


rule predict:
    """Label one test set and score the labels."""
    input:
        script=script("predict.py"),
        model=lambda w: plan.exported(w.model, w.task, w.setting, w.seed, w.lang),
        examples=lambda w: plan.evaluated(w.task, w.setting, w.split, w.lang)[0],
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
    wildcard_constraints:
        task=any_of(plan.tasks_predicted_as("tsv")),
    conda:
        environment
    threads: 1
    resources:
        gpu=0,
    params:
        lang=lambda w: plan.evaluated(w.task, w.setting, w.split, w.lang)[1],
        metrics=lambda w: plan.metrics(w.task),
        fields=lambda w: as_json(plan.score_fields(**w)),
    shell:
        "python {input.script:q} --model {input.model} --input {input.examples}"
        " --lang {params.lang} --metrics {params.metrics}"
        " --score_fields {params.fields:q} --score {output.score}"
        " --gpus {resources.gpu} --threads {threads}"
        " --output {output.predictions} &> {log}"


use rule predict as predict_answers with:
    output:
        predictions="results/predictions/{model}/{task}/{setting}/seed{seed}/"
        "{split}.{lang}.json",
        score="results/scores/{model}/{task}/{setting}/seed{seed}/{split}.{lang}.json",
    wildcard_constraints:
        task=any_of(plan.tasks_predicted_as("json")),


rule predict_submission:
    """Label an official test set, which has no labels, for gluebenchmark.com."""
    input:
        script=script("predict.py"),
        model=lambda w: plan.submission(w.model, w.submission, w.seed)[0],
        examples=lambda w: plan.submission(w.model, w.submission, w.seed)[1],
    output:
        submission="results/glue_submission/{model}/seed{seed}/{submission}.tsv",
    log:
        "results/logs/predict_submission/{model}/seed{seed}/{submission}.log",
    benchmark:
        "results/benchmarks/predict_submission/{model}/seed{seed}/{submission}.jsonl"
    conda:
        environment
    threads: 1
    resources:
        gpu=0,
    shell:
        "python {input.script:q} --model {input.model} --input {input.examples}"
        " --lang en --gpus {resources.gpu} --threads {threads}"
        " --submission {output.submission} &> {log}"
