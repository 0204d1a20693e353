"""Nothing but one module formats a number that people read: what states a bound is rounded to its own side there.

The whole source is read. Two formats print no number: zeros before a whole number, in names of files and in days, and
a text that is parsed again at once. ``round`` to a whole number is a computation, but in the rooms that make pages.
"""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "discreet"
ROOMS = ("report", "studio", "cli", "service")

EXCEPTIONS = {
    (
        "evaluate/simulate/borders.py",
        "{value.numerator * 10 ** 12 // value.denominator / 10 ** 12:.12f}",
    ): ("coordinates that a test types into a client"),
    ("lrgeo/places/roads.py", "self.lengths.round(1)"): "decimeters in a file",
    ("lrgeo/points/layout.py", "{one:.7f}"): "coordinates that a client reports",
    ("report/templates/verify_standalone.html", "value.toFixed(20)"): "JSON that is hashed",
    ("report/templates/verify_standalone.html", "toFloat(a.whole).toPrecision(6)"): (
        "repeats what the file states, beside an exact check; the page runs without Python"
    ),
    ("report/templates/verify_standalone.html", "toFloat(m.whole).toPrecision(6)"): "the same",
    (
        "report/templates/verify_standalone.html",
        "((performance.now() - started) / 1000).toFixed(1)",
    ): "a running time",
    ("service/static/page.js", "x.toPrecision(3)"): "measured in the browser, where one clicks",
    ("service/static/page.js", "x.toFixed(4)"): "a ratio of two rows, measured in the browser",
    ("service/static/page.js", "x.toFixed(5)"): "coordinates of a place",
    ("service/static/page.js", "x.toFixed(6)"): "coordinates of a place",
    ("service/static/page.js", "(Math.ceil(x / step) * step).toPrecision(12)"): "was rounded up",
    (
        "service/static/page.js",
        "(0.06 + 0.89 * Math.sqrt(share / most)).toFixed(3)",
    ): "the opacity of a drawing",
    ("studio/static/workspace.js", "Math.round((Date.now() - began) / 1000)"): "a running time",
}
"""File and what formats a number there -> why the module does not."""

MOST_EXCEPTIONS = 14

FORMATTER = SOURCE / "core" / "printed.py"

_CODE = re.compile(r"\{[\w.\[\]]*:[^{}\s]*[,%bcdeEfFgGnosxX\d]\}")
_ZEROS = re.compile(r"\{.*:0\d+d\}")
_JINJA = re.compile(
    r"\|\s*(?:format|round|float|int)\b|\.format\(|[\"']\s*%\s*[\w(]|(?<!away\.)\bround\("
)
_SCRIPT = re.compile(
    r"(?:Math\.round\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)"
    r"|(?:\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)|[\w.]+(?:\([^()]*\))?|share / most\)\))"
    r"\.(?:toFixed|toPrecision|toLocaleString)\(\d*\))"
)


def formats(source: str, *, page: bool = True) -> set[str]:
    """List what formats a number in Python: a format code, ``%`` of a text, ``round``, ``format``.

    Elsewhere than in a room that makes pages, ``round`` to a whole number counts inside of a text alone.
    """
    found = set()
    nodes = list(ast.walk(ast.parse(source)))
    prose = {
        id(node.value)
        for node in nodes
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    parsed = {id(part) for node in nodes if is_parser(node) for part in ast.walk(node)}
    texts = [node.value for node in nodes if isinstance(node, ast.FormattedValue)]
    in_text = {id(part) for text in texts for part in ast.walk(text)}
    for node in nodes:
        if isinstance(node, ast.FormattedValue) and node.format_spec is not None:
            if id(node) not in parsed and not _ZEROS.fullmatch(ast.unparse(node)):
                found.add(ast.unparse(node))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            if id(node) not in prose:
                found.update(_CODE.findall(node.value))
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
            if isinstance(node.left, ast.JoinedStr) or isinstance(
                getattr(node.left, "value", None), str
            ):
                found.add(ast.unparse(node))
        elif isinstance(node, ast.Call):
            name = called(node).rpartition(".")[2]
            digits = len(node.args) - (called(node) in {"round", "np.round"})
            whole = name == "round" and not digits and not node.keywords
            if (name == "round" and (page or not whole or id(node) in in_text)) or (
                isinstance(node.func, ast.Name) and name == "format"
            ):
                found.add(ast.unparse(node))
    return found


def called(node: ast.Call) -> str:
    """Name what is called, as far as the last dot: to write out each call takes longer than all else."""
    if isinstance(node.func, ast.Attribute):
        return f"{getattr(node.func.value, 'id', '')}.{node.func.attr}"
    return getattr(node.func, "id", "")


def is_parser(node: ast.AST) -> bool:
    """Return whether a text, the only argument of a call, becomes a number again."""
    return (
        isinstance(node, ast.Call)
        and called(node) in {"float", "Fraction"}
        and len(node.args) == 1
        and isinstance(node.args[0], ast.JoinedStr)
    )


def formats_of_template(source: str) -> set[str]:
    """List what formats a number between the braces of a template."""
    parts = re.findall(r"\{\{(.*?)\}\}|\{%(.*?)%\}", source, re.DOTALL)
    return {match[0] for pair in parts for part in pair for match in _JINJA.finditer(part)}


def formats_of_script(source: str) -> set[str]:
    """List what formats a number in JavaScript; coordinates of a drawing, which ``/ 10`` rounds, are none."""
    code = re.sub(r"Math\.round\((?:[^()]|\([^()]*\))*\) / 10\b", "", source)
    return {match[0] for match in _SCRIPT.finditer(code)}


@cache
def everything() -> dict[tuple[str, str], str]:
    """Read all files that make what people see: the file and the place -> the kind of the file."""
    found: dict[tuple[str, str], str] = {}
    for path in sorted(SOURCE.rglob("*")):
        name = path.relative_to(SOURCE).as_posix()
        if path.suffix == ".py" and path != FORMATTER:
            page = name.startswith(tuple(f"{room}/" for room in ROOMS))
            codes = formats(path.read_text(encoding="utf-8"), page=page)
            found |= dict.fromkeys(((name, one) for one in codes), "code")
        elif path.suffix in {".html", ".js"}:
            text = path.read_text(encoding="utf-8")
            for one in formats_of_template(text) | formats_of_script(text):
                found[name, one] = "page"
    return found


def test_nothing_else_formats_a_number() -> None:
    left = set(everything()) - set(EXCEPTIONS)
    assert not left, (
        "format it with discreet.core.printed, in the direction that the sentence states"
    )


def test_exceptions_are_few_and_there() -> None:
    assert set(EXCEPTIONS) <= set(everything())
    assert len(EXCEPTIONS) <= MOST_EXCEPTIONS
    assert all(EXCEPTIONS.values())


@pytest.mark.parametrize(
    ("source", "n"),
    [
        ("f'{x:.6g}'", 1),
        ("f'{x:,}'", 1),
        ("f'{x:>{width}}'", 1),
        ("'%.2f' % x", 1),
        ("f'%d' % x", 1),
        ("round(x, 2)", 1),
        ("np.round(x)", 1),
        ("format(x, '.2f')", 1),
        ("'{share:g} %'.format(share=x)", 1),
        ("A = '{:,.1f}'\nA.format(x)", 1),
        ("'{share} %'.format(share=x)\nf'{x!r} {x}'\nx % 3\n'''{x:g}'''", 0),
    ],
)
def test_a_format_of_python_is_found(source: str, n: int) -> None:
    assert len(formats(source)) == n


@pytest.mark.parametrize(
    ("source", "n"),
    [
        ("round(x)\nx.round()\nnp.round(x)", 0),
        ("round(x, 1)", 1),
        ("x.round(1)", 1),
        ("x.round(decimals=1)", 1),
        ("f'{round(x)}'", 1),
        ("float(f'{x:.3g}')\nFraction(f'{x:.0e}')\nf'{n:03d}'", 0),
        ("text(f'{x:.3g}')", 1),
        ("float(f'{x:.3g}', y)", 1),
        ("f'{x:3d}'", 1),
    ],
)
def test_a_computation_is_no_format(source: str, n: int) -> None:
    assert len(formats(source, page=False)) == n


@pytest.mark.parametrize(
    ("source", "n"),
    [
        ('{{ "%.2f" | format(x) }}', 1),
        ('{{ "{:,}".format(x) }}', 1),
        ("{{ x | round(1) }}", 1),
        ('{{ "%d" % x }}', 1),
        ("{{ x|float }}", 1),
        ("{{ printed.share(x) }} {{ rows | length }} {{ x.round }}", 0),
    ],
)
def test_a_format_of_a_template_is_found(source: str, n: int) -> None:
    assert len(formats_of_template(source)) >= n
    assert bool(formats_of_template(source)) is bool(n)


@pytest.mark.parametrize(
    "source", ["x.toFixed(2)", "(a + f(b)).toPrecision(3)", "Math.round(x)", "x.toLocaleString()"]
)
def test_a_format_of_a_script_is_found(source: str) -> None:
    assert formats_of_script(source) == {source}
