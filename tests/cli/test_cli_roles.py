"""Roles on the command line: commands of the guide, refusals by place, dates and codes, the page of the curator."""

from __future__ import annotations

import itertools
import json
import os
import re
import stat
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cli.commands import say
from discreet.core.dates import span_of
from discreet.core.guarantee import KAnonymity
from discreet.datasets.clinic import sample_csv
from discreet.kanonymity import Prefixes, anonymize

GUIDE = "anonymize patients.csv -k 5 --quasi birthdate,gender,zip --sensitive disease"
QUICK = "--method mondrian"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("patients.csv").write_text(sample_csv(120), encoding="utf-8")


def test_the_command_of_the_guide_publishes_no_identifier(
    capsys: pytest.CaptureFixture[str],
) -> None:
    line = f"{GUIDE} --drop patient_id,name --prefix zip -o out.csv --curator-report private.html"
    said = say(capsys, *line.split(), *QUICK.split())
    assert said.status == 0, said.err
    out = pl.read_csv("out.csv", infer_schema=False)
    assert out.columns == ["birthdate", "gender", "zip", "disease"]
    assert min(out.group_by("birthdate", "gender", "zip").len()["len"].to_list()) >= 5
    assert all(cell == "*" or span_of(cell) for cell in out["birthdate"])
    assert all(re.fullmatch(r"[0-9]*\**", cell) and len(cell) in (1, 5) for cell in out["zip"])
    record = Path("out.csv.discreet.json").read_text(encoding="utf-8")
    assert "patient_id" not in record
    assert json.loads(record)["provenance"]["parameters"]["roles"] == {
        "sensitive": ["disease"],
        "kept": [],
    }
    checked = say(capsys, "verify", "out.csv", "--against", "patients.csv")
    assert checked.status == 0
    assert "equivalence classes have k rows or more, counted exactly" in checked.out
    page = Path("private.html").read_text(encoding="utf-8")
    assert "must not be published" in page
    assert "quasi-identifier" in page
    if os.name == "posix":
        assert stat.S_IMODE(Path("private.html").stat().st_mode) == 0o600
    assert not Path("out.html").exists()


def test_columns_without_a_role_are_refused_by_their_places(
    capsys: pytest.CaptureFixture[str],
) -> None:
    said = say(capsys, *GUIDE.split(), "-o", "out.csv")
    assert (said.status, said.out) == (2, "")
    assert (
        "2 columns without a role (column 1: numbers of records, probably an identifier;"
        in said.err
    )
    assert "column 2: cells look like names of people)" in said.err
    assert "patient_id" not in said.err
    assert not Path("out.csv").exists()
    shown = say(capsys, *GUIDE.split(), "-o", "out.csv", "--show-columns")
    assert "column 1 (patient_id)" in shown.err


@pytest.mark.parametrize(
    ("more", "columns"),
    [
        (["--unassigned", "keep"], None),
        (["--unassigned", "drop"], []),
        (["--unassigned", "keep", "--drop", "name"], None),
        (["--unassigned", "keep", "--keep", "patient_id", "--drop", "name"], ["patient_id"]),
        (["--drop", "patient_id"], None),
        (["--keep", "name", "--person", "patient_id"], ["name"]),
        (["--memory", "1GB", "--unassigned", "keep"], None),
        (["--memory", "1GB", "--unassigned", "drop"], []),
        (["--memory", "1GB", "--keep", "name", "--drop", "patient_id"], ["name"]),
    ],
)
def test_nothing_unassigned_is_published(
    capsys: pytest.CaptureFixture[str], more: list[str], columns: list[str] | None
) -> None:
    said = say(
        capsys,
        *GUIDE.split(),
        *([] if "--memory" in more else QUICK.split()),
        *more,
        "-o",
        "out.csv",
    )
    assert said.status == (2 if columns is None else 0), said.err
    if columns is None:
        assert not Path("out.csv").exists()
    else:
        out = pl.read_csv("out.csv", infer_schema=False).columns
        assert sorted(out) == sorted([*columns, "birthdate", "gender", "zip", "disease"])


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--drop", "zip"], "remove zip from --quasi or from --drop"),
        (["--drop", "zipcode"], "did you mean 'zip'?"),
        (["--unassigned", "hide"], "keep or drop"),
        (["--date", "birthdate=dd/mm/yy"], "did you mean DD/MM/YYYY?"),
        (["--date", "birthdate=DD/MM/YYYY"], "dates as DD/MM/YYYY in each cell"),
        (["--date", "birthdate=YYYY-MM-DD:week"], "quarter"),
        (["--prefix", "zip=x"], "NAME=LENGTH"),
        (["--prefix", "disease"], "columns of --quasi"),
        (["--round", "gender=5"], "numbers"),
        (["--prefix", "zip", "--categorical", "zip"], "one of --taxonomy"),
    ],
)
def test_what_makes_no_sense_is_refused_in_a_sentence(
    capsys: pytest.CaptureFixture[str], more: list[str], words: str
) -> None:
    dropped = [] if "--drop" in more else ["--drop", "patient_id,name"]
    rest = [] if "--unassigned" in more or dropped else ["--unassigned", "drop"]
    said = say(capsys, *GUIDE.split(), *dropped, *rest, *more, "-o", "out.csv")
    assert said.status == 2
    assert words in said.err
    assert len(said.err.splitlines()) == 1


def test_formats_of_dates_are_not_guessed(capsys: pytest.CaptureFixture[str]) -> None:
    command = [
        "anonymize",
        "born.csv",
        "-k",
        "2",
        "--quasi",
        "born",
        *QUICK.split(),
        "-o",
        "out.csv",
    ]
    low = "born\n" + "\n".join(f"{1 + i:02d}/{1 + (5 * i) % 12:02d}/19{50 + i}" for i in range(12))
    Path("born.csv").write_text(low, encoding="utf-8")
    said = say(capsys, *command)
    assert said.status == 2
    assert "--date born=DD/MM/YYYY or --date born=MM/DD/YYYY" in said.err
    assert "/19" not in said.err
    assert say(capsys, *command, "--date", "born=DD/MM/YYYY:year").status == 0
    spans = pl.read_csv("out.csv", infer_schema=False)["born"]
    assert all(re.fullmatch(r"\d{4}( to \d{4})?|\*", cell) for cell in spans)
    assert say(capsys, "verify", "out.csv", "--against", "born.csv").status == 0
    both = low.replace("/1950", "/1950\n1951-02-03\n1952-04-05").replace("/", "/")
    Path("born.csv").write_text(both, encoding="utf-8")
    said = say(capsys, *command)
    assert said.status == 2
    assert "one format of dates" in said.err
    assert "1951" not in said.err


def test_numbers_are_rounded_to_multiples(capsys: pytest.CaptureFixture[str]) -> None:
    ages = [20 + 7 * i % 50 for i in range(40)]
    Path("ages.csv").write_text("age\n" + "\n".join(map(str, ages)), encoding="utf-8")
    command = ["anonymize", "ages.csv", "-k", "4", "--quasi", "age", "--round", "age=5,10,50"]
    assert say(capsys, *command, "-o", "out.csv").status == 0
    for cell in pl.read_csv("out.csv", infer_schema=False)["age"]:
        low, high = map(int, cell.strip("[]").split(", "))
        assert high - low + 1 in (5, 10, 50)
        assert low % (high - low + 1) == 0
    assert say(capsys, "verify", "out.csv", "--against", "ages.csv").status == 0


def test_zeros_in_front_survive_in_python() -> None:
    """A path is read as the command reads it; numbers that lost their zeros are refused as codes."""
    made = anonymize(
        "patients.csv",
        KAnonymity(5, ("zip",)),
        attributes=[Prefixes("zip")],
        drop=["patient_id"],
        sensitive=["disease"],
        keep=["birthdate", "gender", "name"],
    )
    assert any(cell.startswith("0") for cell in made.table["zip"])
    assert made.diagnostics.singled_out["name"] > 100
    lost = pl.DataFrame({"zip": [2139, 10001] * 5})
    with pytest.raises(ValueError, match="numbers lose their zeros in front"):
        anonymize(lost, KAnonymity(5, ("zip",)), attributes=[Prefixes("zip")])


def test_counts_tell_no_name_and_look_at_no_cell_before_they_are_paid(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("regions.csv").write_text("gender\nF\nM\n", encoding="utf-8")
    line = (
        "counts patients.csv --unit patient --regions gender --region-list regions.csv --max-size 3"
        " --epsilon 1 --neighbors add-remove-person -o out.csv"
    )
    said = say(capsys, *line.split())
    assert said.status == 2
    assert not any(
        name in said.err for name in ("patient_id", "birthdate", "disease", "did you mean")
    )


def test_orders_of_levels_nest() -> None:
    """Each span of the calendar that is published lies within the next wider one."""
    names = ["1984-02-29", "1984-02", "1984-Q1", "1984", "1980 to 1984", "1980 to 1989"]
    for inner, outer in itertools.pairwise(names):
        a, b = span_of(inner), span_of(outer)
        assert a is not None
        assert b is not None
        assert b[0] <= a[0] <= a[1] <= b[1]


ROLES = ("--quasi", "--sensitive", "--keep", "--drop", "")
"""What may be said of a column; the last is nothing."""


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.lists(st.sampled_from(ROLES), min_size=6, max_size=6),
    st.sampled_from(["", "keep", "drop"]),
    st.sampled_from([[], ["--memory", "1GB"]]),
)
def test_no_line_publishes_a_column_without_a_role(
    capsys: pytest.CaptureFixture[str], roles: list[str], rest: str, large: list[str]
) -> None:
    """What comes out has a role that was typed, or `--unassigned keep` and no looks of an identifier."""
    names = ["patient_id", "name", "birthdate", "gender", "zip", "disease"]
    Path("o.csv").unlink(missing_ok=True)
    line = ["anonymize", "patients.csv", "-k", "5", "-o", "o.csv", *(large or QUICK.split())]
    for option in ROLES[:-1]:
        said = [name for name, role in zip(names, roles, strict=True) if role == option]
        line += [option, ",".join(said)] if said else []
    line += ["--unassigned", rest] if rest else []
    done = say(capsys, *line)
    if done.status != 0:
        assert not Path("o.csv").exists()
        return
    role = dict(zip(names, roles, strict=True))
    for name in pl.read_csv("o.csv", infer_schema=False).columns:
        assert role[name] in ("--quasi", "--sensitive", "--keep") or (
            role[name] == "" and rest == "keep" and name not in ("patient_id", "name")
        )
