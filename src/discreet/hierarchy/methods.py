"""The methods by the names that people type: one table for commands, comparisons and reports.

Values are ``"module:class"``; nothing is imported before it is asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, cast

from discreet.core.errors import InvalidProblemError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from discreet.hierarchy.measure import Measured
    from discreet.hierarchy.sensitivity import Kind

__all__ = ["METHODS", "Method", "method_name", "method_named"]

METHODS: dict[str, str] = {
    "bottom_up": "discreet.hierarchy.baselines:BottomUp",
    "bottom_up_cumulative": "discreet.hierarchy.baselines:BottomUpCumulative",
    "clipped": "discreet.hierarchy.baselines:Clipped",
    "hay_sorted": "discreet.hierarchy.hay:HaySorted",
    "hay_tree": "discreet.hierarchy.hay:HayTree",
    "kuo_h_c": "discreet.hierarchy.kuo:KuoHc",
    "kuo_h_g": "discreet.hierarchy.kuo:KuoHg",
    "kuo_naive": "discreet.hierarchy.kuo:KuoNaive",
    "m_c": "discreet.hierarchy.m_c:MC",
    "m_c_ch": "discreet.hierarchy.m_c_ch:MCChain",
    "m_c_ch_calibrated": "discreet.hierarchy.m_c_ch:calibrated_chain",
    "m_c_dp": "discreet.hierarchy.m_c_dp:MCDP",
    "m_c_dp_weighted": "discreet.hierarchy.m_c_dp:weighted",
    "m_c_joint": "discreet.hierarchy.joint:Joint",
    "m_c_r": "discreet.hierarchy.m_c_r:MCRelaxed",
    "m_dp_op": "discreet.hierarchy.m_dp_op:MDPOP",
    "m_h": "discreet.hierarchy.m_h:MH",
    "m_h_dp": "discreet.hierarchy.m_h_dp:MHDP",
    "m_h_r": "discreet.hierarchy.m_h_r:MHRelaxed",
    "raw": "discreet.hierarchy.baselines:RawNoisy",
    "top_down_a": "discreet.hierarchy.top_down:TopDown",
    "top_down_b": "discreet.hierarchy.top_down:top_down_b",
    "top_down_cumulative": "discreet.hierarchy.top_down:TopDownCumulative",
}
"""Everything that ``release`` or ``reproduce`` takes as its method, with default parameters."""


class Method(Protocol):
    """What a method is: frozen parameters, what it wants measured, and post-processing.

    A method may have more: ``only_leaves``, true where it makes no use of the levels above; ``needs``, what it asks of
    the public facts (:data:`discreet.hierarchy.survival.Need`), so that a release is refused before it is paid for;
    ``promises``, what its counts satisfy (:data:`discreet.hierarchy.verify.PROMISES` when absent); ``unproven``, the
    reason why it has no guarantee, empty where it has one; and ``as_published(frame, guarantee, shares)``, which then
    gives the guarantee that the published noise really has, and the shares of the levels in it.
    """

    kind: ClassVar[Kind]
    integral: ClassVar[bool]

    def solve(
        self, measured: Measured, *, on_progress: Callable[[str], None] | None = None
    ) -> NDArray[Any]:
        """Compute counts ``(n_nodes, n_sizes)`` from noisy values and public facts alone."""
        ...


def method_named(name: str) -> Method:
    """Make the method of a name, with its default parameters.

    Raises
    ------
    InvalidProblemError
        For a name that is not in the table.

    Examples
    --------
    >>> method_named("top_down_b")
    TopDown(variant='b')
    """
    if name not in METHODS:
        raise InvalidProblemError("method", f"one of {', '.join(sorted(METHODS))}", repr(name))
    module, maker = METHODS[name].split(":")
    return cast("Method", getattr(import_module(module), maker)())


def method_name(method: Method) -> str:
    """Find the name that a method has in the table; else that of its class.

    Examples
    --------
    >>> from discreet.hierarchy.top_down import TopDown
    >>> method_name(TopDown("b"))
    'top_down_b'
    """
    own = f"{type(method).__module__}:"
    for name, where in METHODS.items():
        if where.startswith(own) and method_named(name) == method:
            return name
    named = (name for name, where in METHODS.items() if where == own + type(method).__name__)
    return next(named, type(method).__name__)
