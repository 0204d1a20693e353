"""The client in JavaScript, in a real browser: bit for bit what the vectors say, and quick enough.

Run by ``make test-browser``.
"""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from browser.devtools import Browser
from browser.looking import ask, opened_with_client
from discreet.core.certificate import Certificate, Check
from discreet.core.channels.implicit import AnchoredChannel
from discreet.core.guarantee import MetricDP
from discreet.core.outcome import Provenance
from discreet.lrgeo import Mechanism, Region
from discreet.lrgeo.mechanism import canonical

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.browser

FILE = Path(__file__).parents[1] / "data" / "lrgeo-vectors.json"
VECTORS: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))

FIND = """async (found) => {
  const {Mechanism, targetOf} = client;
  const m = await Mechanism.read(found.text, found.digest), all = [...Array(m.n).keys()];
  const rows = all.map((i) => m.row(i));
  return {
    digest: m.digest,
    coordinates: all.map((i) => m.where(i)),
    reach: m.reach,
    lengths: all.map((i) => all.map((j) => String(m.length(i, j)))),
    factors: [...Array(7).keys()].map((j) => [0, 1, 2, 128, 255].map((g) => String(m.factor(j, g)))),
    decay: found.decay.map((length) => String(m.decay(BigInt(length)))),
    rows: rows.map((row) => [...row].map(String)),
    totals: rows.map((row) => String(m.total(row))),
    draws: found.draws.map(({place, target}) => m.reportAt(rows[place], BigInt(target))),
    words: found.words.map(({word, total}) => targetOf(BigInt(word), BigInt(total)))
      .map((target) => target === null ? null : String(target)),
  };
}"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    yield from opened_with_client(tmp_path_factory.mktemp("profile"))


def refused(browser: Browser, text: str, digest: str) -> str:
    """Give what the client refuses a mechanism with; nothing where it takes it."""
    said = ask(
        browser,
        "([text, digest]) => client.Mechanism.read(text, digest).then(() => '',"
        " (e) => e instanceof client.Refused ? e.message : `another failure: ${e}`)",
        [text, digest],
    )
    return str(said)


@pytest.mark.parametrize("name", VECTORS)
def test_the_client_finds_all_that_the_vectors_hold(browser: Browser, name: str) -> None:
    known = VECTORS[name]
    found = ask(
        browser,
        FIND,
        {
            "text": json.dumps(known["mechanism"]),
            "digest": known["mechanism"]["digest"],
            "decay": list(known["decay"]),
            "draws": known["draws"],
            "words": known["words"],
        },
    )
    assert found["digest"] == known["mechanism"]["digest"]
    for part in ("lengths", "factors", "rows", "totals"):
        assert found[part] == known[part], part
    assert found["decay"] == list(known["decay"].values())
    assert found["draws"] == [draw["report"] for draw in known["draws"]]
    assert found["words"] == [word["target"] for word in known["words"]]
    # Floats too: what is told is the same number to the last digit.
    assert [[repr(float(x)) for x in pair] for pair in found["coordinates"]] == known["coordinates"]
    assert found["reach"] == pytest.approx(float(known["reach_decimeters"]), rel=1e-12)


@pytest.mark.parametrize("name", VECTORS)
def test_every_factor_is_the_same_integer(browser: Browser, name: str) -> None:
    """All 1792: a guard of fewer bits, or a rounding in the other direction, shows in some of them only."""
    plain = VECTORS[name]["mechanism"]
    found = ask(
        browser,
        """async ([text, digest]) => {
          const m = await client.Mechanism.read(text, digest), all = [...Array(256).keys()];
          return [...Array(7).keys()].map((j) => all.map((g) => String(m.factor(j, g))));
        }""",
        [json.dumps(plain), plain["digest"]],
    )
    tables = Mechanism.from_dict(plain).channel.decay.tables
    assert [[int(x) for x in row] for row in found] == tables.tolist()


def sealed(plain: dict[str, Any]) -> tuple[str, str]:
    """Give a mapping a digest that fits, as a server that lies would."""
    import hashlib

    rest = {name: value for name, value in plain.items() if name != "digest"}
    digest = hashlib.sha256(canonical(rest)).hexdigest()
    return json.dumps({**rest, "digest": digest}), digest


def test_a_mechanism_that_was_altered_is_refused(browser: Browser) -> None:
    plain = VECTORS["lattice"]["mechanism"]
    text, digest = json.dumps(plain), plain["digest"]
    assert refused(browser, text, digest) == ""
    assert refused(browser, text.replace("24001", "24002"), digest).startswith(
        "digest: not that of the content"
    )
    assert refused(browser, text, "0" * 64).startswith("digest: not that of the mechanism")
    assert refused(browser, text[:-5], digest) == "mechanism: no JSON"
    # A number that floats can't hold is read as it is written.
    exact = copy.deepcopy(plain)
    exact["lift"] = 2**53 + 1
    exact["certificate"]["checks"][0]["residual"] = 1e-09
    assert refused(browser, *sealed(exact)) == ""


@pytest.mark.parametrize(
    ("part", "value", "complaint"),
    [
        ("version", 2, "form"),
        ("unit", "mile", "unit"),
        ("rate", "-1/2", "rate"),
        ("lift", 0, "anchors"),
        ("lift", 1.5, "lift"),
        ("lengths", {"rule": "taxi", "cell": 1, "scale_bits": 45}, "lengths"),
        ("names", {"count": 1, "bytes": 1, "least": 12, "data": "AA=="}, "names: out of range"),
        (
            "anchors",
            {"count": 2, "bytes": 1, "least": 0, "data": "AA=="},
            "anchors: not its number",
        ),
        ("ball_reports", {"count": 2, "bytes": 1, "least": 0, "data": "AQE="}, ""),
        ("ball_secrets", {"count": 2, "bytes": 1, "least": 0, "data": "AAA="}, ""),
        ("ball_secrets", {"count": 1, "bytes": 1, "least": 0, "data": "AA=="}, "ball: not of one"),
    ],
)
def test_parts_that_do_not_fit_are_refused(
    browser: Browser, part: str, value: object, complaint: str
) -> None:
    plain = {**VECTORS["lattice"]["mechanism"], part: value}
    assert refused(browser, *sealed(plain)).startswith(complaint)


def test_a_draw_refuses_words_and_reads_the_system(browser: Browser) -> None:
    plain = VECTORS["plane"]["mechanism"]
    told = ask(
        browser,
        """async ([text, digest]) => {
          const m = await client.Mechanism.read(text, digest), words = [2n ** 64n - 1n, 2n ** 64n - 1n, 0n];
          const first = m.report(3, () => words.shift()), real = crypto.getRandomValues.bind(crypto);
          let bytes = 0;
          crypto.getRandomValues = (array) => { bytes += array.byteLength; return real(array); };
          const some = [...Array(300).keys()].map(() => m.report(3));
          delete crypto.getRandomValues;
          return [first, words.length, bytes, some];
        }""",
        [json.dumps(plain), plain["digest"]],
    )
    assert told[:2] == [0, 0]
    assert told[2] >= 300 * 8
    # Six reports, none of them rarer than one in thirteen: all are seen but once in 2^32.
    assert set(told[3]) == set(range(6))


def test_points_are_snapped_as_the_other_client_snaps_them(browser: Browser) -> None:
    plain = VECTORS["lattice"]["mechanism"]
    region = Mechanism.from_dict(plain).region
    made = np.random.default_rng(5).uniform((41.87, 12.44), (41.90, 12.50), (60, 2)).tolist()
    made += [[41.8823, 12.4631 - 360 + 360], [91, 0], [41.8823, 400]]

    def snapped(point: list[float]) -> int | None:
        try:
            return region.snap((point[0], point[1]))
        except ValueError:
            return None

    found = ask(
        browser,
        """async ([text, digest, points]) => {
          const m = await client.Mechanism.read(text, digest);
          return points.map((p) => { try { return m.snap(...p); } catch (e) { return null; } });
        }""",
        [json.dumps(plain), plain["digest"], made],
    )
    assert found == [snapped(point) for point in made]
    assert None in found
    assert len(set(found)) > 6


def large(*, grid: bool) -> Mechanism:
    """1600 places, about which nobody asks whether they are private."""
    if grid:
        region = Region.from_grid(40, 40, cell="0.5", unit="km", origin=(41.8, 12.4))
    else:
        places = np.unique(np.random.default_rng(8).integers(0, 60_000, (1600, 2)), axis=0)
        region = Region(places, None, "km")
    anchors = np.full(region.K, 2**39) + np.arange(region.K)
    channel = AnchoredChannel(region.space, "1.99", np.arange(region.K), anchors, lift=2**15)
    return Mechanism(
        region, channel, MetricDP(2, "km"), channel.rate / 5000,
        Certificate((Check("made by hand", 0, 0, exact=True),)), None, 1.0, Provenance("by hand", versions={}),
    )  # fmt: skip


@pytest.mark.parametrize("grid", [True, False])
def test_a_row_of_1600_places_takes_well_under_a_second(browser: Browser, grid: bool) -> None:  # noqa: FBT001
    mechanism = large(grid=grid)
    found = ask(
        browser,
        """async ([text, digest]) => {
          const m = await client.Mechanism.read(text, digest), times = [], rows = [];
          for (const place of [0, 801, 1599]) {
            const start = performance.now();
            rows.push(m.row(place));
            times.push(performance.now() - start);
          }
          return [times, rows.map((row) => [...row].map(String))];
        }""",
        [json.dumps(mechanism.to_dict()), mechanism.digest],
    )
    print("milliseconds of three rows:", [round(time, 1) for time in found[0]])  # noqa: T201 - with -s
    assert [[int(x) for x in row] for row in found[1]] == [
        mechanism.channel.row(place).tolist() for place in (0, 801, 1599)
    ]
    # A machine that others load as well is slower than this by far, and still below.
    assert sorted(found[0])[1] < 500
