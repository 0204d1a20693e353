"""The chapter of a question to kept measurements: the answers, each with its interval."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.core import printed
from discreet.core.statements import state
from discreet.hierarchy.result import region_names
from discreet.plot.counts import plot_answers
from discreet.report.figures import drawn
from discreet.report.page import Chapter, render_template

if TYPE_CHECKING:
    from discreet.hierarchy.measure import Measured
    from discreet.hierarchy.query import CountAnswers

__all__ = ["chapter"]

_LEAD = "{question}, from the noisy counts without bias; {interval}. They cost nothing."
_ROWS = 40
"""Regions up to which the figure grows: beyond it names are left out of it."""


def chapter(
    answers: CountAnswers,
    *,
    measured: Measured,
    people: bool = False,
    title: str = "Answers",
    anchor: str = "answers",
) -> Chapter:
    """Make the chapter.

    Parameters
    ----------
    answers
        What :func:`discreet.hierarchy.query` returned.
    measured
        What was asked: noisy counts and the guarantee that they were made with.
    people
        Whether sizes were added up, and not units.
    title, anchor
        The heading, and its name in links.

    Returns
    -------
    Chapter
        Figure and table; all of it follows from what the guarantee covers.
    """
    shown = min(len(answers.nodes), _ROWS)
    figure = drawn(
        lambda figure: plot_answers(answers, ax=figure.add_subplot()),
        5.6,
        1.0 + 0.24 * shown,
        label="Answers by region, with intervals",
        salt=anchor,
    )
    names = region_names(answers.frame.tree)
    interval = state("interval", probability=printed.share_or_more(answers.interval))
    question = answers.question
    if answers.weights is None and people:
        question = "How many people there are"
    lead = _LEAD.format(question=question, interval=interval)
    rows = zip(
        answers.nodes.tolist(), answers.values.tolist(), answers.half_widths.tolist(), strict=True
    )
    body = render_template(
        "listed.html",
        title=title,
        anchor=anchor,
        lead=lead,
        warning="",
        figure=figure,
        head=["region", "answer", "from", "to"],
        rows=[
            [names[node], printed.estimate(value), *printed.interval(value - half, value + half)]
            for node, value, half in rows
        ],
        notes=[f"{measured.guarantee}."],
    )
    return Chapter(title, anchor, body, lead)
