"""Every kind of file that something in this library believes: originals, words, verifiers, and the oracle.

:data:`FORGED` has a line for each kind that ``discreet verify`` knows, and for the ledger and the memory of a client,
which other code believes. A kind without a line fails ``test_every_kind_is_forged``.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib.util
import io
import sqlite3
import tempfile
from contextlib import closing
from fractions import Fraction
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from discreet.artefact.judging import judge, kind_of_file
from discreet.core.channels import check_implicit
from discreet.core.channels.decay import Decay
from discreet.core.errors import BudgetError, InvalidProblemError
from discreet.core.guarantee import MetricDP
from discreet.ledger import Ledger
from discreet.lrgeo import Client, Epochs, Mechanism, Region, design, locate
from discreet.service.keeping import StateFile
from forger import changes, lattice_changes, noise_changes, originals
from forger.engine import Format, Ruling
from forger.mutations import Catalogue
from forger.oracles.channels import anchored_is_false, channel_is_false, mechanism_is_false
from forger.oracles.choices import choice_is_false
from forger.oracles.counting import counts_are_false, measurements_are_false
from forger.oracles.lattices import noise_is_false
from forger.oracles.ledgers import ledger_is_false, state_is_false
from forger.oracles.regions import region_tables_are_false, table_measurements_are_false
from forger.oracles.rows import rows_are_false
from forger.oracles.tables import table_is_false
from forger.sealing import (
    sealed_ledger,
    sealed_mechanism,
    sealed_noise,
    sealed_state,
    sealed_table,
    sealed_text,
    sealed_zip,
    table_of,
)
from node import NODE, Verifier

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import ModuleType

SCRIPT = Path(__file__).parents[2] / "verify_standalone.py"

NOT_CHECKED = 3
"""What the standalone program exits with where it is not the one to say."""

ASIDE = frozenset({"ledger", "state"})
"""Kinds that are believed by other code than ``discreet verify``."""

NOT_YET: dict[str, str] = {}
"""Kinds that have no catalogue and no oracle yet, and what stands in for them. It stays empty."""

UNITS = (
    "km",
    "m",
    "rad",
    "euclidean",
    "manhattan",
    "haversine",
    "angular",
    "hyperbolic",
    "grid",
    "graph",
    "matrix",
)
CLAIMS = (
    "pure-dp",
    "approx-dp",
    "zero-concentrated-dp",
    "metric-dp",
    "k-anonymity",
    "channel",
    "anchored",
)
RELATIONS = ("add-remove-person", "replace-person", "add-remove-one", "replace-one")
COUNTS = (
    "survival",
    "direct",
    "sorted",
    "chain",
    "laplace",
    "gaussian",
    "public",
    "private",
    "none",
)
RULES = (
    "basic composition",
    "advanced composition",
    "zCDP of bounded range",
    "zCDP, converted",
    "decomposable, one pass",
    "secret subsample",
    "exchange walk",
    "no data",
    *("greedy", "permute-and-flip", "rounds", "walk", "subsample", "blind"),
    *("uniform", "partition", "laminar", "graphic", "linear", "transversal", "dual"),
)


@cache
def standalone() -> ModuleType:
    """Load the program that verifies channels alone."""
    spec = importlib.util.spec_from_file_location("verify_standalone", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    # Of thousands of mutants most have the same factors: what is computed of them is kept, not what is decided.
    module.is_factor = lru_cache(1 << 14)(module.is_factor)  # type: ignore[attr-defined] # of the program
    return module


def alone(path: Path) -> Ruling:
    """Ask the standalone program."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        status = standalone().main([str(path)])
    if status == NOT_CHECKED:
        return Ruling("not checked")
    return Ruling("refused" if status else "accepted")


_COMPUTED: Any = vars(Decay)["tables"].func


@lru_cache(256)
def _factors(rate: Fraction) -> Any:
    return _COMPUTED(Decay(rate))


_FOUND: dict[Any, Any] = {}
"""Verdicts on the factors of a rate: of thousands of mutants most have the same ones."""


def _factors_check(channel: Any, whole: Any = check_implicit._table_check) -> Any:
    """Ask once for all that this check depends on: the rate, the scale, and the factors themselves."""
    key = channel.rate, channel.space.scale_bits, channel.decay.tables.tobytes()
    if key not in _FOUND:
        _FOUND[key] = whole(channel)
    return _FOUND[key]


@contextlib.contextmanager
def quickly() -> Iterator[None]:
    """Keep what is computed of a rate, 3584 exponentials in fractions, from one mutant to the next."""
    with (
        patch.object(Decay, "tables", property(lambda decay: _factors(decay.rate))),
        patch.object(check_implicit, "_table_check", _factors_check),
    ):
        yield


@cache
def browsers() -> dict[str, Callable[[Path], Ruling]]:
    """Give the verifier in JavaScript, where there is a Node: one process for all files."""
    if NODE is None:
        return {}
    third = Verifier()
    atexit.register(third.close)

    def ask(path: Path) -> Ruling:
        status = third.judge(path)["status"]
        if status == NOT_CHECKED:
            return Ruling("not checked")
        return Ruling("refused" if status else "accepted")

    return {"browser": ask}


def command(name: str, *, optimality: bool = False) -> Callable[[Path], Ruling]:
    """Give what asks the library, as ``discreet verify`` does, whether a file is right, and of this kind."""

    def ask(path: Path) -> Ruling:
        with quickly():
            certificate, said = judge(path, optimality=optimality)
        # A file that has become one of another kind is judged as that.
        accepted = certificate.passed and kind_of_file(path) == name
        return Ruling("accepted" if accepted else "refused", said)

    return ask


def of_table(name: str) -> Callable[[Path], Ruling]:
    """Ask about the table that stands beside its record."""
    ask = command(name)
    return lambda path: ask(table_of(path))


def channel(folder: Path) -> Format:
    words = (*UNITS, *CLAIMS)
    catalogue = Catalogue(originals.channels(folder), words, changes.CHANNEL)
    judges = {"discreet": command("channel", optimality=True), "standalone": alone, **browsers()}
    return Format("channel", catalogue, sealed_zip, judges, channel_is_false)


def anchored(folder: Path) -> Format:
    words = (*UNITS, *CLAIMS)
    catalogue = Catalogue(originals.anchored(folder), words, changes.ANCHORED)
    judges = {"discreet": command("anchored", optimality=True), "standalone": alone, **browsers()}
    return Format("anchored", catalogue, sealed_zip, judges, anchored_is_false)


def mechanism(folder: Path) -> Format:
    words = ("km", "m", "plane", "lattice", *CLAIMS)
    catalogue = Catalogue(originals.mechanisms(folder), words, changes.MECHANISM, most=24)
    return Format(
        "mechanism",
        catalogue,
        sealed_mechanism,
        {"discreet": command("mechanism"), **browsers()},
        mechanism_is_false,
    )


def lattice_mechanism(_: Path) -> Format:
    made = originals.rows_on_lattices()
    catalogue = Catalogue(made, ("km", "m", *CLAIMS), lattice_changes.LATTICE, most=24)
    judges = {"discreet": command("lattice-mechanism"), "standalone": alone, **browsers()}
    return Format("lattice-mechanism", catalogue, sealed_noise, judges, rows_are_false)


def noise_mechanism(_: Path) -> Format:
    made = originals.lattices()
    catalogue = Catalogue(made, ("km", "m", *CLAIMS), noise_changes.NOISE, most=24)
    judges = {"discreet": command("noise-mechanism"), "standalone": alone, **browsers()}
    return Format("noise-mechanism", catalogue, sealed_noise, judges, noise_is_false)


def region_counts(folder: Path) -> Format:
    words = (*RELATIONS, *COUNTS, *CLAIMS)
    catalogue = Catalogue(originals.counts(folder), words, changes.COUNTS, most=24)
    return Format(
        "region-counts",
        catalogue,
        sealed_table,
        {"discreet": of_table("region-counts")},
        counts_are_false,
    )


def measurements(folder: Path) -> Format:
    words = (*RELATIONS, *COUNTS, *CLAIMS)
    catalogue = Catalogue(originals.measurements(folder), words, changes.MEASUREMENTS, most=24)
    return Format(
        "measurements",
        catalogue,
        sealed_table,
        {"discreet": of_table("measurements")},
        measurements_are_false,
    )


def anonymous(folder: Path) -> Format:
    words = ("ill=distinct:4", "ill=entropy:3", "age=distinct:1", *CLAIMS)
    catalogue = Catalogue(originals.tables(folder), words, changes.TABLE)
    return Format(
        "anonymous-table",
        catalogue,
        sealed_table,
        {"discreet": of_table("anonymous-table")},
        table_is_false,
    )


def region_tables(folder: Path) -> Format:
    words = (*RELATIONS, *COUNTS, *CLAIMS, "cells", "total", "sex", "age")
    catalogue = Catalogue(originals.region_tables(folder), words, changes.REGION_TABLES, most=24)
    judges = {"discreet": of_table("region-tables")}
    return Format("region-tables", catalogue, sealed_table, judges, region_tables_are_false)


def table_measurements(folder: Path) -> Format:
    words = (*RELATIONS, *COUNTS, *CLAIMS, "cells", "total", "sex", "age")
    made = originals.table_measurements(folder)
    catalogue = Catalogue(made, words, changes.REGION_TABLES, most=24)
    judges = {"discreet": of_table("table-measurements")}
    return Format(
        "table-measurements", catalogue, sealed_table, judges, table_measurements_are_false
    )


def choice(folder: Path) -> Format:
    words = (*RELATIONS, *RULES, *CLAIMS)
    catalogue = Catalogue(originals.choices(folder), words, changes.CHOICE)
    return Format(
        "choice",
        catalogue,
        changes.with_matroid_hash(sealed_text),
        {"discreet": command("choice")},
        choice_is_false,
    )


def ledger(folder: Path) -> Format:
    made = originals.ledgers(folder)
    book = Ledger(folder / "original.db")
    full, empty = book.digest(), (folder / "original.db").read_bytes()
    lines = _lines(folder / "original.db")
    noted = [(full, {"salt": made[0]["salt"], "lines": lines})]

    def ask(path: Path) -> Ruling:
        found = Ledger(path)
        left = {name: [str(x) for x in found.account(name).left] for name in found.datasets}
        for name in found.datasets:
            found.history(name)
        answers = [(what, found.check(digest)) for digest, what in noted]
        return Ruling("accepted", {"left": left, "noted": answers})

    catalogue = Catalogue(
        made, (*RELATIONS, *CLAIMS, "grant", "charge", "census", "zones", "team"), changes.LEDGER
    )
    return Format("ledger", catalogue, sealed_ledger(empty), {"discreet": ask}, ledger_is_false)


def _lines(path: Path) -> list[Any]:
    with closing(sqlite3.connect(path)) as db:
        return db.execute("SELECT kind, dataset, guarantee, made FROM lines ORDER BY id").fetchall()


def state(_: Path) -> Format:
    region = Region.from_grid(2, 2, cell="0.5", unit="km")
    client = Client(
        Mechanism.from_design(design(region, MetricDP(2, "km"), gap=0.5, scope="places"))
    )
    limits = {"per_day": Fraction(6), "for_life": Fraction(14)}
    epochs = Epochs(3600, per_day=6, for_life=14)
    walk = [
        (hour, (0.3, 0.2) if hour % 3 else (0.8, 0.7)) for hour in (*range(20, 30), *range(48, 53))
    ]

    def ask(path: Path) -> Ruling:
        steps = []
        with StateFile(path).changing(3600, "km") as change:
            now = change.state
        for hour, point in walk:
            try:
                report, now = locate(client, now, point, hour * 3600.0, epochs=epochs)
            except BudgetError:
                continue
            place = client.snap(point)
            steps.append(
                {
                    "epoch": hour,
                    "day": hour // 24,
                    "place": place,
                    "report": report,
                    "spent": str(now.spent_in_all),
                }
            )
        said = {name: str(limit) for name, limit in limits.items()}
        return Ruling("accepted", {**said, "epsilon": str(client.cost), "steps": steps})

    def of_one_region(path: Path) -> Ruling:
        try:
            return ask(path)
        except InvalidProblemError:
            return Ruling("refused")

    catalogue = Catalogue(
        tuple(originals.states(client.mechanism)), ("km", "m", *CLAIMS), changes.STATE
    )
    return Format("state", catalogue, sealed_state, {"discreet": of_one_region}, state_is_false)


FORGED: dict[str, Callable[[Path], Format]] = {
    "anchored": anchored,
    "anonymous-table": anonymous,
    "channel": channel,
    "choice": choice,
    "ledger": ledger,
    "lattice-mechanism": lattice_mechanism,
    "measurements": measurements,
    "mechanism": mechanism,
    "noise-mechanism": noise_mechanism,
    "region-counts": region_counts,
    "region-tables": region_tables,
    "state": state,
    "table-measurements": table_measurements,
}


@cache
def kind(name: str) -> Format:
    """Make the kind of a name once in a process: its originals take seconds."""
    with tempfile.TemporaryDirectory() as folder:
        return FORGED[name](Path(folder))
