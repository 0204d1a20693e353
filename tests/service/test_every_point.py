"""Every point, through real processes: served, located, refused where it is too weak or forged, and verified."""

from __future__ import annotations

import io
import json
import re
import signal
import sys
from typing import TYPE_CHECKING, Any

import pytest

import lattices
import noises
from cli.commands import say
from discreet.artefact import load_points, save_mechanism
from discreet.core.errors import CertificateError, InvalidProblemError
from discreet.core.guarantee import MetricDP
from discreet.lrgeo import Epochs, design
from discreet.lrgeo.mechanism import packed, text_digest
from discreet.lrgeo.points.table import LatticeMechanism
from discreet.service import Client, create_app
from discreet.service.page import Page
from service.running import ask, in_thread, mechanism, quick, region
from service.test_processes import processes, start, url_of

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["processes"]

HERE = ("41.8934000000000000001", "12.4851")
BEYOND = ("41.7263549", "12.4817")
YEAR = Epochs(365 * 86_400)


@pytest.fixture(scope="module")
def made() -> LatticeMechanism:
    """Design a coarse mechanism for every point of the region of the other tests."""
    return rows_for(2)


def rows_for(epsilon: int) -> LatticeMechanism:
    made = design(region(), MetricDP(epsilon, "km"), method="table", spacing="0.25")
    return made.published()


def forged(made: LatticeMechanism) -> LatticeMechanism:
    """Let one control point always give its own report, under a digest that fits; the certificate still says passed."""
    weights = made.weights.copy()
    weights[0] = 0
    weights[0, 0] = 1 << made.bits
    data = made.to_dict() | {"weights": packed(weights.ravel())}
    del data["digest"]
    return LatticeMechanism.from_dict({**data, "digest": text_digest(data)})


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch) -> Callable[[tuple[str, str]], None]:
    """Type a place on standard input."""
    return lambda place: monkeypatch.setattr(sys, "stdin", io.StringIO(" ".join(place) + "\n"))


def test_a_process_designs_publishes_and_keeps_it_and_another_one_serves_the_file(
    tmp_path: Path,
    processes: list[subprocess.Popen[str]],
    capsys: pytest.CaptureFixture[str],
    typed: Callable[[tuple[str, str]], None],
) -> None:
    kept = tmp_path / "city.mechanism"
    line = "serve --grid 3x3 --cell 0.5 --origin 41.89,12.48 --epsilon 2/km --json"
    server = start(processes, *line.split(), "--port", 0, "-o", kept)
    url = url_of(server)
    files = ["--state", tmp_path / "s", "--cache", tmp_path / "c", "--epoch", YEAR.seconds]
    options = ["--server", url, "--wait", 300, "--json", *files]
    typed(HERE)
    weak = say(capsys, "locate", "-", *options, "--max-epsilon", "1999/m")
    assert (weak.status, weak.err) == (0, "")
    published = load_points(kept)
    assert weak.data["mechanism"] == published.digest
    assert weak.data["guarantee"]["scope"] == {"region": published.region}
    assert "any two points of the region" in weak.data["guarantee"]["sentence"]
    assert tuple(weak.data["report"]) in [published.where(k) for k in range(published.K)]
    assert (weak.data["spent_today"], weak.data["spent_in_all"]) == (2.0, 2.0)
    # Repeated within the epoch, and not paid again, wherever one is.
    typed(("41.9", "12.49"))
    assert say(capsys, "locate", "-", *options).data == weak.data
    told = say(capsys, "verify", kept, "--json")
    assert told.status == 0
    assert (told.data["kind"], told.data["digest"]) == ("lattice-mechanism", published.digest)
    assert "what it is  a mechanism for every point" in say(capsys, "verify", kept).out
    facts = say(capsys, "info", kept, "--json").data
    assert (facts["kind"], facts["digest"]) == ("lattice-mechanism", published.digest)
    assert facts["sizes"]["reports"] == published.K
    assert re.search("which is about +any two points", say(capsys, "info", kept).out)
    server.send_signal(signal.SIGTERM)
    assert server.wait(60) == 0
    again = start(processes, "serve", "--mechanism", kept, "--port", 0, "--json")
    with Client(
        url_of(again), state=tmp_path / "s2", cache=tmp_path / "c2", accepts=MetricDP(2, "km")
    ) as client:
        assert client.mechanism.digest == published.digest


def test_rows_on_a_lattice_are_served_and_drawn_from(tmp_path: Path) -> None:
    file = json.loads(noises.sealed(lattices.KINDS["on the sphere"].parts()))
    rows = LatticeMechanism.from_dict(file)
    state, cache = tmp_path / "s", tmp_path / "c"
    with (
        in_thread(create_app(rows, region())) as url,
        Client(url, state=state, cache=cache, accepts=MetricDP("4/3", "km")) as client,
    ):
        assert client.mechanism.digest == file["digest"]
        assert client.locate(("41.882", "12.461")).report in [rows.where(k) for k in range(rows.K)]


def test_an_epsilon_that_is_too_large_is_refused_before_a_place_is_read(
    made: LatticeMechanism, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = ["--state", tmp_path / "s", "--cache", tmp_path / "c"]
    with in_thread(create_app(made, region())) as url:
        said = say(capsys, "locate", "-", "--server", url, "--max-epsilon", "1.999/km", *files)
    assert said.status == 1
    assert "2 per km between any two points, where 1.999 per km is accepted" in said.err
    assert list(tmp_path.iterdir()) == []


def test_a_forged_mechanism_is_refused_though_its_digest_fits(
    made: LatticeMechanism, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    false = forged(made)
    files = ["--state", tmp_path / "s", "--cache", tmp_path / "c"]
    with in_thread(create_app(false, region())) as url:
        said = say(capsys, "locate", "-", "--server", url, *files)
    assert said.status == 1
    assert "inequalities violated" in said.err
    assert list(tmp_path.iterdir()) == []
    save_mechanism(false, tmp_path / "false.mechanism")
    assert say(capsys, "verify", tmp_path / "false.mechanism").status == 1
    refused = say(capsys, "serve", "--mechanism", tmp_path / "false.mechanism", "--port", 0)
    assert refused.status == 1


def test_what_snaps_is_refused(
    made: LatticeMechanism,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    typed: Callable[[tuple[str, str]], None],
) -> None:
    files = ["--state", tmp_path / "s", "--cache", tmp_path / "c", "--max-epsilon", "2/km"]
    with in_thread(create_app(made, region())) as url:
        said = say(capsys, "locate", "-", "--pin", "--server", url, *files)
        assert said.status == 2
        assert "--pin: expected a server that publishes for places" in said.err
        typed(BEYOND)
        outside = say(capsys, "locate", "-", "--server", url, *files)
        assert (outside.status, outside.out) == (2, "")
        assert outside.err.startswith("discreet: PLACE: expected")
        assert "7263549" not in outside.err
    # Places that were pinned with a mechanism for places are not silently left unused.
    with Client(
        quick(create_app(mechanism(), region())), scope="places", **folders(tmp_path, "a")
    ) as client:
        client.pin((41.8934, 12.4851))
    with (
        Client(quick(create_app(made, region())), **folders(tmp_path, "b", state="a")) as client,
        pytest.raises(InvalidProblemError, match="pinned places: expected a mechanism for places"),
    ):
        client.locate(HERE)


def folders(folder: Path, name: str, state: str | None = None) -> dict[str, Any]:
    return {"state": folder / f"{state or name}.json", "cache": folder / name, "epochs": YEAR}


def test_after_every_point_places_are_weaker_unless_they_are_accepted(
    made: LatticeMechanism, tmp_path: Path
) -> None:
    options = folders(tmp_path, "a") | {"refresh": 0, "scope": "places"}
    for publishes in (mechanism(), made):
        with Client(quick(create_app(publishes, region())), **options) as client:
            assert client.mechanism.digest == publishes.digest
    weaker = rows_for(3)
    with (
        Client(quick(create_app(weaker, region())), **options) as client,
        pytest.raises(CertificateError, match="3 per km between any two points"),
    ):
        client.prepared()
    back = create_app(mechanism(), region())
    with (
        Client(quick(back), **options) as client,
        pytest.raises(InvalidProblemError, match="for every point, as before"),
    ):
        client.prepared()
    with Client(quick(back), accepts=MetricDP(2, "km"), **options) as client:
        assert client.mechanism.digest == mechanism().digest


def test_who_accepts_no_places_gets_none_from_the_server_nor_from_the_cache(
    made: LatticeMechanism, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = folders(tmp_path, "a")
    with Client(quick(create_app(mechanism(), region())), scope="places", **options) as client:
        client.prepared()
    # From the cache, and where the server says that it is still the one.
    for refresh in (0, 86_400):
        with (
            Client(
                quick(create_app(mechanism(), region())), **options | {"refresh": refresh}
            ) as client,
            pytest.raises(InvalidProblemError, match="one for places alone"),
        ):
            client.prepared()
    with Client(quick(create_app(made, region())), **options | {"refresh": 0}) as client:
        assert client.mechanism.digest == made.digest
    wrong: Any = "point"
    with pytest.raises(InvalidProblemError, match='"points"|points'):
        Client(quick(create_app(made, region())), scope=wrong, **options)
    files = ["--state", tmp_path / "s", "--cache", tmp_path / "c"]
    for publishes, more, status in (
        (mechanism(), [], 2),
        (mechanism(), ["--places-only"], 0),
        (made, [], 0),
        (made, ["--places-only"], 0),
    ):
        with in_thread(create_app(publishes, region())) as url:
            line = ["-", *more, "--max-epsilon", "2/km", "--server", url, "--refresh", 0, *files]
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(sys, "stdin", io.StringIO(" ".join(HERE) + "\n"))
                said = say(capsys, "locate", *line)
        assert said.status == status
        assert ("one for places alone" in said.err) == bool(status)


def test_the_server_and_the_page_say_what_is_promised(
    made: LatticeMechanism, tmp_path: Path
) -> None:
    app = create_app(made, None)
    assert "for every point of a region, with 25 reports" in ask(app, "GET", "/").text
    assert ask(app, "GET", "/v1/region").status_code == 404
    assert ask(app, "GET", "/v1/mechanism").json()["digest"] == made.digest
    with Client(quick(app), **folders(tmp_path, "a")) as client:
        page = Page(client, "127.0.0.1:1", token="t")  # noqa: S106 - of a test
        data = ask_page(page, "data.json")
        assert "for any two points of the region" in data["promise"]
        assert "place nearest" not in data["promise"]
        assert ask_page(page, "mechanism.json")["digest"] == made.digest
        reserved = client.reserve()
        assert reserved is not None
        with pytest.raises(InvalidProblemError, match="one that the mechanism names"):
            client.keep(reserved, (41.9, 12.5))
        client.keep(reserved, made.where(3))
        assert client.last()[0].report == made.where(3)


def ask_page(page: Page, name: str) -> Any:
    answer = ask(page, "GET", f"/t/{name}", headers={"host": "127.0.0.1:1"})  # type: ignore[arg-type]
    assert answer.status_code == 200
    return json.loads(answer.content)


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        (["--every-point", "--mechanism", "x"], "--every-point: expected none beside --mechanism"),
        (["--places-only", "--mechanism", "x"], "--places-only: expected none beside --mechanism"),
    ],
)
def test_what_does_not_fit_together_is_refused(
    capsys: pytest.CaptureFixture[str], more: list[str], expected: str
) -> None:
    said = say(capsys, "serve", *more, "--port", 0)
    assert said.status == 2
    assert expected in said.err
