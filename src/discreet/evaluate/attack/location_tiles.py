r"""Score what asking for a tile would tell: the tile, and so all but the place within it.

The service has no tiles: its clients fetch the mechanism whole. Who would ask for one discloses it, and the best guess
is right with :math:`\sum_t \max_{i \in t} p_i`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.evaluate.attack.finding import Finding
from discreet.evaluate.intervals import Estimate

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from discreet.evaluate.attack.location import World

__all__ = ["score_tiles"]


def score_tiles(tiles: ArrayLike, world: World, *, disclosed: bool) -> Finding:
    """Compute how often a place is guessed by who knows its tile.

    Parameters
    ----------
    tiles
        ``(K,)``: the tile of each place.
    world
        What is public.
    disclosed
        Whether the service says that a tile is disclosed. Then the score is stated and limits nothing; otherwise the
        limit is the best guess without looking.

    Returns
    -------
    Finding
        Computed.

    Raises
    ------
    InvalidProblemError
        For tiles that are not one for each place.
    """
    named, prior = np.asarray(tiles), world.instance.prior
    if named.shape != prior.shape:
        raise InvalidProblemError("tiles", f"{len(prior)} tiles", named.shape)
    best = sum(float(prior[named == tile].max()) for tile in np.unique(named))
    return Finding(
        f"asking for one of {len(np.unique(named))} tiles",
        "places guessed",
        Estimate.computed(best),
        Estimate.computed(world.naive),
        bound=best,
        limit=None if disclosed else world.naive,
        note="tiles are not used; asked for one by one, they are disclosed" if disclosed else "",
    )
