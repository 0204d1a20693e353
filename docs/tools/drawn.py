"""Pictures that the code of a page draws: ``{drawn} ax`` shows what the examples above it called ``ax``.

The examples of a page run in their order when the page is built, up to the picture. What the reader sees is what drew
it, and an example that raises what it should not fails the build.
"""  # noqa: INP001 - a folder of Sphinx extensions, put on the path by conf.py

from __future__ import annotations

import contextlib
import doctest
import io
import re
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from collections.abc import Mapping

FENCE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SIZE = (5.2, 3.4)
"""Inches. A picture of this width has legible letters on a phone and on a large screen."""


def examples_until(text: str, line: int) -> list[doctest.Example]:
    """Take the examples of the Python blocks that begin above a line, counted from 1, with their lines.

    Parameters
    ----------
    text
        A page of Markdown.
    line
        Where to stop.
    """
    parser = doctest.DocTestParser()
    found: list[doctest.Example] = []
    for block in FENCE.finditer(text):
        first = text.count("\n", 0, block.start(1)) + 1
        if first > line:
            break
        for example in parser.get_examples(block[1]):
            example.lineno += first
            found.append(example)
    return found


def run_examples(
    examples: list[doctest.Example], names: dict[str, Any], *, after: int, page: str
) -> None:
    """Run the examples that stand below a line; an error that is shown on the page is expected.

    Parameters
    ----------
    examples
        In their order.
    names
        What they may use, and what they leave behind.
    after
        The last line that ran before.
    page
        For messages.

    Raises
    ------
    RuntimeError
        When an example raises what it should not, or does not raise what it should.
    """
    for example in examples:
        if example.lineno <= after:
            continue
        code = compile(example.source, f"{page}:{example.lineno}", "exec")
        raised: BaseException | None = None
        with contextlib.redirect_stdout(io.StringIO()):
            try:
                exec(code, names)  # noqa: S102 - the pages of this project are what is run
            except Exception as error:  # noqa: BLE001 - examples may show any error; others are raised below
                raised = error
        if (raised is None) is not (example.exc_msg is None):
            what = repr(raised) if raised is not None else f"no {example.exc_msg}"
            raise RuntimeError(f"{page}:{example.lineno}: {what}") from raised


def svg_of(drawn: Any, *, label: str, salt: str, size: tuple[float, float] = SIZE) -> str:  # noqa: ANN401 - axes or a figure
    """Turn axes, or a figure, into an ``<svg>`` element whose letters are large enough.

    Parameters
    ----------
    drawn
        ``matplotlib.axes.Axes`` or ``matplotlib.figure.Figure``.
    label
        What it shows, for readers who do not see it.
    salt
        Names the picture within its page.
    size
        Inches.
    """
    from discreet.report.figures import inline_svg

    figure = getattr(drawn, "figure", drawn)
    figure.set_size_inches(*size)
    return inline_svg(figure, label=label, salt=salt)


def trim_blocks(_app: object, doctree: Any) -> None:  # noqa: ANN401 - Sphinx is needed to build the pages, not to check this file
    """Take the empty line away that ends an example for the tests, and says nothing to a reader."""
    from docutils import nodes

    for block in doctree.findall(nodes.literal_block):
        text = block.astext().rstrip("\n")
        # Sphinx colors a block only where its source is its text.
        if block.rawsource == block.astext():
            block.rawsource = text
            block.children = []
            block.append(nodes.Text(text))


def _options() -> Mapping[str, Any]:
    from docutils.parsers.rst import directives

    def inches(text: str) -> tuple[float, float]:
        width, height = map(float, text.split())
        return width, height

    return {"alt": directives.unchanged_required, "size": inches}


def setup(app: Any) -> dict[str, bool]:  # noqa: ANN401 - Sphinx is needed to build the pages, not to check this file
    """Register the directive."""
    from docutils import nodes
    from sphinx.util.docutils import SphinxDirective

    class Drawn(SphinxDirective):
        """A picture, and below it what it shows."""

        required_arguments = 1
        has_content = True
        option_spec: ClassVar[Any] = _options()

        def run(self) -> list[nodes.Node]:
            if "alt" not in self.options:
                raise self.error("drawn: say in :alt: what the picture shows")
            kept = self.env.temp_data.setdefault("drawn", {"names": {}, "line": 0, "count": 0})
            path = self.env.doc2path(self.env.docname)
            with open(path, encoding="utf-8") as page:  # noqa: PTH123 - Sphinx gives a string or its own kind of path
                examples = examples_until(page.read(), self.lineno)
            run_examples(examples, kept["names"], after=kept["line"], page=self.env.docname)
            kept["line"], kept["count"] = self.lineno, kept["count"] + 1
            svg = svg_of(
                eval(self.arguments[0], kept["names"]),  # noqa: S307 - a name of the page
                label=" ".join(self.options["alt"].split()),
                salt=f"drawn{kept['count']}",
                size=self.options.get("size", SIZE),
            )
            figure = nodes.container(classes=["drawn"])
            figure += nodes.raw("", svg, format="html")
            if self.content:
                caption = nodes.container(classes=["drawn-caption"])
                self.state.nested_parse(self.content, self.content_offset, caption)
                figure += caption
            return [figure]

    app.add_directive("drawn", Drawn)
    app.connect("doctree-read", trim_blocks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
