"""Commands from tables of options: of a record of options, or of the public call that the command makes."""

from __future__ import annotations

import inspect
import re
import shlex
from dataclasses import MISSING, replace
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from discreet.core.option_groups import Option, OptionGroup, OptionRow, rows_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

_ENTRY = re.compile(r"^(\w[\w, ]*)\n((?:    .*\n?)+)", re.MULTILINE)

R = TypeVar("R", bound="OptionGroup")


def _parameter(row: OptionRow) -> inspect.Parameter:
    """Return the parameter of a signature from which Typer makes the option or argument of a row."""
    option, default = row.option, row.default
    stated = re.match(r"bool|float|int", row.kind)
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
        shown = typer.Option(*option.flags_of(row.name), **words, rich_help_panel=option.panel)
    return inspect.Parameter(
        row.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=inspect.Parameter.empty if default is MISSING else default,
        annotation=Annotated[kind, shown],
    )


def command_again(name: str, options: OptionGroup, *, without: Collection[str] = ()) -> str:
    """Return a shell command line of `name` with the options that differ from their defaults, to type it again.

    Fields in `without` are left out; lists repeat their option.

    Examples
    --------
    >>> from discreet.cli.verify import VerifyOptions
    >>> command_again("verify", VerifyOptions(file="my table.csv", k=5, quasi=("age", "sex"), optimality=True))
    "discreet verify 'my table.csv' --optimality -k 5 --quasi age --quasi sex"
    """
    words = ["discreet", name]
    for row in rows_of(type(options)):
        value = getattr(options, row.name)
        if value == row.default or row.name in without:
            continue
        flag = () if row.option.positional else row.option.flags_of(row.name)[:1]
        for one in value if isinstance(value, tuple) else (value,):
            words += [*flag, *(() if one is True else (str(one),))]
    return shlex.join(words)


def _command(
    run: Callable[..., Any],
    rows: Sequence[OptionRow],
    call: Callable[..., Any],
    shown: Mapping[str, Any],
) -> Callable[..., Any]:
    """Return a function with the options of rows as its signature, and the name and docstring of `run`.

    It reads the typed values and gives them to `call` as one mapping by name; `shown` become its attributes.
    """

    def command(**typed: Any) -> Any:  # noqa: ANN401 - as Typer reads them
        return call({row.name: row.value(typed[row.name]) for row in rows})

    parameters = [_parameter(row) for row in rows]
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
        ``examples``, commands that end the help; ``first``, names of the options that a brief help shows.
    """
    rows = list(rows_of(record))
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
            rows.append(OptionRow(one.name, str(one.annotation), stated, default))
    names = {row.name: row.option.flags_of(row.name)[0] for row in rows}
    sentences = read_sentences(call.__doc__ or "", names)
    for at, row in enumerate(rows):
        help_ = f"{sentences.get(row.name, '')} {row.option.help}".strip()
        rows[at] = replace(row, option=replace(row.option, help=help_))
    own = list(rows_of(record))

    def decorate(run: Callable[[dict[str, Any], R], int | None]) -> Callable[..., Any]:
        def start(values: dict[str, Any]) -> int | None:
            rest = record(**{row.name: values.pop(row.name) for row in own})
            return run({name: one for name, one in values.items() if one is not None}, rest)

        return _command(run, [*rows, *own], start, more)

    return decorate


def read_sentences(docstring: str, names: Mapping[str, str]) -> dict[str, str]:
    """Read the sentences about each argument from a docstring, as the help of an option shows them.

    Returns argument -> its sentences on one line, without markup; an argument without an entry is missing.

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
