"""The words of status, with one meaning each, and how the sizes of each item compare with the paper's."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, final

from discreet_reproduction.registry import LIMITED

if TYPE_CHECKING:
    from discreet_reproduction.record import Run


@final
class Status(StrEnum):
    """Size of a run beside the paper's.

    Examples
    --------
    >>> [status.value for status in Status]
    ['full', 'bounded', 'small', 'not run']
    """

    FULL = "full"
    """The paper's size and parameters, to the end."""
    BOUNDED = "bounded"
    """The paper's size and parameters; each solver run ends at a stated limit, with a bound or as not ended."""
    SMALL = "small"
    """Less than the paper's size, or other parameters: the ratio is stated."""
    NOT_RUN = "not run"
    """No result is kept: the reason is stated."""


@final
@dataclass(frozen=True)
class Scale:
    """Sizes of an item beside the paper's.

    Parameters
    ----------
    quick
        Ratio of the sizes of ``--quick`` to the paper's, in words; empty if they are equal.
    default
        The same for a run without ``--quick``.
    data
        ``"the paper's"``, ``"synthetic"`` (stands in for data that may not be passed on), ``"public"``, or ``"none"``.
    hours
        Processor hours of a run without ``--quick``, as measured or estimated; 0 if not known.
    """

    quick: str = ""
    default: str = ""
    data: str = "synthetic"
    hours: float = 0.0


_BLOCKS = "60 of 500 secrets, 10 of 100 reports, 5 of 25 blocks"
_EXAMPLE = Scale(data="the paper's", hours=0.001)

SCALES: dict[str, Scale] = {
    "hierarchy/table5": _EXAMPLE,
    "hierarchy/table6": _EXAMPLE,
    "hierarchy/table7": Scale("2 of 30 draws, 159 of 3,197 regions, 100 of 1,000 sizes", hours=0.2),
    "hierarchy/table7-m-c-r": Scale(
        "2 of 30 draws, 159 of 3,197 regions, 100 of 1,000 sizes", hours=0.5
    ),
    "hierarchy/table7-taxis": Scale(
        "2 of 30 draws, 26 of 270 regions, 1,000 of 13,282 sizes", hours=1.0
    ),
    "hierarchy/figure7": Scale("13 of 270 regions, 20 of 50 sizes", hours=3.0),
    "hierarchy/figure8": Scale("159 of 3,197 regions, 100 of 1,000 sizes", hours=0.1),
    "hierarchy/windows": Scale("34 of 133 regions", data="synthetic", hours=0.01),
    "kanonymity/table1": _EXAMPLE,
    "kanonymity/table2": _EXAMPLE,
    "kanonymity/table3": Scale("20,000 of 100,000 rows"),
    "kanonymity/table4": _EXAMPLE,
    "kanonymity/tables5-6": _EXAMPLE,
    "kanonymity/table7": _EXAMPLE,
    "kanonymity/table8": Scale("1,000 of 5,000 rows"),
    "kanonymity/table9": Scale("2 of 9 numbers of rows"),
    "kanonymity/table10": Scale("5,000 of 20,000 rows"),
    "kanonymity/figure2": Scale("4 of 20 samples, 20 of 50 rows"),
    "kanonymity/figures3-4": Scale("300 of 2,000 rows, 2 of 7 k"),
    "kanonymity/figure5": Scale("400 of 5,000 rows, 2 of 7 k", hours=0.5),
    "kanonymity/figure6": Scale("4,000 of 100,000 rows, 1 of 2 k"),
    "kanonymity/figure7": Scale("2,000 of 20,000 rows, 2 of 6 k"),
    "kanonymity/figure8": Scale("1,000 of 20,000 rows, 2 of 3 widths, 1 of 2 k"),
    "kanonymity/figures9-10": Scale("2,000 of 40,000 rows"),
    "kanonymity/appendix-b": Scale(),
    "kanonymity/rand": Scale("2,000 of 20,186 rows, 1 of 3 k", data="public"),
    "lrgeo/tables1-2": Scale(
        "1 of 4 numbers of places, 1 of 5 user samples, 3 of 6 methods", hours=1.0
    ),
    "lrgeo/regimes": Scale("1 of 4 numbers of places", "Gamma 3 of 16.7 cells, 2 km of 4 km"),
    "lrgeo/figure6": Scale(
        "36 places, Gamma 3 of 16.7 cells", "64 places, Gamma 3 of 16.7 cells; 2 users"
    ),
    "lrgeo/figure8": Scale("225 of 900 places"),
    "lrgeo/figure9": Scale("200 of 1,600 places, 2 of 5 numbers of users, 1 of 5 user samples"),
    "lrgeo/figure10": Scale("49 of 400 places, 2 of 5 Gamma, 1 of 5 user samples"),
    "lrgeo/figure11": Scale("49 of 200 places, 3 of 9 numbers of users, 1 of 5 user samples"),
    "lrgeo/figure12": Scale("49 of 200 places, 3 of 9 numbers of users, 1 of 5 user samples"),
    "lrgeo/figure13": Scale("144 of 900 places"),
    "lrgeo/aipo": Scale("60 of 150 junctions, 4 of 8 epsilon"),
    "lrgeo/composite": Scale("25 of 64 places, 1 of 4 epsilon"),
    "lrgeo/theorems": Scale("half the side of the grids", data="none"),
    "metricdp/table1": Scale("3 of 10 instances"),
    "metricdp/table2": Scale("3 of 10 instances"),
    "metricdp/table3": Scale(_BLOCKS),
    "metricdp/table4": Scale(_BLOCKS),
    "metricdp/figure5": Scale("250 of 500 secrets"),
    "metricdp/figure6": Scale("100 of 1,000 secrets", hours=1.5),
    "metricdp/figure7": Scale("100 of 500 secrets, 3 of 5 epsilon"),
    "metricdp/figures8-9": Scale(_BLOCKS),
    "metricdp/figures10-11": Scale(_BLOCKS),
    "metricdp/figure12": Scale("4 of 10 numbers of blocks"),
    "metricdp/figures13-16": Scale("250 of 500 secrets"),
    "metricdp/figures17-20": Scale(_BLOCKS),
    "metricdp/scaling": Scale("169 of 1,024 secrets"),
    "submodular/features": Scale("5 of 50 runs, 2,000 of 20,000 records", data="synthetic, public"),
    "submodular/location": Scale("10 of 100 runs"),
    "submodular/topics": Scale("3 of 20 runs, 3,000 of 20,000 people"),
    "submodular/two-parts": Scale("20 of 400 runs"),
    "submodular/counterexamples": Scale("r to 4 of 8, n 300 of 1,000", data="none", hours=0.02),
    "submodular/greedy-loses": Scale("40 of 200 draws"),
    "submodular/sampling": Scale("4,000 of 20,000 users"),
    "submodular/steps": Scale("4 of 15 draws"),
    "submodular/theorems": Scale(data="none"),
    "submodular/examples": Scale("3 of 20 runs"),
    "submodular/value": Scale("4 of 20 draws, 3 of 7 epsilon"),
}
"""Sizes of each item beside the paper's, or beside its own full form where it is ours."""

PAPER_DRAWS = {"hierarchy/table7": 30, "hierarchy/table7-m-c-r": 30, "hierarchy/table7-taxis": 30}
"""Draws of noise in the paper, for items that take ``--draws``."""

HEADLINES: dict[str, tuple[str, ...]] = {
    "hierarchy": ("hierarchy/table7", "hierarchy/table7-m-c-r"),
    "kanonymity": ("kanonymity/figure5",),
    "lrgeo": ("lrgeo/tables1-2",),
    "metricdp": ("metricdp/figure6",),
    "submodular": ("submodular/counterexamples",),
}
"""Items of each paper's headline experiment."""


def status_of(name: str, run: Run) -> tuple[Status, str]:
    """Return the status of a finished run of an item, and its ratio or limit.

    Parameters
    ----------
    name
        The item, as ``"paper/item"``.
    run
        Its sizes, limit and draws.

    Returns
    -------
    Status
        ``FULL``, ``BOUNDED`` or ``SMALL``: a stopped run has no status.
    str
        The ratio of a small run, or the limit of a bounded one.

    Examples
    --------
    >>> from discreet_reproduction.record import Run
    >>> status_of("hierarchy/table7", Run(draws=3))
    (<Status.SMALL: 'small'>, '3 of 30 draws')
    >>> status_of("metricdp/table3", Run(limit=60))
    (<Status.BOUNDED: 'bounded'>, 'each solver run at most 60 s')
    """
    scale = SCALES.get(name, Scale())
    parts = [scale.quick if run.quick else scale.default]
    draws = PAPER_DRAWS.get(name, 0)
    if not run.quick and run.draws is not None and run.draws < draws:
        parts.append(f"{run.draws} of {draws} draws")
    ratio = ", ".join(part for part in parts if part)
    if ratio:
        return Status.SMALL, ratio
    if name in LIMITED:
        limit = "the item's own limit" if run.limit is None else f"{run.limit:g} s"
        return Status.BOUNDED, f"each solver run at most {limit}"
    return Status.FULL, ""
