"""The table to be anonymized as numbers: which columns an adversary knows, and what a generalized cell costs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.kanonymity.problem.column import LOSSES, CodedColumn, code_column

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from discreet.kanonymity.problem.attributes import Attribute


@final
@dataclass(frozen=True, eq=False)
class Boxes:
    """What the classes of a partition publish.

    Parameters
    ----------
    sizes
        ``(n_classes,)`` numbers of rows.
    lo, hi
        ``(n_classes, m)`` least and greatest codes; of meaning in numeric columns and taxonomies.
    counts
        ``(n_classes, m)`` numbers of different values; of meaning in categorical columns.
    costs
        ``(n_classes, m)`` what one cell costs.
    """

    sizes: NDArray[np.int64]
    lo: NDArray[np.int32]
    hi: NDArray[np.int32]
    counts: NDArray[np.int64]
    costs: NDArray[np.float64]


@final
@dataclass(frozen=True, eq=False, repr=False)
class Problem:
    r"""Rows and quasi-identifiers as codes, with the information loss to be made small.

    .. math:: \sum_{S} |S| \sum_j w_j\, c_j(S)

    over the classes S of a partition of the rows. The cost :math:`c_j` of a cell is in [0, 1], 0 where nothing is
    generalized, and never less for a larger class.

    Parameters
    ----------
    columns
        The quasi-identifiers; :meth:`from_columns` makes them.
    codes
        ``(n, m)`` codes of the values, private.
    loss
        The name of the loss. ``"ncp"``: intervals by their share of the range, sets and nodes of a taxonomy with c of
        the column's D values :math:`(c-1)/(D-1)`. ``"taxonomy"``: the same, as it is called where there are taxonomies.
        ``"range"``: the same, for numeric columns alone. ``"ncp-printed"``: :math:`(c-1)/D` as printed, which no set
        brings to 1. ``"arx-loss"``: intervals too by how many of the observed values they cover. ``"one-hot"``:
        :math:`c/D` for c of 2 or more, which is what one column for each value costs.

    Examples
    --------
    >>> from discreet.kanonymity.problem import Categorical, Numeric
    >>> rows = {"age": [21, 24, 50], "sex": ["F", "M", "M"]}
    >>> problem = Problem.from_columns(rows, [Numeric("age"), Categorical("sex")])
    >>> problem
    Problem(3 rows; age, sex)
    >>> problem.loss_of([0, 0, 0])
    6.0
    """

    columns: tuple[CodedColumn, ...]
    codes: NDArray[np.int32]
    loss: str = "ncp"

    def __post_init__(self) -> None:
        codes = np.array(self.codes, dtype=np.int32, order="C")
        if codes.ndim != 2 or codes.shape[1] != len(self.columns) or not self.columns:
            raise InvalidProblemError(
                "codes", f"{len(self.columns)} columns, at least one", codes.shape
            )
        for column, values in zip(self.columns, codes.T, strict=True):
            if len(values) and (values.min() < 0 or values.max() >= len(column.domain)):
                raise InvalidProblemError(column.name, "codes of its domain", "others")
        codes.setflags(write=False)
        object.__setattr__(self, "codes", codes)

    @classmethod
    def from_columns(
        cls,
        columns: Mapping[str, Sequence[Any] | NDArray[Any]],
        attributes: Sequence[Attribute],
        *,
        loss: str = "ncp",
    ) -> Problem:
        """Code a table.

        A sort of the n values of each column.

        Parameters
        ----------
        columns
            Values by column name, all of one length; ``None`` and NaN are missing values.
        attributes
            The quasi-identifiers, in the order in which they are published.
        loss
            See :class:`Problem`.

        Returns
        -------
        Problem
            The problem. Rows keep their order.

        Raises
        ------
        InvalidProblemError
            For an unknown or repeated column, columns of different lengths, a value outside of its bounds, domain or
            taxonomy (named by its position, since the value is private), or a loss that a column does not have.
        """
        names = [attribute.name for attribute in attributes]
        if not names or len(set(names)) < len(names):
            raise InvalidProblemError("attributes", "different columns, at least one", names)
        for name in names:
            if name not in columns:
                raise InvalidProblemError("attributes", "columns of the table", repr(name))
        if loss not in LOSSES:
            raise InvalidProblemError("loss", f"one of {', '.join(LOSSES)}", repr(loss))
        coded = [code_column(attribute, columns[attribute.name], loss) for attribute in attributes]
        lengths = {len(codes) for _, codes in coded}
        if len(lengths) != 1:
            raise InvalidProblemError("columns", "columns of one length", sorted(lengths))
        made = tuple(column for column, _ in coded)
        return cls(made, np.stack([codes for _, codes in coded], axis=1), loss)

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.codes)

    @property
    def m(self) -> int:
        """Number of quasi-identifiers."""
        return len(self.columns)

    @cached_property
    def suppressed_cost(self) -> float:
        """What a suppressed row costs: the weights of all columns."""
        return float(sum(column.attribute.weight for column in self.columns))

    def narrow(self, j: int) -> NDArray[np.unsignedinteger]:
        """Return the codes ``(n,)`` of column j in the smallest integer type, which is sorted several times faster."""
        codes: NDArray[np.unsignedinteger] = self.codes[:, j].astype(
            np.min_scalar_type(max(0, len(self.columns[j].domain) - 1))
        )
        return codes

    def __repr__(self) -> str:
        return f"Problem({self.n} rows; {', '.join(column.name for column in self.columns)})"

    def boxes(self, labels: ArrayLike) -> Boxes:
        """Summarize the classes of a partition.

        Parameters
        ----------
        labels
            ``(n,)`` classes 0, 1, ... without gaps; -1 for suppressed rows.

        Returns
        -------
        Boxes
            Sizes of the classes, and for each class and column the ends, values and cost of its cell.

        Raises
        ------
        InvalidProblemError
            If there is not one label for each row, or the classes are not numbered from 0 without gaps.

        Complexity
        ----------
        ``O(n (m + log n))``, with a sort more for each column of sets.
        """
        all_labels = np.asarray(labels, dtype=np.int64)
        rows = np.flatnonzero(all_labels >= 0)
        rows = rows[np.argsort(all_labels[rows], kind="stable")]
        sizes = np.bincount(all_labels[rows])
        if all_labels.shape != (self.n,) or (sizes == 0).any() or (all_labels < -1).any():
            expected = f"a class for each of {self.n} rows, numbered from 0 without gaps, or -1"
            raise InvalidProblemError("labels", expected, "others")
        shape = (len(sizes), self.m)
        if not len(sizes):
            zeros = np.zeros(shape, np.int32)
            return Boxes(sizes, zeros, zeros, np.zeros(shape, np.int64), np.zeros(shape))
        sorted_codes, first = self.codes[rows], np.concatenate([[0], np.cumsum(sizes)[:-1]])
        lo, hi = (ends.reduceat(sorted_codes, first, axis=0) for ends in (np.minimum, np.maximum))
        counts, costs = np.ones(shape, np.int64), np.zeros(shape)
        for j, column in enumerate(self.columns):
            if column.is_set:
                pairs = np.sort(all_labels[rows] * len(column.domain) + sorted_codes[:, j])
                new = np.append(True, pairs[1:] != pairs[:-1])
                counts[:, j] = np.bincount(pairs[new] // len(column.domain))
                costs[:, j] = column.set_cost(counts[:, j])
            else:
                costs[:, j] = column.span_cost(lo[:, j], hi[:, j])
        return Boxes(sizes, lo, hi, counts, costs)

    def loss_of(self, labels: ArrayLike) -> float:
        """Return the information loss of a partition: the sum over all cells, not a mean.

        Parameters
        ----------
        labels
            ``(n,)`` integers: the class of each row, numbered from 0 without gaps; -1 for a suppressed row, which costs
            the weights of all columns.

        Returns
        -------
        float
            The sum over all rows and columns of weight times cost.

        Raises
        ------
        InvalidProblemError
            If there is not one label for each row, a label is below -1, or a class between 0 and the largest is empty.

        Complexity
        ----------
        That of :meth:`boxes`: ``O(n (m + log n))``, with a sort more for each column of sets.
        """
        boxes = self.boxes(labels)
        suppressed = self.n - int(boxes.sizes.sum())
        return float(boxes.sizes @ boxes.costs.sum(axis=1)) + suppressed * self.suppressed_cost

    def mean_loss_of(self, labels: ArrayLike) -> float:
        """Return the loss per cell, from 0 to 1: the mean over rows and columns, each column by its weight.

        `labels` as for :meth:`loss_of`.

        Examples
        --------
        >>> from discreet.kanonymity.problem import Numeric
        >>> Problem.from_columns({"age": [20, 30, 40, 60]}, [Numeric("age")]).mean_loss_of([0, 0, 1, 1])
        0.375
        """
        cells = self.n * self.suppressed_cost
        return self.loss_of(labels) / cells if cells > 0 else 0.0
