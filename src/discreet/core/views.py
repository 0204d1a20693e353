"""What a notebook shows of an outcome: the claim as a sentence, a picture, the checks folded away.

Plain HTML with inline SVG, in the colors of the page that it stands on, light or dark; nothing is loaded. A view of a
release holds what is released and no more.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from discreet.core.printed import count, estimate, position, share

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import ArrayLike, NDArray

    from discreet.core.certificate import Certificate


class _Picture(NamedTuple):
    """Limits of a picture."""

    pixels: float = 220.0
    """Side."""

    max_points: int = 800
    """Points that are drawn; more would add megabytes to a page."""

    max_cells: int = 40
    """Rows and columns of a channel, or bars, that are drawn; larger channels are averaged, further bars counted."""


_PICTURE = _Picture()

_INK = "#2f6db5"
"""A blue with a contrast of 3 or more on white and on the usual dark pages."""


def view(
    claim: object,
    facts: Iterable[str] = (),
    *,
    picture: str = "",
    certificate: Certificate | None = None,
    verified: bool = True,
    details: str = "",
) -> str:
    """Return the HTML of an outcome's view.

    Parameters
    ----------
    claim
        The guarantee, which prints as a sentence, or another title.
    facts
        Short lines below it, text.
    picture
        An element of SVG, or other HTML of ours.
    certificate
        Its verdict is one line, its checks are folded.
    verified
        Whether the checks were made of this very outcome, by this process.
    details
        More to be folded, HTML of ours.

    Returns
    -------
    str
        HTML.

    Examples
    --------
    >>> view("a < b", ["one fact"])
    '<div class="discreet-view"><p><b>a &lt; b</b></p><p>one fact</p></div>'
    """
    lines = "".join(f"<p>{escape(fact)}</p>" for fact in facts)
    checks = (
        ""
        if certificate is None
        else folded(_verdict(certificate, verified), certificate._repr_html_())
    )
    return f'<div class="discreet-view"><p><b>{escape(str(claim))}</b></p>{lines}{picture}{checks}{details}</div>'


def folded(summary: str, body: str) -> str:
    """Fold HTML of ours behind a line of text.

    `summary` is escaped, `body` is not.
    """
    return f"<details><summary>{escape(summary)}</summary>{body}</details>"


def _verdict(certificate: Certificate, verified: bool) -> str:  # noqa: FBT001 - of one caller
    """Return the sentence on a certificate: claimed, verified or failed.

    Without a check the certificate has not passed.
    """
    n = len(certificate.checks)
    if certificate.passed and not verified:
        return "Claimed: discreet.verify checks it"
    if certificate.passed:
        return f"Verified: {n} check{'s' * (n != 1)} passed"
    return "NOT verified: a check failed" if n else "NOT verified: there are no checks"


def most_central(points: NDArray[np.float64]) -> int:
    """Index of the point with the least Euclidean distance to the mean of all points; the first of equals."""
    return int(np.square(points - points.mean(axis=0)).sum(axis=1).argmin())


def _on_page(points: NDArray[np.float64], metric: str) -> NDArray[np.float64]:
    """Return pixel coordinates ``(n, 2)`` of points: x to the right, y upwards on the page, one scale for both.

    Latitude and longitude are drawn as on a map.

    `metric` ``"haversine"`` means latitude and longitude; the picture is 220 pixels wide at most.
    """
    plane = points
    if metric == "haversine":
        shrink = np.cos(np.radians(points[:, 0].mean()))
        # Counted from the first place, so that the 180th meridian is no edge of the picture.
        east = (points[:, 1] - points[0, 1] + 180) % 360 - 180
        plane = np.stack([east * shrink, points[:, 0]], axis=1)
    low, extent = plane.min(axis=0), float(np.ptp(plane, axis=0).max()) or 1.0
    placed: NDArray[np.float64] = (plane - low) / extent * (_PICTURE.pixels - 24) + 12
    placed[:, 1] = placed[:, 1].max() + 12 - placed[:, 1]
    return placed


def _svg(body: str, label: str, width: float, height: float) -> str:
    """Return a picture in SVG of a width and a height in pixels, with a label for screen readers."""
    wide, high = position(width, 0), position(height, 0)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{escape(label)}" width="{wide}" '
        f'height="{high}" viewBox="0 0 {wide} {high}">{body}</svg>'
    )


def _at(point: Sequence[float] | NDArray[np.float64]) -> str:
    return f'cx="{position(point[0])}" cy="{position(point[1])}"'


def _drawable(points: NDArray[np.float64] | None) -> bool:
    return points is not None and points.ndim == 2 and points.shape[1] == 2 and len(points) > 1


def row_on_map(
    points: NDArray[np.float64] | None, metric: str, secret: int, chances: ArrayLike
) -> str:
    """Draw where one secret is reported: discs whose area is the chance, a ring where it truly is.

    The text is "" for points that are not ``(n, 2)`` or fewer than two. At most 800 reports are drawn.

    Parameters
    ----------
    points
        ``(n, 2)`` places of secrets, which are those of reports; for others nothing is drawn.
    metric
        Of the space; great circles are drawn by latitude and longitude.
    secret
        The place that is reported.
    chances
        ``(n,)`` of each report.

    Returns
    -------
    str
        SVG with its caption, or nothing.
    """
    row = np.asarray(chances, dtype=np.float64)
    if points is None or not _drawable(points) or len(row) != len(points):
        return ""
    placed = _on_page(points, metric)
    shown = np.argsort(-row, kind="stable")[: _PICTURE.max_points]
    near = _PICTURE.pixels / (2 * np.sqrt(len(points))) * 0.95
    radii = near * np.sqrt(row / row.max())
    grey = "".join(
        f'<circle {_at((x, y))} r="1" fill="currentColor" opacity=".45"/>' for x, y in placed[shown]
    )
    discs = "".join(
        f'<circle {_at(placed[i])} r="{position(radii[i])}" fill="{_INK}" opacity=".8"/>'
        for i in shown
        if radii[i] >= 0.3
    )
    x, y = placed[secret]
    outline = 'fill="none" stroke="currentColor" stroke-width="1.5"'
    ring = f'<circle {_at((x, y))} r="{position(near + 2)}" {outline}/>'
    label = f"Where secret {secret} is reported, the likeliest with {share(float(row.max()))}; areas are chances"
    caption = f"<p><small>{escape(label)}. The ring marks the secret.</small></p>"
    return _svg(grey + discs + ring, label, _PICTURE.pixels, placed[:, 1].max() + 12) + caption


def dots(points: NDArray[np.float64] | None, metric: str, label: str) -> str:
    """Return an SVG of points ``(n, 2)``, at most 800 of them, evenly chosen; "" where they can't be drawn.

    `metric` is the space's, ``"haversine"`` for latitude and longitude; `label` is for screen readers. Fewer than two
    points, or other dimensions, are not drawn.
    """
    if points is None or not _drawable(points):
        return ""
    placed = _on_page(points, metric)
    chosen = placed[:: -(-len(placed) // _PICTURE.max_points)]
    body = "".join(f'<circle {_at((x, y))} r="2" fill="{_INK}"/>' for x, y in chosen)
    return _svg(body, label, _PICTURE.pixels, placed[:, 1].max() + 12)


def bars(heights: Sequence[tuple[str, float]], label: str) -> str:
    """Draw a bar for each name, in the order that is given; nothing without a positive height.

    At most 40 bars are drawn; the caption counts the others.

    Parameters
    ----------
    heights
        Names and what the bars show.
    label
        Caption of the picture.

    Returns
    -------
    str
        SVG with its caption, or nothing.

    Examples
    --------
    >>> bars([("1", 3), ("2", 1)], "Groups of each size").count("<rect")
    2
    >>> bars([], "Groups of each size")
    ''
    """
    shown = heights[: _PICTURE.max_cells]
    most = max((height for _, height in shown), default=0.0)
    if most <= 0:
        return ""
    step, left = 16, 8 * min(30, max(len(name) for name, _ in shown)) + 8
    body = ""
    for at, (name, height) in enumerate(shown):
        y, width = step * at, _PICTURE.pixels * max(height, 0.0) / most
        body += (
            f'<text x="0" y="{y + 12}" font-size="12" fill="currentColor">{escape(name[:30])}</text>'
            f'<rect x="{left}" y="{y + 2}" width="{position(width)}" height="12" fill="{_INK}"/>'
            f'<text x="{position(left + width + 4)}" y="{y + 12}" font-size="12" fill="currentColor">'
            f"{escape(estimate(height))}</text>"
        )
    rest = f"; {count(len(heights) - len(shown))} more are not drawn" * (len(heights) > len(shown))
    caption = f"<p><small>{escape(label + rest)}.</small></p>"
    return _svg(body, label, left + _PICTURE.pixels + 80, step * len(shown)) + caption


def heat(chances: NDArray[np.float64], label: str) -> str:
    """Return an SVG of a table of probabilities ``(n, k)``, the largest darkest.

    A large table is averaged over blocks.

    Probabilities are finite and not negative. More than 40 rows or columns are averaged; entries below half a percent
    of the largest are not drawn.

    `label` is for screen readers.
    """
    table = chances
    for axis in (0, 1):
        cuts = np.linspace(
            0, table.shape[axis], min(table.shape[axis], _PICTURE.max_cells) + 1
        ).astype(int)
        sums = np.add.reduceat(table, cuts[:-1], axis=axis)
        table = sums / np.diff(cuts).reshape((-1, 1) if axis == 0 else (1, -1))
    cell = min(18.0, _PICTURE.pixels / max(table.shape))
    shade, side = table / (table.max() or 1.0), position(cell)
    body = "".join(
        f'<rect x="{position(c * cell)}" y="{position(r * cell)}" width="{side}" height="{side}" fill="{_INK}" '
        f'opacity="{position(shade[r, c], 2)}"/>'
        for r, c in np.argwhere(shade >= 0.005)
    )
    return _svg(body, label, cell * table.shape[1], cell * table.shape[0])


def frame_head(table: Any, rows: int = 5) -> str:  # noqa: ANN401 - a frame of any library
    """Return the first rows of a published table as the HTML of its library; "" if it has none.

    `table` is a frame of any library with ``head``; `rows` how many are shown.
    """
    head = getattr(table, "head", None)
    shown = getattr(head(rows), "_repr_html_", None) if callable(head) else None
    return str(shown()) if callable(shown) else ""


def rows_of(lines: Sequence[tuple[str, object]]) -> str:
    """Return an HTML table of names and values.

    Both are escaped.
    """
    body = "".join(
        f"<tr><td>{escape(name)}</td><td>{escape(str(value))}</td></tr>" for name, value in lines
    )
    return f"<table>{body}</table>"


def plan_view(guarantee: object, lines: str, picture: str = "") -> str:
    """Return HTML of a plan: what it promises, a picture, and its lines, each a name, two spaces and a text.

    A line without two spaces becomes a name alone. `picture` is HTML and not escaped.
    """
    pairs = []
    for line in lines.split("\n"):
        name, gap, rest = line.partition("  ")
        pairs.append((name, rest.strip()) if gap else (line, ""))
    return view(guarantee, picture=picture + rows_of(pairs))
