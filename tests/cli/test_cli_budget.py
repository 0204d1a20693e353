"""``budget``: a ledger from the command line."""

from __future__ import annotations

import json
import re
import shutil
from typing import TYPE_CHECKING

import pytest

from cli.commands import Said, say
from discreet.core.calculus import to_approx_dp
from discreet.core.guarantee import ApproxDP, MetricDP, PureDP, ZeroConcentratedDP
from discreet.ledger import Ledger

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from discreet.core.guarantee import Guarantee


@pytest.fixture
def ask(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[[str], Said]:
    """Run a command line in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return lambda line: say(capsys, *line.split())


@pytest.mark.parametrize(
    ("options", "limit"),
    [
        ("--epsilon 4 --neighbors add-remove-person", PureDP(4, "add-remove-person")),
        ("--epsilon 1/3 --delta 1e-6 --neighbors replace-one", ApproxDP("1/3", "1e-6", "replace-one")),
        ("--rho 0.5 --neighbors replace-person", ZeroConcentratedDP("0.5", "replace-person")),
        ("--epsilon 2 --unit km", MetricDP(2, "km")),
        ("--epsilon 2 --unit km --radius 3", MetricDP(2, "km", 3)),
    ],
)  # fmt: skip
def test_every_notion_of_privacy_has_a_budget(
    ask: Callable[[str], Said], options: str, limit: Guarantee
) -> None:
    said = ask(f"budget create ledger.db --dataset d {options} --json")
    assert said.status == 0, said.err
    assert Ledger("ledger.db").account("d").limit == limit
    assert said.data["datasets"][0]["limit"]["sentence"] == str(limit)


def test_a_budget_of_rho_is_shown_as_approximate_privacy_too(ask: Callable[[str], Said]) -> None:
    shown = ask("budget create ledger.db --dataset a --rho 0.1 --neighbors replace-one")
    implied = to_approx_dp(ZeroConcentratedDP("0.1", "replace-one"), delta="1e-6")
    assert f"which implies  {implied}\n" in shown.out
    assert (
        "which implies"
        not in ask("budget create l.db --dataset a --epsilon 1 --neighbors replace-one").out
    )


def test_what_is_left_and_what_was_charged(ask: Callable[[str], Said]) -> None:
    ask("budget create ledger.db --dataset b --epsilon 1 --neighbors add-remove-person")
    ask("budget create ledger.db --dataset a --epsilon 4 --neighbors add-remove-person")
    Ledger("ledger.db").reserve("a", PureDP("1/3", neighbors="add-remove-person"))
    shown = ask("budget show ledger.db --json")
    assert [(d["dataset"], d["spent"], d["left"]) for d in shown.data["datasets"]] == [
        ("a", ["1/3"], ["11/3"]),
        ("b", ["0"], ["1"]),
    ]
    one = ask("budget show ledger.db --dataset b")
    assert "dataset  b" in one.out
    assert "dataset  a" not in one.out
    listed = ask("budget history ledger.db --dataset a --json")
    assert listed.data["charges"][0]["guarantee"]["epsilon"] == "1/3"
    assert ask("budget history ledger.db --dataset a").out.count("\n") == 1
    assert ask("budget history ledger.db --dataset b").out == "nothing was charged\n"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("create ledger.db --dataset d", "--epsilon: expected a limit here, or with --rho, got neither"),
        ("create ledger.db --dataset d --epsilon 1 --rho 1 --neighbors replace-one", "got both"),
        ("create ledger.db --dataset d --epsilon 1", "--neighbors: expected one of add-remove-one, replace-one"),
        ("create ledger.db --dataset d --epsilon 1 --neighbors replace-one --unit km", "got both"),
        ("create ledger.db --dataset d --rho 1 --unit km", "--unit: expected no such option"),
        ("create ledger.db --dataset d --rho 1 --neighbors replace-one --delta 1e-6", "--delta: expected no such"),
        ("create ledger.db --dataset d --epsilon 1 --neighbors replace-one --radius 1", "--radius: expected no"),
        ("create ledger.db --dataset d --epsilon 0 --neighbors replace-one", "--epsilon: expected a positive"),
        ("create ledger.db --dataset d --epsilon 1 --neighbors friends", "--neighbors: expected one of"),
        ("create ledger.db --epsilon 1 --neighbors replace-one", "--dataset: expected a value"),
        ("create no/ledger.db --dataset d --epsilon 1 --neighbors replace-one", "LEDGER: expected a file that can be"),
        ("create ledger.db --dataset census --epsilon 9 --neighbors replace-one", "--dataset: expected one without"),
        ("show no.db", "LEDGER: expected a ledger that exists"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(
    ask: Callable[[str], Said], line: str, message: str
) -> None:
    ask("budget create ledger.db --dataset census --epsilon 1 --neighbors replace-one")
    said = ask(f"budget {line}")
    assert (said.status, said.out) == (2, "")
    assert message in said.err


@pytest.mark.parametrize("command", ["show", "history"])
def test_a_dataset_without_a_budget_has_status_5(ask: Callable[[str], Said], command: str) -> None:
    ask("budget create ledger.db --dataset census --epsilon 1 --neighbors replace-one")
    said = ask(f"budget {command} ledger.db --dataset other --json")
    assert said.status == 5
    assert json.loads(said.err)["error"]["kind"] == "BudgetError"


def test_a_digest_that_was_noted_is_compared(
    ask: Callable[[str], Said], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Noted, extended, put back to an old copy, written anew: each has its word and its status."""
    grant = "budget create ledger.db --dataset d --epsilon 4 --neighbors replace-one"
    ask(grant)
    noted = ask("budget show ledger.db --digest")
    assert re.fullmatch(r"1:[0-9a-f]{96}\n", noted.out)
    assert (noted.status, noted.err) == (0, "")
    assert ask("budget show ledger.db --digest --json").data == {
        "command": "budget show",
        "digest": noted.out.strip(),
    }
    shutil.copyfile("ledger.db", "copy.db")
    (tmp_path / "copy.db").chmod(0o600)
    Ledger("ledger.db").reserve("d", PureDP(1, neighbors="replace-one"))
    later = ask("budget show ledger.db --digest").out.strip()
    for file, digest, verdict, status in (
        ("ledger.db", noted.out.strip(), "extends", 0),
        ("ledger.db", later, "extends", 0),
        ("copy.db", later, "older", 1),
        ("ledger.db", f"{later[:-1]}{'0' if later[-1] != '0' else '1'}", "other", 1),
    ):
        said = ask(f"budget check {file} --digest {digest}")
        assert (said.status, said.err) == (status, "")
        assert said.out.startswith(f"{verdict}: ")
        told = ask(f"budget check {file} --digest {digest} --json")
        assert (told.status, told.data["verdict"]) == (status, verdict)
        assert told.data["anchored"] == int(digest.partition(":")[0])
    (tmp_path / "ledger.db").unlink()
    ask(grant)
    assert ask(f"budget check ledger.db --digest {noted.out.strip()}").status == 1


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("check ledger.db", "--digest: expected a value"),
        ("check ledger.db --digest 7", "--digest: expected what `budget show --digest` printed"),
        ("check no.db --digest 7", "LEDGER: expected a ledger that exists"),
        ("show ledger.db --digest --dataset d", "--digest: expected neither"),
        ("show ledger.db --digest --report a.html", "--digest: expected neither"),
    ],
)
def test_what_is_no_digest_has_status_2(
    ask: Callable[[str], Said], line: str, message: str
) -> None:
    ask("budget create ledger.db --dataset d --epsilon 1 --neighbors replace-one")
    said = ask(f"budget {line}")
    assert (said.status, said.out) == (2, "")
    assert message in said.err


@pytest.mark.parametrize(
    "command", ["show", "show --digest", "history --dataset d", "check --digest 1:" + "0" * 96]
)
def test_damaged_text_in_a_ledger_is_bad_input(
    ask: Callable[[str], Said], tmp_path: Path, command: str
) -> None:
    """Bytes that are no text, in every column: a line that says so, and status 2."""
    ask("budget create ledger.db --dataset d --epsilon 1 --neighbors replace-one")
    whole = (tmp_path / "ledger.db").read_bytes()
    hits = 0
    for text in (b"grant", b'"epsilon"', b"Z"):
        # The last of them stands in the line; the first may be a word of the schema.
        at = whole.rindex(text)
        (tmp_path / "ledger.db").write_bytes(
            whole[:at] + b"\xff\xfe"[: len(text)] + whole[at + min(2, len(text)) :]
        )
        name, _, options = command.partition(" ")
        said = ask(f"budget {name} ledger.db {options}")
        assert (said.status, said.out) == (2, "")
        assert re.fullmatch(
            r"discreet: LEDGER: expected a whole ledger, got ledger.db: line 1 was changed\n",
            said.err,
        )
        hits += 1
    assert hits == 3
