from __future__ import annotations

import hashlib
import json
import os
import pickle
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from discreet.artefact import load, save
from discreet.artefact.reader import read
from discreet.core.certificate import Certificate, Check
from discreet.core.channels.channel import Channel
from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import MetricDP
from discreet.core.outcome import Provenance
from discreet.core.spaces.metric import MetricSpace
from discreet.metricdp.problem import Problem
from discreet.metricdp.verify import verify
from forging import forge, pack, unpack
from handmade import exponential, grid

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.core.outcome import Design
    from discreet.metricdp.bounds.bound import Multipliers

    MetricDesign = Design[Problem, Multipliers]
    Arrays = dict[str, np.ndarray[Any, Any]]

FROZEN = Path(__file__).parent / "data" / "channel-1.channel"


def places() -> MetricDesign:
    """Make two groups far apart, two secrets in one place, and three reports."""
    points = [[0.0, 0.0], [0.5, 0.25], [1.0, 0.0], [1.0, 0.0], [9.0, 9.0], [9.5, 9.0]]
    space = MetricSpace.from_points(points, unit="km")
    prior = np.array([1, 2, 3, 4, 5, 6]) / 21
    problem = Problem(space, utility_loss="euclidean", prior=prior, reports=[0, 2, 4])
    return exponential(problem, radius="1.5")


def coin() -> MetricDesign:
    """Make a space without points, reports that name nothing, two limbs, and no lower bound."""
    space = MetricSpace.from_matrix([[0, 1, 2], [1, 0, 1], [2, 1, 0]], unit="edit")
    made = exponential(Problem(space, utility_loss="distance"))
    return replace(
        made,
        channel=Channel.from_weights(np.full((3, 2), 2**123, dtype=object)),
        problem=Problem(space, utility_loss=np.ones((3, 2))),
        provenance=Provenance("coin"),
        upper=1.0,
        lower=None,
        witness=None,
    )


KINDS: dict[str, Callable[[], MetricDesign]] = {
    "grid": lambda: grid(3, 3, cell="0.1"),
    "one secret": lambda: grid(1, 1),
    "joined, duplicates, some reports": places,
    "matrix, two limbs, no bound": coin,
}


@pytest.mark.parametrize("make", KINDS.values(), ids=KINDS)
def test_what_is_saved_is_loaded(tmp_path: Path, make: Callable[[], MetricDesign]) -> None:
    made, path = make(), tmp_path / "a.channel"
    save(made, path)
    back = load(path)
    assert back.channel.digest == made.channel.digest
    assert back.problem.digest == made.problem.digest
    assert back.problem.space.metric == made.problem.space.metric
    assert back.guarantee == made.guarantee
    assert back.certificate == made.certificate
    assert back.provenance == made.provenance
    assert (back.lower, back.upper, back.status) == (made.lower, made.upper, made.status)
    for part in ("report", "source", "target", "value"):
        want = None if made.witness is None else getattr(made.witness, part).tolist()
        assert (None if back.witness is None else getattr(back.witness, part).tolist()) == want


@pytest.mark.parametrize("make", KINDS.values(), ids=KINDS)
def test_the_same_design_gives_the_same_bytes(
    tmp_path: Path, make: Callable[[], MetricDesign]
) -> None:
    """Also after it was loaded, so that nothing is lost on the way."""
    first, second, third = (tmp_path / name for name in "abc")
    save(make(), first)
    save(make(), second)
    save(load(first), third)
    assert first.read_bytes() == second.read_bytes() == third.read_bytes()


def test_arrays_that_were_loaded_are_read_only(tmp_path: Path) -> None:
    save(places(), tmp_path / "a")
    stored = read(tmp_path / "a")
    space = stored.design.problem.space
    assert space.points is not None
    for array in (space.points, space.distances, stored.joined, stored.binding):
        assert not array.flags.writeable


def test_labels_and_links_are_kept(tmp_path: Path) -> None:
    save(places(), tmp_path / "a", labels=["a", "b", "c", "d", "e", "f"])
    stored = read(tmp_path / "a")
    assert stored.labels == ("a", "b", "c", "d", "e", "f")
    assert stored.joined.tolist() == [[2, 4]]
    assert [2, 4] in stored.binding.tolist()
    save(places(), tmp_path / "a")
    assert read(tmp_path / "a").labels is None


def test_an_artefact_holds_no_pickle_and_no_compressed_member(tmp_path: Path) -> None:
    save(places(), tmp_path / "a")
    with zipfile.ZipFile(tmp_path / "a") as archive:
        assert {entry.compress_type for entry in archive.infolist()} == {zipfile.ZIP_STORED}
        for name in archive.namelist():
            assert name == "meta.json" or archive.read(name).startswith(b"\x93NUMPY\x01\x00")


REFUSED_DESIGNS: dict[str, tuple[Callable[[MetricDesign], MetricDesign], str]] = {
    "a certificate that failed": (
        lambda made: replace(made, certificate=Certificate((Check("a", 1, 0, exact=True),))),
        "a certificate that passed",
    ),
    "a guarantee bound to nothing": (
        lambda made: replace(made, guarantee=MetricDP(2, unit="km")),
        "a guarantee bound to its space",
    ),
    "a guarantee bound to another space": (
        lambda made: replace(made, guarantee=grid(2, 3).guarantee),
        "a guarantee bound to its space",
    ),
}


@pytest.mark.parametrize(("change", "message"), REFUSED_DESIGNS.values(), ids=REFUSED_DESIGNS)
def test_save_refuses(
    tmp_path: Path, change: Callable[[MetricDesign], MetricDesign], message: str
) -> None:
    with pytest.raises(InvalidProblemError, match=message):
        save(change(places()), tmp_path / "a")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("labels", [["a"] * 6, ["a", "b"]])
def test_save_refuses_labels_that_do_not_fit(tmp_path: Path, labels: list[str]) -> None:
    with pytest.raises(InvalidProblemError, match="6 different names"):
        save(places(), tmp_path / "a", labels=labels)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_cannot_be_written_stays_what_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.channel"
    path.write_bytes(b"before")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InvalidProblemError, match=r"a.channel: No space left on device"):
        save(places(), path)
    assert path.read_bytes() == b"before"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidProblemError, match="a file that can be written"):
        save(places(), tmp_path / "missing" / "a.channel")


class Evil:
    """What runs when somebody unpickles it."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, ("exit 1",)


def compressed(path: Path) -> None:
    with zipfile.ZipFile(path) as archive:
        data = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, body in data.items():
            archive.writestr(name, body)


def bomb(path: Path) -> None:
    """State a size of four gigabytes in the directory of the zip."""
    data = bytearray(path.read_bytes())
    entry = data.rfind(b"PK\x01\x02")
    data[entry + 20 : entry + 28] = b"\xf0\xff\xff\xff" * 2
    path.write_bytes(data)


def pickled(path: Path) -> None:
    meta, arrays = unpack(path)
    pack(path, meta, arrays)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("evil.npy", pickle.dumps(Evil()))


def pickled_in_place(path: Path) -> None:
    """Hide a pickle in an array whose hash is right."""
    header = b"{'descr': '|O', 'fortran_order': False, 'shape': (1,), }\n"
    body = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + pickle.dumps(Evil())
    rewrite(path, "prior.npy", body)


def rewrite(path: Path, member: str, body: bytes) -> None:
    """Replace the bytes of one member and make its hash right."""
    with zipfile.ZipFile(path) as archive:
        data = {name: archive.read(name) for name in archive.namelist()}
    meta = json.loads(data["meta.json"])
    meta["members"][member] = {"sha256": hashlib.sha256(body).hexdigest()}
    data |= {member: body, "meta.json": json.dumps(meta).encode()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in data.items():
            archive.writestr(name, content)


def member(path: Path, name: str) -> bytes:
    with zipfile.ZipFile(path) as archive:
        return archive.read(name)


def flip(path: Path) -> None:
    """Change one bit in the middle of the weights, and the checksum of the zip with it."""
    with zipfile.ZipFile(path) as archive:
        data = {name: archive.read(name) for name in archive.namelist()}
    body = bytearray(data["limbs.npy"])
    body[200] ^= 1
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in {**data, "limbs.npy": bytes(body)}.items():
            archive.writestr(name, content)


def meta_with(text: bytes) -> Callable[[Path], None]:
    def spoil(path: Path) -> None:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("meta.json", text)

    return spoil


def twice(path: Path) -> None:
    with zipfile.ZipFile(path, "a") as archive, pytest.warns(UserWarning, match="Duplicate name"):
        archive.writestr("prior.npy", b"")


SPOILED: dict[str, tuple[Callable[[Path], object], str]] = {
    "gone": (lambda path: path.unlink(), "No such file"),
    "empty": (lambda path: path.write_bytes(b""), "an empty file"),
    "text": (lambda path: path.write_text("secret,weight"), "text that is no channel"),
    "truncated": (lambda path: path.write_bytes(path.read_bytes()[:-300]), "cut short or damaged"),
    "cut in the middle": (
        lambda path: path.write_bytes(path.read_bytes()[:2000] + path.read_bytes()[2400:]),
        "a whole discreet artefact",
    ),
    "one bit": (flip, "limbs.npy: expected the SHA-256"),
    "compressed": (compressed, "stored as they are"),
    "larger than the file": (bomb, "no more bytes than the file has"),
    "a pickle beside": (pickled, "those that meta.json states"),
    "a pickle inside": (pickled_in_place, "prior.npy: expected float64 in C order"),
    "a member twice": (twice, "those that meta.json states"),
    "no metadata": (lambda path: path.write_bytes(b"PK\x05\x06" + bytes(18)), "meta.json"),
    "metadata that are none": (meta_with(b"[" * 100_000), "a whole discreet artefact"),
    "not a number": (meta_with(b'{"upper": NaN}'), "finite numbers, got NaN"),
    "a number beyond all": (meta_with(b'{"upper": 1e999}'), "finite numbers, got 1e999"),
    "a key twice": (meta_with(b'{"upper": 1, "upper": 2}'), "one value for each key"),
    "metadata of something else": (meta_with(b"[1, 2]"), "a whole discreet artefact"),
    "array of another version": (
        lambda path: rewrite(path, "prior.npy", b"\x93NUMPY\x02\x00" + bytes(80)),
        "version 1.0",
    ),
    "array cut short": (
        lambda path: rewrite(path, "prior.npy", member(path, "prior.npy")[:-8]),
        "shape",
    ),
}


@pytest.mark.parametrize(("spoil", "message"), SPOILED.values(), ids=SPOILED)
def test_a_spoiled_file_is_refused_in_one_error_that_names_it(
    tmp_path: Path, spoil: Callable[[Path], object], message: str
) -> None:
    path = tmp_path / "city.channel"
    save(places(), path)
    spoil(path)
    with pytest.raises(InvalidProblemError, match="city.channel") as caught:
        load(path)
    assert caught.value.field == "path"
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def scope_of(name: str, value: object) -> Callable[[dict[str, Any], Arrays], None]:
    return lambda meta, _: meta["guarantee"]["scope"].update({name: value})


def put(name: str, value: object) -> Callable[[dict[str, Any], Arrays], None]:
    return lambda meta, _: meta.update({name: value})


def shape(name: str, change: Callable[[Any], Any]) -> Callable[[dict[str, Any], Arrays], None]:
    def apply(_: dict[str, Any], arrays: Arrays) -> None:
        arrays[name] = change(arrays[name])

    return apply


MISFITS: dict[str, tuple[Callable[[dict[str, Any], Arrays], object], str]] = {
    "a later version": (put("schema_version", 2), "schema_version: expected 1"),
    "another kind": (put("kind", "table"), "kind: expected a channel"),
    "another format": (put("format", "zip"), "kind: expected a channel"),
    "no guarantee": (lambda meta, _: meta.pop("guarantee"), "no 'guarantee'"),
    "another notion": (
        put("guarantee", {"kind": "pure-dp", "epsilon": "1", "neighbors": "replace-one"}),
        "a metric one per km",
    ),
    "another space": (scope_of("space", "0" * 64), "bound to the space of the file"),
    "no scope": (lambda meta, _: meta["guarantee"].update(scope=None), "bound to the space"),
    "an epsilon of zero": (
        lambda meta, _: meta["guarantee"].update(epsilon="0"),
        "positive number",
    ),
    "another unit": (lambda meta, _: meta["guarantee"].update(unit="m"), "a metric one per km"),
    "another hash of the prior": (
        lambda meta, _: meta["provenance"]["assumed_public"][2].update(digest="0"),
        "prior: expected the hash that is stated",
    ),
    "a prior that is not said to be public": (
        lambda meta, _: meta["provenance"]["assumed_public"].pop(2),
        "prior: expected the hash that is stated",
    ),
    "a weight moved": (
        shape("limbs", lambda limbs: limbs + np.eye(*limbs.shape[1:], dtype=np.uint64)),
        "row sums",
    ),
    "a row too few": (shape("limbs", lambda limbs: limbs[:, 1:]), "non-negative integers"),
    "a report too few": (shape("loss", lambda loss: loss[:, 1:]), "reports"),
    "a column without a name": (
        lambda _, arrays: (
            arrays.pop("reports"),
            arrays.update(loss=np.ones((6, 2))),
        ),
        "loss: expected 3 reports, got 2",
    ),
    "a negative loss": (shape("loss", lambda loss: -1 - loss), "finite non-negative"),
    "a prior of other people": (shape("prior", lambda prior: prior[1:]), "6 probabilities"),
    "negative distances": (shape("distances", lambda d: -d), "non-negative integers"),
    "distances of another space": (shape("distances", lambda d: d // 2), "the digest of the space"),
    "points of fewer secrets": (shape("points", lambda points: points[1:]), "6 rows"),
    "no weights": (lambda _, arrays: arrays.pop("limbs"), "no limbs"),
    "half a proof": (lambda _, arrays: arrays.pop("multipliers_value"), "the four parts"),
    "no proof": (
        lambda _, arrays: [arrays.pop(n) for n in list(arrays) if n.startswith("multipliers")],
        "the four parts",
    ),
    "negative prices": (shape("multipliers_value", lambda value: value - 1), "non-negative prices"),
    "pairs of nobody": (shape("binding", lambda pairs: pairs + 9), "secrets below 6"),
    "pairs of three": (shape("joined", lambda pairs: pairs[:, [0, 0, 0]]), "a table of pairs"),
    "a bound beyond all": (put("upper", "inf"), "upper: expected a finite number"),
    "a metric by another name": (
        lambda meta, _: meta["space"].update(metric="grаph"),  # noqa: RUF001 - a Cyrillic letter a
        "metric: expected one of",
    ),
    "labels for some": (put("labels", ["a"]), "6 different names"),
}


@pytest.mark.parametrize(("change", "message"), MISFITS.values(), ids=MISFITS)
def test_parts_that_do_not_fit_are_refused(
    tmp_path: Path, change: Callable[[dict[str, Any], Arrays], None], message: str
) -> None:
    """The hashes are right each time: it is the parts that do not fit each other."""
    path = tmp_path / "city.channel"
    save(places(), path)
    forge(path, change)
    with pytest.raises(InvalidProblemError, match="city.channel") as caught:
        load(path)
    assert message in str(caught.value)


def test_a_grid_with_other_distances_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a"
    save(grid(2, 2), path)
    forge(path, lambda meta, _: meta["space"].update(cell="2"))
    with pytest.raises(InvalidProblemError, match="those of the grid"):
        load(path)


def test_version_1_loads_for_ever() -> None:
    """The file was written once by version 1 and is never written again."""
    stored = read(FROZEN)
    made = stored.design
    assert made.channel.digest == "fe883c4c39c62c2e47ed549cc11926fcc03a8c2bf48126867f62074410ccac97"
    assert (made.lower, made.upper) == (0.2722909751514128, 0.2722909772530873)
    assert str(made.guarantee).startswith("metric differential privacy at 2 per km between secrets")
    assert stored.labels == ("inn", "church", "mill", "forge", "bridge", "market")
    assert made.problem.reports is not None
    assert made.problem.reports.tolist() == [0, 2, 5]
    assert stored.joined.tolist() == [[2, 4]]
    assert made.provenance.versions["discreet"].startswith("0.")
    assert verify(made, optimality=True).passed
