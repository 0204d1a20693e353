"""What each check of a verifier means, in plain words, for people who read a page and no code."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from discreet.core import printed

if TYPE_CHECKING:
    from discreet.core.certificate import Certificate

MEANINGS: dict[str, str] = {
    # Choices.
    "statement off the matroid": "Whether the stated numbers of candidates and of choices are those of the matroid.",
    "unknown elements": "Chosen candidates that are not in the ground set.",
    "elements chosen twice": "Candidates that come twice in the choice.",
    "unknown kinds": "Chosen kinds that there are not.",
    "sets that may not be chosen": "Whether the matroid forbids the chosen set.",
    "elements short of a base": "How many candidates the choice has more or less than the matroid's largest sets.",
    "accountant's lines unproved": "Rules of composition that do not prove what the file says that they prove.",
    "guarantees that no line implies": "Whether no rule of composition gives the guarantee.",
    # Channels with a table.
    "row sums off": "Rows of whole numbers that do not add up to the total that makes chances of them.",
    "zeros beside positives": "Reports that one secret can give and another that is bound to it cannot: one such "
    "report would tell them apart for certain.",
    "inequalities violated": "Pairs of secrets, and a report that is likelier from one than the guarantee allows.",
    "achieved epsilon": "The epsilon that the stored numbers keep, rounded up: it may not exceed the stated one.",
    "units that differ": "Whether epsilon is per another unit than that of the distances.",
    "malformed distances": "Distances that are not the same both ways, or not zero from a secret to itself.",
    "distances above the true ones": "Stored distances longer than the points are apart: farther secrets are protected "
    "less, so that none may be made farther than it is.",
    "another space than stated": "Whether the guarantee was made for other secrets than those of the file.",
    "components not stated": "Groups of secrets without any bound between them that the file does not admit.",
    "isolated secrets not stated": "Secrets bound to no other that the file does not admit.",
    "links not stated": "Pairs bound beyond the radius, in order to join groups, that the file does not state.",
    "pairs beyond the all-pairs epsilon": "Pairs, however far apart, that the epsilon for all pairs does not cover.",
    "expected loss": "The average loss, added up from the stored numbers: it may not exceed the stated one.",
    "multipliers of unconstrained pairs": "Parts of the proof of the lower bound that use what nobody promised.",
    "lower bound": "The stated lower bound: it may not exceed what the stored proof gives.",
    "lower bound above the loss": "A bound that this very channel stays below, and that is then none.",
    "lower bound not proved": "Whether a lower bound is stated without its proof.",
    # Implicit channels, and mechanisms.
    "groups of secrets": "Groups that no chain of bound pairs joins: there may be one only.",
    "groups of places": "Groups of places that no chain of bound pairs joins: there may be one only.",
    "pairs at distance 0": "Different secrets at no distance, which nothing could tell apart.",
    "factors of the exponential off": "Stored factors, of which all weights are made, that differ from the exponential "
    "function by more than rounding.",
    "lift that tails need": "The least whole number that has to be added to each weight so that rounding does no harm: "
    "the one in the file may not be smaller.",
    "column inequalities violated": "Weights written one by one that are larger, beside those of a bound secret, than "
    "the guarantee allows.",
    "total inequalities violated": "Row totals that differ by more than their part of epsilon allows.",
    "constrained pairs not covered": "Pairs within the radius for which no chain of the links in the file stands, and "
    "links that are no such pairs.",
    "facts misstated in the scope": "Whether what the file says of its places, and of pairs far apart, is not so.",
    # Mechanisms for every point.
    "numbers out of range": "Numbers of corners that there are not, and places beyond what is exact.",
    "negative weights": "Weights below zero.",
    "facts misstated in the claim": "Whether the claim is about another unit, or has a radius.",
    "another region than stated": "Whether the guarantee was made for another region than that of the file.",
    "distances longer in the plane": "Whether points could be farther apart in the file's plane than on the earth.",
    # Counts and kept measurements.
    "numbers that are not whole": "Counts that are no whole numbers.",
    "numbers below zero": "Counts below zero.",
    "sums that do not hold": "Counts of a region that are not the sum over the regions below it.",
    "largest sum that is off": "By how much a region differs from the sum over the regions below it, at most.",
    "levels that do not sum to G": "Levels whose counts do not add up to the public number of units.",
    "largest level that is off": "By how much a level differs from the public number of units, at most.",
    "facts that differ": "Sizes, neighbors, or the kind of noise, said differently in the record and in the guarantee.",
    "epsilon spent on the worst path": "What the stated noise costs a person who is counted in every level: it may not "
    "exceed the stated epsilon.",
    "rho spent on the worst path": "What the stated noise costs a person who is counted in every level: it may not "
    "exceed the stated rho.",
    "regions with other noise than their level": "Regions whose noise differs from the one reckoned with.",
    "values where nothing was measured": "Numbers that stand where the record says that nothing was measured: no noise "
    "protects them.",
    "counts that nothing measured": "Regions without a measurement of their own whose counts are not those of the "
    "regions below them, and lowest regions without a measurement.",
    "claims without a measurement": "Guarantees whose record names no noise at all.",
    "tables held to no promise": "Tables whose record promises nothing, so that no number was checked.",
    # Tables of attributes by region.
    "sums over regions that do not hold": "Cells of a region that are not the sum over the regions below it.",
    "marginals that do not hold": "Published entries, such as totals, that are not the sum of their cells.",
    "records in structural zeros": "Cells that are declared to be impossible, and that hold a record.",
    "difference from the public total": "By how much all records are more or fewer than the number that is public.",
    "lowest regions whose cells have no noise": "Levels whose lowest regions were not measured cell by cell: what "
    "stands there would follow from nothing.",
    # Tables of rows.
    "classes smaller than k": "Equivalence classes, of fewer than k rows.",
    "classes of fewer than k persons": "Equivalence classes, of fewer than k persons.",
    r"classes with fewer than \d+ values of .+": "Equivalence classes, and whose sensitive column has fewer "
    "different values than asked.",
    "distance of a class in .+": "How far the sensitive values of a group are from those of the whole table, at worst.",
    r"classes that fail \d+-map": "Equivalence classes that cover fewer people of the population than asked.",
    "classes that fail .+": "Equivalence classes, and do not meet the demands of a column.",
    "published rows that no row of the original explains": "Rows that are no row of the original, generalized, or that "
    "one original row would have to stand for twice.",
    "published columns that are not in the original": "Columns that nobody can trace back to the original.",
    "rows suppressed": "Rows of the original that are not in the table.",
    "bytes that differ from those written": "Whether the table is another than the record beside it is about.",
    # Everything.
    "made with a seed, hence not private": "Whether chance was not chance: who knows the seed draws the same.",
}
"""Name of a check, as a regular expression -> what it counts or measures."""


def meaning(name: str) -> str:
    """Return what a check counts or measures, or an empty text for an unknown name.

    Examples
    --------
    >>> meaning("classes with fewer than 3 values of disease").partition(",")[0]
    'Equivalence classes'
    >>> meaning("sheep")
    ''
    """
    for pattern, words in MEANINGS.items():
        if re.fullmatch(pattern, name):
            return words
    return ""


def proof_of(certificate: Certificate) -> dict[str, Any]:
    """Convert a certificate for a page: ``sentence``, ``passed`` and ``checks``, a dict for each check.

    A check has ``name``, ``meaning`` (empty if unknown), ``residual`` and ``limit`` as texts, ``exact``, ``passed``
    and ``detail``. No check is made.

    Examples
    --------
    >>> from discreet.core.certificate import Certificate, Check
    >>> proof = proof_of(Certificate((Check("classes smaller than k", 0, 0, exact=True, detail="9 classes"),)))
    >>> proof["sentence"]
    'All 9 equivalence classes have k rows or more, counted exactly: 1 check passed.'
    """
    return {
        "sentence": certificate.sentence,
        "passed": certificate.passed,
        "checks": [
            {
                "name": check.name,
                "meaning": meaning(check.name),
                "residual": _shown(check.residual),
                "limit": _shown(check.limit),
                "exact": check.exact,
                "passed": check.passed,
                "detail": check.detail,
            }
            for check in certificate.checks
        ],
    }


def _shown(value: float | Fraction) -> str:
    """Format the number of a check: a count exactly, a fraction as a decimal rounded up, a float rounded up."""
    if isinstance(value, Fraction):
        return printed.decimal_up(value)
    return printed.count(value) if isinstance(value, int) else printed.at_most(value)
