"""What can only be tried on a GPU; skipped, with a reason, where there is none."""

import numpy as np
import pytest

from pretraining_cases import SETTINGS, trained


@pytest.fixture(autouse=True)
def on_gpu():
    paddle = pytest.importorskip("paddle")
    if not paddle.is_compiled_with_cuda():
        pytest.skip("this build of Paddle has no GPU support (envs/gpu.yaml has)")
    if not paddle.device.cuda.device_count():
        pytest.skip("no GPU is visible")
    paddle.set_device("gpu")
    yield
    paddle.set_device("cpu")


@pytest.mark.parametrize("model_type", ["bert", "ernie", "xlm"])
def test_engines_agree(model_type):
    dynamic, _ = trained(model_type, "dynamic", 20, dropout=0.0)
    static, _ = trained(model_type, "static", 20, dropout=0.0)
    assert np.abs(np.subtract(dynamic, static)).max() < 1e-4


@pytest.mark.parametrize("engine", ["dynamic", "static"])
@pytest.mark.parametrize("level", ["O1", "O2"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_mixed_precision_stays_near_float32(engine, level, dtype):
    amp = {"use_amp": True, "amp_level": level, "amp_dtype": dtype}
    mixed, state = trained(
        "bert", engine, 10, dropout=0.0, settings={**SETTINGS, **amp}
    )
    plain, _ = trained("bert", engine, 10, dropout=0.0)
    losses = np.array(mixed)[:, 0], np.array(plain)[:, 0]
    assert np.abs(np.subtract(*losses)).max() < 0.05
    assert {value.dtype for value in state["weights"].values()} == {np.dtype("f4")}


def test_to_static_agrees():
    dynamic, _ = trained("bert", "dynamic", 10, dropout=0.0)
    compiled, _ = trained("bert", "dynamic", 10, dropout=0.0, to_static=True)
    assert np.abs(np.subtract(dynamic, compiled)).max() < 1e-4
