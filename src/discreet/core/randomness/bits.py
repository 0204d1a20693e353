"""Where chance comes from: uniform integers below a bound, and nothing else.

Every sampler of this library takes its chance from one small protocol. The operating system's source is the
default and the only private one. A seeded source exists for tests and experiments; what was drawn from it is
not private, and :func:`is_private` says so. A sampler that draws only through the protocol can be replayed over
all its draws, which is how :mod:`discreet.testing` obtains its exact output law.

Trusted: the guarantee rests on this code. Every draw comes from here.
"""

from __future__ import annotations

import operator
import random
from typing import TYPE_CHECKING, Protocol, final

import numpy as np

from discreet.core.errors import InvalidProblemError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

_LARGEST_STOP = 1 << 64
_PACKED = {2: 1, 4: 2, 16: 4}
"""Bounds whose draws are packed into one byte, with the bits of each."""
_WORDS = ((8, "<u1"), (16, "<u2"), (32, "<u4"), (64, "<u8"))
"""Little-endian on every machine, so that a seed means the same everywhere."""


class UniformSource(Protocol):
    """The least that a source must offer; :class:`random.SystemRandom` does."""

    def randrange(self, stop: int, /) -> int:
        """Draw an integer uniformly from ``0, ..., stop - 1``.

        `stop` is a positive integer of any size.
        """
        ...


class RandomBits(UniformSource, Protocol):
    """A source of uniform integers, one at a time or many at once.

    Examples
    --------
    >>> from discreet.core.randomness import SystemBits
    >>> source: RandomBits = SystemBits()
    >>> source.randrange(1), source.randranges(1, size=2).tolist()
    (0, [0, 0])
    """

    def randranges(self, stop: int, size: int) -> NDArray[np.uint64]:
        """Draw ``(size,)`` independent integers uniformly from ``0, ..., stop - 1``; ``1 <= stop <= 2^64``, uint64."""
        ...


def _check_range(stop: int, size: int) -> tuple[int, int]:
    """Read both as plain integers; refuse what has no meaning.

    Returns `stop`, from 1 to ``2^64``, and `size`, at least 0; InvalidProblemError for others.
    """
    try:
        stop, size = operator.index(stop), operator.index(size)
    except TypeError:
        raise InvalidProblemError("stop and size", "integers", "something else") from None
    if not 1 <= stop <= _LARGEST_STOP:
        raise InvalidProblemError("stop", "an integer from 1 to 2^64", stop)
    if size < 0:
        raise InvalidProblemError("size", "a non-negative integer", size)
    return stop, size


def _uniform(stop: int, size: int, take: Callable[[int], bytes]) -> NDArray[np.uint64]:
    """Return exactly uniform integers below ``stop`` from uniform bytes.

    A word of ``w`` bits is accepted when it lies below the largest multiple of ``stop``; its remainder is then
    uniform. Words are as short as keeps at least three quarters of them (at least half for 64 bits).

    `take` returns a number of bytes. ``(size,)`` uint64; fewer than two words each on average.
    """
    if stop == 1:
        return np.zeros(size, dtype=np.uint64)
    if stop in _PACKED:
        width = _PACKED[stop]
        packed = np.frombuffer(take(-(-size * width // 8)), dtype=np.uint8)
        shifts = np.arange(0, 8, width, dtype=np.uint8)
        digits = (packed[:, None] >> shifts) & np.uint8(stop - 1)
        return digits.reshape(-1)[:size].astype(np.uint64)
    width, dtype = next(
        (w, d) for w, d in _WORDS if w == 64 or (stop <= 1 << w and 4 * ((1 << w) % stop) <= 1 << w)
    )
    words = np.frombuffer(take(size * (width // 8)), dtype=dtype)
    excess = (1 << width) % stop
    if excess:
        largest = np.array((1 << width) - excess - 1, dtype=dtype)
        refused = np.flatnonzero(words > largest)
        if refused.size:
            words = words.copy()
        while refused.size:
            again = np.frombuffer(take(refused.size * (width // 8)), dtype=dtype)
            words[refused] = again
            refused = refused[again > largest]
    if stop < 1 << width:
        words = words % np.array(stop, dtype=dtype)
    return words.astype(np.uint64)


@final
class SystemBits(random.SystemRandom):
    """The operating system's source: the default, and the only private one.

    Examples
    --------
    >>> bits = SystemBits()
    >>> bits.randrange(6) in range(6), bits.randranges(6, size=3).shape
    (True, (3,))
    """

    def randranges(self, stop: int, size: int) -> NDArray[np.uint64]:
        """Draw many integers below ``stop`` from one read of the operating system's bytes.

        Parameters
        ----------
        stop
            Bound, from 1 to ``2^64``.
        size
            How many.

        Returns
        -------
        NDArray[np.uint64]
            Independent, uniform on ``0, ..., stop - 1``; shape ``(size,)``.

        Raises
        ------
        InvalidProblemError
            For a bound outside ``1, ..., 2^64`` or a negative size.

        Complexity
        ----------
        Expected bytes a draw: one eighth, one quarter or one half for bounds 2, 4 and 16; otherwise less than
        4/3 of the least of 1, 2 and 4 bytes that serves, or at most 16 bytes.
        """
        stop, size = _check_range(stop, size)
        return _uniform(stop, size, self.randbytes)

    def __reduce__(self) -> tuple[type[SystemBits], tuple[()]]:
        """Pickle as a name: there is no state, and a worker asks its own operating system."""
        return SystemBits, ()


@final
class SeededBits(random.Random):
    """A reproducible source for tests and experiments. **Not private**: who has the seed has the noise.

    Parameters
    ----------
    seed
        Any integer or string. The same seed gives the same draws on every machine.

    Examples
    --------
    >>> SeededBits(7).randranges(100, size=4).tolist() == SeededBits(7).randranges(100, size=4).tolist()
    True
    >>> is_private(SeededBits(7))
    False
    """

    def __init__(self, seed: int | str) -> None:
        if isinstance(seed, bool) or not isinstance(seed, int | str):
            raise InvalidProblemError("seed", "an integer or a string", type(seed).__name__)
        super().__init__(seed)

    def randranges(self, stop: int, size: int) -> NDArray[np.uint64]:
        """Draw ``(size,)`` uint64 integers from ``0, ..., stop - 1``, ``1 <= stop <= 2^64``, from the seeded source.

        Arguments, errors and cost are those of :meth:`SystemBits.randranges`; the draws are **not private**.
        """
        stop, size = _check_range(stop, size)
        return _uniform(stop, size, self.randbytes)


@final
class _OneByOne:
    """Gives a source that draws one integer at a time the second method."""

    def __init__(self, source: UniformSource) -> None:
        self.source = source

    def randrange(self, stop: int, /) -> int:
        """Return one integer below ``stop`` from the source."""
        return self.source.randrange(stop)

    def randranges(self, stop: int, size: int) -> NDArray[np.uint64]:
        """Return ``size`` integers below ``stop``, one call of the source each."""
        stop, size = _check_range(stop, size)
        return np.array([self.source.randrange(stop) for _ in range(size)], dtype=np.uint64)


def as_bits(source: UniformSource | None) -> RandomBits:
    """Wrap a source of uniform integers that lacks the batch method ``randranges``.

    Parameters
    ----------
    source
        Anything with ``randrange(stop)``, such as ``random.SystemRandom()``; ``None`` means :class:`SystemBits`.

    Returns
    -------
    RandomBits
        The source itself where it has ``randranges``; the vectorised operating-system source for a plain
        ``random.SystemRandom``; otherwise an adapter that asks once for each draw.

    Raises
    ------
    InvalidProblemError
        For an object without ``randrange``.

    Examples
    --------
    >>> import random
    >>> type(as_bits(random.SystemRandom())).__name__
    'SystemBits'
    """
    if source is None or type(source) is random.SystemRandom:
        return SystemBits()
    if not callable(getattr(source, "randrange", None)):
        raise InvalidProblemError("bits", "a source with randrange(stop)", type(source).__name__)
    if callable(getattr(source, "randranges", None)):
        return source  # type: ignore[return-value] # the attribute was just looked up
    return _OneByOne(source)


def is_private(bits: UniformSource | None) -> bool:
    """Whether the source is the operating system's, so that nobody can predict its draws.

    True for the operating system's source alone, by exact type: a subclass may have replaced the draw.

    `bits` may be ``None``, which is the operating system's.

    Examples
    --------
    >>> is_private(SystemBits()), is_private(None), is_private(SeededBits(0))
    (True, True, False)
    """
    return bits is None or type(bits) in (SystemBits, random.SystemRandom)
