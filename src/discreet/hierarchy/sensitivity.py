r"""How far one person can move what is measured of one level: exact sensitivities, for every kind and neighbor.

One level of a tree is a partition of the units, so that a person touches one region of it, or two when replaced. With
:math:`q` the largest quantity of a person and :math:`m` the number of regions of the level,

========== ======================================= ================== ===================
kind       entry                                   :math:`\Delta_1`   :math:`\Delta_2^2`
========== ======================================= ================== ===================
survival   :math:`t_s`, groups of size at least s  :math:`q`          :math:`q`
direct     :math:`n_s`, groups of size s           :math:`2`          :math:`2`
sorted     the i-th largest group                  :math:`q`          :math:`q^2`
chain      groups before (s, r), sizes first       :math:`q m`        :math:`q m`
========== ======================================= ================== ===================

The regions of a level have noise of their own, :math:`b_v`. All but the chain cost what the worst of them costs. A
person moves the chain by up to :math:`q` in *each* region of a level that her path reaches, whichever she lives in, so
that such a level costs :math:`q \sum_v 1/b_v` over its regions (:math:`q \sum_v 1/(2\sigma_v^2)` with Gaussian noise),
which is :math:`\Delta_1 / b` where all have one scale.

A replaced person is one removed and one added: :math:`\Delta_1` doubles, and :math:`\Delta_2^2` becomes :math:`2q`,
:math:`6`, :math:`2q^2`, :math:`2qm`. Proofs are on the theory page *Sensitivities of hierarchical counts*.

Proposes; checked by `discreet.hierarchy.verify.verify_guarantee`, which has sensitivities of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from discreet.core.errors import InvalidProblemError

if TYPE_CHECKING:
    from discreet.hierarchy.problem import Frame

Kind = Literal["survival", "direct", "sorted", "chain"]
"""What is measured of a region: see the table above."""

KINDS: tuple[Kind, ...] = ("survival", "direct", "sorted", "chain")
NEIGHBORS = ("add-remove-person", "replace-person")
"""The neighboring relations for which the sensitivities are proved."""


def sensitivity(frame: Frame, kind: Kind, neighbors: str, level: int, *, norm: int = 1) -> int:
    r"""Bound how far one person moves the vector of one level.

    Parameters
    ----------
    frame
        The public facts: the tree, the largest size and quantity, whether units are public.
    kind
        What is measured.
    neighbors
        ``"add-remove-person"`` or ``"replace-person"``.
    level
        Level of the tree, the root's is 0; only the chain depends on it.
    norm
        1 for :math:`\Delta_1`; 2 for the *square* :math:`\Delta_2^2`, which is an integer where the norm is not.

    Returns
    -------
    int
        The sensitivity. It is attained, but for sizes too few or a person too small to attain it.

    Raises
    ------
    InvalidProblemError
        For another kind, relation or norm, and for what needs public units where they are not.

    Examples
    --------
    >>> from discreet import Tree
    >>> from discreet.hierarchy.problem import Frame
    >>> frame = Frame(Tree.from_paths([("GA",), ("NY",)]), 5, "private")
    >>> [sensitivity(frame, kind, "add-remove-person", 1) for kind in ("survival", "direct")]
    [1, 2]
    """
    if kind not in KINDS:
        raise InvalidProblemError("kind", f"one of {', '.join(KINDS)}", repr(kind))
    if neighbors not in NEIGHBORS:
        raise InvalidProblemError("neighbors", f"one of {', '.join(NEIGHBORS)}", repr(neighbors))
    if norm not in (1, 2):
        raise InvalidProblemError("norm", "1 or 2", norm)
    if kind in ("sorted", "chain") and frame.units != "public":
        raise InvalidProblemError("kind", "one that needs no public units", repr(kind))
    # No size changes by more than the largest one: a person with more was top-coded.
    moved = min(frame.max_quantity, frame.max_size)
    tree = frame.tree
    if kind == "direct":
        added, replaced = (2, 4) if norm == 1 else (2, 6)
    elif kind == "sorted":
        added, replaced = (moved, 2 * moved) if norm == 1 else (moved**2, 2 * moved**2)
    else:
        if kind == "chain":
            moved *= int(tree.level_start[level + 1] - tree.level_start[level])
        added, replaced = moved, 2 * moved
    return added if neighbors == "add-remove-person" else replaced
