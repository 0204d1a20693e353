"""What the studio runs in processes of their own: what each k costs, and the anonymization."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import numpy as np

from discreet.core import printed
from discreet.core.guarantee import KAnonymity
from discreet.core.jit import compiling
from discreet.studio.drawn import draw_frontier
from discreet.studio.forms import DEMANDS
from discreet.tables.foreign_files import Labels
from discreet.tables.parsing import read
from discreet.tables.writing import WRITABLE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import polars as pl
    from numpy.typing import NDArray

    from discreet.core.outcome import Anonymization
    from discreet.core.progress import Progress
    from discreet.evaluate.attack.finding import Finding
    from discreet.kanonymity.models import PrivacyModel
    from discreet.kanonymity.problem import Attribute, Problem

    Tell = Callable[[dict[str, Any]], None]

TABLE = "table.parquet"
"""The table in the private folder, as it was read."""

WRITTEN = tuple(f"anonymized{ending}" for ending in WRITABLE)
"""Names of files that can be downloaded, each with its record beside it."""

KS = (2, 3, 5, 10, 20, 50, 100)
"""Class sizes of the frontier."""


@final
@dataclass(frozen=True)
class LossBySize:
    """Compute what is lost for several k: by fast splits first, then by the search that anonymizes, for each k in turn.

    For the curator: it is computed from the table. Each step tells the rows as they stand, so that the page draws them
    while it goes on. Fast splits begin with the largest k, which has the fewest classes and is there first: a second or
    two for all k and 100,000 rows.

    Parameters
    ----------
    folder
        Where the table is.
    attributes
        The quasi-identifiers.
    seconds
        For all k together.
    fast_share
        Largest share of the time that fast splits of all k may take.
    """

    folder: str
    attributes: tuple[Attribute, ...]
    seconds: float = 60.0
    fast_share: float = 0.4

    def run(self, tell: Tell) -> dict[str, Any]:
        """Return ``rows``, ``panels`` (drawings) and ``searching`` (empty).

        There is a row for each k of KS up to the number of rows of the table. It has k, loss (mean share of a cell),
        classes, highest and average (probabilities of re-identification) and searched. Fast splits run for every k;
        then each is searched, in about `seconds` all together; an interrupt ends the search. `tell` gets text and
        rows after each.
        """
        from discreet.kanonymity.candidate import SearchInterrupted, SearchLimits
        from discreet.kanonymity.cells import read_problem
        from discreet.kanonymity.methods.top_down import TopDown
        from discreet.kanonymity.search.search import search

        tell({"text": "Reading the table."})
        table = _read(self.folder)
        names = [attribute.name for attribute in self.attributes]
        problem = read_problem(table, names, self.attributes, "ncp")
        limits = SearchLimits.within(self.seconds)
        rows: list[dict[str, Any]] = []
        sizes = [k for k in KS if k <= problem.n]
        with compiling(lambda: tell({"text": "Compiling, first run on this machine only."})):
            for at, k in enumerate(reversed(sizes)):
                first = SearchLimits.within(self.fast_share * limits.left / (len(sizes) - at))
                rows.insert(0, _cost(problem, k, TopDown().solve(problem, k, first).labels))
                text = f"k = {k}: mean loss {printed.share_at_most(rows[0]['loss'])} of a cell by fast splits"
                tell({"text": text, "rows": list(rows)})
            for at, row in enumerate(rows):
                if limits.left <= 0:
                    break
                try:
                    result = search(problem, row["k"], time_limit=limits.left / (len(rows) - at))
                except SearchInterrupted:
                    break
                better = _cost(problem, row["k"], result.labels, searched=True)
                rows[at] = better if better["loss"] <= row["loss"] else {**row, "searched": True}
                text = f"k = {row['k']}: mean loss {printed.share_at_most(rows[at]['loss'])} of a cell by the search"
                tell({"text": text, "rows": list(rows)})
        return {"rows": rows, "panels": draw_frontier(rows), "searching": ""}


def _cost(
    problem: Problem, k: int, labels: NDArray[np.int32], *, searched: bool = False
) -> dict[str, Any]:
    """Return a row of the frontier for partition `labels` ``(n,)``, no row of which is suppressed; ``O(n m)``.

    Keys: k, loss (mean share of a cell), classes, highest and average (probabilities of re-identification), searched.
    """
    sizes = np.bincount(labels)
    return {
        "k": k,
        "loss": problem.mean_loss_of(labels),
        "classes": len(sizes),
        "highest": 1 / int(sizes.min()),
        "average": len(sizes) / problem.n,
        "searched": searched,
    }


@final
@dataclass(frozen=True)
class Anonymize:
    """Anonymize the table, write it with its certificate, and measure it.

    Parameters
    ----------
    folder
        Where the table is, and where the result goes.
    attributes
        The quasi-identifiers.
    sensitive
        Columns whose diversity is reported.
    dropped
        Columns that are left out of the result.
    kept
        Columns that are published as they are.
    k
        Least size of an equivalence class.
    models
        What classes must hold besides.
    require
        The same as text, for the record.
    seconds
        For the search.
    suppress
        Largest share of rows that may be left out.
    person
        Column that tells persons apart.
    written
        Name of the file that is written, of :data:`WRITTEN`.
    labels
        Labels of the file that was read.
    recorded
        What the record states besides: how the file was read and recoded, and demands as text.
    shown
        Rows that are shown before and after.
    """

    folder: str
    attributes: tuple[Attribute, ...]
    sensitive: tuple[str, ...]
    dropped: tuple[str, ...]
    kept: tuple[str, ...]
    k: int
    models: Mapping[str, Sequence[PrivacyModel]]
    require: tuple[str, ...]
    seconds: float
    suppress: float = 0.0
    person: str | None = None
    written: str = "anonymized.csv"
    labels: Labels = field(default_factory=Labels)
    recorded: Mapping[str, Any] = field(default_factory=dict)
    shown: int = 8

    def run(self, tell: Tell) -> dict[str, Any]:
        """Search, audit, write the table with its certificate into the folder, attack it, and return the page's values.

        `tell` gets "text", and while it searches "loss" and "lower". Interrupted, it writes the best table so far
        ("stopped"); SearchInterrupted if there is none. Among the values are risks before and after, checks, findings
        and first rows of the original: private. InvalidProblemError if no table meets the demands.
        """
        from discreet.artefact import save_anonymous
        from discreet.artefact.anonymous import save_persons
        from discreet.kanonymity import anonymize
        from discreet.kanonymity.candidate import SearchInterrupted
        from discreet.report.curator import risks

        table = _read(self.folder).drop(self.dropped)
        names = tuple(attribute.name for attribute in self.attributes)
        mark = next(name for n in count() if (name := "row" + n * "_") not in table.columns)
        tell({"text": f"Reading {printed.count(table.height)} rows."})

        def on_progress(step: Progress) -> None:
            lower = step.lower or 0.0
            least = f", lower bound {printed.at_least(lower)}" if lower else ""
            text = f"{printed.seconds(step.elapsed)}, {step.stage}: loss {printed.at_most(step.upper)}{least}"
            tell({"text": text, "loss": step.upper, "lower": lower})

        stopped = False
        try:
            made: Anonymization[pl.DataFrame, Any] = anonymize(
                table.with_row_index(mark),
                KAnonymity(self.k, names),
                attributes=self.attributes,
                time_limit=self.seconds,
                suppress=self.suppress,
                models=self.models,
                person=self.person,
                on_progress=on_progress,
                sensitive=self.sensitive,
                keep=(mark, *self.kept),
                throw=False,
            )
        except SearchInterrupted as interrupt:
            if interrupt.best is None:
                raise
            made, stopped = interrupt.best, True
        tell({"text": "Counting the published cells, and writing."})
        places = made.table[mark].to_list()
        # Which row became which is for the page alone; it must not be in what is published.
        stated = {**made.provenance.parameters, **{a: b for a, b in self.recorded.items() if b}}
        provenance = replace(made.provenance, parameters=stated)
        made = replace(made, table=made.table.drop(mark), provenance=provenance)
        file = Path(self.folder, self.written)
        save_anonymous(made, file, self.attributes, self.labels)
        if self.person is not None:
            save_persons(file, self.person, made.diagnostics.persons)
        tell({"text": "Attacking it with the rows that it was made of."})
        was, shown = risks(table, made, self.sensitive, self.person)
        rows = sorted(range(len(places)), key=places.__getitem__)[: self.shown]
        columns = [name for name in table.columns if name in (*names, *self.sensitive)]
        before, after = table.select(columns), made.table.select(columns)
        return {
            **vars(made.diagnostics),
            "stopped": stopped,
            "file": self.written,
            "has_persons": self.person is not None,
            "guarantee": str(made.guarantee),
            "checks": [check.to_dict() for check in made.certificate.checks],
            "bound": made.bound_in_words(),
            "risk": shown,
            "was": was,
            "sizes": shown.bands(),
            "were": was.bands(),
            "k": self.k,
            "besides": [_besides(text) for text in self.require],
            "attacked": attack(table, made.table, made.guarantee, self.attributes, self.sensitive),
            "columns": columns,
            "columns_known": names,
            "rows": [(before.row(places[at]), after.row(at)) for at in rows],
        }


def _besides(text: str) -> str:
    """Return a demand, text such as ``disease=distinct:3``, in words.

    Examples
    --------
    >>> _besides("disease=distinct:3")
    'disease: different values in each class, at least 3'
    """
    name, _, demand = text.rpartition("=")
    kind, _, value = demand.partition(":")
    title = DEMANDS[kind][0]
    return f"{name}: {title[:1].lower()}{title[1:]} {value}"


def attack(
    original: pl.DataFrame,
    published: pl.DataFrame,
    guarantee: KAnonymity,
    attributes: Sequence[Attribute],
    sensitive: Sequence[str],
    *,
    max_pairs: int = 100_000_000,
) -> list[Finding]:
    """Attack the published table: link the people of the original to it, and guess their sensitive values. Private.

    `original` and `published` have a row for each record; `guarantee` names the quasi-identifiers, `attributes` say
    how they are read, `sensitive` which columns are guessed. ``O(rows classes)`` for each attack.

    Returns
    -------
    list of Finding
        Empty if there would be too much to compare: rows of the original times classes above `max_pairs`.
    """
    from discreet.evaluate.attack.inference import attack_inference
    from discreet.evaluate.attack.linkage import attack_linkage
    from discreet.evaluate.attack.people import people_of
    from discreet.kanonymity.verify import classes_of

    classes = len(classes_of(published, guarantee.quasi_identifiers).sizes)
    if original.height * classes > max_pairs:
        return []
    findings = attack_linkage(published, guarantee, people_of(original, attributes))
    for name in sensitive:
        known = people_of(original, attributes, name)
        for one in attack_inference(published, name, known):
            findings.append(replace(one, attack=f"{name}: {one.attack}"))
    return findings


def _read(folder: str) -> pl.DataFrame:
    """Read the loaded table of a folder."""
    return read(Path(folder, TABLE), "")
