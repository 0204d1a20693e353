"""Two readers of one wire: the server's models, and the reader of the client, which needs no dependency."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.core.errors import InvalidProblemError
from discreet.lrgeo.messages import MESSAGES, read_message
from discreet.service.messages import (
    HealthMessage,
    MechanismMessage,
    Message,
    RefusalMessage,
    RegionMessage,
    ReportMessage,
)
from discreet_reproduction.lrgeo.service.published import (
    AcceptedMessage,
    CostTableMessage,
    DiscMessage,
    JobMessage,
    ParametersMessage,
    UploadMessage,
)
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
SOUND: dict[type[Message], dict[str, Any]] = {
    HealthMessage: {"protocol": 1, "status": "ready", "mechanism": DIGEST},
    RegionMessage: {"protocol": 1, "region": {"unit": "km"}},
    MechanismMessage: {"protocol": 1, "digest": DIGEST, "mechanism": {"rate": "1"}},
    ReportMessage: {"protocol": 1, "mechanism": DIGEST, "epoch": 480_000, "place": 3},
    RefusalMessage: {"protocol": 1, "error": "not-found", "message": "no such job"},
}
GOOD: dict[type[Message], dict[str, Any]] = {
    **SOUND,
    ParametersMessage: {
        "protocol": 1,
        "epsilon": 2.0,
        "gamma": None,
        "reach": 3.0,
        "r_obf": 4.0,
        "r_exp": 2.0,
    },
    UploadMessage: UPLOAD,
    AcceptedMessage: {"protocol": 1, "job": "A" * 43},
    JobMessage: {"protocol": 1, "status": "done", "rows": [[0.5, 0.5]], "reason": None},
    DiscMessage: {"protocol": 1, "center": 3, "radius": 2.5},
    CostTableMessage: {"protocol": 1, "places": [1, 2], "costs": NEAR},
}
MODELS = list(GOOD)

ODD: list[Any] = [
    None,
    True,
    False,
    0,
    1,
    1.0,
    -1,
    2.5,
    2**53,
    2**53 + 1,
    999_999,
    1_000_000,
    10**400,
    -(10**400),
    math.nan,
    math.inf,
    "",
    "ready",
    "designing\n",
    "readyready",
    DIGEST,
    DIGEST.upper(),
    DIGEST + "\n",
    DIGEST + "0",
    "not-found",
    "x" * 20,
    "x" * 21,
    "x" * 500,
    "x" * 501,
    "\x00",
    "\ud800",
    "é\u2028",
    b"bytes",
    [],
    [1],
    {},
    {"a": 1},
    {1: "a"},
    {"\ud800": 1},
]
"""What any field may hold on somebody's wire."""


def catalogue() -> list[tuple[type[Message], object]]:
    """List messages of the sound mode, valid and invalid: each field with each odd value, and other shapes."""
    listed: list[tuple[type[Message], object]] = []
    for model, good in SOUND.items():
        listed.append((model, good))
        listed += [(model, good | {name: value}) for name in good for value in ODD]
        listed += [(model, {k: v for k, v in good.items() if k != name}) for name in good]
        listed += [(model, good | {"place_of_the_user": 3})]
        listed += [(model, other) for other in (None, [], "text", 3, b"bytes", [good])]
    return listed


def test_both_readers_take_and_refuse_the_same_messages() -> None:
    taken = refused = 0
    for model, data in catalogue():
        try:
            mine: object = read_message(model.title(), data)
        except InvalidProblemError as error:
            mine = error.field
        try:
            theirs: object = model.read(data).write()
        except InvalidProblemError as error:
            theirs = error.field
        assert mine == theirs, (model, ascii(data)[:200])
        taken += isinstance(mine, dict)
        refused += isinstance(mine, str)
    assert taken > 20
    assert refused > 400


def test_both_readers_know_the_same_messages_and_fields() -> None:
    models = {model.title(): list(model.model_fields) for model in SOUND}
    assert models == {name: ["protocol", *fields] for name, fields in MESSAGES.items()}


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_what_is_written_is_read_and_is_plain(model: type[Message]) -> None:
    written = model.read(GOOD[model]).write()
    assert written == GOOD[model]
    assert json.loads(json.dumps(written)) == written
    assert model.read(written).write() == written


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
@pytest.mark.parametrize("said", [0, 2, 999])
def test_another_version_is_refused_before_anything_else(model: type[Message], said: int) -> None:
    with pytest.raises(InvalidProblemError, match=f"version 1 of the messages, got version {said}"):
        model.read({"protocol": said, "something": "new"})


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_a_key_too_few_or_too_many_is_refused(model: type[Message]) -> None:
    data = GOOD[model]
    for name in data:
        with pytest.raises(InvalidProblemError, match=f"got none of {name}"):
            model.read({key: value for key, value in data.items() if key != name})
    with pytest.raises(InvalidProblemError, match="keys"):
        model.read(data | {"place_of_the_user": 3})


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_every_field_refuses_other_types_and_says_its_name(model: type[Message]) -> None:
    others: list[object] = [object(), b"x", {1: 2}, [[[]]], True, [], [[True]], -1, 2**80]
    for name in GOOD[model]:
        for other in [*others, math.nan, math.inf, 10**400]:
            with pytest.raises(InvalidProblemError) as caught:
                model.read(GOOD[model] | {name: other})
            assert caught.value.field == name


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_no_refusal_repeats_a_value_or_a_key(model: type[Message]) -> None:
    for name in GOOD[model]:
        for planted in (
            SENTINEL,
            -SENTINEL,
            float(-SENTINEL),
            str(SENTINEL),
            [SENTINEL],
            [[-SENTINEL]],
            [[0.0, float(-SENTINEL)]] * 2,
            {SENTINEL: 1},
            {"\ud800" + str(SENTINEL): 1},
            [[str(SENTINEL)]],
        ):
            if name == "protocol":
                continue  # a version is public, and is repeated
            message = GOOD[model] | {name: planted}

            def parse(message: dict[str, Any] = message) -> None:
                model.read(message)

            assert leaks(parse) == []
    assert leaks(lambda: model.read(GOOD[model] | {str(SENTINEL): 1})) == []


@pytest.mark.parametrize(
    ("change", "complaint"),
    {
        "not symmetric": ({"between": [[0.0, 1.0], [1.5, 0.0]]}, "between as a symmetric"),
        "not zero on the diagonal": ({"between": [[0.1, 1.0], [1.0, 0.0]]}, "diagonal"),
        "not square": ({"between": FAR}, "shapes that fit"),
        "another number of rows": ({"between": [[0.0]]}, "shapes that fit"),
        "another number of columns": ({"columns": [1, 2]}, "shapes that fit"),
        "costs of another shape": ({"cost": NEAR}, "shapes that fit"),
        "no triangle to a column": ({"away": [[0, 1, 9], [1, 0, 2]]}, "away as dist.*triangle"),
        "a column twice": ({"columns": [4, 4, 2]}, "columns that are all different"),
        "a negative column": ({"columns": [-4, 7, 2]}, "columns: expected greater"),
        "ragged": ({"cost": [[0.0, 1.0, 2.0], [1.0, 0.0]]}, "cost: expected rows of equal"),
        "not a number": ({"cost": [[0.0, 1.0, math.nan], FAR[1]]}, "cost: expected a finite"),
        "infinite": ({"cost": [[0.0, 1.0, math.inf], FAR[1]]}, "cost: expected a finite"),
        "negative": ({"cost": [[0.0, 1.0, -1.0], FAR[1]]}, "cost: expected greater"),
        "too large for a float": ({"cost": [[0, 1, 10**400], FAR[1]]}, "cost: expected a valid"),
        "empty": ({"cost": []}, "cost: expected List should have at least 1"),
        "an empty row": ({"cost": [[], []]}, "cost: expected List should have at least 1"),
        "too many rows": ({"between": [[0.0]] * 401}, "between: .* at most 400"),
    }.values(),
)
def test_an_upload_that_states_no_problem_is_refused(
    change: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(InvalidProblemError, match=complaint):
        UploadMessage.read(UPLOAD | change)


def test_an_upload_whose_location_set_is_no_metric_is_refused() -> None:
    near = [[0.0, 1.0, 9.0], [1.0, 0.0, 1.0], [9.0, 1.0, 0.0]]
    far = [[1.0], [1.0], [1.0]]
    message = {"protocol": 1, "between": near, "away": far, "cost": far, "columns": [0]}
    with pytest.raises(InvalidProblemError, match="between as .*triangle"):
        UploadMessage.read(message)


def test_an_upload_may_have_so_many_entries_and_no_more() -> None:
    zero = np.zeros((200, 200)).tolist()

    def made(columns: int) -> dict[str, Any]:
        wide = np.zeros((200, columns)).tolist()
        listed = list(range(columns))
        return {"protocol": 1, "between": zero, "away": wide, "cost": wide, "columns": listed}

    assert UploadMessage.read(made(1000)).away.size == 200_000
    with pytest.raises(InvalidProblemError, match="away of at most 200000 entries"):
        UploadMessage.read(made(1001))


@settings(max_examples=30)
@given(st.lists(st.tuples(*[st.floats(-50, 50)] * 2), min_size=1, max_size=8, unique=True))
def test_distances_in_a_plane_are_taken_whatever_their_rounding(
    points: list[tuple[float, float]],
) -> None:
    places = np.array(points)
    table = np.sqrt(((places[:, None] - places[None]) ** 2).sum(axis=2))
    columns = np.arange(len(points))
    upload = UploadMessage(protocol=1, between=table, away=table, cost=table, columns=columns)
    assert not upload.between.flags.writeable
    assert np.array_equal(upload.between, table)


def test_arrays_are_copied_at_the_border() -> None:
    mine = np.array(NEAR)
    kept = CostTableMessage(protocol=1, places=np.array([1, 2]), costs=mine)
    mine[0, 1] = 5
    assert kept.costs[0, 1] == 1


def test_a_matrix_comes_with_a_job_exactly_when_it_is_done() -> None:
    for status, rows in (("done", None), ("waiting", [[1.0]]), ("failed", [[1.0]])):
        with pytest.raises(InvalidProblemError, match="exactly when"):
            JobMessage.read({"protocol": 1, "status": status, "rows": rows, "reason": None})


def test_a_cost_table_has_a_row_for_each_place_and_each_place_once() -> None:
    for places in ([1, 2, 3], [1]):
        with pytest.raises(InvalidProblemError, match="for each place"):
            CostTableMessage.read({"protocol": 1, "places": places, "costs": NEAR})
    with pytest.raises(InvalidProblemError, match="all different"):
        CostTableMessage.read({"protocol": 1, "places": [1, 1], "costs": NEAR})


def test_the_schema_says_what_is_read() -> None:
    form = UploadMessage.model_json_schema()
    assert form["additionalProperties"] is False
    assert form["required"] == list(UPLOAD)
    assert form["properties"]["columns"]["uniqueItems"] is True
    assert form["properties"]["between"]["maxItems"] == 400
    assert form["properties"]["protocol"]["minimum"] == form["properties"]["protocol"]["maximum"]
    assert HealthMessage.model_json_schema()["properties"]["mechanism"]["anyOf"][1] == {
        "type": "null"
    }
