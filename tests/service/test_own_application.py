"""A service in an application of one's own: what is accepted, and who may read it in a browser."""

from __future__ import annotations

import base64
import hashlib
import json
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from cli.commands import say
from discreet import MetricDP, metricdp
from discreet.cli.serve import grid_of_box
from discreet.core.errors import InvalidProblemError
from discreet.core.spaces.metric import MetricSpace
from discreet.lrgeo import Mechanism, Region, design
from discreet.service import create_app
from node import NODE
from service.running import ask, mechanism, region
from service.test_net_clients_in_node import ask as in_node

ROOT = Path(__file__).parents[2]
APP = "https://app.example.org"


@pytest.fixture(scope="module")
def places() -> Any:
    return design(region(), MetricDP(2, "km"), gap=0.5, scope="places")


@pytest.fixture(scope="module")
def points() -> Any:
    small = Region.from_grid(3, 3, cell="0.5", unit="km", origin=(41.89, 12.48))
    return design(small, MetricDP(2, "km"))


def test_a_design_is_served_as_what_is_published_of_it(places: Any, points: Any) -> None:
    assert ask(create_app(places), "GET", "/v1/region").status_code == 200
    for made, digest in (
        (places, Mechanism.from_design(places).digest),
        (points, points.published().digest),
    ):
        waiting: Future[Any] = Future()
        for app in (create_app(made), create_app(waiting)):
            if not waiting.done() and app.state is not None:
                waiting.set_result(made)
            assert ask(app, "GET", "/readyz").json() == {"status": "ready"}
            assert ask(app, "GET", "/v1/mechanism").json()["digest"] == digest


def test_another_object_is_refused_and_never_ready(places: Any) -> None:
    space = MetricSpace.grid(3, 3, cell=1, unit="km")
    channel = metricdp.design(metricdp.Problem(space, utility_loss="euclidean"), MetricDP(1, "km"))
    for wrong in (channel, region(), "city.mechanism", None):
        with pytest.raises(InvalidProblemError, match="mechanism: expected a design of"):
            create_app(wrong)  # type: ignore[arg-type] # on purpose
        future: Future[Any] = Future()
        app = create_app(future)
        future.set_result(wrong)
        answer = ask(app, "GET", "/readyz")
        assert (answer.status_code, answer.json()) == (503, {"status": "failed"})
    other = Region.from_grid(5, 5, cell="0.5", unit="km", origin=(48.85, 2.35))
    with pytest.raises(InvalidProblemError, match="region: expected that of the mechanism"):
        create_app(places, other)


def test_a_page_of_an_origin_that_was_named_may_read_and_no_other() -> None:
    app = create_app(mechanism(), allow_origins=[APP])
    wanted = {"origin": APP, "access-control-request-method": "GET"}
    wanted["access-control-request-headers"] = "discreet-protocol, if-none-match"
    before = ask(app, "OPTIONS", "/v1/mechanism", headers=wanted)
    assert (before.status_code, before.headers["access-control-allow-origin"]) == (200, APP)
    answer = ask(app, "GET", "/v1/mechanism", headers={"origin": APP})
    assert answer.headers["access-control-allow-origin"] == APP
    refused = ask(app, "GET", "/v1/nothing", headers={"origin": APP})
    assert (refused.status_code, refused.headers["access-control-allow-origin"]) == (404, APP)
    other = ask(app, "GET", "/v1/mechanism", headers={"origin": "https://evil.example"})
    plain = ask(create_app(mechanism()), "GET", "/v1/mechanism", headers={"origin": APP})
    for each in (other, plain):
        assert "access-control-allow-origin" not in each.headers
    post = {"origin": APP, "access-control-request-method": "POST"}
    assert ask(app, "OPTIONS", "/v1/mechanism", headers=post).status_code == 400


@pytest.mark.parametrize(
    "origins", [[f"{APP}/"], ["app.example.org"], [""], ["null"], [f"{APP}/x"], APP]
)
def test_what_is_no_origin_is_refused(origins: Any) -> None:
    with pytest.raises(InvalidProblemError, match="allow_origins: expected"):
        create_app(mechanism(), allow_origins=origins)


def test_a_compressed_answer_is_the_same_and_caches_know_both() -> None:
    app = create_app(mechanism())
    answers = {
        coding: ask(app, "GET", "/v1/mechanism", headers={"accept-encoding": coding})
        for coding in ("identity", "gzip", "gzip;q=0", "br, gzip;q=0.5")
    }
    packed = {coding: "content-encoding" in each.headers for coding, each in answers.items()}
    assert packed == {"identity": False, "gzip": True, "gzip;q=0": False, "br, gzip;q=0.5": True}
    assert len({each.text for each in answers.values()}) == 1
    assert all(each.headers["vary"] == "accept, accept-encoding" for each in answers.values())
    tags = {coding: each.headers["etag"] for coding, each in answers.items()}
    assert tags["gzip"] != tags["identity"]
    for tag in tags.values():
        known = {"if-none-match": tag, "accept-encoding": "gzip"}
        assert ask(app, "GET", "/v1/mechanism", headers=known).status_code == 304


@pytest.mark.skipif(NODE is None, reason="NOT RUN: there is no Node")
def test_a_page_reads_the_answer_as_it_comes(places: Any, points: Any) -> None:
    for made, where in (
        (places, "m.snap(41.895, 12.485)"),
        (points, "m.locate('41.895', '12.485')"),
    ):
        answer = ask(create_app(made), "GET", "/v1/mechanism")
        function = (
            "async ([text, digest]) => { const m = await client.read(text, digest);"
            f" return m.where(m.report({where})); }}"
        )
        first, second = in_node(function, [answer.text, answer.json()["digest"]])
        assert abs(first - 41.895) < 0.1
        assert abs(second - 12.485) < 0.1


def test_the_guide_names_the_hash_of_the_file_that_pages_load() -> None:
    script = ROOT / "src" / "discreet" / "service" / "static" / "client.js"
    digest = base64.b64encode(hashlib.sha384(script.read_bytes()).digest()).decode()
    guide = (ROOT / "docs" / "how-to" / "location-service.md").read_text(encoding="utf-8")
    assert f'integrity="sha384-{digest}"' in guide


@pytest.mark.parametrize(
    ("box", "cell"),
    [
        ((41.87, 12.45, 41.92, 12.53), "0.5"),
        ((-34.0, 151.1, -33.8, 151.3), "1"),
        ((-0.1, -78.6, 0.1, -78.4), "2"),
        ((-17.0, 179.9, -16.9, -179.9), "1"),
    ],
)
def test_a_box_of_degrees_is_covered_and_not_by_much_more(
    box: tuple[float, float, float, float], cell: str
) -> None:
    grid, origin = grid_of_box(",".join(str(each) for each in box), cell, "km")
    rows, columns = (int(each) for each in grid.split("x"))
    south, west = (float(each) for each in origin.split(","))
    made = Region.from_grid(rows, columns, cell=cell, unit="km", origin=(south, west))
    half = made.coordinates[columns + 1] - made.coordinates[0]
    low, high = made.coordinates.min(axis=0) - half / 2, made.coordinates.max(axis=0) + half / 2
    width = (box[3] - box[1]) % 360
    assert abs(low[0] - box[0]) < 1e-6
    assert -1e-6 <= high[0] - box[2] < half[0] + 1e-6
    assert -1e-6 <= (high - low)[1] - width < 2 * half[1]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("--bbox -122.5,37.7,-122.4,37.8", "yours looks like west, south, east, north"),
        ("--bbox 41.92,12.45,41.87,12.53", "--bbox: expected south, west, north, east in degrees"),
        ("--bbox 41.9,12.5,42", "--bbox: expected south, west, north, east in degrees"),
        ("--bbox 41,12,nan,13", "--bbox: expected south, west, north, east in degrees"),
        ("--bbox 41,12,42,13 --grid 3x3", "--bbox: expected neither --grid"),
        ("--grid 3x3 --origin 112.5,41.9", "--origin: expected the latitude first"),
        ("--grid 3x3 --allow-origin app.example.org", "--allow-origin: expected origins such as"),
    ],
)
def test_coordinates_in_another_order_are_noticed(
    line: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    done = say(capsys, "serve", *line.split(), "--epsilon", "2/km", "--port", "0")
    assert (done.status, json.dumps(done.out)) == (2, '""')
    assert said in done.err


def test_a_point_elsewhere_is_answered_with_the_order_and_without_the_point(places: Any) -> None:
    with pytest.raises(InvalidProblemError, match="latitude first and longitude second") as caught:
        places.region.snap((12.4869, 41.8986))
    assert "12.4" not in str(caught.value)
