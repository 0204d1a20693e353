"""``budget``: grant a dataset a budget, and see what is left of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.files import check_outputs, write_page
from discreet.cli.options import Json, Report  # noqa: TC001 - Typer reads annotations at run time
from discreet.cli.output import Status, emit, facts
from discreet.core import printed
from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import ApproxDP, MetricDP, PureDP, ZeroConcentratedDP
from discreet.core.printed import one_line
from discreet.ledger import Ledger

if TYPE_CHECKING:
    from discreet.core.guarantee import Guarantee

__all__ = ["check", "create", "history", "register", "show"]

LedgerFile = Annotated[str, typer.Argument(metavar="LEDGER", help="The ledger, an SQLite file.")]


def create(
    ledger: LedgerFile,
    *,
    dataset: Annotated[str, typer.Option(help="Name of the data in the ledger.")],
    epsilon: Annotated[
        str | None, typer.Option(help="The most that all releases together may spend.")
    ] = None,
    delta: Annotated[
        str | None, typer.Option(help="Slack in probability, for approximate privacy.")
    ] = None,
    rho: Annotated[
        str | None, typer.Option(help="The most, for zero-concentrated privacy instead.")
    ] = None,
    neighbors: Annotated[
        str | None,
        typer.Option(
            help="add-remove-one, replace-one, add-remove-person or replace-person; needed but with --unit."
        ),
    ] = None,
    unit: Annotated[
        str | None,
        typer.Option(help="Unit of distance, for metric privacy instead of --neighbors."),
    ] = None,
    radius: Annotated[str | None, typer.Option(help="Radius of metric privacy.")] = None,
    as_json: Json = False,
) -> None:
    """Grant a dataset a budget; the ledger is made when it is not there.

    The limit, the notion of privacy, the neighbors and the unit are fixed for ever.
    """
    limit = _limit(epsilon, delta, rho, neighbors, unit, radius)
    made = Ledger.create(ledger, dataset, limit)
    _emit(made, (dataset,), as_json=as_json, command="budget create")


def show(
    ledger: LedgerFile,
    *,
    dataset: Annotated[
        str | None, typer.Option(help="Only this dataset; default: all of them.")
    ] = None,
    digest: Annotated[
        bool,
        typer.Option(
            "--digest",
            help="Print count:digest of all grants and charges instead, to be kept where those who write the "
            "ledger cannot write. `budget check` compares.",
        ),
    ] = False,
    report: Report = None,
    as_json: Json = False,
) -> None:
    """Say what every dataset may still give away."""
    if digest:
        if dataset is not None or report is not None:
            expected = "neither --dataset nor --report beside it, for it is of the whole ledger"
            raise InvalidProblemError("--digest", expected, "one of them")
        noted = Ledger(ledger).digest()
        emit({"digest": noted}, noted, as_json=as_json, command="budget show")
        return
    check_outputs({"--report": report}, ledger)
    book = Ledger(ledger)
    names = book.datasets if dataset is None else (dataset,)
    if report is not None:
        from discreet.report import make_chapter

        accounts = {name: book.account(name) for name in names}
        chapter = make_chapter("budget", accounts, charges={n: book.history(n) for n in names})
        write_page([chapter], report, title="Privacy budgets")
    _emit(book, names, as_json=as_json, command="budget show")


def history(
    ledger: LedgerFile,
    *,
    dataset: Annotated[str, typer.Option(help="Name of the data in the ledger.")],
    as_json: Json = False,
) -> None:
    """List what was charged to a dataset, oldest first."""
    charges = Ledger(ledger).history(dataset)
    data = {
        "dataset": dataset,
        "charges": [
            {"charged": charge.charged, "guarantee": charge.guarantee.to_dict()}
            for charge in charges
        ],
    }
    lines = [one_line(f"{charge.charged}  {charge.guarantee}") for charge in charges]
    text = "\n".join(lines) or "nothing was charged"
    emit(data, text, as_json=as_json, command="budget history")


_VERDICTS = {
    "extends": "all that was there then is there unchanged, in its order",
    "older": "fewer grants and charges than then: an old copy, or one whose end was cut off",
    "other": "not a continuation of what was there then: changed, written anew, or another ledger",
}


def check(
    ledger: LedgerFile,
    *,
    digest: Annotated[
        str,
        typer.Option(
            metavar="COUNT:DIGEST", help="What `budget show --digest` printed, noted elsewhere."
        ),
    ],
    as_json: Json = False,
) -> Status:
    """Compare a ledger with a digest of it that was noted elsewhere.

    It says "extends" (status 0), "older" or "other" (status 1).
    """
    book = Ledger(ledger)
    try:
        verdict = book.check(digest)
    except InvalidProblemError as error:
        field = "--digest" if error.field == "digest" else error.field
        raise InvalidProblemError(field, error.expected, error.got) from None
    anchored = int(digest.partition(":")[0])
    data = {"verdict": verdict, "means": _VERDICTS[verdict], "anchored": anchored}
    text = f"{verdict}: {_VERDICTS[verdict]}"
    emit(data, text, as_json=as_json, command="budget check")
    return Status.DONE if verdict == "extends" else Status.CHECK_FAILED


def _limit(  # noqa: PLR0917 - one argument an option
    epsilon: str | None,
    delta: str | None,
    rho: str | None,
    neighbors: str | None,
    unit: str | None,
    radius: str | None,
) -> Guarantee:
    relation: Any = neighbors
    if (epsilon is None) == (rho is None):
        got = "neither" if rho is None else "both"
        raise InvalidProblemError("--epsilon", "a limit here, or with --rho", got)
    if (neighbors is None) == (unit is None):
        got = "neither" if unit is None else "both"
        raise InvalidProblemError("--neighbors", "a relation here, or a distance with --unit", got)
    for option, given, fits in (
        ("--delta", delta, epsilon is not None and unit is None),
        ("--radius", radius, unit is not None),
        ("--unit", unit, rho is None),
    ):
        if given is not None and not fits:
            raise InvalidProblemError(option, "no such option with these others", repr(given))
    if rho is not None:
        return ZeroConcentratedDP(rho, relation)
    if unit is not None:
        return MetricDP(epsilon or "", unit, radius)
    return (
        PureDP(epsilon or "", relation)
        if delta is None
        else ApproxDP(epsilon or "", delta, relation)
    )


def _emit(book: Ledger, names: tuple[str, ...], *, as_json: bool, command: str) -> None:
    """Print the state of datasets."""
    listed, rows = [], []
    for name in names:
        account = book.account(name)
        listed.append(
            {
                "dataset": name,
                "limit": {**account.limit.to_dict(), "sentence": str(account.limit)},
                "spent": [str(amount) for amount in account.spent],
                "left": [str(amount) for amount in account.left],
            }
        )
        left = ", ".join(printed.decimal(amount) for amount in account.left)
        spent = ", ".join(printed.decimal(amount) for amount in account.spent)
        rows += [("dataset", name), ("limit", account.limit), ("spent", spent), ("left", left)]
    emit({"datasets": listed}, facts(rows) if rows else "", as_json=as_json, command=command)


def register(app: typer.Typer) -> None:
    """Add the commands of this group."""
    group = typer.Typer(
        name="budget",
        help="Grant datasets privacy budgets, and see what is left of them.",
        no_args_is_help=True,
    )
    group.command(
        epilog="Example:\n\n```\ndiscreet budget create ledger.db --dataset census-2030 --epsilon 4 "
        "--neighbors add-remove-person\n```"
    )(create)
    group.command(epilog="Example:\n\n```\ndiscreet budget show ledger.db\n```")(show)
    group.command(
        epilog="Example:\n\n```\ndiscreet budget history ledger.db --dataset census-2030\n```"
    )(history)
    group.command(
        epilog="Example:\n\n```\ndiscreet budget check ledger.db --digest 12:7f0c...\n```"
    )(check)
    app.add_typer(group)
