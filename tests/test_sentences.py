"""Running paragraphs become sentences, by hand-made examples and on real text."""

import random

import pytest

from babelmill.languages import XNLI_LANGUAGES
from babelmill.sentences import SentenceSplitter

PARAGRAPHS = {
    "en": [
        "Dr. Smith of the U.S. Navy paid J. Doe $3.5.",
        "“Why?” she asked.",
        "See No. 5.",
        "No.",
        "Wait... what?!",
        "(It is.)",
    ],
    "fr": ["M. Dupont est là.", "« Où ? » dit-il.", "C’est fini !"],
    "es": ["La Sra. López llegó.", "¿Quién es?", "«No sé», dijo."],
    "de": ["Am 3. Oktober kam Dr. Maier, d. h. er flog.", "„Gut.“", "Ende!"],
    "el": ["Ο κ. Νίκος ήρθε.", "Πότε;", "Χθες."],
    "bg": ["Това е градът.", "Кой дойде?", "Никой!"],
    "ru": ["Это ул. Мира.", "Кто там?", "«Я», — сказал он."],
    "tr": ["Bugün hava güzel.", "Nereye gidiyorsun?", "İşte!"],
    "ar": ["ذهب الولد إلى المدرسة.", "أين هو؟", "هنا!"],
    "vi": ["Hôm nay trời đẹp.", "Bạn đi đâu?", "Đi chợ."],
    "hi": ["वह डॉट.कॉम पर गया।", "क्या हुआ?", "कुछ नहीं।"],
    "sw": ["Leo ni siku njema.", "Unaenda wapi?", "Sokoni."],
    "ur": ["وہ گھر گیا۔", "کیا ہوا؟", "کچھ نہیں۔"],
    # Languages without a list of abbreviations; Georgian has no capitals in use.
    "so": ["Dr. Cali waa yimid.", "Xaggee?", "Halkan."],
    "ka": ["ის მოვიდა.", "ვინ?", "არავინ."],
}
WITHOUT_BLANKS = {
    "zh": ["他说：“我走了。”", "“去哪里？”", "《书》很好！", "价格是3.5元。"],
    "ja": ["彼は来た。", "「待って！」", "本当？", "はい。"],
}


def split(lang, paragraph):
    return list(SentenceSplitter(lang).split(paragraph))


@pytest.mark.parametrize("lang", PARAGRAPHS)
def test_sentences_of_a_paragraph(lang):
    assert split(lang, " ".join(PARAGRAPHS[lang])) == PARAGRAPHS[lang]


@pytest.mark.parametrize("lang", WITHOUT_BLANKS)
def test_sentences_without_blanks_between_them(lang):
    assert split(lang, "".join(WITHOUT_BLANKS[lang])) == WITHOUT_BLANKS[lang]


def test_a_language_without_rules_keeps_its_lines_and_says_so():
    line = "วันนี้อากาศดี ไปไหนมา? ไปตลาด."
    assert split("th", line) == [line]
    assert "no rules for Thai" in SentenceSplitter("th").rules


@pytest.mark.parametrize(
    "lang, rules",
    [
        ("de", "Unicode's rules and Moses' abbreviations of de"),
        ("so", "Unicode's rules and Moses' abbreviations of en (it has none of so)"),
    ],
)
def test_rules_are_named(lang, rules):
    assert SentenceSplitter(lang).rules == rules


@pytest.mark.parametrize("lang", ["en", "zh", "th", "so"])
def test_no_character_is_lost(lang):
    rng = random.Random(lang)
    for _ in range(300):
        paragraph = "".join(rng.choices("aB1 .?!…。！「」“”\"'(—é्😀", k=30)).strip()
        sentences = split(lang, paragraph)
        assert "".join(sentences).replace(" ", "") == paragraph.replace(" ", "")
        assert all(s and s == s.strip() for s in sentences)


@pytest.mark.parametrize("lang", sorted({*XNLI_LANGUAGES} - {"th"}))
def test_sentences_of_real_text(test_data, lang):
    """Ends of the lines of NTREX, of which nearly all are one sentence."""
    text = test_data("data", "ntrex", f"{lang}.txt").read_text("utf-8")
    lines = [" ".join(line.split()) for line in text.splitlines()]
    marks = tuple(".!?。！？؟۔।…")
    lines = [line for line in lines if line.rstrip("\"'”’»“").endswith(marks)]
    blank = "" if lang == "zh" else " "
    wanted, found = ends(lines), ends(split(lang, blank.join(lines)))
    assert len(wanted & found) / len(wanted) > 0.97
    assert len(wanted & found) / len(found) > 0.89


def ends(sentences):
    """Where sentences end, in characters that are not blank."""
    lengths = [len("".join(sentence.split())) for sentence in sentences]
    return {sum(lengths[: i + 1]) for i in range(len(lengths))}
