"""Read what people write: grids, budgets, tables, priors, losses. Every refusal names the argument."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from discreet.core import printed
from discreet.core.errors import InvalidProblemError
from discreet.core.exact import to_fraction
from discreet.core.guarantee import read_unit
from discreet.tables.arrays import read_matrix
from discreet.tables.columns import numbers_of
from discreet.tables.reading import read_table

if TYPE_CHECKING:
    from collections.abc import Mapping
    from fractions import Fraction

    import polars as pl
    from numpy.typing import NDArray

Prior = tuple["NDArray[np.float64] | None", float]
"""Probabilities, or ``None`` where they are uniform, and the sum that the weights had before."""

_GRID = re.compile(r"\s*([0-9]{1,18})\s*[xX]\s*([0-9]{1,18})\s*")
_NUMBER = re.compile(r"\s*[-+\d.]")


def parse_grid(text: str, most: int) -> tuple[int, int]:
    """Return the rows and columns of ``20x25``; InvalidProblemError for another form or more than `most` cells.

    Examples
    --------
    >>> parse_grid("20x25", 5120)
    (20, 25)
    >>> parse_grid("20*25", 5120)
    Traceback (most recent call last):
    discreet.core.errors.InvalidProblemError: --grid: expected rows x columns such as 20x25, got '20*25'
    >>> parse_grid("9000x9000", 5120)
    Traceback (most recent call last):
    discreet.core.errors.InvalidProblemError: --grid: expected at most 5,120 secrets, got 81,000,000, a cell each
    """
    sides = _GRID.fullmatch(text)
    rows, columns = (int(sides[1]), int(sides[2])) if sides else (0, 0)
    if not rows or not columns:
        raise InvalidProblemError("--grid", "rows x columns such as 20x25", repr(text))
    if rows * columns > most:
        got = f"{printed.count(rows * columns)}, a cell each"
        raise InvalidProblemError("--grid", f"at most {printed.count(most)} secrets", got)
    return rows, columns


def parse_budget(text: str) -> tuple[Fraction, str | None]:
    """Return the exact number of ``2``, ``1/3`` or ``1.5/km``, and the unit, or None where none stands there.

    InvalidProblemError for a number that is not positive, or a unit that is no word such as km.

    Examples
    --------
    >>> parse_budget("1.5/km"), parse_budget("1/3"), parse_budget("1/3/km")
    ((Fraction(3, 2), 'km'), (Fraction(1, 3), None), (Fraction(1, 3), 'km'))
    """
    number, slash, unit = text.rpartition("/")
    if not slash or _NUMBER.match(unit):
        number, unit = text, ""
    else:
        unit = read_unit(unit.strip(), "--epsilon")
    epsilon = to_fraction(number, "--epsilon")
    if epsilon <= 0:
        raise InvalidProblemError("--epsilon", "a positive number", repr(text))
    return epsilon, unit or None


def read_prior(text: str, table: pl.DataFrame | None, names: Mapping[str, int]) -> Prior:
    """Read ``uniform``, a column of the table, or a file with columns secret and weight; and normalize.

    Parameters
    ----------
    text
        ``uniform``, the name of a column, or the path of a file.
    table
        The table of places, if there is one.
    names
        Names of the secrets, labels and numbers, with their indices.

    Returns
    -------
    tuple
        Probabilities ``(n,)`` in the order of the secrets, or ``None`` for uniform ones, and the sum of the weights
        before they were divided by it. InvalidProblemError for a file that does not name each secret once, or
        negative weights.
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
    places = [names.get(str(name)) for name in listed["secret"].to_list()]
    known = [place for place in places if place is not None]
    if len(known) != len(places) or len(places) != n or len(set(places)) != n:
        got = f"{len(places)} rows, {len(places) - len(known)} of other secrets"
        raise InvalidProblemError("--prior", f"each of {n} secrets once", got)
    prior = np.zeros(n)
    prior[known] = weights
    return _normalize(prior)


def _normalize(weights: NDArray[np.float64]) -> Prior:
    """Return weights ``(n,)`` divided by their sum, and the sum.

    InvalidProblemError for negative ones, or a sum that is not positive and finite.
    """
    if (weights < 0).any():
        row = int(np.argmax(weights < 0))
        got = f"{printed.estimate(weights[row])} at {row}"
        raise InvalidProblemError("--prior", "non-negative weights", got)
    total = float(weights.sum())
    if not 0 < total < np.inf:
        raise InvalidProblemError(
            "--prior", "a positive finite sum", f"a sum of {printed.estimate(total)}"
        )
    return weights / total, total


def read_loss(text: str) -> str | NDArray[np.float64]:
    """Return the matrix of a ``.npy`` or ``.csv`` file, secrets by reports, or any other text as the name of a loss.

    InvalidProblemError for a file that cannot be read; the name is not checked here.
    """
    if Path(text).suffix.lower() not in {".npy", ".csv"}:
        return text
    return read_matrix(text, "--loss")


def parse_reports(
    text: str, names: Mapping[str, int], *, option: str = "--reports"
) -> NDArray[np.int64]:
    """Return secrets, int64 ``(m,)``, from indices or labels with commas between them, or from a file with one a line.

    `names` maps both to indices. InvalidProblemError, naming `option`, for unknown secrets or none; repeated ones
    stay.
    """
    path = Path(text)
    try:
        typed = path.read_text(encoding="utf-8") if path.is_file() else text.replace(",", "\n")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidProblemError(option, "a text file", f"{text}: {error}") from None
    words = [word.strip() for word in typed.splitlines() if word.strip()]
    unknown = [word for word in words if word not in names]
    if unknown or not words:
        expected = f"secrets by index from 0 to {max(names.values())}, or by label"
        raise InvalidProblemError(option, expected, repr(unknown[0] if unknown else text))
    return np.array([names[word] for word in words], dtype=np.int64)
