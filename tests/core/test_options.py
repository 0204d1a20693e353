"""Simple types of options: text, numbers and paths are that, and nothing else stands for them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from discreet.core.errors import InvalidProblemError
from discreet.core.options import check_fields, path_of


@dataclass
class Trial:
    """Options of a command."""

    name: str = "city"
    samples: int | None = None
    epsilon: float = 0.5
    kinds: tuple[str, ...] = ()


@pytest.mark.parametrize(
    "given",
    [{}, {"samples": 0}, {"samples": 10}, {"epsilon": 3}, {"kinds": 3}],
)
def test_fields_of_their_types_pass(given: dict[str, Any]) -> None:
    check_fields(Trial(**given), {"samples": 10})


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"name": 3}, "name: expected text, got int"),
        ({"name": None}, "name: expected text, got NoneType"),
        ({"samples": True}, "samples: expected a whole number, got bool"),
        ({"samples": 1.0}, "samples: expected a whole number, got float"),
        ({"epsilon": "1"}, "epsilon: expected a number, got str"),
        ({"samples": 11}, "samples: expected a number from 0 to 10, got 11"),
        ({"samples": -1}, "samples: expected a number from 0 to 10, got -1"),
    ],
)
def test_other_fields_are_refused_by_name(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InvalidProblemError) as refusal:
        check_fields(Trial(**given), {"samples": 10})
    assert str(refusal.value) == sentence


def test_a_path_is_text_or_a_path() -> None:
    assert path_of(Path("people.csv"), "source") == "people.csv"
    with pytest.raises(InvalidProblemError, match="^source: expected a path, got int$"):
        path_of(3, "source")
