"""Experiments: the tables and figures of the papers, computed anew, with the papers' own figures beside them.

Each item is a function ``(*, quick, seed, data, on_progress) -> Experiment`` in a module named for it, registered in
:mod:`discreet.cli.registry` under ``"paper/item"``. Items whose runs are limited in time also take ``limit``, seconds
of wall-clock time for each run in place of their own. Nothing that stands in the column of a result is written down
anywhere; what stands in the column of a paper is what the paper prints.

Seeds make data and partitions repeatable. Nothing here is released.
"""

from __future__ import annotations

from discreet.experiments.record import Experiment, Progress
from discreet.experiments.writing import write_experiment

__all__ = ["Experiment", "Progress", "write_experiment"]
