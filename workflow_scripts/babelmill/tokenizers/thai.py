"""Thai words: PyThaiNLP's maximal matching ("newmm"), the same words in less time.

A dictionary word may start and end only between two Thai character clusters. From where
the text is settled, dictionary words lead to further places; as soon as all ways lead
to one place, the way there of the fewest words is taken. Where no word starts, the text
up to the next likely start is one word. Dictionary, clusters and patterns are
PyThaiNLP's own.
"""

import functools
import gc
import re
from bisect import insort
from itertools import accumulate

from pythainlp.corpus import thai_words
from pythainlp.tokenize import newmm, tcc_p
from pythainlp.tokenize._utils import _DIGITS_WITH_SEPARATOR, rejoin_formatted_num

_IS_WORD = ""
# No groups, so that findall gives the clusters.
_CLUSTER = re.compile(
    re.sub(r"\((?!\?)", "(?:", tcc_p._PAT_TCC.pattern) + "|.", re.DOTALL
)


@functools.cache
def _dictionary() -> dict:
    """A tree of characters; a node where a word may end has the key ``_IS_WORD``."""
    root: dict = {}
    for word in thai_words():
        node = root
        for character in word.strip():
            node = node.setdefault(character, {})
        node[_IS_WORD] = None
    # It stays: spare the garbage collector its 235,000 nodes in every later pass.
    gc.freeze()
    return root


def cut(text: str) -> list[str]:
    """The words of a text, blanks included, as ``pythainlp.word_tokenize`` cuts it."""
    if not text:
        return []
    dictionary, is_word = _dictionary(), _IS_WORD
    borders = set(accumulate(map(len, _CLUSTER.findall(text))))

    def word_ends(start: int) -> list[int]:
        ends, end, node = [], start, dictionary
        for character in text[start:]:
            node = node.get(character)
            if node is None:
                break
            end += 1
            if is_word in node and end in borders:
                ends.append(end)
        return ends

    words: list[str] = []
    settled = 0
    while settled < len(text):
        ends = word_ends(settled)
        if len(ends) > 1:
            way = _fewest_words(settled, ends, word_ends)
        elif ends:
            way = ends
        else:
            way = [_end_of_unknown(text, settled, borders, word_ends)]
        for end in way:
            words.append(text[settled:end])
            settled = end
    if _DIGITS_WITH_SEPARATOR.search(text):
        words = rejoin_formatted_num(words)
    return words


def _fewest_words(start: int, ends: list[int], word_ends) -> list[int]:
    """Ends of the words to where all ways meet, by the first of the shortest ways."""
    limit = newmm._MAX_GRAPH_SIZE
    ways = {start: ends[: limit + 1]}
    reached = ways[start].copy()
    steps = len(reached)
    while len(reached) > 1:
        place = reached.pop(0)
        ends = word_ends(place)
        if steps + len(ends) > limit:
            # PyThaiNLP then follows only the shortest word of each place.
            ends = ends[: max(limit + 1 - steps, 1)]
        steps += len(ends)
        ways[place] = ends
        for end in ends:
            if end not in reached:
                insort(reached, end)
    (goal,) = reached
    came_from: dict[int, int] = {}
    queue = [start]
    for place in queue:
        ends = ways.get(place, [])
        if goal in ends:
            break
        for end in ends:
            if end not in came_from:
                came_from[end] = place
                queue.append(end)
    way = [goal]
    while place != start:
        way.append(place)
        place = came_from[place]
    return way[::-1]


def _end_of_unknown(text: str, start: int, borders: set[int], word_ends) -> int:
    """Where a word ends that is not in the dictionary."""
    if foreign := newmm._PAT_NONTHAI.match(text, start):
        return foreign.end()
    for place in range(start + 1, len(text)):
        if place in borders and (
            newmm._PAT_NONTHAI.match(text, place)
            or any(
                not newmm._PAT_THAI_TWOCHARS.match(text[place:end])
                for end in word_ends(place)
            )
        ):
            return place
    return len(text)
