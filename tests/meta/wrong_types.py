"""A call of every public function that is right, with small inputs: what wrong types take the place of, one at a time."""

from __future__ import annotations

import importlib
import inspect
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import discreet as dc
from discreet import (
    Certificate,
    KAnonymity,
    MetricDP,
    MetricSpace,
    PureDP,
    Tree,
    artefact,
    hierarchy,
    kanonymity,
    lrgeo,
    metricdp,
    submodular,
)
from discreet.core.errors import DiscreetError
from discreet.hierarchy import contingency

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["MODULES", "WRONG", "Call", "failures"]

MODULES = (
    "discreet",
    "discreet.metricdp",
    "discreet.lrgeo",
    "discreet.hierarchy",
    "discreet.hierarchy.contingency",
    "discreet.kanonymity",
    "discreet.submodular",
)


class Odd:
    """Something that nothing can be done with."""

    def __repr__(self) -> str:
        return "an odd thing"


WRONG: tuple[Any, ...] = (
    "0.5",
    "\u0663 no name \x00",
    -1,
    2.5,
    float("nan"),
    None,
    True,
    [],
    [Odd()],
    {"a": Odd()},
    Odd(),
    b"\xff",
    10**400,
    max,
    np.array(["x"], dtype=object),
    (1, (2, "x")),
)
"""One of them may be right for some argument: then the call does what it says."""


@dataclass(frozen=True)
class Call:
    """A call that is right.

    Parameters
    ----------
    function
        What is called.
    given
        Arguments by name.
    also
        Optional ones that are exchanged, too, though the right call leaves them out: those of the signature by default.
    """

    function: Callable[..., Any]
    given: dict[str, Any]

    def variants(self) -> Iterator[tuple[str, Any, dict[str, Any]]]:
        """Give every argument every wrong value."""
        for name, parameter in inspect.signature(self.function).parameters.items():
            if parameter.kind in {parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD}:
                continue
            for wrong in WRONG:
                yield name, wrong, {**self.given, name: wrong}


def failures(call: Call) -> list[str]:
    """Say which wrong value of which argument ended in something else than an answer or an error of this library."""
    found = []
    for name, wrong, given in call.variants():
        try:
            call.function(**given)
        except DiscreetError:
            continue
        except Exception as error:  # noqa: BLE001 - every other error is what is looked for
            told = f"{type(error).__name__}: {error}"
            found.append(f"{name}={wrong!r:.40}: {told:.160}")
    return found
