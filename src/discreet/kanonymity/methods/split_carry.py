"""Split & Carry: Algorithm 1 of [LS20]_, with a carry rule that is safe."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.kanonymity.candidate import CandidateClasses, Method, SearchLimits, require_feasible
from discreet.kanonymity.methods.initial import initial_sizes, variance_order
from discreet.kanonymity.methods.local_search import LocalSearch, split_large
from discreet.kanonymity.methods.subsets import SubsetProgram, optimum_of
from discreet.kanonymity.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray


def _few_rounds(rounds: int = 300) -> LocalSearch:
    """Return a search of few unions for a block, which a time limit ends and is not filled by."""
    return LocalSearch(rounds=rounds)


@final
@dataclass(frozen=True, eq=False)
class SubProblem:
    """A block that was solved.

    Parameters
    ----------
    rows
        Its rows, in the order of the table's sort.
    published, carried
        Its final classes, and the classes that are carried into the next block.
    """

    rows: NDArray[np.int64]
    published: tuple[NDArray[np.int64], ...]
    carried: tuple[NDArray[np.int64], ...]


@final
@dataclass(frozen=True)
class SplitCarry:
    r"""Solve block after block of the sorted rows; rows of classes at the end of a block go into the next one.

    Parameters
    ----------
    blocks
        S, two or more: initial classes in a block.
    solver
        Solves blocks of more than 17 rows; smaller ones are solved exactly. By default a local search, which does not
        prove that a block is solved.

    Notes
    -----
    The published rule carries the rows that are *linked* to the last k, which may be part of a class only, so that what
    stays behind is published with fewer than k (E3): `discreet_reproduction.kanonymity.as_published.split_carry`. Here
    whole classes are carried, of k to 2k - 1 rows each. Units of loss are those of the whole table (T3). With
    blocks solved to optimality the loss is at most that of the initial solution: its classes, and those carried, are
    feasible for each block.

    Examples
    --------
    >>> from discreet.kanonymity.problem import Numeric
    >>> problem = Problem.from_columns({"age": [50, 20, 40, 21, 60, 22]}, [Numeric("age")])
    >>> found = SplitCarry(blocks=2).solve(problem, 2, SearchLimits())
    >>> round(problem.loss_of(found.labels), 6)
    1.45
    """

    blocks: int = 3
    solver: Method = field(default_factory=_few_rounds)

    def __post_init__(self) -> None:
        if self.blocks < 2:
            raise InvalidProblemError("blocks", "two or more", self.blocks)

    def solve(self, problem: Problem, k: int, limits: SearchLimits) -> CandidateClasses:
        """Solve block after block; each gets its share of the time that is left (early termination).

        Complexity
        ----------
        ``ceil(n / (kS))`` blocks of at most ``k (2k - 1 + S)`` rows, and k - 1 more in the last (Lemma 2).
        """
        labels = np.full(problem.n, -1, dtype=np.int32)
        done = 0
        for block in self.sub_problems(problem, k, limits):
            for rows in block.published:
                labels[rows] = done
                done += 1
        return CandidateClasses("split-carry", labels)

    def sub_problems(self, problem: Problem, k: int, limits: SearchLimits) -> Iterator[SubProblem]:
        """Yield the blocks one after another, each with the classes that it publishes and those that it carries.

        Each is solved by the method inside, in its share of the time.
        """
        require_feasible(problem.n, k)
        order = variance_order(problem)
        parts = _blocks(order, k, self.blocks)
        carried: list[NDArray[np.int64]] = []
        place = np.empty(problem.n, dtype=np.int64)
        place[order] = np.arange(problem.n)
        for number, fresh in enumerate(parts):
            classes = solve_rows(
                problem, [*carried, *fresh], k, _share(limits, len(parts) - number), self.solver
            )
            block = np.concatenate(classes)
            block = block[np.argsort(place[block])]
            ending = block[-k:]
            final = number == len(parts) - 1
            goes_on = [not final and bool(np.isin(rows, ending).any()) for rows in classes]
            carried = [rows for rows, on in zip(classes, goes_on, strict=True) if on]
            published = [rows for rows, on in zip(classes, goes_on, strict=True) if not on]
            yield SubProblem(block, tuple(published), tuple(carried))


def solve_rows(
    problem: Problem,
    start: list[NDArray[np.int64]],
    k: int,
    limits: SearchLimits,
    solver: Method,
) -> list[NDArray[np.int64]]:
    """Partition the rows of some classes anew, at a loss that is no more.

    Parameters
    ----------
    problem
        The whole table, whose units count.
    start
        Classes of k rows or more.
    k, limits
        As for any method.
    solver
        For more than 17 rows.

    Returns
    -------
    list of ndarray
        Classes of k to 2k - 1 rows; those of `start` where no time is left.
    """
    if not limits.left:
        # Thousands of blocks take their time, even if each takes little.
        return start
    rows = np.concatenate(start)
    if len(rows) <= SubsetProgram.max_rows:
        labels, _ = optimum_of(problem, rows, k)
    else:
        part = Problem(problem.columns, problem.codes[rows], problem.loss)
        before = np.repeat(np.arange(len(start), dtype=np.int32), [len(one) for one in start])
        hint = SearchLimits(limits.deadline, limits.gap, limits.threads, start=before)
        part_labels = solver.solve(part, k, hint).labels
        labels = part_labels if part.loss_of(part_labels) <= part.loss_of(before) else before
        labels = split_large(part, labels, k)
    by_class = np.argsort(labels, kind="stable")
    return np.split(rows[by_class], np.cumsum(np.bincount(labels))[:-1])


def _blocks(order: NDArray[np.int64], k: int, blocks: int) -> list[list[NDArray[np.int64]]]:
    """Group the initial classes, as the released code does: the text reads kS rows, which leaves a short last block."""
    classes = np.split(order, np.cumsum(initial_sizes(len(order), k))[:-1])
    return [classes[at : at + blocks] for at in range(0, len(classes), blocks)]


def _share(limits: SearchLimits, parts: int) -> SearchLimits:
    """Return limits for a part of the time that is left."""
    if limits.left == float("inf"):
        return limits
    return SearchLimits.within(limits.left / max(parts, 1), gap=limits.gap)
