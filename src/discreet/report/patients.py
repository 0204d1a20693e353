"""The demo's table: synthetic patients, anonymized; every quick method at several k; what a few rows became."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from discreet.artefact import save_anonymous
from discreet.core import printed
from discreet.core.guarantee import KAnonymity
from discreet.datasets.microdata import made_patients
from discreet.evaluate.simulate.attacks import patient_attributes
from discreet.kanonymity import anonymize
from discreet.kanonymity.candidate import SearchLimits
from discreet.kanonymity.cells import read_problem
from discreet.kanonymity.methods import METHODS
from discreet.kanonymity.verify import classes_of
from discreet.plot import Curve
from discreet.report.page import make_chapter
from discreet.report.trying import try_table

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import polars as pl

    from discreet.core.outcome import Anonymization
    from discreet.kanonymity.anonymize import AnonymizationDiagnostics
    from discreet.kanonymity.problem import Problem
    from discreet.report.page import Chapter

QUASI = ("age", "sex", "zip")
KS = (2, 3, 5, 10, 20)

_LABELS = {
    "full-domain": "whole columns (lattice)",
    "greedy-search": "Greedy Search",
    "initial": "sorted blocks",
    "k-member": "K-Member",
    "mondrian": "Mondrian",
    "segmentation": "segmentation",
}
"""The quick methods, and what they are called on the page."""

_LEAD = (
    "A hospital wants to give a table of its patients to researchers. Names are removed; but age, sex and postal code "
    "together still identify many of them."
)
_HOW = (
    "So cells are made coarser, and no coarser than k requires: an age becomes an interval, a postal code its first "
    "digits, until every combination is shared by {k} patients or more. The {n} patients here are synthetic."
)
_NOTE = (
    "The mean loss of a cell: 0 where nothing was changed, 1 where nothing is left. Nothing can lie in the shaded "
    "area. "
    "Such losses are of the original rows: they can be shown because these are synthetic."
)


def patient_demo(
    file: Path, *, patients: int = 1_500, k: int = 5, seconds: float = 1.0, strangers_seed: int = 9
) -> Chapter:
    """Anonymize synthetic patients, compare the methods on them, and make the chapter.

    Parameters
    ----------
    file
        Where the table goes, with its record beside it; its folder must exist.
    patients
        Number of synthetic patients.
    k
        Least size of a class in the table that is shown.
    seconds
        Seconds of each search, six in all; the quick methods come on top.
    strangers_seed
        Seed of the people who are not in the table, the control group of the attacks.

    Returns
    -------
    Chapter
        For the page.
    """
    import polars as pl

    table = pl.DataFrame(made_patients(patients))
    attributes = patient_attributes()
    made: Anonymization[pl.DataFrame, AnonymizationDiagnostics] = anonymize(
        table.with_row_index("row"),
        KAnonymity(k, QUASI),
        attributes=attributes,
        sensitive=["disease"],
        # Which row became which is shown of synthetic data alone.
        keep=["row"],
        time_limit=seconds,
    )
    examples = _examples(table, made.table)
    public = replace(made, table=made.table.drop("row"))
    save_anonymous(public, file, attributes)
    problem = read_problem(table, QUASI, attributes, "ncp")
    strangers = pl.DataFrame(made_patients(patients, seed=strangers_seed))
    attacked, audits = try_table(public, attributes, table, strangers, "disease")
    return make_chapter(
        "kanonymity",
        public,
        title="A table of patients",
        anchor="patients",
        lead=(_LEAD, _HOW.format(k=k, n=printed.count(patients))),
        attributes=attributes,
        names=table.columns,
        examples=examples,
        curves=loss_curves(problem, KS, seconds=seconds),
        curves_note=_NOTE,
        artefact=f"{file.parent.name}/{file.name}",
        attacked=attacked,
        audits=audits,
    )


def loss_curves(problem: Problem, ks: Sequence[int], *, seconds: float) -> list[Curve]:
    """Measure every quick method, this library's search, and the bound: for made rows only.

    Returns a curve of the mean loss of a cell, from 0 to 1, over `ks` for each: the bound, the search, then the
    methods.

    Parameters
    ----------
    problem
        The problem, of synthetic rows.
    ks
        Least class sizes.
    seconds
        Seconds of each search, and at most of each quick method.
    """
    from discreet.kanonymity.search.search import search

    cells = problem.n * problem.suppressed_cost
    best = [search(problem, k, time_limit=seconds) for k in ks]
    curves = [
        Curve("lower bound", tuple(ks), tuple(one.lower / cells for one in best), "bound"),
        Curve("this library", tuple(ks), tuple(one.loss / cells for one in best), "optimum"),
    ]
    for name, label in _LABELS.items():
        method = METHODS[name].make()
        losses = [
            problem.mean_loss_of(method.solve(problem, k, SearchLimits.within(seconds)).labels)
            for k in ks
        ]
        curves.append(Curve(label, tuple(ks), tuple(losses)))
    return curves


def _examples(
    before: pl.DataFrame, after: pl.DataFrame, count: int = 4
) -> list[tuple[list[str], list[str], tuple[int, int]]]:
    """Return about `count` rows from all over the original: its cells, the published cells, and sizes of both classes.

    `after` has a column "row" with the number of each row in the original. Private for real rows.
    """
    original, classes = classes_of(before, QUASI), classes_of(after, QUASI)
    at = {row: place for place, row in enumerate(after["row"].to_list())}
    step = max(1, before.height // count)
    chosen = range(step // 2, before.height, step)
    published = after.drop("row")
    return [
        (
            [str(cell) for cell in before.row(row)],
            [str(cell) for cell in published.row(at[row])],
            (
                int(original.sizes[original.labels[row]]),
                int(classes.sizes[classes.labels[at[row]]]),
            ),
        )
        for row in chosen
    ]
