"""The checker of tables by region: whether they are what was promised, and whether the noise pays for the guarantee.

Nothing here is shared with what made the tables. They are judged by their own numbers and the public facts; the
guarantee by arithmetic in fractions on the scales of the noise that the record states, with sensitivities that are
found anew. What no file can show is listed in :data:`NOT_SHOWN`.

Trusted: the guarantee rests on this code, which checks that the noise pays for it.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.core.certificate import Certificate, Check
from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import PureDP, ZeroConcentratedDP
from discreet.core.options import instance_of
from discreet.core.outcome import Release
from discreet.hierarchy.contingency.verify_loss import moved_residual, name_of_marginal, proved_loss
from discreet.hierarchy.verify import NOT_SHOWN as NOT_SHOWN_OF_COUNTS
from discreet.hierarchy.verify import (
    claimed_amount,
    divided_regions,
    read_scales,
    spent_checks,
    sums_below,
    wide_numbers,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.core.guarantee import Guarantee
    from discreet.hierarchy.contingency.problem import Marginal, TableFrame

NOT_SHOWN = (*NOT_SHOWN_OF_COUNTS, "that no person has more rows than the record states")
"""What no table and no record can show, however they are checked."""

UNCHECKED = (
    "that the tables were made of such measurements, by the stated method",
    "the stated gaps, which follow from the noisy values",
)
"""What is not checked of a file of tables."""

_NEEDED = ("noise", "neighbors", "max_rows", "shares", "scales")


def verify(release: Release[Any]) -> Certificate:
    """Check a release of tables: the tables by themselves, and the guarantee by the scales of the noise.

    Linear in the cells, for each marginal, and in the regions; with a record of a workload that of ``proved_loss``.

    Parameters
    ----------
    release
        The release, wherever it comes from; its result has a ``frame``, ``cells`` and, from a file, the ``published``
        marginals.

    Returns
    -------
    Certificate
        The checks of :func:`verify_tables` and of :func:`verify_guarantee`.

    Raises
    ------
    InvalidProblemError
        For a provenance without the scales of the noise.

    Examples
    --------
    >>> from discreet import PureDP, Tree
    >>> from discreet.hierarchy.contingency import CellCounts, Domain, TableFrame, plan
    >>> frame = TableFrame(
    ...     Tree.from_paths([("GA",), ("NY",)]), Domain.read({"sex": ["F", "M"]}), {(0,): (Fraction(1, 2),) * 2}
    ... )
    >>> planned = plan(frame, PureDP(1, neighbors="add-remove-person"))
    >>> print(verify(planned.release(CellCounts(frame, np.array([[3, 1], [2, 2]])))))
    check                                      residual  limit  exact  verdict
    numbers below zero                                0      0    yes  passed
    sums over regions that do not hold                0      0    yes  passed   3 regions, 2 cells
    marginals that do not hold                        0      0    yes  passed   1 marginal
    records in structural zeros                       0      0    yes  passed
    facts that differ                                 0      0    yes  passed   between record, frame and guarantee
    epsilon spent on the worst path                   1      1    yes  passed   laplace noise
    lowest regions whose cells have no noise          0      0    yes  passed
    marginals that cost more than their share         0      0    yes  passed
    """
    instance_of(release, Release, "release", "a Release")
    result = release.result
    tables = verify_tables(result.frame, result.cells, result.published)
    stated = release.provenance.parameters
    spent = verify_guarantee(result.frame, release.guarantee, stated)
    proof = _verify_workload(result.frame, release.guarantee, stated.get("workload"))
    return Certificate((*tables.checks, *spent.checks, *proof))


def _verify_workload(frame: TableFrame, guarantee: Guarantee, stated: Any) -> list[Check]:  # noqa: ANN401 - as read
    """Compute the loss of the shares and its lower bounds anew, where a record states them; return their checks.

    A record of another form is refused.

    `stated` is the record of the release, ``None`` for no checks. The cost is that of :func:`proved_loss`.
    """
    if stated is None:
        return []
    fields = {"loss", "tables", "prices", "weights", "most", "linear", "any_noise"}
    if not isinstance(stated, Mapping) or set(stated) != fields:
        raise InvalidProblemError("workload", f"{', '.join(sorted(fields))}", "others")
    numbers = [stated[one] for one in ("most", "linear", "any_noise")]
    if not all(type(one) in (int, float) and 0 <= one <= sys.float_info.max for one in numbers):
        raise InvalidProblemError("workload", "numbers for its loss and bounds", "others")
    most, linear, any_noise = proved_loss(frame, guarantee, stated)
    return [
        Check("loss of the workload", most, float(stated["most"]), exact=False),
        Check("lower bound of linear mechanisms", float(stated["linear"]), linear, exact=False),
        Check("lower bound of all mechanisms", float(stated["any_noise"]), any_noise, exact=False),
    ]


def verify_tables(
    frame: TableFrame,
    cells: NDArray[np.int64],
    published: Mapping[Marginal, NDArray[np.int64]] | None = None,
) -> Certificate:
    """Check tables by their own numbers and the public facts.

    A measured marginal that `published` lacks counts as one wrong entry. Linear in the cells, for each marginal.

    Parameters
    ----------
    frame
        The public facts.
    cells
        ``(n_nodes, n_cells)`` whole numbers.
    published
        The marginals that stand beside the cells; where there are none, only cells are claimed.

    Returns
    -------
    Certificate
        Numbers below zero; regions that are not the sum of those below them; entries of marginals that are not the sum
        of their cells; records in structural zeros; and a total of the root that is not the public one.

    Raises
    ------
    InvalidProblemError
        For tables that are no integers or of another shape.
    """
    tree, domain = frame.tree, frame.domain
    expected = (tree.n, domain.size)
    if not np.issubdtype(cells.dtype, np.integer) or cells.shape != expected:
        got = f"{cells.dtype} of shape {cells.shape}"
        raise InvalidProblemError("cells", f"integers of shape {expected}", got)
    table = wide_numbers(cells)
    inner = divided_regions(tree)
    off = int((sums_below(tree.parents, table)[inner] != table[inner]).sum())
    detail = f"{tree.n} regions, {domain.size} cells"
    checks = [
        Check("numbers below zero", int((table < 0).sum()), 0, exact=True),
        Check("sums over regions that do not hold", off, 0, exact=True, detail=detail),
    ]
    shown = dict(published or {})
    wrong = sum(_apart(frame, table, q, np.asarray(values)) for q, values in shown.items())
    missing = 0 if published is None else len(set(frame.marginals) - set(shown))
    many = len(frame.marginals)
    counted = f"{many} marginal{'' if many == 1 else 's'}"
    checks.append(
        Check("marginals that do not hold", wrong + missing, 0, exact=True, detail=counted)
    )
    zeros = ~_possible(frame)
    checks.append(
        Check("records in structural zeros", int((table[:, zeros] != 0).sum()), 0, exact=True)
    )
    if frame.total is not None:
        gap = abs(int(table[0].sum()) - frame.total)
        checks.append(Check("difference from the public total", gap, 0, exact=True))
    return Certificate(tuple(checks))


def _apart(frame: TableFrame, cells: NDArray[Any], marginal: Marginal, values: NDArray[Any]) -> int:
    """Count the entries of a marginal `values` ``(nodes, entries)`` that are not the sum of their cells.

    All for another shape. `cells` are ``(nodes, cells)``, added up one by one: linear in them.
    """
    shape = frame.domain.shape
    size = int(np.prod([shape[at] for at in marginal], dtype=np.int64))
    if values.shape != (frame.tree.n, size):
        return frame.tree.n * size
    summed = np.zeros((frame.tree.n, size), dtype=cells.dtype)
    code = np.zeros(frame.domain.size, dtype=np.int64)
    index = np.indices(shape).reshape(len(shape), -1)
    for at in marginal:
        code = code * shape[at] + index[at]
    np.add.at(summed.T, code, cells.T)
    return int((summed != values).sum())


def _possible(frame: TableFrame) -> NDArray[np.bool_]:
    """Find anew in which cells a record may be: ``(cells,)`` booleans, false for structural zeros."""
    domain = frame.domain
    index = np.indices(domain.shape).reshape(len(domain.shape), -1)
    allowed = np.ones(domain.size, dtype=bool)
    names = [one.name for one in domain.attributes]
    for zero in domain.zeros:
        inside = np.ones(domain.size, dtype=bool)
        for name, listed in zero.items():
            at = names.index(name)
            known = domain.attributes[at].categories
            inside &= np.isin(index[at], [k for k, one in enumerate(known) if one in listed])
        allowed &= ~inside
    return allowed


def verify_guarantee(
    frame: TableFrame, guarantee: Guarantee, parameters: Mapping[str, Any]
) -> Certificate:
    r"""Check that the stated noise pays for the guarantee along each path from the root to a leaf.

    A marginal of a region with sensitivity :math:`\Delta` costs :math:`\varepsilon = \Delta_1 / b` with Laplace noise,
    and :math:`\rho = \Delta_2^2 / 2 \sigma^2` with Gaussian noise. A person with k rows adds k unit vectors, so that
    :math:`\Delta_1 = k` and :math:`\Delta_2^2 = k^2`; a replaced person is one less and one more, which doubles both,
    but for the total of the root, where they cancel.

    Where shares are by kind of region, so are the scales. Linear in the regions, and marginals times strata.

    Parameters
    ----------
    frame
        The public facts.
    guarantee
        The claim.
    parameters
        The record: ``noise``, ``neighbors``, ``max_rows``, ``total``, and by the names of marginals ``shares`` and
        ``scales``: for the divided regions and the leaves of each level a fraction as text or ``"none"``.

    Returns
    -------
    Certificate
        Facts in the record that differ from the frame or the guarantee, and with a workload noise that is larger than
        the shares allow; the cost of the worst path; the kinds of lowest regions whose cells were not measured: what
        stands there would follow from nothing; and the marginals of a level that cost more than the share of the budget
        that the frame states for them.

    Raises
    ------
    InvalidProblemError
        For a record that lacks one of these, or holds no positive fractions.
    """
    missing = [name for name in _NEEDED if name not in parameters]
    if missing:
        raise InvalidProblemError("parameters", f"also {', '.join(missing)}", "none")
    noise, neighbors = parameters["noise"], parameters["neighbors"]
    if noise not in ("laplace", "gaussian") or neighbors not in (
        "add-remove-person",
        "replace-person",
    ):
        expected = "a noise and a neighbor relation that have a proof"
        raise InvalidProblemError("parameters", expected, repr([noise, neighbors]))
    pays = PureDP if noise == "laplace" else ZeroConcentratedDP
    claimed = claimed_amount(guarantee) if isinstance(guarantee, pays) else Fraction(0)
    scales = _scales(frame, parameters["scales"])
    strata = _strata(frame)
    kinds = set(strata)
    paid = [
        (_cost(frame, {q: scales[q]}, one, noise, neighbors), _share(frame, q, one) * claimed)
        for q in scales
        for one in kinds
    ]
    differ = [
        not claimed,
        neighbors != getattr(guarantee, "neighbors", None),
        parameters["max_rows"] != frame.max_rows,
        parameters.get("total") != frame.total,
        parameters.get("residuals", False) is not frame.residuals,
        # An exact total leaves no neighbors but where each has one row and is replaced.
        frame.total is not None and (neighbors, frame.max_rows) != ("replace-person", 1),
        _other_shares(frame, parameters["shares"]),
        # What has a share and no noise in the record would cost nothing.
        set(scales) != set(frame.marginals),
        # A stated loss is that of the shares: more noise than they buy has a larger one.
        "workload" in parameters and any(0 < cost < due for cost, due in paid),
    ]
    cost = {one: _cost(frame, scales, one, noise, neighbors) for one in kinds}
    paths: list[Fraction] = []
    for node, above in enumerate(frame.tree.parents.tolist()):
        paths.append(cost[strata[node]] + (paths[above] if node else 0))
    spent = max(paths)
    cells = tuple(range(len(frame.domain.shape)))
    leaves = np.flatnonzero(~divided_regions(frame.tree)).tolist()
    bare = sum(scales.get(cells, {}).get(one) is None for one in {strata[node] for node in leaves})
    dear = sum(cost > due for cost, due in paid)
    return Certificate(
        (
            *spent_checks(sum(differ), noise, spent, claimed, f"{noise} noise"),
            Check("lowest regions whose cells have no noise", bare, 0, exact=True),
            Check("marginals that cost more than their share", dear, 0, exact=True),
        )
    )


def verify_measured(measured: Any) -> Certificate:  # noqa: ANN401 - its type draws noise, and is not imported here
    """Check kept measurements: the arithmetic of their guarantee, and values where nothing was measured.

    Raises InvalidProblemError as :func:`verify_guarantee`. Linear in the values.

    Parameters
    ----------
    measured
        A :class:`~discreet.hierarchy.contingency.MeasuredTables`, wherever it comes from.

    Returns
    -------
    Certificate
        The checks of :func:`verify_guarantee`, and values other than 0 that nothing would protect.
    """
    frame = measured.frame
    stated = {
        "noise": measured.noise,
        "neighbors": measured.guarantee.neighbors,
        "max_rows": frame.max_rows,
        "total": frame.total,
        "residuals": frame.residuals,
        "shares": {
            name_of_marginal(frame, q): list(map(str, parts)) for q, parts in frame.shares.items()
        },
        "scales": {
            name_of_marginal(frame, q): ["none" if one is None else str(one) for one in scales]
            for q, scales in measured.scales.items()
        },
    }
    strata = np.array(_strata(frame))
    bare = 0
    for q, values in measured.values.items():
        silent = np.array([scale is None for scale in measured.scales[q]])[strata]
        bare += int((values[silent] != 0).sum())
    spent = verify_guarantee(frame, measured.guarantee, stated)
    check = Check("values where nothing was measured", bare, 0, exact=True, detail="other than 0")
    return Certificate((*spent.checks, check))


def _scales(frame: TableFrame, stated: Any) -> dict[Marginal, dict[int, Fraction | None]]:  # noqa: ANN401 - as read
    """Read the `stated` scales of each marginal by stratum: positive fractions as text, or ``"none"`` for ``None``.

    Raises InvalidProblemError for unknown marginals, or another number of strata.
    """
    strata = 2 * (frame.tree.depth + 1) if frame.kinds is None else max(frame.kinds) + 1
    if not isinstance(stated, Mapping):
        raise InvalidProblemError("scales", "scales by marginal", type(stated).__name__)
    scales: dict[Marginal, dict[int, Fraction | None]] = {}
    names = {name_of_marginal(frame, q): q for q in frame.marginals}
    for name, texts in stated.items():
        expected = f"{strata} positive fractions or 'none' for each of {', '.join(names)}"
        if name not in names:
            raise InvalidProblemError("scales", expected, f"others for {name!r}")
        scales[names[name]] = dict(enumerate(read_scales(texts, "scales", expected, strata)))
    return scales


def _other_shares(frame: TableFrame, stated: Any) -> bool:  # noqa: ANN401 - as read
    """Test whether the record states other shares than the frame, as texts by marginal."""
    own = {
        name_of_marginal(frame, q): [str(part) for part in parts]
        for q, parts in frame.shares.items()
    }
    if not isinstance(stated, Mapping):
        return True
    read = {
        q: list(parts) if isinstance(parts, list | tuple) else parts for q, parts in stated.items()
    }
    return read != own


def _strata(frame: TableFrame) -> list[int]:
    """Return for each region the place of its scales: its kind, or twice its level and one more for a leaf."""
    if frame.kinds is not None:
        return list(frame.kinds)
    leaves = ~divided_regions(frame.tree)
    return [int(one) for one in 2 * frame.tree.levels + leaves]


def _share(frame: TableFrame, marginal: Marginal, stratum: int) -> Fraction:
    """Share of a marginal: a leaf has those of the levels below it, too, but where shares are by kind."""
    parts = frame.shares[marginal]
    if frame.kinds is not None:
        return parts[stratum]
    level, is_leaf = divmod(stratum, 2)
    return sum(parts[level:], Fraction(0)) if is_leaf else parts[level]


def _cost(
    frame: TableFrame,
    scales: Mapping[Marginal, Mapping[int, Fraction | None]],
    stratum: int,
    noise: str,
    neighbors: str,
) -> Fraction:
    """Return what the marginals of the regions of a stratum cost a person: epsilon, or rho for Gaussian noise.

    Residuals with Laplace noise are refused.

    `scales` are by marginal and stratum, ``None`` where nothing is measured, which costs nothing. Exact.
    """
    squared = noise == "gaussian"
    k = frame.max_rows
    spent = Fraction(0)
    for q, by_stratum in scales.items():
        scale = by_stratum[stratum]
        if scale is None:
            continue
        moved = k * k if squared else k
        sizes = [frame.domain.shape[at] for at in q]
        if frame.residuals and 0 < len(q) < len(frame.domain.shape):
            if not squared:
                raise InvalidProblemError("residuals", "plain counts with Laplace noise", "others")
            moved *= moved_residual(sizes, replaced=neighbors == "replace-person")
        elif neighbors == "replace-person":
            entries = math.prod(sizes)
            root = stratum < 2 if frame.kinds is None else stratum == 0
            if root and entries == 1:
                moved = 0 if k == 1 else moved
            else:
                moved *= 2
        spent += moved / (2 * scale if squared else scale)
    return spent
