"""Files as tools write them: each is read as its own tool reads it, or refused in a sentence with a cure.

Rows are made up; the dialects are those of the tools' documentation.
"""

from __future__ import annotations

import gzip
import zipfile
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from discreet.core.dates import formats_of
from discreet.core.errors import InvalidProblemError
from discreet.tables.cells import recognize_missing
from discreet.tables.columns import half_numeric, holds_numbers
from discreet.tables.options import ReadingOptions
from discreet.tables.reading import read_row_by_row, read_rows

if TYPE_CHECKING:
    from pathlib import Path

PEOPLE = [("34", "F", "flu"), ("51", "M", None), (None, "F", "none")]

READ: dict[str, tuple[str, bytes, dict[str, Any], list[tuple[str | None, ...]]]] = {
    "R write.csv, row names": (
        ".csv",
        b'"","age","sex","ill"\n"1",34,"F","flu"\n"2",51,"M",NA\n"3",NA,"F","none"\n',
        {"missing": "NA"},
        [("1", *PEOPLE[0]), ("2", *PEOPLE[1]), ("3", *PEOPLE[2])],
    ),
    "R write.csv2, decimal commas": (
        ".csv",
        b'"cm";"sex"\n171,5;"F"\n1803,25;"M"\nNA;"F"\n',
        {"missing": "NA", "decimal": ","},
        [("171.5", "F"), ("1803.25", "M"), (None, "F")],
    ),
    "R write.table with tabs": (
        ".txt",
        b"age\tsex\n34\tF\nNA\tM\n",
        {"missing": "NA"},
        [("34", "F"), (None, "M")],
    ),
    "data.table fwrite .gz": (
        ".csv.gz",
        gzip.compress(b"age,sex\n34,F\n,M\n"),
        {},
        [("34", "F"), (None, "M")],
    ),
    "sdcMicro writeSafeFile": (
        ".csv",
        b"age,sex,risk\n34,F,0.5\n*,M,NA\n",
        {"missing": "NA"},
        [("34", "F", "0.5"), ("*", "M", None)],
    ),
    "pandas to_csv, index": (
        ".csv",
        b",age,sex\n0,34.0,F\n1,,M\n",
        {},
        [("0", "34.0", "F"), ("1", None, "M")],
    ),
    "pandas to_csv, na_rep": (
        ".csv",
        b"age,sex\n34.0,F\nNaN,M\n",
        {"missing": "NaN"},
        [("34.0", "F"), (None, "M")],
    ),
    "Polars write_csv": (
        ".csv",
        b'age,note\n34,"a,b"\n,"say ""x"""\n',
        {},
        [("34", "a,b"), (None, 'say "x"')],
    ),
    "Julia CSV.jl": (
        ".csv",
        b"age,sex\n34,F\nmissing,M\n",
        {"missing": "missing"},
        [("34", "F"), (None, "M")],
    ),
    "MATLAB writetable": (
        ".txt",
        b"age,sex\n34,F\nNaN,M\n",
        {"missing": "NaN"},
        [("34", "F"), (None, "M")],
    ),
    "Excel CSV UTF-8": (
        ".csv",
        b"\xef\xbb\xbfage,town\r\n34,K\xc3\xb6ln\r\n",
        {},
        [("34", "Köln")],
    ),
    "Excel CSV, European": (
        ".csv",
        b"age;town\r\n34;K\xf6ln\r\n",
        {"encoding": "cp1252"},
        [("34", "Köln")],
    ),
    "Excel CSV with sep=": (".csv", b"sep=;\r\nage;sex\r\n34;F\r\n", {}, [("34", "F")]),
    "Excel Unicode text": (
        ".txt",
        "age\ttown\r\n34\tKöln\r\n".encode("utf-16"),
        {},
        [("34", "Köln")],
    ),
    "Excel of Central Europe": (
        ".csv",
        "age;town\r\n34;Łódź\r\n".encode("cp1250"),
        {"encoding": "cp1250"},
        [("34", "Łódź")],
    ),
    "Excel for Macintosh": (
        ".csv",
        "age,town\n34,Köln\n".encode("mac-roman"),
        {"encoding": "mac-roman"},
        [("34", "Köln")],
    ),
    "LibreOffice, Latin-2": (
        ".csv",
        "age;town\n34;Łódź\n".encode("iso-8859-2"),
        {"encoding": "iso-8859-2"},
        [("34", "Łódź")],
    ),
    "1C and Excel, Cyrillic": (
        ".csv",
        "возраст;город\r\n34;Тула\r\n".encode("cp1251"),
        {"encoding": "cp1251"},
        [("34", "Тула")],
    ),
    "Excel of Japan": (
        ".csv",
        "年齢,町\r\n34,京都\r\n".encode("cp932"),
        {"encoding": "cp932"},
        [("34", "京都")],
    ),
    "SPSS SAVE TRANSLATE": (
        ".csv",
        b"age,sex\r\n34,F\r\n#NULL!,M\r\n",
        {"missing": "#NULL!"},
        [("34", "F"), (None, "M")],
    ),
    "Stata export delimited": (
        ".csv",
        b'age,sex\n34,F\n.a,M\n.,"F"\n',
        {"missing": ".,.a"},
        [("34", "F"), (None, "M"), (None, "F")],
    ),
    "SAS PROC EXPORT": (
        ".csv",
        b"age,born\r\n34,09NOV1987\r\n.,01JAN1950\r\n",
        {"missing": "."},
        [("34", "09NOV1987"), (None, "01JAN1950")],
    ),
    "SAS codes of missing values": (
        ".csv",
        b"age,kg\n34,-9\n999,70\n",
        {"missing": ["-9", "age=999"]},
        [("34", None), (None, "70")],
    ),
    "PostgreSQL COPY CSV HEADER": (
        ".csv",
        b'age,ok,note\n34,t,"a ""b"""\n,f,\n',
        {},
        [("34", "t", 'a "b"'), (None, "f", None)],
    ),
    "MySQL --batch": (
        ".tsv",
        b"age\tsex\n34\tF\nNULL\tM\n",
        {"missing": "NULL"},
        [("34", "F"), (None, "M")],
    ),
    "SQLite .mode csv": (
        ".csv",
        b'age,note\r\n34,"a,b"\r\n,x\r\n',
        {},
        [("34", "a,b"), (None, "x")],
    ),
    "Oracle SQL Developer": (
        ".csv",
        b'"AGE","BORN"\n34,"09-NOV-87"\n(null),"01-JAN-50"\n',
        {"missing": "(null)"},
        [("34", "09-NOV-87"), (None, "01-JAN-50")],
    ),
    "BigQuery export": (
        ".csv.gz",
        gzip.compress(b"age,at\n34,1987-11-09 00:00:00 UTC\n"),
        {},
        [("34", "1987-11-09 00:00:00 UTC")],
    ),
    "ClickHouse CSVWithNames": (
        ".csv",
        b'"age","sex"\n34,"F"\n\\N,"M"\n',
        {"missing": "\\N"},
        [("34", "F"), (None, "M")],
    ),
    "Hive text, Ctrl-A": (
        ".txt",
        b"age\x01sex\n34\x01F\n\\N\x01M\n",
        {"delimiter": "\x01", "missing": "\\N"},
        [("34", "F"), (None, "M")],
    ),
    "Teradata, bars": (
        ".txt",
        b"age|sex\n34|F\n?|M\n",
        {"missing": "?"},
        [("34", "F"), (None, "M")],
    ),
    "SAP list": (
        ".txt",
        b"kg\tsum\n1.070,5\t1.234,56-\n70\t0,00\n",
        {"decimal": ","},
        [("1070.5", "-1234.56"), ("70", "0.00")],
    ),
    "Socrata": (
        ".csv",
        b'Age,Date\n34,"11/09/1987 12:00:00 AM"\n',
        {},
        [("34", "11/09/1987 12:00:00 AM")],
    ),
    "Eurostat TSV": (
        ".tsv",
        b"geo\\TIME\t2019 \t2020 \nAT\t12.3 b\t: \n",
        {"missing": ":"},
        [("AT", "12.3 b", None)],
    ),
    "ARX export": (".csv", b"age;sex\n[20, 30[;*\n*;*\n", {}, [("[20, 30[", "*"), ("*", "*")]),
    "OpenRefine TSV": (".tsv", b"age\tnote\n34\ta b\n\tc\n", {}, [("34", "a b"), (None, "c")]),
    "CDC line list": (
        ".csv",
        b"CaseID,Age,Onset\r\n1,34,9/21/2014\r\n2,Unknown,N/A\r\n\r\n",
        {"missing": "Unknown,N/A"},
        [("1", "34", "9/21/2014"), ("2", None, None)],
    ),
    "REDCap": (
        ".csv",
        b'"record_id","sex","age"\n"1","0","34"\n"2","1",""\n',
        {},
        [("1", "0", "34"), ("2", "1", "")],
    ),
    "CP/M and dBase, Ctrl-Z": (".csv", b"age,sex\r\n34,F\r\n\x1a", {}, [("34", "F")]),
    "thousands of accountants": (
        ".csv",
        b'age,income\n34,"1,234,567.50"\n51,900\n',
        {"decimal": "."},
        [("34", "1234567.50"), ("51", "900")],
    ),
    "Swiss thousands": (
        ".csv",
        b"age,income\n34,1'234.50\n51,900\n",
        {"decimal": "."},
        [("34", "1234.50"), ("51", "900")],
    ),
    "French thousands": (
        ".csv",
        "age;income\n34;1\u202f234,50\n51;900\n".encode(),
        {"decimal": ","},
        [("34", "1234.50"), ("51", "900")],
    ),
    "UCI adult, blanks": (
        ".csv",
        b"age, education\n39, Bachelors\n50, HS-grad\n",
        {},
        [("39", " Bachelors"), ("50", " HS-grad")],
    ),
}
"""Tool -> ending of the name, bytes, options, and the cells as the tool itself reads them."""


@pytest.mark.parametrize("tool", READ)
@pytest.mark.parametrize("read", [read_rows, read_row_by_row])
def test_a_file_is_read_as_its_tool_reads_it(tool: str, read: Any, tmp_path: Path) -> None:
    suffix, data, options, cells = READ[tool]
    file = tmp_path / f"table{suffix}"
    file.write_bytes(data)
    found = read(str(file), "TABLE", options=ReadingOptions.of(**options)).rows()
    if read is read_row_by_row:
        # A line after the rows is an odd row, which no mechanism counts.
        found = found[: len(cells)]
    assert found == cells


REFUSED: dict[str, tuple[str, bytes, dict[str, Any], str]] = {
    "another encoding": (".csv", b"a;b\n1;K\xf6ln\n", {}, "--encoding"),
    "half of another encoding": (
        ".csv",
        b"a;b\n1;K\xf6ln\n2;\x81\n",
        {"encoding": "cp1252"},
        "line 3",
    ),
    "marks above the names": (
        ".csv",
        b",,\nage,sex,ill\n34,F,flu\n",
        {},
        "holds a name for each column",
    ),
    "CSV named .xlsx": (".xlsx", b"a,b\n1,2\n", {}, "workbook"),
    "CSV named .gz": (".csv.gz", b"a,b\n1,2\n", {}, "remove .gz"),
    "CSV named .parquet": (".parquet", b"a,b\n1,2\n", {}, "Parquet"),
    "archive named .csv": (".csv", b"PK\x03\x04" + b"\0" * 40, {}, ".xlsx"),
    "old Excel named .csv": (".csv", b"\xd0\xcf\x11\xe0" + b"\0" * 40, {}, "save it as .xlsx"),
    "SPSS named .csv": (".csv", b"$FL2@(#) SPSS" + b" " * 40, {}, ".sav"),
    "gzip cut off": (".csv.gz", gzip.compress(b"a,b\n" + b"1,2\n" * 99)[:-9], {}, "compress the"),
    "empty line inside": (".csv", b"a,b\n1,2\n\n3,4\n", {}, "as many cells"),
    "unknown ending": (".ods", b"a,b\n1,2\n", {}, ".xlsx"),
    "a million columns": (
        ".csv",
        ",".join(f"c{at}" for at in range(250_000)).encode() + b"\n1\n",
        {},
        "shorter",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_none_is_refused_with_a_cure(case: str, tmp_path: Path) -> None:
    suffix, data, options, cure = REFUSED[case]
    file = tmp_path / f"table{suffix}"
    file.write_bytes(data)
    with pytest.raises(InvalidProblemError) as refused:
        read_rows(str(file), "TABLE", options=ReadingOptions.of(**options))
    assert cure in str(refused.value)
    assert "Köln" not in str(refused.value)


@pytest.mark.parametrize(
    "case", ["another encoding", "half of another encoding", "empty line inside"]
)
def test_no_row_is_a_reason_to_refuse_where_budget_is_spent(case: str, tmp_path: Path) -> None:
    suffix, data, options, _ = REFUSED[case]
    file = tmp_path / f"table{suffix}"
    file.write_bytes(data)
    assert read_row_by_row(str(file), "TABLE", options=ReadingOptions.of(**options)).height > 0


def test_a_file_that_unpacks_to_more_is_refused(tmp_path: Path) -> None:
    bomb = tmp_path / "bomb.csv.gz"
    bomb.write_bytes(gzip.compress(b"a,b\n" + b"1,2\n" * 100_000))
    with pytest.raises(InvalidProblemError, match="unpacks to more") as refused:
        read_rows(str(bomb), "TABLE", most=100_000)
    assert refused.value.code == "table-too-large"


def test_an_empty_last_line_is_no_row_but_in_one_column_an_empty_cell(tmp_path: Path) -> None:
    two, one = tmp_path / "two.csv", tmp_path / "one.csv"
    two.write_bytes(b"age,sex\n34,F\n\n\n")
    one.write_bytes(b"age\n34\n\n51\n\n")
    assert read_rows(str(two), "TABLE").rows() == [("34", "F")]
    assert read_rows(str(one), "TABLE").rows() == [("34",), (None,), ("51",), (None,)]


DATES = {
    "09NOV1987": ["DDMonYYYY"],
    "09NOV1987:12:30:00": ["DDMonYYYY"],
    "09-NOV-87": ["DD-Mon-19YY", "DD-Mon-20YY", "DD-Mon-RR"],
    "21.11.87": ["DD.MM.19YY", "DD.MM.20YY", "DD.MM.RR"],
    "11/21/87": ["MM/DD/19YY", "MM/DD/20YY", "MM/DD/RR"],
    "1987/11": ["YYYY/MM"],
    "1987-11": ["YYYY-MM"],
    "1987Q4": ["YYYYQn"],
    "11/21/1987 12:00:00 AM": ["MM/DD/YYYY"],
    "1987-11-09 00:00:00 UTC": ["YYYY-MM-DD"],
}


@pytest.mark.parametrize("cell", DATES)
def test_dates_are_dates_and_a_century_is_not_guessed(cell: str) -> None:
    assert formats_of([cell]) == DATES[cell]


def test_a_half_numeric_column_is_refused_with_its_rows(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    cells = ["30", "41", "90+", "NA", "27", "unknown", "33"]
    file.write_text("age\n" + "\n".join(cells) + "\n")
    table, notices = recognize_missing(read_rows(str(file), "TABLE"), ["age"])
    # One stray cell keeps the column text, so that marks are only hinted at.
    assert "missing-unread" in notices[0]
    (error,) = half_numeric(table, ["age"], "TABLE")
    assert error.got == "3 other cells in age, in rows 3, 4, 6"
    for cure in ("--missing", "--top age=90", "--categorical", "--taxonomy", "--prefix"):
        assert cure in error.expected


@pytest.mark.parametrize(
    ("cells", "code"),
    [
        (["10%", "20%", "5%"], "number-units"),
        (["$10", "$2,500", "$7"], "number-units"),
        (["12:30", "7:05 AM", "23:59:59"], "number-units"),
        (["P1D", "PT5H", "P3D"], "number-units"),
        (["250.00", "401.9", "V45"], "half-numbers"),
        (["02139", "10001", "SW1A"], ""),
        (["E11.9", "I10", "4019"], ""),
        (["[20, 30]", "40", "41"], ""),
        (["1941", "1980 to 1984", "1942"], ""),
        (["1941", "1980-Q1", "1942"], ""),
        (["10012", "100**", "10013"], ""),
        (["<5", "30", "41"], "half-numbers"),
        (["F", "M", "1"], ""),
        (["1", "2", ""], ""),
    ],
)
def test_numbers_with_units_are_no_sets_of_exact_values(cells: list[str], code: str) -> None:
    import polars as pl

    found = [each.code for each in half_numeric(pl.DataFrame({"x": cells}), ["x"], "table")]
    assert found == ([code] if code else [])


def test_marks_of_missing_values_are_recognized_in_numbers_and_dates_alone() -> None:
    import polars as pl

    table = pl.DataFrame(
        {
            "age": ["30", "n/a", "."],
            "born": ["1980-01-02", "NULL", "1990-03-04"],
            "sex": ["F", "NA", "M"],
        }
    )
    found, notices = recognize_missing(table, table.columns)
    assert found["age"].to_list() == ["30", None, None]
    assert found["born"].to_list() == ["1980-01-02", None, "1990-03-04"]
    assert found["sex"].to_list() == ["F", "NA", "M"]
    assert holds_numbers(found["age"])
    assert [notice.rpartition("[")[2] for notice in notices] == ["missing-read]"] * 2 + [
        "missing-unread]"
    ]


def test_a_workbook_that_its_reader_cannot_open_is_refused(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    whole, odd = tmp_path / "whole.xlsx", tmp_path / "odd.xlsx"
    book = openpyxl.Workbook()
    for row in (["age"], [34]):
        book.active.append(row)
    book.save(whole)
    # As exports of open data portals have it: a cell whose style is not in the list of styles.
    with zipfile.ZipFile(whole) as old, zipfile.ZipFile(odd, "w") as new:
        for one in old.infolist():
            new.writestr(one, old.read(one).replace(b'<c r="A2"', b'<c s="99" r="A2"'))
    assert read_rows(str(whole), "TABLE").rows() == [(34,)]
    with pytest.raises(InvalidProblemError, match="copy or write the file again"):
        read_rows(str(odd), "TABLE")


def test_moments_that_a_reader_cut_off_are_refused(tmp_path: Path) -> None:
    # Spark writes INT96; of a moment after the year 2262 its reader gives the last one of 64 bits.
    path = tmp_path / "spark.parquet"
    for last, fits in ((2**63 - 2, True), (2**63 - 1, False)):
        moments = pl.Series("when", [0, last]).cast(pl.Datetime("ns"))
        moments.to_frame().write_parquet(path)
        if fits:
            assert read_rows(str(path), "TABLE").height == 2
        else:
            with pytest.raises(InvalidProblemError, match="other values in column 1"):
                read_rows(str(path), "TABLE")
