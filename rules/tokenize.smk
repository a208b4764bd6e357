"""Tokenizers, and documents tokenized with them.

needs: results/corpora/{corpus}/{lang}.txt, or given codes and vocabularies
gives: results/tokenizers/{tokenizer}/, results/tokenized/{corpus}/{tokenizer}/{lang}.h5
"""


rule train_kytea:
    """Train the segmenter of Japanese on segmented text."""
    input:
        script=script("train_kytea.py"),
        text=lambda w: plan.kytea_text(w.tokenizer),
    output:
        model="results/kytea/{tokenizer}.bin",
    log:
        "results/logs/train_kytea/{tokenizer}.log",
    benchmark:
        "results/benchmarks/train_kytea/{tokenizer}.jsonl"
    conda:
        environment
    shell:
        "python {input.script:q} --input {input.text:q} --output {output.model} &> {log}"


rule learn_tokenizer:
    """Learn a vocabulary from corpora."""
    input:
        script=script("learn_tokenizer.py"),
        texts=lambda w: [path for _, path in plan.texts_to_learn_from(w.tokenizer)],
        kytea=lambda w: plan.kytea_model(w.tokenizer),
    output:
        folder=directory("results/tokenizers/{tokenizer}"),
    log:
        "results/logs/learn_tokenizer/{tokenizer}.log",
    benchmark:
        "results/benchmarks/learn_tokenizer/{tokenizer}.jsonl"
    wildcard_constraints:
        tokenizer=any_of(plan.learned()),
    conda:
        environment
    params:
        texts=lambda w: named(plan.texts_to_learn_from(w.tokenizer)),
        flags=lambda w: plan.tokenizer_flags(w.tokenizer),
        seed=config["seed"],
    shell:
        "python {input.script:q} --inputs {params.texts} {params.flags:q}"
        " --seed {params.seed} --output_dir {output.folder} &> {log}"


rule install_tokenizer:
    """Lay out given codes and vocabulary, or a given folder, as a tokenizer."""
    input:
        script=script("install_tokenizer.py"),
        files=lambda w: plan.given_files(w.tokenizer).values(),
        kytea=lambda w: plan.kytea_model(w.tokenizer),
    output:
        folder=directory("results/tokenizers/{tokenizer}"),
    log:
        "results/logs/install_tokenizer/{tokenizer}.log",
    benchmark:
        "results/benchmarks/install_tokenizer/{tokenizer}.jsonl"
    wildcard_constraints:
        tokenizer=any_of(set(config["tokenizers"]) - set(plan.learned())),
    conda:
        environment
    params:
        files=lambda w: plan.given_flags(w.tokenizer),
        flags=lambda w: plan.tokenizer_flags(w.tokenizer),
    shell:
        "python {input.script:q} {params.files:q} {params.flags:q}"
        " --output_dir {output.folder} &> {log}"


rule tokenize_corpus:
    """Turn the text of one language into documents of token ids."""
    input:
        script=script("tokenize_corpus.py"),
        text="results/corpora/{corpus}/{lang}.txt",
        tokenizer="results/tokenizers/{tokenizer}",
    output:
        documents="results/tokenized/{corpus}/{tokenizer}/{lang}.h5",
    log:
        "results/logs/tokenize_corpus/{corpus}/{tokenizer}/{lang}.log",
    benchmark:
        "results/benchmarks/tokenize_corpus/{corpus}/{tokenizer}/{lang}.jsonl"
    conda:
        environment
    threads: 1
    params:
        flags=lambda w: plan.alignment_flags(w.corpus),
    shell:
        "python {input.script:q} --input {input.text} --lang {wildcards.lang}"
        " --tokenizer {input.tokenizer} --output {output.documents}"
        " --threads {threads} {params.flags:q} &> {log}"
