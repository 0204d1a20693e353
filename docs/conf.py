"""How the documentation is built: Markdown and notebooks by MyST-NB, the reference from docstrings, no warnings."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
SOURCE = HERE.parent / "src"
sys.path.insert(0, str(SOURCE))
sys.path.insert(0, str(HERE / "tools"))

project = "discreet"
author = "The discreet developers"
copyright = author
release = tomllib.loads((HERE.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"][
    "version"
]
version = release

extensions = [
    "api_pages",
    "drawn",
    "mathml",
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinxcontrib.bibtex",
]
# Beside its output MyST-NB leaves the notebooks that it ran: a second build would take them for pages.
exclude_patterns = ["_build", "jupyter_execute"]

# The tutorials are notebooks. Each build runs them, and an error in one fails it.
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_execution_show_tb = True
nb_merge_streams = True
html_theme = "furo"
html_title = project
html_static_path = ["_static"]
html_css_files = ["pages.css"]
# Schemas of files, and the verifier for browsers: as they are, beside the pages.
html_extra_path = ["formats", "../src/discreet/report/templates/verify_standalone.html"]
# Browsers draw formulas by themselves: nothing is fetched from elsewhere, and no script is needed.
html_math_renderer = "mathml"

myst_enable_extensions = ["dollarmath", "amsmath"]
myst_heading_anchors = 3

bibtex_bibfiles = ["refs.bib"]
bibtex_default_style = "plain"
bibtex_reference_style = "author_year"

# Packages that see two of a kind, such as the Problem of each mechanism, may link a short name to another one.
suppress_warnings = ["ref.python"]

autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
python_maximum_signature_line_length = 88
napoleon_google_docstring = False
# Types stand in the signature; once is enough.
napoleon_attr_annotations = False
napoleon_custom_sections = [("Guarantee", "notes_style"), ("Complexity", "notes_style")]


CITATION = re.compile(r"\[([A-Z][A-Za-z]*\d{2}[a-z]?)\]_")


def translate(*event: Any) -> None:  # noqa: ANN401 - as for setup
    """Turn ``[BS16]_`` of a docstring into a citation of refs.bib, and keep ``np.bool_`` from being read as a link."""
    lines: list[str] = event[-1]
    lines[:] = [
        CITATION.sub(r":cite:t:`\1`", line).replace("np.bool_", "np.bool") for line in lines
    ]


def prefer_the_same_package() -> None:
    """Let a short name such as ``Problem``, which each mechanism has, mean that of the page's own package."""
    from sphinx.domains.python import PythonDomain

    domain: Any = PythonDomain
    find = domain.find_obj

    def find_near(self: Any, env: Any, modname: str | None, *rest: Any) -> list[Any]:  # noqa: ANN401 - as for setup
        matches = find(self, env, modname, *rest)
        package = (modname or "").rpartition(".")[0] + "."
        near = [match for match in matches if match[0].startswith(package)]
        return near if len(near) == 1 else matches

    domain.find_obj = find_near


def keep_the_sidebar_short(
    _app: object, _page: str, _template: str, context: dict[str, Any], _tree: object
) -> None:
    """Show the pages of the five sections in the sidebar, and not the pages below them: each of these has a list."""
    toctree = context.get("toctree")
    if toctree is not None:
        context["toctree"] = lambda **options: toctree(**{**options, "maxdepth": 1})


def setup(app: Any) -> None:  # noqa: ANN401 - Sphinx is needed to build the pages, not to check this file
    """Register the hooks with Sphinx."""
    from api_pages import write_reference
    from option_pages import options_page

    write_reference(SOURCE, HERE / "reference")
    page = HERE / "reference" / "generated" / "options.md"
    page.write_text(options_page(), encoding="utf-8")
    prefer_the_same_package()
    # Before napoleon, which has the default priority of 500.
    app.connect("autodoc-process-docstring", translate, priority=400)
    # Before the theme, which reads it.
    app.connect("html-page-context", keep_the_sidebar_short, priority=400)
