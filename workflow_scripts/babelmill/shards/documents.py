"""Tokenized documents: one HDF5 file a corpus and language, read without loading it.

| dataset | dtype | shape | meaning |
|---|---|---|---|
| ``ids`` | uint16 or int32 | (tokens,) | token ids, no special tokens |
| ``sentence_ends`` | int64 | (sentences,) | end of each sentence in ``ids`` |
| ``document_ends`` | int64 | (documents,) | end of each document in ``sentence_ends`` |
| ``document_keys`` | uint64 | (documents,) | what the validation split goes by |
| ``token_counts`` | int64 | (vocabulary,) | how often each id occurs |

In line-aligned text a sentence is a line, empty ones included, and the key of a
document is its number, so that both sides of a translation fall on the same side of the
split. Elsewhere the key is a hash of the document's ids, so that copies of a document
do. Very long documents are stored as several with the key of the whole, so that no
document has to fit into memory.
"""

import hashlib
import json
import mmap
import os
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from babelmill.errors import UserError
from babelmill.files import whole_file

_FIELDS = ("ids", "sentence_ends", "document_ends", "document_keys")
_COPY_BLOCK = 1 << 20
# The most that is stored as one document, and what is read at once.
_LONGEST_SENTENCES, _LONGEST_TOKENS = 1 << 14, 1 << 20
_DOCUMENTS_PER_COUNT = 64
_DOCUMENTS_AT_ONCE, _SENTENCES_AT_ONCE = 1 << 16, 1 << 20


class _Spool:
    """A column of unknown length that grows on disk, not in memory."""

    def __init__(self, folder: str, dtype: np.dtype):
        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115
        self._dtype = np.dtype(dtype)
        self.size = 0

    def append(self, values: np.ndarray) -> None:
        self._file.write(np.ascontiguousarray(values, self._dtype).data)
        self.size += len(values)

    def copy_to(self, group: h5py.File, name: str) -> None:
        column = group.create_dataset(name, (self.size,), self._dtype)
        self._file.seek(0)
        for start in range(0, self.size, _COPY_BLOCK):
            block = self._file.read(_COPY_BLOCK * self._dtype.itemsize)
            values = np.frombuffer(block, self._dtype)
            column[start : start + len(values)] = values


class _Columns:
    """The columns of a file of documents while they grow."""

    def __init__(self, folder: Path, vocab_size: int):
        ids_dtype = np.uint16 if vocab_size <= 1 << 16 else np.int32
        self.ids, self.sentence_ends, self.document_ends, self.keys = (
            _Spool(str(folder), dtype) for dtype in (ids_dtype, "<i8", "<i8", "<u8")
        )
        self._token_counts = np.zeros(vocab_size, np.int64)
        self._uncounted: list[np.ndarray] = []

    def append(self, sentences: list[np.ndarray]) -> np.ndarray:
        """Add a document without its key; returns its ids."""
        lengths = np.fromiter(map(len, sentences), np.int64, len(sentences))
        joined = np.concatenate(sentences)
        self.sentence_ends.append(self.ids.size + np.cumsum(lengths))
        self.ids.append(joined)
        self.document_ends.append(np.asarray([self.sentence_ends.size]))
        self._uncounted.append(joined)
        if len(self._uncounted) == _DOCUMENTS_PER_COUNT:
            self.token_counts()
        return joined

    def token_counts(self) -> np.ndarray:
        """How often each id occurs, (vocabulary,) int64."""
        if self._uncounted:
            self._token_counts += np.bincount(
                np.concatenate(self._uncounted), minlength=len(self._token_counts)
            )
            self._uncounted = []
        return self._token_counts


def write_documents(
    path: str | os.PathLike[str],
    documents: Iterable[Iterable[np.ndarray]],
    vocab_size: int,
    aligned: bool,
    attributes: dict[str, Any],
) -> int:
    """Write documents (each of sentences, each an array of ids) as they come.

    Returns:
        The number of tokens written.
    """
    folder = Path(path).parent
    folder.mkdir(parents=True, exist_ok=True)
    columns = _Columns(folder, vocab_size)
    for number, sentences in enumerate(documents):
        content = hashlib.blake2b(digest_size=8)
        parts = 0
        for part in _parts_of_document(sentences, aligned):
            content.update(columns.append(part).astype("<i4").tobytes())
            parts += 1
        key = number if aligned else int.from_bytes(content.digest(), "little")
        columns.keys.append(np.full(parts, key, np.uint64))
    with whole_file(path) as partial, h5py.File(partial, "w") as out:
        for name, column in zip(
            _FIELDS,
            (columns.ids, columns.sentence_ends, columns.document_ends, columns.keys),
            strict=True,
        ):
            column.copy_to(out, name)
        out["token_counts"] = columns.token_counts()
        out.attrs["aligned"] = aligned
        for name in sorted(attributes):
            out.attrs[name] = json.dumps(attributes[name], sort_keys=True)
    return columns.ids.size


def _parts_of_document(
    sentences: Iterable[np.ndarray], aligned: bool
) -> Iterator[list[np.ndarray]]:
    part, tokens = [], 0
    for sentence in sentences:
        part.append(sentence)
        # Both sides of a translation are parted at the same lines.
        tokens += 0 if aligned else len(sentence)
        if len(part) == _LONGEST_SENTENCES or tokens >= _LONGEST_TOKENS:
            yield part
            part, tokens = [], 0
    if part:
        yield part


class TokenizedDocuments:
    """Read access to a file of ``write_documents`` through memory maps.

    Attributes:
        ids, sentence_ends, document_ends, document_keys: as in the file.
        token_counts: (vocabulary,) int64.
        attributes: what ``write_documents`` was given.
        aligned: whether sentences are the lines of parallel text.
    """

    def __init__(self, path: str | os.PathLike[str]):
        self.path = Path(path)
        self._maps: list[np.memmap] = []
        try:
            with h5py.File(path, "r") as source:
                columns = [self._column(source[name]) for name in _FIELDS]
                self.token_counts = source["token_counts"][:]
                attributes = dict(source.attrs)
        except (OSError, KeyError) as error:
            raise UserError(f"{path}: not a file of tokenized documents") from error
        self.ids, self.sentence_ends, self.document_ends, self.document_keys = columns
        self.aligned = bool(attributes.pop("aligned"))
        self.attributes = {name: json.loads(v) for name, v in attributes.items()}

    def _column(self, column: h5py.Dataset) -> np.ndarray:
        offset = column.id.get_offset()
        if offset is None:  # empty
            return column[:]
        self._maps.append(np.memmap(self.path, column.dtype, "r", offset, column.shape))
        # As a plain array: each slice of a memmap costs microseconds.
        return np.asarray(self._maps[-1])

    def release(self) -> None:
        """Give back the memory of what was read; it is read again where needed.

        Mapped pages would stay with the process as long as the machine has memory.
        """
        for column in self._maps:
            column._mmap.madvise(mmap.MADV_DONTNEED)

    def __len__(self) -> int:
        return len(self.document_ends)

    def blocks(self) -> Iterator[np.ndarray]:
        """Numbers of all documents in order, int64, so many as can be read at once."""
        for start in range(0, len(self), _DOCUMENTS_AT_ONCE):
            stop = min(start + _DOCUMENTS_AT_ONCE, len(self))
            yield from self.parts(np.arange(start, stop))

    def parts(self, documents: np.ndarray) -> Iterator[np.ndarray]:
        """Numbers of some documents in their order, so many as can be read at once."""
        for start in range(0, len(documents), _DOCUMENTS_AT_ONCE):
            some = documents[start : start + _DOCUMENTS_AT_ONCE]
            sentences = np.cumsum(self.sentence_counts(some))
            cuts = np.flatnonzero(np.diff(sentences // _SENTENCES_AT_ONCE)) + 1
            yield from np.split(some, cuts)
            self.release()

    def sentence_ranges(self, documents: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The first sentence of each document, and the first of the one after it."""
        starts = np.where(documents > 0, self.document_ends[documents - 1], 0)
        return starts, self.document_ends[documents]

    def sentence_counts(self, documents: np.ndarray) -> np.ndarray:
        """Sentences of each document, empty lines included."""
        starts, stops = self.sentence_ranges(documents)
        return stops - starts

    def starts_of(self, sentences: np.ndarray) -> np.ndarray:
        """Where sentences begin in ``ids``."""
        return np.where(sentences > 0, self.sentence_ends[sentences - 1], 0)

    def first_tokens(self, documents: np.ndarray) -> np.ndarray:
        """Where documents begin in ``ids``."""
        return self.starts_of(self.sentence_ranges(documents)[0])

    def sentence_bounds(self, document: int) -> np.ndarray:
        """Where the sentences of a document begin and end in ``ids``.

        Empty lines of aligned text are no sentences.

        Returns:
            (sentences + 1,) int64, ascending.
        """
        start = int(self.document_ends[document - 1]) if document else 0
        stop = int(self.document_ends[document])
        if start:
            bounds = self.sentence_ends[start - 1 : stop]
        else:
            bounds = np.concatenate([[0], self.sentence_ends[:stop]])
        return np.unique(bounds) if self.aligned else bounds

    def sentence(self, number: int) -> np.ndarray:
        """The ids of one sentence."""
        first = int(self.sentence_ends[number - 1]) if number else 0
        return self.ids[first : int(self.sentence_ends[number])]

    def document(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        """The ids of a document and the ends of its sentences, relative to them."""
        bounds = self.sentence_bounds(number)
        return self.ids[bounds[0] : bounds[-1]], bounds[1:] - bounds[0]

    def sentence_lengths(self, sentences: np.ndarray) -> np.ndarray:
        """Tokens of the sentences of these numbers, int64 of the same shape."""
        return self.sentence_ends[sentences] - self.starts_of(sentences)

    def sentences_of(self, documents: np.ndarray) -> np.ndarray:
        """Numbers of all sentences of some documents, one document after the other."""
        starts, stops = self.sentence_ranges(documents)
        sizes = stops - starts
        before = np.cumsum(sizes) - sizes
        first = np.repeat(starts - before, sizes)
        return first + np.arange(len(first))
