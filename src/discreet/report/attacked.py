"""The panel "attacked": what was tried against a mechanism, what was promised, what came out, and what follows.

A chapter of an outcome calls :func:`outcome_chapter`, which puts the panel at its end. Audits become rows by
:func:`audit_row`, findings by :func:`attack_row`; anyone who judges otherwise makes a :class:`Judged` of its own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, final

from discreet.core import printed
from discreet.core.errors import InvalidProblemError
from discreet.plot.judges import plot_findings
from discreet.report.check_words import proof_of
from discreet.report.figures import drawn
from discreet.report.page import Chapter, render_template

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from discreet.evaluate.attack.finding import Attacked, Finding
    from discreet.evaluate.audit.audit import Audit
    from discreet.evaluate.intervals import Estimate


_PANEL_LEAD = "Attacks were run against what is promised here. A promise that was not broken is not proved by that."
_STRENGTHS = {
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

    A lower bound that was found is rounded down, to four digits; `where` names the event and the pair of inputs.

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
    tried = _STRENGTHS[found.strength]
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
    lead: str = _PANEL_LEAD,
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
        SVG elements, to stand below the table.
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


def audit_chapter(found: Audit) -> Chapter:
    """Render a chapter of one audit.

    Parameters
    ----------
    found
        What an audit returned.

    Returns
    -------
    Chapter
        For :func:`discreet.report.write_report`.
    """
    notes = [str(found.guarantee)]
    body = panel([audit_row(found)], notes=notes, level=2)
    return Chapter("Attacked", "attacked", body, _PANEL_LEAD)


_LEAD = "As well as anybody knows how: the attacker, a naive one who does not look, and people who are not concerned."
_TRIED = (
    "Audits look for an input and an event that the promise does not allow. Attackers infer what they can; beside each "
    "stand a naive one who does not look, and what is found of people who are not concerned. That a promise was not "
    "broken proves nothing."
)
_KEY = (
    "Dot and bar: the attacker, with its interval. Upright stroke: the naive attacker. Cross: the control group. "
    "Dashed: what the claim allows."
)


def attack_row(found: Finding) -> Judged:
    """Convert a finding into a row of the page.

    The interval of the attacker stands in `found`, the naive attacker and the control group in `where`. A finding
    without a limit has no claim to test.

    Examples
    --------
    >>> from discreet.evaluate.attack.finding import Finding
    >>> from discreet.evaluate.intervals import Estimate
    >>> sure = Estimate.computed(0.75)
    >>> attack_row(Finding("guess", "records found", sure, Estimate.computed(0.5), limit=0.7)).broken
    True
    """
    limit = "nothing" if found.limit is None else _limit(found)
    beside = [f"naive {_text(found.baseline)}"]
    if found.control is not None:
        beside.append(f"control group {_text(found.control)}")
    verdict = {
        None: "no claim to test",
        True: "within what is claimed: this proves nothing",
        False: "the claim is broken",
    }[found.kept]
    return Judged(
        found.attack,
        limit,
        f"{found.measure}: {_text(found.attacker)}",
        verdict,
        "; ".join(beside),
        broken=found.kept is False,
    )


def chapter(found: Attacked) -> Chapter:
    """Render a chapter of all findings against one target.

    Parameters
    ----------
    found
        What an attack returned.

    Returns
    -------
    Chapter
        Panel and figures.
    """
    heading = f"Attacked: {found.target}"
    body = section(found, title=heading, lead=_LEAD, level=2)
    return Chapter(heading, "attacked", body, _LEAD)


def outcome_chapter(
    template: str,
    outcome: Any,  # noqa: ANN401 - a design, a release or an anonymization
    heading: tuple[str, str, Sequence[str]],
    tried: tuple[Attacked | None, Sequence[Audit]],
    about: Mapping[str, Any] = MappingProxyType({}),
    **values: Any,  # noqa: ANN401 - a template takes what it names
) -> Chapter:
    """Render the chapter of an outcome: what every page of an outcome states, and more.

    A KeyError or an error of Jinja is raised where `values` lack what the template names.

    Parameters
    ----------
    template
        Name of the template.
    outcome
        The outcome, whose provenance and certificate are shown; nothing is verified here.
    heading
        Title, anchor, and the paragraphs of the lead; the first of these goes into the table of contents.
    tried, about
        What attacks and audits returned, for the end of the chapter, and the words of :func:`section` for it.
    **values
        What the template names besides.
    """
    (title, anchor, lead), provenance = heading, outcome.provenance
    body = render_template(
        template,
        title=title,
        anchor=anchor,
        lead=lead,
        passed=outcome.certificate.passed,
        certificate=proof_of(outcome.certificate),
        seeded=provenance.seeded,
        public=provenance.assumed_public,
        trace=provenance.method_trace,
        versions=provenance.versions,
        **values,
    )
    body += section(*tried, anchor=f"{anchor}-attacked", **about)
    return Chapter(title, anchor, body, lead[0] if lead else "")


def section(
    found: Attacked | None = None,
    audits: Sequence[Audit] = (),
    *,
    title: str = "Attacked",
    anchor: str = "attacked",
    lead: str = _TRIED,
    level: int = 3,
) -> str:
    """Render what was tried against the mechanism of a chapter, for the end of its body.

    Parameters
    ----------
    found
        What an attack returned.
    audits
        What audits returned: they come first.
    title, anchor
        Its heading, and the name that makes its identifiers differ from others of the page.
    lead
        Plain text before the table.
    level
        Of the heading: 3 within a chapter, 2 where the section is all there is.

    Returns
    -------
    str
        HTML; empty where nothing was tried.

    Examples
    --------
    >>> section()
    ''
    """
    findings = () if found is None else found.findings
    rows = [*map(audit_row, audits), *map(attack_row, findings)]
    if not rows:
        return ""
    notes = list(dict.fromkeys(one.note for one in findings if one.note))
    if found is not None:
        if found.private:
            notes.append(f"Private: {found.private}.")
        notes.append(_KEY)
    figures = []
    for kind in (False, True):
        shown = [one for one in findings if one.error is kind]
        if shown:
            svg = drawn(
                lambda figure, shown=shown: plot_findings(shown, ax=figure.add_subplot()),  # type: ignore[misc]
                5.4,
                0.9 + 0.32 * len(shown),
                label=f"{title}: {', '.join(one.attack for one in shown)}",
                salt=f"{anchor}-{'errors' if kind else 'shares'}",
            )
            figures.append(svg)
    summary = _summary(rows) if level > 2 else ""
    return panel(
        rows,
        title=title,
        anchor=anchor,
        lead=lead,
        notes=notes,
        level=level,
        figures=figures,
        summary=summary,
    )


def _summary(rows: Sequence[Judged]) -> str:
    """Summarize the rows in one line."""
    broken = sum(row.broken for row in rows)
    if broken:
        return f"{broken} of {len(rows)} attempts broke what is claimed"
    return f"{len(rows)} attempts, none broke what is claimed, which proves nothing: details"


def _text(estimate: Estimate, *, negligible_share: float = 1e-3) -> str:
    """Return an estimate as text, three digits, with its interval if it was sampled.

    A lower end below `negligible_share` of the value, or of 1 where that is larger, is printed as 0.
    """
    near = printed.estimate(estimate.value, 3)
    if estimate.trials is None:
        return near
    # A share of a millionth at the lower end says no more than 0 does, and takes ten letters.
    low = 0.0 if 0 < estimate.low < negligible_share * max(1.0, estimate.value) else estimate.low
    return f"{near} ({' to '.join(printed.interval(low, estimate.high, 3))})"


def _limit(found: Finding) -> str:
    """Return the limit of a finding as text."""
    if found.error:
        return f"at least {printed.at_least(found.limit, 3)}"
    return f"at most {printed.at_most(found.limit, 3)}"
