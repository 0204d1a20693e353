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

from discreet.core.lazy import public_names

if TYPE_CHECKING:
    from discreet.artefact.anonymous import load_anonymous as load_anonymous
    from discreet.artefact.anonymous import save_anonymous as save_anonymous
    from discreet.artefact.choice import load_choice as load_choice
    from discreet.artefact.choice import save_choice as save_choice
    from discreet.artefact.counts import load_counts as load_counts
    from discreet.artefact.counts import load_measurements as load_measurements
    from discreet.artefact.counts import load_table_measurements as load_table_measurements
    from discreet.artefact.counts import load_tables as load_tables
    from discreet.artefact.counts import save_counts as save_counts
    from discreet.artefact.counts import save_measurements as save_measurements
    from discreet.artefact.implicit import load_anchored as load_anchored
    from discreet.artefact.implicit import save_anchored as save_anchored
    from discreet.artefact.mechanism import load_mechanism as load_mechanism
    from discreet.artefact.mechanism import load_points as load_points
    from discreet.artefact.mechanism import save_mechanism as save_mechanism
    from discreet.artefact.outputs import OutputFile as OutputFile
    from discreet.artefact.outputs import ReleaseFiles as ReleaseFiles
    from discreet.artefact.reader import load as load
    from discreet.artefact.writer import save as save

if not TYPE_CHECKING:
    __getattr__, __dir__, __all__ = public_names(globals())
