"""Thai words: PyThaiNLP's maximal matching ("newmm"), with the same result in less time.

A word of the dictionary may start and end only at the border of two Thai character
clusters. From a place where the text before is settled, all words lead to further
places; as soon as all of them lead to one place, the way there with the fewest words is
taken. Where no word starts, the text up to the next possible word is one word.
Dictionary, clusters and patterns are PyThaiNLP's own.
"""

from bisect import insort

from pythainlp.tokenize import tcc_p, word_dict_trie
from pythainlp.tokenize._utils import _DIGITS_WITH_SEPARATOR, rejoin_formatted_num
from pythainlp.tokenize.newmm import (
    _MAX_GRAPH_SIZE,
    _PAT_NONTHAI,
    _PAT_THAI_TWOCHARS,
)
