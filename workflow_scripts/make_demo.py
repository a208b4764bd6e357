"""Write the demo: raw text and a small NLI task, in every language of the lexicons.

    python workflow_scripts/make_demo.py --output_dir demo --seed 1

writes, in UTF-8 and with a sentence or a pair in each line,

    demo/monolingual/{lang}.txt   documents, other ones in each language
    demo/parallel/{lang}.txt      the same documents in all languages, line by line
    demo/phrasebook/{lang}.txt    phrases, again and again, in all languages alike
    demo/nli/train.en.tsv         premise, hypothesis, label; English only
    demo/nli/dev.{lang}.tsv       the same pairs in all languages, line by line
    demo/nli/test.{lang}.tsv

with a blank line between documents. The same arguments give the same bytes.
"""

import argparse
from collections.abc import Iterable
from itertools import islice
from pathlib import Path

from babelmill.demo import (
    Lexicon,
    Pair,
    Sentence,
    documents,
    nli_pairs,
    parallel_documents,
    phrasebook_order,
    read_lexicons,
)
from babelmill.files import write_text
from babelmill.randomness import stream
from babelmill.script import run

LEXICONS = Path(__file__).resolve().parents[1] / "resources" / "demo"


def main() -> None:
    options = _options()
    lexicons = read_lexicons(options.lexicons, options.languages)
    english = read_lexicons(options.lexicons, ["en"])["en"]
    seed, folder = options.seed, options.output_dir

    train = nli_pairs(stream(seed, "demo", "train"), "train", options.train_pairs)
    evaluation = {
        split: nli_pairs(stream(seed, "demo", split), split, options.eval_pairs)
        for split in ("dev", "test")
    }
    parallel = parallel_documents(
        stream(seed, "demo", "parallel"), options.parallel_lines
    )
    order = phrasebook_order(
        stream(seed, "demo", "phrasebook"),
        len(english.phrases()),
        options.phrasebook_rounds,
    )
    write_text(folder / "nli" / "train.en.tsv", _table(english, train))
    for language, lexicon in lexicons.items():
        for split, pairs in evaluation.items():
            path = folder / "nli" / f"{split}.{language}.tsv"
            write_text(path, _table(lexicon, pairs))
        path = folder / "parallel" / f"{language}.txt"
        write_text(path, _text(lexicon, parallel))
        phrases = lexicon.phrases()
        path = folder / "phrasebook" / f"{language}.txt"
        write_text(path, "".join(f"{phrases[number]}\n" for number in order))
        own = documents(stream(seed, "demo", "monolingual", language))
        path = folder / "monolingual" / f"{language}.txt"
        write_text(path, _text(lexicon, islice(own, options.documents)))


def _text(lexicon: Lexicon, documents: Iterable[list[Sentence]]) -> str:
    return "\n".join(
        "".join(f"{lexicon.render(sentence)}\n" for sentence in document)
        for document in documents
    )


def _table(lexicon: Lexicon, pairs: list[Pair]) -> str:
    rows = [("premise", "hypothesis", "label")]
    rows += [
        (lexicon.render(pair.premise), lexicon.render(pair.hypothesis), pair.label)
        for pair in pairs
    ]
    return "".join("\t".join(row) + "\n" for row in rows)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--output_dir", type=Path, required=True, help="folder to write to")
    add("--seed", type=_count, default=1, help="root of all random draws")
    add("--documents", type=_count, default=1000, help="own documents of a language")
    add(
        "--parallel_lines", type=_count, default=3000, help="sentences in all languages"
    )
    add("--phrasebook_rounds", type=_count, default=60, help="occurrences of a phrase")
    add("--train_pairs", type=_count, default=6000, help="a multiple of 3")
    add("--eval_pairs", type=_count, default=450, help="of dev, and as many of test")
    add("--languages", nargs="+", metavar="LANG", help="default: all lexicons")
    add("--lexicons", type=Path, default=LEXICONS, help="folder of {lang}.yaml")
    return parser.parse_args()


def _count(text: str) -> int:
    value = int(text)
    if value < 0:
        raise argparse.ArgumentTypeError(f"{value} is negative")
    return value


if __name__ == "__main__":
    run(main)
