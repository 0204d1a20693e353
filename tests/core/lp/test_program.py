from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy import sparse

from discreet.core.errors import InvalidProblemError
from discreet.core.lp import LinearProgram
from discreet.core.lp.program import HIGHS

if TYPE_CHECKING:
    from numpy.typing import NDArray

INF = np.inf


def test_a_program_holds_read_only_copies() -> None:
    cost = np.array([1.0, 2.0])
    matrix = np.array([[1.0, 0.0], [3.0, 4.0]])
    program = LinearProgram(cost, matrix, row_lower=1.0)
    cost[0] = matrix[0, 0] = 9
    assert program.cost.tolist() == [1, 2]
    assert program.matrix.toarray().tolist() == [[1, 0], [3, 4]]
    arrays: list[NDArray[Any]] = [
        program.cost,
        program.row_lower,
        program.row_upper,
        program.lower,
        program.upper,
        program.matrix.data,
        program.matrix.indices,
        program.matrix.indptr,
    ]
    assert not any(array.flags.writeable for array in arrays)
    with pytest.raises(AttributeError):
        program.cost = cost  # type: ignore[misc]


def test_scalars_stand_for_all_rows_and_variables() -> None:
    program = LinearProgram([1, 2, 3], np.ones((2, 3)), row_upper=5, upper=7)
    assert program.row_lower.tolist() == [-INF, -INF]
    assert program.row_upper.tolist() == [5, 5]
    assert program.lower.tolist() == [0, 0, 0]
    assert program.upper.tolist() == [7, 7, 7]
    assert (program.n_variables, program.n_rows) == (3, 2)


def test_sparse_input_becomes_canonical_rows_with_small_indices() -> None:
    """Duplicates are added up, zeros are dropped, indices are sorted 32-bit integers."""
    rows = np.array([0, 0, 1, 1, 1], dtype=np.int64)
    columns = np.array([2, 2, 1, 0, 2], dtype=np.int64)
    given = sparse.coo_array(([1.0, 2.0, 4.0, 3.0, 0.0], (rows, columns)), shape=(2, 3))
    matrix = LinearProgram([1, 1, 1], given).matrix
    assert matrix.toarray().tolist() == [[0, 0, 3], [3, 4, 0]]
    assert matrix.nnz == 3
    assert matrix.indices.dtype == matrix.indptr.dtype == np.int32
    assert matrix.has_canonical_format


def test_it_prints_its_size_not_its_arrays() -> None:
    assert repr(LinearProgram([1], [[2]])) == "LinearProgram(1 variables, 1 rows, 1 nonzeros)"
    mixed = LinearProgram([1, 1], [[2, 1]], integrality=[1, 0])
    assert repr(mixed) == "LinearProgram(2 variables, 1 rows, 2 nonzeros, 1 integer)"


def test_a_program_without_rows_and_one_without_entries() -> None:
    assert LinearProgram([1, 1], np.zeros((0, 2))).n_rows == 0
    assert LinearProgram([1, 1], np.zeros((2, 2))).matrix.nnz == 0


@pytest.mark.parametrize("mask", [[True, False], [1, 0], np.array([1, 0], np.uint8)])
def test_integrality_is_a_mask(mask: object) -> None:
    program = LinearProgram([1, 1], [[1, 1]], integrality=mask)  # type: ignore[arg-type]
    assert program.integrality is not None
    assert program.integrality.tolist() == [True, False]
    assert program.is_mixed_integer


def test_no_integer_variable_makes_a_linear_program() -> None:
    program = LinearProgram([1, 1], [[1, 1]], integrality=[False, False])
    assert program.integrality is None
    assert not program.is_mixed_integer


def test_it_travels_between_processes() -> None:
    program = LinearProgram([1, 2], [[1, 1]], row_lower=1, integrality=[0, 1])
    copy = pickle.loads(pickle.dumps(program))  # noqa: S301 - our own bytes
    assert copy.matrix.toarray().tolist() == [[1, 1]]
    assert repr(copy) == repr(program)


GOOD: dict[str, Any] = {"cost": [1.0, 1.0], "matrix": [[1.0, 1.0]]}

REJECTED: list[tuple[str, dict[str, Any], str]] = [
    ("no variable", {"cost": [], "matrix": np.zeros((1, 0))}, "cost"),
    ("a cost matrix", {"cost": [[1.0, 1.0]]}, "cost"),
    ("words for costs", {"cost": ["a", "b"]}, "cost"),
    ("a cost that is not a number", {"cost": [1.0, np.nan]}, "nan at 1"),
    ("an infinite cost", {"cost": [INF, 1.0]}, "inf at 0"),
    ("a cost that HiGHS reads as infinite", {"cost": [HIGHS.infinite_bound, 1]}, r"1e\+20 at 0"),
    ("a vector for the matrix", {"matrix": [1.0, 1.0]}, "matrix"),
    ("too many columns", {"matrix": np.ones((1, 3))}, r"shape \(rows, 2\), got shape \(1, 3\)"),
    ("rows of different lengths", {"matrix": [[1.0, 1.0], [1.0]]}, "matrix.*ragged"),
    ("a complex matrix", {"matrix": np.array([[1j, 1]])}, "matrix"),
    ("words for entries", {"matrix": [["a", "b"]]}, "matrix"),
    ("complex entries", {"matrix": sparse.csr_array(np.array([[1j, 1]]))}, "matrix"),
    ("an entry that is not a number", {"matrix": [[1.0, np.nan]]}, "matrix: expected finite"),
    ("an infinite entry", {"matrix": [[INF, 1.0]]}, "matrix: expected finite"),
    ("a tiny entry", {"matrix": [[1.0, 1e-10]]}, "entries from 1e-10 to 1"),
    ("the largest deleted entry", {"matrix": [[1.0, HIGHS.small_matrix_value]]}, "matrix"),
    ("a huge entry", {"matrix": [[-1e16, 1.0]]}, r"entries from 1 to 1e\+16"),
    ("the smallest rejected entry", {"matrix": [[HIGHS.large_matrix_value, 1.0]]}, "matrix"),
    ("row sides for other rows", {"row_upper": [1.0, 2.0]}, "row_upper"),
    (
        "row sides that cross",
        {"row_lower": 2.0, "row_upper": 1.0},
        "row_lower: expected at most row_upper, got more at 0",
    ),
    ("a row side that is no number", {"row_upper": np.nan}, "row_upper"),
    ("a row side that HiGHS reads as infinite", {"row_upper": 1e20}, "row_upper"),
    ("a lower side of infinity", {"row_lower": INF}, "row_lower: expected no inf"),
    ("an upper side of minus infinity", {"row_upper": -INF}, "row_upper: expected no -inf"),
    ("bounds of other variables", {"lower": [0.0, 0.0, 0.0]}, "lower"),
    (
        "bounds that cross",
        {"lower": [0.0, 2.0], "upper": 1.0},
        "lower: expected at most upper, got more at 1",
    ),
    ("a bound that is no number", {"lower": [0.0, np.nan]}, "lower"),
    ("a bound that HiGHS reads as infinite", {"lower": -1e21}, "lower"),
    ("words for bounds", {"upper": "many"}, "upper"),
    ("integrality of other variables", {"integrality": [True]}, "integrality"),
    ("integrality by other codes", {"integrality": [0, 2]}, "integrality"),
    ("integrality by floats", {"integrality": [0.0, 1.0]}, "integrality"),
]


@pytest.mark.parametrize(
    ("changes", "message"), [r[1:] for r in REJECTED], ids=[r[0] for r in REJECTED]
)
def test_nonsense_is_refused_by_name(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidProblemError, match=message):
        LinearProgram(**{**GOOD, **changes})


def test_entries_just_inside_the_range_are_kept() -> None:
    ends = np.nextafter([HIGHS.small_matrix_value, HIGHS.large_matrix_value], 1)
    assert LinearProgram([1, 1], [ends * [1, -1]]).matrix.nnz == 2


def test_entries_that_cancel_to_almost_nothing_are_refused() -> None:
    """A sum of duplicates is judged, not its summands."""
    given = sparse.coo_array(([0.1, 0.2, -0.3, 1.0], ([0, 0, 0, 0], [0, 0, 0, 1])), shape=(1, 2))
    with pytest.raises(InvalidProblemError, match="entries from"):
        LinearProgram([1, 1], given)
