"""Forms of the pages, read into attributes, demands, layouts and promises; wrong entries are named by their title."""

from __future__ import annotations

import math
import re
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, final

from discreet.core import printed
from discreet.core.dates import FORMATS, resolved_format
from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import ApproxDP, PureDP, ZeroConcentratedDP
from discreet.kanonymity.cells import read_problem
from discreet.kanonymity.models import read_models
from discreet.kanonymity.problem import Categorical, Dates, Numeric, Prefixes, Rounded, Taxonomy
from discreet.tables.cells import recognize_missing
from discreet.tables.columns import present_in, refuse_unclear
from discreet.tables.options import QuotedName
from discreet.tables.outlines import read_outline
from discreet.tables.roles import repeated_persons

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import polars as pl

    from discreet.kanonymity.models import PrivacyModel
    from discreet.kanonymity.problem import Attribute
    from discreet.studio.reading import ColumnSummary


ROLES = {
    "": "choose …",
    "drop": "identifier: left out",
    "quasi": "quasi-identifier: others may know it",
    "sensitive": "sensitive: must not be learned",
    "keep": "kept: published as it is, unprotected",
    "person": "tells persons apart: left out, and persons are counted, not rows",
}
"""What a column can be; `quasi` are the quasi-identifiers. A column of no role is not published."""


@final
@dataclass(frozen=True)
class TypedRoles:
    """What the columns are.

    Parameters
    ----------
    attributes
        The quasi-identifiers.
    table
        The table, with common marks of missing values read as missing in the quasi-identifiers.
    sensitive, dropped, kept
        Names of other columns.
    person
        Column that tells persons apart.
    notices
        Sentences for the curator about missing values and persons.
    """

    attributes: tuple[Attribute, ...]
    table: pl.DataFrame
    sensitive: tuple[str, ...]
    dropped: tuple[str, ...]
    kept: tuple[str, ...] = ()
    person: str | None = None
    notices: tuple[str, ...] = ()

    @property
    def names(self) -> list[str]:
        """Names of the quasi-identifiers."""
        return [attribute.name for attribute in self.attributes]


def read_roles(
    form: Mapping[str, str], columns: Sequence[ColumnSummary], table: pl.DataFrame
) -> TypedRoles:
    """Read the form of columns: ``role-0``, ``kind-0``, ``weight-0`` and ``outline-0`` for the first column.

    `columns` and `table` are those of the upload; the fields end in the number of the column. The whole table is
    scanned for missing values, and each taxonomy is tried on its column.

    Raises
    ------
    InvalidProblemError
        For a column without a role, no quasi-identifiers, free text among them, or a taxonomy in which a value has no
        place.
    """
    by_role: dict[str, list[str]] = {role: [] for role in ROLES}
    places: list[int] = []
    for at, column in enumerate(columns):
        role = form.get(f"role-{at}", "")
        if not role:
            expected = "a role: identifier, quasi-identifier, sensitive or kept"
            raise InvalidProblemError(column.name or f"Column {at + 1}", expected, "none")
        if role not in ROLES:
            raise InvalidProblemError(column.name, "a role from the list", "another role")
        by_role[role].append(column.name)
        if role == "quasi":
            places.append(at)
    if not places:
        expected = f"at least one marked “{ROLES['quasi']}”"
        raise InvalidProblemError("Columns", expected, "none")
    if len(by_role["person"]) > 1:
        expected = f"one marked “{ROLES['person']}” at most"
        raise InvalidProblemError("Columns", expected, "two")
    table, notices = recognize_missing(table, by_role["quasi"])
    person = next(iter(by_role["person"]), None)
    sentences = [*notices, *repeated_persons(table, person)]
    return TypedRoles(
        tuple(_attribute(form, at, columns[at], table) for at in places),
        table,
        tuple(by_role["sensitive"]),
        tuple(by_role["drop"]),
        tuple(by_role["keep"]),
        person,
        tuple(one.replace(" (--person)", "") for one in sentences),
    )


def _attribute(
    form: Mapping[str, str], at: int, column: ColumnSummary, table: pl.DataFrame
) -> Attribute:
    """Read the attribute of a quasi-identifier from the fields whose names end in ``-at``, such as ``weight-0``.

    `at` is the column's number, `column` its summary, `table` the loaded table, whose column is scanned.

    Raises
    ------
    InvalidProblemError
        For a missing or unknown kind, a weight that is not positive, an unknown format of dates, a taxonomy
        that lacks a value of the table, or cells of text whose meaning is unclear if there is no taxonomy.
    """
    name, kind = column.name, form.get(f"kind-{at}", "")
    weight = number_of(form, f"weight-{at}", f"Weight of {name}", default=1.0)
    if kind != "taxonomy":
        refuse_unclear(table, [name], name)
    if kind == "numeric":
        return Numeric(name, weight)
    if kind == "categorical":
        return Categorical(name, weight)
    if kind == "dates":
        stated = form.get(f"format-{at}", "").strip()
        if stated and stated not in FORMATS:
            raise InvalidProblemError(name, "a format from the list", "another format")
        typed = table.schema[name].is_temporal()
        return Dates(
            name, weight, "" if typed else resolved_format(name, present_in(table[name]), stated)
        )
    if kind == "prefix":
        return Prefixes(name, weight)
    if kind == "rounded":
        return Rounded(name, weight, tuple(form.get(f"step-{at}", "5").split(",")))
    if kind != "taxonomy":
        raise InvalidProblemError(name, "a kind from the list", "another kind")
    tree = read_outline(form.get(f"outline-{at}", ""), name)
    taxonomy = Taxonomy(name, tree, weight)
    # Now, and not when a search has begun: a value without a place is refused.
    read_problem(table, [name], [taxonomy], "ncp")
    return taxonomy


DEMANDS = {
    "distinct": ("Different values in each class, at least", "a whole number of 2 or more", "3"),
    "alpha": ("Largest share of one value in a class", "a share above 0 and up to 1", "1/2"),
    "entropy": ("Entropy l-diversity", "a number above 1", "2.5"),
    "recursive": ("Recursive (c, l)-diversity", "c and l, with a comma between them", "3,2"),
    "closeness": ("Farthest from the whole table (t)", "a share from 0 to 1", "0.3"),
    "ordered-closeness": (
        "Farthest from it in order (t)",
        "a share from 0 to 1, and for text its values in order",
        "0.3,none<mild<severe",
    ),
}
"""What classes may have to hold in a sensitive column: its title, what is expected, and an example."""

_NUMBERS = re.compile(r"[0-9./ ]+(,[0-9 ]+|,[^,=]*<[^=]*)?")


def read_demands(
    form: Mapping[str, str], columns: Sequence[ColumnSummary], sensitive: Sequence[str]
) -> tuple[dict[str, list[PrivacyModel]], tuple[str, ...]]:
    """Read the demands on each class from the fields of a form, such as ``distinct-3`` for the fourth column.

    Returns
    -------
    models : dict
        Lists of models by sensitive column; a column without a demand is missing.
    texts : tuple of str
        The same as ``discreet anonymize --require`` reads it, for the record.

    Raises
    ------
    InvalidProblemError
        For numbers that make no sense, or a column that is not sensitive.
    """
    models: dict[str, list[PrivacyModel]] = {}
    texts: list[str] = []
    for at, column in enumerate(columns):
        for kind, (title, expected, example) in DEMANDS.items():
            text = form.get(f"{kind}-{at}", "").strip()
            if not text:
                continue
            field = f"{title} ({column.name})"
            if column.name not in sensitive:
                raise InvalidProblemError(field, f"a column marked “{ROLES['sensitive']}”", "none")
            try:
                # Read as the command reads it, so that a record means the same.
                (model,) = read_models([f"x={kind}:{text}" if _NUMBERS.fullmatch(text) else ""])[
                    "x"
                ]
            except InvalidProblemError:
                wanted = f"{expected}, such as {example}"
                raise InvalidProblemError(field, wanted, repr(text[:20])) from None
            if kind == "distinct" and int(text) < 2:
                raise InvalidProblemError(field, expected, repr(text[:20]))
            models.setdefault(column.name, []).append(model)
            texts.append(f"{column.name}={kind}:{text}")
    return models, tuple(texts)


def whole_of(form: Mapping[str, str], field: str, title: str, *, least: int) -> int:
    """Read a field of a form as a whole number of `least` or more, at most nine digits; refuse it under its title."""
    text = form.get(field, "").strip()
    if not text.isdecimal() or len(text) > 9 or int(text) < least:
        raise InvalidProblemError(title, f"a whole number of {least} or more", repr(text[:20]))
    return int(text)


def count_of(form: Mapping[str, str], field: str, title: str) -> int | None:
    """Read a field of a form as a whole number of 1 or more, or ``None`` if it is empty; refuse others by `title`."""
    return whole_of(form, field, title, least=1) if form.get(field, "").strip() else None


def number_of(
    form: Mapping[str, str],
    field: str,
    title: str,
    *,
    default: float | None = None,
    most: float = math.inf,
) -> float:
    """Read a positive number of a form; raise InvalidProblemError, naming `title`, for others or beyond `most`.

    `default` is returned for an empty field, and allowed in it, such as 0.
    """
    text = form.get(field, "").strip()
    if not text and default is not None:
        return default
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and (value == default or 0 < value <= most)):
        top = "" if most == math.inf else f" up to {printed.estimate(most)}"
        raise InvalidProblemError(title, f"a positive number{top}", repr(text[:20]))
    return value


REGION_FIELDS = tuple(f"region-{at}" for at in range(5))
"""Fields of the form for the columns of a region path, the largest regions first."""

NEIGHBORS = {
    "add-remove-person": "whether a person is in the table at all",
    "replace-person": "which data a person has, and in which region or unit; that they are in the table may be known",
}

_TITLES = {
    "budget_delta": "Delta of this release",
    "columns": "Regions",
    "epsilon": "Epsilon",
    "guarantee": "The promise",
    "levels": "Parts of the budget",
    "neighbors": "Neighbors",
    "people": "The table",
    "regions": "The list of regions",
    "rho": "Rho",
    "tree": "Regions",
}
"""Arguments of the library -> what every page calls them."""


@final
@dataclass(frozen=True)
class TableLayout:
    """Columns and public facts of a table, as a form states them.

    Parameters
    ----------
    neighbors
        A key of :data:`NEIGHBORS`.
    arguments
        Arguments of the plan of the library.
    public
        Source of the public regions: ``"list"``, ``"units"``, or ``"table"`` for declared ones.
    """

    neighbors: Any
    arguments: Mapping[str, Any]
    public: str = "list"


@final
@dataclass(frozen=True)
class Promise:
    """The guarantee of a release, and the arguments of its plan that state the method.

    Parameters
    ----------
    guarantee
        The guarantee.
    arguments
        Further arguments of the plan.
    """

    guarantee: PureDP | ZeroConcentratedDP
    arguments: Mapping[str, Any] = field(default_factory=dict)


def choice_of(form: Mapping[str, str], name: str, title: str, known: Mapping[str, str]) -> str:
    """Return a form's value of field `name`; raise InvalidProblemError, about `title`, unless it is in `known`."""
    value = form.get(name, "")
    if value not in known:
        raise InvalidProblemError(title, "a choice from the list", "another" if value else "none")
    return value


def column_of(form: Mapping[str, str], name: str, title: str, columns: Sequence[str]) -> str | None:
    """Read a column of the table from field `name`, or ``None``; raise InvalidProblemError for another column."""
    value = form.get(name, "")
    if value and value not in columns:
        raise InvalidProblemError(title, "a column of the table", "another column")
    return value or None


def regions_of(form: Mapping[str, str], columns: Sequence[str]) -> tuple[str, ...]:
    """Return the columns named by :data:`REGION_FIELDS`, in their order; empty fields are skipped.

    Raises
    ------
    InvalidProblemError
        If all fields are empty, or one names no column of the table.
    """
    names = [column_of(form, name, "Regions", columns) for name in REGION_FIELDS]
    if not any(names):
        expected = "at least one column, the largest regions first"
        raise InvalidProblemError("Regions", expected, "none")
    # A name in parentheses is that of a column of the table.
    return tuple(QuotedName(name) for name in names if name)


def parts_of(form: Mapping[str, str]) -> tuple[str, ...] | None:
    """Return the parts of the budget of each level, from the root, as the texts between commas; None for equal parts.

    Numbers are not checked here.
    """
    text = form.get("levels", "").strip()
    return tuple(part.strip() for part in text.split(",")) if text else None


def read_promise(form: Mapping[str, str], neighbors: str) -> Promise:
    """Read the guarantee of a release: ``notion`` and ``amount``.

    ``notion`` is ``"epsilon"`` or ``"rho"``, ``amount`` a positive number as text, read exactly; `neighbors` is a key
    of :data:`NEIGHBORS`. InvalidProblemError for anything else.

    Examples
    --------
    >>> read_promise({"notion": "epsilon", "amount": "0.5"}, "replace-person").guarantee.epsilon
    Fraction(1, 2)
    """
    return Promise(_promised(form, "notion", "amount", neighbors))


def read_limit(form: Mapping[str, str], neighbors: str) -> PureDP | ApproxDP | ZeroConcentratedDP:
    """Read what all releases together may spend: ``limit-notion``, ``limit-amount`` and ``limit-delta`` of the form.

    `neighbors` is a key of :data:`NEIGHBORS`. An empty delta gives pure epsilon or rho. InvalidProblemError for no
    choice, numbers that make no sense, or a delta beside rho.
    """
    promised = _promised(form, "limit-notion", "limit-amount", neighbors)
    delta = form.get("limit-delta", "").strip()
    if not delta:
        return promised
    if isinstance(promised, ZeroConcentratedDP):
        raise InvalidProblemError("Delta", "none beside rho", "one")
    with titled():
        return ApproxDP(promised.epsilon, delta, promised.neighbors)


@contextmanager
def titled(titles: Mapping[str, str] | None = None) -> Iterator[None]:
    """Rename arguments of the library to fields of the page in errors.

    Parameters
    ----------
    titles
        Argument of the library -> title on this page; they go before the titles of all pages.
    """
    try:
        yield
    except InvalidProblemError as error:
        field = {**_TITLES, **(titles or {})}.get(error.field, error.field)
        raise error.renamed(field) from None


def _promised(
    form: Mapping[str, str], notion: str, amount: str, neighbors: str
) -> PureDP | ZeroConcentratedDP:
    """Return the guarantee of a form; `notion` and `amount` name its fields, `neighbors` is the relation.

    InvalidProblemError for no choice of epsilon or rho, or an amount that is no positive number of at most 40
    letters.
    """
    relation: Any = neighbors
    text = form.get(amount, "").strip()
    if form.get(notion) not in ("epsilon", "rho"):
        raise InvalidProblemError("Privacy", "a choice of epsilon or rho", "none")
    if not text or len(text) > 40:
        raise InvalidProblemError(form[notion].capitalize(), "a positive number", repr(text[:40]))
    with titled():
        if form[notion] == "rho":
            return ZeroConcentratedDP(text, relation)
        return PureDP(text, relation)
