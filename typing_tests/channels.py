"""Code that must type-check: channels and their sources of randomness. Read by mypy, never run."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_type

import numpy as np

from discreet.core.channels.channel import Channel
from discreet.core.randomness import RandomBits, SeededBits, SystemBits

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Dice:
    """Anything with the two methods is a source."""

    def randrange(self, stop: int, /) -> int:
        return stop - 1

    def randranges(self, stop: int, size: int) -> NDArray[np.uint64]:
        return np.full(size, stop - 1, dtype=np.uint64)


def report(channel: Channel, bits: RandomBits) -> None:
    assert_type(channel.report(0), int)
    channel.report(0, bits)
    channel.report(0, Dice())
    channel.report(0, SystemBits())
    channel.report(0, SeededBits(7))
    channel.report_many([0, 1, 1])
    channel.report_many(np.arange(3), Dice())
    assert_type(channel.then([0, 0]), Channel)
    assert_type(channel.then(channel), Channel)
