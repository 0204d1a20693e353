"""The chapter of an anonymized table: what is promised, what rows became, what it costs, what it does not promise.

A chapter of real rows holds nothing of the original and no loss: both are for the curator. Rows beside their originals
and curves of losses are for made data: they are options that the caller gives.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from discreet.core.errors import InvalidProblemError
from discreet.kanonymity.problem import Attribute, Categorical, Numeric
from discreet.report.figures import inline_svg, new_figure
from discreet.report.page import Chapter, render_template

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.core.outcome import Anonymization

__all__ = ["Example", "LossCurve", "chapter"]


@final
@dataclass(frozen=True)
class Example:
    """A row and what is published for it. **Private** unless the data are made.

    Parameters
    ----------
    before, after
        Cells.
    alike
        Rows with the same cells in the quasi-identifiers, among the originals and among the published ones.
    """

    before: tuple[str, ...]
    after: tuple[str, ...]
    alike: tuple[int, int]


@final
@dataclass(frozen=True)
class LossCurve:
    """The loss of a method at several k. **Private** unless the data are made.

    Parameters
    ----------
    label
        The method.
    ks, losses
        Least class sizes, and what was lost.
    role
        ``"optimum"`` for this library, ``"bound"`` for what nothing can be below, ``"baseline"``.
    """

    label: str
    ks: tuple[int, ...]
    losses: tuple[float, ...]
    role: str = "baseline"

    def __post_init__(self) -> None:
        if len(self.ks) != len(self.losses) or not self.ks:
            raise InvalidProblemError(
                "losses", f"one for each of {len(self.ks)} k", len(self.losses)
            )


def chapter(
    made: Anonymization[Any, Any],
    *,
    title: str = "An anonymized table",
    anchor: str = "table",
    lead: Sequence[str] = (),
    attributes: Sequence[Attribute] = (),
    names: Sequence[str] = (),
    examples: Sequence[Example] = (),
    curves: Sequence[LossCurve] = (),
    curves_note: str = "",
    artefact: str = "",
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
        Rows of made data, before and after.
    curves
        Losses on made data.
    curves_note
        What they are about, plain text.
    artefact
        The file as a reader would type it.

    Returns
    -------
    Chapter
        For :func:`discreet.report.write_report`.
    """
    guarantee, provenance = made.guarantee, made.provenance
    body = render_template(
        "kanonymity.html",
        anchor=anchor,
        title=title,
        lead=lead,
        seeded=provenance.seeded,
        passed=made.certificate.passed,
        columns=_listed(guarantee.quasi_identifiers),
        k=guarantee.k,
        guarantee=f"{guarantee}.",
        names=names,
        examples=[(one.before, one.after, one.alike) for one in examples],
        figure=_figure(curves, anchor),
        curves_note=curves_note,
        checks=[check.to_dict() for check in made.certificate.checks],
        artefact=artefact,
        kinds=[(attribute.name, _kind(attribute)) for attribute in attributes],
        trace=provenance.method_trace,
        versions=provenance.versions,
    )
    return Chapter(title, anchor, body, lead[0] if lead else "")


def _listed(names: Sequence[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def _kind(attribute: Attribute) -> str:
    if isinstance(attribute, Numeric):
        kind = "a number, published as an interval"
    elif isinstance(attribute, Categorical):
        kind = "a value, published as a set of values"
    else:
        kind = f"a leaf of a taxonomy of {len(attribute.tree.leaves)} values, published as a node"
    return kind if attribute.weight == 1 else f"{kind}; weight {attribute.weight:g}"


def _figure(curves: Sequence[LossCurve], anchor: str) -> str:
    if not curves:
        return ""
    figure = new_figure(6.4, 4.2)
    ax = figure.add_subplot()
    ax.set_xscale("log")
    for number, curve in enumerate(curves):
        main = curve.role == "optimum"
        color = (
            "#0b5cad" if curve.role != "baseline" else ("#c44e00", "#52606d", "#a7761c")[number % 3]
        )
        ax.plot(
            curve.ks,
            curve.losses,
            label=curve.label,
            color=color,
            linestyle="-" if main else ("--", ":", "-.")[number // 3 % 3],
            linewidth=2.4 if main else 1.2,
            marker="o" if main else "",
            markersize=4,
        )
    bound = next((curve for curve in curves if curve.role == "bound"), None)
    if bound is not None:
        ax.fill_between(bound.ks, bound.losses, color="#0b5cad", alpha=0.08, linewidth=0)
    ticks = sorted({k for curve in curves for k in curve.ks})
    ax.set_xticks(ticks, [str(tick) for tick in ticks])
    ax.minorticks_off()
    ax.set_ylim(bottom=0)
    ax.set_xlabel("k")
    ax.set_ylabel("mean loss of a cell")
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    ax.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    names = ", ".join(curve.label for curve in curves)
    return inline_svg(figure, label=f"mean loss against k: {names}", salt=anchor)
