"""From scores of single runs to the rows of a table."""

import csv
import os
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from babelmill.errors import UserError
from babelmill.files import read_lines

THIS_RUN = "this run"


@dataclass(frozen=True)
class Number:
    """Mean over seeds in percent, and the sample standard deviation (n - 1) over them.

    ``std`` is ``None`` for one seed and for published numbers, which come without.
    """

    mean: float
    std: float | None = None


@dataclass(frozen=True)
class Row:
    """One row of a table; a column that ``numbers`` lacks stays empty."""

    model: str
    setting: str
    data: str
    seeds: int | None
    numbers: dict[str, Number]
    source: str


@dataclass
class Run:
    """What one model, in one setting, scored on one kind of data.

    ``values[seed][column]`` is a fraction.
    """

    model: str
    setting: str
    data: str
    values: dict[int, dict[str, float]] = field(default_factory=dict)

    def row(self, columns: Sequence[str], average: str | None = None) -> Row:
        """Aggregate over the seeds.

        Args:
            columns: all of these must be there, for every seed.
            average: name of a column to add: the mean over ``columns`` of each seed,
                aggregated over the seeds.

        Raises:
            UserError: a score is missing; the message names it.
        """
        for seed, values in sorted(self.values.items()):
            if missing := [column for column in columns if column not in values]:
                raise UserError(
                    f"no score of model {self.model}, setting {self.setting}, data"
                    f" {self.data}, seed {seed} for {', '.join(missing)}: make it, or"
                    " take it out of the table"
                )
        seeds = self.values.values()
        numbers = {
            column: _number([values[column] for values in seeds]) for column in columns
        }
        if average:
            numbers[average] = _number(
                [statistics.fmean(values[name] for name in columns) for values in seeds]
            )
        return Row(
            self.model, self.setting, self.data, len(seeds), numbers, source=THIS_RUN
        )


def _number(fractions: Sequence[float]) -> Number:
    percent = [100 * fraction for fraction in fractions]
    std = statistics.stdev(percent) if len(percent) > 1 else None
    return Number(statistics.fmean(percent), std)


def gather_runs(
    values: Iterable[tuple[tuple[str, str, str], int, str, float]],
) -> list[Run]:
    """Gather ``((model, setting, data), seed, column, fraction)`` into runs.

    The runs come sorted by data, setting and model, so that neighbors compare.
    """
    found: dict[tuple[str, str, str], Run] = {}
    for name, seed, column, value in values:
        run = found.setdefault(name, Run(*name))
        run.values.setdefault(seed, {})[column] = value
    return sorted(found.values(), key=lambda run: (run.data, run.setting, run.model))


def published_rows(
    path: str | os.PathLike[str], columns: Sequence[str], average: str | None = None
) -> list[Row]:
    """Read published numbers, in percent, and mark the rows as published.

    Args:
        path: a CSV file with the columns model, setting, data, source, and one for
            each number.
        columns: the numbers wanted.
        average: the column that holds the average over all other numbers of the file;
            taken only where ``columns`` are all of them, for the average over some
            languages is another quantity.

    Raises:
        UserError: a column is missing, or a number is none.
    """
    table = csv.DictReader(read_lines(path))
    names = ["model", "setting", "data", "source"]
    header = table.fieldnames or []
    if missing := [name for name in names if name not in header]:
        raise UserError(f"{path}, line 1: no column {', '.join(missing)}")
    wanted = [column for column in columns if column in header]
    if average and set(header) - {*names, average} == set(columns):
        wanted.append(average)
    rows = []
    for row in table:
        where = f"{path}, line {table.line_num}"
        numbers = {
            column: Number(_percent(row[column], f"{where}: {column}"))
            for column in wanted
            if row[column]
        }
        source = f"published: {row['source']}"
        rows.append(
            Row(row["model"], row["setting"], row["data"], None, numbers, source)
        )
    return rows


def _percent(text: str, where: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise UserError(f"{where} is {text!r}, not a number") from None
