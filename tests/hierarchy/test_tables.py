"""Tables become counts, from every library and kind of file; rows outside of the public rule change nothing."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import PureDP
from discreet.core.tree import Tree
from discreet.hierarchy.plan import plan
from discreet.hierarchy.problem import GroupSizes
from discreet.hierarchy.records import from_records, from_units
from discreet.hierarchy.regions import read_public

if TYPE_CHECKING:
    from collections.abc import Callable

REGIONS = ["state", "county"]
LIST = [("GA", "Fulton"), ("GA", 'Cobb, "the" county'), ("DC",)]
PERSON = PureDP(1, neighbors="add-remove-person")
HEAD = "household,state,county\n"
PEOPLE = (
    HEAD
    + 'h1,GA,Fulton\nh2,GA,"Cobb, ""the"" county"\nh1,GA,Fulton\nh3,DC,\nh1,GA,Fulton\nh4,DC,\n'
)
FIXED: dict[str, Any] = {"unit": "household", "columns": REGIONS, "max_size": 2}


def as_csv(text: str, folder: Path) -> Path:
    path = folder / "people.csv"
    path.write_text(text, encoding="utf-8")
    return path


def as_tsv(text: str, folder: Path) -> Path:
    path = folder / "people.tsv"
    as_polars(text, folder).write_csv(path, separator="\t")
    return path


def as_parquet(text: str, folder: Path) -> str:
    path = folder / "people.parquet"
    as_polars(text, folder).write_parquet(path)
    return str(path)


def as_polars(text: str, folder: Path) -> pl.DataFrame:
    return pl.read_csv(as_csv(text, folder))


def as_lazy(text: str, folder: Path) -> pl.LazyFrame:
    return as_polars(text, folder).lazy()


def as_arrow(text: str, folder: Path) -> Any:
    return as_polars(text, folder).to_arrow()


KINDS = [as_csv, as_tsv, as_parquet, as_polars, as_lazy, as_arrow]
every_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)


def by_path(data: GroupSizes) -> dict[tuple[Any, ...], list[int]]:
    tree = data.frame.tree
    return {
        tree.path(leaf): row
        for leaf, row in zip(tree.leaves.tolist(), data.counts.tolist(), strict=True)
    }


@every_kind
def test_people_are_grouped_by_unit_and_top_coded(
    tmp_path: Path, kind: Callable[[str, Path], Any]
) -> None:
    data = from_records(kind(PEOPLE, tmp_path), regions=LIST, **FIXED)
    assert data.frame.units == "private"
    assert by_path(data) == {LIST[0]: [0, 1], LIST[1]: [1, 0], LIST[2]: [2, 0]}


@every_kind
def test_the_list_of_regions_may_be_a_table_too(
    tmp_path: Path, kind: Callable[[str, Path], Any]
) -> None:
    (tmp_path / "list").mkdir()
    text = 'state,county\nGA,Fulton\nGA,"Cobb, ""the"" county"\nDC,\n'
    listed = kind(text, tmp_path / "list")
    data = from_records(as_csv(PEOPLE, tmp_path), regions=listed, **FIXED)
    assert list(by_path(data)) == [("DC",), *LIST[:2]]
    assert data.counts.tolist() == [[2, 0], [0, 1], [1, 0]]


@every_kind
def test_public_units_give_every_region_its_units_also_empty_ones(
    tmp_path: Path, kind: Callable[[str, Path], Any]
) -> None:
    (tmp_path / "units").mkdir()
    text = 'household,state,county\nh9,GA,Fulton\nh1,GA,Fulton\nh2,GA,"Cobb, ""the"" county"\nh3,DC,\nh4,DC,\n'
    units = kind(text, tmp_path / "units")
    data = from_records(as_arrow(PEOPLE, tmp_path), public_units=units, **FIXED)
    assert by_path(data) == {LIST[0]: [1, 0, 1], LIST[1]: [0, 1, 0], LIST[2]: [0, 2, 0]}
    assert data.frame.total == 5


@every_kind
def test_quantities_are_added_up_and_clipped_for_each_person(
    tmp_path: Path, kind: Callable[[str, Path], Any]
) -> None:
    text = "household,state,county,cars\nh1,GA,Fulton,0\nh1,GA,Fulton,2\nh2,DC,,99\nh3,DC,,0\n"
    people = kind(text, tmp_path)
    data = from_records(
        people,
        unit="household",
        columns=REGIONS,
        regions=LIST,
        max_size=5,
        quantity="cars",
        max_quantity=3,
    )
    assert by_path(data) == {LIST[0]: [0, 1, 0, 0, 0], LIST[1]: [0] * 5, LIST[2]: [0, 0, 1, 0, 0]}
    assert data.frame.max_quantity == 3


@every_kind
def test_units_with_sizes_count_as_their_people_do(
    tmp_path: Path, kind: Callable[[str, Path], Any]
) -> None:
    text = "household,state,county,size\nh1,GA,Fulton,300\nh2,DC,,1\nh4,DC,,0\n"
    sizes = kind(text, tmp_path)
    private = from_units(sizes, size="size", columns=REGIONS, regions=LIST, max_size=2)
    assert by_path(private) == {LIST[0]: [0, 1], LIST[1]: [0, 0], LIST[2]: [1, 0]}
    public = from_units(sizes, size="size", columns=REGIONS, public_units=sizes, max_size=2)
    assert by_path(public) == {LIST[0]: [0, 0, 1], LIST[2]: [1, 1, 0]}


def test_units_by_name_may_lack_a_row(tmp_path: Path) -> None:
    listed = as_polars(HEAD + "h1,GA,Fulton\nh2,GA,Fulton\nh3,GA,Fulton\n", tmp_path)
    sizes = pl.DataFrame({"household": ["h2"], "state": ["GA"], "county": ["Fulton"], "n": [2]})
    data = from_units(
        sizes, size="n", columns=REGIONS, unit="household", public_units=listed, max_size=2
    )
    assert data.counts.tolist() == [[2, 0, 1]]


def test_codes_with_leading_zeros_stay_text(tmp_path: Path) -> None:
    people = as_csv("unit,fips\n1,01001\n2,1001\n", tmp_path)
    data = from_records(
        people, unit="unit", columns=["fips"], regions=[("01001",), ("1001",)], max_size=1
    )
    assert data.counts.tolist() == [[1], [1]]


def test_integers_and_text_are_one_name(tmp_path: Path) -> None:
    people = pl.DataFrame({"unit": [1, 1, 2], "state": [13, 13, 36]})
    listed = as_csv("unit,state\n1,13\n2,36\n3,36\n", tmp_path)
    data = from_records(people, unit="unit", columns=["state"], public_units=listed, max_size=2)
    assert by_path(data) == {("13",): [0, 0, 1], ("36",): [1, 1, 0]}


def test_a_byte_order_mark_is_no_part_of_a_name(tmp_path: Path) -> None:
    data = from_records(as_csv("\ufeff" + PEOPLE, tmp_path), regions=LIST, **FIXED)
    assert data.counts.sum() == 4


def test_line_ends_of_other_systems_are_no_part_of_a_label(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_bytes(PEOPLE.replace("\n", "\r\n").encode())
    assert from_records(path, regions=LIST, **FIXED).counts.sum() == 4


def test_categories_and_whole_floats_are_read(tmp_path: Path) -> None:
    sizes = as_polars("household,state,county,n\nh1,GA,Fulton,2.0\nh2,DC,,1.0\n", tmp_path)
    sizes = sizes.with_columns(pl.col("state").cast(pl.Categorical), pl.col("n").cast(pl.Float64))
    data = from_units(sizes, size="n", columns=REGIONS, regions=LIST, max_size=2)
    assert by_path(data) == {LIST[0]: [0, 1], LIST[1]: [0, 0], LIST[2]: [1, 0]}


def test_a_tree_may_be_the_list_of_regions(tmp_path: Path) -> None:
    tree = Tree.from_paths(LIST, root="US")
    data = from_records(as_csv(PEOPLE, tmp_path), regions=tree, **FIXED)
    assert data.frame.tree is tree


def test_a_region_without_anybody_is_published_too(tmp_path: Path) -> None:
    data = from_records(as_csv(HEAD, tmp_path), regions=LIST, **FIXED)
    assert data.counts.tolist() == [[0, 0]] * 3


ODD = {
    "no region": ("h2,,\n", "1 without a lowest region"),
    "a gap": ("h2,,Fulton\n", "1 without a lowest region"),
    "too short": ("h2,GA,\nh3,GA,\n", "2 without a lowest region"),
    "too long": ("h1,DC,Fulton\n", "1 without a lowest region"),
    "outside": ("h2,GA,Secret\nh3,Secret,Fulton\n", "2 without a lowest region"),
    "no unit": (",GA,Fulton\n", "1 without the name of a unit"),
}


@every_kind
@pytest.mark.parametrize(("rows", "note"), ODD.values(), ids=ODD)
def test_rows_outside_of_the_public_lists_change_nothing_but_a_private_note(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    kind: Callable[[str, Path], Any],
    rows: str,
    note: str,
) -> None:
    expected = from_records(kind(PEOPLE, tmp_path), regions=LIST, **FIXED)
    assert not capsys.readouterr().err
    data = from_records(kind(PEOPLE + rows, tmp_path), regions=LIST, **FIXED)
    assert data.counts.tolist() == expected.counts.tolist()
    told = capsys.readouterr()
    assert not told.out
    assert "PRIVATE, not for publication" in told.err
    assert note in told.err
    assert "Secret" not in told.err
    assert "h1" not in told.err


@every_kind
def test_a_unit_with_rows_in_two_regions_is_a_unit_in_each(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: Callable[[str, Path], Any]
) -> None:
    data = from_records(kind(PEOPLE + "h3,GA,Fulton\n", tmp_path), regions=LIST, **FIXED)
    assert by_path(data) == {LIST[0]: [1, 1], LIST[1]: [1, 0], LIST[2]: [2, 0]}
    assert "2 units with rows in other regions too" in capsys.readouterr().err


@pytest.mark.parametrize("odd", ["-1", "x", "", "1.5", "1_0", "9999999999999999", "inf"])
def test_rows_without_a_whole_number_are_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], odd: str
) -> None:
    text = f"household,state,county,n\nh1,GA,Fulton,1\nh2,DC,,{odd}\n"
    for kind in (as_csv, as_parquet, as_arrow):
        units = kind(text, tmp_path)
        data = from_units(units, size="n", columns=REGIONS, regions=LIST, max_size=2)
        assert by_path(data) == {LIST[0]: [1, 0], LIST[1]: [0, 0], LIST[2]: [0, 0]}
        assert "1 without a whole number" in capsys.readouterr().err
        data = from_records(units, quantity="n", max_quantity=2, regions=LIST, **FIXED)
        assert data.counts.sum() == 1


@pytest.mark.parametrize("odd", [-1.0, 0.5, float("nan"), float("inf"), None])
def test_floats_that_are_no_sizes_are_left_out(odd: float | None) -> None:
    sizes = pl.DataFrame({"state": ["DC", "DC"], "n": [1.0, odd]})
    for table in (sizes, sizes.to_arrow()):
        data = from_units(table, size="n", columns=["state"], regions=[("DC",)], max_size=2)
        assert data.counts.tolist() == [[1, 0]]


@pytest.mark.parametrize("kind", [as_csv, as_polars], ids=lambda kind: kind.__name__)
def test_the_caller_may_choose_to_refuse_rows_outside_of_the_guarantee(
    tmp_path: Path, kind: Callable[[str, Path], Any]
) -> None:
    planned = plan(LIST, PERSON, **FIXED, refuse_rows=True)
    with pytest.raises(InvalidProblemError, match=r"refuse_rows.*2 without a lowest region.*priv"):
        planned.release(kind(PEOPLE + ODD["outside"][0], tmp_path))
    planned.release(kind(PEOPLE, tmp_path))


PUBLIC = HEAD + "h1,GA,Fulton\nh2,DC,\nh3,DC,\n"


@pytest.mark.parametrize("rows", ["h8,DC,\n", "h1,DC,\n"])
def test_people_of_units_that_are_not_public_in_their_region_are_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], rows: str
) -> None:
    units = as_polars(PUBLIC, tmp_path)
    for kind in (as_csv, as_arrow):
        data = from_records(kind(HEAD + "h2,DC,\n" + rows, tmp_path), public_units=units, **FIXED)
        assert by_path(data) == {LIST[0]: [1, 0, 0], LIST[2]: [1, 1, 0]}
        assert "1 of a unit that is not public in this region" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("sizes", "counts"),
    [([2], [1, 0, 1]), ([2, 1, 1], [0, 1, 1]), ([1, 2, 2], [0, 0, 2]), ([], [2, 0, 0])],
)
def test_units_without_names_are_fitted_to_the_public_number_by_their_largest_sizes(
    tmp_path: Path, sizes: list[int], counts: list[int]
) -> None:
    units = pl.DataFrame({"state": ["DC", "DC"], "county": [None, None]})
    rows = pl.DataFrame({"state": ["DC"] * len(sizes), "county": [None] * len(sizes), "n": sizes})
    rows = rows.cast({"state": pl.String, "n": pl.Int64})
    data = from_units(rows, size="n", columns=REGIONS, public_units=units, max_size=2)
    assert data.counts.tolist() == [counts]


def test_a_public_unit_listed_twice_is_refused_and_sizes_of_a_private_one_are_added_up(
    tmp_path: Path,
) -> None:
    units = as_polars(PUBLIC + "h1,GA,Fulton\n", tmp_path)
    with pytest.raises(
        InvalidProblemError, match="every name once, got one again in rows 1, 4"
    ) as caught:
        from_records(as_polars(PUBLIC, tmp_path), public_units=units, **FIXED)
    assert "private" not in str(caught.value)
    sized = units.with_columns(n=pl.lit(1))
    data = from_units(sized, size="n", unit="household", columns=REGIONS, regions=LIST, max_size=2)
    assert by_path(data) == {LIST[0]: [0, 1], LIST[1]: [0, 0], LIST[2]: [2, 0]}


@every_kind
@pytest.mark.parametrize(
    ("place", "counted"),
    [
        ("GA,Fulton", ([[0, 0], [0, 1]], [[0, 0], [2, 0]])),
        ("DC,", ([[1, 0], [1, 0]], [[0, 0], [0, 1]])),
        (",", ([[0, 0], [0, 1]],)),
    ],
)
def test_of_a_person_with_several_rows_one_that_could_count_counts(
    tmp_path: Path,
    kind: Callable[[str, Path], Any],
    place: str,
    counted: tuple[list[list[int]], ...],
) -> None:
    rows = ["ann,h1,GA,Fulton\n", "bob,h1,GA,Fulton\n", f"ann,h2,{place}\n", ",h1,GA,Fulton\n"]
    for order in (rows, rows[::-1]):
        text = "name,household,state,county\n" + "".join(order)
        listed = [("DC",), ("GA", "Fulton")]
        data = from_records(kind(text, tmp_path), person="name", regions=listed, **FIXED)
        assert data.counts.tolist() in counted


@pytest.mark.parametrize(
    ("listed", "message"),
    [
        ([], "paths: expected at least one"),
        ([("GA",), ("GA",)], "each leaf once"),
        ([("GA",), ("GA", "Fulton")], "leaves"),
        ("state,county\n", "regions: expected a table with rows"),
        ("state,county\nGA,\nGA,Fulton\n", "regions: expected leaves"),
        (
            "state,county\nGA,Fulton\n,Fulton\n",
            r"regions: expected paths of state, county, got one with a gap",
        ),
        ("state,county\nDC,\n,\n", "regions: expected paths of state, county"),
    ],
    ids=str,
)
def test_a_list_of_regions_without_sense_is_refused(
    tmp_path: Path, listed: Any, message: str
) -> None:
    if isinstance(listed, str):
        path = tmp_path / "regions.csv"
        path.write_text(listed, encoding="utf-8")
        listed = path
    with pytest.raises(InvalidProblemError, match=message):
        from_records(as_csv(PEOPLE, tmp_path), regions=listed, **FIXED)


def test_without_a_public_list_nothing_is_read(tmp_path: Path) -> None:
    with pytest.raises(InvalidProblemError, match="the public list of regions, or public units"):
        from_records(tmp_path / "missing.csv", **FIXED)


def test_a_tree_deeper_than_the_columns_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidProblemError, match="2 columns, as the tree is deep"):
        from_records(
            as_csv(PEOPLE, tmp_path),
            unit="household",
            columns=["state"],
            regions=LIST,
            max_size=2,
        )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"columns": []}, "columns"),
        ({"columns": "state"}, "columns"),
        ({"columns": ["state", "state"]}, "columns"),
        ({"columns": ["state", "household"]}, "columns"),
        (
            {"columns": ["state", "town"]},
            r"town: expected a column of people \(3 names in its first line\)",
        ),
        ({"unit": "home"}, "home: expected a column of people"),
        ({"quantity": "household"}, "different columns"),
        ({"max_size": 0}, "max_size"),
        ({"max_quantity": 0}, "max_quantity"),
    ],
    ids=str,
)
def test_arguments_without_sense_are_refused(
    tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidProblemError, match=message):
        from_records(as_csv(PEOPLE, tmp_path), **{**FIXED, "regions": LIST, **change})


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda folder: folder / "no.csv", "people: expected the path of a file that exists"),
        (lambda folder: folder / "people.ods", "people: expected a file that ends in"),
        (lambda _: {"household": [1]}, "people: expected a table or a path, got dict"),
        (
            lambda folder: as_text(folder, "broken.parquet", "no parquet"),
            "people: expected a Parquet file, as its name says",
        ),
        (
            lambda _: pl.DataFrame({"household": [1], "state": [["GA"]], "county": [1]}),
            "state: expected a column of text",
        ),
    ],
    ids=["missing", "kind", "dict", "parquet", "lists"],
)
def test_tables_that_can_not_be_read_are_refused(
    tmp_path: Path, make: Callable[[Path], Any], message: str
) -> None:
    with pytest.raises(InvalidProblemError, match=message) as caught:
        from_records(make(tmp_path), regions=LIST, **FIXED)
    assert "Secret" not in str(caught.value)


@pytest.mark.parametrize(
    "row", [b"h1,GA,Secr\xe9t", b"h1,GA,Se\0cret", b"h1", b"h1,,,Secret", b"", b"h1,GA"]
)
def test_an_odd_row_of_a_file_is_left_out_and_never_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], row: bytes
) -> None:
    """Bytes that are not UTF-8, zero bytes, and rows of another length."""
    counted = []
    for name, rows in (("one.csv", b""), ("other.csv", row + b"\n")):
        (tmp_path / name).write_bytes(HEAD.encode() + b"h9,DC,\n" + rows)
        counted.append(from_records(tmp_path / name, regions=LIST, **FIXED).counts.tolist())
    assert counted[0] == counted[1]
    said = capsys.readouterr().err
    assert "PRIVATE, not for publication" in said
    assert "Se" not in said


def as_text(folder: Path, name: str, text: str) -> Path:
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


def test_what_is_public_can_be_read_before_anything_private(tmp_path: Path) -> None:
    """The command line charges its budget between the two."""
    public = read_public(REGIONS, public_units=as_csv(PUBLIC, tmp_path), unit="household")
    assert public.groups is not None
    assert public.frame(3, 1).total == 3


@settings(max_examples=10, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 3)), max_size=30), st.integers(1, 4))
def test_counts_are_those_of_a_plain_loop(rows: list[tuple[int, int]], max_size: int) -> None:
    """Units 0 to 6 lie in region ``unit mod 3``; quantities are 0 to 3, clipped at 2."""
    people = pl.DataFrame(
        {
            "unit": [unit for unit, _ in rows],
            "region": [str(unit % 3) for unit, _ in rows],
            "z": [z for _, z in rows],
        },
        schema={"unit": pl.Int64, "region": pl.String, "z": pl.Int64},
    )
    sizes: Counter[int] = Counter()
    for unit, z in rows:
        sizes[unit] += min(z, 2)
    expected = [[0] * max_size for _ in range(3)]
    for unit, size in sizes.items():
        if size:
            expected[unit % 3][min(size, max_size) - 1] += 1
    listed = [("0",), ("1",), ("2",)]
    for table in (people, people.to_arrow(), people.lazy()):
        data = from_records(
            table,
            unit="unit",
            columns=["region"],
            regions=listed,
            max_size=max_size,
            quantity="z",
            max_quantity=2,
        )
        assert data.counts.tolist() == expected
