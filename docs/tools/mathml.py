"""Formulas as MathML, which browsers draw by themselves: no script, no font and no file from elsewhere.

Formulas are translated when the pages are built, and one that is not understood fails the build.
"""  # noqa: INP001 - a folder of Sphinx extensions, put on the path by conf.py

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

if TYPE_CHECKING:
    from collections.abc import Iterator

    from docutils.nodes import Node

NAMESPACE = "http://www.w3.org/1998/Math/MathML"
RELATIONS = frozenset("=≤≥<>≠∈⊆→↦≡≈∝≪≫")
OPENING, CLOSING = frozenset("([{⌊⌈⟨"), frozenset(")]}⌋⌉⟩")
LONG = 12
"""Formulas of a line with more parts than this may be broken at their relations and commas."""

TAG = re.compile(r"\\tag\{([^}]*)\}")
UNKNOWN = re.compile(r"\\.[A-Za-z]*")
BRACES = ((r"\{", "{"), (r"\}", "}"), (r"\lbrace", "{"), (r"\rbrace", "}"))
"""What the translator leaves as it is behind a command for the size."""
BELOW = frozenset({"min", "max", "sup", "inf", "lim"})
PUNCTUATION = re.compile(r"[.,;:!?)\]]+")


def as_mathml(tex: str, *, block: bool) -> tuple[list[str], str | None]:
    r"""Translate a formula.

    Parameters
    ----------
    tex
        What stands between the dollars.
    block
        Whether it has a line of its own.

    Returns
    -------
    list of str
        Elements ``<math>``: one, or the pieces between which a line may be broken.
    str or None
        What ``\tag`` calls the formula.

    Raises
    ------
    ValueError
        For a command that is not understood.
    """
    from latex2mathml.converter import convert

    tag = TAG.search(tex)
    plain = TAG.sub("", tex).replace(r"\arg", r"\operatorname{arg}")
    text = convert(plain, display="block" if block else "inline")
    for written, meant in BRACES:
        text = text.replace(f">{written}<", f">{meant}<")
    left = UNKNOWN.search(text)
    if left is not None:
        raise ValueError(f"{left[0]} is not understood in {tex!r}")
    ET.register_namespace("", NAMESPACE)
    root = ET.fromstring(text)  # noqa: S314 - our own formula, translated one line above
    if block:
        for part in root.iter(f"{{{NAMESPACE}}}msub"):
            if part[0].text in BELOW:
                part.tag = f"{{{NAMESPACE}}}munder"
    parts = [root] if block else list(pieces(root))
    return [ET.tostring(part, encoding="unicode") for part in parts], tag and tag[1]


def pieces(root: ET.Element) -> Iterator[ET.Element]:
    """Cut a long formula before its relations and after its commas, where no parenthesis is open."""
    row = root.find(f"{{{NAMESPACE}}}mrow")
    if row is None or len(row) <= LONG:
        yield root
        return
    depth, gathered = 0, []
    for part in row:
        sign = (part.text or "").strip() if part.tag == f"{{{NAMESPACE}}}mo" else ""
        depth += (sign in OPENING) - (sign in CLOSING)
        if sign in RELATIONS and depth == 0 and gathered:
            yield _math(root, gathered)
            gathered = []
        if sign in RELATIONS:
            # At the beginning of a piece it would be taken for a sign that has nothing on its left.
            part.set("form", "infix")
        gathered.append(part)
        if sign == "," and depth == 0:
            yield _math(root, gathered)
            gathered = []
    if gathered:
        yield _math(root, gathered)


def _math(root: ET.Element, parts: list[ET.Element]) -> ET.Element:
    made = ET.Element(root.tag, root.attrib)
    ET.SubElement(made, f"{{{NAMESPACE}}}mrow").extend(parts)
    return made


def _translated(tex: str, node: Node, *, block: bool) -> tuple[str, str | None]:
    from sphinx.util import logging

    try:
        parts, tag = as_mathml(tex, block=block)
    except Exception as error:  # noqa: BLE001 - whatever the translator raises becomes a warning with a place, and fails the build
        logging.getLogger(__name__).warning("formula: %s", error, location=node)
        return "", None
    return "<wbr>".join(parts), tag


def pull_punctuation(_app: object, doctree: Any, _name: str) -> None:  # noqa: ANN401 - as for visit_inline
    """Hand the punctuation behind a formula to the formula."""
    from docutils import nodes

    for formula in list(doctree.findall(nodes.math)):
        siblings = formula.parent.children
        at = siblings.index(formula) + 1
        if at < len(siblings) and isinstance(siblings[at], nodes.Text):
            text = siblings[at].astext()
            found = PUNCTUATION.match(text)
            if found is not None:
                formula["after"] = found[0]
                formula.parent.replace(siblings[at], nodes.Text(text[found.end() :]))


def visit_inline(self: Any, node: Any) -> None:  # noqa: ANN401 - Sphinx is needed to build the pages, not to check this file
    """Write a formula in a line."""
    from docutils.nodes import SkipNode

    text, _ = _translated(node.astext(), node, block=False)
    head, middle, last = text.rpartition("<wbr>")
    # A full stop stays on the line of its formula.
    last = f'<span class="together">{last}{escape(node.get("after", ""))}</span>'
    self.body.append(f'<span class="math">{head}{middle}{last}</span>')
    raise SkipNode


def visit_block(self: Any, node: Any) -> None:  # noqa: ANN401 - as above
    """Write a formula on a line of its own, its name to the right."""
    from docutils.nodes import SkipNode

    text, tag = _translated(node.astext(), node, block=True)
    name = tag or node.get("number")
    number = f'<span class="eqno">({name})</span>' if name else ""
    self.body.append(self.starttag(node, "div", CLASS="math") + f"{text}{number}</div>\n")
    raise SkipNode


def setup(app: Any) -> dict[str, bool]:  # noqa: ANN401 - as above
    """Register the renderer."""
    app.connect("doctree-resolved", pull_punctuation)
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
