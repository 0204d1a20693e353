"""``verify --report``: for each kind of file a page of what was checked, what it means, and what is not claimed."""

from __future__ import annotations

import hashlib
import re
import shutil
from html import unescape
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from cli.commands import Said, say
from discreet.artefact import save_mechanism
from discreet.artefact.judging import JUDGES, claim_facts
from discreet.artefact.mechanism import FOR_EVERY_POINT
from discreet.core.certificate import Certificate
from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import MetricDP, PureDP
from discreet.lrgeo import Region, design
from discreet.report import make_chapter
from discreet.report.check_words import MEANINGS, meaning
from discreet.report.verified import KINDS
from service.running import mechanism

DATA = Path(__file__).parents[1] / "data"
SOURCE = Path(__file__).parents[2] / "src" / "discreet"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def channel(capsys: pytest.CaptureFixture[str], *more: str) -> str:
    line = "design --grid 3x3 --unit km --epsilon 1 -q -o c.channel"
    assert say(capsys, *line.split(), *more).status == 0
    return "c.channel"


def anchored(capsys: pytest.CaptureFixture[str]) -> str:
    assert capsys is not None
    shutil.copy(DATA / "anchored-1.channel", "tails.channel")
    return "tails.channel"


def choice(capsys: pytest.CaptureFixture[str]) -> str:
    assert capsys is not None
    shutil.copy(DATA / "choice-1.choice", "team.choice")
    return "team.choice"


def placed(capsys: pytest.CaptureFixture[str]) -> str:
    assert capsys is not None
    save_mechanism(mechanism(), "city.mechanism")
    return "city.mechanism"


def counts(capsys: pytest.CaptureFixture[str]) -> str:
    Path("people.csv").write_text("h,s\na,GA\na,GA\nb,NY\n", encoding="utf-8")
    Path("regions.csv").write_text("s\nGA\nNY\n", encoding="utf-8")
    line = "counts people.csv --unit h --regions s --region-list regions.csv --max-size 3 --epsilon 1 -q"
    more = "--neighbors add-remove-person --method m-c-dp --measurements nm.parquet -o out.csv"
    said = say(capsys, *line.split(), *more.split())
    assert said.status == 0, said.err
    return "out.csv"


def kept(capsys: pytest.CaptureFixture[str]) -> str:
    counts(capsys)
    return "nm.parquet"


def rows(capsys: pytest.CaptureFixture[str]) -> str:
    ages = [str(20 + n) for n in range(8)]
    pl.DataFrame({"age": ages, "ill": ["yes", "no"] * 4}).write_csv("patients.csv")
    said = say(
        capsys,
        "anonymize",
        "patients.csv",
        "-k",
        2,
        "--quasi",
        "age",
        "--sensitive",
        "ill",
        "-q",
        "-o",
        "rows.csv",
    )
    assert said.status == 0, said.err
    return "rows.csv"


def tables(capsys: pytest.CaptureFixture[str]) -> str:
    Path("people.csv").write_text("h,s\na,GA\na,GA\nb,NY\n", encoding="utf-8")
    Path("regions.csv").write_text("s\nGA\nNY\n", encoding="utf-8")
    Path("domain.json").write_text('{"h": ["a", "b"]}', encoding="utf-8")
    line = "counts people.csv --regions s --region-list regions.csv --by h --domain domain.json -q"
    more = "--rho 1 --neighbors add-remove-person --measurements kept.parquet -o tables.csv"
    said = say(capsys, *line.split(), *more.split())
    assert said.status == 0, said.err
    return "tables.csv"


def lattice(capsys: pytest.CaptureFixture[str]) -> str:
    del capsys
    region = Region.from_grid(3, 3, cell="0.5", unit="km")
    made = design(region, MetricDP(2, "km"), method="table", spacing="0.5")
    save_mechanism(made.published(), "lattice.mechanism")
    return "lattice.mechanism"


def noise(capsys: pytest.CaptureFixture[str]) -> str:
    del capsys
    region = Region.from_grid(3, 3, cell="0.5", unit="km")
    made = design(region, MetricDP(2, "km"), method="noise", spacing="0.25")
    save_mechanism(made.published(), "noise.mechanism")
    return "noise.mechanism"


def marginals(capsys: pytest.CaptureFixture[str]) -> str:
    tables(capsys)
    return "kept.parquet"


MAKERS = {
    "channel": channel,
    "anchored": anchored,
    "choice": choice,
    "mechanism": placed,
    "lattice-mechanism": lattice,
    "noise-mechanism": noise,
    "region-counts": counts,
    "measurements": kept,
    "region-tables": tables,
    "table-measurements": marginals,
    "anonymous-table": rows,
}


def test_there_is_a_page_for_each_kind_that_is_judged() -> None:
    assert set(MAKERS) == set(KINDS) == set(JUDGES)


def page(said: Said, path: str = "page.html") -> str:
    """Read a page; what it says and what is printed are of one verdict."""
    text = Path(path).read_text(encoding="utf-8")
    assert not re.search(r"(?:src|href)=\"(?!#)", text)
    assert ("FAILED" in text) == (said.status == 1)
    return unescape(text)


@pytest.mark.parametrize("kind", MAKERS)
def test_each_kind_of_file_has_a_page(capsys: pytest.CaptureFixture[str], kind: str) -> None:
    path = MAKERS[kind](capsys)
    said = say(capsys, "verify", path, "--report", "page.html", "--json")
    assert (said.status, said.data["kind"]) == (0, kind)
    text = page(said)
    assert f"Every check of what {path} claims <b>passed</b>" in text
    assert f"discreet verify {path}</code>" in text or f"discreet verify {path}\n" in text
    assert ("python verify_standalone.py" in text) == (
        kind in {"channel", "anchored", *FOR_EVERY_POINT}
    )
    in_browser = kind in {"channel", "anchored", "mechanism"}
    assert ("a page can't vouch for itself" in text) == ("<div data-verify" in text) == in_browser
    assert hashlib.sha256(Path(path).read_bytes()).hexdigest() in text
    assert "What is not claimed" in text
    for check in said.data["checks"]:
        assert check["name"] in text
        assert meaning(check["name"]) in text
    for sentence in said.data["not_checked"]:
        assert sentence in text
    for entry in said.data["assumed_public"]:
        assert entry["digest"] in text
    # It was read, and not changed.
    assert say(capsys, "verify", path).status == 0


def test_a_file_that_is_not_what_it_claims_has_a_page_that_says_so(
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = rows(capsys)
    said = say(capsys, "verify", path, "--quasi", "age", "-k", 5, "--report", "page.html")
    assert said.status == 1
    text = page(said)
    assert "Not what it claims to be." in text
    assert "claims what <b>is not so</b>" in text
    assert "passed</b>" not in text
    assert f"discreet verify {path} -k 5 --quasi age" in text


def test_a_page_with_the_original_is_for_the_curator_only_when_it_failed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = rows(capsys)
    compare = ["verify", path, "--report", "page.html", "--against"]
    assert "For the curator alone" not in page(say(capsys, *compare, "patients.csv"))
    before = pl.read_csv("patients.csv", infer_schema=False)
    before.with_columns(pl.lit("yes").alias("ill"), pl.lit("x").alias("name")).write_csv(
        "other.csv"
    )
    text = page(say(capsys, *compare, "other.csv"))
    assert "For the curator alone" in text
    assert "what was not published of the original, which is not compared: its column" in text


def test_a_seeded_or_altered_file_has_a_page_that_says_so(
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = rows(capsys)
    Path(path).write_text(Path(path).read_text(encoding="utf-8") + "*,no\n*,no\n", encoding="utf-8")
    said = say(capsys, "verify", path, "--report", "page.html", "--json")
    assert said.status == 1
    assert "bytes that differ from those written" in page(said)


def test_a_radius_and_given_distances_are_said(capsys: pytest.CaptureFixture[str]) -> None:
    path = channel(capsys, "--radius", "1")
    text = page(say(capsys, "verify", path, "--optimality", "--report", "page.html"))
    assert "The stated epsilon beyond the radius" in text
    assert "discreet verify c.channel --optimality" in text
    assert "--optimality does" not in text


def test_a_page_does_not_replace_what_is_verified(capsys: pytest.CaptureFixture[str]) -> None:
    path = rows(capsys)
    before = {name: Path(name).read_bytes() for name in (path, f"{path}.discreet.json")}
    Path("ages.csv").write_text("20;*\n", encoding="utf-8")
    more = ["--against", "patients.csv", "--taxonomy", "age=ages.csv"]
    for over in (path, f"{path}.discreet.json", "patients.csv", "ages.csv"):
        said = say(capsys, "verify", path, *more, "--report", over)
        assert said.status == 2
        assert "--report: expected a file of its own" in said.err
    assert before == {name: Path(name).read_bytes() for name in before}


def test_names_are_shown_and_not_run() -> None:
    chapter = make_chapter(
        "verified",
        Certificate(()),
        stated=claim_facts(
            "region-counts", PureDP(1, "add-remove-person"), None, ["<b>nothing</b>"]
        ),
        file="<script>.csv",
        command="discreet verify '<script>.csv'",
    )
    assert "<script>" not in chapter.body
    assert "<b>nothing" not in chapter.body
    assert "Not what it claims to be" in chapter.body


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(InvalidProblemError, match="kind: expected one of anchored, "):
        make_chapter(
            "verified",
            Certificate(()),
            stated=claim_facts("sheep", PureDP(1, "replace-one"), None),
            file="x",
            command="y",
        )


def named_checks() -> set[str]:
    """Find the names of checks in the source of the verifiers and the judges."""
    files = [*SOURCE.glob("*/verify.py"), *SOURCE.glob("core/*/check_*.py")]
    files += [SOURCE / "artefact" / "judging.py", SOURCE / "kanonymity" / "models.py"]
    found = set()
    for file in files:
        for name in re.findall(r"\bCheck\(\s*f?\"([^\"]+)\"", file.read_text(encoding="utf-8")):
            found.add(re.sub(r"\{[^}]*\}", "7", name))
    return found


def test_every_check_has_a_meaning_and_every_meaning_a_check() -> None:
    names = named_checks()
    assert len(names) > 30
    unknown = {name for name in names if not meaning(name)}
    assert unknown == {"7 spent on the worst path"}
    assert meaning("epsilon spent on the worst path")
    source = "".join(
        file.read_text(encoding="utf-8")
        for folder in (
            "core",
            "artefact",
            "metricdp",
            "lrgeo",
            "hierarchy",
            "kanonymity",
            "submodular",
        )
        for file in (SOURCE / folder).rglob("*.py")
    )
    for pattern in MEANINGS:
        start = re.split(r"\\|\.\+", pattern)[0].removeprefix("epsilon ").removeprefix("rho ")
        assert start in source, pattern


def test_answers_to_a_matrix_say_that_distances_were_taken_as_they_are() -> None:
    from discreet.artefact.judging import _distance_notes
    from discreet.core.spaces.metric import MetricSpace

    given = MetricSpace.from_matrix(1.0 - np.eye(3), unit="edit")
    assert "given as they are" in _distance_notes(given)[0]
    assert _distance_notes(MetricSpace.grid(2, 2, cell=1, unit="km")) == []
