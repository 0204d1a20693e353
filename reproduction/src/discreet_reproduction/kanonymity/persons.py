"""Made tables of persons for experiments: the 35 columns of Table 10 of [LS20]_, and persons in crashes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

TABLE_10: dict[str, tuple[float, int, int]] = {
    "Family Unit": (0.004533004, 1, 3),
    "Family Size": (1.442669131, 2, 16),
    "Age of Oldest Child": (58.72416437, 0, 90),
    "Age of Youngest Child": (56.41184578, 0, 90),
    "Relationship to Household Head": (0.824784829, 1, 12),
    "Gender": (0.241520454, 1, 2),
    "Age": (100.447806, 16, 90),
    "Birth Quarter": (1.252327406, 1, 4),
    "Marital Status": (1.167666581, 1, 6),
    "Birth Year": (100.3407262, 1889, 1963),
    "Times Married": (0.148862341, 0, 2),
    "Age at First Marriage": (20.55224999, 0, 90),
    "Children Ever Born": (4.679614458, 0, 13),
    "Race": (0.393475514, 1, 7),
    "Birthplace": (4471.679274, 1, 465),
    "Years in the United States": (0.63840967, 0, 5),
    "Language Spoken": (30.45895319, 1, 96),
    "Highest Grade of Schooling": (8.217952835, 1, 23),
    "Class of Worker": (0.068740375, 1, 2),
    "Class of Worker - Detailed": (11.5164085, 13, 29),
    "Weeks Worked Last Year": (168.0059844, 0, 52),
    "Hours Worked Last Week": (140.8818287, 1, 99),
    "Usual Hours of Work": (156.7482934, 0, 99),
    "Weeks Unemployed Last Year": (26.31284308, 0, 52),
    "Income From Wages": (98538554.92, 0, 75000),
    "Other Income": (2669021.007, 0, 75000),
    "Occupation": (81.01775489, 4, 79),
    "Migration Status, 5 Years": (0.459946975, 1, 4),
    "Place of Work, State": (94.98776039, 1, 80),
    "Means of Transportation to Work": (39.7001238, 11, 70),
    "Vehicle Occupancy": (0.708769336, 0, 7),
    "Time in Transit": (239.9953666, 0, 99),
    "Citizenship": (0.13065803, 0, 3),
    "Year of Immigration": (0.68959079, 0, 6),
    "Work Disability Status": (0.033916173, 1, 2),
}
"""Variance, least and greatest value of each column."""

NAMES = tuple(TABLE_10)

_LOADING = 0.5
"""Part of each column that a hidden one explains, so that columns are related."""


def made_wide(rows: int, columns: int, *, seed: int) -> NDArray[np.float64]:
    """Make rows whose columns have the ranges of Table 10 and nearly its variances.

    A beta distribution is fitted to each column's variance over its range: even about the middle where the column is
    spread out, and near its least value where it is not. Columns are joined by one hidden normal variable.

    Examples
    --------
    >>> made_wide(3, 15, seed=1).shape
    (3, 15)
    """
    from scipy.special import betaincinv, ndtr

    rng = np.random.default_rng([seed, 0x77696465])
    hidden = rng.standard_normal(rows)
    made = np.empty((rows, columns))
    for j, (variance, low, high) in enumerate(list(TABLE_10.values())[:columns]):
        share = variance / (high - low) ** 2
        mean = 0.5 if share > 0.06 else 0.2 if share > 0.01 else min(0.05, 5 * share)
        size = mean * (1 - mean) / share - 1
        own = rng.standard_normal(rows)
        even = ndtr(_LOADING * hidden + np.sqrt(1 - _LOADING**2) * own)
        drawn = betaincinv(mean * size, (1 - mean) * size, even)
        made[:, j] = np.clip(np.rint(low + (high - low) * drawn), low, high)
    return made


def made_crashes(rows: int, *, seed: int) -> NDArray[np.float64]:
    """Make persons in crashes: month, age, sex (1 or 2) and severity of the injury (0 to 5).

    Examples
    --------
    >>> made_crashes(3, seed=1).shape
    (3, 4)
    """
    rng = np.random.default_rng([seed, 0x66617273])
    young = rng.random(rows) < 0.55
    age = np.where(young, rng.normal(27, 9, rows), rng.normal(55, 17, rows)).round()
    columns = (
        rng.integers(1, 13, rows),
        np.clip(age, 0, 99),
        rng.choice([1, 2], rows, p=[0.66, 0.34]),
        rng.choice(6, rows, p=[0.3, 0.1, 0.12, 0.13, 0.34, 0.01]),
    )
    return np.stack(columns, axis=1).astype(np.float64)


def sample_rows(n: int, size: int, seed: tuple[int, ...]) -> NDArray[np.int64]:
    """Draw rows without replacement.

    Examples
    --------
    >>> len(set(sample_rows(10, 4, (1, 2)).tolist()))
    4
    """
    return np.random.default_rng(list(seed)).permutation(n)[:size]
