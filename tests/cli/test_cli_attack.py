"""``discreet attack``: mechanisms on synthetic data, files, what breaks a limit, pages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from cli.commands import say
from discreet.artefact import save, save_anonymous
from discreet.core.channels.channel import Channel
from discreet.core.guarantee import KAnonymity, MetricDP
from discreet.core.spaces.metric import MetricSpace
from discreet.core.tree import Tree
from discreet.datasets import made_patients
from discreet.datasets.microdata import zip_paths
from discreet.evaluate.attack import reconstruction
from discreet.evaluate.attack.design import attack_channel
from discreet.evaluate.attack.finding import Attacked, Finding
from discreet.evaluate.attack.request import AttackRequest
from discreet.evaluate.intervals import Estimate
from discreet.kanonymity import Categorical, Numeric, Taxonomy
from discreet.metricdp import Direct, Problem, design
from discreet.plot import plot_findings
from discreet.report import render_report
from discreet.report.attacked import chapter
from kanonymity.tables import anonymize_kept as anonymize

LINE = Problem(MetricSpace.grid(1, 4, cell=1, unit="km"), utility_loss="euclidean")
ATTRIBUTES = (
    Numeric("age", low=0, high=99),
    Categorical("sex"),
    Taxonomy("zip", Tree.from_paths(zip_paths(), root="*")),
)


def findings(data: dict[str, Any]) -> dict[str, Any]:
    return {one["attack"]: one for one in data["findings"]}


def test_a_channel_is_attacked(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "c.channel"
    save(design(LINE, MetricDP(1, unit="km"), method=Direct()), file)
    page = tmp_path / "page.html"
    asked = ("--reports", "1,3", "--steps", "3", "--trials", "400", "--report", page)
    said = say(capsys, "attack", file, *asked, "--json")
    assert said.status == 0
    assert said.data["kept"] is True
    assert said.data["private"] is None
    found = findings(said.data)
    computed = found["best guess, computed"]
    assert computed["attacker"]["value"] == said.data["facts"]["posterior_success"]
    assert computed["limit"] == said.data["facts"]["success_limit"]
    assert found["3 reports of one secret"]["attacker"]["value"] > computed["attacker"]["value"]
    assert "all reports of a way" in found
    assert "trajectories, 0 of 40" in said.err
    assert say(capsys, "attack", file, "--steps", "2", "--trials", "40", "--quiet").err == ""
    text = page.read_text(encoding="utf-8")
    assert "within what is claimed: this proves nothing" in text
    assert text.count("<svg") == 2
    plain = say(capsys, "attack", file, "--trials", "400")
    assert "best guess, drawn" in plain.out


def test_a_claim_that_a_channel_does_not_keep_is_broken() -> None:
    """The exit status follows from this record; a file that claims too much does not come into being by our code."""
    told = np.full((4, 4), 2**52, dtype=object)
    np.fill_diagonal(told, 2**62 - 3 * 2**52)
    broken = attack_channel(
        Channel.from_weights(told), LINE, MetricDP(1, unit="km"), steps=2, trials=200
    )
    assert broken.kept is False
    assert "BROKEN" in str(broken)
    assert "the claim is broken" in render_report([chapter(broken)])


def test_the_status_is_1_when_a_limit_is_broken(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from discreet.evaluate.simulate import attacks

    sure = Finding("a", "b", Estimate.computed(1.0), Estimate.computed(0.5), limit=0.7)

    def found(asked: AttackRequest) -> Attacked:
        return Attacked(asked.target, (sure,))

    monkeypatch.setattr(attacks, "attack_grid", found)
    said = say(capsys, "attack", "metricdp", "--epsilon", "1")
    assert said.status == 1
    assert "BROKEN" in said.out


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("tables")
    everybody = pl.DataFrame(made_patients(300, seed=1))
    people = everybody[:200]
    paths = {name: folder / f"{name}.csv" for name in ("people", "others", "all", "out", "again")}
    people.write_csv(paths["people"])
    everybody[200:].write_csv(paths["others"])
    everybody.write_csv(paths["all"])
    for name, quasi in (("out", ("age", "sex", "zip")), ("again", ("age", "zip"))):
        kinds = tuple(one for one in ATTRIBUTES if one.name in quasi)
        made = anonymize(
            people, KAnonymity(4, quasi), attributes=kinds, time_limit=0.5, throw=False
        )
        save_anonymous(made, paths[name], kinds)
    return paths


def test_a_table_is_attacked(capsys: pytest.CaptureFixture[str], files: dict[str, Path]) -> None:
    said = say(
        capsys,
        "attack",
        files["out"],
        "--against",
        files["people"],
        "--others",
        files["others"],
        "--population",
        files["all"],
        "--again",
        files["again"],
        "--sensitive",
        "disease",
        "--json",
    )
    assert said.status == 0, said.err
    assert "for the curator" in said.data["private"]
    found = findings(said.data)
    assert found["prosecutor, worst case"]["attacker"]["value"] <= 0.25
    assert found["prosecutor, worst case"]["kept"] is True
    for name in ("commonest value that fits", "homogeneity", "values that fit in both"):
        assert found[name]["control"] is not None
    alone = say(capsys, "attack", files["out"], "--against", files["people"])
    assert "marketer" in alone.out
    assert "private:" in alone.out


def test_what_cannot_be_attacked_so_is_refused(
    capsys: pytest.CaptureFixture[str], files: dict[str, Path]
) -> None:
    out, people = files["out"], files["people"]
    for arguments, word in (
        (("astrology",), "MECHANISM|FILE"),
        ((out,), "--against"),
        ((out, "--against", people, "--epsilon", "1"), "--epsilon"),
        ((out, "--against", people, "--again", files["again"]), "--sensitive"),
        ((out, "--against", people, "--sensitive", "height"), "--sensitive"),
        (("metricdp",), "--epsilon"),
        (("metricdp", "--epsilon", "1", "-k", "3"), "-k"),
        (("metricdp", "--epsilon", "1", "--reports", "one"), "--reports"),
        (("kanonymity",), "-k"),
    ):
        said = say(capsys, "attack", *arguments)
        assert said.status == 2, arguments
        assert word in said.err


@pytest.mark.parametrize(
    ("arguments", "attack"),
    [
        (("metricdp", "--epsilon", "1", "--method", "exponential"), "best guess, drawn"),
        (
            ("submodular", "--epsilon", "1", "--method", "permute-and-flip"),
            "membership, 5 releases",
        ),
        (("hierarchy", "--epsilon", "1", "--method", "m-h-dp"), "average of 16 releases"),
        (("kanonymity", "-k", "5"), "certain from both"),
    ],
)
def test_mechanisms_are_attacked_on_made_data(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    attack: str,
) -> None:
    average = reconstruction.attack_repeated_counts

    def average_twice(*given: Any, **more: Any) -> list[Finding]:
        """Average 16 releases two times, not forty: 32 releases, of 20 milliseconds each."""
        return average(*given, **{**more, "trials": 2})

    monkeypatch.setattr(reconstruction, "attack_repeated_counts", average_twice)
    said = say(capsys, "attack", *arguments, "--trials", "40", "--json")
    assert said.status == 0, said.err
    found = findings(said.data)
    assert attack in found
    for one in found.values():
        assert one["attacker"]["low"] <= one["attacker"]["value"] <= one["attacker"]["high"]


def test_plots_take_one_kind_of_measure() -> None:
    share = Finding("a", "b", Estimate.computed(0.5), Estimate.computed(0.1))
    error = Finding("c", "km", Estimate.computed(3.0), Estimate.computed(4.0), error=True)
    assert plot_findings([error]).get_xlim()[0] == 0
    for wrong in ([], [share, error]):
        with pytest.raises(Exception, match="all shares or all errors"):
            plot_findings(wrong)
