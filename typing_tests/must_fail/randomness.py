"""Nothing that is released comes from NumPy's generators or from a seed number."""

import random

import numpy as np

from discreet.core.channels.channel import Channel


def report(channel: Channel) -> None:
    channel.report(0, np.random.default_rng(1))  # E: arg-type
    channel.report(0, np.random.RandomState(1))  # E: arg-type
    channel.report(0, 7)  # E: arg-type
    channel.report(0, random.random)  # E: arg-type
    channel.report_many([0, 1], np.random.default_rng(1))  # E: arg-type
