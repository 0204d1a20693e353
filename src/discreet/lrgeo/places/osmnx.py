"""Street networks of OSMnx: a graph of networkx as the two tables that places are laid on.

Nothing of OSMnx or networkx is imported: a graph is recognized by its attributes. In a graph of OSMnx each direction of
a street is an edge of its own; the tables have one row for both where they are equally long.
"""

from __future__ import annotations

from typing import Any

from discreet.core.errors import InvalidProblemError
from discreet.core.spaces.features import in_degrees

_Tables = tuple[list[dict[str, Any]], list[dict[str, Any]]]
_EXAMPLE = "a graph of OSMnx, such as osmnx.graph_from_place('Rome, Italy', network_type='drive')"


def street_tables(graph: Any, *, tolerance: float = 0.1) -> _Tables:  # noqa: ANN401 - of networkx
    """Read nodes and edges of a graph; a directed edge is one-way unless another of its length goes back. Linear.

    Parameters
    ----------
    graph
        A ``networkx.MultiDiGraph`` with ``graph.graph["crs"]`` in degrees, nodes with ``x`` and ``y``, edges with
        ``length`` in meters and, where streets bend, ``geometry``.
    tolerance
        Meters by which two directions of one street may differ: lengths are rounded in some extracts.

    Returns
    -------
    nodes, edges : list of dict
        As :func:`~discreet.lrgeo.places.roads.place_on_roads` reads them.

    Raises
    ------
    InvalidProblemError
        For something else, or a graph in meters or without a coordinate system.
    """
    if not all(hasattr(graph, name) for name in ("nodes", "edges", "graph", "is_directed")):
        raise InvalidProblemError("graph", _EXAMPLE, type(graph).__name__)
    crs = graph.graph.get("crs")
    if crs is None:
        expected = (
            "a graph with its coordinate system; type graph.graph['crs'] = 'EPSG:4326' for degrees"
        )
        raise InvalidProblemError("graph", expected, "none")
    if in_degrees(crs, "graph") is not None:
        expected = "longitude and latitude; type osmnx.project_graph(graph, to_crs='EPSG:4326')"
        raise InvalidProblemError("graph", expected, "projected coordinates")
    nodes = [
        {"osmid": name, "x": node.get("x"), "y": node.get("y")}
        for name, node in graph.nodes(data=True)
    ]
    directed = bool(graph.is_directed())
    lengths: dict[tuple[Any, Any], list[float]] = {}
    drawn = list(graph.edges(data=True))
    for u, v, edge in drawn:
        lengths.setdefault((u, v), []).append(float(edge.get("length", float("nan"))))
    edges = []
    for u, v, edge in drawn:
        length = edge.get("length")
        back = lengths.get((v, u), [])
        both = not directed or any(
            length is None or abs(other - float(length)) <= tolerance for other in back
        )
        edges.append(
            {"u": u, "v": v, "length": length, "oneway": not both, "geometry": edge.get("geometry")}
        )
    return nodes, edges
