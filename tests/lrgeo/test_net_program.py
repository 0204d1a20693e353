"""The program of a control net: stencils, steps and bounds beside another solver's, and integers that keep it."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import coo_array, kron, vstack

from discreet.lrgeo.points.kernels import nets
from discreet.lrgeo.points.net_mend import NET_BITS, mend_net, round_net
from discreet.lrgeo.points.net_steps import NetIterate
from discreet.lrgeo.points.stencils import gradients, slack, stencils

if TYPE_CHECKING:
    from numpy.typing import NDArray

DIRECTIONS = 24
"""Of the polygons that a cone is put between, for linear programs: they differ by less than a hundredth."""


class Instance(NamedTuple):
    """Places and reports in a box of cells with side 1; control point (i, j) is at (i - 1/2, j - 1/2)."""

    cells: tuple[int, int]
    cost: NDArray[np.float64]
    rho: float
    away: NDArray[np.float64]


def spline(part: float) -> NDArray[np.float64]:
    return np.array([(1 - part) ** 2 / 2, 0.5 + part - part**2, part**2 / 2])


def drawn(cells: tuple[int, int], at: NDArray[np.float64]) -> NDArray[np.float64]:
    """Give how likely each control point is at a point, by the definition."""
    found = np.zeros((cells[0] + 2, cells[1] + 2))
    i, j = (min(int(at[axis]), cells[axis] - 1) for axis in (0, 1))
    found[i : i + 3, j : j + 3] = np.outer(spline(at[0] - i), spline(at[1] - j))
    return found.ravel()


def instance(seed: int, cells: tuple[int, int] | None = None, k: int | None = None) -> Instance:
    """Scatter places and reports; every third prior is very skewed, and losses are not always distances."""
    rng = np.random.default_rng(seed)
    cells = cells or (int(rng.integers(1, 4)), int(rng.integers(1, 3)))
    k = k or int(rng.integers(2, 6))
    rho = float(rng.choice([0.1, 0.3, 0.5, 1.0]))
    places = rng.uniform(0, cells, (8, 2))
    reports = rng.uniform(0, cells, (k, 2))
    prior = rng.dirichlet(np.full(8, (1.0, 0.3, 0.03)[seed % 3]))
    loss = np.hypot(*(places[:, None] - reports).transpose(2, 0, 1)) ** (2 if seed % 4 == 3 else 1)
    weights = np.array([drawn(cells, place) for place in places])
    cost = np.einsum("pv,pk->vk", prior[:, None] * weights, loss)
    points = np.stack(
        np.meshgrid(np.arange(cells[0] + 2), np.arange(cells[1] + 2), indexing="ij"), axis=2
    )
    across = (points.reshape(-1, 1, 2) - 0.5 - reports).transpose(2, 0, 1)
    return Instance(cells, cost, rho, np.hypot(*across))


def dense(cells: tuple[int, int]) -> NDArray[np.float64]:
    """Write V and both components of G as matrices, from the table of values and slopes: ``(3, N, V)``."""
    axes = []
    for count in cells:
        value, slope = np.zeros((2, 2 * count + 1, count + 2))
        for a in range(count + 1):
            value[2 * a, [a, a + 1]], slope[2 * a, [a, a + 1]] = 0.5, (-1, 1)
        for a in range(count):
            value[2 * a + 1, a + 1], slope[2 * a + 1, [a, a + 2]] = 1, (-0.5, 0.5)
        axes.append((value, slope))
    (vx, sx), (vy, sy) = axes
    return np.stack([np.kron(vx, vy), np.kron(sx, vy), np.kron(vx, sy)])


def linear_optimum(given: Instance, *, inscribed: bool) -> float:
    """Solve with polygons in place of cones: inside of them, an upper bound of the optimum, around them a lower one."""
    value, across, along = dense(given.cells)
    n, k = given.cost.shape
    shrunk = math.cos(math.pi / DIRECTIONS) if inscribed else 1.0
    angles = 2 * math.pi * np.arange(DIRECTIONS) / DIRECTIONS
    rows = np.concatenate(
        [math.cos(u) * across + math.sin(u) * along - given.rho * shrunk * value for u in angles]
    )
    each = kron(coo_array(rows), np.eye(k)).tocsr()
    sums = kron(np.eye(n), np.ones((1, k))).tocsr()
    solve: Any = linprog
    found = solve(
        given.cost.ravel(),
        A_ub=vstack([each]),
        b_ub=np.zeros(each.shape[0]),
        A_eq=sums,
        b_eq=np.ones(n),
        method="highs",
    )
    assert found.status == 0
    return float(found.fun)


def advanced(given: Instance, steps: int) -> NetIterate:
    state = NetIterate(*given)
    for _ in range(steps):
        state.advance()
    return state


def bound(state: NetIterate, rho: float) -> float:
    return max(state.bound(one, rho) for one in (state.L, state.mean()))


def violations(cells: tuple[int, int], weights: NDArray[np.int64], rho: Fraction) -> int:
    """Count the nodes and reports that break the condition, in integers: all is doubled in each direction."""
    doubled = [(4 * part).astype(np.int64).astype(object) for part in dense(cells)]
    value, across, along = (part @ weights.astype(object) for part in doubled)
    left = (across**2 + along**2) * rho.denominator**2
    return int((left > (rho.numerator * value) ** 2).sum())


def test_stencils_are_the_coefficients_of_the_polynomials_of_the_cells() -> None:
    """Bernstein polynomials of the nodes of a cell give the probabilities there, and their gradients."""
    rng = np.random.default_rng(1)
    cells = (3, 2)
    for part, matrix in enumerate(dense(cells)):
        own = stencils(cells)
        built = np.zeros(matrix.shape)
        rows = np.arange(len(matrix))[:, None]
        np.add.at(built, (rows, own.points), own.weights[own.kinds, part])
        assert built == pytest.approx(matrix)
    table = rng.random((20, 2))
    value, across, along = (part @ table for part in dense(cells))
    for _ in range(40):
        i, j = int(rng.integers(3)), int(rng.integers(2))
        x, y = rng.random(2)
        bernstein = [[(1 - t) ** 2, 2 * t * (1 - t), t**2] for t in (x, y)]
        nodes = np.outer(bernstein[0], bernstein[1]).ravel()
        at = np.add.outer((2 * i + np.arange(3)) * 5, 2 * j + np.arange(3)).ravel()
        here = np.array([i + x, j + y])
        assert nodes @ value[at] == pytest.approx(drawn(cells, here) @ table)
        for axis, slope in ((0, across), (1, along)):
            step = np.eye(2)[axis] * 1e-6
            # A cell's own polynomial is meant, also where the step would leave it.
            low = np.maximum(here - step, [i, j])
            high = np.minimum(here + step, [i + 1 - 1e-12, j + 1 - 1e-12])
            risen = (drawn(cells, high) - drawn(cells, low)) @ table / (high - low)[axis]
            assert nodes @ slope[at] == pytest.approx(risen, abs=1e-4)
    lengths = np.concatenate([one for _, one, _ in gradients(cells, table)])
    assert lengths == pytest.approx(np.hypot(across, along))


@pytest.mark.parametrize("seed", range(30))
def test_bounds_and_mechanisms_enclose_the_optimum_of_another_solver(seed: int) -> None:
    given = instance(seed)
    least, most = (linear_optimum(given, inscribed=inside) for inside in (False, True))
    early, late = advanced(given, 20), advanced(given, 1200)
    for state in (early, late):
        assert bound(state, given.rho) <= most + 1e-9
    assert bound(late, given.rho) >= least * (1 - 0.01) - 1e-6
    rng = np.random.default_rng(seed)
    for size in (0.01, 1.0, 100.0):
        any_at_all = (size * rng.normal(size=late.L.shape)).astype(np.float32)
        assert late.bound(any_at_all, given.rho) <= most + 1e-9
    table = mend_net(given.cells, late.matrix(), given.rho * 0.9995)
    assert table.sum(axis=1) == pytest.approx(1)
    loss = float((given.cost * table).sum())
    assert least - 1e-9 <= loss <= most * 1.02 + 1e-6


def test_integers_keep_the_condition_exactly() -> None:
    tight = 0
    for seed in range(12):
        given = instance(100 + seed, (6, 5), 6)
        rho = Fraction(given.rho).limit_denominator(100)
        table = mend_net(given.cells, advanced(given, 150).matrix(), float(rho) * 0.9995)
        weights = round_net(given.cells, table, float(rho))
        assert weights is not None
        assert (weights.sum(axis=1) == 1 << NET_BITS).all()
        assert violations(given.cells, weights, rho) == 0
        assert weights / 2.0**NET_BITS == pytest.approx(table, abs=1e-6)
        if float(slack(given.cells, table, float(rho))[1].min()) < 6e-4:
            # All that was left of epsilon went to the rounding: with less of it, neither would do.
            tight += 1
            assert violations(given.cells, weights, rho * Fraction(999, 1000)) > 0
            assert round_net(given.cells, table, float(rho) * 0.999) is None
    assert tight >= 5


def test_what_is_mended_keeps_the_condition_however_bad_it_was() -> None:
    rng = np.random.default_rng(3)
    for seed in range(6):
        given = instance(seed, (4, 3), 7)
        raw = rng.random(given.cost.shape) ** 8
        for sweeps in (0, 40):
            table = mend_net(given.cells, raw, given.rho, sweeps=sweeps)
            assert slack(given.cells, table, given.rho)[1].min() > -1e-9
            assert table.sum(axis=1) == pytest.approx(1)
    calm = np.exp(-0.2 * given.rho * given.away)
    calm /= calm.sum(axis=1, keepdims=True)
    assert mend_net(given.cells, calm, given.rho) == pytest.approx(calm, rel=1e-12)


def test_results_do_not_depend_on_the_number_of_threads() -> None:
    given = instance(7, (15, 15), 150)
    one, two = (NetIterate(*given, threads=threads) for threads in (1, 3))
    with two.pool() as pool:
        assert pool is not None
        for _ in range(40):
            one.advance()
            two.advance(pool)
    assert (one.matrix() == two.matrix()).all()
    tables = [mend_net(given.cells, one.matrix(), given.rho, threads=count) for count in (1, 3)]
    assert (tables[0] == tables[1]).all()


def reference(state: NetIterate, rho: float) -> NDArray[np.float64]:
    """Take the first step of the multipliers in dense matrices and doubles, and the average with the anchor."""
    value, across, along = dense(state.cells)
    k = state.n_reports
    x = state.X[0].astype(float)[:, :k]
    scale, rows = state.table, 1 / (value @ state.table)
    tau, sigma = state.step_size / state.weight, state.step_size * state.weight
    new = np.maximum(x - tau * (state.cost / state.unit * scale), 0)
    ahead = scale * (2 * new - x)
    px, py = (sigma * rows * (part @ ahead) for part in (across, along))
    q = -sigma * rows * rho * (value @ ahead)
    size = np.hypot(px, py)
    raised = np.maximum(np.maximum(q, (q + size) / 2), 0)
    kept = np.minimum(1, raised / size)
    # Reflected, and averaged with an anchor of zeros.
    return np.stack([kept * px, kept * py, raised], axis=1)


@pytest.mark.parametrize("seed", range(5))
def test_a_step_is_what_the_method_says(seed: int) -> None:
    given = instance(seed, (3, 4), 9)
    state = NetIterate(*given)
    expected = reference(state, given.rho)
    state.advance()
    found = state.L[0, :, :, :9].astype(float)
    assert np.abs(expected).max() > 1e-3
    assert found == pytest.approx(expected, rel=1e-3, abs=1e-5 * np.abs(expected).max())
    wrong = reference(NetIterate(*given), given.rho * 1.05)
    assert found != pytest.approx(wrong, rel=1e-3, abs=1e-5 * np.abs(expected).max())
    kept_up = state.G.copy()
    state._push()
    assert kept_up == pytest.approx(state.G, rel=1e-3, abs=1e-5)


def test_a_broken_kernel_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Multipliers that pay for half of what they need give bounds above the optimum; wider cones another step."""
    above = 0
    flows: Any = nets.net_flows
    step: Any = nets.net_step

    def half(*given: Any) -> None:
        *others, rho, found, size = given
        flows(*others, rho / 2, found, size)

    def steeper(*given: Any) -> None:
        *before, rho, tau, sigma, weight, sums, moved = given
        step(*before, rho * np.float32(1.5), tau, sigma, weight, sums, moved)

    monkeypatch.setattr(nets, "net_flows", half)
    for seed in range(8):
        given = instance(seed)
        above += bound(advanced(given, 300), given.rho) > linear_optimum(given, inscribed=True)
    assert above > 0
    monkeypatch.setattr(nets, "net_flows", flows)
    monkeypatch.setattr(nets, "net_step", steeper)
    given = instance(0, (3, 4), 9)
    state = NetIterate(*given)
    expected = reference(state, given.rho)
    state.advance()
    found = state.L[0, :, :, :9].astype(float)
    assert found != pytest.approx(expected, rel=1e-3, abs=1e-5 * np.abs(expected).max())
