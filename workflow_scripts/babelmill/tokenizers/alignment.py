"""Where the words of a line stand in it, though some were written anew."""

from collections.abc import Sequence

Span = tuple[int, int]


def word_spans(line: str, words: Sequence[str]) -> list[Span]:
    """Start and end of each word in a line, in characters.

    Moses writes some signs anew (a typographic quote as a plain one). Words that do not
    stand in the line share what lies between their neighbors that do.

    Args:
        words: all words of the line, one after another, blanks left out; upper and
            lower case are alike.
    """
    folded = "".join(map(_folded, line))
    words = ["".join(map(_folded, word)) for word in words]
    spans: list[Span] = []
    at = 0
    while len(spans) < len(words):
        at += len(folded[at:]) - len(folded[at:].lstrip())
        word = words[len(spans)]
        if folded.startswith(word, at):
            spans.append((at, at + len(word)))
        else:
            count, end = _next_found(folded, at, words[len(spans) :])
            spans += [(at, len(folded[:end].rstrip()))] * count
        at = max(at, spans[-1][1])
    return spans


def _next_found(line: str, at: int, words: Sequence[str]) -> tuple[int, int]:
    """How many words are lost from ``at`` on, and where the first found one starts."""
    length = 0
    for count, word in enumerate(words[1:], 1):
        length += len(words[count - 1])
        # What was written anew is not much longer or shorter than before.
        start = line.find(word, at, at + 2 * length + 4 + len(word))
        if start > at:
            return count, start
    return len(words), len(line)


def _folded(character: str) -> str:
    lower = character.lower()
    return lower if len(lower) == 1 else character
