"""Name of a mechanism, or kind of file -> the function that judges it, as text: nothing is imported before its use.

The functions of ``AUDITS`` and ``PUBLISHED_AUDITS`` take an ``AuditRequest`` and return an ``Audit``; those of
``ATTACKS`` take an ``AttackRequest`` and return an ``Attacked``. ``FRONTIERS`` holds
``measure(method, parameter) -> Measure``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from discreet.core.errors import InvalidProblemError
from discreet.core.extras import require
from discreet.core.lazy import registered
from discreet.core.moved import load
from discreet.hierarchy.methods import METHODS as COUNT_METHODS
from discreet.kanonymity.methods import METHODS as TABLE_METHODS
from discreet.kanonymity.methods import UNPROVEN
from discreet.metricdp.methods import METHODS
from discreet.submodular.methods import METHODS as CHOICE_METHODS

if TYPE_CHECKING:
    from discreet.evaluate.attack.finding import Attacked
    from discreet.evaluate.attack.request import AttackRequest
    from discreet.evaluate.audit.audit import Audit
    from discreet.evaluate.audit.request import AuditRequest
    from discreet.evaluate.simulate.location import Record

COMPARED = (*METHODS.proven, "optimal")
"""Methods of a design problem that can be compared; the last is the library's choice."""

AUDITS: dict[str, str] = {
    "hierarchy": "discreet.evaluate.audit.hierarchy:audit_counts",
    "kanonymity": "discreet.evaluate.audit.kanonymity:audit_tables",
    "lrgeo": "discreet.evaluate.registry:audit_location",
    "metricdp": "discreet.evaluate.audit.metricdp:audit_designs",
    "submodular": "discreet.evaluate.audit.submodular:audit_choices",
    "tables": "discreet.evaluate.audit.tables:audit_tables",
}
"""Mechanism -> the audit of its methods on synthetic data."""

ATTACKS: dict[str, str] = {
    "hierarchy": "discreet.evaluate.simulate.attacks:attack_counts",
    "kanonymity": "discreet.evaluate.simulate.attacks:attack_patients",
    "lrgeo": "discreet.evaluate.registry:attack_service",
    "metricdp": "discreet.evaluate.simulate.attacks:attack_grid",
    "submodular": "discreet.evaluate.simulate.attacks:attack_choices",
}
"""Mechanism -> the attack on its methods on synthetic data."""

FRONTIERS: dict[str, str] = {
    "hierarchy": "discreet.evaluate.simulate.losses:counts_lost",
    "kanonymity": "discreet.evaluate.simulate.losses:tables_lost",
    "submodular": "discreet.evaluate.simulate.losses:choices_lost",
}
"""Mechanism -> the loss of its methods on synthetic data, at an epsilon or a k."""

PUBLISHED_AUDITS: dict[str, dict[str, str]] = {
    "kanonymity": dict.fromkeys(UNPROVEN, "discreet_reproduction.kanonymity.audit:audit_recodings"),
    "lrgeo": dict.fromkeys(
        ("frozen-scales", "lr-geo"), "discreet_reproduction.lrgeo.audit:audit_users"
    ),
    "metricdp": dict.fromkeys(
        METHODS.unproven, "discreet_reproduction.metricdp.audit:audit_floats"
    ),
    "submodular": {"algorithm-2": "discreet_reproduction.submodular.audit:audit_layers"},
}
"""Mechanism -> published method without a guarantee -> its audit, in the distribution ``discreet-reproduction``."""

PUBLISHED_ATTACK = "discreet_reproduction.lrgeo.attack:attack_published"
"""Attack on the published protocol of LR-Geo, in the same distribution."""

_RECORDERS = {"service": "discreet.service.recorded:record"}
"""What runs the application and records its traffic, as text: it stands above this room, and needs an extra."""

_POINTWISE = ("every-point", "places-only")
"""Methods that are audited by pairs of points: mechanisms for every point and mechanisms for places."""


def _recorder() -> Record:
    """Load the recorder of the location service, whose packages are an extra."""
    require("service", "lrgeo")
    return cast("Record", registered(_RECORDERS, "service", "target"))


def attack_service(request: AttackRequest) -> Attacked:
    """Attack a mode of the location service by the recorded traffic of its clients, or by borders of places.

    Modes are ``"sound"``, ``"every-point"``, ``"places-only"``, and ``"published"`` with the distribution
    ``discreet-reproduction``; the sound mode needs the extra of the service. Findings are as of ``attack_borders`` or
    ``attack_places``.

    Raises
    ------
    InvalidProblemError
        For options other than ``mode``, ``epsilon`` and those of how an attack is run.
    """
    from discreet.evaluate.simulate.borders import BORDER_MODES, attack_borders
    from discreet.evaluate.simulate.location import attack_places

    request.only(("mode", "epsilon"))
    if request.mode in BORDER_MODES:
        return attack_borders(request)
    if request.mode == "published":
        outcome: Attacked = load(PUBLISHED_ATTACK, "mode", "published")(request)
        return outcome
    return attack_places(request, _recorder())


def audit_location(request: AuditRequest) -> Audit:
    """Audit a mechanism for locations by the name of its method, or the service that publishes one.

    Without ``points`` places are audited; with it, pairs of points, which the methods ``every-point`` and
    ``places-only`` need and ``service`` may have. The service needs an extra.

    Raises
    ------
    InvalidProblemError
        For an unknown method.
    """
    from discreet.evaluate.audit.lrgeo import DEFAULT, audit_places
    from discreet.evaluate.simulate.borders import audit_points, audit_service_points
    from discreet.evaluate.simulate.location import audit_service

    service = request.method == "service"
    names = sorted([DEFAULT, *_POINTWISE, "service", *PUBLISHED_AUDITS["lrgeo"]])
    if request.method is not None and request.method not in names:
        raise InvalidProblemError("method", f"one of {', '.join(names)}", repr(request.method))
    if request.method in _POINTWISE:
        return audit_points(request)
    if request.points is not None and not service:
        expected = f"none but with the methods {', '.join(_POINTWISE)} and service"
        raise InvalidProblemError("points", expected, request.points)
    if not service:
        return audit_places(request)
    judge = audit_service if request.points is None else audit_service_points
    return judge(request, _recorder())


def methods_by_mechanism(*mechanisms: str, unproven: bool) -> str:
    """List the methods of some mechanisms in one line, those of this library alone.

    Parameters
    ----------
    mechanisms
        Names of the mechanisms.
    unproven
        Whether methods without a guarantee are listed, too.

    Examples
    --------
    >>> methods_by_mechanism("submodular", unproven=False).startswith("submodular: ")
    True
    """
    tables = {
        "hierarchy": COUNT_METHODS,
        "kanonymity": TABLE_METHODS,
        "metricdp": METHODS,
        "submodular": CHOICE_METHODS,
    }
    names = {
        mechanism: [
            name
            for name, record in (
                tables[mechanism] if unproven else tables[mechanism].proven
            ).items()
            if record.where.startswith("discreet.")
        ]
        for mechanism in mechanisms
    }
    return "; ".join(f"{mechanism}: {', '.join(names[mechanism])}" for mechanism in mechanisms)
