"""The methods by the names that people type: one table for ``method=``, commands, comparisons, audits and reports."""

from __future__ import annotations

from discreet.core.method import MethodRecord, Methods

__all__ = ["METHODS", "WITHOUT_GUARANTEE"]

_HERE = "discreet.submodular.methods"
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
    ("algorithm-1", "algorithm_1:Algorithm1", "continuous greedy on a covering, tiny sets"),
    ("algorithm-3", "algorithm_3:Algorithm3", "greedy by the exponential mechanism"),
    (
        "algorithm-4",
        "algorithm_4:Algorithm4",
        "the same among a sample of the candidates, uniform matroids only",
    ),
    (
        "badanidiyuru-vondrak",
        "badanidiyuru_vondrak:BadanidiyuruVondrak",
        "continuous greedy in rounds of one element after another",
    ),
    (
        "base-continuous-greedy",
        "bases:BaseContinuousGreedy",
        "continuous greedy by whole bases",
    ),
    ("gupta", "gupta:Gupta", "greedy with the accounting of Gupta and others, 2010"),
    (
        "measured-continuous-greedy",
        "bases:MeasuredContinuousGreedy",
        "measured continuous greedy by whole bases",
    ),
    ("mitrovic", "mitrovic:Mitrovic", "greedy with the accounting of Mitrovic and others, 2017"),
    ("part-sampled", "part_sampled:PartSampled", "greedy among a sample of each part"),
    ("permute-and-flip", "permute_and_flip:PermuteAndFlip", "greedy by permute-and-flip"),
    ("random-base", "baselines:RandomBase", "any base, without reading the records"),
    ("subsampled", "subsampled:Subsampled", "greedy on a secret subsample of the records"),
    (
        "subsampled-rounds",
        "subsampled_rounds:SubsampledRounds",
        "continuous greedy on a secret subsample of the records",
    ),
)
"""Name, module and class, and one line of help."""

_UNPROVEN = (
    (
        "algorithm-4-as-published",
        "algorithm_4:Algorithm4",
        "Algorithm 4 under any matroid",
        _EXCHANGE,
    ),
    ("continuous-greedy", "baselines:ContinuousGreedy", "continuous greedy, rounded", _NO_NOISE),
    ("lazy-greedy", "baselines:LazyGreedy", "greedy with lazy evaluation", _NO_NOISE),
    ("non-private-greedy", "baselines:Greedy", "greedy", _NO_NOISE),
    (
        "stochastic-greedy",
        "baselines:StochasticGreedy",
        "greedy among random candidates",
        _NO_NOISE,
    ),
)
"""Name, module and class, one line of help, and the reason why there is no guarantee."""

WITHOUT_GUARANTEE = Methods(
    [
        MethodRecord(
            "algorithm-2",
            "discreet_reproduction.submodular.as_published.algorithm_2:Algorithm2",
            "the improved continuous greedy as published",
            None,
            _LAYERS,
        ),
        *(
            MethodRecord(name, f"{_HERE}.{where}", summary, None, reason)
            for name, where, summary, reason in _UNPROVEN
        ),
    ],
    protocol=("choose",),
)
"""Methods that ``reproduce`` runs: without noise, or with a published claim that is false."""

METHODS = Methods(
    [
        *(
            MethodRecord(name, f"{_HERE}.{where}", summary, "differential privacy")
            for name, where, summary in _PROVEN
        ),
        *WITHOUT_GUARANTEE.values(),
    ],
    protocol=("plan", "choose"),
)
"""All methods. ``plan`` and ``release`` take those of ``METHODS.proven``, which have a guarantee."""
