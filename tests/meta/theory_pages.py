"""What a page of an algorithm must hold: fixed headings, names of code and tests that exist."""

from __future__ import annotations

import re
from importlib import import_module, util
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from discreet.core.method import Methods

ROOT = Path(__file__).parents[2]

HEADINGS = (
    ("Statement",),
    ("Guarantee",),
    ("Proof", "Why it holds"),
    ("Cost",),
    ("Where this departs from the paper",),
    ("Code and tests",),
)
"""The sections of a page in their order, each with the titles that it may have."""

SECTION = re.compile(r"^## (.+)$", re.MULTILINE)
QUOTED = re.compile(r"`([^`\n]+)`")
METHODS = re.compile(r"^Methods?: ((?:`[^`]+`(?:, | and )?)+)\.", re.MULTILINE)
OBJECT = re.compile(r"discreet(?:_reproduction)?(?:\.\w+)+")
FILE = re.compile(r"(?:reproduction/)?(?:tests|benchmarks|src|docs)/[\w./-]+")
CITED = re.compile(r"\[[A-Z][A-Za-z]*\d{2}[a-z]?\]_")
LEAST_WORDS = 5


def sections(text: str) -> dict[str, str]:
    """Map each title of the second level to its text, in order."""
    parts = SECTION.split(text)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def methods_of(text: str) -> list[str]:
    """List the names of methods that a page is about: its line ``Method: `name`.`` under Code and tests."""
    return [
        name
        for line in METHODS.findall(sections(text).get("Code and tests", ""))
        for name in QUOTED.findall(line)
    ]


def is_there(name: str) -> bool:
    """Tell whether a dotted name is a module, or something that a module holds."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        module = ".".join(parts[:length])
        try:
            found = util.find_spec(module) is not None
        except ModuleNotFoundError:
            continue
        if found:
            held: object = import_module(module)
            for part in parts[length:]:
                if not hasattr(held, part):
                    return False
                held = getattr(held, part)
            return True
    return False


def false_names(text: str, root: Path) -> list[str]:
    """List what a section names and what is not there: modules and their members, files, functions of tests."""
    names = QUOTED.findall(text)
    files = [name for name in names if FILE.fullmatch(name)]
    tested = "\n".join(
        (root / name).read_text(encoding="utf-8")
        for name in files
        if name.endswith(".py") and (root / name).is_file()
    )
    found = [f"no file {name}" for name in files if not (root / name).exists()]
    found += [f"nothing is {n}" for n in names if OBJECT.fullmatch(n) and not is_there(n)]
    found += [
        f"no test {name} in the files named"
        for name in names
        if re.fullmatch(r"test_\w+", name) and f"def {name}(" not in tested
    ]
    return found


def faults(text: str, root: Path = ROOT) -> list[str]:
    """List what a page lacks."""
    held = sections(text)
    found = [] if text.startswith("# ") else ["no title"]
    titles = list(held)
    for place, allowed in enumerate(HEADINGS):
        title = titles[place] if place < len(titles) else ""
        if title not in allowed:
            found.append(f"section {place + 1} is {title!r}, not {' or '.join(allowed)!r}")
        elif len(held[title].split()) < LEAST_WORDS:
            found.append(f"{title!r} says nothing")
    found += [f"{title!r} is one too many" for title in titles[len(HEADINGS) :]]
    last = held.get("Code and tests", "")
    names = QUOTED.findall(last)
    if not any(OBJECT.fullmatch(name) for name in names):
        found.append("no code is named")
    if not any(FILE.fullmatch(name) and "tests/" in name for name in names):
        found.append("no test is named")
    found += [f"{key} is cited as in a docstring" for key in CITED.findall(text)]
    return found + false_names(last, root)


def proved_in_modules(*registries: Methods) -> set[str]:
    """Names of methods whose module has a docstring with guarantee and proof: their pages are generated."""
    found = set()
    for record in (one for registry in registries for one in registry.proven.values()):
        text = import_module(record.where.partition(":")[0]).__doc__ or ""
        if all(
            re.search(rf"^{title}\n-+$", text, re.MULTILINE) for title in ("Guarantee", "Proof")
        ):
            found.add(record.name)
    return found


def without_page(
    registry: Iterable[str], pages: Mapping[str, str], proved: Collection[str] = ()
) -> list[str]:
    """List methods without a page, unless they are `proved`, those with two, and unknown names on a page."""
    known = set(registry)
    told = [(name, page) for page, text in pages.items() for name in methods_of(text)]
    names = [name for name, _ in told]
    found = [f"{name} has no page" for name in sorted(known - set(names) - set(proved))]
    found += [
        f"{name} has {names.count(name)} pages"
        for name in sorted(set(names))
        if names.count(name) > 1
    ]
    return found + [
        f"{page} names {name}, which is none" for name, page in told if name not in known
    ]


def pages_of(folder: str, root: Path = ROOT) -> dict[str, str]:
    """Read the pages of a folder of ``docs/theory``, by name."""
    return {
        path.stem: path.read_text(encoding="utf-8")
        for path in sorted((root / "docs" / "theory" / folder).glob("*.md"))
    }
