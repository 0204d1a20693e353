"""The methods by the names that people type: one table for ``method=``, commands, comparisons, audits and reports."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from discreet.core.method import MethodRecord, Methods
from discreet.hierarchy.survival import Tell

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.hierarchy.measure import Measured
    from discreet.hierarchy.sensitivity import Kind

__all__ = ["DEFAULT", "METHODS", "Method", "Tell", "quick_methods", "reason"]

DEFAULT = "m-c-dp-weighted"
"""The method of ``method=None``, whatever the data."""

_PUBLISHED = "discreet_reproduction.hierarchy.as_published"
_HERE = "discreet.hierarchy.methods"
_CLAIM = "differential privacy"

_PROVEN = (
    ("bottom-up", "baselines:BottomUp", "all budget at the lowest regions, sums above"),
    (
        "bottom-up-cumulative",
        "baselines:BottomUpCumulative",
        "the same from cumulative counts, made monotone",
    ),
    ("clipped", "baselines:Clipped", "noisy counts, whole and not below zero, that do not add up"),
    ("hay-sorted", "hay:HaySorted", "sorted group sizes, made monotone: Hay and others, 2010"),
    ("hay-tree", "hay:HayTree", "counts made to add up by least squares: Hay and others, 2010"),
    (
        "kuo-h-c",
        "kuo:KuoHc",
        "cumulative counts of each region, then matched down the tree: Kuo and others, 2018",
    ),
    (
        "kuo-h-g",
        "kuo:KuoHg",
        "sorted group sizes, then matched down the tree: Kuo and others, 2018",
    ),
    (
        "kuo-naive",
        "kuo:KuoNaive",
        "noisy counts on the simplex, then matched down the tree: Kuo and others, 2018",
    ),
    ("m-c", "m_c:MC", "the joint cumulative problem in whole numbers: Model 2, small trees only"),
    (
        "m-c-ch-calibrated",
        "m_c_ch:Chain",
        "the chain of cumulative counts, with noise for its sensitivity",
    ),
    ("m-c-dp", "m_c_dp:MCDP", "cumulative counts made monotone, then made to add up: Algorithm 2"),
    (
        "m-c-dp-weighted",
        "m_c_dp:weighted",
        "the same, each count weighted by the inverse of its variance",
    ),
    ("m-c-joint", "joint:Joint", "the joint cumulative problem to a stated gap"),
    ("m-c-r", "m_c_r:MCRelaxed", "the joint cumulative problem without integrality, rounded"),
    (
        "m-dp-op",
        "m_dp_op:MDPOP",
        "dynamic programming with a program for each entry, small trees only",
    ),
    (
        "m-h",
        "m_h:MH",
        "whole counts nearest to the noisy ones that add up: Model 1, small trees only",
    ),
    ("m-h-dp", "m_h_dp:MHDP", "Model 1 by dynamic programming: Algorithm 1"),
    ("m-h-r", "m_h_r:MHRelaxed", "Model 1 without integrality, rounded"),
    ("raw", "baselines:RawNoisy", "noisy counts as they are"),
    ("top-down-a", "top_down:TopDown", "level by level from the root, each level made to add up"),
    ("top-down-b", "top_down:top_down_b", "the same by two levels at a time"),
    ("top-down-cumulative", "top_down:TopDownCumulative", "the same on cumulative counts"),
)
"""Name, module and class, and one line of help."""

_CHAIN = (
    "Section 9.2.2 adds noise for a sensitivity of 1, which Lemma 6 proves for the counts of one region; that of a "
    "level's chain is the number of its regions: a group that grows by one lowers all entries between its "
    "old and its new place, one for each region"
)

METHODS = Methods(
    [
        *(MethodRecord(name, f"{_HERE}.{where}", text, _CLAIM) for name, where, text in _PROVEN),
        MethodRecord(
            "m-c-ch",
            f"{_PUBLISHED}.m_c_ch:ChainAsPublished",
            "the chain of cumulative counts with the noise as published",
            None,
            _CHAIN,
        ),
    ],
    protocol=("kind", "solve"),
)
"""All methods; ``plan`` and ``release`` take ``METHODS.proven``, which have a guarantee, and ``reproduce`` all."""

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

    def solve(self, measured: Measured, *, on_progress: Tell | None = None) -> NDArray[Any]:
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


def reason(method: Method) -> str:
    """Return the reason why a method has no guarantee; empty if it has one."""
    return str(getattr(method, "unproven", ""))


def quick_methods() -> tuple[str, ...]:
    """Return the names of the methods with a guarantee that are quick at any size, sorted.

    Examples
    --------
    >>> "m-c-dp" in quick_methods(), "m-c-ch" in quick_methods()
    (True, False)
    """
    return tuple(sorted(set(METHODS.proven) - _SLOW))
