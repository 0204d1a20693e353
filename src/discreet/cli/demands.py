"""Read what is asked of classes beyond k: ``disease=recursive:2,3``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.cli.microdata import names_of
from discreet.core.errors import InvalidProblemError
from discreet.kanonymity.models import (
    AlphaFrequency,
    Closeness,
    DeltaPresence,
    DistinctDiversity,
    EntropyDiversity,
    RecursiveDiversity,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.kanonymity.models import Model

__all__ = ["demanded", "read_models", "read_presence"]

_EXPECTED = (
    "NAME=MODEL with distinct:L, entropy:L, recursive:C,L, closeness:T, ordered-closeness:T or "
    "alpha:A"
)


def read_models(given: Sequence[str]) -> dict[str, list[Model]]:
    """Read models by sensitive column; an option may be given again.

    Examples
    --------
    >>> read_models(["disease=distinct:3"])
    {'disease': [DistinctDiversity(l=3)]}
    """
    found: dict[str, list[Model]] = {}
    for text in given:
        name, equals, model = text.rpartition("=")
        kind, colon, numbers = model.partition(":")
        if not equals or not colon:
            raise InvalidProblemError("--require", _EXPECTED, repr(text))
        found.setdefault(name.strip(), []).append(_model(kind.strip(), numbers.split(","), text))
    return found


def demanded(
    sensitive: Sequence[str] | None, l_diversity: int | None, alpha: str | None
) -> tuple[str, ...]:
    """Write what is asked of all sensitive columns as :func:`read_models` reads it.

    Raises
    ------
    InvalidProblemError
        When something is asked of sensitive columns and there are none.

    Examples
    --------
    >>> demanded(["disease"], 3, "1/2")
    ('disease=distinct:3', 'disease=alpha:1/2')
    """
    names = names_of(sensitive)
    asked = [f"distinct:{l_diversity}"] if l_diversity is not None else []
    asked += [f"alpha:{alpha}"] if alpha is not None else []
    if asked and not names:
        raise InvalidProblemError("--sensitive", "columns, with --l-diversity or --alpha", "none")
    return tuple(f"{name}={model}" for name in names for model in asked)


def read_presence(text: str) -> DeltaPresence:
    """Read ``LOW:HIGH``."""
    low, colon, high = text.partition(":")
    if not colon:
        raise InvalidProblemError("--presence", "LOW:HIGH, two shares", repr(text))
    return DeltaPresence(low, high)


def _model(kind: str, numbers: list[str], text: str) -> Model:
    try:
        match kind, numbers:
            case "distinct", [least]:
                return DistinctDiversity(int(least))
            case "entropy", [least]:
                return EntropyDiversity(least)
            case "recursive", [times, least]:
                return RecursiveDiversity(times, int(least))
            case "closeness", [most]:
                return Closeness(most)
            case "ordered-closeness", [most]:
                return Closeness(most, ordered=True)
            case "alpha", [most]:
                return AlphaFrequency(most)
    except ValueError:
        raise InvalidProblemError("--require", _EXPECTED, repr(text)) from None
    raise InvalidProblemError("--require", _EXPECTED, repr(text))
