"""The experiments on k-anonymity: [LS20]_, Section 4 and its appendices, on data that may be carried.

The census extracts of the paper may not be passed on. Where ``data`` is a folder that holds them they are used; else
tables are made with the same columns, ranges and numbers of rows. The twenty rows that the paper prints are here.

The paper prints no figure of Figures 2 to 10 as a number. Where a column is called "on the extract", it holds what the
same algorithms gave on the paper's own extracts, measured with other code before this library was written.
"""

from __future__ import annotations
