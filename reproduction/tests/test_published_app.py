"""Answers of a server of the published protocol, route by route."""

from __future__ import annotations

import functools
import logging
import threading
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.core.errors import InvalidProblemError
from discreet.lrgeo.messages import PROTOCOL_VERSION, read_message
from discreet.service.wire import JSON, MSGPACK
from discreet.web import Limits
from discreet_reproduction.lrgeo.service.jobs import Jobs
from discreet_reproduction.lrgeo.service.published import (
    AcceptedMessage,
    CostTableMessage,
    DiscMessage,
    JobMessage,
    PaperServer,
    create_published_app,
)
from meta.canary import SENTINEL
from published_serving import PARAMETERS, closed, paper_app, paper_server
from service.message_laws import bodies
from service.running import ask, mechanism, region
from service.test_app import refused

if TYPE_CHECKING:
    from fastapi import FastAPI


def no_upload() -> dict[str, Any]:
    far = [[0.0, 1.0, 2.0], [1.0, 0.0, 2.0]]
    return {
        "protocol": 1,
        "between": [[0.0, 1.0], [1.0, 0.0]],
        "away": far,
        "cost": far,
        "columns": [4, 7, 2],
    }


def test_a_disc_of_the_cost_table_is_cut_out() -> None:
    app = paper_app()
    asked = DiscMessage(protocol=PROTOCOL_VERSION, center=12, radius=0.5).write()
    table = CostTableMessage.read(ask(app, "POST", "/v1/cost-table", json=asked).json())
    assert table.places.tolist() == [7, 11, 12, 13, 17]
    assert np.array_equal(table.costs, table.costs.T)
    refused(ask(app, "POST", "/v1/cost-table", json=asked | {"center": 25}), 422, "invalid")


def test_a_job_is_taken_and_nobody_can_guess_its_name() -> None:
    with closed(paper_app()) as app:
        answers = [ask(app, "POST", "/v1/jobs", json=no_upload()) for _ in range(2)]
        names = {AcceptedMessage.read(answer.json()).job for answer in answers}
        assert len(names) == 2
        assert all(len(name) == 43 for name in names)
        for name in names:
            job = JobMessage.read(ask(app, "GET", f"/v1/jobs/{name}").json())
            assert job.status in {"waiting", "running", "done"}
        for name in ("A" * 43, "", "x", "%00", "../../etc"):
            refused(ask(app, "GET", f"/v1/jobs/{name}"), 404, "not-found")


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"columns": [4, 7, 25]}, "columns"),
        ({"cost": [[0.0, 1.0, -2.0], [1.0, 0.0, 2.0]]}, "cost"),
        ({"place": 3}, "upload"),
    ],
)
def test_an_upload_that_makes_no_sense_is_refused_by_its_field(
    change: dict[str, Any], field: str
) -> None:
    said = refused(ask(paper_app(), "POST", "/v1/jobs", json=no_upload() | change), 422, "invalid")
    assert f"{field}: expected" in said or f"expected {field} as" in said


def test_as_many_jobs_wait_as_may(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, solve = threading.Event(), Jobs._solve_batch

    def later(jobs: Jobs) -> None:
        assert asked.wait(60)
        solve(jobs)

    monkeypatch.setattr(Jobs, "_solve_batch", later)
    with closed(paper_app(jobs=1, batch=1)) as app:
        assert ask(app, "POST", "/v1/jobs", json=no_upload()).status_code == 202
        refused(ask(app, "POST", "/v1/jobs", json=no_upload()), 429, "too-many")
        asked.set()


def test_an_old_protocol_other_media_types_and_huge_bodies_are_refused() -> None:
    app = create_published_app(mechanism(), region(), paper_server(), limits=Limits(body=1000))
    old = refused(ask(app, "POST", "/v1/jobs", json={"protocol": 0}), 400, "protocol")
    assert "version 0, an older one" in old
    headers = {"content-type": "text/plain"}
    refused(ask(app, "POST", "/v1/jobs", content=b"x", headers=headers), 415, "media-type")
    refused(ask(app, "POST", "/v1/jobs", content=b"x"), 415, "media-type")
    refused(ask(app, "POST", "/v1/jobs", content=b"x" * 1001), 413, "too-large")


def test_no_body_that_is_refused_is_logged(
    caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    """One on which the server breaks is not either: that is a test of the guard."""
    caplog.set_level(logging.DEBUG)
    answer = ask(paper_app(), "POST", "/v1/jobs", json=no_upload() | {"columns": [-SENTINEL]})
    assert answer.status_code == 422
    out, err = capsys.readouterr()
    assert str(SENTINEL) not in caplog.text + out + err + answer.text


BODIES = bodies(
    ["protocol", "between", "away", "cost", "columns", "center", "radius", "x"],
    [0, 1, 2.5, None, [], [[]], [[0.0]], [0], [[0, 1], [1, 0]], "1", {}, -1, 1e300],
)


@settings(max_examples=60)
@given(
    BODIES,
    st.sampled_from([JSON, MSGPACK, "text/plain"]),
    st.sampled_from(["jobs", "cost-table"]),
)
def test_no_body_breaks_the_server(body: bytes, media: str, path: str) -> None:
    answer = ask(fuzzed(), "POST", f"/v1/{path}", content=body, headers={"content-type": media})
    assert answer.status_code in {200, 202, 204, 400, 415, 422, 429}
    if answer.status_code >= 400:
        assert read_message("refusal", answer.json())["message"]


@functools.cache
def fuzzed() -> FastAPI:
    """Make one application for all bodies."""
    return create_published_app(
        mechanism(), region(), paper_server(), limits=Limits(burst=1_000_000)
    )


def test_paper_mode_refuses_radii_that_do_not_fit() -> None:
    wrong = PARAMETERS.model_copy(update={"r_obf": 1.0, "r_exp": 2.0})
    with pytest.raises(InvalidProblemError, match="r_exp"):
        PaperServer(region(), wrong)


def test_its_routes_stand_beside_those_of_the_sound_mode() -> None:
    assert sorted(paper_app().openapi()["paths"]) == [
        "/v1/cost-table",
        "/v1/healthz",
        "/v1/jobs",
        "/v1/jobs/{job}",
        "/v1/mechanism",
        "/v1/parameters",
        "/v1/region",
    ]
