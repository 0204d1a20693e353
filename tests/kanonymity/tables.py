"""Tables that several tests of k-anonymity use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np

from discreet.core.guarantee import KAnonymity
from discreet.core.tree import Tree
from discreet.kanonymity import anonymize
from discreet.kanonymity.problem import Attribute, Categorical, Numeric, Problem, Taxonomy

if TYPE_CHECKING:
    from discreet.core.outcome import Anonymization

FARS = """64,2,4,0 29,1,0,0 42,2,0,0 41,2,4,1 53,1,2,1 59,1,4,0 49,1,4,0 59,1,2,0 80,1,4,0 50,1,4,0
64,1,3,0 55,1,0,0 25,1,0,0 42,1,4,0 33,1,2,0 31,2,2,0 68,1,3,0 20,2,4,0 40,1,4,1 18,1,4,0"""
"""Twenty rows of the United States' Fatality Analysis Reporting System for 2016, as the paper prints them."""


def fars(weights: tuple[float, ...] = (1, 1, 1, 1)) -> Problem:
    rows = np.array([row.split(",") for row in FARS.split()], dtype=float)
    names = ("AGE", "SEX", "INJ_SEV", "DRINKING")
    kinds = [Numeric(name, weight) for name, weight in zip(names, weights, strict=True)]
    return Problem.from_columns(dict(zip(names, rows.T, strict=True)), kinds)


def numeric(rows: np.ndarray, **options: float) -> Problem:
    """A problem whose columns are all numbers, called a, b, c..."""
    names = [chr(97 + j) for j in range(rows.shape[1])]
    return Problem.from_columns(
        dict(zip(names, rows.T, strict=True)), [Numeric(name, **options) for name in names]
    )


COUNTRIES = Tree.from_paths(
    [
        ("Europe", "FR"),
        ("Europe", "DE"),
        ("Asia", "South", "IN"),
        ("Asia", "South", "PK"),
        ("Asia", "JP"),
        ("Oz",),
    ]
)


def mixed(n: int, seed: int, loss: str = "ncp", *, missing: bool = False) -> Problem:
    """A number, a set and a taxonomy."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 60, n).astype(float)
    job = rng.choice(["cook", "nurse", "pilot", "smith"], n).astype(object)
    home = rng.choice(["FR", "DE", "IN", "PK", "JP", "Oz"], n).astype(object)
    if missing and n > 2:
        age[0], job[1], home[2] = np.nan, None, None
    kinds: list[Attribute] = [
        Numeric("age"),
        Categorical("job", weight=2),
        Taxonomy("home", COUNTRIES),
    ]
    return Problem.from_columns({"age": age, "job": job, "home": home}, kinds, loss=loss)


def anonymize_kept(table: Any, guarantee: Any, **options: Any) -> Anonymization[Any, Any]:
    """Anonymize a table whose other columns are published as they are, each by its name."""
    if not isinstance(guarantee, KAnonymity):
        return anonymize(table, guarantee, **options)
    given = {*guarantee.quasi_identifiers, *options.get("models", {}), options.get("person")}
    names = nw.from_native(table, eager_only=True).columns
    return anonymize(
        table, guarantee, keep=[name for name in names if name not in given], **options
    )
