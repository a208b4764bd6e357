"""Examples a CPU-second of fine-tuning, against PaddleNLP's xnli_train.py.

    python benchmarks/finetuning.py --data folder [--examples 15001] [--engine static]

One epoch of English MultiNLI (``{data}/xnli/XNLI-MT-1.0/``) and the same small XLM for
both, fresh, in batches of 8 as there, one thread; seconds are the CPU's. PaddleNLP's
way is rebuilt from its parts: a lazy data set that tokenizes each pair when it is asked
for, a DataLoader of random batches padded to their longest, and its dygraph loop with
Adam at a constant rate. Ours tokenizes once, which is counted as well, groups pairs of
like length, and computes the last layer for the first token alone. Word embeddings are
frozen in both: of a small model with 95,000 of them, they would be nearly all the work.
Besides the ratio, losses and dev accuracies of both are printed.
"""

import argparse
import contextlib
import io
import logging
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "workflow_scripts"))

import numpy as np

from babelmill.finetuning.batches import Labeled, TrainingBatches
from babelmill.finetuning.evaluation import evaluate
from babelmill.finetuning.objective import of_parts
from babelmill.heads import Encoded
from babelmill.heads.sequence_classification import SequenceClassification
from babelmill.models import runtime, xlm
from babelmill.tasks.source import Source
from babelmill.tasks.xnli import read
from babelmill.tokenizers.folder import load_xlm
from babelmill.training.engines import make_engine
from babelmill.training.read_ahead import read_ahead
from babelmill.training.run import Run
from babelmill.training.steps import Steps

BATCH, LENGTH = 8, 128
LABELS = ["entailment", "neutral", "contradiction"]
HEAD = SequenceClassification(LABELS, "accuracy")
SETTINGS = {
    **{"seed": 1, "learning_rate": 3e-4, "lr_scheduler_type": "constant"},
    **{"warmup_steps": 0, "max_steps": 0, "weight_decay": 0.0},
    **{"adam_beta1": 0.9, "adam_beta2": 0.999, "adam_epsilon": 1e-8},
    # As there: gradients are not clipped.
    "max_grad_norm": 1e9,
}


def model(tokenizer):
    """The XLM that both train."""
    import paddle

    sizes = {"emb_dim": 128, "n_layers": 4, "n_heads": 4}
    config = xlm.full_config({**sizes, "max_position_embeddings": LENGTH}, tokenizer)
    paddle.seed(1)
    made = xlm.classification_model(config, HEAD.outputs, dropout=0.1)
    xlm.freeze_embeddings(made)
    return made, config


def encoded(examples, tokenizer) -> Encoded:
    return HEAD.encode(examples, tokenizer, "en", {"max_seq_length": LENGTH})


def ours(examples, tokenizer, engine: str):
    """CPU-seconds, losses and the trained model of our way."""
    layer, config = model(tokenizer)
    start = time.process_time()
    part = encoded(examples, tokenizer)
    train = Labeled(part.inputs, HEAD.targets(part))
    tokenized = time.process_time()
    made = make_engine(engine, layer, of_parts(HEAD, xlm), SETTINGS)
    batches = TrainingBatches(
        train,
        HEAD,
        xlm.input_fields(config),
        BATCH,
        tokenizer.pad_id,
        SETTINGS["seed"],
        Run(engine),
    )
    steps = Steps(made, SETTINGS)
    with contextlib.closing(
        read_ahead(batches.from_step(0, batches.per_epoch), 4)
    ) as source:
        losses = [steps.take(parts, n).loss for n, (parts, _) in enumerate(source)]
    end = time.process_time()
    print(f"tokenization: {(tokenized - start) / (end - start):.1%} of our epoch")
    return end - start, losses, made.layer()


def theirs(examples, tokenizer, folder: Path):
    """CPU-seconds, losses and the trained model of PaddleNLP's way."""
    import paddle
    from paddlenlp.data import Pad, Stack, Tuple
    from paddlenlp.transformers import XLMTokenizer

    files = [str(folder / name) for name in ("vocab.json", "merges.txt")]
    their_tokenizer = XLMTokenizer(*files)
    layer, _ = model(tokenizer)
    targets = [LABELS.index(example.label) for example in examples]

    class Pairs(paddle.io.Dataset):
        def __len__(self):
            return len(examples)

        def __getitem__(self, row):
            pair = examples[row].text_a, examples[row].text_b
            encoded = their_tokenizer(
                *pair,
                max_length=LENGTH,
                truncation=True,
                return_attention_mask=True,
                lang="en",
            )
            return encoded["input_ids"], encoded["attention_mask"], targets[row]

    pad = Tuple(
        Pad(pad_val=tokenizer.pad_id, dtype="int64"),
        Pad(pad_val=0),
        Stack(dtype="int64"),
    )
    order = paddle.io.DistributedBatchSampler(Pairs(), BATCH, shuffle=True)
    rate = paddle.optimizer.lr.LambdaDecay(SETTINGS["learning_rate"], lambda _: 1.0)
    optimizer = paddle.optimizer.Adam(
        rate, epsilon=SETTINGS["adam_epsilon"], parameters=layer.parameters()
    )
    loss_of = paddle.nn.loss.CrossEntropyLoss()
    losses = []
    layer.train()
    start = time.process_time()
    for input_ids, attention_mask, labels in paddle.io.DataLoader(
        Pairs(), batch_sampler=order, collate_fn=pad, num_workers=0, return_list=True
    ):
        langs = paddle.ones_like(input_ids) * tokenizer.lang2id["en"]
        logits = layer(input_ids, langs, attention_mask=attention_mask)
        loss = loss_of(logits, labels)
        loss.backward()
        optimizer.step()
        rate.step()
        optimizer.clear_grad()
        losses.append(loss.item())
    return time.process_time() - start, losses, layer


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--examples", type=int, help="of training, all by default")
    parser.add_argument("--engine", choices=("dynamic", "static"), default="dynamic")
    args = parser.parse_args()

    runtime.prepare(0, threads=1)
    with contextlib.redirect_stderr(io.StringIO()):
        # All of it, before our own way to import a part of it.
        import paddlenlp.transformers  # noqa: F401
    logging.disable(logging.INFO)
    folder = args.data / "xlm_xnli15_bpe" / "hf_format"
    tokenizer = load_xlm(folder, {"mode": "paddlenlp"})
    xnli = args.data / "xnli"
    path = xnli / "XNLI-MT-1.0" / "multinli" / "multinli.train.en.tsv"
    train = [e for _, e in read(Source(path, "train", "en")) if e][: args.examples]
    dev = xnli / "XNLI-1.0" / "xnli.dev.tsv"
    dev = encoded([e for _, e in read(Source(dev, "dev", "en")) if e], tokenizer)

    speeds = []
    for name, run in (
        ("ours", lambda: ours(train, tokenizer, args.engine)),
        ("PaddleNLP's", lambda: theirs(train, tokenizer, folder)),
    ):
        seconds, losses, trained = run()
        accuracy = evaluate(xlm, trained, dev, HEAD, tokenizer.pad_id)
        speeds.append(len(train) / seconds)
        curve = " ".join(f"{np.mean(part):.3f}" for part in np.array_split(losses, 10))
        print(
            f"{name:12} {speeds[-1]:6.1f} examples/s, dev {accuracy:.1%}, loss {curve}"
        )
    print(f"ours / PaddleNLP's: {speeds[0] / speeds[1]:.2f} (wanted: 2)")


if __name__ == "__main__":
    main()
