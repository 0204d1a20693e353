"""Reports: one self-contained HTML file that a person wants to look at.

``write_report([make_chapter("metricdp", design)], "report.html")`` is all that a design needs. What the chapters take
beyond the outcome stands with their functions, which :data:`CHAPTERS` names.
"""

from discreet.report.page import (
    CHAPTERS,
    Chapter,
    Tab,
    make_chapter,
    render_report,
    write_report,
)

__all__ = ["CHAPTERS", "Chapter", "Tab", "make_chapter", "render_report", "write_report"]
