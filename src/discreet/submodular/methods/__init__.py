"""The methods by the names that people type: one table for ``method=``, commands, comparisons, audits and reports."""

from __future__ import annotations

from discreet.core.method import MethodRecord, Methods

__all__ = ["METHODS", "WITHOUT_GUARANTEE"]

_HERE = "discreet.submodular.methods"
_PUBLISHED = "discreet_reproduction.submodular.as_published"
_CLAIM = "differential privacy"
_NO_NOISE = "no noise is added: the chosen set is a function of the records."
_LAYERS = (
    "Theorem 4.5 is false: scores rounded down to layers are more sensitive than its proof says, by "
    "eps0 ln(1+mu)/Delta a step, so that two neighbors can differ by e^0.5 where e^0.02 is claimed; the number of "
    "layers depends on the records, too. Theorem 4.4 is false as well: a uniform sample misses the rare good points."
)
_EXCHANGE = (
    "Theorem 5.7 is false beyond uniform matroids: the exchange needs an element that depends on the chosen one, and "
    "it may not have been among the candidates. With fifty parts, one of which holds a jewel among decoys, half of the "
    "optimum is reached with probability 0.15, and 0.9 is claimed."
)

_PROVEN = (
    (
        "algorithm-1",
        f"{_HERE}.algorithm_1:Algorithm1",
        "continuous greedy on a covering, tiny sets",
    ),
    ("algorithm-3", f"{_HERE}.algorithm_3:Algorithm3", "greedy by the exponential mechanism"),
    (
        "algorithm-4",
        f"{_HERE}.algorithm_4:Algorithm4",
        "the same among a sample of the candidates, uniform matroids only",
    ),
    (
        "badanidiyuru-vondrak",
        f"{_HERE}.badanidiyuru_vondrak:BadanidiyuruVondrak",
        "continuous greedy in rounds of one element after another",
    ),
    (
        "base-continuous-greedy",
        f"{_HERE}.bases:BaseContinuousGreedy",
        "continuous greedy by whole bases",
    ),
    ("gupta", f"{_HERE}.gupta:Gupta", "greedy with the accounting of Gupta and others, 2010"),
    (
        "measured-continuous-greedy",
        f"{_HERE}.bases:MeasuredContinuousGreedy",
        "measured continuous greedy by whole bases",
    ),
    (
        "mitrovic",
        f"{_HERE}.mitrovic:Mitrovic",
        "greedy with the accounting of Mitrovic and others, 2017",
    ),
    ("part-sampled", f"{_HERE}.part_sampled:PartSampled", "greedy among a sample of each part"),
    ("permute-and-flip", f"{_HERE}.permute_and_flip:PermuteAndFlip", "greedy by permute-and-flip"),
    ("random-base", f"{_HERE}.baselines:RandomBase", "any base, without reading the records"),
    ("subsampled", f"{_HERE}.subsampled:Subsampled", "greedy on a secret subsample of the records"),
    (
        "subsampled-rounds",
        f"{_HERE}.subsampled_rounds:SubsampledRounds",
        "continuous greedy on a secret subsample of the records",
    ),
)
"""Name, module and class, and one line of help."""

WITHOUT_GUARANTEE = Methods(
    [
        MethodRecord(name, where, summary, None, why)
        for name, where, summary, why in (
            (
                "algorithm-2",
                f"{_PUBLISHED}.algorithm_2:Algorithm2",
                "the improved continuous greedy as published",
                _LAYERS,
            ),
            (
                "algorithm-4-as-published",
                f"{_HERE}.algorithm_4:Algorithm4",
                "Algorithm 4 under any matroid",
                _EXCHANGE,
            ),
            (
                "continuous-greedy",
                f"{_HERE}.baselines:ContinuousGreedy",
                "continuous greedy, rounded",
                _NO_NOISE,
            ),
            (
                "lazy-greedy",
                f"{_HERE}.baselines:LazyGreedy",
                "greedy with lazy evaluation",
                _NO_NOISE,
            ),
            ("non-private-greedy", f"{_HERE}.baselines:Greedy", "greedy", _NO_NOISE),
            (
                "stochastic-greedy",
                f"{_HERE}.baselines:StochasticGreedy",
                "greedy among random candidates",
                _NO_NOISE,
            ),
        )
    ],
    protocol=("choose",),
)
"""What ``reproduce`` takes: without noise, or with a published claim that is false."""

METHODS = Methods(
    [
        *(MethodRecord(name, where, summary, _CLAIM) for name, where, summary in _PROVEN),
        *WITHOUT_GUARANTEE.values(),
    ],
    protocol=("plan", "choose"),
)
"""Everything; what ``plan`` and ``release`` take are those that have a guarantee, ``METHODS.proven``."""
