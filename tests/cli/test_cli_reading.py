"""Options of reading and recoding at the commands: what they change, and what the record keeps of them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

import polars as pl
import pytest

from cli.commands import say

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Run = Callable[..., "Ended"]

PEOPLE = "town;sex;age;gr\xf6\xdfe\nK\xf6ln;F;17;1\nK\xf6ln;F;41;2\nBonn;M;90+;3\n"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., Ended]:
    def command(*words: str) -> Ended:
        said = say(capsys, *words)
        return Ended(said.status, said.out + said.err)

    return command


class Ended(NamedTuple):
    exit_code: int
    output: str


COUNTS = (
    *("counts", "p.csv", "--encoding", "cp1252", "--bins", "age=18,40", "--top", "age=90"),
    *("--regions", "town", "--region-list", "towns.csv", "--by", "sex,age", "--domain", "d.json"),
    *("--epsilon", "3000", "--neighbors", "add-remove-person", "-o", "out.csv", "-q"),
)


@pytest.mark.parametrize(
    "more", ["", "\x81;F;20\n", "Bonn;;\n", "Bonn;M\n", "Bonn;M;1;2;3\n", "K\xc3\xb6ln;M;50\n"]
)
def test_counts_reads_each_row_by_itself(here: Path, run: Run, more: str) -> None:
    (here / "towns.csv").write_text("town\nKöln\nBonn\n")
    (here / "d.json").write_text(
        json.dumps({"sex": ["F", "M"], "age": ["<18", "[18, 40)", ">=40"]})
    )
    (here / "p.csv").write_bytes((PEOPLE + more).encode("latin-1"))
    done = run(*COUNTS)
    assert done.exit_code == 0, done.output
    found = pl.read_csv("out.csv").filter(pl.col("region") == "Köln", pl.col("count") > 0)
    assert found.select("sex", "age", "count").rows() == [("F", "<18", 1), ("F", ">=40", 1)]


def test_anonymize_records_how_it_read_and_verify_reads_so_again(here: Path, run: Run) -> None:
    rows = [
        f"{age};{cm},5;K\xf6ln"
        for age, cm in ((17, 160), (18, 161), ("n/a", 162), ("n/a", 163), (99, 164), (91, 165))
    ]
    (here / "p.csv").write_bytes(("age;cm;town\n" + "\n".join(rows) + "\n\n").encode("latin-1"))
    made = run(
        *("anonymize", "p.csv", "-k", "2", "--quasi", "age,cm", "--keep", "town", "-o", "out.csv"),
        *(
            "--encoding",
            "cp1252",
            "--decimal",
            ",",
            "--top",
            "age=90",
            "--curator-report",
            "private.html",
        ),
    )
    assert made.exit_code == 0, made.output
    assert "2 cells of age that say n/a are read as missing" in made.output
    assert "n/a are read as missing" in (here / "private.html").read_text()
    stated = json.loads((here / "out.csv.discreet.json").read_text())["provenance"]["parameters"]
    assert stated["reading"] == {"encoding": "cp1252", "decimal": ","}
    assert stated["recoding"] == {"top": {"age": ["90"]}}
    assert run("verify", "out.csv", "--against", "p.csv").exit_code == 0
    # Without the rule, 91 and 99 are no 90.
    edited = json.loads((here / "out.csv.discreet.json").read_text())
    del edited["provenance"]["parameters"]["recoding"]
    (here / "out.csv.discreet.json").write_text(json.dumps(edited))
    assert run("verify", "out.csv", "--against", "p.csv").exit_code != 0


@pytest.mark.parametrize(
    ("encoding", "right", "wrong"),
    [("cp1252", "Müller", "Müller"), ("cp1252", "Ærø", "5 €"), ("cp1251", "Тула", "Ёж")],
)
def test_an_encoding_that_fits_half_of_a_file_is_refused_by_lines(
    here: Path, run: Run, encoding: str, right: str, wrong: str
) -> None:
    """In a single-byte encoding any bytes are letters: "Müller" in UTF-8 would be published as "MÃ¼ller"."""
    rows = [f"{age};{right}\n".encode(encoding) for age in (30, 31, 40)]
    mixed = [*rows, f"41;{wrong}\n".encode(), f"42;{wrong}\n".encode()]
    commands: list[list[str]] = [
        ["anonymize", "p.csv", "-k", "2", "--quasi", "age", "--keep", "name", "-o", "out.csv"],
        ["risk", "p.csv", "--quasi", "age", "--sensitive", "name"],
    ]
    (here / "p.csv").write_bytes(b"age;name\n" + b"".join(rows))
    for words in commands:
        assert run(*words, "--encoding", encoding).exit_code == 0
    commands.append(["verify", "out.csv", "--against", "p.csv"])
    assert run(*commands[-1]).exit_code == 0
    published = (here / "out.csv").read_bytes()
    for body, where in (
        (mixed, "UTF-8 in 2 of its lines, such as line 5, and another encoding in line 2"),
        (mixed[3:], "UTF-8 in 2 of its lines, such as line 2"),
    ):
        (here / "p.csv").write_bytes(b"age;name\n" + b"".join(body))
        for words in commands:
            # The record has the encoding.
            more = () if words[0] == "verify" else ("--encoding", encoding)
            refused = run(*words, *more)
            assert (refused.exit_code, where in refused.output) == (2, True), refused.output
            assert "\n" not in refused.output.strip()
            assert right not in refused.output
        assert (here / "out.csv").read_bytes() == published


def test_lines_that_are_utf_8_by_accident_are_read(here: Path, run: Run) -> None:
    """Such as capitals before signs: in UTF-8 they are characters that no text in the encoding has."""
    western = ["«CAFÉ»", "São Tomé\u2013ÎLE", "1º ÂNGULO", "„Spaß“", "NAÇÃO", "CAFÉ…", "Spaß“"]
    cyrillic = ["Её имя", "Тула", "Її село", "№ 5", "«Ёлка»", "дії", "Івано-Франківськ"]
    central = ["PÓŁNOC", "RÓŻA", "Łódź", "WSPÓŁDZIELONE"]
    cells_of = {"cp1252": western, "cp1251": cyrillic, "iso-8859-2": central}
    for encoding, cells in cells_of.items():
        lines = ["cell", *cells, *cells]
        (here / "p.csv").write_bytes("\n".join(lines).encode(encoding))
        words = ["risk", "p.csv", "--quasi", "cell", "--encoding", encoding]
        assert run(*words).exit_code == 0, run(*words).output


def test_persons_are_counted_by_the_curators_key(here: Path, run: Run) -> None:
    rows = [(1, 34), (1, 34), (2, 36), (2, 36), (3, 51), (4, 52)]
    pl.DataFrame(rows, schema=["patient_id", "age"], orient="row").write_csv("p.csv")
    told = run("anonymize", "p.csv", "-k", "2", "--quasi", "age", "--drop", "patient_id")
    assert "column 1 repeats in 2 of 6 rows" in told.output
    made = run(
        "anonymize", "p.csv", "-k", "2", "--quasi", "age", "--person", "patient_id", "-o", "o.csv"
    )
    assert "shared by 2 persons or more" in made.output
    assert "repeats" not in made.output
    key = here / "o.csv.persons.private.csv"
    assert key.stat().st_mode & 0o777 == 0o600
    assert run("verify", "o.csv", "--person", "patient_id").exit_code == 0
    assert run("verify", "o.csv", "--against", "p.csv", "--person", "patient_id").exit_code == 0
    assert "--person does, with the curator's key" in run("verify", "o.csv", "--json").output
    alike = pl.read_csv(key).with_columns(patient_id=pl.lit(1))
    alike.write_csv(key)
    assert run("verify", "o.csv", "--person", "patient_id").exit_code == 1
    key.unlink()
    assert run("verify", "o.csv", "--person", "patient_id").exit_code == 2


def test_names_are_typed_as_they_are_proposed(here: Path, run: Run) -> None:
    (here / "p.csv").write_text('age, education,"name, first"\n30,x,a\n30,x,b\n40,y,c\n40,y,d\n')
    assert run("risk", "p.csv", "--quasi", "age, education").exit_code == 0
    assert run("risk", "p.csv", "--quasi", "age,' education'").exit_code == 2
    assert run("risk", "p.csv", "--quasi", 'age,"name, first"').exit_code == 0
    missed = run("risk", "p.csv", "--quasi", "name first")
    assert missed.exit_code == 2
    assert "did you mean 'name, first'?" in missed.output
    assert run("risk", "p.csv", "--quasi", "'name, first'").exit_code == 0


def test_a_half_numeric_column_is_refused_and_its_cures_work(here: Path, run: Run) -> None:
    cells = [*map(str, range(20, 40)), "90+"]
    (here / "p.csv").write_text("age\n" + "\n".join(cells) + "\n")
    words = ["anonymize", "p.csv", "-k", "3", "--quasi", "age", "-o", "out.csv"]
    refused = run(*words)
    assert refused.exit_code == 2
    assert "1 other cell in age, in row 21" in refused.output
    assert not (here / "out.csv").exists()
    for cure in (["--missing", "90+"], ["--top", "age=90"], ["--categorical", "age"]):
        done = run(*words, *cure)
        assert done.exit_code == 0, done.output
