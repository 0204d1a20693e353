"""The methods by the names that people type: one table for commands, comparisons and reports.

Values are ``"module:class"``; nothing is imported before it is asked for.
"""

from __future__ import annotations

__all__ = ["METHODS", "UNPROVEN"]

METHODS: dict[str, str] = {
    "bubble-carry": "discreet.kanonymity.split_carry:BubbleCarry",
    "full-domain": "discreet.kanonymity.full_domain:FullDomain",
    "greedy-search": "discreet.kanonymity.greedy_search:GreedySearch",
    "initial": "discreet.kanonymity.initial:Initial",
    "k-member": "discreet.kanonymity.k_member:KMember",
    "local-search": "discreet.kanonymity.local_search:LocalSearch",
    "milp": "discreet.kanonymity.milp:PairProgram",
    "mondrian": "discreet.kanonymity.mondrian:Mondrian",
    "optimal": "discreet.kanonymity.partitioning:SetPartitioning",
    "segmentation": "discreet.kanonymity.segmentation:Segmentation",
    "split-carry": "discreet.kanonymity.split_carry:SplitCarry",
    "subset-program": "discreet.kanonymity.subsets:SubsetProgram",
}
"""Everything that ``anonymize`` takes as its method, with default parameters."""

UNPROVEN: dict[str, str] = {
    "doka-greedy": "discreet.kanonymity.doka:DokaGreedy",
    "doka-hungarian": "discreet.kanonymity.doka:DokaHungarian",
    "doka-sort-greedy": "discreet.kanonymity.doka:DokaSortGreedy",
    "split-carry-as-published": "discreet.kanonymity.as_published:PublishedSplitCarry",
}
"""What runs through ``reproduce`` alone, since it does not guarantee k-anonymity."""
