"""BERT and ERNIE compute what their definition says, in both of Paddle's modes."""

import json

import numpy as np
import pytest
from safetensors.numpy import save_file

import bert_by_definition
from babelmill.errors import UserError
from babelmill.models.families import family
from babelmill.models.folders import load_config
from babelmill.models.weights import load_tensors, model_tensors

TOLERANCE = 1e-5
FAMILIES = ["bert", "ernie"]


def batch_of(config, seed=1):
    """Four right-padded rows of two segments, and five positions to predict."""
    rng = np.random.default_rng(seed)
    lengths = np.array([12, 3, 7, 12])
    real = np.arange(12) < lengths[:, None]
    ids = rng.integers(1, config["vocab_size"], real.shape)
    return {
        "input_ids": np.where(real, ids, config["pad_token_id"]),
        "segment_ids": ((np.arange(12) >= lengths[:, None] // 2) & real).astype(int),
        "input_mask": real.astype(np.float32),
        "flat_positions": np.array([1, 5, 14, 30, 47]),
    }


def as_tensors(batch):
    import paddle

    return {name: paddle.to_tensor(value) for name, value in batch.items()}


def save_as_hugging_face(folder, config, weights):
    (folder / "config.json").write_text(json.dumps(config))
    save_file(weights, str(folder / "model.safetensors"), metadata={"format": "pt"})


@pytest.mark.parametrize("model_type", FAMILIES)
@pytest.mark.parametrize("hidden_act", ["gelu", "relu"])
def test_all_outputs_agree_with_the_definition(tmp_path, model_type, hidden_act):
    config = bert_by_definition.config(model_type=model_type, hidden_act=hidden_act)
    weights = bert_by_definition.weights(config)
    # ERNIE's padding has no word embedding.
    weights["bert.embeddings.word_embeddings.weight"][0] = 0
    by_definition = bert_by_definition.Bert(config, weights)
    named = {n.replace("bert.", f"{model_type}.", 1): v for n, v in weights.items()}
    save_as_hugging_face(tmp_path, config, named)
    models = family(load_config(tmp_path))
    model = models.pretraining_model(config)
    models.load_pretraining_weights(model, tmp_path)
    model.eval()
    batch = batch_of(config)
    arrays = [batch[field] for field in models.INPUTS]
    real = batch["input_mask"] > 0
    hidden = models.encode(getattr(model, model_type), as_tensors(batch)).numpy()
    expected = by_definition.hidden(*arrays)
    assert np.abs(hidden - expected)[real].max() < TOLERANCE
    words, pairs = models.pretraining_scores(model, as_tensors(batch))
    every_word = by_definition.word_scores(expected).reshape(-1, config["vocab_size"])
    assert np.abs(words.numpy() - every_word[batch["flat_positions"]]).max() < TOLERANCE
    assert np.abs(pairs.numpy() - by_definition.pair_scores(expected)).max() < TOLERANCE


@pytest.mark.parametrize("model_type", FAMILIES)
def test_classification_agrees_with_the_definition(tmp_path, model_type):
    config = bert_by_definition.config(model_type=model_type)
    weights = bert_by_definition.weights(config)
    weights["bert.embeddings.word_embeddings.weight"][0] = 0
    by_definition = bert_by_definition.Bert(config, weights)
    # A bare encoder: no prefix, no heads.
    bare = {n[5:]: v for n, v in weights.items() if n.startswith("bert.")}
    save_as_hugging_face(tmp_path, config, bare)
    models = family(config)
    model = models.classification_model(config, 3, dropout=0.5)
    models.load_pretrained_encoder(model, tmp_path)
    model.eval()
    batch = batch_of(config)
    hidden = by_definition.hidden(*(batch[field] for field in models.INPUTS))
    weight, bias = model.classifier.weight.numpy(), model.classifier.bias.numpy()
    expected = by_definition.pooled(hidden) @ weight + bias
    logits = models.classify(model, as_tensors(batch)).numpy()
    assert np.abs(logits - expected).max() < TOLERANCE


@pytest.mark.parametrize("model_type", FAMILIES)
def test_fresh_weights_are_normal_biases_zero_and_norms_neutral(model_type):
    import paddle

    paddle.seed(3)
    config = bert_by_definition.config(
        model_type=model_type, hidden_size=64, vocab_size=500, initializer_range=0.05
    )
    model = family(config).pretraining_model(config)
    for name, value in model_tensors(model).items():
        if "norm" in name and name.endswith("weight"):
            assert (value == 1).all(), name
        elif name.endswith("bias"):
            assert (value == 0).all(), name
        else:
            # Six standard errors of a mean and of a standard deviation.
            bound = 6 * 0.05 / np.sqrt(value.size)
            assert abs(value.mean()) < bound, name
            assert abs(value.std() - 0.05) < bound, name


@pytest.mark.parametrize("model_type", FAMILIES)
def test_padding_changes_nothing(model_type):
    config = bert_by_definition.config(model_type=model_type)
    models = family(config)
    model = models.pretraining_model(config)
    model.eval()
    batch = batch_of(config)
    padding = batch["input_mask"] == 0
    other = {**batch, "input_ids": np.where(padding, 9, batch["input_ids"])}
    other["segment_ids"] = np.where(padding, 1, batch["segment_ids"])
    for a, b in zip(
        models.pretraining_scores(model, as_tensors(batch)),
        models.pretraining_scores(model, as_tensors(other)),
        strict=True,
    ):
        assert (a == b).all()


def loss_of(models, model, batch, targets, pairs):
    import paddle.nn.functional as F

    words, next_ = models.pretraining_scores(model, batch)
    return F.cross_entropy(words, targets) + F.cross_entropy(next_, pairs)


def optimizer(model):
    import paddle

    return paddle.optimizer.AdamW(
        0.01,
        parameters=model.parameters(),
        weight_decay=0.1,
        grad_clip=paddle.nn.ClipGradByGlobalNorm(1.0),
    )


@pytest.fixture
def static_mode():
    import paddle

    paddle.enable_static()
    yield
    paddle.disable_static()


def dygraph_losses(models, config, start, feed, steps):
    import paddle

    paddle.disable_static()
    model = models.pretraining_model(config)
    load_tensors(model, start, "start")
    updates = optimizer(model)
    losses = []
    for step in range(steps):
        paddle.seed(step)
        feeds = as_tensors(feed)
        targets, pairs = feeds.pop("targets"), feeds.pop("pairs")
        loss = loss_of(models, model, feeds, targets, pairs)
        loss.backward()
        updates.step()
        updates.clear_grad()
        losses.append(float(loss))
    paddle.enable_static()
    return losses


@pytest.mark.parametrize("model_type", FAMILIES)
def test_a_static_program_trains_as_the_dynamic_graph(model_type, static_mode):
    import paddle

    config = bert_by_definition.config(model_type=model_type)
    models = family(config)
    feed = {
        **batch_of(config),
        "targets": np.arange(5),
        "pairs": np.array([0, 1, 1, 0]),
    }
    paddle.disable_static()
    paddle.seed(0)
    start = model_tensors(models.pretraining_model(config))
    paddle.enable_static()
    main, startup = paddle.static.Program(), paddle.static.Program()
    with paddle.static.program_guard(main, startup):
        inputs = {
            name: paddle.static.data(name, [None] * value.ndim, str(value.dtype))
            for name, value in feed.items()
        }
        targets, pairs = inputs.pop("targets"), inputs.pop("pairs")
        model = models.pretraining_model(config)
        loss = loss_of(models, model, inputs, targets, pairs)
        optimizer(model).minimize(loss)
    executor = paddle.static.Executor(paddle.CPUPlace())
    executor.run(startup)
    parameters = model.state_dict()
    for name, value in start.items():
        holder = paddle.static.global_scope().find_var(parameters[name].name)
        holder.get_tensor().set(value, paddle.CPUPlace())
    losses = []
    for step in range(3):
        paddle.seed(step)
        losses.append(float(executor.run(main, feed=feed, fetch_list=[loss])[0]))
    assert losses == dygraph_losses(models, config, start, feed, 3)
    assert losses[2] < losses[0]


def test_what_bert_cannot_do_is_said():
    config = bert_by_definition.config(hidden_act="gelu_new")
    models = family(config)
    with pytest.raises(UserError, match="hidden_act gelu_new"):
        models.pretraining_model(config)
    with pytest.raises(UserError, match="only an XLM can be trained left to right"):
        models.pretraining_scores(None, {}, causal=True)
    with pytest.raises(UserError, match="model_type gpt2 is none of xlm, bert, ernie"):
        family({"model_type": "gpt2"})
