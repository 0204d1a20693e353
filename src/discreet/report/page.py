"""One self-contained HTML file out of chapters: styles and figures inside, nothing fetched, light on paper too.

A chapter is a rendered part of the page. Each mechanism registers the function that makes its chapter, by name, so
that a report imports only what it shows. The function is called as ``chapter(outcome, **options) -> Chapter`` with what
the mechanism's verb returned; its options are its own, keyword-only, and all have defaults.
"""

from __future__ import annotations

import importlib
import re
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from discreet.core import printed
from discreet.core.errors import InvalidProblemError
from discreet.core.outcome import Anonymization, Design, Release, versions
from discreet.core.statements import STATEMENTS
from discreet.core.verified import was_verified

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from os import PathLike

    from jinja2 import Environment

IN_BROWSER = (
    "Drop the file here: it is checked in this browser, and nothing leaves it. That is a convenience, no independence: "
    "a page can't vouch for itself, and this one came with the claim. Independence means a copy of your own, of "
    "verify_standalone.html or verify_standalone.py, whose SHA-256 is the one that was published with the release."
)
"""What stands above the verifier in a report."""

CHAPTERS: Mapping[str, str] = {
    "attack": "discreet.report.attacked:chapter",
    "audit": "discreet.report.attacked:audit_chapter",
    "budget": "discreet.report.listed:budget_chapter",
    "comparison": "discreet.report.listed:comparison_chapter",
    "curator": "discreet.report.curator:chapter",
    "frontier": "discreet.report.listed:frontier_chapter",
    "hierarchy": "discreet.report.hierarchy:chapter",
    "kanonymity": "discreet.report.kanonymity:chapter",
    "lrgeo": "discreet.report.location:chapter",
    "metricdp": "discreet.report.metricdp:chapter",
    "query": "discreet.report.listed:answers_chapter",
    "risk": "discreet.report.listed:risk_chapter",
    "submodular": "discreet.report.submodular:chapter",
    "tables": "discreet.report.hierarchy:tables_chapter",
    "verified": "discreet.report.verified:chapter",
}
"""What can stand in a report: mechanism -> the function that makes its chapter."""

_ANCHOR = re.compile(r"[a-z][a-z0-9-]*")


@final
@dataclass(frozen=True)
class Chapter:
    """A part of a report, rendered.

    Parameters
    ----------
    title
        Its heading, plain text.
    anchor
        Its name in links: small letters, digits and hyphens.
    body
        HTML that was rendered with escaping on.
    lead
        A sentence for the table of contents, plain text.

    Raises
    ------
    InvalidProblemError
        For an anchor of other characters.
    """

    title: str
    anchor: str
    body: str
    lead: str = ""

    def __post_init__(self) -> None:
        if not _ANCHOR.fullmatch(self.anchor):
            raise InvalidProblemError(
                "anchor", "small letters, digits and hyphens", repr(self.anchor)
            )


@final
@dataclass(frozen=True)
class Tab:
    """Chapters that are shown together, on a page that shows one such group at a time.

    Parameters
    ----------
    label
        What stands on the tab, plain text.
    about
        A few words below it.
    chapters
        At least one.
    """

    label: str
    about: str
    chapters: tuple[Chapter, ...]


def make_chapter(name: str, outcome: object, **options: Any) -> Chapter:  # noqa: ANN401 - each chapter has its own options
    """Render a chapter by the function registered for a mechanism.

    Parameters
    ----------
    name
        A key of :data:`CHAPTERS`.
    outcome
        What the mechanism's verb returned. One that was read from a file, or copied with another part, is verified
        now, which may take as long as :func:`discreet.verify`, and its page shows what that found.
    **options
        Passed on; TypeError for one that the chapter does not have.

    Returns
    -------
    Chapter
        The chapter.

    Raises
    ------
    InvalidProblemError
        When no chapter has that name.

    Examples
    --------
    >>> make_chapter("astrology", None)
    Traceback (most recent call last):
    discreet.core.errors.InvalidProblemError: chapter: expected one of attack, ... got 'astrology'
    """
    if name not in CHAPTERS:
        raise InvalidProblemError("chapter", f"one of {', '.join(sorted(CHAPTERS))}", repr(name))
    module, function = CHAPTERS[name].split(":")
    shown = _verified(outcome)
    made: Chapter = getattr(importlib.import_module(module), function)(shown, **options)
    return made


def _verified(outcome: object) -> object:
    """Return the outcome, with a new certificate if it was changed, or read, after its check and says that it passed.

    Other objects, and outcomes with a failed check, are returned as they are. A verification may take seconds.
    """
    if not isinstance(outcome, Anonymization | Design | Release) or was_verified(outcome):
        return outcome
    if not outcome.certificate.passed:
        return outcome
    from discreet.artefact.judging import verify

    fresh = verify(outcome, optimality=isinstance(outcome, Design))
    return replace(outcome, certificate=fresh)


def list_chapter(title: str, anchor: str, lead: str, **parts: Any) -> Chapter:  # noqa: ANN401 - texts and cells
    """Render a chapter of one figure and one table.

    Parameters
    ----------
    title, anchor, lead
        Heading, name in links, and first sentence, plain text.
    **parts
        ``head`` and ``rows`` of the table, both required, lists of texts whose first column holds names; ``figure``,
        as HTML; ``notes`` below the table; ``warning`` and ``text`` above the figure and above the table.
    """
    shown: dict[str, Any] = {"figure": "", "notes": (), "warning": "", "text": "", **parts}
    body = render_template("listed.html", title=title, anchor=anchor, lead=lead, **shown)
    return Chapter(title, anchor, body, lead)


def render_report(
    chapters: Sequence[Chapter] | Sequence[Tab],
    *,
    title: str = "A privacy mechanism, with its proof",
    lead: Sequence[str] = (),
) -> str:
    """Render a report as one HTML document.

    Parameters
    ----------
    chapters
        At least one; anchors all different. Or tabs of chapters: one is shown at a time, and all of them, one below the
        other, on paper and where scripts are off.
    title
        The heading of the page.
    lead
        Paragraphs before the first chapter, plain text.

    Returns
    -------
    str
        HTML that refers to nothing outside itself, and tells the browser not to fetch anything.

    Raises
    ------
    InvalidProblemError
        Without chapters, for a mixture of chapters and tabs, for a tab without chapters, or when two have one anchor.
    """
    if not chapters:
        raise InvalidProblemError("chapters", "one chapter or more", "none")
    tabs = [tab for tab in chapters if isinstance(tab, Tab)]
    alone = [chapter for chapter in chapters if isinstance(chapter, Chapter)]
    if tabs and (alone or not all(tab.chapters for tab in tabs)):
        raise InvalidProblemError("chapters", "chapters, or tabs of chapters", "a mixture")
    every = [*alone, *(chapter for tab in tabs for chapter in tab.chapters)]
    anchors = [chapter.anchor for chapter in every]
    if len(set(anchors)) != len(anchors):
        raise InvalidProblemError("chapters", "different anchors", ", ".join(sorted(anchors)))
    return render_template(
        "page.html",
        chapters=alone,
        tabs=tabs,
        title=title,
        lead=lead,
        style=_asset("style.css"),
        script=_asset("map.js"),
        verifier=_verifier() if any("data-verify" in chapter.body for chapter in every) else "",
        versions=versions(),
    )


def write_report(
    chapters: Sequence[Chapter] | Sequence[Tab],
    path: str | PathLike[str],
    *,
    title: str = "A privacy mechanism, with its proof",
    lead: Sequence[str] = (),
    private: bool = False,
) -> Path:
    """Render a report and write it, whole or not at all.

    Parameters
    ----------
    chapters, title, lead
        As in :func:`render_report`.
    path
        The file, which is replaced if it exists; its folder must exist.
    private
        Make it readable for its owner alone: for what was computed from private data.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    InvalidProblemError
        As :func:`render_report`.
    OSError
        When the file can't be written.

    Examples
    --------
    >>> import tempfile
    >>> chapter = Chapter("Nothing yet", "nothing", "<p>No design.</p>")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     "No design." in write_report([chapter], f"{folder}/report.html").read_text(encoding="utf-8")
    True
    """
    from discreet.artefact.placing import put_file

    target = Path(path)
    page = render_report(chapters, title=title, lead=lead).encode()
    put_file(target, page, private=private)
    return target


def render_template(name: str, /, *, package: str = "discreet.report", **values: Any) -> str:  # noqa: ANN401 - a template takes what it names
    """Return the template `name` of a package's folder ``templates``, filled in with `values`, escaped.

    Jinja's errors are raised for a template that is not there, and for a name that the template uses and `values`
    lack.
    """
    return template_environment(package).get_template(name).render(**values)


@cache
def template_environment(package: str) -> Environment:
    """Return the Jinja environment of a package's templates: with escaping, checked names, and ``printed``."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader(package),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(printed=printed, state=_state)
    return environment


def _state(name: str, /, **values: object) -> str:
    """Return the statement `name` of the catalogue, filled in for a page: values are escaped, except marked-up ones."""
    from markupsafe import Markup

    filled: str = Markup(STATEMENTS[name].template).format_map(values)  # noqa: S704 - a template of ours
    return filled


def _verifier() -> str:
    """Return the script of the page that verifies channels, without its tags: there is one copy of it."""
    page = _asset("verify_standalone.html")
    return page.partition("<script>\n")[2].partition("</script>")[0]


@cache
def _asset(name: str) -> str:
    """Return the text of a style sheet or script of this package that goes into the page as it is; kept."""
    from importlib.resources import files

    return files("discreet.report").joinpath("templates", name).read_text(encoding="utf-8")
