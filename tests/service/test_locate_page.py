"""The process behind the page: who may ask, what is paid before it is drawn, and what is kept."""

from __future__ import annotations

import asyncio
import json
import re
import socket
from dataclasses import replace
from fractions import Fraction
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest

import discreet.web
from cli.commands import say
from discreet.core.errors import BudgetError, InvalidProblemError
from discreet.core.guarantee import MetricDP
from discreet.lrgeo import Client as Plain
from discreet.lrgeo import Epochs, State
from discreet.lrgeo.epochs import keep, reserve
from discreet.service import Client
from discreet.service.page import Page, RequestLog, _promise
from service.running import ask, in_thread, mechanism, quick, region, sound_app

if TYPE_CHECKING:
    from collections.abc import Callable

HOST, TOKEN = "127.0.0.1:9999", "word"
HOURLY = Epochs(3600)


@pytest.fixture
def clock() -> list[float]:
    return [7200.0]


@pytest.fixture
def made(tmp_path: Path, clock: list[float]) -> Callable[..., Page]:
    def make(**options: Any) -> Page:
        client = Client(
            quick(sound_app()), state=tmp_path / "s", cache=tmp_path / "c",
            epochs=Epochs(3600, **options), now=lambda: clock[0], scope="places",
        )  # fmt: skip
        return Page(client, HOST, region=region(), token=TOKEN)

    return make


def post(page: Page, name: str, content: bytes = b"", **headers: str) -> httpx.Response:
    head = {"host": HOST, "origin": f"http://{HOST}", **headers}
    return ask(page, "POST", f"/{page.token}/{name}", headers=head, content=content)  # type: ignore[arg-type]


def get(page: Page, path: str, host: str = HOST, method: str = "GET") -> httpx.Response:
    return ask(page, method, path, headers={"host": host})  # type: ignore[arg-type]


def report(place: int) -> bytes:
    return json.dumps({"report": region().where(place)}).encode()


def test_files_come_with_a_policy_that_lets_nothing_else_in(made: Callable[..., Page]) -> None:
    page = made()
    for name in ("", "page.css", "page.js", "client.js", "data.json", "mechanism.json"):
        answer = get(page, f"/word/{name}")
        assert answer.status_code == 200
        policy = answer.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; ")
        assert "unsafe" not in policy
        assert "http" not in policy
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["referrer-policy"] == "no-referrer"
    html = get(page, "/word/").text
    assert "://" not in html
    assert "style=" not in html
    assert json.loads(get(page, "/word/mechanism.json").text) == mechanism().to_dict()


def test_another_host_another_token_and_another_origin_are_refused(
    made: Callable[..., Page],
) -> None:
    """A name that somebody else bound to this machine is another host: that is how rebinding ends."""
    page = made()
    assert get(page, "/word/").status_code == 200
    for host in ("evil.example:9999", "localhost:9999", "127.0.0.1", "127.0.0.1:9998", ""):
        assert get(page, "/word/", host=host).status_code == 421
    doubled = [("host", HOST), ("host", "evil.example")]
    assert ask(page, "GET", "/word/", headers=doubled).status_code == 421  # type: ignore[arg-type]
    for path in ("/", "/wort/", "/word", "/wor/d/", "/word/../secret", "/word/page.py"):
        assert get(page, path).status_code == 404
    assert get(page, "/word/", method="DELETE").status_code == 405
    for origin in ("http://evil.example", "null", f"https://{HOST}"):
        assert post(page, "take", origin=origin).status_code == 403
    bare = ask(page, "POST", "/word/take", headers={"host": HOST})  # type: ignore[arg-type]
    assert bare.status_code == 403
    assert json.loads(get(page, "/word/data.json").text)["state"]["spent_in_all"] == "0"
    assert len(Page(page._client, HOST).token) > 40
    assert Page(page._client, HOST).token != Page(page._client, HOST).token


def test_a_report_is_paid_before_it_is_drawn_and_repeated_after_it_was_kept(
    made: Callable[..., Page], clock: list[float]
) -> None:
    page = made()
    assert post(page, "keep", report(3)).status_code == 400
    given = post(page, "take").json()
    # Paid by now, whatever happens to the browser.
    assert given == {
        "state": {"report": None, "spent_today": "2", "spent_in_all": "2"}, "pinned": [],
    }  # fmt: skip
    kept = post(page, "keep", report(3)).json()
    assert kept["state"]["report"] == list(region().where(3))
    assert post(page, "keep", report(4)).status_code == 400
    again = post(page, "take").json()
    assert again["state"] == kept["state"]
    assert made()._client.locate((41.8934, 12.4851)).report == region().where(3)
    # Two pages that were both let draw: the first report of an epoch stays, and both draws are paid.
    clock[0] += 3600
    first, second = made(), made()
    assert post(first, "take").json()["state"]["report"] is None
    assert post(second, "take").json()["state"]["report"] is None
    assert post(second, "keep", report(8)).json()["state"]["report"] == list(region().where(8))
    late = post(first, "keep", report(9)).json()["state"]
    assert (late["report"], late["spent_in_all"]) == (list(region().where(8)), "6")


@pytest.mark.parametrize(
    "body",
    [
        b"", b"{}", b"[1,2]", b'{"report":[1]}', b'{"report":[1,2,3]}', b'{"report":[true,1]}', b'{"report":["a","b"]}',
        b'{"report":[41.9,12.5]}', b'{"report":null}', report(3)[:-1] + b',"place":3}', b"1" * 1001,
    ],
)  # fmt: skip
def test_what_no_report_can_be_is_refused_and_not_kept(
    made: Callable[..., Page], body: bytes
) -> None:
    page = made()
    post(page, "take")
    answer = post(page, "keep", body)
    assert answer.status_code == (413 if len(body) > 1000 else 400)
    assert json.loads(get(page, "/word/data.json").text)["state"]["report"] is None


def test_a_budget_that_is_gone_is_said_or_the_last_report_repeated(
    made: Callable[..., Page], clock: list[float]
) -> None:
    assert post(made(for_life=1), "take").json() == {
        "refused": "No report may be drawn, and there is none to repeat."
    }
    page = made(for_life=2)
    post(page, "take")
    post(page, "keep", report(5))
    clock[0] += 3600
    assert post(page, "take").json()["state"] == {
        "report": list(region().where(5)), "spent_today": "2", "spent_in_all": "2",
    }  # fmt: skip
    # It is not the report of this epoch, and the page does not open with it.
    assert json.loads(get(page, "/word/data.json").text)["state"]["report"] is None


def test_a_pinned_place_keeps_its_report(made: Callable[..., Page]) -> None:
    page = made()
    page._client.pin(region().where(7))
    ((place, shown),) = post(page, "take").json()["pinned"]
    assert place == 7
    kept = post(page, "keep", json.dumps({"report": shown}).encode()).json()["state"]
    assert (kept["report"], kept["spent_in_all"]) == (shown, "4")


def test_roads_are_drawn_once_each_and_a_page_without_them_draws_places() -> None:
    from discreet.lrgeo import Region

    corners = {"osmid": [1, 2, 3], "y": [41.89, 41.90, 41.90], "x": [12.47, 12.47, 12.48]}
    streets = {"u": [1, 2, 3, 2], "v": [2, 3, 1, 1], "oneway": [True, True, True, True]}
    city = Region.from_roads(corners, streets, spacing="0.4")
    none: Any = None
    drawn = Page(none, HOST, region=city)._roads
    ends = list(zip(drawn["segments"][::2], drawn["segments"][1::2], strict=True))
    assert len(ends) == len({frozenset(pair) for pair in ends}) > 3
    assert max(drawn["segments"]) < len(drawn["vertices"]) // 2
    assert Page(none, HOST)._roads == {"vertices": [], "segments": []}


@pytest.mark.parametrize("away", [False, True])
def test_the_command_serves_the_page_on_loopback_after_all_was_fetched(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    away: bool,  # noqa: FBT001 - one of two cases
) -> None:
    """Where the server is away and its mechanism kept, the map does without roads."""
    seen: list[Any] = []

    def serve(app: Page, bound: socket.socket, *, on_started: Callable[[str], None]) -> None:
        with bound:
            host, port = bound.getsockname()
            on_started("")
            seen.append((app, host, port))
            seen.append(get(app, f"/{app.token}/data.json", host=f"{host}:{port}").json())

    monkeypatch.setattr(discreet.web, "serve", serve, raising=False)
    with in_thread(sound_app()) as url:
        files = ["--server", url, "--state", tmp_path / "s", "--cache", tmp_path / "c"]
        said = say(capsys, "locate", "--places-only", "--page", *files, "--json", "--quiet")
        assert say(capsys, "locate", "1", "2", "--page", *files).status == 2
        assert say(capsys, "locate", "--places-only", *files).status == 2
    if away:
        seen.clear()
        said = say(capsys, "locate", "--places-only", "--page", *files, "--json", "--wait", 0)
        assert "places alone" in said.err
    assert said.status == 0
    (page, host, port), data = seen
    assert (host, said.data["page"]) == ("127.0.0.1", f"http://127.0.0.1:{port}/{page.token}/")
    asked = [request.partition("\n")[0] for request in data["requests"]]
    assert asked == (["GET /v1/region"] if away else ["GET /v1/mechanism", "GET /v1/region"])
    assert data["seconds"] == 3600
    assert "no report is more than e^(2 d) times likelier" in data["promise"]


def test_what_is_recorded_is_what_the_server_gets() -> None:
    with in_thread(sound_app()) as url:
        recorder = RequestLog()
        client = httpx.Client(transport=recorder, headers={"accept": "application/json"})
        assert client.get(f"{url}/v1/healthz").json()["status"] == "ready"
        client.close()
    (said,) = recorder.requests
    assert said.startswith("GET /v1/healthz\n")
    assert "accept: application/json" in said
    assert said.endswith("\n(0 bytes of body)")


def test_credentials_are_sent_and_not_kept() -> None:
    seen: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(204)

    recorder = RequestLog()
    recorder._inner = httpx.MockTransport(answer)  # type: ignore[assignment] # the network
    secret = {"Cookie": "id=swordfish", "X-Api-Key": "swordfish", "discreet-protocol": "1"}
    with httpx.Client(transport=recorder, headers=secret) as client:
        client.get("http://127.0.0.1:9/v1/region", auth=("somebody", "swordfish"))
        client.get("http://127.0.0.1:9/", headers={"Proxy-Authorization": "Basic swordfish"})
    assert seen[0].headers["authorization"].startswith("Basic ")
    for kept in recorder.requests:
        assert "swordfish" not in kept
        assert "Basic" not in kept
        assert "discreet-protocol: 1" in kept
    assert "authorization: (not kept)" in recorder.requests[0]


def test_a_charge_for_a_draw_elsewhere_follows_the_rule_of_locate() -> None:
    client = Plain(mechanism(), verified_digest=mechanism().digest)
    charged = reserve(client, State(), 7200, epochs=HOURLY)
    assert charged is not None
    assert (charged.epoch, charged.spent_in_all) == (None, Fraction(2))
    kept = keep(client, charged, (1.0, 2.0), 2)
    assert (kept.epoch, kept.report) == (2, (1.0, 2.0))
    assert keep(client, kept, (3.0, 4.0), 2) is kept
    assert reserve(client, kept, 7300, epochs=HOURLY) is None
    # The clock was set back.
    assert reserve(client, kept, 100, epochs=HOURLY) is None
    assert reserve(client, kept, 10_900, epochs=Epochs(3600, for_life=2)) is None
    with pytest.raises(BudgetError, match="none to repeat"):
        reserve(client, State(), 0, epochs=Epochs(3600, per_day=1))


def test_a_client_keeps_only_what_its_mechanism_names(tmp_path: Path) -> None:
    client = Client(
        quick(sound_app()),
        state=tmp_path / "s",
        cache=tmp_path / "c",
        epochs=HOURLY,
        scope="places",
    )
    reserved = client.reserve()
    assert reserved is not None
    assert "pinned" not in repr(reserved)
    with pytest.raises(InvalidProblemError, match="one that the mechanism names"):
        client.keep(reserved, (0.0, 0.0))


def test_the_protocol_of_the_paper_is_not_on_the_page(made: Callable[..., Page]) -> None:
    assert post(made(), "published", b'{"place":3}').status_code == 404
    assert "published" not in get(made(), "/word/data.json").json()
    for name in ("page.html", "page.js"):
        text = files("discreet.service").joinpath("static", name).read_text(encoding="utf-8")
        assert not re.search(r"the paper|upload|unproven", text, re.IGNORECASE)


def test_a_promise_is_never_printed_smaller_than_it_is() -> None:
    """To six digits it was 2, which was not verified on anybody's machine."""
    made = mechanism()
    told = replace(made, guarantee=MetricDP("2.0000004", "km", "0.50000049"))
    assert "e^(2.0000004 d)" in _promise(told)
    assert "at most 0.50000049 km apart" in _promise(told)
    assert "2.0000004 per km" in repr(told)
    long = replace(made, guarantee=MetricDP(Fraction(20000000000001, 10**13), "km"))
    assert "e^(2.000001 d)" in _promise(long)


def test_a_body_that_is_cut_off_is_not_acted_on(made: Callable[..., Page]) -> None:
    page, sent = made(), list[Any]()
    messages = [
        {"type": "http.request", "body": report(3), "more_body": True},
        {"type": "http.disconnect"},
    ]
    scope = {
        "type": "http", "method": "POST", "path": f"/{page.token}/keep", "query_string": b"",
        "headers": [(b"host", HOST.encode()), (b"origin", f"http://{HOST}".encode())],
    }  # fmt: skip

    async def receive() -> Any:
        return messages.pop(0)

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(page(scope, receive, send))
    assert sent[0]["status"] == 413
