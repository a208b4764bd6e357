"""XLM-R's tokenizer from a SentencePiece model, against SentencePiece itself."""

import pytest
import sentencepiece

from babelmill.errors import UserError
from babelmill.tokenizers import load_tokenizer
from conftest import ROOT
from test_tokenizers_folder import run

# What fairseq puts where, by its dictionary: the model's unknown piece (0) is 3.
CLS, PAD, SEP, UNKNOWN = 0, 1, 2, 3
LINES = (
    *(
        "The river rises at dawn.",
        " two  blanks ",
        "",
        "\u00a0no-break\u200b",
        "\ufb01ne",
    ),
    *("\uff21\uff22\uff23 \u2460", "\u6c34", "straße ÄÖ", "x" * 300),
)


def train(folder, **options):
    """A small model from a text of ours."""
    sentencepiece.SentencePieceTrainer.train(
        input=str(ROOT / "README.md"),
        model_prefix=str(folder / "small"),
        vocab_size=400,
        minloglevel=2,
        **options,
    )
    (folder / "small.model").rename(folder / "sentencepiece.bpe.model")
    return str(folder / "sentencepiece.bpe.model")


@pytest.mark.parametrize("rule", ["nmt_nfkc", "identity"])
def test_ids_are_those_of_the_model_and_one_more(tmp_path, rule):
    path = train(tmp_path, model_type="unigram", normalization_rule_name=rule)
    library = sentencepiece.SentencePieceProcessor(model_file=path)
    lines = [*LINES, *(ROOT / "README.md").read_text("utf-8").splitlines()]
    if rule == "identity":
        # SentencePiece's own blanks are no others than " ".
        lines = [line for line in lines if "\u00a0" not in line]
    tokenizer = load_tokenizer(tmp_path)
    for line, ids in zip(lines, tokenizer.encode_lines(lines, "en"), strict=True):
        expected = [i + 1 if i else UNKNOWN for i in library.encode(line)]
        assert ids.tolist() == expected, line
    assert tokenizer.vocab_size == 402
    assert (tokenizer.pad_id, tokenizer.unk_id, tokenizer.mask_id) == (
        PAD,
        UNKNOWN,
        401,
    )
    assert tokenizer.build_inputs([7], [8]) == ([CLS, 7, SEP, SEP, 8, SEP], [0] * 6)
    assert tokenizer.decode(tokenizer.encode_lines([lines[0]], "en")[0]) == lines[0]


def test_a_folder_with_a_model_can_be_installed(tmp_path):
    (tmp_path / "given").mkdir()
    train(tmp_path / "given", model_type="unigram")
    installed = tmp_path / "installed"
    assert not run(
        *("install_tokenizer.py", "--folder", tmp_path / "given"),
        *("--output_dir", installed),
    )
    made, given = load_tokenizer(installed), load_tokenizer(tmp_path / "given")
    assert made.type == "sentencepiece"
    assert made.fingerprint == given.fingerprint


def test_other_models_are_refused(tmp_path):
    train(tmp_path, model_type="bpe")
    with pytest.raises(UserError, match="only unigram"):
        load_tokenizer(tmp_path)
    (tmp_path / "sentencepiece.bpe.model").write_bytes(b"version https://git-lfs")
    with pytest.raises(UserError, match="not a SentencePiece model"):
        load_tokenizer(tmp_path)
