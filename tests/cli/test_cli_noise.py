"""Noise on a lattice on the command line: ``verify``, ``info`` and the other programs say one thing of a file."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

import noises
from cli.commands import say
from cli.mechanisms import alone, refused_by_all, written

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.mark.parametrize("name", noises.KINDS)
def test_all_who_read_a_file_say_one_thing_of_it(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    small = noises.KINDS[name]
    path = written(small.parts(), tmp_path)
    digest = json.loads(path.read_bytes())["digest"]
    told = say(capsys, "verify", path, "--json")
    assert (told.status, told.data["kind"], told.data["digest"]) == (0, "noise-mechanism", digest)
    facts = say(capsys, "info", path, "--json")
    assert (facts.status, facts.data["kind"]) == (0, "noise-mechanism")
    assert facts.data["digest"] == digest
    (wide, tall), (m, n) = small.cells, small.torus
    assert facts.data["sizes"] == {
        "reports": small.reports or m * n,
        "control_points": (wide + 2) * (tall + 2),
        "nodes": m * n,
        "bits": small.bits,
    }
    assert facts.data["guarantee"]["epsilon"] == str(small.epsilon)
    assert "any two points of the region" in say(capsys, "info", path).out
    assert "what it is  a mechanism for every point" in say(capsys, "verify", path).out
    other = alone(path)
    assert (other.returncode, other.stderr) == (0, "")
    assert f"epsilon {small.epsilon} per {small.unit}, any two points" in other.stdout
    assert f"{4 * m * n} knots and middles" in other.stdout


def _off_by_one(parts: dict[str, Any]) -> None:
    noise = list(noises.Small.noise(noises.KINDS["a box"]))
    noise[3] += 1
    parts["noise"] = noises.packed(noise)


def _moved(parts: dict[str, Any]) -> None:
    noise = list(noises.Small.noise(noises.KINDS["a box"]))
    moved = noise[1] // 50
    noise[0], noise[1] = noise[0] + moved, noise[1] - moved
    parts["noise"] = noises.packed(noise)


def _a_name_more(parts: dict[str, Any]) -> None:
    names = noises.KINDS["a box"].names()
    parts["names"] = noises.packed([5, *names[1:]])


def _stronger(parts: dict[str, Any]) -> None:
    parts["guarantee"]["epsilon"] = "29/10"


FORGED: dict[str, tuple[Callable[[dict[str, Any]], object], str, str]] = {
    "a stronger claim": (_stronger, "inequalities violated", "inequalities violated"),
    "noise moved": (_moved, "inequalities violated", "inequalities violated"),
    "a sum off by one": (_off_by_one, "sums off", "noise of another sum"),
    "a name of no report": (_a_name_more, "names of no report", "names of no report"),
    "a shorter side": (
        lambda parts: parts.update(side=1200),
        "inequalities violated",
        "inequalities violated",
    ),
    "a torus transposed": (
        lambda parts: parts.update(torus=[6, 7]),
        "inequalities violated",
        "inequalities violated",
    ),
    "another box": (
        lambda parts: parts.update(low=[-1000, -41]),
        "another region than stated",
        "another region than stated",
    ),
    "another reach": (
        lambda parts: parts.update(reach=parts["reach"] + 1),
        "another region than stated",
        "another region than stated",
    ),
    "more bits": (lambda parts: parts.update(bits=49), "sums off", "noise of another sum"),
}
"""A change of a file that is right, sealed anew; what the library then finds, and what the other program does."""


@pytest.mark.parametrize("name", FORGED)
def test_all_refuse_a_forged_file_for_the_same_reason(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    change, found, printed = FORGED[name]
    parts = noises.KINDS["a box"].parts()
    change(parts)
    refused_by_all(written(parts, tmp_path), capsys, found, printed)


@pytest.mark.parametrize("bad", ["nodes", "narrow", "altered"])
def test_all_refuse_a_file_that_is_not_whole(
    bad: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    parts = noises.KINDS["a box"].parts()
    if bad == "nodes":
        parts["torus"] = [7, 7]
    if bad == "narrow":
        parts["torus"] = [21, 2]
    path = written(parts, tmp_path)
    if bad == "altered":
        path.write_bytes(path.read_bytes().replace(b'"side":1250', b'"side":1251'))
    told = say(capsys, "verify", path)
    assert told.status == (1 if bad == "narrow" else 2)
    assert alone(path).returncode == 2
