"""``design`` beyond 5,120 secrets: a channel that is computed on demand, with its loss and a lower bound."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, final

import numpy as np

from discreet.cli.output import Status, emit, facts, renamed_arguments, warn
from discreet.cli.progress import progress
from discreet.core import printed
from discreet.core.errors import InvalidProblemError
from discreet.core.jit import clock

if TYPE_CHECKING:
    from discreet.artefact import AnchoredArtefact
    from discreet.cli.statement import ImplicitStatement
    from discreet.core.guarantee import MetricDP
    from discreet.metricdp.bounds.tails import TailDesign

__all__ = ["Outputs", "SearchOptions", "run_implicit"]

_DEFAULT_GAP = 0.01
_OPTIMAL_GAP = 1e-6
"""What ``--method optimal`` asks for: the library calls a design optimal below it."""


@final
@dataclass(frozen=True)
class SearchOptions:
    """The options that say how to search, as they were typed."""

    gap: float | None
    time_limit: float | None
    method: str
    threads: int
    allow_unprotected: bool
    blocks: int | None = None
    partitioner: str | None = None

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
@dataclass(frozen=True)
class Outputs:
    """Where results go."""

    output: str | None
    report: str | None
    as_json: bool
    quiet: bool
    verbose: bool


def run_implicit(stated: ImplicitStatement, search: SearchOptions, outputs: Outputs) -> Status:
    """Make the channel, bound what it loses, write it and describe it; return the exit status."""
    from discreet.metricdp import tail_channel

    _refuse(search, outputs)
    begun = clock()
    guarantee, joined = _connected(stated)
    if joined:
        warn(
            f"within {stated.guarantee.radius} {guarantee.unit} there are {joined + 1} separate groups of secrets; "
            f"the channel keeps all pairs within {printed.at_most(guarantee.radius)}",
            quiet=outputs.quiet,
        )
    with progress(sys.stderr, quiet=outputs.quiet) as on_progress:
        made = tail_channel(
            stated.costs.space,
            guarantee,
            utility_loss=stated.costs.utility_loss,
            prior=stated.costs.prior,
            gap=search.target,
            time_limit=search.time_limit,
            threads=search.threads,
            on_progress=on_progress,
        )
    seconds = clock() - begun
    stored = _write(made, stated, outputs.output)
    reached = made.gap is not None and made.gap <= search.target
    missed = search.is_demanded and not reached
    if missed:
        warn(
            f"{printed.missed_gap(search.target, made.lower, made.upper)}; the verified channel stands"
        )
    if outputs.output is None:
        warn("nothing was written: no --output", quiet=outputs.quiet)
    data = _data(made, stored) | {
        "status": "gap reached" if reached else "limit reached",
        "seconds": seconds,
        "prior_normalized_from": stated.prior_sum,
        "interrupted": False,
        "output": outputs.output,
    }
    emit(
        data,
        _text(made, seconds),
        as_json=outputs.as_json,
        command="design",
        certificate=made.certificate,
        verbose=outputs.verbose,
    )
    return Status.TARGET_MISSED if missed else Status.DONE


def _connected(stated: ImplicitStatement) -> tuple[MetricDP, int]:
    """Widen the radius until the pairs within it connect all secrets; say how many links that took."""
    space, asked = stated.costs.space, stated.guarantee
    near = space.adjacency(asked.radius)
    every, links = near.join(space)
    if not len(links):
        return asked, 0
    added = np.isin(every.pairs @ [space.n, 1], links @ [space.n, 1])
    # Upwards, to six digits after the point.
    longest = Fraction(int(every.lengths[added].max()) * 10**6, 2**every.scale_bits)
    return replace(asked, radius=Fraction(math.ceil(longest), 10**6)), len(links)


def _refuse(search: SearchOptions, outputs: Outputs) -> None:
    """Refuse what there is with a table alone."""
    most = "with more than 5,120 secrets"
    if search.method != "auto":
        raise InvalidProblemError("--method", f"auto {most}", repr(search.method))
    given = {
        "--blocks": search.blocks,
        "--partitioner": search.partitioner,
        "--report": outputs.report,
        "--allow-unprotected": search.allow_unprotected or None,
    }
    for option, value in given.items():
        if value is not None:
            raise InvalidProblemError(option, f"none {most}", repr(value))


def _write(made: TailDesign, stated: ImplicitStatement, path: str | None) -> AnchoredArtefact:
    from discreet.artefact import from_tails, save_anchored

    stored = from_tails(made, stated.labels)
    if path is not None:
        with renamed_arguments({"path": "--output"}):
            save_anchored(stored, path)
    return stored


def _data(made: TailDesign, stored: AnchoredArtefact) -> dict[str, Any]:
    """Give the facts, under the names that they have where there is a table."""
    return {
        "kind": "anchored",
        "loss": made.upper,
        "lower": made.lower,
        "upper": made.upper,
        "gap": made.gap,
        "method": stored.provenance.method,
        "guarantee": {**made.guarantee.to_dict(), "sentence": str(made.guarantee)},
        "unit": made.guarantee.unit,
        "sizes": {"secrets": made.channel.n_secrets, "reports": made.channel.n_reports},
        "totals_share": str(made.totals_share),
        "certificate": made.certificate.to_dict(),
        "provenance": stored.provenance.to_dict(),
    }


def _text(made: TailDesign, seconds: float) -> str:
    """Describe the channel to people."""
    return facts(
        [
            ("guarantee", made.guarantee),
            ("secrets", made.channel.n_secrets),
            ("expected loss", printed.bounds(made.lower, made.upper)),
            ("method", "tails, computed on demand"),
            ("seconds", printed.estimate(seconds, 3)),
        ]
    )
