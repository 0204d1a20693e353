"""Without numba: what verifies, samples and designs for some dozens of secrets works; the rest says what is missing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.core import jit
from discreet.core.errors import SolverError

ROOT = Path(__file__).parents[2]

BLOCK = """
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"numba", "llvmlite"}:
            raise ModuleNotFoundError(f"No module named {name!r}")

sys.meta_path.insert(0, Blocked())
"""

WORK = """
import json
import numpy as np, polars as pl
import discreet as dc
from discreet import hierarchy, kanonymity, lrgeo, metricdp
from discreet.artefact import load, save
from discreet.artefact.judging import judge

said = {"verified": {path: judge(path, optimality=False)[0].passed for path in FILES}}

grid = dc.MetricSpace.grid(5, 5, cell=1, unit="km")
made = metricdp.design(metricdp.Problem(grid, utility_loss="euclidean"), dc.MetricDP(1, "km", radius=2))
save(made, FOLDER + "/made.channel")
said["design"] = [made.certificate.passed, made.upper, made.lower]
said["bound"] = dc.verify(FOLDER + "/made.channel", optimality=True).passed
said["reports"] = [load(FOLDER + "/made.channel").channel.report(3) for _ in range(20)]

region = lrgeo.Region.from_grid(3, 3, cell="0.5", unit="km")
service = lrgeo.design(region, dc.MetricDP(2, "km"), gap=0.5, scope="places")
client = lrgeo.Client(lrgeo.Mechanism.from_design(service, region))
said["service"] = service.certificate.passed

tree = dc.Tree.from_paths([("a",), ("b",)], root="all")
sizes = hierarchy.GroupSizes.from_counts(tree, [[2, 1], [1, 3]], units="private", max_quantity=1)
said["counts"] = hierarchy.release(sizes, dc.PureDP(1, "add-remove-person")).certificate.passed

rows = pl.DataFrame({"age": [30, 31, 50, 52, 70, 71]})
said["table"] = kanonymity.anonymize(rows, dc.KAnonymity(2, ("age",))).certificate.passed

eight, wide = dc.MetricSpace.grid(8, 8, cell=1, unit="km"), dc.MetricSpace.grid(20, 20, cell=1, unit="km")
try:
    metricdp.design(metricdp.Problem(wide, utility_loss="euclidean"), dc.MetricDP(1, "km", radius=2))
except dc.SolverError as error:
    said["large"] = str(error)
try:
    metricdp.design(metricdp.Problem(eight, utility_loss="euclidean"), dc.MetricDP(1, "km"), method="primal-dual")
except dc.SolverError as error:
    said["vectors"] = str(error)
said["numba"] = "numba" in sys.modules
print(json.dumps(said))
"""


def python(script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", BLOCK + script, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )


@pytest.mark.jit
def test_the_package_without_numba(tmp_path: Path) -> None:
    data = ROOT / "tests" / "data"
    endings = {".channel", ".mechanism", ".choice", ".csv", ".parquet"}
    files = sorted(str(path) for path in data.iterdir() if path.suffix in endings)
    done = python(f"FILES, FOLDER = {files!r}, {str(tmp_path)!r}\n{WORK}")
    assert done.returncode == 0, done.stderr
    said: dict[str, Any] = json.loads(done.stdout)
    assert len(files) > 9
    assert said["verified"] == dict.fromkeys(files, True)
    passed, upper, lower = said["design"]
    assert passed
    assert 0 < lower <= upper < 1.02 * lower
    assert said["bound"]
    assert all(0 <= report < 25 for report in said["reports"])
    assert said["service"]
    assert said["counts"]
    assert said["table"]
    sentence = "numba: not installed (without it, verification, sampling"
    assert said["large"].startswith(sentence)
    assert sentence in said["vectors"]
    assert not said["numba"]


def test_a_plain_kernel_takes_small_arrays_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jit, "has_compiler", lambda: False)

    def total(values: np.ndarray) -> int:
        return int((values * np.int64(2**62)).sum())

    plain = jit.kernel(total)
    # As compiled code does, it warns of no overflow.
    assert plain(np.array([4])) == 0
    assert jit.inlined(total) is jit.expanded(total) is jit.disjoint(total) is total
    with pytest.raises(SolverError, match="numba: not installed"):
        plain(np.zeros(jit.PLAIN_MOST + 1, dtype=np.int64))


def test_a_loader_that_fails_is_no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(name: str) -> None:
        raise ModuleNotFoundError(name)

    monkeypatch.setattr("importlib.util.find_spec", fails)
    assert not jit.has_compiler.__wrapped__()


def test_with_numba_nothing_is_refused() -> None:
    assert jit.has_compiler()
    jit.need_compiler()
