r"""The disc that a user asks the table for: Section 4.5 and Proposition 4.4 of [QLPSX24]_.

The user draws :math:`v_a` evenly from the locally relevant places and asks for
:math:`C(v_a, \max\{2\Gamma, \Gamma + r_\text{obf}\})`. Proposition 4.4 says that the disc covers all rows and columns.

*Proof.* Path lengths are at least distances, so that rows and :math:`v_a` are within :math:`\Gamma` of :math:`v_m`.
Two of them are within :math:`2\Gamma`, and a column of :math:`v_m` is within :math:`\Gamma + r_\text{obf}` of
:math:`v_a`. ∎

That is so for *user-centered* columns. Location-centered ones, which Theorem 4.5 needs, are within
:math:`r_\text{obf}` of some row: the radius has to be :math:`2\Gamma + r_\text{obf}`. And the places of the table
that stand for them may lie :math:`\delta_\text{max}` farther out (C14).

*A new center with each request gives the user away*: the user is within :math:`\Gamma` of every center, and the discs
intersect. After 50 requests at :math:`\Gamma = 20` km the mean error of the obvious guess is half a kilometer (B5).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.core.errors import InvalidProblemError
from discreet.core.randomness.bits import SystemBits

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from discreet.core.randomness.bits import RandomBits
    from discreet_reproduction.lrgeo.as_published.coefficients import Centered


def request_radius(
    reach: float, r_obf: float, *, centered: Centered, farthest_fine: float = 0.0
) -> float:
    r"""Give a radius that covers what Proposition 4.4 is about.

    Parameters
    ----------
    reach
        :math:`\Gamma`.
    r_obf
        Radius of the obfuscation range.
    centered
        ``"user"`` gives the printed radius; ``"location"`` the one that its columns need.
    farthest_fine
        :math:`\delta_\text{max}`: how far a place may be from its place in the table. The paper leaves it out.

    Returns
    -------
    float
        A distance.

    Raises
    ------
    InvalidProblemError
        For another word.

    Examples
    --------
    >>> request_radius(20.0, 4.0, centered="user"), request_radius(20.0, 4.0, centered="location")
    (40.0, 44.0)
    """
    if centered == "user":
        return max(2 * reach, reach + r_obf) + farthest_fine
    if centered == "location":
        return 2 * reach + r_obf + farthest_fine
    raise InvalidProblemError("centered", "'user' or 'location'", repr(centered))


def draw_center(rows: NDArray[np.int64], *, bits: RandomBits | None = None) -> int:
    """Draw the center of a request evenly from the locally relevant places.

    Parameters
    ----------
    rows
        The places.
    bits
        The operating system's by default.

    Returns
    -------
    int
        A place. Keep it: a second draw tells more.
    """
    source = SystemBits() if bits is None else bits
    return int(rows[source.randrange(len(rows))])
