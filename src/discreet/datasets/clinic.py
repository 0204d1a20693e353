"""A sample for first steps: synthetic patients of a clinic, of nobody, with columns of every role."""

from __future__ import annotations

import numpy as np

SAMPLE = "sample-patients.csv"
"""What the sample is called."""

_FIRST = "Ada Alan Anita Barbara Betty Donald Edsger Grace Hedy Jean Joan Karen Leslie Mary Radia Shafi Tim Tony"
_LAST = "Abel Borg Cauchy Dirac Euler Fermi Gauss Hopper Ising Jones Klein Landau Markov Noether Ohm Planck Riemann"
_CODES = ("02138", "02139", "02140", "02141", "10001", "10002", "10003", "60601", "60602", "94102")
_DISEASES = ("asthma", "diabetes", "flu", "gout", "hypertension", "migraine")
_FIRST_DAY = np.datetime64("1935-01-01")


def sample_csv(rows: int = 500, seed: int = 7) -> str:
    """Return the sample as the text of a CSV file.

    Columns: ``patient_id`` from 10000, ``name``, ``birthdate`` (YYYY-MM-DD), ``gender`` (F or M), ``zip`` (five
    digits) and ``disease``; one line of names, then one line a patient, without quotes.

    Parameters
    ----------
    rows
        Number of patients, 0 or more.
    seed
        The same seed gives the same patients.

    Examples
    --------
    >>> print(sample_csv(1).splitlines()[0])
    patient_id,name,birthdate,gender,zip,disease
    """
    draw = np.random.default_rng(seed)
    first, last = _FIRST.split(), _LAST.split()
    days = np.sort(draw.integers(0, 31_000, (rows, 2)), axis=1)[:, 0]
    lines = ["patient_id,name,birthdate,gender,zip,disease"]
    for row in range(rows):
        named = f"{first[draw.integers(len(first))]} {last[draw.integers(len(last))]}-{last[draw.integers(len(last))]}"
        born = _FIRST_DAY + int(days[row])
        code = _CODES[min(int(draw.integers(len(_CODES))), int(draw.integers(len(_CODES))))]
        lines.append(
            f"{10_000 + row},{named},{born},{'FM'[int(draw.integers(2))]},{code},"
            f"{_DISEASES[int(draw.integers(len(_DISEASES)))]}"
        )
    return "\n".join(lines) + "\n"
