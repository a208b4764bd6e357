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
import os
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

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
# What lies between wanted entries is read too, up to so many times as much.
_GAPS = 16


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


class Column:
    """A column of a file, read where it is asked for.

    Read, not mapped into memory: of a mapped file the process keeps, for each look, all
    that the kernel likes to map around it.
    """

    def __init__(self, file: BinaryIO, column: h5py.Dataset):
        self._file = file
        # An empty column has no place in the file.
        self._offset = column.id.get_offset() or 0
        self._dtype = column.dtype
        self._size = len(column)

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, index: np.ndarray | slice | int) -> np.ndarray:
        """The entries at ``index``, as of an array (slices without steps)."""
        if isinstance(index, slice):
            start, stop, _ = index.indices(self._size)
            return self._read(start, max(stop, start))
        if isinstance(index, np.ndarray):
            return self.pieces(index, np.ones_like(index))
        return self._read(index, index + 1)[0]

    def pieces(self, starts: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """Runs of entries, one after the other."""
        if not len(starts):
            return self._read(0, 0)
        first, last = int(starts.min()), int((starts + sizes).max())
        if last - first <= _GAPS * int(sizes.sum()):
            return self._read(first, last)[runs(starts - first, sizes)]
        width, number = self._dtype.itemsize, self._file.fileno()
        places = zip(
            (sizes * width).tolist(),
            (self._offset + starts * width).tolist(),
            strict=True,
        )
        read = (os.pread(number, size, place) for size, place in places)
        return np.frombuffer(b"".join(read), self._dtype)

    def _read(self, start: int, stop: int) -> np.ndarray:
        width = self._dtype.itemsize
        place = self._offset + int(start) * width
        block = os.pread(self._file.fileno(), int(stop - start) * width, place)
        return np.frombuffer(block, self._dtype)

    def before(self, index: np.ndarray) -> np.ndarray:
        """Of ends: where the runs of these numbers start."""
        return np.where(index > 0, self[np.maximum(index - 1, 0)], 0)


def runs(starts: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """``start, start + 1, ...`` of each run, one run after the other, int64."""
    before = np.cumsum(sizes) - sizes
    return np.repeat(starts - before, sizes) + np.arange(int(sizes.sum()))


class TokenizedDocuments:
    """Read access to a file of ``write_documents``, of which little is in memory.

    Attributes:
        ids, sentence_ends, document_ends, document_keys: as in the file.
        token_counts: (vocabulary,) int64.
        attributes: what ``write_documents`` was given.
        aligned: whether sentences are the lines of parallel text.
    """

    def __init__(self, path: str | os.PathLike[str]):
        self.path = Path(path)
        try:
            with h5py.File(path, "r") as source:
                file = open(path, "rb", buffering=0)  # noqa: SIM115
                columns = [Column(file, source[name]) for name in _FIELDS]
                self.token_counts = source["token_counts"][:]
                attributes = dict(source.attrs)
        except (OSError, KeyError) as error:
            raise UserError(f"{path}: not a file of tokenized documents") from error
        self.ids, self.sentence_ends, self.document_ends, self.document_keys = columns
        self.aligned = bool(attributes.pop("aligned"))
        self.attributes = {name: json.loads(v) for name, v in attributes.items()}

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
            starts, stops = self.sentence_ranges(some)
            sentences = np.cumsum(stops - starts)
            cuts = np.flatnonzero(np.diff(sentences // _SENTENCES_AT_ONCE)) + 1
            yield from np.split(some, cuts)

    def sentence_ranges(self, documents: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The first sentence of each document, and the first of the one after it."""
        return self.document_ends.before(documents), self.document_ends[documents]

    def sentence_lengths(
        self, documents: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Tokens of all sentences of some documents, one document after the other.

        Returns:
            lengths (sentences,), and of each document how many sentences it has
            (documents,) and where it begins in ``ids`` (documents,), all int64.
        """
        starts, stops = self.sentence_ranges(documents)
        counts = stops - starts
        ends = self.sentence_ends.pieces(starts, counts)
        begins = self.sentence_ends.before(starts)
        lengths = np.diff(ends, prepend=0)
        first = (np.cumsum(counts) - counts)[counts > 0]
        lengths[first] = ends[first] - begins[counts > 0]
        return lengths, counts, begins

    def token_counts_of(self, documents: np.ndarray) -> np.ndarray:
        """Tokens of each document, (documents,) int64."""
        starts, stops = self.sentence_ranges(documents)
        return self.sentence_ends[stops - 1] - self.sentence_ends.before(starts)
