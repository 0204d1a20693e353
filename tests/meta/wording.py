"""Count the names, docstrings and constants that a reader from outside may not understand.

The counts are places to look at, not verdicts: see the guide in CONTRIBUTING. ``python tests/meta/wording.py FOLDER``
prints each place; :mod:`meta.test_budgets` holds the counts, which may only fall.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_PARAMETERS = 12
"""Parameters beyond which a function's call can't be read."""

MAX_FUNCTION_LINES = 100
"""Lines beyond which a function holds more than one step."""

MIN_MESSAGE_LENGTH = 25
"""Characters from which a string counts as a sentence."""

MOODS = re.compile(
    r"(tell|say|give|ask|hold|look|meet|lay|name|bring|turn|let|leave|put|stand|cut|make|have)\b",
    re.IGNORECASE,
)
"""First words of docstrings that name no computation."""

PARTICIPLES = re.compile(
    r"_*(told|said|found|held|looks|rooms|turned|mended|asked|dealt|meant|laid|brought|taken|given|kept|dearest|"
    r"dearer|dive|meet|whole|spot|here|there|others|none|much|enough|soon|late)_*"
)
"""Names that are participles or adverbs."""

PHRASES = re.compile(
    r"\b(of which it is|what is none|that is none|where none (is|has)|those that (are|have)|the same of others|"
    r"nothing where|unless told|whoever|somebody|it is said|as it is said|is told|are told|what it takes|"
    r"what is left of|what is thought|thought to be|goes with it|that whose|whose own|at once with|as much as|"
    r"as far as|no more than is|by what|of what|what .{1,30} is of)\b",
    re.IGNORECASE,
)
"""Clauses that stand where a noun belongs."""

NUMBER = re.compile(r"[-+*/() 0-9._e]+")

Function = ast.FunctionDef | ast.AsyncFunctionDef
Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def places(root: Path) -> dict[str, list[str]]:
    """List the places of each kind below ``root``, as ``file:line text``."""
    listed: dict[str, list[str]] = defaultdict(list)
    for path in sorted(root.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        name = path.relative_to(root).as_posix()
        for kind, line, text in (*_in_nodes(tree), *_constants(tree)):
            listed[kind].append(f"{name}:{line} {' '.join(text.split())[:150]}")
    return listed


def _in_nodes(tree: ast.Module) -> Iterator[tuple[str, int, str]]:
    """Yield kind, line and text of what is found in docstrings, names, signatures and strings."""
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, Documented) and node.body and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, Documented):
            yield from _in_docstring(node, ast.get_docstring(node) or "")
        if isinstance(node, Function):
            yield from _in_signature(node)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            if PARTICIPLES.fullmatch(node.id):
                yield "values named by a participle or an adverb", node.lineno, node.id
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            is_sentence = len(node.value) > MIN_MESSAGE_LENGTH and id(node) not in docstrings
            for match in PHRASES.finditer(node.value) if is_sentence else ():
                text = node.value[max(0, match.start() - 40) : match.end() + 40]
                yield "phrases without a noun", node.lineno, text


def _in_docstring(node: Documented, text: str) -> Iterator[tuple[str, int, str]]:
    line = getattr(node, "lineno", 1)
    first = text.strip().partition("\n")[0]
    if isinstance(node, Function) and MOODS.match(first):
        yield "docstrings that begin with a verb of mood or speech", line, first
    for match in PHRASES.finditer(text):
        yield (
            "phrases without a noun",
            line,
            text[max(0, match.start() - 40) : match.end() + 40],
        )


def _in_signature(node: Function) -> Iterator[tuple[str, int, str]]:
    if PARTICIPLES.fullmatch(node.name):
        yield "functions named by a participle or an adverb", node.lineno, node.name
    count = len(node.args.posonlyargs) + len(node.args.args) + len(node.args.kwonlyargs)
    if count > MAX_PARAMETERS:
        yield f"more than {MAX_PARAMETERS} parameters", node.lineno, f"{node.name}: {count}"
    length = (node.end_lineno or node.lineno) - node.lineno
    if length > MAX_FUNCTION_LINES:
        yield (
            f"functions of more than {MAX_FUNCTION_LINES} lines",
            node.lineno,
            f"{node.name}: {length}",
        )


def _constants(tree: ast.Module) -> Iterator[tuple[str, int, str]]:
    for node in tree.body:
        if isinstance(node, ast.AnnAssign):
            target: ast.expr | None = node.target
        elif isinstance(node, ast.Assign) and len(node.targets) == 1:
            target = node.targets[0]
        else:
            continue
        if not (isinstance(target, ast.Name) and target.id.isupper() and node.value):
            continue
        value = ast.unparse(node.value)
        if NUMBER.fullmatch(value):
            yield "numeric constants at module level", node.lineno, f"{target.id} = {value}"
            if "_" not in target.id.strip("_"):
                yield (
                    "numeric constants named by one word",
                    node.lineno,
                    f"{target.id} = {value}",
                )


def main() -> None:
    """Print every place, kind by kind."""
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path("src/discreet")
    for kind, found in sorted(places(root).items()):
        sys.stdout.write(f"\n{len(found):5} {kind}\n" + "".join(f"      {one}\n" for one in found))


if __name__ == "__main__":
    main()
