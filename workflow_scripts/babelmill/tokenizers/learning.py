"""Learning BPE codes and WordPiece vocabularies from the words of many languages.

Languages are weighted as the XLM paper samples them (Lample and Conneau 2019, 3.1): a
language with the share p of the sentences gets the share p**alpha of what is learned
from, up to a common factor. Counts of words are multiplied by that weight, so nothing
is left to chance but the choice of sentences when a text is too large.
"""

import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path

from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from babelmill.errors import UserError
from babelmill.files import read_lines
from babelmill.progress import progress
from babelmill.randomness import stream
from babelmill.tokenizers.bpe import END_OF_WORD, BytePairEncoding
from babelmill.tokenizers.fastbpe_files import Code
from babelmill.tokenizers.wordpiece import (
    CONTINUES,
    SPECIALS,
    bert_normalizer,
    bert_pre_tokenizer,
)

_LINES_AT_ONCE = 2048
_MOST_DISTINCT_WORDS = 1_000_000
_MOST_WORDS = 200_000_000
_WORDS_AT_ONCE = 10_000

Words = Callable[[Sequence[str], str], Iterable[str]]


class WordCounts:
    """Distinct words and their counts, and all characters of them.

    Memory is bounded: of too many distinct words, the rarer half is forgotten, but not
    its characters.
    """

    def __init__(self):
        self.words: Counter[str] = Counter()
        self.characters: set[str] = set()

    def add(self, words: Iterable[str]) -> None:
        self.add_counts(Counter(words))

    def add_counts(self, words: Mapping[str, float], weight: float = 1) -> None:
        """Add the counts of distinct words, multiplied by ``weight``."""
        self.characters.update(*words)
        for word, count in words.items():
            self.words[word] += count * weight
        if len(self.words) > _MOST_DISTINCT_WORDS:
            counts = sorted(self.words.values(), reverse=True)
            forgotten = counts[_MOST_DISTINCT_WORDS // 2]
            self.words = Counter({w: n for w, n in self.words.items() if n > forgotten})


def count_words(
    texts: dict[str, list[Path]],
    words_of: Words,
    alpha: float,
    max_sentences: int | None = None,
    seed: int = 0,
) -> WordCounts:
    """Count the words of texts, the languages weighted with ``alpha``.

    Args:
        texts: files of each language, one sentence a line; blank lines do not count.
        words_of: the words of some lines of a language.
        alpha: 1 leaves the shares of the languages as they are, 0 makes them equal.
        max_sentences: of a language with more, draw about so many.
        seed: of that draw.

    Raises:
        UserError: a language has no text.
    """
    sentences = {lang: _count_sentences(lang, files) for lang, files in texts.items()}
    total = sum(sentences.values())
    shares = {lang: (n / total) ** alpha for lang, n in sentences.items()}
    result = WordCounts()
    for lang in sorted(texts):
        kept = min(1.0, (max_sentences or total) / sentences[lang])
        counts = WordCounts()
        lines = _draw(_sentences(texts[lang]), kept, seed, lang)
        lines = progress(lines, f"words of {lang}", "lines")
        while block := list(islice(lines, _LINES_AT_ONCE)):
            counts.add(words_of(block, lang))
        share = shares[lang] / sum(shares.values())
        result.add_counts(counts.words, share * total / (kept * sentences[lang]))
        result.characters |= counts.characters
    scale = min(1.0, _MOST_WORDS / max(result.words.total(), 1))
    result.words = Counter(
        {w: max(1, round(n * scale)) for w, n in result.words.items()}
    )
    return result


def learn_bpe(
    counts: WordCounts, codes: int | None, pieces: int | None
) -> tuple[list[Code], dict[str, int]]:
    """Learn BPE codes and count the pieces that they split the words into.

    Args:
        counts: the words.
        codes: how many merges to learn, or
        pieces: how many pieces to have.

    Returns:
        Codes, best first, and counts of pieces, largest first. All characters are
        among the pieces, inside and at the end of words, and so is what is merged on
        the way to longer pieces: no text of these characters has an unknown piece.

    Raises:
        UserError: there are more characters than ``pieces``.
    """
    alphabet = sorted(counts.characters)
    characters = [*alphabet, *(c + END_OF_WORD for c in alphabet)]
    if codes is None:
        codes = _room(pieces, len(characters), len(alphabet))
    # Given as special tokens, the ends of words get the same numbers in every run, and
    # with them the ties between merges are broken alike.
    ends = characters[len(alphabet) :]
    trainer = trainers.BpeTrainer(
        vocab_size=len(characters) + codes,
        min_frequency=2,
        special_tokens=ends,
        end_of_word_suffix=END_OF_WORD,
        show_progress=False,
    )
    library = Tokenizer(models.BPE(end_of_word_suffix=END_OF_WORD))
    made: dict[str, tuple[str, str]] = {}
    # What fastBPE's files cannot hold: white space, and @@, which marks pieces.
    words = {w: n for w, n in counts.words.items() if not re.search(r"\s|@@", w)}
    for first, second in _train(library, words, trainer)["merges"]:
        # fastBPE has one merge for each piece; the library may have several.
        made.setdefault(first + second, (first, second))
    merges = list(islice(made.values(), codes))
    if len(merges) < codes:
        print(f"the text has only {len(merges)} merges for {codes}", file=sys.stderr)
    bpe = BytePairEncoding(merges)
    of_piece = Counter(dict.fromkeys(characters, 0))
    of_piece.update(dict.fromkeys(map("".join, merges), 0))
    for word, count in words.items():
        for piece in bpe.split(word):
            of_piece[piece] += count
    # A piece was made as often as it is left over or became part of a longer one.
    made_often = Counter(of_piece)
    for merge in reversed(merges):
        for part in merge:
            made_often[part] += made_often["".join(merge)]
    return (
        [Code(*merge, made_often["".join(merge)]) for merge in merges],
        dict(sorted(of_piece.items(), key=lambda item: (-item[1], item[0]))),
    )


def bert_words(do_lower_case: bool) -> Words:
    """The words that WordPiece splits, as a function of lines and their language."""
    normalizer = bert_normalizer(do_lower_case, True, None)
    pre_tokenizer = bert_pre_tokenizer()

    def words(lines: Sequence[str], lang: str) -> Iterator[str]:
        for line in lines:
            line = normalizer.normalize_str(line)
            yield from (word for word, _ in pre_tokenizer.pre_tokenize_str(line))

    return words


def learn_wordpieces(counts: WordCounts, vocab_size: int) -> list[str]:
    """Learn a WordPiece vocabulary; all characters are in it, in both forms.

    Raises:
        UserError: there are more characters than ``vocab_size``.
    """
    alphabet = sorted(counts.characters)
    first = [*SPECIALS, *(CONTINUES + c for c in alphabet)]
    _room(vocab_size - len(SPECIALS), 2 * len(alphabet), len(alphabet))
    trainer = trainers.WordPieceTrainer(
        vocab_size=vocab_size,
        min_frequency=2,
        special_tokens=first,
        initial_alphabet=alphabet,
        continuing_subword_prefix=CONTINUES,
        show_progress=False,
    )
    library = Tokenizer(models.WordPiece(unk_token=SPECIALS[1]))
    vocab = _train(library, counts.words, trainer)["vocab"]
    return sorted(vocab, key=vocab.__getitem__)


def _room(size: int, characters: int, alphabet: int) -> int:
    if size < characters:
        raise UserError(
            f"--vocab_size is {characters - size} too small: the text has {alphabet}"
            " different characters, each needs two pieces"
        )
    return size - characters


def _train(library: Tokenizer, words: dict[str, int], trainer) -> dict:
    """The model that a trainer makes of words, as the library saves it."""

    def repeated() -> Iterator[str]:
        for word in sorted(words):
            for start in range(0, words[word], _WORDS_AT_ONCE):
                yield " ".join([word] * min(_WORDS_AT_ONCE, words[word] - start))

    library.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    library.train_from_iterator(repeated(), trainer)
    return json.loads(library.to_str())["model"]


def _sentences(files: Iterable[Path]) -> Iterator[str]:
    for path in files:
        yield from filter(str.strip, read_lines(path))


def _count_sentences(lang: str, files: Sequence[Path]) -> int:
    count = sum(1 for _ in _sentences(files))
    if not count:
        raise UserError(f"{files[0]}: no text of language {lang} in it")
    return count


def _draw(lines: Iterator[str], share: float, seed: int, lang: str) -> Iterator[str]:
    if share == 1:
        return lines
    rng = stream(seed, "learn_tokenizer", lang)
    return (line for line in lines if rng.random() < share)
