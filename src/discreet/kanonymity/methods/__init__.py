"""The methods by the names that people type: one table for ``method=``, commands, comparisons, audits and reports."""

from __future__ import annotations

from discreet.core.method import MethodRecord, Methods

__all__ = ["METHODS", "UNPROVEN"]

_HERE = "discreet.kanonymity.methods"
_PUBLISHED = "discreet_reproduction.kanonymity.as_published"
_CLAIM = "k-anonymity"
_FREEFORM = (
    "freeform generalization is not k-anonymity: rows have cells of their own, and each covers k original rows, but k "
    "published rows need not share theirs"
)
_CARRY = (
    "the carry rule of Section 3.1, row by row, may leave fewer than k rows of a class behind (E3)"
)

_PROVEN = {
    "full-domain": ("full_domain:FullDomain", "one level of generalization for each column"),
    "greedy-search": ("greedy_search:GreedySearch", "classes grown row by row: Algorithm 2"),
    "initial": ("initial:Initial", "rows sorted by variance and cut every k rows"),
    "k-member": ("k_member:KMember", "greedy k-member clustering"),
    "local-search": ("local_search:LocalSearch", "unions of near classes partitioned anew"),
    "milp": ("milp:PairProgram", "the mixed-integer program of pairs of rows"),
    "mondrian": ("mondrian:Mondrian", "rows cut at medians"),
    "optimal": ("partitioning:SetPartitioning", "set partitioning, which proves the optimum"),
    "segmentation": ("segmentation:Segmentation", "optimal cuts of several orders of rows"),
    "split-carry": ("split_carry:SplitCarry", "blocks of rows solved in turn: Algorithm 1, sound"),
    "top-down": ("top_down:TopDown", "splits that gain most for what they spend"),
    "subset-program": ("subsets:SubsetProgram", "dynamic programming over all subsets of rows"),
}

UNPROVEN = Methods(
    [
        MethodRecord(name, f"{_PUBLISHED}.{where}", summary, None, why)
        for name, where, summary, why in (
            ("doka-greedy", "doka:DokaGreedy", "freeform generalization, greedily", _FREEFORM),
            ("doka-hungarian", "doka:DokaHungarian", "the same by optimal matchings", _FREEFORM),
            ("doka-sort-greedy", "doka:DokaSortGreedy", "the same, pairs in order", _FREEFORM),
            (
                "split-carry-as-published",
                "split_carry:PublishedSplitCarry",
                "Algorithm 1 with the printed carry rule",
                _CARRY,
            ),
        )
    ],
    protocol=("recode",),
)
"""What runs through ``reproduce`` alone, since it does not guarantee k-anonymity."""

METHODS = Methods(
    [
        *(
            MethodRecord(name, f"{_HERE}.{where}", summary, _CLAIM)
            for name, (where, summary) in _PROVEN.items()
        ),
        *UNPROVEN.values(),
    ]
)
"""Everything; ``anonymize`` takes the methods with a guarantee, ``METHODS.proven``."""
