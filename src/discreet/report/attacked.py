"""The chapter of an attack: the panel "attacked", and a figure of how far the attacker got."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discreet.core import printed
from discreet.plot.judges import plot_findings
from discreet.report.check_words import proof_of
from discreet.report.figures import drawn
from discreet.report.judged import Judged, audit_row, panel
from discreet.report.page import Chapter, render_template

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.evaluate.attack.finding import Attacked, Finding
    from discreet.evaluate.audit.audit import Audit
    from discreet.evaluate.intervals import Estimate

__all__ = ["attack_row", "chapter", "outcome_chapter", "section"]

_LEAD = "As well as anybody knows how: the attacker, a naive one who does not look, and people who are not concerned."
_TRIED = (
    "Audits look for an input and an event that the promise does not allow. Attackers infer what they can; beside each "
    "stand a naive one who does not look, and what is found of people who are not concerned. That a promise was not "
    "broken proves nothing."
)
_NEGLIGIBLE_SHARE = 1e-3
_KEY = (
    "Dot and bar: the attacker, with its interval. Upright stroke: the naive attacker. Cross: the control group. "
    "Dashed: what the claim allows."
)


def attack_row(found: Finding) -> Judged:
    """Convert a finding into a row of the page.

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


def chapter(found: Attacked, *, title: str = "", anchor: str = "attacked") -> Chapter:
    """Render a chapter of all findings against one target.

    Parameters
    ----------
    found
        What an attack returned.
    title, anchor
        Its heading, and its name in links.

    Returns
    -------
    Chapter
        Panel and figures.
    """
    heading = title or f"Attacked: {found.target}"
    body = section(found, title=heading, anchor=anchor, lead=_LEAD, level=2)
    return Chapter(heading, anchor, body, _LEAD)


def outcome_chapter(
    template: str,
    outcome: Any,  # noqa: ANN401 - a design, a release or an anonymization
    heading: tuple[str, str, Sequence[str]],
    judged: str,
    **values: Any,  # noqa: ANN401 - a template takes what it names
) -> Chapter:
    """Render the chapter of an outcome: what every page of an outcome states, and more.

    Parameters
    ----------
    template
        Name of the template.
    outcome
        Its provenance and its certificate are shown.
    heading
        Title, anchor and lead.
    judged
        HTML of :func:`section`, for the end of the chapter.
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
    return Chapter(title, anchor, body + judged, lead[0] if lead else "")


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


def _text(estimate: Estimate) -> str:
    """Return an estimate as text, with its interval if it was sampled."""
    near = printed.estimate(estimate.value, 3)
    if estimate.trials is None:
        return near
    # A share of a millionth at the lower end says no more than 0 does, and takes ten letters.
    low = 0.0 if 0 < estimate.low < _NEGLIGIBLE_SHARE * max(1.0, estimate.value) else estimate.low
    return f"{near} ({' to '.join(printed.interval(low, estimate.high, 3))})"


def _limit(found: Finding) -> str:
    """Return the limit of a finding as text."""
    if found.error:
        return f"at least {printed.at_least(found.limit, 3)}"
    return f"at most {printed.at_most(found.limit, 3)}"
