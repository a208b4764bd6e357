"""A fine-tuned model as an inference program."""

from pathlib import Path
from typing import Any

from babelmill.models.families import family

PROGRAM = "model"  # model.json and model.pdiparams
_DTYPES = {"input_mask": "float32"}


def export_classifier(
    config: dict[str, Any], kind: str, weights: Path, folder: Path
) -> None:
    """Write the program that maps a batch of any size to logits.

    Its inputs are the fields that the model's family takes, all (rows, length).
    """
    import paddle

    models = family(config)
    model = models.classification_model(config, config["num_labels"], 0.0, kind)
    models.load(model, weights)
    model.eval()

    class Classifier(paddle.nn.Layer):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, batch):
            return models.classify(self.model, batch)

    # A program may have no input that it does not use.
    batch = {
        name: paddle.static.InputSpec([None, None], _DTYPES.get(name, "int64"), name)
        for name in models.input_fields(config)
    }
    program = paddle.jit.to_static(Classifier(), input_spec=[batch], full_graph=True)
    paddle.jit.save(program, str(folder / PROGRAM))
