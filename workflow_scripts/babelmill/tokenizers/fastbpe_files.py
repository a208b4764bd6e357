"""fastBPE's two text files: codes (merges) and vocabulary."""

import os
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from babelmill.errors import UserError
from babelmill.files import read_lines, write_text
from babelmill.tokenizers.bpe import END_OF_WORD, Merge

_CONTINUES = "@@"
PathLike = str | os.PathLike[str]


class Code(NamedTuple):
    """One line of a codes file: two pieces and how often they were merged."""

    first: str
    second: str
    count: int

    @property
    def merge(self) -> Merge:
        return self.first, self.second


def read_codes(path: PathLike) -> list[Code]:
    """Read ``first second count`` lines, best first; the count may be missing.

    Raises:
        UserError: a line is something else, merges what no line before it makes, or
            makes a piece again (fastBPE refuses that too), with its number.
    """
    codes: list[Code] = []
    made: set[str] = set()
    for number, line in enumerate(read_lines(path), 1):
        if not line or (number == 1 and line.startswith("#version")):
            continue
        fields = line.split(" ")
        if len(fields) == 2:
            # subword-nmt and some merges.txt have no counts.
            fields.append("1")
        if len(fields) != 3 or not all(fields) or not fields[2].isdecimal():
            raise UserError(
                f"{path}, line {number}: expected two pieces and a count, as fastBPE"
                f" writes codes, found {line[:80]!r}"
            )
        first, second, count = fields
        for part in (first, second):
            if part not in made and len(part.removesuffix(END_OF_WORD) or part) > 1:
                raise UserError(
                    f"{path}, line {number}: merges {part!r}, which no line before it"
                    " makes: these are not the codes of one BPE run, best first"
                )
        piece = first + second
        if piece in made:
            raise UserError(
                f"{path}, line {number}: makes {piece!r} again: fastBPE allows one"
                " merge for each piece"
            )
        made.add(piece)
        codes.append(Code(first, second, int(count)))
    if not codes:
        raise UserError(f"{path}: no codes in it")
    return codes


def write_codes(path: PathLike, codes: Iterable[Code]) -> None:
    """Write codes in fastBPE's format, which is Hugging Face's merges.txt too."""
    write_text(path, "".join(f"{a} {b} {count}\n" for a, b, count in codes))


def read_vocabulary(path: PathLike) -> dict[str, int]:
    """Read ``piece count`` lines into counts of pieces, in their order.

    In the file, pieces that do not end a word are marked ``@@``; here, those that do
    end with ``</w>``. As in XLM, white space is taken off the pieces; what is nothing
    but white space is left out, and so is what was there before.

    Raises:
        UserError: a line is something else, or a piece comes twice, with the line.
    """
    counts: dict[str, int] = {}
    for number, line in enumerate(read_lines(path), 1):
        raw, _, count = line.partition(" ")
        if not raw or not count.isdecimal():
            raise UserError(
                f"{path}, line {number}: expected a piece and a count, as fastBPE"
                f" writes vocabularies, found {line[:80]!r}"
            )
        piece = "".join(raw.split())
        name = piece.removesuffix(_CONTINUES)
        if name == piece:
            name += END_OF_WORD
        if piece and name not in counts:
            counts[name] = int(count)
        elif piece == raw:
            raise UserError(f"{path}, line {number}: {raw!r} comes a second time")
    if not counts:
        raise UserError(f"{path}: no pieces in it")
    return counts


def write_vocabulary(path: PathLike, counts: dict[str, int]) -> None:
    """Write counts of pieces in fastBPE's format, but no pieces of white space."""
    lines = []
    for piece, count in counts.items():
        name = piece.removesuffix(END_OF_WORD)
        if name == piece:
            name += _CONTINUES
        if not piece[:1].isspace():
            lines.append(f"{name} {count}\n")
    write_text(path, "".join(lines))


def check_fit(
    codes: Sequence[Code],
    pieces: Iterable[str],
    codes_path: PathLike,
    pieces_path: PathLike,
) -> None:
    """Refuse codes of which the vocabulary does not know most pieces that it could.

    Raises:
        UserError: with the first line of the codes that it does not know.
    """
    known = set(pieces)
    unknown = [i for i, c in enumerate(codes) if c.first + c.second not in known]
    if 2 * (len(codes) - len(unknown)) < min(len(codes), len(known)):
        first = codes[unknown[0]]
        raise UserError(
            f"{codes_path} does not fit {pieces_path}: {len(unknown)} of {len(codes)}"
            f" pieces are not in it, the first {first.first + first.second!r} of line"
            f" {unknown[0] + 1}: give the vocabulary that belongs to these codes"
        )
