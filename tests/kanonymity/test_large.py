"""Tables from folder to folder: rows, classes and demands, by code of its own; what is refused; what is left behind."""

from __future__ import annotations

import json
import resource
from collections import Counter, defaultdict
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

from cli.commands import say
from discreet.artefact.folders import RECORD, count_folder, load_folder
from discreet.core.errors import (
    CertificateError,
    InfeasibleError,
    InvalidProblemError,
    SolverError,
)
from discreet.core.guarantee import KAnonymity
from discreet.kanonymity import anonymize
from discreet.kanonymity.bounds.shared import Shared, SharedCellsTuning
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
from discreet.kanonymity.risk import risk
from discreet.kanonymity.search import top as first
from discreet.kanonymity.search.parts import split_parts
from discreet.kanonymity.verify import verify
from discreet.streaming import anonymize as large
from discreet.streaming import pieces, workspace
from discreet.streaming import steps as large_steps
from discreet.streaming.anonymize import anonymize_files
from discreet.streaming.run import _quotas
from discreet.streaming.workspace import Workspace
from discreet.tables.rooms import make_private
from discreet.tables.writing import join_files
from few import each_once, few_of

if TYPE_CHECKING:
    from collections.abc import Iterator

N, K = 600, 4
KINDS: tuple[Attribute, ...] = (Numeric("age"), Categorical("job"), Numeric("zip"))
NAMES = ("age", "job", "zip")
GUARANTEE = KAnonymity(K, NAMES)
MODELS: dict[str, list[PrivacyModel]] = {
    "ill": [DistinctDiversity(2), AlphaFrequency("0.9"), Closeness("0.7"), EntropyDiversity("1.2")]
}


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make pieces, batches, samples and parts of few rows."""
    monkeypatch.setattr(pieces, "PIECE_ROWS", 150)
    monkeypatch.setattr(large, "BATCH", (10, 130))
    monkeypatch.setattr(first, "TOP", replace(first.TOP, max_rows_of_one_part=100))
    monkeypatch.setattr(first, "TOP", replace(first.TOP, min_sample_rows=300))


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


def check(
    where: Path, original: pl.DataFrame, k: int = K, gone: frozenset[int] = frozenset()
) -> dict[tuple[str, ...], list[int]]:
    """Check labels, classes and rows with nothing of the library; give the rows of each class."""
    table = published(where)
    rows = [int(row) for row in table["row"]]
    assert sorted(rows) == [row for row in original["row"] if row not in gone]
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
    made = anonymize_files(
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
    made = anonymize_files(
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


OTHERS: dict[str, Any] = {"attributes": KINDS, "drop": ["ill", "who"], "keep": ["row"]}


@pytest.mark.parametrize(
    ("out", "more"),
    each_once(["out", "out.csv", "out.parquet"], ["persons and demands", "", "suppressed"]),
)
def test_classes_with_one_value_are_those_that_memory_counts(
    tmp_path: Path, out: str, more: str
) -> None:
    """Missing values, NaN and empty text are one value, and so are both zeros."""
    table = people(5).with_columns(
        pl.Series("note", ([None, "", "a"] * N)[:N]),
        pl.Series("wage", ([0.0, -0.0, float("nan"), None] * N)[:N]),
        pl.Series("flag", [row % 40 > 2 for row in range(N)]),
    )
    # Sorted, so that many classes have one value.
    columns = {name: table[name].sort() for name in ("ill", "note", "wage", "flag")}
    source = folder_of(table.sort("age", "job", "zip").with_columns(**columns), tmp_path / "in")
    options: dict[str, Any] = {"drop": ("who",)}
    if more == "persons and demands":
        options = {"person": "who", "models": {"row": [DistinctDiversity(2)]}}
    elif more:
        options |= {"suppress": 0.2, "keep_suppressed": True}
    made = anonymize_files(
        source,
        tmp_path / out,
        GUARANTEE,
        attributes=KINDS,
        sensitive=tuple(columns),
        keep=("row",),
        **options,
    )
    if out == "out":
        read = published(tmp_path / out)
    else:
        path = tmp_path / out
        parquet = out.endswith("parquet")
        read = pl.read_parquet(path) if parquet else pl.read_csv(path, infer_schema=False)
    found = risk(read, NAMES, sensitive=(*columns, "row"))
    assert made.diagnostics.homogeneous == {
        name: found.homogeneous[name] for name in made.diagnostics.homogeneous
    }
    assert set(made.diagnostics.homogeneous) >= set(columns)
    assert made.diagnostics.homogeneous["ill"][0] > 0


def test_the_command_says_for_how_many_rows_a_value_follows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    people(6).sort("age").with_columns(pl.col("ill").sort()).write_csv(tmp_path / "in.csv")
    roles = ("--quasi", "age", "--sensitive", "ill", "--drop", "who,job,zip,row", "-k", "20")
    line = ("anonymize", str(tmp_path / "in.csv"), *roles, "-o")
    words, counted = [], []
    for out, more in (("one.csv", ()), ("two.csv", ("--memory", "2GB"))):
        said = say(capsys, *line, str(tmp_path / out), *more)
        assert said.status == 0, said.err
        words += [one for one in said.out.splitlines() if one.startswith("one value in a class")]
        told = say(
            capsys, "risk", str(tmp_path / out), "--quasi", "age", "--sensitive", "ill", "--json"
        )
        counted.append(told.data["homogeneous"]["ill"])
    assert len(words) == 2
    for sentence, one in zip(words, counted, strict=True):
        assert f"{one['rows']} of {N} rows are in {one['classes']} equivalence class" in sentence


@pytest.mark.parametrize("out", ["out", "out.csv", "out.parquet"])
def test_rows_stand_in_a_random_order(tmp_path: Path, out: str) -> None:
    """In each published part about half of the rows are followed by a later one of the table; in its order all are."""
    anonymize_files(folder_of(people(3), tmp_path / "in"), tmp_path / out, GUARANTEE, **OTHERS)
    where = tmp_path / out
    parts = sorted(where.glob("*.parquet")) if where.is_dir() else [where]
    rows = [
        (pl.read_csv if path.suffix == ".csv" else pl.read_parquet)(path)["row"].to_numpy()
        for path in parts
    ]
    assert sorted(np.concatenate(rows).tolist()) == list(range(N))
    for part in rows:
        # The share has a standard deviation of .29 by the square root of the rows: eight of them and more.
        assert abs((np.diff(part) > 0).mean() - 0.5) < 2.4 / np.sqrt(len(part))


@pytest.mark.parametrize("keep", few_of(1, [True, False]))
def test_rows_are_left_out_up_to_a_share(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, keep: bool
) -> None:
    def all_beyond_k(
        problem: Problem, labels: np.ndarray[Any, Any], k: int, most: int
    ) -> np.ndarray[Any, Any]:
        del problem
        order = np.argsort(labels, kind="stable")
        place = np.arange(len(labels)) - np.searchsorted(labels[order], labels[order])
        found = labels.copy()
        found[order[place >= k][:most]] = -1
        return found

    original = people(4, count := 900)
    source = folder_of(original, tmp_path / "in")
    whole = anonymize_files(source, tmp_path / "whole", GUARANTEE, **OTHERS)
    best = anonymize_files(source, tmp_path / "best", GUARANTEE, suppress=0.4, **OTHERS)
    assert best.diagnostics.information_loss < whole.diagnostics.information_loss
    assert best.diagnostics.suppressed > 0
    monkeypatch.setattr(large_steps, "leave_out", all_beyond_k)
    made = anonymize_files(
        source, tmp_path / "out", GUARANTEE, suppress=0.4, keep_suppressed=keep, **OTHERS
    )
    found = made.diagnostics
    assert K <= found.suppressed <= 0.4 * count
    assert found.lower <= found.information_loss
    table = published(tmp_path / "out")
    rows = [int(row) for row in table["row"]]
    gone = set(range(count)) - set(rows)
    assert len(rows) == len(set(rows)) == found.rows
    stars = table.filter(pl.all_horizontal(pl.col(NAMES) == "*")).height
    assert len(gone) == (0 if keep else found.suppressed)
    assert stars >= (found.suppressed if keep else 0)
    check(tmp_path / "out", original, gone=frozenset(gone))
    assert count_folder(tmp_path / "out", GUARANTEE, {})[0].passed
    # A few suppressed rows would be a class of fewer than k.
    few = anonymize_files(
        source,
        tmp_path / "few",
        KAnonymity(100, NAMES),
        suppress=0.05,
        keep_suppressed=True,
        **OTHERS,
    )
    assert 0 <= few.diagnostics.suppressed < 100
    assert few.diagnostics.rows == count - few.diagnostics.suppressed
    assert count_folder(tmp_path / "few", KAnonymity(100, NAMES), {})[0].passed
    demands = {"models": {"ill": [DistinctDiversity(2)]}, "suppress": 0.1}
    none = tmp_path / "none"
    assert "suppress" in refused(tmp_path, source, out=none, drop=["who"], **demands)
    assert "[0, 1)" in refused(tmp_path, source, out=none, suppress=1.0)


@pytest.mark.parametrize("share", [0.0, 0.01, 0.3, 0.999])
def test_parts_divide_all_that_may_be_left_out(share: float) -> None:
    rows = np.random.default_rng(1).integers(1, 90, 60).tolist()
    quotas = _quotas(share, rows)
    assert sum(quotas) == int(share * sum(rows))
    assert all(0 <= quota <= size for quota, size in zip(quotas, rows, strict=True))


@pytest.mark.parametrize(("seconds", "effort"), each_once([1e-6, 60.0], ["fast", "strong"]))
def test_a_time_limit_leaves_valid_classes_and_a_bound_that_holds(
    tmp_path: Path, seconds: float, effort: str
) -> None:
    original = people(5)
    source, out = folder_of(original, tmp_path / "in"), tmp_path / "out"
    made = anonymize_files(
        source, out, GUARANTEE, effort=effort, time_limit=seconds, threads=2, **OTHERS
    )
    check(out, original)
    free = anonymize_files(source, tmp_path / "free", GUARANTEE, effort=effort, **OTHERS)
    assert 0 <= made.diagnostics.lower <= free.diagnostics.information_loss
    if seconds > 1:
        assert made.diagnostics.information_loss <= free.diagnostics.information_loss * 1.01
        assert made.diagnostics.lower > 0
    assert "time_limit" in refused(tmp_path, source, out=tmp_path / "no", time_limit=-1)


@pytest.mark.parametrize("most", [7, 10**6])
def test_the_bound_of_files_is_that_of_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    """The cheapest cells of each row, added up over row groups; fewer different rows, and it only falls."""
    monkeypatch.setattr(large_steps, "SHARED", SharedCellsTuning(max_packed_rows=most))
    original = people(6)
    made = anonymize_files(
        folder_of(original, tmp_path / "in"), tmp_path / "out", GUARANTEE, **OTHERS
    )
    problem = Problem.from_columns({name: original[name].to_list() for name in NAMES}, KINDS)
    shared = Shared.of(problem, K)
    shared.refine(SearchLimits())
    assert shared.done
    if most > N:
        assert made.diagnostics.lower == pytest.approx(shared.lower)
    assert made.diagnostics.lower <= shared.lower <= made.diagnostics.information_loss


def families() -> dict[str, pl.DataFrame]:
    rng, n = np.random.default_rng(7), 600
    zipf = {f"z{j}": np.minimum(rng.zipf(1.3, n), 10**6) for j in range(3)}
    many = {f"c{j}": rng.integers(0, 2 + j % 5, n) for j in range(30)}
    return {
        "skewed": pl.DataFrame(zipf),
        "thirty columns": pl.DataFrame(many),
        "many values": pl.DataFrame({"v": rng.integers(0, 10**5, n), "w": rng.integers(0, 3, n)}),
        "all equal": pl.DataFrame({"a": [1] * n, "b": [2] * n}),
        "all different": pl.DataFrame({"a": rng.permutation(n), "b": rng.permutation(n)}),
    }


@pytest.mark.parametrize(("name", "sets"), each_once(families(), [False, True]))
def test_families_of_tables_end_with_valid_classes_on_both_engines(
    tmp_path: Path, name: str, *, sets: bool
) -> None:
    table = families()[name]
    guarantee = KAnonymity(5, tuple(table.columns))
    kinds: list[Attribute] = [
        Categorical(one) if sets and at % 2 == 0 else Numeric(one)
        for at, one in enumerate(table.columns)
    ]
    source, out = folder_of(table, tmp_path / "in"), tmp_path / "out.parquet"
    made = anonymize_files(source, out, guarantee, attributes=kinds, threads=2)
    found = made.diagnostics
    assert verify(pl.read_parquet(out), guarantee, against=table, attributes=kinds).passed
    assert 0 <= found.lower <= found.information_loss
    # Half of thirty columns of two to six values may be bounded by none of their rows.
    assert found.lower > 0 or found.information_loss == 0 or name == "thirty columns"
    alone = anonymize(table, guarantee, attributes=kinds, effort="fast")
    assert verify(alone.table, guarantee, against=table, attributes=kinds).passed


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
        (["--memory", "1GB", "--method", "mondrian"], "other methods need all rows"),
        (["--memory", "1GB", "--report", "page.html"], "--report"),
        (["--memory", "1GB", "--k-map", "3"], "--k-map"),
        (["--scheduler", "tcp://192.0.2.1:8786"], "tls://"),
        (["--scheduler", "nowhere"], "--scheduler"),
    ):
        said = say(capsys, "anonymize", "big.parquet", "-k", "4", *roles, "-o", "out3", *more)
        assert said.status == 2
        assert word in said.err
    assert not Path("out3").exists()
    assert left_behind(tmp_path) == []


def test_columns_may_be_called_what_ours_could_be(tmp_path: Path) -> None:
    """Counts of groups stand beside the columns of the table, whose names are anybody's."""
    names = ("rows", "part", "value")
    table = people().select(
        *(pl.col(old).alias(new) for old, new in zip(NAMES, names, strict=True)),
        pl.col("ill").alias("hash of class"),
    )
    guarantee = KAnonymity(K, names)
    kinds: list[Attribute] = [Numeric("rows"), Categorical("part"), Numeric("value")]
    models: dict[str, list[PrivacyModel]] = {
        "hash of class": [DistinctDiversity(2), Closeness("0.7")]
    }
    out = tmp_path / "out"
    made = anonymize_files(
        folder_of(table, tmp_path / "in"),
        out,
        guarantee,
        attributes=kinds,
        models=models,
        sensitive=["hash of class"],
    )
    assert made.certificate.passed
    counted, found = count_folder(out, guarantee, models)
    assert counted.passed
    assert found["rows"] == N


def refused(tmp_path: Path, source: Path, **more: Any) -> str:
    """Try what must be refused in a sentence; nothing is left."""
    out = more.pop("out", tmp_path / "out")
    before = names_in(out) if out.exists() else None
    options = OTHERS
    with pytest.raises((InvalidProblemError, InfeasibleError, SolverError)) as caught:
        anonymize_files(source, out, more.pop("guarantee", GUARANTEE), **{**options, **more})
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
    monkeypatch.setattr(first, "TOP", replace(first.TOP, min_sample_rows=60))
    rare = people().with_columns(
        job=pl.when(pl.col("row") < 2).then(pl.lit("rare")).otherwise("job")
    )
    anonymize_files(folder_of(rare, tmp_path / "in"), tmp_path / "out", GUARANTEE, **OTHERS)
    check(tmp_path / "out", rare)
    equal = people().with_columns(age=pl.lit(30), job=pl.lit("cook"), zip=pl.lit(7))
    made = anonymize_files(
        folder_of(equal, tmp_path / "in2"), tmp_path / "out2", GUARANTEE, **OTHERS
    )
    assert made.diagnostics.information_loss == 0
    check(tmp_path / "out2", equal)


def test_a_broken_step_is_found_before_anything_is_published(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = folder_of(people(), tmp_path / "in")
    plain = split_parts

    def careless(rows: Any, *rest: Any, **more: Any) -> bool:
        found = plain(rows, *rest, **more)
        rows.bound[1] = 1
        return found

    monkeypatch.setattr(large_steps, "split_parts", careless)
    with pytest.raises(CertificateError, match="smaller than k"):
        anonymize_files(source, tmp_path / "out", GUARANTEE, **OTHERS)
    monkeypatch.setattr(large_steps, "split_parts", plain)

    def lossy(space: Any, number: int) -> None:
        deal = large_steps._deal
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(
                large_steps, "_deal", lambda out, frame, *rest: deal(out, frame[1:], *rest)
            )
            large_steps.finish(space, number)

    monkeypatch.setitem(large_steps.STEPS, "finish", lossy)
    with pytest.raises(CertificateError):
        anonymize_files(source, tmp_path / "out", GUARANTEE, **OTHERS)
    assert names_in(tmp_path) == ["in"]


@pytest.mark.parametrize("kind", large_steps.ANONYMIZE_STEPS)
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


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """Let the system refuse to write more to a file, as a full disk does."""
    former = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, former[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, former)


@pytest.mark.parametrize(
    ("kind", "suffix"), each_once(["route", "finish", "publish", "count"], [".parquet", ".csv"])
)
def test_a_full_disk_is_no_fault_of_the_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, suffix: str
) -> None:
    source, plain = folder_of(people(n=300), tmp_path / "in"), large_steps.STEPS[kind]

    def full(space: Any, number: int) -> None:
        with files_of_at_most(600):
            plain(space, number)

    monkeypatch.setitem(large_steps.STEPS, kind, full)
    said = refused(tmp_path, source, drop=["ill", "who"], keep=["row"], suffix=suffix)
    assert "target: expected a folder that can be written" in said
    assert "File too large" in said


@pytest.mark.parametrize("names", ["plan-0.", "plan-1.", "plan-3.", ("survey", "trouble")])
def test_a_disk_that_is_full_between_the_phases_or_for_what_a_step_says_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, names: str | tuple[str, ...]
) -> None:
    source, plain = folder_of(people(n=300), tmp_path / "in"), make_private

    def full(path: Path) -> Path:
        if path.name.startswith(names):
            raise OSError(28, "No space left on device")
        return plain(path)

    monkeypatch.setattr(workspace, "make_private", full)
    said = refused(tmp_path, source, drop=["ill", "who"], keep=["row"])
    assert "target: expected a folder that can be written" in said


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_a_disk_that_is_full_when_the_parts_are_joined(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    source, plain = folder_of(people(n=300), tmp_path / "in"), join_files

    def full(*given: Any) -> None:
        with files_of_at_most(600):
            plain(*given)

    monkeypatch.setattr(large, "join_files", full)
    out = tmp_path / f"out{suffix}"
    with pytest.raises(InvalidProblemError, match="target: expected a folder that can be written"):
        anonymize_files(source, out, GUARANTEE, attributes=KINDS, drop=["ill", "who", "row"])
    assert names_in(tmp_path) == ["in"]


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

    monkeypatch.setattr("discreet.streaming.engines.perform", twice)
    anonymize_files(
        folder_of(original, tmp_path / "in"),
        tmp_path / "out",
        GUARANTEE,
        **OTHERS,
    )
    check(tmp_path / "out", original)


def test_files_on_their_way_are_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: set[str] = set()
    plain = large_steps.STEPS["total"]

    def look(space: Any, number: int) -> None:
        plain(space, number)
        seen.update(oct(path.stat().st_mode & 0o777) for path in space.folder.iterdir())
        # Rows on their way stay no longer than they are read.
        assert not list(space.folder.glob("*.tables"))
        assert space.folder.stat().st_mode & 0o777 == 0o700

    monkeypatch.setitem(large_steps.STEPS, "total", look)
    anonymize_files(
        folder_of(people(), tmp_path / "in"),
        tmp_path / "out",
        GUARANTEE,
        attributes=KINDS,
        models={"ill": MODELS["ill"][:1]},
        person="who",
        keep=["row"],
    )
    assert seen == {"0o600"}


def test_what_is_as_long_as_the_table_is_read_by_steps_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain, kinds = Workspace.every, set[str]()

    def every(space: Workspace, kind: str, count: int) -> list[Any]:
        kinds.add(kind)
        return plain(space, kind, count)

    monkeypatch.setattr(Workspace, "every", every)
    options: dict[str, Any] = {"attributes": KINDS, "drop": ["ill", "who", "row"]}
    made = anonymize_files(
        folder_of(people(n=300), tmp_path / "in"), tmp_path / "out", GUARANTEE, **options
    )
    assert made.diagnostics.lower > 0
    assert {"route", "finish"} < kinds
    assert "atoms" not in kinds


def test_two_runs_into_one_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The one that ends later finds the folder filled, and leaves it as it is."""
    source, out = folder_of(people(), tmp_path / "in"), tmp_path / "out"
    plain = large_steps.STEPS["total"]

    def other(space: Any, number: int) -> None:
        plain(space, number)
        out.mkdir(exist_ok=True)
        (out / "theirs").write_text("x")

    monkeypatch.setitem(large_steps.STEPS, "total", other)
    with pytest.raises(InvalidProblemError, match="another run"):
        anonymize_files(source, out, GUARANTEE, **OTHERS)
    assert names_in(out) == ["theirs"]
    assert left_behind(tmp_path) == []
