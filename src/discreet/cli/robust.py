"""``--priors``: one channel for several priors, and what it loses under each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.cli.inputs import read_prior
from discreet.core.errors import InvalidProblemError
from discreet.core.exact import text_ceil, text_floor

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl
    from numpy.typing import NDArray

    from discreet.cli.statement import Statement
    from discreet.metricdp._minimax import Minimax

    Priors = tuple[tuple[str, NDArray[np.float64]], ...]

__all__ = ["design_for_all", "read_priors", "worst_case", "worst_case_text"]


def read_priors(typed: str, table: pl.DataFrame | None, names: Mapping[str, int]) -> Priors:
    """Read priors as ``--prior`` does, names separated by commas, and normalize each."""
    given = [name.strip() for name in typed.split(",")]
    if len(set(given)) < len(given):
        raise InvalidProblemError("--priors", "different priors", repr(typed))
    n = len(set(names.values()))
    found = []
    for name in given:
        try:
            prior, _ = read_prior(name, table, names)
        except InvalidProblemError as error:
            raise InvalidProblemError("--priors", error.expected, error.got) from None
        found.append((name, np.full(n, 1 / n) if prior is None else prior))
    return tuple(found)


def design_for_all(
    stated: Statement, *, time_limit: float | None, threads: int, allow_unprotected: bool
) -> Minimax:
    """Design for the worst of the stated priors."""
    from discreet.metricdp import minimax

    return minimax(
        stated.problem,
        [prior for _, prior in stated.priors],
        stated.guarantee,
        time_limit=time_limit,
        threads=threads,
        allow_unprotected=allow_unprotected,
    )


def worst_case(made: Minimax, stated: Statement) -> dict[str, Any]:
    """Give the losses under each prior, the worst, and what no channel can beat."""
    names = [name for name, _ in stated.priors]
    return {
        "loss": made.upper,
        "lower": made.lower,
        "gap": made.gap,
        "losses": dict(zip(names, made.losses.tolist(), strict=True)),
        "weights": dict(zip(names, made.weights.tolist(), strict=True)),
    }


def worst_case_text(made: Minimax, stated: Statement) -> str:
    """Say the same to people."""
    lines = [
        f"worst expected loss  {text_ceil(made.upper)}, lower bound {text_floor(made.lower)}, gap {made.gap:.2%}"
    ]
    for (name, _), loss, weight in zip(
        stated.priors, made.losses.tolist(), made.weights.tolist(), strict=True
    ):
        lines.append(f"  under {name}: {loss:.6g}, weight {weight:.4f} in the worst mixture")
    return "\n".join(lines)
