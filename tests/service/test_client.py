"""The client: what it keeps, what it refuses, and that nothing it sends depends on the place."""

from __future__ import annotations

import gzip
import json
import stat
import tracemalloc
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from discreet import lrgeo
from discreet.core.errors import (
    BudgetError,
    CertificateError,
    InvalidProblemError,
    LimitReachedError,
)
from discreet.lrgeo import Epochs, Mechanism
from discreet.lrgeo.messages import read_mechanism
from discreet.service import Client, keeping
from discreet.service.asking import Server
from discreet.service.messages import MechanismMessage
from discreet.service.wire import MSGPACK, encode
from meta.canary import leaks
from service.running import mechanism, quick, region, sound_app

if TYPE_CHECKING:
    from collections.abc import Callable

HERE, THERE = (41.8934, 12.4851), (41.9041, 12.5012)
OUTSIDE = (41.7263549, 12.4817)
TWO = Fraction(2)


class Clock:
    """A clock that is set by hand."""

    def __init__(self, now: float = 1_750_000_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def made(folder: Path, clock: Clock, app: Any = None, **options: Any) -> Client:
    seen = options.pop("seen", None)
    return Client(
        quick(app or sound_app(), seen=seen, **options.pop("wire", {})),
        state=folder / "state.json",
        cache=folder / "cache",
        now=clock,
        **options,
        scope="places",
    )


def spent(folder: Path) -> Fraction:
    return Fraction(json.loads((folder / "state.json").read_bytes())["state"]["spent_in_all"])


def test_a_report_is_a_place_of_the_region_and_is_paid_for(tmp_path: Path) -> None:
    clock = Clock()
    client = made(tmp_path, clock)
    found = client.locate(HERE)
    assert found.report in [region().where(k) for k in range(region().K)]
    assert (found.spent_today, found.spent_in_all, found.unit) == (TWO, TWO, "km")
    assert found.epoch == int(clock.now // 3600)
    assert spent(tmp_path) == 2


def test_within_an_epoch_the_report_is_repeated_whatever_the_place(tmp_path: Path) -> None:
    clock = Clock()
    client = made(tmp_path, clock)
    first = client.locate(HERE)
    clock.now += 5
    assert client.locate(THERE) == first
    assert made(tmp_path, clock).locate(THERE) == first  # another process, the same file
    clock.now += 3600
    later = client.locate(THERE)
    assert (later.epoch, later.spent_in_all) == (first.epoch + 1, 2 * TWO)


def test_a_day_later_nothing_was_spent_today(tmp_path: Path) -> None:
    clock = Clock()
    epochs = Epochs(3600, for_life=2)
    client = made(tmp_path, clock, epochs=epochs)
    first = client.locate(HERE)
    clock.now += 2 * 86_400
    again = client.locate(THERE)
    assert again.report == first.report
    assert (again.spent_today, again.spent_in_all) == (0 * TWO, TWO)


def test_a_clock_that_went_back_repeats_and_charges_nothing(tmp_path: Path) -> None:
    clock = Clock()
    client = made(tmp_path, clock)
    first = client.locate(HERE)
    clock.now -= 10 * 86_400
    assert made(tmp_path, clock).locate(THERE).report == first.report
    assert spent(tmp_path) == 2


def test_without_a_budget_and_a_report_nothing_is_told(tmp_path: Path) -> None:
    client = made(tmp_path, Clock(), epochs=Epochs(3600, per_day=1))
    with pytest.raises(BudgetError):
        client.locate(HERE)
    assert not (tmp_path / "state.json").exists()


def test_a_pinned_place_has_one_report(tmp_path: Path) -> None:
    clock = Clock()
    client = made(tmp_path, clock)
    client.pin(HERE)
    shown = {client.locate(HERE).report}
    for _ in range(3):
        clock.now += 3600
        shown.add(client.locate(HERE).report)
    assert len(shown) == 1
    assert spent(tmp_path) == 2


def test_no_byte_that_is_sent_depends_on_the_place(tmp_path: Path) -> None:
    """Two users, far from each other, over several epochs: the same requests, byte for byte."""
    sent: list[list[bytes]] = []
    for name, place in (("a", HERE), ("b", THERE)):
        clock, seen = Clock(), []  # type: ignore[var-annotated]
        for _ in range(3):
            client = made(tmp_path / name, clock, seen=seen, refresh=3600)
            client.locate(place)
            clock.now += 3600
            client.locate(place)
        sent.append(seen)
    assert sent[0] == sent[1]
    assert len(sent[0]) >= 3
    assert not any(b"41.8" in request or b"12.4" in request for request in sent[0])


def test_outside_the_region_the_requests_are_the_same_and_nothing_is_said(tmp_path: Path) -> None:
    inside: list[bytes] = []
    outside: list[bytes] = []
    made(tmp_path / "a", Clock(), seen=inside).locate(HERE)
    client = made(tmp_path / "b", Clock(), seen=outside)
    with pytest.raises(InvalidProblemError, match="point: expected a point in the region"):
        client.locate(OUTSIDE)
    assert inside == outside
    assert leaks(lambda: client.locate(OUTSIDE), 7263549) == []
    assert not (tmp_path / "b" / "state.json").exists()


def test_what_is_sent_is_fetching_and_nothing_else(tmp_path: Path) -> None:
    seen: list[bytes] = []
    made(tmp_path, Clock(), seen=seen).locate(HERE)
    assert len(seen) == 1
    assert seen[0].startswith(b"GET /v1/mechanism\n")
    assert seen[0].endswith(b"\n")  # no body


def test_the_mechanism_is_kept_and_verified_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[bytes] = []
    clock = Clock()
    made(tmp_path, clock, seen=seen).locate(HERE)

    def never(*_: object, **__: object) -> None:
        raise AssertionError

    monkeypatch.setattr("discreet.lrgeo.client.verify", never)
    made(tmp_path, clock, seen=seen).locate(HERE)
    assert len(seen) == 1
    clock.now += 90_000
    made(tmp_path, clock, seen=seen).locate(HERE)
    assert len(seen) == 2
    assert b"if-none-match" in seen[1].lower()
    made(tmp_path, clock, seen=seen).locate(HERE)  # the server said that it still is the one
    assert len(seen) == 2
    (file,) = (tmp_path / "cache").iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_clock_that_went_back_does_not_trust_the_cache_for_ever(tmp_path: Path) -> None:
    seen: list[bytes] = []
    clock = Clock()
    made(tmp_path, clock, seen=seen).prepared()
    clock.now -= 10
    made(tmp_path, clock, seen=seen).prepared()
    assert len(seen) == 2


def test_a_cache_that_was_cut_is_fetched_again(tmp_path: Path) -> None:
    clock = Clock()
    made(tmp_path, clock).prepared()
    (file,) = (tmp_path / "cache").iterdir()
    whole = file.read_bytes()
    for broken in (whole[: len(whole) // 2], b"", b"[]", whole.replace(b'"rate"', b'"rat_"')):
        file.write_bytes(broken)
        seen: list[bytes] = []
        made(tmp_path, clock, seen=seen).locate(HERE)
        assert len(seen) == 1
        assert b"if-none-match" not in seen[0].lower()


def test_a_cache_that_others_may_write_is_not_trusted(tmp_path: Path) -> None:
    clock = Clock()
    made(tmp_path, clock).prepared()
    (file,) = (tmp_path / "cache").iterdir()
    file.chmod(0o666)
    with pytest.raises(InvalidProblemError, match="writable by nobody else"):
        made(tmp_path, clock).prepared()


@pytest.mark.parametrize(
    "broken",
    [
        b"",
        b"{}",
        b'{"version": 1}',
        b"not json",
        b"[]",
        b'{"version": 1, "seconds": 3600}',
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"version": 2, "seconds": 3600, "unit": "km", "digest": "", "state": {"report": [1e999, 1]}}',
    ],
)
def test_a_state_that_is_not_whole_is_refused_and_left_as_it_is(
    tmp_path: Path, broken: bytes
) -> None:
    path = tmp_path / "state.json"
    path.write_bytes(broken)
    path.chmod(0o600)
    with pytest.raises(InvalidProblemError, match="state: .*ledger"):
        made(tmp_path, Clock()).locate(HERE)
    assert path.read_bytes() == broken


def test_a_state_that_was_altered_is_refused(tmp_path: Path) -> None:
    client = made(tmp_path, Clock())
    client.locate(HERE)
    path = tmp_path / "state.json"
    text = path.read_text()
    assert '"spent_in_all": "2"' in text
    path.write_text(text.replace('"spent_in_all": "2"', '"spent_in_all": "0"'))
    with pytest.raises(InvalidProblemError, match="state: .*ledger"):
        client.locate(HERE)


def test_a_state_of_other_epochs_or_another_unit_is_refused(tmp_path: Path) -> None:
    made(tmp_path, Clock()).locate(HERE)
    with pytest.raises(InvalidProblemError, match="epochs of 86400 seconds .* got 2, 3600 and km"):
        made(tmp_path, Clock(), epochs=Epochs(86_400)).locate(HERE)


def test_a_link_and_what_it_leads_to_are_one_ledger(tmp_path: Path) -> None:
    """With two ledgers, three reports were drawn where two were allowed."""
    clock, epochs = Clock(), Epochs(3600, for_life=4)
    (tmp_path / "true").mkdir()
    true = tmp_path / "true" / "state.json"
    (tmp_path / "link.json").symlink_to(true)
    (tmp_path / "folder").symlink_to("true")
    drawn = set()
    names = [true, tmp_path / "link.json", tmp_path / "folder" / "state.json"]
    for state in (*names, *reversed(names)):
        with Client(
            quick(sound_app()),
            state=state,
            cache=tmp_path / "cache",
            now=clock,
            epochs=epochs,
            scope="places",
        ) as client:
            found = client.locate(HERE)
        drawn.add(found.epoch)
        clock.now += 3600
    assert len(drawn) == 2
    assert found.spent_in_all == 4
    assert (tmp_path / "link.json").is_symlink()


def test_a_state_with_a_second_name_draws_nothing(tmp_path: Path) -> None:
    made(tmp_path, Clock()).locate(HERE)
    (tmp_path / "copy.json").hardlink_to(tmp_path / "state.json")
    with pytest.raises(InvalidProblemError, match="one name"):
        made(tmp_path, Clock()).locate(HERE)


def test_a_state_of_version_1_is_read_and_written_anew(tmp_path: Path) -> None:
    """As that version wrote it."""
    path, clock = tmp_path / "state.json", Clock()
    old = {
        "mechanism": mechanism().digest,
        "epoch": int(clock.now // 3600),
        "day": int(clock.now // 86_400),
        "report": list(region().where(3)),
        "spent_today": "2",
        "spent_in_all": "2",
        "pinned": [],
    }
    data: dict[str, Any] = {"version": 1, "seconds": 3600, "unit": "km", "state": old}
    path.write_text(json.dumps({**data, "digest": keeping._digest(data)}))
    path.chmod(0o600)
    found = made(tmp_path, clock).locate(HERE)
    assert found.report == region().where(3)
    assert found.spent_in_all == 2
    assert found.source.guarantee is None
    clock.now += 3600
    assert made(tmp_path, clock).locate(HERE).spent_in_all == 4
    assert json.loads(path.read_bytes())["version"] == 2


def test_what_was_spent_is_not_less_when_the_clock_goes_back(tmp_path: Path) -> None:
    clock = Clock()
    made(tmp_path, clock).locate(HERE)
    clock.now -= 86_400
    assert made(tmp_path, clock).locate(HERE).spent_today == 2


def altered(change: Callable[[dict[str, Any]], None]) -> httpx.MockTransport:
    said = MechanismMessage(
        protocol=1, digest=mechanism().digest, mechanism=mechanism().to_dict()
    ).write()
    said = json.loads(json.dumps(said))
    change(said)
    body = encode(said, MSGPACK)
    return httpx.MockTransport(
        lambda _: httpx.Response(200, content=body, headers={"content-type": MSGPACK})
    )


def swap(said: dict[str, Any], name: str) -> None:
    """Flip the last bit of an array of the mechanism, and leave the digest as it was."""
    import base64

    packed = said["mechanism"][name]
    data = bytearray(base64.b64decode(packed["data"]))
    data[-1] ^= 1
    packed["data"] = base64.b64encode(bytes(data)).decode()


def other_digest(said: dict[str, Any]) -> None:
    said["digest"] = "0" * 64


def old(said: dict[str, Any]) -> None:
    said["protocol"] = 0


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda said: swap(said, "anchors"), "digest: expected that of the content"),
        (lambda said: swap(said, "places"), "digest: expected that of the content"),
        (other_digest, "digest: expected that of the mechanism"),
        (old, "version 0, an older one"),
        (lambda said: said["mechanism"].pop("anchors"), "mechanism: expected a whole mechanism"),
    ],
)
def test_an_altered_mechanism_is_refused_and_not_kept(
    tmp_path: Path, change: Callable[[dict[str, Any]], None], complaint: str
) -> None:
    server = Server("http://127.0.0.1:1", patience=0, transport=altered(change))
    client = Client(server, state=tmp_path / "s", cache=tmp_path / "cache", scope="places")
    with pytest.raises(InvalidProblemError, match=complaint):
        client.locate(HERE)
    assert list(tmp_path.iterdir()) == []


def test_a_mechanism_that_breaks_its_promise_is_refused_though_its_digest_fits(
    tmp_path: Path,
) -> None:
    """A server that lies consistently is caught by the verification of all pairs."""
    import hashlib

    def lie(said: dict[str, Any]) -> None:
        plain = {k: v for k, v in said["mechanism"].items() if k != "digest"}
        plain["guarantee"]["epsilon"] = "1/2"
        text = json.dumps(
            plain, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
        )
        digest = hashlib.sha256(text.encode()).hexdigest()
        said["digest"] = digest
        said["mechanism"] = {**plain, "digest": digest}

    server = Server("http://127.0.0.1:1", patience=0, transport=altered(lie))
    client = Client(server, state=tmp_path / "s", cache=tmp_path / "cache", scope="places")
    with pytest.raises(CertificateError):
        client.locate(HERE)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "url",
    [
        "",
        "ftp://127.0.0.1",
        "127.0.0.1:8080",
        "http://",
        "http://u:p" + "@127.0.0.1",
        "http://x/?q=1",
    ],
)
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(InvalidProblemError, match="server: expected"):
        Server(url)


def test_other_machines_are_asked_over_tls_unless_told_otherwise() -> None:
    for url in ("http://192.0.2.7", "http://example.org:8080", "http://127.0.0.1.example.org"):
        with pytest.raises(InvalidProblemError, match="https for another machine"):
            Server(url)
        Server(url, allow_plain=True).close()
    for url in ("http://127.0.0.1:1", "http://[::1]:1", "http://localhost", "https://example.org"):
        Server(url).close()


def test_a_server_that_is_away_is_asked_again_until_patience_ends() -> None:
    tried: list[float] = []
    now = [0.0]

    def away(request: httpx.Request) -> httpx.Response:
        tried.append(now[0])
        raise httpx.ConnectError("no", request=request)

    def sleep(seconds: float) -> None:
        now[0] += seconds

    server = Server(
        "http://127.0.0.1:1",
        patience=5,
        transport=httpx.MockTransport(away),
        sleep=sleep,
        clock=lambda: now[0],
    )
    with pytest.raises(
        LimitReachedError, match="can't be reached \\(ConnectError\\), for 5 seconds"
    ):
        server.get("/v1/mechanism", read_mechanism)
    assert len(tried) > 3
    assert now[0] <= 5


def test_an_answer_that_is_too_large_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.service.asking._MOST", 10)
    transport = httpx.MockTransport(lambda _: httpx.Response(200, content=b"x" * 11))
    server = Server("http://127.0.0.1:1", transport=transport)
    with pytest.raises(InvalidProblemError, match="an answer of 10 bytes, got a larger one"):
        server.get("/v1/mechanism", read_mechanism)


def answering(content: bytes, **headers: str) -> Server:
    """Give a server with one answer to everything, as bytes on the wire."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Server(
        "http://127.0.0.1:1",
        transport=httpx.MockTransport(
            lambda _: httpx.Response(200, headers=named, stream=httpx.ByteStream(content))
        ),
    )


def test_a_compressed_answer_is_unpacked_and_what_it_grows_to_is_bounded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    body = encode({"protocol": 1}, MSGPACK)
    packed = {"content_encoding": "gzip", "content_type": MSGPACK}
    assert answering(gzip.compress(body), **packed).get("/x", lambda data: data) == {"protocol": 1}
    for content, said in (
        (gzip.compress(body)[:-9], "a whole answer, got one that was cut off"),
        (body, "compressed by gzip, got another"),
    ):
        with pytest.raises(InvalidProblemError, match=said):
            answering(content, **packed).get("/x", lambda data: data)
    with pytest.raises(InvalidProblemError, match="compressed by gzip, got another one"):
        answering(body, content_encoding="br").get("/x", lambda data: data)
    monkeypatch.setattr("discreet.service.asking._MOST", 1 << 20)
    bomb = gzip.compress(bytes(64 << 20))
    assert len(bomb) < 1 << 17
    tracemalloc.start()
    with pytest.raises(InvalidProblemError, match="an answer of 1048576 bytes, got a larger one"):
        answering(bomb, **packed).get("/x", lambda data: data)
    assert tracemalloc.get_traced_memory()[1] < 4 << 20
    tracemalloc.stop()


@pytest.mark.parametrize("status", [200, 301, 400, 404, 500])
def test_answers_that_are_none_are_said(status: int) -> None:
    transport = httpx.MockTransport(
        lambda _: httpx.Response(status, content=b"<html>", headers={"location": "http://x/"})
    )
    with pytest.raises(InvalidProblemError, match="server: expected"):
        Server("http://127.0.0.1:1", transport=transport).get("/v1/mechanism", read_mechanism)


def test_a_server_that_knows_what_nobody_has_is_refused(tmp_path: Path) -> None:
    transport = httpx.MockTransport(lambda _: httpx.Response(304))
    server = Server("http://127.0.0.1:1", transport=transport)
    with pytest.raises(InvalidProblemError, match="though none is known"):
        Client(server, state=tmp_path / "s", cache=tmp_path / "c", scope="places").prepared()


def test_a_mechanism_of_another_server_is_kept_apart(tmp_path: Path) -> None:
    for url in ("http://127.0.0.1:1", "http://127.0.0.1:2"):
        server = Server(url, transport=altered(lambda _: None))
        Client(server, state=tmp_path / "s", cache=tmp_path / "cache", scope="places").prepared()
    assert len(list((tmp_path / "cache").iterdir())) == 2


def test_the_client_without_io_is_the_library_s() -> None:
    client = lrgeo.Client(mechanism(), verified_digest=mechanism().digest)
    assert isinstance(client.mechanism, Mechanism)
