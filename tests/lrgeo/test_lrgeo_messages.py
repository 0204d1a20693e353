"""Messages are read strictly, written plainly, and described by the schema that is published."""

from __future__ import annotations

import json
import math
from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.core.errors import InvalidProblemError
from discreet.lrgeo import messages
from discreet.lrgeo._fields import Number
from discreet.lrgeo.messages import PROTOCOL, read, schema, write
from meta.canary import SENTINEL, leaks

DIGEST = "0123456789abcdef" * 4
NEAR = [[0.0, 1.0], [1.0, 0.0]]
FAR = [[0.0, 1.0, 2.0], [1.0, 0.0, 2.0]]
UPLOAD: dict[str, Any] = {
    "protocol": 1,
    "between": NEAR,
    "away": FAR,
    "cost": FAR,
    "columns": [4, 7, 2],
}
GOOD: dict[type[Any], dict[str, Any]] = {
    messages.Health: {"protocol": 1, "status": "ready", "mechanism": DIGEST},
    messages.Place: {"protocol": 1, "region": {"unit": "km"}},
    messages.Published: {"protocol": 1, "digest": DIGEST, "mechanism": {"rate": "1"}},
    messages.Parameters: {
        "protocol": 1,
        "epsilon": 2.0,
        "gamma": None,
        "reach": 3.0,
        "r_obf": 4.0,
        "r_exp": 2.0,
    },
    messages.Upload: UPLOAD,
    messages.Accepted: {"protocol": 1, "job": "A" * 43},
    messages.Job: {"protocol": 1, "status": "done", "rows": [[0.5, 0.5]], "reason": None},
    messages.CostRequest: {"protocol": 1, "center": 3, "radius": 2.5},
    messages.CostTable: {"protocol": 1, "places": [1, 2], "costs": NEAR},
    messages.Report: {"protocol": 1, "mechanism": DIGEST, "epoch": 480_000, "place": 3},
    messages.Refusal: {"protocol": 1, "error": "not-found", "message": "no such job"},
}
RECORDS = list(GOOD)


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.__name__)
def test_what_is_written_is_read_and_is_plain(record: type[Any]) -> None:
    written = write(read(record, GOOD[record]))
    assert written == GOOD[record]
    assert json.loads(json.dumps(written)) == written
    assert write(read(record, written)) == written


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.__name__)
@pytest.mark.parametrize("said", [0, 2, 999])
def test_another_version_is_refused_before_anything_else(record: type[Any], said: int) -> None:
    with pytest.raises(InvalidProblemError, match=f"version 1 of the messages, got version {said}"):
        read(record, {"protocol": said, "something": "new"})
    with pytest.raises(InvalidProblemError, match="protocol"):
        record(**GOOD[record] | {"protocol": said})


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.__name__)
def test_a_key_too_few_or_too_many_is_refused(record: type[Any]) -> None:
    data = GOOD[record]
    for name in data:
        with pytest.raises(InvalidProblemError, match=f"got none of {name}"):
            read(record, {key: value for key, value in data.items() if key != name})
    with pytest.raises(InvalidProblemError, match="keys"):
        read(record, data | {"place_of_the_user": 3})
    others: list[object] = [None, [], "text", 3, b"bytes"]
    for other in others:
        with pytest.raises(InvalidProblemError, match="an object"):
            read(record, other)


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.__name__)
def test_every_field_refuses_other_types_and_says_its_name(record: type[Any]) -> None:
    others: list[object] = [
        object(),
        b"x",
        {1: 2},
        [[[]]],
        float("nan"),
        True,
        [],
        [[True]],
        -1,
        2**80,
    ]
    for part in fields(record):
        for other in others:
            with pytest.raises(InvalidProblemError) as caught:
                record(**GOOD[record] | {part.name: other})
            assert caught.value.field == part.name


def test_texts_that_refusals_hold_are_the_only_free_ones() -> None:
    free = [
        (record.__name__, part.name)
        for record in RECORDS
        for part in fields(record)
        if "[^" in json.dumps(part.metadata["kind"].schema())
    ]
    assert free == [("Job", "reason"), ("Refusal", "message")]


@pytest.mark.parametrize(
    ("change", "complaint"),
    {
        "not symmetric": ({"between": [[0.0, 1.0], [1.5, 0.0]]}, "between: .*symmetric"),
        "not zero on the diagonal": ({"between": [[0.1, 1.0], [1.0, 0.0]]}, "diagonal"),
        "not square": ({"between": FAR}, "between: expected shape"),
        "another number of rows": ({"between": [[0.0]]}, "between: expected shape"),
        "another number of columns": ({"columns": [1, 2]}, "columns: expected 3 places"),
        "costs of another shape": ({"cost": NEAR}, "cost: expected shape"),
        "no triangle to a column": ({"away": [[0, 1, 9], [1, 0, 2]]}, "away: .*triangle"),
        "a column twice": ({"columns": [4, 4, 2]}, "columns: expected different"),
        "a negative column": ({"columns": [-4, 7, 2]}, "columns: expected an integer"),
        "ragged": ({"cost": [[0.0, 1.0, 2.0], [1.0, 0.0]]}, "cost: expected rows equally"),
        "not a number": ({"cost": [[0.0, 1.0, float("nan")], FAR[1]]}, "cost: expected finite"),
        "infinite": ({"cost": [[0.0, 1.0, float("inf")], FAR[1]]}, "cost: expected finite"),
        "negative": ({"cost": [[0.0, 1.0, -1.0], FAR[1]]}, "cost: expected finite"),
        "too large for a float": ({"cost": [[0, 1, 10**400], FAR[1]]}, "cost: expected num"),
        "empty": ({"cost": []}, "cost: expected 1 to"),
        "an empty row": ({"cost": [[], []]}, "cost: expected 1 to"),
        "too many rows": ({"between": [[0.0]] * 401}, "between: expected 1 to 400"),
    }.values(),
)
def test_an_upload_that_states_no_problem_is_refused(
    change: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(InvalidProblemError, match=complaint):
        read(messages.Upload, UPLOAD | change)


def test_an_upload_whose_location_set_is_no_metric_is_refused() -> None:
    near = [[0.0, 1.0, 9.0], [1.0, 0.0, 1.0], [9.0, 1.0, 0.0]]
    far = [[1.0], [1.0], [1.0]]
    with pytest.raises(InvalidProblemError, match="between: .*triangle"):
        read(
            messages.Upload,
            {"protocol": 1, "between": near, "away": far, "cost": far, "columns": [0]},
        )


def test_an_upload_may_have_so_many_entries_and_no_more() -> None:
    wide = np.zeros((200, 1000))
    zero = np.zeros((200, 200))
    columns = np.arange(1000)
    assert messages.Upload(PROTOCOL, zero, wide, wide, columns).away.size == 200_000
    wider = np.zeros((200, 1001))
    with pytest.raises(InvalidProblemError, match="at most 200000 entries, got 200200"):
        messages.Upload(PROTOCOL, zero, wider, wider, np.arange(1001))


@settings(max_examples=30)
@given(st.lists(st.tuples(*[st.floats(-50, 50)] * 2), min_size=1, max_size=8, unique=True))
def test_distances_in_a_plane_are_taken_whatever_their_rounding(
    points: list[tuple[float, float]],
) -> None:
    places = np.array(points)
    table = np.sqrt(((places[:, None] - places[None]) ** 2).sum(axis=2))
    upload = messages.Upload(PROTOCOL, table, table, table, np.arange(len(points)))
    assert not upload.between.flags.writeable
    assert np.array_equal(upload.between, table)


def test_arrays_are_copied_at_the_border() -> None:
    mine = np.array(NEAR)
    kept = messages.CostTable(PROTOCOL, np.array([1, 2]), mine)
    mine[0, 1] = 5
    assert kept.costs[0, 1] == 1


def test_a_matrix_comes_with_a_job_exactly_when_it_is_done() -> None:
    for status, rows in (("done", None), ("waiting", [[1.0]]), ("failed", [[1.0]])):
        with pytest.raises(InvalidProblemError, match="exactly when"):
            read(messages.Job, {"protocol": 1, "status": status, "rows": rows, "reason": None})


def test_a_cost_table_has_a_row_for_each_place() -> None:
    with pytest.raises(InvalidProblemError, match="for each of 3 places"):
        read(messages.CostTable, {"protocol": 1, "places": [1, 2, 3], "costs": NEAR})


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.__name__)
def test_no_refusal_repeats_a_value(record: type[Any]) -> None:
    for name in GOOD[record]:
        for planted in (
            SENTINEL,
            -SENTINEL,
            float(-SENTINEL),
            str(SENTINEL),
            [SENTINEL],
            [[-SENTINEL]],
            [[0.0, float(-SENTINEL)]] * 2,
            {str(SENTINEL): 1},
            [[str(SENTINEL)]],
        ):
            if name == "protocol":
                continue  # a version is public, and is repeated
            message = GOOD[record] | {name: planted}

            def parse(message: dict[str, Any] = message) -> None:
                read(record, message)

            assert leaks(parse) == []


def test_the_schema_says_what_is_read() -> None:
    form = schema(messages.Upload)
    assert form["additionalProperties"] is False
    assert form["required"] == list(UPLOAD)
    assert form["properties"]["protocol"] == {"type": "integer", "const": PROTOCOL}
    assert form["properties"]["columns"]["uniqueItems"] is True
    assert schema(messages.Health)["properties"]["mechanism"]["anyOf"][1] == {"type": "null"}
    assert json.loads(json.dumps(form)) == form


@pytest.mark.parametrize(
    "value", [10**400, -(10**400), math.nan, math.inf], ids=["large", "negative", "nan", "inf"]
)
def test_a_number_that_fits_no_float_is_refused(value: float) -> None:
    """Not by another error, which a server would answer with 500."""
    with pytest.raises(InvalidProblemError, match="x: expected a finite number"):
        Number(-1.0, 1.0).read(value, "x")
