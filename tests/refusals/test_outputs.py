"""Outputs, budgets and options that are refused before a charge: nothing is charged, and nothing is written."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from discreet import ApproxDP, PureDP, ZeroConcentratedDP, counts
from discreet.artefact import OutputFile, ReleaseFiles
from discreet.artefact.counts import counts_content
from discreet.cli.app import run
from discreet.core.errors import InvalidProblemError
from discreet.ledger import Ledger
from refusals.releases import RELEASES
from refusals.releasing import arguments, charged, place

if TYPE_CHECKING:
    from collections.abc import Callable

    from refusals.releases import ReleaseCase

PLAIN = {"sizes": "plain counts", "categories": "plain categories", "select": "coverage"}
VERBS = {verb: next(one for one in RELEASES if one.id == id_) for verb, id_ in PLAIN.items()}


def folder_there(path: Path) -> None:
    """Make a folder in the place of an output."""
    path.mkdir()


def link_there(path: Path) -> None:
    """Make a link in the place of an output."""
    other = path.with_name(f"other{path.suffix}")
    other.write_text("kept", encoding="utf-8")
    path.symlink_to(other)


def device_there(path: Path) -> None:
    """Make a pipe in the place of an output, which none reads; a device takes an administrator."""
    os.mkfifo(path)


def foreign_there(path: Path) -> None:
    """Make another user's file, or one that is write-protected, in the place of an output."""
    path.write_text("kept", encoding="utf-8")
    if os.geteuid() == 0:
        os.chown(path, 12_345, 12_345)
    else:
        path.chmod(0o400)


THERE: dict[str, Callable[[Path], None]] = {
    "folder": folder_there,
    "device": device_there,
    "link": link_there,
    "another user's file": foreign_there,
}


def refused(case: ReleaseCase, table: Path, folder: Path, capsys: Any, *more: str) -> str:
    """Run a command that is refused before the charge; return its sentence."""
    capsys.readouterr()
    status = run([*arguments(case, table, folder), *more])
    err = str(capsys.readouterr().err).strip().splitlines()[-1]
    assert status == 2, err
    assert not charged(folder)
    return err


@pytest.mark.parametrize("there", THERE)
@pytest.mark.parametrize("verb", VERBS)
def test_an_output_that_can_not_be_replaced_is_refused_before_the_charge(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], verb: str, there: str
) -> None:
    case, table = VERBS[verb], place(VERBS[verb], tmp_path)
    THERE[there](tmp_path / "out.csv")
    assert refused(case, table, tmp_path, capsys).startswith("discreet: --output: expected a file")
    if there == "link":
        assert (tmp_path / "other.csv").read_text(encoding="utf-8") == "kept"


@pytest.mark.parametrize("verb", VERBS)
def test_one_name_for_output_and_report_is_refused_before_the_charge(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], verb: str
) -> None:
    case, table = VERBS[verb], place(VERBS[verb], tmp_path)
    same = refused(case, table, tmp_path, capsys, "--report", str(tmp_path / "out.csv"))
    assert "--report: expected a file of its own" in same
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize("there", THERE)
def test_python_refuses_the_same_outputs(tmp_path: Path, there: str) -> None:
    table, path = place(VERBS["sizes"], tmp_path), tmp_path / "out.csv"
    THERE[there](path)
    files = ReleaseFiles([OutputFile("path", path, lambda made: counts_content(made, ".csv"))])
    with pytest.raises(InvalidProblemError, match="path: expected a file"):
        counts(
            str(table),
            PureDP(1, "add-remove-person"),
            columns=["r"],
            regions=str(tmp_path / "regions.csv"),
            unit="home",
            max_size=3,
            budget=Ledger(tmp_path / "ledger.db"),
            dataset="d",
            outputs=files,
        )
    assert not charged(tmp_path)


def test_a_release_without_an_output_is_refused_before_the_charge(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    case, table = VERBS["sizes"], place(VERBS["sizes"], tmp_path)
    line = arguments(case, table, tmp_path)
    at = line.index("-o")
    del line[at : at + 2]
    assert run(line) == 2
    assert "without one the budget is spent for nothing" in capsys.readouterr().err
    assert not charged(tmp_path)


@pytest.mark.parametrize("matroid", ["laminate:x.csv", "5", "Uniform:1", "uniform", ":"])
def test_unknown_kinds_of_matroids_list_the_kinds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], matroid: str
) -> None:
    case, table = VERBS["select"], place(VERBS["select"], tmp_path)
    line = arguments(case, table, tmp_path)
    line[line.index("uniform:1")] = matroid
    assert run(line) == 2
    told = capsys.readouterr().err
    assert "uniform:R, partition:FILE, laminar:FILE, graphic:FILE or transversal:FILE" in told
    assert not charged(tmp_path)


def test_rho_against_a_budget_of_epsilon_and_delta_takes_a_delta(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = place(VERBS["sizes"], tmp_path)
    limit = ApproxDP(2, "1/100000", "add-remove-person")
    Ledger.create(tmp_path / "both.db", "d", limit)
    rho = ["--rho", "1/100", "--neighbors", "add-remove-person"]
    line = arguments(VERBS["sizes"], table, tmp_path)
    line[line.index("--epsilon") : line.index("--ledger")] = rho
    line[line.index(str(tmp_path / "ledger.db"))] = str(tmp_path / "both.db")
    assert run(line) == 2
    assert "--delta" in capsys.readouterr().err
    assert Ledger(tmp_path / "both.db").account("d").left[0] == 2
    assert run([*line, "--delta", "1/1000000"]) == 0
    spent = 2 - Ledger(tmp_path / "both.db").account("d").left[0]
    # By the tight conversion, rounded up.
    assert 0.6216 < spent < 0.6219
    assert ZeroConcentratedDP("1/100", "add-remove-person").rho * 60 < spent


def test_k_is_an_option_of_one_letter_and_of_a_word(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "a.csv"
    table.write_text("age,ill\n30,flu\n30,flu\n", encoding="utf-8")
    for option in ("-k", "--k"):
        assert run(["anonymize", str(table), option, "1", "--quasi", "age", "--drop", "ill"]) == 2
        assert "-k: expected" in capsys.readouterr().err or option == "--k"
