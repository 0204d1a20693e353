"""The methods by the names that people type: one table for the library, commands, comparisons and reports.

Values are ``"module:class"``; nothing is imported before a method is made.
"""

from __future__ import annotations

import difflib
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, cast

from discreet.core.errors import InvalidProblemError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from discreet.hierarchy.measure import Measured
    from discreet.hierarchy.sensitivity import Kind

__all__ = ["DEFAULT", "METHODS", "Method", "method_name", "method_named", "quick_methods", "reason"]

DEFAULT = "m-c-dp-weighted"
"""The method of ``method=None``, whatever the data."""

METHODS: dict[str, str] = {
    "bottom-up": "discreet.hierarchy.methods.baselines:BottomUp",
    "bottom-up-cumulative": "discreet.hierarchy.methods.baselines:BottomUpCumulative",
    "clipped": "discreet.hierarchy.methods.baselines:Clipped",
    "hay-sorted": "discreet.hierarchy.methods.hay:HaySorted",
    "hay-tree": "discreet.hierarchy.methods.hay:HayTree",
    "kuo-h-c": "discreet.hierarchy.methods.kuo:KuoHc",
    "kuo-h-g": "discreet.hierarchy.methods.kuo:KuoHg",
    "kuo-naive": "discreet.hierarchy.methods.kuo:KuoNaive",
    "m-c": "discreet.hierarchy.methods.m_c:MC",
    "m-c-ch": "discreet.hierarchy.as_published.m_c_ch:ChainAsPublished",
    "m-c-ch-calibrated": "discreet.hierarchy.methods.m_c_ch:Chain",
    "m-c-dp": "discreet.hierarchy.methods.m_c_dp:MCDP",
    "m-c-dp-weighted": "discreet.hierarchy.methods.m_c_dp:weighted",
    "m-c-joint": "discreet.hierarchy.methods.joint:Joint",
    "m-c-r": "discreet.hierarchy.methods.m_c_r:MCRelaxed",
    "m-dp-op": "discreet.hierarchy.methods.m_dp_op:MDPOP",
    "m-h": "discreet.hierarchy.methods.m_h:MH",
    "m-h-dp": "discreet.hierarchy.methods.m_h_dp:MHDP",
    "m-h-r": "discreet.hierarchy.methods.m_h_r:MHRelaxed",
    "raw": "discreet.hierarchy.methods.baselines:RawNoisy",
    "top-down-a": "discreet.hierarchy.methods.top_down:TopDown",
    "top-down-b": "discreet.hierarchy.methods.top_down:top_down_b",
    "top-down-cumulative": "discreet.hierarchy.methods.top_down:TopDownCumulative",
}
"""Everything that ``plan``, ``release`` or ``reproduce`` takes as its method, with default parameters."""

_SLOW = frozenset({"m-c", "m-dp-op", "m-h"})
"""Methods that solve integer programs cell by cell: exact references, for small trees."""


class Method(Protocol):
    """What a method is: frozen parameters, what it measures, and post-processing.

    A method may have more: ``only_leaves``, true where it makes no use of the levels above; ``needs``, what it requires
    of the public facts (:data:`discreet.hierarchy.survival.Need`), so that a release is refused before it is charged;
    ``promises``, what its counts satisfy (:data:`discreet.hierarchy.verify.PROMISES` when absent); ``unproven``, the
    reason why it has no guarantee, empty where it has one; and ``as_published(frame, guarantee, shares)``, which then
    gives the guarantee that the published noise really has, and the shares of the levels in it.
    """

    kind: ClassVar[Kind]
    integral: ClassVar[bool]

    def solve(
        self, measured: Measured, *, on_progress: Callable[[str], None] | None = None
    ) -> NDArray[Any]:
        """Compute counts from noisy values and public facts alone: post-processing, which costs no budget.

        Parameters
        ----------
        measured
            Noisy values of the method's ``kind``.
        on_progress
            Called with a few words about each step; they depend on the noisy values alone.

        Returns
        -------
        ndarray
            ``(n_nodes, n_sizes)`` counts: whole, not negative, and those of a region the sum of those below it, unless
            the class says otherwise.

        Raises
        ------
        InvalidProblemError
            For measurements of another kind, or of levels that the method needs and that were not measured.
        """
        ...


def method_named(method: Method | str | None) -> Method:
    """Give the method of a name with its default parameters, or the method itself; the default for ``None``.

    Parameters
    ----------
    method
        A method, or a name of :data:`METHODS`; underscores, as in artefacts of earlier versions, are read as hyphens.

    Raises
    ------
    InvalidProblemError
        For an unknown name, with the nearest one; for a class; for anything else that is no method.

    Examples
    --------
    >>> method_named("top-down-b"), method_named("top_down_a")
    (TopDown(variant='b'), TopDown(variant='a'))
    >>> method_named("m-cdp")
    Traceback (most recent call last):
    discreet.core.errors.InvalidProblemError: method: expected a registered name, such as m-c-dp, got 'm-cdp'
    """
    if method is None:
        return method_named(DEFAULT)
    if isinstance(method, str):
        name = method.replace("_", "-")
        if name not in METHODS:
            raise InvalidProblemError("method", _allowed(name), repr(method))
        module, maker = METHODS[name].split(":")
        return cast("Method", getattr(import_module(module), maker)())
    if isinstance(method, type):
        expected = f"an instance, {method.__name__}(...), or a registered name"
        raise InvalidProblemError("method", expected, f"the class {method.__name__}")
    if not hasattr(method, "kind") or not callable(getattr(method, "solve", None)):
        expected = f"a method, or one of {', '.join(METHODS)}"
        raise InvalidProblemError("method", expected, type(method).__name__)
    return method


def _allowed(name: str) -> str:
    """Name the nearest method, or all of them where none is near."""
    near = difflib.get_close_matches(name, METHODS, n=1)
    return f"a registered name, such as {near[0]}" if near else f"one of {', '.join(METHODS)}"


def method_name(method: Method) -> str:
    """Find the name that a method has in the table; else that of its class.

    Examples
    --------
    >>> from discreet.hierarchy.methods.top_down import TopDown
    >>> method_name(TopDown("b"))
    'top-down-b'
    """
    own = f"{type(method).__module__}:"
    for name, where in METHODS.items():
        if where.startswith(own) and method_named(name) == method:
            return name
    named = (name for name, where in METHODS.items() if where == own + type(method).__name__)
    return next(named, type(method).__name__)


def reason(method: Method) -> str:
    """Say why a method has no guarantee; empty where it has one."""
    return str(getattr(method, "unproven", ""))


@cache
def quick_methods() -> tuple[str, ...]:
    """Name the methods with a guarantee that are quick at any size, sorted.

    Examples
    --------
    >>> "m-c-dp" in quick_methods(), "m-c-ch" in quick_methods()
    (True, False)
    """
    return tuple(
        name for name in sorted(METHODS) if name not in _SLOW and not reason(method_named(name))
    )
