"""Measure the house: how the modules of a source tree hang together, and how much of it there is.

Every figure is read from the source alone, so that it is the same on every machine. ``python tests/meta/house.py``
prints the table for the package, ``python tests/meta/house.py FOLDER`` for another tree of the same name.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

ROOT = Path(__file__).parents[2]
PACKAGE = "discreet"

SMALL = 100
"""Lines below which a file is asked why it is a file."""

FEW = 2
"""Definitions up to which a short file counts as small."""

SEVERAL_BY_DESIGN = frozenset({"Problem", "Method"})
"""Class names that each mechanism has on purpose."""

SEVERAL_WITH_REASON = {
    "Client": "`service.Client` speaks HTTP for the `lrgeo.Client` inside; users know each by its package",
    "Plan": "what `hierarchy.plan` and `submodular.plan` give: the same verb, the same noun",
    "TopDown": "the Census Bureau's algorithm, and top-down splitting of tables: each by its published name",
}
"""Class names that more than one module has, and why."""

CSV = re.compile(
    r"\bcsv\.(?:reader|DictReader|Sniffer)\b|\b(?:read|scan)_csv\b|\bread_csv_batched\b"
)
"""Whatever parses comma-separated values."""


class Import(NamedTuple):
    """One name that a module imports from another module of the package."""

    line: int
    source: str
    name: str


def modules(root: Path) -> dict[str, Path]:
    """Find the modules below ``root``, the folder of the package, by dotted name."""
    found = {}
    for path in sorted(root.rglob("*.py")):
        parts = (PACKAGE, *path.relative_to(root).with_suffix("").parts)
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports(tree: ast.AST, known: Iterable[str]) -> Iterator[Import]:
    """Yield what a module imports from modules of the package, at any depth and under ``TYPE_CHECKING`` too."""
    known = set(known)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            if node.module.split(".")[0] != PACKAGE:
                continue
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                if whole in known:
                    yield Import(node.lineno, whole, "")
                else:
                    yield Import(node.lineno, node.module, alias.name)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name in known:
                    yield Import(node.lineno, alias.name, "")


def graph(found: Mapping[str, Path]) -> dict[str, list[Import]]:
    """Read the imports of every module."""
    return {
        name: list(imports(ast.parse(path.read_text(encoding="utf-8")), found))
        for name, path in found.items()
    }


def circles(arrows: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """Find the sets of modules that import one another."""
    names = sorted(arrows)
    place = {name: number for number, name in enumerate(names)}
    pairs = {(place[name], place[to]) for name in names for to in arrows[name] if to in place}
    if not pairs:
        return []
    source, target = zip(*sorted(pairs), strict=True)
    links = csr_array((np.ones(len(pairs)), (source, target)), shape=(len(names), len(names)))
    _, labels = connected_components(links, connection="strong")
    found: dict[int, list[str]] = defaultdict(list)
    for name, label in zip(names, labels, strict=True):
        found[int(label)].append(name)
    itself = {names[at] for at, to in pairs if at == to}
    return sorted(held for held in found.values() if len(held) > 1 or held[0] in itself)


def folder(module: str, found: Mapping[str, Path]) -> str:
    """Name the package that holds a module: itself, where it is one."""
    return module if found[module].name == "__init__.py" else module.rpartition(".")[0]


def foreign_underscores(
    edges: Mapping[str, list[Import]], found: Mapping[str, Path]
) -> list[tuple[str, Import]]:
    """List the imports of a private name, or of anything in a private module, of another package."""
    wrong = []
    for module, taken in edges.items():
        own = folder(module, found)
        for item in taken:
            parts = [*item.source.split("."), *([item.name] if item.name else [])]
            for place, part in enumerate(parts):
                if part.startswith("_") and not part.startswith("__"):
                    holder = ".".join(parts[:place])
                    inside = own == holder or own.startswith(holder + ".")
                    # A private module of one's own package may be used; a private name only where it is defined.
                    if not inside or holder == PACKAGE:
                        wrong.append((module, item))
                        break
    return wrong


def names_across(edges: Mapping[str, list[Import]]) -> int:
    """Count the pairs of a module's room, right below the package, and a name that it takes from another room."""

    def room(module: str) -> str:
        return ".".join(module.split(".")[:2])

    pairs = {
        (room(module), item.source, item.name)
        for module, taken in edges.items()
        for item in taken
        if room(item.source) != room(module)
    }
    return len(pairs)


STRING_OR_COMMENT = re.compile(
    r"""[rbfu]{0,2}(\"{3}|'{3})(?:[^\\]|\\.)*?\1|[rbfu]{0,2}(["'])(?:(?!\2)[^\\\n]|\\.)*\2|\#[^\n]*""",
    re.DOTALL | re.IGNORECASE,
)
"""Whatever else may hold the marks of the other."""

TOKEN = re.compile(
    r"\d(?:e[-+]|[\w.])*|\w+|->|\.\.\.|(?:\*\*|//|<<|>>|[-+*/%&|^@=<>:!])=?|[^\s\\]", re.IGNORECASE
)
"""A number, a name or an operator."""


def _without_text(found: re.Match[str]) -> str:
    """Write a string as one number that goes on over its lines, and a comment as nothing."""
    return "" if found[0].startswith("#") else " 0 " + "\n\\" * found[0].count("\n")


def _statements(body: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Yield all statements, and do not look at the expressions inside."""
    for node in body:
        yield node
        for part in ("body", "handlers", "cases", "orelse", "finalbody"):
            yield from _statements(getattr(node, part, ()))


@cache
def _code(source: str) -> tuple[str, ...]:
    """Return the lines that hold code, with a number in place of each string: no blank one, comment or docstring.

    It is read by patterns, which takes a quarter of the time of ``tokenize`` and is the same in each version of Python.
    """
    prose: set[int] = set()
    for node in _statements(ast.parse(source).body):
        # A string that stands as a statement is prose: a docstring, or one below an attribute.
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ):
            prose.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    lines = STRING_OR_COMMENT.sub(_without_text, source).split("\n")
    return tuple(text for at, text in enumerate(lines, 1) if text.strip() and at not in prose)


def code_lines(source: str) -> int:
    """Count the lines that hold code: no blank one, no comment, no docstring."""
    return len(_code(source))


def significant_tokens(source: str) -> int:
    """Count the tokens of the lines that :func:`code_lines` counts, so that a shorter file is not a denser one."""
    return sum(len(TOKEN.findall(line)) for line in _code(source))


def room_lines(root: Path) -> dict[str, int]:
    """Count the code lines of each room right below the package; ``facade`` is its own ``__init__``."""
    lines: dict[str, int] = defaultdict(int)
    for module, path in modules(root).items():
        room = module.split(".")[1] if "." in module else "facade"
        lines[room] += code_lines(path.read_text(encoding="utf-8"))
    return dict(sorted(lines.items()))


@cache
def _defined(path: Path) -> list[tuple[str, bool]]:
    """List the functions and classes at the top of a file by name, and whether each is a class."""
    return [
        (node.name, isinstance(node, ast.ClassDef))
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    ]


def is_small(path: Path) -> bool:
    """Tell whether a file has few lines and few definitions, and is no face of a package nor a method."""
    if path.name == "__init__.py" or path.parent.name == "methods":
        return False
    lines = path.read_text(encoding="utf-8").splitlines()
    return len(lines) < SMALL and len(_defined(path)) <= FEW


def parses_csv(path: Path) -> bool:
    """Tell whether a module parses comma-separated values itself."""
    return bool(CSV.search(path.read_text(encoding="utf-8")))


def several_meanings(found: Mapping[str, Path]) -> dict[str, list[str]]:
    """Find the public class names that more than one module defines."""
    where: dict[str, list[str]] = defaultdict(list)
    for module, path in found.items():
        for name, is_class in _defined(path):
            if is_class and not name.startswith("_"):
                where[name].append(module)
    return {
        name: held
        for name, held in sorted(where.items())
        if len(held) > 1 and name not in SEVERAL_BY_DESIGN
    }


def structure(root: Path) -> dict[str, int]:
    """Measure how the package below ``root`` hangs together.

    Returns
    -------
    dict
        The name of a figure -> the figure.
    """
    found = modules(root)
    edges = graph(found)
    arrows = {name: [item.source for item in taken] for name, taken in edges.items()}
    return {
        "files": len(found),
        "import circles": len(circles(arrows)),
        "private names of another package": len(foreign_underscores(edges, found)),
        "names imported across packages": names_across(edges),
        "small files": sum(map(is_small, found.values())),
        "modules that parse CSV": sum(map(parses_csv, found.values())),
        "class names with several meanings": len(several_meanings(found)),
    }


def causes(root: Path) -> list[str]:
    """Say what the figures of :func:`structure` count, a line each."""
    found = modules(root)
    edges = graph(found)
    arrows = {name: [item.source for item in taken] for name, taken in edges.items()}
    return [
        *(f"circle: {', '.join(circle)}" for circle in circles(arrows)),
        *(
            f"private: {module}:{item.line}: {item.source} {item.name}"
            for module, item in foreign_underscores(edges, found)
        ),
        *(f"csv: {path.relative_to(root)}" for path in found.values() if parses_csv(path)),
        *(f"small: {path.relative_to(root)}" for path in found.values() if is_small(path)),
        *(f"class {name}: {', '.join(held)}" for name, held in several_meanings(found).items()),
    ]


def main() -> None:
    """Print the table, and behind it what the figures count."""
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "src" / PACKAGE
    lines = [f"{figure:7,}  {name}" for name, figure in structure(root).items()]
    lines.append(f"{sum(room_lines(root).values()):7,}  code lines")
    sys.stdout.write("\n".join([*lines, *causes(root), ""]))


if __name__ == "__main__":
    main()
