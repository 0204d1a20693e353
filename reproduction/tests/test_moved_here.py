"""What moved here from the library: every name that the library tells is here, and its methods can be made."""

from __future__ import annotations

import pytest

from discreet.core.moved import MOVED, load
from discreet.evaluate.registry import PUBLISHED_ATTACK, PUBLISHED_AUDITS
from discreet.hierarchy.methods import METHODS as COUNTS
from discreet.kanonymity.methods import METHODS as TABLES
from discreet.metricdp.methods import METHODS as CHANNELS
from discreet.submodular.methods import METHODS as CHOICES

PLACES = {
    *MOVED.values(),
    PUBLISHED_ATTACK,
    *(place for audits in PUBLISHED_AUDITS.values() for place in audits.values()),
    *(
        record.where
        for methods in (COUNTS, TABLES, CHANNELS, CHOICES)
        for record in methods.values()
        if record.where.startswith("discreet_reproduction.")
    ),
}


@pytest.mark.parametrize("place", sorted(PLACES))
def test_what_the_library_names_is_here(place: str) -> None:
    assert callable(load(place, "method", "x"))
