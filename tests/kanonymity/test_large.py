"""Tables from folder to folder: rows, classes and demands, by code of its own; what is refused; what is left behind."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from cli.commands import say
from discreet.artefact import large, large_steps
from discreet.artefact.folders import RECORD, count_folder, load_folder
from discreet.artefact.large import anonymize_folder
from discreet.artefact.workspace import Workspace
from discreet.core.errors import (
    CertificateError,
    InfeasibleError,
    InvalidProblemError,
    SolverError,
)
from discreet.core.guarantee import KAnonymity
from discreet.kanonymity.candidate import SearchLimits
from discreet.kanonymity.methods.top_down import TopDown
from discreet.kanonymity.models import (
    AlphaFrequency,
    Closeness,
    DistinctDiversity,
    EntropyDiversity,
    PrivacyModel,
)
from discreet.kanonymity.problem import Attribute, Categorical, Numeric, Problem
from discreet.kanonymity.search import top as first
from discreet.kanonymity.search.parts import split_part

N, K = 900, 4
KINDS: tuple[Attribute, ...] = (Numeric("age"), Categorical("job"), Numeric("zip"))
NAMES = ("age", "job", "zip")
GUARANTEE = KAnonymity(K, NAMES)
MODELS: dict[str, list[PrivacyModel]] = {
    "ill": [DistinctDiversity(2), AlphaFrequency("0.9"), Closeness("0.7"), EntropyDiversity("1.2")]
}


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make pieces, batches, samples and parts of few rows."""
    monkeypatch.setattr(large, "PIECE", 150)
    monkeypatch.setattr(large, "BATCH", (10, 130))
    monkeypatch.setattr(first, "FEW_ROWS", 100)
    monkeypatch.setattr(first, "SAMPLE", 300)


def people(seed: int = 0, n: int = N) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "age": [None, *rng.integers(18, 60, n - 1).tolist()],
            "job": rng.choice(["cook", "nurse", "a|b", 'the "boss"'], n),
            "zip": rng.integers(0, 300, n),
            "ill": rng.choice(["x", "y", "z"], n, p=[0.6, 0.3, 0.1]),
            "who": [f"p{row // 2}" for row in range(n)],
            "row": np.arange(n),
        }
    )


def folder_of(table: pl.DataFrame, where: Path, suffix: str = ".parquet", parts: int = 3) -> Path:
    where.mkdir()
    size = -(-table.height // parts)
    for part in range(parts):
        rows = table[part * size : (part + 1) * size]
        path = where / f"rows-{part}{suffix}"
        if suffix == ".csv":
            rows.write_csv(path)
        else:
            rows.write_parquet(path, row_group_size=100)
    return where


def published(where: Path) -> pl.DataFrame:
    read = [
        pl.read_parquet(path)
        if path.suffix == ".parquet"
        else pl.read_csv(path, infer_schema=False)
        for path in sorted(where.iterdir())
        if path.name != RECORD
    ]
    return pl.concat(read)


def covers(cell: str, value: object) -> bool:
    """Say by the text alone whether a published cell covers a value."""
    if cell.startswith("["):
        low, high = cell[1:-1].split(", ")
        return value is not None and float(low) <= float(str(value)) <= float(high)
    if cell == "*":
        return True
    text = "" if value is None else str(value).replace("\\", r"\\").replace("|", r"\|")
    return text in cell.replace(r"\|", "\0").split("|") or text.replace(
        r"\|", "\0"
    ) in cell.replace(r"\|", "\0").split("|")


def check(where: Path, original: pl.DataFrame, k: int = K) -> dict[tuple[str, ...], list[int]]:
    """Check labels, classes and rows with nothing of the library; give the rows of each class."""
    table = published(where)
    rows = [int(row) for row in table["row"]]
    assert sorted(rows) == original["row"].to_list()
    classes: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for row, *cells in table.select("row", *NAMES).iter_rows():
        classes[tuple(cells)].append(int(row))
        for name, cell in zip(NAMES, cells, strict=True):
            assert covers(cell, original[name][int(row)])
    assert min(map(len, classes.values())) >= k
    return classes


def left_behind(where: Path) -> list[str]:
    return [name for name in names_in(where) if name.startswith(".")]


def names_in(where: Path) -> list[str]:
    return sorted(path.name for path in where.iterdir())


@pytest.mark.parametrize("effort", ["fast", "strong"])
def test_parts_are_the_classes_that_memory_gives_with_the_same_top(
    tmp_path: Path, effort: str
) -> None:
    original = people()
    source = folder_of(original, tmp_path / "in")
    out = tmp_path / "out"
    made = anonymize_folder(
        source, out, GUARANTEE, attributes=KINDS, drop=["ill", "who"], keep=["row"], effort=effort
    )
    classes = check(out, original)
    problem = Problem.from_columns({name: original[name].to_list() for name in NAMES}, KINDS)
    labels = TopDown(effort).solve(problem, K, SearchLimits()).labels
    memory: dict[int, set[int]] = defaultdict(set)
    for row, label in enumerate(labels.tolist()):
        memory[label].add(row)
    cells = {row: cell for cell, rows in classes.items() for row in rows}
    # Classes of memory whose cells are the same are one class of what is published.
    assert all(len({cells[row] for row in rows}) == 1 for rows in memory.values())
    assert made.diagnostics.information_loss == pytest.approx(problem.loss_of(labels))
    assert made.diagnostics.subtrees > 4
    assert made.diagnostics.parts > 4
    assert left_behind(tmp_path) == []
    record = json.loads((out / RECORD).read_text())
    assert sorted(record["table"]["parts"]) == [name for name in names_in(out) if name != RECORD]
    assert "information_loss" not in (out / RECORD).read_text()
    # Rows of a large class are in more than one published part: parts tell nothing of the search.
    largest = max(classes, key=lambda cell: len(classes[cell]))
    homes = [set(pl.read_parquet(path)["row"]) for path in out.glob("*.parquet")]
    assert sum(bool(home & set(classes[largest])) for home in homes) > 1


def test_demands_and_persons_hold_on_what_is_written(tmp_path: Path) -> None:
    original, out = people(1), tmp_path / "out"
    made = anonymize_folder(
        folder_of(original, tmp_path / "in"),
        out,
        GUARANTEE,
        attributes=KINDS,
        models=MODELS,
        person="who",
        keep=["row"],
    )
    assert "who" not in published(out).columns
    shares = Counter(original["ill"])
    for rows in check(out, original).values():
        ill = Counter(original["ill"][row] for row in rows)
        assert len(ill) >= 2
        assert max(ill.values()) <= 0.9 * len(rows)
        far = sum(abs(ill[one] / len(rows) - shares[one] / N) for one in shares) / 2
        assert far <= 0.7 + 1e-12
        assert len({original["who"][row] for row in rows}) >= K
    assert len(made.certificate.checks) == 7
    kept = load_folder(out)
    assert not kept.altered
    certificate, found = count_folder(out, kept.guarantee, MODELS)
    assert certificate.passed
    assert found["rows"] == N
    assert not count_folder(out, kept.guarantee, {"ill": [DistinctDiversity(3)]})[0].passed
    assert not count_folder(out, KAnonymity(K, (*NAMES, "row")), {})[0].passed


def test_the_command_as_it_is_typed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    original = people(2)
    folder_of(original, tmp_path / "parts", ".csv")
    original.write_parquet("big.parquet", row_group_size=100)
    roles = ["--quasi", "age,job,zip", "--drop", "ill,who", "--keep", "row"]
    for source, out in (("big.parquet", "out1/"), ("parts/", "out2/")):
        line = ["anonymize", source, "-k", "4", *roles, "-o", out, "--memory", "4GB", "--json"]
        said = say(capsys, *line)
        assert said.status == 0, said.err
        assert said.data["rows"] == N
        assert said.data["smallest_class"] >= K
        check(tmp_path / out, original)
        assert say(capsys, "verify", out, "-k", "4", "--quasi", "age,job,zip").status == 0
        assert say(capsys, "verify", out, "--json").data["passed"]
    assert say(capsys, "verify", "out1/", "-k", "40").status == 1
    Path("out1", "more.parquet").write_bytes(Path("out1", "part-00000.parquet").read_bytes())
    assert say(capsys, "verify", "out1/").status == 1
    for more, word in (
        (["--memory", "much"], "--memory"),
        (["--memory", "1MB"], "--memory"),
        (["--memory", "1GB", "--gap", "0.1"], "--gap"),
        (["--scheduler", "tcp://192.0.2.1:8786"], "tls://"),
        (["--scheduler", "nowhere"], "--scheduler"),
    ):
        said = say(capsys, "anonymize", "big.parquet", "-k", "4", *roles, "-o", "out3", *more)
        assert said.status == 2
        assert word in said.err
    assert not Path("out3").exists()
    assert left_behind(tmp_path) == []


def refused(tmp_path: Path, source: Path, **more: Any) -> str:
    """Try what must be refused in a sentence; nothing is left."""
    out = more.pop("out", tmp_path / "out")
    before = names_in(out) if out.exists() else None
    options: dict[str, Any] = {"attributes": KINDS, "drop": ["ill", "who"], "keep": ["row"]}
    with pytest.raises((InvalidProblemError, InfeasibleError, SolverError)) as caught:
        anonymize_folder(source, out, more.pop("guarantee", GUARANTEE), **{**options, **more})
    assert (names_in(out) if out.exists() else None) == before
    assert left_behind(tmp_path) == []
    return str(caught.value)


def test_what_cannot_be_done_is_said_and_nothing_is_left(tmp_path: Path) -> None:
    table = people()
    source = folder_of(table, tmp_path / "in")
    full = tmp_path / "full"
    full.mkdir()
    (full / "mine").write_text("x")
    assert "not empty" in refused(tmp_path, source, out=full)
    assert "fewer than 2000" in refused(tmp_path, source, guarantee=KAnonymity(2000, NAMES))
    assert "all rows" in refused(
        tmp_path, source, drop=["who"], models={"ill": [DistinctDiversity(4)]}
    )
    assert "executor" in refused(tmp_path, source, executor=3)
    assert "400MB" not in refused(tmp_path, source, memory=10**6)
    assert "empty or not there" in refused(tmp_path, source, out=tmp_path / "no" / "out")
    declared = (Numeric("age", low=18, high=59), Categorical("job", values=("cook",)), KINDS[2])
    assert "nurse" not in refused(tmp_path, source, attributes=declared)
    other = folder_of(table, tmp_path / "other")
    table.with_columns(pl.col("zip").cast(pl.String)).write_parquet(other / "rows-9.parquet")
    assert "file 4" in refused(tmp_path, other)
    (other / "rows-9.parquet").rename(other / "rows-9.csv")
    assert "all end in" in refused(tmp_path, other)
    ragged = folder_of(table, tmp_path / "ragged", ".csv")
    with (ragged / "rows-2.csv").open("a") as file:
        file.write("1,2\n")
    assert "as many cells" in refused(tmp_path, ragged)


def test_a_code_that_the_sample_did_not_see_and_equal_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(first, "SAMPLE", 60)
    rare = people().with_columns(
        job=pl.when(pl.col("row") < 2).then(pl.lit("rare")).otherwise("job")
    )
    options: dict[str, Any] = {"attributes": KINDS, "drop": ["ill", "who"], "keep": ["row"]}
    anonymize_folder(folder_of(rare, tmp_path / "in"), tmp_path / "out", GUARANTEE, **options)
    check(tmp_path / "out", rare)
    equal = people().with_columns(age=pl.lit(30), job=pl.lit("cook"), zip=pl.lit(7))
    made = anonymize_folder(
        folder_of(equal, tmp_path / "in2"), tmp_path / "out2", GUARANTEE, **options
    )
    assert made.diagnostics.information_loss == 0
    check(tmp_path / "out2", equal)


def test_a_broken_step_is_found_before_anything_is_published(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = folder_of(people(), tmp_path / "in")
    options: dict[str, Any] = {"attributes": KINDS, "drop": ["ill", "who"], "keep": ["row"]}
    plain = split_part

    def careless(rows: Any, *rest: Any) -> float | None:
        found = plain(rows, *rest)
        rows.bound[1] = 1
        return found

    monkeypatch.setattr(large_steps, "split_part", careless)
    with pytest.raises(CertificateError, match="smaller than k"):
        anonymize_folder(source, tmp_path / "out", GUARANTEE, **options)
    monkeypatch.setattr(large_steps, "split_part", plain)

    def lossy(space: Any, number: int) -> None:
        deal = large_steps._Groups.deal
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(
                large_steps._Groups, "deal", lambda me, frame, *rest: deal(me, frame[1:], *rest)
            )
            large_steps.finish(space, number)

    monkeypatch.setitem(large_steps.STEPS, "finish", lossy)
    with pytest.raises(CertificateError):
        anonymize_folder(source, tmp_path / "out", GUARANTEE, **options)
    assert names_in(tmp_path) == ["in"]


@pytest.mark.parametrize("kind", list(large_steps.STEPS))
def test_errors_of_steps_leave_nothing_and_hold_no_value(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """A full disk, and an error that quotes a row, in each phase."""
    source = folder_of(people(n=300), tmp_path / "in")
    options: dict[str, Any] = {
        "drop": ["who"],
        "keep": ["row"],
        "models": {"ill": MODELS["ill"][:1]},
    }

    def full(space: Any, number: int) -> None:
        (space.folder / "half").write_text("secret")
        raise OSError(28, "No space left on device")

    monkeypatch.setitem(large_steps.STEPS, kind, full)
    assert "No space" in refused(tmp_path, source, **options)

    def loud(space: Any, number: int) -> None:
        raise RuntimeError("the row of Mrs Smith")

    monkeypatch.setitem(large_steps.STEPS, kind, loud)
    said = refused(tmp_path, source, **options)
    assert "Smith" not in said
    assert kind in said


def test_a_step_that_is_done_twice_counts_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after a worker that was thought lost: its files are dropped where another one was first."""
    original = people()
    plain = large_steps.perform

    def twice(folder: str, kind: str, number: int) -> bool:
        step = large_steps.STEPS[kind]
        if kind in ("route", "finish", "publish"):
            step(Workspace(Path(folder)), number)
            before = len(list(Path(folder).glob(f"{kind}-{number}.*")))
            step(Workspace(Path(folder)), number)
            assert len(list(Path(folder).glob(f"{kind}-{number}.*"))) == before
        return plain(folder, kind, number)

    monkeypatch.setattr("discreet.artefact.large_engines.perform", twice)
    anonymize_folder(
        folder_of(original, tmp_path / "in"),
        tmp_path / "out",
        GUARANTEE,
        attributes=KINDS,
        drop=["ill", "who"],
        keep=["row"],
    )
    check(tmp_path / "out", original)


def test_files_on_their_way_are_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: set[str] = set()
    plain = large_steps.STEPS["total"]

    def look(space: Any, number: int) -> None:
        plain(space, number)
        seen.update(oct(path.stat().st_mode & 0o777) for path in space.folder.iterdir())
        assert space.folder.stat().st_mode & 0o777 == 0o700

    monkeypatch.setitem(large_steps.STEPS, "total", look)
    anonymize_folder(
        folder_of(people(), tmp_path / "in"),
        tmp_path / "out",
        GUARANTEE,
        attributes=KINDS,
        models={"ill": MODELS["ill"][:1]},
        person="who",
        keep=["row"],
    )
    assert seen == {"0o600"}


def test_two_runs_into_one_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The one that ends later finds the folder filled, and leaves it as it is."""
    source, out = folder_of(people(), tmp_path / "in"), tmp_path / "out"
    plain = large_steps.STEPS["total"]

    def other(space: Any, number: int) -> None:
        plain(space, number)
        out.mkdir(exist_ok=True)
        (out / "theirs").write_text("x")

    monkeypatch.setitem(large_steps.STEPS, "total", other)
    options: dict[str, Any] = {"attributes": KINDS, "drop": ["ill", "who"], "keep": ["row"]}
    with pytest.raises(InvalidProblemError, match="another run"):
        anonymize_folder(source, out, GUARANTEE, **options)
    assert names_in(out) == ["theirs"]
    assert left_behind(tmp_path) == []
