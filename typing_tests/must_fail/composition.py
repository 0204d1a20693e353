"""k-anonymity does not compose; the type checker says so before anything runs."""

import discreet as dc

one = dc.PureDP(1, neighbors="add-remove-one")
anonymous = dc.KAnonymity(5, ("age", "zip"))

dc.compose(anonymous, anonymous)  # E: call-overload
dc.compose(one, anonymous)  # E: call-overload
dc.compose(one, dc.MetricDP(1, unit="km"))  # E: call-overload
dc.compose()  # E: call-overload
