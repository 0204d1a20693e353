"""The ledger of a page that publishes: where it lies, what a data set may still give away, and a budget granted."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, final

from discreet.core import printed
from discreet.core.budget import charge_of
from discreet.core.errors import BudgetError, DiscreetError, InvalidProblemError
from discreet.ledger import Ledger
from discreet.studio.forms import titled
from discreet.studio.jobs import sentence

if TYPE_CHECKING:
    from collections.abc import Mapping

    from discreet.core.guarantee import DPGuarantee, Guarantee


@final
@dataclass(frozen=True)
class BudgetShown:
    """What the page shows of a data set in a ledger.

    Parameters
    ----------
    path
        The file.
    dataset
        The name of the data set.
    limit
        The sentence of its limit; empty where no budget was granted.
    spent, left
        Numbers, in the order of the parameters of the limit.
    charges
        When, and for what.
    others
        Names of other data sets in the file.
    trouble
        Why the file cannot be read, a sentence.
    """

    path: str
    dataset: str
    limit: str
    spent: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    charges: tuple[tuple[str, str], ...] = ()
    others: tuple[str, ...] = ()
    trouble: str = ""


def book_of(form: Mapping[str, str], folder: Path) -> tuple[Path, str]:
    """Read which ledger and which data set are meant.

    Returns the absolute path of the ledger, which need not exist, and the name of the data set, at most 200 letters.

    Parameters
    ----------
    form
        With ``ledger``, a file, and ``dataset``.
    folder
        The page's own, which is deleted when it is closed.

    Raises
    ------
    InvalidProblemError
        When one is missing, or the file lies where it would be deleted.
    """
    named, dataset = form.get("ledger", "").strip(), form.get("dataset", "").strip()
    if not named:
        raise InvalidProblemError("Ledger", "the path of a file", "nothing")
    if not dataset or len(dataset) > 200:
        expected = "a name of the data set, the same each time it is published from"
        raise InvalidProblemError("Data set", expected, "none" if not dataset else "a longer one")
    try:
        path = Path(named).expanduser().absolute()
        inside = path.resolve().is_relative_to(folder.parent.resolve())
        # Asked here because it raises for names that are too long.
        path.exists()
    except (OSError, RuntimeError, ValueError):
        raise InvalidProblemError("Ledger", "the path of a file", "an impossible path") from None
    if inside:
        expected = "a file that stays when the studio ends"
        raise InvalidProblemError("Ledger", expected, "one in the studio's own folder")
    return path, dataset


def look(path: Path, dataset: str) -> BudgetShown:
    """Return the budget of `dataset` and its charges for a page; a file that is not there is an empty ledger.

    It is made when a budget is granted.

    Reads the whole ledger and checks its chain of charges.

    `path` is the ledger's file. Without a budget of `dataset` its limit is an empty text.

    Raises
    ------
    InvalidProblemError
        For a file that is not a ledger, or was damaged.
    """
    if not path.exists():
        return BudgetShown(str(path), dataset, "")
    ledger = Ledger(path)
    known = ledger.datasets
    others = tuple(name for name in known if name != dataset)
    if dataset not in known:
        return BudgetShown(str(path), dataset, "", others=others)
    account = ledger.account(dataset)
    return BudgetShown(
        str(path),
        dataset,
        str(account.limit),
        tuple(printed.decimal(amount) for amount in account.spent),
        tuple(printed.decimal(amount) for amount in account.left),
        tuple((charge.charged, _short(charge.guarantee)) for charge in ledger.history(dataset)),
        others,
    )


def proposed(path: Path, dataset: str) -> BudgetShown:
    """Return the budget as :func:`look` does; a ledger that cannot be read gives a `trouble` and no error."""
    try:
        return look(path, dataset)
    except DiscreetError as error:
        return BudgetShown(str(path), dataset, "", trouble=sentence(error))


def grant(path: Path, dataset: str, limit: Guarantee) -> BudgetShown:
    """Grant a data set its total `limit`, for ever, and return its budget; makes the ledger at `path` if needed.

    An error of the ledger if the data set has a limit already, or the file cannot be written.
    """
    Ledger.create(path, dataset, limit)
    return look(path, dataset)


def refuse_beyond(
    path: Path, dataset: str, guarantee: DPGuarantee, budget_delta: str | None = None
) -> None:
    """Raise if the ledger would refuse a charge of `guarantee`, and charge nothing; the charge is checked again.

    `budget_delta` is the delta at which rho is charged to an (epsilon, delta) budget.

    `path` is the ledger's file; nothing is written to it.

    Raises
    ------
    BudgetError
        When the data set has no budget, or not enough is left.
    InvalidProblemError
        When the promise cannot be added to the budget.
    """
    if not path.exists() or dataset not in Ledger(path).datasets:
        raise BudgetError(f"data set {dataset!r} has no budget in this ledger; grant one first")
    ledger = Ledger(path)
    with titled():
        ledger.account(dataset).charge(charge_of(guarantee, ledger, budget_delta))


def _short(guarantee: Guarantee) -> str:
    """Return the numbers of a guarantee as text."""
    return ", ".join(
        f"{name} {value}"
        for name, value in guarantee.to_dict().items()
        if name in ("epsilon", "delta", "rho")
    )
