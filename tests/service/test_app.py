"""What the application answers, route by route."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest

from discreet.lrgeo import Mechanism, Region
from discreet.lrgeo.messages import read_mechanism, read_message
from discreet.service import create_app
from discreet.service.wire import JSON, MSGPACK, decode
from service.running import ask, mechanism, region, sound_app

if TYPE_CHECKING:
    pass

SNAPSHOT = Path(__file__).parents[1] / "data" / "service-openapi.json"


def refused(answer: httpx.Response, status: int, error: str) -> str:
    """Check that an answer is a refusal of a kind, and read it."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == JSON
    said = read_message("refusal", answer.json())
    assert said["error"] == error
    message: str = said["message"]
    return message


@pytest.mark.parametrize("media", [JSON, MSGPACK])
def test_the_mechanism_comes_whole_in_both_forms(media: str) -> None:
    answer = ask(sound_app(), "GET", "/v1/mechanism", headers={"accept": media})
    assert answer.headers["content-type"] == media
    assert read_mechanism(decode(answer.content, media)).digest == mechanism().digest


def test_the_region_comes_whole() -> None:
    said = read_message("region", ask(sound_app(), "GET", "/v1/region").json())
    assert Region.from_dict(said["region"]).digest == region().digest


@pytest.mark.parametrize("path", ["/v1/mechanism", "/v1/region"])
def test_what_is_known_is_not_sent_again(path: str) -> None:
    app = sound_app()
    tag = ask(app, "GET", path).headers["etag"]
    again = ask(app, "GET", path, headers={"if-none-match": f'"other", W/{tag}'})
    assert (again.status_code, again.content) == (304, b"")
    other = ask(app, "GET", path, headers={"if-none-match": tag, "accept": MSGPACK})
    assert other.status_code == 200  # the tag is that of another form
    assert ask(app, "GET", path, headers={"if-none-match": '"x"'}).status_code == 200


@pytest.mark.parametrize("path", ["/healthz", "/v1/healthz"])
def test_health_says_designing_ready_and_failed(path: str) -> None:
    future: Future[Mechanism] = Future()
    app = create_app(future, region())
    designing = ask(app, "GET", path)
    assert read_message("health", designing.json())["status"] == "designing"
    refused(ask(app, "GET", "/v1/mechanism"), 503, "not-ready")
    assert ask(app, "GET", "/v1/region").status_code == 200
    future.set_result(mechanism())
    ready = read_message("health", ask(app, "GET", path).json())
    assert (ready["status"], ready["mechanism"]) == ("ready", mechanism().digest)
    assert ask(app, "GET", "/v1/mechanism").status_code == 200
    broken: Future[Mechanism] = Future()
    broken.set_exception(ValueError("x"))
    failed = ask(create_app(broken, region()), "GET", path)
    assert (failed.status_code, read_message("health", failed.json())["status"]) == (503, "failed")


def test_without_a_mechanism_nothing_else_takes_its_place() -> None:
    broken: Future[Mechanism] = Future()
    broken.set_exception(ValueError("x"))
    refused(ask(create_app(broken, region()), "GET", "/v1/mechanism"), 503, "not-ready")


def test_nothing_can_be_uploaded() -> None:
    app = sound_app()
    for method, path in (
        ("GET", "/v1/parameters"),
        ("POST", "/v1/jobs"),
        ("POST", "/v1/cost-table"),
        ("POST", "/v1/reports"),
    ):
        refused(ask(app, method, path, json={"protocol": 1}), 404, "not-found")
    refused(ask(app, "GET", "/v1/jobs/" + "A" * 43), 404, "not-found")


def test_a_wrong_method_and_a_wrong_path_are_refused() -> None:
    answer = ask(sound_app(), "DELETE", "/v1/mechanism")
    refused(answer, 405, "method")
    assert answer.headers["allow"] == "GET"
    for path in (
        "/docs/oauth2-redirect",
        "/static/",
        "/redoc",
        "/v2/mechanism",
        "/v1/mechanism/../x",
    ):
        refused(ask(sound_app(), "GET", path), 404, "not-found")


def test_an_old_protocol_is_refused_in_words() -> None:
    header = ask(sound_app(), "GET", "/v1/mechanism", headers={"discreet-protocol": "0"})
    refused(header, 400, "protocol")


def test_the_description_is_the_one_that_was_looked_at() -> None:
    """A change of the interface is seen in a review: the snapshot changes with it."""
    app = create_app(mechanism(), region())
    described = json.loads(ask(app, "GET", "/openapi.json").content)
    assert described == json.loads(SNAPSHOT.read_text(encoding="utf-8"))


def test_no_message_to_the_server_of_the_sound_mode_has_a_body() -> None:
    described = sound_app().openapi()["paths"]
    assert described
    for operations in described.values():
        assert set(operations) == {"get"}
        assert "requestBody" not in operations["get"]
        assert "parameters" not in operations["get"]


def test_the_library_does_not_load_the_web(tmp_path: Path) -> None:
    code = (
        "import sys, discreet\nfrom discreet import *\nimport discreet.service\nimport discreet.lrgeo.messages\n"
        "assert not {'fastapi', 'uvicorn', 'httpx', 'msgpack', 'starlette', 'pydantic'} & set(sys.modules)\n"
        "discreet.service.create_app\nassert 'fastapi' in sys.modules\n"
    )
    path = [str(Path(sys.modules["discreet"].__file__ or "").parents[1])]
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path[:0] = {path!r}\n{code}"],
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 0
