"""The forger in small: some hundreds of mutants of every kind, and the machine itself put to the test.

``make test-forger`` runs the whole of it; this is what every ``make test`` sees.
"""

from __future__ import annotations

import ast
import copy
import random
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pytest

from discreet.artefact.judging import JUDGES
from forger import campaign, originals
from forger.engine import Format, Hole, Looked, Ruling, Tally, forge, look
from forger.kinds import ASIDE, FORGED, NOT_YET, kind
from forger.mutations import Catalogue
from forger.noise_changes import NOISE
from forger.planted import PLANTED
from forger.worker import watched

HERE = Path(__file__).parent
SOME = 40
"""Mutants of each kind in every run of the tests."""


def test_every_kind_is_forged() -> None:
    """What is verified and has no catalogue and no oracle fails here: nothing new escapes by not being registered."""
    assert {*FORGED} == ({*JUDGES} - {*NOT_YET}) | ASIDE
    assert {*NOT_YET} <= {*JUDGES}
    assert (*FORGED,) == campaign.KINDS


def test_oracles_share_no_code_with_what_they_judge() -> None:
    found = [*HERE.glob("oracles/*.py"), HERE / "exactly.py", HERE / "sealing.py"]
    assert len(found) > 6
    for path in found:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not any(name.partition(".")[0] == "discreet" for name in names), path


@pytest.mark.parametrize("name", FORGED)
def test_originals_are_accepted_and_true(name: str, tmp_path: Path) -> None:
    made = kind(name)
    for parts in made.catalogue.originals:
        made.write(parts, tmp_path / "mutant", 0)
        said = [verifier(tmp_path / "mutant") for verifier in made.verifiers.values()]
        assert {verdict.answer for verdict in said} == {"accepted"}
        assert made.oracle(tmp_path / "mutant", said[0].said) in {"", "beyond: how draws were made"}


@pytest.mark.parametrize("name", FORGED)
def test_no_mutant_is_accepted_and_false(name: str, tmp_path: Path) -> None:
    tally = forge(kind(name), range(SOME), tmp_path)
    assert tally.holes == []
    assert tally.mutants > SOME / 2
    assert tally.counts["refused"] > SOME / 10


QUICK = (
    "names that nobody compares",
    "a ledger without a limit",
    "a budget that is not kept",
    "a seed",
)
"""Planted in every run of the tests; all of them with the whole campaign."""


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name in QUICK else pytest.mark.forger) for name in PLANTED],
)
def test_a_falsehood_that_is_put_back_is_found(name: str, tmp_path: Path) -> None:
    planted = PLANTED[name]
    made = kind(planted.kind)
    with planted.put_back():
        number = next(
            (at for at in range(planted.within) if _is_false(look(made, at, tmp_path).hole)), None
        )
    assert number is not None, f"{name} is not found within {planted.within} mutants"
    print(f"{name}: mutant {number} of {planted.kind}, within {planted.within}")  # noqa: T201 - for `-s`
    # It is the planted falsehood that was found, and nothing that is there anyway.
    assert look(made, number, tmp_path).hole is None


def _is_false(hole: Hole | None) -> bool:
    return hole is not None and ("and false" in hole.why or "refuses" in hole.why)


LIES: dict[str, tuple[str, str]] = {
    "anchored": ("a stronger claim", "forger.oracles.channels.broken_pair"),
    "channel": ("a stronger claim", "forger.oracles.channels.broken_pair"),
    "mechanism": ("a stronger claim", "forger.oracles.channels.broken_pair"),
    "lattice-mechanism": ("a stronger claim", "forger.oracles.rows.told_more"),
    "noise-mechanism": ("a stronger claim", "forger.oracles.lattices.told_more"),
    "region-counts": ("another claim", "forger.oracles.counting.costs"),
    "measurements": ("another claim", "forger.oracles.counting.costs"),
    "region-tables": ("another claim", "forger.oracles.regions.table_costs"),
    "table-measurements": ("another claim", "forger.oracles.regions.table_costs"),
    "anonymous-table": ("another k", "forger.oracles.tables._false"),
    "choice": ("another claim", "forger.oracles.choices._cost"),
    "ledger": ("a charge more", "forger.oracles.ledgers._sums"),
    "state": ("another sum", "forger.oracles.ledgers.number"),
}
"""A change that makes files of a kind false for some of its draws, and a part of the oracle that sees it."""


@pytest.mark.parametrize("name", LIES)
def test_an_oracle_that_is_broken_is_noticed(name: str, tmp_path: Path) -> None:
    """Every verifier is made to accept; the oracle alone has to see lies, and does not once it is broken."""
    made = kind(name)
    change, part = LIES[name]
    assert made.catalogue.whole is not None
    said = _believed(made, tmp_path)
    lies = Catalogue(made.catalogue.originals, whole={change: made.catalogue.whole[change]})
    trusting = {"trusting": lambda _: Ruling("accepted", said)}
    believing = Format(name, lies, made.write, trusting, made.oracle)
    # Those whose hashes are made right: another hash is seen by another part.
    sealed = (n for n in range(1, 500, 2) if n % 5 != 4)
    numbers = [n for n in sealed if lies.mutant(n).changes == (change,)][:12]
    assert len(numbers) > 4
    seen = forge(believing, numbers, tmp_path).holes
    assert len(seen) > 0
    broken: Any = 0 if part.endswith("costs") else None if part.endswith("_sums") else ""
    with patch(part, lambda *_: broken):
        blind = forge(believing, numbers, tmp_path)
    assert blind.holes == [] or name in {"ledger", "state"}
    assert [hole.why for hole in blind.holes] != [hole.why for hole in seen]


def _believed(made: Format, folder: Path) -> Any:
    """Give what the verifier says of the first original."""
    made.write(made.catalogue.originals[0], folder / "mutant", 0)
    return next(iter(made.verifiers.values()))(folder / "mutant").said


def test_a_number_means_one_mutant() -> None:
    catalogue = Catalogue(({"a": "1", "b": [1, 2]},))
    assert [catalogue.mutant(n).changes for n in range(50)] == [
        catalogue.mutant(n).changes for n in range(50)
    ]
    assert len({catalogue.mutant(n).changes for n in range(200)}) > 100


def test_a_key_may_come_twice(tmp_path: Path) -> None:
    catalogue = Catalogue(({"a": "1", "b": "2"},))
    doubled = [
        catalogue.mutant(n).parts
        for n in range(300)
        if catalogue.mutant(n).changes == ("all: a key twice",)
    ]
    assert doubled
    assert len(doubled[0]) == 3


def test_what_is_wrong_with_a_verifier_is_told(tmp_path: Path) -> None:
    """One that fails, one that contradicts the other, and one that does not say."""

    def write(parts: Any, path: Path, _: int) -> None:
        path.write_text(repr(parts))

    def failing(_: Path) -> Ruling:
        raise ZeroDivisionError("by nothing")

    def unsure(_: Path) -> Ruling:
        return Ruling("not checked")

    catalogue = Catalogue(({"a": 1},))
    no, yes = (lambda _: Ruling("refused")), (lambda _: Ruling("accepted"))
    for verifiers, why in (
        ({"one": failing}, "one fails: ZeroDivisionError: by nothing"),
        ({"one": yes, "other": no}, "one accepts what other refuses"),
        ({"one": yes}, "accepted by one and false: a lie"),
    ):
        lie = "a lie" if len(verifiers) == 1 else ""
        made = Format("test", catalogue, write, verifiers, lambda *_, lie=lie: lie)
        assert forge(made, range(3), tmp_path).holes[0].why == why
    made = Format("test", catalogue, write, {"one": unsure, "other": yes}, lambda *_: "")
    assert forge(made, range(4), tmp_path).counts["not checked"] == 4


STUB = """
import sys, time
sys.stdout.write("ready\\n"); sys.stdout.flush()
for line in sys.stdin:
    first, last = map(int, line.split())
    for number in range(first, last):
        if number == 3:
            {at_three}
        print(f'[{{number}}, "refused", null]', flush=True)
"""


GREEDY = "kept = [bytearray(b'x') * (1 << 22) for _ in iter(int, 1)]"
"""Takes memory for ever."""


@pytest.mark.parametrize("at_three", ["sys.exit(1)", "time.sleep(60)", GREEDY])
def test_a_worker_that_ends_or_hangs_is_replaced(at_three: str, tmp_path: Path) -> None:
    command = [sys.executable, "-c", STUB.format(at_three=at_three)]
    told: list[str] = []
    with (
        # Only what hangs is waited for; a shorter wait than this once ends workers of a busy machine.
        patch.object(campaign, "PATIENCE", 5 if "sleep" in at_three else 60),
        patch.object(campaign, "PORTION", 5),
        patch.object(campaign, "MOST_OF_A_MUTANT", 1 << 26),
    ):
        tally = campaign.run(
            "stub",
            tmp_path / "kept.json",
            12,
            float("inf"),
            on_progress=lambda name, _: told.append(name),
            command=command,
        )
    assert [hole.number for hole in tally.holes] == [3]
    assert tally.counts["refused"] >= 11
    assert told
    # What was counted is counted for the next run, which has nothing left to do.
    kept, number = campaign.read(tmp_path / "kept.json")
    assert (kept.counts, number) == (tally.counts, tally.mutants)
    assert isinstance(kept, Tally)
    # What was mended is no hole any more, and the number of mutants stays.
    mended = [sys.executable, "-c", STUB.format(at_three="pass")]
    assert campaign.again("stub", tmp_path / "kept.json", command=mended).holes == []
    kept, _ = campaign.read(tmp_path / "kept.json")
    assert (kept.mutants, kept.counts["hole"]) == (tally.mutants, 0)


def test_memory_that_is_given_back_at_once_is_seen() -> None:
    """Between two looks from outside nobody would see it."""

    def greedy(number: int) -> Looked:
        return Looked(number, f"{len(bytearray(b'x') * (1 << 27))} bytes")

    def modest(number: int) -> Looked:
        return Looked(number, "refused")

    assert watched(modest, 7, 1 << 26) == modest(7)
    assert watched(greedy, 7, 1 << 28).hole is None
    hole = watched(greedy, 7, 1 << 26).hole
    assert hole is not None
    assert "MB, and 64 are allowed" in hole.why


def test_a_verifier_that_takes_too_long_is_a_hole(tmp_path: Path) -> None:
    """Twice: that the machine was busy once is none."""
    waits: list[float] = []
    now = [0.0]

    def slow(_: Path) -> Ruling:
        now[0] += waits.pop()
        return Ruling("refused")

    def write(parts: Any, path: Path, _: int) -> None:
        path.write_text(repr(parts))

    made = Format("test", Catalogue(({"a": 1},)), write, {"slow": slow}, lambda *_: "")
    clock = SimpleNamespace(monotonic=lambda: now[0])
    with (
        patch("forger.engine.MOST_SECONDS", 0.1),
        patch("forger.engine.time", clock),
    ):
        waits[:] = [0.15, 0.15]
        hole = look(made, 3, tmp_path).hole
        waits[:] = [0.0, 0.15]
        again = look(made, 3, tmp_path)
    assert hole is not None
    assert "slow takes 0." in hole.why
    assert again.hole is None


@pytest.mark.forger
@pytest.mark.timeout(0)
def test_the_whole_campaign(capsys: pytest.CaptureFixture[str]) -> None:
    """Twenty thousand mutants of every kind; ``FORGER_SECONDS`` in portions."""
    import os

    seconds = os.environ.get("FORGER_SECONDS", "inf")
    with capsys.disabled():
        status = campaign.main(["--seconds", seconds])
    assert status in ({0} if seconds == "inf" else {0, 3})


@pytest.mark.parametrize("name", NOISE)
def test_a_change_after_one_that_stated_a_huge_torus_walks_over_what_is_there(name: str) -> None:
    """Four million rows of no entries were listed, or an entry beyond the last one was asked for."""
    made = originals.lattices()[0]
    for number in range(5):
        parts = copy.deepcopy(made)
        parts["torus"][0] += 2**22
        NOISE[name](parts, random.Random(number))  # noqa: S311 - cases of a test
        assert parts["noise"] is not None
