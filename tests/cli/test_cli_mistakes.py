"""What newcomers get wrong: one sentence each, which holds the cure; the command with the cure, as printed, works."""

from __future__ import annotations

import shlex
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from cli.commands import say
from discreet.cli.app import run

DOCS = Path(__file__).parents[2] / "docs" / "files"
PEOPLE = "counts people.csv --regions state,county --region-list regions.csv --unit household --max-size 8 --epsilon 1"
STOPS = "select --coverage reach.csv --candidates stops.csv"
DP = "--epsilon 1 --neighbors add-remove-one"
FEW = "anonymize few.csv -k 2 --quasi age,sex"
GRID = "design --grid 3x3 --cell 0.5 --unit km"


@dataclass(frozen=True)
class Mistake:
    """A command with a mistake, the words of the message that are the cure, and the command with these words in it."""

    typed: str
    cure: str
    cured: str


MISTAKES = [
    Mistake(
        "anonymize few.csv --quasi age,sex --unassigned drop",
        "-k 5",
        "anonymize few.csv -k 5 --quasi age,sex --unassigned drop",
    ),
    Mistake(FEW, "--unassigned drop", f"{FEW} --unassigned drop"),
    Mistake(
        "anonymize few.csv -k 1 --quasi age,sex --unassigned drop", "2", f"{FEW} --unassigned drop"
    ),
    Mistake(
        "anonymize few.csv -k 2 --quasi Age --unassigned drop",
        "age",
        "anonymize few.csv -k 2 --quasi age --unassigned drop",
    ),
    Mistake(
        "anonymize few.csv -k 2 --quasi age,sexe --unassigned drop",
        "sex",
        f"{FEW} --unassigned drop",
    ),
    Mistake(
        "anonymize fwe.csv -k 2 --quasi age,sex --unassigned drop",
        "few.csv",
        f"{FEW} --unassigned drop",
    ),
    Mistake(
        "anonimize few.csv -k 2 --quasi age,sex --unassigned drop",
        "anonymize",
        f"{FEW} --unassigned drop",
    ),
    Mistake(f"{FEW} --unassigned drop -o a.xyz", ".csv", f"{FEW} --unassigned drop -o a.csv"),
    Mistake(
        f"{FEW} --unassigned drop --method optimum",
        "optimal",
        f"{FEW} --unassigned drop --method optimal",
    ),
    Mistake(
        f"{FEW} --unassigned drop --sensitive disease --drop disease",
        "--drop",
        f"{FEW} --unassigned drop --drop disease",
    ),
    Mistake(
        f"{FEW} --unassigned drop --tme-limit 3",
        "--time-limit",
        f"{FEW} --unassigned drop --time-limit 3",
    ),
    Mistake(
        f"{FEW} --unassigned drop --l-diversity 2",
        "--sensitive",
        f"{FEW} --unassigned drop --l-diversity 2 --sensitive disease",
    ),
    Mistake(
        f"{FEW} --unassigned drop --effort high",
        "strong",
        f"{FEW} --unassigned drop --effort strong",
    ),
    Mistake(
        f"{FEW} --unassigned drop --loss entropy2", "ncp", f"{FEW} --unassigned drop --loss ncp"
    ),
    Mistake(f"{FEW} --unassigned delete", "drop", f"{FEW} --unassigned drop"),
    Mistake(
        "anonymize dates.csv -k 2 --quasi date --unassigned drop",
        "--date date=DD/MM/YYYY",
        "anonymize dates.csv -k 2 --quasi date --unassigned drop --date date=DD/MM/YYYY",
    ),
    Mistake("risk few.csv --quasi age,disese", "disease", "risk few.csv --quasi age,disease"),
    Mistake("risk few.csv", "--quasi", "risk few.csv --quasi age,sex"),
    Mistake("verify few.csv", "-k and --quasi", "verify few.csv -k 2 --quasi sex"),
    Mistake(
        f"{PEOPLE} -o a.csv",
        "--neighbors add-remove-person",
        f"{PEOPLE} --neighbors add-remove-person -o a.csv",
    ),
    Mistake(
        f"{PEOPLE} --neighbors person -o b.csv",
        "replace-person",
        f"{PEOPLE} --neighbors replace-person -o b.csv",
    ),
    Mistake(
        f"{PEOPLE} --neighbors add-remove-person --method m-h-pd -o c.csv",
        "m-h-dp",
        f"{PEOPLE} --neighbors add-remove-person --method m-h-dp -o c.csv",
    ),
    Mistake(
        f"{PEOPLE} --neighbors add-remove-person -o d.xyz",
        ".parquet",
        f"{PEOPLE} --neighbors add-remove-person -o d.parquet",
    ),
    Mistake(
        f"{PEOPLE} --neighbors add-remove-person --ledger led.db -o e.csv",
        "--dataset",
        f"{PEOPLE} --neighbors add-remove-person --ledger led.db --dataset town -o e.csv",
    ),
    Mistake(
        f"{PEOPLE} --neighbors add-remove-person --ledger led.db --dataset twon -o f.csv",
        "'town'",
        f"{PEOPLE} --neighbors add-remove-person --ledger led.db --dataset 'town' -o f.csv",
    ),
    Mistake("query m.parquet --level 9", "3", "query m.parquet --level 3"),
    Mistake("query m.parquet", "--level", "query m.parquet --level 2"),
    Mistake(
        "budget create new.db --dataset town --epsilon 1",
        "add-remove-person",
        "budget create new.db --dataset town --epsilon 1 --neighbors add-remove-person",
    ),
    Mistake(
        f"select --coverage reach.csv --matroid uniform:5 {DP}",
        "--candidates",
        f"{STOPS} --matroid uniform:5 {DP}",
    ),
    Mistake(f"{STOPS} --matroid 5 {DP}", "uniform:", f"{STOPS} --matroid uniform:5 {DP}"),
    Mistake(
        f"{STOPS} --matroid uniform:500 {DP}", "uniform:120", f"{STOPS} --matroid uniform:120 {DP}"
    ),
    Mistake(
        f"{STOPS} --matroid uniform:5 --epsilon 1",
        "add-remove-one",
        f"{STOPS} --matroid uniform:5 {DP}",
    ),
    Mistake(
        f"select --candidates stops.csv --matroid uniform:5 {DP}",
        "--coverage",
        f"{STOPS} --matroid uniform:5 {DP}",
    ),
    Mistake("design places.csv --epsilon 2", "--epsilon 2/km", "design places.csv --epsilon 2/km"),
    Mistake(
        f"{GRID} --epsilon 2/km --loss euclid",
        "euclidean",
        f"{GRID} --epsilon 2/km --loss euclidean",
    ),
    Mistake(
        f"{GRID} --epsilon 2/km --method kernl", "kernel", f"{GRID} --epsilon 2/km --method kernel"
    ),
    Mistake(
        "design places.csv --unit km --epsilon 2/km --prior weight",
        "demand",
        "design places.csv --unit km --epsilon 2/km --prior demand",
    ),
    Mistake("sample p.channel --secret 99", "8", "sample p.channel --secret 8"),
    Mistake(
        "compare --grid 2x2 --cell 1 --unit km --epsilon 1/km --methods optimum",
        "optimal",
        "compare --grid 2x2 --cell 1 --unit km --epsilon 1/km --methods optimal",
    ),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("mistakes")
    for name in ("people", "regions", "reach", "stops", "places"):
        shutil.copy(DOCS / f"{name}.csv", made)
    rows = "34,F,flu 35,M,gout 36,F,gout 37,M,flu 38,F,flu 39,M,gout"
    (made / "few.csv").write_text("\n".join(["age,sex,disease", *rows.split()]) + "\n")
    (made / "dates.csv").write_text("date,sex\n03/04/2020,F\n05/06/2020,F\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(made)
        for line in (
            f"{GRID} --epsilon 2/km -o p.channel",
            f"{PEOPLE} --neighbors add-remove-person -o h.csv --measurements m.parquet",
            "budget create led.db --dataset town --epsilon 3 --neighbors add-remove-person",
        ):
            assert run(shlex.split(line)) == 0
    return made


def test_there_are_thirty_mistakes() -> None:
    assert len({one.typed for one in MISTAKES}) == len(MISTAKES) >= 30


@pytest.mark.parametrize("one", MISTAKES, ids=lambda one: one.typed)
def test_a_mistake_is_answered_by_its_cure_and_the_cure_works(
    one: Mistake,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(folder)
    wrong = say(capsys, *shlex.split(one.typed))
    assert wrong.status in {2, 5}
    assert len(wrong.err.splitlines()) == 1
    assert one.cure in wrong.err
    assert all(word in one.cured for word in one.cure.split(" and "))
    cured = say(capsys, *shlex.split(one.cured))
    assert cured.status == 0, cured.err
