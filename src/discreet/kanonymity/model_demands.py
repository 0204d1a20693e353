"""Demands of privacy models on sensitive columns, as the search takes them and as the record states them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.options import items_of, mapping
from discreet.kanonymity.demand import Demand
from discreet.kanonymity.models import Closeness, DistinctDiversity, demand_text
from discreet.kanonymity.problem.published import values_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from discreet.core.guarantee import KAnonymity
    from discreet.kanonymity.models import PrivacyModel
    from discreet.kanonymity.problem.native import Values


def check_models(models: Any) -> None:  # noqa: ANN401 - as it came
    """Raise InvalidProblemError for anything but a dict of demands such as ``{"ill": [DistinctDiversity(2)]}``."""
    mapping(models, "models", "demands by column")
    for listed in (models or {}).values():
        for demand in items_of(listed, "models", "a list of demands for each column"):
            if not callable(getattr(demand, "failing", None)) or isinstance(demand, type):
                expected = "demands such as kanonymity.models.DistinctDiversity(2) for each column"
                raise InvalidProblemError("models", expected, type(demand).__name__)


def demands_of_models(
    table: Any,  # noqa: ANN401 - as above
    guarantee: KAnonymity,
    models: Mapping[str, Sequence[PrivacyModel]],
    person: str | None,
) -> tuple[Demand, ...]:
    """State the demands on sensitive columns, for each reading of their values that may fail where others hold.

    A demand on a quasi-identifier is refused.

    `models` are by column; with `person` each class needs k of its values. A sort of each column's values.
    """
    named_models = [(name, model) for name, listed in models.items() for model in listed]
    if person is not None:
        # k persons in a class are k different values of their column.
        named_models.append((person, DistinctDiversity(guarantee.k)))
    demands: list[Demand] = []
    for name, model in named_models:
        if name in guarantee.quasi_identifiers:
            raise InvalidProblemError("models", "columns that are no quasi-identifiers", repr(name))
        demands += _readings_of(name, model, values_in(table, name))
    return tuple(demands)


def _readings_of(name: str, model: PrivacyModel, values: Values) -> Iterator[Demand]:
    """Yield demands on column `name`: closeness for each reading of its values, other models for the coarsest.

    One more takes missing values as a value: the only one of distinct diversity.
    """
    if isinstance(model, DistinctDiversity):
        codes = values.meaning_codes()[values.codes]
        yield _without_missing(name, model, codes)
        return
    if isinstance(model, Closeness) and model.ordered:
        values = values.in_order(model.order, name)
    readings = values.readings()
    rest = [each for each in readings if (each >= 0).all()]
    for each in rest if isinstance(model, Closeness) else rest[-1:]:
        yield Demand(name, model, each[values.codes])
    if len(rest) < len(readings) and (readings[-1] >= 0).any():
        yield _without_missing(name, model, readings[-1][values.codes])


def _without_missing(name: str, model: PrivacyModel, codes: NDArray[np.int64]) -> Demand:
    """Return a demand on codes ``(n,)`` in which missing values, below 0, are one more value."""
    missing = int(codes.max(initial=-1)) + 1
    lacks = bool((codes < 0).any())
    return Demand(
        name, model, np.where(codes < 0, missing, codes), missing=missing if lacks else -1
    )


def models_in_words(
    guarantee: KAnonymity,
    models: Mapping[str, Sequence[PrivacyModel]],
    person: str | None,
    k_map: int | None,
) -> dict[str, Any]:
    """Return for the record what is demanded besides k rows: models as text, persons, and k of the k-map."""
    stated: dict[str, Any] = {}
    if models:
        stated["models"] = [
            demand_text(name, model) for name, each in models.items() for model in each
        ]
    if person is not None:
        stated["persons"] = guarantee.k
    if k_map is not None:
        stated["k_map"] = k_map
    return stated
