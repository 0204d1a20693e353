"""Release private results: the one order in which a budget is charged and private data are read.

Trusted: every mechanism that spends a budget, from every entrance, runs :func:`run_release` and nothing else. A failure
before the marker "reading" costs nothing. A failure between that marker and the spool stays charged, since it may
depend on the data. A failure after the spool stays charged, too, and the result can be recovered.
"""

from __future__ import annotations

import secrets
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from discreet.core.budget import charge_of
from discreet.core.errors import BudgetError, DiscreetError, InvalidProblemError
from discreet.core.outcome import versions
from discreet.core.verified import mark_verified

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from contextlib import AbstractContextManager
    from fractions import Fraction

    from discreet.core.budget import Budget
    from discreet.core.exact import Exact
    from discreet.core.guarantee import DPGuarantee, Guarantee
    from discreet.core.outcome import PublicInput, Release

    Amounts = tuple[Fraction, ...]

ResultT = TypeVar("ResultT")

NO_LEDGER = "charged to no ledger"
"""``provenance.charge`` of a release without a budget; with one it is "release" and the release id."""

_STAYS = "The budget stays charged: a failure after reading began may depend on the data"


class ChargedError(BudgetError):
    """A release was charged, and its outputs are not in place; the message states whether the result is safe."""


class Planned(Protocol):
    """Release that is decided but for the private data."""

    @property
    def guarantee(self) -> DPGuarantee:
        """Guarantee of the release, which is what it charges."""
        ...

    @property
    def assumed_public(self) -> tuple[PublicInput, ...]:
        """Inputs that are assumed public, with hashes."""
        ...


class ReleaseOutputs(Protocol):
    """Files and streams that receive one release."""

    @property
    def command(self) -> str:
        """Command or call that made the release, for the ledger."""
        ...

    @property
    def expected_bytes(self) -> int:
        """Estimated size of all outputs, from public facts."""
        ...

    def opened(self) -> AbstractContextManager[None]:
        """Open the outputs beside their targets and reserve space; refuse targets that can't be written.

        A context manager, which closes them at its end. Raises InvalidProblemError.
        """
        ...

    def pack(self, made: Release[Any], left: Amounts | None) -> bytes:
        """Render all outputs of a verified release; `left` is what its budget has left, if it has one.

        It raises only if the first output can't be rendered. For a later one :meth:`place` raises, once all is written.

        `made` is the release; `left` are exact fractions, in the order of the limit's parameters.
        """
        ...

    def place(self, packed: bytes) -> Mapping[str, str]:
        """Write, sync and rename what :meth:`pack` rendered; return the SHA-256 of each file by path.

        `packed` is what :meth:`pack` returned; paths are texts, digests in hexadecimal.
        """
        ...


class ReleaseLedger(Protocol):
    """A budget that keeps the state of each release, as :class:`discreet.ledger.Ledger` does."""

    def open_release(
        self,
        dataset: str,
        guarantee: Guarantee,
        *,
        release_id: str,
        stated: Mapping[str, Any],
        room: int,
    ) -> Amounts | None:
        """Reserve `room` bytes for the spool, then charge durably; return what the dataset has left.

        `stated` are facts for the record. Raises BudgetError where the budget or the disk does not suffice; nothing
        is charged then.

        `guarantee` is the amount to charge, `release_id` 20 hexadecimal digits that are new.
        """
        ...

    def begin_reading(self, release_id: str) -> None:
        """Record durably that private data are about to be read; the charge can't be freed afterwards.

        `release_id` is that of :meth:`open_release`; InvalidProblemError where the charge was freed.
        """
        ...

    def free(self, release_id: str) -> bool:
        """Free the charge if no reading began; return whether it was freed.

        False for an unknown release as well.
        """
        ...

    def spool(self, release_id: str, packed: bytes) -> None:
        """Store the rendered outputs durably beside the ledger.

        `packed` is what :meth:`ReleaseOutputs.pack` rendered.
        """
        ...

    def complete(self, release_id: str, digests: Mapping[str, str]) -> None:
        """Record the SHA-256 of each output, and remove the spool.

        `digests` maps paths to SHA-256 in hexadecimal.
        """
        ...

    def recovery(self, release_id: str) -> str:
        """Command that recovers the result from the spool.

        `release_id` is that of :meth:`open_release`; "" where there is no spool.
        """
        ...


class _PlainBudget:
    """Budget without release ids, or none at all: charged at once, never freed, without a spool."""

    def __init__(self, budget: Budget | None) -> None:
        self._budget = budget

    def open_release(self, dataset: str, guarantee: Guarantee, **_stated: object) -> None:
        """Charge the budget, if there is one, by its ``reserve``; other facts of the release are not kept.

        Returns ``None``, as what is left is not known. BudgetError if the budget refuses.
        """
        if self._budget is not None:
            self._budget.reserve(dataset, guarantee)

    def begin_reading(self, release_id: str) -> None:
        """Do nothing: such a charge is never freed."""

    def free(self, release_id: str) -> bool:  # noqa: ARG002 - as the protocol has it
        """Return False: such a charge is never freed."""
        return False

    def spool(self, release_id: str, packed: bytes) -> None:
        """Do nothing: such a budget has no spool."""

    def complete(self, release_id: str, digests: Mapping[str, str]) -> None:
        """Do nothing: such a budget keeps no state of a release."""

    def recovery(self, release_id: str) -> str:  # noqa: ARG002 - as the protocol has it
        """Return "": without a spool nothing can be recovered."""
        return ""


def refuse_other_outputs(outputs: object) -> None:
    """Raise if `outputs` are neither :class:`ReleaseOutputs`, nor a function of the plan, nor ``None``.

    Examples
    --------
    >>> refuse_other_outputs("out.csv")
    Traceback (most recent call last):
    discreet.core.errors.InvalidProblemError: outputs: expected files of a release, such as \
discreet.artefact.ReleaseFiles, got str
    """
    if outputs is not None and not (callable(outputs) or hasattr(outputs, "opened")):
        expected = "files of a release, such as discreet.artefact.ReleaseFiles"
        raise InvalidProblemError("outputs", expected, type(outputs).__name__)


def run_release(
    planned: Planned,
    method: str,
    *,
    budget: Budget | None,
    dataset: str | None,
    budget_delta: Exact | None,
    prepare: Callable[[], object],
    draw: Callable[[], Release[ResultT]],
    outputs: ReleaseOutputs | None = None,
) -> Release[ResultT]:
    """Check, charge, read, draw, verify, spool, write and record one release, in this order.

    `prepare` and `draw` are called once each, without arguments. InvalidProblemError also before anything for a
    dataset without a budget, or the reverse; CertificateError, after the charge, where a check of the result failed.

    Parameters
    ----------
    planned
        Plan of the release; the hashes of its public inputs are for the ledger.
    method
        Name of the method, for the ledger.
    budget, dataset
        Ledger and name of the dataset in it, or neither. A budget with a method ``open_release``, such as
        :class:`discreet.ledger.Ledger`, keeps a spool; any other is charged by its ``reserve``.
    budget_delta
        Delta at which rho is charged to an (epsilon, delta) budget; see :func:`~discreet.core.budget.charge_of`.
    prepare
        Checks of the schema and of the options, and loading of all compiled code. It reads no private value.
    draw
        Reads the private data, draws the result and checks it.
    outputs
        Files that receive the result. Without them the result is returned only, and can't be recovered.

    Returns
    -------
    Release
        The release, verified, with its release id in ``provenance.charge``.

    Raises
    ------
    InvalidProblemError
        By `prepare` and by outputs that can't be written, before the charge; by `draw`, after it.
    BudgetError
        If the budget refuses; nothing was read.
    ChargedError
        If reading or writing failed after the charge.
    """
    if budget is None and dataset is not None:
        raise InvalidProblemError("dataset", "a budget with it", repr(dataset))
    if budget is not None and not dataset:
        raise InvalidProblemError("dataset", "its name in the ledger", repr(dataset))
    guarantee = charge_of(planned.guarantee, budget, budget_delta)
    prepare()
    with nullcontext() if outputs is None else outputs.opened():
        release_id = secrets.token_hex(10)
        recorded: Any = budget if hasattr(budget, "open_release") else _PlainBudget(budget)
        ledger: ReleaseLedger = recorded
        stated = {
            "command": "Python" if outputs is None else outputs.command,
            "version": versions()["discreet"],
            "parameters": {
                "method": method,
                "assumed_public": {one.name: one.digest for one in planned.assumed_public},
            },
        }
        room = 0 if outputs is None else outputs.expected_bytes
        with _freed_on_failure(ledger, release_id):
            left = ledger.open_release(
                dataset or "", guarantee, release_id=release_id, stated=stated, room=room
            )
            ledger.begin_reading(release_id)
        with _charge_stands(charged=budget is not None):
            made = draw()
            made.certificate.raise_for_failure()
            charge = NO_LEDGER if budget is None else f"release {release_id}"
            made = replace(made, provenance=replace(made.provenance, charge=charge))
            mark_verified(made)
            packed = b"" if outputs is None else outputs.pack(made, left)
            if outputs is not None:
                ledger.spool(release_id, packed)
        with _result_kept(ledger.recovery(release_id)):
            ledger.complete(release_id, {} if outputs is None else outputs.place(packed))
    return made


@contextmanager
def _freed_on_failure(ledger: ReleaseLedger, release_id: str) -> Iterator[None]:
    """Free a charge if its release fails before the marker "reading" is on the disk.

    A context manager; the error is raised again. Where the charge can't be freed, it stays.
    """
    try:
        yield
    except BaseException:
        # A charge that can't be freed now is freed by `discreet budget recover`.
        with suppress(DiscreetError):
            ledger.free(release_id)
        raise


@contextmanager
def _charge_stands(*, charged: bool) -> Iterator[None]:
    """State in any error that the charge stays.

    A context manager. Where nothing was `charged`, errors pass unchanged. InvalidProblemError is raised anew with the
    fact in its text, OSError as ChargedError, and any other error with a note.
    """
    try:
        yield
    except InvalidProblemError as error:
        if not charged:
            raise
        stated = error.renamed(error.field, got=f"{error.got}. {_STAYS}")
        stated.add_note(_STAYS)
        raise stated from None
    except OSError as error:
        if not charged:
            raise
        raise ChargedError(
            f"charged, and the result is lost ({_reason(error)}). {_STAYS}"
        ) from error
    except BaseException as error:
        if charged:
            error.add_note(_STAYS)
        raise


@contextmanager
def _result_kept(recovery: str) -> Iterator[None]:
    """Replace an error after the spool by the command that recovers the result.

    A context manager. Without a `recovery` command errors pass unchanged; KeyboardInterrupt and the like get a note.
    """
    try:
        yield
    except BaseException as error:
        if not recovery:
            raise
        text = f"charged; the result is safe: `{recovery}`"
        if isinstance(error, Exception):
            raise ChargedError(f"{text} ({_reason(error)})") from error
        error.add_note(f"{_STAYS}; {text}")
        raise


def _reason(error: Exception) -> str:
    """Return the cause of a failure in words that quote no value."""
    if isinstance(error, DiscreetError):
        return str(error)
    return getattr(error, "strerror", None) or type(error).__name__


def charge_note(error: BaseException | None) -> str:
    """Return the sentence about the charge that a failed release added to its error; "" without one, or for ``None``.

    Examples
    --------
    >>> charge_note(KeyboardInterrupt())
    ''
    """
    notes = getattr(error, "__notes__", ())
    return next((note for note in notes if note.startswith(_STAYS)), "")
