"""``--embeddings``: words from files, in three metrics, and every file that is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cli.commands import say
from discreet.artefact import load
from discreet.tables.arrays import read_embeddings

WORDS = "cat,0.5,0.1,0\ndog,0.4,0.2,0.1\ncar,-0.3,0.6,0.2\nvan,-0.4,0.5,0.2\n"


@pytest.fixture
def words(tmp_path: Path) -> Path:
    path = tmp_path / "words.csv"
    path.write_text(WORDS)
    return path


@pytest.mark.parametrize(
    ("options", "made"),
    [
        ([], ("unit", "euclidean")),
        (["--unit", "1"], ("1", "euclidean")),
        (["--metric", "angular"], ("rad", "angular")),
        (["--metric", "hyperbolic"], ("unit", "hyperbolic")),
    ],
)
def test_words_are_designed_for_verified_and_drawn(
    capsys: pytest.CaptureFixture[str],
    words: Path,
    tmp_path: Path,
    options: list[str],
    made: tuple[str, str],
) -> None:
    path = tmp_path / "words.channel"
    said = say(
        capsys, "design", "--embeddings", words, *options, "--epsilon", 3, "-o", path, "--json"
    )
    assert (said.status, said.err) == (0, "")
    assert (said.data["unit"], load(path).problem.space.metric) == made
    assert say(capsys, "verify", path, "--optimality").status == 0
    drawn = say(capsys, "sample", path, "--secret", "dog").out.strip()
    assert drawn in {"cat", "dog", "car", "van"}


def test_an_array_has_numbers_for_names(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    np.save(tmp_path / "e.npy", np.random.default_rng(1).normal(size=(6, 40)).astype(np.float32))
    path = tmp_path / "e.channel"
    options = ["--metric", "angular", "--epsilon", 2, "-o", path]
    assert say(capsys, "design", "--embeddings", tmp_path / "e.npy", *options).status == 0
    assert load(path).problem.space.points is not None
    assert say(capsys, "sample", path, "--secret", 5).out.strip() in set("012345")


def test_methods_are_compared_on_words(capsys: pytest.CaptureFixture[str], words: Path) -> None:
    options = ["--epsilon", "1,4", "--methods", "optimal,tem,exponential", "--json"]
    said = say(capsys, "compare", "--embeddings", words, *options)
    assert said.status == 0
    assert all(entry["certified"] for entry in said.data["entries"])


@pytest.mark.parametrize(
    ("text", "points", "names"),
    [
        ("1,2\n3,4\n", [[1, 2], [3, 4]], None),
        ("x,y\n1,2\n3,4\n", [[1, 2], [3, 4]], None),
        ("word,x\ncat,1\n7,2\n", [[1], [2]], ["cat", "7"]),
        ('"a, b",1\n\nc,2e-3\n', [[1], [0.002]], ["a, b", "c"]),
    ],
    ids=["numbers", "a header", "a word that is a number", "quotes"],
)
def test_tables_are_read_with_and_without_words(
    tmp_path: Path, text: str, points: list[list[float]], names: list[str] | None
) -> None:
    path = tmp_path / "e.csv"
    path.write_text(text)
    table, found = read_embeddings(str(path), "--embeddings")
    assert table.tolist() == points
    assert found == names


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        ("e.txt", "1,2\n", "a file that ends in .npy or .csv"),
        ("e.csv", "", "one for each word, got no rows"),
        ("e.csv", "x,y\n", "one for each word, got no rows"),
        ("e.csv", "cat,1,2\ndog,3\n", "in each row, after the word, got other cells in row 2"),
        ("e.csv", "1,2\n3,x\n", "2 numbers in each row, got other cells in row 2"),
        ("e.csv", "cat,1\ncat,2\n", "--label: expected"),
        ("e.csv", "cat,1\ndog,nan\n", "finite coordinates below 1e30"),
        ("e.npy", "no array", "a .npy file of numbers"),
        ("e.npy", np.ones(3), "a table of numbers"),
        ("e.npy", np.array([["a"]]), "a table of numbers"),
        ("e.npy", np.array([[None]]), "which is damaged or holds objects"),
    ],
)
def test_files_that_are_no_embeddings_are_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str, content: Any, complaint: str
) -> None:
    path = tmp_path / name
    if isinstance(content, str):
        path.write_text(content)
    else:
        np.save(path, content)
    said = say(capsys, "design", "--embeddings", path, "--epsilon", 1)
    assert said.status == 2
    assert complaint in said.err


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--grid", "2x2"], "--grid: expected none beside --embeddings"),
        (["--label", "word"], "--label: expected none beside --embeddings"),
        (["places.csv"], "PLACES: expected none beside --embeddings"),
        (["--metric", "haversine"], "--metric: expected one of euclidean, angular, hyperbolic"),
        (["--metric", "angular", "--unit", "km"], "--unit: expected rad for angular"),
    ],
)
def test_options_that_do_not_go_with_embeddings_are_refused(
    capsys: pytest.CaptureFixture[str], words: Path, options: list[str], complaint: str
) -> None:
    said = say(capsys, "design", *options, "--embeddings", words, "--epsilon", 1)
    assert said.status == 2
    assert complaint in said.err


def test_points_outside_the_ball_are_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "e.csv"
    path.write_text("a,0.1\nb,1\n")
    said = say(capsys, "design", "--embeddings", path, "--metric", "hyperbolic", "--epsilon", 1)
    assert said.status == 2
    assert "--embeddings: expected points strictly inside the unit ball" in said.err
