"""Read the imports of a source tree and name those that do not point to the ground.

:data:`MAY_IMPORT` is the whole matrix, edges included: a room imports what stands in its row, and itself. ``cli``,
``service`` and ``studio`` do not import one another, but for the commands that start
them (:data:`LAUNCHERS`). ``lrgeo`` may import ``metricdp``. A ``verify.py``, or a ``verify_`` beside it, imports its
problem, core without the solvers, NumPy, the standard library, and parts of the same verifier, and nothing else,
since the checker must share no code with what it checks; for the same reason a ``problem.py`` imports core alone.
In a room inside a room the verifier may import the verifier of the room around it, and the problem its problem.
What a paper prints without a valid guarantee is in the distribution ``discreet_reproduction``, which imports this one:
nothing here imports it, and registries name its modules as text.
"""

from __future__ import annotations

import ast
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

MECHANISMS = frozenset({"metricdp", "lrgeo", "hierarchy", "kanonymity", "submodular"})
GROUND = frozenset({"core", "tables"})
JUDGED = GROUND | MECHANISMS | {"datasets", "evaluate"}
SHOWN = JUDGED | {"artefact", "streaming", "plot", "report"}
EDGES = frozenset(
    {"artefact", "streaming", "ledger", "plot", "report", "web", "cli", "service", "studio"}
)
"""Rooms that may need what is installed by an extra."""

MAY_IMPORT: dict[str, frozenset[str]] = {
    "core": frozenset(),
    "tables": frozenset({"core"}),
    **dict.fromkeys(MECHANISMS, GROUND),
    "lrgeo": GROUND | {"metricdp"},
    "testing": frozenset({"core"}),
    "datasets": frozenset({"core"}),
    "evaluate": JUDGED | {"artefact", "streaming"},
    "ledger": frozenset({"core"}),
    "artefact": GROUND | MECHANISMS,
    "streaming": GROUND | MECHANISMS | {"artefact"},
    "plot": JUDGED | {"artefact"},
    "report": JUDGED | {"artefact", "plot", "ledger"},
    "web": frozenset({"core", "lrgeo"}),
    "service": GROUND | {"lrgeo", "metricdp", "evaluate", "artefact", "web"},
    "studio": SHOWN | {"ledger", "web"},
    "cli": SHOWN | {"ledger", "web", "façade"},
}
ALL = frozenset(MAY_IMPORT)

LAUNCHERS: dict[tuple[str, ...], str] = {
    ("cli", "locate"): "service",
    ("cli", "serve"): "service",
    ("cli", "studio"): "studio",
}
"""Module -> the edge that it starts, and therefore imports."""

HARD = frozenset({"numpy", "scipy", "narwhals"})
"""Third-party packages that anything above core may import anywhere."""

NOT_IN_CORE = frozenset(
    {"http", "pathlib", "shutil", "socket", "sqlite3", "subprocess", "tempfile", "urllib"}
)
"""Standard modules whose business is I/O."""


def violations(root: Path) -> list[str]:
    """Name every import below ``root`` (the folder ``discreet``) that breaks a rule.

    Parameters
    ----------
    root
        The package's folder. Its own ``__init__.py`` is the façade, ``__main__.py`` starts it; neither is judged.

    Returns
    -------
    list of str
        ``path:line: what is wrong``, sorted by path and line.
    """
    found = []
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        if parts in {("__init__",), ("__main__",)}:
            continue
        for line, name in imports(path.read_text(encoding="utf-8"), ("discreet", *parts)):
            complaint = judge(parts, name)
            if complaint:
                found.append(f"{path.relative_to(root).as_posix()}:{line}: {complaint}")
    return found


def imports(source: str, module: tuple[str, ...]) -> Iterator[tuple[int, str]]:
    """Yield line and absolute dotted name of everything that a module imports, at any depth.

    Imports inside functions and under ``TYPE_CHECKING`` count: a type from above is a dependency on what is above.
    ``import_module`` and ``__import__`` count when their argument is written out.
    """
    # For a package, "." is the package itself; for a module, the package that holds it.
    package = module[:-1]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            prefix = ".".join((*base, node.module) if node.module else base)
            for alias in node.names:
                yield node.lineno, f"{prefix}.{alias.name}"
        elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            called = (
                node.func.attr
                if isinstance(node.func, ast.Attribute)
                else getattr(node.func, "id", "")
            )
            if called in {"import_module", "__import__"} and isinstance(node.args[0].value, str):
                yield node.lineno, node.args[0].value


def judge(parts: tuple[str, ...], name: str) -> str | None:
    """Say what is wrong with the import of ``name`` in the module at ``parts``, or nothing."""
    own = parts[0]
    if own not in MAY_IMPORT:
        return f"{own} has no place in the layers; give it one in tests/meta/layering.py"
    target = name.split(".")
    if target[0] == "discreet_reproduction":
        return f"{own} imports discreet_reproduction, which imports the library"
    if target[0] != "discreet":
        return judge_foreign(parts, target[0])
    # ``from discreet import X`` with a capital or unknown X goes through the façade.
    part = target[1] if len(target) > 1 and target[1] in ALL else "façade"
    # A room inside a room has a problem and a verifier of its own, which may build on those around it.
    problems = ([own, "problem"], [*parts[:-1], "problem"])
    around = [[own, parts[-1]]] if len(parts) > 2 else []
    if is_verifier(parts) and not (
        is_trusted(target)
        or _is_one_of(target, [*problems, *around])
        or _is_its_part(parts, target)
    ):
        return f"a verifier imports {name}"
    if parts[-1] == "problem" and not (is_trusted(target) or _is_one_of(target, around)):
        return f"a problem imports {name}"
    within = parts[1:-1] == ("problem",)
    if within and not (is_trusted(target) or target[1:3] == [own, "problem"]):
        return f"a problem imports {name}"
    if part != own and part not in MAY_IMPORT[own] and LAUNCHERS.get(parts) != part:
        return f"{own} imports {part}"
    return None


def _is_its_part(parts: tuple[str, ...], target: list[str]) -> bool:
    """Tell whether a verifier imports another file of the same verifier, which is held to the same."""
    return target[1 : len(parts)] == [*parts[:-1]] and target[len(parts)].startswith("verify_")


def _is_one_of(target: list[str], modules: Iterable[list[str]]) -> bool:
    """Tell whether a name is one of some modules, or stands in one."""
    return any(target[1 : 1 + len(module)] == module for module in modules)


def judge_foreign(parts: tuple[str, ...], package: str) -> str | None:
    """Say what is wrong with a package that is not ours, or nothing."""
    own = parts[0]
    if package in sys.stdlib_module_names:
        return (
            f"core imports {package}, which does I/O"
            if own == "core" and package in NOT_IN_CORE
            else None
        )
    if is_verifier(parts):
        return None if package == "numpy" else f"a verifier imports {package}"
    if package == "numba":
        return (
            None
            if parts[-1] == "jit" or "kernels" in parts[:-1]
            else "numba is imported outside core/jit.py and the folders kernels/"
        )
    if package == "highspy":
        return None if parts[:2] == ("core", "lp") else "highspy is imported outside core/lp"
    if own in EDGES:
        return None
    if own == "tables" and package in {"polars", "pyarrow", "openpyxl", "pyreadstat", "zstandard"}:
        return None
    if own == "testing" and package in {"hypothesis", "pytest"}:
        return None
    if package not in HARD or (own == "core" and package == "narwhals"):
        return f"{own} imports {package}, which is no hard dependency of it"
    return None


def is_verifier(parts: tuple[str, ...]) -> bool:
    """Tell whether a module is the checker of a mechanism; the command of this name only calls one."""
    return parts[0] in MECHANISMS and (parts[-1] == "verify" or parts[-1].startswith("verify_"))


def is_trusted(target: list[str]) -> bool:
    """Tell whether a name of ours is core, without the solvers."""
    return target[1:2] == ["core"] and target[2:3] != ["lp"]
