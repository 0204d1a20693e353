"""Rows packed into words of 64 bits, as the loops of top-down splitting move them about."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.printed import count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from discreet.kanonymity.problem import CodedColumn

WORD_BITS = np.iinfo(np.int64).bits

ROW_NUMBER_BITS = WORD_BITS // 2
"""Bits of the first word for codes; the others hold the number of the row."""

MAX_NUMBERED_ROWS = 2 ** (ROW_NUMBER_BITS - 1)
"""Rows that can be numbered."""


class RowLayout(NamedTuple):
    """Where the code of each column is: ``(words[row, word[a]] >> shift[a]) & mask[a]``; `words` in a row."""

    word: NDArray[np.int64]
    shift: NDArray[np.int64]
    mask: NDArray[np.int64]
    words: int


def layout_of(columns: Sequence[CodedColumn]) -> RowLayout:
    """Assign columns to words, as few as possible and each within one word; the first word has room for 32 bits.

    Examples
    --------
    >>> from discreet.kanonymity.problem import Numeric, Problem
    >>> problem = Problem.from_columns({"age": [50, 20, 40, 21, 60]}, [Numeric("age")])
    >>> layout_of(problem.columns).words, layout_of(problem.columns * 20).words
    (1, 2)
    """
    sizes = [max(1, (len(column.domain) - 1).bit_length()) for column in columns]
    used, word, shift = (
        [ROW_NUMBER_BITS],
        np.empty(len(sizes), np.int64),
        np.empty(len(sizes), np.int64),
    )
    # The widest first, each where it fits, so that little is left empty.
    for a in sorted(range(len(sizes)), key=lambda a: -sizes[a]):
        limits = [ROW_NUMBER_BITS if at == 0 else WORD_BITS for at in range(len(used))]
        free = [at for at, bits in enumerate(used) if at and bits + sizes[a] <= limits[at]]
        if used[0] - ROW_NUMBER_BITS + sizes[a] <= ROW_NUMBER_BITS:
            at, begin = 0, used[0] - ROW_NUMBER_BITS
        elif free:
            at, begin = free[0], used[free[0]]
        else:
            used.append(0)
            at, begin = len(used) - 1, 0
        word[a], shift[a] = at, begin
        used[at] += sizes[a]
    mask = np.array([(1 << bits) - 1 for bits in sizes], dtype=np.int64)
    return RowLayout(word, shift, mask, len(used))


def pack(
    codes: Sequence[NDArray[np.integer]], layout: RowLayout, *, first: int = 0
) -> NDArray[np.int64]:
    """Pack rows.

    Parameters
    ----------
    codes
        The codes of each column.
    layout
        Where they go.
    first
        Number of the first row; the others follow.

    Returns
    -------
    ndarray
        ``(n, words)``.

    Raises
    ------
    InvalidProblemError
        For more rows than can be numbered.

    Examples
    --------
    >>> layout = RowLayout(np.array([0]), np.array([0]), np.array([7]), 1)
    >>> words = pack([np.array([5, 3])], layout)
    >>> (words[:, 0] & 7).tolist(), rows_of(words).tolist()
    ([5, 3], [0, 1])
    """
    n = len(codes[0])
    if first + n > MAX_NUMBERED_ROWS:
        raise InvalidProblemError(
            "rows", f"at most {count(MAX_NUMBERED_ROWS)} rows at once", count(first + n)
        )
    words = np.zeros((n, layout.words), dtype=np.int64)
    words[:, 0] = np.arange(first, first + n, dtype=np.int64) << ROW_NUMBER_BITS
    for values, word, shift in zip(codes, layout.word, layout.shift, strict=True):
        words[:, word] |= values.astype(np.int64) << shift
    return words


def rows_of(words: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the row number of each packed row, which its first word holds."""
    return words[:, 0] >> ROW_NUMBER_BITS
