"""``budget``: grant a dataset a budget, and list its charges and its remaining budget."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, final, get_args

import typer

from discreet.cli.calls import from_options
from discreet.cli.commands import example_text
from discreet.cli.files import check_outputs, write_page
from discreet.cli.options import JsonOption, ReportOption, output_file, require_one
from discreet.cli.output import Status, emit, put_out, renamed_arguments, warn_of_weakness
from discreet.core import printed
from discreet.core.calculus import to_approx_dp
from discreet.core.errors import BudgetError, InvalidProblemError
from discreet.core.guarantee import ApproxDP, MetricDP, Neighbors, PureDP, ZeroConcentratedDP
from discreet.core.option_groups import REQUIRED, argument, option
from discreet.core.printed import facts, one_line
from discreet.ledger import Ledger

if TYPE_CHECKING:
    from discreet.core.guarantee import Guarantee
    from discreet.ledger import Charge


class LedgerOptions(JsonOption):
    """The ledger."""

    ledger: str = argument("The ledger, an SQLite file.", "LEDGER")


class ReleaseOptions(LedgerOptions):
    """A release in a ledger."""

    release: str = argument("Release id, as `budget list` shows it.", "ID")


class DatasetOptions(LedgerOptions):
    """A dataset in a ledger."""

    dataset: str = option("Name of the data in the ledger.", default=REQUIRED)


@final
class GrantOptions(DatasetOptions):
    """Options of ``budget create``."""

    epsilon: str | None = option("The most that all releases together may spend.")
    delta: str | None = option("Slack in probability, for approximate privacy.")
    rho: str | None = option("The most, for zero-concentrated privacy instead.")
    neighbors: str | None = option(
        "add-remove-one, replace-one, add-remove-person or replace-person; needed but with --unit."
    )
    unit: str | None = option("Unit of distance, for metric privacy instead of --neighbors.")
    radius: str | None = option("Radius of metric privacy.")


@final
class ShowOptions(LedgerOptions, ReportOption):
    """Options of ``budget show``."""

    dataset: str | None = option("Only this dataset; default: all of them.")
    digest: bool = option(
        "Print count:digest of all grants and charges instead, to be kept where those who write the ledger "
        "cannot write. `budget check` compares.",
        default=False,
    )


@final
class RecoverOptions(ReleaseOptions):
    """Options of ``budget recover``."""

    output: str | None = output_file(
        "Where the result goes, or a folder; other outputs go beside it. Default: where the release was to put them."
    )


@final
class ReconcileOptions(LedgerOptions):
    """Options of ``budget reconcile``."""

    folder: str = argument("Folder of published files.", "FOLDER")


@final
class CheckOptions(LedgerOptions):
    """Options of ``budget check``."""

    digest: str = option(
        "What `budget show --digest` printed, noted elsewhere.", "COUNT:DIGEST", default=REQUIRED
    )


@from_options(GrantOptions)
def create(options: GrantOptions) -> None:
    """Grant a dataset a budget; the ledger is made when it is not there.

    The limit, the notion of privacy, the neighbors and the unit are fixed for ever.
    """
    limit = _limit(options)
    book = Ledger.create(options.ledger, options.dataset, limit)
    if isinstance(limit, PureDP | ApproxDP | ZeroConcentratedDP):
        warn_of_weakness(limit, quiet=False)
    _emit("budget create", options, book, (options.dataset,))


@from_options(ShowOptions)
def show(options: ShowOptions) -> None:
    """Show the limit, the spent and the remaining budget of every dataset."""
    if options.digest:
        if options.dataset is not None or options.report is not None:
            expected = "neither --dataset nor --report beside it, for it is of the whole ledger"
            raise InvalidProblemError("--digest", expected, "one of them")
        noted = Ledger(options.ledger).digest()
        emit("budget show", options, {"digest": noted}, noted)
        return
    check_outputs({"--report": options.report}, options.ledger)
    book = Ledger(options.ledger)
    names = book.datasets if options.dataset is None else (options.dataset,)
    accounts = {name: book.account(name) for name in names}
    charges = {name: book.history(name) for name in names}
    write_page(options.report, "budget", accounts, charges=charges, headline="Privacy budgets")
    _emit("budget show", options, book, names)


@from_options(DatasetOptions)
def history(options: DatasetOptions) -> None:
    """List what was charged to a dataset, oldest first: release id, state, command, and SHA-256 of each output."""
    charges = Ledger(options.ledger).history(options.dataset)
    data = {"dataset": options.dataset, "charges": [_described(charge) for charge in charges]}
    text = "\n".join(_line(charge) for charge in charges) or "nothing was charged"
    emit("budget history", options, data, text)


@from_options(LedgerOptions)
def list_open(options: LedgerOptions) -> None:
    """List the releases that were charged and are not in place, and what to do about each."""
    book = Ledger(options.ledger)
    releases = [
        (name, charge, _advice(book, charge))
        for name in book.datasets
        for charge in book.history(name)
        if charge.state in _OPEN
    ]
    data = [
        {"dataset": name, **_described(one), "advice": advice} for name, one, advice in releases
    ]
    lines = [f"{name}  {_line(one)}\n  {advice}" for name, one, advice in releases]
    text = "\n".join(lines) or "no release is open"
    emit("budget list", options, {"releases": data}, text)


@from_options(RecoverOptions)
def recover(options: RecoverOptions) -> None:
    """Complete a release that failed: write its result, or free its charge if no reading began."""
    book, release, output = Ledger(options.ledger), options.release, options.output
    _, charge = book.release(release)
    packed = book.spooled(release)
    if charge.state == "reserved" and book.free(release):
        text = "freed: no reading began, so the charge is taken back and nothing is recovered"
    elif packed is None:
        raise BudgetError(f"release {release}: {_STATES.get(charge.state, _STATES['done'])}")
    else:
        from discreet.artefact.outputs import recover_files

        check_outputs(
            {"--output": None if output and Path(output).is_dir() else output}, options.ledger
        )
        digests = recover_files(packed, None if output is None else Path(output), put_out)
        book.complete(release, digests)
        text = "recovered: " + (", ".join(digests) or "printed")
    _, charge = book.release(release)
    emit("budget recover", options, _described(charge), text)


@from_options(ReleaseOptions)
def forget(options: ReleaseOptions) -> None:
    """Remove the result of a release from beside the ledger; its charge stays."""
    book = Ledger(options.ledger)
    book.release(options.release)
    book.forget(options.release)
    _, charge = book.release(options.release)
    text = "forgotten: no result is kept, and the charge stays"
    emit("budget forget", options, _described(charge), text)


@from_options(ReconcileOptions)
def reconcile(options: ReconcileOptions) -> Status:
    """Compare the files of a folder with the outputs that a ledger recorded.

    Status 1 if an output is missing or altered, or a file was charged to no release of this ledger.
    """
    from discreet.artefact.reconciling import reconcile as compare

    folder = Path(options.folder)
    if not folder.is_dir():
        raise InvalidProblemError("FOLDER", "a folder of published files", repr(options.folder))
    book = Ledger(options.ledger)
    outputs = {
        charge.release_id: charge.outputs
        for name in book.datasets
        for charge in book.history(name)
        if charge.outputs
    }
    compared = compare(folder.absolute(), outputs)
    rows: list[tuple[str, object]] = [("matched", f"{len(compared.matched)} files")]
    for kind in ("missing", "altered", "uncharged"):
        rows += [(kind, f"{path}  {why}") for path, why in getattr(compared, kind).items()]
    emit("budget reconcile", options, asdict(compared), facts(rows))
    bad = compared.missing or compared.altered or compared.uncharged
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
    """Return what to type about an open release, as a sentence; reads whether its result is kept beside the ledger."""
    if charge.state == "reserved":
        return "no reading began: `budget recover` frees the charge"
    if book.spooled(charge.release_id) is not None:
        return f"charged; the result is safe: `{book.recovery(charge.release_id)}`"
    return _STATES["reading"]


def _described(charge: Charge) -> dict[str, Any]:
    """Return a charge as a mapping of plain values for JSON, its guarantee as a mapping, too."""
    return {**vars(charge), "guarantee": charge.guarantee.to_dict()}


def _line(charge: Charge, *, max_letters: int = 2_000) -> str:
    """Return a charge with its outputs as one line of text, cut after `max_letters`; ``--json`` shows all of it."""
    outputs = "".join(f"  {digest}  {path}" for path, digest in charge.outputs.items())
    about = f"release {charge.release_id}  {charge.state}  {charge.command}"
    return one_line(f"{charge.charged}  {charge.guarantee}  {about}{outputs}", max_letters)


_SHOWN_DELTA = "1e-6"
"""Delta at which a limit of zero-concentrated privacy is shown as approximate privacy, too."""

_VERDICTS = {
    "extends": "all that was there then is there unchanged, in its order",
    "older": "fewer grants and charges than then: an old copy, or one whose end was cut off",
    "other": "not a continuation of the noted ledger: changed, written anew, or another ledger",
}


@from_options(CheckOptions)
def check(options: CheckOptions) -> Status:
    """Compare a ledger with a digest of it that was noted elsewhere.

    It says "extends" (status 0), "older" or "other" (status 1).
    """
    book = Ledger(options.ledger)
    with renamed_arguments({"digest": "--digest"}):
        verdict = book.check(options.digest)
    anchored = int(options.digest.partition(":")[0])
    data = {"verdict": verdict, "means": _VERDICTS[verdict], "anchored": anchored}
    text = f"{verdict}: {_VERDICTS[verdict]}"
    emit("budget check", options, data, text)
    return Status.DONE if verdict == "extends" else Status.CHECK_FAILED


def _limit(options: GrantOptions) -> Guarantee:
    """Return the limit that the options state: epsilon, (epsilon, delta), rho, or metric privacy with a unit.

    InvalidProblemError for options that do not go together, or amounts that are no positive numbers.
    """
    relation: Any = options.neighbors
    epsilon, unit = options.epsilon, options.unit
    require_one("--epsilon", "a limit here, or with --rho", epsilon, options.rho)
    known = f"one of {', '.join(get_args(Neighbors))}, or a distance with --unit"
    require_one("--neighbors", known, relation, unit)
    fits = {
        "delta": epsilon is not None and unit is None,
        "radius": unit is not None,
        "unit": options.rho is None,
    }
    misfits = [name for name, fit in fits.items() if not fit]
    options.refuse(misfits, "no such option with these others")
    if options.rho is not None:
        return ZeroConcentratedDP(options.rho, relation)
    if unit is not None:
        return MetricDP(epsilon or "", unit, options.radius)
    if options.delta is None:
        return PureDP(epsilon or "", relation)
    return ApproxDP(epsilon or "", options.delta, relation)


def _emit(command: str, options: JsonOption, book: Ledger, names: tuple[str, ...]) -> None:
    """Print limit, spent and remaining budget of the datasets in `names`, as JSON or text; spent is rounded up.

    `command` is the name that JSON states; `book` is the ledger, which is read once for each dataset.
    """
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
        rows += [("dataset", name), ("limit", account.limit)]
        if isinstance(account.limit, ZeroConcentratedDP):
            rows.append(("which implies", to_approx_dp(account.limit, delta=_SHOWN_DELTA)))
        rows += [("spent", spent), ("left", left)]
    emit(command, options, {"datasets": listed}, facts(rows) if rows else "")


_COMMANDS = {
    "create": (
        create,
        "create ledger.db --dataset census-2030 --epsilon 4 --neighbors add-remove-person",
    ),
    "show": (show, "show ledger.db"),
    "history": (history, "history ledger.db --dataset census-2030"),
    "list": (list_open, "list ledger.db"),
    "recover": (recover, "recover ledger.db 0f3a... -o counts.csv"),
    "forget": (forget, "forget ledger.db 0f3a..."),
    "reconcile": (reconcile, "reconcile ledger.db published/"),
    "check": (check, "check ledger.db --digest 12:7f0c..."),
}
"""Command -> its function, and an example."""


def register(app: typer.Typer) -> None:
    """Add the commands of this group."""
    about = "Grant datasets privacy budgets, and see the remaining budgets."
    group = typer.Typer(name="budget", help=about, no_args_is_help=True)
    for name, (command, example) in _COMMANDS.items():
        group.command(name, epilog=example_text((f"discreet budget {example}",)))(command)
    app.add_typer(group)
