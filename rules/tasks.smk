"""Labeled data in one form, whatever it came in.

needs: official archives, one's own files, or the embedded demo
gives: results/tasks/{task}/{split}.{lang}.tsv
"""


rule prepare_task:
    """Read one split of one language and check its labels."""
    input:
        script=script("prepare_task.py"),
        source=lambda w: plan.task_input(w.task, w.split, w.lang),
    output:
        table="results/tasks/{task}/{split}.{lang}.tsv",
    log:
        "results/logs/prepare_task/{task}/{split}.{lang}.log",
    benchmark:
        "results/benchmarks/prepare_task/{task}/{split}.{lang}.jsonl"
    # Bad input is found before anything is trained.
    priority: 10
    conda:
        environment
    params:
        file=lambda w: plan.task_file(w.task, w.split, w.lang)[1],
        flags=lambda w: plan.task_flags(w.task, w.split),
    shell:
        "python {input.script:q} {params.file:q} --lang {wildcards.lang}"
        " {params.flags:q} --output {output.table} &> {log}"
