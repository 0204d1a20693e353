"""The picture of the README: what is lost at equal privacy, beside peers.

    python benchmarks/beside_peers.py --adult FOLDER      measures anew, and writes the figures and the picture
    python benchmarks/beside_peers.py                     draws the picture from the figures that are kept

Left: a report of a place on a grid of ten by ten cells of a kilometer, all equally likely, epsilon 1 per kilometer for
all pairs. Every mechanism is repaired, rounded and verified alike; planar Laplace noise and the exponential mechanism
have their reports renamed where that loses less. The lower bound is proved.

Right: UCI Adult, 32,561 rows and six quasi-identifiers with published hierarchies, k = 5, no row suppressed. FOLDER
holds ``adult_qi.csv`` and a file ``h_*.csv`` for each column. The loss is the mean over all cells of (leaves under the
published value - 1) / (leaves of the column - 1). The figures of ARX (local recoding) and ANJANA are from one run of
each on the same rows, hierarchies and loss; they do not run here, so they are kept as they were measured.

Asserted: no mechanism is below the bound, and the table is k-anonymous in a count of its own.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from matplotlib.axes import Axes

ROOT = Path(__file__).parents[1]
FIGURES = ROOT / "docs" / "pictures" / "beside.json"
PICTURE = ROOT / "docs" / "pictures" / "beside.svg"
SIDE, EPSILON, K = 10, 1, 5
SECONDS = 120.0
HIERARCHIES = {
    "age": "h_age.csv",
    "education": "h_education.csv",
    "marital-status": "h_marital.csv",
    "occupation": "h_occupation.csv",
    "sex": "h_sex.csv",
    "native-country": "h_country.csv",
}
KEPT = {"ARX 3.9.2, local recoding": 0.1098, "ANJANA 1.2.3": 0.739}
"""Measured once, on the same rows, hierarchies and loss: k = 5, no suppression."""

LABEL = (
    "Two panels of bars. Left: how far a report is from the true place on average at epsilon 1 per kilometer, "
    "{places}; a hatched zone up to {lower:.2f} km shows what no mechanism can reach. Right: information lost by a "
    "5-anonymous version of the Adult table, {tables}{bound}."
)


def places() -> dict[str, Any]:
    """Design for the grid, and beside it what the library compares with."""
    import discreet as dc
    from discreet.evaluate.comparison import published_losses

    space = dc.MetricSpace.grid(SIDE, SIDE, cell=1, unit="km")
    problem = dc.metricdp.Problem(space, utility_loss="euclidean")
    promise = dc.MetricDP(EPSILON, unit="km")
    made = dc.metricdp.design(problem, promise, gap=0.01)
    losses: dict[str, float] = {}
    for label, loss in published_losses(problem, promise):
        name = label.partition(",")[0]
        if name == "always the same report":
            continue
        losses[name] = min(loss, losses.get(name, loss))
    assert made.lower is not None
    assert made.certificate.passed
    assert all(loss >= made.lower for loss in (made.upper, *losses.values()))
    return {"discreet": made.upper, "lower": made.lower, "others": losses}


def table(folder: Path, seconds: float) -> dict[str, Any]:
    """Anonymize Adult, count the classes of what came, and compute the loss from the published cells."""
    import polars as pl

    import discreet as dc
    from discreet.kanonymity import Taxonomy
    from discreet.tables.taxonomies import read_taxonomy

    rows = pl.read_csv(folder / "adult_qi.csv", infer_schema_length=0)
    trees = {name: read_taxonomy(folder / file) for name, file in HIERARCHIES.items()}
    made = dc.kanonymity.anonymize(
        rows,
        dc.KAnonymity(K, tuple(HIERARCHIES)),
        attributes=[Taxonomy(name, tree) for name, tree in trees.items()],
        time_limit=seconds,
        threads=2,
    )
    assert min(Counter(made.table.rows()).values()) >= K
    assert made.table.height == rows.height
    found = made.diagnostics
    cells = rows.height * len(HIERARCHIES)
    lost = sum(_lost(made.table[name], folder / file) for name, file in HIERARCHIES.items()) / cells
    assert abs(lost - found.information_loss / cells) < 1e-9
    return {
        "discreet": lost,
        "lower": found.lower / cells,
        "seconds": seconds,
        "others": KEPT,
    }


def _lost(column: Iterable[str], hierarchy: Path) -> float:
    """Add up (leaves - 1) / (all leaves - 1) over published cells, from the file of the hierarchy alone."""
    rows = [set(row) for row in csv.reader(hierarchy.read_text(encoding="utf-8").splitlines())]
    leaves = Counter(label for row in rows for label in row)
    return sum((leaves[cell] - 1) / (len(rows) - 1) for cell in column)


def draw(figures: dict[str, Any]) -> str:
    """Draw both panels, their scales from zero."""
    from matplotlib.figure import Figure

    from discreet.report.figures import inline_svg

    figure = Figure(figsize=(9.2, 2.7), layout="constrained")
    left, right = figure.subplots(1, 2)
    _bars(left, figures["places"], "km from the true place, on average", digits=2)
    left.set_title("A place reported, ε = 1 per km", loc="left", fontsize=10.5)
    _bars(right, figures["table"], "information lost, share of all cells", digits=3)
    right.set_title("A table of 32,561 persons, k = 5", loc="left", fontsize=10.5)
    svg = inline_svg(figure, label=alt(figures), salt="beside")
    opening = '<svg xmlns="http://www.w3.org/2000/svg" width="820" style="background:#fff;font-family:sans-serif" '
    return svg.replace("<svg ", opening, 1) + "\n"


def alt(figures: dict[str, Any]) -> str:
    """Say in words what the picture shows."""
    told = {}
    for panel, digits in (("places", 2), ("table", 3)):
        bars = {"discreet": figures[panel]["discreet"], **figures[panel]["others"]}
        told[panel] = ", ".join(f"{name} {loss:.{digits}f}" for name, loss in bars.items())
    lower = figures["table"]["lower"]
    bound = f"; the proven lower bound is {lower:.3f}" if lower else ""
    return LABEL.format(
        places=told["places"], tables=told["table"], lower=figures["places"]["lower"], bound=bound
    )


def _bars(ax: Axes, panel: dict[str, Any], quantity: str, *, digits: int) -> None:
    from discreet.plot.style import BLUE, GREY

    bars = {"discreet": panel["discreet"], **panel["others"]}
    ordered = sorted(bars, key=bars.__getitem__, reverse=True)
    ax.barh(
        ordered,
        [bars[name] for name in ordered],
        height=0.62,
        color=[BLUE if name == "discreet" else GREY for name in ordered],
    )
    most = max(bars.values())
    for name in ordered:
        ax.text(
            bars[name] + most * 0.012, name, f"{bars[name]:.{digits}f}", va="center", fontsize=9.5
        )
    if panel["lower"]:
        ax.axvspan(0, panel["lower"], facecolor="none", edgecolor="#fff", hatch="////", linewidth=0)
        ax.axvline(panel["lower"], color="#222", linewidth=1.2, linestyle=(0, (3, 2)))
        ax.text(
            panel["lower"] + most * 0.012, len(bars) - 0.42, "proven: not below this line",
            fontsize=8.5, color="#333", va="center",
        )  # fmt: skip
    ax.set_xlim(0, most * 1.16)
    ax.set_ylim(-0.5, len(bars) - 0.1)
    ax.set_xlabel(quantity, fontsize=9.5)
    ax.tick_params(labelsize=9.5, length=0)
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)


def main() -> int:
    """Measure where a folder is named, and draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--adult", type=Path, help="a folder with Adult and its hierarchies")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="of search for the table")
    stated = parser.parse_args()
    if stated.adult is not None:
        figures = {"places": places(), "table": table(stated.adult, stated.seconds)}
        FIGURES.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    figures = json.loads(FIGURES.read_text(encoding="utf-8"))
    PICTURE.write_text(draw(figures), encoding="utf-8")
    print(alt(figures))
    return 0


if __name__ == "__main__":
    sys.exit(main())
