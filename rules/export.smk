"""Export: a fine-tuned model as a Paddle inference program.

needs: results/finetuned/{model}/{task}/{setting}/seed{seed}/
gives: results/exported/{model}/{task}/{setting}/seed{seed}/
"""


rule export_model:
    """Write the inference program, its parameters, the tokenizer and the labels."""
    input:
        script=script("export_model.py"),
        model="results/finetuned/{model}/{task}/{setting}/seed{seed}",
    output:
        folder=directory("results/exported/{model}/{task}/{setting}/seed{seed}"),
    log:
        "results/logs/export_model/{model}/{task}/{setting}/seed{seed}.log",
    benchmark:
        "results/benchmarks/export_model/{model}/{task}/{setting}/seed{seed}.jsonl"
    conda:
        environment
    params:
        max_seq_length=lambda w: config["tasks"][w.task]["finetuning"]["max_seq_length"],
    shell:
        "python {input.script:q} --model {input.model}"
        " --max_seq_length {params.max_seq_length}"
        " --output_dir {output.folder} &> {log}"
