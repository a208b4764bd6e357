"""The XLM tokenizer against by-hand results and the libraries that define it."""

import json
import pickle
import random
import re
import unicodedata
from itertools import pairwise

import numpy as np
import pytest

from babelmill.languages import XNLI_LANGUAGES
from babelmill.tokenizers import load_tokenizer
from babelmill.tokenizers.bpe import BytePairEncoding
from babelmill.tokenizers.fastbpe_files import read_codes
from babelmill.tokenizers.folder import load_xlm
from babelmill.tokenizers.words import TextToWords
from babelmill.tokenizers.xlm import SPECIALS

LANGUAGES = sorted(XNLI_LANGUAGES)

ODD_LINES = [
    "",
    "   ",
    " \u00a0 ",
    "\u200b",
    "...",
    "…. .. .",
    "\"'``''",
    "“quoted” ‘text’ «a» «\u00a0b\u00a0» „c“",
    "https://www.example.org/a/b_c-d.html?x=1&y=2#z me@host.co.uk",
    "😀😃 👍🏽 👨‍👩‍👧 ok",
    "a\x01b\x02\x7f\x85c\x0bd\x1ce\tf\rg",
    "a\u00adb\u200bc\ufeffd\u2028e",
    "x" * 2000,
    "Hello мир 世界 ไทย हिन्दी مرحبا γειά",
    "U.S.A. e.g. Mr. Dr. No. 5 No. Five z.B. bzw. p. 12 Left.She",
    "He left. she stayed. He left. She stayed.",
    "3,000 a,b 5, 6 ,7 5,, x",
    "don't l'eau d'un O'Neil '90s rock'n'roll a' 'b .'",
    "İSTANBUL ı I ΣΊΣΥΦΟΣ ΟΔΟΣ ẞ ﬁ",
    "１２３ ＡＢＣ ｶﾀｶﾅ。次、（全角）",
    "5 % 10% 5\u00a0% nº\u00a05 20\u00a0ºC 3\u00a0cm 1\u00a0000 2\u00a0!",
    'he said "hi", and "bye." Then "a."b <d ."\u00a0< ,"',
    "( b ) ) . ) ;a ( x) –—―- a–b",
    "<s> a<special1>b </s> <S> <special10>",
    "@@ a@@ &amp; DOTMULTI aDOTDOTMULTI a.b..c...d",
    "อยู่ ๆ ก็ เด็กๆ 12.5 1,234 อ.จ. ฟฟฟกกก์์์ ะะ",
    "中国C-SPAN 2.5亿 40% A+B 中文english混合123",
    "नमस्ते। क्या हाल है? १२३ السلام، عليكم؟ ٪١٢",
    "𝒳𝓎 𠀀𠀁 🇩🇪 e\u0301 \u0301a ½ ² º",
]


def write_tiny(folder, merges, pieces, **config):
    """A tokenizer folder with ids 14, 15… for the pieces."""
    folder.mkdir(exist_ok=True)
    vocab = {name: i for i, name in enumerate([*SPECIALS, *pieces])}
    (folder / "vocab.json").write_text(json.dumps(vocab), "utf-8")
    (folder / "merges.txt").write_text("".join(f"{m} 1\n" for m in merges), "utf-8")
    (folder / "tokenizer_config.json").write_text(json.dumps(config), "utf-8")
    return folder


@pytest.fixture
def tiny(tmp_path):
    """A function that loads a tokenizer of four merges with settings."""

    def load(**config):
        pieces = ["l", "o", "lo", "w</w>", "low</w>", "r", ".</w>"]
        merges = ["l o", "e r</w>", "lo w</w>", "e r"]
        return load_tokenizer(write_tiny(tmp_path / "tiny", merges, pieces, **config))

    return load


def test_pieces_and_ids_by_hand(tiny):
    tokenizer = tiny(lang2id={"en": 0})
    assert tokenizer.tokenize("Low lower.", "en") == [
        *("low</w>",),
        *("lo", "w", "er</w>"),
        ".</w>",
    ]
    (ids,) = tokenizer.encode_lines(["Low lower."], "en")
    assert ids.tolist() == [18, 16, 3, 3, 20]
    assert ids.dtype == "int32"
    assert tokenizer.tokens([18, 20]) == ["low</w>", ".</w>"]
    assert tokenizer.decode([0, 18, 16, 17, 20, 1]) == "low low ."
    assert tokenizer.vocab_size == 14 + 7
    assert tokenizer.special_ids.tolist() == list(range(14))


def test_ids_of_special_tokens(tiny):
    tokenizer = tiny()
    names = ("bos", "eos", "pad", "unk", "mask")
    assert [getattr(tokenizer, f"{name}_id") for name in names] == [0, 1, 2, 3, 5]


@pytest.mark.parametrize(
    ("mode", "first"), [("huggingface", 0), ("paddlenlp", 0), ("facebook", 1)]
)
def test_special_tokens_around(tiny, mode, first):
    tokenizer = tiny(mode=mode)
    assert tokenizer.build_inputs([20, 21]) == ([first, 20, 21, 1], [0, 0, 0, 0])
    ids, segments = tokenizer.build_inputs([20], [21])
    assert ids == [first, 20, 1, 21, 1]
    assert segments == [0, 0, 0, 1, 1]
    assert (tokenizer.cls_id, tokenizer.sep_id) == (first, 1)


def test_facebook_splits_unknown_pieces_back(tiny):
    # er</w> is not in the vocabulary, so neither would "e r</w>" be merged there.
    assert tiny(mode="facebook").tokenize("lower", "en") == ["lo", "w", "e", "r</w>"]
    assert tiny(mode="huggingface").tokenize("lower", "en") == ["lo", "w", "er</w>"]


@pytest.mark.parametrize(
    ("mode", "words"),
    [
        ("huggingface", ["he", "left", ".", "she", "stayed", "."]),
        ("facebook", ["he", "left", ".", "she", "stayed", "."]),
        # Before a lower-case word, Moses takes the period for an abbreviation's.
        ("paddlenlp", ["he", "left.", "she", "stayed", "."]),
    ],
)
def test_lower_casing_before_or_after_moses(mode, words):
    assert list(TextToWords(mode)(["He left. She stayed."], "en")) == words


def test_special_tokens_in_text(tiny):
    line = "low<special1> </s>low"
    ids = tiny().encode_lines([line], "en")[0].tolist()
    assert ids == [18, 5, 1, 18]
    facebook = tiny(mode="facebook").encode_lines([line], "en")[0].tolist()
    assert 5 not in facebook and 1 not in facebook


def test_bypass_leaves_words_alone(tiny):
    tokenizer = tiny(bypass_tokenizer=True)
    assert tokenizer.tokenize("Low low, \n low", "en") == [
        *("L", "o", "w</w>"),
        *("lo", "w", ",</w>"),
        "low</w>",
    ]


def test_keeping_case_and_accents():
    keep = TextToWords(do_lowercase_and_remove_accent=False)
    strip = TextToWords()
    assert list(keep(["Él viví."], "es")) == ["Él", "viví", "."]
    assert list(strip(["Él viví."], "es")) == ["el", "vivi", "."]
    # A capital sigma at the end of a word; non-spacing marks that belong to letters.
    assert list(strip(["ΟΔΟΣ Й हिन्दी"], "el")) == ["οδος", "и", "हिनदी"]


def test_blanks_and_caches_change_nothing(tiny):
    lines = ["low. Low", "", "lower", "low, low", " "]
    tokenizer = tiny()
    first = [ids.tolist() for ids in tokenizer.encode_lines(lines, "en")]
    again = [ids.tolist() for ids in tokenizer.encode_lines(lines[::-1], "en")]
    assert again[::-1] == first
    assert [len(ids) == 0 for ids in first] == [False, True, False, False, True]
    one_by_one = [tiny().encode_lines([line], "en")[0].tolist() for line in lines]
    assert one_by_one == first


def test_words_begin_after_an_end_of_word(tiny):
    tokenizer = tiny()
    pieces = ["<s>", "low", "er</w>", "low</w>", "o", "w</w>", "</s>", "l"]
    ids = np.asarray([[tokenizer._id_of.get(p, tokenizer.unk_id) for p in pieces]])
    known = [piece in tokenizer._id_of for piece in pieces]
    assert sum(known) >= 6
    starts = tokenizer.word_starts(ids)[0].tolist()
    for at in range(1, len(pieces)):
        before = tokenizer.tokens(ids[0])[at - 1]
        whole = before.endswith("</w>") or before in ("<s>", "</s>", "<unk>")
        assert starts[at] == whole
    assert starts[0]


def test_full_caches_are_emptied(tiny, monkeypatch):
    monkeypatch.setattr("babelmill.tokenizers.cache._BYTES", 500)
    monkeypatch.setattr("babelmill.tokenizers.xlm._LINES_AT_ONCE", 1)
    lines = ["low lower", "o w l", "low low", "r ."]
    bounded = [ids.tolist() for ids in tiny().encode_lines(lines, "en")]
    monkeypatch.undo()
    assert bounded == [ids.tolist() for ids in tiny().encode_lines(lines, "en")]


def test_a_line_feed_is_white_space(tiny):
    one, other = tiny().encode_lines(["low\nlow", "low low"], "en")
    # Moses removes control characters, so the two words become one.
    assert one.tolist() == tiny().encode_lines(["lowlow"], "en")[0].tolist()
    assert other.tolist() == [18, 18]


def test_pickles(tiny):
    tokenizer = pickle.loads(pickle.dumps(tiny()))
    assert tokenizer.encode_lines(["low"], "en")[0].tolist() == [18]


# Byte-pair encoding


def apply_by_definition(word, merges):
    """All pairs of the best rank, left to right; then the next best."""
    pieces = [*word[:-1], word[-1] + "</w>"]
    while pairs := set(pairwise(pieces)) & set(merges):
        best = min(pairs, key=merges.index)
        joined = []
        for piece in pieces:
            if joined and (joined[-1], piece) == best:
                joined[-1] += piece + "\0"
            else:
                joined.append(piece)
        pieces = [piece.replace("\0", "") for piece in joined]
    return pieces


def test_merges_as_by_definition():
    merges = [
        *[("a", "a"), ("aa", "a"), ("b", "a"), ("a", "b</w>"), ("ba", "ba")],
        *[("aa", "b"), ("a", "b"), ("ab", "ab"), ("b", "b</w>"), ("aaa", "ba")],
    ]
    bpe = BytePairEncoding(merges)
    rng = random.Random(1)
    words = ["".join(rng.choices("abc", k=rng.randint(1, 12))) for _ in range(2000)]
    for word in words:
        assert bpe.split(word) == apply_by_definition(word, merges), word


@pytest.mark.parametrize("name", ["bpe", "bpev"])
@pytest.mark.parametrize("lang", ["ar", "de", "en", "fr", "ru", "th", "ur", "zh"])
def test_splits_as_fastbpe(test_data, name, lang):
    data = test_data("data", "xlm_xnli15_bpe")
    merges = [code.merge for code in read_codes(data / "codes_xnli_15")]
    known = None
    if name == "bpev":
        lines = (data / "vocab_xnli_15").read_bytes().decode().split("\n")[:-1]
        names = [line.split(" ")[0] for line in lines]
        known = {n[:-2] if n.endswith("@@") else n + "</w>" for n in names}
    bpe = BytePairEncoding(merges, known=known)
    text = test_data("golden", "fastbpe", f"{lang}.in").read_text("utf-8")
    wanted = test_data("golden", "fastbpe", f"{lang}.{name}").read_text("utf-8")
    for line, split in zip(text.split("\n"), wanted.split("\n"), strict=True):
        pieces = [
            piece for word in line.split(" ") if word for piece in bpe.split(word)
        ]
        marked = " ".join(f"{piece}@@" for piece in pieces).replace("</w>@@", "")
        assert marked == split


# Words


def sacremoses_words(line, normalizer, tokenizer):
    """The words of a line by sacremoses, one step after another."""
    for pattern, replacement in normalizer.REPLACE_UNICODE_PUNCTUATION:
        line = re.sub(pattern, replacement, line)
    line = normalizer.normalize(line)
    line = "".join(c for c in line if unicodedata.category(c)[0] != "C")
    return tokenizer.tokenize(line, return_str=False, escape=False)


def random_lines(seed, parts, number, length):
    rng = random.Random(seed)
    return [
        "".join(rng.choices(parts, k=rng.randint(0, length))) for _ in range(number)
    ]


@pytest.mark.parametrize("lang", ["ar", "de", "en", "es", "fr", "hi", "ru"])
def test_moses_as_sacremoses(lang):
    from sacremoses import MosesPunctNormalizer, MosesTokenizer

    from babelmill.tokenizers.moses import Moses

    words = [
        "a",
        "He",
        "left",
        "d'un",
        "n't",
        "Mr",
        "No",
        "z.B",
        "5,3",
        "12",
        "cm",
        "ºC",
    ]
    words += ["nº", "s", "हिन्दी", "мир", "Σ", "字", "ไทย", "DOT", "DOTMULTI"]
    marks = "\u00a0%:?!;,.'\"`´‘’‚«»„“”–—()[]<>-+@#&/|_…\u200b\u3000\u0301。，１ｶ"
    parts = [*words, *marks, *" " * 20, "...", ". ", ".'"]
    lines = [*random_lines(2, parts, 1000, 14), *ODD_LINES]
    theirs = MosesPunctNormalizer(lang=lang), MosesTokenizer(lang=lang)
    wanted = [sacremoses_words(line, *theirs) for line in lines]
    moses = Moses(lang)
    assert moses.words(lines) == wanted
    segments = [moses.segments(line) for line in lines]
    parted = [moses.words(pieces) for pieces in segments]
    assert [[w for words in line for w in words] for line in parted] == wanted


def test_thai_as_pythainlp():
    from pythainlp.corpus import thai_words
    from pythainlp.tokenize import word_tokenize

    from babelmill.tokenizers.thai import cut

    words = random.Random(3).sample(sorted(thai_words()), 300)
    parts = [*words, *"กดมรนาะิ์เแๆ", " ", " ", "ๆ ", "abc", "1,234.5", "12:30", "😀"]
    lines = [*random_lines(4, parts, 1500, 20), "ก" * 300, *ODD_LINES]
    assert [cut(line) for line in lines] == [word_tokenize(line) for line in lines]


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_chinese_as_jieba():
    import jieba

    from babelmill.tokenizers.segmentation import segmenter

    parts = [
        *"的一是不了人我在有他这中大来上个国到说们为子和你地出道也时年",
        *(
            "中国",
            "北京大学",
            "研究生",
            "结婚的",
            "abc",
            "12",
            "，",
            "。",
            " ",
            "-",
            "%",
        ),
        *("C-SPAN", "2.5", "䴕", "龘", "𠀀"),
    ]
    lines = random_lines(5, parts, 1500, 20)
    words = segmenter("zh", None, exact_jieba=True).words(lines)
    for line, found in zip(lines, words, strict=True):
        # The only punctuation that is replaced, and jieba's words.
        cut = " ".join(jieba.cut(line)).replace("，", ",").replace("。", ".")
        assert found == re.sub(r"(\d) %", r"\1%", re.sub(" +", " ", cut)).split(), line


# Whole lines


def test_ids_as_transformers(test_data):
    """huggingface mode on pairs of all languages, as transformers encode them."""
    tokenizer = load_tokenizer(test_data("data", "xlm_xnli15_bpe", "hf_format"))
    golden = test_data("golden", "xlm_tokens.jsonl").read_text("utf-8")
    rows = [json.loads(line) for line in golden.splitlines()]
    assert {row["lang"] for row in rows} == set(LANGUAGES)
    for lang in LANGUAGES:
        of_lang = [row for row in rows if row["lang"] == lang]
        a = tokenizer.encode_lines([row["text"] for row in of_lang], lang)
        b = tokenizer.encode_lines([row["text_pair"] for row in of_lang], lang)
        for row, first, second in zip(of_lang, a, b, strict=True):
            assert tokenizer.build_inputs(first, second)[0] == row["input_ids"]
            assert tokenizer.tokenize(row["text"], lang) == row["tokens"]
            assert tokenizer.tokenize(row["text_pair"], lang) == row["tokens_pair"]


@pytest.fixture(scope="module")
def paddlenlp_folder(test_data, tmp_path_factory):
    """The official vocabulary in a folder that PaddleNLP may write to."""
    source = test_data("data", "xlm_xnli15_bpe", "hf_format")
    folder = tmp_path_factory.mktemp("xnli15")
    for name in ("vocab.json", "merges.txt"):
        (folder / name).write_bytes((source / name).read_bytes())
    return folder


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "settings",
    [{}, {"do_lowercase_and_remove_accent": False}, {"bypass_tokenizer": True}],
)
def test_ids_as_paddlenlp(test_data, paddlenlp_folder, settings, paddlenlp):
    """paddlenlp mode on news and odd lines of all languages."""
    from paddlenlp.transformers import XLMTokenizer

    keep = {k: v for k, v in settings.items() if k != "bypass_tokenizer"}
    theirs = XLMTokenizer.from_pretrained(str(paddlenlp_folder), **keep)
    ours = load_xlm(paddlenlp_folder, {"mode": "paddlenlp", **settings})
    bypass = settings.get("bypass_tokenizer", False)
    for lang in LANGUAGES:
        news = test_data("data", "ntrex", f"{lang}.txt").read_text("utf-8")
        lines = news.split("\n")[:100] + ODD_LINES
        for line, ids in zip(lines, ours.encode_lines(lines, lang), strict=True):
            pieces = theirs.tokenize(line, lang=lang, bypass_tokenizer=bypass)
            assert ids.tolist() == theirs.convert_tokens_to_ids(pieces), (lang, line)
