r"""Audits: try to break a guarantee, on pairs of neighbors.

Three strengths. **Exact**: the unmodified production code is replayed over every draw on tiny inputs; its law is known
in fractions, and what was not explored is a bound. **Certified**: a verifier that shares no code with what it checks.
**Sampled**: many runs, an event learned from some of them and tested on others, and a lower bound on epsilon that holds
but for a stated probability, by default :math:`10^{-9}`. There is no slack: a claim is refused when the bound exceeds
it, and a claim that is not refused is not proved.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, final

from discreet.core.errors import InvalidProblemError
from discreet.core.exact import to_fraction
from discreet.core.guarantee import KAnonymity, MetricDP
from discreet.core.printed import at_least, at_most, decimal, one_line
from discreet.core.randomness import is_private
from discreet.evaluate.audit.claims import as_number, check_claim
from discreet.evaluate.audit.exact import (
    Shown,
    claimed_parameter,
    compare_laws,
    law_of,
    proved_delta,
)
from discreet.evaluate.audit.sampled import Samples, SamplingPlan, try_pairs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from concurrent.futures import Executor

    from numpy.typing import NDArray

    from discreet.core.certificate import Certificate
    from discreet.core.guarantee import Guarantee
    from discreet.core.randomness import RandomBits, UniformSource
    from discreet.core.randomness.replay import Law
    from discreet.evaluate.audit.claims import Auditable

Strength = Literal["exact", "certified", "sampled"]

_MIN_MASS = Fraction(1, 1 << 40)
"""Probability below which a path of draws is not followed; its mass counts as unexplored."""
_MIN_SAMPLES = 100
"""Samples of each input of a sampled audit, at least: fewer bound no probability well."""


@final
@dataclass(frozen=True, eq=False)
class Pair:
    """Two neighbors.

    Parameters
    ----------
    first, second
        Inputs of the mechanism. Synthetic data: an audit prints `label` and outcomes.
    label
        What the two are, in words.
    distance
        Between the two, in the unit of the guarantee; for metric privacy, and only there.

    Raises
    ------
    InvalidProblemError
        For a distance that is not positive.
    """

    first: Any
    second: Any
    label: str = ""
    distance: Fraction | None = None

    def __post_init__(self) -> None:
        if self.distance is not None:
            exact = to_fraction(self.distance, "distance")
            if exact <= 0:
                raise InvalidProblemError("distance", "a positive number", exact)
            object.__setattr__(self, "distance", exact)


@final
@dataclass(frozen=True)
class Audit:
    r"""Outcome of an audit: a lower bound on the parameter of a claim, or a broken claim.

    Parameters
    ----------
    guarantee
        What was claimed.
    strength
        ``"exact"``, ``"certified"`` or ``"sampled"``.
    parameter, claimed
        The parameter that the audit bounds, ``"epsilon"`` or ``"rho"``, and its claimed value; for k-anonymity ``"k"``.
    lower
        The parameter is at least this, rounded down; infinite where an outcome rules an input out. With samples, but
        for the probability `failure`.
    rejected
        Whether `lower` exceeds `claimed`, decided without rounding, or a check of the certificate failed.
    pair, event
        Where it was shown, in words.
    least, most
        The event's chance is at least the one on one input of the pair and at most the other on its neighbor.
    failure
        Probability, over the samples, that `lower` is wrong; 0 where nothing was sampled.
    pairs
        How many pairs were looked at.
    runs
        Most samples of one input, since pairs that promise less get fewer; for exact audits, replays of all.
    unexplored
        The largest mass of draws that an exact audit did not follow; counted against the audit, never for it.
    delta
        For exact audits, a delta for which the claimed epsilon is proved on the pairs looked at; ``None`` elsewhere.
    """

    guarantee: Guarantee
    strength: Strength
    parameter: str
    claimed: Fraction
    lower: float
    rejected: bool
    pair: str = ""
    event: str = ""
    least: float = 0.0
    most: float = 1.0
    failure: float = 0.0
    pairs: int = 0
    runs: int = 0
    unexplored: float = 0.0
    delta: float | None = None

    @property
    def verdict(self) -> str:
        """State what follows from the audit."""
        if self.rejected:
            sure = f" but for a probability of {at_most(self.failure, 3)}" if self.failure else ""
            return f"rejected: the claim is false{sure}"
        if self.strength == "certified":
            return "not rejected: every check of the verifier passed"
        if self.strength == "exact" and self.delta is not None and self.delta < 1:
            conclusion = (
                "it holds exactly"
                if self.delta == 0
                else f"it holds up to delta {at_most(self.delta, 3)}"
            )
            if self.unexplored:
                # What was not replayed counts as if it broke the claim; the number alone reads as if it did.
                conclusion += f", of which up to {at_most(self.unexplored, 3)} is draws that were not replayed"
            return (
                f"not rejected: on the pairs looked at {conclusion}; this proves nothing for others"
            )
        return "not rejected: this proves nothing"

    def __str__(self) -> str:
        prefix = "smallest " if self.parameter == "k" else "at least "
        lines = [
            f"claimed   {self.parameter} = {decimal(self.claimed)}",
            f"{prefix} {at_least(self.lower)} ({self.strength})",
        ]
        if self.event not in ("", "none"):
            at = f" on {one_line(self.pair)}" if self.pair else ""
            chances = f": {at_least(self.least)} or more against {at_most(self.most)} or less"
            known = self.least > 0 or self.most < 1
            lines.append(f"shown by  {one_line(self.event)}{at}{chances if known else ''}")
        return "\n".join([*lines, self.verdict])

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON. An infinite ``"lower"`` is ``None``, and ``"unbounded"`` says so.

        Keys are the fields by name, but ``"least_chance"``, ``"most_chance_on_neighbor"`` and
        ``"delta_proved_on_pairs"`` for `least`, `most` and `delta`; and ``"verdict"``, a sentence.
        """
        infinite = math.isinf(self.lower)
        return {
            "guarantee": self.guarantee.to_dict(),
            "strength": self.strength,
            "parameter": self.parameter,
            "claimed": float(self.claimed),
            "lower": None if infinite else self.lower,
            "unbounded": infinite,
            "rejected": self.rejected,
            "verdict": self.verdict,
            "pair": self.pair or None,
            "event": None if self.event in ("", "none") else self.event,
            "least_chance": self.least,
            "most_chance_on_neighbor": self.most,
            "failure": self.failure,
            "pairs": self.pairs,
            "runs": self.runs,
            "unexplored": self.unexplored,
            "delta_proved_on_pairs": self.delta,
        }


def audit(
    run: Callable[[Any, RandomBits], object] | None,
    pairs: Iterable[Pair | tuple[Any, Any]],
    guarantee: Auditable,
    *,
    strength: Literal["exact", "sampled"] = "sampled",
    failure: float = 1e-9,
    samples: int = 100_000,
    max_runs: int = 2_000,
    batch: Callable[[Any, int, RandomBits], Any] | None = None,
    scores: Mapping[str, Callable[[NDArray[Any]], NDArray[Any]]] | None = None,
    executor: Executor | None = None,
    bits: UniformSource | None = None,
    on_stage: Callable[[int, float], None] | None = None,
) -> Audit:
    r"""Try to refute a guarantee on pairs of neighbors.

    .. math:: \Pr[M(x) \in S] \ge p, \quad \Pr[M(x') \in S] \le q \quad\Rightarrow\quad \varepsilon \ge \ln (p / q)

    Parameters
    ----------
    run
        The mechanism, ``run(data, bits)``: one outcome, with all chance from ``bits``. May be ``None`` where there is
        a `batch` and nothing is replayed.
    pairs
        Neighbors, the worst that can be thought of; :class:`Pair`, or plain tuples.
    guarantee
        What is claimed: ``PureDP``, ``ApproxDP``, ``ZeroConcentratedDP``, or ``MetricDP``, then with distances.
    strength
        ``"exact"`` replays the run over its possible draws, likeliest first, on each input: for tiny ones.
        ``"sampled"`` runs it.
    failure
        Probability, over the samples, with which the lower bound may be wrong, whatever was tested.
    samples
        Most runs on each input. Fewer are made where the claim is refused earlier.
    max_runs
        Most replays for each input of an exact audit.
    batch
        ``batch(data, size, bits)``: as many independent outcomes at once, where that is quicker.
    scores
        Numbers to compute of the rows of outcomes ``(n, m)``, by name, such as a likelihood ratio that is known.
        Thresholds on them are tried beside the learned ones.
    executor
        Runs the samples, or the replays, of inputs side by side; `run` or `batch` must then be picklable where
        processes are used.
    bits
        Source of chance for samples; the operating system's by default. Others cannot be shared with an executor.
    on_stage
        ``on_stage(n, bound)`` after each stage: the most samples of one input, and the best lower bound so far.

    Returns
    -------
    Audit
        A lower bound, the claim, and the pair and event that showed it.

    Raises
    ------
    InvalidProblemError
        Without pairs, for distances where they do not belong, for another kind of guarantee, or too few samples.

    Guarantee
    ---------
    A true claim is rejected with probability at most `failure`, and never by an exact audit. Bounds are those of
    [CP34]_ with the failure divided among all of them beforehand; an event is tested on samples that it was not
    learned from.

    Complexity
    ----------
    Sampled: at most ``2 * pairs * samples`` runs, in stages that double. Exact: ``max_runs`` runs for each input.

    Examples
    --------
    Randomized response at half its claimed privacy loss, refused; and at the claimed one, not refused.

    >>> from discreet.core.guarantee import PureDP
    >>> def answer(truth, bits):
    ...     return truth if bits.randrange(4) else 1 - truth
    >>> found = audit(answer, [(0, 1)], PureDP("0.5", "replace-one"), strength="exact")
    >>> found.rejected, round(found.lower, 4), found.event
    (True, 1.0986, 'the outcome 0')
    >>> print(audit(answer, [(0, 1)], PureDP("1.1", "replace-one"), strength="exact").verdict)
    not rejected: on the pairs looked at it holds exactly; this proves nothing for others
    >>> audit(answer, [(0, 1)], PureDP("0.5", "replace-one"), samples=4_000).rejected
    True
    """
    claim = check_claim(guarantee)
    known = _read(pairs, claim)
    if strength == "exact":
        return _exact(run, known, claim, max_runs, executor)
    if strength != "sampled":
        raise InvalidProblemError("strength", "'exact' or 'sampled'", repr(strength))
    if run is None and batch is None:
        raise InvalidProblemError("run", "the mechanism, or a batch of it", "none")
    _check_sampling(failure, samples, executor, bits)
    plan = SamplingPlan(
        claim, claimed_parameter(claim)[1], failure, samples, tuple((scores or {}).items())
    )
    inputs = [(pair.first, pair.second, pair.distance) for pair in known]
    shown, where, used = try_pairs(Samples(run, batch, bits, executor), inputs, plan, on_stage)
    counts = {"pairs": len(known), "runs": used}
    return _outcome(claim, "sampled", shown, known[where], **counts, failure=failure)


def _check_sampling(
    failure: float, samples: int, executor: Executor | None, bits: UniformSource | None
) -> None:
    """Raise InvalidProblemError for a failure outside (0, 1), too few samples, or chance with an executor."""
    if not 0 < failure < 1:
        raise InvalidProblemError("failure", "a probability between 0 and 1", failure)
    if samples < _MIN_SAMPLES:
        raise InvalidProblemError("samples", f"{_MIN_SAMPLES} or more", samples)
    if executor is not None and not is_private(bits):
        raise InvalidProblemError("bits", "none with an executor, which would repeat them", "some")


def _read(pairs: Iterable[Pair | tuple[Any, Any]], claim: Auditable) -> list[Pair]:
    """Return the pairs as records; refuse none, or distances unless the claim is metric privacy."""
    known = [
        pair if isinstance(pair, Pair) else Pair(*pair, label=f"pair {number}")
        for number, pair in enumerate(pairs)
    ]
    if not known:
        raise InvalidProblemError("pairs", "one pair of neighbors or more", "none")
    for pair in known:
        if (pair.distance is not None) != isinstance(claim, MetricDP):
            raise InvalidProblemError(
                "pairs", "a distance for metric privacy, and only there", "others"
            )
    return known


def _exact(
    run: Callable[[Any, RandomBits], object] | None,
    pairs: Sequence[Pair],
    claim: Auditable,
    max_runs: int,
    executor: Executor | None,
) -> Audit:
    """Enumerate the laws of all inputs, in processes if there is an executor, and audit `claim` on each pair.

    A missing mechanism is refused; `max_runs` limits the runs of a law.
    """
    if run is None:
        raise InvalidProblemError("run", "the mechanism, for an exact audit", "none")
    inputs = {id(data): data for pair in pairs for data in (pair.first, pair.second)}
    if executor is None:
        laws = {key: law_of(run, data, max_runs, _MIN_MASS) for key, data in inputs.items()}
    else:
        request = {
            key: executor.submit(law_of, run, data, max_runs, _MIN_MASS)
            for key, data in inputs.items()
        }
        laws = {key: future.result() for key, future in request.items()}
    both = [(laws[id(pair.first)], laws[id(pair.second)]) for pair in pairs]
    return audit_laws(both, pairs, claim)


def audit_laws(laws: Sequence[tuple[Law, Law]], pairs: Sequence[Pair], claim: Auditable) -> Audit:
    """Audit known laws, such as products of the laws of independent parts.

    `laws` and `pairs` are in the same order, at least one; metric claims need distances. The audit is of the pair
    that shows most; its delta is the largest of all. Linear in the outcomes, with exact logarithms.

    Parameters
    ----------
    laws
        The laws on the first and on the second input of each pair.
    pairs
        What the pairs are.
    claim
        The guarantee.
    """
    shown = [
        compare_laws(*both, claim, pair.distance) for both, pair in zip(laws, pairs, strict=True)
    ]
    where = max(range(len(shown)), key=lambda number: shown[number].rank)
    delta = max(
        proved_delta(*both, claim, pair.distance) for both, pair in zip(laws, pairs, strict=True)
    )
    single = {id(law): law for both in laws for law in both}.values()
    return _outcome(
        claim,
        "exact",
        shown[where],
        pairs[where],
        pairs=len(pairs),
        runs=sum(law.runs for law in single),
        unexplored=max(float(law.unexplored) for law in single),
        delta=float(delta),
    )


def _outcome(
    claim: Auditable,
    strength: Strength,
    shown: Shown,
    pair: Pair,
    **facts: Any,  # noqa: ANN401 - fields of the record
) -> Audit:
    """Return the audit of the pair and event that show most against the claim."""
    name, claimed = claimed_parameter(claim)
    label = pair.label if shown.forward or not pair.label else f"{pair.label}, reversed"
    return Audit(
        claim,
        strength,
        name,
        claimed,
        as_number(shown.strength),
        shown.strength < 0 or shown.strength > claimed,
        label,
        shown.event,
        shown.least,
        shown.most,
        **facts,
    )


def certified(
    certificate: Certificate,
    guarantee: Guarantee,
    *,
    lower: float = 0.0,
    pair: str = "",
    event: str = "",
    pairs: int = 0,
) -> Audit:
    """Return the certificate of a verifier as an audit.

    Parameters
    ----------
    certificate
        Of a mechanism's verifier.
    guarantee
        What was verified.
    lower, pair, event, pairs
        What is known beside, as in :class:`~discreet.evaluate.audit.audit.Audit`.

    Returns
    -------
    Audit
        Rejected when a check failed, or when there is none.

    Examples
    --------
    >>> from discreet import Certificate, Check, PureDP
    >>> wrong = Certificate((Check("noise that is too small", 1, 0, exact=True),))
    >>> made = certified(wrong, PureDP(1, "replace-one"))
    >>> made.rejected, made.event
    (True, 'failed: noise that is too small')
    """
    if isinstance(guarantee, KAnonymity):
        parameter, claimed = "k", Fraction(guarantee.k)
    else:
        parameter, claimed = claimed_parameter(guarantee)
    names = ", ".join(check.name for check in certificate.checks if not check.passed)
    failed = f"failed: {names or 'nothing was checked'}" if not certificate.passed else ""
    event_or_failure = "; ".join(part for part in (event, failed) if part)
    return Audit(
        guarantee,
        "certified",
        parameter,
        claimed,
        lower,
        not certificate.passed,
        pair,
        event_or_failure,
        pairs=pairs,
    )
