"""All benchmarks, one after the other, printed with the machine. ``make bench``; ``--quick`` for the short ones.

Each benchmark is a script of its own, runs in a process of its own, and asserts what it timed. Peers are left out
unless ``--peers PYTHON`` names an interpreter that has them.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

HERE = Path(__file__).parent
QUICK = [
    ["import_time.py"],
    ["sampler_rates.py"],
    ["lrgeo_service.py"],
    ["hierarchy_engine.py", "--repeat", "1"],
    ["hierarchy_release.py", "--repeat", "1"],
    ["submodular_private.py"],
    ["submodular_oracles.py"],
    ["kanonymity_search.py", "--rows", "4000", "--seconds", "5"],
    ["metricdp_golden.py"],
    ["metricdp_engine.py", "--repeat", "1"],
]
LONG = [
    ["lrgeo_service.py", "--full"],
    ["kanonymity_exact.py"],
    ["kanonymity_search.py"],
    ["kanonymity_streaming.py"],
    ["time_limits.py"],
    ["hierarchy_engine.py", "--scaling", "--losses", "--tables", "--taxi"],
    ["hierarchy_release.py", "--scaling", "--units", "2000000"],
    ["submodular_oracles.py", "--full"],
    ["metricdp_golden.py", "--full"],
    ["metricdp_engine.py", "--full", "--beside"],
    ["metricdp_scaling.py"],
    ["time_limits_metricdp.py", "--check"],
]


def machine() -> str:
    """Describe the machine and the versions that a figure was measured with."""
    name = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        models = [line for line in info.read_text().splitlines() if line.startswith("model name")]
        name = models[0].split(":", 1)[1].strip() if models else name
    packages = " ".join(f"{p} {version(p)}" for p in ("numpy", "scipy", "highspy", "numba"))
    return f"# {name}, {os.cpu_count()} cores; Python {platform.python_version()}, {packages}"


def main() -> int:
    """Run them; a benchmark that fails makes the whole fail, after the others have run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="leave out what takes minutes")
    parser.add_argument("--peers", metavar="PYTHON", help="an interpreter with the group peers")
    options = parser.parse_args()
    todo = QUICK if options.quick else [*QUICK[:-4], *LONG]
    if options.peers:
        todo += [
            [f"peers_{peer}.py", "--python", options.peers]
            for peer in ("qif", "solvers", "submodular", "hierarchy")
        ]
    failed = 0
    for script, *arguments in todo:
        print(f"\n## {script} {' '.join(arguments)}", flush=True)
        command = [sys.executable, str(HERE / script), *arguments]
        failed += subprocess.run(command, check=False).returncode != 0
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
