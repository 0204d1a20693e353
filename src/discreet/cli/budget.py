"""``budget``: grant a dataset a budget, and see what is left of it."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.files import check_outputs, write_page
from discreet.cli.options import Json, Report  # noqa: TC001 - Typer reads annotations at run time
from discreet.cli.output import (
    Status,
    emit,
    facts,
    put_out,
    renamed_arguments,
    warn_of_weakness,
)
from discreet.core import printed
from discreet.core.errors import BudgetError, InvalidProblemError
from discreet.core.guarantee import ApproxDP, MetricDP, PureDP, ZeroConcentratedDP
from discreet.core.printed import one_line
from discreet.ledger import Ledger

if TYPE_CHECKING:
    from discreet.core.guarantee import Guarantee
    from discreet.ledger import Charge

__all__ = [
    "check",
    "create",
    "forget",
    "history",
    "list_open",
    "reconcile",
    "recover",
    "register",
    "show",
]

_LONGEST_LINE = 2_000
"""Characters of a line of the history, which is cut there; with ``--json`` nothing is cut."""

ReleaseId = Annotated[
    str, typer.Argument(metavar="ID", help="Release id, as `budget list` shows it.")
]
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
    if isinstance(limit, PureDP | ApproxDP | ZeroConcentratedDP):
        warn_of_weakness(limit, quiet=False)
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
    """List what was charged to a dataset, oldest first: release id, state, command, and SHA-256 of each output."""
    charges = Ledger(ledger).history(dataset)
    data = {"dataset": dataset, "charges": [_described(charge) for charge in charges]}
    text = "\n".join(_line(charge) for charge in charges) or "nothing was charged"
    emit(data, text, as_json=as_json, command="budget history")


def list_open(ledger: LedgerFile, *, as_json: Json = False) -> None:
    """List the releases that were charged and are not in place, and what to do about each."""
    book = Ledger(ledger)
    found = [
        (name, charge, _advice(book, charge))
        for name in book.datasets
        for charge in book.history(name)
        if charge.state in _OPEN
    ]
    data = [{"dataset": name, **_described(one), "advice": advice} for name, one, advice in found]
    lines = [f"{name}  {_line(one)}\n  {advice}" for name, one, advice in found]
    text = "\n".join(lines) or "no release is open"
    emit({"releases": data}, text, as_json=as_json, command="budget list")


def recover(
    ledger: LedgerFile,
    release: ReleaseId,
    *,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Where the result goes, or a folder; other outputs go beside it. Default: where the release was to "
            "put them.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Bring a release to its end that failed: write its result, or free its charge where no reading began."""
    book = Ledger(ledger)
    _, charge = book.release(release)
    packed = book.spooled(release)
    if charge.state == "reserved" and book.free(release):
        text = "freed: no reading began, so the charge is taken back and nothing is recovered"
    elif packed is None:
        raise BudgetError(f"release {release}: {_STATES.get(charge.state, _STATES['done'])}")
    else:
        from discreet.artefact.outputs import recover_files

        check_outputs({"--output": None if output and Path(output).is_dir() else output}, ledger)
        digests = recover_files(packed, None if output is None else Path(output), put_out)
        book.complete(release, digests)
        text = "recovered: " + (", ".join(digests) or "printed")
    _, charge = book.release(release)
    emit(_described(charge), text, as_json=as_json, command="budget recover")


def forget(ledger: LedgerFile, release: ReleaseId, *, as_json: Json = False) -> None:
    """Give up a release: its result is removed from beside the ledger, and its charge stays."""
    book = Ledger(ledger)
    book.release(release)
    book.forget(release)
    _, charge = book.release(release)
    text = "forgotten: no result is kept, and the charge stays"
    emit(_described(charge), text, as_json=as_json, command="budget forget")


def reconcile(
    ledger: LedgerFile,
    folder: Annotated[str, typer.Argument(metavar="FOLDER", help="Folder of published files.")],
    *,
    as_json: Json = False,
) -> Status:
    """Compare the files of a folder with the outputs that a ledger recorded.

    Status 1 if an output is missing or altered, or a file was charged to no release of this ledger.
    """
    from discreet.artefact.reconciling import reconcile as compare

    if not Path(folder).is_dir():
        raise InvalidProblemError("FOLDER", "a folder of published files", repr(folder))
    book = Ledger(ledger)
    outputs = {
        charge.release_id: charge.outputs
        for name in book.datasets
        for charge in book.history(name)
        if charge.outputs
    }
    found = compare(Path(folder).absolute(), outputs)
    rows: list[tuple[str, object]] = [("matched", f"{len(found.matched)} files")]
    for kind in ("missing", "altered", "uncharged"):
        rows += [(kind, f"{path}  {why}") for path, why in getattr(found, kind).items()]
    emit(asdict(found), facts(rows), as_json=as_json, command="budget reconcile")
    bad = found.missing or found.altered or found.uncharged
    return Status.CHECK_FAILED if bad else Status.DONE


_OPEN = ("reserved", "reading")

_STATES = {
    "reading": "it failed after reading began and before its result was kept, or still runs; the charge stays, because "
    "the failure may depend on the data. `budget forget` closes it",
    "void": "its charge was freed before reading began",
    "forgotten": "its result was given up, and the charge stays",
    "done": "its outputs are in place, and no result is kept beside the ledger",
}


def _advice(book: Ledger, charge: Charge) -> str:
    """Say what can be done about an open release."""
    if charge.state == "reserved":
        return "no reading began: `budget recover` frees the charge"
    if book.spooled(charge.release_id) is not None:
        return f"charged; the result is safe: `{book.recovery(charge.release_id)}`"
    return _STATES["reading"]


def _described(charge: Charge) -> dict[str, Any]:
    return {**vars(charge), "guarantee": charge.guarantee.to_dict()}


def _line(charge: Charge) -> str:
    outputs = "".join(f"  {digest}  {path}" for path, digest in charge.outputs.items())
    about = f"release {charge.release_id}  {charge.state}  {charge.command}"
    return one_line(f"{charge.charged}  {charge.guarantee}  {about}{outputs}", _LONGEST_LINE)


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
    with renamed_arguments({"digest": "--digest"}):
        verdict = book.check(digest)
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
        left = ", ".join(map(printed.decimal_down, account.left))
        spent = ", ".join(map(printed.decimal_up, account.spent))
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
    group.command("list", epilog="Example:\n\n```\ndiscreet budget list ledger.db\n```")(list_open)
    group.command(
        epilog="Example:\n\n```\ndiscreet budget recover ledger.db 0f3a... -o counts.csv\n```"
    )(recover)
    group.command(epilog="Example:\n\n```\ndiscreet budget forget ledger.db 0f3a...\n```")(forget)
    group.command(epilog="Example:\n\n```\ndiscreet budget reconcile ledger.db published/\n```")(
        reconcile
    )
    group.command(
        epilog="Example:\n\n```\ndiscreet budget check ledger.db --digest 12:7f0c...\n```"
    )(check)
    app.add_typer(group)
