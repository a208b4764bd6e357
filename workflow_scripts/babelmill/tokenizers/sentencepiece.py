"""XLM-R's SentencePiece models, as tokenizers of the ``tokenizers`` library."""

from pathlib import Path

from tokenizers import Regex, decoders, models, normalizers, pre_tokenizers, processors
from tokenizers import Tokenizer as Library

from babelmill.errors import UserError
from babelmill.tokenizers.fast import FastTokenizer

# Before the pieces of the model, whose own three special ones go, and after them.
_FIRST, _LAST = ("<s>", "<pad>", "</s>", "<unk>"), "<mask>"
_OWN_SPECIALS = 3
_UNIGRAM = 1
_SPACE = "\u2581"


class SentencePieceTokenizer(FastTokenizer):
    """XLM-R's ids of a ``sentencepiece.bpe.model`` (Conneau et al. 2020).

    The special tokens are fairseq's, so a piece's id is one more than the model's.

    Raises:
        UserError: the file is no unigram model of SentencePiece.
    """

    type = "sentencepiece"

    def __init__(self, path: Path, fingerprint: str):
        super().__init__(_library(path), {}, fingerprint)


def _library(path: Path) -> Library:
    from google.protobuf.message import DecodeError
    from sentencepiece.sentencepiece_model_pb2 import ModelProto

    model = ModelProto()
    try:
        model.ParseFromString(path.read_bytes())
    except DecodeError as error:
        raise UserError(f"{path}: not a SentencePiece model: {error}") from error
    if model.trainer_spec.model_type != _UNIGRAM:
        raise UserError(f"{path}: of SentencePiece's models, only unigram is read")
    pieces = [(piece.piece, piece.score) for piece in model.pieces[_OWN_SPECIALS:]]
    vocab = [*((name, 0.0) for name in _FIRST), *pieces, (_LAST, 0.0)]
    library = Library(models.Unigram(vocab, unk_id=_FIRST.index("<unk>")))
    rules = model.normalizer_spec.precompiled_charsmap
    library.normalizer = normalizers.Sequence(
        [
            *([normalizers.Precompiled(rules)] if rules else []),
            normalizers.Replace(Regex(" {2,}"), " "),
            normalizers.Strip(),
        ]
    )
    library.pre_tokenizer = pre_tokenizers.Metaspace(_SPACE)
    library.decoder = decoders.Metaspace(_SPACE)
    library.add_special_tokens([*_FIRST, _LAST])
    library.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>",
        pair="<s> $A </s> </s> $B </s>",
        special_tokens=[(name, _FIRST.index(name)) for name in ("<s>", "</s>")],
    )
    return library
