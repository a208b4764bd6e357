"""XLM computes what an independent implementation computes, from its weights."""

import json
import subprocess
import sys

import numpy as np
import pytest

from babelmill.errors import UserError
from babelmill.models import folders, xlm
from babelmill.models.weights import load_tensors, read_weights, save_weights
from conftest import ROOT

TOLERANCE = 1e-5


@pytest.fixture(scope="module")
def tiny(test_data):
    folder = test_data("golden", "xlm_tiny")
    with np.load(folder / "reference.npz") as arrays:
        return folder, xlm.load_config(folder), {n: arrays[n] for n in arrays.files}


def batch_of(reference, position_ids=None):
    import paddle

    length = reference["input_ids"].shape[1]
    if position_ids is None:
        position_ids = np.broadcast_to(np.arange(length), reference["langs"].shape)
    return {
        "input_ids": paddle.to_tensor(reference["input_ids"]),
        "lang_ids": paddle.to_tensor(reference["langs"]),
        "input_mask": paddle.to_tensor(reference["attention_mask"].astype("float32")),
        "position_ids": paddle.to_tensor(position_ids.astype("int64")),
    }


def real_positions(reference):
    return reference["attention_mask"].astype(bool)


def test_masked_lm_agrees_with_the_reference(tiny):
    import paddle

    folder, config, reference = tiny
    model = xlm.pretraining_model(config)
    xlm.load(model, folder)
    model.eval()
    real = real_positions(reference)
    batch = batch_of(reference)
    hidden = xlm.encode(model.xlm, batch).numpy()
    assert np.abs(hidden - reference["hidden"])[real].max() < TOLERANCE
    labels = reference["mlm_labels"].ravel()
    chosen = np.flatnonzero(labels != -100)
    batch["flat_positions"] = paddle.to_tensor(chosen)
    logits, _ = xlm.pretraining_scores(model, batch)
    expected = reference["mlm_logits"].reshape(-1, config["vocab_size"])[chosen]
    assert np.abs(logits.numpy() - expected).max() < TOLERANCE
    loss = paddle.nn.functional.cross_entropy(logits, paddle.to_tensor(labels[chosen]))
    assert float(loss) == pytest.approx(float(reference["mlm_loss"]), abs=TOLERANCE)


def test_restarting_positions_agree_with_the_reference(tiny):
    folder, config, reference = tiny
    model = xlm.pretraining_model(config)
    xlm.load(model, folder)
    model.eval()
    hidden = xlm.encode(model.xlm, batch_of(reference, reference["position_ids"]))
    expected = reference["hidden_with_position_ids"]
    real = real_positions(reference)
    assert np.abs(hidden.numpy() - expected)[real].max() < TOLERANCE


def test_classification_agrees_with_the_reference(tiny):
    folder, config, reference = tiny
    model = xlm.classification_model(config, 3, dropout=0.0)
    xlm.load(model, folder)
    model.eval()
    logits = xlm.classify(model, batch_of(reference)).numpy()
    assert np.abs(logits - reference["cls_logits"]).max() < TOLERANCE


def test_weights_that_do_not_fit_are_named(tmp_path, tiny):
    folder, config, _ = tiny
    model = xlm.classification_model(config, 3, dropout=0.0)
    tensors = folders.tensors(model, folder)
    tensors["xlm.extra.weight"] = tensors.pop("xlm.embeddings.weight")
    with pytest.raises(UserError) as error:
        load_tensors(model, tensors, folder, xlm.PREFIX, (), xlm.HEADS)
    assert "missing xlm.embeddings.weight" in str(error.value)
    assert "left over xlm.extra.weight" in str(error.value)


def test_torn_weights_are_an_error_for_people(tmp_path):
    path = tmp_path / "model.safetensors"
    save_weights(path, {"a": np.zeros((10, 10), np.float32)})
    path.write_bytes(path.read_bytes()[:-8])
    with pytest.raises(UserError, match="not readable as safetensors"):
        read_weights(path)


def test_light_import_leaves_most_of_paddlenlp_out():
    code = (
        "import json, sys; from babelmill.models.paddlenlp_classes import model_module;"
        "model_module('xlm').XLMModel; print(json.dumps(sorted(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT / "workflow_scripts",
        capture_output=True,
        text=True,
        check=True,
    )
    modules = json.loads(done.stdout.splitlines()[-1])
    assert "paddlenlp.transformers.xlm.modeling" in modules
    assert not {"paddlenlp.taskflow", "paddlenlp.trainer", "datasets"} & set(modules)
