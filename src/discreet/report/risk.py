"""The chapter of a risk: the risk of re-identification, before and after."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from discreet.core import printed
from discreet.core.errors import InvalidProblemError
from discreet.plot.style import BLUE, VERMILION, plain
from discreet.report.figures import drawn
from discreet.report.page import list_chapter

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.figure import Figure

    from discreet.kanonymity.risk import Risk
    from discreet.report.page import Chapter

__all__ = ["chapter", "risk_measures"]

_LEAD = (
    "Three attackers look people up by {names}. The prosecutor knows that a person is in it, the journalist does "
    "not, the marketer looks for as many as possible. Their numbers are shares of searches that succeed."
)
_WARNING = "Sizes of classes of a table that is not published are private: this page is then for the curator alone."


def chapter(
    found: Mapping[str, Risk],
    *,
    names: Sequence[str],
    causes: Sequence[str] = (),
    title: str = "Who could be found",
    anchor: str = "risk",
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
    title, anchor
        The heading, and its name in links.

    Returns
    -------
    Chapter
        The distribution of class sizes and a table of all measures. No value of a row is in it.

    Raises
    ------
    InvalidProblemError
        Without risks.
    """
    if not found:
        raise InvalidProblemError("found", "one risk or more", "none")
    columns = [risk_measures(one) for one in found.values()]
    lead = _LEAD.format(names=", ".join(names))
    return list_chapter(
        title,
        anchor,
        lead,
        warning=_WARNING,
        figure=drawn(
            partial(_draw_sizes, found), 6.4, 2.9, label="Share of rows by class size", salt=anchor
        ),
        head=["measure", *found],
        rows=[[label, *(column[label] for column in columns)] for label in columns[0]],
        notes=["100 % means that a person is found for certain.", *causes],
    )


def _draw_sizes(found: Mapping[str, Risk], figure: Figure) -> None:
    """Draw into `figure` the share of rows in classes of each range of sizes, a bar for each table."""
    ax = figure.add_subplot()
    width = 0.8 / len(found)
    styles = ((VERMILION, "///"), (BLUE, None))[-len(found) :]
    for at, ((when, one), (color, hatch)) in enumerate(zip(found.items(), styles, strict=True)):
        bands = one.bands()
        places = [place + (at - (len(found) - 1) / 2) * width for place in range(len(bands))]
        heights = [100 * share for _, _, share in bands]
        ax.bar(places, heights, width, color=color, hatch=hatch, label=when)
    labels = [
        label.replace(" to ", "\N{EN DASH}").replace(" or more", "+") for label, _, _ in bands
    ]
    ax.set_xticks(range(len(bands)), labels)
    ax.set_xlabel("rows in the class" if one.persons is None else "persons in the class")
    ax.set_ylabel("% of rows")
    if len(found) > 1:
        ax.legend(frameon=False)
    plain(ax)


def risk_measures(one: Risk) -> dict[str, str]:
    """Return the measures of a risk as every page prints them, by label."""
    return {
        "rows": printed.count(one.rows),
        **({} if one.persons is None else {"persons": printed.count(one.persons)}),
        "equivalence classes": printed.count(one.classes),
        "smallest class: k": printed.count(one.k),
        "middle class": printed.count(one.median),
        "largest class": printed.count(one.largest),
        "rows that are alone": printed.share(one.unique),
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
