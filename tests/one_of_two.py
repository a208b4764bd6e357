"""A process of two: trains what its arguments say, and writes what came of it.

python tests/one_of_two.py folder   (PADDLE_TRAINER_ID and its like are set)
"""

import json
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "workflow_scripts"))

from babelmill.training.processes import join
from babelmill.training.run import Run
from finetuning_cases import EXACT, OPTIONS, finetuned
from pretraining_cases import trained

CASES = {
    "bert dynamic": ("bert", "dynamic", 20, {}),
    "bert static": ("bert", "static", 20, {}),
    "bert exact": ("bert", "dynamic", 10, {"dropout": 0.0}),
    "xlm dynamic": ("xlm", "dynamic", 20, {"causal": True}),
    "xlm static": ("xlm", "static", 20, {"causal": True}),
}
FINE_TUNING_CASES = {
    "fine-tuning bert dynamic": ("bert", "dynamic", OPTIONS),
    "fine-tuning bert static": ("bert", "static", OPTIONS),
    "fine-tuning bert exact": ("bert", "static", EXACT),
    "fine-tuning xlm exact": ("xlm", "dynamic", EXACT),
}


def main() -> None:
    folder = Path(sys.argv[1])
    these = join("cpu")

    def write(name, numbers, weights):
        (folder / f"{name}.{these.rank}.json").write_text(json.dumps(numbers))
        np.savez(folder / f"{name}.{these.rank}.npz", **weights)

    for name, (model_type, engine, steps, options) in CASES.items():
        results, state = trained(
            model_type, engine, steps, rank=these.rank, world=these.world, **options
        )
        write(name, results, state["weights"])
    for name, (model_type, engine, settings) in FINE_TUNING_CASES.items():
        run = Run(engine, processes=these)
        weights, records = finetuned(model_type, folder / name, run, **settings)
        write(name, records, weights)


if __name__ == "__main__":
    main()
