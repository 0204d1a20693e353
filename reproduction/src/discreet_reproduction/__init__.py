"""Experiments: the tables and figures of the papers, computed anew, with the papers' own figures beside them.

Each item is a function ``(run: Run) -> Experiment`` in a module named for it, and has a line in
:mod:`discreet_reproduction.registry`. Nothing that stands in the column of a result is a constant
anywhere; what stands in the column of a paper is what the paper prints.

What the papers print without a valid guarantee is in ``<mechanism>.as_published``, one file an algorithm. Seeds make
data and partitions repeatable. Nothing here is released.
"""

from __future__ import annotations

from discreet_reproduction.record import Experiment, Run
from discreet_reproduction.writing import write_experiment

__all__ = ["Experiment", "Run", "write_experiment"]
