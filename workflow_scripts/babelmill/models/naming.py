"""What Hugging Face's tensors are called in PaddleNLP's models."""

import re
from collections.abc import Sequence
from typing import NamedTuple


class Naming(NamedTuple):
    """The names of one family of models.

    Attributes:
        prefix: of the encoder's tensors.
        heads: prefixes of what a folder may lack or have too much: parts that other
            tasks trained.
        renames: patterns and what replaces them, in order, from Hugging Face's name to
            PaddleNLP's; a name that becomes empty is left out.
    """

    prefix: str
    heads: tuple[str, ...]
    renames: Sequence[tuple[str, str]]

    def paddle_name(self, name: str) -> str:
        """PaddleNLP's name of one of Hugging Face's tensors, or nothing."""
        for pattern, replacement in self.renames:
            name = re.sub(pattern, replacement, name)
        return name


_XLM = (
    (r"^transformer\.", "xlm."),
    # Tied to the embeddings, or a buffer of torch's.
    (r"^pred_layer\.proj\.weight$|^(xlm\.)?position_ids$", ""),
    (r"^pred_layer\.proj\.bias$", "pred_layer.bias"),
    (r"^sequence_summary\.summary\.|^qa_outputs\.", "classifier."),
)
_BERT = (
    # RoBERTa's names.
    (r"^roberta\.", "bert."),
    (r"^lm_head\.dense\.", "cls.predictions.transform."),
    (r"^lm_head\.layer_norm\.", "cls.predictions.layer_norm."),
    (r"^lm_head\.(decoder\.weight|bias|decoder\.bias)$", r"cls.predictions.\1"),
    # The names of TensorFlow's checkpoints.
    (r"\.gamma$", ".weight"),
    (r"\.beta$", ".bias"),
    # Tied to the embeddings, or a buffer of torch's.
    (r"^cls\.predictions\.decoder\.weight$|^(\w+\.)?embeddings\.position_ids$", ""),
    (r"^cls\.predictions\.(decoder\.)?bias$", "cls.predictions.decoder_bias"),
    (r"^cls\.predictions\.transform\.LayerNorm\.", "cls.predictions.layer_norm."),
    (r"^cls\.predictions\.transform\.dense\.", "cls.predictions.transform."),
    (r"^qa_outputs\.", "classifier."),
    (r"embeddings\.LayerNorm\.", "embeddings.layer_norm."),
    (r"encoder\.layer\.", "encoder.layers."),
    (r"attention\.self\.query\.", "self_attn.q_proj."),
    (r"attention\.self\.key\.", "self_attn.k_proj."),
    (r"attention\.self\.value\.", "self_attn.v_proj."),
    (r"attention\.output\.dense\.", "self_attn.out_proj."),
    (r"attention\.output\.LayerNorm\.", "norm1."),
    (r"intermediate\.dense\.", "linear1."),
    (r"(layers\.\d+\.)output\.dense\.", r"\1linear2."),
    (r"(layers\.\d+\.)output\.LayerNorm\.", r"\1norm2."),
)


def _bert(prefix: str) -> Naming:
    heads = (f"{prefix}pooler.", "cls.", "classifier.")
    return Naming(prefix, heads, _BERT)


NAMING = {
    "xlm": Naming("xlm.", ("pred_layer.", "classifier.", "sequence_summary."), _XLM),
    "bert": _bert("bert."),
    "ernie": _bert("ernie."),
}
