"""``design``: make a channel. Read, solve, write, whatever interrupts it; beyond 5,120 secrets without a table."""

from __future__ import annotations

import hashlib
import math
import sys
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, final

import numpy as np

from discreet.cli.calls import from_options
from discreet.cli.files import check_outputs, write_channel, write_page
from discreet.cli.info import anchored_facts, describe, describe_mechanism, loss_rows
from discreet.cli.options import (
    HelpAllOption,
    PlaceOptions,
    QuietResultOptions,
    VerboseOption,
    output_file,
)
from discreet.cli.output import Status, emit, renamed_arguments, warn
from discreet.cli.progress import Stages, announcing_compilation, progress
from discreet.cli.statement import (
    AimOptions,
    DesignStatement,
    ImplicitStatement,
    doubtful_distances,
    state_any,
)
from discreet.core import printed
from discreet.core.errors import InvalidProblemError, unknown_name
from discreet.core.jit import clock
from discreet.core.option_groups import OptionGroup, argument, option
from discreet.core.printed import facts
from discreet.core.progress import Pace
from discreet.core.system import return_freed_blocks
from discreet.metricdp.methods import METHODS

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.cli.statement import ProblemStatement
    from discreet.core.guarantee import MetricDP
    from discreet.core.outcome import Design
    from discreet.core.progress import Progress
    from discreet.lrgeo.points.noise_design import NoiseDesign
    from discreet.metricdp.bounds.bound import Multipliers
    from discreet.metricdp.bounds.tails import TailDesign
    from discreet.metricdp.minimax import Minimax
    from discreet.metricdp.part import Method
    from discreet.metricdp.problem import Problem

    _Made = tuple[
        NoiseDesign | TailDesign,
        Callable[[str], None],
        dict[str, Any],
        list[tuple[str, object]],
    ]
    MetricDesign = Design[Problem, Multipliers]


class ChannelSearchOptions(OptionGroup, panel="How to search"):
    """How a channel is searched for."""

    default_gap: ClassVar[float] = 0.01
    optimal_gap: ClassVar[float] = 1e-6
    """The gap that ``--method optimal`` asks for: the library calls a design optimal up to it."""

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
        return self.optimal_gap if self.method == "optimal" else self.default_gap

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
    output: str | None = output_file("Where the channel goes.")


def _run_implicit(stated: ImplicitStatement, options: DesignOptions) -> Status:
    """Design without a table of distances, write the file if requested, print the design; return the exit status.

    InvalidProblemError for options that need a table. The status is TARGET_MISSED only if a gap was asked for.
    """
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
    _emit_design(stated, options, made, data, rows, missed=made if missed else None)
    return Status.TARGET_MISSED if missed else Status.DONE


def _emit_design(
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
        Plain values for JSON, ``"seconds"`` among them, to which two are added in place, and rows of text below
        `head`.
    missed
        Design whose bounds miss the requested gap, or None; a warning states them.
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
    """Make a design of exponential tails; return it, the function that writes it, its facts and its rows of text.

    Warns if the radius had to be widened to connect all secrets. The search for the bound ends by gap or time limit.
    """
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
    """Design one noise for every point, with the places as reports; return it, its writer, its facts and its rows."""
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
    """Return the guarantee with the radius widened until the pairs within it connect all secrets, and the added links.

    The number is 0 where they are connected; else the radius is that of the longest link, rounded up to six digits.
    """
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
    """Raise InvalidProblemError for options that only a design with a table of distances has."""
    most = "with more than 5,120 secrets"
    if options.method != "auto":
        raise InvalidProblemError("--method", f"auto {most}", repr(options.method))
    options.refuse(("blocks", "partitioner", "report", "allow_unprotected"), f"none {most}")


_EXAMPLES = (
    "discreet design --grid 7x7 --cell 1 --unit km --epsilon 2 --radius 2 --loss euclidean -o c.channel",
    "discreet design places.csv --x lon --y lat --metric haversine --epsilon 1.5/km --prior weight -o c.channel",
    "discreet design --embeddings words.csv --metric angular --epsilon 4 -o words.channel",
)


@from_options(
    DesignOptions, examples=_EXAMPLES, first=("places", "grid", "unit", "radius", "output")
)
def design(options: DesignOptions) -> Status:
    """Design the channel that loses least under metric privacy, and prove it.

    The design is verified in exact arithmetic before it is written, and the file carries its proof. Places, prior,
    loss and reports are assumed to be public.

    Beyond 5,120 places, up to 131,072, in km or m and with their distance as the loss, the file holds one noise for
    every point of their region, for `discreet serve`; with --radius, up to 16,384 secrets, a channel of exponential
    tails. Both are private, verified, with their loss and a lower bound, but they are not the best that there is, and
    their files state the bound without proof.
    """
    return_freed_blocks()
    if options.points is not None and options.places is not None:
        raise InvalidProblemError("--points", "either this or PLACES", "both")
    file = options.places or options.points
    named = {"--output": options.output, "--report": options.report}
    check_outputs(named, file, options.embeddings, *options.read)
    with announcing_compilation(quiet=options.quiet):
        stages = Stages()
        stated = state_any(file, options, options, options.label)
        if isinstance(stated, ImplicitStatement):
            return _run_implicit(stated, options)
        started = clock()
        worst = None
        if stated.priors:
            # Several designs, each with its verification: all of it is search.
            stages.begin("search")
            worst, made, status = _solve_for_all(stated, options)
        else:
            made, status = _solve(stated, options, stages)
        seconds = clock() - started
    if made is None:
        warn("interrupted before anything was verified; nothing was written")
        return status
    stages.begin("writing")
    write_channel(made, options.output, stated.labels)
    if options.report is not None:
        _report(made, options.report, options.output)
    each = stages.seconds()
    known = doubtful_distances(made.problem.space, made.guarantee)
    for sentence in (*unprotected(made, stated.labels), *known):
        warn(sentence, quiet=options.quiet)
    data = {**describe(made), "interrupted": status is Status.INTERRUPTED}
    data |= {"seconds": seconds, "stages": each}
    spent = ", ".join(f"{name} {printed.estimate(time, 2)}" for name, time in each.items())
    rows, head = [*loss_rows(made, stated.labels), ("seconds of stages", spent)], ""
    if worst is not None:
        data["worst_case"] = _worst_case(worst, stated)
        head = f"{_worst_case_text(worst, stated)}\n\nFor the worst mixture of the priors:\n\n"
    missed = (worst or made) if status is Status.TARGET_MISSED else None
    _emit_design(stated, options, made, data, rows, missed=missed, head=head)
    return status


def _solve(
    stated: DesignStatement, options: DesignOptions, stages: Stages
) -> tuple[MetricDesign | None, Status]:
    """Design the channel with progress on standard error; return the design, if any, and the exit status.

    `stages` notes when search and verification begin.

    Interrupted, it returns the best verified design so far, or None. InvalidProblemError for options of another
    method.
    """
    from discreet.metricdp import design
    from discreet.metricdp.design import Interrupted

    method = None if options.method in {"auto", "optimal"} else _method(options)
    if options.method != "benders":
        options.refuse(("blocks", "partitioner"), "--method benders with it", options.method)
    try:
        pace = Pace(options.target, options.time_limit)
        with progress(sys.stderr, quiet=options.quiet, pace=pace) as on_progress:
            made = design(
                stated.problem,
                stated.guarantee,
                method=method,
                gap=options.target,
                time_limit=options.time_limit,
                threads=options.threads,
                allow_unprotected=options.allow_unprotected,
                on_progress=stages.watch(on_progress),
                throw=False,
            )
    except Interrupted as interrupted:
        return interrupted.best, Status.INTERRUPTED
    missed = options.is_demanded and made.status == "limit reached"
    return made, Status.TARGET_MISSED if missed else Status.DONE


def _solve_for_all(
    stated: DesignStatement, options: DesignOptions
) -> tuple[Minimax | None, MetricDesign | None, Status]:
    """Design for the worst of several priors; return the result (None if interrupted), its design, and the exit status.

    Interrupted, the design is the best so far, or None. InvalidProblemError for other methods than auto and optimal.
    """
    from discreet.metricdp import minimax
    from discreet.metricdp.design import Interrupted

    if options.method not in {"auto", "optimal"}:
        raise InvalidProblemError("--method", "auto or optimal with --priors", repr(options.method))
    try:
        worst = minimax(
            stated.problem,
            [prior for _, prior in stated.priors],
            stated.guarantee,
            time_limit=options.time_limit,
            threads=options.threads,
            allow_unprotected=options.allow_unprotected,
        )
    except Interrupted as interrupted:
        return None, interrupted.best, Status.INTERRUPTED
    missed = options.is_demanded and worst.gap > options.target
    return worst, worst.design, Status.TARGET_MISSED if missed else Status.DONE


def _method(options: DesignOptions) -> Method:
    """Return the method that is typed, with blocks and partitioner if it is benders; InvalidProblemError if unknown."""
    if options.method not in METHODS.proven:
        raise unknown_name("--method", options.method, sorted(["auto", "optimal", *METHODS.proven]))
    typed = {"blocks": options.blocks, "partitioner": options.partitioner}
    own = {name: value for name, value in typed.items() if value is not None}
    if options.method != "benders":
        own = {}
    with renamed_arguments({name: f"--{name}" for name in own}):
        method: Method = METHODS[options.method].make(**own)
    return method


def _report(design: MetricDesign, path: str, output: str | None) -> None:
    """Write the report of a design to `path`, with name and SHA-256 of the file `output` if there is one."""
    about: dict[str, Any] = {}
    if output is not None:
        digest = hashlib.sha256(Path(output).read_bytes()).hexdigest()
        about = {"artefact": Path(output).name, "sha256": digest}
    write_page(path, "metricdp", design, **about)


def _worst_case(made: Minimax, stated: DesignStatement) -> dict[str, Any]:
    """Return ``loss`` (the worst), ``lower``, ``gap``, and ``losses`` and ``weights`` by name of a prior, as floats.

    `made` is the result for all priors, `stated` names them.
    """
    names = [name for name, _ in stated.priors]
    return {
        "loss": made.upper,
        "lower": made.lower,
        "gap": made.gap,
        "losses": dict(zip(names, made.losses.tolist(), strict=True)),
        "weights": dict(zip(names, made.weights.tolist(), strict=True)),
    }


def _worst_case_text(made: Minimax, stated: DesignStatement) -> str:
    """Return the worst loss with its bounds, and the loss and weight of each prior, as text.

    One line for the worst loss, with its bounds, and one for each prior; losses are rounded up.
    """
    lines = [f"worst expected loss  {printed.bounds(made.lower, made.upper)}"]
    for (name, _), loss, weight in zip(
        stated.priors, made.losses.tolist(), made.weights.tolist(), strict=True
    ):
        share = printed.share(weight)
        lines.append(
            f"  under {name}: {printed.at_most(loss)}, weight {share} in the worst mixture"
        )
    return "\n".join(lines)


def unprotected(
    design: MetricDesign, labels: tuple[str, ...] | None, *, max_named: int = 10
) -> list[str]:
    """Return sentences about links beyond the radius, separate groups, and secrets that are not protected.

    The list is empty if all are protected without links. At most `max_named` secrets are named, by `labels` or,
    without these, by index; all of them stand in ``--json`` and in ``info``.
    """
    scope = design.guarantee.space_scope
    if scope is None:
        return []
    sentences = []
    if scope.joined:
        links = "link" if scope.joined == 1 else "links"
        sentences.append(
            f"joined separate groups of secrets by {scope.joined} {links} beyond the radius"
        )
    if scope.components > 1:
        sentences.append(
            f"nothing is promised between {scope.components} separate groups of secrets"
        )
    if scope.isolated:
        named = [labels[i] if labels else str(i) for i in scope.isolated[:max_named]]
        more = len(scope.isolated) - len(named)
        tail = f" and {more} more" if more else ""
        sentences.append(
            f"{len(scope.isolated)} secrets are NOT protected: {', '.join(named)}{tail}"
        )
    return sentences
