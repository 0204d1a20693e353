"""Which function computes an item: the one table that ``discreet reproduce`` and the tests read.

Values are ``".module:function"`` below this package; nothing is imported before it is asked for.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

ITEMS: dict[str, str] = {
    "hierarchy/table5": ".hierarchy.examples:table5",
    "hierarchy/table6": ".hierarchy.examples:table6",
    "hierarchy/table7": ".hierarchy.errors:table7",
    "hierarchy/table7-m-c-r": ".hierarchy.errors:table7_relaxed",
    "hierarchy/table7-taxis": ".hierarchy.errors:table7_taxis",
    "hierarchy/figure7": ".hierarchy.times:figure7",
    "hierarchy/figure8": ".hierarchy.times:figure8",
    "hierarchy/windows": ".hierarchy.times:windows",
    "kanonymity/table1": ".kanonymity.examples:table1",
    "kanonymity/table2": ".kanonymity.examples:table2",
    "kanonymity/table3": ".kanonymity.statistics:table3",
    "kanonymity/table4": ".kanonymity.examples:table4",
    "kanonymity/tables5-6": ".kanonymity.examples:tables5to6",
    "kanonymity/table7": ".kanonymity.examples:table7",
    "kanonymity/table8": ".kanonymity.statistics:table8",
    "kanonymity/table9": ".kanonymity.statistics:table9",
    "kanonymity/table10": ".kanonymity.statistics:table10",
    "kanonymity/figure2": ".kanonymity.optimality:figure2",
    "kanonymity/figures3-4": ".kanonymity.utility:figures3to4",
    "kanonymity/figure5": ".kanonymity.scaling:figure5",
    "kanonymity/figure6": ".kanonymity.scaling:figure6",
    "kanonymity/figure7": ".kanonymity.scaling:figure7",
    "kanonymity/figure8": ".kanonymity.scaling:figure8",
    "kanonymity/figures9-10": ".kanonymity.scaling:figures9to10",
    "kanonymity/appendix-b": ".kanonymity.utility:appendix_b",
    "kanonymity/rand": ".kanonymity.scaling:rand",
    "lrgeo/tables1-2": ".lrgeo.tables:tables1to2",
    "lrgeo/regimes": ".lrgeo.tables:regimes",
    "lrgeo/figure6": ".lrgeo.figures:figure6",
    "lrgeo/figure8": ".lrgeo.figures:figure8",
    "lrgeo/figure9": ".lrgeo.figures:figure9",
    "lrgeo/figure10": ".lrgeo.figures:figure10",
    "lrgeo/figure11": ".lrgeo.composite:figure11",
    "lrgeo/figure12": ".lrgeo.composite:figure12",
    "lrgeo/figure13": ".lrgeo.figures:figure13",
    "lrgeo/aipo": ".lrgeo.aipo:aipo",
    "lrgeo/composite": ".lrgeo.composite:composite",
    "lrgeo/theorems": ".lrgeo.theorems:theorems",
    "metricdp/table1": ".metricdp.sizes:table1",
    "metricdp/table2": ".metricdp.sizes:table2",
    "metricdp/table3": ".metricdp.decomposition:table3",
    "metricdp/table4": ".metricdp.decomposition:table4",
    "metricdp/figure5": ".metricdp.sizes:figure5",
    "metricdp/figure6": ".metricdp.utility:figure6",
    "metricdp/figure7": ".metricdp.utility:figure7",
    "metricdp/figures8-9": ".metricdp.convergence:figures8to9",
    "metricdp/figures10-11": ".metricdp.convergence:figures10to11",
    "metricdp/figure12": ".metricdp.sizes:figure12",
    "metricdp/figures13-16": ".metricdp.sizes:figures13to16",
    "metricdp/figures17-20": ".metricdp.convergence:figures17to20",
    "metricdp/scaling": ".metricdp.scaling:scaling",
    "submodular/features": ".submodular.features:features",
    "submodular/location": ".submodular.location:cardinality",
    "submodular/topics": ".submodular.topics:topics",
    "submodular/two-parts": ".submodular.location:two_parts",
    "submodular/counterexamples": ".submodular.counterexamples:counterexamples",
    "submodular/examples": ".submodular.examples:examples",
    "submodular/greedy-loses": ".submodular.values:greedy_loses",
    "submodular/sampling": ".submodular.values:sampling",
    "submodular/steps": ".submodular.values:steps",
    "submodular/theorems": ".submodular.theorems:theorems",
    "submodular/value": ".submodular.values:value",
}
"""``"paper/item"`` -> the function ``(run: Run) -> Experiment`` that computes it."""


LIMITED = frozenset(
    {
        *("hierarchy/figure7", "kanonymity/figure5", "kanonymity/figure6", "kanonymity/figure7"),
        *("kanonymity/figure8", "kanonymity/figures3-4", "kanonymity/figures9-10"),
        *("kanonymity/rand", "lrgeo/composite", "lrgeo/regimes"),
        "lrgeo/tables1-2",
        *("metricdp/figure6", "metricdp/figure7", "metricdp/figures8-9", "metricdp/figures10-11"),
        *("metricdp/figures17-20", "metricdp/scaling", "metricdp/table3", "metricdp/table4"),
    }
)
"""The items whose runs of solvers take a limit, ``run.limit``."""


def find(name: str) -> Callable[..., Any]:
    """Import the function of an item.

    Examples
    --------
    >>> find("metricdp/table3").__name__
    'table3'
    """
    module, _, function = ITEMS[name].partition(":")
    found: Callable[..., Any] = getattr(importlib.import_module(module, __package__), function)
    return found
