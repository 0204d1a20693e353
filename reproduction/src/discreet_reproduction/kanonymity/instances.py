"""Tables for the experiments: the paper's twenty rows, its extracts where they are there, and made ones."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.datasets import made_people
from discreet.kanonymity.problem import Attribute, Categorical, Numeric, Problem
from discreet_reproduction.kanonymity.persons import NAMES, made_crashes, made_wide, sample_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

FARS = np.array(
    [
        [64, 2, 4, 0],
        [29, 1, 0, 0],
        [42, 2, 0, 0],
        [41, 2, 4, 1],
        [53, 1, 2, 1],
        [59, 1, 4, 0],
        [49, 1, 4, 0],
        [59, 1, 2, 0],
        [80, 1, 4, 0],
        [50, 1, 4, 0],
        [64, 1, 3, 0],
        [55, 1, 0, 0],
        [25, 1, 0, 0],
        [42, 1, 4, 0],
        [33, 1, 2, 0],
        [31, 2, 2, 0],
        [68, 1, 3, 0],
        [20, 2, 4, 0],
        [40, 1, 4, 1],
        [18, 1, 4, 0],
    ]
)
"""[LS20]_, Table 2a: twenty persons of the Fatality Analysis Reporting System of 2016, a public record."""

FARS_NAMES = ("AGE", "SEX", "INJ_SEV", "DRINKING")

EIGHT = ("SEX", "AGE", "MARST", "RACE", "BPL", "HIGRADE", "CLASSWKRD", "OCCSCORE")
FOUR = EIGHT[:4]
NUMBERS = ("AGE", "HIGRADE")
"""Columns of the eight that are numbers; the others are codes."""

_EXTRACT = re.compile(r"(\d+)k_(\d+)attr\.(?:txt|csv)")
_CRASH = ("MONTH", "AGE", "SEX", "INJ_SEV")


@final
@dataclass(frozen=True, eq=False)
class Instance:
    """A table of numbers, and where it comes from.

    Parameters
    ----------
    names
        Its columns.
    values
        ``(n, m)`` numbers.
    source
        In a few words.
    """

    names: tuple[str, ...]
    values: NDArray[np.float64]
    source: str

    def numeric(self) -> Problem:
        """State every column as a number, as most figures of the paper do (T15)."""
        return self._problem([Numeric(name) for name in self.names])

    def mixed(self) -> Problem:
        """State codes as sets of values, and what are numbers as numbers: for GCP."""
        return self._problem(
            [Numeric(name) if name in NUMBERS else Categorical(name) for name in self.names]
        )

    def _problem(self, attributes: Sequence[Attribute]) -> Problem:
        columns = dict(zip(self.names, self.values.T, strict=True))
        return Problem.from_columns(columns, attributes)

    def sample(self, rows: int, columns: int, seed: tuple[int, ...]) -> Instance:
        """Draw rows without replacement, and keep the first columns."""
        kept = sample_rows(len(self.values), rows, seed)
        return Instance(self.names[:columns], self.values[kept, :columns], self.source)


def fars(weights: Sequence[float] = (1, 1, 1, 1)) -> Problem:
    """State the twenty rows of Table 2a.

    Examples
    --------
    >>> fars()
    Problem(20 rows; AGE, SEX, INJ_SEV, DRINKING)
    """
    kinds = [Numeric(name, weight) for name, weight in zip(FARS_NAMES, weights, strict=True)]
    return Problem.from_columns(dict(zip(FARS_NAMES, FARS.T, strict=True)), kinds)


def census(rows: int, columns: int, *, seed: int, data: Path | None) -> Instance:
    """Give a table of the shape of the paper's census extracts.

    Parameters
    ----------
    rows
        Number of rows.
    columns
        4, 8, or up to 35 for the first of Table 10.
    seed
        Of made rows.
    data
        A folder with files such as ``20k_4attr.txt``: the one of that size, or else the first rows of a larger one.
    """
    found = _extract(rows, columns, data)
    if found is not None:
        return found
    if columns > len(EIGHT):
        values = made_wide(rows, columns, seed=seed)
        return Instance(NAMES[:columns], values, f"made, {columns} columns")
    made = made_people(rows, seed=seed)
    names = EIGHT[:columns]
    values = np.stack([made[name] for name in names], axis=1).astype(np.float64)
    return Instance(names, values, f"made, {columns} columns")


def _extract(rows: int, columns: int, data: Path | None) -> Instance | None:
    files = [] if data is None else sorted(data.iterdir())
    named = [(file, _EXTRACT.fullmatch(file.name)) for file in files]
    fitting = sorted(
        (int(match[1]), file.name, file)
        for file, match in named
        if match and int(match[2]) == columns and 1000 * int(match[1]) >= rows
    )
    if not fitting:
        return None
    file = fitting[0][2]
    values = _numbers(file)
    if values.shape[1] != columns or len(values) < rows:
        raise InvalidProblemError("data", f"{rows} rows and {columns} columns", file.name)
    names = NAMES[:columns] if columns > len(EIGHT) else EIGHT[:columns]
    whole = file.name if len(values) == rows else f"first rows of {file.name}"
    return Instance(names, values[:rows], whole)


def _numbers(file: Path) -> NDArray[np.float64]:
    """Read rows of numbers, separated by commas, semicolons or blanks, with or without names above them."""
    lines = [re.split(r"[\s,;]+", line.strip()) for line in file.read_text("utf-8-sig").split("\n")]
    rows = [line for line in lines if line != [""]]
    head = 0 if re.fullmatch(r"[-+.\d]+", rows[0][0]) else 1
    try:
        return np.array(rows[head:], dtype=np.float64)
    except ValueError:
        raise InvalidProblemError("data", "rows of numbers, all as long", file.name) from None


def crashes(rows: int, *, seed: int, data: Path | None) -> Instance:
    """Give persons in crashes: month, age, sex and severity, as in Appendix F.

    From ``person.csv`` of the public Fatality Analysis Reporting System where `data` holds it, without unknown ages,
    sexes and severities; else made.
    """
    file = None if data is None else data / "person.csv"
    if file is not None and file.is_file():
        import polars as pl

        table = pl.read_csv(file, encoding="utf8-lossy", infer_schema_length=0)
        known = table.select(pl.col(_CRASH).cast(pl.Float64, strict=False)).drop_nulls()
        known = known.filter(
            (pl.col("AGE") < 120) & pl.col("SEX").is_in([1.0, 2.0]) & (pl.col("INJ_SEV") < 7)
        )
        if len(known) >= rows:
            return Instance(_CRASH, known.head(rows).to_numpy(), "first rows of person.csv")
    return Instance(_CRASH, made_crashes(rows, seed=seed), "made")


def health_insurance(columns: int, *, data: Path | None) -> Instance:
    """Read 20,186 person-years of the RAND health insurance experiment, in 4 or 8 columns.

    The file is ``randhie.csv``, in `data` or where the package statsmodels is installed, which carries it.
    InvalidProblemError without it.
    """
    import polars as pl

    table = pl.read_csv(_rand_file(data), infer_schema_length=0).with_columns(
        pl.all().cast(pl.Float64, strict=False)
    )
    table = table.filter(pl.col("educdec").is_not_null()).with_columns(
        pl.col("disea", "educdec").round(mode="half_to_even"),
        pl.col("xage").floor(),
        (pl.col("income") / 1000).round(mode="half_to_even"),
    )
    eight = ("female", "child", "site", "num", "disea", "educdec", "xage", "income")
    names = eight if columns == len(eight) else ("female", "child", "num", "xage")
    return Instance(names, table.select(names).to_numpy(), "RAND health insurance experiment")


def _rand_file(data: Path | None) -> Path:
    spec = find_spec("statsmodels")
    homes = [] if data is None else [data]
    homes += [
        Path(home) / "datasets" / "randhie" / "src"
        for home in (spec.submodule_search_locations or [] if spec else [])
    ]
    for home in homes:
        if (home / "randhie.csv").is_file():
            return home / "randhie.csv"
    expected = (
        "a folder with randhie.csv, the RAND health insurance experiment, in the public domain; or its carrier: "
        "pip install statsmodels"
    )
    raise InvalidProblemError("--data", expected, "neither")
