"""What the tokens of a text stand for in it, and words that are split already."""

import numpy as np
import pytest

import head_samples
from babelmill.tokenizers import load_tokenizer
from babelmill.tokenizers.alignment import word_spans
from babelmill.tokenizers.folder import language_ids, write_bert, write_xlm
from babelmill.tokenizers.learning import WordCounts, learn_bpe
from babelmill.tokenizers.words import TextToWords

TEXTS = {
    "en": [
        "“Asha”, said John — and U.S. ships sailed… left. she",
        "Café IN  Berlin\u00a0(1,200)",
        "",
        "   ",
    ],
    "zh": ["猫坐在垫子上，猫在“哪里”？ 1990年"],
    "th": ["แมวนั่งบนเสื่อ ๆ ครับ"],
}
WORDS = [
    *("asha", "said", "john", "and", "ships", "sailed"),
    *("left", "she", "in", "berlin", "cafe"),
]


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bert") / "x"
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    write_bert(folder, [*special, *WORDS, *"“”,—.…()$", "ca", "##fe", "u", "s"], True)
    return load_tokenizer(folder)


@pytest.fixture(scope="module", params=["huggingface", "facebook", "paddlenlp"])
def xlm(tmp_path_factory, request):
    text_to_words = TextToWords(mode=request.param)
    counts = WordCounts()
    for lang, lines in TEXTS.items():
        counts.add(2 * list(text_to_words(lines, lang)))
    folder = tmp_path_factory.mktemp("xlm") / "x"
    write_xlm(folder, *learn_bpe(counts, 30, None), text_to_words, language_ids(TEXTS))
    return load_tokenizer(folder)


def test_wordpieces_stand_for_their_letters(bert):
    lines = TEXTS["en"]
    for line, plain, (ids, offsets) in zip(
        lines, bert.encode_lines(lines, "en"), bert.encode_with_offsets(lines, "en"),
        strict=True,
    ):  # fmt: skip
        assert ids.tolist() == plain.tolist()
        assert offsets.shape == (len(ids), 2)
        for token, (start, end) in zip(bert.tokens(ids), offsets, strict=True):
            if token != "[UNK]":
                text = line[start:end].lower().replace("é", "e")
                assert text == token.removeprefix("##")


@pytest.mark.parametrize("lang", TEXTS)
def test_tokens_of_an_xlm_stand_for_words(xlm, lang):
    lines = TEXTS[lang]
    for line, plain, (ids, offsets) in zip(
        lines, xlm.encode_lines(lines, lang), xlm.encode_with_offsets(lines, lang),
        strict=True,
    ):  # fmt: skip
        assert ids.tolist() == plain.tolist()
        covered = np.zeros(len(line), bool)
        for start, end in offsets:
            covered[start:end] = True
            assert line[start:end] == line[start:end].strip() != ""
        assert (np.diff(offsets[:, 0]) >= 0).all()
        # Thai's repetition mark and blanks aside, nothing is lost.
        lost = {c for c, seen in zip(line, covered, strict=True) if not seen}
        assert not {c for c in lost if not c.isspace()}


@pytest.mark.parametrize(
    ("line", "words", "expected"),
    [
        ("a  bc.", ["a", "bc", "."], ["a", "bc", "."]),
        # A quote that Moses writes as two signs.
        ("„x“", ['"', "x", '"'], ["„", "x", "“"]),
        ("a…b", ["a", ".", ".", ".", "b"], ["a", "…", "…", "…", "b"]),
        ("İx y", ["i̇x", "y"], ["İx", "y"]),
        # A word that comes again far off is not taken for the lost one.
        ("—a b c d e f g -", ["-", "a", "b", "c", "d", "e", "f", "g", "-"],
         ["—", "a", "b", "c", "d", "e", "f", "g", "-"]),
        ("x", ["y", "z"], ["x", "x"]),
    ],
)  # fmt: skip
def test_words_are_found_in_their_line(line, words, expected):
    assert [line[a:b] for a, b in word_spans(line, words)] == expected


def test_words_that_are_split_already_stay_whole(xlm, bert):
    words = ["u.s.", "left.", "in"]
    found = [xlm.tokens(ids) for ids in xlm.encode_words(words, "en")]
    assert ["".join(pieces) for pieces in found] == [f"{word}</w>" for word in words]
    # Moses would part the period.
    assert xlm.tokens(xlm.encode_lines(["left."], "en")[0])[-1] == ".</w>"
    (ids,) = bert.encode_words(["Café"], "en")
    assert bert.tokens(ids) == ["cafe"]


def test_a_published_tokenizer_has_offsets(tmp_path):
    """Any tokenizer.json."""
    head_samples.write_tokenizer(tmp_path / "x", "bert")
    library = load_tokenizer(tmp_path / "x")._library
    library.save(str(tmp_path / "tokenizer.json"))
    tokenizer = load_tokenizer(tmp_path)
    assert tokenizer.type == "fast"
    line = "John sleeps, Asha sleeps"
    ((ids, offsets),) = tokenizer.encode_with_offsets([line], "en")
    words = [line[start:end].lower() for start, end in offsets]
    assert words == tokenizer.tokens(ids) == ["john", "sleeps", ",", "asha", "sleeps"]
