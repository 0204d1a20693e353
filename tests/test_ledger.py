"""The ledger lasts through kills, two writers, a full disk and damage: a release may be lost, never a charge."""

from __future__ import annotations

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.core.budget import Budget, MemoryBudget
from discreet.core.errors import BudgetError, DiscreetError, InvalidProblemError
from discreet.core.guarantee import (
    ApproxDP,
    KAnonymity,
    MetricDP,
    PureDP,
    Scope,
    ZeroConcentratedDP,
)
from discreet.ledger import Ledger
from discreet.ledger import file as ledger_file
from ledgers import PERSON, finish, make, names_in, start

if TYPE_CHECKING:
    from discreet.core.guarantee import Guarantee

ROOT = Path(__file__).parents[1]
HERE = Scope("here", 9, Fraction(2))

# A child charges and then "releases", a line on the disk each, until it is killed; the parent counts both.
KILLER = """
import os, random, signal, sys, time
from discreet import PureDP
from discreet.ledger import Ledger

path, released, times = sys.argv[1], sys.argv[2], int(sys.argv[3])
chance = random.Random(20300401)
cost = PureDP("0.001", neighbors="add-remove-person")
for _ in range(times):
    child = os.fork()
    if not child:
        while True:
            Ledger(path).reserve("census", cost)
            with open(released, "ab", buffering=0) as file:
                file.write(b"x")
                os.fsync(file.fileno())
    # By what was done, not by the clock, so that a busy machine has charges to lose too.
    wanted = os.path.getsize(released) + chance.randrange(3)
    latest = time.monotonic() + 60
    while os.path.getsize(released) < wanted and time.monotonic() < latest:
        time.sleep(0.0002)
    time.sleep(chance.uniform(0, 0.01))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    charged = len(Ledger(path).history("census"))
    made = os.path.getsize(released)
    assert made <= charged, (made, charged)
print(charged, made)
"""

WRITER = """
import sys
from discreet import BudgetError, PureDP
from discreet.ledger import Ledger

ledger, done = Ledger(sys.argv[1]), 0
while True:
    try:
        ledger.reserve("census", PureDP("0.02", neighbors="add-remove-person"))
    except BudgetError:
        break
    done += 1
print(done)
"""

FULL = """
import os, resource, signal, sys
from discreet import BudgetError, PureDP
from discreet.ledger import Ledger

path = sys.argv[1]
ledger = Ledger(path)
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
most = os.path.getsize(path) if sys.argv[2] == "table" else 1
resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
done = 0
try:
    while done < 1000:
        ledger.reserve("census", PureDP("0.0001", neighbors="add-remove-person"))
        done += 1
except BudgetError as error:
    print(done, error)
"""


def kill_at_random_points(folder: Path, times: int) -> None:
    make(folder)
    released = folder / "released"
    released.touch()
    charged, made = map(int, finish(start(KILLER, folder / "ledger.db", released, times)).split())
    # Enough was going on for the kills to hit something, and each cost at most the one charge under way.
    assert charged >= times // 2
    assert made <= charged <= made + times


def test_a_kill_may_lose_a_release_but_never_a_charge(tmp_path: Path) -> None:
    kill_at_random_points(tmp_path, 20)


@pytest.mark.slow
def test_two_hundred_kills_may_lose_releases_but_never_a_charge(tmp_path: Path) -> None:
    kill_at_random_points(tmp_path, 200)


@pytest.mark.parametrize("statement", ["BEGIN", "SELECT id", "INSERT INTO lines", "COMMIT"])
def test_a_kill_before_any_statement_leaves_the_ledger_whole(
    tmp_path: Path, statement: str
) -> None:
    """The process dies as SQLite starts the statement; nothing was committed, nothing is damaged."""
    code = (
        "import os, signal, sqlite3, sys\n"
        "from discreet import PureDP\nfrom discreet import ledger\n"
        "true = sqlite3.connect\n"
        "def connect(*a, **k):\n"
        "    db = true(*a, **k)\n"
        "    die = lambda s: s.startswith(sys.argv[2]) and os.kill(os.getpid(), signal.SIGKILL)\n"
        "    db.set_trace_callback(die)\n"
        "    return db\n"
        "book = ledger.Ledger(sys.argv[1])\n"
        "sqlite3.connect = connect\n"
        "book.reserve('census', PureDP(1, neighbors='add-remove-person'))\n"
        "print('released')\n"
    )
    ledger = make(tmp_path)
    out, _ = start(code, tmp_path / "ledger.db", statement).communicate(timeout=60)
    assert out == ""
    assert ledger.history("census") == ()
    ledger.reserve("census", PureDP(1, neighbors=PERSON))
    assert len(ledger.history("census")) == 1


def test_two_writers_spend_the_budget_once(tmp_path: Path) -> None:
    ledger = make(tmp_path, "1")
    writers = [start(WRITER, tmp_path / "ledger.db") for _ in range(2)]
    assert sum(int(finish(writer)) for writer in writers) == 50
    assert ledger.account("census").left == (Fraction(0),)


def test_writers_by_three_names_spend_the_budget_once(tmp_path: Path) -> None:
    """The file, a link to it, and a link to its folder: one lock and one journal."""
    (tmp_path / "true").mkdir()
    ledger = make(tmp_path / "true", "1")
    (tmp_path / "link.db").symlink_to(tmp_path / "true" / "ledger.db")
    (tmp_path / "folder").symlink_to("true")
    paths = (tmp_path / "true" / "ledger.db", tmp_path / "link.db", tmp_path / "folder/ledger.db")
    writers = [start(WRITER, path) for path in paths]
    assert sum(int(finish(writer)) for writer in writers) == 50
    assert ledger.account("census").left == (Fraction(0),)
    assert names_in(tmp_path) == ["folder", "link.db", "true"]


def test_a_charge_takes_the_lock_before_it_reads_what_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever reads first and locks later spends a balance that another has spent meanwhile; writers rarely meet."""
    ledger, true = make(tmp_path), sqlite3.connect
    said: list[str] = []

    def connect(*given: Any, **named: Any) -> sqlite3.Connection:
        db: sqlite3.Connection = true(*given, **named)
        db.set_trace_callback(said.append)
        return db

    monkeypatch.setattr(sqlite3, "connect", connect)
    ledger.reserve("census", PureDP(1, neighbors=PERSON))
    reads = [at for at, statement in enumerate(said) if statement.startswith("SELECT")]
    assert reads
    assert said.index("BEGIN IMMEDIATE") < reads[0]


def test_threads_that_share_a_ledger_spend_the_budget_once(tmp_path: Path) -> None:
    ledger = make(tmp_path, "0.1")

    def spend(_: int) -> bool:
        try:
            ledger.reserve("census", PureDP("0.01", neighbors=PERSON))
        except BudgetError:
            return False
        return True

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(spend, range(16))) == 10


def test_two_processes_may_make_the_file_at_once(tmp_path: Path) -> None:
    code = (
        "import sys\nfrom discreet import PureDP\nfrom discreet.ledger import Ledger\n"
        "Ledger.create(sys.argv[1], sys.argv[2], PureDP(1, neighbors='add-remove-person'))\n"
    )
    makers = [start(code, tmp_path / "ledger.db", name) for name in "abc"]
    for maker in makers:
        finish(maker)
    assert Ledger(tmp_path / "ledger.db").datasets == ("a", "b", "c")


@pytest.mark.parametrize("what", ["journal", "table"])
def test_a_full_disk_refuses_the_release(tmp_path: Path, what: str) -> None:
    """The journal or the table can't grow: no charge counts that reserve did not confirm, and the file stays whole."""
    ledger = make(tmp_path)
    done, message = finish(start(FULL, tmp_path / "ledger.db", what)).split(" ", 1)
    assert "nothing may be released" in message
    assert len(ledger.history("census")) == int(done)
    ledger.reserve("census", PureDP(1, neighbors=PERSON))


def test_a_ledger_that_nobody_may_write_refuses_the_release(tmp_path: Path) -> None:
    ledger = make(tmp_path)
    with closing(sqlite3.connect(tmp_path / "ledger.db", isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(ledger_file, "_connect", partial(ledger_file._connect, lock_seconds=0.05))
            with pytest.raises(BudgetError, match="locked; nothing may be released"):
                ledger.reserve("census", PureDP(1, neighbors=PERSON))
    assert ledger.history("census") == ()


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[: len(data) // 2],
        lambda data: data[:20],
        lambda _: b"",
        lambda _: b"no ledger at all" * 100,
        lambda data: data.replace(b'"epsilon": "3"', b'"epsilon": "1"'),
        lambda data: data.replace(b'"epsilon": "8"', b'"epsilon": "9"'),
        lambda data: bytes(len(data)),
    ],
    ids=["half", "head", "empty", "text", "charge", "limit", "zeros"],
)
def test_a_damaged_file_is_refused(tmp_path: Path, damage: object) -> None:
    ledger = make(tmp_path, "8")
    ledger.reserve("census", PureDP(3, neighbors=PERSON))
    path = tmp_path / "ledger.db"
    before = path.read_bytes()
    after = damage(before)  # type: ignore[operator]
    assert after != before
    path.write_bytes(after)
    with pytest.raises(InvalidProblemError, match=r"ledger: expected a (whole )?ledger"):
        ledger.reserve("census", PureDP(1, neighbors=PERSON))


def test_another_database_is_no_ledger(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("CREATE TABLE people (name TEXT)")
    before = path.read_bytes()
    with pytest.raises(InvalidProblemError, match="no ledger"):
        Ledger(path)
    with pytest.raises(InvalidProblemError, match="no ledger"):
        Ledger.create(path, "census", PureDP(1, neighbors=PERSON))
    assert path.read_bytes() == before


def test_a_mistyped_path_does_not_become_a_ledger(tmp_path: Path) -> None:
    with pytest.raises(InvalidProblemError, match="a ledger that exists"):
        Ledger(tmp_path / "leger.db")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidProblemError, match="a file that can be written"):
        Ledger.create(tmp_path / "no" / "ledger.db", "census", PureDP(1, neighbors=PERSON))


def test_a_budget_is_fixed_when_it_is_made(tmp_path: Path) -> None:
    make(tmp_path, "1")
    with pytest.raises(InvalidProblemError, match="one without a budget"):
        make(tmp_path, "9")
    assert Ledger(tmp_path / "ledger.db").account("census").limit == PureDP(1, neighbors=PERSON)


@pytest.mark.parametrize(
    "charge",
    [
        PureDP(1, neighbors="replace-person"),
        PureDP(1, neighbors="add-remove-one"),
        ApproxDP(1, "1e-6", neighbors=PERSON),
        ZeroConcentratedDP(1, neighbors=PERSON),
        MetricDP(1, unit="km"),
    ],
    ids=str,
)
def test_the_notion_of_privacy_is_fixed_with_the_budget(tmp_path: Path, charge: Guarantee) -> None:
    ledger = make(tmp_path)
    with pytest.raises(InvalidProblemError):
        ledger.reserve("census", charge)
    assert ledger.history("census") == ()


def test_the_unit_of_distance_is_fixed_with_the_budget(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "l.db", "walks", MetricDP(2, unit="km"))
    ledger.reserve("walks", MetricDP("0.5", unit="km", scope=HERE))
    with pytest.raises(InvalidProblemError, match="unit"):
        ledger.reserve("walks", MetricDP("0.5", unit="mile", scope=HERE))
    assert ledger.account("walks").left == (Fraction(3, 2),)


@pytest.mark.parametrize("name", ["", "  "])
def test_a_dataset_has_a_name(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidProblemError, match="dataset"):
        Ledger.create(tmp_path / "ledger.db", name, PureDP(1, neighbors=PERSON))


def test_k_anonymity_has_no_budget(tmp_path: Path) -> None:
    with pytest.raises(InvalidProblemError):
        Ledger.create(tmp_path / "ledger.db", "census", KAnonymity(5, ("zip",)))
    assert list(tmp_path.iterdir()) == []


def test_a_dataset_that_was_never_granted_is_not_spent(tmp_path: Path) -> None:
    ledger = make(tmp_path)
    for ask in (ledger.account, ledger.history):
        with pytest.raises(BudgetError, match="'census-2040' has no budget"):
            ask("census-2040")
    with pytest.raises(BudgetError, match="'census-2040' has no budget"):
        ledger.reserve("census-2040", PureDP(1, neighbors=PERSON))


def test_strange_names_of_files_and_datasets_are_names(tmp_path: Path) -> None:
    path = tmp_path / "a b?mode=memory#%41'.db"
    ledger = Ledger.create(path, "x'); DROP TABLE charges; --", PureDP(1, neighbors=PERSON))
    ledger.reserve("x'); DROP TABLE charges; --", PureDP(1, neighbors=PERSON))
    assert path.is_file()
    assert Ledger(path).account("x'); DROP TABLE charges; --").left == (Fraction(0),)


def test_history_lists_charges_and_when(tmp_path: Path) -> None:
    ledger = make(tmp_path)
    costs = [PureDP(epsilon, neighbors=PERSON) for epsilon in ("1/3", "0.1", "2")]
    for cost in costs:
        ledger.reserve("census", cost)
    lines = Ledger(tmp_path / "ledger.db").history("census")
    assert [line.guarantee for line in lines] == costs
    assert all(line.charged.endswith("Z") for line in lines)


def test_a_charge_is_synced_with_its_folder(tmp_path: Path) -> None:
    """What SQLite promises rests on these two settings of the connection that writes."""
    ledger = make(tmp_path)
    with ledger._open(writing=True) as (db, _):
        assert db.execute("PRAGMA synchronous").fetchone() == (3,)
        assert db.execute("PRAGMA journal_mode").fetchone() == ("delete",)
        assert db.in_transaction


charges = st.lists(
    st.one_of(
        st.fractions(min_value=Fraction(1, 50), max_value=1, max_denominator=50).map(
            lambda epsilon: PureDP(epsilon, neighbors=PERSON)
        ),
        st.fractions(min_value=Fraction(1, 50), max_value=1, max_denominator=50).map(
            lambda rho: ZeroConcentratedDP(rho, neighbors=PERSON)
        ),
    ),
    max_size=6,
)


@settings(max_examples=15, deadline=None)
@given(charges)
def test_a_ledger_on_disk_answers_as_the_one_in_memory(
    tmp_path_factory: pytest.TempPathFactory, asked: list[Guarantee]
) -> None:
    limit = ZeroConcentratedDP(1, neighbors=PERSON)
    disk: Budget = Ledger.create(tmp_path_factory.mktemp("l") / "l.db", "d", limit)
    memory: Budget = MemoryBudget({"d": limit})
    for charge in asked:
        answers = []
        for ledger in (disk, memory):
            try:
                ledger.reserve("d", charge)
            except DiscreetError as error:
                answers.append(str(error))
            else:
                answers.append("")
        assert answers[0] == answers[1]
    assert isinstance(disk, Ledger)
    assert isinstance(memory, MemoryBudget)
    assert disk.account("d") == memory.account("d")


def test_a_name_that_is_no_text_is_refused(tmp_path: Path) -> None:
    """Bytes of a command line that are no UTF-8 come as such letters."""
    with pytest.raises(InvalidProblemError, match="dataset: expected a name, in Unicode"):
        Ledger.create(tmp_path / "ledger.db", "caf\udce9", PureDP(2, neighbors=PERSON))
    assert names_in(tmp_path) == []
    ledger = make(tmp_path)
    for ask in (
        ledger.account,
        ledger.history,
        lambda name: ledger.reserve(name, PureDP(2, neighbors=PERSON)),
    ):
        with pytest.raises(BudgetError, match="has no budget"):
            ask("caf\udce9")


@pytest.mark.parametrize("wrong", [None, 3, ["a"]])
def test_what_is_no_text_is_refused_in_words(wrong: Any, tmp_path: Path) -> None:
    limit = PureDP(1, neighbors="replace-one")
    path = tmp_path / "ledger.db"
    with pytest.raises(InvalidProblemError, match="ledger: expected the path of a file"):
        Ledger(wrong)
    with pytest.raises(InvalidProblemError, match="ledger: expected the path of a file"):
        Ledger.create(wrong, "a", limit)
    with pytest.raises(InvalidProblemError, match="dataset: expected a name"):
        Ledger.create(path, wrong, limit)
    assert not path.exists()
    with pytest.raises(InvalidProblemError, match="digest: expected what"):
        Ledger.create(path, "a", limit).check(wrong)
