"""The methods by the names that people type: one table for ``method=``, commands, audits and reports."""

from __future__ import annotations

from discreet.core.method import MethodRecord, Methods

__all__ = ["METHODS"]

_HERE = "discreet.lrgeo.methods"

METHODS = Methods(
    [
        MethodRecord(name, f"{_HERE}.{where}", summary, "metric DP")
        for name, where, summary in (
            (
                "closed-form",
                "closed_form:ClosedForm",
                "anchors from the matrix of the exponential mechanism, solved at once",
            ),
            ("tails-and-hub", "hub:Hub", "tails with the best heights, the rest to one report"),
            ("tails", "tails:Tails", "rows computed on demand, for any number of places"),
        )
    ],
    protocol=("propose",),
)
"""What ``design`` takes as its method."""
