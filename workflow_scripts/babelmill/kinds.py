"""The kinds of tasks: which layouts of data are of one, and how it is judged.

``babelmill.heads`` has the class of each kind, which needs more than a plan may load.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from babelmill.errors import UserError


@dataclass(frozen=True)
class Kind:
    """One kind of tasks.

    Attributes:
        layouts: of its data, as the config's ``format`` names them, and what of a
            task's entry says what stands where in them.
        metrics: those that are reported together; the first of the first is what the
            best step is chosen by where the config says nothing.
        predictions: the suffix of a file of predictions.
        reading: what of a task's entry, besides the length of inputs, decides what is
            read of a text.
    """

    layouts: Mapping[str, tuple[str, ...]]
    metrics: tuple[tuple[str, ...], ...]
    predictions: str = "tsv"
    reading: tuple[str, ...] = ()


KINDS = {
    "sequence_classification": Kind(
        layouts={
            "xnli": (),
            "glue": (),
            "tsv": ("text_columns", "label_column"),
            "jsonl": ("text_columns", "label_column"),
        },
        metrics=(
            *(("accuracy",), ("matthews",), ("f1",), ("accuracy_f1",)),
            *(("pearson",), ("spearman",), ("pearson_spearman",)),
        ),
    ),
    "token_classification": Kind(
        layouts={"conll": ("token_column", "label_column")},
        metrics=(("f1",), ("accuracy",)),
    ),
    "question_answering": Kind(
        layouts={"squad": ()},
        metrics=(("f1", "exact_match"),),
        predictions="json",
        reading=("doc_stride", "max_query_length", "max_answer_length"),
    ),
    "multiple_choice": Kind(
        layouts={"multiple_choice": ("text_columns", "choice_columns", "label_column")},
        metrics=(("accuracy",),),
    ),
}
KIND_OF = {layout: name for name, kind in KINDS.items() for layout in kind.layouts}


def reading(kind: str) -> tuple[str, ...]:
    """The settings that decide what is read of a text."""
    return ("max_seq_length", *KINDS[kind].reading)


def reported(kind: str, metric: str) -> list[str]:
    """A metric, and those that are reported with it.

    Raises:
        UserError: the kind of task has no such metric.
    """
    for together in KINDS[kind].metrics:
        if metric in together:
            return sorted(together, key=lambda name: name != metric)
    names = [name for together in KINDS[kind].metrics for name in together]
    raise UserError(f"metric {metric} is not for {kind}; there are: {', '.join(names)}")
