"""What the reader of a layout is given."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Source:
    """One file of task data and how to read it.

    Attributes:
        path: the file.
        split: ``train``, ``dev`` or ``test``.
        lang: the language wanted, where one file holds several (``xnli``).
        task_name: the GLUE task, in lower case (``glue``).
        text_columns: the one or two columns or keys with texts (``tsv``, ``jsonl``,
            ``multiple_choice``).
        label_column: the column or key with the label; ``None`` where the set has no
            labels (``tsv``, ``jsonl``, ``multiple_choice``; a number for ``conll``).
        token_column: the number of the column with the tokens (``conll``).
        choice_columns: the keys of the choices, or the one of a list of them
            (``multiple_choice``).
        labels: all names of labels; none for a regression, and where the training set
            says which there are (``conll``, ``multiple_choice``).
    """

    path: Path
    split: str
    lang: str | None = None
    task_name: str | None = None
    text_columns: tuple[str, ...] = ()
    label_column: str | None = None
    token_column: int = 0
    choice_columns: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
