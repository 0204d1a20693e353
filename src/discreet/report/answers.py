"""The chapter of a question to kept measurements: the answers, each with its interval."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.core import printed
from discreet.core.statements import state
from discreet.hierarchy.query import CountAnswers
from discreet.hierarchy.reliability import reliability_in_words
from discreet.plot.style import BLUE, FAINT, plain
from discreet.report.figures import drawn
from discreet.report.page import list_chapter
from discreet.report.region_bars import MAX_BARS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from discreet.hierarchy.contingency import MeasuredTables
    from discreet.hierarchy.contingency.query import TableAnswers
    from discreet.hierarchy.measure import Measured
    from discreet.report.page import Chapter

__all__ = ["chapter"]

_LEAD = "{question}, from the noisy {source} without bias; {interval}. They cost nothing."


def chapter(
    answers: CountAnswers | TableAnswers,
    *,
    measured: Measured | MeasuredTables,
    people: bool = False,
    title: str = "Answers",
    anchor: str = "answers",
) -> Chapter:
    """Render answers to a question.

    Parameters
    ----------
    answers
        What :func:`discreet.hierarchy.query` or :func:`discreet.hierarchy.contingency.query` returned.
    measured
        The noisy counts, with the guarantee that they were made with.
    people
        Whether sizes were added up, and not units.
    title, anchor
        The heading, and its name in links.

    Returns
    -------
    Chapter
        Figure and table; all of it follows from what the guarantee covers.
    """
    table = answers.to_frame("dict", rounded=True)
    notes, source = [f"{measured.guarantee}.", reliability_in_words()], "counts"
    by: tuple[str, ...] = ()
    if not isinstance(answers, CountAnswers):
        notes.append(f"Why intervals cover: {answers.argument}.")
        by, source = answers.by, "marginals"
    labels = [
        ", ".join([region, *(table[name][at] for name in by)])
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
    question = answers.question
    if isinstance(answers, CountAnswers) and answers.weights is None and people:
        question = "How many people there are"
    lead = _LEAD.format(question=question, source=source, interval=interval)
    marks = table.get("reliability", [""] * len(labels))
    ends = zip(labels, table["value"], table["low"], table["high"], marks, strict=True)
    return list_chapter(
        title,
        anchor,
        lead,
        warning="Not private: this was measured with seeded randomness." if measured.seeded else "",
        figure=drawn(
            draw, 5.6, 1.0 + 0.24 * shown, label="Answers by region, with intervals", salt=anchor
        ),
        head=["region", "answer", "from", "to", "reliability"],
        rows=[
            [label, printed.count(value), *printed.interval(low, high), mark]
            for label, value, low, high, mark in ends
        ],
        notes=notes,
    )
