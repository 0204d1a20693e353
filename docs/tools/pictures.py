"""Make the picture of the README: ``python docs/tools/pictures.py``, with the package on the path.

It is drawn by the README's own example, so that it can't show anything else.
"""  # noqa: INP001 - a folder of Sphinx extensions, put on the path by conf.py

from __future__ import annotations

from pathlib import Path
from typing import Any

from drawn import examples_until, run_examples, svg_of

__all__ = ["PICTURE", "draw"]

ROOT = Path(__file__).parents[2]
PICTURE = ROOT / "docs" / "pictures" / "grid.svg"
WIDTH = 400
LABEL = "A grid of seven by seven kilometers, a ring in the middle; the darker a cell the likelier it is reported"


def draw() -> str:
    """Run the first example of the README and draw the middle row of its channel."""
    from discreet.plot import plot_channel_row

    text = (ROOT / "README.md").read_text(encoding="utf-8")
    names: dict[str, Any] = {}
    first = text.count("\n", 0, text.index("```\n", text.index("```python"))) + 1
    run_examples(examples_until(text, first), names, after=0, page="README")
    channel, points = names["design"].channel, names["space"].points
    ax = plot_channel_row(channel, points, len(points) // 2, cell=1, unit="km")
    svg = svg_of(ax, label=LABEL, salt="grid", size=(4, 3.7))
    opening = f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" style="background:#fff;font-family:sans-serif" '
    return svg.replace("<svg ", opening, 1) + "\n"


if __name__ == "__main__":
    PICTURE.parent.mkdir(exist_ok=True)
    PICTURE.write_text(draw(), encoding="utf-8")
