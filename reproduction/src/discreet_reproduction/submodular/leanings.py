"""Made tables of people's leanings: bits that tell about a label, and who follows whom on which topic."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.core.spaces.inputs import positive_count

if TYPE_CHECKING:
    from numpy.typing import NDArray


def made_features(
    n: int, n_features: int, *, seed: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Make bits that are independent given a fair label, as naive Bayes assumes; the first fifth tell about it.

    Parameters
    ----------
    n
        Number of records.
    n_features
        Number of features.
    seed
        What they are made from.

    Returns
    -------
    features : ndarray
        ``(n, n_features)`` of 0 and 1.
    labels : ndarray
        ``(n,)`` of 0 and 1.

    Examples
    --------
    >>> table, label = made_features(200, 10, seed=1)
    >>> table.shape, sorted(set(label.tolist()))
    ((200, 10), [0, 1])
    """
    n, n_features = positive_count(n, "n"), positive_count(n_features, "n_features")
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 2, n)
    tells = np.where(np.arange(n_features) < n_features // 5, 0.35, 0.02)
    chance = 0.5 + np.where(label[:, None] == 1, tells, -tells) * rng.uniform(0.6, 1, n_features)
    return (rng.random((n, n_features)) < chance).astype(np.int64), label


def made_spread(
    n_people: int, n_sources: int, n_topics: int, *, seed: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Make people who follow four sources each, popular ones more often, with a liking for each topic.

    Parameters
    ----------
    n_people, n_sources, n_topics
        How many.
    seed
        What they are made from.

    Returns
    -------
    people, sources, topics, chances : ndarray
        ``(4 * n_people * n_topics,)`` each: edges, and the probability that the source reaches the person with the
        topic.

    Examples
    --------
    >>> people, sources, topics, chances = made_spread(50, 10, 3, seed=1)
    >>> len(people), int(sources.max()) < 10, int(topics.max()), bool(chances.max() <= 0.8)
    (600, True, 2, True)
    """
    n_people, n_sources = (
        positive_count(n_people, "n_people"),
        positive_count(n_sources, "n_sources"),
    )
    n_topics = positive_count(n_topics, "n_topics")
    rng = np.random.default_rng(seed)
    popular = 1.0 / np.arange(1, n_sources + 1) ** 0.7
    follows = rng.choice(n_sources, (n_people, 4), p=popular / popular.sum())
    people = np.repeat(np.arange(n_people), 4 * n_topics)
    sources = np.repeat(follows.ravel(), n_topics)
    topics = np.tile(np.arange(n_topics), 4 * n_people)
    liking = rng.dirichlet(np.full(n_topics, 0.4), n_people)
    return people, sources, topics, 0.8 * np.repeat(liking, 4, axis=0).ravel()
