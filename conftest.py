"""Examples are tests: every ``>>>`` in the sources and every Python block of the documentation and the README runs.

No test fails by chance. What a test takes from the operating system's source is the same in each run, and so are the
examples of property tests; ``DISCREET_TEST_BITS=anything pytest`` draws others.

Sybil parses and evaluates. Collection is ours: one test for each docstring and for each page, with names of its own,
so that tests may be shuffled and spread over processes, and an example can't live on another docstring's names.
"""

from __future__ import annotations

import ast
import doctest
import gc
import importlib
import os
import random
import signal
import tempfile
import traceback
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import pytest
from sybil import Document
from sybil.example import SybilFailure
from sybil.parsers.myst import PythonCodeBlockParser
from sybil.parsers.rest import DocTestParser

if TYPE_CHECKING:
    from collections.abc import Iterator

    from _pytest._code.code import TracebackStyle

ROOT = Path(__file__).parent
SOURCES = (ROOT / "src", ROOT / "reproduction" / "src")
FLAGS = doctest.ELLIPSIS
DOCSTRINGS = DocTestParser(FLAGS)
PROMPT = ">>>"
PAGES = PythonCodeBlockParser(doctest_optionflags=FLAGS)

OTHER_BITS = os.environ.get("DISCREET_TEST_BITS", "")
"""Draws of another run: what is wanted of it is to find what no one has seen yet."""

EXAMPLES = int(os.environ.get("DISCREET_TEST_EXAMPLES", "100"))
"""Draws of a property; fewer where only the branches that run are looked at. Where it is set, no property has more."""

_STATED = "_hypothesis_internal_use_settings"
"""Where Hypothesis keeps what a property states."""

# A shared machine is slow at times: that is no failure of a law.
hypothesis.settings.register_profile(
    "discreet",
    deadline=None,
    print_blob=True,
    derandomize=not OTHER_BITS,
    max_examples=EXAMPLES,
)
hypothesis.settings.load_profile("discreet")


@contextmanager
def _drawing(name: str) -> Iterator[None]:
    """Let the operating system's source give the bytes that a name stands for.

    The library's own source stays in place, so that what it draws still counts as private: an audit with a sample, or a
    choice that is nearly always right, failed once in hundreds of runs.
    """
    source = random.Random(f"{OTHER_BITS} {name}")  # noqa: S311 - a test releases nothing
    # What `SystemRandom` reads from.
    before, place = vars(random)["_urandom"], "_urandom"
    setattr(random, place, source.randbytes)
    try:
        yield
    finally:
        setattr(random, place, before)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Give each test bytes of its own, whatever ran before it."""
    with _drawing(item.nodeid):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(
    fixturedef: pytest.FixtureDef[object], request: pytest.FixtureRequest
) -> Iterator[None]:
    """Give what several tests share bytes of its own, whichever of them is the first."""
    with _drawing(f"{fixturedef.baseid} {fixturedef.argname} {getattr(request, 'param_index', 0)}"):
        return (yield)


def _write_in_memory(folder: Path = Path("/dev/shm")) -> None:  # noqa: S108 - it is looked at first
    """Let tests write to memory where there is room for all: ledgers and releases wait for a disk at each step."""
    if "TMPDIR" in os.environ or not folder.is_dir():
        return
    room = os.statvfs(folder)
    if room.f_bavail * room.f_frsize >= 4 << 30 and not room.f_flag & os.ST_NOEXEC:
        os.environ["TMPDIR"] = str(folder)
        # What was asked for before is kept there.
        tempfile.tempdir = None


# Tests and modules stay: looking for circles among them, again and again, is a quarter of the time of collecting.
gc.disable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let properties that state a number of draws have no more than are asked for."""
    for item in items if "DISCREET_TEST_EXAMPLES" in os.environ else ():
        test = getattr(item, "obj", None)
        stated = getattr(test, _STATED, None)
        if stated is not None and stated.max_examples > EXAMPLES:
            setattr(test, _STATED, hypothesis.settings(stated, max_examples=EXAMPLES))


def pytest_collection_finish() -> None:
    """Look for circles among what tests make, and no more among the tests themselves."""
    gc.freeze()
    gc.enable()


def pytest_configure() -> None:
    """Write to memory; hear Ctrl-C even where a shell started the tests in the background, deaf to it: some send it."""
    _write_in_memory()
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    hangup = getattr(signal, "SIGHUP", None)
    # Under nohup it is ignored, here and in every process that a test starts.
    if hangup is not None and signal.getsignal(hangup) == signal.SIG_IGN:
        signal.signal(hangup, signal.SIG_DFL)


class Examples(pytest.Item):
    """The examples of one docstring or one page, run in their order."""

    def __init__(self, *, document: Document, module: str | None, **kwargs: object) -> None:
        super().__init__(**kwargs)  # type: ignore[arg-type]
        self.document = document
        self.imports = module

    def runtest(self) -> None:
        """Evaluate every example in a fresh namespace: the module's own names, or none for a page."""
        if self.imports is not None:
            self.document.namespace.update(vars(importlib.import_module(self.imports)))
        for example in self.document.examples():
            example.evaluate()

    def repr_failure(
        self,
        excinfo: pytest.ExceptionInfo[BaseException],
        style: TracebackStyle | None = None,  # noqa: ARG002 - pytest passes it
    ) -> str:
        """Show what was expected and what came, without the machinery between."""
        if isinstance(excinfo.value, SybilFailure):
            return str(excinfo.value)
        trace = excinfo.tb
        while trace.tb_next is not None and trace.tb_frame.f_code.co_filename != str(self.path):
            trace = trace.tb_next
        return "".join(traceback.format_exception(excinfo.type, excinfo.value, trace))

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Say where the examples stand."""
        return self.path, None, self.name


class Page(pytest.File):
    """A Markdown page."""

    def collect(self) -> Iterator[pytest.Item]:
        """Give one item for the page, and none where no block is Python."""
        document = Document.parse(str(self.path), PAGES)
        if document.regions:
            yield Examples.from_parent(self, name="examples", document=document, module=None)


class Source(pytest.File):
    """A Python file of a package."""

    def collect(self) -> Iterator[pytest.Item]:
        """Give one item for each docstring that holds an example."""
        (folder,) = (each for each in SOURCES if self.path.is_relative_to(each))
        parts = self.path.relative_to(folder).with_suffix("").parts
        module = ".".join(parts).removesuffix(".__init__")
        source = self.path.read_text(encoding="utf-8")
        # Each worker reads every file: most have no example, and are not parsed.
        for name, line, text in docstrings(source) if PROMPT in source else ():
            if PROMPT not in text:
                continue
            # Leading newlines make the line numbers those of the file.
            document = Document("\n" * (line - 1) + text, str(self.path))
            for region in DOCSTRINGS(document):
                document.add(region)
            if document.regions:
                yield Examples.from_parent(self, name=name, document=document, module=module)


def docstrings(source: str) -> Iterator[tuple[str, int, str]]:
    """Yield name, first line and text of every docstring of a source file."""

    def walk(node: ast.AST, name: str) -> Iterator[tuple[str, int, str]]:
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node, clean=False)
            if text is not None:
                yield name or "module", node.body[0].lineno, text
        for child in ast.iter_child_nodes(node):
            # No expression holds a docstring.
            if isinstance(child, ast.expr):
                continue
            inner = getattr(child, "name", None)
            yield from walk(
                child, f"{name}.{inner}".lstrip(".") if isinstance(inner, str) else name
            )

    return walk(ast.parse(source), "")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect the pages and the sources beside the test files."""
    if file_path.suffix == ".md" and (
        file_path.parent == ROOT or file_path.is_relative_to(ROOT / "docs")
    ):
        return Page.from_parent(parent, path=file_path)
    if file_path.suffix == ".py" and any(map(file_path.is_relative_to, SOURCES)):
        return Source.from_parent(parent, path=file_path)
    return None
