"""Tables of options, of which each entrance makes what it needs: a command line, or the fields of a form."""

from __future__ import annotations

from dataclasses import MISSING, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self, dataclass_transform, final

from discreet.core.errors import InvalidProblemError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

REQUIRED = MISSING
"""Default of an option that has to be typed."""


@final
@dataclass(frozen=True)
class Option:
    """How a value is typed on the command line.

    Parameters
    ----------
    metavar, panel
        Placeholder of the value, and heading of the help.
    help
        Sentence of the help; for an argument of a call, the sentence after those of the call.
    flags
        Names of the option, if not that of the value.
    read
        Function from the typed text, or from the list of texts of an option that may be repeated, to the value.
    repeated
        Whether the option may be repeated.
    positional
        Whether the value is typed without a name.
    choices
        Values that a form offers, with a title of each.
    checks
        Further arguments of ``typer.Option``, such as the least value.
    """

    metavar: str | None = None
    panel: str | None = None
    help: str = ""
    flags: tuple[str, ...] = ()
    read: Callable[[Any], Any] | None = None
    repeated: bool = False
    positional: bool = False
    choices: Mapping[str, str] = field(default_factory=dict)
    checks: Mapping[str, Any] = field(default_factory=dict)

    def flags_of(self, name: str) -> tuple[str, ...]:
        """Return the names of the option, or the placeholder of a positional value."""
        if self.positional:
            return (self.metavar or name.upper(),)
        return self.flags or (f"--{name.replace('_', '-')}",)


@final
@dataclass(frozen=True)
class OptionRow:
    """An option, with the name, the annotation and the default of its value."""

    name: str
    kind: str
    option: Option
    default: Any

    @property
    def title(self) -> str:
        """Label of the option's field in a form."""
        return self.option.flags_of(self.name)[0].strip("-").replace("-", " ").capitalize()

    def from_field(self, text: str) -> Any:  # noqa: ANN401 - of any type
        """Read the value from a form's text: one on each line if the option may be repeated.

        A blank text means the default.

        InvalidProblemError for a text that the option cannot read.
        """
        if not text.strip(" \n"):
            return self.default
        if self.option.repeated:
            return self.value([line for line in text.splitlines() if line.strip()])
        return self.value(text.strip(" \n"))

    def value(self, typed: Any) -> Any:  # noqa: ANN401 - of any type
        """Convert a value as Typer read it; ``None`` stays ``None``, or becomes ``()`` if that is the default.

        `typed` is a text, or a list of texts for an option that may be repeated, which becomes a tuple. The option's
        own reader comes first, and its errors pass through.
        """
        if typed is None:
            return () if self.default == () else None
        if self.option.read is not None:
            return self.option.read(typed)
        return tuple(typed) if self.option.repeated else typed


def option(
    help: str,  # noqa: A002 - as Typer calls it
    metavar: str | None = None,
    *flags: str,
    default: Any = None,  # noqa: ANN401 - of any type
    read: Callable[[Any], Any] | None = None,
    repeated: bool = False,
    positional: bool = False,
    choices: Mapping[str, str] | None = None,
    **checks: Any,  # noqa: ANN401 - as Typer takes them
) -> Any:  # noqa: ANN401 - to a type checker it is the default of the field
    """Return the field of an option in a record of options; see :class:`Option`.

    `help` and `metavar` are the text and the placeholder in the help, `flags` the names on the command line, by
    default that of the field; `read` converts a typed value, `choices` maps allowed values to texts, and `checks` go
    to Typer. Without `default` it is ``()`` for an option that may be repeated, else ``None``.
    """
    stated = Option(metavar, None, help, flags, read, repeated, positional, choices or {}, checks)
    missing: Any = () if repeated else None
    return field(default=missing if default is None else default, metadata={"option": stated})


def argument(help: str, metavar: str, *, default: Any = REQUIRED, repeated: bool = False) -> Any:  # noqa: A002, ANN401 - as above
    """Return the field of a value that is typed without a name.

    `help`, `metavar` and `repeated` are those of :func:`option`; without `default` the value is required.
    """
    return option(help, metavar, default=default, repeated=repeated, positional=True)


@dataclass_transform(frozen_default=True, kw_only_default=True)
class OptionGroup:
    """Options of a command, or of a group that several commands share.

    Each subclass is a frozen dataclass of :func:`option` and :func:`argument` fields. The record of a command inherits
    the groups that it takes. ``class Search(OptionGroup, panel="How")`` shows a group below a heading of the help; a
    group that inherits it may state another heading.
    """

    __dataclass_fields__: ClassVar[dict[str, Any]]
    panel: ClassVar[str | None] = None
    environment: ClassVar[str | None] = None
    """How the names of variables of the environment begin that state the options of the group, too."""

    def __init_subclass__(cls, *, panel: str | None = None, environment: str | None = None) -> None:
        """Convert the group to a dataclass, and note its heading."""
        dataclass(frozen=True, kw_only=True)(cls)
        if panel is not None:
            cls.panel = panel
        if environment is not None:
            cls.environment = environment

    @classmethod
    def from_form(cls, form: Mapping[str, str]) -> Self:
        r"""Read the options from the texts of a form's fields; other fields are ignored.

        `form` maps names of fields to texts; for one that is missing the default counts. InvalidProblemError for a
        text that an option cannot read.

        Examples
        --------
        >>> class Codes(OptionGroup):
        ...     top: tuple[str, ...] = option("Top code.", "NAME=NUMBER", repeated=True)
        >>> Codes.from_form({"top": "age=85\nincome=100000", "role-0": "quasi"}).top
        ('age=85', 'income=100000')
        """
        return cls(**{row.name: row.from_field(form.get(row.name, "")) for row in rows_of(cls)})

    def of(self, group: type[OptionGroup]) -> dict[str, Any]:
        """Return the values of a group by name, such as the arguments of a call of the library.

        The keys are names of fields; `group` is one that this record inherits.
        """
        return {row.name: getattr(self, row.name) for row in rows_of(group)}

    def is_typed(self, group: type[OptionGroup]) -> bool:
        """Return whether an option of a group has another value than its default."""
        return any(getattr(self, row.name) != row.default for row in rows_of(group))

    def refuse(self, names: Iterable[str], expected: str, got: str | None = None) -> None:
        """Raise InvalidProblemError for the first of `names` that has another value than its default.

        `expected` and `got` are texts of the message; unknown names are ignored.
        """
        rows = {row.name: row for row in rows_of(type(self))}
        for row in (rows[name] for name in names if name in rows):
            value = getattr(self, row.name)
            if value != row.default:
                flag, _, negation = row.option.flags_of(row.name)[0].partition("/")
                flag = negation if negation and value is False else flag
                raise InvalidProblemError(flag, expected, repr(value) if got is None else got)


def rows_of(record: type[OptionGroup]) -> Iterator[OptionRow]:
    """Yield the options of a record: its own first, then those of its groups in order; before them the arguments.

    Arguments have an order on the command line: what a group reads comes before what a record adds, as in
    ``budget recover LEDGER ID``.
    """
    rows = list(rows_by_group(record))
    yield from (
        row for rows_of_group in reversed(rows) for row in rows_of_group if row.option.positional
    )
    yield from (row for rows_of_group in rows for row in rows_of_group if not row.option.positional)


def rows_by_group(record: type[OptionGroup]) -> Iterator[list[OptionRow]]:
    """Yield the options of each group of a record, its own first.

    An option that a record states anew belongs to the record. Names of variables of the environment and the heading
    of the group are filled in.
    """
    known: dict[str, Any] = {one.name: one for one in fields(record)}
    groups = [one for one in record.__mro__ if issubclass(one, OptionGroup)]
    for group in groups:
        rows = []
        headings = (vars(one).get("panel") for one in groups if issubclass(one, group))
        panel = next(filter(None, headings), None)
        for name, kind in vars(group).get("__annotations__", {}).items():
            if name in known and "option" in known[name].metadata:
                one = known.pop(name)
                stated: Option = one.metadata["option"]
                checks = dict(stated.checks)
                if group.environment is not None:
                    checks["envvar"] = f"{group.environment}{name.upper()}"
                stated = replace(stated, panel=panel, checks=checks)
                rows.append(OptionRow(name, kind, stated, one.default))
        yield rows
