"""Read a table, search, generalize it. Proposes; checked by `discreet.kanonymity.verify.verify` before it returns."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, final

import numpy as np

from discreet.core import printed
from discreet.core.calls import explained
from discreet.core.certificate import Certificate
from discreet.core.errors import InvalidProblemError, LimitReachedError
from discreet.core.guarantee import KAnonymity
from discreet.core.jit import clock
from discreet.core.options import callback, items_of
from discreet.core.outcome import FOR_THE_CURATOR, Anonymization, Provenance, PublicInput
from discreet.core.progress import Progress
from discreet.core.randomness import is_private
from discreet.core.randomness.bits import as_bits
from discreet.kanonymity.candidate import SearchInterrupted, audit
from discreet.kanonymity.methods import METHODS
from discreet.kanonymity.model_demands import check_models, demands_of_models, models_in_words
from discreet.kanonymity.models import KMap
from discreet.kanonymity.risk import Risk, draw_class_sizes, risk
from discreet.kanonymity.search.mapped import Population, kinds_for, search_mapped
from discreet.kanonymity.search.search import search

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from discreet.core.randomness import RandomBits
    from discreet.kanonymity.candidate import Method
    from discreet.kanonymity.models import PrivacyModel
    from discreet.kanonymity.problem import Attribute, Problem
    from discreet.kanonymity.search.search import Found, SearchStep
    from discreet.tables.options import ReadingOptions
    from discreet.tables.recoding import Recoding
    from discreet.tables.roles import AssignedRoles, Given


@final
@dataclass(frozen=True)
class AnonymizationDiagnostics:
    """What only the curator should see: all of it is computed from the original table.

    Parameters
    ----------
    information_loss
        Sum over cells.
    mean_loss
        The same divided by rows and weights.
    lower
        What no k-anonymous table loses less than.
    gap
        ``(information_loss - lower) / information_loss``.
    optimal
        Whether the gap is no more than what rounding leaves open.
    classes, smallest_class, suppressed
        Counts of classes, of rows in the smallest, and of rows left out.
    method
        The method that found it.
    seconds
        Wall-clock time of the search, from after compilation; what `time_limit` is for.
    steps
        What was tried.
    seconds_after
        Wall-clock time of writing and verifying the cells, after the search.
    by_column
        Mean loss of a cell of each quasi-identifier, as a share of its weight; a suppressed row loses all.
    singled_out
        For each column that is published as it is, how many rows are the only one with their value: who knows such a
        value of a person knows the row.
    notices
        Sentences about marks of missing values, those that were recognized and those that count as values, and about
        columns that may tell persons apart.
    persons
        With `person`, the number of the person of each published row, -1 for none: the key by which
        :func:`~discreet.kanonymity.verify.verify` counts persons. It is private.
    """

    information_loss: float
    mean_loss: float
    lower: float
    gap: float
    optimal: bool
    classes: int
    smallest_class: int
    suppressed: int
    method: str
    seconds: float
    steps: tuple[SearchStep, ...]
    seconds_after: float = 0.0
    by_column: Mapping[str, float] = field(default_factory=dict)
    singled_out: Mapping[str, int] = field(default_factory=dict)
    notices: tuple[str, ...] = ()
    persons: tuple[int, ...] = ()

    def pictured(self, made: Anonymization[Any, AnonymizationDiagnostics]) -> str:
        """Draw how many equivalence classes of each size the published table has."""
        return draw_class_sizes(made.table, made.guarantee.quasi_identifiers)

    def described(
        self,
        made: Anonymization[Any, AnonymizationDiagnostics],
        published: Risk | None = None,
    ) -> list[tuple[str, object]]:
        """Return what a text about an anonymization states, names with values, for the curator alone.

        Parameters
        ----------
        made
            The anonymization that this belongs to.
        published
            Risk of its table, if it is known.
        """
        parameters = made.provenance.parameters
        sensitive = parameters["roles"]["sensitive"]
        published = published or risk(
            made.table, made.guarantee.quasi_identifiers, sensitive=sensitive
        )
        stated = printed.bounds(self.lower, self.information_loss)
        optimal = printed.optimum(self.lower, self.information_loss)
        stated += f", proved {optimal}" if optimal else ""
        took = f"{printed.seconds(self.seconds)}; shuffled and verified in {printed.seconds(self.seconds_after)}"
        distances = {name: printed.at_most(float(published.closeness[name])) for name in sensitive}
        return [
            ("information loss", f"{stated} ({parameters['loss']})"),
            ("where the bound is that", made.bound_in_words()),
            ("mean loss", f"{printed.at_most(self.mean_loss, 4)} of a cell"),
            ("classes", f"{published.classes}, the smallest of {published.k} rows"),
            ("rows", f"{published.rows} kept, {self.suppressed} suppressed, order shuffled"),
            *(
                (f"values of {name}", f"{published.diversity[name]} or more in each class")
                for name in sensitive
            ),
            *((f"distance in {name}", f"{most} at most") for name, most in distances.items()),
            *(("one value in a class", words) for words in published.homogeneity_in_words()),
            ("method", f"{self.method}, {took}"),
            ("private", FOR_THE_CURATOR),
        ]


@explained('anonymize(table, dc.KAnonymity(5, ("age", "zip")))')
def anonymize(
    table: Any,  # noqa: ANN401 - a dataframe of any library
    guarantee: KAnonymity,
    *,
    attributes: Mapping[str, Attribute] | Sequence[Attribute] | None = None,
    loss: str = "ncp",
    method: Method | str | None = None,
    time_limit: float | None = None,
    gap: float | None = None,
    suppress: float = 0.0,
    keep_suppressed: bool = False,
    models: Mapping[str, Sequence[PrivacyModel]] | None = None,
    person: str | None = None,
    population: Any = None,  # noqa: ANN401 - as `table`
    k_map: int | None = None,
    sensitive: Sequence[str] = (),
    keep: Sequence[str] = (),
    drop: Sequence[str] = (),
    unassigned: str | None = None,
    encoding: str | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
    sheet: str | None = None,
    missing: Sequence[str] | Mapping[str, Sequence[str]] = (),
    bins: Sequence[str] | Mapping[str, Any] = (),
    top: Sequence[str] | Mapping[str, Any] = (),
    bottom: Sequence[str] | Mapping[str, Any] = (),
    effort: str | None = None,
    threads: int = 1,
    on_progress: Callable[[Progress], None] | None = None,
    throw: bool = True,
    bits: RandomBits | None = None,
) -> Anonymization[Any, AnonymizationDiagnostics]:
    """Generalize the cells of a table as little as possible, so that each equivalence class has k rows or more.

    The search stops at `time_limit`; without one, when its method is done.

    Parameters
    ----------
    table
        A dataframe that Narwhals knows, such as one of Polars, pandas or PyArrow, or a relation of DuckDB; or the path
        of a file: CSV, which may be compressed, Parquet, Arrow, a workbook of Excel, or a file of SPSS, Stata or SAS.
        Cells of text are taken as they stand there, zeros in front included.
    guarantee
        k, and the columns that an adversary may know.
    attributes
        What kind of column some of these are; see :class:`Numeric`, :class:`Categorical`, :class:`Taxonomy`,
        :class:`Dates`, :class:`Prefixes` and :class:`Rounded`. Others are numeric where they hold numbers, dates where
        they hold these in one format, and else sets of values.
    loss
        Name of the information loss; see :class:`Problem`.
    method, time_limit, gap, suppress, effort, threads
        As for :func:`~discreet.kanonymity.search.search.search`.
    keep_suppressed
        Whether suppressed rows stay, with ``*`` in all quasi-identifiers, where there are k of them or more; fewer are
        left out.
    models
        For sensitive columns what each class must hold: the records of :mod:`discreet.kanonymity.models` for distinct,
        entropy and recursive diversity and for the greatest frequency, which with k is (alpha, k)-anonymity.
    person
        A column that tells persons apart: each class then has rows of k persons, and the guarantee counts persons. It
        is left out of the table that is returned, where it would link the rows of a person, and so their classes.
    population
        All people of whom some are in the table, with the same quasi-identifiers: a dataframe or a path. Public.
    k_map
        How many people of `population` the cells of each class must cover (k-map), besides k rows of the table.
    on_progress
        Called after each method with the least loss and the largest lower bound so far. For the curator: they are
        computed from private rows.
    sensitive, keep
        Columns that are published as they are: attributes that nobody should learn, and others. What is kept is not
        protected. Columns of `models` are sensitive.
    drop
        Columns that are left out, such as direct identifiers.
    unassigned
        ``"keep"`` or ``"drop"`` for all columns of no role. By default these are refused; one that looks like an
        identifier has to be named even so.
    encoding, delimiter, decimal, sheet, missing
        How a file is read, and which marks stand for missing values in any table; see
        :class:`~discreet.tables.options.ReadingOptions`. In quasi-identifiers whose other cells are numbers or dates,
        common marks such as NA are recognized, and `diagnostics.notices` says so.
    bins, top, bottom
        Cut points, and top and bottom codes, such as ``["age=18,40"]`` or ``{"age": [18, 40]}``: columns are recoded
        before the search; see :class:`~discreet.tables.recoding.Recoding`.
    throw
        Whether to raise when a `gap` was requested and not reached.
    bits
        Where the keys come from by which rows are shuffled: the operating system by default.

    Returns
    -------
    Anonymization
        The table, of the kind that was given, with the same columns and its rows shuffled. Cells of quasi-identifiers
        are text. `diagnostics` are for the curator.

    Raises
    ------
    InvalidProblemError
        For a column that is not there, has no role or two, a value that is not in its taxonomy or bounds, or options
        that make no sense, or a population without some row of the table.
        That a column has no role or looks like an identifier is said by its place; it depends on
        the data, and is for the curator.
    InfeasibleError
        When there are fewer than k rows, or all rows as one class do not meet the demands or cover too few people.
    CertificateError
        When the published cells are not shared by k rows, or a class fails a model: a bug, and never returned.
    LimitReachedError
        With `throw`, when `gap` was not reached; ``best`` is the anonymization.
    SearchInterrupted
        On Ctrl-C; a ``KeyboardInterrupt`` whose ``best`` is the anonymization by then, or ``None``.

    Guarantee
    ---------
    k-anonymity of the returned table in the quasi-identifiers, counted on its cells by
    :func:`~discreet.kanonymity.verify.verify`; the models and persons likewise, and k-map on the rows of the
    population that these cells cover. It is no differential privacy: without models a class may share a sensitive
    value. An attacker who knows that the search merges no further than a model demands can conclude that a finer table
    fails the model, and infer values from that (the minimality attack); no model here protects against it.

    Examples
    --------
    >>> import polars as pl
    >>> people = pl.DataFrame({"age": [50, 20, 40, 21, 60], "ill": ["yes", "no", "no", "no", "yes"]})
    >>> made = anonymize(people, KAnonymity(2, ("age",)), sensitive=["ill"])
    >>> made, sorted(made.table["age"].to_list())
    (Anonymization(2-anonymous in age, certified), ['[20, 21]', '[20, 21]', '[40, 60]', '[40, 60]', '[40, 60]'])
    >>> made.diagnostics.optimal
    True
    """
    from discreet.kanonymity.cells import read_problem
    from discreet.tables.columns import refuse_unclear
    from discreet.tables.frames import opened, singled_out
    from discreet.tables.options import ReadingOptions
    from discreet.tables.recoding import Recoding, recode, recorded

    claim: object = guarantee
    if not isinstance(claim, KAnonymity):
        raise InvalidProblemError("guarantee", "a KAnonymity", type(guarantee).__name__)
    method = METHODS.resolve(method, optional=True)
    check_models(models)
    callback(on_progress)
    bits, models = None if bits is None else as_bits(bits), models or {}
    declared = _declared_roles(guarantee, sensitive, keep, drop, models, person, unassigned)
    reading = ReadingOptions.of(
        encoding=encoding, delimiter=delimiter, decimal=decimal, sheet=sheet, missing=missing
    )
    recoding = Recoding.of(bins=bins, top=top, bottom=bottom)
    table, roles, notices = _read(table, declared, reading, recoding)
    refuse_unclear(table, _unstated(guarantee, attributes), "quasi_identifiers")
    alone = {name: singled_out(table, name) for name in (*roles.sensitive, *roles.keep)}
    problem = read_problem(table, guarantee.quasi_identifiers, attributes, loss)
    demands = demands_of_models(table, guarantee, models, person)
    if population is not None:
        population = recode(opened(population, "population", reading), recoding)
    covered = _population(problem, population, k_map)
    parameters = {
        "k": guarantee.k,
        "loss": loss,
        "method": None if method is None else repr(method),
        "suppress": suppress,
        "rows": "shuffled",
        **models_in_words(guarantee, models, person, k_map),
        "roles": roles.public(),
        **recorded(reading, recoding),
    }
    task = _Task(table, guarantee, problem, models, person, covered, alone, notices, parameters)
    publish_found = partial(_publish, task, suppress, bits, keep_suppressed)
    search_for: Callable[..., Found] = search
    if covered is not None:
        search_for = partial(search_mapped, people=covered.people, least=covered.demand.k)
    try:
        result = search_for(
            problem,
            guarantee.k,
            method=method,
            time_limit=time_limit,
            gap=gap,
            suppress=suppress,
            demands=demands,
            effort=effort,
            threads=threads,
            on_step=_best_so_far(on_progress, bounded=not suppress),
        )
    except SearchInterrupted as interrupt:
        raise SearchInterrupted(interrupt.best and publish_found(interrupt.best)) from None
    made = publish_found(result)
    if throw and gap is not None and result.gap > gap:
        raise LimitReachedError("the gap that was requested was not reached", made)
    return made


class _Covered(NamedTuple):
    """A population: how many of its people the cells of a class must cover, the people, and their columns."""

    demand: KMap
    people: Population
    columns: dict[str, Any]

    @property
    def public(self) -> PublicInput:
        """The population as a public input of the provenance record."""
        text = "all people, of whom some are in the table"
        return PublicInput("population", self.people.digest, text)


class _Task(NamedTuple):
    """A table as it was read, and all that its published form must satisfy and say.

    `singled_out` counts, for each column that is published as it is, the rows that alone have their value.
    """

    table: Any
    guarantee: KAnonymity
    problem: Problem
    models: Mapping[str, Sequence[PrivacyModel]]
    person: str | None
    covered: _Covered | None
    singled_out: Mapping[str, int]
    notices: list[str]
    parameters: dict[str, Any]


def _declared_roles(  # noqa: PLR0917 - the columns of each role
    guarantee: KAnonymity,
    sensitive: Sequence[str],
    keep: Sequence[str],
    drop: Sequence[str],
    models: Mapping[str, Sequence[PrivacyModel]],
    person: str | None,
    unassigned: str | None,
) -> Given:
    """Return the roles that the call states; columns of `models` are sensitive unless they are in `keep`."""
    from discreet.tables.roles import Given

    sensitive, keep, drop = (
        items_of(names, role, "a list of columns")
        for role, names in (("sensitive", sensitive), ("keep", keep), ("drop", drop))
    )
    of_models = [name for name in models if name not in keep]
    sensitive = tuple(dict.fromkeys((*sensitive, *of_models)))
    quasi = guarantee.quasi_identifiers
    return Given(quasi, sensitive, tuple(keep), tuple(drop), person, unassigned)


def _publish(
    task: _Task,
    suppress: float,
    bits: RandomBits | None,
    keep_suppressed: bool,  # noqa: FBT001 - bound before the result is known
    result: Found,
) -> Anonymization[Any, AnonymizationDiagnostics]:
    """Write the cells of the classes, shuffle the rows, and verify what will be published.

    `suppress` is the largest share of suppressed rows; with `keep_suppressed` they stay, if there are k or more.

    Raises
    ------
    CertificateError
        If a check fails: a bug, and nothing is returned.
    """
    from discreet.kanonymity.cells import publish
    from discreet.kanonymity.verify import verify
    from discreet.tables.contents import mark_table_verified

    began, k, covered = clock(), task.guarantee.k, task.covered
    keep = k if keep_suppressed else None
    published = publish(task.table, task.problem, result.labels, bits, keep=keep)
    counted = audit(result.labels, k, suppress=int(suppress * task.problem.n))
    checked = verify(
        published,
        task.guarantee,
        models=task.models or None,
        person=task.person,
        population=covered and covered.columns,
        mapped=covered and covered.demand,
        attributes=kinds_for(task.problem) if covered else (),
    )
    # The first check of the labels is made anew on what is published.
    certificate = Certificate((*checked.checks, *counted.checks[1:]))
    certificate.raise_for_failure()
    claimed, stripped, key = _with_persons(published, task.guarantee, task.person)
    diagnostics = _diagnose(task.problem, result, clock() - began, task.singled_out)
    made = Anonymization(
        stripped,
        claimed,
        certificate,
        # What was tried depends on the rows, and so stands with the diagnostics.
        Provenance(
            "anonymize",
            task.parameters,
            seeded=not is_private(bits),
            assumed_public=() if covered is None else (covered.public,),
        ),
        replace(diagnostics, notices=tuple(task.notices), persons=key),
    )
    return mark_table_verified(made)


def _with_persons(
    published: Any,  # noqa: ANN401 - as above
    guarantee: KAnonymity,
    person: str | None,
) -> tuple[KAnonymity, Any, tuple[int, ...]]:
    """Return the guarantee over persons or rows, the table without the column of persons, and their numbers by row."""
    from discreet.kanonymity.verify import meaning_codes
    from discreet.tables.frames import left_out

    if person is None:
        return guarantee, published, ()
    claimed = KAnonymity(guarantee.k, guarantee.quasi_identifiers, "person")
    return claimed, left_out(published, [person]), tuple(meaning_codes(published, person).tolist())


def _read(
    table: Any,  # noqa: ANN401 - as above
    declared: Given,
    reading: ReadingOptions,
    recoding: Recoding,
) -> tuple[Any, AssignedRoles, list[str]]:
    """Read and recode a table; return it without dropped columns, the role of each column, and notices.

    Marks of missing values are recognized. Raises InvalidProblemError for a column without a role, or nested cells.
    """
    from discreet.tables.cells import recognize_missing
    from discreet.tables.frames import left_out, names_of, opened, refuse_nested_cells
    from discreet.tables.recoding import recode
    from discreet.tables.roles import assign_roles, look_of, repeated_persons

    recoded = recode(opened(table, "table", reading), recoding)
    roles = assign_roles(names_of(recoded), declared, lambda name: look_of(recoded, name))
    published = left_out(recoded, roles.drop)
    refuse_nested_cells(published, names_of(published), "table")
    published, notices = recognize_missing(published, roles.quasi)
    return published, roles, [*notices, *repeated_persons(recoded, declared.person)]


def _population(
    problem: Problem,
    population: Any,  # noqa: ANN401 - as above
    k_map: int | None,
) -> _Covered | None:
    """Return the k-map demand, the coded population and its columns, or ``None`` if there is no population.

    Raises InvalidProblemError for one of the two alone, or a population without a quasi-identifier. A sort for each
    column.
    """
    import narwhals as nw

    from discreet.kanonymity.cells import values_of

    if (population is None) != (k_map is None):
        raise InvalidProblemError(
            "k_map", "both k_map and population, or neither", "one of the two alone"
        )
    if population is None or k_map is None:
        return None
    frame = nw.from_native(population, eager_only=True)
    kinds = kinds_for(problem)
    for kind in kinds:
        if kind.name not in frame.columns:
            expected = "the quasi-identifiers of the table"
            raise InvalidProblemError("population", expected, f"none named {kind.name!r}")
    listed = {kind.name: values_of(frame[kind.name], kind) for kind in kinds}
    people = Population.of(type(problem).from_columns(listed, kinds))
    return _Covered(KMap(k_map), people, listed)


def _unstated(guarantee: KAnonymity, attributes: Any) -> list[str]:  # noqa: ANN401 - as it came
    """List the quasi-identifiers without an attribute in `attributes`.

    Other objects are refused where they are read.
    """
    stated_kinds = attributes.values() if hasattr(attributes, "values") else attributes
    listed = stated_kinds if hasattr(stated_kinds, "__iter__") else ()
    stated = {getattr(one, "name", None) for one in listed}
    return [name for name in guarantee.quasi_identifiers if name not in stated]


def _best_so_far(
    on_progress: Callable[[Progress], None] | None, *, bounded: bool
) -> Callable[[SearchStep], None] | None:
    """Return a function that reports search steps as progress events; ``None`` without `on_progress`.

    Events hold the least loss and, if `bounded`, the largest lower bound so far: not where rows may be suppressed.
    """
    if on_progress is None:
        return None
    steps: list[SearchStep] = []

    def tell(step: SearchStep) -> None:
        steps.append(step)
        lower = max(seen.lower for seen in steps) if bounded else 0.0
        upper = min(seen.loss for seen in steps)
        on_progress(Progress(step.seconds, step.method, lower=lower or None, upper=upper))

    return tell


def _diagnose(
    problem: Problem,
    found: Found,
    seconds: float,
    alone: Mapping[str, int],
) -> AnonymizationDiagnostics:
    """Return the private facts about a search and its classes; `seconds` is the time of publication."""
    sizes = np.bincount(found.labels[found.labels >= 0])
    cost = problem.n * problem.suppressed_cost
    return AnonymizationDiagnostics(
        information_loss=found.loss,
        mean_loss=found.loss / cost if cost > 0 else 0.0,
        lower=found.lower,
        gap=found.gap,
        optimal=found.optimal,
        classes=len(sizes),
        smallest_class=int(sizes.min(initial=problem.n)),
        suppressed=int((found.labels < 0).sum()),
        method=found.method,
        seconds=found.seconds,
        steps=found.steps,
        seconds_after=seconds,
        by_column=_by_column(problem, found),
        singled_out=alone,
    )


def _by_column(problem: Problem, found: Found) -> dict[str, float]:
    """Return the loss of each column as a share, from 0 to 1, of the largest that it may have. Private.

    Suppressed rows count in full. The cost is that of :meth:`Problem.boxes`.
    """
    boxes = problem.boxes(found.labels)
    lost, gone = boxes.sizes @ boxes.costs, problem.n - int(boxes.sizes.sum())
    weights = {column.name: column.attribute.weight for column in problem.columns}
    return {
        name: (float(cost) / weight + gone) / problem.n if weight else 0.0
        for (name, weight), cost in zip(weights.items(), lost, strict=True)
    }
