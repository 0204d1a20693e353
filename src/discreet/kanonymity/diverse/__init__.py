"""Search for tables whose classes hold more than k: different sensitive values, no frequent one, k persons.

Merging classes that hold such a model gives one that holds it; adding a row or splitting may break it. So classes are
merged until each holds all that is asked, and then unions of near classes are partitioned anew under it.
"""

from __future__ import annotations

from discreet.kanonymity.diverse.method import Diverse

__all__ = ["Diverse"]
