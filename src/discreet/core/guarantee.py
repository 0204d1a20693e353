"""Guarantees are data: exact parameters, the neighbors or the metric, and the sentence that they mean.

Nothing here computes noise or trusts a mechanism. A guarantee refuses parameters without a meaning. What is printed
is rounded upwards.

Trusted: the guarantee rests on this code, which states it.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field, fields
from fractions import Fraction
from operator import index
from typing import Any, Literal

from discreet.core.calls import explained_record
from discreet.core.errors import InvalidProblemError, refuse_malformed, unknown_name
from discreet.core.exact import Exact, to_measure, to_positive
from discreet.core.printed import count, decimal, decimal_up
from discreet.core.statements import state

Neighbors = Literal["add-remove-one", "replace-one", "add-remove-person", "replace-person"]
"""The closed set of neighboring relations between datasets."""

_MEANING: dict[str, str] = {
    "add-remove-one": "one record added or removed",
    "replace-one": "one record replaced",
    "add-remove-person": "all records of one person added or removed",
    "replace-person": "all records of one person replaced",
}

_UNIT_WORD = r"°?[^\W\d_]{1,16}[0-9]?"
_UNIT = re.compile(rf"1|%|°|{_UNIT_WORD}(?:-{_UNIT_WORD})?")
"""One word, or two that a hyphen joins: a unit stands in the sentence of a guarantee, where more would be a claim."""


def read_unit(unit: object, field: str = "unit") -> str:
    """Read the name of a unit of distance: one word such as km, or two with a hyphen between them.

    Parameters
    ----------
    unit
        The name: words of at most 16 letters, each with a digit after it or not; or 1, % or °.
    field
        Argument that the message names.

    Raises
    ------
    InvalidProblemError
        For anything else, such as a sentence.

    Examples
    --------
    >>> read_unit("m2"), read_unit("nautical-mile")
    ('m2', 'nautical-mile')
    >>> read_unit("km, all pairs")
    Traceback (most recent call last):
    discreet.core.errors.InvalidProblemError: unit: expected one word such as km or nautical-mile, got 'km, all pairs'
    """
    if not isinstance(unit, str) or not _UNIT.fullmatch(unit):
        got = repr(unit) if isinstance(unit, str) else type(unit).__name__
        raise InvalidProblemError(field, "one word such as km or nautical-mile", got[:60])
    return unit


@explained_record("dc.PureDP(1, neighbors='add-remove-person')")
@dataclass(frozen=True, init=False)
class PureDP:
    """Pure differential privacy [DMNS06]_.

    Parameters
    ----------
    epsilon
        The budget in nats, exact and positive.
    neighbors
        Which datasets count as neighbors.

    Raises
    ------
    InvalidProblemError
        For an epsilon that is not a positive finite number, or an unknown relation.

    Examples
    --------
    >>> print(PureDP("0.5", neighbors="add-remove-one"))
    0.5-differentially private (neighbors: one record added or removed): no output is more than e^0.5 times \
likelier on one dataset than on a neighbor
    >>> PureDP(0, neighbors="add-remove-one")
    Traceback (most recent call last):
    discreet.core.errors.InvalidProblemError: epsilon: expected a positive number, got 0
    """

    epsilon: Fraction
    neighbors: Neighbors

    def __init__(self, epsilon: Exact, neighbors: Neighbors) -> None:
        _set(self, epsilon=to_measure(epsilon, "epsilon"), neighbors=_known(neighbors))

    def __str__(self) -> str:
        e, meaning = decimal_up(self.epsilon), _MEANING[self.neighbors]
        return state("pure differential privacy", epsilon=e, neighbors=meaning, factor=_factor(e))

    def to_dict(self) -> dict[str, Any]:
        """Return a dict for JSON: ``kind``, ``epsilon`` as exact text such as ``"1/2"``, and ``neighbors``."""
        return {"kind": "pure-dp", **_plain(self)}


@explained_record("dc.ApproxDP(1, '1e-6', neighbors='add-remove-person')")
@dataclass(frozen=True, init=False)
class ApproxDP:
    """Approximate differential privacy.

    Parameters
    ----------
    epsilon
        The budget in nats, exact and positive.
    delta
        The slack in probability, exact, strictly between 0 and 1.
    neighbors
        Which datasets count as neighbors.

    Raises
    ------
    InvalidProblemError
        For parameters out of range or an unknown relation.

    Examples
    --------
    >>> ApproxDP(1, "1e-6", neighbors="replace-one").delta
    Fraction(1, 1000000)
    """

    epsilon: Fraction
    delta: Fraction
    neighbors: Neighbors

    def __init__(self, epsilon: Exact, delta: Exact, neighbors: Neighbors) -> None:
        small = to_positive(delta, "delta")
        if small >= 1:
            raise InvalidProblemError("delta", "a number below 1", delta)
        _set(self, epsilon=to_measure(epsilon, "epsilon"), delta=small, neighbors=_known(neighbors))

    def __str__(self) -> str:
        e = decimal_up(self.epsilon)
        return state(
            "approximate differential privacy",
            epsilon=e,
            delta=decimal_up(self.delta),
            neighbors=_MEANING[self.neighbors],
            factor=_factor(e),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return a dict for JSON: ``kind``, ``epsilon`` and ``delta`` as exact text, and ``neighbors``."""
        return {"kind": "approx-dp", **_plain(self)}


@explained_record("dc.ZeroConcentratedDP('0.5', neighbors='add-remove-person')")
@dataclass(frozen=True, init=False)
class ZeroConcentratedDP:
    """Zero-concentrated differential privacy [BS16]_.

    Parameters
    ----------
    rho
        The budget, exact and positive.
    neighbors
        Which datasets count as neighbors.

    Raises
    ------
    InvalidProblemError
        For a rho that is not a positive finite number, or an unknown relation.

    Examples
    --------
    >>> ZeroConcentratedDP("0.1", neighbors="add-remove-one").rho
    Fraction(1, 10)
    """

    rho: Fraction
    neighbors: Neighbors

    def __init__(self, rho: Exact, neighbors: Neighbors) -> None:
        _set(self, rho=to_measure(rho, "rho"), neighbors=_known(neighbors))

    def __str__(self) -> str:
        rho, meaning = decimal_up(self.rho), _MEANING[self.neighbors]
        return state("zero-concentrated differential privacy", rho=rho, neighbors=meaning)

    def to_dict(self) -> dict[str, Any]:
        """Return a dict for JSON: ``kind``, ``rho`` as exact text such as ``"1/2"``, and ``neighbors``."""
        return {"kind": "zero-concentrated-dp", **_plain(self)}


@dataclass(frozen=True)
class Scope:
    """What a metric guarantee says on the space for which it was achieved.

    Parameters
    ----------
    space
        SHA-256 of the metric space.
    n_secrets
        How many secrets it has.
    all_pairs_epsilon
        The epsilon that holds between *all* pairs, per unit of distance, rounded up; ``None`` where some pair is
        not protected at all.
    components
        Groups of secrets between which nothing is promised, counted; 1 when every pair is bound.
    isolated
        Secrets that no neighbor within the radius protects, and that no link joins to others.
    joined
        Constraints added between components beyond the radius, so that every pair is bound.
    """

    space: str
    n_secrets: int
    all_pairs_epsilon: Fraction | None
    components: int = 1
    isolated: tuple[int, ...] = ()
    joined: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return a dict for JSON, keyed by parameter; the epsilon is exact text or ``None``."""
        return _plain(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Scope:
        """Read what :meth:`to_dict` wrote; KeyError, TypeError or InvalidProblemError for other keys or values."""
        stated = data["all_pairs_epsilon"]
        epsilon = None if stated is None else to_measure(stated, "all_pairs_epsilon")
        if {type(data[name]) for name in ("n_secrets", "components", "joined")} != {int}:
            raise InvalidProblemError("scope", "counts", "others")
        alone = tuple(data["isolated"])
        if any(type(secret) is not int or not 0 <= secret < data["n_secrets"] for secret in alone):
            raise InvalidProblemError("isolated", "secrets of the space", "others")
        if len(set(alone)) != len(alone):
            raise InvalidProblemError("isolated", "each secret once", "one twice")
        return cls(**(data | {"all_pairs_epsilon": epsilon, "isolated": alone}))


@dataclass(frozen=True)
class PointScope:
    """What a metric guarantee says between any two points of a continuous region, not only between places.

    Parameters
    ----------
    region
        SHA-256 of the region: how its coordinates become a plane, its outline, and how far outside of it points are
        still taken. Two mechanisms of different forms for one region compose.

    Examples
    --------
    >>> print(MetricDP(2, "km", scope=PointScope("0" * 64)))
    metric differential privacy at 2 per km: no report is more than e^(2 d) times likelier from one point than from \
another at d km; for any two points of the region, not only for its places
    """

    region: str

    def __post_init__(self) -> None:
        region: object = self.region
        if not isinstance(region, str) or not re.fullmatch("[0-9a-f]{64}", region):
            raise InvalidProblemError("region", "a SHA-256 in hexadecimal", "another text")

    def to_dict(self) -> dict[str, Any]:
        """Return a dict for JSON with the one key ``region``."""
        return _plain(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> PointScope:
        """Read what :meth:`to_dict` wrote; raise InvalidProblemError for anything else."""
        if data.keys() != {"region"} or not isinstance(data["region"], str):
            raise InvalidProblemError("scope", "the digest of a region", "something else")
        return cls(data["region"])


@explained_record("dc.MetricDP(1, unit='km')")
@dataclass(frozen=True, init=False)
class MetricDP:
    """Metric differential privacy: the closer two secrets, the harder to tell apart [CABP13]_.

    Parameters
    ----------
    epsilon
        The budget in nats *per unit of distance*, exact and positive.
    unit
        The unit of distance, one word. It must be the unit of the metric space on which the guarantee is used.
    radius
        Only pairs at most this far apart are constrained directly (the papers' neighbor threshold); ``None`` for
        all pairs, the strong statement. Pairs farther apart are then protected by chains of neighbors: the
        epsilon that this implies for all pairs stands in `scope`.
    scope
        Filled in by ``design``: the space, and what holds beyond the radius; or the region or roads, all points bound.

    Raises
    ------
    InvalidProblemError
        For parameters that are not positive finite numbers, or a unit that is more than one.

    Examples
    --------
    >>> print(MetricDP("1.5", unit="km", radius=2))
    metric differential privacy at 1.5 per km between secrets at most 2 km apart: no report is more than \
e^(1.5 d) times likelier from one secret than from another at d km
    >>> MetricDP(1)
    Traceback (most recent call last):
    discreet.core.errors.InvalidProblemError: MetricDP: expected a call such as dc.MetricDP(1, unit='km'), got one ...
    """

    epsilon: Fraction
    unit: str
    radius: Fraction | None
    scope: Scope | PointScope | None

    def __init__(
        self,
        epsilon: Exact,
        unit: str,
        radius: Exact | None = None,
        *,
        scope: Scope | PointScope | None = None,
    ) -> None:
        if not isinstance(scope, Scope | PointScope | None):
            raise InvalidProblemError(
                "scope", "what `design` fills in, or none", type(scope).__name__
            )
        near = None if radius is None else to_measure(radius, "radius")
        if near is not None and isinstance(scope, PointScope):
            raise InvalidProblemError("radius", "none: all points of a region are bound", radius)
        _set(
            self,
            epsilon=to_measure(epsilon, "epsilon"),
            unit=read_unit(unit),
            radius=near,
            scope=scope,
        )

    def __str__(self) -> str:
        e = decimal_up(self.epsilon)
        near = None if self.radius is None else decimal(self.radius)
        where = "" if near is None else f" between secrets at most {near} {self.unit} apart"
        scope = self.scope
        secret = "point" if isinstance(scope, PointScope) else "secret"
        beyond = f"; {self.beyond_in_words}" if isinstance(scope, Scope) else ""
        if isinstance(scope, PointScope):
            beyond = "; for any two points of the region, not only for its places"
        return state(
            "metric privacy", epsilon=e, unit=self.unit, where=where, secret=secret, beyond=beyond
        )

    @property
    def space_scope(self) -> Scope | None:
        """The scope on a finite space; ``None`` if there is no scope or it is one of points."""
        return self.scope if isinstance(self.scope, Scope) else None

    @property
    def links_in_words(self) -> str:
        """The constraints beyond what was stated, which a lower bound on the loss assumes as well."""
        joined = 0 if self.space_scope is None else self.space_scope.joined
        links = "link" if joined == 1 else "links"
        return f" and {joined} added {links} beyond the radius" if joined else ""

    @property
    def beyond_in_words(self) -> str:
        """What holds for pairs beyond the radius; empty without a space."""
        scope = self.space_scope
        if scope is None:
            return ""
        if scope.all_pairs_epsilon is None:
            return (
                f"nothing is promised between {scope.components} separate groups of the {scope.n_secrets} secrets, "
                f"of which {len(scope.isolated)} are isolated and not protected"
            )
        if self.radius is None and scope.all_pairs_epsilon == self.epsilon:
            return f"for all pairs of the {scope.n_secrets} secrets"
        links = f", {scope.joined} of them added to join separate groups" if scope.joined else ""
        e = decimal_up(scope.all_pairs_epsilon)
        return state(
            "chains of constraints", n=scope.n_secrets, epsilon=e, unit=self.unit, links=links
        )

    def to_dict(self) -> dict[str, Any]:
        """Return a dict for JSON: ``kind``, ``epsilon``, ``unit``, ``radius``, ``scope``; exact text, or ``None``."""
        return {"kind": "metric-dp", **_plain(self)}


@explained_record("dc.KAnonymity(5, ('age', 'zip'))")
@dataclass(frozen=True, init=False)
class KAnonymity:
    """k-anonymity of a table [Swe02]_. A property of its rows, not differential privacy; it does not compose.

    Parameters
    ----------
    k
        The least number of records that share each combination of quasi-identifiers, 2 or more.
    quasi_identifiers
        Names of the columns that an adversary may know, at least one, all different.
    unit
        What is counted: ``"record"``, or ``"person"`` where a person may have several records.

    Raises
    ------
    InvalidProblemError
        For a k below 2, column names that are missing or repeated, or another unit.

    Examples
    --------
    >>> print(KAnonymity(5, ("age", "zip")))
    5-anonymous in age, zip: each combination of their published values is shared by 5 records or more
    """

    k: int
    quasi_identifiers: tuple[str, ...]
    unit: str = field(default="record", repr=False)

    def __init__(
        self, k: int, quasi_identifiers: tuple[str, ...] | list[str], unit: str = "record"
    ) -> None:
        number: Any = k
        try:
            # An integer of NumPy is one too.
            number = number if isinstance(number, bool) else index(number)
        except TypeError:
            number = None
        if isinstance(number, bool) or number is None or number < 2:
            raise InvalidProblemError("k", "an integer of 2 or more", repr(k))
        names: object = quasi_identifiers
        listed = isinstance(names, tuple | list) and all(isinstance(name, str) for name in names)
        if (
            not listed
            or not quasi_identifiers
            or len(set(quasi_identifiers)) != len(quasi_identifiers)
        ):
            expected = "a list of different column names, such as ('age', 'sex')"
            raise InvalidProblemError("quasi_identifiers", expected, repr(names))
        # A tuple, since a list given as the unit has no hash.
        if unit not in ("record", "person"):
            raise InvalidProblemError("unit", "'record' or 'person'", repr(unit))
        _set(self, k=number, quasi_identifiers=tuple(quasi_identifiers), unit=unit)

    def __str__(self) -> str:
        columns = ", ".join(self.quasi_identifiers)
        return state("k-anonymity", k=self.k, columns=columns, units=f"{self.unit}s")

    def to_dict(self) -> dict[str, Any]:
        """Return a dict for JSON: ``kind``, ``k``, ``quasi_identifiers``, and ``unit`` unless it is the record."""
        plain = {"kind": "k-anonymity", **_plain(self)}
        if self.unit == "record":
            del plain["unit"]
        return plain


DPGuarantee = PureDP | ApproxDP | ZeroConcentratedDP
Guarantee = PureDP | ApproxDP | ZeroConcentratedDP | MetricDP | KAnonymity

_EPSILON_WITHOUT_PROTECTION = Fraction("6.907")
"""Epsilon above ln 999, where a guess may be right more than 999 times in 1,000."""

_RHO_WITHOUT_PROTECTION = 20
"""For rho: a test of two Gaussian laws sqrt(2 rho) standard deviations apart is right 9,992 in 10,000 times."""


def cautions(guarantee: Guarantee, length: Fraction = Fraction(1)) -> list[str]:
    """List sentences on what a guarantee is too weak for: an epsilon that protects nobody, a delta for few people.

    Parameters
    ----------
    guarantee
        The guarantee.
    length
        Distance of the nearest secrets, for a metric guarantee.

    Examples
    --------
    >>> cautions(PureDP(1, "add-remove-person")), cautions(PureDP(50, "add-remove-person"))[0][:29]
    ([], 'Epsilon 50 protects nobody: i')
    >>> cautions(ApproxDP(1, "0.01", "add-remove-one"))[0].partition(": ")[2]
    'with 100 people or more some may be published. Choose a delta far below 1 over the number of people.'
    """
    sentences: list[str] = []
    if isinstance(guarantee, KAnonymity):
        return sentences
    if isinstance(guarantee, ZeroConcentratedDP):
        name, amount, weak = "rho", guarantee.rho, guarantee.rho >= _RHO_WITHOUT_PROTECTION
    else:
        name, amount = "epsilon", guarantee.epsilon
        weak = guarantee.epsilon * length > _EPSILON_WITHOUT_PROTECTION
    if weak:
        unit = getattr(guarantee, "unit", "")
        parameter = f"{name.capitalize()} {decimal_up(amount)}{unit and f' per {unit}'}"
        sentences.append(state("protects nobody", parameter=parameter, name=name))
    if isinstance(guarantee, ApproxDP):
        people = count(math.ceil(1 / guarantee.delta))
        delta = decimal_up(guarantee.delta)
        sentences.append(state("delta and records", delta=delta, count=people))
    return sentences


@refuse_malformed("guarantee")
def guarantee_from_dict(data: dict[str, Any]) -> Guarantee:
    """Read what the guarantees' ``to_dict`` wrote.

    Raises
    ------
    InvalidProblemError
        For what is no mapping, an unknown kind, parameters that are missing or that the guarantee refuses.

    Examples
    --------
    >>> guarantee_from_dict(PureDP(1, neighbors="replace-one").to_dict()) == PureDP(1, "replace-one")
    True
    """
    match data.get("kind"):
        case "pure-dp":
            return PureDP(data["epsilon"], data["neighbors"])
        case "approx-dp":
            return ApproxDP(data["epsilon"], data["delta"], data["neighbors"])
        case "zero-concentrated-dp":
            return ZeroConcentratedDP(data["rho"], data["neighbors"])
        case "metric-dp":
            scope = None if data["scope"] is None else _scope(data["scope"])
            return MetricDP(data["epsilon"], data["unit"], data["radius"], scope=scope)
        case "k-anonymity":
            unit = data.get("unit", "record")
            return KAnonymity(data["k"], tuple(data["quasi_identifiers"]), unit)
        case other:
            raise InvalidProblemError("guarantee", "a known kind of guarantee", repr(other))


def _scope(data: dict[str, Any]) -> Scope | PointScope:
    return PointScope.from_dict(data) if "region" in data else Scope.from_dict(data)


def _plain(record: Guarantee | Scope | PointScope) -> dict[str, Any]:
    """Fields of a record as JSON knows them: fractions as text, records as mappings."""
    return {field.name: _json(getattr(record, field.name)) for field in fields(record)}


def _factor(epsilon: str) -> str:
    """Write the exponential of a budget; of a quotient, "e^1/3" would be read as a third of e."""
    return f"e^({epsilon})" if "/" in epsilon else f"e^{epsilon}"


def _json(value: object) -> object:
    """Return a value as JSON has it: a fraction as exact text, a tuple as a list, a scope as a dict."""
    match value:
        case Scope() | PointScope():
            return value.to_dict()
        case Fraction():
            return str(value)
        case tuple():
            return list(value)
        case _:
            return value


def _set(record: object, **values: object) -> None:
    for name, value in values.items():
        object.__setattr__(record, name, value)


def _known(neighbors: str) -> str:
    name: object = neighbors
    if not isinstance(name, str) or name not in _MEANING:
        raise unknown_name("neighbors", neighbors, _MEANING)
    return neighbors
