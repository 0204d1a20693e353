"""The checker: whether a published table is what was promised, and whether its noise pays for its guarantee.

Nothing here is shared with what made the table. The table is judged by its own numbers and the public facts; the
guarantee by arithmetic in fractions on the scales of the noise that the table's record states, with sensitivities that
are found out anew. What no file can show is listed in :data:`NOT_SHOWN`.

Trusted: the guarantee rests on this code, which checks that the noise pays for it.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.core.certificate import Certificate, Check
from discreet.core.errors import InvalidProblemError
from discreet.core.exact import to_fraction
from discreet.core.guarantee import PureDP, ZeroConcentratedDP
from discreet.core.options import instance_of
from discreet.core.outcome import Release

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, NDArray

    from discreet.core.guarantee import Guarantee
    from discreet.core.tree import Tree
    from discreet.hierarchy.problem import Frame

PROMISES = ("integral", "nonnegative", "consistent", "faithful")
"""What a table may promise: whole numbers, none below zero, that add up along the tree, and sum to G on each level."""

NOT_SHOWN = (
    "that noise was drawn, with the stated scales and from chance that nobody knows",
    "that nothing else was published from the same people",
)
"""What no table and no record can show, however they are checked."""

_UNPROMISED = {
    "integral": "that counts are whole numbers",
    "nonnegative": "that no count is below zero",
    "consistent": "that counts add up along the tree",
    "faithful": "that each level sums to the public number of groups",
}

_REL_TOL = 1e-9
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
        The checks of :func:`verify_counts` for the promises that its provenance names, all four where it does not speak
        of promises, and those of :func:`verify_guarantee`. Between them: how many regions have counts that follow from
        nothing that was measured. A lowest region has to be measured; what stands at another one that was not has to be
        the sum of the regions below it, up to the rounding of each count where the record does not promise sums. A
        record that promises nothing that can be checked fails. :func:`unchecked` and :data:`NOT_SHOWN` say the rest.

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
    >>> print(verify(Release(made, guarantee, Certificate(()), Provenance("m-h", stated))))
    check                            residual  limit  exact  verdict
    numbers that are not whole              0      0    yes  passed
    numbers below zero                      0      0    yes  passed
    sums that do not hold                   0      0    yes  passed   3 regions, 2 sizes
    counts that nothing measured            0      0    yes  passed   regions
    facts that differ                       0      0    yes  passed   between record, frame and guarantee
    epsilon spent on the worst path         1      1    yes  passed   laplace noise on direct counts
    claims without a measurement            0      0    yes  passed
    """
    instance_of(release, Release, "release", "a Release")
    frame, parameters = release.result.frame, release.provenance.parameters
    counts, promises = release.result.counts, parameters.get("promises", PROMISES)
    checks = list(verify_counts(frame, counts, promises=promises).checks)
    if not checks:
        detail = "the record promises nothing that can be checked"
        checks.append(Check("tables held to no promise", 1, 0, exact=True, detail=detail))
    spent = verify_guarantee(frame, release.guarantee, parameters)
    return Certificate((*checks, _unfounded(frame, counts, parameters), *spent.checks))


def unchecked(frame: Frame, parameters: Mapping[str, Any]) -> list[str]:
    """List what :func:`verify` does not check of a table: its making, and properties that its record does not promise.

    Parameters
    ----------
    frame
        The public facts.
    parameters
        The record, as for :func:`verify_guarantee`; its ``promises``, all of them where it does not speak of them.

    Examples
    --------
    >>> from discreet.core.tree import Tree
    >>> from discreet.hierarchy.problem import Frame
    >>> frame = Frame(Tree.from_paths([("GA",), ("NY",)]), 2, "private")
    >>> unchecked(frame, {"promises": ["integral", "nonnegative"]})[1:]
    ['that counts add up along the tree, which the record does not promise']
    """
    promised = parameters.get("promises", PROMISES)
    return [
        "that the counts were made of such measurements, by the stated method",
        *(
            f"{sentence}, which the record does not promise"
            for promise, sentence in _UNPROMISED.items()
            # Where the number of groups is not public, nobody could promise it.
            if promise not in promised and (promise != "faithful" or frame.total is not None)
        ),
    ]


def _unfounded(frame: Frame, counts: NDArray[Any], parameters: Mapping[str, Any]) -> Check:
    """Return the check of regions that were not measured and whose counts ``(nodes, sizes)`` no sum below gives."""
    tree = frame.tree
    inner = divided_regions(tree)
    silent = np.array([scale is None for scale in _scale_of_each(frame, parameters)])
    table = wide_numbers(counts)
    off = np.abs(sums_below(tree.parents, table) - table).max(axis=1)
    slack = np.zeros(tree.n)
    if "consistent" not in parameters.get("promises", PROMISES):
        # Each count may have been rounded to the nearest whole number by itself.
        slack = (1 + np.bincount(tree.parents[1:], minlength=tree.n)) / 2
    if np.issubdtype(table.dtype, np.floating):
        slack = slack + _REL_TOL * max(1.0, float(np.abs(table).max()))
    # Written so that a sum that is no number, of floats that are too large, does not follow.
    wrong = silent & ~(inner & (off <= slack))
    return Check("counts that nothing measured", int(wrong.sum()), 0, exact=True, detail="regions")


def _scale_of_each(frame: Frame, parameters: Mapping[str, Any]) -> list[Fraction | None]:
    """Return for each region the scale that the record states for its level, divided regions and lowest ones apart."""
    tree, levels = frame.tree, frame.tree.depth + 1
    inner = _scales(parameters, "scale_by_level", levels)
    leaf = _scales(parameters, "scale_of_leaves_by_level", levels)
    divided = divided_regions(tree).tolist()
    return [
        (inner if above else leaf)[level]
        for above, level in zip(divided, tree.levels.tolist(), strict=True)
    ]


def verify_measurements(measured: Any) -> Certificate:  # noqa: ANN401 - its type draws noise, and is not imported here
    """Check kept measurements: the arithmetic of their guarantee, the noise of every region, and what has none.

    Parameters
    ----------
    measured
        A :class:`~discreet.hierarchy.Measured`, wherever it comes from.

    Returns
    -------
    Certificate
        The checks of :func:`verify_guarantee`; regions whose noise is not that of their level, which is all that the
        arithmetic looks at; and values other than 0 where nothing was measured, which nothing would protect.

    Raises
    ------
    InvalidProblemError
        As :func:`verify_guarantee`.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from discreet.core.tree import Tree
    >>> from discreet.hierarchy.measure import measure
    >>> from discreet.hierarchy.problem import GroupSizes
    >>> data = GroupSizes.from_counts(Tree.from_paths([("GA",), ("NY",)]), [[3, 1], [0, 5]], units="private")
    >>> kept = measure(data, "direct", PureDP(1, neighbors="add-remove-person"), levels=[0, 1])
    >>> values = kept.values.copy()
    >>> values[0] = [3, 6]
    >>> verify_measurements(kept).passed, verify_measurements(replace(kept, values=values)).passed
    (True, False)
    """
    frame, stated = measured.frame, _record(measured)
    of_level = _scale_of_each(frame, stated)
    apart = sum(
        own != stated_scale for own, stated_scale in zip(measured.scales, of_level, strict=True)
    )
    widths = [measured.values.shape[-1]] * frame.tree.n
    if measured.values.ndim == 1 and frame.group_totals is not None:
        # Sorted sizes are as many as a region has groups, region after region.
        widths = frame.group_totals.tolist()
    silent = np.repeat([scale is None for scale in measured.scales], widths)
    bare = int((measured.values.reshape(-1)[silent] != 0).sum())
    spent = verify_guarantee(frame, measured.guarantee, stated)
    return Certificate(
        (
            *spent.checks,
            Check("regions with other noise than their level", apart, 0, exact=True),
            Check("values where nothing was measured", bare, 0, exact=True, detail="other than 0"),
        )
    )


def _record(measured: Any) -> dict[str, Any]:  # noqa: ANN401 - as above
    """Return the record of a release of these measurements: the scale of each level is that of its last region."""
    frame, guarantee = measured.frame, measured.guarantee
    tree = frame.tree
    divided = divided_regions(tree).tolist()
    scales: dict[bool, list[Any]] = {above: ["none"] * (tree.depth + 1) for above in (True, False)}
    regions = zip(divided, tree.levels.tolist(), measured.scales, strict=True)
    for above, level, scale in regions:
        scales[above][level] = "none" if scale is None else scale
    budget = guarantee.epsilon if isinstance(guarantee, PureDP) else guarantee.rho
    name = "epsilon" if measured.noise == "laplace" else "rho"
    return {
        "kind": measured.kind,
        "noise": measured.noise,
        "neighbors": guarantee.neighbors,
        "max_size": frame.max_size,
        "units": frame.units,
        "max_quantity": frame.max_quantity,
        f"{name}_by_level": [share * budget for share in measured.shares],
        "scale_by_level": scales[True],
        "scale_of_leaves_by_level": scales[False],
    }


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
        floats up to ``1e-9`` of the largest number. Linear in the counts.

    Raises
    ------
    InvalidProblemError
        For counts of another shape, that are no finite numbers, or promises that are none of these names.

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
    is_integer = np.issubdtype(table.dtype, np.integer)
    if not (is_integer or np.issubdtype(table.dtype, np.floating)):
        raise InvalidProblemError("counts", "finite numbers", table.dtype)
    table = wide_numbers(table)
    if not (is_integer or np.isfinite(table).all()):
        raise InvalidProblemError("counts", "finite numbers", "others")
    names: Any = promises
    if not isinstance(names, Iterable):
        raise InvalidProblemError("promises", f"of {', '.join(PROMISES)}", type(names).__name__)
    wanted = [promises] if isinstance(promises, str) else list(promises)
    if not all(promise in PROMISES for promise in wanted):
        raise InvalidProblemError("promises", f"of {', '.join(PROMISES)}", wanted)
    checks = []
    if "integral" in wanted:
        broken = 0 if is_integer else int((table != np.floor(table)).sum())
        checks.append(Check("numbers that are not whole", broken, 0, exact=True))
    if "nonnegative" in wanted:
        checks.append(Check("numbers below zero", int((table < 0).sum()), 0, exact=True))
    if "consistent" in wanted:
        checks.append(_sums(frame, table, exact=bool(is_integer)))
    if "faithful" in wanted and frame.total is not None:
        checks.append(_levels(frame, table, frame.total, exact=bool(is_integer)))
    return Certificate(tuple(checks))


def wide_numbers(table: NDArray[Any]) -> NDArray[Any]:
    """Return a copy as float64, int64, or Python integers if the sum of all entries in int64 could wrap around."""
    if not np.issubdtype(table.dtype, np.integer):
        # Sums in half precision hold up to a thousandth. Beyond double precision there is infinity, which is refused.
        with np.errstate(over="ignore"):
            return table.astype(np.float64)
    largest = max(abs(int(table.max())), abs(int(table.min())))
    return table.astype(np.int64 if largest * table.size < 1 << 62 else object)


def divided_regions(tree: Tree) -> NDArray[np.bool_]:
    """Mark the regions that have regions below them: ``(n_nodes,)``."""
    return np.isin(np.arange(tree.n), tree.parents)


def sums_below(parents: NDArray[np.int64], table: NDArray[Any]) -> NDArray[Any]:
    """Return for each region the sum of its children's rows: the shape of `table`, 0 for leaves; int64 wraps around."""
    below = np.zeros_like(table)
    with np.errstate(over="ignore", invalid="ignore"):
        np.add.at(below, parents[1:], table[1:])
    return below


def _sums(frame: Frame, table: NDArray[Any], *, exact: bool) -> Check:
    """Return the check that each region above the leaves is the sum of its children; `table` is ``(nodes, sizes)``."""
    parents = frame.tree.parents
    below = sums_below(parents, table)
    inner = divided_regions(frame.tree)
    off = np.abs(below[inner] - table[inner])
    detail = f"{frame.tree.n} regions, {frame.n_sizes} sizes"
    if exact:
        return Check("sums that do not hold", int((off != 0).sum()), 0, exact=True, detail=detail)
    limit = _REL_TOL * max(1.0, float(np.abs(table).max()))
    return Check("largest sum that is off", float(off.max(initial=0.0)), limit, exact=False)


def _levels(frame: Frame, table: NDArray[Any], total: int, *, exact: bool) -> Check:
    """Return the check that each level of `table` ``(nodes, sizes)``, with leaves above it, sums to `total`."""
    tree = frame.tree
    inner = divided_regions(tree)
    rows = table.sum(axis=1)
    sums = [
        rows[(tree.levels == level) | (~inner & (tree.levels < level))].sum()
        for level in range(tree.depth + 1)
    ]
    if exact:
        wrong = sum(int(level_sum) != total for level_sum in sums)
        detail = f"{len(sums)} levels"
        return Check("levels that do not sum to G", wrong, 0, exact=True, detail=detail)
    worst = max(abs(float(level_sum) - total) for level_sum in sums)
    return Check("largest level that is off", worst, _REL_TOL * max(1, total), exact=False)


def verify_guarantee(
    frame: Frame, guarantee: Guarantee, parameters: Mapping[str, Any]
) -> Certificate:
    r"""Check that the stated noise pays for the guarantee along each path from the root to a leaf.

    A region with sensitivity :math:`\Delta` costs :math:`\varepsilon = \Delta_1 / b` with Laplace noise of scale b, and
    :math:`\rho = \Delta_2^2 / 2 \sigma^2` with Gaussian noise. Regions of one level hold different persons; a person is
    in all regions of one path, whose costs add up. The chain of a level is one vector: a person moves the entries of
    all its regions, so that the costs of all of them add up, on each level that her path reaches.

    Parameters
    ----------
    frame
        The public facts.
    guarantee
        The claim.
    parameters
        The record: ``kind``, ``noise``, ``neighbors``, ``max_size``, ``units``, ``max_quantity``, and the scales by
        level, from the root down, of regions that are divided (``scale_by_level``) and of lowest regions
        (``scale_of_leaves_by_level``): fractions as text, ``"none"`` where nothing was measured.

    Returns
    -------
    Certificate
        Facts in the record that differ from the frame or the guarantee, the cost of the worst path, and whether the
        claim stands on no measurement at all. Linear in the regions.

    Raises
    ------
    InvalidProblemError
        For a record that lacks one of these, or holds no positive fractions.

    Notes
    -----
    With q the most that a person adds to a size, the sensitivities :math:`\Delta_1` (:math:`\Delta_2^2`) to one person
    more are: survival counts q (q); direct counts 2 (2); sorted sizes q (:math:`q^2`); the chain of the paper's Section
    9.2 q (q) in each region of the level. A person replaced is one less and one more: all double, but 6 instead of 4
    for :math:`\Delta_2^2` of direct counts. Sorted sizes and chains need public units.

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
    differ = [
        parameters["neighbors"] != getattr(guarantee, "neighbors", None),
        not isinstance(guarantee, claims[noise]),
        parameters["max_size"] != frame.max_size,
        parameters["units"] != frame.units,
        parameters["max_quantity"] != frame.max_quantity,
        kind in ("sorted", "chain") and frame.units != "public",
        _misstated(frame, parameters),
    ]
    spent = max(_paths(frame, parameters))
    # What is measured costs something.
    detail = "" if spent else "every scale in the record is none"
    unmeasured = Check("claims without a measurement", int(not spent), 0, exact=True, detail=detail)
    basis = f"{noise} noise on {kind} counts"
    checks = spent_checks(sum(differ), noise, spent, claimed_amount(guarantee), basis)
    return Certificate((*checks, unmeasured))


def claimed_amount(guarantee: Guarantee) -> Fraction:
    """Return epsilon or rho of a guarantee; 0 for others."""
    if isinstance(guarantee, PureDP):
        return guarantee.epsilon
    return guarantee.rho if isinstance(guarantee, ZeroConcentratedDP) else Fraction(0)


def spent_checks(
    differ: int, noise: str, spent: Fraction, claimed: Fraction, detail: str
) -> tuple[Check, Check]:
    """Return two checks: that no fact differs, and that the worst path costs at most what was claimed."""
    facts = "between record, frame and guarantee"
    name = "epsilon" if noise == "laplace" else "rho"
    return (
        Check("facts that differ", differ, 0, exact=True, detail=facts),
        Check(f"{name} spent on the worst path", spent, claimed, exact=True, detail=detail),
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
    """Return the cost of a path to a leaf, epsilon or rho, for each level with leaves; all such paths cost the same."""
    tree, levels = frame.tree, frame.tree.depth + 1
    inner = _scales(parameters, "scale_by_level", levels)
    leaf = _scales(parameters, "scale_of_leaves_by_level", levels)

    def cost(scale: Fraction | None) -> Fraction:
        return _cost(frame, parameters, scale)

    ends = np.unique(tree.levels[tree.leaves]).tolist()
    if parameters["kind"] == "chain":
        vectors = _vectors(frame, parameters)
        return [sum(vectors[: end + 1], Fraction(0)) for end in ends]
    return [sum((cost(scale) for scale in inner[:end]), cost(leaf[end])) for end in ends]


def _vectors(frame: Frame, parameters: Mapping[str, Any]) -> list[Fraction]:
    """Compute what each level costs where it is one vector: the costs of all its regions, each with its own noise."""
    tree, levels = frame.tree, frame.tree.depth + 1
    divided = divided_regions(tree)
    costs = [Fraction(0)] * levels
    for kind_of_region, which in (
        ("scale_by_level", divided),
        ("scale_of_leaves_by_level", ~divided),
    ):
        counts = np.bincount(tree.levels[which], minlength=levels).tolist()
        for level, scale in enumerate(_scales(parameters, kind_of_region, levels)):
            costs[level] += counts[level] * _cost(frame, parameters, scale)
    return costs


def _cost(frame: Frame, parameters: Mapping[str, Any], scale: Fraction | None) -> Fraction:
    """Compute what a region costs with noise of a scale."""
    if scale is None:
        return Fraction(0)
    moved = _sensitivity(frame, parameters)
    return moved / (2 * scale if parameters["noise"] == "gaussian" else scale)


def _sensitivity(frame: Frame, parameters: Mapping[str, Any]) -> int:
    """Bound what one neighbor changes of a region: the sum of changes, or of their squares for Gaussian noise."""
    squared = parameters["noise"] == "gaussian"
    moved = _moved(parameters["kind"], frame, squared=squared)
    if parameters["neighbors"] != "replace-person":
        return moved
    return 6 if squared and parameters["kind"] == "direct" else 2 * moved


def _misstated(frame: Frame, parameters: Mapping[str, Any]) -> bool:
    """Test whether the record states other sensitivities than the true ones, or less than a level costs."""
    tree, levels = frame.tree, range(frame.tree.depth + 1)
    chain = parameters["kind"] == "chain"
    widths = np.bincount(tree.levels).tolist() if chain else [1] * len(levels)
    moved = [width * _sensitivity(frame, parameters) for width in widths]
    if parameters.get("sensitivity", moved) != moved:
        return True
    name = "rho" if parameters["noise"] == "gaussian" else "epsilon"
    stated = parameters.get(f"{name}_by_level")
    if stated is None:
        return False
    try:
        parts = [to_fraction(text, name) for text in stated]
    except (InvalidProblemError, TypeError):
        return True
    if len(parts) != len(levels):
        return True
    if chain:
        costs = _vectors(frame, parameters)
        return any(cost > part for cost, part in zip(costs, parts, strict=True))
    # A leaf may have had the parts of the levels below it, too.
    allowed = {
        "scale_by_level": parts,
        "scale_of_leaves_by_level": [sum(parts[level:], Fraction(0)) for level in levels],
    }
    return any(
        _cost(frame, parameters, scale) > allowed[kind][level]
        for kind in allowed
        for level, scale in enumerate(_scales(parameters, kind, len(levels)))
    )


def _moved(kind: str, frame: Frame, *, squared: bool) -> int:
    """Return a bound on what one person more changes of a region: the sum of changes, or of their squares."""
    # A size is at most max_size, so that nobody adds more.
    most = min(frame.max_quantity, frame.max_size)
    if kind == "direct":
        return 2
    if kind == "sorted":
        return most**2 if squared else most
    return most


def _scales(parameters: Mapping[str, Any], name: str, levels: int) -> list[Fraction | None]:
    return read_scales(parameters[name], name, f"{levels} positive fractions or 'none'", levels)


def read_scales(given: Any, name: str, expected: str, count: int) -> list[Fraction | None]:  # noqa: ANN401 - as read
    """Read `count` scales, positive fractions as text or ``"none"``; raise InvalidProblemError for anything else."""
    if not isinstance(given, list | tuple):
        raise InvalidProblemError(name, expected, type(given).__name__)
    scales = [None if text == "none" else to_fraction(text, name) for text in given]
    if len(scales) != count or any(scale is not None and scale <= 0 for scale in scales):
        raise InvalidProblemError(name, expected, f"{len(scales)}, or others")
    return scales
