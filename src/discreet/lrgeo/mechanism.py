"""The mechanism as the server publishes it: integers, from which each client rebuilds its own row bit for bit.

What is in it and how a row follows is specified in docs/theory/lrgeo-mechanism.md, from which a client in another
language can be written; ``tests/data/lrgeo-vectors.json`` holds what it must find.

Trusted: the guarantee rests on this code, which computes the row that a client draws from.
"""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, final

import numpy as np

from discreet.core.certificate import Certificate
from discreet.core.channels.implicit import AnchoredChannel, Ball
from discreet.core.errors import MALFORMED, InvalidProblemError
from discreet.core.exact import to_fraction
from discreet.core.guarantee import MetricDP, guarantee_from_dict
from discreet.core.outcome import Provenance
from discreet.core.printed import decimal, decimal_up
from discreet.core.progress import gap_between
from discreet.core.spaces.lattice import LatticeLengths
from discreet.lrgeo.places.plane import on_the_ground
from discreet.lrgeo.places.region import Region
from discreet.lrgeo.places.space import per_unit

if TYPE_CHECKING:
    from collections.abc import Mapping
    from fractions import Fraction

    from numpy.typing import NDArray

    from discreet.core.spaces.metric import MetricSpace

FORM = "discreet.lrgeo.mechanism"

_MOST = 1 << 24
"""Numbers in an array, at most: a mapping from elsewhere may state any length."""


@dataclass(frozen=True, eq=False, repr=False)
class CertifiedChannel:
    """What a design and the mechanism that is published of it have in common: a verified channel and its bounds.

    Parameters
    ----------
    region
        The public places.
    channel
        The channel over ``region.space``, whose names are places.
    guarantee
        What the channel was verified against, bound to the space of the region.
    totals_share
        The part of epsilon that is for the row totals; see :mod:`discreet.core.channels.check_implicit`.
    certificate
        The verifier's checks, all passed.
    lower
        No channel with this guarantee loses less; ``None`` where no bound was computed, or none was found.
    upper
        What this one loses, rounded up, in the unit of the region; ``None`` beyond 5120 places.
    provenance
        How it was made.
    """

    region: Region
    channel: AnchoredChannel
    guarantee: MetricDP
    totals_share: Fraction
    certificate: Certificate
    lower: float | None
    upper: float | None
    provenance: Provenance

    @property
    def promise(self) -> str:
        """The guarantee as a sentence; with latitudes, also the epsilon that it is by geodesics of WGS 84."""
        stretch = self.region.stretch
        return str(self.guarantee) if stretch is None else on_the_ground(self.guarantee, stretch)

    @property
    def gap(self) -> float | None:
        """``(upper - lower) / upper``; ``None`` without both bounds."""
        return gap_between(self.lower, self.upper)


@final
@dataclass(frozen=True, eq=False, repr=False)
class Mechanism(CertifiedChannel):
    """What a server publishes: the places, and the integers of an anchored channel over them.

    Its parameters are those of :class:`CertifiedChannel`; roads are no part of a mechanism.

    Raises
    ------
    InvalidProblemError
        For a channel over another space, names that are no places, or a certificate that did not pass.

    Examples
    --------
    >>> from discreet import MetricDP
    >>> from discreet.lrgeo import Region, design
    >>> region = Region.from_grid(4, 4, cell="0.5", unit="km")
    >>> mechanism = Mechanism.from_design(design(region, MetricDP(2, "km"), gap=0.5, scope="places"), region)
    >>> mechanism
    Mechanism(16 places, 2 per km, all pairs)
    >>> Mechanism.from_dict(mechanism.to_dict()).digest == mechanism.digest
    True
    """

    VERSION: ClassVar[int] = 1
    """Version of the file format."""

    def __post_init__(self) -> None:
        if self.channel.space is not self.region.space:
            raise InvalidProblemError("channel", "one over the region's space", "another")
        if int(self.channel.names.max()) >= self.region.K:
            raise InvalidProblemError("names", f"places 0 to {self.region.K - 1}", "others")
        if not self.certificate.passed:
            raise InvalidProblemError("certificate", "one that passed", "one that failed")
        if self.guarantee.unit != self.region.unit:
            raise InvalidProblemError("guarantee", f"per {self.region.unit}", self.guarantee.unit)

    @classmethod
    def from_design(cls, design: CertifiedChannel, region: Region | None = None) -> Mechanism:
        """Take what is published of a design; the region's roads stay behind.

        The certificate of the design is taken over; nothing is verified anew. ``O(K)``.

        Parameters
        ----------
        design
            What :func:`discreet.lrgeo.design` returned.
        region
            The region, for a check that it is that of the design.

        Raises
        ------
        InvalidProblemError
            If the region is not that of the design.
        """
        if region is not None and region.digest != design.region.digest:
            raise InvalidProblemError("region", "that of the design", "another")
        return cls(**{part.name: getattr(design, part.name) for part in fields(CertifiedChannel)})

    def __repr__(self) -> str:
        near = self.guarantee.radius
        pairs = "all pairs" if near is None else f"pairs within {decimal(near)} {self.region.unit}"
        epsilon = f"{decimal_up(self.guarantee.epsilon)} per {self.region.unit}"
        return f"Mechanism({self.region.K} places, {epsilon}, {pairs})"

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the canonical text of :meth:`to_dict` without its ``digest``: keys sorted, no spaces, UTF-8."""
        return text_digest(self._plain)

    @cached_property
    def _plain(self) -> dict[str, Any]:
        """Plain values for JSON: texts, integers, and arrays packed into base64; made once."""
        region, channel = self.region, self.channel
        ball = channel.ball
        return {
            "form": FORM,
            "version": self.VERSION,
            "unit": region.unit,
            "origin": None if region.origin is None else [repr(x) for x in region.origin],
            "cosine": repr(region.cosine),
            "lengths": _rule(region.space, region.unit),
            "rate": str(channel.rate),
            "lift": channel.lift,
            "places": packed(region.places.ravel()),
            "centers": packed(channel.centers),
            "anchors": packed(channel.anchors),
            "names": packed(channel.names),
            "ball_secrets": packed(ball.secrets),
            "ball_reports": packed(ball.reports),
            "ball_weights": packed(ball.weights),
            "guarantee": self.guarantee.to_dict(),
            "totals_share": str(self.totals_share),
            "certificate": self.certificate.to_dict(),
            "lower": None if self.lower is None else repr(self.lower),
            "upper": None if self.upper is None else repr(self.upper),
            "provenance": self.provenance.to_dict(),
        }

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON, the digest among them: texts, integers, and arrays packed into base64."""
        return {**self._plain, "digest": self.digest}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Mechanism:
        """Read what :meth:`to_dict` wrote, a mapping, and refuse what was altered. Linear in its size.

        Raises
        ------
        InvalidProblemError
            For a digest that does not fit, another version, missing entries, or parts that do not fit each other.

        Notes
        -----
        That it is whole says nothing about who made it, nor that what it claims is true: :func:`discreet.lrgeo.verify`
        finds out.
        """
        try:
            return cls._read(data)
        except MALFORMED as error:
            detail = f"no {error}" if isinstance(error, KeyError) else str(error)
            raise InvalidProblemError("mechanism", "a whole mechanism", detail) from None

    @classmethod
    def _read(cls, data: Mapping[str, Any]) -> Mechanism:
        """Return the mechanism of plain values; raise InvalidProblemError unless :meth:`to_dict` would write the same.

        Nothing is verified. KeyError for a missing entry; other errors of malformed values pass through to
        :meth:`from_dict`.
        """
        check_whole(data, FORM, cls.VERSION)
        origin = data["origin"]
        region = Region(
            unpacked(data["places"]).reshape(-1, 2),
            None if origin is None else (float(origin[0]), float(origin[1])),
            data["unit"],
            None,
            float(data["cosine"]),
        )
        if data["lengths"] != _rule(region.space, region.unit):
            raise InvalidProblemError("lengths", "the rule that follows from the places", "another")
        explicit = [unpacked(data[f"ball_{part}"]) for part in ("secrets", "reports", "weights")]
        channel = AnchoredChannel(
            region.space,
            to_fraction(data["rate"], "rate"),
            unpacked(data["centers"]),
            unpacked(data["anchors"]),
            lift=data["lift"],
            ball=Ball(*explicit),
            names=unpacked(data["names"]),
        )
        guarantee = guarantee_from_dict(data["guarantee"])
        if not isinstance(guarantee, MetricDP):
            raise InvalidProblemError("guarantee", "a metric one", "another")
        made = cls(
            region,
            channel,
            guarantee,
            to_fraction(data["totals_share"], "totals_share"),
            Certificate.from_dict(data["certificate"]),
            None if data["lower"] is None else float(data["lower"]),
            None if data["upper"] is None else float(data["upper"]),
            Provenance.from_dict(data["provenance"]),
        )
        if made.digest != data["digest"]:
            raise InvalidProblemError("content", "written as to_dict writes it", "other forms")
        return made


def _rule(space: MetricSpace, unit: str) -> dict[str, Any]:
    """Return the rule by which lengths follow from places: ``"rule"``, ``"cell"`` in decimeters, ``"scale_bits"``.

    The rule is "lattice" or "plane".
    """
    source = space.source
    if isinstance(source, LatticeLengths):
        cell = int(source.cell * per_unit(unit))
        return {"rule": "lattice", "cell": cell, "scale_bits": space.scale_bits}
    return {"rule": "plane", "cell": 1, "scale_bits": space.scale_bits}


def canonical(plain: Mapping[str, Any]) -> bytes:
    """Write plain values as JSON in one way: keys sorted, no spaces, UTF-8.

    Examples
    --------
    >>> canonical({"b": [1, "x"], "a": None})
    b'{"a":null,"b":[1,"x"]}'
    """
    text = json.dumps(
        plain, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )
    return text.encode()


def check_whole(data: Mapping[str, Any], form: str, version: int) -> None:
    """Refuse a published mapping of another form or version, or whose digest is not that of its content.

    Linear in the size of `data`, which is written as text and hashed.

    Raises
    ------
    InvalidProblemError
        For those; a mapping without these keys raises ``KeyError``.
    """
    if data["form"] != form or data["version"] != version:
        expected = f"{form} {version}; a newer discreet may read it"
        raise InvalidProblemError("form", expected, f"{data['form']} {data['version']}")
    plain = {name: value for name, value in data.items() if name != "digest"}
    if text_digest(plain) != data["digest"]:
        raise InvalidProblemError("digest", "that of the content", "another one")


def text_digest(plain: Mapping[str, Any]) -> str:
    """Return the SHA-256 of plain values, written as :func:`canonical` does."""
    return hashlib.sha256(canonical(plain)).hexdigest()


def packed(array: NDArray[np.int64]) -> dict[str, Any]:
    """Write integers `array` ``(m,)`` less the least of them and 0, each in as few bytes as the largest then needs.

    Returns ``"count"``, ``"bytes"`` each, ``"least"``, and little-endian base64 as ``"data"``. Linear. The integers
    must be within 2^62 of 0.
    """
    least = int(array.min(initial=0))
    wide = max(1, -(-(int(array.max(initial=0)) - least).bit_length() // 8))
    rows = (array - least).astype("<u8").view(np.uint8).reshape(-1, 8)[:, :wide]
    return {
        "count": len(array),
        "bytes": wide,
        "least": least,
        "data": base64.b64encode(rows.tobytes()).decode("ascii"),
    }


def unpacked(stated: Mapping[str, Any], *, most: int = (1 << 62) - 1) -> NDArray[np.int64]:
    """Read what :func:`packed` wrote: int64 ``(count,)``.

    A missing entry raises KeyError, and text that is no base64 ValueError. Linear.

    Parameters
    ----------
    stated
        The mapping.
    most
        The largest integer, less the least of them; not above :math:`2^{62}`.

    Raises
    ------
    InvalidProblemError
        For counts that do not fit, or larger integers.
    """
    count, wide, least = stated["count"], stated["bytes"], stated["least"]
    numbers = (count, wide, least)
    if any(isinstance(x, bool) or not isinstance(x, int) for x in numbers):
        raise InvalidProblemError("array", "counts that are integers", "something else")
    if not (0 <= count <= _MOST and 1 <= wide <= 8 and abs(least) < 1 << 62):
        raise InvalidProblemError("array", "a count, and one to eight bytes each", "others")
    body = base64.b64decode(stated["data"], validate=True)
    if len(body) != count * wide:
        raise InvalidProblemError("array", f"{count * wide} bytes", len(body))
    rows = np.zeros((count, 8), dtype=np.uint8)
    rows[:, :wide] = np.frombuffer(body, dtype=np.uint8).reshape(count, wide)
    array = rows.view("<u8").reshape(count)
    if count and int(array.max()) > most:
        raise InvalidProblemError("array", "integers below 2^62", "a larger one")
    values: NDArray[np.int64] = array.astype(np.int64) + least
    return values
