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
        text_columns: the one or two columns or keys with texts (``tsv``, ``jsonl``).
        label_column: the column or key with the label; ``None`` where the set has no
            labels (``tsv``, ``jsonl``).
    """

    path: Path
    split: str
    lang: str | None = None
    task_name: str | None = None
    text_columns: tuple[str, ...] = ()
    label_column: str | None = None
