"""What commands and pages print is read again: each number went through the formatter, and lies on its stated side.

The formatter is watched, and in a second run fed with random fractions from 1e-12 to 1e15 in place of every number
that it is given. Every number that a reader sees must then be one that it wrote, or a whole number, which is exact.
"""

from __future__ import annotations

import re
import sys
from concurrent.futures import Future
from dataclasses import replace
from fractions import Fraction
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from cli.commands import say
from discreet import MetricDP, MetricSpace, PureDP, Tree
from discreet.cli.commands import OWN
from discreet.core import printed
from discreet.core.progress import Progress
from discreet.evaluate.attack.finding import Attacked, Finding
from discreet.evaluate.audit.audit import Audit, audit
from discreet.evaluate.audit.request import AuditRequest
from discreet.evaluate.audit.submodular import audit_choices
from discreet.evaluate.intervals import Estimate
from discreet.hierarchy import GroupSizes, contingency
from discreet.hierarchy import release as release_counts
from discreet.hierarchy.reliability import reliability_in_words
from discreet.kanonymity import Categorical, Numeric
from discreet.kanonymity.risk import risk
from discreet.kanonymity.uniques import risk_sources
from discreet.lrgeo import Region, design
from discreet.lrgeo.mechanism import Mechanism
from discreet.metricdp import Problem
from discreet.metricdp import design as metric_design
from discreet.report import make_chapter
from discreet.report.check_words import proof_of
from discreet.report.page import CHAPTERS, template_environment
from discreet.report.words import promise_about_a_person
from discreet.studio.counts import COUNTS
from discreet.studio.parts import render
from discreet.studio.tables import TABLES, describe_plan
from discreet.studio.tasks import TABLE, Anonymize, LossBySize
from few import few_of
from reading import (
    EXCEPTIONS,
    Formatter,
    UntrueError,
    check_side,
    seeded,
    visible,
    watch,
    watch_templates,
)
from service.running import in_thread, sound_app
from true_pages import landing_page, page_of_a_place, small_demo, studio_walk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture
def formatter(monkeypatch: pytest.MonkeyPatch) -> Formatter:
    """Watch the formatter."""
    return watch(monkeypatch)


ROWS = pl.DataFrame(
    {
        "age": [20, 21, 35, 44, 51, 58, 63, 77],
        "sex": ["F", "M"] * 4,
        "ill": ["flu", "cold", "flu", "ulcer", "flu", "cold", "ulcer", "flu"],
    }
)
PERSONS = pl.DataFrame(
    [
        {"unit": f"h{at // 2}", "state": ("GA", "NY")[at // 2 % 3 == 0], "sex": "FM"[at % 2]}
        for at in range(40)
    ]
)

COMMANDS: dict[str, tuple[str, ...]] = {
    "design": (
        "design --grid 1x3 --unit km --epsilon 1 --gap 0.2 -o c.channel --report design.html",
        "design --grid 1x3 --unit km --epsilon 1 --gap 0 --time-limit 0.01 --method exponential",
    ),
    "sample": ("sample c.channel --secret 0 -n 3",),
    "info": ("info c.channel",),
    "verify": ("verify c.channel --optimality --report verify.html",),
    "audit": ("audit c.channel --report audit.html",),
    "attack": ("attack c.channel --reports 1,2 --trials 40 --report attack.html",),
    "compare": (
        "compare --grid 1x3 --unit km --epsilon 1,2 --methods direct,exponential --report compare.html",
        "compare kanonymity -k 2,5 --methods mondrian --report frontier.html",
    ),
    "counts": (
        (
            "counts p.csv --unit unit --regions state --region-list r.csv --max-size 4 --epsilon 1 --neighbors "
            "add-remove-person --measurements m.parquet -o counts.csv --report counts.html"
        ),
        (
            "counts p.csv --regions state --region-list r.csv --by sex --domain d.json --epsilon 1 --neighbors "
            "add-remove-person --measurements t.parquet -o tables.csv --report tables.html"
        ),
    ),
    "query": (
        "query m.parquet --level 1 --sizes 1-3 --report query.html -o answers.csv",
        "query m.parquet --level 1 --interval 0.99999999 --report sure.html -o sure.csv",
        "query t.parquet --level 1 --by sex --report tables-query.html -o by.csv",
    ),
    "budget": (
        "budget create l.db --dataset d --epsilon 4/3 --neighbors add-remove-person",
        "budget show l.db --report budget.html",
        "budget history l.db --dataset d",
    ),
    "anonymize": (
        "anonymize rows.csv -k 2 --quasi age,sex --sensitive ill -o out.csv --report a.html --curator-report c.html",
        "anonymize rows.csv -k 2 --quasi age,sex --sensitive ill --method mondrian -o o2.csv --curator-report c2.html",
    ),
    "risk": ("risk out.csv --quasi age,sex --sensitive ill --against rows.csv --report risk.html",),
    "select": (
        (
            "select --coverage e.csv --matroid uniform:2 --candidates k.csv --epsilon 1 --neighbors add-remove-one "
            "-o s.choice --report select.html"
        ),
    ),
    "serve": (
        "serve --grid 3x3 --cell 0.5 --origin 0.3,103.8 --epsilon 2/km --places-only -o p.mechanism --port 0",
        "serve --grid 3x3 --cell 0.5 --origin 0.3,103.8 --epsilon 2/km -o e.mechanism --port 0",
        "info p.mechanism",
        "info e.mechanism",
        "verify p.mechanism --report places.html",
    ),
    "locate": (
        "locate 41.8934 12.4851 --places-only --server {server} --state s --cache c --max-epsilon 2/km",
    ),
    "studio": ("studio --port 0 --no-browser --ledger none.db",),
    "demo": ("demo -o shown --quiet",),
}
"""Command -> lines that print its numbers; later ones read what earlier ones wrote."""

OF_THE_MACHINE = frozenset({"doctor"})
"""Commands that print versions and limits of the machine alone."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder that has the inputs of all commands."""
    monkeypatch.chdir(tmp_path)
    ROWS.write_csv("rows.csv")
    PERSONS.write_csv("p.csv")
    Path("r.csv").write_text("state\nGA\nNY\n", encoding="utf-8")
    Path("d.json").write_text('{"sex": ["F", "M"]}', encoding="utf-8")
    Path("e.csv").write_text(
        "client,candidate\n" + "".join(f"{i},{'abc'[i % 3]}\n" for i in range(9)), encoding="utf-8"
    )
    Path("k.csv").write_text("candidate\na\nb\nc\n", encoding="utf-8")
    monkeypatch.setattr("discreet.web.serve", start_only, raising=False)
    monkeypatch.setattr("discreet.report.demo.build_demo", small_demo)
    monkeypatch.setattr("discreet.evaluate.audit.submodular.audit_choices", audited_once)
    # Readers of these tests see no drawing, and drawing takes most of the time of a page.
    monkeypatch.setattr("discreet.report.figures.inline_svg", lambda *_, **__: "<svg></svg>")
    return tmp_path


@cache
def audited_once(request: AuditRequest) -> Audit:
    """Replay a method once for all commands and pages, of which each prints the audit anew."""
    return audit_choices(request)


def start_only(
    _app: object,
    _bound: object,
    *,
    on_started: Callable[[str], None],
    until: Future[object] | None = None,
    **_: object,
) -> None:
    """Start as a server does, wait for a design, and end."""
    on_started("http://127.0.0.1:1")
    if until is not None:
        until.result(300)


def run_commands(
    capsys: pytest.CaptureFixture[str], folder: Path, without: str = ""
) -> Iterator[tuple[str, str]]:
    """Run every command but one; yield its line, and what it printed or wrote as a page."""
    with in_thread(sound_app()) as server:
        for line in (line for name in COMMANDS for line in COMMANDS[name] if name != without):
            said = say(capsys, *line.format(server=server).split())
            assert said.status in {0, 1, 4}, f"{line}: {said.err}"
            yield line, said.out + said.err
            pages = ["shown/index.html"] if line.startswith("demo") else []
            for name in [*pages, *re.findall(r"\S+\.html", line)]:
                yield f"{line} {name}", visible((folder / name).read_text(encoding="utf-8"))


def test_no_module_keeps_a_watcher(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests run in any order, and commands are imported when they are run."""
    before = printed.position
    monkeypatch.delitem(sys.modules, "discreet.cli.serve", raising=False)
    with monkeypatch.context() as patched:
        watch(patched)
        serve = import_module("discreet.cli.serve")
        assert vars(serve)["position"] is not before
    assert vars(serve)["position"] is before


def test_every_command_is_listed() -> None:
    assert {*COMMANDS, *OF_THE_MACHINE} == {name for group in OWN.values() for name in group}


PROSE = "1.5"
"""Kilometers, as the prose of the demo has them."""


def typed_by(line: str) -> str:
    """Return a command with the numbers of its prose."""
    return f"{line} {PROSE if line.startswith('demo') else ''}"


@pytest.mark.jit
def test_commands_print_random_numbers_and_a_direction_that_is_reversed_fails_each_that_uses_it(
    formatter: Formatter, capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    """Each number was written; on both sides at once, since each text is asked for its numbers of either."""
    formatter.draw, formatter.reversed = seeded(1), True
    failed = dict.fromkeys((-1, 1), 0)
    for line, text in run_commands(capsys, folder):
        try:
            formatter.check_written(text, typed_by(line))
        except UntrueError as error:
            raise UntrueError(f"{line}: {error}") from None
        used, wrong = formatter.sides(text)
        assert wrong == used, line
        for side in used:
            failed[side] += 1
    assert min(failed.values()) > 20


def test_every_chapter_comes_from_a_command() -> None:
    """The chapter of a mechanism on places comes from none: it is rendered below."""
    lines = " ".join(line for lines in COMMANDS.values() for line in lines)
    assert lines.count(".html") >= len(CHAPTERS) - 1


class Book:
    """What a page shows of a ledger."""

    dataset, left, spent, limit, charges, others, trouble = "d", ["1"], ["1"], "", (), (), ""


def page_of(name: str, **values: Any) -> str:
    """Render a page of the studio."""
    return visible(bytes(render(name, **values).body).decode())


def release_page(publication: Any, made: Any, planned: Any) -> str:
    """Render the page of a release."""
    shown = {
        "promise": promise_about_a_person(made.guarantee),
        "checks": proof_of(made.certificate)["checks"],
        "reliability": reliability_in_words(),
        **publication.show(made, planned),
    }
    files = [("counts.csv", "a table")]
    name = f"{publication.name}_result.html"
    return page_of(name, workspace="w", files=files, book=Book(), release="r", **shown)


def counts_page(_: Path) -> str:
    tree = Tree.from_paths([("GA", "Cobb"), ("GA", "Fulton"), ("NY", "Kings")], root="US")
    data = GroupSizes.from_counts(tree, [[0, 5, 1], [0, 2, 3], [0, 1, 4]], units="private")
    made = release_counts(data, PureDP(1, neighbors="add-remove-person"), keep_measurements=True)
    return release_page(COUNTS, made, None)


def tables_page(folder: Path) -> str:
    planned = contingency.plan(
        str(folder / "r.csv"),
        PureDP(1, neighbors="add-remove-person"),
        columns=["state"],
        domain={"sex": ["F", "M"]},
        marginals=["total", "sex"],
    )
    made = planned.release(str(folder / "p.csv"), keep_measurements=True)
    return release_page(TABLES, made, planned) + page_of(
        "tables_plan.html", **describe_plan(planned)
    )


def result_page(folder: Path) -> str:
    ROWS.write_parquet(folder / TABLE)
    kinds = (Numeric("age"), Categorical("sex"))
    task = Anonymize(str(folder), kinds, ("ill",), (), (), 2, {}, (), 2.0)
    return page_of("result.html", **task.run(lambda _: None))


def frontier_page(folder: Path) -> str:
    ROWS.write_parquet(folder / TABLE)
    kinds = (Numeric("age"), Categorical("sex"))
    return page_of("frontier.html", **LossBySize(str(folder), kinds, 2.0).run(lambda _: None))


def risk_page(_: Path) -> str:
    return page_of(
        "risk.html",
        risk=risk(ROWS, ("age", "sex")),
        sizes=risk(ROWS, ("age", "sex")).bands(),
        diversity={"ill": 1},
        unique=[("ill", 1)],
        names=("age", "sex"),
        secret=[],
        notices=(),
        causes=risk_sources(ROWS, ("age", "sex")).in_words(),
        endings=[".csv"],
        ending=".csv",
        demands={},
        most_k=8,
    )


def costs_page(_: Path) -> str:
    rows = [{"amount": "1", "wrong": [1.25, 3.5], "moved": [0.125, 2.0]}]
    given = {"notion": "epsilon", "public": False, "each": 10, "draws": 3, "levels": [1, 2]}
    return page_of("counts_costs.html", rows=rows, **given)


def place_page(_: Path) -> str:
    region = Region.from_grid(2, 2, cell="0.5", unit="km")
    made = Mechanism.from_design(design(region, MetricDP(2, "km"), gap=0.5, scope="places"))
    return visible(make_chapter("lrgeo", made, size=4321).body)


def attack_page(_: Path) -> str:
    found = Finding(
        "guess", "records found", Estimate(0.5, 0.4, 0.61, trials=9), Estimate.computed(0.25)
    )
    error = replace(found, error=True, limit=0.3)
    return visible(make_chapter("attack", Attacked("t", (replace(found, limit=0.7), error))).body)


def map_page(_: Path) -> str:
    space = MetricSpace.grid(2, 2, cell=1, unit="km")
    made = metric_design(Problem(space, utility_loss="euclidean"), MetricDP(1, "km"), gap=0.5)
    given = {"seconds": {"design": 1.25}, "loss_unit": "km", "baselines": [("other", 2.3456)]}
    return visible(make_chapter("metricdp", made, **given).body)


def view_of(_: Path) -> str:
    space = MetricSpace.grid(1, 3, cell=1, unit="km")
    made = metric_design(Problem(space, utility_loss="euclidean"), MetricDP(1, "km"), gap=0.5)
    step = Progress(1.26, "bound", lower=0.123456789, upper=0.23456789)
    audited = audit(
        lambda x, bits: x ^ (bits.randrange(4) == 0),
        [(0, 1)],
        PureDP(2, "replace-one"),
        strength="exact",
    )
    parts = (
        visible(made._repr_html_()),
        repr(made),
        str(step),
        str(Estimate(0.5, 0.4, 0.61, trials=9)),
    )
    return "\n".join([*parts, str(made.certificate), str(audited)])


PAGES: dict[str, Callable[[Path], str]] = {
    "counts_result": counts_page,
    "tables_result": tables_page,
    "result": result_page,
    "frontier": frontier_page,
    "risk": risk_page,
    "counts_costs": costs_page,
    "location": place_page,
    "attack": attack_page,
    "metricdp": map_page,
    "repr": view_of,
    "landing": landing_page,
    "locate": page_of_a_place,
    "studio": studio_walk,
}
"""Pages that no command writes, and what prints itself."""

TYPED = "0.1 0.3 0.5 0.7 1.5 2.5, 95 %"
"""Numbers that these functions type, and the probability of intervals that were not asked for another."""


@pytest.mark.jit
def test_all_that_is_printed_is_true_and_no_template_is_left_out(
    formatter: Formatter,
    capsys: pytest.CaptureFixture[str],
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rendered = watch_templates(monkeypatch)
    used: set[str] = set()
    # The demo has the chapters of the others, and is read above.
    for line, text in run_commands(capsys, folder, without="demo"):
        try:
            used |= formatter.check(text, typed_by(line))
        except UntrueError as error:
            raise UntrueError(f"{line}: {error}") from None
    assert used >= {"at_least", "at_most", "estimate", "share", "share_at_least", "share_at_most"}
    for name, page in PAGES.items():
        try:
            formatter.check(page(folder), TYPED)
        except UntrueError as error:
            raise UntrueError(f"{name}: {error}") from None
    templates = {
        f"{package}/{name}"
        for package in ("report", "studio")
        for name in template_environment(f"discreet.{package}").list_templates(extensions=["html"])
    }
    assert templates - rendered == set(NOT_RENDERED)


NOT_RENDERED = {"report/verify_standalone.html": "a page without Python; embedded as it is"}
"""Templates -> why they are not read here."""


@pytest.mark.jit
@pytest.mark.parametrize("seeds", few_of(1, [1, 3]))
@pytest.mark.parametrize("name", PAGES)
def test_pages_print_random_numbers_on_their_side_and_a_reversed_direction_fails_what_uses_it(
    name: str, seeds: int, formatter: Formatter, folder: Path
) -> None:
    formatter.reversed = True
    for seed in range(seeds):
        formatter.draw = seeded(seed)
        formatter.written.clear()
        text = PAGES[name](folder)
        formatter.check_written(text, TYPED)
        assert not formatter.untrue
        assert any(shown in text for _, _, shown in formatter.written)
        used, wrong = formatter.sides(text)
        assert wrong == used
        assert len(used) == 2 or name not in BOTH_SIDES


BOTH_SIDES = {"counts_result", "tables_result", "result", "metricdp", "repr"}
"""Pages with numbers of either side."""


def test_exceptions_are_few() -> None:
    assert len(EXCEPTIONS) + len(NOT_RENDERED) <= 15


@pytest.mark.parametrize(
    ("text", "typed"),
    [
        ("loss 0.123457", ""),
        ("74.5 %", ""),
        ("12 %", ""),
        ("1e-7", ""),
        ("1.5 of 2.5", "2.5"),
        ("epsilon 0.9999999963730536", ""),
    ],
)
def test_a_number_that_went_another_way_is_found(text: str, typed: str) -> None:
    with pytest.raises(UntrueError):
        Formatter().check(text, typed)


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("at_least", Fraction(1, 3), "0.334"),
        ("at_most", Fraction(1, 3), "0.333"),
        ("share", Fraction(99_999_999, 10**8), "100 %"),
        ("share_at_most", Fraction(1, 10**9), "0 %"),
        ("share_at_most", Fraction(99_999_999, 10**8), "above 99.99 %"),
        ("estimate", Fraction(1, 3), "0.5"),
    ],
)
def test_a_wrong_side_is_found(name: str, value: Fraction, shown: str) -> None:
    with pytest.raises(UntrueError):
        check_side(name, value, shown)
