"""The chapter of a risk: the risk of re-identification, before and after."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.core import printed
from discreet.core.errors import InvalidProblemError
from discreet.report.page import Chapter, render_template

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from discreet.kanonymity.risk import Risk

__all__ = ["chapter"]

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
        A table of all measures. No value of a row is in it.

    Raises
    ------
    InvalidProblemError
        Without risks.
    """
    if not found:
        raise InvalidProblemError("found", "one risk or more", "none")
    columns = [_measures(one) for one in found.values()]
    lead = _LEAD.format(names=", ".join(names))
    body = render_template(
        "listed.html",
        title=title,
        anchor=anchor,
        lead=lead,
        warning=_WARNING,
        figure="",
        head=["measure", *found],
        rows=[[label, *(column[label] for column in columns)] for label in columns[0]],
        notes=["100 % means that a person is found for certain.", *causes],
    )
    return Chapter(title, anchor, body, lead)


def _measures(one: Risk) -> dict[str, str]:
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
