"""What the built pages must hold: ``python docs/tools/gate.py docs/_build``, run by ``make docs``.

Each public name is found in ``objects.inv``; the sidebar has at most forty links; each tutorial is there as a notebook
that was run. Prints what is missing and ends with status 1.
"""  # noqa: INP001 - a folder of Sphinx extensions, put on the path by conf.py

from __future__ import annotations

import json
import re
import sys
import zlib
from pathlib import Path

MOST_LINKS = 40


def inventory(path: Path) -> set[str]:
    """Read the Python names of an inventory of Sphinx: four lines of text, then compressed lines."""
    head, _, rest = path.read_bytes().partition(b"zlib.\n")
    if not head.startswith(b"# Sphinx inventory version 2"):
        raise ValueError(f"{path} is no inventory of version 2")
    lines = zlib.decompress(rest).decode("utf-8").splitlines()
    return {line.split(" ", 1)[0] for line in lines if re.match(r"\S+ py:", line)}


def sidebar_links(page: str) -> int:
    """Count the links of the sidebar of a page."""
    found = re.search(r'<div class="sidebar-tree">(.*?)\n</div>', page, re.DOTALL)
    if found is None:
        raise ValueError("the page has no sidebar")
    return found[1].count("<a ")


def unrun(notebook: str) -> int:
    """Count the cells of code of a notebook that were not run."""
    cells = json.loads(notebook)["cells"]
    return sum(
        cell["cell_type"] == "code" and cell["execution_count"] is None and bool(cell["source"])
        for cell in cells
    )


def complaints(built: Path, names: set[str], tutorials: set[str]) -> list[str]:
    """List what the built pages lack.

    Parameters
    ----------
    built
        The folder of the pages.
    names
        The public names.
    tutorials
        The names of the notebooks.
    """
    found = [f"no page for {name}" for name in sorted(names - inventory(built / "objects.inv"))]
    links = sidebar_links((built / "index.html").read_text(encoding="utf-8"))
    if links > MOST_LINKS:
        found.append(f"{links} links in the sidebar, at most {MOST_LINKS} are allowed")
    for name in sorted(tutorials):
        paths = list(built.glob(f"_downloads/*/{name}.ipynb"))
        if not paths:
            found.append(f"no notebook of {name}")
        found += [
            f"{cells} cells of {name} were not run"
            for cells in (unrun(path.read_text(encoding="utf-8")) for path in paths)
            if cells
        ]
    return found


def main() -> int:
    """Look at the folder that is named."""
    from api_pages import public_names

    docs = Path(__file__).parents[1]
    tutorials = {path.stem for path in (docs / "tutorials").glob("*.md")}
    found = complaints(Path(sys.argv[1]), {one.name for one in public_names()}, tutorials)
    for line in found:
        sys.stderr.write(f"docs: {line}\n")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
