"""The panel "attacked": what was tried against a mechanism, what was promised, what came out, and what follows.

A chapter calls :func:`panel` and puts the result at the end of its body; :func:`chapter` makes a chapter of it alone.
Audits become rows by :func:`audit_row`; anyone who judges otherwise makes a :class:`Judged` of its own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from discreet.core import printed
from discreet.core.errors import InvalidProblemError
from discreet.report.page import Chapter, render_template

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.evaluate.audit.audit import Audit

__all__ = ["Judged", "audit_row", "chapter", "panel"]

_LEAD = "Attacks were run against what is promised here. A promise that was not broken is not proved by that."
_TRIED = {
    "exact": "every draw replayed",
    "certified": "the verifier",
    "sampled": "samples",
}


@final
@dataclass(frozen=True)
class Judged:
    """One attempt, in the words of the page.

    Parameters
    ----------
    tried
        What was tried.
    promised, found
        The promised number and what the attempt reached, with what they are.
    verdict
        What follows.
    where
        The inputs and the event that showed it.
    broken
        Whether the promise is broken: it is then set in bold.
    """

    tried: str
    promised: str
    found: str
    verdict: str
    where: str = ""
    broken: bool = False


def audit_row(found: Audit) -> Judged:
    """Convert an audit into a row of the page.

    Examples
    --------
    >>> from discreet.core.guarantee import PureDP
    >>> from discreet.evaluate.audit.audit import audit
    >>> flip = audit(
    ...     lambda x, bits: x ^ (bits.randrange(4) == 0), [(0, 1)], PureDP(1, "replace-one"), strength="exact"
    ... )
    >>> audit_row(flip).promised, audit_row(flip).found, audit_row(flip).broken
    ('epsilon 1', 'at least 1.098', True)
    """
    what = "classes of" if found.parameter == "k" else "at least"
    lower = printed.at_least(found.lower, 4)
    tried = _TRIED[found.strength]
    if found.strength == "sampled":
        tried = f"{printed.count(found.runs)} samples of each input"
    event = "" if found.event == "none" else found.event
    where = " on ".join(part for part in (event, found.pair) if part)
    return Judged(
        tried,
        f"{found.parameter} {printed.decimal(found.claimed)}",
        lower if math.isinf(found.lower) else f"{what} {lower}",
        found.verdict,
        where,
        broken=found.rejected,
    )


def panel(
    rows: Sequence[Judged],
    *,
    title: str = "Attacked",
    anchor: str = "attacked",
    lead: str = _LEAD,
    notes: Sequence[str] = (),
    level: int = 3,
    figures: Sequence[str] = (),
    summary: str = "",
) -> str:
    """Render the panel: a section of HTML, with escaping on, for the body of a chapter.

    Parameters
    ----------
    rows
        One attempt or more.
    title, anchor
        Its heading, and the name that makes its identifiers differ from others of the page.
    lead, notes
        Plain text before and after the table.
    level
        Of the heading: 3 within a chapter, 2 where the panel is all there is.
    figures
        SVG, to stand below the table.
    summary
        One line that opens the table; what broke a promise is open already. Without it nothing is folded.

    Raises
    ------
    InvalidProblemError
        Without rows.

    Examples
    --------
    >>> "nothing &lt;found&gt;" in panel([Judged("guessing", "1 in 4", "1 in 4", "nothing <found>")])
    True
    """
    if not rows:
        raise InvalidProblemError("rows", "one attempt or more", "none")
    return render_template(
        "judged.html",
        title=title,
        anchor=anchor,
        lead=lead,
        rows=rows,
        notes=notes,
        level=level,
        figures=figures,
        summary=summary,
        broken=any(row.broken for row in rows),
    )


def chapter(
    rows: Sequence[Judged],
    *,
    title: str = "Attacked",
    anchor: str = "attacked",
    notes: Sequence[str] = (),
) -> Chapter:
    """Render a chapter of the panel alone; parameters as for :func:`panel`.

    Returns
    -------
    Chapter
        For :func:`discreet.report.write_report`.
    """
    body = panel(rows, title=title, anchor=anchor, notes=notes, level=2)
    return Chapter(title, anchor, body, _LEAD)
