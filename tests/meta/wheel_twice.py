"""Build the wheels of two copies in two folders and compare them: what is published can be built again."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
NEEDED = ("pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "src", "reproduction")
LEAVE = shutil.ignore_patterns("__pycache__", "*.nbi", "*.nbc", "*.egg-info")


def copy(folder: Path) -> Path:
    """Copy what a wheel is made of; files get the time of the copy."""
    folder.mkdir(parents=True)
    for name in NEEDED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=LEAVE, copy_function=shutil.copyfile)
        else:
            shutil.copyfile(source, folder / name)
    return folder


def build(folder: Path) -> dict[str, str]:
    """Build the wheels of a copy and return their names with their digests."""
    digests = {}
    for project in (folder, folder / "reproduction"):
        subprocess.run(
            [
                sys.executable,
                "-m",
                "build",
                "--wheel",
                "--no-isolation",
                "--outdir",
                str(folder / "dist"),
                str(project),
            ],
            check=True,
            stdout=subprocess.DEVNULL,
        )
    for wheel in sorted((folder / "dist").glob("*.whl")):
        digests[wheel.name] = hashlib.sha256(wheel.read_bytes()).hexdigest()
    return digests


def main() -> int:
    """Build twice; 1 where a digest differs."""
    with tempfile.TemporaryDirectory() as folder:
        first = build(copy(Path(folder) / "one"))
        second = build(copy(Path(folder) / "two" / "deeper"))
    for name, digest in first.items():
        sys.stdout.write(f"{digest}  {name}\n")
    if len(first) != len(NEEDED[-2:]) or first != second:
        sys.stderr.write(f"two builds differ: {second}" + "\n")
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
