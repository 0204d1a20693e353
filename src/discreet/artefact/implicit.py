"""Implicit channels, as files: the integers from which every weight follows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import numpy as np

from discreet.artefact.layout import claims, different_labels, expect, head, is_whole
from discreet.artefact.reader import open_members, small_space
from discreet.artefact.spaces import check_bits, credible, lattice_lengths, space_facts
from discreet.artefact.writer import pack
from discreet.core.certificate import Certificate
from discreet.core.channels.implicit import AnchoredChannel, Ball
from discreet.core.errors import InvalidProblemError
from discreet.core.exact import to_fraction
from discreet.core.guarantee import MetricDP, Scope, guarantee_from_dict
from discreet.core.outcome import Provenance, PublicInput
from discreet.core.spaces.inputs import point_table
from discreet.core.spaces.lattice import LatticeLengths
from discreet.core.spaces.metric import MetricSpace
from discreet.core.spaces.points import PointLengths

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from discreet.metricdp.bounds.tails import TailDesign

KIND = "anchored"

_LARGEST_LATTICE = 1 << 24
"""Cells of a lattice, empty ones included, up to which any file is believed."""


@final
@dataclass(frozen=True, eq=False)
class AnchoredArtefact:
    """A verified implicit channel, with all that a file says of it.

    Parameters
    ----------
    channel
        The channel; its space says what the secrets are.
    guarantee
        What it was verified against. Up to 5120 secrets a file binds it to the space and states what follows for all
        pairs.
    totals_share
        The part of epsilon that is for the row totals; see :mod:`discreet.core.channels.check_implicit`.
    certificate
        The verifier's checks.
    provenance
        How it was made, and what was assumed public.
    labels
        Names of the secrets, or ``None``.

    Raises
    ------
    InvalidProblemError
        For another unit than the space's, a guarantee bound to another space, or labels that do not fit.
    """

    channel: AnchoredChannel
    guarantee: MetricDP
    totals_share: Fraction
    certificate: Certificate
    provenance: Provenance
    labels: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        space, scope = self.channel.space, self.guarantee.space_scope
        if self.guarantee.unit != space.unit:
            expected = f"epsilon per {space.unit}"
            raise InvalidProblemError("guarantee", expected, f"per {self.guarantee.unit}")
        if self.guarantee.scope is not None and (scope is None or scope.space != space.digest):
            raise InvalidProblemError("guarantee", "one bound to its space", "another")
        if self.labels is not None:
            object.__setattr__(self, "labels", different_labels(self.labels, space.n))


def from_tails(made: TailDesign, labels: tuple[str, ...] | None = None) -> AnchoredArtefact:
    """Take what :func:`discreet.metricdp.bounds.tails.tail_channel` returned.

    `labels` are names of the secrets; InvalidProblemError unless they are all different, one for each secret.

    Examples
    --------
    >>> from discreet.core.guarantee import MetricDP
    >>> from discreet.core.spaces.metric import MetricSpace
    >>> from discreet.metricdp.bounds.tails import tail_channel
    >>> made = tail_channel(MetricSpace.grid(4, 4, cell=1, unit="km"), MetricDP(1, "km", "1.5"))
    >>> from_tails(made).provenance.method
    'tails'
    """
    space = made.channel.space
    public: tuple[PublicInput, ...] = (
        PublicInput("space", space.digest, f"{space.n} secrets, distances in {space.unit}"),
    )
    parameters: dict[str, Any] = {"rounds": made.rounds}
    if made.costs is not None and made.bound is not None:
        public = made.costs.assumed_public()
        parameters |= {
            "loss": made.upper,
            "lower": made.lower,
            "steps": made.bound.steps,
            "reach": made.bound.reach,
        }
    provenance = Provenance("tails", parameters, public)
    return AnchoredArtefact(
        made.channel, made.guarantee, made.totals_share, made.certificate, provenance, labels
    )


def save_anchored(artefact: AnchoredArtefact, path: str | os.PathLike[str]) -> None:
    """Write a channel to a file, whole or not at all.

    Parameters
    ----------
    artefact
        What is to be kept.
    path
        The file, replaced if it is there.

    Raises
    ------
    InvalidProblemError
        For a certificate that failed, or a file that cannot be written. The file is then what it was before.

    Notes
    -----
    The same artefact gives the same bytes. Up to 5120 secrets the distances and the links that stand for all
    constrained pairs are written too, so that ``verify_standalone.py`` can check it; beyond, what they follow from.

    Complexity
    ----------
    ``O(n + K + ball)`` beyond 5120 secrets: half a second for 10^5. Up to 5120 secrets the links are pruned: up to
    ``O(n^3)``, see :meth:`discreet.core.spaces.adjacency.Adjacency.prune`.
    """
    stated = claims(artefact, "artefact")
    channel, guarantee = artefact.channel, artefact.guarantee
    space, ball = channel.space, channel.ball
    members: dict[str, NDArray[Any]] = {
        "centers": channel.centers,
        "anchors": channel.anchors,
        "factors": channel.decay.tables,
    }
    if not np.array_equal(channel.names, channel.centers):
        members["names"] = channel.names
    if len(ball):
        members |= {
            f"ball_{part}": getattr(ball, part) for part in ("secrets", "reports", "weights")
        }
    if isinstance(space.source, LatticeLengths):
        members["places"] = space.source.places
    if space.points is not None:
        members["points"] = space.points
    if space.has_matrix:
        edges = space.adjacency(guarantee.radius)
        members["distances"] = space.distances[np.triu_indices(space.n, 1)]
        members["binding"] = edges.prune().pairs
        guarantee = _bound(guarantee, space)
    meta = {
        **head(KIND),
        **stated,
        "guarantee": guarantee.to_dict(),
        "totals_share": str(artefact.totals_share),
        "rate": str(channel.rate),
        "lift": channel.lift,
        "labels": artefact.labels,
        "channel": channel.digest,
        "space": _stated_space(space),
    }
    pack(Path(path), meta, members)


def load_anchored(path: str | os.PathLike[str]) -> AnchoredArtefact:
    """Read a channel from a file, and refuse a file that is not whole.

    Linear in the file; up to 5120 secrets that has all distances. The certificate is read, not checked anew.

    Parameters
    ----------
    path
        A file that :func:`save_anchored` wrote, by this version or any earlier one.

    Raises
    ------
    InvalidProblemError
        For a file that cannot be read, is of another kind, was truncated or altered, has a later version, or whose
        parts do not fit each other.

    Notes
    -----
    That a file is whole says nothing about who made it. What it claims,
    :func:`discreet.core.channels.check_implicit.verify_anchored` checks anew.

    Examples
    --------
    >>> import tempfile
    >>> from discreet.core.guarantee import MetricDP
    >>> from discreet.metricdp.bounds.tails import tail_channel
    >>> made = tail_channel(MetricSpace.grid(4, 4, cell=1, unit="km"), MetricDP(1, "km", "1.5"))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_anchored(from_tails(made), f"{folder}/a.channel")
    ...     back = load_anchored(f"{folder}/a.channel")
    >>> back.channel.digest == made.channel.digest
    True
    """
    with is_whole(path) as data:
        return _artefact(*open_members(data, KIND))


def _bound(guarantee: MetricDP, space: MetricSpace) -> MetricDP:
    """Bind a guarantee to this space, with what holds for all pairs; the verifier found one group.

    Within a radius, epsilon is multiplied by the stretch of the shortest paths, rounded up.
    """
    if guarantee.scope is not None:
        return guarantee
    stretch = Fraction(1)
    if guarantee.radius is not None:
        ratio = space.adjacency(guarantee.radius).stretch(space)
        if ratio is None:  # pragma: no cover - the certificate has one group, and no distance 0
            raise InvalidProblemError("artefact", "secrets that are all connected", "others")
        # Upwards, to twelve digits after the point.
        stretch = Fraction(math.ceil(ratio * 10**12), 10**12)
    scope = Scope(space.digest, space.n, guarantee.epsilon * stretch)
    return MetricDP(guarantee.epsilon, guarantee.unit, guarantee.radius, scope=scope)


def _stated_space(space: MetricSpace) -> dict[str, Any]:
    """Return what a file states of a space without its table: facts, size, and units a step if it has coordinates."""
    source = space.source
    # With a table of distances nothing else is needed to make the space anew.
    per_unit = source.per_unit if isinstance(source, PointLengths) else None
    return {
        **space_facts(space),
        "per_unit": None if space.has_matrix else per_unit,
        "n": space.n,
    }


def _artefact(meta: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> AnchoredArtefact:
    """Read an artefact from the members of its file: metadata, and arrays by name; linear in them.

    What the file says of its factors and digest is computed anew; InvalidProblemError where it differs, or for other
    members.
    """
    allowed = {"centers", "anchors", "names", "factors", "points", "places", "distances", "binding"}
    parts = [f"ball_{part}" for part in ("secrets", "reports", "weights")]
    foreign = arrays.keys() - allowed - set(parts)
    if foreign:
        raise InvalidProblemError("members", "those of an anchored channel", min(foreign))
    space = _space(meta["space"], arrays)
    explicit = [arrays[part] for part in parts if part in arrays]
    if explicit and len(explicit) != len(parts):
        raise InvalidProblemError("ball", "its three parts", f"{len(explicit)} of them")
    channel = AnchoredChannel(
        space,
        to_fraction(meta["rate"], "rate"),
        arrays["centers"],
        arrays["anchors"],
        lift=meta["lift"],
        ball=Ball(*explicit) if explicit else None,
        names=arrays.get("names"),
    )
    if not np.array_equal(channel.decay.tables, arrays["factors"]):
        raise InvalidProblemError("factors", "those of the exponential at this rate", "others")
    expect(channel.digest == meta["channel"], "channel", "the digest that is stated", "another one")
    guarantee = guarantee_from_dict(meta["guarantee"])
    if not isinstance(guarantee, MetricDP):
        raise InvalidProblemError("guarantee", "a metric one", "another")
    labels = meta["labels"]
    return AnchoredArtefact(
        channel,
        guarantee,
        to_fraction(meta["totals_share"], "totals_share"),
        Certificate.from_dict(meta["certificate"]),
        Provenance.from_dict(meta["provenance"]),
        None if labels is None else tuple(labels),
    )


def _space(stated: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> MetricSpace:
    """Rebuild the space from stored distances if there are any, else from points, places or edges.

    Raises InvalidProblemError for arrays of other shapes, or a space of another digest than is stated.
    """
    n = stated["n"]
    if "distances" in arrays:
        return small_space(stated, arrays, n)
    points = arrays.get("points")
    for name in ("points", "places"):
        if name in arrays and (arrays[name].ndim != 2 or len(arrays[name]) != n):
            raise InvalidProblemError(name, f"{n} rows", f"shape {arrays[name].shape}")
        if name in arrays:
            arrays[name].setflags(write=False)
    source: LatticeLengths | PointLengths
    if stated["cell"] is not None:
        source = lattice_lengths(arrays["places"], stated["cell"], stated["scale_bits"], n)
        _check_extent(source.places)
    else:
        points = point_table(arrays["points"], stated["metric"])
        bits = check_bits(stated["scale_bits"])
        # The sign refuses what is no number.
        source = PointLengths(points, stated["metric"], bits, +stated["per_unit"])
    # What was made without a table stays without: once more than 4096 secrets had none.
    bits, unit = source.scale_bits, stated["unit"]
    space = MetricSpace(unit, stated["metric"], bits, source, points, tabled=False)
    expect(space.digest == stated["digest"], "space", "the digest that is stated", "another one")
    return credible(space)


def _check_extent(places: NDArray[np.int64]) -> None:
    """Refuse places so far apart that a table of the lattice would not fit."""
    rows, columns = (int(wide) + 1 for wide in places.max(axis=0) - places.min(axis=0))
    expect(rows * columns <= max(_LARGEST_LATTICE, 64 * len(places)), "places", "cells of a grid")
