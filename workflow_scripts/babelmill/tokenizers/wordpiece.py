"""BERT's tokenizer: WordPiece over words and punctuation marks."""

from collections.abc import Sequence
from itertools import chain

import numpy as np
from tokenizers import (
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
)

from babelmill.errors import UserError
from babelmill.tokenizers.cache import WordIds, packed
from babelmill.tokenizers.fast import FastTokenizer

PAD, UNK, CLS, SEP, MASK = SPECIALS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
CONTINUES = "##"

# PaddleNLP's BertTokenizer, other than Google's, also parts symbols from words.
_SYMBOL = Regex(r"[\p{S}\u00ad\u00b2\u00b5\u00ba\u00d8\u014b\u01b1\u3007]")


class WordPieceTokenizer(FastTokenizer):
    """The tokenizer of BERT, equal to PaddleNLP's BertTokenizer.

    Args:
        vocab: id of each piece.
        do_lower_case, tokenize_chinese_chars, strip_accents: as PaddleNLP's;
            ``strip_accents`` of None means as ``do_lower_case``.
        fingerprint: of all the above.

    Raises:
        UserError: a special token is not in the vocabulary.
    """

    type = "bert"

    def __init__(
        self,
        vocab: dict[str, int],
        do_lower_case: bool,
        tokenize_chinese_chars: bool,
        strip_accents: bool | None,
        fingerprint: str,
    ):
        for name in SPECIALS:
            if name not in vocab:
                raise UserError(f"the vocabulary has no {name}: add a line for it")
        library = Tokenizer(models.WordPiece(vocab, unk_token=UNK))
        library.normalizer = bert_normalizer(
            do_lower_case, tokenize_chinese_chars, strip_accents
        )
        library.pre_tokenizer = bert_pre_tokenizer()
        library.post_processor = processors.BertProcessing(
            (SEP, vocab[SEP]), (CLS, vocab[CLS])
        )
        library.decoder = decoders.WordPiece()
        library.add_special_tokens(list(SPECIALS))
        super().__init__(library, {}, fingerprint)
        self._ids_of_word = WordIds()

    def encode_lines(self, lines: Sequence[str], lang: str) -> list[np.ndarray]:
        # Blanks part words before anything else looks at the text, so that words met
        # before need no look at all.
        words = [line.split(" ") for line in lines]
        self._ids_of_word.make_room()
        new = list(set(chain.from_iterable(words)) - self._ids_of_word.keys())
        encoded = self._library.encode_batch_fast(new, add_special_tokens=False)
        for word, encoding in zip(new, encoded, strict=True):
            self._ids_of_word[word] = packed(encoding.ids)
        ids = self._ids_of_word.__getitem__
        return [np.frombuffer(b"".join(map(ids, line)), np.int32) for line in words]


def bert_normalizer(
    do_lower_case: bool, tokenize_chinese_chars: bool, strip_accents: bool | None
) -> normalizers.Normalizer:
    return normalizers.BertNormalizer(
        handle_chinese_chars=tokenize_chinese_chars,
        strip_accents=strip_accents,
        lowercase=do_lower_case,
    )


def bert_pre_tokenizer() -> pre_tokenizers.PreTokenizer:
    return pre_tokenizers.Sequence(
        [pre_tokenizers.BertPreTokenizer(), pre_tokenizers.Split(_SYMBOL, "isolated")]
    )
