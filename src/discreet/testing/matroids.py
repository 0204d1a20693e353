"""The axioms of a matroid, checked on every set of a tiny ground set."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from discreet.core.errors import InvalidProblemError

if TYPE_CHECKING:
    from collections.abc import Callable


def assert_matroid(
    n_elements: int, is_independent: Callable[[tuple[int, ...]], bool], *, max_elements: int = 12
) -> frozenset[frozenset[int]]:
    """Check the three axioms of a matroid on all subsets.

    ``2^n_elements`` calls, and at most ``4^n_elements`` pairs of independent sets.

    Parameters
    ----------
    n_elements
        Size of the ground set; elements are numbered from 0.
    is_independent
        Tells whether a set, given in increasing order, is independent.
    max_elements
        Largest size of a ground set: 12 elements take up to 16 million pairs.

    Returns
    -------
    frozenset
        All independent sets.

    Raises
    ------
    AssertionError
        Naming the sets that break an axiom: the empty set is independent; every subset of an independent set is; the
        larger of two independent sets holds an element with which the smaller one stays independent.
    InvalidProblemError
        For a larger ground set.

    Examples
    --------
    >>> len(assert_matroid(4, lambda chosen: len(chosen) <= 2))
    11
    >>> assert_matroid(3, lambda chosen: chosen in {(), (0,), (1,), (2,), (0, 1)})
    Traceback (most recent call last):
    AssertionError: [2] takes nothing in from [0, 1]
    """
    if not 0 <= n_elements <= max_elements:
        raise InvalidProblemError("n_elements", f"0 to {max_elements}", n_elements)
    subsets = itertools.chain.from_iterable(
        itertools.combinations(range(n_elements), size) for size in range(n_elements + 1)
    )
    family = {frozenset(chosen) for chosen in subsets if is_independent(chosen)}
    if frozenset() not in family:
        raise AssertionError("the empty set is not independent")
    for chosen in family:
        for element in chosen:
            if chosen - {element} not in family:
                raise AssertionError(
                    f"{sorted(chosen)} is independent and {sorted(chosen - {element})} is not"
                )
    by_size = sorted(family, key=lambda chosen: (len(chosen), sorted(chosen)))
    for small, large in itertools.product(by_size, by_size):
        # With downward closure the axiom for sizes that differ by one implies it for all.
        if len(large) == len(small) + 1 and not any(small | {e} in family for e in large - small):
            raise AssertionError(f"{sorted(small)} takes nothing in from {sorted(large)}")
    return frozenset(family)
