"""Synthetic data for private choices: clients in clusters with places to serve them, and who hears of which topic.

Seeded, so that an experiment can be repeated. Nothing here is released.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def clustered_similarity(
    n_clients: int, n_places: int, *, seed: int, clusters: int = 6, reach: float = 0.25
) -> NDArray[np.float64]:
    """Similarities of clients in Gaussian clusters to places that are spread evenly, in the unit square.

    Parameters
    ----------
    n_clients, n_places
        Numbers of clients and places.
    seed
        Seed of the positions; equal seeds give equal similarities.
    clusters
        Number of clusters, each of standard deviation 0.06.
    reach
        Half of the Manhattan distance from which on the similarity is 0, positive.

    Returns
    -------
    ndarray
        ``(n_clients, n_places)`` floats in [0, 1], 1 at no distance. Time and memory are ``O(n_clients n_places)``.

    Examples
    --------
    >>> clustered_similarity(3, 2, seed=0).shape
    (3, 2)
    """
    rng = np.random.default_rng(seed)
    centers = rng.uniform(0.1, 0.9, (clusters, 2))
    drawn = centers[rng.integers(clusters, size=n_clients)]
    clients = np.clip(drawn + rng.normal(0, 0.06, (n_clients, 2)), 0, 1)
    places = rng.uniform(0, 1, (n_places, 2))
    half = np.abs(clients[:, None, :] - places[None]).sum(axis=2) / 2
    similar: NDArray[np.float64] = np.maximum(0, 1 - half / reach)
    return similar


def topic_edges(
    n_users: int, n_sources: int, n_topics: int, *, seed: int, mean: float = 3.0
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Draw which users hear of which topic from which source; some sources reach many.

    Parameters
    ----------
    n_users, n_sources, n_topics
        Numbers of users, sources and topics.
    seed
        Seed of the edges; equal seeds give equal edges.
    mean
        Draws of a source for a user, on average (Poisson), for each topic.

    Returns
    -------
    users, sources, topics : ndarray
        ``(n_edges,)`` integers each, from 0: edges by topic and user. A source may be drawn twice, so that edges
        repeat.

    Examples
    --------
    >>> users, sources, topics = topic_edges(10, 4, 2, seed=0)
    >>> len(users) == len(sources) == len(topics)
    True
    """
    rng = np.random.default_rng(seed)
    weight = rng.pareto(1.5, (n_topics, n_sources)) + 1
    edges = []
    for topic in range(n_topics):
        count = rng.poisson(mean, n_users)
        users = np.repeat(np.arange(n_users), count)
        sources = rng.choice(n_sources, size=len(users), p=weight[topic] / weight[topic].sum())
        edges.append(np.stack([users, sources, np.full(len(users), topic)]))
    joined = np.concatenate(edges, axis=1)
    return joined[0], joined[1], joined[2]
