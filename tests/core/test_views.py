"""What a notebook shows: the claim, a picture with words, checks folded; nothing private, nothing unescaped."""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.core.views import bars, dots, frame_head, heat, plan_view, row_on_map, view
from discreet.hierarchy import contingency

GOOD = dc.Certificate((dc.Check("inequalities violated", 0, 0, exact=True),))
BAD = dc.Certificate((dc.Check("inequalities violated", 1, 0, exact=True),))
SPACE = dc.MetricSpace.grid(3, 4, cell=1, unit="km")


def parsed(html: str) -> ET.Element:
    """Read a view as XML: every tag is closed and every character escaped."""
    return ET.fromstring(html)  # noqa: S314 - our own page


@pytest.fixture(scope="module")
def made() -> Any:
    task = dc.metricdp.Problem(SPACE, utility_loss="euclidean")
    return dc.metricdp.design(task, dc.MetricDP(1, unit="km"))


def test_a_design_shows_promise_loss_bound_gap_and_where_the_middle_is_reported(made: Any) -> None:
    page = parsed(made._repr_html_())
    text = "".join(page.itertext())
    assert str(made.guarantee) in text
    assert "expected loss" in text
    assert "gap" in text
    assert "Verified: " in text
    svg = page.find(".//{http://www.w3.org/2000/svg}svg")
    assert svg is not None
    assert (
        "secret 5 is reported" in svg.attrib["aria-label"] or "reported" in svg.attrib["aria-label"]
    )
    assert page.find("details") is not None


@pytest.mark.parametrize("shown", [SPACE, dc.MetricSpace.from_matrix([[0, 1], [1, 0]], unit="km")])
def test_a_space_shows_its_size_and_its_places_where_it_has_some(shown: dc.MetricSpace) -> None:
    html = shown._repr_html_()
    parsed(html)
    assert f"{shown.n} secrets" in html
    assert ("<svg" in html) is (shown.points is not None)


def test_a_channel_says_that_it_promises_nothing_alone(made: Any) -> None:
    html = made.channel._repr_html_()
    parsed(html)
    assert "promises nothing" in html


def test_large_channels_and_spaces_stay_small_on_the_page() -> None:
    assert len(heat(np.full((300, 900), 1 / 900), "x")) < 400_000
    points = np.random.default_rng(1).random((50_000, 2))
    assert len(dots(points, "euclidean", "x")) < 100_000
    assert len(row_on_map(points, "euclidean", 3, np.full(50_000, 1 / 50_000))) < 300_000


def test_great_circles_are_drawn_with_north_up() -> None:
    html = dots(np.array([[41.0, 12.0], [42.0, 12.0]]), "haversine", "x")
    south, north = (float(e.attrib["cy"]) for e in parsed(html))
    assert north < south


def test_a_release_shows_its_result_and_an_anonymization_its_first_rows_and_no_diagnostics() -> (
    None
):
    where = dc.Provenance("by hand")
    released = dc.Release(["<3>"], dc.PureDP(1, neighbors="replace-one"), GOOD, where)
    assert "&lt;3&gt;" in released._repr_html_()
    table = pl.DataFrame({"age": ["[20, 30]"] * 9})
    lost = {"loss": "0.123456"}
    anonymous = dc.Anonymization(table, dc.KAnonymity(2, ("age",)), GOOD, where, lost)
    html = anonymous._repr_html_()
    assert "[20, 30]" in html
    assert "0.123456" not in html


def test_a_failed_certificate_is_not_called_verified() -> None:
    assert "NOT verified" in view("claim", certificate=BAD)
    assert "NOT verified" in view("claim", certificate=dc.Certificate(()))
    assert "Verified: 1 check passed" in view("claim", certificate=GOOD)


def test_a_plan_shows_its_lines() -> None:
    page = parsed(plan_view("claim", "method   m, <because>\neach release is charged"))
    assert [cell.text for cell in page.iter("td")] == [
        "method", "m, <because>", "each release is charged", None,
    ]  # fmt: skip


def test_what_has_no_view_or_no_places_shows_none() -> None:
    assert frame_head([1, 2]) == ""
    assert row_on_map(None, "matrix", 0, [1.0]) == ""
    assert row_on_map(np.zeros((3, 2)), "euclidean", 0, [1.0]) == ""


def test_a_picture_is_the_same_across_the_180th_meridian() -> None:
    here = np.array([[-17.0, 12.0], [-16.5, 12.5], [-17.2, 12.8]])
    there = here + np.array([0, 167.5])
    there[:, 1] = (there[:, 1] + 180) % 360 - 180
    assert dots(there, "haversine", "x") == dots(here, "haversine", "x")


def labels_of(html: str) -> list[str]:
    """Texts and captions of the bars of a picture."""
    page = parsed(f"<div>{html}</div>")
    svg = "{http://www.w3.org/2000/svg}"
    return [text.text or "" for text in page.iter(f"{svg}text")]


def test_bars_are_named_and_what_is_left_out_is_counted() -> None:
    assert labels_of(bars([("<a>", 2), ("b", 0.5)], "x")) == ["<a>", "2", "b", "0.5"]
    html = bars([(str(i), 1) for i in range(50)], "x")
    assert html.count("<rect") == 40
    assert "10 more are not drawn" in html
    assert bars([("a", 0)], "x") == bars([], "x") == ""


def test_every_view_has_a_picture(made: Any) -> None:
    regions, promise = [("GA",), ("NY",)], dc.PureDP(9, neighbors="add-remove-person")
    people = pl.DataFrame({"state": ["GA"] * 9 + ["NY"] * 4, "sex": ["F", "M"] * 6 + ["F"]})
    tables = contingency.plan(
        regions, promise, columns=["state"], domain={"sex": ["F", "M"]}, marginals=["sex"]
    )
    sizes = dc.hierarchy.GroupSizes.from_counts(
        dc.Tree.from_paths(regions), [[5, 9], [7, 2]], units="private"
    )
    grouped = dc.hierarchy.release(sizes, promise)
    choice = dc.submodular.plan(
        range(2),
        dc.submodular.UniformMatroid(2, 1),
        dc.PureDP(1, neighbors="add-remove-one"),
        objective=dc.submodular.Coverage.spec(),
    )
    table = pl.DataFrame({"age": [31, 32, 33, 51, 52, 53], "sex": ["F", "M"] * 3})
    anonymous = dc.kanonymity.anonymize(table, dc.KAnonymity(2, ("age", "sex")))
    shown = {
        "design": made,
        "release of tables": tables.release(people),
        "plan of tables": tables,
        "release of counts": grouped,
        "choice": choice.release([[True, False]] * 90),
        "plan of a choice": choice,
        "anonymization": anonymous,
    }
    for name, one in shown.items():
        page = one._repr_html_()
        assert "<svg" in page, name
        # What a frame shows of itself is its library's.
        parsed(re.sub(r"<style>.*?</table>", "", page, flags=re.DOTALL))
    assert "Equivalence classes of each size" in anonymous._repr_html_()
    assert str(anonymous.diagnostics.mean_loss) not in anonymous._repr_html_()
