"""General solvers and `qif` beside ours: processor seconds to a gap, and the epsilon of what they return.

The instance is a square grid of unit cells, eight neighbors each, half a nat a cell, and a skewed prior; the program
has only the constraints that no others imply. Each solver is asked for the same relative gap, where it can be, and
runs in a process of its own with one thread, since `highspy` and `ortools` cannot be loaded together. What it returns
is judged twice:

- as given: the largest ratio of a constrained pair in parts of its budget, and how many inequalities are violated, read
  to 248 bits by our verifier. A solver's answer is private up to tolerances, which is not private.
- mended: repaired, rounded, verified and bounded by its own multipliers, like any method of ours. That gap is proven.

qif states the program for all pairs by itself, on the shortest paths of the same links. The group ``peers`` must be
installed in the environment of ``--python``::

    python -m venv peers && peers/bin/pip install clarabel ortools qif==1.6.0
    python benchmarks/peers_solvers.py --python peers/bin/python
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from metricdp_engine import skewed
from numpy.typing import NDArray
from peers_qif import audited, read_as_given
from run import machine

from discreet.core.errors import CertificateError, DiscreetError
from discreet.core.guarantee import MetricDP
from discreet.core.spaces.metric import MetricSpace
from discreet.metricdp import Problem, design, verify
from discreet.metricdp.bounds.bound import Multipliers
from discreet.metricdp.methods.direct import constraint_matrix
from discreet.metricdp.part import Candidate, Part, PartLimits, WholeProblem

if TYPE_CHECKING:
    from discreet.metricdp.search import MetricDesign

EPSILON = "0.5"

LOAD = """
import os, sys, time
for name in ("OMP", "OPENBLAS", "MKL", "RAYON"):
    os.environ[f"{name}_NUM_THREADS"] = "1"
import numpy as np
from scipy.sparse import csr_array, csc_array, vstack, eye_array
import resource
given = np.load(sys.argv[1]); out = sys.argv[2]; gap = float(sys.argv[3]); limit = int(float(sys.argv[4]))
resource.setrlimit(resource.RLIMIT_CPU, (limit + 5, limit + 6))
m, n = given["shape"]
A = csr_array((given["data"], given["indices"], given["indptr"]), shape=(m, n))
cost, upper = given["cost"], given["upper"]
equal = upper == 1
"""

HIGHS = (
    LOAD
    + """
from discreet.core.lp import LinearProgram, solve
program = LinearProgram(cost, A, row_lower=np.where(equal, 1.0, -np.inf), row_upper=upper)
start = time.process_time()
found = solve(program, method=METHOD, crossover=False)
np.savez(out, x=found.x, y=found.row_duals, seconds=time.process_time() - start, steps=found.iterations)
"""
)

CLARABEL = (
    LOAD
    + """
import clarabel
order = np.concatenate([np.flatnonzero(equal), np.flatnonzero(~equal)])
rows = csc_array(vstack([A[order], -eye_array(n)]))
b = np.concatenate([upper[order], np.zeros(n)])
cones = [clarabel.ZeroConeT(int(equal.sum())), clarabel.NonnegativeConeT(len(b) - int(equal.sum()))]
settings = clarabel.DefaultSettings()
settings.verbose, settings.tol_gap_rel, settings.tol_gap_abs = False, gap, 1e-9
settings.max_threads = 1
start = time.process_time()
from scipy.sparse import csc_matrix
solver = clarabel.DefaultSolver(csc_matrix((n, n)), cost, csc_matrix(rows), b, cones, settings)
found = solver.solve()
seconds = time.process_time() - start
assert "Solved" in str(found.status), found.status
y = np.zeros(m)
y[order] = -np.array(found.z)[:m]
np.savez(out, x=np.array(found.x), y=y, seconds=seconds, steps=found.iterations)
"""
)

PDLP = (
    LOAD
    + """
from scipy.sparse import csc_matrix
from ortools.pdlp import solve_log_pb2, solvers_pb2
from ortools.pdlp.python import pdlp
program = pdlp.QuadraticProgram()
program.resize_and_initialize(n, m)
program.objective_vector = cost
program.constraint_matrix = csc_matrix(A)
program.constraint_lower_bounds = np.where(equal, 1.0, -np.inf)
program.constraint_upper_bounds = upper
program.variable_lower_bounds = np.zeros(n)
program.variable_upper_bounds = np.full(n, np.inf)
how = solvers_pb2.PrimalDualHybridGradientParams()
how.num_threads = 1
goal = how.termination_criteria.simple_optimality_criteria
goal.eps_optimal_relative, goal.eps_optimal_absolute = min(gap, 1e-4), 1e-6
start = time.process_time()
found = pdlp.primal_dual_hybrid_gradient(program, how)
seconds = time.process_time() - start
ended = found.solve_log.termination_reason
assert ended == solve_log_pb2.TERMINATION_REASON_OPTIMAL, f"ended for reason {ended}"
steps = found.solve_log.iteration_count
np.savez(out, x=found.primal_solution, y=found.dual_solution, seconds=seconds, steps=steps)
"""
)

QIF = (
    LOAD
    + """
from qif import lp, mechanism
lp.defaults.method, lp.defaults.solver = "AUTO", "AUTO"
prior, paths, loss = given["prior"], given["paths"], given["loss"]
start = time.process_time()
found = mechanism.d_privacy.min_loss_given_d(
    prior, len(prior), lambda a, b: paths[a, b], lambda a, b: loss[a, b]
)
np.savez(out, x=np.asarray(found).ravel(), y=np.zeros(0), seconds=time.process_time() - start, steps=-1)
"""
)


class Peer(NamedTuple):
    """A solver: its script, and whether it needs the interpreter with the peers."""

    script: str
    apart: bool


PEERS = {
    "HiGHS simplex": Peer(HIGHS.replace("METHOD", "'simplex'"), apart=False),
    "HiGHS interior": Peer(HIGHS.replace("METHOD", "'ipm'"), apart=False),
    "Clarabel": Peer(CLARABEL, apart=True),
    "OR-Tools PDLP": Peer(PDLP, apart=True),
    "qif": Peer(QIF, apart=True),
}


@dataclass(frozen=True)
class Answer:
    """What a solver returned, as a method of design: nothing is searched."""

    matrix: NDArray[np.float64]
    multipliers: Multipliers | None

    def solve(self, part: Part, limits: PartLimits) -> Candidate:
        """Give the answer."""
        del part, limits
        return Candidate("answer", self.matrix, self.multipliers, "It was given.")


def instance(side: int) -> tuple[Problem, MetricDP, Part]:
    """Make a grid with its eight neighbors and a skewed prior."""
    space = MetricSpace.grid(side, side, cell=1, unit="km")
    prior = skewed(np.asarray(space.points))
    problem = Problem(space, utility_loss="euclidean", prior=prior)
    guarantee = MetricDP(EPSILON, "km", "1.5")
    whole = WholeProblem(problem, space.adjacency(guarantee.radius), guarantee.epsilon)
    return problem, guarantee, whole.parts[0]


def write(part: Part, problem: Problem, path: Path) -> float:
    """Write the program for the solvers; return what its costs were divided by."""
    matrix, upper = constraint_matrix(part, part.binding)
    scale = float(problem.cost.sum(axis=0).min())
    np.savez(
        path,
        shape=matrix.shape,
        data=matrix.data,
        indices=matrix.indices,
        indptr=matrix.indptr,
        cost=(part.cost / scale).ravel(),
        upper=upper,
        prior=problem.prior / problem.prior.sum(),
        paths=part.rate * part.paths,
        loss=problem.loss,
    )
    return scale


def prices(duals: NDArray[np.float64], part: Part, scale: float) -> Multipliers | None:
    """Read multipliers of the ratio rows, whatever sign the solver gives them."""
    if not len(duals):
        return None
    edges, k = part.binding, part.n_reports
    size = 2 * len(edges) * k
    values = duals[:size] * scale
    values = np.maximum(-values if values.sum() < 0 else values, 0.0)
    at = np.flatnonzero(values)
    ends = np.concatenate([edges.pairs, edges.pairs[:, ::-1]])[at // k]
    return Multipliers(at % k, ends[:, 0], ends[:, 1], values[at])


def ask(
    peer: Peer, python: str, program: Path, *, gap: float, limit: float
) -> dict[str, NDArray[np.float64]] | str:
    """Run a solver in its own process; return what it wrote, or why there is nothing."""
    out = program.with_name("answer.npz")
    command = [python if peer.apart else sys.executable, "-c", peer.script]
    command += [str(program), str(out), str(gap), str(limit)]
    root = str(Path(__file__).parents[1] / "src")
    paths = os.pathsep.join([root, os.environ.get("PYTHONPATH", "")])
    environment = os.environ if peer.apart else {**os.environ, "PYTHONPATH": paths}
    try:
        done = subprocess.run(
            command,
            check=False,
            capture_output=True,
            text=True,
            timeout=30 * limit,
            env=environment,
        )
    except subprocess.TimeoutExpired:
        return f"no answer in {limit:g} s"
    if done.returncode < 0:
        return f"no answer in {limit:g} s"
    if done.returncode:
        return done.stderr.strip().splitlines()[-1][:70]
    with np.load(out) as given:
        return {name: given[name] for name in given.files}


def report(name: str, seconds: float, steps: str, judged: str, made: MetricDesign | None) -> None:
    """Print a row."""
    proven = "none"
    if made is not None:
        # Without multipliers there is no bound but the trivial one.
        bounded = made.gap is not None and made.gap < 1
        proven = f"{made.upper:.5f} " + (f"{made.gap:9.2e}" if bounded else "no bound")
    print(f"  {name:15s} {seconds:8.2f} {steps:>7s}  {judged}  {proven}", flush=True)


def bench(side: int, python: str, peers: list[str], *, gap: float, limit: float) -> None:
    """Run all of them on one grid, ours last."""
    problem, guarantee, part = instance(side)
    shown = 2 * len(part.binding) * part.n_reports + part.n
    print(f"N = {part.n}: {shown} rows, gap {gap:g}, at most {limit:g} s each")
    print(
        "  solver                 s   steps  as given: epsilon, zeros, violated   mended: loss, gap"
    )
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "program.npz"
        scale = write(part, problem, program)
        for name in peers:
            peer = PEERS[name]
            found = ask(peer, python, program, gap=gap, limit=limit)
            if isinstance(found, str):
                print(f"  {name:15s} {found}", flush=True)
                continue
            matrix = np.maximum(found["x"], 0.0).reshape(part.cost.shape)
            judged = audited(read_as_given(matrix), problem.space, guarantee)
            said = f"{judged['epsilon']:16.6g} {judged['infinite']:6d} {judged['violated']:9d}"
            try:
                made = design(
                    problem,
                    guarantee,
                    method=Answer(matrix, prices(found["y"], part, scale)),
                    gap=0,
                    throw=False,
                )
            except (DiscreetError, CertificateError) as error:
                print(f"    not mended: {error}")
                made = None
            report(name, float(found["seconds"]), str(int(found["steps"])), said, made)
    design(problem, guarantee, gap=0.5, throw=False)  # compiles what is to be compiled
    start = time.process_time()
    ours = design(problem, guarantee, gap=gap)
    seconds = time.process_time() - start
    certificate = verify(ours, optimality=True)
    assert certificate.passed, certificate
    judged = audited(ours.channel, problem.space, guarantee)
    assert not judged["infinite"]
    assert not judged["violated"]
    said = f"{judged['epsilon']:16.6g} {judged['infinite']:6d} {judged['violated']:9d}"
    report("discreet", seconds, "", said, ours)


def main() -> None:
    """Print a table for each size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", default=sys.executable, help="an interpreter that has them")
    parser.add_argument("--gap", type=float, default=0.005)
    parser.add_argument("--limit", type=float, default=60.0, help="processor seconds of a solver")
    parser.add_argument("--sides", default="7,10,15", help="sides of the grids")
    parser.add_argument("--only", default=",".join(PEERS), help="solvers, with commas")
    options = parser.parse_args()
    print(machine())
    for side in options.sides.split(","):
        bench(
            int(side),
            options.python,
            options.only.split(","),
            gap=options.gap,
            limit=options.limit,
        )


if __name__ == "__main__":
    main()
