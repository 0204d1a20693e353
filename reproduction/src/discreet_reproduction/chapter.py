"""The chapter of an experiment: its drawings, its table with the paper's columns marked, and how the two differ."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.report.figures import drawn
from discreet.report.page import Chapter, render_template

if TYPE_CHECKING:
    from collections.abc import Mapping

    from discreet_reproduction.record import Experiment, Panel


def chapter(
    experiment: Experiment,
    *,
    machine: Mapping[str, str] | None = None,
    anchor: str | None = None,
) -> Chapter:
    """Make the chapter.

    Parameters
    ----------
    experiment
        What was found.
    machine
        What it was computed with, by name; see :func:`discreet_reproduction.writing.machine`.
    anchor
        Its name in links; that of the experiment by default.

    Returns
    -------
    Chapter
        Drawings, table, notes, settings.
    """
    name = experiment.name.replace("/", "-").replace(".", "-") if anchor is None else anchor
    shown = [
        (caption, _drawing(panel, caption, f"{name}-{at}"))
        for at, (caption, panel) in enumerate(experiment.panels.items())
    ]
    numeric = experiment.is_numeric()
    head = [
        {"name": column, "right": right, "paper": column in experiment.published}
        for column, right in zip(experiment.columns, numeric, strict=True)
    ]
    body = render_template(
        "experiment.html",
        package="discreet_reproduction",
        title=experiment.title,
        anchor=name,
        figures=shown,
        head=head,
        rows=experiment.cells(),
        notes=experiment.notes,
        settings=list(experiment.settings.items()),
        machine=list((machine or {}).items()),
    )
    return Chapter(experiment.title, name, body)


def _drawing(panel: Panel, caption: str, salt: str) -> str:
    return drawn(lambda figure: panel(figure.add_subplot()), 5.6, 3.8, label=caption, salt=salt)
