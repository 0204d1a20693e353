"""The two verifiers on forged channels: both refuse what is false, and none passes what the other refuses.

Every digest is made right again where it can be, so that it is the claim which is false. The standalone program may say
NOT CHECKED, with a status of its own, where it cannot tell.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from cli.commands import say
from discreet.artefact import save, save_anchored
from discreet.core.spaces.geography import great_circle
from discreet.core.spaces.metric import MetricSpace
from discreet.metricdp.problem import Problem
from forging import forge, restate
from handmade import exponential, grid
from test_anchored_artefact import ball, small
from test_standalone import RIGHT, apart, points, standalone

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Arrays = dict[str, np.ndarray[Any, Any]]
    Change = Callable[[dict[str, Any], Arrays], object]

PASSED, FAILED, REFUSED, NOT_CHECKED = 0, 1, 2, 3


def on_a_sphere(metric: str, unit: str) -> Callable[[], Any]:
    """Make a few directions, or places on a globe."""

    def make() -> Any:
        rng = np.random.default_rng(3)
        places = rng.random((5, 2)) * 1e-5 if metric == "haversine" else rng.normal(size=(5, 3))
        space = MetricSpace.from_points(places, metric=metric, unit=unit)
        return exponential(Problem(space, utility_loss="distance"))

    return make


def hyperbolic() -> Any:
    places = np.random.default_rng(3).random((5, 2)) * 0.6
    space = MetricSpace.from_points(places, metric="hyperbolic", unit="h")
    return exponential(Problem(space, utility_loss="distance"), radius=2)


def part_of_a_grid() -> Any:
    space = MetricSpace.grid(3, 3, cell="0.3", unit="km").restrict([0, 1, 4, 8])
    return exponential(Problem(space, utility_loss="distance"))


def verdicts(path: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, int]:
    """Give what the standalone program says, and what the command does."""
    alone = standalone.main([str(path)])
    return alone, say(capsys, "verify", path, "--optimality").status


@pytest.mark.parametrize(
    "make",
    [
        *RIGHT.values(),
        on_a_sphere("angular", "rad"),
        on_a_sphere("haversine", "m"),
        hyperbolic,
        part_of_a_grid,
    ],
    ids=[*RIGHT, "angular", "meters", "hyperbolic", "part of a grid"],
)
def test_both_pass_what_is_right(
    tmp_path: Path, make: Callable[[], Any], capsys: pytest.CaptureFixture[str]
) -> None:
    save(make(), tmp_path / "a")
    assert verdicts(tmp_path / "a", capsys) == (PASSED, 0)


@pytest.mark.parametrize("make", [small, ball])
def test_both_pass_anchored_channels(
    tmp_path: Path, make: Callable[[], Any], capsys: pytest.CaptureFixture[str]
) -> None:
    save_anchored(make(), tmp_path / "a")
    assert verdicts(tmp_path / "a", capsys) == (PASSED, 0)


def space(**values: object) -> Change:
    return lambda meta, _: meta["space"].update(values)


def claim(**values: object) -> Change:
    return lambda meta, _: meta["guarantee"].update(values)


def scope(**values: object) -> Change:
    return lambda meta, _: meta["guarantee"]["scope"].update(values)


def state(**values: object) -> Change:
    return lambda meta, _: meta.update(values)


def array(name: str, change: Callable[[Any], np.ndarray[Any, Any]]) -> Change:
    return lambda _, arrays: arrays.update({name: change(arrays[name].copy())})


def scaled(factor: int) -> Change:
    return array("distances", lambda stored: stored * factor)


def moved(to: float) -> Change:
    def change(at: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        at[0] = to
        return at

    return array("points", change)


def in_another_unit(unit: str) -> Change:
    def change(meta: dict[str, Any], _: Arrays) -> None:
        meta["space"]["unit"] = meta["guarantee"]["unit"] = unit

    return change


def cells(cell: str, metric: str, factor: int) -> Change:
    """State large cells of a grid beside points that are near: what the standalone program once did not compare."""

    def change(meta: dict[str, Any], arrays: Arrays) -> None:
        n = arrays["prior"].size
        meta["space"].update(cell=cell, metric=metric)
        arrays["distances"] *= factor
        arrays["places"] = np.stack([np.zeros(n), np.arange(n)], axis=1).astype("<i8")

    return change


def drop(*path: str) -> Change:
    def change(meta: dict[str, Any], _: Arrays) -> None:
        inside: Any = meta
        for name in path[:-1]:
            inside = inside[name]
        del inside[path[-1]]

    return change


def together(*changes: Change) -> Change:
    def change(meta: dict[str, Any], arrays: Arrays) -> None:
        for one in changes:
            one(meta, arrays)

    return change


def joined_elsewhere(meta: dict[str, Any], arrays: Arrays) -> None:
    """Join the groups by the longest link instead of the shortest, and say so everywhere."""
    before = arrays["joined"][0].tolist()
    arrays["joined"] = np.array([[0, 4]], dtype="<i4")
    kept = [pair for pair in arrays["binding"].tolist() if pair != before]
    arrays["binding"] = np.array(sorted([*kept, [0, 4]]), dtype="<i4")


def as_type(name: str, kind: str) -> Change:
    return array(name, lambda values: values.astype(kind))


def on_points(metric: str = "euclidean") -> Callable[[], Any]:
    return lambda: points(metric)


FALSE: dict[str, tuple[Callable[[], Any], Change]] = {
    # Cells, and points that are elsewhere.
    "cells of a kilometer, points of a meter": (on_points(), cells("1000", "euclidean", 1000)),
    "the same on a globe": (on_points("haversine"), cells("1000", "haversine", 1000)),
    "the same as a grid": (on_points(), cells("1000", "grid", 1000)),
    "cells at no distance": (on_points(), cells("1", "grid", 0)),
    "larger cells": (grid, space(cell="2")),
    "cells a part in a billion larger": (grid, space(cell="1.000000001")),
    "a cell of no size": (grid, space(cell="0")),
    "a negative cell": (grid, space(cell="-1")),
    "places that are not there": (grid, lambda _, arrays: arrays.pop("places")),
    "a place moved": (grid, array("places", lambda places: places * [2, 1])),
    "a place beyond 64 bits": (grid, array("places", lambda places: places + 2**62)),
    "points beside the cells": (grid, moved(7.5)),
    "points that are not numbers": (grid, moved(float("nan"))),
    "a point out of range": (grid, moved(1e200)),
    "a graph of cells": (grid, space(metric="graph")),
    # Distances and what they are measured from.
    "distances times 1000": (on_points(), scaled(1000)),
    "distances times 2 on a globe": (on_points("haversine"), scaled(2)),
    "distances times 2 among directions": (on_a_sphere("angular", "rad"), scaled(2)),
    "distances times 2 in a ball": (hyperbolic, scaled(2)),
    "distances times 2 in a part of a grid": (part_of_a_grid, scaled(2)),
    "distances so long that sums wrap": (on_points(), scaled(2**18)),
    "negative distances": (on_points(), scaled(-1)),
    "another scale": (on_points(), space(scale_bits=40)),
    "points together": (on_points(), moved(0.9)),
    "a place beyond the pole": (on_points("haversine"), moved(91.0)),
    "a direction without length": (on_a_sphere("angular", "rad"), moved(0.0)),
    "a direction whose square is no number": (on_a_sphere("angular", "rad"), moved(1e-200)),
    "a point on the sphere": (hyperbolic, moved(0.8)),
    "a part of a grid elsewhere": (part_of_a_grid, moved(0.4)),
    # The metric exchanged, and units.
    "manhattan distances called euclidean": (on_points("manhattan"), space(metric="euclidean")),
    "great circles called euclidean": (on_points("haversine"), space(metric="euclidean")),
    "meters called kilometers": (on_a_sphere("haversine", "m"), in_another_unit("km")),
    "kilometers called miles": (on_points("haversine"), in_another_unit("mi")),
    "degrees of angles": (on_a_sphere("angular", "rad"), in_another_unit("degrees")),
    "epsilon per meter": (on_points(), claim(unit="m")),
    "no unit": (on_points(), in_another_unit(" ")),
    "a metric that nobody knows": (on_points(), space(metric="taxi")),
    # Numbers of the claim.
    "half of epsilon": (on_points(), claim(epsilon="1")),
    "epsilon with an exponent": (on_points(), claim(epsilon="1e300000000")),
    "epsilon with a negative exponent": (on_points(), claim(epsilon="1e-300000000")),
    "epsilon below all floats": (on_points(), claim(epsilon="1e-999")),
    "epsilon true": (on_points(), claim(epsilon=True)),
    "epsilon infinite": (on_points(), claim(epsilon=float("inf"))),
    "epsilon of many digits": (on_points(), claim(epsilon="1" * 1001)),
    "a radius with an exponent": (on_points(), claim(radius="1e300000000")),
    "a larger radius": (on_points(), claim(radius="20")),
    "a cell with an exponent": (grid, space(cell="1e300000000")),
    "an epsilon for all pairs with an exponent": (
        on_points(),
        scope(all_pairs_epsilon="1e300000000"),
    ),
    "an epsilon for all pairs of 0": (on_points(), scope(all_pairs_epsilon=0)),
    "an epsilon for all pairs that is no text": (on_points(), scope(all_pairs_epsilon="")),
    "a scale that fills the memory": (grid, space(scale_bits=10**15)),
    "a scale that is true": (grid, space(scale_bits=True)),
    "counts that are no integers": (on_points(), scope(n_secrets=6.0)),
    "somebody isolated who is not there": (apart, scope(isolated=[2, 7])),
    "somebody isolated twice": (apart, scope(isolated=[2, 2])),
    "a scope with more": (on_points(), scope(more=1)),
    # Parts that are no proof and yet part of the file.
    "an upper bound as text": (on_points(), state(upper="100")),
    "an upper bound below the loss": (on_points(), state(upper=1e-9)),
    "a lower bound that is true": (on_points(), state(lower=True)),
    "a lower bound above": (on_points(), state(lower=0.5)),
    "labels that are equal": (on_points(), state(labels=["a"] * 6)),
    "one label": (on_points(), state(labels=["a"])),
    "no status": (on_points(), drop("status")),
    "no certificate": (on_points(), drop("certificate")),
    "no versions": (on_points(), drop("provenance", "versions")),
    "a seed of -1": (on_points(), lambda meta, _: meta["provenance"].update(seeded=-1)),
    "a seed": (on_points(), lambda meta, _: meta["provenance"].update(seeded=True)),
    "a number that is none in a note": (
        on_points(),
        lambda meta, _: meta["provenance"]["parameters"].update(delta=float("nan")),
    ),
    "a check without a number": (
        on_points(),
        lambda meta, _: meta["certificate"]["checks"][0].update(residual="many"),
    ),
    # Arrays.
    "another type of prior": (on_points(), as_type("prior", "<f4")),
    "losses as integers": (on_points(), as_type("loss", "<i8")),
    "distances without a sign": (on_points(), as_type("distances", "<u8")),
    "an array more": (on_points(), lambda _, arrays: arrays.update(factors=np.zeros(1, "<i8"))),
    "no joined links": (on_points(), lambda _, arrays: arrays.pop("joined")),
    "no binding links": (on_points(), lambda _, arrays: arrays.pop("binding")),
    "binding links forgotten": (on_points(), array("binding", lambda links: links[1:])),
    "binding links of nobody": (on_points(), array("binding", lambda links: links + 3)),
    "binding links twice": (
        on_points(),
        array("binding", lambda links: np.concatenate([links, links])),
    ),
    "a binding link that binds nothing": (
        on_points(),
        array("binding", lambda links: np.concatenate([links, np.array([[0, 5]], "<i4")])),
    ),
    "joined by a longer link": (on_points(), joined_elsewhere),
    "reports of nobody": (grid, array("reports", lambda reports: reports + 1)),
    "a report twice": (grid, array("reports", np.zeros_like)),
    "multipliers that are missing": (grid, lambda _, arrays: arrays.pop("multipliers_value")),
    "a limb beyond its base": (
        RIGHT["two limbs, no bound"],
        array("limbs", lambda limbs: np.stack([limbs[0] - np.uint64(1), limbs[1] + 2**62])),
    ),
    "a prior that sums to 1.0001": (on_points(), array("prior", lambda prior: prior * 1.0001)),
}


@pytest.mark.parametrize(("make", "change"), FALSE.values(), ids=FALSE)
def test_both_refuse_what_is_false(
    tmp_path: Path,
    make: Callable[[], Any],
    change: Change,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / "a"
    save(make(), path)
    try:
        forge(path, together(change, restate))
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError):
        # What is too strange for new digests is as strange with the old ones.
        save(make(), path)
        forge(path, change)
    alone, command = verdicts(path, capsys)
    assert alone in {FAILED, REFUSED, NOT_CHECKED}
    assert command in {1, 2}


def test_what_the_command_refuses_to_compare_is_compared_by_both(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A hash of an input assumed to be public that is not that of the input."""
    save(points(), tmp_path / "a")
    forge(tmp_path / "a", lambda _, arrays: arrays["loss"].__imul__(0.5))
    assert verdicts(tmp_path / "a", capsys) == (REFUSED, 2)


ANCHORED: dict[str, Change] = {
    "half of epsilon": claim(epsilon="1"),
    "no scope": claim(scope=None),
    "no epsilon for all pairs": scope(all_pairs_epsilon=None),
    "a smaller epsilon for all pairs": scope(all_pairs_epsilon="1"),
    "a rate with an exponent": state(rate="1e300000000"),
    "another rate": state(rate="0.7"),
    "a lift of 1": state(lift=1),
    "a share with an exponent": state(totals_share="1e-300000000"),
    "a share beyond all": state(totals_share="1"),
    "another digest": state(channel="0" * 64),
    "half a ball": lambda _, arrays: arrays.pop("ball_weights"),
    "an explicit weight of 0": array("ball_weights", np.zeros_like),
    "fewer names": array("names", lambda names: names[1:]),
    "a factor more": array("factors", lambda factors: factors + 1),
    "points moved": moved(0.0),
    "distances times 2": scaled(2),
    "another metric": space(metric="haversine"),
    "a scale that fills the memory": space(scale_bits=10**15),
    "a label": state(labels=["a"]),
    "counts that are no integers": scope(joined=0.0),
    "an array more": lambda _, arrays: arrays.update(prior=np.zeros(12)),
}


@pytest.mark.parametrize("change", ANCHORED.values(), ids=ANCHORED)
def test_none_passes_an_anchored_channel_that_the_other_refuses(
    tmp_path: Path, change: Change, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a"
    save_anchored(ball(), path)
    alone, command = verdicts(forge(path, change), capsys)
    # Without a scope nothing is said about all pairs, and the command has nothing to compare.
    assert (alone, command) == (NOT_CHECKED, 0) or (alone > 0 and command in {1, 2})
    assert command > 0 or change is ANCHORED["no scope"]


def test_an_anchored_channel_that_keeps_its_promise_in_another_way_is_not_checked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With another part of epsilon for the totals the theorem says nothing, though each ratio is small enough."""
    path = tmp_path / "a"
    save_anchored(small(), path)
    forge(path, state(totals_share="1/10000"))
    assert verdicts(path, capsys) == (NOT_CHECKED, 1)
    for change in (
        array("binding", lambda links: links[1:]),
        array("binding", lambda links: links[:, ::-1]),
        lambda _, arrays: arrays.pop("binding"),
    ):
        save_anchored(small(), path)
        forge(path, change)
        assert verdicts(path, capsys) == (NOT_CHECKED, 0)


def test_what_is_no_channel_is_not_called_broken(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The mechanism of a location service is text; another program checks it."""
    path = tmp_path / "a.mechanism"
    path.write_text('{"form": "discreet.mechanism/1"}')
    assert standalone.main([str(path)]) == NOT_CHECKED
    assert "NOT CHECKED: text" in capsys.readouterr().err


def test_a_distance_at_the_limit_of_floats_is_not_checked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is above the true one by what floats are given, and a little more or less decides."""
    path = tmp_path / "a"
    save(points("haversine"), path)
    room = 6371.0088e-10

    def longer(meta: dict[str, Any], arrays: Arrays) -> None:
        # The stored one was shortened to a geodesic.
        longest = Fraction(float(great_circle(*arrays["points"][:2]))) + Fraction(room)
        arrays["distances"][0] = round(longest * 2 ** meta["space"]["scale_bits"])
        restate(meta, arrays)

    forge(path, longer)
    standalone.main([str(path)])
    assert "NOT CHECKED  distances above" in capsys.readouterr().out


def test_a_long_grid_is_checked_though_its_cells_are_small(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Beyond 337 cells in a row the closed form need not keep the triangle inequality, and is looked at."""
    space = MetricSpace.grid(2, 2, cell="0.1", unit="km")
    made = exponential(Problem(space, utility_loss="euclidean"))
    path = tmp_path / "a"
    save(made, path)
    read = standalone.Artefact(str(path))
    read.scale = 0

    def too_long(rows: int, columns: int) -> int:
        return 3 if rows and columns else rows + columns

    def as_it_is(rows: int, columns: int) -> int:
        return 2 if rows and columns else rows + columns

    assert standalone.is_closed(read, as_it_is)
    assert not standalone.is_closed(read, too_long)
    capsys.readouterr()


FORGED_LINE = "km\nok       all of it\x1b[2J\u202e"


def test_the_standalone_program_prints_no_line_of_a_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A unit is one word, and whatever else is printed of a file is escaped."""
    for unit in (FORGED_LINE + "x" * 10**6, "km, all pairs", " ", "km\n"):
        path = tmp_path / "a"
        save(RIGHT["matrix"](), path)
        forge(path, in_another_unit(unit))
        assert standalone.main([str(path)]) == REFUSED
        said = capsys.readouterr()
        assert "a unit that it does not have" in said.err
        assert "\x1b" not in said.out + said.err


def test_the_standalone_program_quotes_a_file_escaped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a"
    save(points(), path)
    forge(path, state(kind=FORGED_LINE * 1000))
    assert standalone.main([str(path)]) == REFUSED
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert "\x1b" not in err
    assert len(err) < 500
