"""The reference: one page for each public name, and one for each module, written before the pages are built.

A public name is one of ``discreet.__all__`` or of a mechanism's ``__all__``. Its page has the name that users type;
links to the place where it is defined lead there. What is not public stands on the pages of modules, for contributors.
"""  # noqa: INP001 - a folder of Sphinx extensions, put on the path by conf.py

from __future__ import annotations

import importlib
import importlib.util
import inspect
import re
import string
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

__all__ = ["MECHANISMS", "Public", "codes_table", "public_names", "setup", "write_reference"]

MECHANISMS = ("metricdp", "lrgeo", "hierarchy", "kanonymity", "submodular")
PACKAGE = "discreet"
GROUPS = (
    ("Guarantees", ("PureDP", "ApproxDP", "ZeroConcentratedDP", "MetricDP", "KAnonymity", "compose", "implies")),
    ("Inputs", ("MetricSpace", "Tree", "RandomBits")),
    (
        "Outcomes",
        (
            "Channel", "Design", "Release", "Anonymization", "Unproven", "Certificate", "Check", "Provenance",
            "anonymize", "counts", "select", "verify",
        ),
    ),
    ("Judges", ("attack", "audit", "compare", "risk")),
    (
        "Errors",
        (
            "DiscreetError", "InvalidProblemError", "InfeasibleError", "LimitReachedError", "CertificateError",
            "BudgetError", "SolverError",
        ),
    ),
)  # fmt: skip
"""How the names of ``discreet`` itself are grouped on the page of the reference; one in no group fails the build."""


_LEAD = (
    "Every public name has a page: signature, parameters, what it returns, errors, the guarantee, and an example that "
    "runs in the tests. `import discreet as dc` loads a name when you first use it."
)
_INNER = (
    "For contributors: what is not public, module by module, and may change without notice. [Public names](../index.md)"
    " have pages of their own."
)
_ORPHAN = "---\norphan: true\n---\n"
"""In no table of contents: hundreds of pages would make each sidebar slow, and lists name them all."""


@dataclass(frozen=True)
class Public:
    """A public name.

    Parameters
    ----------
    name
        As users write it, such as ``discreet.metricdp.design``.
    defined
        Where it is defined, such as ``discreet.metricdp.design.design``.
    kind
        The directive of autodoc that describes it.
    summary
        The first sentence of its docstring.
    """

    name: str
    defined: str
    kind: str
    summary: str


def _public(name: str, thing: Any) -> Public:  # noqa: ANN401 - anything may be public
    summary = " ".join((inspect.getdoc(thing) or "").split("\n\n", 1)[0].split())
    if inspect.ismodule(thing):
        return Public(name, name, "automodule", summary)
    home = f"{getattr(thing, '__module__', PACKAGE)}.{getattr(thing, '__qualname__', name.rpartition('.')[2])}"
    if inspect.isclass(thing):
        return Public(
            name,
            home,
            "autoexception" if issubclass(thing, BaseException) else "autoclass",
            summary,
        )
    return Public(
        name,
        home if callable(thing) else name,
        "autofunction" if callable(thing) else "autodata",
        summary,
    )


def public_names() -> list[Public]:
    """List the public names: those of the package, then those of each mechanism."""
    package = importlib.import_module(PACKAGE)
    found = [_public(f"{PACKAGE}.{name}", getattr(package, name)) for name in package.__all__]
    for mechanism in MECHANISMS:
        module = importlib.import_module(f"{PACKAGE}.{mechanism}")
        found += [
            _public(f"{PACKAGE}.{mechanism}.{name}", getattr(module, name))
            for name in module.__all__
        ]
    return found


def _page(one: Public, names: Mapping[str, Public]) -> str:
    text = f"{_ORPHAN}# {one.name}\n\n[Python API](index.md)\n\n"
    if one.kind == "automodule":
        inside = [each for each in names.values() if each.name.rpartition(".")[0] == one.name]
        return text + f"```{{eval-rst}}\n.. automodule:: {one.name}\n```\n\n" + _table(inside)
    options = (
        "" if one.kind in {"autofunction", "autodata"} else "   :members:\n   :show-inheritance:\n"
    )
    return text + f"```{{eval-rst}}\n.. {one.kind}:: {one.name}\n{options}```\n"


def _table(names: Iterable[Public]) -> str:
    rows = "".join(
        f"| [{one.name.removeprefix(PACKAGE + '.')}]({one.name}.md) | {_cell(one.summary)} |\n"
        for one in names
    )
    return f"| name | what it is |\n| --- | --- |\n{rows}\n"


def _methods(mechanism: str) -> str:
    """Return the table of a mechanism's methods, each with a link to the page of its module; lrgeo has none."""
    if importlib.util.find_spec(f"{PACKAGE}.{mechanism}.methods") is None:
        return ""
    methods = importlib.import_module(f"{PACKAGE}.{mechanism}.methods").METHODS.proven
    rows = ""
    for record in methods.values():
        module = record.where.partition(":")[0]
        rows += f"| [{record.name}](modules/{module}.md) | {_cell(record.summary)} |\n"
    return f"| method | what it does |\n| --- | --- |\n{rows}\n"


def _cell(summary: str) -> str:
    """Make a sentence of a docstring fit a cell of Markdown: roles become code, bars are escaped."""
    plain = re.sub(r":[\w:]+:`~?(?:[\w.]*\.)?([^`<]+)`", r"`\1`", summary)
    plain = re.sub(r"``([^`]+)``", r"`\1`", plain)
    return re.sub(r"\[([A-Z]\w+\d{2}[a-z]?)\]_", r"{cite:t}`\1`", plain).replace("|", "\\|")


def codes_table(sentences: Mapping[str, str], heading: str) -> str:
    """Return a table of codes and their sentences, whose fields are in italics."""
    rows = "".join(
        f"| `{code}` | {_italic(sentence)} |\n" for code, sentence in sorted(sentences.items())
    )
    return f"| code | {heading} |\n| --- | --- |\n{rows}"


def _italic(sentence: str) -> str:
    parts = string.Formatter().parse(sentence)
    text = "".join(text + (f"*{field}*" if field else "") for text, field, _, _ in parts)
    return text.replace("|", "\\|")


def write_reference(source: Path, reference: Path) -> None:
    """Write the pages; git does not see them.

    Parameters
    ----------
    source
        The folder ``src``.
    reference
        The folder of the reference, which gets a folder ``generated``.

    Raises
    ------
    ValueError
        When a name of the package is in no group, or a group has a name that is not public.
    """
    names = {one.name: one for one in public_names()}
    own = {name.rpartition(".")[2] for name in names if name.count(".") == 1} - set(MECHANISMS)
    grouped = {name for _, group in GROUPS for name in group}
    if own != grouped:
        raise ValueError(
            f"docs/tools/api_pages.py: put these names into a group: {sorted(own ^ grouped)}"
        )
    generated = reference / "generated"
    generated.mkdir(parents=True, exist_ok=True)
    for old in generated.rglob("*.md"):
        old.unlink()
    for one in names.values():
        (generated / f"{one.name}.md").write_text(_page(one, names), encoding="utf-8")
    text = "".join(
        f"## {title}\n\n" + _table(names[f"{PACKAGE}.{name}"] for name in group)
        for title, group in GROUPS
    )
    for mechanism in MECHANISMS:
        inside = [one for name, one in names.items() if name.startswith(f"{PACKAGE}.{mechanism}.")]
        text += f"## {mechanism}\n\n" + _table([names[f"{PACKAGE}.{mechanism}"], *inside])
        text += _methods(mechanism)
    (generated / "index.md").write_text(f"# Python API\n\n{_LEAD}\n\n{text}", encoding="utf-8")
    refusals = importlib.import_module(f"{PACKAGE}.tables.refusals")
    for name, sentences, heading in (
        ("refusals", refusals.EXPECTED, "what was expected"),
        ("warnings", refusals.WARNINGS, "sentence"),
    ):
        # No page of its own: refusals.md includes it.
        (generated / f"{name}.txt").write_text(codes_table(sentences, heading), encoding="utf-8")
    _write_modules(source, generated / "modules", names)


def _write_modules(source: Path, folder: Path, names: Mapping[str, Public]) -> None:
    """Write a page for each module, without what has a page of its own."""
    folder.mkdir(exist_ok=True)
    text = ""
    public = {one.defined for one in names.values()}
    shadowed = {one.name for one in names.values() if one.kind != "automodule"}
    for path in sorted((source / PACKAGE).rglob("[!_]*.py")):
        name = ".".join(path.relative_to(source).with_suffix("").parts)
        hidden = sorted(
            each.rpartition(".")[2] for each in public if each.rpartition(".")[0] == name
        )
        hidden += _taken_over(name, public)
        options = "   :members:\n   :show-inheritance:\n"
        if name in shadowed:
            # A function has taken the module's name.
            options += "   :no-index:\n"
        if hidden:
            options += f"   :exclude-members: {', '.join(hidden)}\n"
        (folder / f"{name}.md").write_text(
            f"{_ORPHAN}# {name}\n\n[All modules](index.md)\n\n```{{eval-rst}}\n.. automodule:: {name}\n{options}```\n",
            encoding="utf-8",
        )
        text += f"- [`{name}`]({name}.md)\n"
    (folder / "index.md").write_text(f"# All modules\n\n{_INNER}\n\n{text}", encoding="utf-8")


def _taken_over(name: str, public: set[str]) -> list[str]:
    """List the public things that a module hands on, and that stand on pages of their own."""
    module = importlib.import_module(name)
    listed = {each: getattr(module, each, None) for each in getattr(module, "__all__", ())}
    homes = {
        each: f"{getattr(thing, '__module__', '')}.{getattr(thing, '__qualname__', '')}"
        for each, thing in listed.items()
    }
    return sorted(
        each for each, home in homes.items() if home in public and home != f"{name}.{each}"
    )


def _resolve(homes: Mapping[str, str], target: str, module: str | None) -> str | None:
    """Find the public name of something that a docstring names by where it is defined."""
    for known in (target, f"{module}.{target}"):
        parts = known.split(".")
        for length in range(len(parts), 1, -1):
            home = ".".join(parts[:length])
            if home in homes:
                return ".".join([homes[home], *parts[length:]])
    return None


def setup(app: Any) -> dict[str, bool]:  # noqa: ANN401 - Sphinx is needed to build the pages, not to check this file
    """Let links to where a name is defined lead to its public page."""
    homes = {one.defined: one.name for one in public_names()}

    def lead(app: Any, env: Any, node: Any, content: Any) -> Any:  # noqa: ANN401 - as above
        if node.get("refdomain") != "py":
            return None
        name = _resolve(homes, node["reftarget"], node.get("py:module"))
        found = env.domains["py"].objects.get(name) if name else None
        if found is None:
            return None
        from sphinx.util.nodes import make_refnode

        return make_refnode(
            app.builder, node["refdoc"], found.docname, found.node_id, [content], name
        )

    app.connect("missing-reference", lead)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
