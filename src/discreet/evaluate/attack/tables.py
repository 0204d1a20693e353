"""All attacks on a published table of people together, by those who know some of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discreet.core.errors import InvalidProblemError
from discreet.evaluate.attack.finding import Attacked
from discreet.evaluate.attack.inference import attack_inference
from discreet.evaluate.attack.intersection import attack_intersection
from discreet.evaluate.attack.linkage import attack_linkage
from discreet.evaluate.attack.people import people_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.core.guarantee import KAnonymity
    from discreet.evaluate.attack.request import AttackRequest
    from discreet.kanonymity.problem import Attribute

_PRIVATE = "computed from the original: for the curator, not for publication"


def attack_tables(
    published: Any,  # noqa: ANN401 - a frame
    guarantee: KAnonymity,
    attributes: Sequence[Attribute],
    request: AttackRequest,
    *,
    files: dict[str, Any],
    again: tuple[Any, Sequence[Attribute]] | None = None,
) -> Attacked:
    """Link people to a published table, infer what is sensitive of them, and intersect it with a second table.

    InvalidProblemError also for a second table without a sensitive column, and as the single attacks raise it. Each
    attack compares all classes with all people.

    Parameters
    ----------
    published
        The table, as a frame.
    guarantee
        What is claimed of it.
    attributes
        How its quasi-identifiers are read.
    request
        The sensitive column, the probability of a miss, and the name to report under.
    files
        Frames: ``"original"``, the people of the table; where there are such, ``"others"`` like those who are not in
        it, and ``"population"``, all people.
    again
        A second table of the same people, and how its quasi-identifiers are read.

    Returns
    -------
    Attacked
        Computed from the original, hence private.

    Raises
    ------
    InvalidProblemError
        For a sensitive column that is missing.
    """
    secret = request.sensitive
    for name, table in {**files, "target": published}.items():
        if secret is not None and name != "population" and secret not in table.columns:
            raise InvalidProblemError("sensitive", "a column of every table", repr(secret))
    people = people_of(files["original"], attributes, secret)
    strangers = people_of(files["others"], attributes, secret) if "others" in files else None
    crowd = people_of(files["population"], attributes) if "population" in files else None
    findings = attack_linkage(
        published, guarantee, people, others=strangers, population=crowd, failure=request.failure
    )
    if secret is not None:
        findings += attack_inference(
            published, secret, people, others=strangers, failure=request.failure
        )
    if again is not None:
        if secret is None:
            raise InvalidProblemError("sensitive", "a column, with a second table", "none")
        second, kinds = again
        strange = None
        if strangers is not None:
            strange = (strangers, people_of(files["others"], kinds, secret))
        findings += attack_intersection(
            (published, second),
            secret,
            (people, people_of(files["original"], kinds, secret)),
            others=strange,
            failure=request.failure,
        )
    return Attacked(request.target, tuple(findings), {"k": guarantee.k}, _PRIVATE)
