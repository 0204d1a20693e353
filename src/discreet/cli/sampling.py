"""Draw from a stored channel. The secret stands in no message."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discreet.cli.statement import secret_names
from discreet.core.errors import InvalidProblemError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.artefact import Artefact

__all__ = ["draw", "find_secret"]


def find_secret(text: str, n: int, labels: Sequence[str] | None) -> int:
    """Find a secret by label or index.

    Raises
    ------
    InvalidProblemError
        When there is none. What was typed is private, and is not repeated.
    """
    found = secret_names(n, labels).get(text.strip())
    if found is None:
        expected = f"an index from 0 to {n - 1}" + ("" if labels is None else ", or a label")
        raise InvalidProblemError("--secret", expected, "something else")
    return found


def draw(stored: Artefact, secret: int, n: int) -> tuple[dict[str, Any], str]:
    """Draw n reports; return them as plain values and as text, one a line.

    A report is given as its number, and as the secret that it names where it names one: by label, by index, and by
    coordinates.
    """
    made = stored.design
    drawn = made.channel.report_many([secret] * n).tolist()
    named = made.problem.reports
    places = None if named is None else named[drawn].tolist()
    labels = None if places is None or stored.labels is None else [stored.labels[i] for i in places]
    points = made.problem.space.points
    data = {
        "reports": drawn,
        "secrets": places,
        "labels": labels,
        "points": None if places is None or points is None else points[places].tolist(),
    }
    return data, "\n".join(str(report) for report in labels or places or drawn)
