"""What files of counts and of tables by region share: the tree, public facts, the claim, one sentence for damage."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from discreet.artefact.layout import whole_numbers
from discreet.artefact.sidecar import table_content
from discreet.core.errors import MALFORMED, InvalidProblemError
from discreet.core.exact import to_fraction
from discreet.core.guarantee import PureDP, ZeroConcentratedDP, guarantee_from_dict
from discreet.core.tree import Tree

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator, Mapping
    from fractions import Fraction

    import polars as pl

    from discreet.artefact.sidecar import FileContent
    from discreet.core.outcome import Provenance, PublicInput, Release

__all__ = [
    "check_digest",
    "check_public",
    "claim_of",
    "parts_fit",
    "read_scales",
    "read_tree",
    "release_content",
    "state_scales",
    "state_tree",
]


class _Frame(Protocol):
    """Public facts about regions."""

    @property
    def digest(self) -> str:
        """SHA-256 of all of them."""
        ...

    def assumed_public(self) -> tuple[PublicInput, ...]:
        """List them, each with its hash."""
        ...


@contextmanager
def parts_fit(path: str | os.PathLike[str]) -> Iterator[None]:
    """Say of the file whatever is wrong with its parts."""
    try:
        yield
    except MALFORMED as error:
        detail = f"no {error}" if isinstance(error, KeyError) else str(error)
        raise InvalidProblemError(
            "path", "a whole discreet artefact", f"{path}: {detail}"
        ) from None


def release_content(
    release: Release[Any], frame: Mapping[str, Any], suffix: str, kind: str
) -> FileContent:
    """Render a release as a tidy table with its record.

    Parameters
    ----------
    release
        The release; its result has ``to_frame``.
    frame
        The public facts in plain values.
    suffix
        ``.csv`` or ``.parquet``.
    kind
        What the record says that it is.

    Raises
    ------
    InvalidProblemError
        For a release whose certificate failed, or another suffix.
    """
    if not release.certificate.passed:
        raise InvalidProblemError("release", "a certificate that passed", "one that failed")
    table: pl.DataFrame = release.result.to_frame("polars")
    meta = {
        "guarantee": release.guarantee.to_dict(),
        "certificate": release.certificate.to_dict(),
        "provenance": release.provenance.to_dict(),
        "frame": frame,
    }
    return table_content(table, suffix, kind, meta)


def state_tree(tree: Tree) -> dict[str, Any]:
    """Write a tree in plain values; refuse labels that are neither text nor integers."""
    labels = list(tree.labels)
    if not all(type(label) in (str, int) for label in labels):
        raise InvalidProblemError("labels", "text or integers", "others")
    return {"labels": labels, "parents": tree.parents.tolist()}


def read_tree(stated: Mapping[str, Any]) -> Tree:
    """Read what :func:`state_tree` wrote."""
    return Tree(tuple(stated["labels"]), whole_numbers(stated["parents"], "parents"))


def check_digest(frame: _Frame, stated: Mapping[str, Any]) -> None:
    """Refuse public facts that have another hash than is stated."""
    if frame.digest != stated["digest"]:
        raise InvalidProblemError("frame", "the digest that is stated", "another one")


def check_public(frame: _Frame, provenance: Provenance) -> None:
    """Refuse a record that assumed other facts to be public."""
    stated = {public.name: public.digest for public in provenance.assumed_public}
    for public in frame.assumed_public():
        if stated.get(public.name) != public.digest:
            raise InvalidProblemError(public.name, "the hash that is stated", "another")


def claim_of(meta: Mapping[str, Any]) -> tuple[PureDP | ZeroConcentratedDP, bool]:
    """Read the guarantee of a measurement, and whether its noise was seeded."""
    guarantee = guarantee_from_dict(meta["guarantee"])
    if not isinstance(guarantee, PureDP | ZeroConcentratedDP):
        raise InvalidProblemError("guarantee", "pure or zero-concentrated", "another")
    seeded = meta["measurement"]["seeded"]
    if not isinstance(seeded, bool):
        raise InvalidProblemError("seeded", "true or false", type(seeded).__name__)
    return guarantee, seeded


def state_scales(scales: Iterable[Fraction | None]) -> list[str | None]:
    """Write scales of noise as text."""
    return [None if one is None else str(one) for one in scales]


def read_scales(given: Iterable[Any]) -> tuple[Fraction | None, ...]:
    """Read what :func:`state_scales` wrote."""
    return tuple(None if one is None else to_fraction(one, "scales") for one in given)
