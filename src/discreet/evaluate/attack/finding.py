"""Findings of an attack: success of the attacker, of a naive attacker, and of both on a control group."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, final

from discreet.core.errors import InvalidProblemError
from discreet.core.printed import at_least, at_most, in_columns, one_line

if TYPE_CHECKING:
    from collections.abc import Mapping

    from discreet.evaluate.intervals import Estimate

DEFAULT_FAILURE = 1e-6
"""The probability with which an interval may miss by default: a verdict should not depend on luck."""

_RELATIVE_ROUNDING = 1e-9
"""Relative error of a sum of a million products of floats, with a margin."""


@final
@dataclass(frozen=True)
class Finding:
    r"""One measure of one attack.

    Parameters
    ----------
    attack
        What was done.
    measure
        What the numbers are.
    attacker
        How well the attacker does.
    baseline
        How well the naive attacker does, who knows what the attacker knew before, and does not look at the release.
    control
        How well the attacker does where the release says nothing about the target: what it would find by chance, or
        knows from what people have in common. ``None`` where there is no such group.
    bound
        How well the best attacker with the same knowledge can do; ``None`` where nobody computed it.
    limit
        How well any attacker can do if the claim that is attacked holds; ``None`` where it limits nothing.
    error
        Whether the measure is an error of the attacker: it does well where the number is small.
    note
        What a reader should know.

    Examples
    --------
    >>> from discreet.evaluate.intervals import Estimate, clopper_pearson
    >>> guess = clopper_pearson(900, 1000, failure=1e-6)
    >>> found = Finding("guess", "share of records found", guess, Estimate.computed(0.1), limit=0.5)
    >>> found.kept, round(found.advantage, 3)
    (False, 0.889)
    """

    attack: str
    measure: str
    attacker: Estimate
    baseline: Estimate
    control: Estimate | None = None
    bound: float | None = None
    limit: float | None = None
    error: bool = False
    note: str = ""

    @property
    def kept(self) -> bool | None:
        """Whether the interval is consistent with the limit; ``None`` if there is no limit."""
        if self.limit is None:
            return None
        slack = _RELATIVE_ROUNDING * abs(self.limit)
        if self.error:
            return self.attacker.high >= self.limit - slack
        return self.attacker.low <= self.limit + slack

    @property
    def advantage(self) -> float | None:
        r"""Gain of the attacker over the best attacker without the release, as a share of the possible gain.

        :math:`(a - c) / (1 - c)` for a share :math:`a` of the attacker and :math:`c` of the control group, or of the
        naive attacker where there is no such group or where that does better; for an error the part of it that the
        release takes away. ``None`` where nothing was left to find.

        References
        ----------
        The measure of [GBWT23]_, with the naive attacker as a second group to compare with.
        """
        least = self.baseline.value
        if self.control is not None:
            least = (min if self.error else max)(least, self.control.value)
        left = least if self.error else 1 - least
        if left <= 0:
            return None
        gained = least - self.attacker.value if self.error else self.attacker.value - least
        return gained / left

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON, by the names of the fields, with ``"kept"`` and ``"advantage"`` among them.

        ``"attacker"``, ``"baseline"`` and ``"control"`` are dicts as of :meth:`Estimate.to_dict`; what is missing is
        ``None``.
        """
        return {
            "attack": self.attack,
            "measure": self.measure,
            "attacker": self.attacker.to_dict(),
            "baseline": self.baseline.to_dict(),
            "control": None if self.control is None else self.control.to_dict(),
            "bound": self.bound,
            "limit": self.limit,
            "kept": self.kept,
            "advantage": self.advantage,
            "error": self.error,
            "note": self.note,
        }


@final
@dataclass(frozen=True)
class Attacked:
    """All findings against one target.

    Parameters
    ----------
    target
        What was attacked.
    findings
        One measure or more.
    facts
        Further plain numbers.
    private
        Why the numbers are for the curator alone; empty where they follow from what is public.

    Raises
    ------
    InvalidProblemError
        Without findings.
    """

    target: str
    findings: tuple[Finding, ...]
    facts: Mapping[str, Any] = field(default_factory=dict)
    private: str = ""

    def __post_init__(self) -> None:
        if not self.findings:
            raise InvalidProblemError("findings", "one or more", "none")

    @property
    def kept(self) -> bool | None:
        """Whether every limit was kept; ``None`` if no finding has a limit."""
        verdicts = [finding.kept for finding in self.findings if finding.kept is not None]
        return all(verdicts) if verdicts else None

    def __str__(self) -> str:
        head = ("attack", "measure", "attacker", "naive", "control", "best", "limit", "")
        rows = [head, *(tuple(map(one_line, _row(finding))) for finding in self.findings)]
        notes = dict.fromkeys(one_line(one.note) for one in self.findings if one.note)
        parts = [one_line(self.target), in_columns(rows)]
        if notes:
            parts.append("\n".join(notes))
        if self.private:
            parts.append(f"private: {one_line(self.private)}")
        return "\n\n".join(parts)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON.

        ``"target"``, ``"kept"``, ``"findings"`` (a list of dicts), ``"facts"``, ``"private"``.
        """
        return {
            "target": self.target,
            "kept": self.kept,
            "findings": [finding.to_dict() for finding in self.findings],
            "facts": dict(self.facts),
            "private": self.private or None,
        }


def _row(finding: Finding) -> tuple[str, ...]:
    """Return the cells of a finding's row in a table: names, estimates, bound, limit and verdict."""
    verdict = {None: "", True: "kept", False: "BROKEN"}[finding.kept]
    side = at_least if finding.error else at_most
    return (
        finding.attack,
        finding.measure,
        str(finding.attacker),
        str(finding.baseline),
        "" if finding.control is None else str(finding.control),
        *("" if end is None else side(end, 4) for end in (finding.bound, finding.limit)),
        verdict,
    )
