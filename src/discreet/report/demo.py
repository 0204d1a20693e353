"""The demo: a made city and a grid, each with a mechanism, on one page and in two files that carry their proofs.

Everything is public and made: the city is :func:`discreet.datasets.made_city`. Nothing is printed; progress is a
callback.
"""

from __future__ import annotations

import hashlib
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, final

import numpy as np

from discreet import lrgeo
from discreet.artefact import save, save_counts, save_mechanism
from discreet.core import printed
from discreet.core.guarantee import MetricDP, PureDP
from discreet.core.progress import Reporter
from discreet.core.spaces.metric import MetricSpace
from discreet.core.statements import state
from discreet.datasets import made_city
from discreet.datasets.census import made_census
from discreet.evaluate.audit.hierarchy import audit_counts
from discreet.evaluate.audit.request import AuditRequest
from discreet.evaluate.comparison import published_losses
from discreet.hierarchy import GroupSizes, RegionCounts, release
from discreet.lrgeo import Mechanism, Region
from discreet.metricdp import Direct, Problem, design
from discreet.plot import Curve
from discreet.report.choosing import choice_chapter
from discreet.report.maps import Backdrop
from discreet.report.page import Tab, make_chapter, write_report
from discreet.report.patients import patient_demo
from discreet.report.trying import try_counts, try_design

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from os import PathLike

    from numpy.typing import NDArray

    from discreet.core.progress import Progress
    from discreet.datasets import City
    from discreet.evaluate.attack.finding import Attacked
    from discreet.report.page import Chapter


_COUNTED_LEAD = (
    "A census office counts households by size in every state and county. It wants to publish whole numbers that add "
    "up, and nobody who reads them should learn whether any one person was counted."
)
_MADE = (
    "The census on this page is synthetic: {groups} households in {regions} regions. So the true counts may be drawn "
    "beside the published ones here. Which households exist is public; how many live in each is not."
)


def count_demo(
    file: Path,
    *,
    states: int = 8,
    counties: int = 60,
    groups: int = 60_000,
) -> Chapter:
    """Publish a synthetic census, attack the release, and render the chapter.

    Parameters
    ----------
    file
        Where the table goes, with its record beside it; its folder must exist.
    states, counties, groups
        Numbers of states, counties and households of the synthetic census.

    Returns
    -------
    Chapter
        For the page, with the true counts, which are synthetic. Attacks take some seconds, a hundred releases or so.
    """
    made = made_census(states=states, counties=counties, groups=groups, max_size=20, outliers=8)
    data = GroupSizes.from_counts(made.tree, made.with_size_zero(), units="public")
    started = time.perf_counter()
    promise = PureDP(1, neighbors="add-remove-person")
    out = release(data, promise, keep_measurements=True)
    save_counts(out, file)
    audited = audit_counts(AuditRequest(epsilon=str(promise.epsilon)))
    return make_chapter(
        "hierarchy",
        out,
        title="A synthetic census",
        anchor="census",
        lead=(_COUNTED_LEAD, _MADE.format(groups=printed.count(groups), regions=made.tree.n)),
        truth=RegionCounts(data.frame, data.node_counts()),
        artefact=f"{file.parent.name}/{file.name}",
        seconds={"release, check and file": time.perf_counter() - started},
        attacked=try_counts(data, promise),
        audits=(audited,),
    )


_SERVED_LEAD = (
    "Phones want to say where they are, to a service that must not learn it. It publishes one mechanism for its whole "
    "region; each phone computes its own row, draws, and shows the same report for an hour."
)
_TRAFFIC = "Below, the traffic of a small service of this kind was recorded and attacked; nothing is sent to it."


def _service_demo(
    city: City, file: Path, attack_mode: Callable[[str], Attacked] | None = None
) -> Chapter:
    """Design for the roads of a synthetic city, write the mechanism, and make the chapter.

    Parameters
    ----------
    city
        A synthetic city.
    file
        Where the mechanism goes; its folder must exist.
    attack_mode
        Attacks the mode ``"sound"`` of a small service; ``None`` leaves the attacks out.

    Returns
    -------
    Chapter
        With the attacks. The design takes at most about ten seconds, its verification and the attacks some more.
    """
    region = Region.from_roads(*city.tables(), spacing="0.5", planar=True)
    made = lrgeo.design(
        region, MetricDP(2, "km"), gap=0.1, time_limit=10, throw=False, scope="places"
    )
    mechanism = Mechanism.from_design(made)
    save_mechanism(mechanism, file)
    attacked = [] if attack_mode is None else [("Attacked: this service", attack_mode("sound"))]
    return make_chapter(
        "lrgeo",
        mechanism,
        region=region,
        place=int(np.argmin(np.hypot(*region.points.T))),
        lead=(_SERVED_LEAD, _TRAFFIC) if attacked else (_SERVED_LEAD,),
        size=file.stat().st_size,
        artefact=f"{file.parent.name}/{file.name}",
        sha256=hashlib.sha256(file.read_bytes()).hexdigest(),
        attacked=attacked,
    )


EPSILONS = (0.5, 1, 2, 4, 8)
SHOWN_EPSILON = EPSILONS[len(EPSILONS) // 2]
"""The middle one: the strength of the designs that are saved, per km."""

_TITLE = "Say what may be learned, and prove that no more can be"
_PROMISE = "Five tasks, synthetic data. Privacy was checked in exact arithmetic, by code that did not make the results."
_TABS = (
    ("Report a place", "metric privacy"),
    ("Serve an app", "locations of phones"),
    ("Choose", "from private records"),
    ("Count", "by region and size"),
    ("Publish a table", "k-anonymity"),
)
"""What stands on the tabs; the first holds two chapters, the others one each."""

_CITY = "A synthetic city"
_RIDE = "A rider asks for a car. The phone reports a junction near by, drawn by chance; the extra drive is the loss."
_DRIVE = "The car is sent to the junction that was reported and drives on to the rider, along one-way streets too."
_CROW = (
    "Privacy counts the straight line and not the road. Two junctions on opposite banks of the river are "
    "near each other, however long the way over the bridge, and the promise should hold for them too."
)
_CELLS = (
    "square cells of one kilometer, all equally likely. The loss is the straight line from the true cell to the "
    "reported one. Here a mechanism in closed form reaches the lower bound."
)
_CURVES = (
    "The {n} junctions nearest to the center, all pairs of them constrained; to the right privacy is weaker. Each blue "
    "point is a mechanism that was designed and certified. The others are drawn with their reports renamed where that "
    "costs less. " + state("bounds by epsilon")
)


@final
@dataclass(frozen=True)
class Demo:
    """What was written.

    Parameters
    ----------
    page
        The report.
    artefacts
        Channels, and last a mechanism of a location service, that ``discreet verify`` reads.
    tables
        Tables that it reads.
    seconds
        How long each part took.
    """

    page: Path
    artefacts: tuple[Path, ...]
    tables: tuple[Path, ...]
    seconds: Mapping[str, float]


class _Watch:
    """Reports each part as it begins, and keeps how long it took."""

    def __init__(self, on_progress: Callable[[Progress], None] | None, n_parts: int) -> None:
        self.report, self.n_parts = Reporter(on_progress), n_parts
        self.seconds: dict[str, float] = {}

    @contextmanager
    def part(self, name: str, sentence: str) -> Iterator[None]:
        """Report a part by `sentence`, with the parts done before it; keep the seconds of the block under `name`."""
        self.report(sentence, done=len(self.seconds), total=self.n_parts)
        start = time.perf_counter()
        yield
        self.seconds[name] = time.perf_counter() - start


def build_demo(
    out: str | PathLike[str],
    *,
    seed: int = 4,
    junctions: int = 100,
    rows: int = 20,
    columns: int = 25,
    people: int = 1_000,
    runs: int = 6,
    households: int = 60_000,
    patients: int = 1_500,
    attack_mode: Callable[[str], Attacked] | None = None,
    on_progress: Callable[[Progress], None] | None = None,
) -> Demo:
    """Write the demo: ``index.html``, two channels, a mechanism, ``census.parquet`` and ``patients.csv``.

    Parameters
    ----------
    out
        Folder to write to; made if there is none.
    seed
        Which city is made. It makes data, not privacy: nothing that is drawn from depends on it in secret.
    junctions
        Number of junctions of the city, 30 or more.
    rows, columns
        Numbers of rows and columns of the grid.
    people
        Made pick-ups of the private choice.
    runs
        How often each method chooses for the curves.
    households
        Number of households of the made census.
    patients
        Rows of the made table of patients.
    attack_mode
        Attacks the mode ``"sound"`` of a small location service; without it the page has no attacks on the service.
    on_progress
        Called before each part, with the number of parts that are done.

    Returns
    -------
    Demo
        Where everything is. Eleven designs and all methods of five mechanisms are run, which may take minutes;
        existing files are replaced.

    Raises
    ------
    InvalidProblemError
        For sizes that make no city or grid.
    OSError
        When the folder can't be written.
    """
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    watch = _Watch(on_progress, n_parts=9)
    files = (folder / "city.channel", folder / "grid.channel")
    tables = (folder / "census.parquet", folder / "patients.csv")
    service = folder / "city.mechanism"
    city = made_city(junctions, seed=seed)
    chapters = [
        _city_chapter(city, files[0], watch),
        _grid_chapter(rows, columns, files[1], watch),
    ]
    with watch.part(
        "service",
        "Designing what a location service publishes for the roads of the city, and attacking it",
    ):
        chapters.append(_service_demo(city, service, attack_mode))
    with watch.part(
        "choice", f"Choosing waiting places for {people} synthetic pick-ups, by all methods"
    ):
        chapters.append(choice_chapter(people, repeats=runs, slow_repeats=max(1, runs // 3)))
    with watch.part("census", f"Publishing a synthetic census of {households} households"):
        chapters.append(count_demo(tables[0], groups=households))
    with watch.part("patients", f"Anonymizing {patients} synthetic patients, by all quick methods"):
        chapters.append(patient_demo(tables[1], patients=patients))
    groups = (chapters[:2], *([chapter] for chapter in chapters[2:]))
    tabs = [
        Tab(label, about, tuple(group)) for (label, about), group in zip(_TABS, groups, strict=True)
    ]
    with watch.part("page", "Writing the page"):
        page = write_report(tabs, folder / "index.html", title=_TITLE, lead=(_PROMISE,))
    return Demo(page, (*files, service), tables, dict(watch.seconds))


def _city_chapter(city: City, file: Path, watch: _Watch) -> Chapter:
    """Design for a city at five strengths, save the shown one to `file`, and return its chapter with curves.

    Ten designs are solved, five of them for a part of the city; seconds of each part are kept in `watch`.
    """
    problem = city_problem(city)
    about = f"Designing for a city of {city.n} junctions and {len(city.edges)} roads"
    with watch.part("city", f"{about}, at {len(EPSILONS)} strengths"):
        strengths = [
            design(problem, MetricDP(epsilon, "km", radius="1.2"), throw=False)
            for epsilon in EPSILONS
        ]
        made = strengths[EPSILONS.index(SHOWN_EPSILON)]
        save(made, file)
    with watch.part("curves", f"Comparing strengths on {_downtown(city)} junctions downtown"):
        curves = _curves(city)
    return make_chapter(
        "metricdp",
        made,
        title=_CITY,
        anchor="city",
        lead=(_RIDE,),
        below=(_DRIVE, _CROW),
        strengths=strengths,
        picks=_landmarks(city),
        backdrop=Backdrop(city.edges, traffic(city), city.river),
        curves=curves,
        curves_note=_CURVES.format(n=_downtown(city)),
        loss_name="extra drive",
        loss_unit="km",
        artefact=f"{file.parent.name}/{file.name}",
        sha256=hashlib.sha256(file.read_bytes()).hexdigest(),
        seconds={
            f"{len(strengths)} designs, checks and file": watch.seconds["city"],
            "curves": watch.seconds["curves"],
        },
    )


def _grid_chapter(rows: int, columns: int, file: Path, watch: _Watch) -> Chapter:
    """Design for a grid of unit cells, save the design to `file`, attack and audit it, and return its chapter.

    The curves of progress and the seconds of each part are kept in `watch`.

    `rows` and `columns` are the numbers of cells, of one kilometer.
    """
    with watch.part("grid", f"Designing for a grid of {rows} by {columns} cells"):
        space = MetricSpace.grid(rows, columns, cell=1, unit="km")
        problem = Problem(space, utility_loss="euclidean")
        promise = MetricDP(SHOWN_EPSILON, "km", radius=2)
        made = design(problem, promise, throw=False)
        save(made, file)
    with watch.part("attack", "Attacking the design for the grid"):
        attacked, audits = try_design(made, reports=(1, 5))
    middle = (rows // 2) * columns + columns // 2
    return make_chapter(
        "metricdp",
        made,
        title=f"A grid of {rows * columns} cells",
        anchor="grid",
        above=_CITY,
        lead=(f"{rows} by {columns} {_CELLS}",),
        picks=[
            ("in the middle", middle),
            ("on an edge", columns // 3),
            ("in a corner", rows * columns - 1),
        ],
        loss_name="distance to the report",
        loss_unit="km",
        artefact=f"{file.parent.name}/{file.name}",
        sha256=hashlib.sha256(file.read_bytes()).hexdigest(),
        seconds={"design, check and file": watch.seconds["grid"]},
        attacked=attacked,
        audits=audits,
    )


def city_problem(city: City, junctions: NDArray[np.int64] | None = None) -> Problem:
    """Return the problem of the whole city, or of the junctions numbered in `junctions` ``(m,)``.

    Its prior is their demand, scaled to sum to 1; its loss the drive in km from the report to the true junction,
    along one-way streets. All drives are computed: ``O(n m log n)`` for n junctions and m roads.
    """
    chosen = np.arange(city.n) if junctions is None else junctions
    # The car starts at the report: the drive from column to row.
    drive = city.travel(directed=True).T[np.ix_(chosen, chosen)]
    prior = city.prior[chosen] / city.prior[chosen].sum()
    space = MetricSpace.from_points(city.points[chosen], unit="km")
    return Problem(space, utility_loss=drive, prior=prior)


def _downtown(city: City, most: int = 36) -> int:
    """Return the number of junctions on which strengths are compared."""
    return min(most, city.n // 2)


def _curves(city: City) -> list[Curve]:
    """Return curves of loss in km over epsilon for the junctions downtown.

    There is one for the lower bound, the design, and each baseline at its best. One design is solved and verified for
    each of five epsilons.
    """
    center = np.sort(np.argsort(np.hypot(*city.points.T), kind="stable")[: _downtown(city)])
    problem = city_problem(city, center)
    reached, proven = [], []
    baselines: dict[str, list[float]] = {}
    for epsilon in EPSILONS:
        target = MetricDP(epsilon, "km")
        made = design(problem, target, method=Direct(), throw=False)
        reached.append(made.upper)
        proven.append(made.lower or 0.0)
        losses: dict[str, float] = {}
        for label, loss in published_losses(problem, target):
            name = label.partition(",")[0]
            losses[name] = min(loss, losses.get(name, loss))
        for name, loss in losses.items():
            baselines.setdefault(name, []).append(loss)
    return [
        Curve("lower bound", EPSILONS, tuple(proven), "bound"),
        Curve("this library", EPSILONS, tuple(reached), "optimum"),
        *(Curve(name, EPSILONS, tuple(losses)) for name, losses in baselines.items()),
    ]


def _landmarks(city: City) -> list[tuple[str, int]]:
    """Return label and index of three junctions: the busiest, the end of a bridge south in town, the farthest out."""
    ends = city.edges[city.bridges].ravel()
    away = np.hypot(*city.points.T)
    return [
        ("the busiest corner", int(np.argmax(city.prior))),
        ("at a bridge", int(ends[np.argmin(city.points[ends, 1] + away[ends])])),
        ("at the edge of town", int(np.argmax(away))),
    ]


def traffic(city: City) -> NDArray[np.float64]:
    """Count how much of the demand each road carries when everybody drives everywhere the shortest way.

    Parameters
    ----------
    city
        A road network.

    Returns
    -------
    ndarray
        ``(m,)``, the share of all trips that use each road; trips start and end as the prior says.

    Complexity
    ----------
    O(n m log n) time, O(n^2) memory.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import dijkstra

    graph = coo_array((city.lengths, tuple(city.edges.T)), shape=(city.n, city.n)).tocsr()
    far, before = dijkstra(graph, directed=False, return_predecessors=True)
    carried = np.zeros((city.n, city.n))
    for source in range(city.n):
        through = city.prior.copy()
        # From the farthest inwards: each node hands what passes through it to the node before it.
        for node in np.argsort(-far[source], kind="stable")[:-1]:
            via = before[source, node]
            through[via] += through[node]
            carried[node, via] += city.prior[source] * through[node]
    both = carried + carried.T
    share: NDArray[np.float64] = both[city.edges[:, 0], city.edges[:, 1]]
    return share
