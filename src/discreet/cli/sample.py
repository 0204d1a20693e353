"""``sample``: draw from a stored channel. The secret stands in no message."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.cli.calls import from_options
from discreet.cli.files import open_any
from discreet.cli.options import ChannelOption, JsonOption, QuietOption
from discreet.cli.output import emit, warn
from discreet.cli.statement import secret_names
from discreet.core import printed
from discreet.core.errors import InvalidProblemError
from discreet.core.option_groups import REQUIRED, option
from discreet.core.printed import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence


@final
class SampleOptions(ChannelOption, JsonOption, QuietOption):
    """Options of ``sample``."""

    secret: str = option(
        "Index or label of the true secret; - reads it from standard input, out of the history.",
        default=REQUIRED,
    )
    # All are held in memory until they are printed.
    n: int = option("How many reports.", None, "-n", default=1, min=1, max=10_000_000)


@from_options(SampleOptions, examples=("discreet sample c.channel --secret 17",))
def sample(options: SampleOptions) -> None:
    """Draw reports for a secret, with the operating system's randomness.

    Each report of one secret spends epsilon again: n reports cost n epsilon. There is no seed.
    """
    from discreet.artefact.reader import Artefact

    stored, n = open_any(options.channel), options.n
    typed = options.secret
    if typed == "-":
        typed = sys.stdin.readline()
    made = stored.design if isinstance(stored, Artefact) else stored
    place = _find_secret(typed, made.channel.n_secrets, stored.labels)
    if n > 1:
        cost = f"{printed.decimal_up(n * made.guarantee.epsilon)} per {made.guarantee.unit}"
        warn(f"{n} reports of one secret cost {n} times epsilon: {cost}", quiet=options.quiet)
    drawn = made.channel.report_many([place] * n).tolist()
    if isinstance(stored, Artefact):
        named, points = stored.design.problem.reports, stored.design.problem.space.points
    else:
        # Those who made the channel may have given its reports other names than secrets have.
        known = int(stored.channel.names.max()) < stored.channel.n_secrets
        named = np.arange(stored.channel.n_secrets) if known else None
        points = stored.channel.space.points
    places = None if named is None else named[drawn].tolist()
    labels = None if places is None or stored.labels is None else [stored.labels[i] for i in places]
    data = {
        "reports": drawn,
        "secrets": places,
        "labels": labels,
        "points": None if places is None or points is None else points[places].tolist(),
    }
    text = "\n".join(one_line(report) for report in labels or places or drawn)
    emit("sample", options, data, text)


def _find_secret(text: str, n: int, labels: Sequence[str] | None) -> int:
    """Return the number, below `n`, of a secret typed by label or index; labels go before indices.

    Raises
    ------
    InvalidProblemError
        When there is none. What was typed is private, and is not repeated.
    """
    index = secret_names(n, labels).get(text.strip())
    if index is None:
        expected = f"an index from 0 to {n - 1}" + ("" if labels is None else ", or a label")
        raise InvalidProblemError("--secret", expected, "another text")
    return index
