"""Read what people write: grids, budgets, tables, priors, losses. Every refusal names the argument."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.exact import to_fraction

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from fractions import Fraction

    import polars as pl
    from numpy.typing import NDArray

__all__ = [
    "Prior",
    "columns_of",
    "numbers_of",
    "parse_budget",
    "parse_grid",
    "parse_reports",
    "read_loss",
    "read_prior",
    "read_table",
]

Prior = tuple["NDArray[np.float64] | None", float]
"""Probabilities, or ``None`` where they are uniform, and the sum that the weights had before."""

_GRID = re.compile(r"\s*(\d+)\s*[xX]\s*(\d+)\s*")
_NUMBER = re.compile(r"\s*[-+\d.]")
_READERS = {".csv": ",", ".tsv": "\t", ".txt": ",", ".parquet": ""}


def parse_grid(text: str) -> tuple[int, int]:
    """Read ``20x25`` as 20 rows and 25 columns.

    Examples
    --------
    >>> parse_grid("20x25")
    (20, 25)
    >>> parse_grid("20*25")
    Traceback (most recent call last):
    discreet.core.errors.InvalidProblemError: --grid: expected rows x columns such as 20x25, got '20*25'
    """
    found = _GRID.fullmatch(text)
    if not found or not int(found[1]) or not int(found[2]):
        raise InvalidProblemError("--grid", "rows x columns such as 20x25", repr(text))
    return int(found[1]), int(found[2])


def parse_budget(text: str) -> tuple[Fraction, str | None]:
    """Read ``2``, ``1/3`` or ``1.5/km``: the number, and the unit where it stands there.

    Examples
    --------
    >>> parse_budget("1.5/km"), parse_budget("1/3"), parse_budget("1/3/km")
    ((Fraction(3, 2), 'km'), (Fraction(1, 3), None), (Fraction(1, 3), 'km'))
    """
    number, slash, unit = text.rpartition("/")
    if not slash or _NUMBER.match(unit):
        number, unit = text, ""
    elif not unit.strip():
        raise InvalidProblemError("--epsilon", "a number such as 2, or 2/km", repr(text))
    epsilon = to_fraction(number, "--epsilon")
    if epsilon <= 0:
        raise InvalidProblemError("--epsilon", "a positive number", repr(text))
    return epsilon, unit.strip() or None


def read_table(path: str, argument: str) -> pl.DataFrame:
    """Read a CSV or Parquet file with a header.

    Raises
    ------
    InvalidProblemError
        For a file that cannot be read, of another kind, or without rows.
    """
    import polars as pl

    file = Path(path)
    kind = file.suffix.lower()
    if kind not in _READERS:
        raise InvalidProblemError(
            argument, f"a file that ends in {', '.join(_READERS)}", repr(path)
        )
    try:
        if kind == ".parquet":
            table = pl.read_parquet(file)
        else:
            table = pl.read_csv(file, separator=_READERS[kind], infer_schema_length=None)
    except (OSError, pl.exceptions.PolarsError) as error:
        reason = str(error).partition("\n")[0]
        raise InvalidProblemError(
            argument, "a table that can be read", f"{path}: {reason}"
        ) from None
    if not table.height:
        raise InvalidProblemError(argument, "a table with rows", f"{path} without any")
    return table


def columns_of(table: pl.DataFrame, names: Sequence[str], argument: str) -> NDArray[np.float64]:
    """Take columns of finite numbers, ``(rows, columns)``."""
    return np.stack([numbers_of(table, name, argument) for name in names], axis=1)


def numbers_of(table: pl.DataFrame, name: str, argument: str) -> NDArray[np.float64]:
    """Take one column of finite numbers; the file is public, so the row may be named."""
    if name not in table.columns:
        known = ", ".join(table.columns)
        raise InvalidProblemError(argument, f"a column of the table ({known})", repr(name))
    series = table[name]
    if not series.dtype.is_numeric():
        raise InvalidProblemError(argument, f"numbers in column {name}", str(series.dtype))
    values = np.array(series.cast(float).fill_null(float("nan")).to_list(), dtype=np.float64)
    wrong = np.flatnonzero(~np.isfinite(values))
    if wrong.size:
        row = int(wrong[0])
        shown = series[row]
        got = f"{'nothing' if shown is None else shown} in row {row + 1}"
        raise InvalidProblemError(argument, f"finite numbers in column {name}", got)
    return values


def read_prior(text: str, table: pl.DataFrame | None, names: Mapping[str, int]) -> Prior:
    """Read ``uniform``, a column of the table, or a file with columns secret and weight; and normalize.

    Parameters
    ----------
    text
        What was given.
    table
        The table of places, if there is one.
    names
        Names of the secrets, labels and numbers, with their indices.

    Returns
    -------
    tuple
        Probabilities, or ``None`` for uniform ones, and the sum before they were divided by it.
    """
    if text == "uniform":
        return None, 1.0
    if table is not None and text in table.columns:
        return _normalize(numbers_of(table, text, "--prior"))
    if not Path(text).is_file():
        columns = "" if table is None else f", a column of the table ({', '.join(table.columns)})"
        expected = f"uniform{columns}, or a file with columns secret and weight"
        raise InvalidProblemError("--prior", expected, repr(text))
    listed = read_table(text, "--prior")
    weights = numbers_of(listed, "weight", "--prior")
    if "secret" not in listed.columns:
        raise InvalidProblemError(
            "--prior", "a column secret in the file", ", ".join(listed.columns)
        )
    n = len(set(names.values()))
    found = [names.get(str(name)) for name in listed["secret"].to_list()]
    known = [place for place in found if place is not None]
    if len(known) != len(found) or len(found) != n or len(set(found)) != n:
        got = f"{len(found)} rows, {len(found) - len(known)} of other secrets"
        raise InvalidProblemError("--prior", f"each of {n} secrets once", got)
    prior = np.zeros(n)
    prior[known] = weights
    return _normalize(prior)


def _normalize(weights: NDArray[np.float64]) -> Prior:
    if (weights < 0).any():
        row = int(np.argmax(weights < 0))
        raise InvalidProblemError("--prior", "non-negative weights", f"{weights[row]:g} at {row}")
    total = float(weights.sum())
    if not 0 < total < np.inf:
        raise InvalidProblemError(
            "--prior", "weights with a positive finite sum", f"a sum of {total:g}"
        )
    return weights / total, total


def read_loss(text: str) -> str | NDArray[np.float64]:
    """Read a loss: a matrix from a ``.npy`` or ``.csv`` file, or else the name as it is."""
    path = Path(text)
    if path.suffix.lower() not in {".npy", ".csv"}:
        return text
    try:
        if path.suffix.lower() == ".npy":
            matrix = np.load(path, allow_pickle=False)
        else:
            matrix = np.loadtxt(path, delimiter=",", ndmin=2)
    except (OSError, ValueError, EOFError) as error:
        got = f"{text}: {str(error).partition(chr(10))[0]}"
        raise InvalidProblemError("--loss", "a matrix of numbers", got) from None
    return np.asarray(matrix)


def parse_reports(text: str, names: Mapping[str, int]) -> NDArray[np.int64]:
    """Read the secrets that may be reported: indices or labels, separated by commas, or in a file, one a line."""
    path = Path(text)
    try:
        given = path.read_text(encoding="utf-8") if path.is_file() else text.replace(",", "\n")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidProblemError("--reports", "a text file", f"{text}: {error}") from None
    asked = [word.strip() for word in given.splitlines() if word.strip()]
    unknown = [word for word in asked if word not in names]
    if unknown or not asked:
        expected = f"secrets by index from 0 to {max(names.values())}, or by label"
        raise InvalidProblemError("--reports", expected, repr(unknown[0] if unknown else text))
    return np.array([names[word] for word in asked], dtype=np.int64)
