"""Falsehoods that verification passed once, or could: each can be put back, one at a time."""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import numpy as np

from discreet.core.certificate import Certificate
from discreet.core.errors import BudgetError
from forger.kinds import standalone

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@dataclass(frozen=True)
class Planted:
    """A falsehood that is put back.

    Parameters
    ----------
    kind
        The kind of file in which it passes.
    within
        Mutants among which the forger finds it.
    put_back
        Breaks the library, and mends it at the end.
    """

    kind: str
    within: int
    put_back: Callable[[], Any]


def _without(module: str, name: str, *checks: str) -> Callable[[], Any]:
    """Leave some checks out of what a function of the library gives."""

    @contextmanager
    def broken() -> Iterator[None]:
        inside = import_module(module)
        whole = getattr(inside, name)

        def fewer(*given: Any, **options: Any) -> Any:
            found = whole(*given, **options)
            listed = found.checks if isinstance(found, Certificate) else found
            kept = tuple(check for check in listed if check.name not in checks)
            return Certificate(kept) if isinstance(found, Certificate) else kept

        with patch.object(inside, name, fewer):
            yield

    return broken


def _instead(where: str, value: object) -> Callable[[], Any]:
    return lambda: patch(where, value)


@contextmanager
def _a_level_costs_one_region() -> Iterator[None]:
    """Take a level of a chain for one region, as the paper does: what passed on a ragged tree."""
    verify: Any = import_module("discreet.hierarchy.verify")

    whole = verify._cost

    def of_one(frame: Any, parameters: Any) -> Any:
        inner = verify._scales(parameters, "scale_by_level", frame.tree.depth + 1)
        leaf = verify._scales(parameters, "scale_of_leaves_by_level", frame.tree.depth + 1)
        return [
            max(whole(frame, parameters, a), whole(frame, parameters, b))
            for a, b in zip(inner, leaf, strict=True)
        ]

    with patch.object(verify, "_vectors", of_one):
        yield


@contextmanager
def _a_cell_is_believed() -> Iterator[None]:
    """Let the standalone program compare no places with the stored distances."""
    with patch.object(standalone(), "off_grid", lambda _: 0):
        yield


@contextmanager
def _text_tells_rows_apart() -> Iterator[None]:
    """Group rows by text that cuts floats to thirteen digits and moments to microseconds."""
    verify: Any = import_module("discreet.kanonymity.verify")

    whole = verify.values_in

    def cut(value: Any) -> str:
        text = f"{value:.13g}" if isinstance(value, float) else str(value)
        return text[:26]

    def numbered(table: Any, name: str) -> Any:
        found = whole(table, name)
        texts = [cut(value) for value in found.values]
        number = {text: at for at, text in enumerate(dict.fromkeys(texts))}
        codes = np.array([number[text] for text in texts], dtype=np.int64)[found.codes]
        return type(found)(codes, found.values, found.ranks)

    with patch.object(verify, "values_in", numbered):
        yield


@contextmanager
def _no_limit() -> Iterator[None]:
    """Add charges up, and compare the sum with nothing."""
    from discreet.core import budget

    whole = budget.Account.charge

    def charge(account: Any, guarantee: Any) -> Any:
        try:
            return whole(account, guarantee)
        except BudgetError:
            return account

    with patch.object(budget.Account, "charge", charge):
        yield


@contextmanager
def _names_are_believed() -> Iterator[None]:
    """Compare the names of a choice with nothing, as was done where candidates have none."""
    from discreet.artefact import choice

    class Same:
        """Text that is equal to all text."""

        def __ne__(self, _: object) -> bool:
            return False

        def __eq__(self, _: object) -> bool:
            return True

        __hash__ = None  # type: ignore[assignment] # it is in no set

    with patch.object(choice, "json", SimpleNamespace(loads=json.loads, dumps=lambda *_: Same())):
        yield


@contextmanager
def _half_a_width() -> Iterator[None]:
    verify: Any = import_module("discreet.submodular.verify")

    whole = verify._width
    with patch.object(verify, "_width", lambda statement: whole(statement) / 2):
        yield


_COUNTS, _CHANNEL = "discreet.hierarchy.verify", "discreet.metricdp.verify"
_TABLES = "discreet.hierarchy.contingency.verify"


@contextmanager
def _any_name() -> Iterator[None]:
    """Read a marginal under any of its names, as was done: the last one of two counted."""
    with patch("discreet.artefact.counts._marginal", lambda domain, name: domain.marginal(name)):
        yield


@contextmanager
def _a_person_has_one_row() -> Iterator[None]:
    """Compute costs as if nobody had more rows than one."""
    verify: Any = import_module(_TABLES)
    whole = verify._cost

    def of_one(frame: Any, *given: Any) -> Any:
        return whole(SimpleNamespace(domain=frame.domain, max_rows=1), *given)

    with patch.object(verify, "_cost", of_one):
        yield


_POINTS = "discreet.lrgeo.points.verify"


_NOISE = "discreet.lrgeo.points.verify_noise"
_ROWS = "discreet.lrgeo.points.verify_table"


@contextmanager
def _flat_to_the_north(where: str = _NOISE) -> Iterator[None]:
    """Look at slopes to the east alone."""
    verify: Any = import_module(where)
    whole = verify.count_violations

    def eastward(value: Any, east: Any, north: Any, rho: Any) -> Any:
        return whole(value, east, 0 * north, rho)

    with patch.object(verify, "count_violations", eastward):
        yield


@contextmanager
def _slopes_are_believed() -> Iterator[None]:
    """Let the standalone program look at no slopes of noise."""
    with patch.object(standalone(), "check_slopes", lambda _: ("inequalities violated", 0, "")):
        yield


@contextmanager
def _splines_are_believed() -> Iterator[None]:
    """Let the standalone program look at no slopes of rows."""
    with patch.object(standalone(), "check_splines", lambda _: ("inequalities violated", 0, "")):
        yield


@contextmanager
def _without_the_end() -> Iterator[None]:
    """Look at no node of the last line of the net, as a torus would not need."""
    verify: Any = import_module(_ROWS)
    whole = verify._across

    def short(table: Any, line: int) -> Any:
        last = 2 * (len(table) - 2)
        return whole(table, min(line, last - 1))

    with patch.object(verify, "_across", short):
        yield


PLANTED: dict[str, Planted] = {
    "a chain on a ragged tree": Planted("measurements", 3000, _a_level_costs_one_region),
    "a cell that is believed": Planted("channel", 2000, _a_cell_is_believed),
    "nanoseconds that text cuts off": Planted("anonymous-table", 2000, _text_tells_rows_apart),
    "counts where nothing was measured": Planted(
        "measurements",
        1500,
        _without(_COUNTS, "verify_measurements", "values where nothing was measured"),
    ),
    "regions with other noise": Planted(
        "measurements",
        1500,
        _without(_COUNTS, "verify_measurements", "regions with other noise than their level"),
    ),
    "a table that follows from nothing": Planted(
        "region-counts",
        3000,
        _without(_COUNTS, "verify", "counts that nothing measured", "sums that do not hold"),
    ),
    "noise that does not pay": Planted(
        "region-counts",
        1500,
        _without(
            _COUNTS,
            "verify_guarantee",
            "epsilon spent on the worst path",
            "rho spent on the worst path",
            "facts that differ",
        ),
    ),
    "marginals that nobody adds up": Planted(
        "region-tables", 1500, _without(_TABLES, "verify_tables", "marginals that do not hold")
    ),
    "records where none can be": Planted(
        "region-tables", 4000, _without(_TABLES, "verify_tables", "records in structural zeros")
    ),
    "persons of several rows": Planted("region-tables", 1500, _a_person_has_one_row),
    "shares of the budget that nobody compares": Planted(
        "table-measurements",
        1500,
        _without(_TABLES, "verify_guarantee", "marginals that cost more than their share"),
    ),
    "marginals under two names": Planted("table-measurements", 1500, _any_name),
    "marginals where nothing was measured": Planted(
        "table-measurements",
        3000,
        _without(_TABLES, "verify_measured", "values where nothing was measured"),
    ),
    "a seed": Planted(
        "anonymous-table",
        1000,
        _without(
            "discreet.artefact.judging", "record_checks", "made with a seed, hence not private"
        ),
    ),
    "names that nobody compares": Planted("choice", 1000, _names_are_believed),
    "half a sensitivity": Planted("choice", 1500, _half_a_width),
    "a set that may not be chosen": Planted(
        "choice",
        1500,
        _without(
            "discreet.submodular.verify",
            "verify_selection",
            "sets that may not be chosen",
            "elements chosen twice",
        ),
    ),
    "a ledger without a limit": Planted("ledger", 1000, _no_limit),
    "a digest that nobody compares": Planted(
        "ledger", 1000, _instead("discreet.ledger.book.Ledger.check", lambda _, __: "extends")
    ),
    "a budget that is not kept": Planted(
        "state", 500, _instead("discreet.lrgeo.epochs.Epochs.allows", lambda *_: True)
    ),
    "inequalities of a mechanism": Planted(
        "mechanism", 2000, _without("discreet.lrgeo.verify", "verify", "inequalities violated")
    ),
    "slopes of noise that nobody looks at": Planted(
        "noise-mechanism", 500, _without(_POINTS, "verify_noise", "inequalities violated")
    ),
    "slopes of noise that a program believes": Planted(
        "noise-mechanism", 500, _slopes_are_believed
    ),
    "slopes to the east alone": Planted("noise-mechanism", 2000, _flat_to_the_north),
    "noise at knots alone": Planted(
        "noise-mechanism", 2000, _instead(f"{_NOISE}._KINDS", ("knot",))
    ),
    "noise in the middle of cells alone": Planted(
        "noise-mechanism", 2000, _instead(f"{_NOISE}._KINDS", ("middle",))
    ),
    "noise of any sum": Planted(
        "noise-mechanism", 1000, _without(_NOISE, "_numbers", "sums off", "negative noise")
    ),
    "nodes of no report": Planted(
        "noise-mechanism", 1000, _without(_NOISE, "_numbers", "names of no report")
    ),
    "rows that are believed": Planted(
        "lattice-mechanism", 500, _without(_POINTS, "verify_table", "inequalities violated")
    ),
    "rows that are believed by the other program": Planted(
        "lattice-mechanism", 500, _splines_are_believed
    ),
    "rows to the east alone": Planted(
        "lattice-mechanism", 2000, partial(_flat_to_the_north, _ROWS)
    ),
    "rows without the last knots": Planted("lattice-mechanism", 2000, _without_the_end),
    "rows of any claim": Planted(
        "lattice-mechanism", 1000, _without(_ROWS, "check_claims", "another region than stated")
    ),
    "tails without a lift": Planted(
        "anchored",
        1500,
        _without(
            "discreet.core.channels.check_implicit",
            "verify_anchored",
            "lift that tails need",
            "column inequalities violated",
        ),
    ),
    "distances of nowhere": Planted(
        "channel", 1500, _instead(f"{_CHANNEL}.distance_checks", lambda *_: ())
    ),
}
"""By what was wrong. The first four are those that people found."""
