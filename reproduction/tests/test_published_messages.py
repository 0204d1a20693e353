"""Messages of the published protocol: an upload states a problem, and refusals repeat no value."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from discreet.core.errors import InvalidProblemError
from discreet.service.messages import (
    Message,
)
from discreet_reproduction.lrgeo.service.published import (
    AcceptedMessage,
    CostTableMessage,
    DiscMessage,
    JobMessage,
    ParametersMessage,
    UploadMessage,
)
from service.message_laws import LAWS, Law

NEAR = [[0.0, 1.0], [1.0, 0.0]]
FAR = [[0.0, 1.0, 2.0], [1.0, 0.0, 2.0]]
UPLOAD: dict[str, Any] = {
    "protocol": 1,
    "between": NEAR,
    "away": FAR,
    "cost": FAR,
    "columns": [4, 7, 2],
}
GOOD: dict[type[Message], dict[str, Any]] = {
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


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("model", list(GOOD), ids=lambda model: model.__name__)
def test_every_message_keeps_every_law(model: type[Message], law: Law) -> None:
    law(model, GOOD[model])


@pytest.mark.parametrize(
    ("change", "complaint"),
    {
        "not square": ({"between": FAR}, "shapes that fit"),
        "another number of rows": ({"between": [[0.0]]}, "shapes that fit"),
        "another number of columns": ({"columns": [1, 2]}, "shapes that fit"),
        "costs of another shape": ({"cost": NEAR}, "shapes that fit"),
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


def test_an_upload_may_have_so_many_entries_and_no_more() -> None:
    zero = np.zeros((200, 200)).tolist()

    def made(columns: int) -> dict[str, Any]:
        wide = np.zeros((200, columns)).tolist()
        listed = list(range(columns))
        return {"protocol": 1, "between": zero, "away": wide, "cost": wide, "columns": listed}

    assert UploadMessage.read(made(1000)).away.size == 200_000
    with pytest.raises(InvalidProblemError, match="away of at most 200000 entries"):
        UploadMessage.read(made(1001))


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
