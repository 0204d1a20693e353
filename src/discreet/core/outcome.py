"""What the verbs return: designs, releases, and what has no guarantee.

A :class:`Design` is made from public inputs and may be used again and again. A :class:`Release` was made once from
private data and holds nothing that its guarantee does not cover. An :class:`Anonymization` is a table, with what only
its curator should see apart from it. An :class:`Unproven` is what a published algorithm without a valid guarantee
returns; it is not a release and cannot be mistaken for one.
"""

from __future__ import annotations

import hashlib
import platform
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache, cached_property
from html import escape
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import cautions
from discreet.core.printed import at_least, at_most, bounds, decimal_down, facts, one_line, optimum
from discreet.core.progress import gap_between
from discreet.core.statements import state
from discreet.core.verified import verdict_of, was_verified
from discreet.core.views import folded, frame_head, most_central, row_on_map, rows_of, view

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from discreet.core.certificate import Certificate
    from discreet.core.channels.channel import Channel
    from discreet.core.guarantee import Guarantee, KAnonymity, MetricDP

ResultT = TypeVar("ResultT")
ProblemT = TypeVar("ProblemT")
WitnessT = TypeVar("WitnessT")
DiagnosticsT = TypeVar("DiagnosticsT")

FOR_THE_CURATOR = "computed from the original: for the curator, not for publication"
"""Line that ends the printed diagnostics of an anonymization."""


def versions() -> dict[str, str]:
    """Return a dict of versions: ``python``, ``discreet``, ``numpy``, ``scipy``, ``highspy`` and ``numba``.

    The text is ``"not installed"`` for a package that is missing.
    """
    packages = ("discreet", "numpy", "scipy", "highspy", "numba")
    return {"python": platform.python_version(), **{name: _version(name) for name in packages}}


@cache
def _version(package: str) -> str:
    """Return the version of a package. It is kept: to read them took a fifth of the time of small releases."""
    # Loads the package of mail messages, a fifth of what importing a mechanism takes.
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


@dataclass(frozen=True)
class PublicInput:
    """An input that was assumed to be public, with a hash that says which one it was.

    Parameters
    ----------
    name
        The argument.
    digest
        SHA-256 of its canonical bytes.
    description
        What it is, in a few words.
    """

    name: str
    digest: str
    description: str


@dataclass(frozen=True)
class Provenance:
    """How an outcome came about.

    Parameters
    ----------
    method
        The method that made it.
    parameters
        Its parameters, plain values only.
    assumed_public
        Inputs assumed to be public.
    method_trace
        What was tried, in order, one sentence each; from public inputs only.
    seeded
        True when randomness came from anything but the operating system: the outcome is then not private.
    versions
        Software versions.
    charge
        Release id in a ledger ("release" and 20 hexadecimal digits), "charged to no ledger", or empty for outcomes that
        spend no budget and for files of earlier versions.

    Examples
    --------
    >>> Provenance("kernel", {"delta": "1e-6"}).seeded
    False
    """

    method: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    assumed_public: tuple[PublicInput, ...] = ()
    method_trace: tuple[str, ...] = ()
    seeded: bool = False
    versions: Mapping[str, str] = field(default_factory=versions)
    charge: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return a dict for JSON, keyed by parameter.

        `assumed_public` is a list of dicts, and an empty `charge` is left out.
        """
        return {
            "method": self.method,
            "parameters": dict(self.parameters),
            "assumed_public": [
                {"name": p.name, "digest": p.digest, "description": p.description}
                for p in self.assumed_public
            ],
            "method_trace": list(self.method_trace),
            "seeded": self.seeded,
            "versions": dict(self.versions),
            **({"charge": self.charge} if self.charge else {}),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Provenance:
        """Read what :meth:`to_dict` wrote; a missing ``charge`` is the empty text.

        Raises
        ------
        KeyError
            If another entry is missing.
        InvalidProblemError
            For a `seeded` that is no boolean, or entries that are no text.
        TypeError, ValueError
            For entries that are no lists or mappings, or public inputs with other keys.
        """
        # Only False says that there was no seed: -1 and 0.5 are no answers.
        if not isinstance(data["seeded"], bool):
            raise InvalidProblemError("seeded", "true or false", type(data["seeded"]).__name__)
        public = tuple(PublicInput(**entry) for entry in data["assumed_public"])
        parameters, versions = dict(data["parameters"]), dict(data["versions"])
        trace = tuple(data["method_trace"])
        charge = data.get("charge", "")
        words = [data["method"], charge, *trace, *versions, *versions.values(), *parameters]
        words += [word for one in public for word in (one.name, one.digest, one.description)]
        if not all(isinstance(word, str) for word in words):
            raise InvalidProblemError("provenance", "words", "others")
        return cls(data["method"], parameters, public, trace, data["seeded"], versions, charge)


@dataclass(frozen=True, eq=False)
class Design(Generic[ProblemT, WitnessT]):
    """A channel with its guarantee, its certificate, and proven bounds on its utility loss.

    Parameters
    ----------
    channel
        The mechanism: what is sampled.
    guarantee
        What holds, bound to the space.
    certificate
        What was measured on the stored integers.
    lower
        No channel with this guarantee loses less than this on the problem as stated; ``None`` where there is no
        bound.
    upper
        Expected utility loss of `channel`, rounded up.
    provenance
        How it was made.
    problem
        The problem that was solved; all of it public.
    witness
        Multipliers that prove `lower`, or ``None``.
    status
        ``"optimal"`` or ``"gap reached"`` when the target was met; ``"loss negligible"`` when the loss is so small
        beside that of one constant report that a relative gap means nothing; ``"interrupted"`` after Ctrl-C;
        ``"limit reached"`` otherwise.

    Examples
    --------
    >>> from discreet import Certificate, Channel, Check, MetricDP
    >>> certificate = Certificate((Check("inequalities violated", 0, 0, exact=True),))
    >>> Design(
    ...     Channel.from_weights([[2**62]]), MetricDP(1, unit="km"), certificate, 0.5, 1.0, Provenance("by hand"), None
    ... ).gap
    0.5
    """

    channel: Channel
    guarantee: MetricDP
    certificate: Certificate
    lower: float | None
    upper: float
    provenance: Provenance
    problem: ProblemT
    witness: WitnessT | None = None
    status: str = "gap reached"

    @property
    def status_in_words(self) -> str:
        """`status`, with what is called optimal."""
        words = optimum(self.lower, self.upper, Fraction(1, 10**6))
        return words or self.status if self.status == "optimal" else self.status

    @property
    def gap(self) -> float | None:
        """``(upper - lower) / upper``, 0 when both are 0, ``None`` without a lower bound."""
        return gap_between(self.lower, self.upper)

    @cached_property
    def loss_by_secret(self) -> NDArray[np.float64]:
        """Expected loss of each secret, ``(n_secrets,)`` float64, whatever its prior, rounded up.

        ``O(n_secrets * n_reports)``.

        Raises
        ------
        InvalidProblemError
            If the problem has no table of losses.
        """
        loss = getattr(self.problem, "loss", None)
        if loss is None:
            raise InvalidProblemError("problem", "one with a table of losses", self.problem)
        losses = self.channel.expected_losses(loss)
        losses.setflags(write=False)
        return losses

    @property
    def loss_quantiles(self) -> dict[str, float]:
        """Quantiles of the loss of the secrets, each counted once: ``{"median": ..., "95 %": ..., "worst": ...}``.

        In the unit of the loss, rounded up: at least half of the secrets lose at most the median. The cost and the
        errors are those of :attr:`loss_by_secret`, and a sort.
        """
        ascending, n = np.sort(self.loss_by_secret), len(self.loss_by_secret)
        counts = {"median": -(-n // 2), "95 %": -(-95 * n // 100), "worst": n}
        return {name: float(ascending[count - 1]) for name, count in counts.items()}

    def __repr__(self) -> str:
        bound = "no lower bound" if self.lower is None else f"at least {at_least(self.lower)}"
        bound += self.guarantee.links_in_words
        return (
            f"Design({self.channel.n_secrets} secrets, {self.channel.n_reports} reports, loss {at_most(self.upper)}, "
            f"{bound}, {verdict_of(self)})"
        )

    def _repr_html_(self) -> str:
        """Return the design as HTML, with the reports of the most central secret on a map if it has coordinates."""
        loss = f"expected loss {bounds(self.lower, self.upper)}"
        space = getattr(self.problem, "space", None)
        points, picture = getattr(space, "points", None), ""
        if space is not None and points is not None and len(points) == self.channel.n_secrets:
            middle = most_central(points)
            row = self.channel.row(middle)
            chances = [weight / self.channel.total for weight in row]
            picture = row_on_map(points, space.metric, middle, chances)
        return view(
            self.guarantee,
            (f"{loss}; method {self.provenance.method}",),
            picture=picture,
            certificate=self.certificate,
            verified=was_verified(self),
            details=_assumed(self.provenance),
        )


@dataclass(frozen=True, eq=False)
class Release(Generic[ResultT]):
    """The one-shot output of a private mechanism, with nothing in it that the guarantee does not cover.

    Parameters
    ----------
    result
        What is published.
    guarantee
        What holds for it.
    certificate
        Checks made on the published result and public inputs alone.
    provenance
        How it was made; public facts only.

    Examples
    --------
    >>> from discreet import Certificate, Check, PureDP
    >>> certificate = Certificate((Check("counts below zero", 0, 0, exact=True),))
    >>> Release([3, 4], PureDP(1, neighbors="replace-one"), certificate, Provenance("by hand")).result
    [3, 4]
    """

    result: ResultT
    guarantee: Guarantee
    certificate: Certificate
    provenance: Provenance

    def __str__(self) -> str:
        checks = self.certificate.sentence
        if not self.certificate.passed:
            checks = f"{checks}\n\n{self.certificate}"
        weak = [("warning", caution) for caution in cautions(self.guarantee)]
        return f"{facts([*public_facts(self), *weak])}\n\n{checks}"

    def _repr_html_(self) -> str:
        """Return the release as HTML, with a picture of its result."""
        shown = getattr(self.result, "_repr_html_", None)
        return view(
            self.guarantee,
            (f"method {self.provenance.method}", *cautions(self.guarantee))
            + (("from a seeded source: not private",) * self.provenance.seeded),
            picture=str(shown())
            if callable(shown)
            else f"<p>{escape(one_line(repr(self.result)))}</p>",
            certificate=self.certificate,
            verified=was_verified(self),
            details=_assumed(self.provenance),
        )


@dataclass(frozen=True, eq=False)
class Anonymization(Generic[ResultT, DiagnosticsT]):
    """A table that may be published, and apart from it what only the curator should see.

    Parameters
    ----------
    table
        What is published, of the kind that was given.
    guarantee
        What holds for it.
    certificate
        Checks made on the published table.
    provenance
        How it was made; no number in it is computed from the table.
    diagnostics
        Information loss, lower bound and whatever else is computed from the original: not for publication. It may have
        a method ``described(anonymization)`` that returns names with values, for the text of this object, and a method
        ``pictured(anonymization)`` that returns HTML about the published table, for its view.

    Examples
    --------
    >>> from discreet import Certificate, Check, KAnonymity
    >>> certificate = Certificate((Check("classes smaller than k", 0, 0, exact=True),))
    >>> made = Anonymization([30, 30], KAnonymity(2, ("age",)), certificate, Provenance("by hand"), {"loss": 0})
    >>> made
    Anonymization(2-anonymous in age, claimed: discreet.verify checks it)
    """

    table: ResultT
    guarantee: KAnonymity
    certificate: Certificate
    provenance: Provenance
    diagnostics: DiagnosticsT

    def bound_in_words(self) -> str:
        """State which tables `diagnostics.lower` is a lower bound for.

        Examples
        --------
        >>> from discreet import Certificate, KAnonymity
        >>> made = Anonymization([], KAnonymity(2, ("age",)), Certificate(()), Provenance("by hand"), {})
        >>> made.bound_in_words()
        'no table whose equivalence classes have 2 rows or more and that suppresses no row loses less'
        """
        some = self.provenance.parameters.get("suppress")
        words = ", suppressed rows at the cost of all their cells," if some else ""
        return state(
            "bound of tables",
            k=self.guarantee.k,
            suppression=words or " and that suppresses no row",
        )

    def __str__(self) -> str:
        """Return what ``discreet anonymize`` prints: facts about the original, for the curator alone."""
        described = getattr(self.diagnostics, "described", None)
        pairs = described(self) if callable(described) else []
        text = f"{facts([('guarantee', self.guarantee), *pairs])}\n\n{self.certificate.sentence}"
        return text if self.certificate.passed else f"{text}\n\n{self.certificate}"

    def __repr__(self) -> str:
        names = ", ".join(self.guarantee.quasi_identifiers)
        return f"Anonymization({self.guarantee.k}-anonymous in {names}, {verdict_of(self)})"

    def _repr_html_(self) -> str:
        """Return the outcome as HTML, with the first published rows."""
        pictured = getattr(self.diagnostics, "pictured", None)
        return view(
            self.guarantee,
            (
                "The first rows of the published table. What was lost is in .diagnostics, for the curator alone.",
            ),
            picture=frame_head(self.table) + (pictured(self) if callable(pictured) else ""),
            certificate=self.certificate,
            verified=was_verified(self),
            details=_assumed(self.provenance),
        )


@dataclass(frozen=True, eq=False)
class Unproven(Generic[ResultT]):
    """What a published algorithm returns whose guarantee is false or absent.

    Parameters
    ----------
    result
        What it computed. Not fit for publication.
    reason
        Why there is no guarantee.
    provenance
        How it was made.

    Raises
    ------
    InvalidProblemError
        When no reason is given.

    Examples
    --------
    >>> Unproven([3, 4], "the printed sensitivity is half of the true one", Provenance("as published")).guarantee
    """

    result: ResultT
    reason: str
    provenance: Provenance
    guarantee: None = field(default=None, init=False)

    def __post_init__(self) -> None:
        if not self.reason.strip():
            raise InvalidProblemError("reason", "why there is no guarantee", "nothing")


def public_facts(
    outcome: Release[Any] | Unproven[Any], budget_left: Sequence[Fraction] | None = None
) -> list[tuple[str, object]]:
    """Return what a text about a release states, names with values: nothing that depends on how long it took.

    Without that method there is a pair for the method alone. The first pair is the guarantee; `budget_left` is
    rounded down.

    Parameters
    ----------
    outcome
        The release. Its result may have a method ``described(outcome)`` that returns such pairs.
    budget_left
        Amounts that the ledger has left, where it was charged.

    Examples
    --------
    >>> public_facts(Unproven([3, 4], "the printed sensitivity is false", Provenance("as published")))
    [('guarantee', 'none: the printed sensitivity is false'), ('method', 'as published')]
    """
    provenance = outcome.provenance
    described = getattr(outcome.result, "described", None)
    pairs = described(outcome) if callable(described) else [("method", provenance.method)]
    pairs = [("guarantee", outcome.guarantee or f"none: {getattr(outcome, 'reason', '')}"), *pairs]
    pairs += [("assumed public", f"{p.name}: {p.description}") for p in provenance.assumed_public]
    if budget_left is not None:
        pairs.append(("budget left", ", ".join(map(decimal_down, budget_left))))
    if provenance.charge:
        pairs.append(("ledger", provenance.charge))
    return pairs


def _assumed(provenance: Provenance) -> str:
    """Return the inputs that were assumed to be public as folded HTML; "" where there are none."""
    if not provenance.assumed_public:
        return ""
    lines = [(each.name, each.description) for each in provenance.assumed_public]
    return folded("Assumed public", rows_of(lines))


def digest_array(array: NDArray[Any]) -> str:
    """SHA-256, in hexadecimal, of an array: its shape, its type, and its bytes in little-endian row-major order.

    Linear in the bytes; the array is copied.
    """
    plain = np.ascontiguousarray(array)
    plain = plain.astype(plain.dtype.newbyteorder("<"))
    head = f"{plain.shape} {plain.dtype.str}".encode()
    return hashlib.sha256(head + plain.tobytes()).hexdigest()
