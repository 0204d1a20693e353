"""Attacks on a mechanism by its name, or on a published file."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.artefact import load_anchored, load_anonymous, load_mechanism
from discreet.artefact.judging import kind_of_file
from discreet.artefact.reader import read
from discreet.core.errors import InvalidProblemError
from discreet.core.lazy import registered
from discreet.core.options import items_of, path_of, whole_number
from discreet.core.printed import count
from discreet.evaluate.attack.design import attack_channel
from discreet.evaluate.attack.finding import DEFAULT_FAILURE
from discreet.evaluate.attack.request import AttackRequest
from discreet.evaluate.attack.rows import ShownRows
from discreet.evaluate.attack.tables import attack_tables
from discreet.evaluate.registry import ATTACKS
from discreet.tables.columns import no_column
from discreet.tables.reading import read_rows

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence

    from discreet.core.exact import Exact
    from discreet.core.progress import Progress
    from discreet.evaluate.attack.finding import Attacked
    from discreet.kanonymity.problem import Attribute

_MAX_PLACES_FOR_ALL_DRAWS, _FEWER_DRAWS = 400, 2_000
"""Places beyond which fewer reports are drawn by default: each draw of the production sampler computes a row."""

_DRAWN = ("reports", "steps", "stride")
_FILES = ("against", "others", "population", "again")
_RELEASE = (
    "a channel, a mechanism or an anonymized table: an attack on counts needs the truth, and a release does not hold "
    "it; `discreet attack hierarchy` attacks releases of synthetic counts"
)
_CHOICE = (
    "a channel, a mechanism for places or an anonymized table: an attack on a choice needs the records; `discreet "
    "attack submodular` attacks choices of synthetic records"
)
_POINTS = (
    "a channel, a mechanism for places or an anonymized table; `discreet attack lrgeo --mode every-point` attacks "
    "borders between places, and `discreet audit {path}` judges this file"
)
_REFUSED = {
    "choice": (_CHOICE, "a choice"),
    "lattice-mechanism": (_POINTS, "a mechanism for points"),
    "measurements": (_RELEASE, "a release"),
    "noise-mechanism": (_POINTS, "a mechanism for points"),
    "region-counts": (_RELEASE, "a release"),
    "region-tables": (_RELEASE, "a release"),
    "table-measurements": (_RELEASE, "a release"),
}
"""Kind of file that no attack reads -> what is expected instead, and what the file is."""


def attack(
    target: str | os.PathLike[str],
    *,
    method: str | None = None,
    epsilon: Exact | None = None,
    k: int | None = None,
    mode: str | None = None,
    reports: Sequence[int] | None = None,
    steps: int | None = None,
    stride: float | None = None,
    against: str | os.PathLike[str] | None = None,
    others: str | os.PathLike[str] | None = None,
    population: str | os.PathLike[str] | None = None,
    again: str | os.PathLike[str] | None = None,
    sensitive: str | None = None,
    trials: int | None = None,
    failure: float = DEFAULT_FAILURE,
    on_progress: Callable[[Progress], None] | None = None,
) -> Attacked:
    """Attack a mechanism or a published file by the best attacks known.

    Parameters
    ----------
    target
        Name of a mechanism, on synthetic data: ``"hierarchy"``, ``"kanonymity"``, ``"lrgeo"``, ``"metricdp"`` or
        ``"submodular"``; or the path of a channel, a mechanism for places, or an anonymized table.
    method
        Method of the mechanism. Default: the mechanism's own.
    epsilon
        Privacy budget with which the mechanism runs. It has no default.
    k
        Smallest size of an equivalence class with which the mechanism runs.
    mode
        Mode of the location service, with ``"lrgeo"``: ``"sound"``, or ``"every-point"`` or ``"places-only"`` to attack
        borders between places; ``"published"`` needs the distribution ``discreet-reproduction``.
    reports
        Numbers of reports of one secret. Default: 1, 2, 5, 10.
    steps
        Number of reports of a user who moves.
    stride
        Approximate length of a step. Default: distance to the nearest secret.
    against
        File of the original table: the people whom the attacker knows.
    others
        File of people who are not in the table: the control group.
    population
        File of all people among whom the attacker looks, those of the table included.
    again
        File of a second anonymized table of the same people, to intersect with.
    sensitive
        Column that the attacker wants to know.
    trials
        Number of draws or games. Default: each attack's own.
    failure
        Probability with which an interval may miss.
    on_progress
        Called with the trajectories of a user who moves that are done.

    Returns
    -------
    Attacked
        Success of the attacker, of a naive one, and against people whom the release does not concern; its text is
        what ``discreet attack`` prints. **Private** if it was computed from an original table.

    Raises
    ------
    InvalidProblemError
        For an unknown name, a file that cannot be read or attacked, or an option that has no meaning for the target.

    Examples
    --------
    >>> outcome = attack("metricdp", epsilon="1", method="exponential", trials=200)
    >>> outcome.kept, str(outcome).startswith("metricdp")
    (True, True)
    """
    path = path_of(target, "target")
    tables = {"against": against, "others": others, "population": population, "again": again}
    files: dict[str, Any] = {
        name: None if one is None else path_of(one, name) for name, one in tables.items()
    }
    draws: dict[str, Any] = {"steps": steps, "stride": stride, "trials": trials, "failure": failure}
    request = AttackRequest(
        path,
        method,
        epsilon,
        k,
        sensitive=sensitive,
        mode=mode,
        reports=None if reports is None else _numbers_of_reports(reports),
        on_progress=on_progress,
        **files,
        **draws,
    )
    if path in ATTACKS:
        outcome: Attacked = registered(ATTACKS, path, "target")(request)
        return outcome
    if not Path(path).exists():
        expected = f"one of {', '.join(sorted(ATTACKS))}, or a file"
        raise InvalidProblemError("target", expected, repr(path))
    kind = _attackable_kind(path)
    return _attack_table(request) if kind == "anonymous-table" else _attack_channel(kind, request)


def _attackable_kind(path: str) -> str:
    """Return the kind of a file, or refuse a kind that no attack reads."""
    kind = kind_of_file(path)
    if kind in _REFUSED:
        expected, what = _REFUSED[kind]
        expected = expected.format(path=shlex.quote(path))
        raise InvalidProblemError("target", expected, f"{what}, {path!r}")
    return kind


def _numbers_of_reports(reports: Sequence[int], *, most: int = 10_000) -> tuple[int, ...]:
    """Read numbers of reports of one secret; raise InvalidProblemError for none, or any outside 1 to `most`.

    10,000 reports take half a minute on a channel of nine secrets (2026-11-22).
    """
    expected = f"whole numbers from 1 to {count(most)}"
    counts = items_of(reports, "reports", expected)
    for number in counts:
        whole_number(number, "reports", expected)
    if not 0 < max(counts, default=0) <= most:
        raise InvalidProblemError("reports", expected, list(counts))
    return counts


def _attack_channel(kind: str, request: AttackRequest) -> Attacked:
    """Attack a stored channel with its problem's prior, or a location mechanism by its rows with a uniform prior.

    `kind` is "channel", "anchored" or that of another location mechanism. Beyond a number of places fewer reports are
    drawn unless the request states how many.
    """
    request.only(_DRAWN)
    path, options = request.target, request.draws
    if kind == "channel":
        made = read(path).design
        return attack_channel(made.channel, made.problem, made.guarantee, target=path, **options)
    placed = load_anchored(path) if kind == "anchored" else load_mechanism(path)
    channel, guarantee = placed.channel, placed.guarantee
    if request.trials is None and channel.n_secrets > _MAX_PLACES_FOR_ALL_DRAWS:
        options["trials"] = _FEWER_DRAWS
    return attack_channel(ShownRows(channel), channel.space, guarantee, target=path, **options)


def _attack_table(request: AttackRequest) -> Attacked:
    """Attack a published table by people known from the original; a search of each of them in the table.

    Raises InvalidProblemError for a file that lacks a quasi-identifier.

    `request` needs ``against``. People are compared with all classes; only the columns and options of tables are
    allowed.
    """
    request.only((*_FILES, "sensitive"))
    published = load_anonymous(request.target)
    names = published.guarantee.quasi_identifiers
    request.need("against")
    files: dict[str, Any] = {
        name: read_rows(path, name) for name in _FILES if (path := getattr(request, name))
    }
    for name, table in files.items():
        missing = [column for column in names if column not in table.columns]
        if missing and name != "again":
            raise no_column(name, missing[0], table.columns)
    files["original"] = files.pop("against")
    again: tuple[Any, Sequence[Attribute]] | None = None
    if request.again is not None:
        second = load_anonymous(request.again)
        promised = second.guarantee.quasi_identifiers
        again = files.pop("again"), [one for one in second.attributes if one.name in promised]
    return attack_tables(
        read_rows(request.target, "target"),
        published.guarantee,
        [one for one in published.attributes if one.name in names],
        request,
        files=files,
        again=again,
    )
