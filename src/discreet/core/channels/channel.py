"""Finite channels: integer weights, one exact draw a report, post-processing, and what they give away.

A channel is stored as the integers that are sampled. Row ``i`` holds weights ``W[i, k]`` whose sum is ``2^62`` (or
``2^124``, ...: one *limb* of 62 bits more for each factor), so that ``Pr[report k | secret i] = W[i, k] / 2^62``
exactly. What is verified is bit for bit what is sampled.

Trusted: the guarantee rests on this code, which draws by the weights that were verified.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.exact import float_ceil
from discreet.core.randomness.bits import SystemBits
from discreet.core.views import heat, view

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from discreet.core.exact import Exact
    from discreet.core.randomness.bits import RandomBits
    from discreet.core.spaces.metric import MetricSpace

LIMB_BITS = 62
"""Bits of a limb. A row sum of 2^62 fits a signed and an unsigned 64-bit integer, sums of rows included."""

_MAX_LIMBS = np.finfo(float).maxexp // LIMB_BITS
"""Limbs up to which a row total is below the largest float, 16; floats decide the clear comparisons."""

_SLICE = 1 << 22
"""Entries looked at in one go, which bounds the memory."""


@dataclass(frozen=True)
class PrivacyLoss:
    """What a channel gives away on a space, and where.

    Parameters
    ----------
    epsilon
        An epsilon per unit of distance that holds for the pairs looked at, above the least such by no more than
        ``10^-12`` nats over the distance of a pair; ``None`` when it is infinite.
    pair
        A pair of secrets that attains it, or ``None`` when there is one secret only.
    report
        The report that tells them apart.
    """

    epsilon: Fraction | None
    pair: tuple[int, int] | None
    report: int | None


@dataclass(frozen=True, eq=False)
class Channel:
    """A finite channel with integer weights.

    Parameters
    ----------
    limbs
        ``(n_limbs, n_secrets, n_reports)`` unsigned 64-bit integers, most significant limb first, base ``2^62``.
        Each row sums to ``2^(62 n_limbs)``.

    Raises
    ------
    InvalidProblemError
        When the shape, the type, or a row sum is wrong.

    See Also
    --------
    Channel.from_weights : from integers of any size.
    discreet.core.channels.rounding.round_channel : from a matrix of floats, by the proved rounding.

    Examples
    --------
    >>> import numpy as np
    >>> half = 2**61
    >>> coin = Channel.from_weights(np.full((2, 2), half, dtype=np.uint64))
    >>> coin.probabilities.tolist(), coin.report(0) in (0, 1)
    ([[0.5, 0.5], [0.5, 0.5]], True)
    """

    limbs: NDArray[np.uint64]

    def __post_init__(self) -> None:
        limbs: Any = self.limbs
        if not isinstance(limbs, np.ndarray) or limbs.ndim != 3 or limbs.dtype != np.uint64:
            got = f"{type(limbs).__name__} {getattr(limbs, 'dtype', '')} {getattr(limbs, 'shape', '')}"
            raise InvalidProblemError("limbs", "a (limbs, secrets, reports) uint64 array", got)
        if 0 in limbs.shape:
            raise InvalidProblemError("limbs", "one secret and one report or more", limbs.shape)
        if len(limbs) > _MAX_LIMBS:
            raise InvalidProblemError("limbs", f"at most {_MAX_LIMBS} limbs", len(limbs))
        frozen = np.array(limbs, dtype=np.uint64, order="C")
        frozen.setflags(write=False)
        object.__setattr__(self, "limbs", frozen)
        self._check_row_sums()

    def _check_row_sums(self) -> None:
        """Raise InvalidProblemError for a limb out of range, or a row that does not sum to `total`.

        ``O(n_secrets n_reports)`` Python integers for each limb.


        """
        base = 1 << LIMB_BITS
        # Only the leading limb may hold the base itself, for a row with one certain report.
        if int(self.limbs.max()) > base or (
            len(self.limbs) > 1 and int(self.limbs[1:].max()) >= base
        ):
            raise InvalidProblemError("limbs", f"limbs below 2^{LIMB_BITS}", "a larger one")
        for secret in range(self.n_secrets):
            # Python integers: K limbs of 62 bits may overflow 64 bits when a row is wrong.
            total = 0
            for limb in self.limbs[:, secret, :]:
                total = (total << LIMB_BITS) + sum(limb.tolist())
            if total != self.total:
                raise InvalidProblemError(
                    "limbs", f"row sums of {self.total}", f"{total} in row {secret}"
                )

    @classmethod
    def from_weights(cls, weights: ArrayLike) -> Channel:
        """Build a channel from integer weights whose rows all sum to ``2^62``, ``2^124``, ...

        One Python integer for each of ``n_secrets * n_reports`` weights. The first row's sum decides how many limbs
        there are.

        Parameters
        ----------
        weights
            ``(n_secrets, n_reports)`` integers, of any size if the array holds Python integers.

        Raises
        ------
        InvalidProblemError
            For negative or fractional weights, or row sums that are no power of ``2^62``.
        """
        table = np.asarray(weights, dtype=object)
        if table.ndim != 2 or 0 in table.shape:
            raise InvalidProblemError(
                "weights", "a (secrets, reports) table", f"shape {table.shape}"
            )
        rows = [[_weight(weight) for weight in row] for row in table.tolist()]
        bits = sum(rows[0]).bit_length() - 1
        if bits <= 0 or bits % LIMB_BITS:
            raise InvalidProblemError(
                "weights", "row sums of 2^62 or a power of it", f"{sum(rows[0])} in row 0"
            )
        return cls(split_limbs(rows, bits // LIMB_BITS))

    @property
    def n_secrets(self) -> int:
        """Number of secrets, the rows."""
        return int(self.limbs.shape[1])

    @property
    def n_reports(self) -> int:
        """Number of reports, the columns."""
        return int(self.limbs.shape[2])

    @property
    def total(self) -> int:
        """The sum of each row: ``2^62`` for a channel of one limb."""
        return 1 << (LIMB_BITS * len(self.limbs))

    @cached_property
    def weights(self) -> NDArray[Any]:
        """Integer weights ``(n_secrets, n_reports)``, read-only.

        Uint64, or Python integers where there are several limbs. With several limbs they are joined at the first
        access, ``n_secrets * n_reports`` integers.
        """
        if len(self.limbs) == 1:
            return np.asarray(self.limbs[0])
        joined: NDArray[Any] = self.limbs[0].astype(object)
        for limb in self.limbs[1:]:
            joined = (joined << LIMB_BITS) + limb.astype(object)
        joined.setflags(write=False)
        return joined

    @cached_property
    def probabilities(self) -> NDArray[np.float64]:
        """Weights as floats, ``(n_secrets, n_reports)``, read-only; for reading, not for sampling.

        Relative error below 2^-51. Computed at the first access, in ``O(n_secrets * n_reports)`` a limb, and kept.
        """
        scaled = _as_floats(self.limbs)
        scaled.setflags(write=False)
        return scaled

    @cached_property
    def digest(self) -> str:
        """SHA-256, in hexadecimal, of the shape and the integers."""
        head = f"discreet.channel/1 {self.limbs.shape}".encode()
        return hashlib.sha256(head + self.limbs.astype("<u8").tobytes()).hexdigest()

    def row(self, secret: int) -> list[int]:
        """Return a new list of the integer weights of one secret, one for each report, with the sum `total`.

        ``O(n_reports)``. With several limbs the first call joins `weights` of all secrets, ``n_secrets * n_reports``
        Python integers, and keeps them.

        Raises
        ------
        InvalidProblemError
            When there is no such secret, or it is no integer.
        """
        stated: Any = secret
        if not isinstance(stated, int | np.integer) or isinstance(stated, bool):
            expected = (
                f"the number of one secret, from 0 to {self.n_secrets - 1}; report_many takes several, and a region's "
                "snap gives that of a place"
            )
            raise InvalidProblemError("secret", expected, type(secret).__name__)
        if not 0 <= secret < self.n_secrets:
            raise InvalidProblemError(
                "secret", f"an index from 0 to {self.n_secrets - 1}", "one outside"
            )
        weights: list[int] = self.weights[secret].tolist()
        return weights

    def _repr_html_(self) -> str:
        """Return the channel as HTML, with a heat map of its probabilities."""
        size = f"{self.n_secrets} secrets, {self.n_reports} reports"
        label = f"Chances of reports (columns) for secrets (rows), the darker the likelier; {size}"
        facts = (
            f"{size}; every row sums to {self.total}. A channel alone promises nothing: see the design.",
        )
        return view("Channel", facts, picture=heat(self.probabilities, label))

    def report(self, secret: int, bits: RandomBits | None = None) -> int:
        """Draw one report, exactly: one ``randrange`` of the row total.

        ``O(n_reports)``; with several limbs the first call joins the weights of all secrets, as :meth:`row`.

        Parameters
        ----------
        secret
            Index of the true secret. It stands in no message and no log.
        bits
            Source of randomness; the operating system's by default. A seeded one gives no privacy.

        Returns
        -------
        int
            Index of the report.

        Raises
        ------
        InvalidProblemError
            When there is no such secret.

        Guarantee
        ---------
        That of the channel, for this one report. n reports of one secret cost n times epsilon.
        """
        row = self.row(secret)
        target = (bits or SystemBits()).randrange(self.total)
        for report, weight in enumerate(row):
            target -= weight
            if target < 0:
                return report
        raise AssertionError("a row sums to its total")  # pragma: no cover

    def report_many(
        self, secrets: Sequence[int] | NDArray[np.integer[Any]], bits: RandomBits | None = None
    ) -> NDArray[np.int64]:
        """Draw one independent report for each secret of a sequence.

        ``(m,)`` secrets: each different secret sums its row once, ``O(n_reports)``, and compares itself with the m
        others; with several limbs each of the m draws takes ``O(n_reports)``.

        Parameters
        ----------
        secrets
            Indices of secrets, repetitions allowed.
        bits
            As in :meth:`report`.

        Returns
        -------
        NDArray[np.int64]
            Indices of reports, as many as secrets.

        Raises
        ------
        InvalidProblemError
            When an index is outside.

        Guarantee
        ---------
        That of the channel for each report; reports of one secret compose.
        """
        indices = np.asarray(secrets)
        if indices.ndim != 1 or (indices.size and not np.issubdtype(indices.dtype, np.integer)):
            raise InvalidProblemError(
                "secrets", "a sequence of indices", f"shape {indices.shape} {indices.dtype}"
            )
        if indices.size and not (indices.min() >= 0 and indices.max() < self.n_secrets):
            raise InvalidProblemError(
                "secrets", f"indices from 0 to {self.n_secrets - 1}", "one outside"
            )
        source = bits or SystemBits()
        drawn = np.empty(indices.size, dtype=np.int64)
        if len(self.limbs) > 1:
            for place, secret in enumerate(indices.tolist()):
                drawn[place] = self.report(secret, source)
            return drawn
        targets = source.randranges(self.total, indices.size)
        for secret in np.unique(indices):
            chosen = indices == secret
            steps = np.cumsum(self.limbs[0, secret], dtype=np.uint64)
            drawn[chosen] = np.searchsorted(steps, targets[chosen], side="right")
        return drawn

    def then(self, other: Channel | Sequence[int] | NDArray[np.integer[Any]]) -> Channel:
        """Post-process the reports: rename and merge them, or send them through another channel.

        Parameters
        ----------
        other
            A sequence that gives a new report for each report (weights are summed), or a channel whose secrets are
            this one's reports (weights are multiplied, exactly: limbs add up).

        Returns
        -------
        Channel
            As private as this one, since post-processing never adds privacy loss.

        Raises
        ------
        InvalidProblemError
            When the sizes do not match or a new report is negative.

        Complexity
        ----------
        Renaming O(n_secrets n_reports); a channel O(n_secrets n_reports n_new) products of Python integers.

        Examples
        --------
        >>> identity = Channel.from_weights([[2**62, 0], [0, 2**62]])
        >>> identity.then([0, 0]).weights.tolist()
        [[4611686018427387904], [4611686018427387904]]
        """
        if isinstance(other, Channel):
            if other.n_secrets != self.n_reports:
                raise InvalidProblemError("other", f"{self.n_reports} secrets", other.n_secrets)
            product = self.weights.astype(object) @ other.weights.astype(object)
            return Channel(split_limbs(product.tolist(), len(self.limbs) + len(other.limbs)))
        names = np.asarray(other)
        if (
            names.shape != (self.n_reports,)
            or not np.issubdtype(names.dtype, np.integer)
            or names.min() < 0
        ):
            raise InvalidProblemError(
                "other", f"{self.n_reports} non-negative indices", f"shape {names.shape}"
            )
        merged = np.zeros((int(names.max()) + 1, self.n_secrets), dtype=self.weights.dtype)
        for report, name in enumerate(names.tolist()):
            merged[name] += self.weights[:, report]
        if len(self.limbs) == 1:  # Sums of weights of a row are at most its total, of 64 bits.
            return Channel(merged.T[None])
        return Channel(split_limbs(merged.T.tolist(), len(self.limbs)))

    def restrict(self, secrets: Sequence[int] | NDArray[np.integer[Any]]) -> Channel:
        """Return a channel of some secrets, in the order given, which may repeat; reports stay as they are.

        `secrets` are indices ``(m,)``, a list or an integer array; floats are truncated. The ``m n_reports`` weights
        are copied.

        Raises
        ------
        InvalidProblemError
            For no secrets, or an index that is not one of a secret.
        """
        indices = np.asarray(secrets, dtype=np.int64)
        if (
            indices.ndim != 1
            or not indices.size
            or indices.min() < 0
            or indices.max() >= self.n_secrets
        ):
            raise InvalidProblemError(
                "secrets", f"indices from 0 to {self.n_secrets - 1}", f"shape {indices.shape}"
            )
        return Channel(self.limbs[:, indices, :])

    def expected_loss(self, cost: ArrayLike) -> float:
        """Expected loss, rounded up: ``sum_ik cost_ik W_ik / total``.

        ``O(n_secrets n_reports)``, in floats.

        Parameters
        ----------
        cost
            ``(n_secrets, n_reports)`` non-negative floats, the prior included.

        Returns
        -------
        float
            At least the exact value, and above it by less than one part in ``10^14``; 0 if all reports in use are free.

        Raises
        ------
        InvalidProblemError
            For costs of another shape, negative ones or ones that are not finite.
        """
        table = self._read_cost(cost, "cost")
        if not ((table > 0) & (self.limbs > 0).any(axis=0)).any():
            return 0.0
        # Two roundings a limb in a probability, one in a product, none in the sum, each at most 2^-53.
        # A product below the normal range may lose half a subnormal unit more.
        # Row by row, since floats of all weights would stay in memory.
        rows = zip(table, np.swapaxes(self.limbs, 0, 1), strict=True)
        total = Fraction(
            math.fsum(
                chain.from_iterable((row * _as_floats(limbs)).tolist() for row, limbs in rows)
            )
        )
        return float_ceil(
            total * (1 + Fraction(2 * len(self.limbs) + 2, 2**53)) + Fraction(table.size, 2**1074)
        )

    def expected_losses(self, loss: ArrayLike) -> NDArray[np.float64]:
        """Expected loss of each secret, rounded up: row i is ``sum_k loss_ik W_ik / total``.

        ``O(n_secrets * n_reports)``, in floats.

        Parameters
        ----------
        loss
            ``(n_secrets, n_reports)`` non-negative floats, without a prior.

        Returns
        -------
        NDArray[np.float64]
            ``(n_secrets,)``: 0 if all reports of the secret are free, else at least the exact value.

        Raises
        ------
        InvalidProblemError
            For losses of another shape, negative ones or ones that are not finite.
        """
        table = self._read_cost(loss, "loss")
        chances, k = self.probabilities, self.n_reports
        paid = ((table > 0) & (chances > 0)).any(axis=1)
        # Roundings as in `expected_loss`, and k - 1 in the sum, each at most 2^-53: twice as much is granted.
        summed = np.einsum("ik,ik->i", table, chances) * (
            1 + (k + 2 * len(self.limbs) + 4) * 2.0**-52
        )
        return np.where(paid, np.nextafter(summed + k * 2.0**-1074, np.inf), 0.0)

    def _read_cost(self, cost: ArrayLike, field: str) -> NDArray[np.float64]:
        """Return losses of all entries as floats ``(n_secrets, n_reports)``.

        Raises InvalidProblemError, naming `field`, for another shape, or losses that are negative or not finite.
        """
        table = np.asarray(cost, dtype=np.float64)
        if table.shape != self.limbs.shape[1:] or not np.isfinite(table).all() or table.min() < 0:
            raise InvalidProblemError(
                field, f"finite non-negative numbers of shape {self.limbs.shape[1:]}", table.shape
            )
        return table

    def privacy_loss(self, space: MetricSpace, *, radius: Exact | None = None) -> PrivacyLoss:
        """Find the least epsilon that this channel has on a space.

        The epsilon of the result is ``None`` where no epsilon holds: a report is possible for one secret of a pair
        only, or secrets at distance 0 have different rows. Without a pair it is 0. As
        :meth:`discreet.MetricSpace.adjacency` also InvalidProblemError for a radius that is not positive, or all
        pairs of more than 5120 secrets.

        Parameters
        ----------
        space
            A metric space with this channel's secrets.
        radius
            Look only at pairs at most this far apart; all pairs by default.

        Returns
        -------
        PrivacyLoss
            The largest ``|ln W_ik - ln W_jk| / d_ij`` with the pair and report where it is, rounded up.

        Raises
        ------
        InvalidProblemError
            When the space has another number of secrets.

        Complexity
        ----------
        O(pairs n_reports) time; memory for a slice of the pairs.
        """
        if space.n != self.n_secrets:
            raise InvalidProblemError("space", f"{self.n_secrets} secrets", space.n)
        adjacency = space.adjacency(radius)
        logs, error = _log_weights(self)
        worst, where = -1.0, None
        for start in range(0, len(adjacency.pairs), max(1, _SLICE // self.n_reports)):
            stop = start + max(1, _SLICE // self.n_reports)
            pairs, lengths = adjacency.pairs[start:stop], adjacency.lengths[start:stop]
            first, second = logs[pairs[:, 0]], logs[pairs[:, 1]]
            with np.errstate(invalid="ignore"):
                apart = np.abs(first - second)
            # A report that neither secret can give says nothing; one that only one can give says everything.
            apart[np.isneginf(first) & np.isneginf(second)] = 0.0
            reports = apart.argmax(axis=1)
            nats = apart[np.arange(len(pairs)), reports]
            for row in np.flatnonzero(lengths == 0):
                a, b = pairs[row]
                # At distance zero nothing but equality will do, and logarithms cannot tell equality.
                same = bool((self.limbs[:, a] == self.limbs[:, b]).all())
                nats[row] = 0.0 if same else math.inf
            with np.errstate(divide="ignore", invalid="ignore"):
                ratio = np.where(lengths == 0, nats, (nats + 2 * error) / lengths)
            best = int(ratio.argmax())
            if ratio[best] > worst:
                worst, where = float(ratio[best]), (*map(int, pairs[best]), int(reports[best]))
        if where is None:
            return PrivacyLoss(Fraction(0), None, None)
        i, j, report = where
        if math.isinf(worst):
            return PrivacyLoss(None, (i, j), report)
        # Two roundings more in the sum and the quotient.
        epsilon = Fraction(worst) * (1 + Fraction(4, 2**53)) * (1 << adjacency.scale_bits)
        return PrivacyLoss(epsilon, (i, j), report)


def _as_floats(limbs: NDArray[np.uint64]) -> NDArray[np.float64]:
    """Return weights as probabilities ``(n_secrets, n_reports)`` from `limbs` ``(n_limbs, ...)``.

    Two roundings a limb.
    """
    scaled = np.zeros(limbs.shape[1:])
    for limb in limbs[::-1]:
        scaled = (scaled + limb.astype(np.float64)) * 2.0**-LIMB_BITS
    return scaled


def _weight(weight: object) -> int:
    """Read a non-negative integer; raise InvalidProblemError for anything else."""
    if isinstance(weight, bool) or not isinstance(weight, int | np.integer) or weight < 0:
        raise InvalidProblemError("weights", "non-negative integers", repr(weight))
    return int(weight)


def split_limbs(rows: list[list[int]], n_limbs: int) -> NDArray[np.uint64]:
    """Return integers below ``2^(62 n_limbs + 2)`` as 62-bit limbs ``(n_limbs, rows, columns)``, the highest first."""
    table = np.asarray(rows, dtype=object)
    limbs = np.empty((n_limbs, *table.shape), dtype=np.uint64)
    mask = (1 << LIMB_BITS) - 1
    for place in range(n_limbs):
        shifted = table >> (LIMB_BITS * (n_limbs - 1 - place))
        limbs[place] = (shifted if place == 0 else shifted & mask).astype(np.uint64)
    return limbs


def _log_weights(channel: Channel) -> tuple[NDArray[np.float64], float]:
    """Natural logarithms of the weights, and a bound on their absolute error; ``O(n_secrets n_reports)`` a limb.

    Returns
    -------
    logs
        ``(n_secrets, n_reports)``; minus infinity where a weight is zero.
    error
        No logarithm is off by more than this, assuming a logarithm within 8 units in the last place, several times
        the documented error of NumPy's.
    """
    scaled = np.zeros(channel.limbs.shape[1:])
    for limb in channel.limbs:
        scaled = scaled * 2.0**LIMB_BITS + limb.astype(np.float64)
    with np.errstate(divide="ignore"):
        logs: NDArray[np.float64] = np.log(scaled)
    largest = len(channel.limbs) * LIMB_BITS * math.log(2)
    return logs, (8 * largest + 2 * len(channel.limbs)) * 2.0**-52
