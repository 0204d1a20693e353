"""Each judge is one public call: its arguments are the options of the command, its text is what the command prints."""

from __future__ import annotations

import inspect
from dataclasses import fields
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import polars as pl
import pytest

import discreet as dc
import discreet.artefact
import discreet.report.curator
import discreet.streaming
from cli.commands import say
from discreet.artefact import save_anonymous
from discreet.cli.calls import command_again, from_call, from_options
from discreet.cli.commands import command_named
from discreet.core.option_groups import Option, OptionGroup, argument, option
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

OF_THE_COMMAND = {"report", "as_json", "quiet", "help_all"}
"""Where results go and in which form: what an outcome can be asked for; and the help."""

STATED_BY_THE_PROBLEM = {
    "places": "target",
    **dict.fromkeys(("grid", "cell", "x", "y", "columns", "metric", "unit"), "Problem.space"),
    **dict.fromkeys(("embeddings", "plane"), "Problem.space"),
    "loss": "Problem.utility_loss",
    "prior": "Problem.prior",
    "reports": "Problem.reports",
}
"""Options of compare that state a design problem, which in Python is the first argument."""

STATED_BY_THE_GUARANTEE = ("epsilon", "rho", "neighbors", "noise")
"""Options of counts that state the guarantee, which is an argument."""

COUNTS_ELSEWHERE = {
    **dict.fromkeys(("people", "units"), "source"),
    **dict.fromkeys(("memory", "threads", "scheduler", "quotes"), "source"),
    **dict.fromkeys(STATED_BY_THE_GUARANTEE, "guarantee"),
    "regions": "columns",
    "region_list": "regions",
    "ledger": "budget",
    "delta": "budget_delta",
    "measurements": "keep_measurements",
    "output": "outputs",
    # Counts without a guarantee, and what the curator alone sees, have calls of their own.
    "accept_no_guarantee": "hierarchy.reproduce",
    "diagnostics": "hierarchy.Plan.diagnose",
    # What a plan costs and gives, before anything is charged.
    "plan": "hierarchy.Plan.check",
    "plan_count": "hierarchy.Plan.check",
    # Files made of the published tables.
    "microdata": "hierarchy.contingency.RegionTables.to_rows",
    "reliability": "hierarchy.contingency.RegionTables.to_reliability",
    # All checks are in the certificate.
    "verbose": "Release.certificate",
}
"""Option of counts -> the argument or the call of another name that does it."""

SELECT_ELSEWHERE = {
    **dict.fromkeys(("epsilon", "rho", "neighbors"), "guarantee"),
    "ledger": "budget",
    # How the file of coverage is read: in Python, a frame that was read.
    **dict.fromkeys(("quotes", "encoding", "delimiter", "decimal", "sheet", "missing"), "coverage"),
    # Slack of the guarantee, or of the charge.
    "delta": "budget_delta",
    "output": "outputs",
    # A choice without a guarantee, and what the curator alone sees, have calls of their own.
    "accept_no_guarantee": "submodular.reproduce",
    "diagnostics": "submodular.Plan.diagnose",
    # What a plan costs and gives, before anything is charged.
    **dict.fromkeys(("plan", "plan_count"), "submodular.Plan.check"),
}
"""Option of select -> the argument or the call of another name that does it."""

ANONYMIZE_ELSEWHERE = {
    **dict.fromkeys(("k", "quasi"), "guarantee"),
    **dict.fromkeys(("l_diversity", "t_closeness", "alpha", "require", "order"), "models"),
    **dict.fromkeys(("taxonomy", "prefix", "date", "rounded"), "attributes"),
    **dict.fromkeys(("numeric", "categorical", "weight", "bounds"), "attributes"),
    # A table larger than memory, and files.
    **dict.fromkeys(("memory", "scheduler"), "streaming.anonymize_files"),
    "output": "artefact.save_anonymous",
    "curator_report": "report.curator.chapter",
    # All checks are in the certificate, and messages of Python name columns.
    **dict.fromkeys(("verbose", "show_columns"), "Anonymization.certificate"),
}
"""Option of anonymize -> the argument or the call of another name that does it."""

OF_PYTHON = {"attack": {"on_progress"}, "compare": {"target", "on_progress"}}
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


@pytest.mark.parametrize(
    ("call", "elsewhere", "of_python"),
    [
        (dc.counts, COUNTS_ELSEWHERE, set()),
        (dc.select, SELECT_ELSEWHERE, {"watch"}),
        (dc.anonymize, ANONYMIZE_ELSEWHERE, {"on_progress", "throw", "bits"}),
    ],
)
def test_every_option_of_a_verb_is_an_argument_or_declared_elsewhere(
    call: Callable[..., Any], elsewhere: dict[str, str], of_python: set[str]
) -> None:
    typed = {one.name for one in command_named(call.__name__).params} - OF_THE_COMMAND
    arguments = set(inspect.signature(call).parameters)
    assert set(elsewhere) <= typed
    others = {name for name in elsewhere.values() if "." not in name}
    assert others | of_python <= arguments
    assert (typed - set(elsewhere)) | others == arguments - of_python
    for name in elsewhere.values():
        if "." in name:
            first, rest = name.split(".", 1)
            assert (
                attrgetter(rest)(getattr(dc, first))
                if first.islower()
                else rest in {one.name for one in fields(getattr(dc, first))}
            )


class Twice(OptionGroup):
    twice: bool = option("Count twice.", default=False)


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

    @from_call(call, {"size": Option("ROWS")}, Twice)
    def command(arguments: dict[str, Any], options: Twice) -> int:
        given.update(arguments)
        return int(options.twice)

    assert list(inspect.signature(command).parameters) == ["size", "strength", "twice"]
    assert command(size=3, strength=None, twice=True) == 1
    assert given == {"size": 3}


class Searching(OptionGroup, panel="How", environment="TRIAL_"):
    seconds: float = option("Limit.", "S", default=2.0, min=0)
    words: tuple[str, ...] = option("Words.", "W", repeated=True)


class Listed(Searching, panel="More"):
    file: str = argument("A table.", "FILE")
    again: bool = option("Twice.", default=False)
    shared: bool = option("Shared.", None, "--shared/--no-shared", default=True)


def test_a_record_states_the_options_of_its_command() -> None:
    """Groups are inherited with their heading and variables, and what was typed comes as the record."""
    seen: list[Listed] = []
    command = from_options(Listed, examples="")(seen.append)
    parameters = inspect.signature(command).parameters
    assert list(parameters) == ["file", "again", "shared", "seconds", "words"]
    shown = {name: one.annotation.__metadata__[0] for name, one in parameters.items()}
    assert (shown["seconds"].rich_help_panel, shown["seconds"].envvar) == ("More", "TRIAL_SECONDS")
    assert (shown["seconds"].min, parameters["seconds"].default) == (0, 2.0)
    assert parameters["file"].default is inspect.Parameter.empty
    command(file="a.csv", again=True, shared=True, seconds=1.0, words=["x", "y"])
    assert seen == [Listed(file="a.csv", again=True, seconds=1.0, words=("x", "y"))]
    assert seen[0].of(Searching) == {"seconds": 1.0, "words": ("x", "y")}
    assert seen[0].is_typed(Searching)
    assert not Listed(file="a.csv", words=()).is_typed(Searching)
    with pytest.raises(dc.InvalidProblemError, match="--words: expected none, got"):
        seen[0].refuse(("unknown", "words"), "none")
    with pytest.raises(dc.InvalidProblemError, match="^--no-shared: expected none, got False"):
        Listed(file="a.csv", shared=False).refuse(("shared",), "none")
    assert (
        command_again("list", seen[0])
        == "discreet list a.csv --again --seconds 1.0 --words x --words y"
    )


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
        ["audit", "hierarchy", "--method", "m-c-dp", "--epsilon", "1"],
        lambda: dc.audit("hierarchy", method="m-c-dp", epsilon=1),
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


def without_costs(text: str) -> list[list[str]]:
    """Divide a comparison into words, without the seconds and MiB that end the lines of its table."""
    lines = [line.split() for line in text.splitlines()]
    return lines[:3] + [words[:-2] for words in lines[3:]]


@pytest.mark.parametrize("name", SAME)
def test_the_text_of_the_outcome_is_what_the_command_prints(
    name: str, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    arguments, call = SAME[name]
    said = say(capsys, *arguments)
    assert said.status in (0, 1), said.err
    text = f"{call()}\n"
    if name == "compare, a problem":
        assert without_costs(said.out) == without_costs(text)
    else:
        assert said.out == text


CENSUS = [("GA", "F", 1), ("GA", "M", 1), ("NY", "F", 2), ("GA", "F", 3)] * 10
SIZES = (
    "counts census.csv --unit home --regions state --region-list states.csv --max-size 3 --epsilon 1 --neighbors "
    "add-remove-person --method m-h-dp --levels 1/4,3/4 -o sizes.csv"
)
TABLES = (
    "counts census.csv --regions state --region-list states.csv --by sex --domain domain.json --marginals total,cells "
    "--shares 1/10,9/10 --rho 1 --neighbors add-remove-person -o tables.csv"
)
PERSON: Literal["add-remove-person"] = "add-remove-person"
SAME_COUNTS: dict[str, tuple[str, Callable[[], Any]]] = {
    "sizes": (
        SIZES,
        lambda: dc.counts(
            "census.csv",
            dc.PureDP(1, PERSON),
            columns=["state"],
            regions="states.csv",
            unit="home",
            max_size=3,
            method="m-h-dp",
            levels=["1/4", "3/4"],
        ),
    ),
    "tables": (
        TABLES,
        lambda: dc.counts(
            "census.csv",
            dc.ZeroConcentratedDP(1, PERSON),
            columns=["state"],
            regions="states.csv",
            by=["sex"],
            domain={"sex": ["F", "M"]},
            marginals=["total", "cells"],
            shares=["1/10", "9/10"],
        ),
    ),
}


@pytest.mark.parametrize("name", SAME_COUNTS)
def test_the_text_of_a_release_is_what_counts_prints(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command adds how to list the checks; distances of whole tables follow from the noise, and differ."""
    monkeypatch.chdir(tmp_path)
    pl.DataFrame(CENSUS, ["state", "sex", "home"], orient="row").write_csv("census.csv")
    pl.DataFrame({"state": ["GA", "NY"]}).write_csv("states.csv")
    Path("domain.json").write_text('{"sex": ["F", "M"]}', encoding="utf-8")
    line, call = SAME_COUNTS[name]
    said = say(capsys, *line.split())
    assert said.status == 0, said.err
    both = [said.out.removesuffix(" -v lists them.\n"), str(call())]
    printed, text = (
        [one for one in lines.splitlines() if not one.startswith("whole tables")] for lines in both
    )
    assert printed == text
    assert len(text) > 6


def test_the_text_of_a_choice_is_what_select_prints(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A budget so large that the choice is the same each time."""
    monkeypatch.chdir(tmp_path)
    pl.DataFrame({"candidate": ["n", "s", "w"]}).write_csv("candidates.csv")
    edges = [("1", "n"), ("2", "n"), ("3", "s")] * 9
    pl.DataFrame(edges, ["client", "candidate"], orient="row").write_csv("edges.csv")
    line = "select --coverage edges.csv --candidates candidates.csv --matroid uniform:1 --rho 900"
    line += " --neighbors replace-one"
    said = say(capsys, *line.split(), "--method", "badanidiyuru-vondrak", "--scale", "1")
    assert (said.status, said.out) == (2, "")
    said = say(capsys, *line.split())
    assert said.status == 0, said.err
    made = dc.select(
        "uniform:1",
        dc.ZeroConcentratedDP(900, "replace-one"),
        coverage=pl.read_csv("edges.csv", infer_schema=False),
        candidates=["n", "s", "w"],
    )
    assert said.out == f"{made}\n"
    assert made.result.names == ("n",)
    np.save("sim.npy", np.array([[1.0, 0.0, 40.0]] * 9))
    line = "select --similarity sim.npy --scale 100 --matroid uniform:1 --epsilon 900 --neighbors add-remove-one"
    said = say(capsys, *line.split())
    allowed = dc.submodular.UniformMatroid(3, 1)
    one = dc.PureDP(900, "add-remove-one")
    made = dc.select(allowed, one, similarity=np.load("sim.npy"), scale=100)
    assert said.out == f"{made}\n"
    assert "chosen" in said.out
    for given, field in (
        ({}, "similarity"),
        ({"coverage": "edges.csv"}, "candidates"),
        ({"similarity": "sim.npy", "candidates": ["n"]}, "candidates"),
        ({"similarity": "sim.npy", "candidates": "none.csv"}, "candidates"),
        ({"coverage": "edges.csv", "scale": 1}, "scale"),
    ):
        with pytest.raises(dc.InvalidProblemError) as caught:
            dc.select("uniform:1", one, **given)
        assert caught.value.field == field
    with pytest.raises(dc.InvalidProblemError, match="matroid: expected uniform:R, partition"):
        dc.select("matching:x", one, similarity="sim.npy")


def without_times(text: str) -> list[str]:
    return [
        line.partition(", ")[0] if line.startswith("method") else line for line in text.splitlines()
    ]


def test_the_text_of_an_anonymization_is_what_the_command_prints(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is the curator's, and marked so; how it is represented states no fact of the original."""
    monkeypatch.chdir(folder)
    line = "anonymize half.csv -k 3 --quasi age,sex --sensitive disease --numeric age --method mondrian -o made.csv -q"
    said = say(capsys, *line.split())
    assert said.status == 0, said.err
    made = dc.anonymize(
        "half.csv",
        dc.KAnonymity(3, ("age", "sex")),
        attributes=[Numeric("age")],
        sensitive=["disease"],
        method="mondrian",
    )
    text = str(made)
    assert without_times(said.out.removesuffix(" -v lists them.\n")) == without_times(text)
    assert "for the curator, not for publication" in text
    assert "values of disease" in text
    assert "loss" not in repr(made)


def test_arguments_of_one_kind_of_counts_are_refused_beside_the_other() -> None:
    for given, field in (
        ({"by": ["sex"], "unit": "home"}, "unit"),
        ({"shares": ["1"]}, "shares"),
        ({"max_rows": 2}, "max_rows"),
        ({"by": ["sex"], "max_quantity": 7}, "max_quantity"),
        ({"by": ["sex"], "leaves_inherit": False}, "leaves_inherit"),
    ):
        with pytest.raises(dc.InvalidProblemError, match="by") as caught:
            dc.counts({}, dc.PureDP(1, PERSON), columns=["state"], regions=[("GA",)], **given)
        assert caught.value.field == field


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
