"""A privacy parameter has no default, and a guarantee does not change."""

import discreet as dc

dc.PureDP(1)  # E: call-arg
dc.PureDP(neighbors="add-remove-one")  # E: call-arg
dc.PureDP(1, neighbors="similar")  # E: arg-type
dc.PureDP([1], neighbors="replace-one")  # E: arg-type
dc.ApproxDP(1, neighbors="replace-one")  # E: call-arg
dc.ZeroConcentratedDP(1)  # E: call-arg
dc.MetricDP(1)  # E: call-arg
dc.MetricDP(1, unit=3)  # E: arg-type
dc.KAnonymity(5)  # E: call-arg

one = dc.PureDP(1, neighbors="replace-one")
one.epsilon = one.epsilon  # E: misc
