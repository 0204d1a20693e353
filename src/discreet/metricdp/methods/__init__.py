"""Methods by name: one table for ``method=``, commands, comparisons, audits and reports."""

from __future__ import annotations

from discreet.core.method import MethodRecord, Methods

__all__ = ["BASELINES", "METHODS"]

_HERE = "discreet.metricdp.methods"
_CLAIM = "metric DP"
_PUBLISHED = "discreet_reproduction.metricdp.as_published.decomposition"

_EXPONENTIAL, _LAPLACE = "the exponential mechanism", "planar Laplace noise"
_BASELINES = (
    ("constant", "baselines:BestConstant", "always the cheapest report"),
    ("constopt", "constopt:ConstOPT", "an exponential form far away, a linear program near by"),
    ("exponential", "baselines:Exponential", _EXPONENTIAL),
    ("exponential-remap", "remap:exponential_remap", f"{_EXPONENTIAL}, then the Bayes remap"),
    (
        "multivariate-laplace",
        "multivariate:MultivariateLaplace",
        "noise around a word's vector, then the nearest word",
    ),
    ("planar-laplace", "baselines:PlanarLaplace", f"{_LAPLACE}, moved to the nearest report"),
    ("planar-laplace-remap", "remap:planar_laplace_remap", f"{_LAPLACE}, then the Bayes remap"),
    (
        "tails-and-hub",
        "hub:TailsAndHub",
        "exponential tails with the best heights, the rest to one report",
    ),
    ("tem", "truncated:TruncatedExponential", "the truncated exponential mechanism for words"),
    ("uniform", "baselines:Uniform", "any report, each equally likely"),
)
_BOUNDED = (
    ("benders", "benders:Benders", "Benders decomposition along a partition of the secrets"),
    ("direct", "direct:Direct", "the linear program as a whole, by HiGHS"),
    ("kernel", "kernel:Kernel", "the closed form, where it is a channel"),
    ("spanner", "spanner:Spanner", "the linear program on a spanner, at a smaller epsilon"),
    ("primal-dual", "primal_dual:PrimalDual", "restarted primal-dual steps on the whole program"),
)
"""Name, module and maker, and summary of each method: without a lower bound, and with one."""

_NO_GUARANTEE = (
    (
        "as-published",
        "the decomposition as it was printed",
        (
            "its cut counts the boundary's cost twice and its floats are private up to tolerances only; "
            "'benders' is the sound form"
        ),
    ),
    (
        "as-released",
        "the decomposition as its code was released",
        "it relaxes every ratio constraint by 0.01; 'benders' is the sound form",
    ),
)

BASELINES = Methods(
    MethodRecord(name, f"{_HERE}.{where}", summary, _CLAIM) for name, where, summary in _BASELINES
)
"""Methods without a lower bound, with which optimal channels are compared."""

METHODS = Methods(
    [
        *(MethodRecord(name, f"{_HERE}.{at}", summary, _CLAIM) for name, at, summary in _BOUNDED),
        *BASELINES.values(),
        *(
            MethodRecord(name, f"{_PUBLISHED}:{name.replace('-', '_')}", summary, None, why)
            for name, summary, why in _NO_GUARANTEE
        ),
    ]
)
"""Methods of ``design`` with default parameters, and methods without a guarantee, which it refuses with the reason."""
