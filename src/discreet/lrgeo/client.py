"""The client: it knows the place, draws a report, and sends nothing else.

Trusted: the guarantee rests on this code, which holds the place and draws.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

from discreet.core.certificate import Certificate, Check
from discreet.core.errors import BudgetError, InvalidProblemError
from discreet.core.guarantee import MetricDP
from discreet.core.randomness.bits import as_bits
from discreet.lrgeo.mechanism import CertifiedChannel, Mechanism
from discreet.lrgeo.points.client import PointClient, refuse_weaker
from discreet.lrgeo.points.published import EveryPoint
from discreet.lrgeo.verify import verify

if TYPE_CHECKING:
    from fractions import Fraction

    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from discreet.core.randomness.bits import RandomBits


@final
class Client:
    """Draws reports from a published mechanism; it does no input or output, and holds no place.

    Parameters
    ----------
    mechanism
        What the server published: a :class:`Mechanism`, or the design that it is made of. One for every point makes a
        :class:`PointClient`.
    verified_digest
        The digest of a mechanism that was verified before: with it, the mechanism must be that one, and is not verified
        again. By default it is verified now, which takes seconds for a thousand places.
    accepts
        The weakest guarantee that its user accepts, without a radius: a mechanism with a larger epsilon between any two
        places is refused, however well it keeps what it claims. By default every epsilon is accepted.

    Raises
    ------
    InvalidProblemError
        For another mechanism than the one that was verified, or an acceptance with a radius or of another unit than
        kilometers and meters.
    CertificateError
        For a mechanism that does not keep what it claims, or claims less than is accepted.

    Guarantee
    ---------
    That of the mechanism, for each report: for two points, epsilon times the distance of the *places* that they are
    snapped to. Two points a meter apart across a border are a whole spacing apart.

    Examples
    --------
    >>> from discreet import MetricDP
    >>> from discreet.core.randomness import SeededBits
    >>> from discreet.lrgeo import Region, design
    >>> region = Region.from_grid(4, 4, cell="0.5", unit="km")
    >>> client = Client(design(region, MetricDP(2, "km"), gap=0.5, scope="places"))
    >>> client.report((0.3, 0.2), bits=SeededBits(1)) in [region.where(k) for k in range(16)]
    True
    """

    def __new__(cls, mechanism: object = None, **options: Any) -> Any:  # noqa: ANN401 - those of either client
        """Return the client of a published mechanism."""
        if isinstance(mechanism, EveryPoint):
            return PointClient(mechanism, **options)
        return super().__new__(cls)

    def __init__(
        self,
        mechanism: CertifiedChannel | EveryPoint,
        *,
        verified_digest: str | None = None,
        accepts: MetricDP | None = None,
    ) -> None:
        published = _published(mechanism)
        if accepts is not None:
            refuse_weaker(held_everywhere(published), accepts, "places")
        if verified_digest is None:
            share = published.totals_share
            made = verify(published.channel, published.guarantee, totals_share=share)
            Certificate((*made.checks, scope_check(published))).raise_for_failure()
        elif verified_digest != published.digest:
            raise InvalidProblemError("mechanism", "the one that was verified", "another")
        self._mechanism = published
        # What every report needs and no place decides is computed now: the factors, how far the region reaches, and
        # what a report costs.
        _ = published.channel.row(0), published.region.reach
        self._held = held_everywhere(published)

    def __repr__(self) -> str:
        return f"Client({self._mechanism!r})"

    @property
    def mechanism(self) -> Mechanism:
        """What the server published."""
        return self._mechanism

    @property
    def cost(self) -> Fraction:
        """Epsilon per unit of distance that one report spends, for any two places, however far apart.

        Within a radius a mechanism claims less; beyond it the chains of neighbors that protect places are longer than
        the distances, and reports add up there too.

        Raises
        ------
        BudgetError
            For a mechanism that leaves two places to be told apart for certain: no sum of its reports is finite.
        """
        if self._held is None:
            raise BudgetError("this mechanism gives some places no protection; no budget covers it")
        return self._held.epsilon

    def snap(self, point: tuple[float, float] | ArrayLike) -> int:
        """Return the number of the place nearest to `point`: latitude and longitude, or east and north in the unit.

        ``O(K)``.

        Raises
        ------
        InvalidProblemError
            For no point, or one beyond the region's reach; see :meth:`discreet.lrgeo.Region.snap`.
        """
        return self._mechanism.region.snap(point)

    def row(self, place: int) -> NDArray[np.int64]:
        """Return the integer weights ``(R,)`` of all reports for a place, by its number: private, as the place is.

        They are not scaled: divide by their sum. ``O(K)`` for K places. InvalidProblemError for a number that is no
        place's.
        """
        return self._mechanism.channel.row(place)

    def report(
        self, point: tuple[float, float] | ArrayLike, *, bits: RandomBits | None = None
    ) -> tuple[float, float]:
        """Snap a point, draw one report, and say where it is.

        ``O(K)`` for K places.

        Parameters
        ----------
        point
            Where one is: latitude and longitude where the region has an origin, else east and north in its unit.
        bits
            Source of randomness; the operating system's by default. A seeded one gives no privacy.

        Returns
        -------
        tuple
            The reported place, in the coordinates of the point.

        Raises
        ------
        InvalidProblemError
            For a point outside the region; the message does not repeat it. Nothing is reported then.
        """
        source = as_bits(bits)
        place = self.snap(point)
        return self._mechanism.region.where(self._mechanism.channel.report(place, source))


def _published(stated: Any) -> Mechanism:  # noqa: ANN401 - anything that a caller may pass
    """Return a mechanism as it is, or make that of a certified design; InvalidProblemError for anything else."""
    if isinstance(stated, Mechanism):
        return stated
    if not isinstance(stated, CertifiedChannel):
        expected = "a Mechanism, or a design of one"
        raise InvalidProblemError("mechanism", expected, type(stated).__name__)
    return Mechanism.from_design(stated)


def held_everywhere(mechanism: Mechanism) -> MetricDP | None:
    """Return the guarantee that a mechanism claims for any two places at any distance, or ``None``.

    A radius protects pairs beyond it by chains of nearer ones: how much longer these are is computed here, and not
    taken from what the mechanism says.

    ``None`` if pairs within the radius do not connect all places. All shortest paths, for a radius.

    Examples
    --------
    >>> from discreet.lrgeo import Mechanism, Region, design
    >>> region = Region.from_grid(3, 3, cell="0.5", unit="km")
    >>> near = Mechanism.from_design(design(region, MetricDP(2, "km", "0.5"), gap=0.5, scope="places"))
    >>> held = held_everywhere(near)
    >>> held is not None and round(float(held.epsilon), 3)
    2.828
    """
    claimed, space = mechanism.guarantee, mechanism.region.space
    if claimed.radius is None:
        return MetricDP(claimed.epsilon, claimed.unit)
    stretch = space.adjacency(claimed.radius).stretch(space)
    return None if stretch is None else MetricDP(claimed.epsilon * stretch, claimed.unit)


def scope_check(mechanism: Mechanism) -> Check:
    """Compare what a mechanism says of places far apart, which its guarantee tells people, with what holds.

    Returns a check that fails if the scope is one about points, or names another space, components, isolated places
    or links than there are, or a smaller epsilon for all pairs than holds. A mechanism may say nothing of them: it
    passes. All shortest paths, for a radius.

    Examples
    --------
    >>> from discreet.lrgeo import Mechanism, Region, design
    >>> region = Region.from_grid(3, 3, cell="0.5", unit="km")
    >>> scope_check(Mechanism.from_design(design(region, MetricDP(2, "km", "0.5"), gap=0.5, scope="places"))).passed
    True
    """
    scope, space = mechanism.guarantee.space_scope, mechanism.region.space
    wrong = mechanism.guarantee.scope is not None and scope is None
    if scope is not None:
        all_pairs, stated = held_everywhere(mechanism), scope.all_pairs_epsilon
        facts = (scope.space, scope.n_secrets, scope.components, scope.isolated, scope.joined)
        wrong = facts != (space.digest, space.n, 1, (), 0)
        wrong |= all_pairs is None or stated is None or stated < all_pairs.epsilon
    return Check("facts misstated in the scope", int(wrong), 0, exact=True)
