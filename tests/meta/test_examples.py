"""The collector of examples, on a made-up project: what it runs, and what it fails."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FENCE = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NOT_RUN = {"text", "console", "bibtex"}

MODULE = '''"""A module.

>>> answer
42
"""

answer = 42


def good():
    """Raise.

    >>> there = good
    >>> there()
    Traceback (most recent call last):
        ...
    ValueError: expected
    """
    raise ValueError("expected")


class Bad:
    """Be wrong.

    >>> answer
    41
    """

    def stray(self):
        """Live on another docstring's names.

        >>> there
        """


def warned():
    """Warn.

    >>> import warnings
    >>> warnings.warn("not silent")
    """
'''

PAGE = """# A page

```python
x = 1
```

Words.

```python
>>> x + 1
2
>>> 1 / 0
Traceback (most recent call last):
ZeroDivisionError: division by zero
```

```text
this is not Python
```
"""

PROJECT = """
[tool.pytest.ini_options]
pythonpath = ["src", "reproduction/src"]
filterwarnings = ["error"]
"""


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Run pytest on the made-up project, with our conftest, shuffled."""
    root = tmp_path_factory.mktemp("project")
    files = {
        "src/made/__init__.py": "",
        "src/made/up.py": MODULE,
        "reproduction/src/papers/__init__.py": "",
        "reproduction/src/papers/page.py": MODULE,
        "docs/good.md": PAGE,
        "docs/bad.md": PAGE.replace("x + 1\n2", "x + 1\n3"),
        "docs/broken.md": PAGE.replace("x = 1", "x = y"),
        "docs/words.md": "# No example\n",
        "README.md": PAGE,
        "pyproject.toml": PROJECT,
    }
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    shutil.copy(ROOT / "conftest.py", root)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-v",
        "-p",
        "no:cacheprovider",
        "src",
        "reproduction",
        "docs",
        "README.md",
    ]
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")}
    done = subprocess.run(
        command, cwd=root, env=environment, capture_output=True, text=True, check=False
    )
    return done.stdout + done.stderr


@pytest.mark.parametrize(
    "item",
    [
        "src/made/up.py::module",
        "src/made/up.py::good",
        "reproduction/src/papers/page.py::module",
        "docs/good.md::examples",
        "README.md::examples",
    ],
)
def test_true_examples_pass_expected_errors_included(outcome: str, item: str) -> None:
    assert f"{item} PASSED" in outcome


@pytest.mark.parametrize(
    "item",
    [
        "src/made/up.py::Bad",
        "src/made/up.py::Bad::stray",
        "src/made/up.py::warned",
        "docs/bad.md::examples",
        "docs/broken.md::examples",
    ],
)
def test_false_examples_fail(outcome: str, item: str) -> None:
    assert f"{item} FAILED" in outcome


def test_nothing_else_is_collected_and_lines_are_those_of_the_file(outcome: str) -> None:
    assert "8 failed, 6 passed" in outcome
    line = 1 + MODULE.splitlines().index("    >>> answer")
    assert re.search(rf"made/up\.py, line {line}, .*did not evaluate as expected", outcome)
    assert re.search(r'docs/broken\.md", line 4, in <module>', outcome)


def unseen(text: str) -> list[str]:
    """Name the fences of a page that look like Python and would not run."""
    kinds = {kind.strip() for kind, _ in FENCE.findall(text)}
    strange = {
        kind
        for kind in kinds
        if kind != "python" and kind not in NOT_RUN and not kind.startswith("{")
    }
    outside = FENCE.sub(lambda m: "" if m[1].strip() == "python" else m[0], text)
    return sorted(strange) + (["a prompt outside a python block"] if ">>>" in outside else [])


def test_every_python_block_of_the_documentation_is_one_that_runs() -> None:
    pages = [
        *ROOT.glob("*.md"),
        *(path for path in (ROOT / "docs").rglob("*.md") if "_build" not in path.parts),
    ]
    assert len(pages) > 10
    said = {path.name: unseen(path.read_text(encoding="utf-8")) for path in pages}
    assert {name: complaints for name, complaints in said.items() if complaints} == {}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("```py\nx\n```\n", ["py"]),
        ("```\nx\n```\n", [""]),
        ("```text\n>>> x\n```\n", ["a prompt outside a python block"]),
        ("```python\n>>> x\n```\n", []),
        ("```{toctree}\nx\n```\n", []),
    ],
)
def test_blocks_that_would_not_run_are_seen(text: str, said: list[str]) -> None:
    assert unseen(text) == said
