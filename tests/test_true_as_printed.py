"""What commands and pages print is read again: each number went through the formatter, and lies on its stated side.

The formatter is watched, and in a second run fed with random fractions from 1e-12 to 1e15 in place of every number
that it is given. Every number that a reader sees must then be one that it wrote, or a whole number, which is exact.
"""

from __future__ import annotations

import html
import random
import re
import sys
from dataclasses import dataclass, field, replace
from decimal import ROUND_CEILING, ROUND_FLOOR
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

from cli.commands import say
from discreet import MetricDP, MetricSpace, PureDP, Tree
from discreet.cli.commands import OWN
from discreet.core import printed
from discreet.core.progress import Progress
from discreet.evaluate.attack.finding import Attacked, Finding
from discreet.evaluate.audit.audit import audit
from discreet.evaluate.intervals import Estimate
from discreet.hierarchy import GroupSizes, contingency
from discreet.hierarchy import release as release_counts
from discreet.kanonymity import Categorical, Numeric
from discreet.kanonymity.risk import risk
from discreet.lrgeo import Region, design
from discreet.lrgeo.mechanism import Mechanism
from discreet.metricdp import Problem
from discreet.metricdp import design as metric_design
from discreet.report import make_chapter
from discreet.report.page import CHAPTERS, template_environment
from discreet.studio.counts_release import COUNTS
from discreet.studio.parts import render
from discreet.studio.publishing import describe_promise
from discreet.studio.tables_release import TABLES, describe_plan
from discreet.studio.tasks import TABLE, Anonymize, LossBySize, sizes_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SIDES = {"at_least": -1, "share_at_least": -1, "at_most": 1, "share_at_most": 1}
"""Function of the formatter -> the side on which its text lies; others are rounded to the nearest."""

NUMBER = re.compile(r"(?<![\w.#])[-+±]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?(?![\w#])(?: ?%)?")
"""A number as people see one, and the percent sign behind it."""

_VERSION = re.compile(
    r"\bPython 3\.\d+|\b[\w-]+ \d+\.\d+(?:\.\d+)+\b|\b[0-9a-f]{16,}\b|\b\d{4}-\d\d-\d\d[T ][\d:.+]*"
)
"""Versions, digests and times."""


class UntrueError(AssertionError):
    """A number was printed that the formatter did not write, or that lies on the wrong side."""


@dataclass
class Formatter:
    """What the formatter wrote: the function, the number, the text."""

    written: list[tuple[str, Fraction, str]] = field(default_factory=list)
    draw: random.Random | None = None

    def number(self, value: Any, most: int) -> Any:
        """Return the number to print: the caller's, or a random one in its place."""
        if self.draw is None or value is None:
            return value
        size = self.draw.randrange(-12, most)
        return Fraction(self.draw.randrange(10**20, 10**21), 10**20) * Fraction(10) ** size

    def check(self, text: str, typed: str = "") -> set[str]:
        """Read a text again; return the functions that wrote it."""
        known = {number.strip("±+") for _, _, shown in self.written for number in found_in(shown)}
        known |= {number.strip("±+") for number in found_in(typed)}
        for number in found_in(_VERSION.sub(" ", text)):
            plain = number.strip("±+")
            if (
                plain in known
                or plain.removesuffix("%").strip() in known
                or plain.lstrip("-").isdigit()
            ):
                continue
            at = max(0, text.find(number) - 50)
            raise UntrueError(
                f"{number!r} was not written by the formatter: {text[at : at + 90]!r}"
            )
        for name, value, shown in self.written:
            check_side(name, value, shown)
        return {name for name, _, shown in self.written if shown in text}


def seeded(seed: int) -> random.Random:
    """Draw the same numbers each time."""
    return random.Random(seed)  # noqa: S311 - numbers to print


def found_in(text: str) -> list[str]:
    """List the numbers of a text."""
    return [match[0].rstrip(",") for match in NUMBER.finditer(text)]


def check_side(name: str, value: Fraction, shown: str) -> None:
    """Parse a text again, and compare it with the number that it stands for."""
    numbers = found_in(shown)
    if not numbers:
        return
    scale = 100 if "%" in shown else 1
    read = Fraction(numbers[0].rstrip("% ").replace(",", "")) / scale
    if scale == 100 and read in (0, 1) and not shown.startswith(("above", "below")):
        assert_true(read == value, shown)
    if shown.startswith("above"):
        assert_true(read < value and name not in {"at_most", "share_at_most"}, shown)
    elif shown.startswith("below"):
        assert_true(value < read and (read < 1 or name == "share_at_most"), shown)
    elif side := SIDES.get(name):
        assert_true((read - value) * side >= 0, shown)
    near = abs(read - value) <= max(abs(value) / 10, Fraction(1, 10**3))
    assert_true(near or shown.startswith(("above", "below")), shown)


def assert_true(holds: bool, shown: str) -> None:  # noqa: FBT001 - what is asserted
    """Raise unless a comparison holds."""
    if not holds:
        raise UntrueError(f"{shown!r} is on the wrong side")


@pytest.fixture
def formatter(monkeypatch: pytest.MonkeyPatch) -> Formatter:
    """Watch the formatter."""
    found = Formatter()
    significant, percent, exactly = printed._significant, printed._percent, printed.decimal

    def caller() -> str:
        return sys._getframe(2).f_code.co_name

    def watched(value: Any, digits: int, rounding: str, unit: str = "") -> str:
        name = caller()
        # Inside of a percentage the number was drawn before.
        value = value if name == "_percent" else found.number(value, 15)
        text = significant(value, digits, rounding, unit)
        infinite = isinstance(value, float) and not np.isfinite(value)
        if value is not None and not infinite and name != "_percent":
            found.written.append((name, Fraction(value), text))
        return text

    def watched_percent(value: Any, decimals: int, rounding: str) -> str:
        name, value = caller(), found.number(value, 1)
        text = percent(value, decimals, rounding)
        if value is not None:
            found.written.append((name, Fraction(value), text))
        return text

    def watched_exact(value: Fraction) -> str:
        text = exactly(value)
        if "/" not in text:
            found.written.append(("decimal", value, text))
        return text

    def watched_position(value: float, decimals: int = 1) -> str:
        text = str(round(float(value), decimals)).removesuffix(".0")
        found.written.append(("position", Fraction(text), text))
        return text

    for name, function in (
        ("_significant", watched),
        ("_percent", watched_percent),
        ("decimal", watched_exact),
        ("position", watched_position),
    ):
        monkeypatch.setattr(printed, name, function)
    return found


def visible(page: str) -> str:
    """Return what a reader sees of a page: no scripts, drawings, attributes and code."""
    text = re.sub(r"<(script|style|svg|code|pre)\b.*?</\1>", " ", page, flags=re.DOTALL)
    return html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", text)))


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
}
"""Command -> lines that print its numbers; later ones read what earlier ones wrote."""

NOT_RUN = {
    "serve": "answers requests; its page's numbers are those of `service/page.py`, tested in tests/service",
    "locate": "needs a server; prints amounts by `decimal_up`, tested in tests/cli/test_cli_locate.py",
    "demo": "all chapters at length; each is rendered here",
    "studio": "starts a server; its pages are rendered here",
}
"""Command -> why it is not run here."""


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
    return tmp_path


def run_commands(capsys: pytest.CaptureFixture[str], folder: Path) -> Iterator[tuple[str, str]]:
    """Run every command; yield its line, and what it printed or wrote as a page."""
    for lines in COMMANDS.values():
        for line in lines:
            said = say(capsys, *line.split())
            assert said.status in {0, 1, 4}, f"{line}: {said.err}"
            yield line, said.out + said.err
            for name in re.findall(r"\S+\.html", line):
                yield f"{line} {name}", visible((folder / name).read_text(encoding="utf-8"))


def test_every_command_is_listed() -> None:
    every = {name for group in OWN.values() for name in group}
    assert set(COMMANDS) | set(NOT_RUN) == every
    assert not set(COMMANDS) & set(NOT_RUN)


def check_commands(
    formatter: Formatter, capsys: pytest.CaptureFixture[str], folder: Path
) -> set[str]:
    used: set[str] = set()
    for line, text in run_commands(capsys, folder):
        try:
            used |= formatter.check(text, line)
        except UntrueError as error:
            raise UntrueError(f"{line}: {error}") from None
    return used


@pytest.mark.jit
def test_commands_print_what_is_true(
    formatter: Formatter, capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    used = check_commands(formatter, capsys, folder)
    assert used >= {"at_least", "at_most", "estimate", "share", "share_at_least", "share_at_most"}


@pytest.mark.jit
def test_commands_print_random_numbers_on_their_side(
    formatter: Formatter, capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    formatter.draw = seeded(7)
    check_commands(formatter, capsys, folder)


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
    shown = {**describe_promise(made), **publication.show(made, planned)}
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
        sizes=sizes_of(np.array([1, 2, 2, 7])),
        diversity={"ill": 1},
        unique=[("ill", 1)],
        names=("age", "sex"),
        secret=[],
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
}
"""Pages that no command writes, and what prints itself."""

TYPED = "0.1 0.3 0.5 0.7 1.5 2.5, 95 %"
"""Numbers that these functions type, and the probability of intervals that were not asked for another."""


@pytest.mark.jit
@pytest.mark.parametrize("name", PAGES)
def test_pages_print_what_is_true(name: str, formatter: Formatter, folder: Path) -> None:
    assert formatter.check(PAGES[name](folder), TYPED)


@pytest.mark.jit
@pytest.mark.parametrize("name", PAGES)
def test_pages_print_random_numbers_on_their_side(
    name: str, formatter: Formatter, folder: Path
) -> None:
    for seed in range(3):
        formatter.draw = seeded(seed)
        assert formatter.check(PAGES[name](folder), TYPED)


@pytest.mark.jit
@pytest.mark.parametrize("side", ["ROUND_FLOOR", "ROUND_CEILING"])
@pytest.mark.parametrize("name", PAGES)
def test_a_direction_that_is_reversed_fails_every_page_that_uses_it(
    name: str, side: str, formatter: Formatter, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    formatter.draw = seeded(1)
    used = formatter.check(PAGES[name](folder), TYPED)
    sign = -1 if side == "ROUND_FLOOR" else 1
    formatter.written.clear()
    other = ROUND_CEILING if side == "ROUND_FLOOR" else ROUND_FLOOR
    monkeypatch.setattr(printed, side, other)
    text = PAGES[name](folder)
    uses = any(SIDES.get(one) == sign for one in used)
    assert uses or name not in {"counts_result", "tables_result", "result", "metricdp", "repr"}
    if uses:
        with pytest.raises(UntrueError):
            formatter.check(text, TYPED)


@pytest.mark.jit
def test_a_direction_that_is_reversed_fails_the_commands(
    formatter: Formatter,
    capsys: pytest.CaptureFixture[str],
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    formatter.draw = seeded(1)
    monkeypatch.setattr(printed, "ROUND_CEILING", ROUND_FLOOR)
    with pytest.raises(UntrueError):
        check_commands(formatter, capsys, folder)


def test_every_template_that_rounds_is_rendered() -> None:
    """Templates that format no more than whole numbers and positions have nothing to round."""
    rounding = re.compile(r"printed\.(?!count|position)\w+\(")
    for package, rendered in (("discreet.studio", set(PAGES)), ("discreet.report", REPORTS)):
        environment = template_environment(package)
        for template in environment.list_templates(extensions=["html"]):
            source, _, _ = environment.loader.get_source(environment, template)  # type: ignore[union-attr]
            if rounding.search(source):
                assert template.removesuffix(".html") in rendered | PARTS, template


REPORTS = {"curator", "metricdp", "location"}
PARTS = {"macros", "publish_macros"}
"""Parts of the pages above."""


@pytest.mark.parametrize(
    ("text", "typed"),
    [("loss 0.123457", ""), ("74.5 %", ""), ("12 %", ""), ("1e-7", ""), ("1.5 of 2.5", "2.5")],
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
