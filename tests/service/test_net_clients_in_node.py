"""The client in JavaScript for noise and for rows on a lattice, under Node: bit for bit what their pages say.

The same is asked in a real browser by ``tests/browser/test_net_clients_in_browser.py``.
"""

from __future__ import annotations

import base64
import json
import subprocess
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from browser import lattice_by_the_page, noise_by_the_page
from browser.noise_by_the_page import CASES, READ, WORDS, holds, told_of_words, vectors
from node import NODE

DATA = Path(__file__).parents[1] / "data"
PAGES: dict[str, Any] = {"noise": noise_by_the_page, "lattice": lattice_by_the_page}
VECTORS = [
    (page, one)
    for page in PAGES
    for one in json.loads((DATA / f"lrgeo-{page}-vectors.json").read_text(encoding="utf-8"))
]

pytestmark = pytest.mark.skipif(NODE is None, reason="NOT RUN: there is no Node")


def source() -> str:
    found = resources.files("discreet.service").joinpath("static", "client.js")
    return found.read_text(encoding="utf-8")


def ask(function: str, value: object, text: str = "") -> Any:
    assert NODE is not None
    module = base64.b64encode((text or source()).encode()).decode("ascii")
    program = (
        f"const client = await import('data:text/javascript;base64,{module}');\n"
        "const input = JSON.parse(require('fs').readFileSync(0, 'utf8'));\n"
        f"console.log(JSON.stringify(await ({function})(input)));"
    )
    program = "(async () => {" + program + "})()"
    done = subprocess.run(
        [NODE, "-e", program],
        input=json.dumps(value),
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=True,
    )
    return json.loads(done.stdout)


def asked(page: str, name: str) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    case = vectors(name, PAGES[page].Made)
    text = json.dumps(case["file"])
    points = case["points"]
    return points, {"text": text, "digest": case["file"]["digest"], "points": points}


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("name", CASES)
def test_the_client_finds_control_points_reports_and_their_law(page: str, name: str) -> None:
    points, value = asked(page, name)
    holds(points, ask(PAGES[page].FIND, value))


@pytest.mark.parametrize(("page", "kept"), VECTORS)
def test_it_finds_what_is_kept_for_ever(page: str, kept: Any) -> None:
    file, points = kept["file"], kept["points"]
    value = {"text": json.dumps(file), "digest": file["digest"], "points": points}
    for one, point in zip(ask(PAGES[page].FIND, value), points, strict=True):
        assert (one is None) == point.get("refused", False)
        if one is not None:
            assert one["axes"] == point["axes"]
            assert one["drawn"] == [draw["report"] for draw in point["draws"]]


@pytest.mark.parametrize("page", PAGES)
def test_draws_take_words_in_the_order_of_the_page(page: str) -> None:
    case, words = told_of_words(PAGES[page].Made)
    drawn = ask(WORDS, [json.dumps(case["file"]), case["file"]["digest"], words])
    assert drawn == [one["report"] for one in words]
    assert len({one["report"] for one in words}) > 5


@pytest.mark.parametrize("page", PAGES)
def test_parts_that_do_not_fit_are_refused(page: str) -> None:
    function = f"async (all) => Promise.all(all.map({READ}))"
    files = [PAGES[page].broken(at) for at in range(len(PAGES[page].BROKEN))]
    said = ask(function, [file[:2] for file in files])
    for found, (_, _, complaint) in zip(said, files, strict=True):
        assert found == complaint == "" or (complaint and found.startswith(complaint))


@pytest.mark.parametrize(
    ("page", "old", "new"),
    [
        *(
            (page, old, new)
            for page in PAGES
            for old, new in (
                ("if (sums[middle] > target) high", "if (sums[middle] >= target) high"),
                ("q * q + 2n * p * q - 2n * p * p", "q * q + 2n * p * q - p * p"),
                ("num / den < last ? num / den : last", "num / den"),
            )
        ),
        ("noise", "target >= sum; sum += weights[at]", "target > sum; sum += weights[at]"),
        ("noise", "(row + (noise % n)) % n", "(row + (noise % n) + 1) % n"),
        (
            "noise",
            "[from, to] = [a * n, ((a + columns + i) % m) * n]",
            "[from, to] = [a * n, ((a + i) % m) * n]",
        ),
        (
            "lattice",
            "(column * this.rows + row) * this.n",
            "(row * this.columns + column) * this.n",
        ),
        ("lattice", "spot[0].first + i) * this.rows", "spot[0].first) * this.rows"),
    ],
)
def test_a_client_that_is_broken_is_noticed(page: str, old: str, new: str) -> None:
    text = source()
    assert text.count(old) == 1
    points, value = asked(page, "a plane in meters")
    with pytest.raises((AssertionError, subprocess.CalledProcessError)):
        holds(points, ask(PAGES[page].FIND, value, text.replace(old, new)))
