"""All neighbors on a tiny domain: every small data set, and every one that differs from it by one person.

What a mechanism must not tell apart is enumerated here and nowhere derived. A sensitivity that was proved is
compared with the worst of all pairs; a law that was computed, with that of every neighbor.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import TYPE_CHECKING, Any, TypeVar, final

from discreet.core.errors import InvalidProblemError

if TYPE_CHECKING:
    from collections.abc import Iterable

PersonT = TypeVar("PersonT", bound=Hashable)

RELATIONS = ("add-remove-one", "replace-one", "add-remove-person", "replace-person")
"""Relations between neighbors. A person is what one element of the domain stands for: all that she contributes."""


def small_data_sets(
    domain: Sequence[PersonT], most: int, *, least: int = 0
) -> Iterator[tuple[PersonT, ...]]:
    """Yield every data set of a few persons, as sorted by the domain: order means nothing.

    ``C(d + s - 1, s)`` data sets of s persons for a domain of d.

    Sizes run from `least` to `most`, both included; each data set is a tuple in the order of `domain`.

    Parameters
    ----------
    domain
        All that one person may contribute, such as a value, or a unit with a quantity.
    most, least
        Numbers of persons.

    Examples
    --------
    >>> [*small_data_sets("ab", 2)]
    [(), ('a',), ('b',), ('a', 'a'), ('a', 'b'), ('b', 'b')]
    """
    for size in range(least, most + 1):
        yield from combinations_with_replacement(domain, size)


def neighboring_pairs(
    domain: Sequence[PersonT], most: int, relation: str, *, max_pairs: int = 2_000_000
) -> Iterator[tuple[tuple[PersonT, ...], tuple[PersonT, ...]]]:
    """Yield every pair of neighbors among the data sets of up to `most` persons, each pair once.

    At most ``d^(most + 1)`` pairs for a domain of d.

    A data set is a tuple of elements of `domain` in its order. With an add-remove relation the first of a pair is the
    smaller one; with a replace relation both have equal size, 1 to `most`. Arguments are checked when the first pair
    is drawn, not at the call.

    Parameters
    ----------
    domain
        All that one person may contribute.
    most
        Persons in the larger data set of a pair.
    relation
        One of :data:`RELATIONS`: a person comes or goes, or is replaced by another one.
    max_pairs
        Largest ``d^(most + 1)`` that is accepted.

    Raises
    ------
    InvalidProblemError
        For another relation, or more pairs than can be compared.

    Examples
    --------
    >>> len([*neighboring_pairs("ab", 2, "add-remove-person")])
    6
    >>> [*neighboring_pairs("ab", 1, "replace-one")]
    [(('a',), ('b',))]
    """
    if relation not in RELATIONS:
        raise InvalidProblemError("relation", f"one of {', '.join(RELATIONS)}", repr(relation))
    if len(domain) ** (most + 1) > max_pairs:
        expected = f"at most {max_pairs} pairs"
        raise InvalidProblemError("domain, most", expected, len(domain) ** (most + 1))
    place = {one: at for at, one in enumerate(domain)}
    if relation.startswith("add-remove"):
        for small in small_data_sets(domain, most - 1):
            for one in domain:
                yield small, tuple(sorted((*small, one), key=place.__getitem__))
        return
    for rest in small_data_sets(domain, most - 1):
        for at, one in enumerate(domain):
            for other in domain[at + 1 :]:
                yield (
                    tuple(sorted((*rest, one), key=place.__getitem__)),
                    tuple(sorted((*rest, other), key=place.__getitem__)),
                )


@final
@dataclass(frozen=True)
class Moved:
    """How far neighbors move an answer.

    Parameters
    ----------
    absolute, squared
        The largest sum of changes, and the largest sum of their squares: what Laplace and Gaussian noise need.
    pair
        The neighbors that reach `absolute`.
    pairs
        How many pairs were compared.
    """

    absolute: Fraction
    squared: Fraction
    pair: tuple[Any, Any]
    pairs: int


def most_moved(
    answer: Callable[[tuple[PersonT, ...]], Iterable[Any]],
    domain: Sequence[PersonT],
    most: int,
    relation: str,
) -> Moved:
    """Find how far the worst neighbor moves an answer, by trying all of them.

    One call for each data set, and one comparison for each pair of neighbors.

    Each number is read exactly. Without a pair of neighbors all sums are 0 and `pair` is ``((), ())``. Other
    arguments are refused as by :func:`neighboring_pairs`.

    Parameters
    ----------
    answer
        What is computed of a data set: numbers, as many for each data set.
    domain, most, relation
        As in :func:`neighboring_pairs`.

    Returns
    -------
    Moved
        Exact sums. They bound the sensitivity from below; on a domain that holds the worst case they are it.

    Raises
    ------
    InvalidProblemError
        For answers of different lengths.

    Examples
    --------
    The histogram of two values: a person who is replaced leaves one cell and joins another.

    >>> histogram = lambda data: [data.count("a"), data.count("b")]
    >>> found = most_moved(histogram, "ab", 3, "replace-one")
    >>> str(found.absolute), str(found.squared)
    ('2', '2')
    """
    known: dict[Any, list[Fraction]] = {}

    def of(data: tuple[PersonT, ...]) -> list[Fraction]:
        if data not in known:
            known[data] = [Fraction(x) for x in answer(data)]
        return known[data]

    absolute, squared, pairs = Fraction(-1), Fraction(-1), 0
    worst: tuple[Any, Any] = ((), ())
    for one, other in neighboring_pairs(domain, most, relation):
        a, b = of(one), of(other)
        if len(a) != len(b):
            raise InvalidProblemError(
                "answer", "as many numbers for neighbors", f"{len(a)} and {len(b)}"
            )
        off = [abs(x - y) for x, y in zip(a, b, strict=True)]
        pairs += 1
        if sum(off) > absolute:
            absolute, worst = sum(off, Fraction(0)), (one, other)
        squared = max(squared, sum((x * x for x in off), Fraction(0)))
    return Moved(max(absolute, Fraction(0)), max(squared, Fraction(0)), worst, pairs)
