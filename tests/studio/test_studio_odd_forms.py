"""Odd texts in each field of each form: a sentence with what to do or an answer, and never a failure of the studio."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import polars as pl
import pytest

from discreet.web.guard import Limits
from refusals.entrances import Fields
from studio.asking import Browser
from studio.test_studio_counts import ASKED, LAYOUT
from studio.test_studio_counts import PEOPLE as PERSONS
from studio.test_studio_counts import REGIONS as PLACES
from studio.test_studio_tables import FORM
from studio.test_studio_tables import PEOPLE as CITIZENS
from studio.test_studio_tables import REGIONS as TOWNS

if TYPE_CHECKING:
    from pathlib import Path

ODD = (
    *("", " ", "0", "-1", "50", "1e999", "1/0", "nan", "inf", "1,5", "٣", "½", "1e-400"),
    *("x" * 2_000, "a=b=c", "=", ",", ";", ":", "<"),
    *("\u202e", "\x00", "\ud800", "a\r\nb", "{}", "[1", "../x"),
    *("age=1,2,3", "age=-9", "1,b<a<b", "0.5,a<a", "{{7*7}}", "<b>"),
)
ROWS = pl.DataFrame(
    {
        "age": [20 + at % 7 for at in range(60)],
        "sex": ["F", "M"] * 30,
        "ill": ["flu", "gout", "cold"] * 20,
    }
)


LIMITS = Limits(body=1 << 20, body_seconds=30.0, rate=1e6, burst=10**6)


def csv(table: pl.DataFrame) -> bytes:
    return table.write_csv().encode()


EACH = pytest.mark.parametrize("step", [len(ODD), pytest.param(1, marks=pytest.mark.slow)])
"""Each field takes every odd text, or in a normal run one of them, another in each field."""


def odd_texts(name: str, step: int) -> tuple[str, ...]:
    return ODD[sum(name.encode()) % step :: step]


def judge(browser: Browser, path: str, form: dict[str, str], name: str, step: int) -> None:
    """Send a form with odd texts in one field."""
    for odd in odd_texts(name, step):
        answered = browser.at(path, {**form, name: odd})
        assert answered.status_code in {200, 202, 400}, (path, name, odd, answered.text)
        assert answered.status_code == 400 or "<b>" not in answered.text, (path, name)
        if answered.status_code == 400:
            message = answered.json()["message"]
            assert message.endswith("."), (path, name, odd, message)
            assert message.count("\n") == 0
            assert len(message) < 1_500, (path, name, odd, message)


@EACH
def test_odd_texts_in_the_form_of_a_file(tmp_path: Path, step: int) -> None:
    with contextlib.closing(
        (browser := Browser(ledger=tmp_path / "l.db", limits=LIMITS)).workspaces
    ):
        for page, prefix in (("", ""), ("counts", "counts/"), ("tables", "tables/")):
            browser.open(page)
            fields = Fields(browser.ask(page).text).values
            for name in fields:
                for odd in odd_texts(name, step):
                    if odd == "\ud800" or name == "table":
                        continue
                    asked = urlencode({"kind": "persons", "name": "a.csv", name: odd})
                    answered = browser.at(f"{prefix}table?{asked}", csv(ROWS))
                    assert answered.status_code in {200, 400}, (page, name, odd, answered.text)
                    assert answered.status_code == 400 or "<b>" not in answered.text


@EACH
def test_odd_texts_in_the_forms_of_risk(step: int) -> None:
    with contextlib.closing((browser := Browser(limits=LIMITS)).workspaces):
        browser.open()
        page = browser.at("table?name=a.csv", csv(ROWS)).text
        form = Fields(page).values | {"role-0": "quasi", "role-1": "quasi", "role-2": "sensitive"}
        assert browser.at("risk", form).status_code == 200
        for name in form:
            judge(browser, "risk", form, name, step)
            kinds = ("dates", "rounded", "taxonomy", "prefix")
            for kind in kinds if name.endswith("-0") else ():
                judge(browser, "risk", {**form, "kind-0": kind}, name, step)
        form |= Fields(browser.at("risk", form).text).values | {"k": "0", "seconds": "1"}
        # No k of 0 starts a search.
        for name in form:
            judge(browser, "run", form, name, step) if name != "k" else None


@EACH
def test_odd_texts_in_the_forms_of_counts_and_tables(tmp_path: Path, step: int) -> None:
    with contextlib.closing(
        (browser := Browser(ledger=tmp_path / "l.db", limits=LIMITS)).workspaces
    ):
        for page, people, places, form in (
            ("counts", PERSONS, PLACES, {**LAYOUT, **ASKED}),
            ("tables", CITIZENS, TOWNS, FORM),
        ):
            browser.open(page)
            assert (
                browser.at(f"{page}/table?kind=persons&name=p.csv", csv(people)).status_code == 200
            )
            assert browser.at(f"{page}/list?which=list&name=r.csv", places).status_code == 200
            given = form | {"ledger": str(tmp_path / "l.db"), "limit-notion": "epsilon"}
            given |= {"limit-amount": "1", "limit-delta": "", "levels": "", "root": "all"}
            assert browser.at(f"{page}/public", given).status_code == 200
            for name in given:
                judge(browser, f"{page}/public", given, name, step)
                if name not in {"ledger", "dataset"}:
                    # No budget was granted, so that none of these releases.
                    judge(browser, f"{page}/run", given, name, step)
                    judge(browser, f"{page}/grant", {**given, "dataset": ""}, name, step)
                if page == "tables":
                    judge(browser, "tables/plan", given, name, step)
            assert not (tmp_path / "l.db").exists()
