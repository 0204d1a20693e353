"""A sentence that states a guarantee, an optimum or a bound comes from the catalogue, and is written nowhere else.

Read are the string constants of the rooms that print, and the text of their templates. What is refused or required of
an argument is no such sentence; nor is a label of a few words, beside which the number stands.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from discreet.core.statements import STATEMENTS

ROOT = Path(__file__).parents[2] / "src" / "discreet"
ROOMS = ("report", "studio", "cli", "service")

STATES = re.compile(
    r"\b(at most|at least|no (?:table|channel|mechanism|guess|report)s?|nobody|no one|proved?|proven|optim(?:al|um)|"
    r"guarantees?d?|cannot|can['\u2019]t|loses? less|learns? little)\b",
    re.IGNORECASE,
)
"""Words of a sentence that states a guarantee, an optimum or a bound."""

LABEL_WORDS = 4
"""Words below which a text is a label."""

REFUSALS = {"InvalidProblemError", "unknown_name", "no_column", "_wrong"}
"""Calls whose text says what an argument may be."""

EXPECTED = {"expected", "got"}
"""Variables that such a text is put together in."""

EXAMPLES = {"_EXAMPLES", "examples"}
"""Where the commands stand that the help of a command shows."""

OPTIONS = {"help", "epilog", "metavar"}
"""Arguments that describe an option, its text saying what is asked for."""

FIELDS = {"option", "argument", "names"}
"""Calls that state an option in the record of a command, with its help."""

EXCEPTIONS = {
    r"report/check_words.py": "what a check counts: the forger has a file that fails each",
    r"report/verified.py": "what was checked of a file, and what is not claimed",
    r"report/page.py: a page can't vouch|service/static/page.html": "a warning, which denies a guarantee",
    r"report/attacked.py": "a warning: a promise that no attack broke is not proved",
    r"report/demo.py: It wants|report/demo.py: Say what": "the task of a demo, and its title",
    r"report/.*(guarantee of its own|guarantee adds up|not add up|hides one of them)": "releases add up: a warning",
    r"report/templates/submodular.html: (Each rule|The choice)": "what the verifier checked: the accountant's lines",
    r"report/templates/metricdp.html: (The guarantee limits|Both prove)": "what a guarantee is not about; a command",
    r"report/templates/hierarchy.html: (All of them|The table was)": "what was compared, and what checked it",
    r"studio/templates/.*([Nn]obody (should|can)|of nobody|nobody stands)": "what is asked of the reader",
    r".*(class, at least|class from the table|person, at most|has at most|by at most)": "names of figures and options",
    r"studio/(released|reading).py|service/(asking|jobs|operations).py": "why something failed",
    r"cli/(commands|app).py": "summaries of commands",
}
"""File and sentence -> why it may stand outside of the catalogue."""


def texts(source: str) -> Iterator[tuple[int, str]]:
    """Yield the texts of a module, with their lines: strings that are no docstrings and refuse no argument."""
    tree = ast.parse(source)
    skipped: set[ast.AST] = set()
    for node in ast.walk(tree):
        name = getattr(
            getattr(node, "func", None), "id", getattr(getattr(node, "func", None), "attr", "")
        )
        targets = [getattr(one, "id", "") for one in getattr(node, "targets", [])]
        prose = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if (
            name in REFUSALS | FIELDS
            or prose
            or {*targets, getattr(node, "arg", "")} & (EXPECTED | EXAMPLES | OPTIONS)
        ):
            skipped.update(ast.walk(node))
        if isinstance(node, ast.JoinedStr) and node not in skipped:
            skipped.update(set(ast.walk(node)) - {node})
    for node in ast.walk(tree):
        if node in skipped or "```" in str(getattr(node, "value", "")):
            continue
        if isinstance(node, ast.JoinedStr):
            parts = [one.value if isinstance(one, ast.Constant) else "{}" for one in node.values]
            yield node.lineno, "".join(map(str, parts))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


def page_texts(source: str) -> Iterator[tuple[int, str]]:
    """Yield the texts of a template, line by line: without tags, scripts, comments and what is filled in."""
    for pattern in (r"<script.*?</script>", r"<style.*?</style>", r"\{#.*?#\}", r"<!--.*?-->"):
        source = re.sub(pattern, lambda one: "\n" * one[0].count("\n"), source, flags=re.DOTALL)
    for number, line in enumerate(source.splitlines(), start=1):
        plain = re.sub(r"\{[{%](.*?)[%}]\}", lambda one: " | ".join(_quoted(one[1])), line)
        yield number, re.sub(r"<[^>]*>", " | ", plain)


def _quoted(code: str) -> list[str]:
    """Return the texts in an expression of a template, but for names of statements."""
    return [a or b for a, b in re.findall(r"(?<!state\()'([^']*)'|(?<!state\()\"([^\"]*)\"", code)]


def sentences(text: str) -> list[str]:
    """Return the sentences of a text that state something."""
    found = re.split(r"(?<=[.;:])\s+|\|", text)
    return [
        " ".join(one.split())
        for one in found
        if STATES.search(one)
        and sum(bool(re.search(r"[^\W\d]{2}", word)) for word in one.split()) >= LABEL_WORDS
    ]


def stated() -> list[tuple[str, int, str]]:
    """List all sentences outside of the catalogue that state something: file, line, sentence."""
    found = []
    for room in ROOMS:
        for path in sorted((ROOT / room).rglob("*")):
            if path.suffix not in {".py", ".html"} or path.name == "verify_standalone.html":
                continue
            read = texts if path.suffix == ".py" else page_texts
            place = path.relative_to(ROOT).as_posix()
            for line, text in read(path.read_text(encoding="utf-8")):
                found += [(place, line, one) for one in sentences(text)]
    return found


def excepted(place: str, sentence: str) -> list[str]:
    """Return the exceptions that a sentence falls under."""
    return [one for one in EXCEPTIONS if re.match(one, f"{place}: {sentence}")]


def test_no_sentence_outside_of_the_catalogue_states_a_guarantee_an_optimum_or_a_bound() -> None:
    wrong = [f"{place}:{line}: {one}" for place, line, one in stated() if not excepted(place, one)]
    assert not wrong, "say it by discreet.core.statements.state:\n" + "\n".join(wrong)


def test_every_exception_is_needed() -> None:
    used = {name for place, _, one in stated() for name in excepted(place, one)}
    assert set(EXCEPTIONS) == used
    assert len(EXCEPTIONS) <= MOST_EXCEPTIONS


MOST_EXCEPTIONS = 15


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ('rows = [("bound", f"no table with k = {k} loses less than {x}")]', 1),
        ('note = "This was proved optimal for all rows."', 1),
        ('text = "Nobody who reads " + name + " can guess it, at least 9 times in 10."', 1),
        ('"""No table loses less than this one."""', 0),
        ('raise InvalidProblemError("k", "at most 5 rows of a table", k)', 0),
        ('expected = "at most 5 rows of a table"', 0),
        ('option(help="At most so many rows of a table.")', 0),
        ('label = "at most"', 0),
        ('text = state("bound of tables", k=2, suppression="")', 0),
    ],
)
def test_a_sentence_is_found_in_code(source: str, said: int) -> None:
    assert sum(len(sentences(text)) for _, text in texts(source)) == said


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("<p>No table with this promise loses less than <b>{{ lower }}</b>.</p>", 1),
        ('<p>{{ "Proved optimal for all the rows" if optimal else "" }}</p>', 1),
        ("<p>{{ state('bound of tables', k=2, suppression='') }}</p>", 0),
        ("<script>\n// nobody can guess this at all\n</script><p>A table.</p>", 0),
        ("<dt>at most</dt>", 0),
    ],
)
def test_a_sentence_is_found_in_a_template(source: str, said: int) -> None:
    assert sum(len(sentences(text)) for _, text in page_texts(source)) == said


def test_every_statement_is_used() -> None:
    """A name that stands in no call or template is a sentence that nobody reads."""
    code = "\n".join(
        path.read_text(encoding="utf-8")
        for path in ROOT.rglob("*")
        if path.suffix in {".py", ".html"} and path.name != "statements.py"
    )
    named = [f'"{name}"' in code or f"'{name}'" in code for name in STATEMENTS]
    assert all(named), [name for name, used in zip(STATEMENTS, named, strict=True) if not used]
