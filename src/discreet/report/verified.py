"""The chapter of a verification: what a file claims, what was checked of it, and what no check can tell.

The page states a guarantee only beside the verdict, and only the checks that were made just now: a certificate that a
file brings along is not shown.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import MetricDP, guarantee_from_dict
from discreet.report.check_words import proof_of
from discreet.report.page import IN_BROWSER, Chapter, render_template

if TYPE_CHECKING:
    from collections.abc import Mapping

    from discreet.core.certificate import Certificate

Limit = tuple[str, str]
"""What is not claimed, in a few words, and the reason."""

_ALONE = (
    "verify_standalone.py is one file of plain Python from the repository of discreet. It needs nothing but Python "
    "3.11, shares no code with the package, and can be read in a quarter of an hour."
)
_HAND = "A table needs no tool of ours: group its rows by these columns in any program, and count."
_SAMPLED: Limit = (
    "That reports are drawn from these numbers.",
    "The file says with which chances. Anyone who draws otherwise keeps another promise, or none.",
)
_ONCE: Limit = (
    "Anything about two reports.",
    "Each fresh report of one secret costs epsilon again.",
)
_PUBLIC: Limit = (
    "That what is listed as public is public.",
    "Anyone who took one of the inputs below from private data has told it.",
)
_UNPROVED: Limit = ("That little is lost.", "A lower bound is stated without its proof.")
_REPORTS = (_SAMPLED, _ONCE, _PUBLIC)
_DRAWN: Limit = (
    "That chance was drawn as stated.",
    "No table shows how it was made. What was checked is that the noise of its record pays for the guarantee.",
)
_OTHERS: Limit = (
    "Other releases from the same people.",
    "Each has a guarantee of its own, and all of them together only the sum. A ledger keeps count.",
)
_RADIUS: Limit = (
    "The stated epsilon beyond the radius.",
    "Secrets farther apart are protected by the epsilon for all pairs, which the guarantee names, or not at all.",
)
_SERVED: Limit = (
    "That a server sends this file.",
    "Clients print the SHA-256 of their file; --max-epsilon of discreet locate refuses a weak guarantee.",
)
_SNAPPED: Limit = (
    "The way to the nearest place.",
    "A point is first moved to it: two points on two sides of a border are as far apart as their places are.",
)
_INFERRED: Limit = (
    "That nothing can be inferred.",
    "The rows of an equivalence class may share a sensitive value. k-anonymity is no differential privacy.",
)
_COLUMNS: Limit = (
    "Anything about other columns.",
    "Anyone who knows a cell of a column that is not listed knows more than was reckoned with.",
)


@final
@dataclass(frozen=True)
class _Kind:
    """What to say of a kind of file: what it is, what was checked, what was not, and how to check it without us."""

    noun: str
    checked: str
    unclaimed: tuple[Limit, ...]
    alone: str = ""


_IN_BROWSER = frozenset({"anchored", "channel", "mechanism"})
"""Kinds that the verifier in JavaScript knows."""

_EVERY_POINT: tuple[Limit, ...] = (
    _SERVED,
    (
        "Points outside.",
        "They are moved to the region's border; beyond its reach nothing is reported.",
    ),
    _UNPROVED,
    *_REPORTS,
)

KINDS: Mapping[str, _Kind] = {
    "channel": _Kind(
        "a channel: a table of chances, secrets by reports",
        "A channel says with which chance each secret gives each report. For each two secrets that the guarantee "
        "binds, and each report, the two chances were compared as the whole numbers that are stored and drawn from. "
        "Nothing was rounded in favor of the claim.",
        _REPORTS,
        _ALONE,
    ),
    "anchored": _Kind(
        "an implicit channel: each chance follows from a few whole numbers",
        "The weights of this channel follow from a few stored integers. It was checked that the factors of which they "
        "are made are right, that what rounding could spoil is made good, and that weights written one by one, and the "
        "totals of rows, keep what is promised.",
        (("That little is lost.", "Such a file states no loss and no bound."), *_REPORTS),
        f"{_ALONE} Beyond 5120 secrets it says that it does not check this kind.",
    ),
    "choice": _Kind(
        "a private choice: candidates that were chosen, and what could be chosen",
        "The chosen candidates were compared with the matroid that is stored beside them: known, different, allowed "
        "together, and as many as can be. From the public facts it was computed anew what each rule of the accountant "
        "proves for so many draws, and whether one of them gives the guarantee.",
        (
            _DRAWN,
            ("How much the choice is worth.", "Its value is computed from the records."),
            _PUBLIC,
        ),
    ),
    "mechanism": _Kind(
        "the mechanism of a location service",
        "A client computes from this file with which chance it reports each place. For each two places that the "
        "guarantee binds, and each report, these chances were compared as whole numbers, the same that a client draws "
        "from.",
        (_SERVED, _SNAPPED, _UNPROVED, *_REPORTS),
    ),
    "lattice-mechanism": _Kind(
        "the mechanism of a location service, for every point",
        "A client draws a control point near its own point, and a report from the row of that one. It was checked at "
        "each knot and each middle of the region's cells, and for each report, that chances rise nowhere faster than "
        "the guarantee allows, in whole numbers.",
        _EVERY_POINT,
        _ALONE,
    ),
    "noise-mechanism": _Kind(
        "the mechanism of a location service, for every point",
        "A client draws a control point near its own point, moves it by noise whose chances are in this file, and "
        "reports the name that the file gives to where it ends. It was checked at each node that the noise leads to "
        "that chances rise nowhere faster than the guarantee allows, in whole numbers.",
        _EVERY_POINT,
        _ALONE,
    ),
    "region-counts": _Kind(
        "counts by region and size",
        "The numbers were checked against each other: whole, not below zero, and adding up from the lowest regions to "
        "the whole. The noise that the record states was added up along each path from the root to a lowest region, "
        "for that is where one person counts; it has to pay for the guarantee. Counts of a region without noise of its "
        "own have to follow from those below it.",
        (
            _DRAWN,
            _OTHERS,
            ("How near the numbers are to the truth.", "Nothing in the table tells."),
            _PUBLIC,
        ),
    ),
    "measurements": _Kind(
        "kept measurements: noisy counts that can be asked",
        "The noise of each region was compared with that of its level, and added up along each path from the root to a "
        "lowest region, for that is where one person counts (in a chain, in all regions of a level); it has to pay for "
        "the guarantee. Where nothing was measured every value has to be 0.",
        (_DRAWN, _OTHERS, _PUBLIC),
    ),
    "region-tables": _Kind(
        "tables of attributes by region",
        "The numbers were checked against each other: not below zero, adding up from the lowest regions to the whole, "
        "and each marginal the sum of its cells. The noise that the record states was added up over the marginals of "
        "each path from the root to a lowest region, for that is where one person counts; it has to pay for the "
        "guarantee.",
        (
            _DRAWN,
            _OTHERS,
            ("How near the numbers are to the truth.", "Nothing in the tables tells."),
            _PUBLIC,
        ),
    ),
    "table-measurements": _Kind(
        "kept measurements of tables: noisy marginals that can be asked",
        "The noise of each marginal was added up along each path from the root to a lowest region, for that is where "
        "one person counts; it has to pay for the guarantee. Where nothing was measured every value has to be 0.",
        (_DRAWN, _OTHERS, _PUBLIC),
    ),
    "anonymous-table": _Kind(
        "a table of rows, generalized into equivalence classes",
        "The rows of the table were put into groups by their quasi-identifiers, as they are printed, and "
        "counted. What a group hides is what counts: the original was not needed for that.",
        (
            _INFERRED,
            _COLUMNS,
            ("Anything about a second table.", "Two tables of the same people can be intersected."),
            ("How much was lost.", "Only a comparison with the original tells, which is private."),
        ),
        _HAND,
    ),
}
"""Kind of a file -> what to say about it."""


def chapter(
    certificate: Certificate,
    *,
    stated: Mapping[str, Any],
    file: str,
    command: str,
    sha256: str = "",
) -> Chapter:
    """Render the chapter of a verification.

    Parameters
    ----------
    certificate
        The checks that were made.
    stated
        Claim of the file as :func:`discreet.artefact.judging.claim_facts` returns it: ``kind``, ``guarantee``,
        ``not_checked`` and ``assumed_public``; ``private`` is the reason why the page is not for everybody, if so.
    file
        Its name.
    command
        Command line that repeats the checks, as text.
    sha256
        The digest of the bytes that were checked.

    Returns
    -------
    Chapter
        For :func:`discreet.report.write_report`.

    Raises
    ------
    InvalidProblemError
        For an unknown kind, or a guarantee that cannot be read.

    Examples
    --------
    >>> from discreet.core.certificate import Check, Certificate
    >>> from discreet.artefact.judging import claim_facts
    >>> from discreet.core.guarantee import KAnonymity
    >>> small = Certificate((Check("classes smaller than k", 1, 0, exact=True),))
    >>> claim = claim_facts("anonymous-table", KAnonymity(2, ("age",)), None)
    >>> made = chapter(small, stated=claim, file="out.csv", command="discreet verify out.csv")
    >>> "1 of 1 checks failed" in made.body
    True
    """
    kind, guarantee = stated["kind"], guarantee_from_dict(stated["guarantee"])
    if kind not in KINDS:
        raise InvalidProblemError("kind", f"one of {', '.join(sorted(KINDS))}", repr(kind))
    words = KINDS[kind]
    failed = sum(not check.passed for check in certificate.checks)
    near = isinstance(guarantee, MetricDP) and guarantee.radius is not None
    heading = f"{file}: what was checked"
    lead = f"{file} is {words.noun}."
    body = render_template(
        "verified.html",
        title=heading,
        anchor="verified",
        lead=lead,
        file=file,
        guarantee=f"{stated['guarantee'].get('sentence') or guarantee}.",
        failed=failed,
        total=len(certificate.checks),
        exact=all(check.exact for check in certificate.checks),
        checked=words.checked,
        certificate=proof_of(certificate),
        unclaimed=[*([_RADIUS] if near else []), *words.unclaimed],
        limits=stated["not_checked"],
        private=stated.get("private", ""),
        command=command,
        alone=words.alone,
        in_browser=IN_BROWSER if kind in _IN_BROWSER else "",
        standalone=f"python verify_standalone.py {file}" if words.alone.startswith(_ALONE) else "",
        sha256=sha256,
        public=stated["assumed_public"],
    )
    return Chapter(heading, "verified", body, lead)
