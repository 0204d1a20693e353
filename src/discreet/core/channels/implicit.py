r"""Implicit channels: a ball of integers for each report, and a tail that is computed.

Report k has a *center* :math:`o_k`, an *anchor* :math:`A_k`, and perhaps explicit integers for a few secrets, its
*ball*. The weight of report k for a secret i outside the ball is

.. math:: W_{ik} = m + \lfloor A_k\, E(D_{i o_k}) / 2^{62} \rfloor,

with E the integer exponential of :mod:`discreet.core.channels.decay`, D the stored distances, and m the *lift*, the
same for all. A report is drawn by one ``randrange`` of the row total :math:`S_i = \sum_k W_{ik}`, so that

.. math:: \Pr[k \mid i] = W_{ik} / S_i \quad\text{exactly.}

K reports with balls of b secrets take ``K (b + 1)`` integers, where a table takes ``n K``. Totals differ from row to
row; :func:`discreet.core.channels.check_implicit.verify_anchored` says what must hold, and
docs/theory/metricdp/anchored-channels.md proves that it is enough.

**Why no weight is skipped.** The lift makes every weight at least m, however far away the center is: a report that were
left out far from its center would have an infinite ratio at the edge of its support. The far reports all weigh exactly
m, since the rest is rounded down to zero. So a total is ``K m`` and a sum over near reports only, exactly.

Trusted: the guarantee rests on this code, which computes the weights and draws by them.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

import numpy as np

from discreet.core.channels.decay import Decay
from discreet.core.errors import InvalidProblemError, first_unfit
from discreet.core.exact import to_positive
from discreet.core.randomness.bits import SystemBits
from discreet.core.randomness.inversion import scaled_product
from discreet.core.spaces.lattice import LatticeLengths
from discreet.core.spaces.lengths import TableLengths
from discreet.core.spaces.plane import PlaneLengths

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from numpy.typing import ArrayLike, NDArray

    from discreet.core.exact import Exact
    from discreet.core.randomness.bits import RandomBits
    from discreet.core.spaces.lengths import Lengths
    from discreet.core.spaces.metric import MetricSpace

LARGEST_ANCHOR = 1 << 56
"""Anchors and weights may be as large: then the error of the exponential costs less than a unit."""

_SLICE = 1 << 21
"""Weights that are computed at once, to bound memory."""


@final
@dataclass(frozen=True, eq=False)
class Ball:
    """Explicit weights of some pairs of a secret and a report.

    Parameters
    ----------
    secrets, reports
        Indices, ``(entries,)`` each, no pair twice; stored in the order of secrets, then reports.
    weights
        ``(entries,)`` positive integers.

    Raises
    ------
    InvalidProblemError
        For arrays that do not match, indices or weights out of range, or a pair given twice.
    """

    secrets: NDArray[np.int64]
    reports: NDArray[np.int64]
    weights: NDArray[np.int64]

    def __post_init__(self) -> None:
        arrays = [
            _integers(getattr(self, name), name) for name in ("secrets", "reports", "weights")
        ]
        secrets, reports, weights = arrays
        if not len(secrets) == len(reports) == len(weights):
            raise InvalidProblemError(
                "weights", f"one for each of {len(secrets)} pairs", len(weights)
            )
        if len(weights) and not 1 <= int(weights.min()) <= int(weights.max()) <= LARGEST_ANCHOR:
            raise InvalidProblemError(
                "weights",
                "integers from 1 to 2^56",
                first_unfit(weights, (weights >= 1) & (weights <= LARGEST_ANCHOR)),
            )
        if len(weights) and min(int(secrets.min()), int(reports.min())) < 0:
            raise InvalidProblemError("secrets and reports", "indices", "negative ones")
        order = np.lexsort((reports, secrets))
        for name, array in zip(("secrets", "reports", "weights"), arrays, strict=True):
            sorted_array = array[order]
            sorted_array.setflags(write=False)
            object.__setattr__(self, name, sorted_array)
        if len(order) > 1:
            same = (np.diff(self.secrets) == 0) & (np.diff(self.reports) == 0)
            if same.any():
                raise InvalidProblemError("reports", "each pair once", "a pair given twice")

    def __len__(self) -> int:
        """Count the entries."""
        return len(self.secrets)

    @classmethod
    def empty(cls) -> Ball:
        """Return a ball without entries: three int64 arrays of length 0."""
        empty = np.zeros(0, dtype=np.int64)
        return cls(empty, empty, empty)


@final
@dataclass(frozen=True, eq=False, init=False, repr=False)
class AnchoredChannel:
    """A finite channel whose weights are computed where they are needed.

    Parameters
    ----------
    space
        The secrets. No table of distances is needed.
    rate
        Nats per unit of distance at which tails fall, exact.
    centers
        ``(K,)`` the secret at which each report's tail is centered.
    anchors
        ``(K,)`` integers from 0 to 2^56, the weights of the tails at their centers.
    lift
        m, a positive integer.
    ball
        Explicit weights; none by default.
    names
        ``(K,)`` what is published for each report, when that is not its center: post-processing, such as a remap to the
        likeliest secret.

    Raises
    ------
    InvalidProblemError
        For indices or integers out of range, or totals that might reach 2^63.

    See Also
    --------
    discreet.core.channels.check_implicit.verify_anchored : what makes it private.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet.core.spaces.metric import MetricSpace
    >>> space = MetricSpace.grid(300, 300, cell=1, unit="km")
    >>> channel = AnchoredChannel(space, "0.25", np.arange(90_000), np.full(90_000, 2**40), lift=2**16)
    >>> channel
    AnchoredChannel(n_secrets=90000, n_reports=90000, ball=0 entries)
    >>> channel.row(0)[:3].tolist()
    [1099511693312, 856300582244, 666887578492]
    """

    space: MetricSpace
    rate: Fraction
    centers: NDArray[np.int64]
    anchors: NDArray[np.int64]
    lift: int
    ball: Ball
    names: NDArray[np.int64]

    def __init__(
        self,
        space: MetricSpace,
        rate: Exact,
        centers: ArrayLike,
        anchors: ArrayLike,
        *,
        lift: int,
        ball: Ball | None = None,
        names: ArrayLike | None = None,
    ) -> None:
        values: dict[str, Any] = {"space": space, "rate": to_positive(rate, "rate")}
        places, weights = _integers(centers, "centers"), _integers(anchors, "anchors")
        shown = places if names is None else _integers(names, "names")
        if not len(places) or not len(places) == len(weights) == len(shown):
            sizes = f"{len(places)}, {len(weights)} and {len(shown)}"
            raise InvalidProblemError("centers, anchors and names", "one for each report", sizes)
        if not 0 <= int(places.min()) <= int(places.max()) < space.n:
            raise InvalidProblemError(
                "centers",
                f"secrets 0 to {space.n - 1}",
                first_unfit(places, (places >= 0) & (places < space.n)),
            )
        if not 0 <= int(weights.min()) <= int(weights.max()) <= LARGEST_ANCHOR:
            raise InvalidProblemError(
                "anchors",
                "integers from 0 to 2^56",
                first_unfit(weights, (weights >= 0) & (weights <= LARGEST_ANCHOR)),
            )
        if int(shown.min()) < 0:
            raise InvalidProblemError("names", "indices", "negative ones")
        known: Any = lift
        if isinstance(known, bool) or not isinstance(known, int) or not 1 <= known < LARGEST_ANCHOR:
            raise InvalidProblemError("lift", "an integer from 1 to 2^56", "something else")
        explicit = ball or Ball.empty()
        values |= {"centers": places, "anchors": weights, "lift": known, "ball": explicit}
        for name, value in (values | {"names": shown}).items():
            object.__setattr__(self, name, value)
        self._check_ball()

    def _check_ball(self) -> None:
        """Raise InvalidProblemError for indices of a ball beyond the channel, or for totals that may reach 2^62."""
        ball, n_reports = self.ball, self.n_reports
        if len(ball) and (
            int(ball.secrets[-1]) >= self.n_secrets or int(ball.reports.max()) >= n_reports
        ):
            expected = f"{self.n_secrets} secrets and {n_reports} reports"
            raise InvalidProblemError("ball", expected, "indices beyond")
        # Sums of floats, with room for their rounding, since integers might overflow.
        most = float(np.bincount(ball.secrets, ball.weights.astype(np.float64)).max(initial=0.0))
        if sum(self.anchors.tolist()) + n_reports * self.lift + int(most * 1.01) >= 1 << 62:
            raise InvalidProblemError("anchors", "sums below 2^62 with the lifts", "a larger one")

    def __repr__(self) -> str:
        return (
            f"AnchoredChannel(n_secrets={self.n_secrets}, n_reports={self.n_reports},"
            f" ball={len(self.ball)} entries)"
        )

    @property
    def n_secrets(self) -> int:
        """Number of secrets."""
        return self.space.n

    @property
    def n_reports(self) -> int:
        """Number of reports, before they are given their names."""
        return len(self.centers)

    @cached_property
    def decay(self) -> Decay:
        """The integer exponential of the tails, for stored lengths."""
        return Decay(self.rate / 2**self.space.scale_bits)

    @cached_property
    def digest(self) -> str:
        """SHA-256, in hexadecimal, of everything that decides what is drawn."""
        head = {
            "space": self.space.digest,
            "rate": str(self.rate),
            "lift": self.lift,
            "reports": self.n_reports,
        }
        text = json.dumps(head, sort_keys=True, separators=(",", ":")).encode()
        arrays = (self.centers, self.anchors, self.names)
        entries = (self.ball.secrets, self.ball.reports, self.ball.weights)
        body = b"".join(array.astype("<i8").tobytes() for array in arrays + entries)
        return hashlib.sha256(b"discreet.anchored/1 " + text + b"\n" + body).hexdigest()

    @cached_property
    def lengths(self) -> Lengths:
        """Where lengths come from: the source of the space, or the closed table where that is something else."""
        source = self.space.source
        as_it_is = isinstance(source, PlaneLengths | LatticeLengths) and source.is_closed
        uses_table = self.space.has_matrix and not as_it_is
        return TableLengths(self.space.distances) if uses_table else source

    @cached_property
    def _offsets(self) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
        """On a lattice, the places ``(n, 2)``, and E by the number of rows and columns between two; else ``None``."""
        source = self.lengths
        if not isinstance(source, LatticeLengths):
            return None
        return source.places - source.places.min(axis=0), self.decay(source.table())

    def tails(
        self, secrets: NDArray[np.integer], reports: NDArray[np.integer]
    ) -> NDArray[np.int64]:
        """Compute the weights outside the balls, lift included.

        Int64 ``(m,)``, one for each ``(secrets[t], reports[t])``. ``O(1)`` each; the arguments are not checked.
        """
        centers = self.centers[reports]
        if self._offsets is None:
            decayed = self.decay(self.lengths.between(secrets, centers))
        else:
            places, table = self._offsets
            row, column = np.abs(places[secrets] - places[centers]).T
            decayed = table[row, column]
        return scaled_product(decayed, self.anchors[reports]) + self.lift

    def weights_at(
        self, secrets: NDArray[np.integer], reports: NDArray[np.integer]
    ) -> NDArray[np.int64]:
        """Compute the weights of pairs ``(secrets[t], reports[t])``, stored ones in the balls included: int64 ``(m,)``.

        A bisection each; the arguments are not checked.
        """
        weights = self.tails(secrets, reports)
        keys = self.ball.secrets * self.n_reports + self.ball.reports
        pair_keys = np.asarray(secrets, dtype=np.int64) * self.n_reports + reports
        at = np.minimum(np.searchsorted(keys, pair_keys), len(keys) - 1)
        if len(keys):
            weights = np.where(keys[at] == pair_keys, self.ball.weights[at], weights)
        return weights

    def row(self, secret: int) -> NDArray[np.int64]:
        """Compute the weights of one secret: int64 ``(K,)``.

        Explicit weights of balls and the lift are included; entry k belongs to report k, not to the name
        ``names[k]``.

        Raises
        ------
        InvalidProblemError
            When there is no such secret.

        Complexity
        ----------
        ``O(K)``: two milliseconds for 10^5 reports on a grid.
        """
        if not 0 <= secret < self.n_secrets:
            raise InvalidProblemError("secret", f"one of {self.n_secrets}, from 0", "one outside")
        reports = np.arange(self.n_reports)
        weights = self.tails(np.full(self.n_reports, secret), reports)
        first, last = np.searchsorted(self.ball.secrets, [secret, secret + 1])
        weights[self.ball.reports[first:last]] = self.ball.weights[first:last]
        return weights

    @cached_property
    def totals(self) -> NDArray[np.int64]:
        """Row totals of all secrets, exactly: ``(n_secrets,)`` int64, read-only.

        Memory stays far below that of a table. On a grid ten million weights take 20 milliseconds, elsewhere a second.
        """
        totals = self._tail_totals()
        inside, reports = self.ball.secrets, self.ball.reports
        for first in range(0, len(inside), _SLICE):
            part = slice(first, first + _SLICE)
            changed = self.ball.weights[part] - self.tails(inside[part], reports[part])
            np.add.at(totals, inside[part], changed)
        totals.setflags(write=False)
        return totals

    def _tail_totals(self) -> NDArray[np.int64]:
        """Return ``(n,)`` int64 sums of the weights that secrets would have without balls, lifts included.

        From a lattice's table where there is one, else in ``O(n K)``, in slices.
        """
        if self._offsets is not None:
            return self._lattice_totals(*self._offsets)
        n, k = self.n_secrets, self.n_reports
        totals = np.empty(n, dtype=np.int64)
        step = max(1, _SLICE // k)
        for first in range(0, n, step):
            some = np.arange(first, min(first + step, n))
            weights = self.tails(np.repeat(some, k), np.tile(np.arange(k), len(some)))
            totals[some] = weights.reshape(len(some), k).sum(axis=1)
        return totals

    def _lattice_totals(
        self, places: NDArray[np.int64], table: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Return ``(n,)`` int64 sums of the weights that secrets on a lattice would have without balls, lifts included.

        `places` ``(n, 2)`` are rows and columns of the secrets, `table` the 62-bit decay by row and column distance.
        For each secret, the reports within reach of its tails.
        """
        from discreet.core.kernels.distances import lattice_totals

        rows, columns = places[self.centers].T
        order = np.lexsort((columns, rows))
        lines, starts = np.unique(rows[order], return_index=True)
        # Beyond the last column where the largest anchor leaves anything, nothing is left.
        left = scaled_product(table, self.anchors.max(keepdims=True)) > 0
        reach = np.where(left.any(axis=1), table.shape[1] - left[:, ::-1].argmax(axis=1), 0)
        sums = lattice_totals(
            places,
            lines,
            np.append(starts, len(order)),
            columns[order],
            self.anchors[order],
            table,
            reach,
        )
        return np.asarray(sums + self.n_reports * self.lift)

    def report(self, secret: int, bits: RandomBits | None = None) -> int:
        """Draw one report, exactly, and give its name: one ``randrange`` of the row total.

        ``O(K)`` for K reports: the row is computed anew.

        Parameters
        ----------
        secret
            Index of the true secret. It stands in no message and no log.
        bits
            Source of randomness; the operating system's by default. A seeded one gives no privacy.

        Returns
        -------
        int
            The name of the report.

        Raises
        ------
        InvalidProblemError
            When there is no such secret.

        Guarantee
        ---------
        What :func:`~discreet.core.channels.check_implicit.verify_anchored` finds, for this one report.
        """
        steps = np.cumsum(self.row(secret))
        target = (bits or SystemBits()).randrange(int(steps[-1]))
        return int(self.names[np.searchsorted(steps, target, side="right")])

    def report_many(
        self, secrets: Sequence[int], bits: RandomBits | None = None
    ) -> NDArray[np.int64]:
        """Draw one independent report for each secret of a sequence: int64 ``(len(secrets),)``, each as :meth:`report`.

        `bits` is the source of chance, the operating system by default.

        Results are names of reports. ``O(K)`` for each secret. InvalidProblemError when there is no such secret.
        """
        source = bits or SystemBits()
        return np.array([self.report(int(secret), source) for secret in secrets], dtype=np.int64)


def _integers(values: ArrayLike, field: str) -> NDArray[np.int64]:
    """Read a vector of signed integers ``(m,)`` as read-only int64; raise InvalidProblemError for others."""
    array = np.asarray(values)
    if array.ndim != 1 or (array.size and not np.issubdtype(array.dtype, np.signedinteger)):
        raise InvalidProblemError(field, "a list of integers", f"{array.dtype} {array.shape}")
    integers = array.astype(np.int64)
    integers.setflags(write=False)
    return integers
