"""Artefacts: a design as one file that carries its proof, and nothing that runs.

A channel is a zip of ``meta.json`` and ``.npy`` arrays, stored as they are: the same design gives the same bytes on
every machine, and a member cannot expand to more than the file holds. Nothing is ever unpickled. ``meta.json`` states
the SHA-256 of each member.

=====================  ==========================================================================================
``meta.json``          versions, guarantee, certificate, bounds, provenance with what was assumed public, the
                       unit, metric and scale of the space, labels, hashes
``limbs.npy``          weights, uint64 ``(limbs, secrets, reports)``
``distances.npy``      upper triangle of the distances, row by row, int64, in units of ``2^-scale_bits``
``points.npy``         coordinates, where there are some; ``places.npy`` rows and columns on a grid
``joined.npy``         pairs that were added to join components, int32 ``(m, 2)``
``binding.npy``        pruned pairs whose shortest paths stand for all constrained pairs, int32 ``(m, 2)``
``loss.npy``           utility loss, float64 ``(secrets, reports)``; ``prior.npy`` probabilities of the secrets
``reports.npy``        the secret that each report names, where it names one
``multipliers_*.npy``  ``report``, ``source``, ``target``, ``value``: the proof of the lower bound
=====================  ==========================================================================================

An implicit channel (``kind`` is ``"anchored"``) has these instead of ``limbs``, ``loss``, ``prior``
and multipliers; ``rate``, ``lift`` and ``totals_share`` stand in ``meta.json``:

=====================  ==========================================================================================
``centers.npy``        for each report the secret where its tail is centered, int64; ``anchors.npy`` its weight there
``factors.npy``        the factors of the integer exponential, int64 ``(7, 256)``
``names.npy``          what is published for each report, where that is not its center
``ball_*.npy``         ``secrets``, ``reports``, ``weights``: explicit weights, where there are some
``distances.npy``      and ``binding.npy`` as above, up to 5120 secrets; beyond, lengths follow from places or points
=====================  ==========================================================================================

``verify_standalone.py`` in the repository's root reads this format with the standard library alone.

The mechanism of a location service (``kind`` is ``"mechanism"``) is one line of canonical JSON with its own SHA-256,
which is also what a server sends; docs/theory/lrgeo-mechanism.md specifies it. So is the mechanism for
every point: one noise for all points (``kind`` is ``"noise-mechanism"``), or a row for each control point of a lattice
(``"lattice-mechanism"``).

A private choice (``kind`` is ``"choice"``) is JSON: the chosen candidates, the matroid, the accountant's lines.

A table of counts stays a CSV or Parquet file that any program reads; ``FILE.discreet.json`` beside it holds the
guarantee, the certificate, the provenance, the regions, and the SHA-256 of the table. So do kept measurements, tables
of attributes by region with all their marginals, and what these were made of; and so does an anonymized table, with
how its cells are read. A record that a killed run did not finish holds the one before it: the bytes of the table say
which of the two is about it, and ``interruption_of`` says it in words.

Names are loaded on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.core.lazy import on_first_use

if TYPE_CHECKING:
    from discreet.artefact.anonymous import (
        load_anonymous,
        save_anonymous,
    )
    from discreet.artefact.choice import load_choice, save_choice
    from discreet.artefact.counts import (
        load_counts,
        load_measurements,
        load_table_measurements,
        load_tables,
        save_counts,
        save_measurements,
    )
    from discreet.artefact.implicit import (
        load_anchored,
        save_anchored,
    )
    from discreet.artefact.mechanism import (
        load_mechanism,
        load_points,
        save_mechanism,
    )
    from discreet.artefact.outputs import OutputFile, ReleaseFiles
    from discreet.artefact.reader import load
    from discreet.artefact.writer import save

__all__ = [
    "OutputFile",
    "ReleaseFiles",
    "load",
    "load_anchored",
    "load_anonymous",
    "load_choice",
    "load_counts",
    "load_measurements",
    "load_mechanism",
    "load_points",
    "load_table_measurements",
    "load_tables",
    "save",
    "save_anchored",
    "save_anonymous",
    "save_choice",
    "save_counts",
    "save_measurements",
    "save_mechanism",
]

_WHERE = {
    "load_choice": "choice",
    "save_choice": "choice",
    "OutputFile": "outputs",
    "ReleaseFiles": "outputs",
    "load": "reader",
    "load_anchored": "implicit",
    "load_anonymous": "anonymous",
    "load_counts": "counts",
    "load_measurements": "counts",
    "load_mechanism": "mechanism",
    "load_points": "mechanism",
    "load_table_measurements": "counts",
    "load_tables": "counts",
    "save": "writer",
    "save_anchored": "implicit",
    "save_anonymous": "anonymous",
    "save_counts": "counts",
    "save_measurements": "counts",
    "save_mechanism": "mechanism",
}
"""Public name -> the module that defines it."""

if not TYPE_CHECKING:
    __getattr__ = on_first_use(globals(), _WHERE)


def __dir__() -> list[str]:
    return __all__
