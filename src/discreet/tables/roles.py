"""Roles of columns: identifier, quasi-identifier, sensitive attribute, published as it is, left out.

No column is published without a role, and one that looks like an identifier is published only where it is named.
Refusals name columns by their place, since a file without a line of names has cells of a person there. They depend on
the data, and are the curator's: a public record holds the decided roles alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import narwhals as nw

from discreet.core import printed
from discreet.tables.columns import no_column
from discreet.tables.frames import has_nested_cells
from discreet.tables.looks import MAX_VALUES, Look, look_at, names_persons
from discreet.tables.refusals import refused, warning

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import polars as pl

ROLES = {
    "person": "tells persons apart; not published",
    "drop": "left out",
    "quasi": "quasi-identifier, generalized",
    "sensitive": "sensitive attribute, published as it is",
    "keep": "published as it is",
}
"""What a column can be."""

UNASSIGNED = ("keep", "drop")
"""What may be said of all columns without a role."""


@final
@dataclass(frozen=True)
class Given:
    """Roles as they were given, by name.

    Parameters
    ----------
    quasi, sensitive, keep, drop
        Names of columns.
    person
        The column that tells persons apart, if there is one.
    unassigned
        ``keep`` or ``drop`` for columns of no role; ``None`` refuses them.
    """

    quasi: Sequence[str] = ()
    sensitive: Sequence[str] = ()
    keep: Sequence[str] = ()
    drop: Sequence[str] = ()
    person: str | None = None
    unassigned: str | None = None


@final
@dataclass(frozen=True)
class AssignedRoles:
    """The role of each column, decided.

    Parameters
    ----------
    quasi, sensitive, keep, drop
        Names, in the order of the table but for the quasi-identifiers.
    person
        The column that tells persons apart, if there is one.
    """

    quasi: tuple[str, ...]
    sensitive: tuple[str, ...]
    keep: tuple[str, ...]
    drop: tuple[str, ...]
    person: str | None = None

    def public(self) -> dict[str, list[str]]:
        """State the roles of the columns that are published; the names of others are not."""
        return {"sensitive": list(self.sensitive), "kept": list(self.keep)}


def assign_roles(
    columns: Sequence[str],
    given: Given,
    look: Callable[[str], Look],
    *,
    options: bool = False,
    show: bool | None = None,
) -> AssignedRoles:
    """Return the role of each column, or refuse; a column of no role gets what `unassigned` states.

    `look` is not called with ``unassigned="drop"``.

    Parameters
    ----------
    columns
        Names of the table's columns.
    given
        What was said of them.
    look
        Gives what a column looks like; called for columns without a role alone.
    options
        Whether arguments are called as the command line does.
    show
        Whether messages may name columns that nobody typed; ``None`` where there is no ``--show-columns``.

    Raises
    ------
    InvalidProblemError
        For a name that is no column, a column of two roles, one of none, one that looks like an identifier and was not
        named, or no column left to publish.

    Examples
    --------
    >>> looks = lambda name: Look(suspicion="nearly every value is different" if name == "id" else "")
    >>> assign_roles(["id", "age", "ill"], Given(quasi=["age"], drop=["id"], unassigned="keep"), looks).keep
    ('ill',)
    >>> assign_roles(["id", "age"], Given(quasi=["age"]), looks)
    Traceback (most recent call last):
    discreet.core.errors.InvalidProblemError: unassigned: expected a role for each column: drop, keep, quasi or ...
    """

    def called(role: str) -> str:
        return f"--{role}" if options else role

    if given.unassigned is not None and given.unassigned not in UNASSIGNED:
        raise refused(
            "unassigned-word",
            called("unassigned"),
            repr(given.unassigned),
            expected="keep or drop; name columns with --keep or --drop"
            if options
            else "'keep' or 'drop'",
        )
    role: dict[str, str] = {}
    named = {
        "quasi": given.quasi,
        "sensitive": given.sensitive,
        "keep": given.keep,
        "drop": given.drop,
        "person": [given.person] if given.person else [],
    }
    for kind, names in named.items():
        for name in names:
            if name not in columns:
                raise no_column(called(kind), name, columns, show=show)
            if role.setdefault(name, kind) != kind:
                raise refused(
                    "roles-two",
                    called(kind),
                    f"{name!r} in both",
                    name=name,
                    first=called(role[name]),
                    second=called(kind),
                )
    rest = [name for name in columns if name not in role]
    if given.unassigned != "drop":
        _refuse(rest, columns, given, look, called=called, show=show)
    role |= dict.fromkeys(rest, given.unassigned or "keep")
    listed = {kind: tuple(name for name in columns if role.get(name) == kind) for kind in ROLES}
    if not (listed["quasi"] or listed["sensitive"] or listed["keep"]):
        raise refused("roles-none-left", called("drop"), "all columns dropped")
    return AssignedRoles(
        tuple(given.quasi), listed["sensitive"], listed["keep"], listed["drop"], given.person
    )


def _refuse(
    rest: list[str],
    columns: Sequence[str],
    given: Given,
    look: Callable[[str], Look],
    *,
    called: Callable[[str], str],
    show: bool | None,
) -> None:
    """Raise InvalidProblemError for columns `rest` of no role, or the ones among them that look like identifiers.

    `called` names an option at the entrance; with `show` the message names the columns.
    """
    suspects = [(name, look(name).suspicion) for name in rest]
    if given.unassigned == "keep":
        suspects = [(name, why) for name, why in suspects if why]
    if not suspects:
        return
    sentences = []
    for name, why in suspects[: printed.MAX_LISTED]:
        place = f"column {list(columns).index(name) + 1}"
        if show:
            place += f" ({name})"
        sentences.append(f"{place}: {why}" if why else place)
    rest_count = len(suspects) - printed.MAX_LISTED
    more = f"; and {rest_count} more" if rest_count > 0 else ""
    got = "; ".join(sentences) + more
    code = "identifiers"
    if given.unassigned is None:
        code, count = "roles-missing", len(suspects)
        got = f"{count} column{'' if count == 1 else 's'} without a role ({got})"
    words = {role: called(role) for role in ("drop", "keep", "quasi", "sensitive", "unassigned")}
    shown = " (--show-columns names them)" if show is False else ""
    raise refused(code, called("unassigned"), got, **words, shown=shown)


def roles_of_scan(
    table: pl.LazyFrame,
    given: Given,
    *,
    options: bool = False,
    show: bool | None = None,
    max_rows: int = 20_000,
) -> AssignedRoles:
    """Decide on the roles of the columns of files that need not fit into memory.

    A column is looked at by its first rows, and by how many different values it has in all.

    For each column without a role, one pass that counts its different values.

    Parameters
    ----------
    table
        The files.
    given, options, show
        As of :func:`assign_roles`.
    max_rows
        Number of the first rows by which a column is looked at.

    Raises
    ------
    InvalidProblemError
        As of :func:`assign_roles`.
    """

    def look(name: str) -> Look:
        import polars as pl

        column = pl.col(name)
        counted = table.select(column.count().alias("rows"), column.n_unique().alias("different"))
        rows, different = counted.collect(engine="streaming").row(0)
        head = table.select(name).head(max_rows).collect()
        return look_of(head, name, rows=rows, different=different)

    names = table.collect_schema().names()
    return assign_roles(names, given, look, options=options, show=show)


def look_of(
    table: Any,  # noqa: ANN401 - a dataframe of any library
    name: str,
    *,
    rows: int | None = None,
    different: int | None = None,
) -> Look:
    """Suggest role and kind of a column of a dataframe; `rows` and `different` count all its values if it is a sample.

    Examples
    --------
    >>> import polars as pl
    >>> look_of(pl.DataFrame({"id": range(20)}), "id").kind
    'running number'
    """
    series = nw.from_native(table, eager_only=True)[name]
    return look_of_column(series, name, rows=rows, different=different)


def look_of_column(
    series: nw.Series[Any], name: str, *, rows: int | None = None, different: int | None = None
) -> Look:
    """Suggest role and kind of a column, as a :class:`Look`, from its name and its values or a sample of them.

    `rows` and `different` are the numbers of rows with a value and of different values in the whole column; by
    default the series is the whole. Linear.
    """
    kind = series.dtype
    wide = kind.is_float()
    if kind == nw.Binary or has_nested_cells(series):
        return Look("drop", "nested", "cells are lists, records or bytes")
    if kind in (nw.Categorical, nw.Enum, nw.Boolean):
        series = series.cast(nw.String)
    present = series.drop_nulls()
    text = present.dtype == nw.String
    if text:
        present = present.filter(present.str.strip_chars() != "")
    unique = present.unique(maintain_order=True)
    values: list[Any] = unique.head(MAX_VALUES).to_list()
    counts = (len(present), len(unique)) if rows is None else (rows, different or 0)
    return look_at(name, values, rows=counts[0], different=counts[1], wide=wide)


def repeated_persons(
    table: Any,  # noqa: ANN401 - as above
    person: str | None,
    *,
    max_rows_per_person: int = 100,
) -> list[str]:
    """Return a warning for each column that seems to tell persons apart and repeats values; none if `person` is given.

    A column with more rows for each value, on average, rather tells groups apart.

    Examples
    --------
    >>> import polars as pl
    >>> repeated_persons(pl.DataFrame({"patient_id": [*range(9), 8], "age": [30] * 10}), None)
    ['column 1 repeats in 1 of 10 rows: if it identifies persons, state so (--person), and persons are counted, not...
    """
    if person is not None:
        return []
    frame = nw.from_native(table, eager_only=True)
    hints = []
    for place, name in enumerate(frame.columns, start=1):
        series = frame[name]
        if not names_persons(name) or has_nested_cells(series) or series.dtype.is_float():
            continue
        present = series.drop_nulls()
        different = present.n_unique()
        if len(present) // max_rows_per_person < different < len(present) and different > 2:
            again, n = printed.count(len(present) - different), printed.count(len(frame))
            rows = f"{again} of {n} rows"
            hints.append(warning("persons-repeat", column=f"column {place}", rows=rows))
    return hints
