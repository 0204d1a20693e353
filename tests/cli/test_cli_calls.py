"""Each judge is one public call: its arguments are the options of the command, its text is what the command prints."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import discreet as dc
from cli.commands import say
from discreet.artefact import save_anonymous
from discreet.cli.calls import TypedOption, from_call
from discreet.cli.commands import command_named
from discreet.datasets import made_patients
from discreet.kanonymity import Categorical, Numeric
from kanonymity.tables import anonymize_kept

if TYPE_CHECKING:
    from collections.abc import Callable

DATA = Path(__file__).parents[1] / "data"

CALLS: dict[str, Callable[..., Any]] = {
    "attack": dc.attack,
    "audit": dc.audit,
    "compare": dc.compare,
    "risk": dc.risk,
}

OF_THE_COMMAND = {"report", "as_json", "quiet"}
"""Where results go and in which form: what an outcome can be asked for."""

STATED_BY_THE_PROBLEM = {
    "places": "target",
    **dict.fromkeys(("grid", "cell", "x", "y", "columns", "metric", "unit"), "Problem.space"),
    "embeddings": "Problem.space",
    "loss": "Problem.utility_loss",
    "prior": "Problem.prior",
    "reports": "Problem.reports",
}
"""Options of compare that state a design problem, which in Python is the first argument."""

OF_PYTHON = {"compare": {"target", "on_progress"}}
"""Arguments that no option has: the problem that options state, and a function."""


@pytest.mark.parametrize("name", CALLS)
def test_every_option_is_an_argument_of_the_call_and_back(name: str) -> None:
    typed = {one.name for one in command_named(name).params} - OF_THE_COMMAND
    stated = set(STATED_BY_THE_PROBLEM) if name == "compare" else set()
    arguments = set(inspect.signature(CALLS[name]).parameters)
    assert typed - stated == arguments - OF_PYTHON.get(name, set())
    assert stated <= typed


@pytest.mark.parametrize("name", CALLS)
def test_defaults_are_those_of_the_call(name: str) -> None:
    arguments = inspect.signature(CALLS[name]).parameters
    for one in command_named(name).params:
        if one.name in arguments and not one.required:
            default = arguments[one.name].default
            assert one.default in (default, None)
            assert one.default == default or not default, one.name


def test_an_argument_that_the_command_lacks_is_noticed() -> None:
    def call(size: int, *, strength: float = 0.5) -> None:
        """Count.

        Parameters
        ----------
        size
            Number of rows.
        strength
            Share.
        """

    given: dict[str, Any] = {}

    @from_call(call, {"size": TypedOption("ROWS")})
    def command(options: dict[str, Any], *, twice: bool = False) -> int:
        given.update(options)
        return int(twice)

    assert list(inspect.signature(command).parameters) == ["size", "strength", "twice"]
    assert command(size=3, strength=None, twice=True) == 1
    assert given == {"size": 3}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("calls")
    people = pl.DataFrame(made_patients(120, seed=1)).select("age", "sex", "disease")
    people.write_csv(folder / "people.csv")
    people[:60].write_csv(folder / "half.csv")
    kinds = (Numeric("age", low=0, high=99), Categorical("sex"))
    made = anonymize_kept(
        people, dc.KAnonymity(3, ("age", "sex")), attributes=kinds, time_limit=0.5, throw=False
    )
    save_anonymous(made, folder / "out.csv", kinds)
    return folder


CHANNEL = str(DATA / "channel-1.channel")

QUASI = ["--quasi", "age,sex"]

SAME: dict[str, tuple[list[str], Callable[[], Any]]] = {
    "risk": (["risk", "people.csv", *QUASI], lambda: dc.risk("people.csv", ["age", "sex"])),
    "risk, all options": (
        [
            *("risk", "out.csv", *QUASI, "--sensitive", "disease", "--against", "people.csv"),
            *("--population", "people.csv", "--numeric", "age", "--categorical", "sex"),
            "--show-columns",
        ],
        lambda: dc.risk(
            "out.csv",
            ("age", "sex"),
            sensitive=["disease"],
            against="people.csv",
            population="people.csv",
            numeric=["age"],
            categorical=["sex"],
            show_columns=True,
        ),
    ),
    "risk, in pieces": (
        ["risk", "people.csv", *QUASI, "--memory", "1GB", "--threads", "2"],
        lambda: dc.risk("people.csv", ["age", "sex"], memory="1GB", threads=2),
    ),
    "risk, a frame": (
        ["risk", "people.csv", *QUASI],
        lambda: dc.risk(pl.read_csv("people.csv", infer_schema=False), ["age", "sex"]),
    ),
    "audit, exact": (
        ["audit", "hierarchy", "--method", "m-c-ch", "--epsilon", "1"],
        lambda: dc.audit("hierarchy", method="m-c-ch", epsilon=1),
    ),
    "audit, k": (
        ["audit", "kanonymity", "--method", "mondrian", "-k", "2"],
        lambda: dc.audit("kanonymity", method="mondrian", k=2),
    ),
    "audit, a file": (
        ["audit", CHANNEL, "--strength", "certified"],
        lambda: dc.audit(CHANNEL, strength="certified"),
    ),
    "attack, a table": (
        ["attack", "out.csv", "--against", "people.csv", "--sensitive", "disease"],
        lambda: dc.attack("out.csv", against="people.csv", sensitive="disease"),
    ),
    "compare, a mechanism": (
        ["compare", "kanonymity", "-k", "2,4", "--methods", "mondrian"],
        lambda: dc.compare("kanonymity", k=[2, 4], methods=["mondrian"]),
    ),
    "compare, a problem": (
        [
            *("compare", "--grid", "2x2", "--unit", "km", "--epsilon", "0.5,1", "--radius", "1"),
            *("--methods", "optimal,exponential", "--gap", "0.05", "--quiet"),
        ],
        lambda: dc.compare(
            dc.metricdp.Problem(
                dc.MetricSpace.grid(2, 2, cell=1, unit="km"), utility_loss="distance"
            ),
            epsilon=["0.5", 1],
            radius=1,
            methods=["optimal", "exponential"],
            gap=0.05,
        ),
    ),
}


def without_costs(text: str) -> str:
    """Leave out seconds and MiB, which end the lines of a comparison."""
    return re.sub(r"(?m)\s+\d+\.\d\d\s*\d*$", "", text)


@pytest.mark.parametrize("name", SAME)
def test_the_text_of_the_outcome_is_what_the_command_prints(
    name: str, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    arguments, call = SAME[name]
    said = say(capsys, *arguments)
    assert said.status in (0, 1), said.err
    printed, text = said.out, f"{call()}\n"
    if name == "compare, a problem":
        printed, text = without_costs(printed), without_costs(text)
    assert printed == text


def test_json_is_the_dictionary_of_the_outcome(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    said = say(capsys, "risk", "people.csv", *QUASI, "--json")
    risks = dc.risk("people.csv", ["age", "sex"])
    assert said.data == {"command": "risk", **risks.to_dict()}
    assert said.data["population"] is None
    among = dc.risk("half.csv", ["age", "sex"], population="people.csv")
    assert among.to_dict()["population"] == "people.csv"
    assert among.risks["risk"].journalist_highest <= among.risks["risk"].prosecutor_highest


@pytest.mark.parametrize(
    ("call", "field"),
    [
        (lambda: dc.risk("people.csv", ["agee"]), "quasi_identifiers"),
        (lambda: dc.risk("people.csv", ["age"], taxonomy={"sex": "x.csv"}), "taxonomy"),
        (lambda: dc.risk("nowhere.csv", ["age"]), "table"),
        (lambda: dc.risk({"age": [1]}, ["age"], memory="1GB"), "table"),
        (lambda: dc.risk("people.csv", ["age"], memory="much"), "memory"),
        (lambda: dc.audit("astrology"), "target"),
        (lambda: dc.audit(CHANNEL, epsilon="1"), "epsilon"),
        (lambda: dc.audit("hierarchy", epsilon=1, samples=10**9), "samples"),
        (lambda: dc.attack("metricdp", epsilon=1, reports=[0]), "reports"),
        (lambda: dc.attack("metricdp", epsilon=1, steps=10**6), "steps"),
        (lambda: dc.attack("out.csv"), "against"),
        (lambda: dc.compare("astrology", epsilon=1), "target"),
        (lambda: dc.compare("kanonymity", epsilon=1), "k"),
        (lambda: dc.compare("hierarchy", epsilon=1, radius=2), "radius"),
    ],
)
def test_a_refusal_names_the_argument(
    call: Callable[[], Any], field: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    with pytest.raises(dc.InvalidProblemError) as caught:
        call()
    assert caught.value.field == field
