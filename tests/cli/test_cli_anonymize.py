"""``anonymize``, ``risk`` and ``verify`` of tables: the commands of the documentation, files of all kinds, refusals."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from cli.commands import Said, say
from discreet.cli.app import run

FARS = """64,2,4,0 29,1,0,0 42,2,0,0 41,2,4,1 53,1,2,1 59,1,4,0 49,1,4,0 59,1,2,0 80,1,4,0 50,1,4,0
64,1,3,0 55,1,0,0 25,1,0,0 42,1,4,0 33,1,2,0 31,2,2,0 68,1,3,0 20,2,4,0 40,1,4,1 18,1,4,0"""
QUASI = "AGE,SEX,INJ_SEV,DRINKING"
PEOPLE = ["patients.csv", "-k", "5", "--quasi", "age,sex,zip", "--sensitive", "disease"]
KEPT = ["--keep", "name"]
ZIP = ["--taxonomy", "zip=zip.csv", "--weight", "age=2"]


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files of the examples in the working folder."""
    monkeypatch.chdir(tmp_path)
    Path("fars.csv").write_text(f"{QUASI}\n" + "\n".join(FARS.split()) + "\n", encoding="utf-8")
    rng = np.random.default_rng(3)
    zips = [f"0{a}{b}" for a in range(1, 4) for b in range(10, 14)]
    Path("zip.csv").write_text("\n".join(f"{z};{z[:2]}**;*" for z in zips), encoding="utf-8")
    pl.DataFrame(
        {
            "name": [f"P{i}" for i in range(60)],
            "age": rng.integers(20, 70, 60),
            "sex": rng.choice(["F", "M"], 60),
            "zip": rng.choice(zips, 60),
            "disease": rng.choice(["flu, mild", 'so-called "flu"', "gout"], 60),
        }
    ).write_csv("patients.csv", include_bom=True)
    return tmp_path


def anonymize(capsys: pytest.CaptureFixture[str], *more: str) -> Said:
    kept = [] if "--person" in more else KEPT
    return say(capsys, "anonymize", *PEOPLE, *kept, *ZIP, *more)


def test_a_run_without_an_output_does_not_claim_to_have_written(
    capsys: pytest.CaptureFixture[str],
) -> None:
    said = anonymize(capsys, "--method", "top-down")
    assert "nothing was written: no --output" in said.err
    assert "written" not in said.out
    assert "60 kept, 0 suppressed" in said.out


def test_proved_optimal_is_said_of_what_is_proved_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bound below the loss by a part of 1e12 proves no optimum."""
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text("a,b\n0,1\n0,4\n0,2\n5,7\n5,1\n5,3\n9,8\n", encoding="utf-8")
    Path("same.csv").write_text("a,b\n" + "1,2\n" * 5, encoding="utf-8")
    line = ["--quasi", "a,b", "-k", "2", "--numeric", "a,b", "-o"]
    said = say(capsys, "anonymize", "t.csv", *line, "o.csv", "--weight", "a=1000000")
    assert "proved optimal within 1e-7 % (" in said.out
    said = say(capsys, "anonymize", "same.csv", *line, "p.csv")
    assert "0, lower bound 0, gap 0 %, proved optimal (" in said.out


def test_the_table_of_the_paper(capsys: pytest.CaptureFixture[str]) -> None:
    said = say(
        capsys, "anonymize", "fars.csv", "-k", 3, "--quasi", QUASI, "-o", "out.csv", "--json"
    )
    assert said.status == 0
    assert said.data["information_loss"] >= 19.266129 - 1e-6
    assert 0 < said.data["lower"] <= said.data["information_loss"]
    assert {"mean_loss", "gap", "optimal", "classes", "smallest_class", "method", "seconds"} <= set(
        said.data
    )
    assert said.data["smallest_class"] >= 3
    checked = say(capsys, "verify", "out.csv", "--quasi", QUASI, "-k", 3, "--json")
    assert checked.status == 0
    assert checked.data["smallest_class"] == said.data["smallest_class"]
    assert say(capsys, "verify", "out.csv", "--quasi", QUASI, "-k", 9).status == 1
    risk = say(capsys, "risk", "out.csv", "--quasi", QUASI, "--json")
    assert risk.data["prosecutor"]["highest"] == 1 / said.data["smallest_class"]
    assert risk.data["marketer"] == said.data["classes"] / 20


def test_an_optimum_must_be_proved(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["anonymize", "fars.csv", "-k", "3", "--quasi", QUASI, "--method", "optimal"]
    said = say(capsys, *command, "-o", "out.csv", "--json")
    assert said.status == (0 if said.data["optimal"] else 4)
    assert Path("out.csv").is_file()


def test_a_gap_that_is_missed_is_a_status_and_the_best_is_written(
    capsys: pytest.CaptureFixture[str],
) -> None:
    said = anonymize(capsys, "--method", "initial", "--gap", "0.01", "-o", "out.csv", "--json")
    assert said.status == 4
    assert "target was missed" in said.err
    assert say(capsys, "verify", "out.csv").status == 0


def test_patients(capsys: pytest.CaptureFixture[str]) -> None:
    """A byte-order mark, quotes, commas in cells, a zero in front of codes, a taxonomy with semicolons."""
    said = anonymize(capsys, "-o", "out.csv", "--json")
    assert said.status == 0, said.err
    assert "name is published as it is, and 60 of 60 rows have a value there" in said.err
    assert said.data["l"]["disease"] >= 1
    out = pl.read_csv("out.csv", infer_schema=False)
    original = pl.read_csv("patients.csv", infer_schema=False)
    assert out.columns == original.columns
    assert sorted(out["disease"]) == sorted(original["disease"])
    assert out["name"].to_list() != original["name"].to_list(), "rows are shuffled"
    assert set(out["sex"]) <= {"F", "M", "F|M"}
    assert all(cell == "*" or len(cell) == 4 for cell in out["zip"])
    checked = say(capsys, "verify", "out.csv", "--against", "patients.csv", "--json")
    assert checked.status == 0
    assert len(checked.data["checks"]) == 5
    aside = Path("out.csv.discreet.json").read_text(encoding="utf-8")
    for private in ("information_loss", "lower", 'classes"', "gap", "seconds"):
        assert private not in aside, "what is computed from the original is for the curator"


def test_parquet_keeps_its_types(capsys: pytest.CaptureFixture[str]) -> None:
    pl.read_csv("patients.csv", schema_overrides={"zip": pl.String}).write_parquet("p.parquet")
    command = ["anonymize", "p.parquet", *PEOPLE[1:], *KEPT, *ZIP, "-o", "out.parquet", "--json"]
    assert say(capsys, *command).status == 0
    out = pl.read_parquet("out.parquet")
    assert out.schema["age"] == pl.String
    assert out.schema["name"] == pl.String
    assert say(capsys, "verify", "out.parquet", "--against", "p.parquet").status == 0


def test_an_altered_cell_is_found(capsys: pytest.CaptureFixture[str]) -> None:
    """By the bytes; and without the record beside it, by counting."""
    anonymize(capsys, "-o", "out.csv")
    out = pl.read_csv("out.csv", infer_schema=False)
    ages = out["age"].to_list()
    ages[7] = "19"
    out.with_columns(pl.Series("age", ages)).write_csv("out.csv")
    said = say(capsys, "verify", "out.csv", "--json")
    assert said.status == 1
    assert sum(not check["passed"] for check in said.data["checks"]) == 2
    Path("out.csv.discreet.json").unlink()
    assert say(capsys, "verify", "out.csv", "-k", 5, "--quasi", "age,sex,zip").status == 1


def test_demands_on_sensitive_values_and_persons(capsys: pytest.CaptureFixture[str]) -> None:
    anonymize(capsys, "-o", "out.csv")
    demands = ("verify", "out.csv", "--sensitive", "disease")
    assert say(capsys, *demands, "--l-diversity", 1).status == 0
    assert say(capsys, *demands, "--l-diversity", 4).status == 1
    assert say(capsys, *demands, "--t-closeness", 1).status == 0
    assert say(capsys, *demands, "--t-closeness", 0.001).status == 1
    assert say(capsys, *demands, "--alpha", 1).status == 0
    assert say(capsys, *demands, "--alpha", 0.01).status == 1
    for alone in (["--l-diversity", 2], ["--sensitive", "disease"]):
        said = say(capsys, "verify", "out.csv", *alone)
        assert said.status == 2
        assert "--sensitive" in said.err
    assert say(capsys, "verify", "out.csv", "--person", "name").status == 0
    assert say(capsys, "verify", "out.csv", "--person", "disease").status == 1


def test_models_beyond_k(capsys: pytest.CaptureFixture[str]) -> None:
    anonymize(capsys, "-o", "out.csv")
    for good in ("distinct:1", "entropy:1", "recursive:1000,1", "closeness:1", "alpha:1"):
        assert say(capsys, "verify", "out.csv", "--require", f"disease={good}").status == 0, good
    # Two of the names hold a comma and quotes, so that no text states their order.
    assert say(capsys, "verify", "out.csv", "--require", "disease=ordered-closeness:0").status == 2
    for bad in ("distinct:4", "entropy:4", "recursive:0,1", "alpha:0.01"):
        assert say(capsys, "verify", "out.csv", "--require", f"disease={bad}").status == 1, bad
    for odd in ("distinct:x", "distinct", "magic:1", "recursive:2", "alpha:2", "entropy:x"):
        assert say(capsys, "verify", "out.csv", "--require", f"disease={odd}").status == 2, odd
    among = ["verify", "out.csv", "--population", "patients.csv"]
    assert say(capsys, *among, "--presence", "0:1").status == 0
    assert say(capsys, *among, "--presence", "0:0.001").status == 1
    assert say(capsys, *among, "--presence", "1").status == 2
    assert say(capsys, *among).status == 2


def test_classes_hold_what_is_asked_and_the_record_is_verified_by_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    asked = ["--l-diversity", "2", "--alpha", "0.8", "--person", "name", "-o", "out.csv", "--json"]
    said = anonymize(capsys, *asked)
    assert said.status == 0
    assert said.data["l"]["disease"] >= 2
    assert "name" not in pl.read_csv("out.csv").columns
    short = say(capsys, "verify", "out.csv")
    assert "checks passed. -v lists them." in short.out
    assert "fail distinct" not in short.out
    checked = say(capsys, "verify", "out.csv", "-v")
    assert checked.status == 0
    assert "fail distinct 2-diversity in disease" in checked.out
    # What is asked besides takes nothing away from what the record claims.
    more = say(capsys, "verify", "out.csv", "-v", "--require", "disease=distinct:1")
    assert "fail distinct 2-diversity in disease" in more.out
    assert "fail distinct 1-diversity in disease" in more.out
    assert "fail frequency 4/5 in disease" in checked.out
    # A class in which all have one disease is found by the record alone.
    table = pl.read_csv("out.csv", infer_schema=False)
    table.with_columns(disease=pl.lit("gout")).write_csv("out.csv")
    assert say(capsys, "verify", "out.csv").status == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--require", "age=distinct:2"], "--require"),
        (["--require", "disease=presence:0.1"], "distinct:L, entropy"),
        (["--person", "nobody"], "--person"),
        (["--l-diversity", "9"], "all rows as one class fail"),
        (
            ["--require", "disease=distinct:2", "--memory", "1GB", "--suppress", "0.1", "-o", "x"],
            "--suppress",
        ),
    ],
)
def test_what_cannot_be_held_is_refused(
    capsys: pytest.CaptureFixture[str], options: list[str], message: str
) -> None:
    said = anonymize(capsys, *options)
    assert said.status not in {0, 1}
    assert message in said.err


@pytest.mark.parametrize(
    ("short", "long"),
    [
        (["--t-closeness", "0.6"], "closeness:0.6"),
        (["--l-diversity", "2"], "distinct:2"),
        (["--alpha", "0.8"], "alpha:0.8"),
    ],
)
def test_short_forms_say_what_require_says(
    capsys: pytest.CaptureFixture[str], short: list[str], long: str
) -> None:
    for options in (short, ["--require", f"disease={long}"]):
        assert anonymize(capsys, *options, "-o", "out.csv").status == 0
        record = json.loads(Path("out.csv.discreet.json").read_text(encoding="utf-8"))
        assert record["provenance"]["parameters"]["models"] == [f"disease={long}"]
        assert say(capsys, "verify", "out.csv").status == 0
    assert anonymize(capsys, "--require", "disease=ordered-closeness:0").status == 2
    far = ["--require", "disease=closeness:0"]
    assert anonymize(capsys, *far, "-o", "out.csv").status == 0
    assert say(capsys, "verify", "out.csv", *far).status == 0


def test_a_misspelt_method_names_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    said = anonymize(capsys, "--method", "mondrain")
    assert said.status == 2
    assert "the nearest is 'mondrian'" in said.err


def test_diversity_needs_a_sensitive_column(capsys: pytest.CaptureFixture[str]) -> None:
    said = say(capsys, "anonymize", "fars.csv", "-k", 3, "--quasi", QUASI, "--l-diversity", 2)
    assert said.status == 2
    assert "--sensitive" in said.err


def test_ctrl_c_leaves_the_best_table_by_then(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pressed in the second method: what the first one found is written, verified, and the status says so."""

    def press(self: object, *_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("discreet.kanonymity.methods.local_search.LocalSearch.solve", press)
    said = anonymize(capsys, "-o", "out.csv", "--json")
    assert said.status == 130
    assert said.data["smallest_class"] >= 5
    assert say(capsys, "verify", "out.csv", "--against", "patients.csv").status == 0
    monkeypatch.setattr("discreet.kanonymity.bounds.lower.LowerBound.refine", press)
    assert anonymize(capsys, "-o", "again.csv").status == 130
    assert say(capsys, "verify", "again.csv", "--against", "patients.csv").status == 0
    monkeypatch.setattr("discreet.kanonymity.methods.top_down.TopDown.solve", press)
    Path("out.csv").unlink()
    said = anonymize(capsys, "-o", "out.csv")
    assert said.status == 130
    assert not Path("out.csv").exists()


def test_suppressed_rows_are_left_out_or_kept_as_stars(capsys: pytest.CaptureFixture[str]) -> None:
    ages = [30] * 20 + [40] * 20 + [90, 17, 65]
    Path("few.csv").write_text("age\n" + "\n".join(map(str, ages)), encoding="utf-8")
    command = ["anonymize", "few.csv", "-k", "3", "--quasi", "age", "--suppress", "0.07"]
    said = say(capsys, *command, "-o", "out.csv", "--json")
    left = said.data["suppressed"]
    assert said.data["rows"] == 43 - left
    assert 1 <= left <= 3
    assert say(capsys, "verify", "out.csv", "--against", "few.csv").status == 0
    said = say(capsys, *command, "--keep-suppressed", "-o", "out.csv", "--json")
    kept = said.data["suppressed"] if said.data["suppressed"] >= 3 else 0
    assert said.data["rows"] == 43 - said.data["suppressed"] + kept
    assert pl.read_csv("out.csv", infer_schema=False)["age"].to_list().count("*") == kept
    assert say(capsys, "verify", "out.csv", "--against", "few.csv").status == 0


def test_the_wrong_original_is_found(capsys: pytest.CaptureFixture[str]) -> None:
    anonymize(capsys, "-o", "out.csv")
    table = pl.read_csv("patients.csv", infer_schema=False)
    table.with_columns(pl.col("age").reverse()).write_csv("other.csv")
    assert say(capsys, "verify", "out.csv", "--against", "other.csv").status == 1
    table.rename({"name": "who"}).write_csv("other.csv")
    assert say(capsys, "verify", "out.csv", "--against", "other.csv").status == 1
    table.drop("age").write_csv("other.csv")
    said = say(capsys, "verify", "out.csv", "--against", "other.csv")
    assert said.status == 2
    assert "--against: expected a table with the quasi-identifiers" in said.err
    assert "got one without age" in said.err


def test_an_original_with_more_columns_is_compared_in_those_that_were_published(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Names and numbers of persons are left out before anything is published."""
    anonymize(capsys, "-o", "out.csv")
    table = pl.read_csv("patients.csv", infer_schema=False)
    more = table.with_row_index("number").with_columns(pl.lit("Rome").alias("town"))
    more.write_csv("more.csv")
    said = say(capsys, "verify", "out.csv", "--against", "more.csv", "--json")
    assert said.status == 0
    assert any("columns 1, 7" in sentence for sentence in said.data["not_checked"])
    alone = say(capsys, "verify", "out.csv", "--json")
    assert any("--against does" in sentence for sentence in alone.data["not_checked"])
    named = ["--quasi", "age", "-k", "2", "--against", "more.csv"]
    wrong = more.with_columns(pl.col("age").reverse())
    wrong.write_csv("more.csv")
    refused = say(capsys, "verify", "out.csv", *named, "--json")
    assert refused.status == 1
    assert "private" in refused.data


def test_risks_before_and_after(capsys: pytest.CaptureFixture[str]) -> None:
    anonymize(capsys, "-o", "out.csv")
    command = ["risk", "out.csv", "--quasi", "age,sex,zip", "--sensitive", "disease"]
    said = say(capsys, *command, "--against", "patients.csv", "--json")
    assert said.data["before"]["k"] == 1
    assert said.data["after"]["k"] >= 5
    assert said.data["after"]["l"]["disease"] >= said.data["before"]["l"]["disease"]
    shown = say(capsys, *command, "--against", "patients.csv").out
    assert "before" in shown
    assert "prosecutor, highest" in shown
    assert "t of disease" in shown


def test_a_population_lowers_what_the_journalist_finds(capsys: pytest.CaptureFixture[str]) -> None:
    """The sample is half of the population, and its cells cover more people there."""
    pl.read_csv("patients.csv", infer_schema=False)[:30].write_csv("half.csv")
    say(capsys, "anonymize", "half.csv", *PEOPLE[1:], *KEPT, *ZIP, "-o", "out.csv")
    command = ["risk", "out.csv", "--quasi", "age,sex,zip", "--json"]
    alone, among = say(capsys, *command), say(capsys, *command, "--population", "patients.csv")
    assert among.status == 0, among.err
    assert among.data["prosecutor"] == alone.data["prosecutor"]
    assert among.data["journalist"]["highest"] <= alone.data["journalist"]["highest"]
    assert among.data["marketer"] < alone.data["marketer"]


def test_missing_and_mixed_values(capsys: pytest.CaptureFixture[str]) -> None:
    """Cells without a value, numbers beside words, bars within values: defined, and verified against the original."""
    Path("mixed.csv").write_text(
        'age;code;x\n30;12;a\n;7b;b\n40;"a|b";\n30;;a\n50;12;""\n41;a\\b;b\n', encoding="utf-8"
    )
    command = [
        "anonymize",
        "mixed.csv",
        "-k",
        "2",
        "--quasi",
        "age,code",
        "--keep",
        "x",
        "-o",
        "out.csv",
    ]
    assert say(capsys, *command, "--json").status == 0
    said = say(capsys, "verify", "out.csv", "--against", "mixed.csv")
    assert said.status == 0, said.out


@pytest.mark.parametrize(
    ("more", "status", "told"),
    [
        (["--taxonomy", "zip=none.csv"], 2, "none.csv"),
        (["--taxonomy", "zip"], 2, "NAME=VALUE"),
        (["--weight", "age=heavy"], 2, "a number"),
        (["--weight", "disease=2"], 2, "'disease'"),
        (["--bounds", "age=30:40"], 2, "age: expected values within its declared bounds"),
        (["--bounds", "age=30"], 2, "LOW:HIGH"),
        (["--bounds", "age=a:b"], 2, "a number"),
        (["--numeric", "sex"], 2, "sex: expected numbers, got another value in row 1"),
        (["--numeric", "age", "--categorical", "age"], 2, "one of"),
        (["--categorical", "nobody"], 2, "'nobody'"),
        (["--quasi", "nobody"], 2, "'nobody'"),
        (["--sensitive", "nobody"], 2, "'nobody'"),
        (["--loss", "entropy"], 2, "loss"),
        (["--method", "magic"], 2, "'magic'"),
        (["--method", "doka-greedy"], 2, "which has none: freeform"),
        (["--suppress", "2"], 2, "suppress"),
        (["-k", "1"], 2, "k: expected"),
        (["-k", "61"], 3, "fewer than 61 rows"),
        (["-o", "patients.csv"], 2, "a file of its own"),
        (["-o", "out.txt"], 2, ".csv, .parquet, .xlsx or .sav"),
        (["-o", "no/such/out.csv"], 2, "--output"),
    ],
)
def test_bad_input_is_named_by_column_and_position(
    capsys: pytest.CaptureFixture[str], more: list[str], status: int, told: str
) -> None:
    said = say(capsys, "anonymize", *PEOPLE, *KEPT, *more)
    assert said.status == status, said.err
    assert told in said.err
    assert "flu" not in said.err
    assert said.out == ""


def test_a_value_outside_its_taxonomy_is_named_by_its_row(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("zip.csv").write_text("0110,*\n0111,*\n", encoding="utf-8")
    said = anonymize(capsys)
    assert said.status == 2
    assert (
        "zip: expected values of its taxonomy; add the missing value there, got another value in row"
        in said.err
    )
    assert "01" not in said.err.replace("row 01", "")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("", "empty.csv"),
        ("a,b\n", "head.csv"),
        ("a,b\nsecret,1,2\n", "ragged.csv"),
        ("a,b\n1,2\n", "plain.txt"),
    ],
)
def test_files_that_are_no_tables(capsys: pytest.CaptureFixture[str], text: str, name: str) -> None:
    Path(name).write_text(text, encoding="utf-8")
    said = say(capsys, "anonymize", name, "-k", 2, "--quasi", "a")
    assert said.status == 2
    assert "secret" not in said.err
    assert say(capsys, "anonymize", "none.csv", "-k", 2, "--quasi", "a").status == 2


def test_other_encodings_are_refused_without_a_quote(capsys: pytest.CaptureFixture[str]) -> None:
    Path("latin.csv").write_bytes("a,b\nsécret,1\n".encode("latin-1"))
    said = say(capsys, "anonymize", "latin.csv", "-k", 2, "--quasi", "a")
    assert said.status == 2
    assert "cret" not in said.err


def test_judging_needs_to_know_what(capsys: pytest.CaptureFixture[str]) -> None:
    assert say(capsys, "verify", "fars.csv", "-k", 2).status == 2
    assert say(capsys, "verify", "fars.csv", "--quasi", "AGE").status == 2
    assert say(capsys, "verify", "fars.csv", "--quasi", "NO", "-k", 2).status == 2
    assert say(capsys, "verify", "fars.csv", "--quasi", "AGE", "-k", 2).status == 1
    assert say(capsys, "verify", "fars.csv", "--quasi", "AGE", "-k", 2, "--optimality").status == 2
    said = say(
        capsys, "verify", "fars.csv", "--quasi", "AGE", "-k", 2, "--require", "SEX=distinct:two"
    )
    assert said.status == 2
    assert say(capsys, "risk", "fars.csv", "--quasi", "NO").status == 2
    assert say(capsys, "risk", "fars.csv", "--quasi", "AGE", "--sensitive", "NO").status == 2
    assert say(capsys, "risk", "fars.csv", "--quasi", ",").status == 2


def damaged(**parts: Any) -> None:
    beside = Path("out.csv.discreet.json")
    stated = json.loads(beside.read_text(encoding="utf-8"))
    beside.write_text(json.dumps({**stated, **parts}), encoding="utf-8")


def test_a_record_that_does_not_fit_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    anonymize(capsys, "-o", "out.csv")
    whole = Path("out.csv.discreet.json").read_text(encoding="utf-8")
    bad: list[dict[str, Any]] = [
        {"guarantee": {"kind": "pure-dp", "epsilon": "1", "neighbors": "replace-one"}},
        {"attributes": [{"name": "age", "kind": "odd", "weight": 1}]},
        {"attributes": [{"name": "age"}]},
        {"certificate": None},
    ]
    for parts in bad:
        damaged(**parts)
        assert say(capsys, "verify", "out.csv").status == 2
        Path("out.csv.discreet.json").write_text(whole, encoding="utf-8")
    assert say(capsys, "verify", "out.csv").status == 0


def test_a_table_larger_than_memory_is_one_like_any_other(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("people.csv").write_text(
        "age;sex\n" + "\n".join(f"{20 + i % 7};{'FM'[i % 2]}" for i in range(40)), encoding="utf-8"
    )
    command = ["anonymize", "people.csv", "-k", "3", "--quasi", "age,sex", "--memory", "1GB"]
    assert say(capsys, *command).status == 2
    for out in ("out.csv", "out.parquet"):
        said = say(capsys, *command, "-o", out, "--json")
        assert said.status == 0, said.err
        assert said.data["rows"] == 40
        assert said.data["smallest_class"] >= 3
        assert 0 < said.data["lower"] <= said.data["information_loss"]
        assert say(capsys, "verify", out, "--against", "people.csv").status == 0
        beside = {path.name for path in Path().iterdir()} - {"people.csv"}
        assert {out, f"{out}.discreet.json"} <= beside
        assert not any(name.startswith(".discreet-") for name in beside)
    assert say(capsys, *command, "-o", "out.csv", "--method", "optimal").status == 2
    assert say(capsys, *command, "-o", "out.csv", "--gap", "1e-9").status == 4
    for more in (["--gap", "0.99"], ["--suppress", "0.1"], ["--time-limit", "5"]):
        assert say(capsys, *command, "-o", "out.csv", *more).status == 0
    assert "order shuffled" in say(capsys, *command, "-o", "out.csv").out


def test_ctrl_c_leaves_nothing_of_a_table_larger_than_memory(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def press(task: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("discreet.kanonymity.search.parts.wait", press)
    before = {path.name for path in Path().iterdir()}
    said = anonymize(capsys, "--memory", "1GB", "-o", "out.csv", "--json")
    assert said.status == 130
    assert {path.name for path in Path().iterdir()} == before


def test_compilation_is_told_of_once(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from numba.core import event

    def compiled(*_: object) -> float:
        with event.trigger_event("numba:compile"):
            return 0.0

    monkeypatch.setattr("discreet.kanonymity.bounds.lower.LowerBound.refine", compiled)
    asked = ["anonymize", "fars.csv", "-k", "3", "--quasi", QUASI, "--time-limit", "0.5"]
    for more in ([], ["--threads", "2"]):
        assert run([*asked, "-o", "out.csv", *more]) == 0
        assert capsys.readouterr().err.count("compiling, first run only") == 1
    assert run([*asked, "-o", "out.csv", "--quiet"]) == 0
    assert "compiling" not in capsys.readouterr().err


@pytest.mark.slow
def test_a_million_rows(capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(0)
    n = 1_000_000
    pl.DataFrame(
        {
            "SEX": rng.integers(1, 3, n),
            "AGE": np.clip(rng.normal(44, 16, n).astype(int), 16, 90),
            "MARST": rng.integers(1, 7, n),
            "RACE": rng.choice(7, n, p=[0.8, 0.1, 0.04, 0.03, 0.02, 0.005, 0.005]),
            "income": rng.integers(0, 50, n),
        }
    ).write_csv("big.csv")
    command = [
        "anonymize",
        "big.csv",
        "-k",
        "3",
        "--quasi",
        "SEX,AGE,MARST,RACE",
        "--keep",
        "income",
    ]
    said = say(capsys, *command, "--time-limit", "20", "-o", "out.csv", "--json")
    assert said.status == 0
    assert said.data["rows"] == n
    assert say(capsys, "verify", "out.csv").status == 0


def test_models_that_the_library_was_asked_for_are_verified_by_the_record(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """They were recorded in another form than the command's, and then not checked at all."""
    from discreet.artefact import save_anonymous
    from discreet.core.guarantee import KAnonymity
    from discreet.kanonymity import anonymize as made_by_library
    from discreet.kanonymity.models import (
        Closeness,
        DistinctDiversity,
        EntropyDiversity,
        PrivacyModel,
    )

    rows = pl.DataFrame({"age": [20, 21, 22, 50, 51, 52], "ill": ["a", "b", "b", "a", "b", "a"]})
    models: dict[str, list[PrivacyModel]] = {"ill": [DistinctDiversity(2), EntropyDiversity("3/2")]}
    made = made_by_library(rows, KAnonymity(2, ("age",)), models=models)
    save_anonymous(made, "made.csv")
    assert say(capsys, "verify", "made.csv").status == 0
    flat = replace(made, table=made.table.with_columns(ill=pl.lit("a")))
    save_anonymous(flat, "made.csv")
    said = say(capsys, "verify", "made.csv", "--json")
    assert said.status == 1
    assert sum(not check["passed"] for check in said.data["checks"]) == 2
    # What was asked by counts of the original cannot be asked again, and is not passed over.
    for stated in (
        ["ill=" + repr(Closeness(1, whole=(3, 3)))],
        {"ill": ["DistinctDiversity(l=2)"]},
    ):
        record = json.loads(Path("made.csv.discreet.json").read_text(encoding="utf-8"))
        record["provenance"]["parameters"]["models"] = stated
        Path("made.csv.discreet.json").write_text(json.dumps(record), encoding="utf-8")
        assert say(capsys, "verify", "made.csv").status == 2
        asked = say(capsys, "verify", "made.csv", "--require", "ill=distinct:1", "--json")
        assert asked.status == 0
        assert any("a form that no option has" in said for said in asked.data["not_checked"])


def test_k_map_is_demanded_recorded_and_verified_with_the_population(
    capsys: pytest.CaptureFixture[str],
) -> None:
    ages = [20, 21, 30, 31, 44, 45]
    Path("t.csv").write_text("age\n" + "".join(f"{age}\n" for age in ages), encoding="utf-8")
    town = "".join(f"{age}\n" for age in range(18, 60))
    Path("town.csv").write_text("age\n" + town, encoding="utf-8")
    line = ["anonymize", "t.csv", "-k", 2, "--quasi", "age", "-o", "o.csv"]
    made = say(capsys, *line, "--population", "town.csv", "--k-map", 10, "--json")
    assert made.status == 0, made.err
    assert any(
        check["name"] == "classes that fail 10-map" for check in made.data["certificate"]["checks"]
    )
    alone = say(capsys, "verify", "o.csv", "--json")
    assert (alone.status, alone.data["passed"]) == (0, True)
    assert any("10 people or more of the population" in said for said in alone.data["not_checked"])
    with_town = say(capsys, "verify", "o.csv", "--population", "town.csv", "-v")
    assert with_town.status == 0
    assert "classes that fail 10-map" in with_town.out
    assert say(capsys, "verify", "o.csv", "--population", "town.csv", "--k-map", 40).status == 1
    half = say(capsys, *line, "--population", "town.csv")
    assert half.status == 2
    assert "--k-map" in half.err


@pytest.mark.parametrize("second", ["damaged", "renamed"])
def test_a_part_that_cannot_be_read_or_has_other_columns_is_named_by_its_place(
    capsys: pytest.CaptureFixture[str], second: str
) -> None:
    rows = pl.DataFrame({"age": [1, 2, 3] * 4, "sex": ["F", "M"] * 6})
    Path("in").mkdir()
    rows.write_parquet("in/a.parquet")
    if second == "damaged":
        Path("in/b.parquet").write_bytes(b"PAR1, and no table")
        wanted = "parts that can be read; copy or write that file again"
    else:
        rows.rename({"sex": "gender"}).write_parquet("in/b.parquet")
        wanted = "parts with the same columns and types; write those that differ again"
    quasi = ["--quasi", "age,sex"]
    for command in (
        ["anonymize", "in", *quasi, "-k", "3", "--memory", "1GB", "-o", "out"],
        ["risk", "in", *quasi],
        ["verify", "in", *quasi, "-k", "3"],
    ):
        said = say(capsys, *command)
        assert said.status == 2, command
        assert wanted in said.err, command
        assert "file 2" in said.err, command
        assert not Path("out").exists()


def test_a_folder_without_memory_and_an_empty_table_with_it_say_what_to_do(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("in").mkdir()
    pl.DataFrame({"age": [1, 2, 3]}).write_parquet("in/a.parquet")
    folder = say(capsys, "anonymize", "in", "-k", "2", "--quasi", "age", "-o", "out.csv")
    assert folder.status == 2
    assert "a folder of parts takes --memory as well" in folder.err
    pl.DataFrame({"age": []}, schema={"age": pl.Int64}).write_parquet("none.parquet")
    empty = say(
        capsys,
        *("anonymize", "none.parquet", "-k", "2", "--quasi", "age"),
        *("--memory", "1GB", "-o", "out"),
    )
    assert empty.status == 2
    assert "a table with rows" in empty.err
    assert "damaged" not in empty.err
    text = say(capsys, "anonymize", "in", "-k", "many", "--quasi", "age", "-o", "out.csv")
    assert text.status == 2
    assert "-k: expected a valid integer" in text.err
    assert not Path("out").exists()
