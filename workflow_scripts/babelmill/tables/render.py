"""A table as CSV, Markdown and LaTeX.

In Markdown and LaTeX the best number of a column is bold, among the rows that may be
compared at all: those that agree in the fields of ``Table.compare_by``. A number
without a rival is not bold.
"""

import csv
import io
import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal

from babelmill.files import write_text
from babelmill.tables.aggregate import THIS_RUN, Number, Row

_TEXT_COLUMNS = ("model", "setting", "data", "seeds")


@dataclass(frozen=True)
class Column:
    """A column of numbers: its name in CSV, its title for people, with deviation?"""

    name: str
    title: str
    std: bool = False


@dataclass(frozen=True)
class Table:
    """Rows in the order of printing, columns, and what makes rows comparable."""

    rows: list[Row]
    columns: list[Column]
    compare_by: tuple[str, ...]


def write_table(
    table: Table,
    csv_path: str | os.PathLike[str],
    md_path: str | os.PathLike[str],
    tex_path: str | os.PathLike[str],
) -> None:
    """Write the table in all three forms."""
    write_text(csv_path, to_csv(table))
    write_text(md_path, to_markdown(table))
    write_text(tex_path, to_latex(table))


def to_csv(table: Table) -> str:
    """CSV: percent with one decimal; deviations have columns of their own."""
    header = [*_TEXT_COLUMNS]
    for column in table.columns:
        header += [column.name, f"{column.name}_std"] if column.std else [column.name]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*header, "source"])
    for row in table.rows:
        cells = _texts(row)
        for column in table.columns:
            number = row.numbers.get(column.name)
            cells.append(_mean(number))
            if column.std:
                cells.append(_std(number))
        writer.writerow([*cells, row.source])
    return text.getvalue()


def to_markdown(table: Table) -> str:
    """A GitHub table, and a line below it that says how to read it."""
    titles = [*_TEXT_COLUMNS, *(column.title for column in table.columns), "source"]
    rules = ["---"] * 3 + ["---:"] * (len(table.columns) + 1) + ["---"]
    cells = _cells(table, _escape_markdown, lambda text: f"**{text}**", " ± ")
    lines = [" | ".join(row) for row in [titles, rules, *cells]]
    return "".join(f"| {line} |\n" for line in lines) + f"\n{_legend(table)}\n"


def to_latex(table: Table) -> str:
    """A tabular for a document that uses booktabs."""
    titles = [*_TEXT_COLUMNS, *(column.title for column in table.columns), "source"]
    rows = _cells(table, _escape_latex, lambda text: rf"\textbf{{{text}}}", r" $\pm$ ")
    lines = [
        r"% Needs \usepackage{booktabs}.",
        f"% {_legend(table).replace(' ± ', ' +- ')}",
        rf"\begin{{tabular}}{{lll{'r' * (len(table.columns) + 1)}l}}",
        r"\toprule",
        _latex_row(map(_escape_latex, titles)),
        r"\midrule",
    ]
    ours = [row.source == THIS_RUN for row in table.rows]
    for index, row in enumerate(rows):
        if index and ours[index] != ours[index - 1]:
            lines.append(r"\midrule")
        lines.append(_latex_row(row))
    lines += [r"\bottomrule", r"\end{tabular}"]
    return "\n".join(lines) + "\n"


def _latex_row(cells: Iterable[str]) -> str:
    return " & ".join(cells) + r" \\"


def _cells(
    table: Table,
    escape: Callable[[str], str],
    bold: Callable[[str], str],
    plus_minus: str,
) -> Iterator[list[str]]:
    best = _best(table)
    for index, row in enumerate(table.rows):
        cells = [escape(text) for text in _texts(row)]
        for column in table.columns:
            number = row.numbers.get(column.name)
            text = _mean(number)
            if (index, column.name) in best:
                text = bold(text)
            if column.std and _std(number):
                text += plus_minus + _std(number)
            cells.append(text)
        yield [*cells, escape(row.source)]


def _best(table: Table) -> set[tuple[int, str]]:
    """Row number and column of the numbers to print in bold, ties as printed."""
    groups: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for index, row in enumerate(table.rows):
        key = (*(getattr(row, name) for name in table.compare_by),)
        groups[key].append(index)
    best = set()
    for group in groups.values():
        for column in table.columns:
            printed = {
                index: float(_mean(table.rows[index].numbers[column.name]))
                for index in group
                if column.name in table.rows[index].numbers
            }
            if len(printed) > 1:
                top = max(printed.values())
                best |= {(i, column.name) for i, p in printed.items() if p == top}
    return best


def _texts(row: Row) -> list[str]:
    seeds = "" if row.seeds is None else str(row.seeds)
    return [row.model, row.setting, row.data, seeds]


def _mean(number: Number | None) -> str:
    return "" if number is None else _one_decimal(number.mean)


def _std(number: Number | None) -> str:
    if number is None or number.std is None:
        return ""
    return _one_decimal(number.std)


def _one_decimal(number: float) -> str:
    # Format strings would turn 88.35 into 88.3: its nearest double is a bit below.
    return str(Decimal(repr(number)).quantize(Decimal("0.1"), ROUND_HALF_UP))


def _legend(table: Table) -> str:
    return (
        "Percent: mean over seeds ± sample standard deviation over seeds. Bold: the"
        f" best of the rows with the same {' and '.join(table.compare_by)}."
    )


def _escape_markdown(text: str) -> str:
    return "".join(f"\\{c}" if c in "\\|*_`<[" else c for c in text)


_LATEX = {
    **{character: f"\\{character}" for character in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
}


def _escape_latex(text: str) -> str:
    return "".join(_LATEX.get(character, character) for character in text)
