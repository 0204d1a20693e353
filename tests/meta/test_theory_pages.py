"""The checker of theory pages, on pages that are made wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from meta.theory_pages import faults, is_there, methods_of, without_page

GOOD = """# The closed form

## Statement
Words that say what is computed, from what, and when.

## Guarantee
Words that say who can tell what from what, and by how much.

## Proof
Words that follow from each other to the statement.

## Cost
One system of linear equations, of the size of the secrets, and one look.

## Where this departs from the paper
Nowhere: what is printed is what is done, as far as we saw.

## Code and tests
Methods: `kernel`, `direct`.

`discreet.metricdp.methods.kernel.Kernel`; `tests/metricdp/test_kernel.py`, `test_it_is_so`.
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "tests" / "metricdp"
    folder.mkdir(parents=True)
    (folder / "test_kernel.py").write_text("def test_it_is_so() -> None:\n", encoding="utf-8")
    return tmp_path


def test_a_good_page_has_no_faults(root: Path) -> None:
    assert faults(GOOD, root) == []
    assert faults(GOOD.replace("## Proof", "## Why it holds"), root) == []


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("# The closed form\n", "The closed form\n", "no title"),
        ("## Statement", "## Claim", "section 1 is 'Claim', not 'Statement'"),
        ("## Guarantee\n", "\n", "section 2 is 'Proof', not 'Guarantee'"),
        ("## Cost", "## Example", "section 4 is 'Example', not 'Cost'"),
        ("## Code", "## More\n\n## Code", "section 6 is 'More', not 'Code and tests'"),
        ("Words that follow from each other to the statement.", "", "'Proof' says nothing"),
        ("kernel.Kernel", "kernel.Colonel", "nothing is discreet.metricdp.methods.kernel.Colonel"),
        ("discreet.metricdp.methods.kernel.", "", "no code is named"),
        ("/test_kernel.py", "/test_kernels.py", "no file tests/metricdp/test_kernels.py"),
        ("tests/metricdp/test_kernel.py", "none", "no test is named"),
        ("Nowhere:", "As [CP11]_ says:", "[CP11]_ is cited as in a docstring"),
        ("test_it_is_so", "test_it_is_not_so", "no test test_it_is_not_so in the files named"),
    ],
)
def test_a_wrong_page_is_found_out(root: Path, old: str, new: str, fault: str) -> None:
    assert old in GOOD
    assert fault in faults(GOOD.replace(old, new, 1), root)


def test_a_section_too_many_is_found_out(root: Path) -> None:
    assert faults(GOOD + "\n## Afterword\n", root) == ["'Afterword' is one too many"]


def test_methods_are_those_of_the_line() -> None:
    assert methods_of(GOOD) == ["kernel", "direct"]
    assert methods_of(GOOD.replace("Methods: `kernel`, `direct`.", "No method.")) == []
    other = GOOD.replace("## Statement\n", "## Statement\n\nMethod: `other`.\n")
    assert methods_of(other) == ["kernel", "direct"]


def test_each_method_has_one_page() -> None:
    assert without_page(["kernel", "direct"], {"kernel": GOOD}) == []
    assert without_page(["kernel", "direct", "tem"], {"kernel": GOOD}) == ["tem has no page"]
    assert without_page(["kernel"], {"kernel": GOOD}) == ["kernel names direct, which is none"]
    twice = without_page(["kernel", "direct"], {"one": GOOD, "two": GOOD})
    assert twice == ["direct has 2 pages", "kernel has 2 pages"]


@pytest.mark.parametrize(
    ("name", "there"),
    [
        ("discreet.metricdp", True),
        ("discreet.metricdp.methods.kernel.Kernel.solve", True),
        ("discreet.metricdp.kernels.columns", True),
        ("discreet.metricdp.methods.kernel.Kernel.sings", False),
        ("discreet.metricdp.colonel", False),
        ("discreet.nothing.at.all", False),
        ("nothing.at.all", False),
    ],
)
def test_names_are_looked_up(name: str, there: bool) -> None:  # noqa: FBT001 - a parameter of the test
    assert is_there(name) is there
