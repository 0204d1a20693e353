"""What [LS20]_ prints of its worked examples and its data, and what its algorithms gave on its own extracts.

The paper's Figures 2 to 10 are drawings without numbers. ``EXTRACT`` and ``EXTRACT_GCP`` hold losses that other code
gave for the same algorithms on the authors' public extracts, before this library was written: sums over rows and
columns, unit weights, observed bounds.
"""

from __future__ import annotations

SORTED = (12, 1, 11, 14, 7, 10, 16, 19, 13, 6, 9, 5, 8, 2, 15, 17, 0, 4, 18, 3)
"""Table 2b: the twenty rows sorted by variance."""

INITIAL_SETS = ("12 1 11", "14 7 10", "16 19 13", "6 9 5", "8 2 5", "17 0 8 18 3")
"""Worked Example 1, as printed: rows 5 and 8 stand twice, 15 and 4 are missing (E9)."""

_EQUAL = {
    "0 2 15 17": "[20 - 64] [2 - 2] [0 - 4] [0 - 0]",
    "1 11 12": "[25 - 55] [1 - 1] [0 - 0] [0 - 0]",
    "3 4 18": "[40 - 53] [1 - 2] [2 - 4] [1 - 1]",
    "5 6 8 9": "[49 - 80] [1 - 1] [4 - 4] [0 - 0]",
    "7 10 16": "[59 - 68] [1 - 1] [2 - 3] [0 - 0]",
    "13 14 19": "[18 - 42] [1 - 1] [2 - 4] [0 - 0]",
}
_UNEQUAL = {
    "0 8 10 16": "[64 - 80] [1 - 2] [3 - 4] [0 - 0]",
    "1 14 15": "[29 - 33] [1 - 2] [0 - 2] [0 - 0]",
    "2 3 13 18": "[40 - 42] [1 - 2] [0 - 4] [0 - 1]",
    "4 6 9": "[49 - 53] [1 - 1] [2 - 4] [0 - 1]",
    "5 7 11": "[55 - 59] [1 - 1] [0 - 4] [0 - 0]",
    "12 17 19": "[18 - 25] [1 - 2] [0 - 4] [0 - 0]",
}


def _by_row(classes: dict[str, str]) -> dict[int, str]:
    return {int(row): cells for rows, cells in classes.items() for row in rows.split()}


TABLE_4_EQUAL = _by_row(_EQUAL)
"""Table 4b: row -> its cells for equal weights."""

TABLE_4_UNEQUAL = _by_row(_UNEQUAL)
"""Table 4c: for weights .8, .05, .1, .05."""

SUB_PROBLEMS = (
    ("12 1 11 14 7 10 16 19 13", "14 7 10 16 19 13"),
    ("14 7 10 16 19 13 6 9 5 8 2 15 17 0 4 18 3", ""),
)
"""Tables 5a and 6a: rows of each sub-problem in order; those that the text carries."""

TABLE_7 = ("12 1 11", "14 7 10 4", "16 5 9", "19 13 6 18", "8 0 17", "2 15 3")
"""Table 7: the classes of Greedy Search at its end."""

TABLE_3 = {
    "SEX": ("Gender", 2, 1, 2),
    "AGE": ("Age", 75, 16, 90),
    "MARST": ("Marital Status", 6, 1, 6),
    "RACE": ("Race", 7, 1, 7),
    "BPL": ("Birthplace", 83, 1, 426),
    "HIGRADE": ("Education Level", 17, 4, 20),
    "CLASSWKRD": ("Work Class", 7, 13, 29),
    "OCCSCORE": ("Occupation", 47, 4, 79),
}
"""Table 3: what the paper calls a column, its number of values, the least and the greatest."""

TABLE_8 = {
    3: ((9, 1), (11, 1), (12, 432), (13, 33), (14, 30), (15, 21), (16, 22), (17, 16)),
    4: (
        *((12, 1), (14, 1), (15, 292), (16, 27), (17, 29), (18, 16), (19, 16), (20, 11)),
        *((21, 8), (22, 5), (23, 5), (24, 3), (26, 1), (27, 2)),
    ),
    5: (
        *((13, 1), (15, 1), (18, 200), (19, 23), (20, 17), (21, 12), (22, 16), (23, 12)),
        *((24, 4), (25, 15), (26, 19), (27, 3), (28, 9), (29, 1), (30, 1)),
    ),
}
"""Table 8, k = 3: S -> pairs of the rows of a sub-problem and how many there were."""

TABLE_9 = {
    20: (0.25, 224.47, 4.83, 0.57, 3340.06, 7.33, 11.27, 78.00),
    30: (0.25, 225.03, 4.82, 0.56, 3402.68, 7.30, 11.22, 78.53),
    40: (0.25, 225.31, 4.82, 0.57, 3414.58, 7.33, 11.20, 78.72),
    50: (0.25, 225.64, 4.81, 0.58, 3417.06, 7.38, 11.31, 78.70),
    60: (0.25, 226.29, 4.81, 0.57, 3372.39, 7.36, 11.34, 78.66),
    70: (0.25, 226.37, 4.83, 0.56, 3410.34, 7.36, 11.28, 78.51),
    80: (0.25, 226.32, 4.83, 0.56, 3412.74, 7.38, 11.28, 78.53),
    90: (0.25, 226.96, 4.83, 0.56, 3424.04, 7.38, 11.28, 78.69),
    100: (0.25, 227.14, 4.83, 0.57, 3412.27, 7.39, 11.31, 78.50),
}
"""Table 9: thousands of rows -> variances of the eight columns."""

_LOSSES = """
1000 8 3 | 779.07 719.46 482.33 453.13 - - -
20000 4 3 | 184.29 115.01 101.69 94.12 84.36 80.16 74.82
20000 4 5 | 345.56 235.34 198.41 189.64 - - 152.1
20000 4 10 | 683.22 518.23 391.38 396.62 - - 339.97
20000 4 50 | 2436.1 2909.3 1871.7 1934.3 - - 1452.1
20000 4 100 | 4309.5 4192.6 3202.0 3584.1 - - 2755.1
30000 4 3 | 197.1 108.2 101.0 - 86.2 - -
50000 4 3 | 199.6 117.1 113.9 - 92.2 - 73.11
70000 4 3 | 201.7 103.4 117.2 - 98.9 - -
100000 4 3 | 233.81 94.49 113.74 - 100.33 91.67 73.36
100000 4 5 | 432.1 193.2 - - - - 148.49
100000 4 10 | 900.2 604.1 - - - - 328.4
"""


def _losses() -> dict[tuple[int, int, int], dict[str, float]]:
    names = ["initial", "mondrian", "greedy-search", "k-member"]
    names += ["split-carry, S=2", "split-carry, S=3", "segmentation"]
    found = {}
    for line in _LOSSES.strip().splitlines():
        case, losses = (part.split() for part in line.split("|"))
        rows, columns, k = map(int, case)
        pairs = zip(names, losses, strict=True)
        found[rows, columns, k] = {name: float(loss) for name, loss in pairs if loss != "-"}
    return found


EXTRACT = _losses()
"""Rows, columns, k -> method -> loss, all columns numbers."""

EXTRACT_GCP: dict[str, dict[int, float]] = {
    method: dict(zip((3, 5, 7, 9, 11, 13, 15), losses, strict=True))
    for method, losses in {
        "initial": (493.3, 770.7, 1004.5, 1200.1, 1346.6, 1484.6, 1629.8),
        "greedy-search": (282.5, 510.3, 711.8, 861.7, 1048.9, 1181.1, 1310.1),
        "k-member": (281.2, 503.6, 707.5, 874.0, 1039.6, 1181.2, 1302.8),
        "mondrian": (506.9, 843.7, 1078.8, 1286.6, 1475.0, 1612.8, 1832.2),
        "doka-hungarian": (251.0, 445.1, 607.4, 745.1, 871.3, 987.3, 1091.8),
    }.items()
}
"""1,000 rows of eight columns, GCP with ``|a| - 1``: method -> k -> loss."""
