from __future__ import annotations

from pathlib import Path

import pytest

import discreet
from meta.layering import imports, violations

PACKAGE = Path(discreet.__file__).parent


def plant(root: Path, files: dict[str, str]) -> Path:
    """Write a made-up source tree."""
    for name, source in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source, encoding="utf-8")
    return root


def test_every_import_of_the_library_points_to_the_ground() -> None:
    assert violations(PACKAGE) == []


def test_the_checker_reads_the_library() -> None:
    """A checker that finds no imports would find no violations either."""
    source = (PACKAGE / "core" / "exact.py").read_text(encoding="utf-8")
    found = {name for _, name in imports(source, ("discreet", "core", "exact"))}
    assert "discreet.core.errors.InvalidProblemError" in found
    assert "fractions.Fraction" in found


BAD = {
    "core imports a mechanism": (
        "core/a.py",
        "import discreet.metricdp.problem",
        "core imports metricdp",
    ),
    "core imports a mechanism by name": (
        "core/a.py",
        "from discreet import metricdp",
        "core imports metricdp",
    ),
    "core imports the façade": ("core/a.py", "from discreet import Channel", "core imports façade"),
    "anything imports the façade": ("metricdp/a.py", "import discreet", "metricdp imports façade"),
    "relative, upwards": ("core/lp/a.py", "from ...metricdp import x", "core imports metricdp"),
    "relative, from a package": ("core/__init__.py", "from ..plot import x", "core imports plot"),
    "in a function": ("core/a.py", "def f():\n    import discreet.cli", "core imports cli"),
    "only for types": (
        "core/a.py",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from discreet.evaluate import x",
        "core imports evaluate",
    ),
    "written as a string": (
        "core/a.py",
        "import importlib\nimportlib.import_module('discreet.metricdp')",
        "core imports metricdp",
    ),
    "a mechanism imports another": (
        "metricdp/a.py",
        "from discreet.lrgeo import x",
        "metricdp imports lrgeo",
    ),
    "a mechanism imports a judge": (
        "lrgeo/a.py",
        "from discreet.evaluate import x",
        "lrgeo imports evaluate",
    ),
    "a mechanism imports an edge": (
        "lrgeo/a.py",
        "from discreet.artefact import x",
        "lrgeo imports artefact",
    ),
    "a judge imports an edge": (
        "evaluate/a.py",
        "from discreet.plot import x",
        "evaluate imports plot",
    ),
    "data import a mechanism": (
        "datasets/a.py",
        "import discreet.metricdp",
        "datasets imports metricdp",
    ),
    "core does I/O": ("core/a.py", "from pathlib import Path", "which does I/O"),
    "core needs an extra": ("core/a.py", "import matplotlib", "no hard dependency"),
    "core reads tables": ("core/a.py", "import narwhals", "no hard dependency"),
    "tables import a mechanism": (
        "tables/a.py",
        "from discreet.kanonymity import problem",
        "tables imports kanonymity",
    ),
    "tables import an edge": ("tables/a.py", "import discreet.artefact", "tables imports artefact"),
    "tables need another extra": ("tables/a.py", "import pydantic", "no hard dependency"),
    "a verifier reads tables": (
        "kanonymity/verify.py",
        "from discreet.tables.frames import x",
        "a verifier",
    ),
    "a problem reads tables": (
        "hierarchy/problem.py",
        "from discreet.tables.frames import x",
        "a problem",
    ),
    "data read tables": ("datasets/a.py", "import discreet.tables", "datasets imports tables"),
    "a mechanism needs an extra": ("metricdp/a.py", "import polars as pl", "no hard dependency"),
    "a solver outside the adapter": ("metricdp/a.py", "import highspy", "outside core/lp"),
    "a compiler outside the kernels": (
        "metricdp/a.py",
        "from numba import njit",
        "outside core/jit.py",
    ),
    "a verifier imports a solver": (
        "metricdp/verify.py",
        "from discreet.core.lp import solve",
        "a verifier",
    ),
    "a verifier imports the adapter": (
        "metricdp/verify.py",
        "import discreet.core.lp.highs",
        "a verifier",
    ),
    "a verifier imports HiGHS": ("metricdp/verify.py", "import highspy", "a verifier"),
    "a verifier imports scipy": (
        "metricdp/verify.py",
        "from scipy.optimize import linprog",
        "a verifier",
    ),
    "a verifier imports the repair": (
        "metricdp/verify.py",
        "from discreet.metricdp.bounds.repair import x",
        "a verifier",
    ),
    "a verifier imports the repair relatively": (
        "metricdp/verify.py",
        "from . import repair",
        "a verifier",
    ),
    "a verifier imports another's problem": (
        "lrgeo/verify.py",
        "import discreet.metricdp.problem",
        "a verifier",
    ),
    "a verifier of an inner room imports a solver": (
        "hierarchy/contingency/verify.py",
        "from discreet.hierarchy.contingency.whole import whole",
        "a verifier",
    ),
    "a verifier imports the problem of another inner room": (
        "hierarchy/contingency/verify.py",
        "from discreet.hierarchy.other.problem import Domain",
        "a verifier",
    ),
    "a problem of an inner room imports its measurement": (
        "hierarchy/contingency/problem.py",
        "from discreet.hierarchy.contingency import measure",
        "a problem",
    ),
    "a problem of an inner room imports the measurement around it": (
        "hierarchy/contingency/problem.py",
        "from discreet.hierarchy.measure import measure",
        "a problem",
    ),
    "a verifier of an inner room imports the measurement around it": (
        "hierarchy/contingency/verify.py",
        "from discreet.hierarchy.measure import measure",
        "a verifier",
    ),
    "a problem imports the verifier around it": (
        "hierarchy/contingency/problem.py",
        "from discreet.hierarchy.verify import verify",
        "a problem",
    ),
    "a problem imports the repair": ("metricdp/problem.py", "from . import repair", "a problem"),
    "a problem imports another's reader": (
        "hierarchy/problem.py",
        "from discreet.kanonymity import _tables",
        "a problem",
    ),
    "a file of a problem imports a method": (
        "kanonymity/problem/table.py",
        "from discreet.kanonymity import greedy_search",
        "a problem",
    ),
    "a problem imports a solver": ("metricdp/problem.py", "import discreet.core.lp", "a problem"),
    "a problem imports its reader": (
        "hierarchy/problem.py",
        "from discreet.hierarchy.records import x",
        "a problem",
    ),
    "an edge imports another": ("studio/a.py", "import discreet.service", "studio imports service"),
    "a report imports a command": ("report/a.py", "import discreet.cli.demo", "report imports cli"),
    "a command imports the service": (
        "cli/counts.py",
        "from discreet.service import x",
        "cli imports service",
    ),
    "an artefact imports a judge": (
        "artefact/a.py",
        "from discreet.evaluate import x",
        "artefact imports evaluate",
    ),
    "a command imports what has no guarantee": (
        "cli/counts.py",
        "from discreet_reproduction.hierarchy.as_published import m_c_ch",
        "imports discreet_reproduction",
    ),
    "a judge imports what has no guarantee": (
        "evaluate/audit/a.py",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import discreet_reproduction.lrgeo.frozen_scales",
        "imports discreet_reproduction",
    ),
    "the library imports the reproduction by a written name": (
        "lrgeo/methods/a.py",
        "import importlib\nimportlib.import_module('discreet_reproduction.lrgeo.as_published.lr_geo')",
        "imports discreet_reproduction",
    ),
    "a part without a layer": ("utils/a.py", "import math", "no place in the layers"),
}


@pytest.mark.parametrize(("path", "source", "complaint"), BAD.values(), ids=BAD)
def test_the_checker_rejects(tmp_path: Path, path: str, source: str, complaint: str) -> None:
    (found,) = violations(plant(tmp_path, {path: source}))
    assert complaint in found
    assert found.startswith(f"{path}:{source.count(chr(10)) + 1}:")


def test_the_checker_accepts_what_points_to_the_ground(tmp_path: Path) -> None:
    """The façade is not judged; each allowed direction is used once."""
    good = {
        "__init__.py": "from discreet.cli import main",
        "core/a.py": "import math, os, json\nimport numpy as np\nimport scipy.sparse\nfrom discreet.core import b",
        "core/lp/highs.py": "import highspy\nfrom . import program\nfrom ..errors import SolverError",
        "core/jit.py": "import numba",
        "metricdp/__init__.py": "from discreet.metricdp.problem import Problem",
        "metricdp/kernels/columns.py": "import numba\nfrom discreet.core.jit import kernel",
        "metricdp/verify.py": "import fractions\nimport numpy\nfrom . import problem\n"
        "from discreet.metricdp.problem import Problem\nfrom discreet.core.channels.channel import Channel",
        "hierarchy/contingency/verify.py": "from discreet.hierarchy.contingency.problem import Domain\n"
        "from discreet.hierarchy.problem import Frame\nfrom discreet.hierarchy.verify import sums_below",
        "hierarchy/contingency/problem.py": "from discreet.hierarchy.problem import RegionFrame",
        "lrgeo/a.py": "from discreet.metricdp import repair",
        "hierarchy/problem.py": "from discreet.core import tree",
        "tables/a.py": "import pathlib\nimport polars\nimport pyarrow\nfrom discreet.core import errors",
        "hierarchy/release.py": "from discreet.tables import frames",
        "evaluate/a.py": "import discreet.submodular\nfrom discreet.core import b",
        "datasets/a.py": "import pathlib\nfrom discreet.core.spaces.metric import MetricSpace",
        "testing.py": "import hypothesis\nfrom discreet.core import b",
        "plot.py": "import matplotlib\nfrom discreet.core import b",
        "cli/serve.py": "from discreet.service import serve",
        "cli/a.py": "import typer\nimport discreet\nfrom discreet import metricdp, report\nimport discreet.evaluate",
    }
    assert violations(plant(tmp_path, good)) == []
