"""Linear and mixed-integer programs: frozen records, and one thin adapter to HiGHS.

A program is data, a solution is a record that measures itself, and only the status *optimal* is an answer. What is
said here is about floating-point optimization; no privacy claim rests on it. A mechanism repairs what it gets from
here and verifies the repaired thing exactly.
"""

from typing import TYPE_CHECKING

from discreet.core.lazy import public_names
from discreet.core.lp.bounds import infeasibility as infeasibility
from discreet.core.lp.bounds import lagrangian_bound as lagrangian_bound
from discreet.core.lp.model import LinearModel as LinearModel
from discreet.core.lp.program import LinearProgram as LinearProgram
from discreet.core.lp.solution import LPSolution as LPSolution
from discreet.core.lp.solve import solve as solve

if not TYPE_CHECKING:
    __getattr__, __dir__, __all__ = public_names(globals())
