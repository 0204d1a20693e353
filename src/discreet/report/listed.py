"""Chapters of one figure and one table: answers with intervals, budgets, methods side by side, and risks."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from discreet.core import printed
from discreet.core.errors import InvalidProblemError
from discreet.core.statements import state
from discreet.evaluate.comparison import best_lower, comparison_cells
from discreet.hierarchy.reliability import reliability_in_words
from discreet.plot import Curve
from discreet.plot.counts import MAX_BARS
from discreet.plot.judges import plot_points
from discreet.plot.style import BLUE, FAINT, GREEN, GREY, PURPLE, VERMILION, plain
from discreet.report.figures import drawn, frontier_svg
from discreet.report.page import list_chapter

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence, Sized

    from matplotlib.figure import Figure

    from discreet.core.budget import Account
    from discreet.core.guarantee import Guarantee
    from discreet.evaluate.comparison import Entry
    from discreet.evaluate.utility.measure import Point
    from discreet.hierarchy.answers import Answers
    from discreet.hierarchy.contingency import MeasuredTables
    from discreet.hierarchy.measure import Measured
    from discreet.kanonymity.risk import Risk
    from discreet.ledger import Charge
    from discreet.report.page import Chapter


_ANSWERS_LEAD = "{question}, from the noisy {source} without bias; {interval}. They cost nothing."


def answers_chapter(
    answers: Answers,
    *,
    measured: Measured | MeasuredTables,
) -> Chapter:
    """Render answers to a question.

    Parameters
    ----------
    answers
        What :func:`discreet.hierarchy.query` or :func:`discreet.hierarchy.contingency.query` returned.
    measured
        The measurements that were queried, with the guarantee that they were made with.

    Returns
    -------
    Chapter
        Figure of the first 40 answers and table of all; all of it follows from what the guarantee covers.
    """
    table = answers.to_frame("dict", rounded=True)
    notes, source = [f"{measured.guarantee}.", reliability_in_words()], "counts"
    if answers.argument:
        notes.append(f"Why intervals cover: {answers.argument}.")
        source = "marginals"
    labels = [
        ", ".join([region, *(table[name][at] for name in answers.by)])
        for at, region in enumerate(table["region"])
    ]
    shown = min(len(labels), MAX_BARS)
    if shown < len(labels):
        notes.append(f"The figure shows the first {shown} of {len(labels)} answers.")

    def draw(figure: Figure) -> None:
        ax = figure.add_subplot()
        places = np.arange(shown)
        ax.hlines(places, table["low"][:shown], table["high"][:shown], color=FAINT, linewidth=3)
        ax.plot(table["value"][:shown], places, "o", color=BLUE, ms=4)
        ax.set_yticks(places, labels[:shown])
        ax.invert_yaxis()
        ax.set_xlabel(f"answer, with intervals of {printed.share_at_least(answers.interval)}")
        plain(ax)

    interval = state("interval", probability=printed.share_or_more(answers.interval))
    lead = _ANSWERS_LEAD.format(question=answers.question, source=source, interval=interval)
    columns = [table[name] for name in ("value", "low", "high", "reliability")]
    return list_chapter(
        "Answers",
        "answers",
        lead,
        warning="Not private: this was measured with seeded randomness." if measured.seeded else "",
        figure=drawn(
            draw, 5.6, 1.0 + 0.24 * shown, label="Answers by region, with intervals", salt="answers"
        ),
        head=["region", "answer", "from", "to", "reliability"],
        rows=[
            [label, printed.count(value), *printed.interval(low, high), mark]
            for label, value, low, high, mark in zip(labels, *columns, strict=True)
        ],
        notes=notes,
    )


_BUDGET_LEAD = (
    "Each release from private data spends a part of the budget of its dataset. This page lists what all of them "
    "have spent and what is left; a release that would exceed the budget is refused before the data are read."
)
_BUDGET_NOTES = (
    "Costs of one dataset are added up. What was released without this ledger is not reckoned with.",
    "Two datasets that hold the same people protect them only by the sum of both.",
)


def budget_chapter(
    accounts: Mapping[str, Account],
    charges: Mapping[str, Sequence[Charge]],
) -> Chapter:
    """Render the chapter of a ledger's budgets.

    Parameters
    ----------
    accounts
        Datasets by name.
    charges
        What was charged to each, oldest first.

    Returns
    -------
    Chapter
        A table with a row for each dataset, and below it one for each of its charges. A ledger holds no private value.

    Raises
    ------
    InvalidProblemError
        Without datasets.
    """
    _refuse_none(accounts, "accounts", "dataset")
    rows = []
    for name, account in accounts.items():
        limit = ", ".join(_amounts(account.limit))
        spent = ", ".join(map(printed.decimal_up, account.spent))
        rows.append([name, limit, spent, ", ".join(map(printed.decimal_down, account.left))])
        rows += [
            [f"{name}, charged {charge.charged}", "", ", ".join(_amounts(charge.guarantee)), ""]
            for charge in charges.get(name, ())
        ]
    return list_chapter(
        "What may still be given away",
        "budget",
        _BUDGET_LEAD,
        head=["dataset, and each charge to it", "limit", "spent", "left"],
        rows=rows,
        notes=[
            *(f"{name}: {account.limit}." for name, account in accounts.items()),
            *_BUDGET_NOTES,
        ],
    )


def _refuse_none(given: Sized, field: str, one: str) -> None:
    """Raise InvalidProblemError about `field` for an empty collection."""
    if not given:
        raise InvalidProblemError(field, f"one {one} or more", "none")


def _amounts(guarantee: Guarantee) -> list[str]:
    """Return the parameters of a guarantee as texts such as "epsilon 0.5", each rounded up; none for k-anonymity."""
    return [
        f"{name} {printed.decimal_up(getattr(guarantee, name))}"
        for name in ("epsilon", "delta", "rho")
        if hasattr(guarantee, name)
    ]


_COMPARISON_LEAD = (
    f"Every point is a channel that was verified in exact arithmetic. {state('bounds by epsilon')}"
)

_ROUNDED = (
    "The epsilon that a channel keeps is computed from its integers and rounded up. Losses are rounded up, lower "
    "bounds down."
)

_HEAD = [
    "method",
    "epsilon",
    "loss",
    "lower bound",
    "over the best bound",
    "epsilon within the radius",
    "epsilon for all pairs",
    "seconds",
    "MiB",
]

_FRONTIER_LEAD = (
    "What each method keeps and loses at each parameter, with intervals over repeated runs."
)


def comparison_chapter(
    entries: Sequence[Entry],
    *,
    unit: str = "",
) -> Chapter:
    """Render the chapter of a comparison: a figure of loss against epsilon, and its table.

    Parameters
    ----------
    entries
        What :func:`discreet.evaluate.comparison.compare_methods` returned.
    unit
        Unit of distance, for the axis.

    Returns
    -------
    Chapter
        Figure and table.

    Raises
    ------
    InvalidProblemError
        Without entries.
    """
    _refuse_none(entries, "entries", "entry")
    about = "Expected loss against epsilon"
    figure = frontier_svg(_curves(entries), about, "comparison", unit=unit)
    return list_chapter(
        "Loss against epsilon",
        "comparison",
        _COMPARISON_LEAD,
        figure=figure,
        text=_ROUNDED,
        head=_HEAD,
        rows=[
            [entry.method, printed.decimal(entry.epsilon), *cells]
            for entry, cells in zip(entries, comparison_cells(entries), strict=True)
        ],
        notes=[
            f"{entry.method} at {printed.decimal(entry.epsilon)}: {entry.note}"
            for entry in entries
            if entry.loss is None
        ],
    )


def frontier_chapter(
    points: Sequence[Point],
    *,
    parameter: str = "epsilon",
    title: str = "What a parameter costs",
    note: str = "",
) -> Chapter:
    """Render the chapter of a frontier: a measure of utility against a parameter, and its table.

    Parameters
    ----------
    points
        What :func:`discreet.evaluate.utility.measure.frontier` returned.
    parameter
        What the parameter is called.
    title
        The heading.
    note
        A sentence below the table.

    Returns
    -------
    Chapter
        Figure and table.

    Raises
    ------
    InvalidProblemError
        Without points.
    """
    _refuse_none(points, "points", "point")
    measure = points[0].measure.name
    figure = drawn(
        lambda figure: plot_points(points, parameter=parameter, ax=figure.add_subplot()),
        5.2,
        3.4,
        label=f"{measure} against {parameter}",
        salt="frontier",
    )
    notes = dict.fromkeys([*(point.measure.note for point in points), note])
    return list_chapter(
        title,
        "frontier",
        _FRONTIER_LEAD,
        figure=figure,
        head=["method", parameter, measure, "from", "to", "without privacy", "without data"],
        rows=[_point_row(point) for point in points],
        notes=[text for text in notes if text],
    )


def _curves(entries: Sequence[Entry]) -> list[Curve]:
    """Return a line of loss over epsilon for each method that has a loss, and one for the best bound if any."""
    epsilons = sorted({entry.epsilon for entry in entries})
    bounds = [(float(e), best_lower(entries, e)) for e in epsilons]
    proven = [(epsilon, lower) for epsilon, lower in bounds if lower is not None]
    curves = []
    if proven:
        curves.append(Curve("lower bound", *_columns(proven), "bound"))
    for name in dict.fromkeys(entry.method for entry in entries):
        points = sorted(
            (float(entry.epsilon), entry.loss)
            for entry in entries
            if entry.method == name and entry.loss is not None
        )
        if points:
            curve = Curve(name, *_columns(points))
            curves.append(replace(curve, role="optimum") if name == "optimal" else curve)
    return curves


def _columns(
    points: Sequence[tuple[float, float]],
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return the places and the values of points."""
    return tuple(at for at, _ in points), tuple(value for _, value in points)


def _point_row(point: Point) -> list[str]:
    """Return the cells of a point's row: method, parameter, estimate, interval, best and worst."""
    measure = point.measure
    estimate, ends = measure.estimate, (measure.best, measure.worst)
    return [
        point.method,
        printed.estimate(point.parameter),
        printed.estimate(estimate.value),
        *printed.interval(estimate.low, estimate.high),
        *("" if end is None else printed.estimate(end) for end in ends),
    ]


_RISK_LEAD = (
    "Three attackers look people up by {names}. The prosecutor knows that a person is in it, the journalist does "
    "not, the marketer looks for as many as possible. Their numbers are shares of searches that succeed."
)
_RISK_WARNING = (
    "Sizes of classes of a table that is not published are private: this page is then for the curator "
    "alone."
)
_BARS = ((BLUE, None), (VERMILION, "///"), (GREEN, "..."), (PURPLE, "xx"), (GREY, "\\\\"))
"""Color and hatch of the bars of a table, from the last table backwards."""


def risk_chapter(
    found: Mapping[str, Risk],
    *,
    names: Sequence[str],
    causes: Sequence[str] = (),
) -> Chapter:
    """Render the chapter of a risk.

    Parameters
    ----------
    found
        What :func:`discreet.kanonymity.risk.risk` returned, by the name of the table. **Private** unless the table is
        published.
    names
        The quasi-identifiers.
    causes
        Sentences about the columns that cause the risk.

    Returns
    -------
    Chapter
        The distribution of class sizes and a table of all measures. No value of a row is in it.

    Raises
    ------
    InvalidProblemError
        Without risks.
    """
    _refuse_none(found, "found", "risk")
    columns = [risk_measures(one) for one in found.values()]
    lead = _RISK_LEAD.format(names=", ".join(names))
    return list_chapter(
        "Who could be found",
        "risk",
        lead,
        warning=_RISK_WARNING,
        figure=drawn(
            partial(_draw_sizes, found), 6.4, 2.9, label="Shares by class size", salt="risk"
        ),
        head=["measure", *found],
        rows=[
            [label, *(column.get(label, "") for column in columns)]
            for label in dict.fromkeys(label for column in columns for label in column)
        ],
        notes=["100 % means that a person is found for certain.", *causes],
    )


def _draw_sizes(found: Mapping[str, Risk], figure: Figure) -> None:
    """Draw into `figure` the share of rows, in percent, in classes of each range of sizes, a bar for each table.

    The last table is blue, and colors repeat from the sixth on.
    """
    ax = figure.add_subplot()
    width = 0.8 / len(found)
    for at, (when, one) in enumerate(found.items()):
        color, hatch = _BARS[(len(found) - 1 - at) % len(_BARS)]
        bands = one.bands()
        places = [place + (at - (len(found) - 1) / 2) * width for place in range(len(bands))]
        heights = [100 * share for _, _, share in bands]
        ax.bar(places, heights, width, color=color, hatch=hatch, label=when)
    labels = [
        label.replace(" to ", "\N{EN DASH}").replace(" or more", "+") for label, _, _ in bands
    ]
    ax.set_xticks(range(len(bands)), labels)
    unit = "rows" if one.persons is None else "persons"
    ax.set_xlabel(f"{unit} in the class")
    ax.set_ylabel(f"% of {unit}")
    if len(found) > 1:
        ax.legend(frameon=False)
    plain(ax)


def risk_measures(one: Risk) -> dict[str, str]:
    """Return label -> text of the measures of a risk, as every page prints them, in the order of printing.

    Shares as percentages, counts as whole numbers; l and t have a label for each sensitive column. Persons only if
    counted.
    """
    return {
        "rows": printed.count(one.rows),
        **({} if one.persons is None else {"persons": printed.count(one.persons)}),
        "equivalence classes": printed.count(one.classes),
        "smallest class: k": printed.count(one.k),
        "middle class": printed.count(one.median),
        "largest class": printed.count(one.largest),
        f"{'rows' if one.persons is None else 'persons'} that are alone": printed.share(one.unique),
        "prosecutor, worst case": printed.share(one.prosecutor_highest),
        "prosecutor, on average": printed.share(one.prosecutor_average),
        "journalist, worst case": printed.share(one.journalist_highest),
        "journalist, on average": printed.share(one.journalist_average),
        "marketer": printed.share(one.marketer),
        **{
            f"least different values of {name}: l": str(number)
            for name, number in one.diversity.items()
        },
        **{
            f"greatest distance of {name}: t": printed.at_most(distance, 4)
            for name, distance in one.closeness.items()
        },
    }
