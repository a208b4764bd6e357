"""A fine-tuned model as an inference program."""

from pathlib import Path
from typing import Any

from babelmill.models import xlm

PROGRAM = "model"  # model.json and model.pdiparams
_DTYPES = {"input_mask": "float32"}


def export_classifier(config: dict[str, Any], weights: Path, folder: Path) -> None:
    """Write the program that maps a batch of any size to logits.

    Its inputs are the fields of ``xlm.INPUTS``, all (rows, length).
    """
    import paddle

    model = xlm.classification_model(config, config["num_labels"], dropout=0.0)
    xlm.load(model, weights)
    model.eval()

    class Classifier(paddle.nn.Layer):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, input_ids, input_mask, position_ids, lang_ids=None):
            batch = {
                "input_ids": input_ids,
                "input_mask": input_mask,
                "position_ids": position_ids,
                "lang_ids": lang_ids,
            }
            return xlm.classify(self.model, batch)

    # A program may have no input that it does not use.
    unused = () if xlm.has_language_embeddings(config) else ("lang_ids",)
    spec = [
        paddle.static.InputSpec([None, None], _DTYPES.get(name, "int64"), name)
        for name in xlm.INPUTS
        if name not in unused
    ]
    program = paddle.jit.to_static(Classifier(), input_spec=spec, full_graph=True)
    paddle.jit.save(program, str(folder / PROGRAM))
