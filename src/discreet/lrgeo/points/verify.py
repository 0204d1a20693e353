r"""Verify a mechanism for every point by the verifier of its form, in integers.

Trusted: the guarantee of a location service rests on this code and on the two verifiers that it calls,
:mod:`~discreet.lrgeo.points.verify_noise` and :mod:`~discreet.lrgeo.points.verify_table`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.lrgeo.points.verify_noise import ClaimedNoise, verify_noise
from discreet.lrgeo.points.verify_table import ClaimedTable, verify_table

if TYPE_CHECKING:
    from discreet.core.certificate import Certificate


def verify(claimed: ClaimedNoise | ClaimedTable) -> Certificate:
    """Verify a mechanism for every point, in exact integers.

    Parameters
    ----------
    claimed
        The arrays and the claim: ``claimed()`` of a mechanism or a design for every point.

    Returns
    -------
    Certificate
        Passed only if the claim holds between any two points of the region.

    Guarantee
    ---------
    Exact, but for one comparison: that nothing of the region on a sphere is farther apart in the plane is decided in
    floats with a margin of 2^-31.

    Examples
    --------
    >>> from discreet import MetricDP
    >>> from discreet.lrgeo import Region, design
    >>> made = design(Region.from_grid(3, 3, cell="0.5", unit="km"), MetricDP(2, "km"), scope="points")
    >>> verify(made.claimed()).passed
    True
    """
    return verify_noise(claimed) if isinstance(claimed, ClaimedNoise) else verify_table(claimed)
