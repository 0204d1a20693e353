"""The methods by the names that people type: one table for commands, comparisons and reports.

Values are ``"module:class"``; nothing is imported before it is asked for.
"""

from __future__ import annotations

__all__ = ["BASELINES", "METHODS"]

BASELINES: dict[str, str] = {
    "constant": "discreet.metricdp.baselines:BestConstant",
    "constopt": "discreet.metricdp.constopt:ConstOPT",
    "exponential": "discreet.metricdp.baselines:Exponential",
    "exponential-remap": "discreet.metricdp.remap:exponential_remap",
    "multivariate-laplace": "discreet.metricdp.multivariate:MultivariateLaplace",
    "planar-laplace": "discreet.metricdp.baselines:PlanarLaplace",
    "planar-laplace-remap": "discreet.metricdp.remap:planar_laplace_remap",
    "tem": "discreet.metricdp.truncated:TruncatedExponential",
    "uniform": "discreet.metricdp.baselines:Uniform",
}
"""What optimal channels are compared with; none gives a lower bound."""

METHODS: dict[str, str] = {
    "anchored": "discreet.metricdp.anchored:Anchored",
    "benders": "discreet.metricdp.benders:Benders",
    "columns": "discreet.metricdp.columns:Columns",
    "direct": "discreet.metricdp.direct:Direct",
    "kernel": "discreet.metricdp.kernel:Kernel",
    "spanner": "discreet.metricdp.spanner:Spanner",
    "primal-dual": "discreet.metricdp.primaldual:PrimalDual",
    **BASELINES,
}
"""Everything that ``design`` takes as its method, with default parameters."""
