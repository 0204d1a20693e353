"""``design`` beyond 5,120 secrets: noise or tails, computed on demand, with their loss and a lower bound."""

from __future__ import annotations

import math
import sys
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, final

import numpy as np

from discreet.cli.info import anchored_facts, describe_mechanism
from discreet.cli.options import HelpAllOption, PlaceOptions, QuietResultOptions, VerboseOption
from discreet.cli.output import Status, emit, facts, renamed_arguments, warn
from discreet.cli.progress import progress
from discreet.cli.statement import AimOptions
from discreet.core import printed
from discreet.core.errors import InvalidProblemError
from discreet.core.jit import clock
from discreet.core.option_groups import OptionGroup, argument, option
from discreet.metricdp.methods import METHODS

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.cli.statement import ImplicitStatement, ProblemStatement
    from discreet.core.guarantee import MetricDP
    from discreet.core.outcome import Design
    from discreet.core.progress import Progress
    from discreet.lrgeo.points.noise_design import NoiseDesign
    from discreet.metricdp.bounds.bound import Multipliers
    from discreet.metricdp.bounds.tails import TailDesign
    from discreet.metricdp.minimax import Minimax
    from discreet.metricdp.problem import Problem

    _Made = tuple[
        NoiseDesign | TailDesign,
        Callable[[str], None],
        dict[str, Any],
        list[tuple[str, object]],
    ]

    MetricDesign = Design[Problem, Multipliers]

__all__ = ["DesignOptions", "emit_design", "run_implicit"]

_DEFAULT_GAP = 0.01
_OPTIMAL_GAP = 1e-6
"""What ``--method optimal`` asks for: the library calls a design optimal below it."""


class ChannelSearchOptions(OptionGroup, panel="How to search"):
    """How a channel is searched for."""

    gap: float | None = option(
        "Relative gap between loss and lower bound to reach, default: 0.01; when given and missed, the "
        "exit status is 4."
    )
    time_limit: float | None = option(
        "Stop searching then; the best design stands. Compiling, in a first run, does not count.",
        "SECONDS",
    )
    method: str = option(
        f"auto, optimal (a gap of 1e-6 or status 4), {', '.join(sorted(METHODS.proven))}.",
        default="auto",
    )
    blocks: int | None = option("Blocks of --method benders; default: by the paper's model.")
    partitioner: str | None = option(
        "How --method benders makes them: k-m-dv (default), k-m-rec, k-m-adj or bsc."
    )
    threads: int = option("Threads of a solver.", default=1)

    @property
    def target(self) -> float:
        """The gap to reach."""
        if self.gap is not None:
            return self.gap
        return _OPTIMAL_GAP if self.method == "optimal" else _DEFAULT_GAP

    @property
    def is_demanded(self) -> bool:
        """Whether missing the target is a failure: the options name it."""
        return self.gap is not None or self.method == "optimal"


@final
class DesignOptions(
    PlaceOptions, AimOptions, ChannelSearchOptions, QuietResultOptions, VerboseOption, HelpAllOption
):
    """Options of ``design``."""

    places: str | None = argument(
        "CSV or Parquet file, one row for each secret.", "PLACES", default=None
    )
    points: str | None = option("The same as PLACES, by its name.", "FILE")
    label: str | None = option("Column of names of the secrets, all different.")
    allow_unprotected: bool = option(
        "Leave secrets apart that no chain within the radius joins. By default the shortest links join them.",
        default=False,
    )
    output: str | None = option("Where the channel goes.", "FILE", "--output", "-o")


def run_implicit(stated: ImplicitStatement, options: DesignOptions) -> Status:
    """Design without a table of distances, write the file and describe it; return the exit status."""
    _refuse(options)
    begun = clock()
    make = _make_noise if stated.guarantee.radius is None else _make_tails
    with progress(sys.stderr, quiet=options.quiet) as on_progress:
        made, save, data, rows = make(stated, options, on_progress)
    seconds = clock() - begun
    if options.output is not None:
        with renamed_arguments({"path": "--output"}):
            save(options.output)
    gap = made.gap
    reached = gap is not None and gap <= options.target
    missed = options.is_demanded and not reached
    data |= {
        "loss": made.upper,
        "lower": made.lower,
        "upper": made.upper,
        "gap": gap,
        "status": "gap reached" if reached else "limit reached",
        "interrupted": False,
        "seconds": seconds,
    }
    rows.append(("expected loss", printed.bounds(made.lower, made.upper)))
    emit_design(stated, options, made, data, rows, missed=made if missed else None)
    return Status.TARGET_MISSED if missed else Status.DONE


def emit_design(
    stated: ProblemStatement,
    options: DesignOptions,
    made: NoiseDesign | TailDesign | MetricDesign,
    data: dict[str, Any],
    rows: list[tuple[str, object]],
    *,
    missed: NoiseDesign | TailDesign | Minimax | MetricDesign | None = None,
    head: str = "",
) -> None:
    """Print a design of either kind, and warn if it has missed the target or was not written.

    Parameters
    ----------
    stated, options
        What was asked for.
    made
        The design.
    data, rows
        Plain values, its seconds among them, and rows of text below `head`.
    missed
        Bounds that miss the requested gap.
    head
        Text above the rows.
    """
    if missed is not None:
        gap = printed.missed_gap(options.target, missed.lower, missed.upper)
        warn(f"{gap}; the best verified design stands")
    if options.output is None and options.report is None:
        warn("nothing was written: no --output", quiet=options.quiet)
    data |= {"prior_normalized_from": stated.prior_sum, "output": options.output}
    published = getattr(made, "published", None)
    promise = made.guarantee if published is None else published().promise
    rows = [("guarantee", promise), *rows, ("seconds", printed.estimate(data["seconds"], 3))]
    emit("design", options, data, head + facts(rows), made.certificate)


def _make_tails(
    stated: ImplicitStatement,
    options: DesignOptions,
    on_progress: Callable[[Progress], None] | None,
) -> _Made:
    """Design a channel of exponential tails; return it with its bounds, rows and writer. Warns of links."""
    from discreet.artefact import save_anchored
    from discreet.artefact.implicit import from_tails
    from discreet.metricdp import tail_channel

    guarantee, joined = _connected(stated)
    if joined:
        warn(
            f"within {stated.guarantee.radius} {guarantee.unit} there are {joined + 1} separate groups of secrets; "
            f"the channel keeps all pairs within {printed.at_most(guarantee.radius)}",
            quiet=options.quiet,
        )
    made = tail_channel(
        stated.costs.space,
        guarantee,
        utility_loss=stated.costs.utility_loss,
        prior=stated.costs.prior,
        gap=options.target,
        time_limit=options.time_limit,
        threads=options.threads,
        on_progress=on_progress,
    )
    stored = from_tails(made, stated.labels)
    rows = [
        ("secrets", made.channel.n_secrets),
        ("method", "tails, computed on demand"),
    ]
    return made, partial(save_anchored, stored), anchored_facts(stored), rows


def _make_noise(
    stated: ImplicitStatement,
    options: DesignOptions,
    on_progress: Callable[[Progress], None] | None,
) -> _Made:
    """Design one noise for every point, with the places as reports; return it with its bounds, rows and writer."""
    from discreet.artefact import save_mechanism
    from discreet.lrgeo.points.many_places import design_many_places

    made = design_many_places(
        stated.costs,
        stated.guarantee,
        gap=options.target,
        time_limit=options.time_limit,
        threads=options.threads,
        on_progress=on_progress,
    )
    mechanism = made.published()
    rows = [
        ("places", made.K),
        ("method", "one noise for every point, outcomes named by places"),
        ("next", f"discreet serve --mechanism {options.output or 'FILE'} publishes it"),
    ]
    return (
        made,
        partial(save_mechanism, mechanism),
        describe_mechanism("noise-mechanism", mechanism)[0],
        rows,
    )


def _connected(stated: ImplicitStatement) -> tuple[MetricDP, int]:
    """Widen the radius until the pairs within it connect all secrets; return the number of added links, too."""
    space, guarantee = stated.costs.space, stated.guarantee
    near = space.adjacency(guarantee.radius)
    every, links = near.join(space)
    if not len(links):
        return guarantee, 0
    added = np.isin(every.pairs @ [space.n, 1], links @ [space.n, 1])
    # Upwards, to six digits after the point.
    longest = Fraction(int(every.lengths[added].max()) * 10**6, 2**every.scale_bits)
    return replace(guarantee, radius=Fraction(math.ceil(longest), 10**6)), len(links)


def _refuse(options: DesignOptions) -> None:
    """Refuse what there is with a table alone."""
    most = "with more than 5,120 secrets"
    if options.method != "auto":
        raise InvalidProblemError("--method", f"auto {most}", repr(options.method))
    options.refuse(("blocks", "partitioner", "report", "allow_unprotected"), f"none {most}")
