r"""The primal-dual method: first-order steps on the whole linear program, for sizes that no solver of programs takes.

With :math:`C_{ik} = p_i c_{ik}`, multipliers :math:`\lambda \ge 0` of the constraints that no others imply and prices y
of the rows, steps of

.. math::

    z^+ = \bigl[z - \tau (C - y + A^\top \lambda)\bigr]_+,\qquad
    \lambda^+ = \bigl[\lambda + \sigma A (2 z^+ - z)\bigr]_+,\qquad
    y^+ = y + \sigma \bigl(1 - \textstyle\sum_k (2 z^+ - z)_{\cdot k}\bigr)

converge to an optimum of both sides ([CP11]_). They are reflected and averaged with an anchor, which is moved to where
the steps have shrunk enough (Halpern's iteration with restarts, [LY24]_). A step reads every multiplier once and knows
of no matrix: 32 reports are worked on side by side, in float32.

Nothing is claimed here. At checkpoints the matrix and the multipliers are handed to the search, which repairs, rounds
and verifies the one, and evaluates the proven bound of the other in float64.
"""

from __future__ import annotations

from discreet.metricdp.primaldual.method import PrimalDual

__all__ = ["PrimalDual"]
