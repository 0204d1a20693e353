"""Every mutant of the list still applies; in the marked suite, the tests that it names notice it."""

from __future__ import annotations

import ast
import re
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from mutants import core, edges, hierarchy, kanonymity, lrgeo, metricdp, submodular
from mutants.mutant import (
    ROOT,
    Mutant,
    copy_project,
    mutated,
    notices,
    planted,
    run_tests,
)

if TYPE_CHECKING:
    from pathlib import Path

MUTANTS = [
    mutant
    for part in (core, metricdp, lrgeo, hierarchy, submodular, kanonymity, edges)
    for mutant in part.MUTANTS
]
SOURCE = ROOT / "src" / "discreet"
AT_LEAST = 60
HARMLESS = Mutant(
    "harmless",
    "core/certificate.py",
    "return bool(self.checks) and all(",
    "return len(self.checks) > 0 and all(",
    "nothing",
    ("tests/core/test_certificate.py",),
)
NO_SUCH_TEST = Mutant(
    "a test that is not there",
    "core/certificate.py",
    "return bool(self.checks) and all(",
    "return all(",
    "an empty certificate passes, but the test's name is wrong",
    ("tests/core/test_certificate.py::test_that_is_not_there",),
)


def identified(mutant: Mutant) -> str:
    """Name a mutant in pytest's output."""
    return f"{mutant.file}: {mutant.name}"


@pytest.mark.parametrize("mutant", MUTANTS, ids=identified)
def test_every_mutant_still_applies(mutant: Mutant) -> None:
    """The text stands there exactly once, and what replaces it is another program that compiles."""
    source = (SOURCE / mutant.file).read_text(encoding="utf-8")
    compile(mutated(source, mutant.find, mutant.replace), mutant.file, "exec")
    assert mutant.breaks
    assert mutant.tests


def test_every_test_that_a_mutant_names_is_there() -> None:
    named = {test for mutant in MUTANTS for test in mutant.tests}
    missing = []
    for test in sorted(named):
        file, _, function = test.partition("::")
        path = ROOT / file
        # Examples of a docstring are named by what they document.
        last = function.rpartition(".")[2]
        if not path.is_file() or not re.search(
            rf"(?:def|class) {last}\b", path.read_text(encoding="utf-8")
        ):
            missing.append(test)
    assert missing == []


def test_the_list_is_long_and_covers_every_part() -> None:
    assert len(MUTANTS) >= AT_LEAST
    names = Counter(identified(mutant) for mutant in MUTANTS)
    assert [name for name, times in names.items() if times > 1] == []
    parts = Counter(mutant.file.split("/")[0] for mutant in MUTANTS)
    assert {"core", "metricdp", "lrgeo", "hierarchy", "submodular", "kanonymity"} <= set(parts)
    broken = {mutant.file for mutant in MUTANTS}
    verifiers = [path for path in SOURCE.glob("*/verify.py") if path.parent.name != "cli"]
    assert {path.relative_to(SOURCE).as_posix() for path in verifiers} <= broken


@pytest.mark.parametrize(
    ("find", "replace"),
    [
        ("not there", "anything"),
        ("a", "b"),
        ("b + 1", "b + 1"),
        ("b + 1", "b + 1  # another comment"),
    ],
)
def test_what_changes_nothing_or_is_not_unique_is_refused(find: str, replace: str) -> None:
    with pytest.raises(ValueError, match="the same program|stands . times"):
        mutated("a = a\nc = b + 1\n", find, replace)


def test_what_is_not_python_is_refused() -> None:
    with pytest.raises(SyntaxError):
        mutated("a = 1\n", "= 1", "= (")


def test_the_working_tree_is_never_touched() -> None:
    with (
        pytest.raises(ValueError, match="in copies only"),
        planted(ROOT, "core/certificate.py", "raise SystemExit\n"),
    ):
        pass
    ast.parse((SOURCE / "core" / "certificate.py").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One copy for all mutants that this process plants."""
    return copy_project(tmp_path_factory.mktemp("mutants"))


@pytest.mark.mutants
def test_the_named_tests_pass_where_nothing_is_broken(project: Path) -> None:
    """Else a mutant would be noticed by a test that fails anyway."""
    named = sorted({test for mutant in MUTANTS for test in mutant.tests})
    status, printed = run_tests(project, named, limit=3000.0)
    assert status == 0, printed


@pytest.mark.mutants
@pytest.mark.parametrize("mutant", [HARMLESS, NO_SUCH_TEST], ids=identified)
def test_what_breaks_nothing_is_not_noticed(project: Path, mutant: Mutant) -> None:
    """Neither is what no test looked at: the suite can fail."""
    assert not notices(project, mutant)[0]


@pytest.mark.mutants
@pytest.mark.parametrize("mutant", MUTANTS, ids=identified)
def test_every_mutant_is_noticed(project: Path, mutant: Mutant) -> None:
    seen, printed = notices(project, mutant)
    assert seen, f"{mutant.breaks}: no test of {', '.join(mutant.tests)} failed\n{printed}"
