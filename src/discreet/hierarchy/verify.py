"""The checker: whether a published table is what was promised, and whether its noise pays for its guarantee.

Nothing here is shared with what made the table. The table is judged by its own numbers and the public facts; the
guarantee by arithmetic in fractions on the scales of the noise that the table's record states, with sensitivities that
are found out anew.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.core.certificate import Certificate, Check
from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import PureDP, ZeroConcentratedDP

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import ArrayLike, NDArray

    from discreet.core.guarantee import Guarantee
    from discreet.core.outcome import Release
    from discreet.hierarchy.problem import Frame

__all__ = ["PROMISES", "verify", "verify_counts", "verify_guarantee"]

PROMISES = ("integral", "nonnegative", "consistent", "faithful")
"""What a table may promise: whole numbers, none below zero, that add up along the tree, and sum to G on each level."""

_TOLERANCE = 1e-9
"""Relative difference of sums of floats that counts as rounding."""

_RELATIONS = {"add-remove-person": 1, "replace-person": 2}
"""Neighbor relation -> how many persons come or go."""


def verify(release: Release[Any]) -> Certificate:
    """Check a release of counts: the table by itself, and its guarantee by the scales of its noise.

    Parameters
    ----------
    release
        The release, wherever it comes from; its result has a ``frame`` and ``counts``.

    Returns
    -------
    Certificate
        The checks of :func:`verify_counts` for the promises that its provenance names, all four where it names none,
        and those of :func:`verify_guarantee`.

    Raises
    ------
    InvalidProblemError
        For counts of another shape than the frame's, or a provenance without the scales of the noise.

    Examples
    --------
    >>> from discreet import Certificate, Provenance, PureDP, Release, Tree
    >>> from discreet.hierarchy.problem import Frame
    >>> from discreet.hierarchy.result import RegionCounts
    >>> frame = Frame(Tree.from_paths([("GA",), ("NY",)]), 2, "private")
    >>> made = RegionCounts(frame, np.array([[3, 1], [1, 1], [2, 0]]))
    >>> stated = {
    ...     "kind": "direct", "noise": "laplace", "neighbors": "add-remove-person", "max_size": 2,
    ...     "units": "private", "max_quantity": 1,
    ...     "scale_by_level": ["4", "none"], "scale_of_leaves_by_level": ["none", "4"],
    ... }
    >>> guarantee = PureDP(1, neighbors="add-remove-person")
    >>> print(verify(Release(made, guarantee, Certificate(()), Provenance("m_h", stated))))
    check                            residual  limit  exact  verdict
    numbers that are not whole              0      0    yes  passed
    numbers below zero                      0      0    yes  passed
    sums that do not hold                   0      0    yes  passed   3 regions, 2 sizes
    facts that differ                       0      0    yes  passed   between record, frame and guarantee
    epsilon spent on the worst path         1      1    yes  passed   laplace noise on direct counts
    """
    frame, parameters = release.result.frame, release.provenance.parameters
    table = verify_counts(
        frame, release.result.counts, promises=parameters.get("promises", PROMISES)
    )
    spent = verify_guarantee(frame, release.guarantee, parameters)
    return Certificate((*table.checks, *spent.checks))


def verify_counts(
    frame: Frame, counts: ArrayLike, *, promises: Iterable[str] = PROMISES
) -> Certificate:
    """Check a table by its own numbers and the public facts.

    Parameters
    ----------
    frame
        The public facts.
    counts
        ``(n_nodes, n_sizes)`` numbers, a row for each region.
    promises
        Which of :data:`PROMISES` to check.

    Returns
    -------
    Certificate
        Numbers that are not whole, that are below zero, that are not the sum over the regions below, and levels whose
        sum is not the public number of groups. A leaf counts on all levels below it. Sums are exact for integers; for
        floats up to ``1e-9`` of the largest number.

    Raises
    ------
    InvalidProblemError
        For counts of another shape, that are no finite numbers, or an unknown promise.

    Examples
    --------
    >>> from discreet.core.tree import Tree
    >>> from discreet.hierarchy.problem import Frame
    >>> frame = Frame(Tree.from_paths([("GA",), ("NY",)]), 2, "private")
    >>> verify_counts(frame, [[3, 1], [1, 1], [2, 0]]).passed, verify_counts(frame, [[3, 1], [1, 1], [1, 0]]).passed
    (True, False)
    """
    table = np.asarray(counts)
    if table.shape != (frame.tree.n, frame.n_sizes):
        raise InvalidProblemError(
            "counts", f"shape {(frame.tree.n, frame.n_sizes)}", f"shape {table.shape}"
        )
    whole = np.issubdtype(table.dtype, np.integer)
    if not (whole or np.issubdtype(table.dtype, np.floating)) or not np.isfinite(table).all():
        raise InvalidProblemError("counts", "finite numbers", table.dtype)
    if whole and int(np.abs(table.astype(np.float64)).max(initial=0)) * table.size >= 1 << 62:
        # Sums of 64 bits could wrap, and then hold though they do not.
        table = table.astype(object)
    wanted = [promises] if isinstance(promises, str) else list(promises)
    if not all(promise in PROMISES for promise in wanted):
        raise InvalidProblemError("promises", f"of {', '.join(PROMISES)}", wanted)
    checks = []
    if "integral" in wanted:
        broken = 0 if whole else int((table != np.floor(table)).sum())
        checks.append(Check("numbers that are not whole", broken, 0, exact=True))
    if "nonnegative" in wanted:
        checks.append(Check("numbers below zero", int((table < 0).sum()), 0, exact=True))
    if "consistent" in wanted:
        checks.append(_sums(frame, table, exact=bool(whole)))
    if "faithful" in wanted and frame.total is not None:
        checks.append(_levels(frame, table, frame.total, exact=bool(whole)))
    return Certificate(tuple(checks))


def _sums(frame: Frame, table: NDArray[Any], *, exact: bool) -> Check:
    """Compare each region above the leaves with the sum of the rows whose parent it is."""
    parents = frame.tree.parents
    below = np.zeros_like(table)
    np.add.at(below, parents[1:], table[1:])
    inner = np.isin(np.arange(frame.tree.n), parents)
    off = np.abs(below[inner] - table[inner])
    detail = f"{frame.tree.n} regions, {frame.n_sizes} sizes"
    if exact:
        return Check("sums that do not hold", int((off != 0).sum()), 0, exact=True, detail=detail)
    limit = _TOLERANCE * max(1.0, float(np.abs(table).max()))
    return Check("largest sum that is off", float(off.max(initial=0.0)), limit, exact=False)


def _levels(frame: Frame, table: NDArray[Any], total: int, *, exact: bool) -> Check:
    """Compare the sum of each level, with the leaves that end above it, with the number of groups."""
    tree = frame.tree
    inner = np.isin(np.arange(tree.n), tree.parents)
    rows = table.sum(axis=1)
    sums = [
        rows[(tree.levels == level) | (~inner & (tree.levels < level))].sum()
        for level in range(tree.depth + 1)
    ]
    if exact:
        wrong = sum(int(found) != total for found in sums)
        detail = f"{len(sums)} levels"
        return Check("levels that do not sum to G", wrong, 0, exact=True, detail=detail)
    worst = max(abs(float(found) - total) for found in sums)
    return Check("largest level that is off", worst, _TOLERANCE * max(1, total), exact=False)


def verify_guarantee(
    frame: Frame, guarantee: Guarantee, parameters: Mapping[str, Any]
) -> Certificate:
    r"""Check that the stated noise pays for the guarantee along each path from the root to a leaf.

    A level with sensitivity :math:`\Delta` costs :math:`\varepsilon = \Delta_1 / b` with Laplace noise of scale b, and
    :math:`\rho = \Delta_2^2 / 2 \sigma^2` with Gaussian noise. Regions of one level hold different persons; a person is
    in all regions of one path, whose costs add up.

    Parameters
    ----------
    frame
        The public facts.
    guarantee
        The claim.
    parameters
        The record: ``kind``, ``noise``, ``neighbors``, ``max_size``, ``units``, ``max_quantity``, and the scales by
        level, from the root down, of regions that are divided (``scale_by_level``) and of those that are not
        (``scale_of_leaves_by_level``): fractions as text, ``"none"`` where nothing was measured.

    Returns
    -------
    Certificate
        Facts in the record that differ from the frame or the guarantee, and the cost of the worst path.

    Raises
    ------
    InvalidProblemError
        For a record that lacks one of these, or holds no positive fractions.

    Notes
    -----
    With q the most that a person adds to a size, the sensitivities :math:`\Delta_1` (:math:`\Delta_2^2`) to one person
    more are: survival counts q (q); direct counts 2 (2); sorted sizes q (:math:`q^2`); the chain of the paper's Section
    9.2 q (q) times the number of regions of the level. A person replaced is one less and one more: all double, but 6
    instead of 4 for :math:`\Delta_2^2` of direct counts. Sorted sizes and chains need public units.

    Examples
    --------
    >>> from discreet.core.tree import Tree
    >>> from discreet.hierarchy.problem import Frame
    >>> frame = Frame(Tree.from_paths([("GA",), ("NY",)]), 2, "private")
    >>> half = {
    ...     "kind": "direct", "noise": "laplace", "neighbors": "add-remove-person", "max_size": 2,
    ...     "units": "private", "max_quantity": 1,
    ...     "scale_by_level": ["2", "none"], "scale_of_leaves_by_level": ["none", "2"],
    ... }
    >>> verify_guarantee(frame, PureDP(1, neighbors="add-remove-person"), half).checks[1].residual
    Fraction(2, 1)
    """
    missing = _NEEDED - set(parameters)
    if missing:
        raise InvalidProblemError("parameters", f"also {', '.join(sorted(missing))}", "none")
    kind, noise = parameters["kind"], parameters["noise"]
    named = (noise, kind, parameters["neighbors"])
    claims = {"laplace": PureDP, "gaussian": ZeroConcentratedDP}
    known = (list(claims), _KINDS, list(_RELATIONS))
    if not all(name in names for name, names in zip(named, known, strict=True)):
        expected = "a noise, a kind and a neighbor relation that have a proof"
        raise InvalidProblemError("parameters", expected, list(named))
    claimed = Fraction(0)
    differ = [
        parameters["neighbors"] != getattr(guarantee, "neighbors", None),
        not isinstance(guarantee, claims[noise]),
        parameters["max_size"] != frame.max_size,
        parameters["units"] != frame.units,
        parameters["max_quantity"] != frame.max_quantity,
        kind in ("sorted", "chain") and frame.units != "public",
        _misstated(frame, parameters),
    ]
    if isinstance(guarantee, PureDP):
        claimed = guarantee.epsilon
    elif isinstance(guarantee, ZeroConcentratedDP):
        claimed = guarantee.rho
    spent = max(_paths(frame, parameters))
    name = "epsilon" if noise == "laplace" else "rho"
    return Certificate(
        (
            Check(
                "facts that differ",
                sum(differ),
                0,
                exact=True,
                detail="between record, frame and guarantee",
            ),
            Check(
                f"{name} spent on the worst path",
                spent,
                claimed,
                exact=True,
                detail=f"{noise} noise on {kind} counts",
            ),
        )
    )


_NEEDED = frozenset(
    {
        "kind",
        "noise",
        "neighbors",
        "max_size",
        "units",
        "max_quantity",
        "scale_by_level",
        "scale_of_leaves_by_level",
    }
)
_KINDS = ("survival", "direct", "sorted", "chain")


def _paths(frame: Frame, parameters: Mapping[str, Any]) -> list[Fraction]:
    """Add the cost of each path; two paths that end on the same level cost the same."""
    tree, levels = frame.tree, frame.tree.depth + 1
    inner = _scales(parameters, "scale_by_level", levels)
    leaf = _scales(parameters, "scale_of_leaves_by_level", levels)

    def cost(scale: Fraction | None, level: int) -> Fraction:
        return _cost(frame, parameters, scale, level)

    ends = np.unique(tree.levels[tree.leaves]).tolist()
    return [
        sum((cost(inner[level], level) for level in range(end)), cost(leaf[end], end))
        for end in ends
    ]


def _cost(
    frame: Frame, parameters: Mapping[str, Any], scale: Fraction | None, level: int
) -> Fraction:
    """Compute what a level costs with noise of a scale."""
    if scale is None:
        return Fraction(0)
    moved = _sensitivity(frame, parameters, level)
    return moved / (2 * scale if parameters["noise"] == "gaussian" else scale)


def _sensitivity(frame: Frame, parameters: Mapping[str, Any], level: int) -> int:
    """Bound what one neighbor changes on a level: the sum of changes, or of their squares for Gaussian noise."""
    squared, width = parameters["noise"] == "gaussian", int((frame.tree.levels == level).sum())
    moved = _moved(parameters["kind"], frame, width, squared=squared)
    if parameters["neighbors"] != "replace-person":
        return moved
    return 6 if squared and parameters["kind"] == "direct" else 2 * moved


def _misstated(frame: Frame, parameters: Mapping[str, Any]) -> bool:
    """Tell whether the record says other sensitivities than there are, or less than a level of regions costs."""
    levels = range(frame.tree.depth + 1)
    moved = [_sensitivity(frame, parameters, level) for level in levels]
    if parameters.get("sensitivity", moved) != moved:
        return True
    name = "rho" if parameters["noise"] == "gaussian" else "epsilon"
    told = parameters.get(f"{name}_by_level")
    if told is None:
        return False
    try:
        parts = [Fraction(str(text)) for text in told]
    except (TypeError, ValueError, ZeroDivisionError):
        return True
    # A leaf may have had the parts of the levels below it, too.
    allowed = {
        "scale_by_level": parts,
        "scale_of_leaves_by_level": [sum(parts[level:], Fraction(0)) for level in levels],
    }
    return len(parts) != len(levels) or any(
        _cost(frame, parameters, scale, level) > allowed[kind][level]
        for kind in allowed
        for level, scale in enumerate(_scales(parameters, kind, len(levels)))
    )


def _moved(kind: str, frame: Frame, width: int, *, squared: bool) -> int:
    """Bound what one person more changes on a level: the sum of changes, or of their squares."""
    # A size is at most max_size, so that nobody adds more.
    most = min(frame.max_quantity, frame.max_size)
    if kind == "direct":
        return 2
    if kind == "sorted":
        return most**2 if squared else most
    return most * width if kind == "chain" else most


def _scales(parameters: Mapping[str, Any], name: str, levels: int) -> list[Fraction | None]:
    """Read scales: positive fractions as text, or ``"none"``."""
    given = parameters[name]
    try:
        scales = [None if text == "none" else Fraction(str(text)) for text in given]
    except (ValueError, ZeroDivisionError):
        scales = []
    if len(scales) != levels or any(scale is not None and scale <= 0 for scale in scales):
        raise InvalidProblemError(name, f"{levels} positive fractions or 'none'", given)
    return scales
