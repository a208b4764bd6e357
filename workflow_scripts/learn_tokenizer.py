"""Learn a tokenizer from texts: one sentence a line, blank lines between documents.

    python workflow_scripts/learn_tokenizer.py --type xlm --mode facebook \\
        --inputs en=corpora/en.txt sw=corpora/sw.txt --codes 30000 \\
        --output_dir tokenizers/bpe

makes tokenizers/bpe/{codes,vocab,vocab.json,merges.txt,tokenizer_config.json}, and with
``--type bert`` {vocab.txt,tokenizer_config.json}.
"""

import argparse
from collections import defaultdict
from pathlib import Path

from babelmill.errors import UserError
from babelmill.script import run
from babelmill.tokenizers.folder import language_ids, write_bert, write_xlm
from babelmill.tokenizers.learning import (
    bert_words,
    count_words,
    learn_bpe,
    learn_wordpieces,
)
from babelmill.tokenizers.words import MODES, TextToWords
from babelmill.tokenizers.xlm import SPECIALS


def texts_of(inputs: list[str]) -> dict[str, list[Path]]:
    """The files of each language, from ``lang=path`` arguments."""
    texts = defaultdict(list)
    for argument in inputs:
        lang, equals, path = argument.partition("=")
        if not (lang and equals and path):
            raise UserError(f"--inputs {argument}: expected language=path")
        texts[lang].append(Path(path))
    return dict(texts)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    boolean = argparse.BooleanOptionalAction
    parser.add_argument("--type", choices=["xlm", "bert"], required=True)
    parser.add_argument("--inputs", nargs="+", metavar="LANG=PATH", required=True)
    parser.add_argument("--output_dir", type=Path, required=True)
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--codes", type=int, help="BPE merges to learn")
    size.add_argument("--vocab_size", type=int, help="ids, with special tokens")
    parser.add_argument(
        "--alpha", type=float, default=0.5, help="0: all languages alike"
    )
    parser.add_argument("--max_sentences", type=int, help="draw so many a language")
    parser.add_argument("--seed", type=int, default=0, help="of --max_sentences")
    parser.add_argument("--mode", choices=MODES, default="huggingface")
    parser.add_argument(
        "--do_lowercase_and_remove_accent", action=boolean, default=True
    )
    parser.add_argument("--bypass_tokenizer", action=boolean, default=False)
    parser.add_argument("--kytea_model", type=Path, help="for Japanese")
    parser.add_argument("--do_lower_case", action=boolean, default=True, help="BERT")
    args = parser.parse_args()
    if args.type == "bert" and not args.vocab_size:
        parser.error("--type bert needs --vocab_size")
    if not (args.codes or args.vocab_size):
        parser.error("give --codes or --vocab_size")

    texts = texts_of(args.inputs)
    sampling = args.alpha, args.max_sentences, args.seed
    if args.type == "bert":
        counts = count_words(texts, bert_words(args.do_lower_case), *sampling)
        pieces = learn_wordpieces(counts, args.vocab_size)
        write_bert(args.output_dir, pieces, args.do_lower_case)
        return
    text_to_words = TextToWords(
        args.mode,
        args.do_lowercase_and_remove_accent,
        args.bypass_tokenizer,
        args.kytea_model,
    )
    counts = count_words(texts, text_to_words, *sampling)
    pieces = args.vocab_size and args.vocab_size - len(SPECIALS)
    codes, counts_of_pieces = learn_bpe(counts, args.codes, pieces)
    write_xlm(
        args.output_dir, codes, counts_of_pieces, text_to_words, language_ids(texts)
    )


if __name__ == "__main__":
    run(main)
