"""Rows on a lattice on the command line: ``verify``, ``info`` and the other programs say one thing of a file."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest

import lattices
import noises
from cli.commands import say
from cli.mechanisms import alone, refused_by_all, status_of_the_page, written

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.mark.parametrize("name", lattices.KINDS)
def test_all_who_read_a_file_say_one_thing_of_it(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    small = lattices.KINDS[name]
    path = written(small.parts(), tmp_path)
    digest = json.loads(path.read_bytes())["digest"]
    told = say(capsys, "verify", path, "--json")
    assert (told.status, told.data["kind"], told.data["digest"]) == (0, "lattice-mechanism", digest)
    facts = say(capsys, "info", path, "--json")
    assert (facts.status, facts.data["kind"]) == (0, "lattice-mechanism")
    assert facts.data["digest"] == digest
    assert facts.data["sizes"] == {
        "reports": small.reports,
        "control_points": small.points,
        "bits": small.box.bits,
    }
    assert facts.data["guarantee"]["epsilon"] == str(small.box.epsilon)
    assert "any two points of the region" in say(capsys, "info", path).out
    assert "what it is  a mechanism for every point" in say(capsys, "verify", path).out
    other = alone(path)
    assert (other.returncode, other.stderr) == (0, "")
    wide, tall = small.box.cells
    assert f"epsilon {small.box.epsilon} per {small.box.unit}, any two points" in other.stdout
    nodes = (2 * wide + 1) * (2 * tall + 1)
    assert f"{nodes} knots and middles, {small.reports} reports each" in other.stdout


def test_info_says_of_each_lower_bound_what_it_is_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    parts = lattices.KINDS["a box"].parts()
    for bounds, told in (
        ({"lower": None, "mesh_lower": None}, ("not computed", "not computed")),
        ({"lower": None, "mesh_lower": "0.25"}, ("not computed", "0.25 km")),
        ({"lower": "0.125", "mesh_lower": "0.25"}, ("0.125 km", "0.25 km")),
    ):
        text = say(capsys, "info", written(parts | bounds, tmp_path)).out
        lines = [" ".join(line.split()) for line in text.splitlines()]
        assert f"lower bound for all mechanisms with these reports: {told[0]}" in lines
        assert f"lower bound for all tables on this lattice: {told[1]}" in lines


def _moved(parts: dict[str, Any], point: int, part: int) -> None:
    """Move a part of what the second report has at a control point to the first."""
    small = lattices.KINDS["a box"]
    weights, at = small.weights(), point * small.reports
    moved = weights[at + 1] // part
    weights[at], weights[at + 1] = weights[at] + moved, weights[at + 1] - moved
    parts["weights"] = noises.packed(weights)


def _stronger(parts: dict[str, Any]) -> None:
    parts["guarantee"]["epsilon"] = "2"


FORGED: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "a stronger claim": (_stronger, "inequalities violated"),
    "a weight moved at the first corner": (
        lambda parts: _moved(parts, 0, 2),
        "inequalities violated",
    ),
    "a weight moved at the last corner": (
        lambda parts: _moved(parts, 19, 2),
        "inequalities violated",
    ),
    "a shorter side": (lambda parts: parts.update(side=600), "inequalities violated"),
    "a box transposed": (lambda parts: parts.update(cells=[2, 3]), "inequalities violated"),
    "another box": (
        lambda parts: parts.update(low=[-1000, -41]),
        "another region than stated",
    ),
    "another reach": (
        lambda parts: parts.update(reach=parts["reach"] + 1),
        "another region than stated",
    ),
}
"""A change of a file that is right, sealed anew, and what everybody then finds."""


@pytest.mark.parametrize("name", FORGED)
def test_all_refuse_a_forged_file_for_the_same_reason(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    change, found = FORGED[name]
    parts = lattices.KINDS["a box"].parts()
    change(parts)
    refused_by_all(written(parts, tmp_path), capsys, found, found)


def _off_by_one(parts: dict[str, Any]) -> None:
    weights = lattices.KINDS["a box"].weights()
    weights[-1] += 1
    parts["weights"] = noises.packed(weights)


WRONG: dict[str, tuple[Callable[[dict[str, Any]], object], int]] = {
    "a row off by one": (_off_by_one, 1),
    "more bits": (lambda parts: parts.update(bits=49), 1),
    "more cells": (lambda parts: parts.update(cells=[3, 3]), 2),
    "no side": (lambda parts: parts.update(side=0), 2),
    "another version": (lambda parts: parts.update(version=2), 2),
}
"""Changes after which a file is none of this library, and the status of the other program: 1 where a sum is a check."""


@pytest.mark.parametrize("name", WRONG)
def test_all_refuse_a_file_that_is_not_whole(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    change, status = WRONG[name]
    parts = lattices.KINDS["a box"].parts()
    change(parts)
    path = written(parts, tmp_path)
    assert say(capsys, "verify", path).status == 2
    assert alone(path).returncode == status_of_the_page(path, status) == status


def test_a_bit_that_was_altered_is_seen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(lattices.KINDS["a box"].parts(), tmp_path)
    path.write_bytes(path.read_bytes().replace(b'"side":1250', b'"side":1251'))
    assert say(capsys, "verify", path).status == 2
    assert alone(path).returncode == 2


def test_a_claim_that_no_float_holds_is_judged_all_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """So little is claimed over so long a side that all slopes are allowed, by more than a float can say."""
    box = noises.Small((1, 1), (3, 3), Fraction(1), "m", (1 - 2**30, 1 - 2**30), 2**31 - 2)
    parts = lattices.Small(box).parts()
    parts["guarantee"]["epsilon"] = str(10**300)
    path = written(parts, tmp_path)
    assert say(capsys, "verify", path).status == alone(path).returncode == 0
    assert status_of_the_page(path, 0) == 0
