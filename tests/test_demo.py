"""The demo: its sentences are well formed and its labels follow from the facts."""

import os
import re
import subprocess
import sys
import unicodedata
from collections import Counter
from dataclasses import replace
from functools import cache
from itertools import islice, product
from pathlib import Path

import pytest
import yaml

from babelmill import demo
from babelmill.demo import Fact, Sentence
from babelmill.errors import UserError
from babelmill.randomness import stream

ROOT = Path(__file__).resolve().parents[1]
LEXICONS = ROOT / "resources" / "demo"
LANGUAGES = [
    *("ar", "bg", "de", "el", "en", "es", "fr", "hi"),
    *("ru", "sw", "th", "tr", "ur", "vi", "zh"),
]
SPLITS = ("train", "dev", "test")


def make_demo(folder: Path, *flags: str, hash_seed: str = "0"):
    """Run the script as a user does."""
    script = ROOT / "workflow_scripts" / "make_demo.py"
    return subprocess.run(
        [sys.executable, script, "--output_dir", folder, *flags],
        env=os.environ | {"PYTHONHASHSEED": hash_seed},
        capture_output=True,
        text=True,
    )


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


SMALL = "--documents 60 --parallel_lines 100 --train_pairs 3000 --eval_pairs 300"


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("demo")
    done = make_demo(path, "--seed", "1", *SMALL.split())
    assert done.returncode == 0, done.stderr
    return path


@pytest.fixture(scope="module")
def lexicons() -> dict[str, demo.Lexicon]:
    return demo.read_lexicons(LEXICONS)


@pytest.fixture(scope="module")
def pairs() -> dict[str, list[demo.Pair]]:
    return {
        split: demo.nli_pairs(stream(7, split), split, count)
        for split, count in (("train", 3000), ("dev", 450), ("test", 450))
    }


# Labels. By definition a statement is the set of the worlds in which it is true, and
# a premise entails a hypothesis when each of its worlds is one of the hypothesis's.


@cache
def worlds(fact: Fact) -> frozenset[tuple[str, str, str]]:
    return frozenset(
        (action, place, time)
        for (activity, actions), (setting, places), time in product(
            demo.ACTIONS_OF.items(), demo.PLACES_OF.items(), demo.TIMES
        )
        for action, place in product(actions, places)
        if fact.what in (None, action, activity)
        and fact.where in (None, place, setting)
        and fact.when in (None, time)
    )


def label(premise: Fact, hypothesis: Fact) -> str:
    if worlds(premise) <= worlds(hypothesis):
        return "entailment"
    if worlds(premise).isdisjoint(worlds(hypothesis)):
        return "contradiction"
    return "neutral"


def stated(fact: Fact) -> list[str]:
    return [part for part in (fact.what, fact.where, fact.when) if part]


def test_the_definition_of_labels_on_facts_judged_by_hand():
    reads_inside = Fact("teacher", what="book", where="indoors")
    for hypothesis, expected in (
        (Fact("teacher", what="reading"), "entailment"),
        (Fact("teacher", what="newspaper"), "contradiction"),
        (Fact("teacher", where="library"), "neutral"),
        (Fact("teacher", where="garden"), "contradiction"),
        (Fact("teacher", when="noon"), "neutral"),
    ):
        assert label(reads_inside, hypothesis) == expected


@pytest.mark.parametrize("split", SPLITS)
def test_labels_follow_from_the_facts(pairs, split):
    for pair in pairs[split]:
        premise, hypothesis = pair.premise.fact, pair.hypothesis.fact
        assert pair.label == label(premise, hypothesis), pair
        assert premise.person == hypothesis.person
        assert len(stated(premise)) >= 2
        assert len(stated(hypothesis)) == 1


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("count", [3, 33, 300])
def test_labels_are_balanced_in_all_and_within_each_kind(split, count):
    made = demo.nli_pairs(stream(3), split, count)
    assert set(Counter(pair.label for pair in made).values()) == {count // 3}
    cells = Counter((pair.kind, pair.label) for pair in made)
    numbers = [cells[cell] for cell in product(demo.KINDS, demo.LABELS)]
    assert max(numbers) - min(numbers) <= 1


def test_phrasebook_says_what_the_sentences_say(lexicons):
    assert lexicons["en"].phrases()[:2] == ["the teacher", "the farmer"]
    for language, phrase in {
        "de": "spielt Gitarre",
        "hi": "गिटार बजाता है",
        "tr": "gitar çalıyor",
        "zh": "弹吉他",
    }.items():
        assert phrase in lexicons[language].phrases()
    assert len({len(lexicon.phrases()) for lexicon in lexicons.values()}) == 1
    order = demo.phrasebook_order(stream(1), phrases=42, rounds=3)
    assert sorted(order) == sorted([*range(42)] * 3)


def test_splits_share_no_person(pairs):
    persons = {
        split: {pair.premise.fact.person for pair in made}
        for split, made in pairs.items()
    }
    assert [len(persons[split]) for split in SPLITS] == [8, 2, 2]
    assert len(set.union(*persons.values())) == 12


def test_no_action_meets_a_place_both_in_test_and_elsewhere(pairs):
    def met(split: str) -> set[tuple[str, str]]:
        facts = [pair.premise.fact for pair in pairs[split]]
        return {
            (fact.what, fact.where)
            for fact in facts
            if fact.what in demo.ACTIONS and fact.where in demo.PLACES
        }

    assert len(met("test")) == 12 * 2
    assert met("test").isdisjoint(met("train") | met("dev"))


def read_pairs(path: Path) -> list[list[str]]:
    header, *rows = path.read_text(encoding="utf-8").removesuffix("\n").split("\n")
    assert header == "premise\thypothesis\tlabel"
    return [row.split("\t") for row in rows]


def accuracy(model, features, train: list, test: list) -> float:
    model.fit([features(row) for row in train], [row[2] for row in train])
    return model.score([features(row) for row in test], [row[2] for row in test])


def test_a_hypothesis_alone_says_nothing_and_a_pair_says_all(folder):
    from sklearn.feature_extraction import DictVectorizer
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline, make_union

    train = read_pairs(folder / "nli" / "train.en.tsv")
    test = read_pairs(folder / "nli" / "test.en.tsv")
    n_grams = make_union(
        TfidfVectorizer(ngram_range=(1, 2)),
        TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 5)),
    )
    alone = make_pipeline(n_grams, LogisticRegression(max_iter=1000))
    assert accuracy(alone, lambda row: row[1], train, test) < 0.45

    def word_pairs(row: list[str]) -> dict[str, bool]:
        words = (re.findall(r"\w+", text.lower()) for text in row[:2])
        return {" ".join(pair): True for pair in product(*words)}

    together = make_pipeline(DictVectorizer(), LogisticRegression(C=10, max_iter=1000))
    assert accuracy(together, word_pairs, train, test) > 0.9


# Sentences.


def test_sentences_written_by_hand(lexicons):
    def said(language: str, variant: int = 0, **parts) -> str:
        pronoun = parts.pop("pronoun", False)
        fact = Fact(parts.pop("person", "teacher"), **parts)
        return lexicons[language].render(Sentence(fact, variant, pronoun=pronoun))

    whole = {"what": "book", "where": "library", "when": "evening"}
    for language, sentence in {
        "ar": "يقرأ المعلم كتابًا في المكتبة في المساء.",
        "bg": "Учителят чете книга в библиотеката вечерта.",
        "de": "Der Lehrer liest am Abend in der Bibliothek ein Buch.",
        "el": "Ο δάσκαλος διαβάζει ένα βιβλίο στη βιβλιοθήκη το βράδυ.",
        "en": "The teacher reads a book in the library in the evening.",
        "es": "El profesor lee un libro en la biblioteca al anochecer.",
        "fr": "Le professeur lit un livre à la bibliothèque le soir.",
        "hi": "अध्यापक शाम को पुस्तकालय में किताब पढ़ता है।",
        "ru": "Учитель вечером читает книгу в библиотеке.",
        "sw": "Mwalimu anasoma kitabu maktabani jioni.",
        "th": "ครูอ่านหนังสือในห้องสมุดตอนเย็น",
        "tr": "Öğretmen akşamleyin kütüphanede kitap okuyor.",
        "ur": "استاد شام کو لائبریری میں کتاب پڑھتا ہے۔",
        "vi": "Thầy giáo đọc sách trong thư viện vào buổi tối.",
        "zh": "老师傍晚在图书馆里看书。",
    }.items():
        assert said(language, **whole) == sentence

    assert said("en", what="music") == "The teacher makes music."
    assert said("en", 1, **whole) == (
        "In the evening, the teacher reads a book in the library."
    )
    # Without a time, the frame that starts with the time does not count.
    assert said("en", 1, what="book") == "The teacher reads a book."
    assert (
        said("de", 1, **whole)
        == "Am Abend liest der Lehrer in der Bibliothek ein Buch."
    )
    assert said("en", where="outdoors") == "The teacher is outdoors."
    assert said("zh", where="outdoors", when="noon") == "老师中午在户外。"
    assert said("en", when="noon", pronoun=True) == "He does this at noon."
    # A pronoun that is dropped, and the capital of the Turkish dotted i.
    assert said("es", what="guitar", pronoun=True) == "Toca la guitarra."
    ropes = lexicons["tr"].actions | {"guitar": ["atlıyor", "ip"]}
    turkish = replace(lexicons["tr"], actions=ropes)
    sentence = Sentence(Fact("teacher", what="guitar"), 0, pronoun=True)
    assert turkish.render(sentence) == "İp atlıyor."
    assert said("ar", where="garden", pronoun=True) == "هو في الحديقة."


def every_sentence(lexicon: demo.Lexicon) -> set[str]:
    """All that the language can say of one person, and of each person one thing."""
    facts = [
        Fact("teacher", what, where, when)
        for what in (None, *demo.ACTIONS, *demo.ACTIVITIES)
        for where in (None, *demo.PLACES, *demo.SETTINGS)
        for when in (None, *demo.TIMES)
        if what or where or when
    ]
    facts += [Fact(person, where="garden") for person in demo.PERSONS]
    return {
        lexicon.render(Sentence(fact, variant, pronoun=pronoun))
        for fact in facts
        for variant in range(len(lexicon.frames))
        for pronoun in (False, True)
    } | {
        lexicon.render(Sentence(Fact("teacher"), 0, remark, pronoun=pronoun))
        for remark in demo.REMARKS
        for pronoun in (False, True)
    }


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_sentence_is_well_formed(lexicons, language):
    end = {"zh": "。", "hi": "।", "ur": "۔", "th": ""}.get(language, ".")
    inner_space = "" if language in ("zh", "th") else " "
    for text in every_sentence(lexicons[language]):
        assert text.endswith(end) and text[:-1].count(end or "\0") == 0, text
        assert text == " ".join(text.split()), text
        assert inner_space or " " not in text, text
        assert not re.search(r"[][{}]| [.,;:]|,,|،،|，，", text), text
        assert not text[0].islower(), text
        assert text == unicodedata.normalize("NFC", text), text
        scripts = {unicodedata.name(c).split()[0] for c in text if c.isalpha()}
        assert len(scripts) == 1, (text, scripts)


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_differs_in_meaning_differs_in_words(lexicons, language):
    lexicon = lexicons[language]
    for phrases in (
        [*lexicon.persons.values(), lexicon.pronoun],
        [tuple(p) for p in (lexicon.actions | lexicon.activities).values()],
        [*lexicon.places.values(), *lexicon.settings.values()],
        [*lexicon.times.values()],
    ):
        assert len(set(phrases)) == len(phrases)


def test_a_document_tells_one_coherent_story():
    for document in islice(demo.documents(stream(5)), 300):
        first, *others = (sentence.fact for sentence in document)
        assert 4 <= len(document) <= 7
        assert len(worlds(first)) == 1
        assert all(other.person == first.person for other in others)
        assert all(label(first, other) == "entailment" for other in others)
        assert not document[0].pronoun
        said = [(sentence.fact, sentence.remark) for sentence in document]
        assert len(set(said)) == len(said)


def test_pretraining_text_has_every_word_of_the_task(lexicons):
    documents = islice(demo.documents(stream(1)), 1000)
    facts = [sentence.fact for document in documents for sentence in document]
    assert {fact.person for fact in facts} == set(demo.PERSONS)
    assert {fact.what for fact in facts} > {*demo.ACTIONS, *demo.ACTIVITIES}
    assert {fact.where for fact in facts} > {*demo.PLACES, *demo.SETTINGS}
    assert {fact.when for fact in facts} > set(demo.TIMES)


# Files.


def test_files_of_the_script(folder):
    names = {
        f"{kind}/{lang}.txt"
        for kind in ("monolingual", "parallel", "phrasebook")
        for lang in LANGUAGES
    }
    names |= {
        f"nli/{split}.{lang}.tsv" for split in ("dev", "test") for lang in LANGUAGES
    }
    assert contents(folder).keys() == names | {"nli/train.en.tsv"}
    assert not any(b"\r" in data for data in contents(folder).values())


def test_monolingual_files_hold_own_documents(folder):
    shapes = set()
    for language in LANGUAGES:
        text = (folder / "monolingual" / f"{language}.txt").read_text(encoding="utf-8")
        documents = text.removesuffix("\n").split("\n\n")
        sizes = [len(document.split("\n")) for document in documents]
        assert len(sizes) == 60
        assert min(sizes) >= 4 and max(sizes) <= 7
        shapes.add(tuple(sizes))
    assert len(shapes) == len(LANGUAGES)


def test_parallel_files_are_aligned(folder):
    texts = [
        (folder / "parallel" / f"{lang}.txt").read_text(encoding="utf-8").split("\n")
        for lang in LANGUAGES
    ]
    blanks = {tuple(i for i, line in enumerate(text) if not line) for text in texts}
    assert len(blanks) == 1
    assert {sum(map(bool, text)) for text in texts} == {100}
    # The same remark stands in the same lines.
    rain = {"en": "It is raining.", "de": "Es regnet.", "ru": "Идёт дождь."}
    lines = {
        tuple(i for i, line in enumerate(texts[LANGUAGES.index(lang)]) if line == said)
        for lang, said in rain.items()
    }
    assert len(lines) == 1 and lines != {()}


def test_evaluation_pairs_are_aligned(folder):
    for split in ("dev", "test"):
        labels = {
            tuple(row[2] for row in read_pairs(folder / "nli" / f"{split}.{lang}.tsv"))
            for lang in LANGUAGES
        }
        assert len(labels) == 1
        assert Counter(labels.pop()) == dict.fromkeys(demo.LABELS, 100)


def test_same_arguments_same_bytes(folder, tmp_path):
    flags = SMALL.split()
    make_demo(tmp_path / "again", "--seed", "1", *flags, hash_seed="99")
    make_demo(tmp_path / "other", "--seed", "2", *flags)
    some = ["--languages", "zh", "sw"]
    make_demo(tmp_path / "some", "--seed", "1", *flags, *some)
    expected = contents(folder)
    assert contents(tmp_path / "again") == expected
    other = contents(tmp_path / "other")
    assert all(other[name] != data for name, data in expected.items())
    # A language's files do not depend on which other languages are asked for.
    few = contents(tmp_path / "some")
    assert len(few) == 2 * 5 + 1
    assert few.items() <= expected.items()


# Lexicons.


def lexicon_file(folder: Path, change=lambda content: None) -> Path:
    content = yaml.safe_load((LEXICONS / "en.yaml").read_text(encoding="utf-8"))
    change(content)
    path = folder / "xx.yaml"
    path.write_text(yaml.safe_dump(content), encoding="utf-8")
    return path


def without_time_frame(content: dict) -> None:
    content["frames"].remove("{person} does this {time}.")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: c.pop("times"), "key 'times' is missing"),
        (lambda c: c["actions"].pop("radio"), "key 'actions.radio' is missing"),
        (lambda c: c.update(verbs={}), "unknown key 'verbs'"),
        (lambda c: c["places"].update(moon="on it"), "unknown key 'places.moon'"),
        (lambda c: c.update(persons=[]), "key 'persons' must be a mapping"),
        (lambda c: c["actions"].update(radio="plays"), "key 'actions.radio' must be a"),
        (lambda c: c["times"].update(noon=12), "key 'times.noon' must be a text"),
        (lambda c: c["times"].update(noon="at\tnoon"), "key 'times.noon' must be a"),
        (lambda c: c["frames"].append("{who} is."), "unknown slot {who}"),
        (lambda c: c["frames"].append("[{person} is."), "is not closed"),
        (lambda c: c["frames"].append("{person is."), "is not closed"),
        (lambda c: c["remarks"].update(cold="{time}."), "key 'remarks.cold'"),
        (lambda c: c.update(pronoun=""), "key 'remarks.happy'"),
        (without_time_frame, "key 'frames': none states person, time"),
    ],
)
def test_a_bad_lexicon_is_told_by_file_and_key(tmp_path, change, message):
    path = lexicon_file(tmp_path, change)
    with pytest.raises(UserError) as caught:
        demo.read_lexicon(path)
    assert str(path) in str(caught.value)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--languages", "xx"], "xx.yaml: No such file"),
        (["--lexicons", "nowhere"], "nowhere: no lexicon"),
        (["--eval_pairs", "100"], "100 dev pairs: must be a multiple of 3"),
        (["--documents", "-1"], "-1 is negative"),
    ],
)
def test_the_script_refuses_in_one_line_and_writes_nothing(tmp_path, flags, message):
    done = make_demo(tmp_path / "out", *flags)
    assert done.returncode == 2
    assert message in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out").exists()


def test_one_more_lexicon_is_one_more_language(tmp_path):
    for name in ("en", "de"):
        text = (LEXICONS / f"{name}.yaml").read_bytes()
        (tmp_path / f"{name}.yaml").write_bytes(text)
    lexicon_file(tmp_path, lambda c: c.update(pronoun="zorp"))
    done = make_demo(tmp_path / "out", "--lexicons", str(tmp_path), *SMALL.split())
    assert done.returncode == 0, done.stderr
    written = sorted(path.name for path in (tmp_path / "out" / "parallel").iterdir())
    assert written == ["de.txt", "en.txt", "xx.txt"]
    text = (tmp_path / "out" / "monolingual" / "xx.txt").read_text(encoding="utf-8")
    assert "Zorp is " in text
