"""One meaning is one value: numbers in two spellings, missing values, keys, persons, and a table in every format."""

from __future__ import annotations

import datetime as dt
import io
import random
import sys
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import guarantee_from_dict
from discreet.evaluate.risk import risk
from discreet.kanonymity import Taxonomy, anonymize
from discreet.kanonymity.demand import Demand, failing_classes
from discreet.kanonymity.models import (
    AlphaFrequency,
    Closeness,
    DistinctDiversity,
    EntropyDiversity,
    demand_text,
    read_models,
)
from discreet.kanonymity.uniques import risk_sources
from discreet.kanonymity.verify import verify
from discreet.tables.cells import by_meaning
from discreet.tables.frames import open_table
from discreet.tables.keys import key_text
from discreet.tables.options import ReadingOptions, split_names
from discreet.tables.reading import read_private, read_row_by_row, read_rows
from discreet.tables.recoding import Recoding, recode

if TYPE_CHECKING:
    from pathlib import Path

FLU = {"age": [30] * 3 + [40] * 3, "ill": ["flu", None, "", "gout", "flu", None]}


@pytest.mark.parametrize("given", [FLU, pl.DataFrame(FLU)])
def test_missing_values_make_no_class_diverse(given: Any) -> None:
    guarantee = dc.KAnonymity(3, ("age",))
    two = verify(given, guarantee, diverse={"ill": 2})
    assert [check.residual for check in two.checks] == [0, 1]
    models: dict[str, list[Any]] = {
        "ill": [DistinctDiversity(2), EntropyDiversity("3/2"), AlphaFrequency("1/2")]
    }
    assert [check.residual for check in verify(given, guarantee, models=models).checks] == [
        0,
        1,
        1,
        1,
    ]
    assert risk(given, ["age"], sensitive=["ill"]).risks["risk"].diversity == {"ill": 1}
    assert risk(pl.LazyFrame(FLU), ["age"], sensitive=["ill"]).risks["risk"].diversity == {"ill": 1}


def test_a_class_of_missing_values_has_one_value() -> None:
    table = {"age": [1, 1, 2, 2], "ill": [None, None, "a", "b"]}
    found = risk(table, ["age"], sensitive=["ill"]).risks["risk"]
    assert found.diversity == {"ill": 1}
    assert found.homogeneous == {"ill": (2, 1)}


def test_closeness_holds_with_missing_values_and_without() -> None:
    # Each class is as missing as the table, and of others one has flu alone.
    table = {
        "age": [1, 1, 1, 1, 2, 2, 2, 2],
        "ill": ["flu", None, None, None, "gout", None, None, None],
    }
    asked = {"ill": [Closeness("1/4")]}
    assert not verify(table, dc.KAnonymity(2, ("age",)), models=asked).passed
    assert risk(table, ["age"], sensitive=["ill"]).risks["risk"].closeness["ill"] == pytest.approx(
        0.5
    )


@pytest.mark.parametrize("least", [1, 2])
def test_a_demand_judges_as_the_verifier_does(least: int) -> None:
    codes = np.array([0, 2, 2, 0, 1, 2, 2, 2])
    labels = np.array([0, 0, 0, 1, 1, 1, 2, 2])
    demand = Demand("ill", DistinctDiversity(least), codes, missing=2)
    assert failing_classes([demand], labels).tolist() == [least > 1, False, least > 1]


FORMS = {
    "zeros": [(0.0, -0.0, 1.0)[at % 3] for at in range(60)],
    "blanks": [("a", "", None)[at * 7 % 3] for at in range(60)],
    "texts of one number": [("34", "34.0", "5")[at * 5 % 3] for at in range(60)],
    "long numbers": [(5, 100, -20)[at * 7 % 3] for at in range(60)],
    "decimals": [("-1.5", "10", "2.25")[at * 7 % 3] for at in range(60)],
}


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("name", FORMS)
def test_the_search_meets_each_reading_of_the_verifier(name: str, *, ordered: bool) -> None:
    draw = random.Random(3)  # noqa: S311 - test data
    if ordered and name == "blanks":
        pytest.skip("text has no order")
    rows = {"age": [draw.randrange(20, 70) for _ in range(60)], "s": FORMS[name]}
    models = {"s": [Closeness("1/5", ordered=ordered)]}
    made = anonymize(pl.DataFrame(rows), dc.KAnonymity(4, ("age",)), models=models, time_limit=0.2)
    assert made.certificate.passed


def test_ordered_closeness_of_text_needs_its_order() -> None:
    table = {"age": [1, 1, 1, 2, 2, 2], "s": ["low", "high", "medium", "low", "low", "low"]}
    guarantee = dc.KAnonymity(3, ("age",))
    with pytest.raises(InvalidProblemError, match="low<medium<high") as refused:
        verify(table, guarantee, models={"s": [Closeness("7/20", ordered=True)]})
    assert refused.value.code == "order-unstated"
    (model,) = read_models(["s=ordered-closeness:1/3,low<medium<high"])["s"]
    assert demand_text("s", model) == "s=ordered-closeness:1/3,low<medium<high"
    # By its letters high < low < medium, and the distance would be 1/6.
    assert model == Closeness("1/3", ordered=True, order=("low", "medium", "high"))
    assert Closeness(1, ordered=True).distances(np.array([[1, 1, 1], [3, 0, 0]]))[
        1
    ] == pytest.approx(1 / 4)
    with pytest.raises(InvalidProblemError, match="all its values"):
        verify(
            table, guarantee, models={"s": [Closeness("1/3", ordered=True, order=("low", "high"))]}
        )


def test_numbers_in_two_spellings_are_one_age(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("age,sex\n34,F\n34.0,F\n+34,F\n5e1,M\n50,M\n50.00,M\n")
    assert risk(str(file), ["age", "sex"]).risks["risk"].k == 3
    frame = pl.DataFrame({"age": ["34", "34.0", "50", "50.00"]})
    assert risk(frame, ["age"]).risks["risk"].k == 2
    # The verifier goes by what a reader of the published bytes can tell apart.
    assert not verify(frame, dc.KAnonymity(2, ("age",))).passed


@pytest.mark.parametrize("lazy", [False, True])
def test_both_zeros_and_both_kinds_of_nothing_are_one_value(*, lazy: bool) -> None:
    table = pl.DataFrame({"kg": [0.0, -0.0, float("nan"), None]})
    found = by_meaning(table.lazy() if lazy else table, ["kg"])
    found = found.lazy().collect()
    assert [str(cell) for cell in found["kg"].to_list()] == ["0.0", "0.0", "None", "None"]
    assert risk(table, ["kg"]).risks["risk"].k == 2


def test_floats_find_whole_numbers_of_a_taxonomy_of_text() -> None:
    from discreet.tables.taxonomies import taxonomy_of

    tree = taxonomy_of({"20s": ["20", "21"], "30s": ["30", "31"]})
    frame = pl.DataFrame({"age": [20.0, 21.0, 30.0, 31.0, None, None]})
    made = anonymize(frame, dc.KAnonymity(2, ("age",)), attributes=[Taxonomy("age", tree)])
    assert sorted(made.table["age"].to_list())[-2:] == ["30s", "30s"]


def test_persons_are_counted_in_risk_and_in_the_guarantee() -> None:
    table = pl.DataFrame(
        {"pid": [1, 1, 1, 2, 2, 3, 4], "age": [34, 34, 34, 36, 36, 51, 51], "ill": list("aabbcca")}
    )
    found = risk(table, ["age"], person="pid").risks["risk"]
    assert (found.persons, found.rows, found.k) == (4, 7, 1)
    assert found.prosecutor_average == Fraction(3, 4)
    made = anonymize(table, dc.KAnonymity(2, ("age",)), person="pid", sensitive=["ill"])
    assert str(made.guarantee).endswith("shared by 2 persons or more")
    assert dc.KAnonymity(2, ("age",)) != made.guarantee
    assert "unit" not in dc.KAnonymity(2, ("age",)).to_dict()
    assert guarantee_from_dict(made.guarantee.to_dict()) == made.guarantee
    assert "pid" not in made.table.columns
    keyed = made.table.with_columns(pid=pl.Series(made.diagnostics.persons))
    assert verify(keyed, made.guarantee, person="pid").passed
    alike = keyed.with_columns(pid=pl.lit(1))
    assert not verify(alike, made.guarantee, person="pid").passed


def test_sampling_weights_estimate_the_people_of_a_class() -> None:
    table = pl.DataFrame({"age": [30, 30, 40], "w": ["2.5", "7.5", "4"]})
    found = risk(table, ["age"], weights="w").risks["risk"]
    assert found.prosecutor_highest == 1
    assert (found.journalist_highest, found.journalist_average) == (Fraction(1, 4), Fraction(3, 20))
    assert found.marketer == (2 * Fraction(1, 10) + Fraction(1, 4)) / 3
    for wrong in ("0.5", "x", None):
        with pytest.raises(InvalidProblemError, match="a number of people"):
            risk(table.with_columns(w=pl.lit(wrong)), ["age"], weights="w")


def test_records_without_a_person_are_no_persons() -> None:
    keyed = {"age": [1, 1, 1], "pid": [1, None, None]}
    assert not verify(keyed, dc.KAnonymity(2, ("age",)), person="pid").passed


def test_the_columns_that_make_rows_unique_are_named() -> None:
    table = {"zip": [1, 2, 3, 4], "sex": ["F", "F", "M", "M"], "age": [30, 40, 30, 40]}
    found = risk_sources(table, ["zip", "sex", "age"])
    assert found.unique == 4
    assert found.unique_without == {"zip": 4, "sex": 4, "age": 4}
    # Each row is unique by its zip, and by sex and age together.
    assert found.minimal == {1: 4, 2: 4}
    assert found.contribution["zip"] == pytest.approx(8 / 12)
    assert found.in_words()[0].startswith("zip: 66.67 %")


def test_minimal_uniques_are_those_of_the_definition() -> None:
    from itertools import chain, combinations

    draw = random.Random(5)  # noqa: S311 - test data
    names = ["a", "b", "c", "d"]
    table = {name: [draw.randrange(3) for _ in range(25)] for name in names}
    rows = list(zip(*table.values(), strict=True))

    def alone(row: int, chosen: tuple[int, ...]) -> bool:
        return sum(all(one[j] == rows[row][j] for j in chosen) for one in rows) == 1

    counted: dict[int, int] = {}
    sets = list(chain.from_iterable(combinations(range(4), size) for size in range(1, 5)))
    for row in range(25):
        for chosen in sets:
            smaller = combinations(chosen, len(chosen) - 1)
            if alone(row, chosen) and not any(part and alone(row, part) for part in smaller):
                counted[len(chosen)] = counted.get(len(chosen), 0) + 1
    assert risk_sources(table, names).minimal == counted


NAMES = ["age", " education", "name, first", 'say "x"', "it's", "a,b,c"]


@pytest.mark.parametrize("name", NAMES)
def test_what_is_proposed_for_a_name_works_when_typed(name: str) -> None:
    assert split_names(repr(name)) == [name]
    doubled = name.replace('"', '""')
    assert split_names(f'zip, "{doubled}" ,sex') == ["zip", name, "sex"]


def test_names_with_blanks_at_an_end_are_read_without(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("age, education\n34,x\n")
    assert read_rows(str(file), "TABLE").columns == ["age", "education"]
    file.write_text("age, age\n34,x\n")
    assert read_rows(str(file), "TABLE").columns == ["age", " age"]


def test_keys_lose_blanks_and_keep_zeros() -> None:
    assert [key_text(cell) for cell in ("20 ", " 20", 20.0, "20.0", "020")] == ["20"] * 4 + ["020"]


@pytest.mark.parametrize(
    "cell", ["K\xf6ln", "\x81", "-9", "", "1e99", "9" * 400, "9" * 400 + ".5", "nan", "1,5"]
)
def test_no_cell_is_a_reason_to_refuse_where_budget_is_spent(cell: str, tmp_path: Path) -> None:
    """The options read and recode each cell by itself, so that no value decides whether there is a release."""
    options = ReadingOptions.of(encoding="cp1252", missing="-9", decimal=",")
    rules = Recoding.of(bins=["a=1,5"], top=["b=9"], rounded=["c=2.5"], prefix=["d=2"])
    without, with_cell = tmp_path / "a.csv", tmp_path / "b.csv"
    without.write_bytes(b"a;b;c;d\n1;2;3;4\n")
    line = ";".join([cell] * 4).encode("latin-1")
    with_cell.write_bytes(b"a;b;c;d\n1;2;3;4\n" + line + b"\n")
    first = read_private(str(without), "PEOPLE", options, rules)
    second = read_private(str(with_cell), "PEOPLE", options, rules)
    # All other rows are read as without it.
    assert second.rows()[:1] == first.rows()
    assert second.height == 2


def test_standard_input_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def given() -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"age;sex\n34;F\n")))

    given()
    assert read_rows("-", "TABLE").rows() == [("34", "F")]
    given()
    frame = read_private("-", "PEOPLE", ReadingOptions(), Recoding())
    assert frame.rows() == [("34", "F")]
    given()
    with pytest.raises(InvalidProblemError, match="read once"):
        open_table("-", "PEOPLE", ["age"], row_by_row=True)


def test_marks_that_were_not_typed_are_values_where_budget_is_spent(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("age\n34\nNA\n")
    assert read_row_by_row(str(file), "PEOPLE").rows() == [("34",), ("NA",)]


def test_recoding_is_a_rule_for_each_cell() -> None:
    table = pl.DataFrame({"age": [17, 18, 39, 40, None], "cm": ["150", "90+", "<5", "x", None]})
    rules = Recoding.of(bins={"age": [18, 40]}, top=["cm=90"], bottom={"cm": 10})
    made = recode(table, rules)
    assert made["age"].to_list() == ["<18", "[18, 40)", "[18, 40)", ">=40", None]
    assert made["cm"].to_list() == ["90", "90", "10", "x", None]
    assert Recoding.of(**rules.to_dict()) == rules
    rounded = recode(table, Recoding.of(rounded=["age=10"], prefix=["cm=2"]))
    assert rounded["age"].to_list() == ["[10, 19]", "[10, 19]", "[30, 39]", "[40, 49]", None]
    assert rounded["cm"].to_list() == ["15", "90", "<5", "x", None]


@pytest.mark.parametrize(
    "given",
    [{"bins": ["age=40,18"]}, {"bins": ["age"]}, {"top": ["age=x"]}, {"rounded": ["age=0"]},
     {"prefix": ["zip=1.5"]}, {"bins": ["age=1"], "rounded": ["age=5"]}, {"top": ["age=1,2"]}],
)  # fmt: skip
def test_rules_that_are_none_are_refused(given: dict[str, Any]) -> None:
    with pytest.raises(InvalidProblemError):
        Recoding.of(**given)


def test_an_anonymized_table_records_how_it_was_read_and_recoded(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_bytes(
        "age;kg;town\n17;1,5;K\xf6ln\n-9;2,5;Bonn\n41;1,5;Bonn\n99;2,5;K\xf6ln\n".encode("cp1252")
    )
    made = anonymize(
        str(file), dc.KAnonymity(2, ("age", "kg")), sensitive=["town"], encoding="cp1252", decimal=",",
        missing=["-9"], top={"age": 90},
    )  # fmt: skip
    stated = made.provenance.parameters
    assert stated["reading"] == {"encoding": "cp1252", "decimal": ",", "missing": ["-9"]}
    assert stated["recoding"] == {"top": {"age": ["90"]}}
    assert ReadingOptions.from_dict(stated["reading"]) == ReadingOptions.of(
        encoding="cp1252", decimal=",", missing="-9"
    )
    assert set(made.table["town"]) == {"Köln", "Bonn"}


FRAME = pl.DataFrame(
    {
        "age": [34, None, 51, 52, 33, 60],
        "cm": [171.5, 180.0, 165.25, 165.25, 171.5, 180.0],
        "sex": ["F", "M", "F", "F", "M", "M"],
        "born": [
            dt.date(1980, 1, 2),
            None,
            dt.date(1990, 3, 4),
            dt.date(1990, 3, 5),
            dt.date(1981, 1, 2),
            None,
        ],
    }
)


def _published(table: Any, tmp_path: Path) -> bytes:
    bits: Any = random.Random(1)  # noqa: S311 - a test's shuffle
    made = anonymize(
        table,
        dc.KAnonymity(2, ("age", "cm", "sex", "born")),
        bits=bits,
        method="k-member",
    )
    out = tmp_path / "out.csv"
    table = nw.from_native(made.table, eager_only=True)
    pl.DataFrame({name: table[name].to_list() for name in FRAME.columns}).write_csv(out)
    return out.read_bytes()


def _writers() -> dict[str, Any]:
    def sav(path: Path) -> None:
        pyreadstat = pytest.importorskip("pyreadstat")
        coded = FRAME.with_columns(pl.col("sex").replace_strict({"F": 1.0, "M": 2.0}))
        pyreadstat.write_sav(coded, str(path), variable_value_labels={"sex": {1: "F", 2: "M"}})

    def dta(path: Path) -> None:
        pyreadstat = pytest.importorskip("pyreadstat")
        coded = FRAME.with_columns(pl.col("sex").replace_strict({"F": 1, "M": 2}))
        pyreadstat.write_dta(coded, str(path), variable_value_labels={"sex": {1: "F", 2: "M"}})

    def xlsx(path: Path) -> None:
        openpyxl = pytest.importorskip("openpyxl")
        book = openpyxl.Workbook()
        for row in (FRAME.columns, *FRAME.rows()):
            book.active.append(row)
        book.save(path)

    def zst(path: Path) -> None:
        zstandard = pytest.importorskip("zstandard")
        path.write_bytes(zstandard.ZstdCompressor().compress(FRAME.write_csv().encode()))

    return {
        "t.csv": FRAME.write_csv,
        "t.tsv": lambda path: FRAME.write_csv(path, separator="\t"),
        "t.csv.zst": zst,
        "t.parquet": FRAME.write_parquet,
        "t.arrow": FRAME.write_ipc,
        "t.xlsx": xlsx,
        "t.sav": sav,
        "t.dta": dta,
    }


@pytest.mark.parametrize("name", list(_writers()))
def test_a_table_is_published_alike_from_every_format(name: str, tmp_path: Path) -> None:
    file = tmp_path / name
    _writers()[name](file)
    assert _published(str(file), tmp_path) == _published(FRAME, tmp_path)


def test_short_floats_of_stata_have_their_digits(tmp_path: Path) -> None:
    pytest.importorskip("pyreadstat")
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"cm": np.array([5.1, 0.2, np.nan], np.float32)})
    frame.to_stata(tmp_path / "t.dta", write_index=False)
    assert read_rows(str(tmp_path / "t.dta"), "TABLE").rows() == [(5.1,), (0.2,), (None,)]


def test_values_without_a_label_stand_for_themselves(tmp_path: Path) -> None:
    pyreadstat = pytest.importorskip("pyreadstat")
    coded = pl.DataFrame({"sex": [1.0, 2.0, 9.0, 8.0]})
    labels, absent = {"sex": {1: "F", 8: "refused", 9: "unknown"}}, {"sex": [9]}
    file = tmp_path / "t.sav"
    pyreadstat.write_sav(coded, str(file), variable_value_labels=labels, missing_ranges=absent)
    # What its author declared missing is missing.
    assert read_rows(str(file), "TABLE")["sex"].to_list() == ["F", "2", None, "refused"]


@pytest.mark.parametrize("library", ["pandas", "pyarrow", "duckdb", "lazy"])
def test_a_table_is_published_alike_from_every_frame(library: str, tmp_path: Path) -> None:
    if library == "lazy":
        given: Any = FRAME.lazy()
    else:
        module = pytest.importorskip(library)
        pytest.importorskip("pyarrow")
        arrow = FRAME.to_arrow()
        given = arrow
        if library == "pandas":
            given = arrow.to_pandas()
        if library == "duckdb":
            given = module.from_arrow(arrow)
    assert _published(given, tmp_path) == _published(FRAME, tmp_path)


def test_stray_text_among_numbers_of_pandas_is_read_as_in_a_file() -> None:
    pandas = pytest.importorskip("pandas")
    guarantee = dc.KAnonymity(2, ("age",))
    frame = pandas.DataFrame({"age": pandas.Series([30, 31, "NA", 40, 41, None], dtype=object)})
    made = anonymize(frame, guarantee)
    assert "missing-read" in made.diagnostics.notices[0]
    assert not any("|" in cell for cell in made.table["age"])
    frame = pandas.DataFrame({"age": pandas.Series([30, 31, "90+", 40, 41, None], dtype=object)})
    with pytest.raises(InvalidProblemError, match="in row 3"):
        anonymize(frame, guarantee)


def test_periods_of_pandas_are_dates() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {"born": pandas.PeriodIndex(["1980-01", "1980-02", "1990-03", "1990-03"], freq="M")}
    )
    made = anonymize(frame, dc.KAnonymity(2, ("born",)))
    assert set(made.table["born"]) == {"1980-Q1", "1990-03"}


def test_limits_keep_each_number_and_the_type_that_has_them() -> None:
    pl = pytest.importorskip("polars")
    large = 2**53 + 1
    cases: list[tuple[list[Any], Any, dict[str, Any], list[Any], Any]] = [
        ([large, 5, None], pl.Int64, {"top": [f"a={large + 9}"]}, [large, 5, None], pl.Int64),
        ([7, 200], pl.UInt8, {"bottom": ["a=300"]}, [300, 300], pl.Int64),
        ([80, 90], pl.Int32, {"top": ["a=85.5"]}, [80.0, 85.5], pl.Float64),
        ([80, 90], pl.Int32, {"top": ["a=85"]}, [80, 85], pl.Int32),
        # No cell decides on the type.
        ([80, 81], pl.Int32, {"top": ["a=85.5"]}, [80.0, 81.0], pl.Float64),
        ([7, 8], pl.UInt8, {"top": ["a=300"]}, [7, 8], pl.Int64),
        ([0.5, 2.5], pl.Float32, {"top": ["a=1"]}, [0.5, 1.0], pl.Float32),
    ]
    for values, kind, rules, expected, expected_kind in cases:
        table = pl.DataFrame({"a": pl.Series(values, dtype=kind)})
        column = recode(table, Recoding.of(**rules))["a"]
        assert (column.to_list(), column.dtype) == (expected, expected_kind)
