"""Commands from public calls: the options of a command are the arguments of the call, with their sentences."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, final, get_type_hints

import typer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["TypedOption", "from_call", "read_sentences"]

_KINDS = {"bool": bool, "float": float, "int": int, "str": str}
_ENTRY = re.compile(r"^(\w[\w, ]*)\n((?:    .*\n?)+)", re.MULTILINE)


@final
@dataclass(frozen=True)
class TypedOption:
    """How an argument of a call is typed on the command line.

    Parameters
    ----------
    metavar, panel
        Placeholder of the value, and heading of the help.
    flag
        Name of the option, if it is not the name of the argument.
    more
        Sentences of the help after those of the call.
    read
        Function from the typed text, or from the list of texts of an option that may be repeated, to the value.
    repeated
        Whether the option may be repeated.
    """

    metavar: str | None = None
    panel: str | None = None
    flag: str | None = None
    more: str = ""
    read: Callable[[Any], Any] | None = None
    repeated: bool = False

    def name_of(self, one: inspect.Parameter) -> str:
        """Return the name of the option, or the placeholder of a positional argument."""
        if one.default is inspect.Parameter.empty and self.flag is None:
            return self.metavar or one.name.upper()
        return self.flag or f"--{one.name.replace('_', '-')}"

    def parameter(self, one: inspect.Parameter, sentence: str) -> inspect.Parameter:
        """Return the parameter that Typer reads."""
        help_ = f"{sentence} {self.more}".strip()
        words: dict[str, Any] = {"metavar": self.metavar, "help": help_}
        stated = re.match(r"bool|float|int", str(one.annotation))
        kind: Any = _KINDS[stated[0] if stated and self.read is None else "str"]
        if self.repeated:
            kind = list[str]
        required = one.default is inspect.Parameter.empty
        if required and self.flag is None:
            shown = typer.Argument(**words)
        else:
            # A flag is named, since Typer would add its negation to one without a name.
            name = self.name_of(one)
            names = (name,) if name.startswith("--") else (name, f"--{one.name}")
            shown = typer.Option(*names, **words, rich_help_panel=self.panel)
        default = one.default if kind is not str or one.default is None else str(one.default)
        if self.repeated and not required:
            default = None
        if default is None and not required:
            kind = kind | None
        annotation: Any = Annotated[kind, shown]
        return inspect.Parameter(
            one.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if required else default,
            annotation=annotation,
        )


def from_call(
    call: Callable[..., Any], shown: Mapping[str, TypedOption], *, skip: tuple[str, ...] = ()
) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Return a decorator that makes a command of a function, with the arguments of a public call as options.

    Parameters
    ----------
    call
        Public call. Its docstring has an entry for each argument.
    shown
        Argument -> how it is typed, where that does not follow from the call.
    skip
        Arguments that are no options.

    Returns
    -------
    callable
        From ``run(given, ...)`` to the command: `given` holds the arguments of the call, and the other parameters of
        `run` are options of the command alone.
    """
    arguments = [one for one in inspect.signature(call).parameters.values() if one.name not in skip]
    table = {one.name: shown.get(one.name, TypedOption()) for one in arguments}
    names = {one.name: table[one.name].name_of(one) for one in arguments}
    sentences = read_sentences(call.__doc__ or "", names)

    def decorate(run: Callable[..., int]) -> Callable[..., int]:
        hints = get_type_hints(run, include_extras=True)
        own = [
            one.replace(annotation=hints[one.name], kind=inspect.Parameter.KEYWORD_ONLY)
            for one in list(inspect.signature(run).parameters.values())[1:]
        ]
        of_call = [table[one.name].parameter(one, sentences.get(one.name, "")) for one in arguments]

        def command(**typed: Any) -> int:  # noqa: ANN401 - as Typer reads them
            given = {name: typed.pop(name) for name in table}
            for name, one in table.items():
                if one.read is not None and given[name] is not None:
                    given[name] = one.read(given[name])
            return run({name: value for name, value in given.items() if value is not None}, **typed)

        parameters = [*of_call, *own]
        vars(command)["__signature__"] = inspect.Signature(parameters)
        command.__annotations__ = {one.name: one.annotation for one in parameters}
        command.__name__, command.__doc__ = run.__name__, run.__doc__
        return command

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
    found: dict[str, str] = {}
    for arguments, text in _ENTRY.findall(section.split("\n\n")[0]):
        plain = re.sub(r":\w+:`~?([^`]*)`", r"\1", " ".join(text.split()))
        plain = re.sub(r"``\"?([^`\"]*)\"?``", r"\1", plain)
        plain = re.sub(r"`(\w+)`", lambda name: names.get(name[1], name[1]), plain)
        plain = re.sub(r" In Python[^.]*\.", "", plain)
        found.update(dict.fromkeys(arguments.split(", "), plain))
    return found
