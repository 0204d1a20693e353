"""Tables in parts, and files larger than memory: classes, order, what is left on the disk."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

from discreet.artefact import anonymize_file, audit_file, load_anonymous
from discreet.artefact import streams as _streams
from discreet.core.errors import CertificateError, InfeasibleError, InvalidProblemError
from discreet.core.guarantee import KAnonymity
from discreet.core.randomness import SeededBits
from discreet.kanonymity.methods.initial import Initial
from discreet.kanonymity.problem import Attribute, Categorical, Numeric, Problem
from discreet.kanonymity.verify import verify
from discreet.tables import writing

if TYPE_CHECKING:
    from pathlib import Path

KINDS: tuple[Attribute, ...] = (Numeric("age"), Categorical("job"))
GUARANTEE = KAnonymity(3, ("age", "job"))


def people(n: int, seed: int = 0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "age": [None, *rng.integers(18, 60, n - 1).tolist()],
            "job": rng.choice(["cook", "nurse", "a|b", 'the "boss"'], n),
            "row": [f"r{i}" for i in range(n)],
        }
    )


def problem(n: int, seed: int = 0) -> Problem:
    return Problem.from_columns(
        {name: people(n, seed)[name].to_list() for name in ("age", "job")}, KINDS
    )


def write(table: pl.DataFrame, path: Path) -> Path:
    if path.suffix == ".csv":
        table.write_csv(path)
    else:
        table.write_parquet(path)
    return path


@pytest.mark.parametrize("source", ["in.csv", "in.parquet"])
@pytest.mark.parametrize("target", ["out.csv", "out.parquet"])
def test_files_are_anonymized(tmp_path: Path, source: str, target: str) -> None:
    original = people(80)
    said: list[str] = []
    made = anonymize_file(
        write(original, tmp_path / source),
        tmp_path / target,
        GUARANTEE,
        attributes=KINDS,
        keep=["row"],
        method=Initial(),
        on_progress=said.append,
    )
    out = tmp_path / target
    table = pl.read_csv(out, infer_schema=False) if out.suffix == ".csv" else pl.read_parquet(out)
    assert table.columns == original.columns
    assert sorted(table["row"]) == sorted(original["row"])
    found = verify(table, GUARANTEE, against=original, attributes=KINDS)
    assert found.passed, str(found)
    assert made.diagnostics.lower <= made.diagnostics.information_loss
    assert 0 <= made.diagnostics.gap <= 1
    assert audit_file(out, ["age", "job"])[:3] == (
        made.diagnostics.classes,
        made.diagnostics.smallest_class,
        80,
    )
    kept = load_anonymous(out)
    assert not kept.altered
    assert kept.guarantee == GUARANTEE
    assert kept.attributes == KINDS
    assert len(said) == 4
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {source, target, f"{target}.discreet.json"}, "no private row stays behind"


def test_rows_stand_in_the_order_of_their_keys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over the whole table: dealt to several files by the first bits, each of them sorted."""
    monkeypatch.setattr(writing, "BUCKET", 20)
    monkeypatch.setattr(writing, "BATCH", 30)
    monkeypatch.setattr(_streams, "BATCH", 30)
    write(people(100), tmp_path / "in.parquet")
    made = anonymize_file(
        tmp_path / "in.parquet",
        tmp_path / "out.parquet",
        GUARANTEE,
        attributes=KINDS,
        keep=["row"],
        method=Initial(),
        bits=SeededBits(5),
    )
    bits = SeededBits(5)
    keys: list[tuple[int, int, str]] = []
    for rows in batches(tmp_path / "in.parquet"):
        high, low = bits.randranges(2**64, len(rows)), bits.randranges(2**64, len(rows))
        keys += zip(high.tolist(), low.tolist(), rows, strict=True)
    order = [row for *_, row in sorted(keys)]
    assert pl.read_parquet(tmp_path / "out.parquet")["row"].to_list() == order
    assert order != sorted(order)
    assert made.provenance.seeded


def batches(path: Path) -> list[list[str]]:
    stream = pl.scan_parquet(path).collect_batches(chunk_size=30)
    return [batch["row"].to_list() for batch in stream]


def test_what_cannot_be_is_refused(tmp_path: Path) -> None:
    file = write(people(10), tmp_path / "in.csv")
    out = tmp_path / "out.csv"
    more: dict[str, Any] = {"attributes": KINDS, "keep": ["row"]}
    with pytest.raises(InfeasibleError):
        anonymize_file(file, out, KAnonymity(11, ("age", "job")), **more)
    for source, target in ((file, file), (file, tmp_path / "out.txt"), (tmp_path / "no.csv", out)):
        with pytest.raises(InvalidProblemError, match=r"source|target"):
            anonymize_file(source, target, GUARANTEE, **more)
    with pytest.raises(InvalidProblemError, match="attributes"):
        anonymize_file(file, out, KAnonymity(2, ("age",)), **more)
    with pytest.raises(InvalidProblemError, match="'sex'"):
        anonymize_file(file, out, KAnonymity(2, ("sex",)), attributes=[Numeric("sex")])
    with pytest.raises(InvalidProblemError, match="'sex'"):
        audit_file(file, ["sex"])
    assert not out.exists()


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ("20,F\n\n30,F\n", "0 of 2 cells in line 3"),
        ("20,F\n30\n", "1 of 2 cells in line 3"),
        ("20,F\n30,F\n\n", "0 of 2 cells in line 4"),
        ("20,M\xe4nnlich\n", "text in UTF-8"),
    ],
    ids=["empty line", "too few", "empty last line", "latin-1"],
)
def test_nobody_is_no_person(tmp_path: Path, rows: str, words: str) -> None:
    """An empty line read as missing values would make a class of k rows one of fewer people."""
    source = tmp_path / "in.csv"
    source.write_bytes(f"age,sex\n{rows}".encode("latin-1"))
    with pytest.raises(InvalidProblemError, match=words):
        anonymize_file(
            source,
            tmp_path / "out.csv",
            KAnonymity(2, ("age", "sex")),
            attributes=[Numeric("age"), Categorical("sex")],
        )
    assert not (tmp_path / "out.csv").exists()


def test_a_file_that_fails_its_audit_is_not_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The audit looks at the file alone: here one class has lost its rows on the way."""
    file = write(people(30), tmp_path / "in.csv")

    whole = writing.write_shuffled

    def lossy(*told: Any, **more: Any) -> None:
        whole(*told, **more)
        pl.read_csv(told[3], infer_schema=False).head(28).write_csv(told[3])

    monkeypatch.setattr(_streams, "write_shuffled", lossy)
    with pytest.raises(CertificateError):
        anonymize_file(
            file, tmp_path / "out.csv", GUARANTEE, attributes=KINDS, keep=["row"], method=Initial()
        )
    assert {path.name for path in tmp_path.iterdir()} == {"in.csv"}
