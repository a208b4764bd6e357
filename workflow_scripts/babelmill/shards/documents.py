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
do.
"""

import hashlib
import json
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from babelmill.errors import UserError
from babelmill.files import whole_file

_FIELDS = ("ids", "sentence_ends", "document_ends", "document_keys")
_COPY_BLOCK = 1 << 20


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


def write_documents(
    path: str | os.PathLike[str],
    documents: Iterable[list[np.ndarray]],
    vocab_size: int,
    aligned: bool,
    attributes: dict[str, Any],
) -> int:
    """Write documents (each a list of sentences, each an array of ids) as they come.

    Returns:
        The number of tokens written.
    """
    ids_dtype = np.uint16 if vocab_size <= 1 << 16 else np.int32
    token_counts = np.zeros(vocab_size, np.int64)
    folder = Path(path).parent
    folder.mkdir(parents=True, exist_ok=True)
    ids, sentence_ends, document_ends, keys = (
        _Spool(str(folder), dtype) for dtype in (ids_dtype, "<i8", "<i8", "<u8")
    )
    for number, sentences in enumerate(documents):
        lengths = np.fromiter(map(len, sentences), np.int64, len(sentences))
        joined = np.concatenate(sentences)
        sentence_ends.append(ids.size + np.cumsum(lengths))
        ids.append(joined)
        document_ends.append(np.asarray([sentence_ends.size]))
        key = number if aligned else _content_key(joined)
        keys.append(np.asarray([key], np.uint64))
        token_counts += np.bincount(joined, minlength=vocab_size)
    with whole_file(path) as partial, h5py.File(partial, "w") as out:
        columns = (ids, sentence_ends, document_ends, keys)
        for name, column in zip(_FIELDS, columns, strict=True):
            column.copy_to(out, name)
        out["token_counts"] = token_counts
        out.attrs["aligned"] = aligned
        for name in sorted(attributes):
            out.attrs[name] = json.dumps(attributes[name], sort_keys=True)
    return ids.size


def _content_key(ids: np.ndarray) -> int:
    digest = hashlib.blake2b(ids.astype("<i4").tobytes(), digest_size=8).digest()
    return int.from_bytes(digest, "little")


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
        try:
            with h5py.File(path, "r") as source:
                columns = [_memory_map(path, source[name]) for name in _FIELDS]
                self.token_counts = source["token_counts"][:]
                attributes = dict(source.attrs)
        except (OSError, KeyError) as error:
            raise UserError(f"{path}: not a file of tokenized documents") from error
        self.ids, self.sentence_ends, self.document_ends, self.document_keys = columns
        self.aligned = bool(attributes.pop("aligned"))
        self.attributes = {name: json.loads(v) for name, v in attributes.items()}

    def __len__(self) -> int:
        return len(self.document_ends)

    def sentence_bounds(self, document: int) -> np.ndarray:
        """Where the sentences of a document begin and end in ``ids``.

        Empty lines of aligned text are no sentences.

        Returns:
            (sentences + 1,) int64, ascending.
        """
        start = int(self.document_ends[document - 1]) if document else 0
        first = self.sentence_ends[start - 1] if start else 0
        ends = self.sentence_ends[start : int(self.document_ends[document])]
        return np.unique(np.append(ends, first))

    def sentence(self, number: int) -> np.ndarray:
        """The ids of one sentence."""
        first = int(self.sentence_ends[number - 1]) if number else 0
        return self.ids[first : int(self.sentence_ends[number])]

    def document(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        """The ids of a document and the ends of its sentences, relative to them."""
        bounds = self.sentence_bounds(number)
        return self.ids[bounds[0] : bounds[-1]], bounds[1:] - bounds[0]

    def sentence_lengths(self) -> np.ndarray:
        """Tokens of every sentence, (sentences,) int64."""
        return np.diff(self.sentence_ends, prepend=0)


def _memory_map(path: str | os.PathLike[str], column: h5py.Dataset) -> np.ndarray:
    offset = column.id.get_offset()
    if offset is None:  # empty
        return column[:]
    return np.memmap(path, column.dtype, "r", offset, column.shape)
