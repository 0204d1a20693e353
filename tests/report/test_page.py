"""A report is one file that refers to nothing outside itself, and says what the design says."""

from __future__ import annotations

import html
import json
import math
import re
from fractions import Fraction
from html.parser import HTMLParser
from typing import TYPE_CHECKING

import numpy as np
import pytest

from discreet.core import printed
from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import MetricDP
from discreet.core.spaces.metric import MetricSpace
from discreet.metricdp import Problem, design
from discreet.plot import Curve
from discreet.report import CHAPTERS, Chapter, Tab, make_chapter, render_report, write_report
from discreet.report import page as page_module
from report.made import MARKUP, design_on, line

if TYPE_CHECKING:
    from pathlib import Path

VOID = {"meta", "br", "rect", "path", "circle", "use", "line", "img", "link", "input"}
OUTSIDE = re.compile(
    r"""(?:src|href|action|data|poster|srcset)\s*=\s*["']?\s*(?!\#)[^"'\s>]|url\(\s*["']?(?!\#)|@import|//[a-z0-9.-]+\.[a-z]{2,}""",
    re.IGNORECASE,
)


class Reader(HTMLParser):
    """Reads a page: its text, its headings, identifiers, and whether elements nest."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.text: list[str] = []
        self.headings: list[int] = []
        self.names: list[str] = []
        self.targets: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self.open.append(tag)
        if re.fullmatch(r"h[1-6]", tag):
            self.headings.append(int(tag[1]))
        for name, value in attrs:
            if name == "id":
                self.names.append(value or "")
            if name in {"aria-labelledby", "href"}:
                self.targets.append((value or "").removeprefix("#"))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in {"script", "style"}:
            self.text.append(data)

    @property
    def words(self) -> str:
        return re.sub(r"\s+", " ", " ".join(self.text))


def outside(page: str) -> list[str]:
    """List what a page would fetch."""
    return [page[m.start() : m.start() + 60] for m in OUTSIDE.finditer(page)]


@pytest.fixture(scope="module")
def page() -> str:
    curves = [
        Curve("reached", (1, 2), (0.9, 0.4), "optimum"),
        Curve("bound", (1, 2), (0.8, 0.4), "bound"),
    ]
    chapters = [
        make_chapter(
            "metricdp", design_on(line(), radius=1), anchor="one", title=f"One {MARKUP}", lead=(MARKUP,),
            curves=curves, curves_note=MARKUP, baselines=[(MARKUP, 1.0)], loss_name="way", loss_unit="km",
            artefact="demo/one.channel", seconds={"design": 1.25}, picks=[(MARKUP, 2)],
        ),
        make_chapter("metricdp", design_on(MetricSpace.from_points([(0, 0), (1, 2), (3, 1)], unit="km")), anchor="two"),
    ]  # fmt: skip
    return render_report(chapters, title=f"Report {MARKUP}", lead=(MARKUP,))


def test_nothing_comes_from_outside(page: str) -> None:
    assert outside(page) == []
    assert "default-src 'none'" in page


@pytest.mark.parametrize(
    "bad",
    [
        '<img src="https://example.org/a.png">',
        "<link href=style.css>",
        "<style>a{background:url(x.png)}</style>",
        "<style>@import 'a'</style>",
        '<a href="https://example.org">',
        "<script>fetch('//example.org')</script>",
        '<object data="a.svg">',
    ],
)
def test_what_comes_from_outside_would_be_seen(bad: str) -> None:
    assert outside(bad) != []


def test_labels_are_escaped_wherever_they_stand(page: str) -> None:
    assert MARKUP not in page
    assert "alert(" in Reader(page).words
    assert page.count("<script>") == 1


def test_elements_nest_headings_descend_and_links_lead_somewhere(page: str) -> None:
    read = Reader(page)
    assert read.open == []
    assert read.headings[:2] == [1, 2]
    assert max(b - a for a, b in zip(read.headings, read.headings[1:], strict=False)) == 1
    assert len(set(read.names)) == len(read.names)
    assert set(read.targets) <= set(read.names)


def test_the_page_says_the_guarantee_in_words_and_in_full(page: str) -> None:
    words = Reader(page).words
    design = design_on(line(), radius=1)
    assert "to whom two places up to 1 km apart are equally likely" in words
    # e^2 / (1 + e^2) = 0.8808, and e^2 = 7.389, both upwards.
    assert "at most 89 times in 100" in words
    assert "by a factor of at most 7.39" in words
    assert str(design.guarantee)[1:] in words
    assert "2.5 per km" in words


def test_the_page_holds_the_certificate_and_the_numbers(page: str) -> None:
    words = Reader(page).words
    design = design_on(line(), radius=1)
    for check in design.certificate.checks:
        assert check.name in words
        assert check.detail in words
    assert "-1/3" in words
    for number in (
        f"{design.lower:.10g}",
        f"{design.upper:.10g}",
        "0.0029296875",
        "1e-06",
        "gap 50 %",
        "by hand",
    ):
        assert number in words
    for entry in design.provenance.assumed_public:
        assert entry.digest in words
    assert "status gap reached" in words
    # The lower bound is half of what was reached, which is 100 % more than the bound.
    assert "at most 100 % more than the lower bound" in words
    assert "discreet verify demo/one.channel" in words
    assert "seconds, design" in words


def test_the_numbers_of_the_map_are_those_of_the_channel(page: str) -> None:
    design = design_on(line(), radius=1)
    found = re.findall(
        r'<script type="application/json" id="one-data">(.*?)</script>', page, re.DOTALL
    )
    data = json.loads(html.unescape(found[0]))
    drawn = np.zeros((4, 4))
    for secret, row in enumerate(data["rows"]):
        drawn[secret, row[::2]] = np.array(row[1::2]) / 1e4
    assert np.abs(drawn - design.channel.probabilities).max() < 1e-3
    assert data["kind"] == "cell"
    assert data["facts"][2][0] == printed.share(design.channel.probabilities[2, 2], 1)


def test_the_map_shows_the_first_pick_without_the_script(page: str) -> None:
    design = design_on(line(), radius=1)
    (drawing,) = re.findall(r'data-map="one-data">(.*?)</figure>', page, re.DOTALL)
    (marks,) = re.findall(r'<g class="marks">(.*?)</g>', drawing, re.DOTALL)
    shown = int((design.channel.probabilities[2] >= 1e-3).sum())
    assert marks.count("<rect") == shown
    assert 'class="true" transform="translate(625.0 125.0)"' in drawing


def test_a_failed_check_and_a_seed_are_said_aloud() -> None:
    bad = design_on(line(), passed=False, seeded=True)
    words = Reader(render_report([make_chapter("metricdp", bad)])).words
    assert "Not certified." in words
    assert "Not private." in words
    assert "271,828" in words
    assert "FAILED" in words
    good = Reader(render_report([make_chapter("metricdp", design_on(line()))])).words
    assert "Not certified." not in good
    assert "Not private." not in good


def test_secrets_that_nothing_protects_are_said() -> None:
    apart = design_on(line(), radius=1, whole=None, components=3, isolated=(0, 3))
    words = Reader(render_report([make_chapter("metricdp", apart)])).words
    assert "nothing is promised between 3 separate groups of the 4 secrets, of which 2 are" in words
    assert "no limit" in words


def test_the_table_of_strength_starts_at_the_nearest_pair_and_goes_beyond_the_radius() -> None:
    space = MetricSpace.from_points([(0, 0), (0.123, 0), (3, 0)], unit="km")
    near = design_on(space, radius=1, whole=Fraction(5, 2))
    body = make_chapter("metricdp", near).body
    (table,) = re.findall(r'<table class="ladder">(.*?)</table>', body, re.DOTALL)
    rows = [re.findall(r"<t[hd][^>]*>([^<]*)</t", row) for row in table.split("<tr>")[2:]]
    # 130 m stands for 123 m; 1 / (1 + e^-0.26) = 0.5646; at 2 km 2.5 a km count: 1 / (1 + e^-5) = 0.9933.
    assert rows[0] == ["130 m", "57", "63", "79", "94"]
    assert rows[1][0] == "250 m"
    assert rows[-2][:2] == ["2 km", "99.4"]


def test_a_secret_alone_and_a_radius_below_every_distance_make_pages_too() -> None:
    alone = design_on(MetricSpace.from_points([(1.0, 2.0)], unit="km"))
    assert "1 report" in make_chapter("metricdp", alone).body
    far = design_on(
        MetricSpace.from_points([(0, 0), (500, 0)], unit="km"), radius=1, whole=None, components=2
    )
    words = Reader(render_report([make_chapter("metricdp", far)])).words
    assert "500 km no limit" in words


@pytest.mark.parametrize("metric", ["grid", "words"])
def test_the_loss_of_each_secret_is_on_a_map_or_in_classes(metric: str) -> None:
    points = [(0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (5.0, 0.0, 0.0)]
    made = design_on(line(5) if metric == "grid" else MetricSpace.from_points(points, unit="unit"))
    body = make_chapter("metricdp", made).body
    tints = re.findall(r'<path class="tint".*? d="([^"]*)"', body)
    assert sum(path.count("M") for path in tints) == (5 if metric == "grid" else 0)
    shares = re.findall(
        r' to [^<]*</th><td class="bar"><span[^>]*></span></td><td class="value">([\d.]+) %', body
    )
    assert sum(map(float, shares)) == pytest.approx(100, abs=0.5)
    worst = printed.at_most(made.loss_quantiles["worst"], 3)
    assert f"and the worst at most {worst}." in body


def test_losses_that_agree_in_print_are_one_class() -> None:
    body = make_chapter("metricdp", design_on(line(2))).body
    assert body.count("up to 0.5") + body.count("up to 0.2") <= 1
    assert len(re.findall(r'row">up to ', body)) == 1


def test_links_and_the_epsilon_for_all_pairs_are_said() -> None:
    joined = design_on(line(), radius=1, whole=Fraction(7, 2), joined=4)
    words = Reader(render_report([make_chapter("metricdp", joined)])).words
    assert "4 of them added to join separate groups" in words
    assert "for all pairs of the 4 secrets this implies 3.5 per km" in words


@pytest.mark.parametrize(
    ("lower", "said"),
    [
        (0.9, "at most 11.12 % more than the lower bound"),
        (0.99999, "below 0.01 % more"),
        (0.998, "at most 0.21 % more"),
    ],
)
def test_the_excess_over_the_least_is_rounded_up(lower: float, said: str) -> None:
    body = make_chapter("metricdp", design_on(line(), lower=lower)).body
    assert said in body


def test_a_lower_bound_of_zero_says_nothing_about_the_least() -> None:
    assert "more than the lower" not in make_chapter("metricdp", design_on(line(), lower=0.0)).body


def test_without_a_lower_bound_none_is_claimed() -> None:
    words = Reader(render_report([make_chapter("metricdp", design_on(line(), lower=None))])).words
    assert "more than the lower bound" not in words
    assert "loses less" not in words


def test_secrets_that_are_no_places_get_no_map() -> None:
    words = MetricSpace.from_matrix([[0, 1, 2], [1, 0, 1], [2, 1, 0]], unit="edit")
    page = render_report([make_chapter("metricdp", design_on(words))])
    assert "figure" in page
    assert 'class="map"' not in page
    assert "to whom two secrets up to 1 edit apart are equally likely" in Reader(page).words


def test_places_on_the_globe_are_laid_out_in_the_plane() -> None:
    rome = [(41.90, 12.48), (41.91, 12.48), (41.90, 12.50)]
    space = MetricSpace.from_points(rome, metric="haversine", unit="km")
    page = render_report([make_chapter("metricdp", design_on(space))])
    data = json.loads(
        html.unescape(re.findall(r'id="design-data">(.*?)</script>', page, re.DOTALL)[0])
    )
    (ax, ay), (bx, by), (cx, cy) = np.reshape(data["at"], (3, 2)).tolist()
    assert bx == ax
    assert by < ay == cy
    assert cx > ax
    # One hundredth of a degree north is 1.112 km; two hundredths east at this latitude 1.656 km.
    assert (cx - ax) / (ay - by) == pytest.approx(1.656 / 1.112, rel=1e-3)


def test_the_page_names_the_ellipsoid() -> None:
    quito = [(-0.20, -78.48), (-0.21, -78.48), (-0.20, -78.50)]
    space = MetricSpace.from_points(quito, metric="haversine", unit="km")
    made = design(Problem(space, utility_loss="distance"), MetricDP(2, "km"))
    page = render_report([make_chapter("metricdp", made)])
    assert "great circles, not above geodesics of WGS 84" in Reader(page).words


def test_places_across_the_180th_meridian_are_laid_out_side_by_side() -> None:
    taveuni = [(-16.80, 179.99), (-16.81, 179.99), (-16.80, -179.99)]
    space = MetricSpace.from_points(taveuni, metric="haversine", unit="km")
    page = render_report([make_chapter("metricdp", design_on(space))])
    data = json.loads(
        html.unescape(re.findall(r'id="design-data">(.*?)</script>', page, re.DOTALL)[0])
    )
    (ax, ay), (_, by), (cx, _) = np.reshape(data["at"], (3, 2)).tolist()
    assert (cx - ax) / (by - ay) == pytest.approx(2 * math.cos(math.radians(16.8)), rel=1e-3)


def test_an_unknown_chapter_is_refused() -> None:
    with pytest.raises(
        InvalidProblemError, match=r"^chapter: expected one of .*metricdp.*, got 'tarot'"
    ):
        make_chapter("tarot", None)


def test_every_registered_chapter_can_be_loaded() -> None:
    import importlib

    for where in CHAPTERS.values():
        module, name = where.split(":")
        assert callable(getattr(importlib.import_module(module), name))


def test_a_report_needs_chapters_with_names_of_their_own() -> None:
    with pytest.raises(InvalidProblemError, match="one chapter or more"):
        render_report([])
    one = Chapter("A", "a", "<p>a</p>")
    with pytest.raises(InvalidProblemError, match="different anchors"):
        render_report([one, one])
    with pytest.raises(InvalidProblemError, match="^anchor: "):
        Chapter("A", 'a"b', "")


def test_a_single_chapter_needs_no_table_of_contents(tmp_path: Path) -> None:
    path = write_report([Chapter("Alone", "alone", "<p>body</p>")], tmp_path / "a.html")
    assert "<nav" not in path.read_text(encoding="utf-8")


def test_tabs_hold_their_chapters_one_below_the_other_and_are_not_mixed_with_chapters() -> None:
    one, two = Chapter("A", "a", "<h2>a</h2>"), Chapter("B", "b", "<h2>b</h2>")
    page = render_report([Tab("First", "of two", (one,)), Tab(MARKUP, "", (two,))])
    read = Reader(page)
    assert read.open == []
    assert set(read.targets) <= set(read.names)
    assert [name for name in read.names if name.startswith("tab-")] == ["tab-1", "tab-2"]
    assert MARKUP not in page
    for wrong in ([Tab("First", "", (one,)), two], [Tab("None", "", ())]):
        with pytest.raises(InvalidProblemError, match="a mixture"):
            render_report(wrong)  # type: ignore[arg-type]
    with pytest.raises(InvalidProblemError, match="different anchors"):
        render_report([Tab("First", "", (one,)), Tab("Second", "", (one,))])


def test_a_certificate_is_one_line_and_open_where_a_check_failed() -> None:
    body = make_chapter("metricdp", design_on(line())).body
    sentence = design_on(line()).certificate.sentence
    assert f'<p class="verdict yes">{sentence}</p>' in body
    assert "<details>" in body
    assert "<details open>" not in body
    assert "<details open>" in make_chapter("metricdp", design_on(line(), passed=False)).body


def test_a_template_that_lacks_a_value_is_an_error() -> None:
    from jinja2 import UndefinedError

    with pytest.raises(UndefinedError):
        page_module.render_template("page.html", title="only")
