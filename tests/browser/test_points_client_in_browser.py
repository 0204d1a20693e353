"""The client in JavaScript for every point, in a real browser: vertex, then row, bit for bit what its page says.

Run by ``make test-browser``.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import shutil
from importlib import resources
from typing import TYPE_CHECKING, Any

import pytest

from browser.devtools import Browser
from browser.points_by_the_page import CASES, vectors

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.browser

FIND = """async ({text, digest, points}) => {
  const m = await client.read(text, digest);
  if (!(m instanceof client.PointMechanism)) throw new Error("another kind");
  return points.map(({point, draws}) => {
    let spot;
    try { spot = m.locate(...point); } catch (e) { if (e instanceof client.Refused) return null; throw e; }
    return {
      triangle: spot.triangle, weights: spot.weights.map(String),
      drawn: (draws ?? []).map(({r1, r2}) => m.reportAt(m.vertexAt(spot, BigInt(r1)), BigInt(r2))),
      sum: m.shares(spot).reduce((a, b) => a + b),
    };
  });
}"""

WORDS = """async ([text, digest, point]) => {
  const m = await client.read(text, digest), spot = m.locate(...point);
  const total = spot.weights.reduce((a, b) => a + b), seen = [];
  const word = (value) => { let at = 0; return () => { seen.push(at); return value[at++ % value.length]; }; };
  const all = 2n ** 64n;
  return [
    String(client.randrange(3n, word([all - 1n, 5n]))), String(client.randrange(1n, word([7n]))),
    String(client.randrange(all * 2n, word([1n, 9n]))), String(total),
    new Set([...Array(400).keys()].map(() => m.report(spot))).size,
  ];
}"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    executable = os.environ.get("DISCREET_BROWSER") or shutil.which("chromium")
    if executable is None:
        pytest.skip("NOT RUN: no Chromium; tests/browser/run.sh installs it where it may")
    with Browser(executable, tmp_path_factory.mktemp("profile")) as opened:
        blank = tmp_path_factory.mktemp("page") / "blank.html"
        blank.write_text("<!doctype html><title>blank</title>", encoding="utf-8")
        opened.open(blank.as_uri(), 390, 844)
        source = resources.files("discreet.service").joinpath("static", "client.js").read_bytes()
        module = base64.b64encode(source).decode("ascii")
        opened.evaluate(
            f"import('data:text/javascript;base64,{module}').then((m) => {{ window.client = m; }})"
        )
        yield opened


def ask(browser: Browser, function: str, value: object) -> Any:
    return browser.evaluate(f"({function})({json.dumps(value)})")


@pytest.mark.parametrize("name", CASES)
def test_the_client_finds_triangles_weights_and_reports(browser: Browser, name: str) -> None:
    case = vectors(name)
    text, points = json.dumps(case["file"]), case["points"]
    asked = {"text": text, "digest": case["file"]["digest"], "points": points}
    found = ask(browser, FIND, asked)
    assert [one is None for one in found] == ["refused" in point for point in points]
    assert 7 < sum(one is None for one in found) < len(found) / 2
    for one, point in zip(found, points, strict=True):
        if one is None:
            continue
        assert (one["triangle"], one["weights"]) == (point["triangle"], point["weights"])
        assert one["drawn"] == [draw["report"] for draw in point["draws"]]
        assert one["sum"] == pytest.approx(1, abs=1e-12)


def test_draws_refuse_uneven_words_and_take_as_many_as_they_need(browser: Browser) -> None:
    case = vectors("a plane in kilometers")
    point = next(point["point"] for point in case["points"] if "refused" not in point)
    text = json.dumps(case["file"])
    drawn = ask(browser, WORDS, [text, case["file"]["digest"], point])
    # 2^64 - 1 is refused for 3; two words make one of 128 bits, here 2^64 + 9.
    assert drawn[:3] == ["2", "0", str(2**64 + 9)]
    assert drawn[4] > 1


@pytest.mark.parametrize(
    ("part", "value", "complaint"),
    [
        ("version", 2, "form"),
        ("unit", "mile", "unit"),
        ("bits", 54, "bits"),
        ("bits", 47, "weights"),
        ("east", 0, "east"),
        ("shown", [["1", "2"]], "shown"),
        ("outline", {"count": 3, "bytes": 1, "least": 0, "data": "AAH/"}, "outline: out of range"),
        ("triangles", {"count": 2, "bytes": 1, "least": 0, "data": "AAE="}, "triangles: no mesh"),
    ],
)
def test_parts_that_do_not_fit_are_refused(
    browser: Browser, part: str, value: object, complaint: str
) -> None:
    plain = {**vectors("a plane in kilometers")["file"], part: value}
    del plain["digest"]
    text = json.dumps(plain, sort_keys=True, separators=(",", ":"))
    digest = hashlib.sha256(text.encode()).hexdigest()
    said = ask(
        browser,
        "([text, digest]) => client.read(text, digest).then(() => '', (e) =>"
        " e instanceof client.Refused ? e.message : `another failure: ${e}`)",
        [json.dumps({**plain, "digest": digest}), digest],
    )
    assert said.startswith(complaint)
