"""Check a choice: its independence, and the accountant's lines, which must follow from the statement.

Nothing here is shared with what drew or planned. The width of a score, the loss of a draw, and what each rule of
composition proves are found out anew, in fractions rounded to the safe side. What a record could do to a score is
public knowledge about the function, and stands in the statement; no record is needed.

Trusted: the guarantee rests on this code, which verifies the accounting.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.core.calculus import implies, to_approx_dp
from discreet.core.certificate import Certificate, Check
from discreet.core.errors import InvalidProblemError
from discreet.core.exact import exp_above, exp_below, log_above
from discreet.core.guarantee import ApproxDP, PureDP, ZeroConcentratedDP
from discreet.core.options import instance_of
from discreet.core.outcome import Release
from discreet.submodular.problem import Selection

if TYPE_CHECKING:
    from fractions import Fraction

    from discreet.core.guarantee import DPGuarantee, Guarantee
    from discreet.submodular.problem import AccountLine, ChoiceFacts, Independence

_MAX_EXPONENT = 1000
"""Largest loss as an exponent: a larger power may exceed memory, and no plan has one."""

_COMMON = frozenset({"basic composition", "advanced composition"})
_BOUNDED = _COMMON | {"zCDP of bounded range", "zCDP, converted"}
_MAY_USE: dict[str, frozenset[str]] = {
    "greedy": _BOUNDED | {"decomposable, one pass"},
    "permute-and-flip": _COMMON,
    "rounds": _BOUNDED,
    "walk": frozenset({"exchange walk"}),
    "subsample": frozenset({"secret subsample"}),
    "blind": frozenset({"no data"}),
}
"""Rules by mechanism: permute-and-flip has no bounded range, and rounds make more than one pass."""

_ONE_PASS = ("greedy", "permute-and-flip")


def verify(release: Release[Selection], matroid: Independence | None = None) -> Certificate:
    """Check a release of a choice against its matroid and its guarantee.

    One test of independence, and a few exact exponentials for each line of the account.

    Parameters
    ----------
    release
        The release, wherever it comes from.
    matroid
        What could be chosen; by default the one that is stored with the choice.

    Returns
    -------
    Certificate
        Whether the set is independent and the account of the draws gives the guarantee; see :func:`verify_selection`.

    Raises
    ------
    InvalidProblemError
        When the result is no choice, or no matroid is given or stored.

    Examples
    --------
    >>> from discreet.core.guarantee import PureDP
    >>> from discreet.submodular import Coverage, UniformMatroid, release, verify
    >>> reach = Coverage([[True, False, False]] * 9 + [[False, True, False]] * 5)
    >>> made = release(reach, UniformMatroid(3, 2), PureDP(1, "add-remove-one"))
    >>> verify(made).passed, verify(made, UniformMatroid(3, 1)).passed
    (True, False)
    """
    instance_of(release, Release, "release", "a Release")
    chosen: object = release.result
    if not isinstance(chosen, Selection):
        raise InvalidProblemError("release", "a release of a Selection", type(chosen).__name__)
    allowed = chosen.matroid if matroid is None else matroid
    if allowed is None:
        raise InvalidProblemError(
            "matroid", "the matroid of the choice", "None, and none is stored"
        )
    if not all(hasattr(allowed, name) for name in ("n_elements", "rank", "is_independent")):
        raise InvalidProblemError("matroid", "a Matroid", type(allowed).__name__)
    return verify_selection(chosen, allowed, release.guarantee)


def verify_selection(
    selection: Selection, matroid: Independence, guarantee: Guarantee
) -> Certificate:
    """Check a choice: its elements and kinds, its independence, its size, and the accountant's arithmetic.

    Parameters
    ----------
    selection
        What was chosen, with the statement and the accountant's lines.
    matroid
        What could be chosen.
    guarantee
        What is claimed.

    Returns
    -------
    Certificate
        Elements and kinds that do not exist or come twice; independence; the size of a base; lines that their rule does
        not prove from the coefficient; and whether a line implies the guarantee.

    Notes
    -----
    A line is rejected when its loss is below c times the width of a score (times the rank for draws of whole bases), or
    when its guarantee is stronger than what its rule gives for so many draws.

    Examples
    --------
    >>> from discreet.core.guarantee import PureDP
    >>> from discreet.submodular import UniformMatroid
    >>> from discreet.submodular.problem import AccountLine, Selection, ChoiceFacts
    >>> from fractions import Fraction
    >>> statement = ChoiceFacts(3, 1, 1, True, Fraction(1), "add-remove-one")
    >>> claim = PureDP(1, "add-remove-one")
    >>> line = AccountLine("basic composition", claim, 1, Fraction(1))
    >>> drawn = Selection(((2, 0),), statement, Fraction(1), accounting=(line,))
    >>> verify_selection(drawn, UniformMatroid(3, 1), claim).passed
    True
    """
    statement = selection.statement
    elements = [element for element, _ in selection.chosen]
    unknown = [e for e in elements if not 0 <= e < statement.n_elements]
    strange = [i for _, i in selection.chosen if not 0 <= i < statement.n_kinds]
    stated = abs(statement.n_elements - matroid.n_elements) + abs(statement.rank - matroid.rank)
    known = not unknown and not stated
    independent = known and matroid.is_independent(elements)
    unproved = [line for line in selection.accounting if not _holds(line, selection)]
    following = [line for line in selection.accounting if implies(line.guarantee, guarantee)]
    return Certificate(
        (
            Check("statement off the matroid", stated, 0, exact=True, detail="size and rank"),
            Check("unknown elements", len(unknown), 0, exact=True),
            Check("elements chosen twice", len(elements) - len(set(elements)), 0, exact=True),
            Check("unknown kinds", len(strange), 0, exact=True),
            Check("sets that may not be chosen", int(not independent), 0, exact=True),
            Check(
                "elements short of a base",
                abs(statement.rank - len(elements)),
                0,
                exact=True,
                detail=f"{len(elements)} chosen",
            ),
            Check(
                "accountant's lines unproved",
                len(unproved),
                0,
                exact=True,
                detail=", ".join(line.rule for line in unproved)
                or f"{len(selection.accounting)} lines",
            ),
            Check(
                "guarantees that no line implies",
                int(not following),
                0,
                exact=True,
                detail=", ".join(line.rule for line in following),
            ),
        )
    )


def _width(statement: ChoiceFacts) -> Fraction:
    """Return the largest difference of the changes of two scores between neighbors."""
    factor = 1
    if not statement.decomposable:
        factor *= 2
    if statement.neighbors != "add-remove-one":
        factor *= 2
    return factor * statement.sensitivity


def _holds(line: AccountLine, selection: Selection) -> bool:
    """Whether a line's guarantee follows by its rule.

    No if the rule is not one of the mechanism, the relation differs, the stated loss is below c times the range of a
    draw, or the draws are too few for the chosen set. Without a coefficient only ``"no data"`` holds.

    `selection` states the mechanism, the coefficient and the number of elements.
    """
    statement, claim = selection.statement, line.guarantee
    if claim.neighbors != statement.neighbors or line.draws < 1:
        return False
    if line.rule not in _MAY_USE.get(selection.mechanism, frozenset()):
        return False
    c = selection.coefficient
    if c is None or line.rule == "no data":
        return c is None and line.rule == "no data"
    loss = c * selection.per_draw * _width(statement)
    if line.loss < loss or selection.per_draw < 1 or c <= 0:
        return False
    # A draw gives one element, or as many as it has widths: of a whole base, or one in each round.
    width = 1 if selection.mechanism in _ONE_PASS else selection.per_draw
    if line.draws * width < len(selection.chosen):
        return False
    if line.rule == "secret subsample":
        return _subsample_holds(c * selection.per_draw, line, statement)
    proved = _proved(line, statement)
    return proved is not None and implies(proved, claim)


def _proved(line: AccountLine, statement: ChoiceFacts) -> DPGuarantee | None:
    """Return a guarantee that the rule of `line` proves for its draws and loss, or ``None``; a few fractions.

    By basic composition or of bounded range it is the least one, converted from zCDP one rounded up at the claim's
    delta. The other rules decide whether the claim of `line` follows, and return it as it is. ``None``: it does not
    follow, the rule is unknown, or it proves another kind of guarantee than is claimed.
    """
    k, loss, relation, claim = line.draws, line.loss, statement.neighbors, line.guarantee
    zero = ZeroConcentratedDP(k * loss**2 / 8, relation)  # type: ignore[arg-type] # it refuses strange ones
    match line.rule, claim:
        case "basic composition", PureDP():
            return PureDP(k * loss, relation)  # type: ignore[arg-type] # as above
        case "zCDP of bounded range", ZeroConcentratedDP():
            return zero
        case "zCDP, converted", ApproxDP():
            return to_approx_dp(zero, delta=claim.delta)
        case "advanced composition", ApproxDP():
            # epsilon >= k e^2/2 + sqrt(2 k ln(1/delta)) e, without a root.
            rest = claim.epsilon - k * loss**2 / 2
            log = log_above(1 / claim.delta)
            return claim if rest > 0 and rest**2 >= 2 * k * log * loss**2 else None
        case "decomposable, one pass", ApproxDP() if statement.decomposable:
            replaced = relation == "replace-one"
            c = loss / 2 if replaced else loss
            if c > _MAX_EXPONENT:
                return None
            log = 1 + log_above(1 / claim.delta)
            growth = exp_above(c) - 1
            need = c + growth * (log + c) if replaced else growth * log
            return claim if claim.epsilon >= need else None
        case "exchange walk", ApproxDP():
            return claim if _walk_holds(line, claim) else None
        case _:
            return None


def _walk_holds(line: AccountLine, claim: ApproxDP) -> bool:
    """Whether epsilon and delta cover draws whose law is off by at most 2^-60 in total variation."""
    if line.loss > _MAX_EXPONENT:
        return False
    one = exp_above(line.loss)
    off = line.draws * (1 + one) / (1 << 60)
    return claim.epsilon >= line.draws * line.loss and claim.delta >= off


def _subsample_holds(c: Fraction, line: AccountLine, statement: ChoiceFacts) -> bool:
    """Whether e^c <= 1 + e^epsilon for a joining record, and each half of a replacement.

    c is the coefficient times the number of rounds: a record's scores add up to at most its sensitivity in each.
    """
    if not isinstance(line.guarantee, PureDP) or not statement.decomposable:
        return False
    epsilon = line.guarantee.epsilon
    joins = epsilon if statement.neighbors == "add-remove-one" else epsilon / 2
    if c * statement.sensitivity <= joins:
        return True
    if c * statement.sensitivity > _MAX_EXPONENT:
        return False
    return exp_above(c * statement.sensitivity) <= 1 + exp_below(joins)
