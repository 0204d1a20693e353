"""Break the trusted base by rule, one place at a time, and list what no test notices.

Run by hand from the root, for as long as one likes::

    python tests/mutants/sweep.py --seconds 600 core/guarantee.py
    python tests/mutants/sweep.py --seconds 3600 --workers 8

The order is a shuffle that never changes, so that a longer run begins with what a shorter one did. What survives for a
reason stands in :mod:`mutants.equivalent`, and on the page docs/theory/mutants.md. Anything else is a hole.

Why not a tool from outside: those that we know rewrite the working tree, or import what they mutate into one process,
where compiled kernels and caches of exact numbers outlive the change.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from mutants.equivalent import EQUIVALENT
from mutants.forked import preload, run_forked
from mutants.mutant import PYTEST_FAILED, ROOT, copy_project, planted
from mutants.sites import Site, broken, sites

_RANDOM = "tests/core/randomness"
_EXACT = "tests/audits/test_exact_samplers.py"
TESTS: dict[str, tuple[str, ...]] = {
    "core/guarantee.py": (
        "tests/core/test_guarantee.py",
        "tests/core/test_calculus.py",
        "src/discreet/core/guarantee.py",
    ),
    "core/calculus.py": ("tests/core/test_calculus.py", "tests/laws/test_guarantee_laws.py"),
    "core/channels/channel.py": (
        "tests/core/channels/test_channel.py",
        "src/discreet/core/channels/channel.py",
    ),
    "core/randomness/bernoulli.py": (f"{_RANDOM}/test_bernoulli.py", _EXACT),
    "core/randomness/bits.py": (f"{_RANDOM}/test_bits.py",),
    "core/randomness/choice.py": (f"{_RANDOM}/test_choice.py", _EXACT),
    "core/randomness/gaussian.py": (f"{_RANDOM}/test_gaussian.py", _EXACT),
    "core/randomness/inversion.py": (
        f"{_RANDOM}/test_inversion.py",
        f"{_RANDOM}/test_noise.py",
        _EXACT,
    ),
    "core/randomness/noise.py": (f"{_RANDOM}/test_noise.py", _EXACT),
    "core/channels/check_implicit.py": ("tests/core/channels/test_check_anchored.py",),
    "core/spaces/check_distances.py": ("tests/core/spaces/test_check_distances.py",),
    "core/channels/check_ratios.py": (
        "tests/core/channels/test_check_ratios.py",
        "tests/metricdp/test_verify.py",
    ),
    "hierarchy/verify.py": ("tests/hierarchy/test_verify_counts.py",),
    "kanonymity/verify.py": ("tests/kanonymity/test_verify_tables.py",),
    "metricdp/verify.py": ("tests/metricdp/test_verify.py",),
    "submodular/verify.py": ("tests/submodular/test_verify_selection.py",),
}
"""What must notice: the tests that speak for a file."""
LIMIT = 120.0
"""Seconds for one file of tests: what runs longer hangs, which is noticed."""


def survives(copy: Path, file: str, site: Site) -> bool:
    """Tell whether all tests of a file pass with one place of it broken."""
    source = broken((copy / "src" / "discreet" / file).read_text(encoding="utf-8"), site)
    with planted(copy, file, source):
        for tests in TESTS[file]:
            status, _, printed = run_forked(copy, [tests], limit=LIMIT)
            # A module that cannot be imported any more is an error of collection, hence 2.
            if status in {PYTEST_FAILED, 2, None}:
                return False
            if status:
                raise RuntimeError(f"{tests} could not be run, status {status}\n{printed}")
    return True


def work(files: list[str], turn: int, turns: int, until: float, results: Path) -> None:
    """Be one worker: every so-manieth site, in a copy of one's own, until the time is over."""
    found = [
        (site.order, file, site)
        for file in files
        for site in sites((ROOT / "src" / "discreet" / file).read_text(encoding="utf-8"))
        if f"{file}: {site.name}" not in EQUIVALENT
    ]
    found.sort(key=lambda entry: entry[:2])
    with (
        tempfile.TemporaryDirectory() as folder,
        results.open("a", encoding="utf-8", buffering=1) as log,
    ):
        copy = copy_project(Path(folder))
        for _, file, site in found[turn::turns]:
            if time.monotonic() > until:
                return
            told = "survives" if survives(copy, file, site) else "noticed"
            log.write(f"{told}\t{file}:{site.line}\t{site.name}\n")


def main() -> None:
    """Sweep, and say what survived; exit with 1 if anything did."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("files", nargs="*", default=list(TESTS), help="under src/discreet")
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    asked = parser.parse_args()
    unknown = set(asked.files) - set(TESTS)
    if unknown:
        parser.error(f"no tests are known for {', '.join(sorted(unknown))}")
    preload()
    until = time.monotonic() + asked.seconds
    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder) / "results"
        results.touch()
        children = []
        for turn in range(asked.workers):
            child = os.fork()
            if not child:
                code = 1
                try:
                    work(asked.files, turn, asked.workers, until, results)
                    code = 0
                finally:
                    sys.stderr.flush()
                    os._exit(code)
            children.append(child)
        broke_off = sum(os.waitpid(child, 0)[1] != 0 for child in children)
        lines = sorted(results.read_text(encoding="utf-8").splitlines())
    left = [line for line in lines if line.startswith("survives")]
    told = [
        *left,
        f"{len(lines)} places broken, {len(lines) - len(left)} noticed, {len(left)} not",
        f"{len(EQUIVALENT)} left out: they change nothing, and the reasons are written down",
    ]
    sys.stdout.write("\n".join(told) + "\n")
    if left or broke_off or not lines:
        sys.exit(1)


if __name__ == "__main__":
    main()
