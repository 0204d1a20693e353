"""A right call of every public function, with small inputs: what wrong types take the place of, one at a time."""

from __future__ import annotations

import inspect
import math
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

import discreet as dc
from discreet import (
    KAnonymity,
    MetricDP,
    MetricSpace,
    PureDP,
    Tree,
    ZeroConcentratedDP,
    hierarchy,
    kanonymity,
    lrgeo,
    metricdp,
    submodular,
)
from discreet.core.errors import DiscreetError
from discreet.hierarchy import contingency
from discreet.hierarchy.contingency.measure import measure as measure_tables
from discreet.hierarchy.measure import measure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Odd:
    """Something that nothing can be done with."""

    def __repr__(self) -> str:
        return "an odd thing"


WRONG: tuple[Any, ...] = (
    "0.5",
    "\u0663 no name \x00",
    -1,
    2.5,
    math.nan,
    None,
    True,
    [],
    [Odd()],
    {"a": Odd()},
    Odd(),
    b"\xff",
    10**400,
    math,
    np.array(["x"], dtype=object),
    (1, (2, "x")),
)
"""One of them may be right for some argument: then the call does what it says."""

ELSEWHERE = frozenset(
    {"hierarchy.contingency.verify", "hierarchy.contingency.count_cells", "submodular.plan"}
    | {"kanonymity.anonymize"}
)
"""Functions whose wrong types are not tried: what others here call on their way, and `anonymize` by its second name."""

BESIDE = frozenset(
    {
        *("ApproxDP", "KAnonymity", "MetricDP", "PureDP", "ZeroConcentratedDP"),
        *("Coverage", "FacilityLocation", "PartitionMatroid", "UniformMatroid"),
        *("Domain.read", "GroupSizes.from_counts", "MetricSpace.from_points", "Tree.from_paths"),
        *("hierarchy.from_records, a quantity", "lrgeo.Client", "lrgeo.Epochs", "metricdp.Problem"),
    }
)
"""Calls of no public function: records, their constructors and a second way to call."""


@dataclass(frozen=True)
class Call:
    """A call that is right.

    Parameters
    ----------
    function
        What is called.
    given
        Arguments by name.
    """

    function: Callable[..., Any]
    given: dict[str, Any]

    def variants(self) -> Iterator[tuple[str, Any, dict[str, Any]]]:
        """Give every argument every wrong value."""
        for name, parameter in inspect.signature(self.function).parameters.items():
            if parameter.kind in {parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD}:
                continue
            for wrong in WRONG:
                yield name, wrong, {**self.given, name: wrong}


def failures(call: Call, step: int = 1) -> list[str]:
    """Say which wrong value of which argument ended in something else than an answer or an error of this library.

    Every so many of them are tried. Without a divisor in common with their number, each value comes to some argument.
    """
    assert math.gcd(step, len(WRONG)) == 1
    found = []
    for name, wrong, given in islice(call.variants(), 0, None, step):
        try:
            call.function(**given)
        except DiscreetError:
            continue
        except Exception as error:  # noqa: BLE001 - every other error is what is looked for
            found.append(f"{name}={wrong!r:.40}: {type(error).__name__}: {error!s:.160}")
    return found


def _channels() -> dict[str, Call]:
    space = MetricSpace.from_points([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]], unit="km")
    problem, claim = metricdp.Problem(space, utility_loss="euclidean"), MetricDP(2, "km")
    made = metricdp.design(problem, claim)
    grid = MetricSpace.grid(2, 2, cell="1", unit="km")
    priors = [[1 / 3] * 3, [0.5, 0.25, 0.25]]
    return {
        "metricdp.design": Call(metricdp.design, {"problem": problem, "guarantee": claim}),
        "metricdp.minimax": Call(
            metricdp.minimax, {"problem": problem, "priors": priors, "guarantee": claim}
        ),
        "metricdp.tail_channel": Call(metricdp.tail_channel, {"space": grid, "guarantee": claim}),
        "metricdp.verify": Call(metricdp.verify, {"design": made}),
        "metricdp.Problem": Call(metricdp.Problem, {"space": space, "utility_loss": "euclidean"}),
        "MetricSpace.from_points": Call(
            MetricSpace.from_points, {"points": [[0.0, 0.0], [1.0, 0.0]], "unit": "km"}
        ),
        "verify": Call(dc.verify, {"outcome": made}),
        "attack": Call(
            dc.attack,
            {"target": "metricdp", "epsilon": 1, "method": "uniform", "trials": 5, "reports": [1]},
        ),
        "audit": Call(dc.audit, {"target": "hierarchy", "epsilon": 1, "samples": 200}),
        "compare": Call(dc.compare, {"target": problem, "epsilon": 1, "methods": ["uniform"]}),
        "risk": Call(dc.risk, {"table": {"age": ["1", "1"]}, "quasi_identifiers": ["age"]}),
    }


def _regions() -> dict[str, Call]:
    region, claim = lrgeo.Region.from_grid(1, 2, cell="0.5", unit="km"), MetricDP(2, "km")
    made = lrgeo.design(region, claim, scope="places")
    published = lrgeo.Mechanism.from_design(made)
    square = lrgeo.Region.from_grid(2, 2, cell="0.5", unit="km")
    walk = {
        "client": lrgeo.Client(published),
        "state": lrgeo.State(),
        "point": (0.3, 0.2),
        "now": 10.0,
        "epochs": lrgeo.Epochs(3600, per_day=100),
    }
    # The quickest, since kernels run as plain Python where coverage is measured.
    quick = {"region": square, "guarantee": claim, "method": "noise", "spacing": "0.25"}
    return {
        "lrgeo.design": Call(lrgeo.design, quick),
        "lrgeo.verify": Call(lrgeo.verify, {"channel": made.channel, "guarantee": claim}),
        "lrgeo.Client": Call(lrgeo.Client, {"mechanism": published}),
        "lrgeo.Epochs": Call(lrgeo.Epochs, {}),
        "lrgeo.locate": Call(lrgeo.locate, walk),
        "lrgeo.pin": Call(lrgeo.pin, walk),
        "lrgeo.travel_loss": Call(lrgeo.travel_loss, {"travel": region.travel, "targets": [0, 1]}),
    }


def _counts() -> dict[str, Call]:
    claim = PureDP(1, "add-remove-person")
    paths, tree = [("x",), ("y",)], Tree.from_paths([("x",), ("y",)])
    people = pl.DataFrame({"home": ["a", "a", "b"], "st": ["x", "x", "y"], "n": [1, 1, 1]})
    homes = pl.DataFrame({"n": [1, 2], "st": ["x", "y"]})
    data = hierarchy.GroupSizes.from_counts(tree, [[1, 0], [0, 1]], units="private")
    made = hierarchy.release(data, claim, method="raw")
    public = {"columns": ["st"], "regions": paths, "max_size": 3}
    return {
        "hierarchy.from_records": Call(
            hierarchy.from_records, {"people": people, "unit": "home", **public}
        ),
        "hierarchy.from_records, a quantity": Call(
            hierarchy.from_records, {"people": people, "unit": "home", "quantity": "n", **public}
        ),
        "counts": Call(
            dc.counts,
            {
                "source": people,
                # As for tables.
                "guarantee": ZeroConcentratedDP(1, "add-remove-person"),
                "columns": ["st"],
                "regions": paths,
                "by": ["home"],
                "domain": {"home": [1, 2]},
            },
        ),
        "hierarchy.from_units": Call(hierarchy.from_units, {"units": homes, "size": "n", **public}),
        "hierarchy.plan": Call(
            hierarchy.plan,
            {
                "regions": paths,
                "guarantee": claim,
                "columns": ["st"],
                "unit": "home",
                "max_size": 3,
            },
        ),
        "hierarchy.release": Call(
            hierarchy.release, {"source": data, "guarantee": claim, "method": "raw"}
        ),
        "hierarchy.query": Call(
            hierarchy.query,
            {"measured": measure(data, "survival", claim), "sizes": [1], "level": 1},
        ),
        "hierarchy.diagnose": Call(hierarchy.diagnose, {"data": data, "result": made}),
        "hierarchy.verify": Call(hierarchy.verify, {"release": made}),
        "hierarchy.reproduce": Call(
            hierarchy.reproduce, {"data": data, "guarantee": claim, "method": "raw"}
        ),
        "GroupSizes.from_counts": Call(
            hierarchy.GroupSizes.from_counts,
            {"tree": tree, "counts": [[1, 0], [0, 1]], "units": "private"},
        ),
        "Tree.from_paths": Call(Tree.from_paths, {"paths": paths}),
    }


def _tables() -> dict[str, Call]:
    # Its shares are found in a tenth of the time of pure privacy, in each call whose wrong value is right.
    claim = ZeroConcentratedDP(1, "add-remove-person")
    stated: dict[str, Any] = {"columns": ["state"], "domain": {"sex": ["F", "M"]}}
    frame = contingency.plan([("GA",), ("NY",)], claim, **stated).frame
    kept = measure_tables(contingency.CellCounts(frame, np.array([[3, 1], [2, 2]])), claim)
    return {
        "hierarchy.contingency.plan": Call(
            contingency.plan, {"regions": [("GA",), ("NY",)], "guarantee": claim, **stated}
        ),
        "hierarchy.contingency.query": Call(contingency.query, {"measured": kept, "level": 1}),
        "hierarchy.contingency.estimate": Call(contingency.estimate, {"measured": kept}),
        "Domain.read": Call(contingency.Domain.read, {"listed": {"sex": ["F", "M"]}}),
    }


def _rows() -> dict[str, Call]:
    table = pl.DataFrame({"age": [1, 1, 2, 2], "ill": ["a", "b", "a", "b"]})
    claim = KAnonymity(2, ["age"])
    anonymized = Call(
        kanonymity.anonymize,
        {
            "table": table,
            "guarantee": claim,
            "attributes": [kanonymity.Numeric("age")],
            "unassigned": "keep",
        },
    )
    return {
        "anonymize": anonymized,
        "kanonymity.verify": Call(kanonymity.verify, {"table": table, "guarantee": claim}),
    }


def _choices() -> dict[str, Call]:
    reach = submodular.Coverage([[True, False], [False, True]])
    matroid, claim = submodular.UniformMatroid(2, 1), PureDP(1, "add-remove-one")
    made = submodular.release(reach, matroid, claim)
    both = {"objective": reach, "matroid": matroid}
    return {
        "submodular.release": Call(submodular.release, {**both, "guarantee": claim}),
        "submodular.optimum": Call(submodular.optimum, both),
        "submodular.check": Call(submodular.check, {"objective": reach}),
        "submodular.diagnose": Call(
            submodular.diagnose, {"objective": reach, "selection": made.result}
        ),
        "submodular.verify": Call(submodular.verify, {"release": made}),
        "submodular.upper_bound": Call(submodular.upper_bound, {**both, "chosen": [(0, 0)]}),
        "submodular.reproduce": Call(submodular.reproduce, {**both, "method": "lazy-greedy"}),
        "Coverage": Call(submodular.Coverage, {"incidence": [[True]]}),
        "UniformMatroid": Call(submodular.UniformMatroid, {"n_elements": 2, "rank": 1}),
        "PartitionMatroid": Call(submodular.PartitionMatroid, {"labels": [0, 1], "capacities": 1}),
        "FacilityLocation": Call(submodular.FacilityLocation, {"similarity": [[0.5, 0.1]]}),
        "select": Call(
            dc.select, {"matroid": "uniform:1", "guarantee": claim, "similarity": [[0.5, 0.1]]}
        ),
        "implies": Call(dc.implies, {"a": claim, "b": claim}),
        "compose": Call(dc.compose, {"first": claim}),
    }


def _claims() -> dict[str, Call]:
    neighbors = {"neighbors": "add-remove-person"}
    return {
        "PureDP": Call(PureDP, {"epsilon": 1, **neighbors}),
        "ApproxDP": Call(dc.ApproxDP, {"epsilon": 1, "delta": "1e-6", **neighbors}),
        "ZeroConcentratedDP": Call(ZeroConcentratedDP, {"rho": 1, **neighbors}),
        "MetricDP": Call(MetricDP, {"epsilon": 1, "unit": "km"}),
        "KAnonymity": Call(KAnonymity, {"k": 2, "quasi_identifiers": ["age"]}),
    }


@cache
def calls() -> dict[str, Call]:
    """Give a right call of each function by its name below ``discreet``."""
    return _channels() | _regions() | _counts() | _tables() | _rows() | _choices() | _claims()
