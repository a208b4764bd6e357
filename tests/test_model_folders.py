"""Weights from any folder are the same weights, or are refused by name."""

import collections
import json
import pickle
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import bert_by_definition
from babelmill.errors import UserError
from babelmill.models import bert, xlm
from babelmill.models.folders import check_fit, copy_files, load_config
from babelmill.models.weights import model_tensors, read_folder, weight_files

CONFIG = bert_by_definition.config()


@pytest.fixture
def tmp_path(tmp_path):
    """With a config.json, as every model folder has."""
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    return tmp_path


@pytest.fixture(scope="module")
def trained():
    """A model, the tensors that it has, and Hugging Face's for the same weights."""
    weights = bert_by_definition.weights(CONFIG)
    model = bert.pretraining_model(CONFIG)
    layer = "bert.encoder.layers.1"
    by_hand = {
        "bert.embeddings.word_embeddings.weight": weights[
            "bert.embeddings.word_embeddings.weight"
        ],
        f"{layer}.self_attn.k_proj.weight": weights[
            "bert.encoder.layer.1.attention.self.key.weight"
        ].T,
        f"{layer}.linear2.bias": weights["bert.encoder.layer.1.output.dense.bias"],
        f"{layer}.norm1.weight": weights[
            "bert.encoder.layer.1.attention.output.LayerNorm.weight"
        ],
        "cls.predictions.decoder_bias": weights["cls.predictions.bias"],
        "cls.seq_relationship.weight": weights["cls.seq_relationship.weight"].T,
    }
    return model, by_hand, weights


def write_hugging_face(folder, weights):
    save_file(weights, str(folder / "model.safetensors"), metadata={"format": "pt"})


def write_sharded(folder, weights):
    names = sorted(weights)
    weight_map = {}
    for number, part in enumerate((names[:20], names[20:])):
        file = f"model-{number}-of-2.safetensors"
        tensors = {name: weights[name] for name in part}
        save_file(tensors, str(folder / file), metadata={"format": "pt"})
        weight_map |= dict.fromkeys(part, file)
    index = {"weight_map": weight_map}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))


def write_old_hugging_face(folder, weights):
    """With TensorFlow's names of norms, a buffer of torch's, and tied weights twice."""
    old = {
        n.replace("Norm.weight", "Norm.gamma").replace("Norm.bias", "Norm.beta"): v
        for n, v in weights.items()
    }
    old["bert.embeddings.position_ids"] = np.arange(20)[None]
    words = weights["bert.embeddings.word_embeddings.weight"]
    old["cls.predictions.decoder.weight"] = words.copy()
    old["cls.predictions.decoder.bias"] = weights["cls.predictions.bias"].copy()
    write_hugging_face(folder, old)


def write_half(folder, weights):
    write_hugging_face(folder, {n: v.astype(np.float16) for n, v in weights.items()})


def write_brain_half(folder, weights):
    half = {n: v.astype(ml_dtypes.bfloat16) for n, v in weights.items()}
    write_hugging_face(folder, half)


PRECISION = {write_half: 1e-3, write_brain_half: 1e-2}


def with_weights(folder, weights):
    write_hugging_face(folder, weights)
    model = bert.pretraining_model(CONFIG)
    bert.load_pretraining_weights(model, folder)
    (folder / "model.safetensors").unlink()
    return model


def write_ours(folder, weights):
    bert.save(folder, CONFIG, with_weights(folder, weights))


def write_paddlenlp(folder, weights):
    import paddle

    state = with_weights(folder, weights).state_dict()
    paddle.save(state, str(folder / "model_state.pdparams"))


def write_paddlenlp_safetensors(folder, weights):
    state = model_tensors(with_weights(folder, weights))
    save_file(state, str(folder / "model.safetensors"), metadata={"format": "np"})


def write_old_paddlenlp(folder, weights):
    import paddle

    state = with_weights(folder, weights).state_dict()
    paddle.save(state, str(folder / "model_state.pdparams"), protocol=2)


@pytest.mark.parametrize(
    "write",
    [
        write_hugging_face,
        write_sharded,
        write_old_hugging_face,
        write_half,
        write_brain_half,
        write_ours,
        write_paddlenlp,
        write_paddlenlp_safetensors,
        write_old_paddlenlp,
    ],
)
def test_every_format_gives_the_same_weights(tmp_path, trained, write, capsys):
    model, by_hand, weights = trained
    write(tmp_path, weights)
    bert.load_pretraining_weights(model, tmp_path)
    assert "freshly" not in capsys.readouterr().out
    loaded = model_tensors(model)
    tolerance = PRECISION.get(write, 0)
    for name, expected in by_hand.items():
        assert np.abs(loaded[name] - expected).max() <= tolerance, name


def test_tied_weights_are_written_once(tmp_path):
    bert.save(tmp_path, CONFIG, bert.pretraining_model(CONFIG))
    written = load_file(tmp_path / "model.safetensors")
    vocabulary = [n for n, v in written.items() if v.shape[0] == CONFIG["vocab_size"]]
    assert sorted(vocabulary) == [
        "bert.embeddings.word_embeddings.weight",
        "cls.predictions.decoder_bias",
    ]


def test_an_encoder_without_heads_gets_fresh_ones_by_name(tmp_path, trained, capsys):
    _, by_hand, weights = trained
    body = ("bert.embeddings.", "bert.encoder.")
    bare = {n[5:]: v for n, v in weights.items() if n.startswith(body)}
    write_hugging_face(tmp_path, bare)
    model = bert.pretraining_model(CONFIG)
    before = model_tensors(model)["bert.pooler.dense.weight"]
    bert.load_pretraining_weights(model, tmp_path)
    said = capsys.readouterr().out
    assert "bert.pooler.dense.weight" in said and "freshly initialized" in said
    assert "cls.predictions.decoder_bias" in said and "bert.encoder" not in said
    after = model_tensors(model)
    assert (after["bert.pooler.dense.weight"] == before).all()
    name = "bert.encoder.layers.1.self_attn.k_proj.weight"
    assert (after[name] == by_hand[name]).all()


@pytest.mark.parametrize("load", [bert.load_pretraining_weights, bert.load])
def test_parts_of_the_encoder_may_not_be_missing_or_left_over(tmp_path, trained, load):
    model, _, weights = trained
    wrong = dict(weights)
    wrong["bert.extra.weight"] = wrong.pop("bert.encoder.layer.0.output.dense.bias")
    write_hugging_face(tmp_path, wrong)
    with pytest.raises(UserError) as error:
        load(model, tmp_path)
    assert "missing bert.encoder.layers.0.linear2.bias" in str(error.value)
    assert "left over bert.extra.weight" in str(error.value)


def test_a_whole_model_may_not_lack_its_head(tmp_path, trained):
    _, _, weights = trained
    write_hugging_face(tmp_path, weights)
    model = bert.classification_model(CONFIG, 3, dropout=0.1)
    bert.load_pretrained_encoder(model, tmp_path)
    with pytest.raises(UserError, match=r"missing classifier\.bias, classifier"):
        bert.load(model, tmp_path)


def test_another_vocabulary_is_named(tmp_path, trained):
    model, _, weights = trained
    name = "bert.embeddings.word_embeddings.weight"
    write_hugging_face(tmp_path, {**weights, name: weights[name][:30]})
    with pytest.raises(UserError, match=r"word_embeddings.* \(30, 16\).* \(40, 16\)"):
        bert.load_pretraining_weights(model, tmp_path)


class Harmful:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (Path(self.path),)


class Import:
    def __reduce__(self):
        return eval, ("1",)


@pytest.mark.parametrize(
    "content",
    [
        {"a": Harmful("harm")},
        {"a": Import()},
        {"a": np.array([Import()], dtype=object)},
        {"a": np.array([None], dtype=object)},
        {"a": np.zeros(3, np.uint16)},
        {"a": "text"},
        [np.zeros(3)],
    ],
)
def test_pickles_of_more_than_arrays_are_refused(tmp_path, monkeypatch, content):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "model_state.pdparams"
    path.write_bytes(pickle.dumps(content))
    with pytest.raises(UserError, match=r"model_state\.pdparams: refused: .* arrays"):
        read_folder(tmp_path)
    assert not (tmp_path / "harm").exists()


def test_a_torn_pickle_is_refused(tmp_path):
    path = tmp_path / "model_state.pdparams"
    path.write_bytes(pickle.dumps({"a": np.zeros(100)})[:-200])
    with pytest.raises(UserError, match="refused"):
        read_folder(tmp_path)


def test_plain_containers_are_admitted(tmp_path):
    content = collections.OrderedDict(a=np.arange(3), b=("b_0", np.ones(2)))
    content["StructuredToParameterName@@"] = {"a": "a_0", "b": "b_0"}
    (tmp_path / "model_state.pdparams").write_bytes(pickle.dumps(content))
    arrays, is_paddle = read_folder(tmp_path)
    assert is_paddle and sorted(arrays) == ["a", "b"]
    assert arrays["a"].tolist() == [0, 1, 2] and arrays["b"].tolist() == [1, 1]


def test_a_folder_without_weights_says_what_it_needs(tmp_path):
    (tmp_path / "pytorch_model.bin").write_bytes(b"")
    with pytest.raises(UserError, match=r"no weights: it needs model\.safetensors"):
        weight_files(tmp_path)
    (tmp_path / "config.json").unlink()
    with pytest.raises(UserError, match=r"it has no config\.json"):
        load_config(tmp_path)


def test_weights_are_not_copied_along(tmp_path):
    source, target = tmp_path / "a", tmp_path / "b"
    source.mkdir()
    target.mkdir()
    for name in ("vocab.txt", "model.safetensors", "pytorch_model.bin", "flax.msgpack"):
        (source / name).write_text("x")
    copy_files(source, target)
    assert [path.name for path in target.iterdir()] == ["vocab.txt"]


def test_published_xlm_configs_count_words_by_another_name(tmp_path):
    (tmp_path / "config.json").write_text('{"model_type": "xlm", "n_words": 7}')
    assert load_config(tmp_path) == {"model_type": "xlm", "vocab_size": 7}


ROBERTA_NAMES = {
    "bert.": "roberta.",
    "cls.predictions.transform.dense.": "lm_head.dense.",
    "cls.predictions.transform.LayerNorm.": "lm_head.layer_norm.",
    "cls.predictions.bias": "lm_head.bias",
}


@pytest.mark.parametrize("bare", [False, True])
def test_an_xlm_r_is_a_bert_whose_positions_begin_later(tmp_path, trained, bare):
    """Position p of RoBERTa is row p + pad_token_id + 1 of its table."""
    _, by_hand, weights = trained
    published = {}
    for name, value in weights.items():
        for bert_name, its_name in ROBERTA_NAMES.items():
            if name.startswith(bert_name):
                published[its_name + name.removeprefix(bert_name)] = value
    name = "roberta.embeddings.position_embeddings.weight"
    table = weights["bert.embeddings.position_embeddings.weight"]
    published[name] = np.concatenate([np.full((2, 16), 9, np.float32), table])
    if bare:
        prefix = "roberta."
        published = {
            n.removeprefix(prefix): v
            for n, v in published.items()
            if n.startswith(prefix)
        }
    write_hugging_face(tmp_path, published)
    config = {**CONFIG, "model_type": "xlm-roberta", "pad_token_id": 1}
    config["max_position_embeddings"] = 22
    (tmp_path / "config.json").write_text(json.dumps(config))
    config = load_config(tmp_path)
    assert (config["model_type"], config["max_position_embeddings"]) == ("bert", 20)
    model = bert.pretraining_model(config)
    bert.load_pretraining_weights(model, tmp_path)
    loaded = model_tensors(model)
    assert (loaded["bert.embeddings.position_embeddings.weight"] == table).all()
    for name, expected in by_hand.items():
        if name.startswith("bert."):
            assert (loaded[name] == expected).all(), name
    same = loaded["cls.predictions.decoder_bias"] == weights["cls.predictions.bias"]
    assert same.all() != bare


def test_inputs_that_do_not_fit_an_encoder_are_refused(tmp_path):
    class Big:
        vocab_size = 41

    class Right:
        vocab_size = 40

    with pytest.raises(UserError, match="the tokenizer has 41 ids, the encoder 40"):
        check_fit(CONFIG, Big, 20, tmp_path)
    with pytest.raises(UserError, match=r"max_seq_length \(21\) is longer .* \(20\)"):
        check_fit(CONFIG, Right, 21, tmp_path)
    check_fit(CONFIG, Right, 20, tmp_path)


def test_an_xlm_trains_further_from_paddlenlps_folder(tmp_path, capsys):
    import paddle

    config = {
        "model_type": "xlm",
        "emb_dim": 8,
        "n_layers": 1,
        "n_heads": 2,
        "vocab_size": 9,
        "n_langs": 2,
    }
    (tmp_path / "config.json").write_text(json.dumps(config))
    model = xlm.pretraining_model(config)
    other = xlm.pretraining_model(config)
    paddle.save(model.state_dict(), str(tmp_path / "model_state.pdparams"))
    xlm.load_pretraining_weights(other, tmp_path)
    expected = model_tensors(model)
    assert all((v == expected[n]).all() for n, v in model_tensors(other).items())
    # The encoder alone.
    paddle.save(model.xlm.state_dict(), str(tmp_path / "model_state.pdparams"))
    xlm.load_pretraining_weights(other, tmp_path)
    assert "pred_layer.bias: freshly initialized" in capsys.readouterr().out
