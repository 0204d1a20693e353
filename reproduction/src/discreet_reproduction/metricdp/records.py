"""Made records of the kinds on which metric privacy is tried: vectors of words, vectors of numbers, and samples."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.core.errors import InvalidProblemError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

_TOPICS, _MEANINGS, _DIMENSIONS, _NOISE = 60, 10, 300, 0.02


def gaussian_records(
    n: int, *, dimensions: int = 3, sigma: float = 4.0, seed: int = 0
) -> NDArray[np.float64]:
    """Draw vectors of independent normal numbers.

    Parameters
    ----------
    n
        How many.
    dimensions, sigma
        Their length, and the standard deviation of each number.
    seed
        What makes them.

    Returns
    -------
    ndarray
        ``(n, dimensions)``.

    Examples
    --------
    >>> gaussian_records(4).shape
    (4, 3)
    """
    return np.random.default_rng(seed).normal(0.0, sigma, (_count(n), dimensions))


def word_records(n: int, *, seed: int = 0) -> NDArray[np.float64]:
    """Make vectors that lie to each other as those of words do: topics, few meanings, many dimensions.

    Vectors of words have hundreds of dimensions, but their distances behave as in about ten: independent numbers in
    300 dimensions would all be equally far apart. These are draws from 60 clouds in 10 dimensions, turned into 300 and
    disturbed by 2 %.

    Parameters
    ----------
    n
        How many.
    seed
        What makes them.

    Returns
    -------
    ndarray
        ``(n, 300)``.

    Examples
    --------
    >>> words = word_records(50)
    >>> sizes = np.linalg.svd(words, compute_uv=False)
    >>> words.shape, bool(sizes[9] > 3 * sizes[10])
    ((50, 300), True)
    """
    rng = np.random.default_rng(seed)
    topics = rng.normal(0.0, 1.0, (_TOPICS, _MEANINGS))
    spread = rng.uniform(0.3, 0.4, _TOPICS)
    topic = rng.integers(_TOPICS, size=_count(n))
    meanings = topics[topic] + spread[topic, None] * rng.normal(0.0, 1.0, (n, _MEANINGS))
    turned = np.linalg.qr(rng.normal(0.0, 1.0, (_DIMENSIONS, _MEANINGS)))[0]
    noise = _NOISE * float(meanings.std()) * rng.normal(0.0, 1.0, (n, _DIMENSIONS))
    return np.asarray(meanings @ turned.T + noise, dtype=np.float64)


def lumpy_prior(points: ArrayLike, *, seed: int = 0) -> NDArray[np.float64]:
    """Make a prior of six bumps on a floor times Gamma noise: neighbors may differ a hundredfold.

    Parameters
    ----------
    points
        ``(n, dimensions)`` places.
    seed
        What makes it.

    Returns
    -------
    ndarray
        ``(n,)``, summing to one.

    Examples
    --------
    >>> prior = lumpy_prior([[x, y] for x in range(8) for y in range(8)])
    >>> round(float(prior.sum()), 12), bool(prior.max() > 20 * prior.min())
    (1.0, True)
    """
    places = np.asarray(points, dtype=np.float64)
    rng = np.random.default_rng(seed)
    prior = np.full(len(places), 0.1)
    width = 0.12 * float(np.ptp(places, axis=0).max()) or 1.0
    for _ in range(6):
        away = np.linalg.norm(places - places[rng.integers(len(places))], axis=1)
        prior += rng.random() * np.exp(-0.5 * (away / width) ** 2)
    prior *= rng.gamma(2.0, 0.5, len(places))
    return np.asarray(prior / prior.sum())


def sample(n: int, size: int, *, seed: int = 0) -> NDArray[np.int64]:
    """Choose some of n things, each at most once, in ascending order.

    Raises
    ------
    InvalidProblemError
        When there are not as many.

    Examples
    --------
    >>> sample(5, 5).tolist(), len(sample(100, 7, seed=3))
    ([0, 1, 2, 3, 4], 7)
    """
    if not 0 < size <= n:
        raise InvalidProblemError("size", f"a number from 1 to {n}", size)
    chosen = np.random.default_rng(seed).choice(n, size, replace=False)
    return np.sort(chosen).astype(np.int64)


def _count(n: int) -> int:
    if n < 1:
        raise InvalidProblemError("n", "one record or more", n)
    return n
