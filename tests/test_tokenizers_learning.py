"""Learned codes and vocabularies against their definitions."""

import math
import os
import re
import subprocess
import sys
from collections import Counter
from itertools import pairwise

import pytest

from babelmill.tokenizers import load_tokenizer
from babelmill.tokenizers.fastbpe_files import read_codes, read_vocabulary
from babelmill.tokenizers.learning import (
    WordCounts,
    count_words,
    learn_bpe,
    learn_wordpieces,
)
from conftest import ROOT

TEXTS = {
    "en": "The cat sat on the mat.\nThe rat ate the hat!\n\nThat flat bat spat.\n",
    "de": "Die Katze saß.\n\nDer Hut ist flach, der Hut ist alt.\n",
    "th": "แมวนั่งบนเสื่อ\u00a0ๆ ครับ\n",
    "zh": "猫坐在垫子上。猫在哪里？\n",
}


def learn(folder, *flags, texts=TEXTS, threads="2"):
    """Run learn_tokenizer.py on texts; the folder that it makes, or its message."""
    inputs = []
    for lang, text in texts.items():
        path = folder / f"{lang}.txt"
        path.write_text(text, "utf-8")
        inputs.append(f"{lang}={path}")
    output = folder / "learned"
    command = [sys.executable, str(ROOT / "workflow_scripts/learn_tokenizer.py")]
    command += ["--inputs", *inputs, "--output_dir", str(output), *flags]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "RAYON_NUM_THREADS": threads},
    )
    assert done.returncode in (0, 2), done.stderr
    return output if done.returncode == 0 else done.stderr.strip().splitlines()[-1]


def words_at_blanks(lines, lang):
    return [word for line in lines for word in line.split()]


def counted(words):
    counts = WordCounts()
    counts.add(word for word, count in words.items() for _ in range(count))
    return counts


def test_weights_of_languages(tmp_path):
    """p**alpha: of 9 and 1 sentences, alpha 0.5 makes 3 and 1, of 10 in all."""
    paths = {}
    for lang, sentences in (("aa", 9), ("bb", 1)):
        paths[lang] = [tmp_path / f"{lang}.txt"]
        paths[lang][0].write_text(f"{lang}{lang} x x x x\n\n" * sentences)
    for alpha, of_a, of_b in ((1, 9, 1), (0.5, 7.5, 2.5), (0, 5, 5)):
        counts = count_words(paths, words_at_blanks, alpha)
        assert counts.words == {
            "aaaa": round(of_a),
            "bbbb": round(of_b),
            "x": 40,
        }
    assert counts.characters == set("abx")


def test_a_draw_of_sentences(tmp_path):
    path = tmp_path / "en.txt"
    path.write_text("".join(f"w{i}\n" for i in range(2000)))
    texts = {"en": [path]}
    few = count_words(texts, words_at_blanks, 0.5, max_sentences=200, seed=1)
    drawn = len(few.words)
    # Within five standard deviations of a binomial distribution.
    assert abs(drawn - 200) < 5 * math.sqrt(200 * 0.9)
    assert set(few.words.values()) == {10}
    again = count_words(texts, words_at_blanks, 0.5, max_sentences=200, seed=1)
    other = count_words(texts, words_at_blanks, 0.5, max_sentences=200, seed=2)
    assert again.words == few.words != other.words


def test_rare_words_are_forgotten_but_not_their_characters(monkeypatch):
    monkeypatch.setattr("babelmill.tokenizers.learning._MOST_DISTINCT_WORDS", 4)
    counts = WordCounts()
    for block in ("a a b", "c c", "d e"):
        counts.add(block.split())
    assert counts.words == {"a": 2, "c": 2}
    assert counts.characters == set("abcde")
    # Words that come often are forgotten too when more of them come more often.
    for word, count in (("f", 4), ("g", 3), ("h", 3)):
        counts.add([word] * count)
    assert counts.words == {"f": 4}


def test_languages_share_the_room_for_words(monkeypatch, tmp_path):
    monkeypatch.setattr("babelmill.tokenizers.learning._MOST_DISTINCT_WORDS", 20)
    paths = {}
    for lang in ("aa", "bb", "cc"):
        paths[lang] = [tmp_path / f"{lang}.txt"]
        words = [f"{lang}{i} " * (i + 1) for i in range(20)]
        paths[lang][0].write_text("\n".join(words))
    words = count_words(paths, words_at_blanks, 1.0).words
    assert len(words) <= 20
    assert all(words[f"{lang}19"] == 20 for lang in paths)


WORDS = {"lower": 5, "low": 9, "newest": 6, "widest": 3, "wide": 2, "aaaa": 1}


def bpe_by_definition(words, merges):
    """Merge the most frequent pair over and over; counts of merges and of pieces.

    Which of equally frequent pairs is taken is the learner's choice, so ``merges`` says
    which it took; each must be one of the most frequent.
    """
    split = {w: [*w[:-1], w[-1] + "</w>"] for w in words}
    counts = []
    for merge in merges:
        pairs = Counter()
        for word, pieces in split.items():
            for pair in pairwise(pieces):
                pairs[pair] += words[word]
        assert pairs[merge] == max(pairs.values()), (merge, pairs.most_common(3))
        counts.append(0)
        for word, pieces in split.items():
            merged = []
            for piece in pieces:
                if merged and (merged[-1], piece) == merge:
                    merged[-1] = "".join(merge) + "\0"
                    counts[-1] += words[word]
                else:
                    merged.append(piece)
            split[word] = [piece.removesuffix("\0") for piece in merged]
    pieces = Counter()
    for word, parts in split.items():
        for part in parts:
            pieces[part] += words[word]
    return counts, pieces


def test_codes_and_counts_by_definition():
    codes, pieces = learn_bpe(counted(WORDS), codes=8, pieces=None)
    counts, of_piece = bpe_by_definition(WORDS, [code.merge for code in codes])
    assert [code.count for code in codes] == counts
    assert len(codes) == 8
    assert {piece: n for piece, n in pieces.items() if n} == of_piece
    characters = set("".join(WORDS))
    assert pieces.keys() >= characters | {c + "</w>" for c in characters}
    assert list(pieces.values()) == sorted(pieces.values(), reverse=True)


def test_words_that_the_files_cannot_hold():
    odd = {"a@@a": 50, "b\u00a0b": 50, "cc": 3}
    codes, pieces = learn_bpe(counted(odd), codes=5, pieces=None)
    assert [code.merge for code in codes] == [("c", "c</w>")]
    assert pieces.keys() >= set("a@b\u00a0c")


@pytest.mark.parametrize("mode", ["facebook", "huggingface"])
def test_every_character_gets_through(tmp_path, mode):
    folder = learn(tmp_path, "--type", "xlm", "--mode", mode, "--codes", "9")
    tokenizer = load_tokenizer(folder)
    assert tokenizer.lang2id == {"de": 0, "en": 1, "th": 2, "zh": 3}
    assert tokenizer.mode == mode
    for lang, text in TEXTS.items():
        for line in [text.replace("\n", " "), *text.split("\n")]:
            (ids,) = tokenizer.encode_lines([line], lang)
            assert tokenizer.unk_id not in ids
    codes = read_codes(folder / "codes")
    assert (folder / "merges.txt").read_bytes() == (folder / "codes").read_bytes()
    assert len(codes) == 9
    # Counts of pieces are those of the text itself: alpha 1 leaves them so.
    folder = learn(
        tmp_path, "--type", "xlm", "--mode", mode, "--codes", "9", "--alpha", "1"
    )
    found = Counter()
    tokenizer = load_tokenizer(folder)
    for lang, text in TEXTS.items():
        for line in text.split("\n"):
            found.update(tokenizer.tokenize(line, lang))
    listed = read_vocabulary(folder / "vocab")
    del found["\u00a0</w>"]
    assert {piece: n for piece, n in listed.items() if n} == found


@pytest.mark.parametrize(("type", "size"), [("xlm", 112), ("bert", 100)])
def test_the_number_of_ids(tmp_path, type, size):
    folder = learn(tmp_path, "--type", type, "--vocab_size", str(size))
    assert load_tokenizer(folder).vocab_size == size
    message = learn(tmp_path, "--type", type, "--vocab_size", "60")
    assert re.search(r"--vocab_size is \d+ too small: the text has \d+", message)


@pytest.mark.parametrize(
    "flags",
    [["--type", "xlm", "--codes", "60"], ["--type", "bert", "--vocab_size", "190"]],
)
def test_the_same_bytes_for_any_number_of_threads(tmp_path, flags):
    made = []
    for threads in ("1", "2", "4"):
        folder = learn(tmp_path, *flags, threads=threads)
        made.append({path.name: path.read_bytes() for path in folder.iterdir()})
    assert made[0] == made[1] == made[2]


def test_learned_wordpieces():
    pieces = learn_wordpieces(counted({"lowest": 9, "low": 9, "best": 5}), 30)
    assert pieces[:5] == ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    characters = set("lowestb")
    assert set(pieces) >= characters | {f"##{c}" for c in characters}
    # The most frequent pair inside words is "es", "st"; "low" starts two of three.
    assert {"##est", "low"} <= set(pieces)
    assert len(pieces) == len(set(pieces)) <= 30


def test_text_without_sentences(tmp_path):
    texts = {**TEXTS, "sw": "\n  \n"}
    message = learn(tmp_path, "--type", "xlm", "--codes", "9", texts=texts)
    assert message == f"error: {tmp_path}/sw.txt: no text of language sw in it"


def test_an_argument_without_language(tmp_path):
    (tmp_path / "x.txt").write_text("a\n")
    script = ROOT / "workflow_scripts/learn_tokenizer.py"
    command = [sys.executable, str(script), "--type", "xlm", "--codes", "1"]
    command += ["--inputs", "x.txt", "--output_dir", str(tmp_path / "out")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "--inputs x.txt: expected language=path" in done.stderr
    assert not (tmp_path / "out").exists()
