"""Re-identification risk of tables in files or frames: prosecutor, journalist and marketer, and what a page shows."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from discreet.artefact import load_anonymous
from discreet.artefact.anonymous import ANONYMOUS
from discreet.artefact.sidecar import is_table, kind_of
from discreet.core import printed
from discreet.core.errors import InvalidProblemError
from discreet.core.options import items_of, mapping
from discreet.core.printed import in_columns, one_line
from discreet.kanonymity.cells import read_problem
from discreet.kanonymity.problem import Categorical, Numeric, Taxonomy
from discreet.kanonymity.risk import risk as risk_of_rows
from discreet.kanonymity.uniques import risk_sources
from discreet.streaming.pieces import pieces_of, scan_pieces
from discreet.streaming.row_engine import RowEngine, refuse_in_pieces
from discreet.tables.cells import by_meaning, recognize_missing
from discreet.tables.columns import no_column, unclear_columns
from discreet.tables.frames import is_lazy, refuse_nested_cells
from discreet.tables.frames import opened as frame_of_rows
from discreet.tables.options import ReadingOptions
from discreet.tables.reading import read_rows
from discreet.tables.recoding import CellRules, Recoding, recode
from discreet.tables.sources import is_hive_folder
from discreet.tables.taxonomies import read_taxonomy
from discreet.tables.validate import refuse_nested

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from fractions import Fraction

    from discreet.core.tree import Tree
    from discreet.kanonymity.problem import Attribute, Problem
    from discreet.kanonymity.risk import Risk
    from discreet.kanonymity.uniques import RiskSources

_PRIVATE = "sizes of classes of a table that is not published are private"


@final
@dataclass(frozen=True)
class TableRisks:
    """Risk of a table, or of a table before and after; prints as ``discreet risk`` does.

    Parameters
    ----------
    risks
        Risk of each table: ``"risk"`` for one table, ``"before"`` and ``"after"`` for two.
    quasi_identifiers
        Columns by which people are looked up.
    population
        File of the population, or a name for a frame; ``None`` if the table is the population.
    warnings
        Sentences about columns that may be meant otherwise.
    sources
        Which columns cause the risk of the table; ``None`` for a table in pieces.
    """

    risks: Mapping[str, Risk]
    quasi_identifiers: tuple[str, ...]
    population: str | None = None
    warnings: tuple[str, ...] = ()
    sources: RiskSources | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON.

        The figures of one table at the top, or those of two under ``"before"`` and ``"after"``. Beside them
        ``"quasi_identifiers"``, ``"population"``, ``"sources"`` (only where there are some), and ``"private"``, a
        sentence. Risks are numbers.
        """
        each = {when: risk.to_dict() for when, risk in self.risks.items()}
        return {
            **each.get("risk", each),
            "quasi_identifiers": list(self.quasi_identifiers),
            "population": self.population,
            **({} if self.sources is None else {"sources": self.sources.to_dict()}),
            "private": _PRIVATE,
        }

    def __str__(self) -> str:
        all_of = list(self.risks.values())
        rows = [] if len(all_of) == 1 else [("", *self.risks)]

        def row(name: str, values: Iterable[object]) -> None:
            rows.append((one_line(name), *map(one_line, values)))

        def share(name: str, values: Iterable[Fraction]) -> None:
            rows.append((name, *(printed.share(value) for value in values)))

        row("rows", (one.rows for one in all_of))
        if all_of[0].persons is not None:
            row("persons", (one.persons for one in all_of))
        row("classes", (one.classes for one in all_of))
        row("class sizes", (f"{one.k} to {one.largest}, middle {one.median}" for one in all_of))
        row("k", (one.k for one in all_of))
        for name in all_of[0].diversity:
            row(f"l of {name}", (one.diversity[name] for one in all_of))
            row(f"t of {name}", (printed.at_most(one.closeness[name], 4) for one in all_of))
        share("alone in their class", (one.unique for one in all_of))
        share("prosecutor, highest", (one.prosecutor_highest for one in all_of))
        share("prosecutor, average", (one.prosecutor_average for one in all_of))
        share("journalist, highest", (one.journalist_highest for one in all_of))
        share("journalist, average", (one.journalist_average for one in all_of))
        share("marketer", (one.marketer for one in all_of))
        causes = [] if self.sources is None else self.sources.in_words()
        homogeneous = all_of[-1].homogeneity_in_words()
        return "\n".join(
            [in_columns(rows), *([""] if causes or homogeneous else []), *homogeneous, *causes]
        )


def risk(
    table: Any,  # noqa: ANN401 - a path, a dataframe or a mapping of columns
    quasi_identifiers: Sequence[str],
    *,
    sensitive: Sequence[str] = (),
    against: Any = None,  # noqa: ANN401 - as above
    population: Any = None,  # noqa: ANN401 - as above
    person: str | None = None,
    weights: str | None = None,
    taxonomy: Mapping[str, str | os.PathLike[str] | Tree] | None = None,
    numeric: Sequence[str] = (),
    categorical: Sequence[str] = (),
    encoding: str | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
    sheet: str | None = None,
    missing: Sequence[str] = (),
    bins: Sequence[str] = (),
    top: Sequence[str] = (),
    bottom: Sequence[str] = (),
    rounded: Sequence[str] = (),
    prefix: Sequence[str] = (),
    show_columns: bool = False,
    memory: str | None = None,
    threads: int = 1,
    scheduler: str | None = None,
) -> TableRisks:
    r"""Measure how likely an attacker is to find people in a table, by the sizes of equivalence classes.

    One sort of the rows, one for each column of `sensitive`, and in memory one for each set of columns searched.

    Parameters
    ----------
    table
        CSV, Parquet or Arrow file, workbook of Excel, or file of SPSS, Stata or SAS, or a folder of CSV or Parquet
        files, original or published. In Python also a dataframe or a mapping of columns.
    quasi_identifiers
        Columns that an attacker may know of a person.
    sensitive
        Columns whose diversity l and closeness t are measured.
    against
        Original table, to compare with.
    population
        People from whom the rows were drawn, for journalist and marketer. Default: the table.
    person
        Column that tells persons apart: persons are counted instead of rows.
    weights
        Column of sampling weights, by which the people of each class are estimated for journalist and marketer.
    taxonomy
        Taxonomy of a column of the population, in ARX's column format. In Python a mapping from names of columns.
    numeric
        Columns of the population to read as numbers. Default: as the record beside `table` states, or by the values.
    categorical
        Columns of the population to read as sets of values.
    encoding
        Encoding of files of text, such as cp1252. Default: UTF-8.
    delimiter
        Separator of the cells of files of text. Default: recognized.
    decimal
        Decimal mark of numbers, "." or ","; the other one separates thousands.
    sheet
        Sheet of a workbook. Default: the first one.
    missing
        Marks of missing values, such as ``-9``, or ``age=999`` for one column; NA and the like are recognized.
    bins
        Cut points, such as ``age=18,40,65``: the column is recoded before rows are compared.
    top
        Top code, such as ``age=85``: greater numbers count as it.
    bottom
        Bottom code, such as ``income=0``: smaller numbers count as it.
    rounded
        Width of intervals between multiples, such as ``income=1000``.
    prefix
        Length of the prefix that codes are cut to, such as ``postcode=3``.
    show_columns
        Whether a message may name columns that were not typed.
    memory
        Memory for each process, such as ``"4GB"``, for a table larger than memory.
    threads
        Pieces of a folder, or with `memory`, that are read at a time.
    scheduler
        Address of a Dask scheduler whose workers read the pieces.

    Returns
    -------
    TableRisks
        Exact risks. **Private** if the table is not published.

    Raises
    ------
    InvalidProblemError
        For columns that do not exist, files that cannot be read, and a population, person or weights with pieces.

    References
    ----------
    Prosecutor and journalist risk are those of [ED08]_, marketer risk is that of [DE10]_.

    Examples
    --------
    >>> people = {"age": ["[20, 30]", "[20, 30]", "40"], "ill": ["no", "yes", "no"]}
    >>> print(risk(people, ["age"], sensitive=["ill"]))
    rows                  3
    classes               2
    class sizes           1 to 2, middle 2
    k                     1
    l of ill              1
    t of ill              0.3334
    alone in their class  33.33 %
    prosecutor, highest   100 %
    prosecutor, average   66.67 %
    journalist, highest   100 %
    journalist, average   66.67 %
    marketer              66.67 %
    <BLANKLINE>
    1 of 3 rows are in 1 equivalence class with one value of ill each, missing values aside: anyone who finds the c...
    age: 100 % of the risk by minimal sample uniques; without it 0 of 3 rows are alone, not 1
    """
    names = items_of(quasi_identifiers, "quasi_identifiers", "names of columns")
    if not names:
        raise InvalidProblemError("quasi_identifiers", "columns of the table", "none")
    engine = RowEngine(memory, threads, scheduler)
    reading = ReadingOptions.of(
        encoding=encoding, delimiter=delimiter, decimal=decimal, sheet=sheet, missing=missing
    )
    recoding = Recoding.of(bins=bins, top=top, bottom=bottom, rounded=rounded, prefix=prefix)
    mapping(taxonomy, "taxonomy", "taxonomies by column")
    secret, numbers, sets = (
        items_of(columns, argument, "names of columns")
        for argument, columns in (
            ("sensitive", sensitive),
            ("numeric", numeric),
            ("categorical", categorical),
        )
    )
    stated = _stated_attributes(names, taxonomy or {}, numbers, sets)
    people = None
    if population is not None:
        if _is_path(table) and engine.is_large(table):
            expected = "none with a folder, memory or a scheduler: the people are compared with all classes in memory"
            raise InvalidProblemError("population", expected, "one")
        public_table = frame_of_rows(population, "population", reading)
        people = _population(
            table,
            population,
            recode(public_table, recoding, "population"),
            names,
            stated,
            show=show_columns,
        )
    tables = {"risk": table} if against is None else {"before": against, "after": table}
    risks, warnings, sources = {}, [], None
    for when, rows in tables.items():
        if _is_path(rows):
            argument = "against" if when == "before" else "table"
            source = _Source(rows, argument, engine, reading, recoding, person, weights)
            opened, head = source.open(show=show_columns)
            _check_columns(head, names, secret, show=show_columns)
            if opened is head:
                head, notices = recognize_missing(head, (*names, *secret))
                opened = by_meaning(head, names)
                warnings += notices
                sources = risk_sources(opened, names)
            unstated = [name for name in names if name not in stated]
            unclear = unclear_columns(head, unstated)
            warnings += [str(each.renamed("quasi_identifiers")) for each in unclear]
            risks[when] = source.risk(opened, names, secret, people)
        elif engine != RowEngine():
            raise InvalidProblemError("table", "a file with memory, threads or a scheduler", "rows")
        else:
            _refuse_nested_rows(rows, (*names, *secret))
            plain = rows
            if not isinstance(rows, Mapping) and not is_lazy(rows):
                recoded = recode(frame_of_rows(rows, "table", reading), recoding)
                plain, notices = recognize_missing(recoded, (*names, *secret))
                plain = by_meaning(plain, names)
                warnings += notices
            sources = None if is_lazy(plain) else risk_sources(plain, names)
            risks[when] = risk_of_rows(
                plain, names, sensitive=secret, population=people, person=person, weights=weights
            )
    stands_in = str(population) if _is_path(population) else "a dataframe"
    shown = None if population is None else stands_in
    return TableRisks(risks, names, shown, tuple(warnings), sources)


def _refuse_nested_rows(rows: Any, names: Sequence[str]) -> None:  # noqa: ANN401 - a dataframe or a mapping
    """Raise InvalidProblemError for lists or records in the cells of the columns `names` of a dataframe, as for a file.

    Lazy frames, mappings, and frames without one of the columns are not looked at. The type of a column decides; only
    columns of objects are read, each once.
    """
    if is_lazy(rows):
        return
    columns = getattr(rows, "columns", ())
    if not isinstance(rows, Mapping) and all(name in columns for name in names):
        refuse_nested_cells(rows, names, "table")


def _is_path(source: object) -> bool:
    """Return whether a source is a path."""
    return isinstance(source, str | os.PathLike)


@final
@dataclass(frozen=True)
class _Source:
    """A file or folder of rows, the argument that names it, and the options under which it is read."""

    path: str | os.PathLike[str]
    argument: str
    engine: RowEngine
    reading: ReadingOptions
    recoding: Recoding
    person: str | None
    weights: str | None

    def open(self, *, show: bool, head_rows: int = 20_000) -> tuple[Any, Any]:
        """Read a file, or scan one that is grouped in a stream or piece by piece; return the rows and their head.

        The head of a scanned file are its first `head_rows` rows, by which free text is recognized.

        Refuses a person or weights that are no column, and options that pieces cannot have.
        """
        path = os.fspath(self.path)
        if not self.engine.is_large(path) or (
            is_hive_folder(path) and not self.engine.is_piecewise
        ):
            rows = read_rows(path, self.argument, options=self.reading, show_columns=show)
            rows = recode(rows, self.recoding, self.argument)
            for argument, name in (("person", self.person), ("weights", self.weights)):
                if name is not None and name not in rows.columns:
                    raise no_column(argument, name, rows.columns, show=show)
            return rows, rows
        refuse_in_pieces(self.reading)
        rules = CellRules(self.reading, self.recoding)
        lazy = scan_pieces(pieces_of(path, self.argument, rules=rules), self.argument)
        head = lazy.head(head_rows).collect()
        refuse_nested(head, self.argument, show_columns=show)
        return lazy, head

    def risk(
        self,
        rows: Any,  # noqa: ANN401 - a frame of Polars
        names: Sequence[str],
        sensitive: Sequence[str],
        people: Problem | None,
    ) -> Risk:
        """Measure the risk of the rows, in this process or where the options say that they are grouped.

        Raises InvalidProblemError for a person or weights with a table in pieces. A sort, or a grouping by
        quasi-identifiers.

        `names` are the quasi-identifiers, `people` the coded population, ``None`` for the rows themselves. A table in
        pieces is not compared with people.
        """
        if not self.engine.is_piecewise and self.engine.threads == 1:
            alike = by_meaning(rows, names)
            return risk_of_rows(
                alike,
                names,
                sensitive=sensitive,
                population=people,
                person=self.person,
                weights=self.weights,
            )
        for argument, column in (("person", self.person), ("weights", self.weights)):
            if column is not None:
                raise InvalidProblemError(argument, "none with a table in pieces", "one")
        # Workers see the folder in which the rows are.
        folder = Path(self.path).absolute().parent if self.engine.scheduler else None
        engine = replace(self.engine, reading=self.reading, recoding=self.recoding)
        with engine.source(self.path, folder) as pieces:
            counted = (
                pieces
                if isinstance(pieces, str | os.PathLike)
                else replace(pieces, by_meaning=True)
            )
            return risk_of_rows(counted, names, sensitive=sensitive)


def _check_columns(
    table: Any,  # noqa: ANN401 - a frame of Polars
    names: Sequence[str],
    sensitive: Sequence[str],
    *,
    show: bool,
) -> None:
    """Raise InvalidProblemError for a name that is no column; `show` lets the message list the columns."""
    for argument, listed in (("quasi_identifiers", names), ("sensitive", sensitive)):
        for name in listed:
            if name not in table.columns:
                raise no_column(argument, name, table.columns, show=show)


def _stated_attributes(
    names: Sequence[str],
    taxonomy: Mapping[str, Any],
    numeric: Sequence[str],
    categorical: Sequence[str],
) -> dict[str, Attribute]:
    """Return the attributes of the columns that options describe, by name.

    A taxonomy is a tree or the path of its file. Raises InvalidProblemError for a column that is no quasi-identifier,
    or has two descriptions.
    """
    stated: dict[str, Attribute] = {}
    for argument, columns in (
        ("taxonomy", taxonomy),
        ("numeric", numeric),
        ("categorical", categorical),
    ):
        for name in columns:
            if name not in names:
                raise InvalidProblemError(argument, "quasi-identifiers", repr(name))
            if name in stated:
                raise InvalidProblemError(argument, "one description of each column", repr(name))
            if argument == "taxonomy":
                tree = taxonomy[name]
                tree = read_taxonomy(os.fspath(tree)) if _is_path(tree) else tree
                stated[name] = Taxonomy(name, tree)
            else:
                stated[name] = Numeric(name) if argument == "numeric" else Categorical(name)
    return stated


def _population(
    table: Any,  # noqa: ANN401 - as above
    population: Any,  # noqa: ANN401 - as above
    people: Any,  # noqa: ANN401 - as above
    names: Sequence[str],
    stated: Mapping[str, Attribute],
    *,
    show: bool,
) -> Problem:
    """Code the people: their columns are read as the options state, else as the table's record, else by the values.

    `people` is the frame of the population, recoded; `population` is what was given, whose type tells a path.
    InvalidProblemError for a file without one of the columns `names`; `show` lets the message list its columns.
    Linear in the people.
    """
    recorded: dict[str, Attribute] = {}
    if _is_path(table) and is_table(table) and kind_of(table) == ANONYMOUS:
        attributes = load_anonymous(table).attributes
        recorded = {one.name: one for one in attributes if one.name in names}
    people = recognize_missing(people, names)[0]
    if _is_path(population):
        _check_columns(people, names, (), show=show)
    return read_problem(people, names, list({**recorded, **stated}.values()), "ncp")
