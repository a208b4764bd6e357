"""One shard of examples, BERT's or XLM's: which rows it holds, masked and mixed."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from babelmill.errors import UserError
from babelmill.randomness import stream
from babelmill.shards.documents import TokenizedDocuments
from babelmill.shards.layout import DTYPES, Rows, take
from babelmill.shards.masking import choose_positions, mask_tokens
from babelmill.shards.sampling import Source, interleave, language_shares
from babelmill.shards.sentence_pairs import (
    PairTable,
    draw_pairs,
    pair_rows,
    random_documents,
)
from babelmill.shards.split import VALIDATION, Split
from babelmill.shards.streams import count_rows, stream_rows
from babelmill.shards.translation_pairs import translation_rows, usable_lines
from babelmill.tokenizers import Tokenizer

# Objectives: XLM's streams and translation pairs, BERT's sentence pairs.
MASKED_STREAM, CAUSAL_STREAM, PAIRS, NEXT_SENTENCE = "mlm", "clm", "tlm", "mlm_nsp"
MONOLINGUAL = (MASKED_STREAM, CAUSAL_STREAM, NEXT_SENTENCE)


@dataclass(frozen=True)
class ShardSettings:
    """What decides the rows of a model's shards (flags of the same names)."""

    max_seq_length: int
    max_predictions_per_seq: int
    masked_lm_prob: float
    objectives: dict[str, float]
    lg_sampling_factor: float
    word_sampling_alpha: float
    whole_word_mask: bool
    short_seq_prob: float
    validation_fraction: float
    validation_rows: int
    shards: int
    random_seed: int


@dataclass(frozen=True)
class Text:
    """Tokenized text of one language, or of a pair of aligned ones."""

    objective: str
    name: str
    sides: tuple[TokenizedDocuments, ...]
    langs: tuple[str, ...]

    def split(self, settings: ShardSettings) -> Split:
        """The validation split of the text's documents, and their shards."""
        return Split(
            self.sides[0],
            settings.shards,
            settings.validation_fraction,
            settings.random_seed,
        )

    def size(self, settings: ShardSettings) -> int:
        """Rows of the whole text: what the shares of languages are computed from."""
        side = self.sides[0]
        if self.objective == PAIRS:
            return sum(map(len, usable_lines(self.sides, side.blocks())))
        if self.objective == NEXT_SENTENCE:
            return len(side.ids)
        return count_rows(side, side.blocks(), settings.max_seq_length)


def multipliers(texts: list[Text], settings: ShardSettings) -> list[float]:
    """How often the rows of each text occur in one pass over the shards.

    Within an objective, languages (or pairs) get shares of size ** alpha; the
    objectives' rows are as their weights. The rows of the first objective are as many
    as its texts have.

    Raises:
        UserError: the texts of an objective have no row.
    """
    sizes = [text.size(settings) for text in texts]
    totals: dict[str, float] = {}
    result = [0.0] * len(texts)
    for objective, weight in settings.objectives.items():
        members = [i for i, text in enumerate(texts) if text.objective == objective]
        names = sorted({texts[i].name for i in members})
        by_name = [sum(sizes[i] for i in members if texts[i].name == n) for n in names]
        total = sum(by_name)
        if not total:
            raise UserError(
                f"objective {objective}: not a row from {' '.join(names) or 'no text'}"
                " (tlm needs two languages with text on the same lines)"
            )
        if totals:
            first, rows = next(iter(totals.items()))
            total = rows * weight / settings.objectives[first]
        totals[objective] = total
        shares = language_shares(np.asarray(by_name), settings.lg_sampling_factor)
        for i in members:
            at = names.index(texts[i].name)
            result[i] = float(total * shares[at] / max(by_name[at], 1))
    return result


def training_rows(
    texts: list[Text],
    tokenizer: Tokenizer,
    settings: ShardSettings,
    shard: int,
    dupe: int,
) -> Iterator[Rows]:
    """Yield the blocks of one (shard, dupe): order and masks of its own."""
    sources = []
    for number, (text, multiplier) in enumerate(
        zip(texts, multipliers(texts, settings), strict=True)
    ):
        rng = stream(settings.random_seed, "rows", number, shard, dupe)
        rows, blocks = _unmasked(text, shard, tokenizer, settings, rng)
        sources.append(Source(rows, blocks, multiplier, rng.random()))
    yield from _finished(sources, texts, tokenizer, settings, f"{shard} {dupe}")


def validation_rows(
    texts: list[Text], tokenizer: Tokenizer, settings: ShardSettings
) -> Iterator[Rows]:
    """Yield the held-out rows: at most ``validation_rows`` a language or pair.

    Pairs of sentences say which language they are in, if there are several.
    """
    sources = []
    several = len({text.langs for text in texts}) > 1
    for number, text in enumerate(texts):
        rng = stream(settings.random_seed, "validation rows", number)
        rows, blocks = _unmasked(text, VALIDATION, tokenizer, settings, rng)
        if several and text.objective == NEXT_SENTENCE:
            blocks = _in_language(blocks, text.langs[0])
        share = min(1.0, settings.validation_rows / max(rows, 1))
        sources.append(Source(rows, blocks, share, 0.5))
    yield from _finished(sources, texts, tokenizer, settings, "validation")


def _unmasked(
    text: Text,
    shard: int,
    tokenizer: Tokenizer,
    settings: ShardSettings,
    rng: np.random.Generator,
) -> tuple[int, Callable[[int], Iterator[Rows]]]:
    """How many rows one pass over a text's part of a shard has, and the passes."""
    length, side = settings.max_seq_length, text.sides[0]
    split = text.split(settings)
    documents = split.documents_in(shard)
    if not len(documents):
        return 0, lambda _: iter(())
    if text.objective == NEXT_SENTENCE:
        order, short = rng.permutation(documents), settings.short_seq_prob
        others = random_documents(side, split, held_out=shard == VALIDATION)
        pairs = PairTable(draw_pairs(side, order, others, length, short, rng))
        return len(pairs), lambda _: pair_rows(side, pairs, tokenizer, length, rng)
    lang_ids = tuple(_language_id(tokenizer, lang) for lang in text.langs)
    if text.objective == PAIRS:
        lines = np.concatenate(list(usable_lines(text.sides, side.parts(documents))))
        return len(lines), lambda _: translation_rows(
            text.sides, rng.permutation(lines), tokenizer, lang_ids, length, rng
        )
    # A pass after the first cuts the stream elsewhere.
    rows = count_rows(side, side.parts(documents), length)
    causal = text.objective == CAUSAL_STREAM
    return rows, lambda _: stream_rows(
        side, rng.permutation(documents), tokenizer, lang_ids[0], length, causal
    )


def _language_id(tokenizer: Tokenizer, lang: str) -> int:
    if lang not in tokenizer.lang2id:
        raise UserError(
            f"the tokenizer does not know the language {lang}; it knows:"
            f" {' '.join(sorted(tokenizer.lang2id)) or 'none'}: make it anew with all"
        )
    return tokenizer.lang2id[lang]


def _in_language(
    blocks: Callable[[int], Iterator[Rows]], lang: str
) -> Callable[[int], Iterator[Rows]]:
    def named(number: int) -> Iterator[Rows]:
        for rows in blocks(number):
            names = np.full(len(rows["input_ids"]), lang, DTYPES["language"])
            yield {**rows, "language": names}

    return named


def _finished(
    sources: list[Source],
    texts: list[Text],
    tokenizer: Tokenizer,
    settings: ShardSettings,
    name: str,
) -> Iterator[Rows]:
    """Mix the rows of all sources and mask them, block by block."""
    rng = stream(settings.random_seed, "masks", name)
    special = np.zeros(tokenizer.vocab_size, bool)
    special[tokenizer.special_ids] = True
    random_words = np.flatnonzero(~special).astype(np.int32)
    weights = _word_weights(texts, settings.word_sampling_alpha)
    has_causal = CAUSAL_STREAM in settings.objectives
    for rows in interleave(sources, rng):
        ids, lengths = rows["input_ids"], rows["input_mask"].sum(1, dtype=np.int64)
        causal = rows.pop("causal", np.zeros(len(ids), np.int8)) > 0
        positions, counts = choose_positions(
            ~special[ids] & ~causal[:, None],
            lengths,
            settings.masked_lm_prob,
            settings.max_predictions_per_seq,
            rng,
            weights[ids] if weights is not None else None,
            tokenizer.word_starts(ids) if settings.whole_word_mask else None,
        )
        masked, labels = mask_tokens(
            ids, positions, counts, tokenizer.mask_id, random_words, rng
        )
        finished = {
            **rows,
            **({"causal": causal} if has_causal else {}),
            "input_ids": masked,
            "masked_lm_positions": positions,
            "masked_lm_ids": labels,
        }
        # The last row of a stream may hold special tokens alone.
        yield take(finished, np.flatnonzero((counts > 0) | causal))


def _word_weights(texts: list[Text], alpha: float) -> np.ndarray | None:
    """``count ** -alpha`` of each id over all texts (XLM's ``sample_alpha``)."""
    if alpha == 0:
        return None
    counts = sum(side.token_counts for text in texts for side in text.sides)
    return (np.maximum(counts, 1) ** -alpha).astype(np.float32)


def translation_texts(
    parallel: dict[str, TokenizedDocuments], pivot: str | None
) -> list[Text]:
    """The pairs of one parallel corpus: each language with ``pivot``, or all pairs.

    Raises:
        UserError: the sides are not aligned, or the pivot has no text.
    """
    langs = sorted(parallel)
    if pivot is not None and pivot not in parallel:
        raise UserError(f"the pivot language {pivot} has no side in the parallel text")
    lines = {lang: len(side.sentence_ends) for lang, side in parallel.items()}
    for lang in langs[1:]:
        one, other = parallel[langs[0]], parallel[lang]
        if lines[lang] != lines[langs[0]] or not (one.aligned and other.aligned):
            raise UserError(
                f"{one.path} ({lines[langs[0]]} lines) and {other.path}"
                f" ({lines[lang]} lines) are not aligned text"
            )
    return [
        Text(PAIRS, f"{a}-{b}", (parallel[a], parallel[b]), (a, b))
        for i, a in enumerate(langs)
        for b in langs[i + 1 :]
        if pivot is None or pivot in (a, b)
    ]
