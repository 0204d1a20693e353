"""Changes that change nothing that is promised, each with its reason."""

from __future__ import annotations

_ALIKE = "All rows of a class are alike in what is read here, so that its last one says what its first one does."

EQUIVALENT: dict[str, str] = {
    "hierarchy/verify.py: verify_guarantee: 0 -> 1": (
        "What is claimed by a guarantee of neither kind: such a guarantee is a fact that differs, and fails by that."
    ),
    "kanonymity/verify.py: candidates: 0 -> -1 #3": _ALIKE,
}
"""``file: function: before -> after``, and why no test can or should tell the two apart."""
