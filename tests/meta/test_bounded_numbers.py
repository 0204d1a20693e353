"""No text becomes a fraction but through the one bounded reader: ``1e999999999`` is short, and its integer is not."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "discreet"
READER = "core/exact.py"

NUMBERS = {
    # What is printed: numbers of this process, exactly; and text that this module wrote.
    "core/printed.py": {
        "int(number.denominator)",
        "int(number.numerator)",
        "lower",
        "shown",
        "target",
        "upper",
        "value",
    },
    "core/calculus.py": {"epsilon", "math.exp((low + high) / 2)"},
    "core/channels/channel.py": {
        "math.fsum(chain.from_iterable(((row * _as_floats(limbs)).tolist() for row, limbs in rows)))",
        "worst",
    },
    "core/spaces/check_distances.py": {"x"},
    "core/spaces/inputs.py": {"x"},
    "core/lp/bounds.py": {"cost[j]", "a", "v"},
    # Coordinates of this process: integers and fractions.
    "lrgeo/places/region.py": {"ground_factor(self.coordinates[:, 0])"},
    "lrgeo/points/frame.py": {"shortest"},
    "lrgeo/points/net.py": {"least", "most", "x", "y"},
    "lrgeo/points/designed.py": {"x", "y"},
    # Weights and coefficients of this process: integers of the fit, or fractions and floats made of them.
    "hierarchy/contingency/weights.py": {"one"},
    "hierarchy/contingency/systems.py": {"max_variance_ratio"},
    "hierarchy/contingency/widths.py": {"law", "top"},
    "hierarchy/measure.py": {"float_ceil(2 * q / (1 - q) ** 2)"},
    "hierarchy/noise_sum.py": {"a", "by_law"},
    # Up to sixty digits, no exponent; and numbers that an answer is made of.
    "testing/neighbors.py": {"x"},
    "evaluate/audit/sampled.py": {"least", "most"},
    "evaluate/audit/kanonymity.py": {"claim.k"},
    "evaluate/audit/borders.py": {"worst"},
    "evaluate/audit/audit.py": {"guarantee.k"},
    # ASCII digits whose exponent has four of them at most.
    "kanonymity/problem/native.py": {"text.strip()"},
    # A decimal keeps its exponent apart: digits are written only where it is small.
    "tables/cells.py": {"text.strip()"},
    # Sixty characters at most, whose exponent has two digits.
    "tables/recoding.py": {"opened['number']", "text"},
    # A number of people below a limit.
    "kanonymity/risk.py": {"rank[1]"},
    "metricdp/minimax.py": {"weight", "lower"},
    "metricdp/methods/baselines.py": {"cost"},
    "metricdp/bounds/repair.py": {"f'{delta:.0e}'", "least", "slack"},
    "metricdp/verify.py": {"sum((min(row) for row in rows))"},
    "report/location.py": {"own.reach"},
    "report/maps.py": {"m"},
    "report/metricdp.py": {"design.lower", "design.upper", "loss"},
    "report/words.py": {"m"},
    "submodular/objectives/combine.py": {"value"},
}
"""What is made a fraction elsewhere: integers and floats of this process, each looked at. Text never belongs here."""

EVERYWHERE = {"plan.coefficient or 0", "greedy.coefficient or 0"}
"""A fraction or nothing, in every method of private choice."""


def conversions(source: str) -> set[str]:
    """Give what is made a fraction or a decimal by one argument that is no number or sum as it stands there."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call) or len(node.args) != 1:
            continue
        name = ast.unparse(node.func).rpartition(".")[2]
        plain = isinstance(node.args[0], ast.Constant | ast.BinOp | ast.UnaryOp)
        if name in {"Fraction", "Decimal", "from_decimal"} and not plain:
            found.add(ast.unparse(node.args[0]))
    return found


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("Fraction(text)", {"text"}),
        ("fractions.Fraction(str(text))", {"str(text)"}),
        ("[Decimal(part.strip()) for part in text]", {"part.strip()"}),
        ("Fraction(3), Fraction('1/3'), Fraction(-x), Fraction(a / b), Fraction(a, b)", set()),
    ],
)
def test_a_bare_fraction_is_found(source: str, found: set[str]) -> None:
    assert conversions(source) == found


def test_no_fraction_is_made_of_text_but_by_the_reader() -> None:
    left = {}
    for path in sorted(SOURCE.rglob("*.py")):
        name = path.relative_to(SOURCE).as_posix()
        found = (
            conversions(path.read_text(encoding="utf-8")) - EVERYWHERE - NUMBERS.get(name, set())
        )
        if found and name != READER:
            left[name] = found
    assert not left, (
        "read text with discreet.core.exact.to_fraction; list what is no text in NUMBERS"
    )


def test_the_standalone_verifier_has_one_reader_too() -> None:
    """The other conversions there are of floats that were read from arrays, or of checked bounds."""
    source = (ROOT / "verify_standalone.py").read_text(encoding="utf-8")
    assert conversions(source) == {"text", "x", "a.lower", "a.upper", "FAR"}
    tree = ast.parse(source)
    readers = [
        node.name
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and "text" in conversions(ast.unparse(node))
    ]
    assert readers == ["number"]


def test_what_is_listed_is_there() -> None:
    """A line that is gone must not excuse another."""
    for name, listed in NUMBERS.items():
        assert listed <= conversions((SOURCE / name).read_text(encoding="utf-8")), name
