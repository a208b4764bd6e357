"""Lay given files out as a tokenizer folder.

    python workflow_scripts/install_tokenizer.py --codes_file codes_xnli_15 \\
        --vocab_file vocab_xnli_15 --max_vocab 95000 --output_dir tokenizers/xnli15

makes tokenizers/xnli15/{codes,vocab,vocab.json,merges.txt,tokenizer_config.json}. Other
things to give: ``--type bert --vocab_file vocab.txt``; ``--bert_model`` with the name
of a published model; or ``--folder`` with a tokenizer of Hugging Face, PaddleNLP or
this workflow. What it says about itself holds where no flag says otherwise.
"""

import argparse
import shutil
from pathlib import Path
from typing import Any

from babelmill.errors import UserError
from babelmill.files import read_json, whole_folder, write_json
from babelmill.languages import XNLI_LANGUAGES
from babelmill.script import run
from babelmill.tokenizers import load_tokenizer
from babelmill.tokenizers.fastbpe_files import (
    check_fit,
    read_codes,
    read_vocabulary,
    write_codes,
    write_vocabulary,
)
from babelmill.tokenizers.folder import (
    CODES,
    CONFIG,
    FILES,
    KYTEA_MODEL,
    MERGES_TXT,
    VOCAB,
    VOCAB_JSON,
    VOCAB_TXT,
    has_capitals,
    language_ids,
    read_config,
    read_wordpieces,
    write_bert,
    write_xlm,
    xlm_config,
)
from babelmill.tokenizers.words import MODES, TextToWords
from babelmill.tokenizers.xlm import SPECIALS


def install_folder(folder: Path, output: Path, config: dict[str, Any]) -> None:
    """Copy the files that make a tokenizer, and add what is derived from them."""
    config = {**read_config(folder), **config}
    with whole_folder(output) as partial:
        names = {name for names in FILES.values() for name in names}
        for name in names | {CODES, VOCAB, KYTEA_MODEL}:
            if (folder / name).is_file():
                shutil.copyfile(folder / name, partial / name)
        if (partial / MERGES_TXT).is_file() and not (partial / CODES).is_file():
            write_codes(partial / CODES, read_codes(partial / MERGES_TXT))
        if (partial / VOCAB_JSON).is_file() and not (partial / VOCAB).is_file():
            ids = read_json(partial / VOCAB_JSON)
            pieces = sorted(set(ids) - set(SPECIALS), key=ids.__getitem__)
            write_vocabulary(partial / VOCAB, dict.fromkeys(pieces, 1))
        if model := config.get("kytea_model"):
            shutil.copyfile(Path(folder, model), partial / KYTEA_MODEL)
            config["kytea_model"] = KYTEA_MODEL
        write_json(partial / CONFIG, config)
        tokenizer = load_tokenizer(partial)
        config["type"] = tokenizer.type
        if tokenizer.type == "xlm":
            config.update(xlm_config(tokenizer.text_to_words, tokenizer.lang2id))
        write_json(partial / CONFIG, config)


def published_folder(name: str) -> Path:
    """Folder with the vocabulary of a published BERT, from the hub or its local cache.

    Raises:
        UserError: it is in neither.
    """
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(name, allow_patterns=[VOCAB_TXT, CONFIG]))
    except Exception as error:  # Of the hub, of its cache, or of the network.
        raise UserError(
            f"bert_model {name}: not to be had from the hub or its local cache"
            f" ({type(error).__name__}): put its {VOCAB_TXT} into a folder and name"
            " that as folder"
        ) from error


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    boolean = argparse.BooleanOptionalAction
    parser.add_argument("--type", choices=["xlm", "bert"], default="xlm")
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--bert_model", help="name of a published model")
    parser.add_argument("--codes_file", type=Path, help="in fastBPE's format")
    parser.add_argument(
        "--vocab_file", type=Path, help="in fastBPE's format, or a vocab.txt"
    )
    parser.add_argument("--output_dir", type=Path, required=True)
    parser.add_argument(
        "--max_vocab", type=int, help="ids to keep, as XLM's --max_vocab"
    )
    parser.add_argument("--languages", nargs="+", help="the fifteen of XNLI by default")
    parser.add_argument("--mode", choices=MODES)
    parser.add_argument("--do_lowercase_and_remove_accent", action=boolean)
    parser.add_argument("--bypass_tokenizer", action=boolean)
    parser.add_argument("--kytea_model", type=Path, help="for Japanese")
    parser.add_argument("--do_lower_case", action=boolean, help="BERT")
    parser.add_argument("--tokenize_chinese_chars", action=boolean, help="BERT")
    parser.add_argument("--strip_accents", action=boolean, help="BERT")
    args = parser.parse_args()

    names = (
        ["do_lower_case", "tokenize_chinese_chars", "strip_accents"]
        if args.type == "bert"
        else ["mode", "do_lowercase_and_remove_accent", "bypass_tokenizer"]
    )
    given = {name: getattr(args, name) for name in names}
    given = {name: value for name, value in given.items() if value is not None}
    if args.bert_model:
        install_folder(published_folder(args.bert_model), args.output_dir, given)
    elif args.folder:
        if args.max_vocab:
            parser.error("--max_vocab goes with --codes_file and --vocab_file")
        if args.kytea_model:
            given["kytea_model"] = str(args.kytea_model.resolve())
        if args.languages:
            given["lang2id"] = language_ids(args.languages)
        install_folder(args.folder, args.output_dir, given)
    elif args.type == "bert" and args.vocab_file:
        pieces = read_wordpieces(args.vocab_file)
        given.setdefault("do_lower_case", not has_capitals(pieces))
        write_bert(args.output_dir, pieces, **given)
    elif args.codes_file and args.vocab_file:
        codes, counts = read_codes(args.codes_file), read_vocabulary(args.vocab_file)
        check_fit(codes, counts, args.codes_file, args.vocab_file)
        text_to_words = TextToWords(**given, kytea_model=args.kytea_model)
        lang2id = language_ids(args.languages or XNLI_LANGUAGES)
        write_xlm(
            args.output_dir, codes, counts, text_to_words, lang2id, args.max_vocab
        )
    else:
        parser.error(
            "give --folder, --bert_model, --codes_file and --vocab_file, or --type bert"
            " and --vocab_file"
        )


if __name__ == "__main__":
    run(main)
