"""``select``: the commands of the documentation, what they print and what they keep to themselves."""

from __future__ import annotations

import gzip
import json
import math
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from cli.commands import say
from discreet import PureDP
from discreet.core.errors import InvalidProblemError
from discreet.ledger import Ledger
from discreet.submodular.methods import METHODS, WITHOUT_GUARANTEE
from discreet.tables.writing import bytes_of


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files of the examples, small, in the working folder."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    np.save("sim.npy", rng.random((200, 25)))
    names = [f"c{i}" for i in range(8)]
    drawn = rng.integers(0, 9, 400)
    edges = pl.DataFrame(
        {"client": rng.integers(0, 100, 400), "candidate": [f"c{i}" for i in drawn]}
    )
    edges.write_parquet("edges.parquet")
    edges.write_csv("edges.csv")
    pl.DataFrame({"candidate": names}).write_csv("candidates.csv")
    pl.DataFrame({"candidate": names, "group": [i % 4 for i in range(8)]}).write_csv("groups.csv")
    return tmp_path


UNIFORM = ["select", "--similarity", "sim.npy", "--matroid", "uniform:20"]
PARTS = ["select", "--coverage", "edges.parquet", "--matroid", "partition:groups.csv"]
PURE = ["--epsilon", "1", "--neighbors", "add-remove-one"]


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("clients", [7, 8, 9])
def test_no_number_of_clients_is_refused(capsys: pytest.CaptureFixture[str], clients: int) -> None:
    np.save("near.npy", np.full((clients, 8), 0.5))
    said = say(capsys, "select", "--similarity", "near.npy", "--matroid", "uniform:2", *PURE)
    assert said.status == 0


@pytest.mark.usefixtures("files")
def test_the_commands_of_the_manual(capsys: pytest.CaptureFixture[str]) -> None:
    said = say(capsys, *UNIFORM, *PURE, "--json")
    assert said.status == 0
    assert said.err == ""
    assert len(set(said.data["chosen"])) == 20
    promise = said.data["guarantee"]
    assert promise.pop("sentence").startswith("1-differentially private")
    assert promise == {
        "kind": "pure-dp",
        "epsilon": "1",
        "neighbors": "add-remove-one",
    }
    assert [line["rule"] for line in said.data["accounting"]] == ["secret subsample"]
    assert said.data["method"] == "subsampled"
    assert said.data["certificate"]["passed"]
    said = say(
        capsys,
        *PARTS,
        *["--candidates", "candidates.csv", "--epsilon", "0.5", "--neighbors", "replace-one"],
        "--json",
    )
    assert said.status == 0
    assert {int(name[1:]) % 4 for name in said.data["chosen"]} == {0, 1, 2, 3}


@pytest.mark.usefixtures("files")
def test_without_a_guarantee_the_output_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    greedy = ["--method", "non-private-greedy"]
    said = say(capsys, *UNIFORM, *greedy, "--accept-no-guarantee", "--json")
    assert said.status == 0
    assert said.data["guarantee"] is None
    assert said.data["accounting"] == []
    assert "no noise is added" in said.data["reason"]
    assert "NOT PRIVATE" in said.err
    said = say(capsys, *UNIFORM, *greedy, *PURE)
    assert said.status == 2
    assert "or --accept-no-guarantee" in said.err


@pytest.mark.usefixtures("files")
def test_a_plan_states_law_cost_and_public_facts_and_charges_nothing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Ledger.create("l.db", "trips", PureDP(2, "add-remove-one"))
    typed = [*PARTS, *PURE, "--candidates", "candidates.csv", "--method", "algorithm-3", "--plan"]
    said = say(capsys, *typed, "--plan-count", "50", "--ledger", "l.db", "--dataset", "trips")
    assert said.status == 0
    assert "proportional to exp(c times its score)" in said.out
    assert "coefficient of variation at a score of 50:" in said.out
    assert "assumed public  candidates: 8 names" in said.out
    assert "nothing: this is a plan" in said.out
    assert list(map(str, Ledger("l.db").account("trips").left)) == ["2"]
    data = say(capsys, *typed, "--json").data
    # The largest of scores with Gumbel noise of scale 1/c is drawn with a chance proportional to exp(c score).
    noise = math.pi / math.sqrt(6) / float(Fraction(data["coefficient"]))
    assert data["score_noise"] == pytest.approx(noise)
    assert data["charged"] is False
    made = say(capsys, *[one for one in typed if one != "--plan"], "--json").data
    for name in ("accounting", "assumed_public", "method"):
        assert made[name] == data[name]


@pytest.mark.usefixtures("files")
def test_a_plan_of_a_choice_is_checked_against_names_and_types(
    capsys: pytest.CaptureFixture[str],
) -> None:
    typed = [*PARTS, *PURE, "--candidates", "candidates.csv", "--plan"]
    edges = pl.read_parquet("edges.parquet")
    edges.rename({"client": "who"}).write_parquet("edges.parquet")
    assert "client" in say(capsys, *typed).err
    edges.with_columns(client=pl.concat_list("client")).write_parquet("edges.parquet")
    assert say(capsys, *typed).status == 2
    assert (
        "--plan-count"
        in say(
            capsys, *UNIFORM, *PURE, "--plan", "--plan-count", "0", "--method", "algorithm-3"
        ).err
    )
    said = say(
        capsys, *UNIFORM, "--method", "non-private-greedy", "--accept-no-guarantee", "--plan"
    )
    assert "--plan: expected none with --accept-no-guarantee" in said.err


@pytest.mark.usefixtures("files")
def test_nothing_private_is_printed_but_on_request(capsys: pytest.CaptureFixture[str]) -> None:
    """Values, evaluations and seconds go to standard error, and only with --diagnostics."""
    said = say(capsys, *UNIFORM, *PURE, "--json", "--diagnostics")
    assert re.search(r"PRIVATE diagnostics.*value \S+, \d+ evaluations", said.err)
    text = json.dumps(said.data)
    assert not re.search("evaluations|seconds|value|n_records|200", text)
    assert re.search("evaluations", say(capsys, *UNIFORM, *PURE, "--json").err) is None


@pytest.mark.usefixtures("files")
def test_edges_name_no_candidates(capsys: pytest.CaptureFixture[str]) -> None:
    """c8 stands in private edges alone: it is no candidate, and nobody is told that it is there."""
    for table in ("edges.parquet", "edges.csv"):
        arguments = ["select", "--coverage", table, "--matroid", "uniform:8", *PURE, "--json"]
        assert say(capsys, *arguments).status == 2
        said = say(capsys, *arguments, "--candidates", "candidates.csv")
        assert sorted(said.data["chosen"]) == [f"c{i}" for i in range(8)]
        assert "c8" not in said.out + said.err


@pytest.mark.usefixtures("files")
def test_people_get_sentences(capsys: pytest.CaptureFixture[str]) -> None:
    said = say(
        capsys,
        *UNIFORM,
        "--epsilon",
        "1",
        "--delta",
        "1e-6",
        "--neighbors",
        "replace-one",
        "--method",
        "algorithm-3",
        "--quiet",
    )
    assert said.status == 0
    assert "decomposable, one pass" in said.out
    assert "(1, 1e-06)-differentially private" in said.out


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    "budget", [["--epsilon", "3"], ["--epsilon", "3", "--delta", "1e-6"], ["--rho", "0.1"]]
)
@pytest.mark.parametrize("method", [None, *sorted(METHODS.proven)])
def test_every_method_runs_or_says_what_it_needs(
    capsys: pytest.CaptureFixture[str], method: str | None, budget: list[str]
) -> None:
    chosen = [] if method is None else ["--method", method]
    said = say(capsys, *PARTS, *budget, "--neighbors", "add-remove-one", *chosen, "--json")
    refused = {
        "algorithm-4": "a uniform matroid",
        "gupta": "ApproxDP for gupta",
        "mitrovic": "one that this method can have",
        "permute-and-flip": "one that this method can have",
        "algorithm-1": "a radius with at most",
    }
    if said.status:
        assert said.status == 2
        assert refused[str(method)] in said.err
        assert method in {"algorithm-1", "algorithm-4"} or "--delta" not in budget
    else:
        assert method in {None, said.data["method"]}
        assert said.data["certificate"]["passed"]


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("method", sorted(WITHOUT_GUARANTEE))
def test_every_method_without_a_guarantee_gives_its_reason(
    capsys: pytest.CaptureFixture[str], method: str
) -> None:
    arguments = UNIFORM if method == "stochastic-greedy" else PARTS
    said = say(capsys, *arguments, "--method", method, "--accept-no-guarantee", "--json")
    assert said.status == 0
    assert said.data["reason"]


@pytest.mark.usefixtures("files")
def test_other_matroids_come_from_files(capsys: pytest.CaptureFixture[str]) -> None:
    names = [f"c{i}" for i in range(8)]
    pl.DataFrame(
        {"candidate": names, "u": [0, 0, 0, 1, 1, 2, 2, 3], "v": [1, 2, 3, 2, 3, 3, 4, 4]}
    ).write_csv("graph.csv")
    pl.DataFrame({"candidate": names, "slot": ["a", "a", "b", "b", "c", "c", "a", "b"]}).write_csv(
        "slots.csv"
    )
    pl.DataFrame(
        {
            "candidate": names + names[:4],
            "group": ["all"] * 8 + ["few"] * 4,
            "capacity": [3] * 8 + [1] * 4,
        }
    ).write_csv("nested.csv")
    common = [
        "select",
        "--coverage",
        "edges.csv",
        "--candidates",
        "candidates.csv",
        *PURE,
        "--json",
    ]
    for text, size in (
        ("graphic:graph.csv", 4),
        ("transversal:slots.csv", 3),
        ("laminar:nested.csv", 3),
    ):
        said = say(capsys, *common, "--matroid", text)
        assert said.status == 0
        assert len(said.data["chosen"]) == size
    assert sum(int(name[1:]) < 4 for name in said.data["chosen"]) <= 1


@pytest.mark.usefixtures("files")
def test_the_ledger_is_charged_before_the_records_are_read(
    capsys: pytest.CaptureFixture[str],
) -> None:
    grant = [
        "budget",
        "create",
        "budget.db",
        "--dataset",
        "trips",
        "--epsilon",
        "1",
        "--neighbors",
        "add-remove-one",
    ]
    assert say(capsys, *grant).status == 0
    charged = [*UNIFORM, *PURE, "--ledger", "budget.db", "--dataset", "trips", "--json"]
    assert say(capsys, *charged).status == 0
    refused = say(capsys, *charged)
    assert refused.status == 5
    assert refused.out == ""


BAD: list[tuple[list[str], str]] = [
    (["select", "--matroid", "uniform:2", *PURE], "--similarity: expected a file here"),
    ([*UNIFORM, "--coverage", "edges.csv", *PURE], "--similarity: expected .* got both"),
    ([*UNIFORM, "--epsilon", "1"], "--neighbors: expected add-remove-one or replace-one"),
    ([*UNIFORM, "--neighbors", "replace-one"], "--epsilon: expected a budget here"),
    ([*UNIFORM, *PURE, "--rho", "1"], "--epsilon: expected .* got both"),
    ([*UNIFORM, "--rho", "1", "--delta", "0.1", "--neighbors", "replace-one"], "--delta: expected"),
    ([*UNIFORM, "--epsilon", "1", "--neighbors", "add-remove-person"], "neighbors: expected"),
    ([*UNIFORM, *PURE, "--method", "magic"], "--method: expected one of"),
    ([*UNIFORM, *PURE, "--ledger", "x.db"], "--dataset: expected both"),
    ([*UNIFORM, "--accept-no-guarantee"], "--method: expected one of"),
    ([*UNIFORM, "--accept-no-guarantee", *PURE], "--accept-no-guarantee: expected neither"),
    (
        ["select", "--similarity", "sim.npy", "--matroid", "uniform:26", *PURE],
        "uniform:1 to uniform:25",
    ),
    (["select", "--similarity", "sim.npy", "--matroid", "uniform:0", *PURE], "--matroid: expected"),
    (
        ["select", "--similarity", "sim.npy", "--matroid", "cube:2", *PURE],
        "--matroid: expected uniform:R",
    ),
    (
        ["select", "--similarity", "none.npy", "--matroid", "uniform:2", *PURE],
        "a .npy file of numbers",
    ),
    (
        [*UNIFORM, "--candidates", "candidates.csv", *PURE],
        "--candidates: expected one row for each",
    ),
    (
        ["select", "--similarity", "sim.npy", "--matroid", "partition:groups.csv", *PURE],
        "known candidates",
    ),
    (
        [
            "select",
            "--coverage",
            "gone.csv",
            "--candidates",
            "candidates.csv",
            "--matroid",
            "uniform:2",
            *PURE,
        ],
        "a file that exists",
    ),
    (
        [
            "select",
            "--coverage",
            "candidates.csv",
            "--candidates",
            "candidates.csv",
            "--matroid",
            "uniform:2",
            *PURE,
        ],
        "the columns client and candidate in its first line, got .* 1 name there",
    ),
    (
        [
            "select",
            "--coverage",
            "edges.csv",
            "--candidates",
            "candidates.csv",
            "--matroid",
            "graphic:groups.csv",
            *PURE,
        ],
        "column u",
    ),
]


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(("arguments", "complaint"), BAD, ids=[complaint for _, complaint in BAD])
def test_nonsense_is_refused(
    capsys: pytest.CaptureFixture[str], arguments: list[str], complaint: str
) -> None:
    said = say(capsys, *arguments)
    assert said.status == 2
    assert said.out == ""
    assert re.search(complaint, said.err)


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    ("table", "complaint"),
    [
        ({"candidate": ["c0", "c0"], "group": [1, 1]}, "each of 8 candidates once"),
        (
            {"candidate": [f"c{i}" for i in range(8)], "group": [0] * 8, "capacity": [1] * 7 + [2]},
            "one capacity",
        ),
        (
            {"candidate": [f"c{i}" for i in range(8)], "group": [0] * 8, "capacity": ["a"] * 8},
            "integers in column capacity",
        ),
        (
            {"candidate": [f"c{i}" for i in range(8)], "group": [0] * 8, "capacity": [0] * 8},
            "rank of at least 1|rank: expected at least 1",
        ),
    ],
)
def test_strange_groups_are_refused(
    capsys: pytest.CaptureFixture[str], table: dict[str, Any], complaint: str
) -> None:
    pl.DataFrame(table).write_csv("strange.csv")
    said = say(
        capsys,
        *["select", "--coverage", "edges.csv", "--candidates", "candidates.csv"],
        *["--matroid", "partition:strange.csv", *PURE],
    )
    assert said.status == 2
    assert re.search(complaint, said.err)


@pytest.mark.usefixtures("files")
def test_percentages_choose_as_shares_do_on_their_public_scale(
    capsys: pytest.CaptureFixture[str],
) -> None:
    table = 1 + 60 * np.random.default_rng(0).random((400, 30))
    table[:, 7] = 95
    np.save("sim.npy", table)
    one = ["select", "--similarity", "sim.npy", "--matroid", "uniform:1", "--epsilon", "100"]
    one += ["--neighbors", "add-remove-one", "--json"]
    for _ in range(3):
        said = say(capsys, *one, "--scale", "100")
        assert said.data["chosen"] == [7]
        assert "similarities outside" not in said.err
    assert "scale" in json.dumps(said.data["assumed_public"])


@pytest.mark.usefixtures("files")
def test_the_number_of_clipped_similarities_is_for_the_terminal_alone(
    capsys: pytest.CaptureFixture[str],
) -> None:
    table = np.full((333, 25), 0.5)
    table[1, 2], table[2, 3], table[4] = np.nan, 95, -1
    np.save("sim.npy", table)
    said = say(capsys, *UNIFORM, *PURE, "--json", "--report", "page.html")
    assert said.status == 0
    assert "PRIVATE, for the curator only" in said.err
    assert "outside of 0 to 1 or missing: 27. " in said.err
    assert re.search(r"\b27\b", said.out) is None
    assert "missing: 27" not in Path("page.html").read_text(encoding="utf-8")


@pytest.mark.usefixtures("files")
def test_a_scale_needs_similarities(capsys: pytest.CaptureFixture[str]) -> None:
    assert "--scale" in say(capsys, *PARTS, *PURE, "--scale", "100").err
    assert "--scale: expected a positive" in say(capsys, *UNIFORM, *PURE, "--scale", "0").err


@pytest.mark.usefixtures("files")
def test_every_file_of_a_matroid_names_the_candidates(capsys: pytest.CaptureFixture[str]) -> None:
    names = [f"c{i}" for i in range(9)]
    pl.DataFrame({"candidate": names * 2, "group": ["all"] * 9 + ["few"] * 9}).write_csv("l.csv")
    said = say(capsys, "select", "--coverage", "edges.csv", "--matroid", "laminar:l.csv", *PURE)
    assert said.status == 0
    said = say(capsys, "select", "--coverage", "edges.csv", "--matroid", "knapsack:l.csv", *PURE)
    assert said.status == 2
    assert "uniform:R, partition:FILE, laminar:FILE, graphic:FILE or transversal:FILE" in said.err


@pytest.mark.usefixtures("files")
def test_rho_is_charged_to_an_epsilon_delta_budget_at_a_delta(
    capsys: pytest.CaptureFixture[str],
) -> None:
    create = ["budget", "create", "budget.db", "--dataset", "trips", "--epsilon", "3"]
    create += ["--delta", "1e-6", "--neighbors", "add-remove-one"]
    assert say(capsys, *create).status == 0
    paid = [*UNIFORM, "--rho", "0.01", "--neighbors", "add-remove-one"]
    assert "--delta: expected none" in say(capsys, *paid, "--delta", "1e-6").err
    paid += ["--ledger", "budget.db", "--dataset", "trips"]
    assert "--delta: expected a delta that this release spends" in say(capsys, *paid).err
    assert say(capsys, *paid, "--delta", "1e-6").status == 0
    spent = say(capsys, "budget", "show", "budget.db", "--json").data["datasets"][0]["spent"]
    assert spent == ["6216927/10000000", "1/1000000"]


@pytest.mark.usefixtures("files")
def test_a_choice_is_written_and_verified(capsys: pytest.CaptureFixture[str]) -> None:
    """Candidates without names are numbers; the matroid stands in the file, whole."""
    said = say(capsys, *UNIFORM, *PURE, "-o", "team.choice", "--json")
    assert said.status == 0
    assert all(isinstance(chosen, int) for chosen in said.data["chosen"])
    stored = json.loads(Path("team.choice").read_text(encoding="utf-8"))
    assert stored["names"] == said.data["chosen"]
    assert stored["matroid"] == {"kind": "uniform", "n_elements": 25, "rank": 20}
    checked = say(capsys, "verify", "team.choice", "--json")
    assert checked.status == 0
    assert checked.data["kind"] == "choice"
    assert checked.data["passed"]
    named = [*PARTS, "--candidates", "candidates.csv", *PURE, "-o", "named.choice", "--json"]
    said = say(capsys, *named)
    assert (
        json.loads(Path("named.choice").read_text(encoding="utf-8"))["names"] == said.data["chosen"]
    )
    assert say(capsys, "verify", "named.choice", "--report", "named.html").status == 0
    assert "matroid" in Path("named.html").read_text(encoding="utf-8")


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    ("change", "status", "said"),
    [
        ({"chosen": [[0, 0]] * 20, "names": [0] * 20}, 1, "elements chosen twice"),
        (
            {"guarantee": {"kind": "pure-dp", "epsilon": "1/2", "neighbors": "add-remove-one"}},
            1,
            "",
        ),
        ({"coefficient": "2"}, 1, "accountant's lines unproved"),
        ({"matroid": {"kind": "uniform", "n_elements": 25, "rank": 19}}, 2, "matroid: expected"),
        ({"matroid": {"kind": "uniform", "n_elements": 10**12, "rank": 20}}, 2, "at most 10000000"),
        ({"matroid": {"kind": "cube"}}, 2, "one of uniform"),
        ({"schema_version": 2}, 2, "schema_version"),
        ({"candidates": ["a"]}, 2, "25 names"),
        ({"chosen": [[0.5, 0]]}, 2, "integers"),
        ({"coefficient": "1e300000000"}, 2, "coefficient"),
    ],
)
def test_a_choice_that_was_altered_is_rejected(
    capsys: pytest.CaptureFixture[str], change: dict[str, Any], status: int, said: str
) -> None:
    assert say(capsys, *UNIFORM, *PURE, "-o", "team.choice").status == 0
    stored = json.loads(Path("team.choice").read_text(encoding="utf-8"))
    Path("team.choice").write_text(json.dumps(stored | change), encoding="utf-8")
    checked = say(capsys, "verify", "team.choice")
    assert checked.status == status
    assert said in checked.out + checked.err


@pytest.mark.usefixtures("files")
def test_a_misspelled_method_names_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    said = say(capsys, *UNIFORM, *PURE, "--method", "algoritm-3")
    assert said.status == 2
    assert "the nearest is 'algorithm-3'" in said.err
    assert "instance" not in said.err


@pytest.mark.usefixtures("files")
def test_what_fails_after_the_charge_says_that_it_is_charged(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise InvalidProblemError("similarity", "a file that can be read to its end", "another")

    create = ["budget", "create", "budget.db", "--dataset", "trips", "--epsilon", "1"]
    assert say(capsys, *create, "--neighbors", "add-remove-one").status == 0
    monkeypatch.setattr("discreet.submodular.objectives.facility.quantized", broken)
    paid = [*UNIFORM, *PURE, "--ledger", "budget.db", "--dataset", "trips"]
    said = say(capsys, *paid)
    assert said.status == 2
    assert "The budget stays charged" in said.err
    assert say(capsys, *paid).status == 5


@pytest.mark.usefixtures("files")
def test_no_file_for_what_has_no_guarantee(capsys: pytest.CaptureFixture[str]) -> None:
    greedy = ["--method", "non-private-greedy", "--accept-no-guarantee"]
    said = say(capsys, *UNIFORM, *greedy, "-o", "team.choice")
    assert said.status == 2
    assert "--output: expected no file with --accept-no-guarantee" in said.err
    assert not Path("team.choice").exists()


@pytest.mark.parametrize("kind", [".xlsx", ".csv.gz", ".arrow"])
def test_candidates_are_read_from_every_kind_of_table(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, kind: str
) -> None:
    stops, edges = tmp_path / f"stops{kind}", tmp_path / "edges.csv"
    table = pl.DataFrame({"candidate": [20, 21, 22]})
    if kind == ".xlsx":
        pytest.importorskip("openpyxl")
        stops.write_bytes(bytes_of(table, kind))
    elif kind == ".arrow":
        table.write_ipc(stops)
    else:
        stops.write_bytes(gzip.compress(table.write_csv().encode()))
    edges.write_text("client,candidate\n" + "a,20\nb,20\n" * 200, encoding="utf-8")
    line = f"select --coverage {edges} --candidates {stops} --matroid uniform:1 --epsilon 20"
    said = say(capsys, *line.split(), "--neighbors", "add-remove-one", "--json")
    assert said.status == 0
    assert len(said.data["chosen"]) == 1
