"""Coarsened attributes: groups of the categories of another attribute, as eight kinds of residence in three.

The groups may be of any size, and need no column in the records. A group with a category of another one is a structural
zero, so that all that holds for zeros holds for coarsened attributes: measured beside the fine attribute they are used
with their best weights, by systems of the size of the fine attribute.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from discreet.core.errors import InvalidProblemError, unknown_name
from discreet.core.options import items_of
from discreet.hierarchy.contingency.problem import Domain

if TYPE_CHECKING:
    from collections.abc import Collection


class Grouped(NamedTuple):
    """A coarsened attribute: of which one, its groups, the group of each category, and what is impossible."""

    of: str
    names: tuple[str, ...]
    codes: tuple[int, ...]
    zeros: tuple[dict[str, tuple[str, ...]], ...]


def read_groups(
    name: str, given: Mapping[str, Any], listed: Mapping[str, Any], by: Collection[str]
) -> Grouped:
    """Read ``{"of": attribute, "groups": {group: categories}}``.

    Returns the fine attribute, the names of the groups, the place of the group of each fine category, and the
    structural zeros. Linear in the categories.

    Parameters
    ----------
    name
        The coarsened attribute.
    given
        What was stated of it.
    listed
        Categories by attribute.
    by
        The attributes that are used.

    Raises
    ------
    InvalidProblemError
        For another form, an attribute that is not there or itself coarsened, and categories that are in no group or in
        several.

    Examples
    --------
    >>> stated = {"of": "age", "groups": {"minor": ["0-9", "10-17"], "adult": ["18+"]}}
    >>> made = read_groups("grown", stated, {"age": ["0-9", "10-17", "18+"]}, ["age", "grown"])
    >>> made.codes, made.zeros[1]
    ((0, 0, 1), {'grown': ('adult',), 'age': ('0-9', '10-17')})
    """
    expected = f"a list of categories of {name}, or of and groups"
    groups: Any = given.get("groups")
    fine: Any = given.get("of")
    if set(given) != {"of", "groups"} or not isinstance(groups, Mapping) or not groups:
        raise InvalidProblemError("domain", expected, repr(dict(given)))
    if isinstance(fine, str) and fine in listed and fine not in by:
        raise InvalidProblemError("by", f"{fine} too, of which {name} has groups", repr(list(by)))
    plain = [one for one in by if not isinstance(listed.get(one), Mapping)]
    if not isinstance(fine, str) or fine not in plain:
        raise unknown_name(f"domain, {name} of", str(fine), sorted(plain))
    known = [str(one) for one in listed[fine]]
    place: dict[str, int] = {}
    partition = f"each category of {fine} in one group of {name}"
    for at, (group, members) in enumerate(groups.items()):
        if isinstance(members, str) or not isinstance(members, Sequence) or not members:
            raise InvalidProblemError("domain", expected, repr(members))
        for one in map(str, members):
            if one not in known:
                raise unknown_name(f"domain, {group} of {name}", one, known)
            if one in place:
                raise InvalidProblemError("domain", partition, f"{one!r} in several")
            place[one] = at
    if left := [one for one in known if one not in place]:
        raise InvalidProblemError("domain", partition, f"{left[0]!r} in none")
    impossible = [tuple(one for one in known if place[one] != at) for at in range(len(groups))]
    zeros = tuple(
        {name: (group,), fine: other}
        for group, other in zip(groups, impossible, strict=True)
        if other
    )
    return Grouped(fine, tuple(groups), tuple(place[one] for one in known), zeros)


def read_domain(data: Mapping[str, Any], by: Sequence[str] | None = None) -> Domain:
    """Read a domain as :meth:`Domain.from_dict` does, coarsened attributes among its lists.

    A group and a category of another one are a structural zero of the result, beside the stated zeros; its
    `groups` have the fine attribute of each coarsened one, and the place of the group of each fine category.

    Parameters
    ----------
    data
        Categories by attribute, or these under ``"attributes"`` beside structural zeros under ``"zeros"``. A coarsened
        attribute has what :func:`read_groups` reads: groups that hold each category of the fine one exactly once.
    by
        Which attributes, in which order; all of them by default. A coarsened one needs its fine one among them.

    Raises
    ------
    InvalidProblemError
        As :meth:`Domain.from_dict` and :func:`read_groups`.

    Examples
    --------
    >>> grown = {"of": "age", "groups": {"minor": ["0-9", "10-17"], "adult": ["18+"]}}
    >>> read_domain({"age": ["0-9", "10-17", "18+"], "grown": grown})
    Domain(age 3 x grown 2, 6 cells, 3 of them structural zeros)
    """
    source: Any = data
    stated: Any = source.get("attributes") if isinstance(source, Mapping) else None
    lists: Any = stated if isinstance(stated, Mapping) else source
    if not isinstance(lists, Mapping) or not any(
        isinstance(one, Mapping) for one in lists.values()
    ):
        return Domain.from_dict(data, by)
    names = list(lists if by is None else items_of(by, "by", "a list of attributes"))
    grouped = {
        name: read_groups(name, lists[name], lists, names)
        for name in names
        if isinstance(lists.get(name), Mapping)
    }
    plain = {name: one for name, one in lists.items() if not isinstance(one, Mapping)}
    plain |= {name: list(one.names) for name, one in grouped.items()}
    also = [zero for one in grouped.values() for zero in one.zeros]
    stated_parts: dict[str, Any] = dict(source) if lists is stated else {}
    zeros: Any = stated_parts.get("zeros", [])
    stated_parts["zeros"] = [*zeros, *also] if isinstance(zeros, list | tuple) else zeros
    made = Domain.from_dict({**stated_parts, "attributes": plain}, names)
    return replace(made, groups={name: (one.of, one.codes) for name, one in grouped.items()})
