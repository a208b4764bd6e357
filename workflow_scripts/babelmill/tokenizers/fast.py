"""Tokenizers of the ``tokenizers`` library, as any tokenizer.json describes one."""

from collections.abc import Sequence

import numpy as np
from tokenizers import Tokenizer as Library

from babelmill.errors import UserError
from babelmill.tokenizers.base import Tokenizer

NONE = -1
_USUAL_NAMES = {
    "pad_token": ("[PAD]", "<pad>"),
    "unk_token": ("[UNK]", "<unk>"),
    "mask_token": ("[MASK]", "<mask>"),
}


class FastTokenizer(Tokenizer):
    """Wraps a tokenizer of the library. An id that it does not have is ``NONE``.

    Args:
        library: the tokenizer, with a post-processor that adds the special tokens.
        names: names of special tokens, such as ``{"pad_token": "<pad>"}``.
        fingerprint: of its files.

    Raises:
        UserError: no padding token, or no special tokens around a text.
    """

    type = "fast"

    def __init__(self, library: Library, names: dict[str, str], fingerprint: str):
        library.no_truncation()
        library.no_padding()
        self._library = library
        self.fingerprint = fingerprint
        self.vocab_size = library.get_vocab_size()
        self.lang2id = {}
        self._frame_of_one = _frame(library, pair=False)
        self._frame_of_two = _frame(library, pair=True)
        before, after = self._frame_of_one[0], self._frame_of_one[-1]
        if not before or not after:
            raise UserError(
                "the tokenizer puts no special tokens around a text: its tokenizer.json"
                " needs a post_processor"
            )
        self.cls_id, self.sep_id = before[0][0], after[-1][0]
        self.bos_id, self.eos_id = self.cls_id, self.sep_id
        self.pad_id = self._special("pad_token", names)
        self.unk_id = self._special("unk_token", names)
        self.mask_id = self._special("mask_token", names)
        if self.pad_id == NONE:
            raise UserError("the tokenizer has no padding token: name it as pad_token")
        added = library.get_added_tokens_decoder()
        special = {i for i, token in added.items() if token.special}
        special |= {self.cls_id, self.sep_id, self.pad_id, self.unk_id, self.mask_id}
        # BERT's [unused1] and so on stand in no text.
        special |= {
            i for t, i in library.get_vocab().items() if t.startswith("[unused")
        }
        self.special_ids = np.array(sorted(special - {NONE}))

    def encode_lines(self, lines: Sequence[str], lang: str) -> list[np.ndarray]:
        encodings = self._library.encode_batch_fast(
            list(lines), add_special_tokens=False
        )
        return [np.array(encoding.ids, np.int32) for encoding in encodings]

    def tokenize(self, line: str, lang: str) -> list[str]:
        return self._library.encode(line, add_special_tokens=False).tokens

    def build_inputs(
        self, a: Sequence[int], b: Sequence[int] | None = None
    ) -> tuple[list[int], list[int]]:
        texts = [a] if b is None else [a, b]
        frame = self._frame_of_one if b is None else self._frame_of_two
        ids, segments = [], []
        for number, (around, text) in enumerate(zip(frame, [*texts, []], strict=True)):
            ids += [i for i, _ in around]
            segments += [segment for _, segment in around]
            ids += map(int, text)
            segments += [number] * len(text)
        return ids, segments

    def tokens(self, ids: Sequence[int]) -> list[str]:
        return [self._library.id_to_token(int(i)) for i in ids]

    def decode(self, ids: Sequence[int]) -> str:
        return self._library.decode([int(i) for i in ids], skip_special_tokens=True)

    def _special(self, role: str, names: dict[str, str]) -> int:
        candidates = [names[role]] if role in names else _USUAL_NAMES[role]
        ids = map(self._library.token_to_id, candidates)
        return next((i for i in ids if i is not None), NONE)


def _frame(library: Library, pair: bool) -> list[list[tuple[int, int]]]:
    """Special tokens before, (between) and after: id and segment of each."""
    framed = library.encode("a", "a" if pair else None)
    frame: list[list[tuple[int, int]]] = [[]]
    previous = None
    for token, segment, sequence in zip(
        framed.ids, framed.type_ids, framed.sequence_ids, strict=True
    ):
        if sequence is None:
            frame[-1].append((token, segment))
        elif sequence != previous:
            frame.append([])
            previous = sequence
    return frame
