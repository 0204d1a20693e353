"""A form is released once: repeats and threads at once show the same release, and end no job that runs."""

from __future__ import annotations

import contextlib
import re
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import PureDP
from discreet.ledger import Ledger
from discreet.studio.workspaces import OpenWorkspace, OpenWorkspaces
from studio.running import Studio
from studio.waiting import Pays, Waits

THREADS = 16

FORM = {"form": "a", "amount": "1"}


@pytest.fixture
def workspace() -> Iterator[OpenWorkspace]:
    workspaces = OpenWorkspaces()
    with contextlib.closing(workspaces):
        found = workspaces.get(workspaces.open())
        yield found
        if found.job is not None:
            found.job.end()


def test_threads_that_post_one_form_start_one_job(workspace: OpenWorkspace) -> None:
    prepared: list[int] = []

    def post(number: int) -> str:
        def prepare() -> Waits:
            prepared.append(number)
            time.sleep(0.2)
            return Waits()

        return workspace.begin("counts", FORM, prepare, release=f"r{number}").release

    with ThreadPoolExecutor(THREADS) as threads:
        releases = set(threads.map(post, range(THREADS)))
    assert len(prepared) == 1
    assert releases == {f"r{prepared[0]}"}


def test_a_job_that_is_paid_for_is_ended_by_no_other_request(workspace: OpenWorkspace) -> None:
    paid = workspace.begin("counts", FORM, Waits, release="r")
    for form, release in (({**FORM, "amount": "2"}, "s"), (FORM, "")):
        with pytest.raises(InvalidProblemError, match="wait, or cancel that"):
            workspace.begin("tables", form, Waits, release=release)
    with pytest.raises(InvalidProblemError, match="wait, or cancel that"), workspace.changing():
        workspace.clear()
    assert workspace.job is paid
    assert not paid.over


def test_a_repeat_joins_a_job_that_runs_and_another_form_takes_its_place(
    workspace: OpenWorkspace,
) -> None:
    first = workspace.begin("run", FORM, Waits)
    assert workspace.begin("run", FORM, Waits) is first
    assert not first.over
    assert workspace.begin("run", {**FORM, "k": "3"}, Waits) is not first
    assert first.over


def test_an_earlier_form_shows_its_own_release_again(workspace: OpenWorkspace) -> None:
    first = workspace.begin("counts", FORM, lambda: Waits(0.0), release="r")
    first.wait(60)
    second = workspace.begin("counts", {**FORM, "form": "b"}, lambda: Waits(0.0), release="s")
    second.wait(60)
    assert workspace.begin("counts", FORM, Waits, release="t") is first
    assert workspace.job is first


@pytest.mark.parametrize(
    ("stage", "end", "again"),
    [
        ("", "refused", True),
        ("", "broken", True),
        ("", "killed", True),
        ("begun", "refused", True),
        # Nobody knows whether the charge was made.
        ("begun", "broken", False),
        ("begun", "killed", False),
        ("made", "refused", False),
        ("made", "broken", False),
        ("made", "killed", False),
    ],
)
def test_a_form_starts_again_only_where_it_charged_nothing(
    workspace: OpenWorkspace, stage: str, end: str, *, again: bool
) -> None:
    failed = workspace.begin("counts", FORM, lambda: Pays(stage, end), release="r")
    failed.wait(60)
    assert failed.over
    assert (workspace.begin("counts", FORM, Waits, release="s") is not failed) == again


def test_nothing_starts_on_a_page_that_is_closed(workspace: OpenWorkspace) -> None:
    assert workspace.close() is False
    with pytest.raises(InvalidProblemError, match="one that was closed"):
        workspace.begin("counts", FORM, Waits, release="r")
    assert workspace.job is None


PEOPLE = "home,state\n" + "".join(
    f"home-{at // 2},{'GA' if at // 2 % 3 else 'NY'}\n" for at in range(60)
)
LAYOUT = {
    "kind": "persons",
    "name": "people.csv",
    "unit": "home",
    "region-0": "state",
    "public": "list",
    "max_size": "6",
    "neighbors": "add-remove-person",
    "notion": "epsilon",
    "amount": "1",
    "dataset": "people",
}


@pytest.mark.jit
@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_sixteen_posts_are_one_charge_and_a_killed_studio_leaves_no_table(tmp_path: Path) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    with Studio(temporary, anew=True) as studio:
        Ledger.create(studio.ledger, "people", PureDP(9, neighbors="add-remove-person"))
        released = studio.ledger.with_name("discreet-released")

        def fresh() -> tuple[str, dict[str, str]]:
            page = studio.open("counts")
            table = "counts/table?kind=persons&name=people.csv"
            assert studio.post(page, table, PEOPLE.encode()).is_success
            regions = "counts/list?which=list&name=regions.csv"
            assert studio.post(page, regions, b"state\nGA\nNY\n").is_success
            shown = studio.post(page, "counts/public", LAYOUT).text
            token = re.search(r'name="form" value="([^"]+)"', shown)
            assert token is not None
            return page, {**LAYOUT, "ledger": str(studio.ledger), "form": token[1]}

        def posted(page: str, form: dict[str, str]) -> list[Any]:
            with ThreadPoolExecutor(THREADS) as threads:
                answers = list(
                    threads.map(lambda _: studio.post(page, "counts/run", form), range(THREADS))
                )
            assert {answer.status_code for answer in answers} == {202}
            return [answer.json()["release"] for answer in answers]

        page, form = fresh()
        (name,) = set(posted(page, form))
        until = time.monotonic() + 120
        while not (released / name / "counts.csv").is_file() and time.monotonic() < until:
            time.sleep(0.1)
        assert set(posted(page, form)) == {name}
        assert [one.name for one in released.iterdir()] == [name]
        assert len(Ledger(studio.ledger).history("people")) == 1
        # Another copy of the form, with the same fields, is another release.
        page, form = fresh()
        (other,) = set(posted(page, form))
        assert other != name
        studio.process.kill()
        studio.process.wait(60)
        assert any(b"home-4" in path.read_bytes() for path in temporary.rglob("*.parquet"))
        ledger = studio.ledger
    assert len(Ledger(ledger).history("people")) <= 2
    (left,) = temporary.iterdir()
    with Studio(temporary):
        assert not left.exists()
        assert not list(temporary.rglob("*.parquet"))


@pytest.mark.jit
@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_a_file_name_with_a_line_break_stays_one_name(tmp_path: Path) -> None:
    """It is escaped on pages, starts no header and no line of a listing, and the release is made and charged once."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    name = "peo\r\nSet-Cookie: a=b\n<script>alert(1)</script>.csv"
    with Studio(temporary) as studio:
        Ledger.create(studio.ledger, "people", PureDP(9, neighbors="add-remove-person"))
        page = studio.open("counts")
        quoted = quote(name)
        loaded = studio.post(page, f"counts/table?kind=persons&name={quoted}", PEOPLE.encode())
        listed = studio.post(page, f"counts/list?which=list&name={quoted}", b"state\nGA\nNY\n")
        shown = studio.post(page, "counts/public", {**LAYOUT, "name": name})
        token = re.search(r'name="form" value="([^"]+)"', shown.text)
        assert token is not None
        form = {**LAYOUT, "name": name, "ledger": str(studio.ledger), "form": token[1]}
        run = studio.post(page, "counts/run", form)
        refused = studio.post(page, f"counts/table?kind=persons&name={quoted}", b"")
        for answer in (loaded, listed, shown, run, refused):
            assert "set-cookie" not in answer.headers
            assert "<script>alert" not in answer.text
        assert [one.status_code for one in (loaded, listed, shown, run)] == [200, 200, 200, 202]
        release = studio.ledger.with_name("discreet-released") / run.json()["release"]
        until = time.monotonic() + 120
        while not (release / "counts.csv").is_file() and time.monotonic() < until:
            time.sleep(0.1)
        while Ledger(studio.ledger).history("people")[0].state != "done":
            assert time.monotonic() < until
            time.sleep(0.1)
        released = studio.get("released")
        assert "<script>alert" not in released.text
        assert studio.post(page, "counts/run", form).json()["release"] == run.json()["release"]
    (charge,) = Ledger(studio.ledger).history("people")
    assert all(name not in path for path in charge.outputs)
    assert {path.name for path in release.iterdir()} >= {"counts.csv"}
    assert not any("\n" in path.name for path in tmp_path.rglob("*"))
