"""What writing and reading agree on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.core.errors import InvalidProblemError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["FORMAT", "OPTIONAL", "PARTS", "SCHEMA_VERSION", "TYPES", "different_labels"]

FORMAT = "discreet.artefact"
SCHEMA_VERSION = 1

PARTS = ("report", "source", "target", "value")
"""The fields of multipliers, each a member."""

TYPES = {
    "limbs": "<u8",
    "distances": "<i8",
    "points": "<f8",
    "places": "<i8",
    "joined": "<i4",
    "binding": "<i4",
    "loss": "<f8",
    "prior": "<f8",
    "reports": "<i8",
    "multipliers_report": "<i4",
    "multipliers_source": "<i4",
    "multipliers_target": "<i4",
    "multipliers_value": "<f8",
}
"""The members and their types, little-endian."""

OPTIONAL = frozenset({"points", "places", "reports", *(f"multipliers_{part}" for part in PARTS)})
"""Members that a file may lack."""


def different_labels(labels: Sequence[str], n: int) -> tuple[str, ...]:
    """Take labels of secrets, one each and all different."""
    names = tuple(str(label) for label in labels)
    if len(names) != n or len(set(names)) != n:
        got = f"{len(set(names))} different among {len(names)}"
        raise InvalidProblemError("labels", f"{n} different names", got)
    return names
