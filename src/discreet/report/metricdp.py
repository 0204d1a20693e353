"""The chapter of a metric-privacy design: what is promised, where reports go, what it costs, and the proof."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, final

import numpy as np

from discreet.core import printed
from discreet.core.exact import to_fraction
from discreet.core.guarantee import cautions
from discreet.core.statements import state
from discreet.evaluate.comparison import published_losses
from discreet.report.attacked import outcome_chapter
from discreet.report.figures import frontier_svg
from discreet.report.maps import Backdrop, Places, Strength, draw_map
from discreet.report.page import IN_BROWSER, Chapter
from discreet.report.trying import try_design
from discreet.report.words import (
    distance,
    example_distance,
    factor,
    guesses,
    sentence,
    strength,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from discreet.core.guarantee import MetricDP
    from discreet.core.outcome import Design
    from discreet.evaluate.attack.finding import Attacked
    from discreet.evaluate.audit.audit import Audit
    from discreet.metricdp.bounds.bound import Multipliers
    from discreet.metricdp.problem import Problem
    from discreet.plot import Curve
    from discreet.report.maps import MapView

    MetricDesign = Design[Problem, Multipliers]

_REPORTS = (1, 2, 5, 10)
"""How many reports about one secret the table of strength looks at."""


_SIDES = {"bound": printed.at_least, "this": printed.at_most, "baseline": printed.estimate}
"""Kind of a bar -> how its loss is rounded."""


@final
@dataclass(frozen=True, kw_only=True)
class DesignPage:
    """What the chapter of a design shows besides the design.

    Parameters
    ----------
    title
        Heading of the chapter.
    anchor
        Its name in links.
    lead
        Paragraphs under the heading, plain text: what is protected, and what a loss means.
    below
        Paragraphs under the map.
    picks
        Label and index of secrets to show on the map; three telling ones by default.
    backdrop
        Roads and water for the map.
    strengths
        Designs for the same problem, this one among them, from the strongest to the weakest: a slider on the map goes
        through them.
    curves
        Losses against epsilon, drawn where there are some.
    curves_note
        Plain text on the curves.
    baselines
        Label and expected loss of other mechanisms with the same guarantee; by default computed.
    loss_name, loss_unit
        Name and unit of the loss.
    artefact
        Name of the file that holds the design, for the commands that check it.
    sha256
        SHA-256 of that file, to detect later changes.
    seconds
        Seconds of each step; a design depends on public inputs alone, and so do its times.
    attacked, audits
        Results of attacks and audits; by default those of a small design are computed here, from public inputs.
    above
        Heading of a chapter on the page with the same text on limits of the protection and on checks of a file, which
        is then folded here, apart from warnings about unprotected pairs.
    """

    title: str = "The mechanism"
    anchor: str = "design"
    lead: Sequence[str] = ()
    below: Sequence[str] = ()
    picks: Sequence[tuple[str, int]] | None = None
    backdrop: Backdrop | None = None
    strengths: Sequence[MetricDesign] = ()
    curves: Sequence[Curve] = ()
    curves_note: str = ""
    baselines: Sequence[tuple[str, float]] | None = None
    loss_name: str = "expected loss"
    loss_unit: str = ""
    artefact: str | None = None
    sha256: str = ""
    seconds: Mapping[str, float] = field(default_factory=dict)
    attacked: Attacked | None = None
    audits: Sequence[Audit] = ()
    above: str = ""


def chapter(design: MetricDesign, **options: Any) -> Chapter:  # noqa: ANN401 - the fields of the record
    """Render a design.

    Parameters
    ----------
    design
        The design.
    **options
        Fields of :class:`DesignPage`.

    Returns
    -------
    Chapter
        For :func:`discreet.report.write_report`. Baselines that are not given are computed and verified; a design of
        at most 128 secrets is attacked if no results are given, which takes some seconds. TypeError for an unknown
        field.
    """
    page = DesignPage(**options)
    problem, guarantee, unit = design.problem, design.guarantee, page.loss_unit
    noun = "secret" if _places(design, unit) is None else "place"
    least, axes = _nearest(problem), {"unit": guarantee.unit, "loss_unit": unit}
    compared = page.baselines
    if compared is None:
        compared = published_losses(problem, guarantee)
    tried: tuple[Attacked | None, Sequence[Audit]] = (page.attacked, page.audits)
    if page.attacked is None and not page.audits and _is_attackable(design, least):
        tried = try_design(design)
    values = {name: getattr(page, name) for name in _AS_THEY_ARE}
    return outcome_chapter(
        "metricdp.html",
        design,
        (page.title, page.anchor, page.lead),
        tried,
        noun=noun,
        **values,
        **_losses_on_map(design, noun, unit, _map(design, page)),
        bars=_bars(design, compared),
        cost=_cost(design, compared, unit),
        stronger=[label for label, _ in compared if label == "planar Laplace" and guarantee.radius],
        frontier=frontier_svg(page.curves, "Expected loss against epsilon", page.anchor, **axes),
        numbers=_numbers(design, unit, page.seconds),
        in_browser=IN_BROWSER,
        **_statements(design, least, noun),
    )


_AS_THEY_ARE = ("above", "artefact", "below", "curves_note", "loss_name", "loss_unit", "sha256")
"""Fields of the page that the template prints."""


def _statements(design: MetricDesign, least: Fraction, noun: str) -> dict[str, Any]:
    """Return the values of the template that state the guarantee: texts, numbers, lists and None, by name.

    `least` is the smallest distance between secrets, `noun` names a secret. Reads all probabilities.
    """
    guarantee = design.guarantee
    return {
        "in_use": int((design.channel.probabilities.max(axis=0) >= 1e-3).sum()),
        "n_reports": design.problem.n_reports,
        "reports": _REPORTS,
        "n_secrets": printed.count(design.problem.n_secrets),
        "claim": _claim(guarantee, least),
        "cautions": cautions(guarantee, least),
        "sums": _sums(guarantee, noun),
        "guarantee": sentence(guarantee),
        "ladder": _ladder(guarantee, least),
        "radius": None if guarantee.radius is None else distance(guarantee.radius, guarantee.unit),
        "scope": guarantee.scope,
        "beyond": guarantee.beyond_in_words,
        "whole": _all_pairs_text(guarantee),
        "has_witness": design.witness is not None,
    }


def _is_attackable(design: MetricDesign, least: Fraction, *, max_secrets: int = 128) -> bool:
    """Return whether the radius constrains some pair, and the design has at most `max_secrets`: attacks take long."""
    radius = design.guarantee.radius
    constrains = radius is None or 0 < least <= radius
    return constrains and 1 < design.problem.n_secrets <= max_secrets


def _nearest(problem: Problem) -> Fraction:
    """Return the least positive distance between two secrets, exactly, in the unit of the space; 0 if there is none.

    Reads all ``O(n^2)`` distances.
    """
    distances = problem.space.distances
    apart = distances[distances > 0]
    return Fraction(int(apart.min()), 1 << problem.space.scale_bits) if apart.size else Fraction(0)


def _claim(guarantee: MetricDP, least: Fraction) -> dict[str, str]:
    """Return ``distance``, ``guesses`` and ``factor``, the texts of the guarantee at an example distance.

    `least` is the smallest distance between secrets.
    """
    length = example_distance(guarantee, least)
    return {"distance": distance(length, guarantee.unit), **_claim_at(guarantee, length)}


def _claim_at(guarantee: MetricDP, length: Fraction) -> dict[str, str]:
    """Return ``guesses`` (right in 100 at best) and ``factor`` (of the odds), texts, at a length within the radius."""
    nats = guarantee.epsilon * length
    return {"guesses": guesses(nats), "factor": factor(nats)}


def _ladder(guarantee: MetricDP, least: Fraction) -> list[tuple[str, list[str]]]:
    """Return rows for some distances.

    A row is the distance as text, and a list of texts: how often in 100 the best guess is right after 1, 2, 5, 10
    reports. `least` is the smallest distance between secrets; "no limit" where the guarantee has none.
    """
    base = example_distance(guarantee, least)
    rows = []
    lengths = [base * multiple for multiple in (Fraction(1, 5), Fraction(1, 2), 1, 2, 4, 10)]
    lengths = [length for length in lengths if length >= least] or [_two_digits(least)]
    if least > 0 and 5 * least < 4 * lengths[0]:
        lengths.insert(0, _two_digits(least))
    for length in lengths:
        nats = strength(guarantee, length)
        cells = ["no limit" if nats is None else guesses(nats * count) for count in _REPORTS]
        rows.append((distance(length, guarantee.unit), cells))
    return rows


def _two_digits(length: Fraction) -> Fraction:
    """Round a positive length up to two significant digits, exactly; ValueError for 0."""
    step = Fraction(10) ** (math.floor(math.log10(length)) - 1)
    return math.ceil(length / step) * step


def _sums(guarantee: MetricDP, noun: str) -> str:
    """Return the sentence on several secrets that are reported one by one; empty without an epsilon for all pairs.

    `noun` names a secret. Its total is for ten secrets, rounded up.
    """
    scope = guarantee.space_scope
    epsilon = guarantee.epsilon
    if guarantee.radius is not None:
        if scope is None or scope.all_pairs_epsilon is None:
            return ""
        epsilon = scope.all_pairs_epsilon
    return state(
        "sentence or trace",
        noun=noun,
        unit=guarantee.unit,
        epsilon=printed.decimal_up(epsilon),
        count=_REPORTS[-1],
        total=printed.decimal_up(_REPORTS[-1] * epsilon),
    )


def _all_pairs_text(guarantee: MetricDP) -> str | None:
    """Return the epsilon that holds between all pairs as text, or ``None``."""
    scope = guarantee.space_scope
    implied = None if scope is None else scope.all_pairs_epsilon
    return None if implied is None else f"{printed.decimal_up(implied)} per {guarantee.unit}"


def _places(design: MetricDesign, loss_unit: str) -> Places | None:
    """Return the secrets as places in the plane, or None if they have no plane coordinates or reports name no secrets.

    Places on the globe are projected to km or m around their middle. `loss_unit` is the unit of the loss.
    """
    problem = design.problem
    space = problem.space
    if space.points is None or space.points.shape[1] != 2 or problem.reports is None:
        return None
    plane = np.asarray(space.points)
    if space.metric == "haversine":
        from discreet.core.spaces.geography import to_plane

        kilometers = to_plane(plane, (plane[:, 0].mean(), plane[0, 1]))
        plane = kilometers * (1000 if space.unit == "m" else 1)
    cell = None
    if space.metric == "grid":
        gaps = np.diff(np.unique(plane))
        cell = float(gaps.min()) if len(gaps) else 1.0
    return Places(
        plane=plane,
        chance=design.channel.probabilities,
        reports=problem.reports,
        loss=problem.loss,
        unit=space.unit,
        loss_unit=loss_unit,
        cell=cell,
    )


def _map(design: MetricDesign, page: DesignPage) -> MapView | None:
    """Return the map of a design with its strengths; None without places in the plane, or for reports without names.

    ``O(n^2)``. ValueError if the page has strengths and this design is none of them.
    """
    places = _places(design, page.loss_unit)
    if places is None:
        return None
    base = example_distance(design.guarantee, _nearest(design.problem))
    placed = [(one, _places(one, page.loss_unit)) for one in page.strengths]
    shown = [(one, its) for one, its in placed if its is not None]
    drawn = [
        Strength(
            f"epsilon {printed.decimal_up(one.guarantee.epsilon)} per {one.guarantee.unit}",
            _claim_at(one.guarantee, base),
            its,
        )
        for one, its in shown
    ]
    return draw_map(
        places,
        page.picks or _telling(design),
        near=(base, 2 * base, 4 * base),
        backdrop=page.backdrop,
        strengths=drawn,
        strength=[one is design for one, _ in shown].index(True) if drawn else 0,
    )


def _telling(design: MetricDesign) -> list[tuple[str, int]]:
    """Return label and index of three secrets.

    They are the likeliest (the first if all are alike), and those of least and most loss.
    """
    prior = design.problem.prior
    lost = (design.channel.probabilities * design.problem.loss).sum(axis=1)
    return [
        ("the likeliest place" if np.ptp(prior) else "the first place", int(np.argmax(prior))),
        ("where least is lost", int(np.argmin(lost))),
        ("where most is lost", int(np.argmax(lost))),
    ]


def _bars(
    design: MetricDesign, baselines: Sequence[tuple[str, float]]
) -> list[tuple[str, str, str, str]]:
    """Return kind, label, length in percent of the largest loss, and text of each loss: bound, this design, baselines.

    Baselines are pairs of label and loss, and come out in order of loss. A bound is rounded down, this loss up.
    """
    bars = [] if design.lower is None else [("bound", "lower bound", design.lower)]
    bars.append(("this", "this mechanism", design.upper))
    bars += [("baseline", *one) for one in sorted(baselines, key=lambda one: one[1])]
    most = max(loss for *_, loss in bars) or 1.0
    return [
        (kind, label, printed.position(100 * loss / most), _SIDES[kind](loss))
        for kind, label, loss in bars
    ]


def _cost(design: MetricDesign, baselines: Sequence[tuple[str, float]], loss_unit: str) -> str:
    """Return sentences that compare the loss with the lower bound and with the best baseline of positive loss.

    A bound that is missing or 0, and a saving of less than 1 %, are not mentioned.

    `baselines` are pairs of label and loss; `loss_unit` is printed with losses. A loss is rounded up.
    """
    text = f"On average it loses {printed.at_most(design.upper, 3, loss_unit)}"
    if design.lower is not None and design.lower > 0:
        # The gap is relative to what was reached; people compare with the least.
        over = printed.share_or_less(Fraction(design.upper) / Fraction(design.lower) - 1)
        links = design.guarantee.links_in_words
        text += f", {state('excess over the bound', over=over, links=links)}"
    text += "."
    beaten = [(label, loss) for label, loss in baselines if loss > 0]
    if beaten:
        label, loss = min(beaten, key=lambda pair: pair[1])
        saved = 1 - Fraction(design.upper) / Fraction(loss)
        if 100 * saved >= 1:
            text += f" The best of the others shown here, {label}, loses {printed.estimate(loss, 3, loss_unit)}"
            text += f": this one saves {printed.share_at_least(saved, 0)} of that."
    return text


def _losses_on_map(
    design: MetricDesign,
    noun: str,
    loss_unit: str,
    drawn_map: MapView | None,
    *,
    max_classes: int = 5,
) -> dict[str, Any]:
    """Return ``map`` and ``spread``.

    ``spread`` is a mapping of ``sentence`` (quantiles), ``bars`` (at most `max_classes`, whose tints the eye tells
    apart) and ``layers`` (of the map). A bar is a range, its length in percent of the longest, and its share of the
    secrets; a layer is a shade and an SVG path. `noun` names a secret, `drawn_map` may be None: no layers. ``O(n)``
    after the losses.
    """
    losses = design.loss_by_secret
    median, most, worst = (
        printed.at_most(value, 3, loss_unit) for value in design.loss_quantiles.values()
    )
    ends = np.linspace(losses.min(), losses.max(), max_classes + 1)[1:]
    figures = [printed.at_most(float(end), 3) for end in ends]
    if len(set(figures)) < len(figures):
        # Losses that agree in print are one class.
        ends, figures = ends[-1:], figures[-1:]
    lows = ["up", *figures[:-1]]
    words = [
        f"{low} to {printed.at_most(float(end), 3, loss_unit)}"
        for low, end in zip(lows, ends, strict=True)
    ]
    label = np.minimum(np.searchsorted(ends, losses), len(ends) - 1)
    layers: list[tuple[str, str]] = []
    if drawn_map is not None:
        at = np.reshape(drawn_map.data["at"], (-1, 2)).tolist()
        layers = [
            (
                printed.position((number + 1) / len(ends), 3),
                "".join(
                    f"M{printed.position(x)} {printed.position(y)}h0"
                    for (x, y), own in zip(at, label.tolist(), strict=True)
                    if own == number
                ),
            )
            for number in range(len(ends))
        ]
    counts = np.bincount(label, minlength=len(ends)).tolist()
    spread = {
        "sentence": state(
            "loss by secret",
            noun=noun,
            median=median,
            share=printed.share(0.95),
            most=most,
            worst=worst,
        ),
        "layers": layers,
        "bars": [
            (
                word,
                printed.position(100 * size / max(counts)),
                printed.share(size / len(losses), 3),
            )
            for word, size in zip(words, counts, strict=True)
            if size
        ],
    }
    return {"map": drawn_map, "spread": spread}


def _numbers(
    design: MetricDesign, loss_unit: str, seconds: Mapping[str, float]
) -> list[tuple[str, str]]:
    """Return the figures of the design, label and value; `seconds` are by step.

    `loss_unit` is the unit of the loss; bounds are rounded outwards, times are estimates.
    """
    guarantee, problem, parameters = design.guarantee, design.problem, design.provenance.parameters
    unit, scope = guarantee.unit, guarantee.space_scope
    rows = [
        ("secrets", printed.count(problem.n_secrets)),
        ("reports", printed.count(problem.n_reports)),
        ("epsilon", f"{printed.decimal_up(guarantee.epsilon)} per {unit}"),
        ("radius", "all pairs" if guarantee.radius is None else distance(guarantee.radius, unit)),
    ]
    if scope is not None:
        rows.append(("epsilon for all pairs", _all_pairs_text(guarantee) or "none"))
    rows += [("distances", c.detail) for c in design.certificate.checks if "WGS 84" in c.detail]
    rows += [
        ("lower bound", printed.at_least(design.lower, 10, loss_unit)),
        ("expected loss", printed.at_most(design.upper, 10, loss_unit)),
        ("gap", printed.gap(design.lower, design.upper)),
        ("method", design.provenance.method),
        ("status", design.status_in_words),
    ]
    rows += [
        (name, printed.decimal_up(to_fraction(parameters[name], name)))
        for name in ("delta", "theta", "limbs")
        if name in parameters
    ]
    rows += [(f"seconds, {step}", printed.estimate(time, 3)) for step, time in seconds.items()]
    return rows
