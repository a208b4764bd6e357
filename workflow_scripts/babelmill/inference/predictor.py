"""Running an exported model; needs none of the model's code."""

from pathlib import Path

import numpy as np

from babelmill.errors import UserError
from babelmill.inference.export import PROGRAM
from babelmill.models.inputs import Batch, Inputs, sorted_batches
from babelmill.progress import progress


class Predictor:
    """An exported classifier on one device."""

    def __init__(self, folder: Path, gpus: int, threads: int):
        from paddle import inference

        program, parameters = (
            folder / f"{PROGRAM}{suffix}" for suffix in (".json", ".pdiparams")
        )
        for path in (program, parameters):
            if not path.exists():
                raise UserError(f"{path}: no such file: not an exported model")
        config = inference.Config(str(program), str(parameters))
        config.disable_glog_info()
        if gpus:
            config.enable_use_gpu(256, 0)
        else:
            config.set_cpu_math_library_num_threads(threads)
        self._predictor = inference.create_predictor(config)
        # The fields of a batch that the program takes.
        self.fields: list[str] = self._predictor.get_input_names()

    def logits(self, batch: Batch) -> np.ndarray:
        """What the model gives for one batch, (rows, ...) float32."""
        for name in self.fields:
            self._predictor.get_input_handle(name).copy_from_cpu(batch[name])
        self._predictor.run()
        (output,) = self._predictor.get_output_names()
        return self._predictor.get_output_handle(output).copy_to_cpu()

    def predict(self, inputs: Inputs, batch_size: int, pad_id: int) -> np.ndarray:
        """What the model gives for all inputs, each computed once, in order.

        Returns:
            (inputs, outputs), or of each token (inputs, longest, outputs) float32.
        """
        outputs: np.ndarray | None = None
        batches = sorted_batches(inputs, batch_size, pad_id)
        for rows, batch in progress(batches, "predicting", "batches"):
            logits = self.logits(batch)
            if outputs is None:
                # The first batch is the longest.
                outputs = np.zeros((len(inputs), *logits.shape[1:]), np.float32)
            outputs[rows, : logits.shape[1]] = logits
        return outputs
