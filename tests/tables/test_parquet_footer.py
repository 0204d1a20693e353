"""What the footer of a Parquet file states: as PyArrow reads it, and nothing of what is no footer."""

from __future__ import annotations

import io

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.tables.parquet_footer import ColumnChunk, Footer, read_footer

CELLS = {
    "whole": st.integers(-5, 5),
    "real": st.floats(width=32),
    "text": st.text(max_size=3),
    "list": st.lists(st.integers(0, 3), max_size=3),
    "flag": st.booleans(),
}


def stated_by_pyarrow(data: bytes) -> Footer:
    """Read the same of a file with PyArrow."""
    meta = pq.read_metadata(io.BytesIO(data))
    chunks = []
    for number in range(meta.num_row_groups):
        group = meta.row_group(number)
        for at in range(meta.num_columns):
            column = group.column(at)
            kind, width = column.physical_type, meta.schema.column(at).length
            cells = max(group.num_rows, column.num_values)
            chunks.append(ColumnChunk(kind, max(width, 0), cells, column.total_uncompressed_size))
    return Footer(meta.num_rows, meta.num_columns, tuple(chunks))


@given(st.data(), st.integers(0, 40), st.integers(1, 15))
def test_the_footer_is_read_as_pyarrow_reads_it(data: st.DataObject, rows: int, group: int) -> None:
    names = data.draw(st.lists(st.sampled_from(sorted(CELLS)), min_size=1, unique=True))
    nullable = st.one_of
    table = pa.table(
        {
            name: data.draw(
                st.lists(nullable(st.none(), CELLS[name]), min_size=rows, max_size=rows)
            )
            for name in names
        }
    )
    written = io.BytesIO()
    pq.write_table(
        table,
        written,
        row_group_size=group,
        compression=data.draw(st.sampled_from(["none", "zstd"])),
    )
    assert read_footer(written) == stated_by_pyarrow(written.getvalue())


def test_decimals_of_fixed_width_state_their_width() -> None:
    written = io.BytesIO()
    pq.write_table(pa.table({"cost": pa.array([1, 2], pa.decimal128(30, 2))}), written)
    footer = read_footer(written)
    assert footer == stated_by_pyarrow(written.getvalue())
    assert footer is not None
    assert (footer.chunks[0].kind, footer.chunks[0].width) == ("FIXED_LEN_BYTE_ARRAY", 13)


@pytest.mark.parametrize("polars", [True, False])
def test_every_cut_and_every_changed_byte_ends_without_an_error(polars: bool) -> None:  # noqa: FBT001
    written = io.BytesIO()
    frame = pl.DataFrame({"a": [1, 2, 3], "b": ["x", None, "y"]})
    if polars:
        frame.write_parquet(written)
    else:
        pq.write_table(frame.to_arrow(), written)
    data = written.getvalue()
    for at in range(len(data)):
        assert read_footer(io.BytesIO(data[:at])) is None
        for change in (0x01, 0x80, 0xFF):
            changed = data[:at] + bytes([data[at] ^ change]) + data[at + 1 :]
            read_footer(io.BytesIO(changed))


def test_structures_without_end_and_endless_numbers_are_no_footer() -> None:
    for body in (b"\x1c" * 100_000, b"\x15" + b"\xff" * 100_000, b"\x29\xfc" + b"\xff" * 9):
        data = body + len(body).to_bytes(4, "little") + b"PAR1"
        assert read_footer(io.BytesIO(data)) is None
