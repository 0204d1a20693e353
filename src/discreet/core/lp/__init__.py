"""Linear and mixed-integer programs: frozen records, and one thin adapter to HiGHS.

A program is data, a solution is a record that measures itself, and only the status *optimal* is an answer. What is
said here is about floating-point optimization; no privacy claim rests on it. A mechanism repairs what it gets from
here and verifies the repaired thing exactly.
"""

from discreet.core.lp.bounds import infeasibility, lagrangian_bound
from discreet.core.lp.model import LinearModel
from discreet.core.lp.program import LinearProgram
from discreet.core.lp.solution import LPSolution
from discreet.core.lp.solve import solve

__all__ = [
    "LPSolution",
    "LinearModel",
    "LinearProgram",
    "infeasibility",
    "lagrangian_bound",
    "solve",
]
