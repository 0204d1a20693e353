"""Choose a set in one call: read the public ground set and the matroid from files or values, then release a choice."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.options import array_of, items_of
from discreet.core.release import refuse_other_outputs
from discreet.submodular.objectives.coverage import Coverage
from discreet.submodular.objectives.facility import FacilityLocation
from discreet.submodular.release import plan
from discreet.tables.arrays import open_array
from discreet.tables.columns import labels_of, refuse_unnamed
from discreet.tables.reading import read_table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from discreet.core.budget import Budget
    from discreet.core.exact import Exact
    from discreet.core.guarantee import DPGuarantee
    from discreet.core.outcome import Release
    from discreet.core.release import ReleaseOutputs
    from discreet.submodular.matroids.base import Matroid
    from discreet.submodular.method import Method
    from discreet.submodular.objectives.objective import Objective, ObjectiveSpec
    from discreet.submodular.problem import Selection
    from discreet.submodular.release import Plan

EDGES = ("client", "candidate")
"""Columns of a file of edges."""

_KINDS = "uniform:R, partition:FILE, laminar:FILE, graphic:FILE or transversal:FILE"
_FILE_KINDS = frozenset({"partition", "laminar", "graphic", "transversal"})
"""Kinds of matroid that a file of candidates describes."""


def select(
    matroid: Matroid | str,
    guarantee: DPGuarantee,
    *,
    similarity: Any = None,  # noqa: ANN401 - a path, an array, or a dataframe
    scale: Exact | None = None,
    coverage: Any = None,  # noqa: ANN401 - a path or a dataframe
    candidates: Any = None,  # noqa: ANN401 - a path, or names
    method: Method | str | None = None,
    budget: Budget | None = None,
    dataset: str | None = None,
    budget_delta: Exact | None = None,
    watch: Callable[[Objective], Objective] | None = None,
    outputs: ReleaseOutputs | Callable[[Plan], ReleaseOutputs] | None = None,
) -> Release[Selection]:
    """Choose a set of candidates that is worth much to private records, differentially privately.

    The choice is stated from the public arguments, planned by :func:`discreet.submodular.plan`, and released once: one
    pass over the records, then the draws of the method, each of the gains of up to all candidates.

    Parameters
    ----------
    matroid
        What may be chosen; public. A matroid, or text as the command takes it: ``"uniform:20"``, or
        ``"partition:FILE"``, ``"laminar:FILE"``, ``"graphic:FILE"`` or ``"transversal:FILE"``.
    guarantee
        Guarantee of the release: ``PureDP``, ``ApproxDP`` or ``ZeroConcentratedDP``, with neighbors
        ``"add-remove-one"`` or ``"replace-one"``.
    similarity
        Private matrix, clients x candidates: the path of a ``.npy`` file, or an array. Each client is served by the
        chosen candidate most similar to it. Values are clipped to [0, `scale`], and NaN counts as 0.
    scale
        Similarity that counts as 1, such as 100 for percentages; 1 by default. Public.
    coverage
        Private edges with the columns client and candidate, instead of `similarity`: a path, or a dataframe whose
        columns are text. A client counts once some candidate of its is chosen.
    candidates
        Names of the candidates, public: a list, or the path of a table. Needed with `coverage`, unless the file of
        the matroid names them.
    method
        A method or its name; ``None`` chooses from public facts.
    budget, dataset, budget_delta, watch
        As for :meth:`discreet.submodular.Plan.release`.
    outputs
        Files that receive the choice, or a function of the plan that returns them.

    Returns
    -------
    Release
        The chosen candidates with guarantee, certificate and provenance; its text is what ``discreet select`` prints.

    Raises
    ------
    InvalidProblemError
        For arguments that make no sense together, or files that can't be read: nothing was charged then. After the
        charge, which stays, for records that cannot be read to their end.
    BudgetError
        If the ledger refuses. Nothing was charged or read then.

    Guarantee
    ---------
    `guarantee`, by the first of the accountant's lines.

    Examples
    --------
    >>> from discreet import PureDP
    >>> likes = [[1.0, 0.0, 0.2]] * 300 + [[0.0, 0.1, 1.0]] * 300
    >>> made = select(
    ...     "uniform:2",
    ...     PureDP(1, neighbors="add-remove-one"),
    ...     similarity=likes,
    ...     candidates=["north", "east", "south"],
    ... )
    >>> sorted(made.result.names)
    ['north', 'south']
    """
    refuse_other_outputs(outputs)
    stated = state_selection(
        matroid, similarity=similarity, scale=scale, coverage=coverage, candidates=candidates
    )
    planned = plan(
        stated.candidates, stated.matroid, guarantee, objective=stated.objective, method=method
    )
    return planned.release(
        stated.records,
        budget=budget,
        dataset=dataset,
        budget_delta=budget_delta,
        watch=watch,
        outputs=outputs(planned) if callable(outputs) else outputs,
    )


class StatedChoice(NamedTuple):
    """What is public about a choice, and the private records, which were not read.

    Parameters
    ----------
    candidates
        Names of the candidates, or their number.
    matroid
        What may be chosen.
    objective
        Public facts of the value of a set.
    records
        Source of the records.
    """

    candidates: list[Any] | int
    matroid: Matroid
    objective: ObjectiveSpec
    records: Any


def state_selection(
    matroid: Matroid | str,
    *,
    similarity: Any = None,  # noqa: ANN401 - as for select
    scale: Exact | None = None,
    coverage: Any = None,  # noqa: ANN401 - as for select
    candidates: Any = None,  # noqa: ANN401 - as for select
) -> StatedChoice:
    """Read the public arguments of :func:`select`; no private value is read.

    Candidates are the rows of `candidates`, or else of a file that the matroid names. Columns of a similarity matrix
    need no names: then there is only their number. Rows of private edges never name candidates.

    Raises
    ------
    InvalidProblemError
        As for :func:`select`.
    """
    if (similarity is None) == (coverage is None):
        got = "neither" if similarity is None else "both"
        raise InvalidProblemError("similarity", "a file here, or coverage", got)
    if similarity is None and scale is not None:
        raise InvalidProblemError("scale", "none without similarities", repr(scale))
    ground = _ground_set(similarity, candidates, matroid)
    allowed = matroid
    if isinstance(allowed, str):
        names = [str(i) for i in range(ground)] if isinstance(ground, int) else ground
        allowed = read_matroid(allowed, names)
    if similarity is None:
        return StatedChoice(ground, allowed, Coverage.spec(edges=EDGES), coverage)
    return StatedChoice(ground, allowed, FacilityLocation.spec(scale=scale or 1), similarity)


def _ground_set(similarity: Any, candidates: Any, matroid: Matroid | str) -> list[Any] | int:  # noqa: ANN401 - as for select
    """Return the names of the candidates, or the number of columns of a similarity matrix without names.

    Reads the file of candidates, or that of the matroid, and the header of the matrix. An unknown matroid, no
    candidates, or other numbers of them are refused.
    """
    kind, _, path = matroid.partition(":") if isinstance(matroid, str) else ("", "", "")
    if isinstance(matroid, str) and kind not in {"uniform", *_FILE_KINDS}:
        raise InvalidProblemError("matroid", _KINDS, repr(matroid))
    named: list[Any] | None = None
    if isinstance(candidates, str | os.PathLike):
        named = _names(read_table(os.fspath(candidates), "candidates"), "candidates")
    elif candidates is not None:
        named = list(items_of(candidates, "candidates", "names, or the path of a table"))
    elif similarity is None and kind in _FILE_KINDS:
        named = list(dict.fromkeys(_names(read_table(path, "matroid"), "matroid")))
    if similarity is None:
        if named is None:
            expected = "a file of the candidates: those in the edges are private"
            raise InvalidProblemError("candidates", expected, "none")
        return named
    columns = _columns(similarity)
    if named is not None and len(named) != columns:
        raise InvalidProblemError(
            "candidates", f"one row for each of {columns} columns", len(named)
        )
    return columns if named is None else named


def _columns(source: Any) -> int:  # noqa: ANN401 - a path or an array
    """Return the number of columns of a similarity matrix, from its header or its shape; refuse anything else.

    `source` is an array or the path of a file; entries are not read.
    """
    is_path = isinstance(source, str | os.PathLike)
    wanted = "numbers, clients x candidates"
    matrix = (
        open_array(os.fspath(source), "similarity")
        if is_path
        else array_of(source, "similarity", wanted)
    )
    if matrix.ndim != 2 or matrix.dtype.kind not in "fiub":
        # Fields of a record are names from the file.
        got = (
            "records"
            if matrix.dtype.names
            else f"{matrix.ndim} dimensions of {matrix.dtype.kind!r}"
        )
        raise InvalidProblemError("similarity", wanted, got)
    return int(matrix.shape[1])


def _names(table: Any, argument: str) -> list[str]:  # noqa: ANN401 - a frame of Polars
    """Take the column ``candidate``, or else the first one.

    Return the names as text; `argument` is named in an error.
    """
    return labels_of(
        table, "candidate" if "candidate" in table.columns else table.columns[0], argument
    )


def read_matroid(text: str, names: Sequence[str]) -> Matroid:
    """Read a matroid on the candidates.

    `text` is as for :func:`select`, the part after the colon a rank or the path of a table; `names` are those of the
    candidates, in the order of the elements. The file is read whole.

    Raises
    ------
    InvalidProblemError
        For another form, a file that lacks a column, or candidates that it does not name, or names but are unknown.

    Examples
    --------
    >>> read_matroid("uniform:2", ["a", "b", "c"])
    UniformMatroid(3 elements, rank 2)
    >>> read_matroid("2", ["a", "b", "c"])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    discreet.core.errors.InvalidProblemError: matroid: expected uniform:R, partition:FILE, ..., got '2'
    """
    from discreet.submodular.matroids.capacities import UniformMatroid

    kind, colon, rest = text.partition(":")
    if kind == "uniform" and rest.strip().isdigit():
        if not 1 <= int(rest) <= len(names):
            raise InvalidProblemError("matroid", f"uniform:1 to uniform:{len(names)}", text)
        return UniformMatroid(len(names), int(rest))
    readers = {
        "partition": _partition,
        "laminar": _laminar,
        "graphic": _graphic,
        "transversal": _transversal,
    }
    if not colon or kind not in readers:
        raise InvalidProblemError("matroid", _KINDS, repr(text))
    table = read_table(rest, "matroid")
    places = {name: place for place, name in enumerate(names)}
    listed = _names(table, "matroid")
    unknown = [name for name in listed if name not in places]
    if unknown:
        raise InvalidProblemError("matroid", "known candidates", repr(unknown[0]))
    try:
        return readers[kind](table, [places[name] for name in listed], len(names))
    except InvalidProblemError as error:
        raise error.renamed("matroid") from None


def _column(table: Any, name: str) -> list[Any]:  # noqa: ANN401 - a frame of Polars
    """Return a column of a public table as a list; raise InvalidProblemError if it is missing or has an empty cell."""
    if name not in table.columns or table[name].null_count():
        expected = f"a value in each row of column {name}"
        raise InvalidProblemError("matroid", expected, ", ".join(table.columns))
    refuse_unnamed(table.schema[name], name, "matroid")
    return list(table[name].to_list())


def _ints(values: Sequence[Any], name: str) -> list[int]:
    """Return a public column as integers; refuse values of another type."""
    if not all(isinstance(value, int) and not isinstance(value, bool) for value in values):
        raise InvalidProblemError("matroid", f"integers in column {name}", "values of another type")
    return [int(value) for value in values]


def _capacities(table: Any, groups: Sequence[Any]) -> dict[Any, int]:  # noqa: ANN401 - a frame of Polars
    """Return the capacity of each group; 1 for all in a table without that column. Two for one group are refused.

    `groups` names the group of each row. Capacities must be integers. Linear in the rows.
    """
    if "capacity" not in table.columns:
        return dict.fromkeys(groups, 1)
    capacities: dict[Any, int] = {}
    for group, capacity in zip(groups, _ints(_column(table, "capacity"), "capacity"), strict=True):
        if capacities.setdefault(group, capacity) != capacity:
            raise InvalidProblemError("matroid", "one capacity for each group", repr(group))
    return capacities


def _partition(table: Any, places: Sequence[int], n: int) -> Matroid:  # noqa: ANN401 - a frame of Polars
    """Return the partition matroid of columns ``group`` and ``capacity``; `places` is each row's candidate.

    Raises InvalidProblemError unless each of n candidates comes once.
    """
    from discreet.submodular.matroids.capacities import PartitionMatroid

    groups = _column(table, "group")
    if sorted(places) != list(range(n)):
        raise InvalidProblemError("matroid", f"each of {n} candidates once", f"{len(places)} rows")
    capacities = _capacities(table, groups)
    numbers = {group: number for number, group in enumerate(capacities)}
    labels = np.zeros(n, dtype=np.int64)
    labels[list(places)] = [numbers[group] for group in groups]
    return PartitionMatroid(labels, list(capacities.values()))


def _laminar(table: Any, places: Sequence[int], n: int) -> Matroid:  # noqa: ANN401 - a frame of Polars
    """Return the laminar matroid of columns ``group`` and ``capacity``, a row for each candidate of each set.

    `places` has the number of the candidate of each row, below n. Linear in the rows.
    """
    from discreet.submodular.matroids.capacities import LaminarMatroid

    groups = _column(table, "group")
    capacities = _capacities(table, groups)
    members: dict[Any, list[int]] = {group: [] for group in capacities}
    for group, place in zip(groups, places, strict=True):
        members[group].append(place)
    return LaminarMatroid(n, list(members.values()), list(capacities.values()))


def _graphic(table: Any, places: Sequence[int], n: int) -> Matroid:  # noqa: ANN401 - a frame of Polars
    """Return the graphic matroid of columns ``u`` and ``v``, the ends of each candidate's edge.

    `places` names the rows. Raises InvalidProblemError unless each of n candidates comes once.
    """
    from discreet.submodular.matroids.representable import GraphicMatroid

    if sorted(places) != list(range(n)):
        raise InvalidProblemError("matroid", f"each of {n} candidates once", f"{len(places)} rows")
    ends = list(zip(_column(table, "u"), _column(table, "v"), strict=True))
    nodes = {name: number for number, name in enumerate(dict.fromkeys(sum(ends, ())))}
    edges = np.zeros((n, 2), dtype=np.int64)
    edges[list(places)] = [[nodes[u], nodes[v]] for u, v in ends]
    return GraphicMatroid(len(nodes), edges)


def _transversal(table: Any, places: Sequence[int], n: int) -> Matroid:  # noqa: ANN401 - a frame of Polars
    """Return the transversal matroid of the column ``slot``, a row for each candidate and slot that suit each other.

    `places` has the number of the candidate of each row, below n. ``n`` times slots.
    """
    from discreet.submodular.matroids.representable import TransversalMatroid

    slots = _column(table, "slot")
    numbers = {slot: number for number, slot in enumerate(dict.fromkeys(slots))}
    suits = np.zeros((n, len(numbers)), dtype=np.bool_)
    suits[list(places), [numbers[slot] for slot in slots]] = True
    return TransversalMatroid(suits)
