"""All benchmarks, one after the other, printed with the machine. ``make bench``; ``--quick`` for the short ones.

Each benchmark is a script of its own, runs in a process of its own, and asserts what it timed. Peers are left out
unless ``--peers PYTHON`` names an interpreter that has them, Adult unless ``--adult FOLDER`` says where it is.
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
    ["kanonymity_numbers.py"],
    ["kanonymity_ablation.py", "bound"],
    ["time_limits.py"],
    ["hierarchy_engine.py", "--scaling", "--losses", "--tables", "--taxi"],
    ["hierarchy_release.py", "--scaling", "--units", "2000000"],
    ["hierarchy_tables.py"],
    ["hierarchy_blocks.py"],
    ["hierarchy_records.py"],
    ["hierarchy_workloads.py", "--groups", "12"],
    ["lrgeo_design.py"],
    ["lrgeo_design.py", "--points", "--full"],
    ["lrgeo_published.py"],
    ["service_soak.py", "--seconds", "600"],
    ["service_week.py"],
    ["submodular_oracles.py", "--full"],
    ["metricdp_golden.py", "--full"],
    ["metricdp_engine.py", "--full", "--beside"],
    ["metricdp_scaling.py"],
    ["metricdp_anchored.py"],
    ["metricdp_benders.py"],
    ["metricdp_families.py"],
    ["metricdp_large.py"],
    ["time_limits_metricdp.py", "--check"],
]
PEERS = {
    "peers_qif.py": "--python",
    "peers_solvers.py": "--python",
    "peers_submodular.py": "--python",
    "peers_hierarchy.py": "--python",
    "peers_tables.py": "--peers",
}
"""The option by which each takes the interpreter that has the peers."""

ADULT = ["kanonymity_large.py", "kanonymity_workers.py", "kanonymity_plan.py"]
"""What takes a folder of Adult with ARX's hierarchies, which the project does not hold."""

BOTH = ["peers_mondrian.py"]
"""What takes Adult and the interpreter that has the peers."""

APART = ["beside_peers.py", "aim_on_mbi.py", "peers_aim.py"]
"""What writes the picture of the README; and AIM on mbi 2, which needs an environment of its own."""


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
    parser.add_argument("--adult", metavar="FOLDER", help="Adult and its hierarchies")
    options = parser.parse_args()
    todo = QUICK if options.quick else [*QUICK[:-4], *LONG]
    if options.peers:
        todo += [[script, option, options.peers] for script, option in PEERS.items()]
    if options.adult:
        todo += [[script, options.adult] for script in ADULT]
    if options.adult and options.peers:
        todo += [[script, options.adult, "--peers", options.peers] for script in BOTH]
    failed = 0
    for script, *arguments in todo:
        print(f"\n## {script} {' '.join(arguments)}", flush=True)
        command = [sys.executable, str(HERE / script), *arguments]
        failed += subprocess.run(command, check=False).returncode != 0
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
