"""The demo, small: one page, two files that carry their proofs, and every plotted optimum certified."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pytest

from discreet.artefact import load_counts, load_mechanism
from discreet.artefact.judging import judge
from discreet.artefact.reader import read
from discreet.core.guarantee import MetricDP
from discreet.core.spaces.metric import MetricSpace
from discreet.datasets import made_city
from discreet.evaluate.comparison import published_losses
from discreet.hierarchy import verify as verify_release
from discreet.lrgeo import verify as verify_mechanism
from discreet.metricdp import Problem, design, verify
from discreet.report import make_chapter
from discreet.report.demo import Demo, build_demo, city_problem, traffic
from true_pages import small_demo

if TYPE_CHECKING:
    from pathlib import Path

    from discreet.core.progress import Progress

said: list[Progress] = []


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Demo:
    said.clear()
    return small_demo(tmp_path_factory.mktemp("demo") / "new", on_progress=said.append)


def test_the_page_shows_both_designs_and_the_frontier(demo: Demo) -> None:
    page = demo.page.read_text(encoding="utf-8")
    assert page.count('class="map"') == 4
    assert page.count('class="plot"') == 13
    # A tab for each of the five tasks, whose chapters are all there without the script.
    assert page.count('class="panel"') == 5
    assert not re.search(r"<div[^>]* hidden", page)
    # The slider goes through five designs for one problem.
    data = json.loads(re.findall(r'id="city-data">(.*?)</script>', page, re.DOTALL)[0])
    assert [one["words"] for one in data["strengths"]] == [
        f"epsilon {epsilon} per km" for epsilon in ("0.5", "1", "2", "4", "8")
    ]
    guessed = [int(one["claim"]["guesses"]) for one in data["strengths"]]
    assert guessed == sorted(guessed)
    assert data["strengths"][data["strength"]]["rows"] == data["rows"]
    assert "A grid of 12 cells" in page
    assert page.count('class="choice"') == 1
    assert "greedy on a secret subsample" in page
    assert "discreet verify new/city.channel --optimality" in page
    for name in ("this library", "lower bound", "exponential mechanism", "planar Laplace"):
        assert name in page
    assert "FAILED" not in page
    assert not re.search(r"(?:src|href)=\"(?!#)", page)


def test_the_files_carry_designs_that_verify(demo: Demo) -> None:
    for path, n in zip(demo.artefacts[:2], (30, 12), strict=True):
        held = read(path).design
        assert held.problem.n_secrets == n
        certificate = verify(held, optimality=True)
        assert certificate.passed
        assert held.gap is not None
        assert held.gap <= 0.01


def test_the_service_s_mechanism_verifies_and_the_service_was_attacked(demo: Demo) -> None:
    mechanism = load_mechanism(demo.artefacts[2])
    assert verify_mechanism(mechanism.channel, mechanism.guarantee).passed
    page = demo.page.read_text(encoding="utf-8")
    assert "discreet verify new/city.mechanism" in page
    sound = page.partition("Attacked: this service")[2].partition('class="panel"')[0]
    assert "bytes of the traffic" in sound
    assert "the claim is broken" not in sound


def test_the_census_is_a_table_that_verifies(demo: Demo) -> None:
    table, _ = demo.tables
    assert verify_release(load_counts(table)).passed
    assert "discreet verify new/census.parquet" in demo.page.read_text(encoding="utf-8")


def test_the_patients_are_a_table_that_verifies(demo: Demo) -> None:
    certificate, found = judge(demo.tables[1])
    assert certificate.passed
    assert found["smallest_class"] >= 5
    assert "discreet verify new/patients.csv" in demo.page.read_text(encoding="utf-8")


def test_progress_and_times_are_told_but_nothing_is_printed(
    demo: Demo, capsys: pytest.CaptureFixture[str]
) -> None:
    assert len(said) == 9
    parts = {"city", "curves", "grid", "attack", "service", "choice", "census", "patients", "page"}
    assert set(demo.seconds) == parts
    assert min(demo.seconds.values()) > 0
    assert capsys.readouterr().out == ""


def test_the_loss_is_the_drive_from_the_report_to_the_rider() -> None:
    city = made_city(40, seed=2)
    problem = city_problem(city)
    way = city.travel(directed=True)
    there, back = np.argwhere(way > 1.2 * way.T)[0]
    assert problem.loss[there, back] == way[back, there]
    some = city_problem(city, np.array([there, back]))
    assert some.loss[0, 1] == way[back, there]
    assert some.prior.sum() == pytest.approx(1)


def test_traffic_is_what_each_road_carries() -> None:
    """By brute force: every trip is walked along a shortest way."""
    city = made_city(30, seed=3)
    shared = np.zeros(len(city.edges))
    number = {tuple(edge): e for e, edge in enumerate(city.edges.tolist())}
    far = city.travel()
    length = {edge: city.lengths[e] for edge, e in number.items()}
    near: dict[int, list[int]] = {i: [] for i in range(city.n)}
    for i, j in number:
        near[i].append(j)
        near[j].append(i)
    for start in range(city.n):
        for stop in range(city.n):
            at, way = stop, [stop]
            while at != start:
                at = min(
                    near[at],
                    key=lambda b: abs(
                        far[start, b] + length[min(at, b), max(at, b)] - far[start, at]
                    ),
                )
                way.append(at)
            for a, b in pairwise(way):
                shared[number[min(a, b), max(a, b)]] += city.prior[start] * city.prior[stop]
    assert traffic(city) == pytest.approx(shared)


def test_baselines_keep_the_guarantee_and_lose_more_than_the_optimum() -> None:
    problem = Problem(MetricSpace.grid(3, 3, cell=1, unit="km"), utility_loss="euclidean")
    best = design(problem, MetricDP(1, "km"))
    compared = dict(published_losses(problem, best.guarantee))
    assert {"exponential mechanism", "planar Laplace", "always the same report"} <= set(compared)
    assert best.lower is not None
    assert min(compared.values()) >= best.lower
    assert compared["always the same report"] == pytest.approx(problem.cost.sum(axis=0).min())


def test_where_there_is_no_plane_there_is_no_planar_laplace() -> None:
    space = MetricSpace.from_matrix([[0, 1, 2], [1, 0, 1], [2, 1, 0]], unit="edit")
    problem = Problem(space, utility_loss="distance", prior=[0.8, 0.1, 0.1])
    compared = dict(published_losses(problem, MetricDP("0.1", "edit")))
    assert "planar Laplace" not in compared
    # At so small an epsilon renaming every report to the likeliest secret is the best use of noise.
    assert compared["exponential mechanism, remapped"] == pytest.approx(0.3)


def test_a_design_whose_groups_stay_apart_is_compared_apart() -> None:
    space = MetricSpace.from_points([[0.0, 0.0], [1.0, 0.0], [9.0, 0.0]], unit="km")
    problem = Problem(space, utility_loss="euclidean")
    made = design(problem, MetricDP(1, "km", 2), allow_unprotected=True)
    compared = dict(published_losses(problem, made.guarantee))
    joined = dict(published_losses(problem, MetricDP(1, "km", 2)))
    # One report for each of the two groups, against one for all.
    assert compared["always the same report"] == pytest.approx(1 / 3)
    assert joined["always the same report"] == pytest.approx(3)


def test_a_design_alone_makes_a_chapter() -> None:
    """What ``discreet design --report`` does."""
    made = design(
        Problem(MetricSpace.grid(2, 3, cell=1, unit="km"), utility_loss="euclidean"),
        MetricDP(2, "km"),
    )
    chapter = make_chapter("metricdp", made)
    assert "planar Laplace" in chapter.body
    assert chapter.anchor == "design"


def test_a_folder_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(OSError, match="file"):
        build_demo(tmp_path / "file", junctions=30)
