r"""Attacks on the messages of the published protocol of LR-Geo.

*Uploads* are a function of the place that anybody can compute (B2). The attacker computes for each place what a
client there uploads, and looks for the upload that it sees. It is done three times: with the upload as it is; with the
numbers of the columns left out, all entries rounded and sorted, as an attempt to hide them; and with nothing but the
shapes of the matrices.

*Center*: the paper does not upload which row is the user's (B1). The columns are a disc around the user, so that
the largest distance from the user's row to any column is the smallest of all rows'.

*Discs*: each disc that a client requests has its center within :math:`\Gamma` of the place (B5). A center drawn anew
with each request is a new hint; one that is drawn once and kept is one hint, however often it is sent.

*Targets*: the cost table is linear in the targets' shares (B6),
:math:`\beta_{ik} = \sum_l q_l |T_{il} - T_{kl}|` with travel costs T that are public. Nonnegative least squares on the
entries that a client was told gives q back.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, final

import numpy as np

from discreet.evaluate.attack.finding import DEFAULT_FAILURE, Finding
from discreet.evaluate.attack.location import count_guesses
from discreet.evaluate.intervals import Estimate, bounded_mean, clopper_pearson
from discreet_reproduction.lrgeo.as_published.coefficients import prepare
from discreet_reproduction.lrgeo.as_published.geo_ind_graph import lr_set

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from numpy.typing import ArrayLike, NDArray

    from discreet.evaluate.attack.location import Request
    from discreet_reproduction.lrgeo.as_published.coefficients import Coefficients
    from discreet_reproduction.lrgeo.as_published.geo_ind_graph import GeoIndGraph
    from discreet_reproduction.lrgeo.as_published.instance import Instance


@final
@dataclass(frozen=True, eq=False)
class CostPart:
    """A part of the cost table: ``costs[i, j]`` of reporting ``places[j]`` from ``places[i]``."""

    places: NDArray[np.int64]
    costs: NDArray[np.float64]


@final
@dataclass(frozen=True, eq=False)
class PublishedSession:
    """All traffic of one client of the published protocol that stays where it is.

    Parameters
    ----------
    place
        Index of the place of the client: for the judge.
    requests
        Requests, byte for byte.
    uploads
        Uploaded coefficients.
    centers
        Centers of the discs of the cost table that were requested.
    tables
        Parts of the cost table in the answers.
    matrices
        Obfuscation matrices in the answers.
    """

    place: int = field(repr=False)
    requests: tuple[Request, ...]
    uploads: tuple[Coefficients, ...] = ()
    centers: tuple[int, ...] = ()
    tables: tuple[CostPart, ...] = ()
    matrices: tuple[NDArray[np.float64], ...] = ()


@final
@dataclass(frozen=True, eq=False)
class World:
    """Public knowledge of an attacker.

    Parameters
    ----------
    instance
        Places, distances, costs and prior. The server knows the costs, since they are its table.
    graph
        The Geo-Ind graph.
    reach, r_obf
        Radii of the location set and of the obfuscation range.
    """

    instance: Instance
    graph: GeoIndGraph
    reach: float
    r_obf: float

    @property
    def prior(self) -> NDArray[np.float64]:
        """``(K,)`` probabilities of the places."""
        return self.instance.prior

    @property
    def blind(self) -> int:
        """The best guess without looking."""
        return int(self.prior.argmax())

    def upload(self, place: int) -> Coefficients:
        """Compute what a client at a place uploads: a public function of the place."""
        one = prepare(self.instance, self.graph, place, reach=self.reach, r_obf=self.r_obf)
        return one.coefficients


_ROUNDED = 0.1
"""What costs are rounded to, in units of distance; distances with them."""


def attack_uploads(
    sessions: Sequence[PublishedSession], world: World, *, failure: float = DEFAULT_FAILURE
) -> list[Finding]:
    """Guess places from uploads, as sent, blurred and sorted, and by their shapes.

    Parameters
    ----------
    sessions
        Traffic that is attacked. A session without an upload gets the best guess without looking.
    world
        What is public.
    failure
        Most probability with which an interval misses.

    Returns
    -------
    list of Finding
        Three.
    """
    size = world.instance.size
    computed = [world.upload(place) for place in range(size)]
    forms: tuple[tuple[str, Callable[[Any], Hashable]], ...] = (
        ("uploads, all places tried", _whole),
        ("uploads, rounded, sorted, without columns", _blurred),
        ("uploads, shapes alone", _shape),
    )
    findings = []
    for name, form in forms:
        places: dict[Hashable, int] = {}
        # Where several look the same, the most probable.
        for place in np.argsort(world.instance.prior, kind="stable").tolist():
            places[form(computed[place])] = place

        def guess(
            session: PublishedSession,
            form: Callable[[Any], Hashable] = form,
            places: dict[Hashable, int] = places,
        ) -> int:
            for upload in session.uploads:
                return places.get(form(upload), world.blind)
            return world.blind

        note = f"{len(places)} different uploads by {size} places: {name}"
        findings.append(
            count_guesses(name, sessions, guess, world.prior, failure=failure, note=note)
        )
    return findings


def _whole(sent: Any) -> Hashable:  # noqa: ANN401 - coefficients, or a message that holds them
    digits = [np.round(part, 9).tobytes() for part in (sent.between, sent.away)]
    return (*digits, sent.columns.tobytes())


def _blurred(sent: Any) -> Hashable:  # noqa: ANN401 - coefficients, or a message that holds them
    # Costs come with the share of their row in them.
    priced = np.asarray(sent.cost) * len(sent.between)
    parts = (sent.between, sent.away, priced)
    return tuple(np.sort(np.rint(np.asarray(part).ravel() / _ROUNDED)).tobytes() for part in parts)


def _shape(sent: Any) -> Hashable:  # noqa: ANN401 - coefficients, or a message that holds them
    rows, columns = sent.away.shape
    return int(rows), int(columns)


def attack_center(
    sessions: Sequence[PublishedSession], world: World, *, failure: float = DEFAULT_FAILURE
) -> list[Finding]:
    """Guess which of the uploaded rows is the one that the user samples from.

    Parameters
    ----------
    sessions
        Traffic that is attacked.
    world
        What is public.
    failure
        Most probability with which the interval misses.

    Returns
    -------
    list of Finding
        One; none where nothing was uploaded. The limit is a blind guess among the rows.
    """
    right = strange = trials = 0
    blind = 0.0
    owners = [session for session in sessions if session.uploads]
    for session in owners:
        upload = session.uploads[0]
        rows = lr_set(world.graph, session.place, world.reach)
        own = int(np.searchsorted(rows, session.place))
        # The rows' places are those whose distances to the named columns are the uploaded ones; none are needed here.
        farthest = np.asarray(upload.away).max(axis=1)
        total = np.asarray(upload.away).sum(axis=1)
        guess = int(np.lexsort((total, farthest))[0])
        right += guess == own
        # The same answer for an upload whose rows are in an order that has nothing to do with it.
        strange += guess == (own + 1 + trials) % len(rows)
        blind += 1 / len(rows)
        trials += 1
    if not trials:
        return []
    return [
        Finding(
            "the row in the middle of an upload",
            "own rows guessed",
            clopper_pearson(right, trials, failure=failure),
            Estimate.computed(blind / trials),
            clopper_pearson(strange, trials, failure=failure),
            limit=blind / trials,
        )
    ]


def attack_discs(
    sessions: Sequence[PublishedSession],
    world: World,
    *,
    requests: Sequence[int] = (1, 3, 10),
    failure: float = DEFAULT_FAILURE,
    label: str = "",
) -> list[Finding]:
    r"""Guess places from the first n discs, by :math:`p_i \prod_t [c_t \in \mathcal{N}_i] / |\mathcal{N}_i|`.

    Parameters
    ----------
    sessions
        Traffic of clients that ask as often as is looked at.
    world
        What is public.
    requests
        Numbers of requests.
    failure
        Most probability with which an interval misses.
    label
        What to add to the name.

    Returns
    -------
    list of Finding
        For each number the guess, judged, and for the last one how far off it is, in the unit of the region.
    """
    size = world.instance.size
    chance = np.zeros((size, size))
    for place in range(size):
        rows = lr_set(world.graph, place, world.reach)
        chance[place, rows] = 1 / len(rows)

    def belief(session: PublishedSession, n: int) -> NDArray[np.float64]:
        centers = list(session.centers[:n])
        # A center that never changes was kept, and is one hint.
        centers = centers[:1] if len(set(centers)) == 1 else centers
        likely: NDArray[np.float64] = world.instance.prior * chance[:, centers].prod(axis=1)
        return likely

    def guess(n: int) -> Callable[[PublishedSession], int]:
        return lambda session: int(belief(session, n).argmax())

    findings = [
        count_guesses(
            f"discs asked for, {n}{label}",
            sessions,
            guess(n),
            world.prior,
            failure=failure,
        )
        for n in requests
    ]
    apart, last = world.instance.distances, max(requests)
    lost = [float(apart[one.place, (belief(one, last) @ apart).argmin()]) for one in sessions]
    blind = float((world.instance.prior @ apart).min())
    most = float(apart.max())
    findings.append(
        Finding(
            f"discs asked for, {last}{label}",
            f"error, {world.instance.unit}",
            bounded_mean(lost, 0.0, most, failure=failure),
            Estimate.computed(blind),
            error=True,
        )
    )
    return findings


_MOST = 3_000
"""Entries that are used."""


def attack_targets(
    sessions: Sequence[PublishedSession], travel: ArrayLike, shares: ArrayLike
) -> list[Finding]:
    """Compute shares of targets from told costs.

    Parameters
    ----------
    sessions
        Whose clients work together.
    travel
        ``(K, K)`` travel costs, as everybody can compute them.
    shares
        ``(K,)``: the truth, for the judge.

    Returns
    -------
    list of Finding
        One; none where no costs were told.
    """
    from scipy.optimize import nnls

    way, truth = np.asarray(travel, dtype=np.float64), np.asarray(shares, dtype=np.float64)
    pairs: dict[tuple[int, int], float] = {}
    for session in sessions:
        for table in session.tables:
            places = table.places.tolist()
            for a, one in enumerate(places):
                for b in range(a):
                    pairs[one, places[b]] = float(table.costs[a, b])
    if not pairs:
        return []
    chosen = list(pairs)[:: max(1, len(pairs) // _MOST)]
    left, right = np.array(chosen).T
    found, _ = nnls(np.abs(way[left] - way[right]), np.array([pairs[one] for one in chosen]))
    # A place in which nothing starts and that all others see alike can't be told from another; q sums to 1.
    found = found / found.sum() if found.sum() > 0 else np.full(len(truth), 1 / len(truth))
    blind = float(np.abs(truth - 1 / len(truth)).sum())
    return [
        Finding(
            "targets from the cost table",
            "error of their shares, in all",
            Estimate.computed(float(np.abs(found - truth).sum())),
            Estimate.computed(blind),
            limit=blind,
            error=True,
            note=f"{len(chosen)} entries of the table, told to {len(sessions)} clients",
        )
    ]
