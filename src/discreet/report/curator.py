"""The chapter that the curator of a table reads, and nobody else: risk before and after, what became of each column.

**Private**: all of it is computed from the original. It is written where it is requested, readable for its owner alone,
and never beside the public report by itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from discreet.core import printed
from discreet.kanonymity.problem import Categorical, Dates, Numeric, Prefixes, Rounded, Taxonomy
from discreet.report.check_words import proof_of
from discreet.report.page import Chapter, render_template

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

    from discreet.core.outcome import Anonymization
    from discreet.kanonymity.anonymize import AnonymizationDiagnostics
    from discreet.kanonymity.problem import Attribute
    from discreet.kanonymity.risk import Risk
    from discreet.tables.roles import AssignedRoles

_WORDS = {
    "quasi": "quasi-identifier",
    "sensitive": "sensitive",
    "keep": "kept",
    "drop": "left out",
    "person": "person; left out",
}


@final
@dataclass(frozen=True)
class _Column:
    """A column: its role, what was published for it, how its loss is counted, and what it lost."""

    name: str
    role: str
    became: str
    counted: str
    values: tuple[int, int]
    lost: float | None
    alone: int


def chapter(
    original: pl.DataFrame,
    made: Anonymization[pl.DataFrame, AnonymizationDiagnostics],
    roles: AssignedRoles,
    attributes: Sequence[Attribute],
) -> Chapter:
    """Render the chapter for the curator.

    Parameters
    ----------
    original
        The table as it was read. **Private.**
    made
        What :func:`discreet.kanonymity.anonymize` returned, with its diagnostics.
    roles
        The role of each column.
    attributes
        How quasi-identifiers were read.

    Returns
    -------
    Chapter
        For :func:`discreet.report.write_report`, private. Where persons were counted, so are they in the risks; a few
        passes over both tables.
    """
    measured, k = made.diagnostics, made.guarantee.k
    title = "What was published, and what it cost"
    before, after = risks(original, made, roles.sensitive, roles.person)
    unit = "rows" if roles.person is None else "persons"
    shares = [
        (f"{unit.capitalize()} that are alone", before.unique, after.unique),
        ("Highest risk of one person", before.prosecutor_highest, after.prosecutor_highest),
        ("Average risk", before.prosecutor_average, after.prosecutor_average),
    ]
    inside = [
        (
            name,
            f"{before.diversity[name]} → {after.diversity[name]}",
            f"{printed.at_most(before.closeness[name], 3)} → {printed.at_most(after.closeness[name], 3)}",
        )
        for name in roles.sensitive
    ]
    optimal = printed.optimum(measured.lower, measured.information_loss)
    body = render_template(
        "curator.html",
        title=title,
        anchor="curator",
        k=k,
        passed=made.certificate.passed,
        statement=(
            f"All {printed.count(after.classes)} classes have {k} {unit} or more, counted on the published cells."
        ),
        unit=unit.capitalize(),
        proved=f"{f'Proved {optimal}' if optimal else 'Lower bound'}: {made.bound_in_words()}.",
        optimal=optimal,
        alike=after.homogeneity_in_words(),
        notices=measured.notices,
        rows=original.height,
        published=made.table.height,
        suppressed=measured.suppressed,
        classes=(before.classes, after.classes),
        smallest=(before.k, after.k),
        mean=measured.mean_loss,
        bars=shares,
        inside=inside,
        columns=_columns(original, made, roles, attributes),
        words=_WORDS,
        certificate=proof_of(made.certificate),
        facts=[
            ("Information loss", printed.at_most(measured.information_loss)),
            ("Lower bound", printed.at_least(measured.lower)),
            ("Optimality gap", printed.gap(measured.lower, measured.information_loss)),
            ("Method", measured.method),
            ("Search", printed.seconds(measured.seconds)),
        ],
        tried=[
            f"{printed.seconds(step.seconds)}, {step.method}: loss {printed.at_most(step.loss)}"
            for step in measured.steps
        ],
    )
    return Chapter(title, "curator", body, "Private: for the curator alone.")


def risks(
    original: pl.DataFrame,
    made: Anonymization[pl.DataFrame, AnonymizationDiagnostics],
    sensitive: Sequence[str],
    person: str | None,
) -> tuple[Risk, Risk]:
    """Measure the risk of a table before and after, by persons if the column `person` tells them apart.

    Persons of the published rows are those of the diagnostics. **Private.** A sort of both tables.
    """
    import polars as pl

    from discreet.kanonymity.risk import risk

    published, names = made.table, made.guarantee.quasi_identifiers
    if person is not None:
        persons = pl.Series(person, made.diagnostics.persons, dtype=pl.Int64)
        published = published.with_columns(persons.replace(-1, None))
    before = risk(original, names, sensitive=sensitive, person=person)
    return before, risk(published, names, sensitive=sensitive, person=person)


def _columns(
    original: pl.DataFrame,
    made: Anonymization[pl.DataFrame, AnonymizationDiagnostics],
    roles: AssignedRoles,
    attributes: Sequence[Attribute],
) -> list[_Column]:
    """Return a record for each column of the original: role, published form, values, loss and rows alone; private.

    A column without a role counts as left out; `lost` is None for others than quasi-identifiers. A pass over each
    column.

    `made` is the anonymization with its diagnostics, `roles` and `attributes` are those of its columns.
    """
    from discreet.tables.frames import singled_out

    kinds = {attribute.name: attribute for attribute in attributes}
    role = dict.fromkeys(roles.quasi, "quasi")
    for kind in ("sensitive", "keep", "drop"):
        role |= dict.fromkeys(getattr(roles, kind), kind)
    if roles.person is not None:
        role[roles.person] = "person"
    lost: Mapping[str, float] = made.diagnostics.by_column
    listed = []
    for name in original.columns:
        is_published = name in made.table.columns
        values = original[name].n_unique(), made.table[name].n_unique() if is_published else 0
        attribute = kinds.get(name)
        listed.append(
            _Column(
                name,
                role.get(name, "drop"),
                _became(role.get(name, "drop"), made.table[name] if is_published else None),
                counted(attribute) if attribute is not None else "",
                values,
                lost.get(name),
                singled_out(original, name) if is_published and name not in roles.quasi else 0,
            )
        )
    return listed


def _became(role: str, cells: Any, most: int = 3) -> str:  # noqa: ANN401 - a series or nothing
    """Return what a column became: the `most` commonest published values of a quasi-identifier, else a few words.

    `cells` is the published column, None for one that was left out; values longer than 38 letters are cut.
    """
    if role != "quasi" or cells is None:
        return {"sensitive": "as it was", "keep": "as it was"}.get(role, "not published")
    common = cells.cast(str).value_counts(sort=True).head(most).to_series(0).to_list()
    return ", ".join(
        (text[:37] + "…") if len(text) > 38 else (text or "(empty)") for text in common
    )


def counted(attribute: Attribute) -> str:
    """Return the unit in which the loss of a cell is counted.

    Examples
    --------
    >>> counted(Dates("born"))
    'days of the span, of those from the first decade to the last'
    """
    match attribute:
        case Dates():
            return "days of the span, of those from the first decade to the last"
        case Prefixes() | Taxonomy():
            return "codes that the cell stands for, of all codes"
        case Rounded():
            return f"intervals of {attribute.steps[0]} in the cell, of all there are"
        case Numeric():
            return "width of the interval, of the whole range"
        case Categorical():
            return "values in the set but one, of all values but one"
