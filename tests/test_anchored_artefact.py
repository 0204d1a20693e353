"""Implicit channels, as files: what is kept, what is refused, and who checks it."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cli.commands import say
from discreet.artefact import load, load_anchored, save, save_anchored
from discreet.artefact.implicit import AnchoredArtefact, from_tails
from discreet.artefact.reader import zip_kind
from discreet.core.certificate import Certificate, Check
from discreet.core.channels.check_implicit import verify_anchored
from discreet.core.channels.implicit import AnchoredChannel, Ball
from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import MetricDP, Scope
from discreet.core.outcome import Provenance
from discreet.core.spaces import lengths
from discreet.core.spaces.metric import MetricSpace
from discreet.core.spaces.points import PointLengths
from discreet.metricdp.bounds.tails import tail_channel
from forging import forge, unpack
from handmade import grid
from test_standalone import standalone

FROZEN = Path(__file__).parent / "data" / "anchored-1.channel"
HALF = Fraction(1, 2)


def small() -> AnchoredArtefact:
    """Make tails on a grid, with labels."""
    made = tail_channel(MetricSpace.grid(4, 5, cell="0.1", unit="km"), MetricDP(8, "km", "0.15"))
    return from_tails(made, tuple(f"cell {i}" for i in range(20)))


def ball(weight: int | None = None) -> AnchoredArtefact:
    """Make points with an explicit weight, and reports that are renamed."""
    rng = np.random.default_rng(1)
    space = MetricSpace.from_points(rng.random((12, 3)) * 4, unit="unit")
    guarantee = MetricDP(2, "unit")
    plain = AnchoredChannel(space, "0.8", range(0, 12, 2), [2**40] * 6, lift=2**30)
    explicit = int(plain.row(0)[0]) if weight is None else weight
    made = AnchoredChannel(
        space,
        "0.8",
        range(0, 12, 2),
        [2**40] * 6,
        lift=2**30,
        ball=Ball(np.array([0]), np.array([0]), np.array([explicit])),
        names=[1, 1, 4, 6, 8, 10],
    )
    certificate = verify_anchored(made, guarantee, totals_share=HALF)
    return AnchoredArtefact(made, guarantee, HALF, certificate, Provenance("by hand"))


def many(metric: str = "grid") -> AnchoredArtefact:
    """Make more secrets than have a table of distances."""
    if metric == "grid":
        space = MetricSpace.grid(72, 72, cell=1, unit="km")
    else:
        at = np.stack(np.divmod(np.arange(72 * 72), 72), axis=1) + 0.25
        points = at * 0.01 + [40, 10] if metric == "haversine" else at
        space = MetricSpace.from_points(points, metric=metric, unit="km")
    return from_tails(tail_channel(space, MetricDP(1, "km", "1.6"), rounds=0))


KINDS = {
    "small": small,
    "ball": ball,
    "many": many,
    "many points": lambda: many("manhattan"),
    "many on a sphere": lambda: many("haversine"),
}


@pytest.mark.parametrize("make", KINDS.values(), ids=KINDS)
def test_what_is_saved_is_loaded(tmp_path: Path, make: Any) -> None:
    made = make()
    save_anchored(made, tmp_path / "a")
    back = load_anchored(tmp_path / "a")
    assert zip_kind(tmp_path / "a") == "anchored"
    assert back.channel.digest == made.channel.digest
    assert back.channel.names.tolist() == made.channel.names.tolist()
    assert back.certificate == made.certificate
    assert back.provenance == made.provenance
    assert back.totals_share == made.totals_share
    assert back.labels == made.labels
    assert (back.guarantee.epsilon, back.guarantee.radius) == (
        made.guarantee.epsilon,
        made.guarantee.radius,
    )
    save_anchored(back, tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.parametrize("kind", ["grid", "manhattan"])
def test_files_from_when_fewer_secrets_had_a_table_load_and_verify(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """More than 4,096 secrets had none once; a file of 4,097 to 5,120 states lengths that are not closed."""
    space = MetricSpace.grid(5, 6, cell=1, unit="km")
    if kind != "grid":
        space = MetricSpace.from_points(np.asarray(space.points), metric=kind, unit="km")
    with monkeypatch.context() as older:
        older.setattr(lengths, "DENSE_LIMIT", 20)
        made = from_tails(tail_channel(space, MetricDP(1, "km", "1.6"), rounds=0))
        save_anchored(made, tmp_path / "a")
        digest = made.channel.digest
    back = load_anchored(tmp_path / "a")
    assert back.channel.digest == digest
    assert not back.channel.space.has_matrix
    assert verify_anchored(back.channel, back.guarantee, totals_share=back.totals_share).passed
    assert back.channel.row(3).sum() > 0
    save_anchored(back, tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_the_frozen_example_loads_for_ever(capsys: pytest.CaptureFixture[str]) -> None:
    back = load_anchored(FROZEN)
    stated = json.loads((FROZEN.parent / "anchored-1.json").read_text(encoding="utf-8"))
    assert back.channel.row(7).tolist() == stated["row 7"]
    assert back.channel.digest == stated["digest"]
    assert verify_anchored(back.channel, back.guarantee, totals_share=back.totals_share).passed
    assert standalone.main([str(FROZEN)]) == 0
    assert re.search("ok +inequalities violated", capsys.readouterr().out)


def test_few_secrets_get_a_statement_for_all_pairs(tmp_path: Path) -> None:
    save_anchored(small(), tmp_path / "a")
    scope = load_anchored(tmp_path / "a").guarantee.scope
    assert isinstance(scope, Scope)
    assert scope.all_pairs_epsilon is not None
    # Eight neighbors: the stretch of a knight's move, about 1.08.
    assert 8.6 < float(scope.all_pairs_epsilon) < 8.7
    save_anchored(many(), tmp_path / "a")
    assert load_anchored(tmp_path / "a").guarantee.scope is None


def test_nonsense_is_refused_before_it_is_written(tmp_path: Path) -> None:
    made = small()
    failed = Certificate((Check("a", 1, 0, exact=True),))
    with pytest.raises(InvalidProblemError, match="a certificate that passed"):
        save_anchored(replace(made, certificate=failed), tmp_path / "a")
    assert not list(tmp_path.iterdir())
    with pytest.raises(InvalidProblemError, match="epsilon per km"):
        replace(made, guarantee=MetricDP(8, "m"))
    other = MetricDP(8, "km", "0.15", scope=Scope("0" * 64, 20, Fraction(9)))
    with pytest.raises(InvalidProblemError, match="one bound to its space"):
        replace(made, guarantee=other)
    with pytest.raises(InvalidProblemError, match="20 different names"):
        replace(made, labels=("a",))


def restated(meta: dict[str, Any], arrays: dict[str, np.ndarray[Any, Any]]) -> None:
    arrays["anchors"][0] -= 1


def no_factor(meta: dict[str, Any], arrays: dict[str, np.ndarray[Any, Any]]) -> None:
    arrays["factors"][0, 3] -= 1


def limbs(meta: dict[str, Any], arrays: dict[str, np.ndarray[Any, Any]]) -> None:
    arrays["limbs"] = np.zeros((1, 2, 2), dtype="<u8")


def half_a_ball(meta: dict[str, Any], arrays: dict[str, np.ndarray[Any, Any]]) -> None:
    arrays["ball_secrets"] = np.zeros(1, dtype="<i8")


def pure(meta: dict[str, Any], arrays: dict[str, np.ndarray[Any, Any]]) -> None:
    meta["guarantee"] = {"kind": "pure", "epsilon": "1", "neighbors": "replace-one"}


def table(meta: dict[str, Any], arrays: dict[str, np.ndarray[Any, Any]]) -> None:
    meta["kind"] = "channel"


def no_distances(meta: dict[str, Any], arrays: dict[str, np.ndarray[Any, Any]]) -> None:
    del arrays["distances"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (restated, "the digest that is stated"),
        (no_factor, "those of the exponential"),
        (limbs, "those of an anchored channel"),
        (half_a_ball, "its three parts"),
        (pure, "path: expected a whole discreet artefact"),
        (table, "expected an anchored, got 'channel'"),
        (no_distances, "the digest that is stated"),
    ],
)
def test_a_file_whose_parts_do_not_fit_is_refused(
    tmp_path: Path, change: Any, message: str
) -> None:
    save_anchored(small(), tmp_path / "a")
    with pytest.raises(InvalidProblemError, match=message):
        load_anchored(forge(tmp_path / "a", change))


def far(meta: dict[str, Any], arrays: dict[str, np.ndarray[Any, Any]]) -> None:
    arrays["places"][0] = [2**40, 2**40]


def cut(meta: dict[str, Any], arrays: dict[str, np.ndarray[Any, Any]]) -> None:
    arrays["places"] = arrays["places"][:-1]


def moved(meta: dict[str, Any], arrays: dict[str, np.ndarray[Any, Any]]) -> None:
    arrays["points"][0] += 0.5


@pytest.mark.parametrize(
    ("change", "message"),
    [(far, "cells of a grid"), (cut, "5184 rows"), (moved, "the digest that is stated")],
)
def test_a_large_space_that_does_not_fit_is_refused(
    tmp_path: Path, change: Any, message: str
) -> None:
    save_anchored(many(), tmp_path / "a")
    with pytest.raises(InvalidProblemError, match=message):
        load_anchored(forge(tmp_path / "a", change))


def test_kinds_are_not_taken_for_each_other(tmp_path: Path) -> None:
    save_anchored(small(), tmp_path / "a")
    with pytest.raises(InvalidProblemError, match="expected a channel, got 'anchored'"):
        load(tmp_path / "a")
    save(grid(2, 2), tmp_path / "b")
    assert zip_kind(tmp_path / "b") == "channel"
    forge(tmp_path / "b", lambda _, arrays: arrays.update(centers=np.zeros(2, dtype="<i8")))
    with pytest.raises(InvalidProblemError, match="those of a channel"):
        load(tmp_path / "b")
    (tmp_path / "c").write_bytes(b"no zip")
    with pytest.raises(InvalidProblemError, match="a whole discreet artefact"):
        zip_kind(tmp_path / "c")


@pytest.mark.parametrize("make", [small, ball], ids=["small", "ball"])
def test_the_standalone_program_computes_every_weight(tmp_path: Path, make: Any) -> None:
    made = make()
    save_anchored(made, tmp_path / "a")
    read = standalone.Artefact(str(tmp_path / "a"))
    assert [made.channel.row(i).tolist() for i in range(made.channel.n_secrets)] == read.W
    assert made.channel.totals.tolist() == read.totals
    assert standalone.main([str(tmp_path / "a")]) == 0


def test_the_standalone_program_rejects_one_weight_too_many(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A weight that is twice what it may be; the file's own certificate says that all is well."""
    good = ball()
    bad = ball(int(good.channel.row(0)[0]) * 60)
    assert not bad.certificate.passed
    save_anchored(replace(bad, certificate=good.certificate), tmp_path / "a")
    assert standalone.main([str(tmp_path / "a")]) == 1
    assert re.search("FAILED +inequalities violated", capsys.readouterr().out)
    assert say(capsys, "verify", tmp_path / "a").status == 1


@pytest.mark.parametrize(
    "change",
    [
        lambda _, arrays: arrays.update(factors=arrays["factors"][:3]),
        lambda _, arrays: arrays["anchors"].__setitem__(0, -1),
        lambda _, arrays: arrays["centers"].__setitem__(0, 20),
        lambda meta, _: meta.update(lift=0),
        lambda _, arrays: arrays.update(anchors=arrays["anchors"][1:]),
    ],
)
def test_the_standalone_program_refuses_what_it_cannot_read(tmp_path: Path, change: Any) -> None:
    save_anchored(small(), tmp_path / "a")
    assert standalone.main([str(forge(tmp_path / "a", change))]) == 2


def test_what_is_too_large_for_the_standalone_program_is_not_called_right(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save_anchored(many(), tmp_path / "a")
    assert standalone.main([str(tmp_path / "a")]) == 3
    assert "NOT CHECKED: 5184 secrets without distances and links; use" in capsys.readouterr().err


def test_the_commands_work_on_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.channel"
    save_anchored(small(), path)
    told = say(capsys, "info", path, "--json").data
    assert told["kind"] == "anchored"
    assert told["sizes"] == {"secrets": 20, "reports": 20, "ball": 0}
    text = say(capsys, "info", path).out
    assert "epsilon for the totals" in text
    assert re.search("assumed public +space: 20 secrets", text)
    drawn = say(capsys, "sample", path, "--secret", "cell 3", "-n", "3", "--json")
    assert [f"cell {i}" for i in drawn.data["secrets"]] == drawn.data["labels"]
    assert len(drawn.data["points"]) == 3
    assert "24 per km" in drawn.err
    assert say(capsys, "sample", path, "--secret", "20").status == 2
    judged = say(capsys, "verify", path, "--optimality", "--json")
    assert judged.status == 0
    assert "achieved_epsilon" not in judged.data
    names = {check["name"] for check in judged.data["checks"]}
    assert {"facts misstated in the scope", "lower bound not proved"} <= names


def test_reports_may_have_names_that_no_secret_has(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = small()
    channel = made.channel
    renamed = AnchoredChannel(
        channel.space,
        channel.rate,
        channel.centers,
        channel.anchors,
        lift=channel.lift,
        names=channel.names + 100,
    )
    save_anchored(replace(made, channel=renamed), tmp_path / "a")
    drawn = say(capsys, "sample", tmp_path / "a", "--secret", "0", "--json").data
    assert drawn["reports"][0] >= 100
    assert drawn["secrets"] is drawn["labels"] is drawn["points"] is None


def seeded(meta: dict[str, Any], arrays: dict[str, np.ndarray[Any, Any]]) -> None:
    meta["provenance"]["seeded"] = True


def stronger(meta: dict[str, Any], arrays: dict[str, np.ndarray[Any, Any]]) -> None:
    meta["guarantee"]["scope"]["all_pairs_epsilon"] = "8"


def smaller(meta: dict[str, Any], arrays: dict[str, np.ndarray[Any, Any]]) -> None:
    meta["guarantee"]["epsilon"] = "7"


@pytest.mark.parametrize("change", [seeded, stronger, smaller])
def test_claims_that_do_not_hold_are_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], change: Any
) -> None:
    """By the command and by the standalone program."""
    save_anchored(small(), tmp_path / "a")
    forge(tmp_path / "a", change)
    assert say(capsys, "verify", tmp_path / "a").status == 1
    assert standalone.main([str(tmp_path / "a")]) == 1


def test_files_hold_no_pickle(tmp_path: Path) -> None:
    save_anchored(ball(), tmp_path / "a")
    _, arrays = unpack(tmp_path / "a")
    assert all(array.dtype.kind in "if" for array in arrays.values())


def longer(meta: dict[str, Any], arrays: dict[str, np.ndarray[Any, Any]]) -> None:
    """Tell distances twice as long as those of the points, and all else as it follows from them."""
    space = AnchoredChannel(
        MetricSpace(
            meta["space"]["unit"],
            meta["space"]["metric"],
            meta["space"]["scale_bits"] - 1,
            lengths.TableLengths(_square(arrays["distances"], meta["space"]["n"])),
            arrays["points"],
        ),
        meta["rate"],
        arrays["centers"],
        arrays["anchors"],
        lift=meta["lift"],
        names=arrays["names"],
        ball=Ball(*(arrays[f"ball_{part}"] for part in ("secrets", "reports", "weights"))),
    )
    meta["space"]["scale_bits"] -= 1
    meta["space"]["digest"] = meta["guarantee"]["scope"]["space"] = space.space.digest
    arrays["factors"], meta["channel"] = space.decay.tables, space.digest


def _square(condensed: np.ndarray[Any, Any], n: int) -> np.ndarray[Any, Any]:
    table = np.zeros((n, n), dtype=np.int64)
    table[np.triu_indices(n, 1)] = condensed
    return np.asarray(table + table.T)


def entry_twice(meta: dict[str, Any], arrays: dict[str, np.ndarray[Any, Any]]) -> None:
    for part in ("secrets", "reports", "weights"):
        arrays[f"ball_{part}"] = arrays[f"ball_{part}"].repeat(2)


def test_an_explicit_weight_has_one_value(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The library and the standalone program could take one each."""
    save_anchored(ball(), tmp_path / "a")
    forge(tmp_path / "a", entry_twice)
    with pytest.raises(InvalidProblemError, match="each pair once"):
        load_anchored(tmp_path / "a")
    assert standalone.main([str(tmp_path / "a")]) == 2
    assert "comes twice" in capsys.readouterr().err


def test_distances_that_are_not_those_of_the_points_are_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the command and by the standalone program: the channel is private for a space twice as large."""
    save_anchored(ball(), tmp_path / "a")
    forge(tmp_path / "a", longer)
    assert say(capsys, "verify", tmp_path / "a").status == 1
    assert standalone.main([str(tmp_path / "a")]) == 1


def meters(meta: dict[str, Any], arrays: dict[str, np.ndarray[Any, Any]]) -> None:
    meta["space"]["per_unit"] = 1000
    _redigest(meta, arrays)


def elsewhere(meta: dict[str, Any], arrays: dict[str, np.ndarray[Any, Any]]) -> None:
    arrays["points"] = arrays["points"] * 2
    _redigest(meta, arrays)


def great_circles(meta: dict[str, Any], arrays: dict[str, np.ndarray[Any, Any]]) -> None:
    meta["space"]["metric"] = "haversine"
    _redigest(meta, arrays)


def miles(meta: dict[str, Any], arrays: dict[str, np.ndarray[Any, Any]]) -> None:
    meta["space"]["unit"] = meta["guarantee"]["unit"] = "mi"
    _redigest(meta, arrays)


def nowhere(meta: dict[str, Any], arrays: dict[str, np.ndarray[Any, Any]]) -> None:
    meta["space"]["metric"] = "gr\N{CYRILLIC SMALL LETTER I}d"
    _redigest(meta, arrays)


def finer(meta: dict[str, Any], arrays: dict[str, np.ndarray[Any, Any]]) -> None:
    meta["space"]["scale_bits"] = lengths.MAX_SCALE_BITS + 1
    _redigest(meta, arrays)


def _redigest(meta: dict[str, Any], arrays: dict[str, np.ndarray[Any, Any]]) -> None:
    """Make the digests of a large space right again."""
    stated = meta["space"]
    unit, metric, bits = (stated[name] for name in ("unit", "metric", "scale_bits"))
    source = PointLengths(np.zeros((stated["n"], 1)), metric, bits, stated["per_unit"] or 1)
    space = MetricSpace(unit, metric, bits, source, arrays["points"], tabled=False)
    stated["digest"] = space.digest


@pytest.mark.parametrize(
    ("metric", "change", "message"),
    [
        ("haversine", meters, "per_unit: expected 1 for km"),
        ("haversine", miles, "unit: expected km or m"),
        ("grid", elsewhere, "points: expected the centers of the cells"),
        ("grid", great_circles, "a positive side, and of a grid alone"),
        ("grid", nowhere, "metric: expected one of"),
        ("grid", finer, "scale_bits: expected an integer from 0 to 300"),
    ],
)
def test_a_large_space_that_no_constructor_makes_is_refused(
    tmp_path: Path, metric: str, change: Any, message: str
) -> None:
    """Its lengths are computed from points or places, so that nothing else would say what they are."""
    save_anchored(many(metric), tmp_path / "a")
    with pytest.raises(InvalidProblemError, match=message):
        load_anchored(forge(tmp_path / "a", change))
