"""What follows from the config: where files lie, and which flags scripts get.

The rules ask a ``Plan``; no script does. It knows nothing of Snakemake, so that it can
be tested alone.
"""

import json
from itertools import product
from pathlib import Path
from typing import Any

from babelmill.hub import cached_model

# What the corpora under each key of a model serve.
OBJECTIVES = {"monolingual": {"mlm", "clm", "mlm_nsp"}, "parallel": {"tlm"}}


class Plan:
    """Paths and flags that follow from a validated config.

    All paths are relative to the working directory. Flags are lists of words of a
    command line; ``name=path`` words name the language of a file.
    """

    def __init__(self, config: dict[str, Any]):
        self.config = config

    # Corpora

    def languages_of(self, corpus: str) -> list[str]:
        """The languages that a corpus has text in."""
        return self._corpus(corpus).get("languages", self.config["languages"])

    def raw_text(self, corpus: str, lang: str) -> str:
        """The raw text of one language: a file or folder."""
        entry = self._corpus(corpus)
        if "source" in entry:
            return f"results/{entry['source']}/{lang}.txt"
        if "dataset" in entry:
            member = self._fill(entry["member"], lang)
            return f"results/datasets/{entry['dataset']}/{member}"
        return self._fill(entry["path"], lang)

    def raw_inputs(self, corpus: str, lang: str) -> list[str]:
        """What a job that prepares one language of a corpus reads."""
        entry = self._corpus(corpus)
        if "dataset" in entry:
            return [f"results/datasets/{entry['dataset']}"]
        langs = {lang: None}
        if entry["aligned"]:
            langs[self.languages_of(corpus)[0]] = None
        return [self.raw_text(corpus, each) for each in langs]

    def corpus_flags(self, corpus: str, lang: str) -> list[str]:
        """Flags of prepare_corpus.py."""
        entry = self._corpus(corpus)
        flags = ["--text_field", entry["text_field"]]
        if entry["aligned"]:
            other = self.raw_text(corpus, self.languages_of(corpus)[0])
            return [*flags, "--aligned_with", other]
        if entry["split_sentences"]:
            flags += ["--split_sentences", lang]
        return [*flags, "--lines_per_document", str(entry["lines_per_document"])]

    def alignment_flags(self, corpus: str) -> list[str]:
        """Flags of tokenize_corpus.py."""
        entry = self._corpus(corpus)
        if not entry["aligned"]:
            return []
        return ["--aligned", "--lines_per_document", str(entry["lines_per_document"])]

    # Tokenizers

    def learned(self) -> list[str]:
        """Names of the tokenizers that are learned; the others are given."""
        entries = self.config["tokenizers"]
        return [name for name, entry in entries.items() if "learn_from" in entry]

    def texts_to_learn_from(self, tokenizer: str) -> list[tuple[str, str]]:
        """Languages and texts of a learned tokenizer."""
        return [
            (lang, f"results/corpora/{corpus}/{lang}.txt")
            for corpus in self.config["tokenizers"][tokenizer]["learn_from"]
            for lang in sorted(self.languages_of(corpus))
        ]

    def given_files(self, tokenizer: str) -> dict[str, str]:
        """Flags of install_tokenizer.py that name files, with the files."""
        entry = self.config["tokenizers"][tokenizer]
        keys = ("codes_file", "vocab_file", "folder")
        return {key: self._fill(entry[key], "") for key in keys if key in entry}

    def given_flags(self, tokenizer: str) -> list[str]:
        """The same as flags."""
        files = self.given_files(tokenizer).items()
        return [word for flag, path in files for word in (f"--{flag}", path)]

    def tokenizer_flags(self, tokenizer: str) -> list[str]:
        """Flags of learned and given tokenizers, and the size of learned ones.

        A given folder says itself how it cuts text.
        """
        entry = self.config["tokenizers"][tokenizer]
        flags = ["--type", entry["type"]]
        if "folder" in entry:
            return flags
        if "bert_model" in entry:
            flags += ["--bert_model", entry["bert_model"]]
        if "max_vocab" in entry:
            flags += ["--max_vocab", str(entry["max_vocab"])]
        if entry["type"] == "xlm":
            lowers = entry["do_lowercase_and_remove_accent"]
            flags += ["--mode", entry["mode"]]
            flags += _switch("do_lowercase_and_remove_accent", lowers)
            flags += _switch("bypass_tokenizer", entry["bypass_tokenizer"])
        elif "do_lower_case" in entry:
            flags += _switch("do_lower_case", entry["do_lower_case"])
        for model in self.kytea_model(tokenizer):
            flags += ["--kytea_model", model]
        if "learn_from" in entry:
            size = "codes" if entry["type"] == "xlm" else "vocab_size"
            flags += [f"--{size}", str(entry[size]), "--alpha", str(entry["alpha"])]
            if "max_sentences" in entry:
                flags += ["--max_sentences", str(entry["max_sentences"])]
        return flags

    def kytea_model(self, tokenizer: str) -> list[str]:
        """The KyTea model of a tokenizer, given or to be trained, if it has one."""
        entry = self.config["tokenizers"][tokenizer]
        if "kytea_text" in entry:
            return [f"results/kytea/{tokenizer}.bin"]
        return [self._fill(entry["kytea_model"], "")] if "kytea_model" in entry else []

    def kytea_text(self, tokenizer: str) -> str:
        """The segmented text that a tokenizer's KyTea model is trained on."""
        return self._fill(self.config["tokenizers"][tokenizer]["kytea_text"], "")

    def tokenizer_of(self, model: str) -> str:
        """Folder of a model's tokenizer."""
        return f"results/tokenizers/{self._model(model)['tokenizer']}"

    # Shards

    def tokenized(self, model: str, key: str) -> list[list[tuple[str, str]]]:
        """Languages and documents of a model's ``monolingual`` or ``parallel`` corpora.

        One list a corpus; none for an objective that the model does not have.
        """
        entry = self._model(model)
        if not OBJECTIVES[key] & set(entry["objectives"]):
            return []
        return [
            [
                (lang, f"results/tokenized/{corpus}/{entry['tokenizer']}/{lang}.h5")
                for lang in sorted(self.languages_of(corpus))
            ]
            for corpus in entry[key]
        ]

    def shard_inputs(self, model: str) -> list[str]:
        """All documents of a model, each named once."""
        texts = self.tokenized(model, "monolingual") + self.tokenized(model, "parallel")
        return list(dict.fromkeys(path for text in texts for _, path in text))

    def shard_flags(self, model: str) -> list[str]:
        """Flags of make_shards.py that all shards of a model share."""
        entry = self._model(model)
        flags = ["--random_seed", str(self.config["seed"]), "--objectives"]
        flags += [f"{name}={weight}" for name, weight in entry["objectives"].items()]
        monolingual = self.tokenized(model, "monolingual")
        flags += [
            "--monolingual",
            *(word for text in monolingual for word in named(text)),
        ]
        for text in self.tokenized(model, "parallel"):
            flags += ["--parallel", *named(text)]
        if entry["pivot"]:
            flags += ["--pivot", entry["pivot"]]
        for name, value in entry["shards"].items():
            if isinstance(value, bool):
                flags += _switch(name, value)
            elif name != "dupe_factor":
                flags += [f"--{name}", str(value)]
        return flags

    def shard_settings(self, model: str) -> dict[str, Any]:
        """What decides the examples of a model besides its text and tokenizer."""
        entry = self._model(model)
        return {
            **entry["shards"],
            "objectives": entry["objectives"],
            "random_seed": self.config["seed"],
        }

    def training_shards(self, model: str) -> list[str]:
        """All shards of a model: their number is in the config, no folder is listed."""
        shards = self._model(model)["shards"]
        count, dupes = shards["shards"], shards["dupe_factor"]
        return [
            f"results/shards/{model}/{shard}-of-{count}.dupe{dupe}_training.hdf5"
            for shard, dupe in product(range(count), range(dupes))
        ]

    # Encoders

    def first_weights(self, model: str) -> list[str]:
        """The folder to train further: another model of the config, or a given one."""
        start = self._model(model)["training"].get("model_name_or_path")
        if not start:
            return []
        known = start in self.config["models"]
        return [f"results/pretrained/{start}" if known else start]

    def start_flags(self, model: str) -> list[str]:
        """How pretrain.py is told to go on from them."""
        return [
            word
            for folder in self.first_weights(model)
            for word in ("--model_name_or_path", folder)
        ]

    def encoder(self, model: str) -> str:
        """The folder of the encoder that a model is fine-tuned from."""
        entry = self._model(model)
        if "encoder" in entry:
            return self.encoder(entry["encoder"])
        if "published" in entry:
            return str(cached_model(entry["published"]))
        if "folder" in entry:
            return self._fill(entry["folder"], "")
        return f"results/pretrained/{model}"

    def encoder_inputs(self, model: str) -> list[str]:
        """What a fine-tuning job reads of it: our folder, or the files of a given one.

        Of a folder that no job makes, Snakemake would not see that a file changed.
        """
        folder = self.encoder(model)
        if folder.startswith("results/pretrained/"):
            return [folder]
        files = (path for path in Path(folder).iterdir() if path.is_file())
        return sorted(str(path) for path in files)

    def published(self, models: list[str]) -> list[str]:
        """The files of their encoders that are not pretrained here."""
        given = [name for name in models if not self.pretrained([name])]
        return sorted({path for name in given for path in self.encoder_inputs(name)})

    def pretrained(self, models: list[str]) -> list[str]:
        """The models behind some that are pretrained here: themselves or encoders."""
        entries = self.config["models"]
        names = [entries[name].get("encoder", name) for name in models]
        return [name for name in dict.fromkeys(names) if "objectives" in entries[name]]

    def _corpus(self, name: str) -> dict[str, Any]:
        return self.config["corpora"][name]

    def _model(self, name: str) -> dict[str, Any]:
        return self.config["models"][name]

    def _fill(self, pattern: str, lang: str) -> str:
        folder = self.config["data_folder"]
        return pattern.replace("{data_folder}", folder).replace("{lang}", lang)


def named(texts: list[tuple[str, str]]) -> list[str]:
    """Texts as ``lang=path`` words."""
    return [f"{lang}={path}" for lang, path in texts]


def as_json(settings: dict[str, Any]) -> str:
    """Settings as one canonical word."""
    return json.dumps(settings, sort_keys=True)


def demo_languages(lexicons: str) -> list[str]:
    """The languages that the embedded demo has a lexicon of."""
    return sorted(path.stem for path in Path(lexicons).glob("*.yaml"))


def _switch(name: str, on: bool) -> list[str]:
    return [f"--{name}" if on else f"--no-{name}"]
