"""What a client remembers between two reports: the last one, what drew it, and what was spent.

Trusted: the guarantee rests on this code, which keeps what was spent.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, final

from discreet.core.errors import InvalidProblemError
from discreet.core.exact import to_fraction
from discreet.core.guarantee import MetricDP, guarantee_from_dict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_UNKNOWN = "unknown"
"""The region of places that an earlier version pinned, which did not write it down."""


@final
@dataclass(frozen=True)
class Source:
    """What drew a report, which may be another mechanism than the one of today.

    Parameters
    ----------
    mechanism
        Its digest; empty where it is not known.
    guarantee
        What it claimed; ``None`` where it is not known, which an earlier version did not store.

    Examples
    --------
    >>> Source().guarantee is None
    True
    """

    mechanism: str = ""
    guarantee: MetricDP | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON: ``"mechanism"``, its digest, and ``"guarantee"``, a mapping or ``None``."""
        claimed = None if self.guarantee is None else self.guarantee.to_dict()
        return {"mechanism": self.mechanism, "guarantee": claimed}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Source:
        """Read what :meth:`to_dict` wrote; raise InvalidProblemError for a guarantee that is no metric one.

        KeyError if an entry is missing.
        """
        claimed = data["guarantee"]
        guarantee = None if claimed is None else guarantee_from_dict(claimed)
        if guarantee is not None and not isinstance(guarantee, MetricDP):
            raise InvalidProblemError("guarantee", "metric privacy", type(guarantee).__name__)
        return cls(str(data["mechanism"]), guarantee)


@final
@dataclass(frozen=True)
class State:
    """What a client remembers between two reports. Its owner alone may see the pinned places.

    Parameters
    ----------
    source
        What drew the last report.
    epoch
        Number of the epoch of the last report; ``None`` before the first.
    day
        Number of the day of the last fresh report.
    report
        The last report.
    spent_today, spent_in_all
        Epsilon per unit of distance, of the reports drawn in that day and in all.
    pinned
        Place -> the report that is always shown there. It is private, and not part of the ``repr``.
    pinned_sources
        Place -> what drew that report.
    region
        Digest of the region whose places are pinned; empty where none are.

    Examples
    --------
    >>> State().to_dict()["spent_in_all"]
    '0'
    """

    source: Source = Source()
    epoch: int | None = None
    day: int | None = None
    report: tuple[float, float] | None = None
    spent_today: Fraction = Fraction(0)
    spent_in_all: Fraction = Fraction(0)
    pinned: Mapping[int, tuple[float, float]] = field(
        default_factory=lambda: MappingProxyType({}), repr=False
    )
    pinned_sources: Mapping[int, Source] = field(
        default_factory=lambda: MappingProxyType({}), repr=False
    )
    region: str = ""

    def __post_init__(self) -> None:
        if self.spent_today < 0 or self.spent_in_all < self.spent_today:
            raise InvalidProblemError(
                "spent_today", "at least 0, at most what was spent in all", "another"
            )
        if (self.epoch is None) != (self.report is None):
            raise InvalidProblemError("report", "one where there is an epoch", "one of them alone")
        if set(self.pinned) != set(self.pinned_sources) or bool(self.pinned) != bool(self.region):
            raise InvalidProblemError(
                "pinned", "places of one region, with what drew each report", "others"
            )
        for name in ("pinned", "pinned_sources"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON, one for each parameter by its name; they hold the pinned places.

        Budgets are texts of fractions; ``"pinned"`` is a list of place, report and source, sorted by place.
        """
        return {
            "source": self.source.to_dict(),
            "epoch": self.epoch,
            "day": self.day,
            "report": None if self.report is None else list(self.report),
            "spent_today": str(self.spent_today),
            "spent_in_all": str(self.spent_in_all),
            "pinned": [
                [place, list(shown), self.pinned_sources[place].to_dict()]
                for place, shown in sorted(self.pinned.items())
            ],
            "region": self.region,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> State:
        """Read what :meth:`to_dict` wrote, here or in an earlier version, which did not say what drew a report.

        Raises
        ------
        KeyError
            If an entry is missing.
        InvalidProblemError
            For entries of other types.
        """
        report, pinned, region = data["report"], data["pinned"], data.get("region", "")
        if "source" not in data:
            pinned = [[place, shown, Source().to_dict()] for place, shown in pinned]
            region = _UNKNOWN if pinned else ""
        return cls(
            Source.from_dict(data["source"]) if "source" in data else Source(),
            _number(data["epoch"]),
            _number(data["day"]),
            None if report is None else _pair(report),
            to_fraction(data["spent_today"], "spent_today"),
            to_fraction(data["spent_in_all"], "spent_in_all"),
            {int(place): _pair(shown) for place, shown, _ in pinned},
            {int(place): Source.from_dict(source) for place, _, source in pinned},
            str(region),
        )


def _number(value: object) -> int | None:
    """Return an integer or ``None``; InvalidProblemError for anything else, booleans included."""
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    raise InvalidProblemError("epoch", "an integer", type(value).__name__)


def _pair(values: Sequence[float]) -> tuple[float, float]:
    """Read the two coordinates of a report, which JSON holds as a list; ValueError for another number of them."""
    first, second = values
    return float(first), float(second)
