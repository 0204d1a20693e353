"""Cases found in trackers of such tools: what went wrong there must not go wrong here, and each names its thread."""

from __future__ import annotations

import polars as pl

from refusals.cases import Case, bad, csv, first, frame, good, truths, two_cells

PANDAS = "https://github.com/pandas-dev/pandas/issues"
POLARS = "https://github.com/pola-rs/polars/issues"
ARX = "https://github.com/arx-deidentifier/arx/issues"
SDC = "https://github.com/sdcTools/sdcMicro/issues"
CSVKIT = "https://github.com/wireservice/csvkit/issues"
SDV = "https://github.com/sdv-dev/SDV/issues/2780"
PROTEINS = ("EC_Aaa123", "EC_Aaa123", "EC_X, EC_Y", "EC_X, EC_Y")
KINGDOM = b"EC_Aaa123;EC_Aaa;EC_A;*\nEC_X, EC_Y;EC;EC;*\n"
JOBS = csv("clerk", "clerk", "nurse", "nurse")
DATES = ("12.01.2017", "12.01.2017", "15.04.2017", "15.04.2017")

SOURCED: list[Case] = [
    # Delimiters that one line too many ends with.
    bad(
        "names end in a comma",
        "trailing delimiters",
        b"age,ill,\n30,flu\n30,flu\n",
        "table",
        source=f"{ARX}/74",
    ),
    bad(
        "rows end in a comma",
        "trailing delimiters",
        b"age,ill\n30,flu,\n30,flu,\n",
        "table",
        source=f"{PANDAS}/14124",
    ),
    bad(
        "one row ends in a comma",
        "trailing delimiters",
        b"age,ill\n30,flu,\n30,flu\n",
        "table",
        source=f"{PANDAS}/9295",
    ),
    bad(
        "a row wider than its only column",
        "trailing delimiters",
        b"age\n30\n30\n40,x\n",
        "table",
        sensitive=(),
        source=f"{POLARS}/10585",
    ),
    bad(
        "a row of three in five",
        "trailing delimiters",
        b"age,ill,b,c,d\n30,flu,x,x,x\n30,flu,x\n",
        "table",
        drop=("b", "c", "d"),
        source=f"{PANDAS}/36069",
    ),
    good(
        "a column without cells",
        "trailing delimiters",
        b"age,ill,b\n30,flu,\n30,flu,\n40,flu,\n40,flu,\n",
        drop=("b",),
        source=f"{PANDAS}/27515",
    ),
    # Hierarchies.
    bad(
        "the hierarchy of another column",
        "hierarchies",
        JOBS,
        "age",
        taxonomy=b"public;work;*\nprivate;work;*\n",
        source=f"{ARX}/370",
    ),
    good(
        "values with commas in a hierarchy",
        "hierarchies",
        frame(list(PROTEINS)),
        first(*PROTEINS),
        taxonomy=KINGDOM,
        source=f"{ARX}/143",
    ),
    bad(
        "a value twice in a hierarchy",
        "hierarchies",
        JOBS,
        "taxonomy",
        taxonomy=b"clerk;a;*\nclerk;b;*\nnurse;b;*\n",
        source="https://github.com/arx-deidentifier/arx/issues/143",
    ),
    bad(
        "a short row of a hierarchy",
        "hierarchies",
        JOBS,
        "taxonomy",
        taxonomy=b"clerk;a;*\nnurse;*\n",
        source="https://github.com/navikt/pyarxaas/issues/29",
    ),
    good(
        "the hierarchy that was imported",
        "hierarchies",
        csv("A", "B", "C", "D"),
        first("low", "high"),
        taxonomy=b"A;low;*\nB;low;*\nC;high;*\nD;high;*\n",
        source=f"{ARX}/358",
    ),
    # What stands for nothing.
    good(
        "stars of an anonymized table",
        "missing marks",
        csv("30", "30", "*", "*"),
        first("30", "*"),
        source=f"{ARX}/259",
    ),
    good(
        "NA as a level",
        "missing marks",
        csv("30", "30", "NA", "NA"),
        # In a column of numbers the mark stands for a missing value, and the curator is told.
        first("30", ""),
        source=f"{SDC}/296",
    ),
    good(
        "own category of missing cells",
        "missing marks",
        csv("Single", "Single", "", ""),
        first("Single", ""),
        source=f"{SDC}/225",
    ),
    good(
        "whole numbers with a missing one",
        "missing marks",
        frame([30.0, 30.0, None, None]),
        two_cells,
        source=f"{PANDAS}/48704",
    ),
    good(
        "missing keys of a group",
        "missing marks",
        frame([None, None, "x", "x"], pl.String),
        first("", "x"),
        source=f"{PANDAS}/31153",
    ),
    good(
        "a column of missing cells",
        "missing marks",
        frame([None] * 4, pl.Float64),
        first(""),
        source=f"{PANDAS}/11016",
    ),
    # Zero bytes.
    bad(
        "a cell of zero bytes",
        "zero bytes",
        b"age,ill\n\x00\x00\x00,flu\n30,flu\n",
        "table",
        source=f"{PANDAS}/19886",
    ),
    bad(
        "zero bytes in a column that is dropped",
        "zero bytes",
        b"age,ill,tweet\n30,flu,a\x00b\n30,flu,c\n",
        "table",
        drop=("tweet",),
        source=f"{CSVKIT}/927",
    ),
    # Numbers as people write them.
    bad(
        "points for thousands",
        "numbers of other countries",
        frame(["1.299,99", "2.299,99"] * 2),
        "quasi",
        source=f"{POLARS}/18797",
    ),
    bad(
        "decimal commas between quotes",
        "numbers of other countries",
        b'age,ill\n"1,57",flu\n"1,87",flu\n',
        "quasi",
        source=f"{POLARS}/23157",
    ),
    bad(
        "decimal commas of two columns",
        "numbers of other countries",
        b"age;ill\n10,20;4,5\n11,20;4,6\n",
        "quasi",
        source=f"{POLARS}/6698",
    ),
    bad(
        "quoted thousands",
        "numbers of other countries",
        b'age,ill\n"1,299",flu\n"2,299",flu\n',
        "quasi",
        source=f"{POLARS}/24207",
    ),
    bad(
        "decimal commas with a missing cell",
        "numbers of other countries",
        frame(["265,64", "12,05", None, ""]),
        "quasi",
        source=f"{POLARS}/18798",
    ),
    # Dates.
    good(
        "one day above twelve",
        "dates of other countries",
        csv(*DATES),
        first("2017-01-12", "2017-04-15"),
        source=f"{PANDAS}/26304",
    ),
    good(
        "days of one digit",
        "dates of other countries",
        csv("29.01.1945", "29.01.1945", "1.3.1945", "1.3.1945"),
        two_cells,
        source=f"{PANDAS}/11725",
    ),
    good(
        "dates of ISO",
        "dates of other countries",
        csv("2014-09-03", "2014-09-03", "2014-09-09", "2014-09-09"),
        first("2014-09-03", "2014-09-09"),
        source=f"{ARX}/22",
    ),
    bad(
        "month first and day first",
        "dates of other countries",
        csv("01-13-2012", "13-01-2012", "01-13-2012", "13-01-2012"),
        "age",
        source=f"{PANDAS}/3341",
    ),
    bad(
        "no day above twelve",
        "dates of other countries",
        csv("05-01-2019", "05-01-2019", "06-01-2019", "06-01-2019"),
        "age",
        source=f"{PANDAS}/27454",
    ),
    # Codes.
    good(
        "codes of eight digits",
        "codes of numbers",
        csv("07090002", "07090002", "17090002", "17090002"),
        first("07090002", "17090002"),
        source="https://github.com/DOI-USGS/dataretrieval-python/pull/311",
    ),
    good(
        "postal codes with a missing one",
        "codes of numbers",
        csv("02116", "02116", "", ""),
        first("02116", ""),
        source=SDV,
    ),
    good(
        "dates of eight digits",
        "codes of numbers",
        csv("05112025", "05112025", "06112025", "06112025"),
        two_cells,
        source=SDV,
    ),
    # Names.
    good(
        "a mark before a quoted name",
        "byte order mark",
        b'\xef\xbb\xbf"age","ill"\n30,flu\n30,flu\n40,flu\n40,flu\n',
        source=f"{PANDAS}/4793",
    ),
    bad(
        "a mark and one name",
        "byte order mark",
        b"\xef\xbb\xbfage\n",
        "table",
        sensitive=(),
        source="https://github.com/apple/turicreate/issues/227",
    ),
    bad(
        "first and last name alike",
        "repeated names",
        b"age,ill,age\n0,1,2\n3,4,5\n",
        "table",
        source=f"{PANDAS}/7160",
    ),
    bad(
        "a name that a reader would invent",
        "repeated names",
        b"age,age.1,age\n1,2,3\n1,2,3\n",
        "table",
        sensitive=(),
        drop=("age.1",),
        source=f"{PANDAS}/14704",
    ),
    bad(
        "carriage returns with quotes",
        "line ends",
        b'"age","ill"\r30,"flu"\r40,"cold"\r',
        "table",
        source="https://github.com/thephpleague/csv/issues/284",
    ),
    # Letters.
    good(
        "a blank after a category",
        "blanks in categories",
        csv("english ", "english", "french", "french"),
        two_cells,
        source="https://github.com/frictionlessdata/frictionless-py/issues/1172",
    ),
    good(
        "a blank before a category",
        "blanks in categories",
        csv(" South Sudan", "South Sudan", "Sudan", "Sudan"),
        two_cells,
        source="https://github.com/HXLStandard/libhxl-python/issues/177",
    ),
    good(
        "quoted truth",
        "truth values",
        b'age,ill\n"true",flu\n"true",flu\n"false",flu\n"false",flu\n',
        truths,
        source=f"{POLARS}/2499",
    ),
    good(
        "letters that could be truth",
        "truth values",
        csv("t", "t", "n", "n"),
        first("t", "n"),
        source="https://github.com/techascent/tech.ml.dataset/issues/166",
    ),
    # Numbers that a float cannot hold.
    bad(
        "ids of 18 digits with a missing one",
        "large numbers",
        frame([864691135341199281, 864691135341199282, None, 1]),
        "age",
        source=f"{PANDAS}/30268",
    ),
    bad(
        "ids of 16 digits as text",
        "large numbers",
        csv("9007199254740993", "9007199254740992", "1", "1"),
        "age",
        source="https://github.com/nao1215/filesql/issues/379",
    ),
]
