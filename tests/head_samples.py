"""Small samples of the tasks of words, answers and choices, in English and Swahili.

Written for these tests. ``write`` puts them down in the layouts of CoNLL, SQuAD v1.1
and multiple choice: for training many sentences of the same few words.
"""

import itertools
import json
from pathlib import Path

from babelmill.tokenizers import load_tokenizer
from babelmill.tokenizers.folder import language_ids, write_bert, write_xlm
from babelmill.tokenizers.learning import WordCounts, learn_bpe
from babelmill.tokenizers.words import TextToWords

# People, places, and a frame for both, by language.
_PEOPLE = {"en": ["Asha Mwangi", "John", "Anna Berg"], "sw": ["Asha Mwangi", "Juma"]}
_PLACES = {"en": ["Mombasa", "New York", "Berlin"], "sw": ["Mombasa", "Dar es Salaam"]}
_FRAMES = {
    "en": ["{person} lives in {place} .", "In {place} , {person} sleeps ."],
    "sw": ["{person} anaishi {place} .", "Huko {place} , {person} analala ."],
}
_WHO = {"en": "Who is in {place}?", "sw": "Nani yuko {place}?"}
_WHERE = {"en": "Where is {person}?", "sw": "{person} yuko wapi?"}
LANGUAGES = tuple(_FRAMES)
# What stands where in the layouts, and small encoders of the words.
COLUMNS = {
    "ner": {"token_column": 0, "label_column": -1},
    "squad": {},
    "copa": {
        "text_columns": ["premise", "question"],
        "choice_columns": ["choice1", "choice2"],
        "label_column": "label",
    },
}
ARCHITECTURES = {
    "bert": {
        "hidden_size": 16,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 32,
        "max_position_embeddings": 24,
        "initializer_range": 0.2,
    },
    "xlm": {"emb_dim": 16, "n_layers": 2, "n_heads": 2, "max_position_embeddings": 24},
}


def _worlds(lang: str) -> list[tuple[str, str, str]]:
    return list(itertools.product(_FRAMES[lang], _PEOPLE[lang], _PLACES[lang]))


def words() -> list[str]:
    """All words of the samples, lower-cased, and the marks between them."""
    texts = [f"{f} {p} {q}" for lang in LANGUAGES for f, p, q in _worlds(lang)]
    texts += [*_WHO.values(), *_WHERE.values(), "because then"]
    text = " ".join(texts).lower().translate(str.maketrans("{}?", "   "))
    return [*sorted(set(text.split())), "?", "ba", "##ck"]


def write_tokenizer(folder: Path, type: str) -> None:
    """Write the folder of a tokenizer of the samples' words."""
    if type == "bert":
        write_bert(
            folder, ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words()], True
        )
        return
    counts = WordCounts()
    counts.add(2 * words())
    langs = language_ids(LANGUAGES)
    write_xlm(folder, *learn_bpe(counts, 90, None), TextToWords(), langs)


def write_encoder(folder: Path, type: str) -> None:
    """Write a small encoder as pretraining here leaves one, with fresh weights."""
    import paddle

    from babelmill.models.families import family

    write_tokenizer(folder, type)
    models = family({"model_type": type})
    config = models.full_config(ARCHITECTURES[type], load_tokenizer(folder))
    paddle.seed(3)
    models.save(folder, config, models.pretraining_model(config))


def conll(lang: str) -> str:
    """CoNLL's columns: token, a column to pass over, label (IOB2)."""
    lines = ["-DOCSTART- -X- O", ""]
    for frame, person, place in _worlds(lang):
        for word in frame.split():
            kind = {"{person}": "PER", "{place}": "LOC"}.get(word)
            tokens = word.format(person=person, place=place).split()
            if kind is None:
                lines.append(f"{word} x O")
                continue
            # "In Dar es Salaam", where the frame has one word.
            lines += [f"{t} x {'I' if i else 'B'}-{kind}" for i, t in enumerate(tokens)]
        lines.append("")
    return "\n".join(lines) + "\n"


def squad(lang: str) -> str:
    """SQuAD v1.1's JSON: who is where, in running text."""
    paragraphs = []
    for number, (frame, person, place) in enumerate(_worlds(lang)):
        context = frame.format(person=person, place=place).replace(" .", ".")
        context = context.replace(" ,", ",")
        asked = [(_WHO[lang], person), (_WHERE[lang], place)]
        paragraphs.append(
            {
                "context": context,
                "qas": [
                    {
                        "id": f"{lang}-{number}-{i}",
                        "question": question.format(person=person, place=place),
                        "answers": [
                            {"text": answer, "answer_start": context.index(answer)}
                        ],
                    }
                    for i, (question, answer) in enumerate(asked)
                ],
            }
        )
    data = [{"title": "who is where", "paragraphs": paragraphs}]
    return json.dumps({"version": "1.1", "data": data}, ensure_ascii=False)


def choices(lang: str) -> str:
    """JSON lines like XCOPA's: the choice that names the person of the premise."""
    lines = []
    for number, (frame, person, place) in enumerate(_worlds(lang)):
        other = next(p for p in _PEOPLE[lang] if p != person)
        row = {
            "premise": frame.format(person=person, place=place),
            "question": "because" if number % 2 else "then",
            "choice1": other if number % 3 else person,
            "choice2": person if number % 3 else other,
            "label": int(number % 3 > 0),
        }
        lines.append(json.dumps(row, ensure_ascii=False) + "\n")
    return "".join(lines)


SAMPLES = {
    "ner": ("conll", conll, ".txt"),
    "squad": ("squad", squad, ".json"),
    "copa": ("multiple_choice", choices, ".jsonl"),
}


def write(folder: Path) -> None:
    """Write {ner,squad,copa}/{train,dev,test}.{lang}.*; test and dev are as train."""
    for name, (_, text, suffix) in SAMPLES.items():
        (folder / name).mkdir(parents=True)
        for lang in LANGUAGES:
            for split in ("train", "dev", "test"):
                path = folder / name / f"{split}.{lang}{suffix}"
                path.write_text(text(lang), encoding="utf-8")
