"""Tables of options: a record of a command, or the public call that it makes, states each of its options once."""

from __future__ import annotations

import inspect
import re
import shlex
from dataclasses import MISSING, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypeVar, dataclass_transform, final

import typer

from discreet.core.errors import InvalidProblemError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

__all__ = [
    "REQUIRED",
    "Option",
    "OptionGroup",
    "argument",
    "command_again",
    "from_call",
    "from_options",
    "option",
    "read_sentences",
]

REQUIRED = MISSING
"""Default of an option that has to be typed."""

_ENTRY = re.compile(r"^(\w[\w, ]*)\n((?:    .*\n?)+)", re.MULTILINE)

R = TypeVar("R", bound="OptionGroup")


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
    checks: Mapping[str, Any] = field(default_factory=dict)

    def flags_of(self, name: str) -> tuple[str, ...]:
        """Return the names of the option, or the placeholder of a positional value."""
        if self.positional:
            return (self.metavar or name.upper(),)
        return self.flags or (f"--{name.replace('_', '-')}",)


@final
@dataclass(frozen=True)
class _Row:
    """An option, with the name, the annotation and the default of its value."""

    name: str
    kind: str
    option: Option
    default: Any

    @property
    def is_argument(self) -> bool:
        """Whether the value is typed without a name."""
        return self.option.positional

    def parameter(self) -> inspect.Parameter:
        """Return the parameter that Typer reads."""
        option, default = self.option, self.default
        stated = re.match(r"bool|float|int", self.kind)
        kinds: dict[str, Any] = {"bool": bool, "float": float, "int": int}
        kind = kinds[stated[0]] if stated and option.read is None else str
        if option.repeated:
            kind, default = list[str], default if default is MISSING else None
        elif kind is str and default not in (None, MISSING):
            default = str(default)
        if default is None:
            kind |= None
        words: dict[str, Any] = {"metavar": option.metavar, "help": option.help, **option.checks}
        if option.positional:
            shown = typer.Argument(**words)
        else:
            # A flag is named, since Typer would add its negation to one without a name.
            shown = typer.Option(*option.flags_of(self.name), **words, rich_help_panel=option.panel)
        return inspect.Parameter(
            self.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if default is MISSING else default,
            annotation=Annotated[kind, shown],
        )

    def value(self, typed: Any) -> Any:  # noqa: ANN401 - of any type
        """Convert a value as Typer read it."""
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
    **checks: Any,  # noqa: ANN401 - as Typer takes them
) -> Any:  # noqa: ANN401 - to a type checker it is the default of the field
    """Return the field of an option in a record of options; see :class:`Option`."""
    stated = Option(metavar, None, help, flags, read, repeated, positional, checks)
    missing: Any = () if repeated else None
    return field(default=missing if default is None else default, metadata={"option": stated})


def argument(help: str, metavar: str, *, default: Any = REQUIRED, repeated: bool = False) -> Any:  # noqa: A002, ANN401 - as above
    """Return the field of a value that is typed without a name."""
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

    def of(self, group: type[OptionGroup]) -> dict[str, Any]:
        """Return the values of a group by name, such as the arguments of a call of the library."""
        return {row.name: getattr(self, row.name) for row in _rows_of(group)}

    def is_typed(self, group: type[OptionGroup]) -> bool:
        """Return whether an option of a group has another value than its default."""
        return any(getattr(self, row.name) != row.default for row in _rows_of(group))

    def refuse(self, names: Iterable[str], expected: str, got: str | None = None) -> None:
        """Refuse the first of some options that has another value than its default; unknown names are ignored."""
        rows = {row.name: row for row in _rows_of(type(self))}
        for row in (rows[name] for name in names if name in rows):
            value = getattr(self, row.name)
            if value != row.default:
                flag, _, negation = row.option.flags_of(row.name)[0].partition("/")
                flag = negation if negation and value is False else flag
                raise InvalidProblemError(flag, expected, repr(value) if got is None else got)


def _rows_of(record: type[OptionGroup]) -> Iterator[_Row]:
    """Yield the options of a record: its own first, then those of its groups in order; before them the arguments.

    Arguments have an order on the command line: what a group reads comes before what a record adds, as in
    ``budget recover LEDGER ID``.
    """
    rows = list(_rows_by_group(record))
    yield from (row for rows_of_group in reversed(rows) for row in rows_of_group if row.is_argument)
    yield from (row for rows_of_group in rows for row in rows_of_group if not row.is_argument)


def _rows_by_group(record: type[OptionGroup]) -> Iterator[list[_Row]]:
    """Yield the options of each group of a record, its own first."""
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
                rows.append(_Row(name, kind, stated, one.default))
        yield rows


def command_again(name: str, options: OptionGroup, *, without: Collection[str] = ()) -> str:
    """Return a command as one would type it again, from its options.

    Examples
    --------
    >>> from discreet.cli.row_judges import VerifyOptions
    >>> command_again("verify", VerifyOptions(file="my table.csv", k=5, quasi=("age", "sex"), optimality=True))
    "discreet verify 'my table.csv' --optimality -k 5 --quasi age --quasi sex"
    """
    words = ["discreet", name]
    for row in _rows_of(type(options)):
        value = getattr(options, row.name)
        if value == row.default or row.name in without:
            continue
        flag = () if row.option.positional else row.option.flags_of(row.name)[:1]
        for one in value if isinstance(value, tuple) else (value,):
            words += [*flag, *(() if one is True else (str(one),))]
    return shlex.join(words)


def _command(
    run: Callable[..., Any],
    rows: Sequence[_Row],
    call: Callable[..., Any],
    shown: Mapping[str, Any],
) -> Callable[..., Any]:
    """Return a function with the options of rows as its signature, and the name and help of `run`."""

    def command(**typed: Any) -> Any:  # noqa: ANN401 - as Typer reads them
        return call({row.name: row.value(typed[row.name]) for row in rows})

    parameters = [row.parameter() for row in rows]
    vars(command)["__signature__"] = inspect.Signature(parameters)
    command.__annotations__ = {one.name: one.annotation for one in parameters}
    command.__name__, command.__doc__ = run.__name__, run.__doc__
    vars(command).update(shown)
    return command


def from_options(
    record: type[R],
    **shown: Any,  # noqa: ANN401 - as of `command_named`
) -> Callable[[Callable[[R], int | None]], Callable[..., Any]]:
    """Return a decorator that makes a command of a function of one record, with the fields as options.

    Parameters
    ----------
    record
        The options.
    shown
        ``examples``, which end the help; ``first``, names of the options that a brief help shows.
    """
    rows = list(_rows_of(record))
    return lambda run: _command(run, rows, lambda values: run(record(**values)), shown)


def from_call(
    call: Callable[..., Any],
    shown: Mapping[str, Option],
    record: type[R],
    *,
    skip: tuple[str, ...] = (),
    **more: Any,  # noqa: ANN401 - as of `from_options`
) -> Callable[[Callable[[dict[str, Any], R], int | None]], Callable[..., Any]]:
    """Return a decorator that makes a command of a function, with the arguments of a public call as options.

    Parameters
    ----------
    call
        Public call. Its docstring has an entry for each argument.
    shown
        Argument -> how it is typed, where that does not follow from the call.
    record
        Options of the command alone.
    skip
        Arguments that are no options.
    more
        As for :func:`from_options`.

    Returns
    -------
    callable
        From ``run(given, options)`` to the command: `given` holds the arguments of the call, `options` the record.
    """
    rows = []
    for one in inspect.signature(call).parameters.values():
        if one.name not in skip:
            required = one.default is inspect.Parameter.empty
            stated = shown.get(one.name, Option())
            stated = replace(stated, positional=required and not stated.flags)
            default = MISSING if required else one.default
            rows.append(_Row(one.name, str(one.annotation), stated, default))
    names = {row.name: row.option.flags_of(row.name)[0] for row in rows}
    sentences = read_sentences(call.__doc__ or "", names)
    for at, row in enumerate(rows):
        help_ = f"{sentences.get(row.name, '')} {row.option.help}".strip()
        rows[at] = replace(row, option=replace(row.option, help=help_))
    own = list(_rows_of(record))

    def decorate(run: Callable[[dict[str, Any], R], int | None]) -> Callable[..., Any]:
        def start(values: dict[str, Any]) -> int | None:
            rest = record(**{row.name: values.pop(row.name) for row in own})
            return run({name: one for name, one in values.items() if one is not None}, rest)

        return _command(run, [*rows, *own], start, more)

    return decorate


def read_sentences(docstring: str, names: Mapping[str, str]) -> dict[str, str]:
    """Read the sentences about each argument from a docstring, as the help of an option shows them.

    Parameters
    ----------
    docstring
        Docstring of a call. Sentences that begin with "In Python" are left out.
    names
        Argument -> its name on the command line.

    Examples
    --------
    >>> text = '''Count.
    ...
    ... Parameters
    ... ----------
    ... strength
    ...     ``"exact"``, or with `max_size` another. In Python also a number.
    ... '''
    >>> read_sentences(text, {"max_size": "--max-size"})
    {'strength': 'exact, or with --max-size another.'}
    """
    section = inspect.cleandoc(docstring).partition("Parameters\n----------\n")[2]
    sentences: dict[str, str] = {}
    for arguments, text in _ENTRY.findall(section.split("\n\n")[0]):
        plain = re.sub(r":\w+:`~?([^`]*)`", r"\1", " ".join(text.split()))
        plain = re.sub(r"``\"?([^`\"]*)\"?``", r"\1", plain)
        plain = re.sub(r"`(\w+)`", lambda name: names.get(name[1], name[1]), plain)
        plain = re.sub(r" In Python[^.]*\.", "", plain)
        sentences.update(dict.fromkeys(arguments.split(", "), plain))
    return sentences
