"""Changes that change nothing that is promised, each with its reason."""

from __future__ import annotations

EQUIVALENT: dict[str, str] = {}
"""``file: function: before -> after``, and why no test can or should tell the two apart."""
