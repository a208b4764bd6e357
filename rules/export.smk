"""Export: of one seed's fine-tuned models the best on dev, as an inference program.

needs: results/finetuned/{model}/{task}/{training}/seed{seed}/lr{rate}/
gives: results/exported/{model}/{task}/{training}/seed{seed}/
"""


rule export_model:
    """Write the inference program, its parameters, the tokenizer and the labels."""
    input:
        script=script("export_model.py"),
        models=lambda w: plan.grid(w.model, w.task, w.training, w.seed),
    output:
        folder=directory("results/exported/{model}/{task}/{training}/seed{seed}"),
    log:
        "results/logs/export_model/{model}/{task}/{training}/seed{seed}.log",
    benchmark:
        "results/benchmarks/export_model/{model}/{task}/{training}/seed{seed}.jsonl"
    conda:
        environment
    shell:
        "python {input.script:q} --models {input.models}"
        " --output_dir {output.folder} &> {log}"
