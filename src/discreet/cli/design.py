"""``design``: make a channel. Read, solve, write, whatever interrupts it."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.cli.calls import from_options
from discreet.cli.files import check_outputs, write_channel, write_page
from discreet.cli.implicit import DesignOptions, emit_design, run_implicit
from discreet.cli.info import describe, loss_rows
from discreet.cli.output import Status, renamed_arguments, warn
from discreet.cli.progress import announcing_compilation, progress
from discreet.cli.statement import (
    DesignStatement,
    ImplicitStatement,
    doubtful_distances,
    state_any,
)
from discreet.core import printed
from discreet.core.errors import InvalidProblemError, unknown_name
from discreet.core.jit import clock
from discreet.core.progress import Pace
from discreet.metricdp.methods import METHODS

if TYPE_CHECKING:
    from discreet.core.outcome import Design
    from discreet.metricdp.bounds.bound import Multipliers
    from discreet.metricdp.minimax import Minimax
    from discreet.metricdp.part import Method
    from discreet.metricdp.problem import Problem

    MetricDesign = Design[Problem, Multipliers]

__all__ = ["design", "unprotected"]

_MAX_NAMED_SECRETS = 10
"""Secrets that a warning names; all of them stand in ``--json`` and in ``info``."""

_EXAMPLES = """Examples:

```
discreet design --grid 7x7 --cell 1 --unit km --epsilon 2 --radius 2 --loss euclidean -o c.channel

discreet design places.csv --x lon --y lat --metric haversine --epsilon 1.5/km --prior weight -o c.channel

discreet design --embeddings words.csv --metric angular --epsilon 4 -o words.channel
```
"""


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
    if options.points is not None and options.places is not None:
        raise InvalidProblemError("--points", "either this or PLACES", "both")
    file = options.places or options.points
    named = {"--output": options.output, "--report": options.report}
    check_outputs(named, file, options.embeddings, *options.read)
    with announcing_compilation(quiet=options.quiet):
        stated = state_any(file, options, options, options.label)
        if isinstance(stated, ImplicitStatement):
            return run_implicit(stated, options)
        started = clock()
        worst = None
        if stated.priors:
            worst, made, status = _solve_for_all(stated, options)
        else:
            made, status = _solve(stated, options)
        seconds = clock() - started
    if made is None:
        warn("interrupted before anything was verified; nothing was written")
        return status
    write_channel(made, options.output, stated.labels)
    if options.report is not None:
        _report(made, options.report, options.output)
    known = doubtful_distances(made.problem.space, made.guarantee)
    for sentence in (*unprotected(made, stated.labels), *known):
        warn(sentence, quiet=options.quiet)
    interrupted = status is Status.INTERRUPTED
    data = {**describe(made), "interrupted": interrupted, "seconds": seconds}
    head = ""
    if worst is not None:
        data["worst_case"] = _worst_case(worst, stated)
        head = f"{_worst_case_text(worst, stated)}\n\nFor the worst mixture of the priors:\n\n"
    missed = (worst or made) if status is Status.TARGET_MISSED else None
    emit_design(
        stated, options, made, data, loss_rows(made, stated.labels), missed=missed, head=head
    )
    return status


def _solve(stated: DesignStatement, options: DesignOptions) -> tuple[MetricDesign | None, Status]:
    """Design the channel with progress on standard error; return the design, if any, and the status."""
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
                on_progress=on_progress,
                throw=False,
            )
    except Interrupted as interrupted:
        return interrupted.best, Status.INTERRUPTED
    missed = options.is_demanded and made.status == "limit reached"
    return made, Status.TARGET_MISSED if missed else Status.DONE


def _solve_for_all(
    stated: DesignStatement, options: DesignOptions
) -> tuple[Minimax | None, MetricDesign | None, Status]:
    """Design for the worst of several priors; return the result, or the best design so far, and the exit status."""
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
    """Return the requested method, with its own options if it is the decomposition."""
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
    from discreet.report import make_chapter

    about: dict[str, str] = {}
    if output is not None:
        digest = hashlib.sha256(Path(output).read_bytes()).hexdigest()
        about = {"artefact": Path(output).name, "sha256": digest}
    write_page([make_chapter("metricdp", design, **about)], path)


def _worst_case(made: Minimax, stated: DesignStatement) -> dict[str, Any]:
    """Return the loss under each prior, the worst loss, and its lower bound, as plain values."""
    names = [name for name, _ in stated.priors]
    return {
        "loss": made.upper,
        "lower": made.lower,
        "gap": made.gap,
        "losses": dict(zip(names, made.losses.tolist(), strict=True)),
        "weights": dict(zip(names, made.weights.tolist(), strict=True)),
    }


def _worst_case_text(made: Minimax, stated: DesignStatement) -> str:
    """Return the worst loss with its bounds, and the loss and weight of each prior, as text."""
    lines = [f"worst expected loss  {printed.bounds(made.lower, made.upper)}"]
    for (name, _), loss, weight in zip(
        stated.priors, made.losses.tolist(), made.weights.tolist(), strict=True
    ):
        share = printed.share(weight)
        lines.append(
            f"  under {name}: {printed.at_most(loss)}, weight {share} in the worst mixture"
        )
    return "\n".join(lines)


def unprotected(design: MetricDesign, labels: tuple[str, ...] | None) -> list[str]:
    """Return sentences about secrets that the guarantee joins or does not protect."""
    scope = design.guarantee.space_scope
    if scope is None:
        return []
    sentences = []
    if scope.joined:
        sentences.append(
            f"joined separate groups of secrets by {scope.joined} links beyond the radius"
        )
    if scope.components > 1:
        sentences.append(
            f"nothing is promised between {scope.components} separate groups of secrets"
        )
    if scope.isolated:
        named = [labels[i] if labels else str(i) for i in scope.isolated[:_MAX_NAMED_SECRETS]]
        more = len(scope.isolated) - len(named)
        tail = f" and {more} more" if more else ""
        sentences.append(
            f"{len(scope.isolated)} secrets are NOT protected: {', '.join(named)}{tail}"
        )
    return sentences
