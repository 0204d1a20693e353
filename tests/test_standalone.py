"""The standalone verifier: it accepts what is right, needs nothing but Python, and rejects each thing that is wrong."""

from __future__ import annotations

import ast
import importlib.util
import subprocess
import sys
import zipfile
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.artefact import save
from discreet.core.channels.channel import Channel
from discreet.core.exact import exp_ceil, exp_floor
from discreet.core.spaces.metric import MetricSpace
from discreet.metricdp.problem import Problem
from forging import forge, restate
from handmade import exponential, grid

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from discreet.core.outcome import Design
    from discreet.metricdp.bounds.bound import Multipliers

    MetricDesign = Design[Problem, Multipliers]
    Arrays = dict[str, np.ndarray[Any, Any]]

SCRIPT = Path(__file__).parents[1] / "verify_standalone.py"


def load_script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("verify_standalone", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


standalone = load_script()


def points(metric: str = "euclidean") -> MetricDesign:
    """Make two groups far apart, two secrets in one place, and a prior."""
    places = [[0.0, 0.0], [0.5, 0.25], [1.0, 0.0], [1.0, 0.0], [9.0, 9.0], [9.5, 9.0]]
    degrees = 0.01 if metric == "haversine" else 1.0
    space = MetricSpace.from_points(np.array(places) * degrees, metric=metric, unit="km")
    prior = np.array([1, 2, 3, 4, 5, 6]) / 21
    return exponential(Problem(space, utility_loss="euclidean", prior=prior), radius="1.5")


def apart() -> MetricDesign:
    """Leave one secret unprotected, and say so."""
    space = MetricSpace.from_points([[0.0], [1.0], [9.0]], unit="km")
    return exponential(Problem(space, utility_loss="euclidean"), radius=1, joined=False)


def matrix() -> MetricDesign:
    """Make a space without points, of which all pairs are constrained."""
    space = MetricSpace.from_matrix(
        [[0.0, 1.0, 2.0], [1.0, 0.0, 1.5], [2.0, 1.5, 0.0]], unit="edit"
    )
    return exponential(Problem(space, utility_loss="distance"))


def two_limbs() -> MetricDesign:
    """Make a channel of 124 bits without a lower bound."""
    made = matrix()
    constant = Channel.from_weights(
        np.full((3, 3), 2**124 // 3, dtype=object) + np.eye(3, dtype=int)[0]
    )
    upper = constant.expected_loss(made.problem.cost)
    return replace(made, channel=constant, upper=upper, lower=None, witness=None)


RIGHT: dict[str, Callable[[], MetricDesign]] = {
    "grid": lambda: grid(3, 4, cell="0.1"),
    "grid with a radius": lambda: grid(3, 4, cell="1/3", radius="0.7"),
    "one secret": lambda: grid(1, 1),
    "joined, with duplicates": points,
    "manhattan": lambda: points("manhattan"),
    "haversine": lambda: points("haversine"),
    "unprotected, and says so": apart,
    "matrix": matrix,
    "two limbs, no bound": two_limbs,
}


@pytest.mark.parametrize("make", RIGHT.values(), ids=RIGHT)
def test_what_is_right_is_accepted(
    tmp_path: Path, make: Callable[[], MetricDesign], capsys: pytest.CaptureFixture[str]
) -> None:
    save(make(), tmp_path / "a.channel")
    assert standalone.main([str(tmp_path / "a.channel")]) == 0
    assert "FAILED" not in capsys.readouterr().out


def test_the_frozen_file_of_version_1_is_accepted() -> None:
    assert standalone.main([str(Path(__file__).parent / "data" / "channel-1.channel")]) == 0


def test_distances_without_points_are_said_to_be_taken_as_they_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save(matrix(), tmp_path / "a")
    assert standalone.main([str(tmp_path / "a")]) == 0
    assert "distances taken as stated" in capsys.readouterr().out


def test_it_runs_in_a_python_that_has_no_packages(tmp_path: Path) -> None:
    """Isolated and without site-packages: no NumPy, no discreet."""
    save(grid(7, 7, radius=2), tmp_path / "c.channel")
    command = [sys.executable, "-I", "-S", str(SCRIPT), str(tmp_path / "c.channel")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "metric differential privacy, epsilon 2 per km, pairs within 2 km" in done.stdout


def test_it_imports_the_standard_library_alone() -> None:
    imported = {
        name.name.partition(".")[0] if isinstance(node, ast.Import) else (node.module or "")
        for node in ast.walk(ast.parse(SCRIPT.read_text(encoding="utf-8")))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in node.names
    }
    assert "zipfile" in imported
    assert imported <= sys.stdlib_module_names


@settings(max_examples=200, deadline=None)
@given(
    st.fractions(min_value=0, max_value=60, max_denominator=10**9),
    st.integers(min_value=1, max_value=200),
)
def test_its_exponential_brackets_the_true_one(x: Fraction, bits: int) -> None:
    """Two brackets of one number overlap, and this one is tight."""
    low, high = standalone.exp_bounds(x, bits)
    assert low <= exp_ceil(x, bits)
    assert high >= exp_floor(x, bits)
    assert 0 <= high - low <= 2 + (high >> bits)


@pytest.mark.parametrize("x", [Fraction(0), Fraction(1, 2), Fraction(1), Fraction(2000)])
def test_its_exponential_at_the_edges(x: Fraction) -> None:
    low, high = standalone.exp_bounds(x, 128)
    assert low <= exp_ceil(x, 128)
    assert high >= exp_floor(x, 128)
    assert x > 0 or low == 1 << 128


def test_every_float_is_a_whole_number_of_its_units() -> None:
    for value in (5e-324, 1.0, -0.1, 1.7976931348623157e308):
        assert Fraction(standalone.exact(value), standalone.UNIT) == Fraction(value)


def weight_moved(_: dict[str, Any], arrays: Arrays) -> None:
    """Give one report of one secret most of the weight of another."""
    row = arrays["limbs"][0, 0]
    most = row[0] - row[0] // np.uint64(10)
    row[0] -= most
    row[1] += most


def weight_to_zero(_: dict[str, Any], arrays: Arrays) -> None:
    row = arrays["limbs"][0, 4]
    row[5] += row[0]
    row[0] = 0


def weight_added(_: dict[str, Any], arrays: Arrays) -> None:
    arrays["limbs"][0, 0, 0] += np.uint64(1)


def distance_enlarged(meta: dict[str, Any], arrays: Arrays) -> None:
    arrays["distances"][0] += 1
    restate(meta, arrays)


def distance_enlarged_naively(_: dict[str, Any], arrays: Arrays) -> None:
    arrays["distances"][0] -= 1


def joined_removed(_: dict[str, Any], arrays: Arrays) -> None:
    arrays["joined"] = arrays["joined"][:0]


def joined_removed_everywhere(meta: dict[str, Any], arrays: Arrays) -> None:
    """Remove the link from the pairs that are checked too, and do not count it."""
    link = arrays["joined"][0].tolist()
    arrays["joined"] = arrays["joined"][:0]
    arrays["binding"] = np.array(
        [pair for pair in arrays["binding"].tolist() if pair != link], dtype=np.int32
    )
    meta["guarantee"]["scope"]["joined"] = 0


def binding_removed(_: dict[str, Any], arrays: Arrays) -> None:
    arrays["binding"] = arrays["binding"][1:]


def lower_inflated(meta: dict[str, Any], _: Arrays) -> None:
    meta["lower"] *= 1 + 2.0**-40


def prices_inflated(_: dict[str, Any], arrays: Arrays) -> None:
    arrays["multipliers_value"] *= 1000.0


def negative_price(_: dict[str, Any], arrays: Arrays) -> None:
    arrays["multipliers_value"][0] *= -1


def price_of_no_constraint(_: dict[str, Any], arrays: Arrays) -> None:
    arrays["multipliers_target"][0] = 5
    arrays["multipliers_source"][0] = 0


def price_of_no_report(_: dict[str, Any], arrays: Arrays) -> None:
    arrays["multipliers_report"][0] = 6


def price_of_a_secret_on_itself(_: dict[str, Any], arrays: Arrays) -> None:
    arrays["multipliers_target"][0] = arrays["multipliers_source"][0]


def scope(name: str, value: object) -> Callable[[dict[str, Any], Arrays], None]:
    return lambda meta, _: meta["guarantee"]["scope"].update({name: value})


def claim(name: str, value: object) -> Callable[[dict[str, Any], Arrays], None]:
    return lambda meta, _: meta["guarantee"].update({name: value})


def negative_loss(meta: dict[str, Any], arrays: Arrays) -> None:
    arrays["loss"][0, 0] = -1.0
    meta["upper"] = 100.0
    restate(meta, arrays)


WRONG: dict[str, tuple[Callable[[dict[str, Any], Arrays], object], str]] = {
    "one weight moved": (weight_moved, "inequalities violated"),
    "a zero beside positive weights": (weight_to_zero, "inequalities violated"),
    "one unit too many": (weight_added, "rows that are no distributions"),
    "a distance enlarged": (distance_enlarged, "distances above the true ones"),
    "a distance changed, the digest not": (distance_enlarged_naively, "facts misstated"),
    "a joined link removed": (joined_removed, "facts misstated"),
    "a joined link removed without trace": (joined_removed_everywhere, "all-pairs epsilon"),
    "a binding link removed": (binding_removed, "constrained pairs not covered"),
    "an inflated lower bound": (lower_inflated, "lower bound not proved"),
    "inflated prices": (prices_inflated, "lower bound not proved"),
    "a negative price": (negative_price, "lower bound not proved"),
    "a price of no constraint": (price_of_no_constraint, "lower bound not proved"),
    "a price of no report": (price_of_no_report, "lower bound not proved"),
    "a price of a secret on itself": (price_of_a_secret_on_itself, "lower bound not proved"),
    "too small an upper bound": (
        lambda meta, _: meta.update(upper=meta["upper"] * (1 - 2.0**-40)),
        "expected loss above",
    ),
    "a negative loss": (negative_loss, "expected loss above"),
    "too small an epsilon": (claim("epsilon", "1"), "inequalities violated"),
    "a larger radius": (claim("radius", "20"), "constrained pairs not covered"),
    "too small an epsilon for all pairs": (
        scope("all_pairs_epsilon", "2"),
        "all-pairs epsilon",
    ),
    "fewer secrets": (scope("n_secrets", 5), "facts misstated"),
    "more links": (scope("joined", 2), "facts misstated"),
    "more groups": (scope("components", 2), "facts misstated"),
    "a secret isolated": (scope("isolated", [0]), "facts misstated"),
    "another space": (scope("space", "0" * 64), "facts misstated"),
    "no points": (lambda _, arrays: arrays.pop("points"), "distances above the true ones"),
    "a seed": (lambda meta, _: meta["provenance"].update(seeded=True), "randomness from a seed"),
}


@pytest.mark.parametrize(("change", "claimed"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_rejected(
    tmp_path: Path,
    change: Callable[[dict[str, Any], Arrays], None],
    claimed: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The hashes are right each time: it is the mathematics that fails."""
    path = tmp_path / "a.channel"
    save(points(), path)
    assert standalone.main([str(path)]) == 0
    forge(path, change)
    capsys.readouterr()
    assert standalone.main([str(path)]) == 1
    failed = [line for line in capsys.readouterr().out.splitlines() if line.startswith("FAILED")]
    assert any(claimed in line for line in failed), failed


@pytest.mark.parametrize("by", [Fraction(1, 10**9), Fraction(1)])
def test_an_enlarged_distance_on_a_grid_is_rejected(tmp_path: Path, by: Fraction) -> None:
    def smaller_cell(meta: dict[str, Any], _: Arrays) -> None:
        meta["space"]["cell"] = str(Fraction(meta["space"]["cell"]) / (1 + by))

    path = tmp_path / "a.channel"
    save(grid(2, 3, cell="0.1"), path)
    forge(path, smaller_cell)
    assert standalone.main([str(path)]) == 1


def test_a_hidden_isolated_secret_is_rejected(tmp_path: Path) -> None:
    path = tmp_path / "a.channel"
    save(apart(), path)
    forge(path, scope("isolated", []))
    assert standalone.main([str(path)]) == 1


def test_limbs_beyond_their_base_are_refused(tmp_path: Path) -> None:
    """Nothing binds an unprotected secret; as signed integers these weights are negative and have the right sum."""

    def negative(_: dict[str, Any], arrays: Arrays) -> None:
        limbs = arrays["limbs"].astype("<i8")
        limbs[0, 2] = [-1, 0, 2**62 + 1]
        arrays["limbs"] = limbs.astype("<u8")

    path = tmp_path / "a.channel"
    save(apart(), path)
    forge(path, negative)
    assert standalone.main([str(path)]) == 2


def altered(path: Path) -> None:
    """Change one byte of a member, and the checksum of the zip with it."""
    with zipfile.ZipFile(path) as archive:
        data = {name: archive.read(name) for name in archive.namelist()}
    body = bytearray(data["limbs.npy"])
    body[-8] ^= 1
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in {**data, "limbs.npy": bytes(body)}.items():
            archive.writestr(name, content)


def compressed(path: Path) -> None:
    with zipfile.ZipFile(path) as archive:
        data = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in data.items():
            archive.writestr(name, content)


def oversized(path: Path) -> None:
    """State a size of four gigabytes in the directory of the zip."""
    data = bytearray(path.read_bytes())
    entry = data.rfind(b"PK\x01\x02")
    data[entry + 20 : entry + 28] = b"\xf0\xff\xff\xff" * 2
    path.write_bytes(data)


def added(path: Path) -> None:
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("more.npy", b"")


def twice(path: Path) -> None:
    with pytest.warns(UserWarning, match="Duplicate"), zipfile.ZipFile(path, "a") as archive:
        archive.writestr("prior.npy", archive.read("prior.npy"))


def key_twice(path: Path) -> None:
    with zipfile.ZipFile(path) as archive:
        data = {name: archive.read(name) for name in archive.namelist()}
    data["meta.json"] = data["meta.json"].replace(b"{", b'{"upper": 9,', 1)
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in data.items():
            archive.writestr(name, content)


def change(edit: Callable[[dict[str, Any], Arrays], object]) -> Callable[[Path], object]:
    return lambda path: forge(path, edit)


UNREADABLE: dict[str, tuple[Callable[[Path], object], str]] = {
    "gone": (lambda path: path.unlink(), "FileNotFoundError"),
    "truncated": (lambda path: path.write_bytes(path.read_bytes()[:-500]), "BadZipFile"),
    "not a zip": (lambda path: path.write_text("secret"), "BadZipFile"),
    "an altered member": (altered, "limbs.npy was altered"),
    "a size that it has not": (oversized, "stored as they are"),
    "a member that is not stated": (added, "KeyError"),
    "numbers the other way round": (
        change(lambda _, a: a.update(prior=a["prior"].astype(">f8"))),
        "prior.npy",
    ),
    "compressed": (compressed, "stored as they are"),
    "a later version": (change(lambda meta, _: meta.update(schema_version=2)), "version 1"),
    "no guarantee": (change(lambda meta, _: meta.pop("guarantee")), "KeyError: 'guarantee'"),
    "no prior": (change(lambda _, arrays: arrays.pop("prior")), "no prior.npy"),
    "no prices": (change(lambda _, arrays: arrays.pop("multipliers_value")), "multipliers_value"),
    "fewer prices": (
        change(lambda _, a: a.update(multipliers_value=a["multipliers_value"][1:])),
        "Error",
    ),
    "another shape": (change(lambda _, a: a.update(loss=a["loss"][1:])), "has shape"),
    "another type": (change(lambda _, a: a.update(prior=a["prior"].astype("<f4"))), "prior.npy"),
    "columns first": (
        change(lambda _, a: a.update(loss=np.asfortranarray(a["loss"]))),
        "loss.npy",
    ),
    "a negative distance": (change(lambda _, a: a.update(distances=-a["distances"])), "negative"),
    "a link to nobody": (change(lambda _, a: a.update(binding=a["binding"] + 3)), "not there"),
    "another unit": (
        change(lambda meta, _: meta["guarantee"].update(unit="m")),
        "epsilon per another unit",
    ),
    "another claim": (
        change(lambda meta, _: meta["guarantee"].update(kind="pure-dp")),
        "not a claim of metric privacy",
    ),
    "a metric by another name": (
        change(lambda meta, _: meta["space"].update(metric="euclide\N{CYRILLIC SMALL LETTER A}n")),
        "no metric space",
    ),
    "points for other secrets": (
        change(lambda _, a: a.update(points=a["points"][1:])),
        "points for other secrets",
    ),
    "no prior probabilities": (
        change(lambda _, a: a.update(prior=a["prior"] / 2)),
        "a prior that is none",
    ),
    "a member twice": (twice, "a member comes twice"),
    "a key twice": (key_twice, "a key comes twice"),
    "an infinite price": (
        change(lambda _, a: a.update(multipliers_value=a["multipliers_value"] + np.inf)),
        "Error",
    ),
    "an infinite loss": (
        change(lambda _, a: a.update(loss=a["loss"] + np.inf)),
        "Error",
    ),
}


@pytest.mark.parametrize(("spoil", "message"), UNREADABLE.values(), ids=UNREADABLE)
def test_what_cannot_be_read_is_refused(
    tmp_path: Path,
    spoil: Callable[[Path], object],
    message: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / "a.channel"
    save(points(), path)
    spoil(path)
    assert standalone.main([str(path)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("arguments", [[], ["a", "b"]])
def test_it_takes_one_file(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert standalone.main(arguments) == 2
    assert "usage" in capsys.readouterr().err


def test_a_price_that_no_float_can_pay_proves_nothing(tmp_path: Path) -> None:
    """At 4000 nats a factor is beyond all floats; the bound must not be believed, and nothing may hang."""
    space = MetricSpace.from_matrix([[0, 2000], [2000, 0]], unit="km")
    made = exponential(Problem(space, utility_loss=[[0.0, 1.0], [1.0, 0.0]]))
    path = tmp_path / "a.channel"
    save(replace(made, lower=0.0), path)
    forge(path, lambda _, arrays: arrays["multipliers_value"].fill(1e-300))
    assert standalone.main([str(path)]) == 1


@pytest.mark.slow
def test_five_hundred_secrets_take_less_than_two_minutes(tmp_path: Path) -> None:
    save(grid(20, 25, radius=2), tmp_path / "c.channel")
    command = [sys.executable, "-I", "-S", str(SCRIPT), str(tmp_path / "c.channel")]
    assert subprocess.run(command, capture_output=True, check=False, timeout=120).returncode == 0
