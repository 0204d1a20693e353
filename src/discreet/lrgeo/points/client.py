"""The client of a mechanism for every point: it reads any form, verifies it, draws a report, and sends nothing else.

Trusted: the guarantee rests on this code, which holds the point and draws.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, final

from discreet.core.certificate import Certificate, Check
from discreet.core.errors import CertificateError, InvalidProblemError
from discreet.core.guarantee import MetricDP
from discreet.core.options import instance_of
from discreet.core.printed import decimal, decimal_up
from discreet.lrgeo.places.space import per_unit
from discreet.lrgeo.points.noise import NoiseMechanism
from discreet.lrgeo.points.published import EveryPoint, PublishedPoints
from discreet.lrgeo.points.table import LatticeMechanism
from discreet.lrgeo.points.verify import verify

if TYPE_CHECKING:
    from collections.abc import Mapping
    from fractions import Fraction

    from discreet.core.randomness.bits import RandomBits

FORMS: dict[str, type[PublishedPoints]] = {
    one.FORM: one for one in (NoiseMechanism, LatticeMechanism)
}
"""What a file states of itself, and what it is."""


_NEVER_RELEASED = frozenset({"discreet.lrgeo.points", "discreet.lrgeo.roads"})
"""Forms of files that no release could write: meshes of triangles, and mechanisms along roads."""


def refuse_unreleased(form: object) -> None:
    """Refuse a form of a file that no release could write.

    Raises
    ------
    InvalidProblemError
        For a mesh of triangles, or a mechanism along roads.
    """
    if form in _NEVER_RELEASED:
        expected = (
            "a form of a release; that one was never released: design it anew with `discreet serve`"
        )
        raise InvalidProblemError("form", expected, form)


def read_published(data: Mapping[str, Any]) -> PublishedPoints:
    """Read a mechanism for every point, and refuse what was altered; nothing that it claims is verified.

    Parameters
    ----------
    data
        What :meth:`~discreet.lrgeo.points.published.PublishedPoints.to_dict` wrote, in any form.

    Raises
    ------
    InvalidProblemError
        As the ``from_dict`` of the form that it states, and for another form.
    """
    form = data.get("form")
    refuse_unreleased(form)
    if not isinstance(form, str) or form not in FORMS:
        raise InvalidProblemError("form", "that of a mechanism for every point", "another")
    return FORMS[form].from_dict(data)


@final
class PointClient:
    """Draws reports for points from a published mechanism; it does no input or output, and holds no point.

    Parameters
    ----------
    mechanism
        What the server published: a mechanism for every point, in any form, or the design that it is made of.
    verified_digest
        The digest of a mechanism that was verified before: with it, the mechanism must be that one, to the last
        integer, and is not verified again.
    accepts
        The weakest guarantee that its user accepts, without a radius: a mechanism with a larger epsilon between any two
        points is refused. By default every epsilon is accepted.

    Raises
    ------
    InvalidProblemError
        For another mechanism than the one that was verified, or an acceptance with a radius.
    CertificateError
        For a mechanism that does not keep what it claims, or claims less than is accepted.

    Guarantee
    ---------
    That of the mechanism, for each report, between any two points within its reach. A second report for a point is
    a second report, also where a part of the draw alone is made anew.

    Examples
    --------
    >>> from discreet import MetricDP
    >>> from discreet.core.randomness import SeededBits
    >>> from discreet.lrgeo import Region, design
    >>> region = Region.from_grid(3, 3, cell="0.5", unit="km")
    >>> made = design(region, MetricDP(2, "km"), spacing="0.25")
    >>> client = PointClient(made, accepts=MetricDP(2, "km"))
    >>> client.report(("0.3210456", "0.7931234"), bits=SeededBits(1)) in [region.where(k) for k in range(9)]
    True
    >>> PointClient(made, accepts=MetricDP(1, "km"))
    Traceback (most recent call last):
    discreet.core.errors.CertificateError: failed checks: 2 per km between any two points, where 1 per km is accepted
    """

    def __init__(
        self,
        mechanism: EveryPoint,
        *,
        verified_digest: str | None = None,
        accepts: MetricDP | None = None,
    ) -> None:
        expected = "a mechanism for every point, or a design of one"
        instance_of(mechanism, EveryPoint, "mechanism", expected)
        published = mechanism.published()
        if accepts is not None:
            refuse_weaker(published.guarantee, accepts, "points")
        if verified_digest is None:
            verify(published.claimed()).raise_for_failure()
        elif verified_digest != published.digest:
            raise InvalidProblemError("mechanism", "the one that was verified", "another")
        self._mechanism = published

    def __repr__(self) -> str:
        return f"PointClient({self._mechanism!r})"

    @property
    def mechanism(self) -> PublishedPoints:
        """What the server published."""
        return self._mechanism

    @property
    def cost(self) -> Fraction:
        """Epsilon per unit of distance that one report spends, between any two points."""
        return self._mechanism.guarantee.epsilon

    def report(self, point: object, *, bits: RandomBits | None = None) -> tuple[float, float]:
        """Draw one report for a point, and say where it is: its coordinates as floats, as those of the point.

        The cost is that of the mechanism's ``draw``.

        Parameters
        ----------
        point
            Latitude and longitude where the region has an origin, else east and north in its unit: decimal texts, or
            doubles, which are read by their shortest decimals. Nothing is rounded.
        bits
            Source of randomness; the operating system's by default. A seeded one gives no privacy.

        Raises
        ------
        InvalidProblemError
            For a point beyond the reach; the message does not repeat it. Nothing is reported then, which the guarantee
            does not cover.
        """
        return self._mechanism.where(self._mechanism.draw(point, bits))


def refuse_weaker(claim: MetricDP | None, accepts: MetricDP, between: str) -> None:
    """Raise CertificateError for a claim whose epsilon per kilometer is above the accepted one's.

    `claim` is about any two points or places, which `between` names; ``None`` where there is none for all of them.
    InvalidProblemError if `accepts` is no metric guarantee, or has a radius or another unit than kilometers and meters.
    """
    instance_of(accepts, MetricDP, "accepts", "a MetricDP, or None")
    if accepts.radius is not None:
        raise InvalidProblemError("accepts", "a guarantee for all pairs, without a radius", accepts)
    epsilon = math.inf if claim is None else _per_kilometer(claim)
    words = "no epsilon" if claim is None else f"{decimal_up(claim.epsilon)} per {claim.unit}"
    name = f"{words} between any two {between}, where {decimal(accepts.epsilon)} per {accepts.unit} is accepted"
    check = Check(name, epsilon, _per_kilometer(accepts), exact=True)
    if not check.passed:
        raise CertificateError(Certificate((check,)))


def _per_kilometer(guarantee: MetricDP) -> Fraction:
    return guarantee.epsilon * per_unit("km") / per_unit(guarantee.unit)
