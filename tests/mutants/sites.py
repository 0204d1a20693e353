"""Where a source file may be broken by rule: comparisons, constants, and/or, floor/ceil, refusals, statements.

A site is named by the function in which it stands and by what changes, not by its line: names outlive most edits.
"""

from __future__ import annotations

import ast
import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["Site", "broken", "sites"]

COMPARED: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
}
"""The boundary moved, and the direction reversed."""
_TURNED = (
    ("floor", "ceil"),
    ("exp_floor", "exp_ceil"),
    ("log_floor", "log_ceil"),
    ("exp_below", "exp_above"),
    ("log_below", "log_above"),
    ("float_floor", "float_ceil"),
    ("min", "max"),
    ("minimum", "maximum"),
    ("any", "all"),
    ("bisect_left", "bisect_right"),
)
TURNED = dict(_TURNED) | {b: a for a, b in _TURNED}
Scope = ast.FunctionDef | ast.ClassDef


@final
@dataclass(frozen=True)
class Site:
    """One place and one change.

    Parameters
    ----------
    name
        Function, what stands there, and what would stand there.
    line
        Where it stands now.
    path
        Fields and positions that lead from the module to the node.
    change
        Makes the new node from the old one.
    """

    name: str
    line: int
    path: tuple[str | int, ...]
    change: Callable[[ast.AST], ast.AST]

    @property
    def order(self) -> str:
        """A shuffle that is the same everywhere: samples of it are spread over all kinds and places."""
        return hashlib.sha256(self.name.encode()).hexdigest()


def sites(source: str) -> list[Site]:
    """List every change to a source file, in the order of its lines; a name that comes twice is numbered."""
    found: list[Site] = []
    seen: dict[str, int] = {}
    for site in _walk(ast.parse(source), (), ""):
        seen[site.name] = seen.get(site.name, 0) + 1
        number = f" #{seen[site.name]}" if seen[site.name] > 1 else ""
        found.append(Site(site.name + number, site.line, site.path, site.change))
    return found


def broken(source: str, site: Site) -> str:
    """Make the change."""
    module = ast.parse(source)
    *above, last = site.path
    holder: ast.AST | list[ast.AST] = module
    for step in above:
        holder = holder[step] if isinstance(holder, list) else getattr(holder, str(step))  # type: ignore[index]
    if isinstance(holder, list):
        holder[last] = site.change(holder[last])  # type: ignore[index]
    else:
        setattr(holder, str(last), site.change(getattr(holder, str(last))))
    return ast.unparse(ast.fix_missing_locations(module))


def _walk(node: ast.AST, path: tuple[str | int, ...], scope: str) -> Iterator[Site]:
    if isinstance(node, Scope):
        scope = f"{scope}.{node.name}".lstrip(".")
    for told, change in _changes(node):
        line: int = getattr(node, "lineno", 0)
        yield Site(f"{scope or 'module'}: {told}", line, path, change)
    for name, value in ast.iter_fields(node):
        if name in {"annotation", "returns", "decorator_list", "type_params"} or _is_left(
            node, name
        ):
            continue
        if isinstance(value, ast.AST):
            yield from _walk(value, (*path, name), scope)
        elif isinstance(value, list):
            for at, item in enumerate(value):
                if isinstance(item, ast.AST) and not _is_words(item):
                    yield from _walk(item, (*path, name, at), scope)


def _is_left(node: ast.AST, name: str) -> bool:
    """Tell whether a part only speaks to people or to type checkers."""
    if isinstance(node, ast.Raise | ast.JoinedStr):
        return True
    if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
        return True
    checked = isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    return checked and name != "orelse"


def _is_words(node: ast.AST) -> bool:
    """Tell whether a statement is a docstring, or one that only a type checker reads."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return True
    typed = isinstance(node, ast.FunctionDef) and any(
        ast.unparse(decorator) == "overload" for decorator in node.decorator_list
    )
    return typed or (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")


def _changes(node: ast.AST) -> Iterator[tuple[str, Callable[[ast.AST], ast.AST]]]:
    for made in _alternatives(node):
        before, after = (_told(which) for which in (node, made))
        yield f"{before} -> {after}", lambda _, made=made: made  # type: ignore[misc]


def _told(node: ast.AST) -> str:
    return " ".join(ast.unparse(node).split())


def _alternatives(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Compare):
        for at, compared in enumerate(node.ops):
            for other in COMPARED[type(compared)]:
                ops = [*node.ops[:at], other(), *node.ops[at + 1 :]]
                yield ast.Compare(node.left, ops, node.comparators)
    elif isinstance(node, ast.BoolOp):
        yield ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield node.operand
    elif isinstance(node, ast.Constant) and type(node.value) is int:
        yield from (ast.Constant(node.value + 1), ast.Constant(node.value - 1))
    elif isinstance(node, ast.Constant) and type(node.value) is bool:
        yield ast.Constant(not node.value)
    elif isinstance(node, ast.Call):
        yield from _turned(node)
    elif isinstance(node, ast.Raise | ast.AugAssign | ast.Expr):
        yield ast.Pass()


def _turned(node: ast.Call) -> Iterator[ast.Call]:
    """Round, bound or quantify the other way."""
    called = node.func
    if isinstance(called, ast.Attribute) and called.attr in TURNED:
        other: ast.expr = ast.Attribute(called.value, TURNED[called.attr], ast.Load())
    elif isinstance(called, ast.Name) and called.id in TURNED:
        other = ast.Name(TURNED[called.id], ast.Load())
    else:
        return
    yield ast.Call(other, node.args, node.keywords)
