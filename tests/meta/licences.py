"""The licences of what is installed with discreet and all its extras; ``THIRD_PARTY.md`` is this, printed."""

from __future__ import annotations

import re
import sys
from importlib.metadata import PackageNotFoundError, distribution
from typing import Any

TITLE = """# What discreet is installed with

The licences of the packages that `discreet[all]` installs, as they state them themselves;
`python tests/meta/licences.py` prints this page. None of them is part of the wheel.

| package | licence |
| --- | --- |"""

NAME = re.compile(r"^[A-Za-z0-9._-]+")


def canonical(name: str) -> str:
    """Write a name as the index does."""
    return re.sub(r"[-_.]+", "-", name).lower()


def needed(root: str = "discreet") -> dict[str, str]:
    """Return all packages that the library needs with its extras, each with its licence."""
    found: dict[str, str] = {}
    todo = [(root, frozenset({"all", "cli", "service", "studio", "dask", "tables", "plot"}))]
    while todo:
        name, extras = todo.pop()
        try:
            package = distribution(name)
        except PackageNotFoundError:
            # Of another platform or another Python.
            continue
        for line in package.requires or ():
            requirement, _, condition = line.partition(";")
            extra = re.search(r"extra == ['\"]([^'\"]+)['\"]", condition)
            if extra is not None and extra.group(1) not in extras:
                continue
            match = NAME.match(requirement.strip())
            assert match is not None, line
            child = canonical(match.group())
            if child not in found and child != root:
                found[child] = ""
                todo.append((child, frozenset()))
        if name != root:
            found[name] = licence(name)
    return {name: text for name, text in sorted(found.items()) if text}


def licence(name: str) -> str:
    """Return the licence that a package states: the expression, the classifier, or the first line of the text."""
    meta: Any = distribution(name).metadata
    stated = [
        str(each) for each in meta.get_all("Classifier") or () if each.startswith("License ::")
    ]
    for each in (
        meta.get("License-Expression"),
        *(line.rpartition(" :: ")[2] for line in stated),
        meta.get("License"),
    ):
        if each and each.strip():
            return str(each).strip().splitlines()[0]
    return "not stated"


def main() -> None:
    """Print the page."""
    sys.stdout.write(TITLE + "\n")
    for name, text in needed().items():
        sys.stdout.write(f"| {name} | {text} |\n")


if __name__ == "__main__":
    main()
