"""The façade has the names that it lists, and no others."""

import discreet as dc

dc.Mechanism  # E: attr-defined
dc.PureDp  # E: attr-defined
