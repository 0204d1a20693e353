"""Examples 4 and 5, Tables 5 and 6: small enough to follow by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.hierarchy.cost_tables import CountCosts
from discreet.hierarchy.methods.m_h_dp import table_merge
from discreet_reproduction.record import Experiment

if TYPE_CHECKING:
    from discreet_reproduction.record import Cell, Run

_NOISY = {"GA": 3, "NY": 0, "US": 2}
_CHAIN = {"GA": 3, "NY": 3, "US": 2}

_PRINTED_5 = (
    "4 + min(9+0)",
    "1 + min(9+1, 4+0)",
    "0 + min(0+4, 4+1, 1+0)",
    "1 + min(0+0, 1+1, 4+4, 9+9)",
    "4 + min(1+0, 0+1, 1+4, ...)",
)
_PRINTED_6 = (("9+9", "4+18"), ("4+4", "1+8"), ("1+1", "0+2"), ("0+0", "1+0"), ("1+0", "4+1"))


def table5(run: Run) -> Experiment:
    """Cost tables of two states and a country for one size, by merged increments (Examples 4 and 5, Table 5)."""
    v = np.arange(len(_PRINTED_5))
    merged = table_merge(
        [CountCosts(0, (v - _NOISY["GA"]) ** 2), CountCosts(0, (v - _NOISY["NY"]) ** 2)]
    )
    phi = merged.table.costs[: len(v)]
    tau = phi + (v - _NOISY["US"]) ** 2
    rows: list[dict[str, Cell]] = []
    for count in v.tolist():
        ga, ny = merged.share(count).tolist()
        rows.append(
            {
                "v": count,
                "GA": ga,
                "NY": ny,
                "phi": int(phi[count]),
                "tau": int(tau[count]),
                "tau (paper)": _PRINTED_5[count],
            }
        )
    return Experiment(
        "hierarchy/table5",
        "Merged cost tables of two states",
        rows=rows,
        notes=(
            (
                "Noisy counts: GA 3, NY 0, US 2. phi is the least cost of the states for a sum of v, tau adds the "
                "country's own."
            ),
            "The row for v = 2 prints min(0+4, ...) for min(9+4, ...); its minimum is not touched by that.",
        ),
        settings={f"noisy {name}": value for name, value in _NOISY.items()},
    )


def table6(run: Run) -> Experiment:
    """Recurrence (8) of the chain for two states and a country (Table 6)."""
    v = np.arange(len(_PRINTED_6))
    ga = (v - _CHAIN["GA"]) ** 2
    ny = (v - _CHAIN["NY"]) ** 2 + np.minimum.accumulate(ga)
    us = (v - _CHAIN["US"]) ** 2 + ny
    rows: list[dict[str, Cell]] = [
        {
            "v": count,
            "tau GA": int(ga[count]),
            "tau NY": int(ny[count]),
            "tau US": int(us[count]),
            "NY (paper)": state,
            "US (paper)": country,
        }
        for count, (state, country) in enumerate(_PRINTED_6)
    ]
    return Experiment(
        "hierarchy/table6",
        "The chain's tables",
        rows=rows,
        notes=(
            (
                "Noisy cumulative counts: GA 3, NY 3, US 2. The country closes the chain of its states, so that "
                "it takes over their table; a state takes the least cost so far."
            ),
            "The paper's row for v = 2 prints min(0, 4, 1) for min(9, 4, 1).",
            "The recurrence is exact; the noise that the paper puts into it is too small (item table7).",
        ),
        settings={f"noisy {name}": value for name, value in _CHAIN.items()},
    )
