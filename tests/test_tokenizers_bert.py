"""WordPiece against PaddleNLP's, and frames of tokenizer.json against the library."""

import json

import numpy as np
import pytest
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from babelmill.errors import UserError
from babelmill.tokenizers import load_tokenizer
from babelmill.tokenizers.folder import write_bert
from test_tokenizers_xlm import LANGUAGES, ODD_LINES

PIECES = ["[PAD]", "[unused1]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
PIECES += ["un", "##aff", "##able", ",", "he", "Éa", "€", "##€", "5", "##5", "京", "ea"]


@pytest.fixture
def bert(tmp_path):
    """A function that loads a small WordPiece tokenizer with settings."""

    def load(pieces=PIECES, do_lower_case=True, **settings):
        write_bert(tmp_path / "bert", pieces, do_lower_case, **settings)
        return load_tokenizer(tmp_path / "bert")

    return load


def test_pieces_and_ids_by_hand(bert):
    tokenizer = bert()
    (ids,) = tokenizer.encode_lines(["Unaffable, HE xyz 京he Éa"], "en")
    assert ids.tolist() == [6, 7, 8, 9, 10, 2, 16, 10, 17]
    assert tokenizer.tokenize("Unaffable", "en") == ["un", "##aff", "##able"]
    assert tokenizer.decode([3, 6, 7, 8, 4, 0]) == "unaffable"
    assert tokenizer.build_inputs([6], [9]) == ([3, 6, 4, 9, 4], [0, 0, 0, 1, 1])
    assert tokenizer.build_inputs([6]) == ([3, 6, 4], [0, 0, 0])
    assert tokenizer.special_ids.tolist() == [0, 1, 2, 3, 4, 5]
    named = [
        getattr(tokenizer, f"{n}_id") for n in ("pad", "unk", "cls", "sep", "mask")
    ]
    assert named == [0, 2, 3, 4, 5]
    assert (tokenizer.type, tokenizer.vocab_size, tokenizer.lang2id) == ("bert", 18, {})


def test_words_met_before_give_the_same_ids(bert, monkeypatch):
    lines = ["he unaffable he", "", "un  he\the\u00a0he, he\n", "he unaffable he"]
    first = [ids.tolist() for ids in bert().encode_lines(lines, "en")]
    assert first == [
        [10, 6, 7, 8, 10],
        [],
        [6, 10, 10, 10, 9, 10],
        [10, 6, 7, 8, 10],
    ]
    monkeypatch.setattr("babelmill.tokenizers.cache._BYTES", 300)
    tokenizer = bert()
    again = [tokenizer.encode_lines([line], "en")[0].tolist() for line in lines]
    assert again == first


def test_pieces_without_a_prefix_begin_words(bert):
    ids = np.asarray([[3, 6, 7, 8], [10, 13, 17, 4]])
    starts = bert().word_starts(ids)
    assert starts.tolist() == [[True, True, False, False], [True, False, True, True]]


@pytest.mark.parametrize("mark", ["\u2581", "\u0120"])
def test_marked_pieces_begin_words(roberta_like, mark):
    folder, library = roberta_like(0)
    pieces = ["<s>", "<pad>", "</s>", "<unk>", f"{mark}a", "b"]
    vocab = {piece: i for i, piece in enumerate(pieces)}
    library.model = models.WordLevel(vocab, unk_token="<unk>")
    library.save(str(folder / "tokenizer.json"))
    starts = load_tokenizer(folder).word_starts(np.asarray([[0, 4, 5, 5, 4, 2]]))
    assert starts[0, 1:5].tolist() == [True, False, False, True]


def test_unmarked_pieces_are_refused_for_whole_words(roberta_like):
    folder, _ = roberta_like(0)
    with pytest.raises(UserError, match="does not mark where words begin"):
        load_tokenizer(folder).word_starts(np.asarray([[4]]))


def test_settings(bert):
    assert bert(do_lower_case=False).tokenize("Éa", "en") == ["Éa"]
    assert bert(strip_accents=False).tokenize("Éa", "en") == ["[UNK]"]
    assert bert(tokenize_chinese_chars=False).tokenize("京he", "zh") == ["[UNK]"]


def test_symbols_stand_alone(bert):
    # PaddleNLP's choice; Google's BERT would have "5", "##€".
    assert bert().tokenize("5€5", "en") == ["5", "€", "5"]


def test_case_is_guessed_from_the_vocabulary(tmp_path):
    for piece, tokens in (("He", ["He"]), ("he", ["he"])):
        pieces = [*PIECES[:6], piece]
        (tmp_path / "vocab.txt").write_text("\n".join(pieces) + "\n")
        assert load_tokenizer(tmp_path).tokenize("He", "en") == tokens


def test_a_missing_special_token(bert):
    with pytest.raises(UserError, match=r"no \[MASK\]"):
        bert([piece for piece in PIECES if piece != "[MASK]"])


def test_a_piece_that_comes_twice(tmp_path):
    (tmp_path / "vocab.txt").write_text("[PAD]\na\na\n")
    with pytest.raises(UserError, match=r"vocab\.txt, line 3: 'a' comes a second time"):
        load_tokenizer(tmp_path)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("do_lower_case", [True, False])
def test_ids_as_paddlenlp(test_data, tmp_path, do_lower_case, paddlenlp):
    from paddlenlp.transformers import BertTokenizer

    news = {
        lang: test_data("data", "ntrex", f"{lang}.txt").read_text("utf-8").split("\n")
        for lang in LANGUAGES
    }
    # A vocabulary of characters, two-letter starts and endings of the text itself.
    text = " ".join(line for lines in news.values() for line in lines[:200])
    text += text.lower()
    words = set(text.split())
    pieces = {*text.replace(" ", ""), *(w[:2] for w in words), *words}
    pieces |= {f"##{c}" for c in set(text)} | {f"##{w[-2:]}" for w in words}
    write_bert(tmp_path / "ours", [*PIECES[:6], *sorted(pieces)], do_lower_case)
    ours = load_tokenizer(tmp_path / "ours")
    theirs = BertTokenizer(
        str(tmp_path / "ours/vocab.txt"), do_lower_case=do_lower_case
    )
    theirs.save_pretrained(str(tmp_path / "theirs"))
    theirs = BertTokenizer.from_pretrained(str(tmp_path / "theirs"))
    for lang, lines in news.items():
        lines = [*lines[:200], *ODD_LINES, "[MASK] [mask]", "a" * 101]
        for line, ids in zip(lines, ours.encode_lines(lines, lang), strict=True):
            wanted = theirs.convert_tokens_to_ids(theirs.tokenize(line))
            assert ids.tolist() == wanted, (lang, line)
    pair = theirs("He is.", "Ab")
    framed = ours.build_inputs(*ours.encode_lines(["He is.", "Ab"], "en"))
    assert framed == (pair["input_ids"], pair["token_type_ids"])


@pytest.fixture
def roberta_like(tmp_path):
    """A function that saves a tokenizer.json with two separators between texts."""

    def save(segment_of_second):
        vocab = {"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3, "a": 4, "b": 5}
        library = Tokenizer(models.WordLevel(vocab, unk_token="<unk>"))
        library.pre_tokenizer = pre_tokenizers.Whitespace()
        second = f":{segment_of_second}"
        library.post_processor = processors.TemplateProcessing(
            single="<s> $A </s>",
            pair=f"<s> $A </s> </s> $B{second} </s>{second}",
            special_tokens=[("<s>", 0), ("</s>", 2)],
        )
        library.enable_truncation(2)
        library.save(str(tmp_path / "tokenizer.json"))
        return tmp_path, library

    return save


@pytest.mark.parametrize("segment_of_second", [0, 1])
def test_frames_of_a_tokenizer_json(roberta_like, segment_of_second):
    folder, library = roberta_like(segment_of_second)
    library.no_truncation()
    tokenizer = load_tokenizer(folder)
    assert tokenizer.type == "fast"
    a, b = tokenizer.encode_lines(["a b c", "b"], "en")
    assert a.tolist() == [4, 5, 3]
    for texts, arrays in ((["a b c"], [a]), (["a b c", "b"], [a, b])):
        framed = library.encode(*texts)
        assert tokenizer.build_inputs(*arrays) == (framed.ids, framed.type_ids)
    assert (tokenizer.cls_id, tokenizer.sep_id) == (0, 2)
    assert (tokenizer.pad_id, tokenizer.unk_id) == (1, 3)
    assert tokenizer.special_ids.tolist() == [0, 1, 2, 3]
    with pytest.raises(UserError, match="no mask token"):
        _ = tokenizer.mask_id


def test_names_in_the_config(roberta_like):
    folder, _ = roberta_like(1)
    names = {"pad_token": {"content": "b"}, "mask_token": "a"}
    (folder / "tokenizer_config.json").write_text(json.dumps(names))
    tokenizer = load_tokenizer(folder)
    assert (tokenizer.pad_id, tokenizer.mask_id) == (5, 4)


def test_a_tokenizer_json_without_frame(tmp_path):
    Tokenizer(models.WordLevel({"a": 0}, unk_token="a")).save(
        str(tmp_path / "tokenizer.json")
    )
    with pytest.raises(UserError, match="post_processor"):
        load_tokenizer(tmp_path)
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(UserError, match=r"tokenizer\.json: not a tokenizer"):
        load_tokenizer(tmp_path)
