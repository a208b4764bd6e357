"""Raw text -> one sentence a line, blank line between documents.

needs: local text, a downloaded archive, or nothing (the embedded demo)
gives: results/corpora/{corpus}/{lang}.txt
"""


rule make_demo:
    """Write the embedded demo: texts in all languages and an NLI task."""
    input:
        script=script("make_demo.py"),
        lexicons=expand("{folder}/{lang}.yaml", folder=lexicons, lang=demo_langs),
    output:
        monolingual=expand("results/demo/monolingual/{lang}.txt", lang=demo_langs),
        parallel=expand("results/demo/parallel/{lang}.txt", lang=demo_langs),
        phrasebook=expand("results/demo/phrasebook/{lang}.txt", lang=demo_langs),
        train="results/demo/nli/train.en.tsv",
        dev=expand("results/demo/nli/dev.{lang}.tsv", lang=demo_langs),
        test=expand("results/demo/nli/test.{lang}.tsv", lang=demo_langs),
    log:
        "results/logs/make_demo.log",
    benchmark:
        "results/benchmarks/make_demo.jsonl"
    conda:
        environment
    params:
        folder=subpath(output.train, ancestor=2),
        lexicons=lambda w, input: os.path.dirname(input.lexicons[0]),
        languages=demo_langs,
        seed=config["seed"],
        sizes=config["demo"],
    shell:
        "python {input.script:q} --output_dir {params.folder} --seed {params.seed}"
        " --lexicons {params.lexicons:q} --languages {params.languages}"
        " --documents {params.sizes[documents]}"
        " --parallel_lines {params.sizes[parallel_lines]}"
        " --phrasebook_rounds {params.sizes[phrasebook_rounds]}"
        " --train_pairs {params.sizes[train_pairs]}"
        " --eval_pairs {params.sizes[eval_pairs]} &> {log}"


rule fetch_dataset:
    """Download an official archive, check it and unpack it."""
    input:
        script=script("fetch_dataset.py"),
        datasets=resource(config["datasets"]),
    output:
        folder=directory("results/datasets/{dataset}"),
    log:
        "results/logs/fetch_dataset/{dataset}.log",
    benchmark:
        "results/benchmarks/fetch_dataset/{dataset}.jsonl"
    retries: 2
    conda:
        environment
    params:
        # A download that broke off goes on here.
        archives="results/archives",
    shell:
        "python {input.script:q} --dataset {wildcards.dataset}"
        " --datasets {input.datasets:q} --archive_dir {params.archives}"
        " --output_dir {output.folder} &> {log}"


rule prepare_corpus:
    """Clean the raw text of one language."""
    input:
        raw=lambda w: plan.raw_inputs(w.corpus, w.lang),
        script=script("prepare_corpus.py"),
    output:
        text="results/corpora/{corpus}/{lang}.txt",
    log:
        "results/logs/prepare_corpus/{corpus}/{lang}.log",
    benchmark:
        "results/benchmarks/prepare_corpus/{corpus}/{lang}.jsonl"
    # Bad input is found before anything is trained.
    priority: 10
    conda:
        environment
    params:
        raw=lambda w: plan.raw_text(w.corpus, w.lang),
        flags=lambda w: plan.corpus_flags(w.corpus, w.lang),
    shell:
        "python {input.script:q} --input {params.raw:q} --output {output.text}"
        " {params.flags:q} &> {log}"
