"""Matroids as plain values: a choice that is written to a file holds what could be chosen, whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.submodular.matroids.capacities import (
    LaminarMatroid,
    PartitionMatroid,
    UniformMatroid,
)
from discreet.submodular.matroids.derived import Contraction, DirectSum, Dual, Truncation
from discreet.submodular.matroids.representable import (
    GraphicMatroid,
    LinearMatroid,
    TransversalMatroid,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from discreet.submodular.matroids.base import Matroid

__all__ = ["MAX_ELEMENTS", "MAX_NESTED", "matroid_from_dict", "matroid_to_dict"]

MAX_ELEMENTS = 10_000_000
"""Most elements of a matroid in a file: a uniform one is two numbers, and takes memory for each element."""

MAX_NESTED = 8
"""How deep matroids in a file may be made from matroids."""


def matroid_to_dict(matroid: Matroid) -> dict[str, Any]:  # noqa: C901 - a case for each kind
    """Return plain values for JSON.

    Raises
    ------
    InvalidProblemError
        For a matroid of a class that is not the library's.

    Examples
    --------
    >>> matroid_to_dict(UniformMatroid(5, 2))
    {'kind': 'uniform', 'n_elements': 5, 'rank': 2}
    """
    match matroid:
        case UniformMatroid():
            return {"kind": "uniform", "n_elements": matroid.n_elements, "rank": matroid.rank}
        case PartitionMatroid():
            labels, capacities = matroid.labels.tolist(), matroid.capacities.tolist()
            return {"kind": "partition", "labels": labels, "capacities": capacities}
        case LaminarMatroid():
            groups = [group.tolist() for group in matroid.groups]
            return {
                "kind": "laminar",
                "n_elements": matroid.n_elements,
                "groups": groups,
                "capacities": list(matroid.capacities),
            }
        case GraphicMatroid():
            return {"kind": "graphic", "n_nodes": matroid.n_nodes, "edges": matroid.edges.tolist()}
        case LinearMatroid():
            return {"kind": "linear", "vectors": matroid.vectors.tolist()}
        case TransversalMatroid():
            return {"kind": "transversal", "suits": matroid.suits.tolist()}
        case Truncation():
            inner = matroid_to_dict(matroid.matroid)
            return {"kind": "truncation", "matroid": inner, "rank": matroid.rank}
        case DirectSum():
            inner_ones = [matroid_to_dict(part) for part in matroid.matroids]
            return {"kind": "direct-sum", "matroids": inner_ones}
        case Dual():
            return {"kind": "dual", "matroid": matroid_to_dict(matroid.matroid)}
        case Contraction():
            inner = matroid_to_dict(matroid.matroid)
            return {"kind": "contraction", "matroid": inner, "elements": list(matroid.contracted)}
        case _:
            raise InvalidProblemError(
                "matroid", "one of the library, to be written to a file", type(matroid).__name__
            )


def matroid_from_dict(data: Mapping[str, Any], *, nested: int = 0) -> Matroid:  # noqa: C901, PLR0912 - as above
    """Read what :func:`matroid_to_dict` wrote; it may come from anybody.

    Raises
    ------
    InvalidProblemError
        For an unknown kind, too many elements, or numbers that make no matroid.

    Examples
    --------
    >>> matroid_from_dict({"kind": "uniform", "n_elements": 5, "rank": 2})
    UniformMatroid(5 elements, rank 2)
    """
    if nested > MAX_NESTED:
        raise InvalidProblemError("matroid", f"at most {MAX_NESTED} nested matroids", "more")
    if data.get("n_elements", 0) > MAX_ELEMENTS or data.get("n_nodes", 0) > MAX_ELEMENTS:
        raise InvalidProblemError("matroid", f"at most {MAX_ELEMENTS} elements", "more")

    def inner(stated: Mapping[str, Any]) -> Matroid:
        return matroid_from_dict(stated, nested=nested + 1)

    match data["kind"]:
        case "uniform":
            return UniformMatroid(data["n_elements"], data["rank"])
        case "partition":
            return PartitionMatroid(data["labels"], data["capacities"])
        case "laminar":
            return LaminarMatroid(data["n_elements"], data["groups"], data["capacities"])
        case "graphic":
            return GraphicMatroid(data["n_nodes"], data["edges"])
        case "linear":
            return LinearMatroid(_booleans(data["vectors"]))
        case "transversal":
            return TransversalMatroid(_booleans(data["suits"]))
        case "truncation":
            return Truncation(inner(data["matroid"]), data["rank"])
        case "direct-sum":
            return DirectSum([inner(part) for part in data["matroids"]])
        case "dual":
            return Dual(inner(data["matroid"]))
        case "contraction":
            return Contraction(inner(data["matroid"]), data["elements"])
        case kind:
            known = (
                "uniform, partition, laminar, graphic, linear, transversal, truncation, direct-sum, "
                "dual, contraction"
            )
            raise InvalidProblemError("matroid", f"one of {known}", repr(kind))


def _booleans(table: object) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Read a table of true and false; a table without columns is one of booleans, too."""
    read = np.asarray(table)
    return read.astype(np.bool_) if read.dtype != np.bool_ and not read.size else read
