"""The chapter of a ledger: what datasets may give away, what they have given, and for which releases."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.core import printed
from discreet.core.errors import InvalidProblemError
from discreet.report.page import list_chapter

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from discreet.core.budget import Account
    from discreet.core.guarantee import Guarantee
    from discreet.ledger import Charge
    from discreet.report.page import Chapter

__all__ = ["chapter"]

_LEAD = (
    "Each release from private data spends a part of the budget of its dataset. This page lists what all of them "
    "have spent and what is left; a release that would exceed the budget is refused before the data are read."
)
_NOTES = (
    "Costs of one dataset are added up. What was released without this ledger is not reckoned with.",
    "Two datasets that hold the same people protect them only by the sum of both.",
)


def chapter(
    accounts: Mapping[str, Account],
    charges: Mapping[str, Sequence[Charge]],
    *,
    title: str = "What may still be given away",
    anchor: str = "budget",
) -> Chapter:
    """Render the chapter of a ledger's budgets.

    Parameters
    ----------
    accounts
        Datasets by name.
    charges
        What was charged to each, oldest first.
    title, anchor
        The heading, and its name in links.

    Returns
    -------
    Chapter
        A table with a row for each dataset, and below it one for each of its charges. A ledger holds no private value.

    Raises
    ------
    InvalidProblemError
        Without datasets.
    """
    if not accounts:
        raise InvalidProblemError("accounts", "one dataset or more", "none")
    rows = []
    for name, account in accounts.items():
        limit = ", ".join(_amounts(account.limit))
        spent = ", ".join(map(printed.decimal_up, account.spent))
        rows.append([name, limit, spent, ", ".join(map(printed.decimal_down, account.left))])
        rows += [
            [f"{name}, charged {charge.charged}", "", ", ".join(_amounts(charge.guarantee)), ""]
            for charge in charges.get(name, ())
        ]
    return list_chapter(
        title,
        anchor,
        _LEAD,
        head=["dataset, and each charge to it", "limit", "spent", "left"],
        rows=rows,
        notes=[*(f"{name}: {account.limit}." for name, account in accounts.items()), *_NOTES],
    )


def _amounts(guarantee: Guarantee) -> list[str]:
    """Return the parameters of a guarantee as text, each rounded up."""
    return [
        f"{name} {printed.decimal_up(getattr(guarantee, name))}"
        for name in ("epsilon", "delta", "rho")
        if hasattr(guarantee, name)
    ]
