"""The verifier in JavaScript, under Node: it says of every forged file what the standalone program says.

``verify_standalone.html`` is one page; its script runs here as it is. The campaign (``make test-forger``) takes it as a
third verifier, so that one that passes what another refuses is a hole.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import random
import zipfile
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import lattices
import noises
from discreet.lrgeo.mechanism import packed
from forger.kinds import FORGED, kind, standalone
from forging import forge
from node import NODE, Verifier, page, program

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.skipif(NODE is None, reason="NOT RUN: there is no Node")

DATA = Path(__file__).parents[1] / "data"
CLASSES = {0: "accepted", 1: "refused", 2: "refused", 3: "not checked"}


def other(path: Path) -> str:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        return CLASSES[standalone().main([str(path)])]


@pytest.mark.parametrize(
    ("name", "mutants"),
    [
        ("channel", 120),
        ("anchored", 80),
        ("noise-mechanism", 150),
        ("lattice-mechanism", 150),
    ],
)
def test_it_agrees_with_the_standalone_program_on_each_mutant(
    name: str, mutants: int, tmp_path: Path
) -> None:
    made, said = kind(name), []
    with Verifier() as third:
        for number in range(mutants):
            with contextlib.suppress(ArithmeticError, LookupError, TypeError, ValueError):
                made.write(made.catalogue.mutant(number).parts, tmp_path / "mutant", number)
                said.append((number, CLASSES[third.judge(tmp_path / "mutant")["status"]]))
                assert said[-1] == (number, other(tmp_path / "mutant"))
    assert len(said) > 0.9 * mutants
    assert {answer for _, answer in said} == {*CLASSES.values()}


BROKEN = {
    "the inequalities": (
        "function checkInequalities(a) {",
        "function checkInequalities() { return ['', 0, '']; } function none(a) {",
    ),
    "the sums of rows": ("sum !== a.totals[i]", "false"),
    "the hashes of members": ("=== sha256(held.get(name)), `${name} was altered`", '!== "", ""'),
    "the scope": ("a.scope.get(name) !== value", "false"),
}


@pytest.mark.parametrize("part", BROKEN)
def test_one_that_is_broken_disagrees(part: str, tmp_path: Path) -> None:
    old, new = BROKEN[part]
    text = program()
    assert old in text
    path = tmp_path / "mutant"
    path.write_bytes((DATA / "channel-1.channel").read_bytes())
    found = []
    with Verifier(text.replace(old, new)) as broken:
        assert broken.judge(path)["status"] == 0
        for damage in _damages(path):
            path.write_bytes(damage)
            found.append(CLASSES[broken.judge(path)["status"]] == other(path))
    assert not all(found)


def _damages(path: Path) -> Iterator[bytes]:
    """Make files that are wrong in one way each."""

    def more(_: object, arrays: dict[str, Any]) -> None:
        arrays["limbs"][0, 0, 0] += np.uint64(1)

    whole = path.read_bytes()
    for change in (
        lambda meta, _: meta["guarantee"].update(epsilon="1"),
        more,
        lambda meta, _: meta["guarantee"]["scope"].update(components=2),
    ):
        path.write_bytes(whole)
        yield forge(path, change).read_bytes()
    path.write_bytes(whole)
    with zipfile.ZipFile(path) as archive:
        data = {name: archive.read(name) for name in archive.namelist()}
    meta = json.loads(data["meta.json"])
    meta["members"]["binding.npy"]["sha256"] = "0" * 64
    with zipfile.ZipFile(path, "w") as archive:
        for name, body in {**data, "meta.json": json.dumps(meta).encode()}.items():
            archive.writestr(name, body)
    yield path.read_bytes()


def test_files_that_are_kept_are_accepted() -> None:
    with Verifier() as third:
        for path in sorted(DATA.glob("*.channel")):
            assert third.judge(path)["status"] == 0


CHECKED = {
    "channel",
    "anchored",
    "lattice-mechanism",
    "mechanism",
    "noise-mechanism",
}
"""Kinds that the page judges."""

UNCHECKED = {
    "anonymous-table": ("anonymous tables", ("anonymous-1.csv", "anonymous-1.csv.discreet.json")),
    "choice": ("private choices", ("choice-1.choice",)),
    "ledger": ("ledgers of privacy budgets", ("ledger-1.db",)),
    "measurements": ("noisy measurements of counts", ("measurements-1.parquet.discreet.json",)),
    "region-counts": ("counts by region", ("counts-1.csv", "counts-1.parquet.discreet.json")),
    "region-tables": ("tables by region", ("tables-1.parquet", "tables-1.parquet.discreet.json")),
    "state": ("what a client of a location service remembers", ()),
    "table-measurements": ("noisy measurements of tables", ()),
}
"""Every other kind: the words by which the page says that it does not check it, and files of that kind."""


def test_the_page_says_which_kinds_it_does_not_check() -> None:
    assert {*UNCHECKED} == {*FORGED} - CHECKED
    listed = page().partition("What this page does not check</h2>")[2].partition("<script>")[0]
    with Verifier() as third:
        for words, files in UNCHECKED.values():
            assert words in " ".join(listed.split())
            for name in files:
                found = third.judge(DATA / name)
                assert (found["status"], found["checks"]) == (3, [])
                assert "use discreet verify" in found["reason"]


def test_hashes_exponentials_and_numbers_are_those_of_the_other_program() -> None:
    rng = random.Random(5)  # noqa: S311 - cases of a test
    with Verifier() as third:
        for size in (0, 1, 55, 56, 63, 64, 119, 120, 1000):
            body = rng.randbytes(size)
            found = third.evaluate(f"sha256(Uint8Array.from({list(body)}))")
            assert found == hashlib.sha256(body).hexdigest()
        for _ in range(60):
            x = Fraction(rng.randrange(10**9), rng.randrange(1, 10**8))
            bits = rng.choice([1, 30, 128, 200])
            call = f"expBounds([{x.numerator}n, {x.denominator}n], {bits}n).map(String)"
            assert [int(one) for one in third.evaluate(call)] == [*standalone().exp_bounds(x, bits)]
        for text in (
            "1",
            "-3/6",
            " 1_0.5e-3\n",
            ".5",
            "5.",
            "1e3",
            "\u0663/\u0664",
            "\uff10.1",
            "1e1000",
        ):
            call = f"number({json.dumps(text)}, '').map(String)"
            numerator, denominator = third.evaluate(call)
            assert Fraction(int(numerator), int(denominator)) == standalone().number(text, "")
        for text in ("", "1/0", "1 2", "0x1", "1e1001", "nan", "e", "--1", "1//2", "½"):
            with pytest.raises((ValueError, ArithmeticError)):
                standalone().number(text, "")
            assert third.evaluate(f"number({json.dumps(text)}, '')") is None


@pytest.mark.parametrize("values", [[-300, -260], [-1, -1], [5, 7], [-3, 9], [0, 255], [-1, 255]])
def test_both_read_packed_integers_as_they_are_written(values: list[int]) -> None:
    """Where all are negative, the width counts from zero."""
    stated = packed(np.array(values))
    assert standalone().unpack(stated, 1) == values
    with Verifier() as third:
        call = f"unpack(parseJSON({json.dumps(json.dumps(stated))}), '').map(String)"
        assert [int(one) for one in third.evaluate(call)] == values


def _sealed(whole: dict[str, Any], path: Path) -> None:
    """Write a mechanism for every point with the digest of what it is now."""
    bare = {name: part for name, part in whole.items() if name != "digest"}
    digest = hashlib.sha256(standalone().canonical(bare)).hexdigest()
    path.write_bytes(standalone().canonical({**bare, "digest": digest}) + b"\n")


def _found(path: Path) -> list[tuple[str, int]]:
    return [one[:2] for one in standalone().verify(standalone().everywhere(path))]


def _each_finds_as_much(files: Iterator[dict[str, Any]], path: Path) -> None:
    """Judge a file that is right and damaged ones: check by check the page counts what the other program counts."""
    statuses = set()
    with Verifier() as third:
        for number, parts in enumerate(files):
            _sealed(parts, path)
            found = third.judge(path)
            statuses.add(found["status"])
            assert CLASSES[found["status"]] == other(path)
            assert number or "any two points of the region" in found["claim"]
            if found["status"] < 2:
                assert [(name, wrong) for name, wrong, _ in found["checks"]] == _found(path)
    assert statuses >= {0, 1, 2}


def _damages_of_both(whole: dict[str, Any]) -> tuple[dict[str, Any], ...]:
    """List changes of parts that files of noise and of rows have in common."""
    return (
        {"shown": [whole["shown"][1], *whole["shown"][1:]]},
        {"side": whole["side"] + 1},
        {"side": 2**30},
        {"low": [whole["low"][0] + 1, whole["low"][1]]},
        {"low": [2**30, 0]},
        {"low": whole["low"][:1]},
        {"east": whole["east"] + 1},
        {"reach": whole["reach"] + 1},
        {"bits": whole["bits"] - 1},
        {"bits": 54},
        {"version": True},
        {"guarantee": {**whole["guarantee"], "epsilon": "1/100000"}},
        {"guarantee": {**whole["guarantee"], "epsilon": str(10**300)}},
        {"guarantee": {**whole["guarantee"], "radius": "1"}},
        {"provenance": {**whole["provenance"], "seeded": True}},
    )


def _noise_damages(whole: dict[str, Any], rng: random.Random) -> Iterator[dict[str, Any]]:
    (m, n), noise = whole["torus"], standalone().unpack(whole["noise"], 1)
    for power in range(40):
        moved = list(noise)
        i, j = rng.sample(range(m * n), 2)
        part = moved[i] >> power
        moved[i], moved[j] = moved[i] - part, moved[j] + part
        yield {**whole, "noise": packed(np.array(moved))}
    for at, value in ((0, 0), (1, -1), (2, noise[2] + 1)):
        moved = [value if here == at else one for here, one in enumerate(noise)]
        yield {**whole, "noise": packed(np.array(moved))}
    below = [
        -1 if not here else one + (here == 1) * (noise[0] + 1) for here, one in enumerate(noise)
    ]
    names = standalone().unpack(whole["names"], 1)
    for more in (-1, 0, 1, 2):
        rate = noises.limit(noise, (m, n), 20) + Fraction(more, 10**20)
        epsilon = str(rate * noises.DECIMETERS[whole["unit"]] / whole["side"])
        yield {**whole, "guarantee": {**whole["guarantee"], "epsilon": epsilon}}
    changes: tuple[dict[str, Any], ...] = (
        {"noise": packed(np.array(below))},
        {"names": packed(np.array([len(whole["shown"]), *names[1:]]))},
        {"names": packed(np.array(names[1:]))},
        {"torus": [n, m]},
        {"torus": [1, m * n]},
        *_damages_of_both(whole),
        {"cells": [m - 1, 1]},
        {"mesh_lower": None},
    )
    yield from ({**whole, **change} for change in changes)


@pytest.mark.parametrize("name", noises.KINDS)
def test_every_check_of_noise_finds_as_much_as_the_other_program(name: str, tmp_path: Path) -> None:
    whole = noises.KINDS[name].parts()
    damaged = _noise_damages(whole, random.Random(name))  # noqa: S311 - cases of a test
    _each_finds_as_much(iter([whole, *damaged]), tmp_path / "mutant")


BROKEN_SLOPES = {
    "no slopes to the north": ("Math.hypot(x, y)", "Math.abs(x)"),
    "knots alone": ("for (const inX of [KNOT, MIDDLE])", "for (const inX of [KNOT])"),
    "slopes in floats alone": ("|| !slopeHolds(exact(), inX, inY, rate)", ""),
    "another torus": ("table[row + (b + 2) % n]", "table[row + (b + 1) % n]"),
}


def _lattice_damages(whole: dict[str, Any], rng: random.Random) -> Iterator[dict[str, Any]]:
    weights, k = standalone().unpack(whole["weights"], 1), len(whole["shown"])
    cells = tuple(whole["cells"])
    points = len(weights) // k
    for power in range(60):
        moved, point = list(weights), rng.choice([0, points - 1, rng.randrange(points)])
        i, j = (point * k + report for report in rng.sample(range(k), 2))
        part = moved[i] >> power % 40
        moved[i], moved[j] = moved[i] - part, moved[j] + part
        yield {**whole, "weights": packed(np.array(moved))}
    for at, value in ((0, 0), (1, -1), (len(weights) - 1, weights[-1] + 1)):
        moved = [value if here == at else one for here, one in enumerate(weights)]
        yield {**whole, "weights": packed(np.array(moved))}
    less = [*weights]
    less[0], less[1] = -1, less[1] + less[0] + 1
    across = [*weights]
    across[0], across[k] = across[0] - 1, across[k] + 1
    for more in (-1, 0, 1, 2):
        rate = lattices.limit(weights, cells, k, 20) + Fraction(more, 10**20)
        epsilon = str(rate * noises.DECIMETERS[whole["unit"]] / whole["side"])
        yield {**whole, "guarantee": {**whole["guarantee"], "epsilon": epsilon}}
    wide, tall = cells
    changes: tuple[dict[str, Any], ...] = (
        {"weights": packed(np.array(less))},
        {"weights": packed(np.array(across))},
        {"weights": packed(np.array(weights[k:]))},
        {"weights": packed(np.array(weights[1:]))},
        {"cells": [tall, wide]},
        {"cells": [points // 2 - 2, 0]},
        {"cells": [-1, points - 2]},
        {"cells": [wide + 1, tall]},
        *_damages_of_both(whole),
        {"torus": [3, 3]},
        {"mesh_lower": "inf"},
        {"mesh_lower": "0.5"},
    )
    yield from ({**whole, **change} for change in changes)


@pytest.mark.parametrize("name", lattices.KINDS)
def test_every_check_of_rows_finds_as_much_as_the_other_program(name: str, tmp_path: Path) -> None:
    whole = lattices.KINDS[name].parts()
    damaged = _lattice_damages(whole, random.Random(name))  # noqa: S311 - cases of a test
    _each_finds_as_much(iter([whole, *damaged]), tmp_path / "mutant")


BROKEN_SPLINES = {
    "no middles to the east": ("a < wide ? [KNOT, MIDDLE] : [KNOT]", "[KNOT]"),
    "no middles to the north": ("b < tall ? [KNOT, MIDDLE] : [KNOT]", "[KNOT]"),
    "not the last knots": ("a <= wide; a += 1", "a < wide; a += 1"),
    "not the last report": ("report < k; report += 1", "report < k - 1; report += 1"),
    "splines in floats alone": ("|| !slopeHolds(exact(), inX, inY, rate)", ""),
    "another control point": ("b + j) * k + report]", "b + i) * k + report]"),
}


@pytest.mark.parametrize(
    ("kind", "damages", "old", "new"),
    [
        pytest.param(kind, damages, *parts, id=name)
        for kind, damages, broken in (
            (noises.KINDS["a box"], _noise_damages, BROKEN_SLOPES),
            (lattices.KINDS["a box"], _lattice_damages, BROKEN_SPLINES),
        )
        for name, parts in broken.items()
    ],
)
def test_one_whose_slopes_or_splines_are_broken_disagrees(
    kind: Any, damages: Callable[..., Iterator[dict[str, Any]]], old: str, new: str, tmp_path: Path
) -> None:
    text, path = program(), tmp_path / "mutant"
    assert text.count(old) == 1

    def agrees(damaged: dict[str, Any]) -> bool:
        _sealed(damaged, path)
        said = broken.judge(path)
        checks = [(name, wrong) for name, wrong, _ in said["checks"]]
        same = CLASSES[said["status"]] == other(path)
        return same and (said["status"] > 1 or checks == _found(path))

    with Verifier(text.replace(old, new)) as broken:
        assert not all(map(agrees, damages(kind.parts(), random.Random(3))))  # noqa: S311 - cases


def test_the_page_is_one_file_that_fetches_nothing_and_says_what_it_is_not() -> None:
    text = page()
    assert "default-src 'none'" in text
    for word in ("http:", "https:", "fetch(", "import(", "XMLHttp", "innerHTML", "src=", "href="):
        assert word not in text
    assert "A page can't vouch for itself" in text
    assert text.count("<script>") == text.count("</script>") == 1
