r"""M_c^ch as [FVZ21]_ calibrates it (Section 9.2): one of the paper's most accurate mechanisms, and no guarantee.

The paper adds noise for a sensitivity of 1. One person changes as many entries of a level's chain as the level has
regions, not one. The chain with noise for that is :class:`discreet.hierarchy.methods.m_c_ch.Chain`.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Literal, final

import numpy as np

from discreet.core.guarantee import PureDP, ZeroConcentratedDP
from discreet.hierarchy.methods import METHODS
from discreet.hierarchy.methods.m_c_ch import Chain

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.hierarchy.measure import Measured
    from discreet.hierarchy.methods import Tell
    from discreet.hierarchy.problem import Frame
    from discreet.hierarchy.sensitivity import Kind
    from discreet.hierarchy.survival import Need


@final
@dataclass(frozen=True)
class ChainAsPublished:
    """The chain of cumulative counts with the paper's noise (``m-c-ch``): only ``reproduce`` runs it.

    Parameters
    ----------
    solver
        As for :class:`~discreet.hierarchy.methods.m_c_ch.Chain`, whose fit this is.

    Examples
    --------
    >>> ChainAsPublished().unproven[:53]
    'Section 9.2.2 adds noise for a sensitivity of 1, whic'
    """

    solver: Literal["pooling", "recurrence"] = "pooling"

    kind: ClassVar[Kind] = Chain.kind
    needs: ClassVar[tuple[Need, ...]] = Chain.needs
    unproven: ClassVar[str] = METHODS["m-c-ch"].why_none

    def __post_init__(self) -> None:
        Chain(self.solver)

    def as_published(
        self, frame: Frame, guarantee: PureDP | ZeroConcentratedDP, shares: tuple[Fraction, ...]
    ) -> tuple[PureDP | ZeroConcentratedDP, tuple[Fraction, ...]]:
        r"""Find what the paper's noise really satisfies.

        A level whose noise is meant for the share :math:`f` of the budget spends :math:`f |R|` of it.

        Returns
        -------
        guarantee
            The one that holds.
        shares
            The part of it that each level spends.
        """
        spent = [
            share * width
            for share, width in zip(shares, np.diff(frame.tree.level_start).tolist(), strict=True)
        ]
        total = sum(spent, Fraction(0))
        true: PureDP | ZeroConcentratedDP
        if isinstance(guarantee, PureDP):
            true = PureDP(guarantee.epsilon * total, guarantee.neighbors)
        else:
            true = ZeroConcentratedDP(guarantee.rho * total, guarantee.neighbors)
        return true, tuple(part / total for part in spent)

    def solve(self, measured: Measured, *, on_progress: Tell | None = None) -> NDArray[np.int64]:
        """Fit the chain and take differences."""
        return Chain(self.solver).solve(measured, on_progress=on_progress)
