"""Audits against closed forms, and claims that they refuse: exact and sampled, every kind of guarantee."""

from __future__ import annotations

import json
import math
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from fractions import Fraction
from multiprocessing import get_context
from typing import Any

import numpy as np
import pytest
from scipy import stats

from discreet import (
    ApproxDP,
    Channel,
    InvalidProblemError,
    KAnonymity,
    MetricDP,
    PureDP,
    ZeroConcentratedDP,
)
from discreet.core.randomness import (
    RandomBits,
    SeededBits,
    discrete_gaussians,
    discrete_laplaces,
)
from discreet.evaluate.audit.audit import Audit, Pair, audit, audit_laws
from discreet.evaluate.audit.claims import rough_strength, strength
from discreet.evaluate.audit.events import learn
from discreet.evaluate.audit.sampled import stages
from discreet.evaluate.intervals import least_chance, most_chance

ONE = PureDP(1, "replace-one")


def response(truth: int, bits: RandomBits) -> int:
    """Randomized response: the truth with probability 3/4, so that epsilon is ln 3."""
    return truth if bits.randrange(4) else 1 - truth


def response_many(truth: int, size: int, bits: RandomBits) -> Any:
    return np.where(bits.randranges(4, size) > 0, truth, 1 - truth)


def noisy(count: int, bits: RandomBits) -> int:
    return count + int(discrete_laplaces(1, 1, bits)[0])


def noisy_many(count: int, size: int, bits: RandomBits) -> Any:
    return count + discrete_laplaces(1, size, bits)


def test_randomized_response_has_its_epsilon_to_the_last_digit() -> None:
    found = audit(response, [(0, 1)], ONE, strength="exact")
    assert found.rejected
    assert 0 <= math.log(3) - found.lower < 1e-15
    assert (found.least, found.most, found.unexplored) == (0.75, 0.25, 0)
    kept = audit(response, [(0, 1)], PureDP("1.0987", "replace-one"), strength="exact")
    assert not kept.rejected
    assert kept.delta == 0
    assert kept.lower == found.lower


def test_geometric_noise_has_its_epsilon_up_to_what_was_not_explored() -> None:
    found = audit(noisy, [(0, 1)], ONE, strength="exact", max_runs=500)
    assert not found.rejected
    assert 0.99 < found.lower <= 1
    assert found.delta is not None
    assert found.unexplored <= found.delta < 1e-2
    assert audit(noisy, [(0, 2)], ONE, strength="exact", max_runs=500).rejected


def test_what_tells_everything_is_infinite_and_what_tells_nothing_is_zero() -> None:
    open_book = audit(lambda x, _: x, [(0, 1)], PureDP(50, "replace-one"), strength="exact")
    assert open_book.rejected
    assert math.isinf(open_book.lower)
    assert open_book.to_dict()["unbounded"]
    assert open_book.to_dict()["lower"] is None
    blank = audit(lambda _, bits: bits.randrange(5), [(0, 1)], ONE, strength="exact")
    assert (blank.lower, blank.delta, blank.rejected) == (0.0, 0.0, False)
    assert blank.event == "none"


def test_a_set_of_outcomes_shows_what_no_single_one_does() -> None:
    """Ten outcomes each a little likelier; unexplored mass hides each and not all."""

    def run(x: int, bits: RandomBits) -> int:
        if bits.randrange(10) == 0:
            while bits.randrange(2**40):
                pass
        if bits.randrange(5) < (4 if x else 1):
            return bits.randrange(10)
        return 10 + bits.randrange(10)

    found = audit(run, [(0, 1)], PureDP("0.8", "replace-one"), strength="exact", max_runs=1200)
    assert found.rejected
    assert found.unexplored >= 0.09
    assert "one of 10 outcomes" in found.event


@pytest.mark.parametrize(
    ("claim", "refused"),
    [
        (ApproxDP("0.8", "0.01", "replace-one"), True),
        (ApproxDP("0.8", "0.2", "replace-one"), False),
        (ZeroConcentratedDP("0.2", "replace-one"), True),
        (ZeroConcentratedDP("0.61", "replace-one"), False),
    ],
)
def test_other_notions(claim: Any, refused: bool) -> None:  # noqa: FBT001 - a parameter of a test
    """Randomized response is (0.8, 0.194) private, and its rho lies between ln(3)/2 and ln(3)^2/2."""
    found = audit(response, [(0, 1)], claim, strength="exact")
    assert found.rejected is refused
    assert found.parameter == ("rho" if isinstance(claim, ZeroConcentratedDP) else "epsilon")
    sampled = audit(None, [(0, 1)], claim, batch=response_many, samples=20_000)
    assert sampled.rejected is refused


def test_the_divergence_of_whole_laws_is_computed() -> None:
    """No coin shows as much as three outcomes do."""

    def run(x: int, bits: RandomBits) -> int:
        drawn = bits.randrange(100)
        return int(np.searchsorted((70, 90) if x else (10, 30), drawn, side="right"))

    found = audit(run, [(0, 1)], ZeroConcentratedDP("0.01", "replace-one"), strength="exact")
    p, q = np.array([0.7, 0.2, 0.1]), np.array([0.1, 0.2, 0.7])
    best = max(math.log((p**a / q ** (a - 1)).sum()) / (a - 1) / a for a in (2, 3, 4, 6, 8))
    assert found.lower >= best - 1e-9


def test_metric_privacy_is_per_unit_of_distance() -> None:
    pair = Pair(0, 1, "two places", Fraction(1, 2))
    assert not audit(response, [pair], MetricDP("2.2", unit="km"), strength="exact").rejected
    found = audit(response, [pair], MetricDP(2, unit="km"), strength="exact")
    assert found.rejected
    assert found.lower == pytest.approx(2 * math.log(3), abs=1e-12)
    assert "two places" in found.pair


def test_the_worst_pair_and_its_direction_are_named() -> None:
    pairs = [Pair(0, 0, "twins"), Pair(1, 0, "the real one")]

    def run(x: int, bits: RandomBits) -> bool:
        return bool(bits.randrange(100) < (1 if x else 30))

    found = audit(run, pairs, ONE, strength="exact")
    assert found.pair == "the real one, reversed"
    assert found.event == "the outcome True"
    assert "rejected: the claim is false" in str(found)
    assert found.pairs == 2


# Sampled.


def test_a_halved_sensitivity_is_detected_early_and_the_right_one_is_not_refused() -> None:
    found = audit(None, [(0, 2)], ONE, batch=noisy_many, samples=100_000)
    assert found.rejected
    assert 1 < found.lower <= 2
    assert found.runs < 20_000
    assert "a probability of 1.01e-9" in found.verdict
    honest = audit(None, [(0, 1)], ONE, batch=noisy_many, samples=100_000)
    assert not honest.rejected
    assert 0.85 < honest.lower <= 1
    assert honest.verdict == "not rejected: this proves nothing"


def test_one_infinite_ratio_of_a_channel_is_detected() -> None:
    """A report of probability 1/50 that one of two secrets never makes."""
    total = 2**62
    rare = total // 50
    rows = [[total // 2, total - total // 2 - rare, rare], [total // 2, total - total // 2, 0]]
    channel = Channel.from_weights(rows)

    def reports(secret: int, size: int, bits: RandomBits) -> Any:
        return channel.report_many([secret] * size, bits)

    found = audit(None, [(0, 1)], ONE, batch=reports, samples=100_000)
    assert found.rejected
    assert found.event == "the outcome 2"
    assert audit(channel.report, [(0, 1)], ONE, samples=10_000).pairs == 1


def test_independent_noise_is_told_apart_by_the_sum_of_ratios() -> None:
    """Twelve numbers, each moved by one with noise for one of them: no single one shows more than 1/2."""
    still, moved = np.zeros(12, dtype=np.int64), np.ones(12, dtype=np.int64)

    def batch(data: Any, size: int, bits: RandomBits) -> Any:
        return data + discrete_laplaces(2, 12 * size, bits).reshape(size, 12)

    found = audit(None, [(still, moved)], ONE, batch=batch, samples=40_000)
    assert found.rejected
    assert "log-likelihood ratio" in found.event or "line" in found.event


def test_a_known_score_is_used() -> None:
    """The two inputs differ in whether three numbers add up to an even one, which nothing learned would see."""

    def batch(odd: int, size: int, bits: RandomBits) -> Any:
        rows = bits.randranges(1 << 20, 3 * size).reshape(size, 3).astype(np.int64)
        rows[:, 2] ^= (rows.sum(axis=1) ^ odd) & 1
        return rows

    blind = audit(None, [(0, 1)], ONE, batch=batch, samples=8_000)
    assert not blind.rejected
    found = audit(
        None,
        [(0, 1)],
        ONE,
        batch=batch,
        samples=8_000,
        scores={"parity": lambda r: r.sum(axis=1) % 2},
    )
    assert found.rejected
    assert found.event.startswith("parity")


def test_outcomes_that_are_no_numbers_are_named() -> None:
    def run(x: int, bits: RandomBits) -> Any:
        return ("never",) if x and bits.randrange(3) == 0 else ["often", bits.randrange(2)]

    found = audit(run, [(0, 1)], ONE, samples=4_000)
    assert found.rejected
    assert found.event == "the outcome ('never',)"


def test_gaussian_noise_is_refused_below_its_rho() -> None:
    def batch(x: int, size: int, bits: RandomBits) -> Any:
        return x + discrete_gaussians(1, size, bits)

    assert audit(None, [(0, 1)], ZeroConcentratedDP("0.25", "replace-one"), batch=batch).rejected
    assert not audit(None, [(0, 1)], ZeroConcentratedDP("0.5", "replace-one"), batch=batch).rejected


def test_bounds_cover_with_the_stated_probability() -> None:
    """Exactly, from the binomial law: the share of counts whose bound misses is at most the failure."""
    for n in (1, 7, 60):
        counts = np.arange(n + 1)
        for failure in (0.3, 0.01):
            low, high = least_chance(counts, n, failure), most_chance(counts, n, failure)
            assert (low <= counts / n).all()
            assert (high >= counts / n).all()
            for p in np.linspace(0, 1, 101):
                law = stats.binom.pmf(counts, n, p)
                assert law[low > p].sum() <= failure + 1e-12
                assert law[high < p].sum() <= failure + 1e-12


def test_a_true_claim_is_refused_as_seldom_as_stated() -> None:
    """A thousand audits of randomized response at its own epsilon with a failure of 1/4."""
    claim = PureDP(Fraction(math.log(3) + 1e-12), "replace-one")
    bits = SeededBits(5)
    refused = sum(
        audit(
            None, [(0, 1)], claim, batch=response_many, samples=200, failure=0.25, bits=bits
        ).rejected
        for _ in range(300)
    )
    assert refused <= stats.binom.isf(1e-6, 300, 0.25)
    missed = sum(
        audit(
            None, [(0, 1)], claim, batch=response_many, samples=200, failure=0.25, bits=bits
        ).lower
        > math.log(3)
        for _ in range(100)
    )
    assert missed <= stats.binom.isf(1e-6, 100, 0.25)


def test_bounds_that_ignored_chance_would_be_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same simulation refuses an audit that takes shares for probabilities."""

    def plain(successes: Any, trials: int, _: float) -> Any:
        return np.asarray(successes) / trials

    monkeypatch.setattr("discreet.evaluate.audit.sampled.least_chance", plain)
    monkeypatch.setattr("discreet.evaluate.audit.sampled.most_chance", plain)
    claim = PureDP(Fraction(math.log(3) + 1e-12), "replace-one")
    bits = SeededBits(6)
    refused = sum(
        audit(
            None, [(0, 1)], claim, batch=response_many, samples=200, failure=0.25, bits=bits
        ).rejected
        for _ in range(300)
    )
    assert refused > stats.binom.isf(1e-6, 300, 0.25)


@pytest.mark.parametrize("strength_asked", ["exact", "sampled"])
def test_an_executor_gives_the_same_verdict(strength_asked: Any) -> None:
    claim = PureDP("0.6", "replace-one")
    with ThreadPoolExecutor(2) as threads:
        found = audit(
            response, [(0, 1)], claim, strength=strength_asked, samples=8_000, executor=threads
        )
    assert found.rejected
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as processes:
        found = audit(
            response, [(0, 1)], claim, strength=strength_asked, samples=5_000, executor=processes
        )
    assert found.rejected


def test_stages_double_and_tell_where_they_stand() -> None:
    told: list[tuple[int, float]] = []
    audit(
        None,
        [(0, 1)],
        PureDP(2, "replace-one"),
        batch=response_many,
        samples=9_000,
        on_stage=lambda n, e: told.append((n, e)),
    )
    assert [n for n, _ in told] == list(np.cumsum(stages(9_000)))[1:]
    assert [e for _, e in told] == sorted(e for _, e in told)


def test_many_pairs_are_narrowed_to_the_promising_ones() -> None:
    drawn: dict[int, int] = {}

    def batch(x: int, size: int, bits: RandomBits) -> Any:
        drawn[x] = drawn.get(x, 0) + size
        return discrete_laplaces(1, size, bits) + (x == 99)

    pairs = [Pair(x, x + 1, f"{x}") for x in range(0, 20, 2)] + [Pair(98, 99, "apart")]
    found = audit(None, pairs, PureDP("1.2", "replace-one"), batch=batch, samples=20_000)
    assert found.pair.startswith("apart")
    assert drawn[99] == 20_000
    assert sum(n == 20_000 for n in drawn.values()) < len(drawn)


def test_runs_are_the_most_samples_of_one_input() -> None:
    """The pair with the best bound need not be followed to the end: `runs` is not its number of samples."""
    drawn: dict[int, int] = {}
    stages_seen: list[int] = []

    def batch(x: int, size: int, bits: RandomBits) -> Any:
        drawn[x] = drawn.get(x, 0) + size
        return discrete_laplaces(1, size, bits)

    pairs = [Pair(x, x + 1, f"{x}") for x in range(0, 20, 2)]
    plan = PureDP(3, "replace-one")
    found = audit(
        None,
        pairs,
        plan,
        batch=batch,
        samples=9_000,
        on_stage=lambda n, _: stages_seen.append(n),
    )
    assert not found.rejected
    assert found.runs == stages_seen[-1] == max(drawn.values())
    assert min(drawn.values()) < found.runs


# Words, numbers and refusals.


def test_a_record_goes_to_json_and_prints() -> None:
    found = audit(response, [Pair(0, 1, "both")], ONE, strength="exact")
    data = json.loads(json.dumps(found.to_dict()))
    assert data["rejected"]
    assert data["claimed"] == 1
    assert data["guarantee"]["kind"] == "pure-dp"
    assert str(found).splitlines()[0] == "claimed   epsilon = 1"
    assert "on both: 0.75 or more against 0.25 or less" in str(found)


def test_strength_is_rounded_down_and_floats_only_choose() -> None:
    p, q = Fraction(3, 10), Fraction(1, 10)
    for claim in (ONE, ApproxDP(1, "0.05", "replace-one"), ZeroConcentratedDP(1, "replace-one")):
        exact = strength(claim, p, q, None)
        rough = rough_strength(claim, np.array([0.3]), np.array([0.1]), None)[0]
        assert exact == pytest.approx(rough, abs=1e-9)
        assert strength(claim, q, p, None) == 0
        assert strength(claim, p, Fraction(0), None) == -1
    assert strength(ONE, p, q, None) <= Fraction(math.nextafter(math.log(3), 2))
    whole = strength(ZeroConcentratedDP(1, "replace-one"), Fraction(1), Fraction(1, 2), None)
    assert whole == pytest.approx(math.log(2), abs=1e-9)
    assert strength(MetricDP(1, "km"), p, q, Fraction(2)) == strength(ONE, p, q, None) / 2


def test_names_of_rows_are_left_out_where_few_repeat() -> None:
    """Rows of wide noise are all different: only coordinates are learned."""
    bits = SeededBits(1)
    one, other = (discrete_laplaces(50, 800, bits).reshape(200, 4).astype(float) for _ in range(2))
    events = learn(one, other, ONE, None, trials=200, failure=0.01, own=())
    assert not any(event.score.by_outcome for event in events)
    one, other = (bits.randranges(3, 200).astype(float)[:, None] for _ in range(2))
    assert any(
        event.score.by_outcome
        for event in learn(one, other, ONE, None, trials=200, failure=0.01, own=())
    )


def never(data: object, size: int, bits: RandomBits) -> list[int]:
    return [0] * (size - 1)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"pairs": []}, "pairs"),
        ({"pairs": [Pair(0, 1, "", Fraction(1))]}, "a distance"),
        ({"guarantee": KAnonymity(2, ("age",))}, "guarantee"),
        ({"guarantee": MetricDP(1, "km")}, "a distance"),
        ({"strength": "hopeful"}, "strength"),
        ({"strength": "exact", "run": None}, "run"),
        ({"run": None}, "run"),
        ({"failure": 0.0}, "failure"),
        ({"samples": 10}, "samples"),
        ({"executor": "any", "bits": SeededBits(1)}, "bits"),
        ({"batch": never, "run": None}, "batch"),
    ],
)
def test_what_makes_no_sense_is_refused(change: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {"run": response, "pairs": [(0, 1)], "guarantee": ONE} | change
    with pytest.raises(InvalidProblemError, match=message):
        audit(given.pop("run"), given.pop("pairs"), given.pop("guarantee"), **given)
    with pytest.raises(InvalidProblemError, match="distance"):
        Pair(0, 1, "", Fraction(0))


def test_laws_that_are_known_are_judged() -> None:
    from discreet.core.randomness.replay import enumerate_law

    laws = [enumerate_law(lambda bits, x=x: response(x, bits)) for x in (0, 1)]  # type: ignore[misc] # bound early
    found = audit_laws([(laws[0], laws[1])], [Pair(0, 1, "laws")], ONE)
    assert found.rejected
    assert isinstance(found, Audit)


def test_a_delta_of_draws_that_were_not_replayed_is_said_to_be_that() -> None:
    claim = PureDP(1, "replace-one")
    known: dict[str, Any] = {"strength": "exact", "parameter": "epsilon", "claimed": Fraction(1)}
    made = Audit(claim, lower=0.5, rejected=False, delta=0.51, unexplored=0.5, **known)
    assert "up to delta 0.511, of which up to 0.5 is draws that were not replayed;" in made.verdict
    whole = Audit(claim, lower=0.5, rejected=False, delta=0.51, **known)
    assert "not replayed" not in whole.verdict
