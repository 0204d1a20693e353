"""Upgrade and downgrade: files that earlier versions wrote go on living, and newer ones are refused as they are.

``data/ledger-1.db`` and ``data/ledger-2.db`` were written by commits of this repository that knew no later format.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
import zipfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import polars as pl
import pytest

import discreet as dc
from discreet.artefact import load_anonymous
from discreet.artefact.reader import read
from discreet.core.errors import BudgetError, DiscreetError
from discreet.ledger import Ledger
from discreet.ledger.file import FORMAT_VERSION

DATA = Path(__file__).parent / "data"
NOTED = "2:0cd83c96778ea95400ac8d43012ec8be02235da71c5e4239beb98a983c45800fbd342b5c53849ba93b02183beede0d4a"
"""What the version that wrote ``ledger-2.db`` printed for ``budget show --digest``."""
ONE = dc.PureDP("1/4", neighbors="add-remove-person")


def living(folder: Path, name: str) -> Path:
    path = folder / name
    shutil.copyfile(DATA / name, path)
    path.chmod(0o600)
    return path


def version_of(path: Path) -> int:
    with closing(sqlite3.connect(path)) as db:
        return int(db.execute("PRAGMA user_version").fetchone()[0])


def test_a_release_goes_on_with_a_ledger_of_the_former_version(tmp_path: Path) -> None:
    path = living(tmp_path, "ledger-2.db")
    open_before, before = Ledger(path), Ledger(path).history("town")
    plan = dc.hierarchy.plan(
        pl.DataFrame({"state": ["GA", "NY"]}),
        dc.PureDP(1, neighbors="add-remove-person"),
        columns=("state",),
        unit="household",
        max_size=4,
    )
    people = pl.DataFrame({"state": ["GA", "GA", "NY"], "household": ["a", "a", "b"]})
    made = plan.release(people, budget=Ledger(path), dataset="town")
    assert made.certificate.passed
    assert (version_of(DATA / path.name), version_of(path)) == (2, FORMAT_VERSION)
    # Who had opened it before the upgrade sees the same account, and what was noted then is continued.
    assert open_before.account("town").left == (Fraction(1),)
    assert open_before.history("town")[: len(before)] == before
    assert open_before.check(NOTED) == "extends"


@pytest.mark.parametrize(("name", "dataset"), [("ledger-1.db", "census"), ("ledger-2.db", "town")])
def test_an_upgrade_by_many_at_once_loses_no_charge_and_grants_none_twice(
    tmp_path: Path, name: str, dataset: str
) -> None:
    path = living(tmp_path, name)
    (left,) = Ledger(path).account(dataset).left
    fits = int(left / ONE.epsilon)

    def charge(_: int) -> bool:
        try:
            Ledger(path).reserve(dataset, ONE)
        except BudgetError:
            return False
        return True

    with ThreadPoolExecutor(4) as pool:
        charged = sum(pool.map(charge, range(fits + 5)))
    assert charged == fits
    assert Ledger(path).account(dataset).left == (left - fits * ONE.epsilon,)


def newer_ledger(folder: Path) -> tuple[Path, Callable[[Path], object]]:
    path = living(folder, "ledger-2.db")
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"PRAGMA user_version = {FORMAT_VERSION + 1}")
    return path, lambda path: Ledger(path).reserve("town", ONE)


def newer_channel(folder: Path) -> tuple[Path, Callable[[Path], object]]:
    path = folder / "newer.channel"
    with zipfile.ZipFile(DATA / "channel-1.channel") as old, zipfile.ZipFile(path, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "meta.json":
                content = json.dumps(json.loads(content) | {"schema_version": 2}).encode()
            new.writestr(name, content)
    return path, read


def newer_table(folder: Path) -> tuple[Path, Callable[[Path], object]]:
    for name in ("anonymous-1.csv", "anonymous-1.csv.discreet.json"):
        shutil.copyfile(DATA / name, folder / name)
    path = folder / "anonymous-1.csv.discreet.json"
    stated = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(stated | {"schema_version": 2}), encoding="utf-8")
    return path, lambda path: load_anonymous(path.with_name("anonymous-1.csv"))


@pytest.mark.parametrize("build", [newer_ledger, newer_channel, newer_table])
def test_a_file_of_a_newer_version_is_refused_by_name_and_left_as_it_is(
    tmp_path: Path, build: Callable[[Path], tuple[Path, Callable[[Path], object]]]
) -> None:
    path, use = build(tmp_path)
    before = path.read_bytes()
    with pytest.raises(DiscreetError, match="newer discreet"):
        use(path)
    assert path.read_bytes() == before
