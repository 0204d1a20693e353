"""Figures as inline SVG: text stays text, identifiers repeat from run to run, nothing refers to the outside."""

from __future__ import annotations

import html
import io
import re
from typing import TYPE_CHECKING

from discreet.core.extras import install_command, missing_packages

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from matplotlib.figure import Figure

    from discreet.plot import Curve

_NAMES = {
    "#1f2933": "ink",
    "#6b7580": "grey",
    "#c9ced4": "faint",
    "#0b5cad": "blue",
    "#c44e00": "red",
    "#00785a": "figure-green",
    "#8a4a7d": "purple",
    "#ffffff": "paper",
    "#000000": "ink",
}
"""Colors of :mod:`discreet.plot.style`, white and black -> what the page calls them, in the light and in the dark."""

_COLORS = re.compile("|".join(_NAMES), re.IGNORECASE)


def drawn(
    draw: Callable[[Figure], object], width: float, height: float, *, label: str, salt: str
) -> str:
    """Draw a figure for the page; without Matplotlib, a sentence that says how to get it.

    Returns HTML: an ``<svg>`` element, or a paragraph.

    Parameters
    ----------
    draw
        Draws on an empty figure; it is not called without Matplotlib.
    width, height
        Size in inches.
    label, salt
        As for :func:`inline_svg`.

    Examples
    --------
    >>> svg = drawn(lambda figure: figure.add_subplot(), 2, 1, label="an <empty> figure", salt="a")
    >>> svg.startswith("<svg"), "an &lt;empty&gt; figure" in svg
    (True, True)
    """
    if missing_packages("plot"):
        what = html.escape(f"No figure ({label}): Matplotlib is not installed. To have it: ")
        return f'<p class="note">{what}<code>{html.escape(install_command("plot"))}</code></p>'
    figure = new_figure(width, height)
    draw(figure)
    return inline_svg(figure, label=label, salt=salt)


def new_figure(width: float = 4.9, height: float = 3.3) -> Figure:
    """Return an empty figure of a size in inches, without a window or global state."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def frontier_svg(curves: Sequence[Curve], about: str, salt: str, **axes: str) -> str:
    """Draw curves of loss, or of another quantity, over a parameter; empty without curves.

    Parameters
    ----------
    curves
        Curves to draw, one line each.
    about
        What the figure is about, for readers who do not see it.
    salt
        As for :func:`inline_svg`.
    **axes
        Names of the axes and their units, as for :func:`discreet.plot.plot_frontier`.
    """
    from discreet.plot import plot_frontier

    if not curves:
        return ""
    names = ", ".join(curve.label for curve in curves)
    return drawn(
        lambda figure: plot_frontier(curves, ax=figure.add_subplot(), **axes),
        5.2,
        3.9,
        label=f"{about}: {names}",
        salt=salt,
    )


def inline_svg(figure: Figure, *, label: str, salt: str) -> str:
    """Convert a figure into an ``<svg>`` element.

    Parameters
    ----------
    figure
        A Matplotlib figure.
    label
        What it shows, for readers who do not see it.
    salt
        Makes the identifiers of this figure differ from those of others on the page.

    Returns
    -------
    str
        The element, without declaration, document type and metadata.

    Examples
    --------
    >>> figure = new_figure(2, 1)
    >>> svg = inline_svg(figure, label="an <empty> figure", salt="a")
    >>> svg.startswith("<svg"), "an &lt;empty&gt; figure" in svg
    (True, True)
    """
    from matplotlib import rc_context

    written = io.StringIO()
    # The setting is read when a file is written; the context puts it back.
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": salt}):
        figure.savefig(
            written, format="svg", transparent=True, metadata={"Date": None, "Creator": None}
        )
    body = written.getvalue()
    body = body[body.index("<svg") :]
    # Metadata are for files; the style sheet of the page says what Matplotlib's own would say of every element.
    body = re.sub(r"<(metadata|style)\b.*?</\1>", "", body, flags=re.DOTALL).replace(
        "xlink:href", "href"
    )
    width, height = re.findall(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', body)[0]
    # Matplotlib leaves black out, which is what no color means: a name beside an axis is to have the page's ink.
    opening = f'<svg viewBox="0 0 {width} {height}" fill="currentColor" role="img" aria-label="{html.escape(label)}">'
    body = re.sub(r"<svg\b[^>]*>", lambda _: opening, body, count=1)
    body = _COLORS.sub(lambda m: f"var(--{_NAMES[m[0].lower()]})", body)
    # Names that are used get this figure's salt, since a page has one name space; the others go.
    used = set(re.findall(r'(?:href="#|url\(#)([^")]+)', body))
    body = re.sub(r' id="([^"]+)"', lambda m: f' id="{salt}-{m[1]}"' if m[1] in used else "", body)
    body = re.sub(r'(href="#|url\(#)', rf"\g<1>{salt}-", body)
    return body.strip()
