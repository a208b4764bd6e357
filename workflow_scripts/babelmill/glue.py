"""GLUE's tasks: their files, labels, metrics and submissions (Wang et al. 2019)."""

from dataclasses import dataclass

_BINARY = ("0", "1")
_ENTAILMENT = ("entailment", "not_entailment")
MISMATCHED = "_mismatched"


@dataclass(frozen=True)
class GlueTask:
    """One task.

    Attributes:
        name: of its folder in the official archives, and of its submission.
        labels: in the order of the model's outputs; none for a regression.
        metrics: what is reported; the best step is chosen by the first.
        dataset: its name in the datasets table; None - it must be there as files.
    """

    name: str
    labels: tuple[str, ...]
    metrics: tuple[str, ...]
    dataset: str | None = None

    def file(self, split: str) -> str:
        """The file of a split in the official archive."""
        if self.name == "MNLI" and split in ("dev", "test"):
            split += "_matched"
        return f"{self.name}/{split}.tsv"


GLUE = {
    "cola": GlueTask("CoLA", _BINARY, ("matthews",), "glue_cola"),
    "sst-2": GlueTask("SST-2", _BINARY, ("accuracy",), "glue_sst2"),
    "mrpc": GlueTask("MRPC", _BINARY, ("accuracy_f1", "accuracy", "f1")),
    "sts-b": GlueTask(
        "STS-B", (), ("pearson_spearman", "pearson", "spearman"), "glue_stsb"
    ),
    "qqp": GlueTask("QQP", _BINARY, ("accuracy_f1", "accuracy", "f1")),
    "mnli": GlueTask(
        "MNLI", ("entailment", "neutral", "contradiction"), ("accuracy",), "glue_mnli"
    ),
    "qnli": GlueTask("QNLI", _ENTAILMENT, ("accuracy",), "glue_qnli"),
    "rte": GlueTask("RTE", _ENTAILMENT, ("accuracy",), "glue_rte"),
    "wnli": GlueTask("WNLI", _BINARY, ("accuracy",)),
}


def evaluations(task: str, split: str) -> list[str]:
    """The splits of a task that are its ``dev`` or ``test``: MNLI has two of each."""
    return [split, f"{split}{MISMATCHED}"] if task == "mnli" else [split]


def submissions() -> dict[str, tuple[str, str]]:
    """Task and split of every submission, by the name of its file."""
    files = {entry.name: (task, "test") for task, entry in GLUE.items()}
    del files["MNLI"]
    matched, mismatched = (("mnli", split) for split in evaluations("mnli", "test"))
    return {**files, "MNLI-m": matched, "MNLI-mm": mismatched}
