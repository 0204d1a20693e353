"""Synthetic tables with a row for each person: patients of a region, and people of a census."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.core.spaces.inputs import positive_count

if TYPE_CHECKING:
    from numpy.typing import NDArray

_DISEASES = ("asthma", "diabetes", "flu", "gout", "heart disease", "migraine")
_AGES = (25, 60, 35, 55, 70, 40)
"""Where the ages of each disease are centered."""


def made_patients(n: int = 2_000, *, seed: int = 0) -> dict[str, list[object]]:
    """Generate patients: ``age``, ``sex``, ``zip`` and ``disease``.

    ``O(n)``.

    InvalidProblemError for `n` below 1.

    Parameters
    ----------
    n
        Number of rows, at least 1.
    seed
        Non-negative integer; equal seeds make equal patients.

    Returns
    -------
    dict
        Lists of `n` by name: ``age`` (whole years, 0 to 99), ``sex`` ("F" or "M"), ``zip`` and ``disease`` (texts).
        Ages depend on the disease; few people live in most postal codes; :func:`zip_paths` says which codes are near
        each other.

    Examples
    --------
    >>> {name: len(column) for name, column in made_patients(100).items()}
    {'age': 100, 'sex': 100, 'zip': 100, 'disease': 100}
    """
    n = positive_count(n, "n")
    rng = np.random.default_rng([seed, 0x706174])
    disease = rng.choice(len(_DISEASES), n, p=[0.2, 0.2, 0.25, 0.1, 0.15, 0.1])
    age = np.clip(rng.normal(np.array(_AGES)[disease], 14), 0, 99).astype(int)
    codes = [path[-1] for path in zip_paths()]
    likely = 1.0 / np.arange(1, len(codes) + 1) ** 0.8
    home = rng.choice(rng.permutation(len(codes)), n, p=likely / likely.sum())
    return {
        "age": age.tolist(),
        "sex": rng.choice(["F", "M"], n).tolist(),
        "zip": [codes[at] for at in home.tolist()],
        "disease": [_DISEASES[at] for at in disease.tolist()],
    }


def zip_paths() -> list[tuple[str, str, str]]:
    """Return the 40 postal codes of the synthetic patients as paths of a taxonomy: two prefixes and the code, texts.

    Examples
    --------
    >>> zip_paths()[0], len(zip_paths())
    (('0****', '00***', '00100'), 40)
    """
    return [
        (f"{a}****", f"{a}{b}***", f"{a}{b}{c}00")
        for a in range(2)
        for b in range(4)
        for c in range(1, 6)
    ]


def made_people(n: int = 10_000, *, seed: int = 0) -> dict[str, NDArray[np.int64]]:
    """Generate people of a census, with the columns and ranges that censuses of persons have.

    ``O(n)``.

    InvalidProblemError for `n` below 1.

    Parameters
    ----------
    n
        Number of rows, at least 1.
    seed
        Non-negative integer; equal seeds make equal people.

    Returns
    -------
    dict
        ``SEX`` (1, 2), ``AGE`` (years, 16 to 90), ``MARST`` (1 to 6), ``RACE`` (1 to 7), ``BPL`` (1 to 426),
        ``HIGRADE`` (4 to 20), ``CLASSWKRD`` and ``OCCSCORE`` (4 to 79), integer codes but for the age, ``(n,)`` int64
        each. The first four have few combinations and all eight have many.

    Examples
    --------
    >>> list(made_people(100))
    ['SEX', 'AGE', 'MARST', 'RACE', 'BPL', 'HIGRADE', 'CLASSWKRD', 'OCCSCORE']
    """
    n = positive_count(n, "n")
    rng = np.random.default_rng([seed, 0x70656F])
    age = np.clip(rng.gamma(6.0, 7.0, n), 16, 90).astype(np.int64)
    single = rng.random(n) < np.clip(1.3 - age / 30, 0.08, 0.95)
    near = rng.random(n) < 0.6
    away = np.minimum(1 + rng.gamma(1.2, 60.0, n), 426).astype(np.int64)
    return {
        "SEX": rng.integers(1, 3, n),
        "AGE": age,
        "MARST": np.where(
            single, 6, rng.choice([1, 2, 3, 4, 5], n, p=[0.78, 0.03, 0.03, 0.1, 0.06])
        ),
        "RACE": rng.choice(np.arange(1, 8), n, p=[0.84, 0.11, 0.01, 0.01, 0.01, 0.015, 0.005]),
        "BPL": np.where(near, rng.choice([6, 17, 36, 48], n), away),
        "HIGRADE": np.clip(rng.normal(14, 3.2, n).round(), 4, 20).astype(np.int64),
        "CLASSWKRD": rng.choice(
            [13, 14, 22, 24, 25, 28, 29], n, p=[0.08, 0.03, 0.72, 0.04, 0.03, 0.09, 0.01]
        ),
        "OCCSCORE": np.clip(rng.gamma(6.0, 4.5, n), 4, 79).astype(np.int64),
    }
