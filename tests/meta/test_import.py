"""``import discreet`` is light: asserted on what it loads, not on a clock."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import discreet

HEAVY = frozenset(
    {
        "fastapi",
        "highspy",
        "matplotlib",
        "narwhals",
        "numba",
        "pandas",
        "polars",
        "pyarrow",
        "rich",
        "scipy",
        "scipy.optimize",
        "typer",
    }
)


def loaded(statement: str) -> set[str]:
    """Run a statement in a fresh interpreter and tell which modules it left loaded."""
    script = f"import sys, json; sys.path.insert(0, {SOURCE!r}); {statement}; print(json.dumps(list(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-I", "-c", script], capture_output=True, text=True, check=True
    )
    return set(json.loads(done.stdout))


SOURCE = str(Path(discreet.__file__).parent.parent)


def test_the_import_loads_nothing_heavy() -> None:
    modules = loaded("import discreet")
    assert "discreet" in modules
    assert modules & HEAVY == set()
    assert not any(name.startswith("discreet.") for name in modules)


def test_the_nouns_load_no_solver_and_no_compiler() -> None:
    """Guarantees and errors are data, and cost what data cost."""
    modules = loaded(
        "import discreet; discreet.PureDP; discreet.compose; discreet.LimitReachedError"
    )
    assert "discreet.core.guarantee" in modules
    assert modules & HEAVY == set()


def test_every_public_name_together_loads_no_extra_and_no_solver() -> None:
    """The calls that judge tables need the border of dataframes, which is a hard dependency and light."""
    modules = loaded("from discreet import *")
    light = HEAVY - {"scipy", "narwhals"}
    assert modules & light == set()


def test_a_heavy_import_would_be_seen() -> None:
    assert loaded("import scipy.optimize") & HEAVY == {"scipy", "scipy.optimize"}
