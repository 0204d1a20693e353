"""Methods by name: one table for ``method=``, commands, comparisons, audits and reports."""

from __future__ import annotations

from discreet.core.method import MethodRecord, Methods

__all__ = ["BASELINES", "METHODS"]

_HERE = "discreet.metricdp.methods"
_CLAIM = "metric DP"
_PUBLISHED = "discreet_reproduction.metricdp.as_published.decomposition"

BASELINES = Methods(
    [
        MethodRecord(
            "constant", f"{_HERE}.baselines:BestConstant", "always the cheapest report", _CLAIM
        ),
        MethodRecord(
            "constopt",
            f"{_HERE}.constopt:ConstOPT",
            "an exponential form far away, a linear program near by",
            _CLAIM,
        ),
        MethodRecord(
            "exponential", f"{_HERE}.baselines:Exponential", "the exponential mechanism", _CLAIM
        ),
        MethodRecord(
            "exponential-remap",
            f"{_HERE}.remap:exponential_remap",
            "the exponential mechanism, then the Bayes remap",
            _CLAIM,
        ),
        MethodRecord(
            "multivariate-laplace",
            f"{_HERE}.multivariate:MultivariateLaplace",
            "noise around a word's vector, then the nearest word",
            _CLAIM,
        ),
        MethodRecord(
            "planar-laplace",
            f"{_HERE}.baselines:PlanarLaplace",
            "planar Laplace noise, moved to the nearest report",
            _CLAIM,
        ),
        MethodRecord(
            "planar-laplace-remap",
            f"{_HERE}.remap:planar_laplace_remap",
            "planar Laplace noise, then the Bayes remap",
            _CLAIM,
        ),
        MethodRecord(
            "tails-and-hub",
            f"{_HERE}.hub:TailsAndHub",
            "exponential tails with the best heights, the rest to one report",
            _CLAIM,
        ),
        MethodRecord(
            "tem",
            f"{_HERE}.truncated:TruncatedExponential",
            "the truncated exponential mechanism for words",
            _CLAIM,
        ),
        MethodRecord(
            "uniform", f"{_HERE}.baselines:Uniform", "any report, each equally likely", _CLAIM
        ),
    ]
)
"""Methods without a lower bound, with which optimal channels are compared."""

METHODS = Methods(
    [
        MethodRecord(
            "benders",
            f"{_HERE}.benders:Benders",
            "Benders decomposition along a partition of the secrets",
            _CLAIM,
        ),
        MethodRecord(
            "direct", f"{_HERE}.direct:Direct", "the linear program as a whole, by HiGHS", _CLAIM
        ),
        MethodRecord(
            "kernel", f"{_HERE}.kernel:Kernel", "the closed form, where it is a channel", _CLAIM
        ),
        MethodRecord(
            "spanner",
            f"{_HERE}.spanner:Spanner",
            "the linear program on a spanner, at a smaller epsilon",
            _CLAIM,
        ),
        MethodRecord(
            "primal-dual",
            f"{_HERE}.primal_dual:PrimalDual",
            "restarted primal-dual steps on the whole program",
            _CLAIM,
        ),
        *BASELINES.values(),
        MethodRecord(
            "as-published",
            f"{_PUBLISHED}:as_published",
            "the decomposition as it was printed",
            None,
            "its cut counts the boundary's cost twice and its floats are private up to tolerances only; "
            "'benders' is the sound form",
        ),
        MethodRecord(
            "as-released",
            f"{_PUBLISHED}:as_released",
            "the decomposition as its code was released",
            None,
            "it relaxes every ratio constraint by 0.01; 'benders' is the sound form",
        ),
    ]
)
"""Methods of ``design`` with default parameters, and methods without a guarantee, which it refuses with the reason."""
