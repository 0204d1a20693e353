"""The chapter of an anonymized table: what is promised, what rows became, what it costs, what it does not promise.

A chapter of real rows holds nothing of the original and no loss: both are for the curator. Rows beside their originals
and curves of losses are for synthetic data: they are options that the caller gives.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discreet.core import printed
from discreet.kanonymity.problem import (
    Attribute,
    Categorical,
    Dates,
    Numeric,
    Prefixes,
    Rounded,
)
from discreet.report.attacked import outcome_chapter
from discreet.report.figures import frontier_svg

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.core.outcome import Anonymization
    from discreet.evaluate.attack.finding import Attacked
    from discreet.evaluate.audit.audit import Audit
    from discreet.plot import Curve
    from discreet.report.page import Chapter


def chapter(
    made: Anonymization[Any, Any],
    *,
    title: str = "An anonymized table",
    anchor: str = "table",
    lead: Sequence[str] = (),
    attributes: Sequence[Attribute] = (),
    names: Sequence[str] = (),
    examples: Sequence[tuple[Sequence[str], Sequence[str], tuple[int, int]]] = (),
    curves: Sequence[Curve] = (),
    curves_note: str = "",
    artefact: str = "",
    attacked: Attacked | None = None,
    audits: Sequence[Audit] = (),
) -> Chapter:
    """Render an anonymization.

    Parameters
    ----------
    made
        What :func:`discreet.kanonymity.anonymize` returned. Its diagnostics are not shown.
    title
        Heading of the chapter.
    anchor
        Its name in links.
    lead
        Paragraphs under the heading, plain text.
    attributes
        How the quasi-identifiers were read.
    names
        Columns of the examples.
    examples
        Cells of rows of synthetic data, before and after, and how many rows have the same cells in the
        quasi-identifiers, before and after. **Private** unless the data are made.
    curves
        Mean loss of a cell against k, on synthetic data.
    curves_note
        What they are about, plain text.
    artefact
        The file as a reader would type it.
    attacked, audits
        What was tried against it, on synthetic data: attacks that know the original are private.

    Returns
    -------
    Chapter
        For :func:`discreet.report.write_report`.
    """
    guarantee = made.guarantee
    return outcome_chapter(
        "kanonymity.html",
        made,
        (title, anchor, lead),
        (attacked, audits),
        columns=_listed(guarantee.quasi_identifiers),
        k=guarantee.k,
        guarantee=f"{guarantee}.",
        names=names,
        examples=examples,
        figure=frontier_svg(
            curves, "mean loss against k", anchor, parameter="k", quantity="mean loss of a cell"
        ),
        curves_note=curves_note,
        artefact=artefact,
        kinds=[(attribute.name, _kind(attribute)) for attribute in attributes],
    )


def _listed(names: Sequence[str]) -> str:
    """Return names as a list in words."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def _kind(attribute: Attribute) -> str:
    """Return the kind of a column in words, with its weight if that is not 1.

    `attribute` states how the column was read; a taxonomy is described by the number of its leaves.
    """
    if isinstance(attribute, Numeric):
        kind = "a number, published as an interval"
    elif isinstance(attribute, Categorical):
        kind = "a value, published as a set of values"
    elif isinstance(attribute, Dates):
        kind = f"a date, published as a span of the calendar from one {attribute.finest} on"
    elif isinstance(attribute, Prefixes):
        kind = "a code, published by its first characters"
    elif isinstance(attribute, Rounded):
        kind = f"a number, published as an interval of {attribute.steps[0]} or more"
    else:
        kind = f"a leaf of a taxonomy of {len(attribute.tree.leaves)} values, published as a node"
    return kind if attribute.weight == 1 else f"{kind}; weight {printed.estimate(attribute.weight)}"
