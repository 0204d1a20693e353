"""Strategies for Hypothesis, which is imported when the first one is made."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.core.exact import Exact, to_fraction

if TYPE_CHECKING:
    from fractions import Fraction
    from types import ModuleType

    from hypothesis.strategies import SearchStrategy

    from discreet.core.guarantee import DPGuarantee, Guarantee, Neighbors
    from discreet.core.spaces.metric import MetricSpace

_NEIGHBORS = ("add-remove-one", "replace-one", "add-remove-person", "replace-person")


def _strategies() -> ModuleType:
    """Return Hypothesis's strategies; raise ImportError if it is not installed."""
    try:
        import hypothesis.strategies as st
    except ImportError:
        raise ImportError(
            "the strategies of discreet.testing need Hypothesis: pip install hypothesis"
        ) from None
    return st


def rationals(
    min_value: Exact = "1/100", max_value: Exact = 10, *, max_denominator: int = 100
) -> SearchStrategy[Fraction]:
    """Fractions from `min_value` to `max_value`, both included, with denominators up to `max_denominator`.

    Parameters
    ----------
    min_value, max_value
        Ends, read exactly. The denominator of each must be at most `max_denominator`.
    max_denominator
        The largest denominator of a drawn fraction.

    Returns
    -------
    SearchStrategy
        A strategy of :class:`fractions.Fraction`.

    Raises
    ------
    InvalidProblemError
        For an end that is no number.
    ImportError
        Without Hypothesis.
    hypothesis.errors.InvalidArgument
        At the first draw, for ends in the wrong order or with a larger denominator.

    Examples
    --------
    >>> rationals("1/2", 3, max_denominator=4)
    fractions(min_value=Fraction(1, 2), max_value=Fraction(3, 1), max_denominator=4)
    """
    low, high = to_fraction(min_value, "min_value"), to_fraction(max_value, "max_value")
    strategy: SearchStrategy[Fraction] = _strategies().fractions(
        low, high, max_denominator=max_denominator
    )
    return strategy


def metric_spaces(
    *, min_size: int = 1, max_size: int = 7, unit: str = "km", distinct: bool = True
) -> SearchStrategy[MetricSpace]:
    """Draw small spaces of points with coordinates from -5 to 5 in the plane, where ties and lines abound.

    `min_size` to `max_size` points, both included; they may coincide with ``distinct=False``. The metric is euclidean
    or manhattan, and distances are in `unit`. ImportError without Hypothesis.
    """
    from discreet.core.spaces.metric import MetricSpace

    st = _strategies()
    point = st.tuples(st.integers(-5, 5), st.integers(-5, 5))
    points = st.lists(point, min_size=min_size, max_size=max_size, unique=distinct)
    metrics = st.sampled_from(["euclidean", "manhattan"])
    spaces: SearchStrategy[MetricSpace] = st.builds(
        MetricSpace.from_points, points.map(np.array), metric=metrics, unit=st.just(unit)
    )
    return spaces


def dp_guarantees(*neighbors: Neighbors) -> SearchStrategy[DPGuarantee]:
    """Draw guarantees of differential privacy, for the given `neighbors`, or for any of the four relations by default.

    PureDP, ApproxDP or ZeroConcentratedDP; epsilon or rho from 1/100 to 10, delta from 1/100 to 99/100. ImportError
    without Hypothesis.
    """
    from discreet.core.guarantee import ApproxDP, PureDP, ZeroConcentratedDP

    st = _strategies()
    relations = st.sampled_from(neighbors or _NEIGHBORS)
    some: SearchStrategy[DPGuarantee] = st.one_of(
        st.builds(PureDP, rationals(), relations),
        st.builds(ApproxDP, rationals(), rationals("1/100", "99/100"), relations),
        st.builds(ZeroConcentratedDP, rationals(), relations),
    )
    return some


def guarantees() -> SearchStrategy[Guarantee]:
    """Draw guarantees of every kind.

    Those of :func:`dp_guarantees`, metric privacy, and k-anonymity with k from 2 to 100. ImportError without
    Hypothesis.
    """
    from discreet.core.guarantee import KAnonymity, MetricDP

    st = _strategies()
    columns = st.lists(st.sampled_from(["age", "sex", "zip"]), min_size=1, unique=True)
    every: SearchStrategy[Guarantee] = st.one_of(
        dp_guarantees(),
        st.builds(MetricDP, rationals(), st.sampled_from(["km", "m"]), st.none() | rationals()),
        st.builds(KAnonymity, st.integers(2, 100), columns.map(tuple)),
    )
    return every
