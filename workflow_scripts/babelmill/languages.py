"""The languages that the workflow knows, from resources/languages.tsv."""

import csv
from pathlib import Path
from typing import NamedTuple

TABLE = Path(__file__).parents[2] / "resources" / "languages.tsv"


class Language(NamedTuple):
    """One row of the table."""

    code: str
    name: str
    segmenter: str
    note: str


def _read(path: Path) -> dict[str, Language]:
    with open(path, encoding="utf-8", newline="") as rows:
        return {
            row["code"]: Language(**row) for row in csv.DictReader(rows, delimiter="\t")
        }


LANGUAGES: dict[str, Language] = _read(TABLE)

# The fifteen of XNLI, in the order of the rows of the paper's table.
XNLI_LANGUAGES = (
    *("en", "fr", "es", "de", "el", "bg", "ru", "tr"),
    *("ar", "vi", "th", "zh", "hi", "sw", "ur"),
)
