"""Anonymized tables as files: the table, and beside it what holds for it and how its cells are read."""

from __future__ import annotations

import os
from dataclasses import dataclass, fields
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from discreet.artefact.layout import claims, expect, refuse_malformed, unreadable, whole_numbers
from discreet.artefact.placing import unwritable
from discreet.artefact.sidecar import (
    digest_of,
    place_table,
    read_meta,
    table_content,
    write_content,
)
from discreet.core.certificate import Certificate
from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import KAnonymity, guarantee_from_dict
from discreet.core.outcome import Provenance
from discreet.core.tree import Tree
from discreet.kanonymity.problem import (
    Attribute,
    Categorical,
    Dates,
    Numeric,
    Prefixes,
    Rounded,
    Taxonomy,
)
from discreet.tables.rooms import make_private
from discreet.tables.writing import bytes_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

    from discreet.core.outcome import Anonymization
    from discreet.tables.foreign_files import Labels

ANONYMOUS = "anonymous-table"


@final
@dataclass(frozen=True, eq=False)
class AnonymousTable:
    """What stands beside a published table.

    Parameters
    ----------
    guarantee
        What holds for it.
    certificate
        The checks that were made when it was written.
    provenance
        How it was made.
    attributes
        How cells of the quasi-identifiers are read.
    altered
        Whether the bytes of the table are others than those that were written.
    """

    guarantee: KAnonymity
    certificate: Certificate
    provenance: Provenance
    attributes: tuple[Attribute, ...]
    altered: bool


def save_anonymous(
    made: Anonymization[pl.DataFrame, Any],
    path: str | os.PathLike[str],
    attributes: Sequence[Attribute] = (),
    labels: Labels | None = None,
) -> None:
    """Write an anonymized table, with ``FILE.discreet.json`` beside it.

    Linear in the cells; the rendered file is in memory.

    Parameters
    ----------
    made
        What :func:`discreet.kanonymity.anonymize` returned, with a table of Polars. Its diagnostics are not written:
        they are computed from the original.
    path
        A file that ends in ``.csv``, ``.parquet``, ``.xlsx`` or ``.sav``, replaced if it is there.
    attributes
        How cells of the quasi-identifiers are read, so that the table can be verified against the original.
    labels
        Labels of a file of SPSS, as :func:`discreet.tables.reading.read_labels` reads them; those of published columns
        and values are written.

    Raises
    ------
    InvalidProblemError
        For a certificate that failed, or a file that cannot be written.
    """
    meta, suffix = meta_of(made, attributes), Path(path).suffix
    write_content(table_content(made.table, suffix, ANONYMOUS, meta, labels), path)


def place_anonymous(
    new: Path,
    made: Anonymization[Path, Any],
    schema: Mapping[str, str],
    rows: int,
    attributes: Sequence[Attribute] = (),
) -> None:
    """Rename a written anonymized table to its final name and write its record beside it.

    Parameters
    ----------
    new
        The table, on the same disk.
    made
        An anonymization whose table is the path where it goes.
    schema
        Its columns and the names of their types.
    rows
        Number of its rows.
    attributes
        How cells are read.

    Raises
    ------
    InvalidProblemError
        For a certificate that failed, or a file that cannot be written.
    """
    meta = meta_of(made, attributes)
    try:
        place_table(new, made.table, ANONYMOUS, meta, columns=schema, rows=rows)
    except OSError as error:
        raise unwritable(made.table, error) from None


def load_anonymous(path: str | os.PathLike[str]) -> AnonymousTable:
    """Read what stands beside a table, and see whether it is the table that was written.

    `path` is the table, whose record ``FILE.discreet.json`` is beside it. Bytes that differ from the record are no
    error: `altered` of the result states them. Reads the table once, for its hash.

    Raises
    ------
    InvalidProblemError
        For files that cannot be read, or parts that do not fit each other.
    """
    meta = read_meta(path)
    expect(meta.get("kind") == ANONYMOUS, "path", "an anonymized table", repr(meta.get("kind")))
    try:
        digest = digest_of(path)
    except OSError as error:
        raise unreadable(path, error) from None
    table = meta.get("table")
    altered = not isinstance(table, dict) or digest != table.get("sha256")
    return table_of(meta, altered=altered, path=path)


def table_of(
    meta: Mapping[str, Any], *, altered: bool, path: str | os.PathLike[str]
) -> AnonymousTable:
    """Return the :class:`AnonymousTable` of metadata that :func:`meta_of` returned.

    Parameters
    ----------
    meta
        The record.
    altered
        Whether the bytes of the table are others than those that were written.
    path
        The table, for messages.

    Raises
    ------
    InvalidProblemError
        For parts that do not fit each other.
    """
    with refuse_malformed(path, "a whole .discreet.json of an anonymized table"):
        guarantee = guarantee_from_dict(meta["guarantee"])
        if not isinstance(guarantee, KAnonymity):
            raise InvalidProblemError("guarantee", "k-anonymity", "another")
        return AnonymousTable(
            guarantee,
            Certificate.from_dict(meta["certificate"]),
            Provenance.from_dict(meta["provenance"]),
            tuple(_attribute(stated) for stated in meta["attributes"]),
            altered,
        )


def meta_of(made: Anonymization[Any, Any], attributes: Sequence[Attribute]) -> dict[str, Any]:
    """Return the metadata of an anonymized table.

    ``"guarantee"``, ``"certificate"``, ``"provenance"``, ``"attributes"``. All are plain values; `attributes` are the
    kinds of the quasi-identifiers.

    Raises
    ------
    InvalidProblemError
        For a certificate that failed.
    """
    stated = [_stated(attribute) for attribute in attributes]
    return {**claims(made, "made"), "attributes": stated}


_KINDS: dict[str, Any] = {
    "numeric": Numeric,
    "categorical": Categorical,
    "dates": Dates,
    "prefixes": Prefixes,
    "rounded": Rounded,
    "taxonomy": Taxonomy,
}
"""Kind of an attribute in a record -> its class, whose fields the record has by their names."""


def _stated(attribute: Attribute) -> dict[str, Any]:
    """Return an attribute as a plain mapping with its ``kind``; a tree as labels and parents."""
    kind = next(kind for kind, made in _KINDS.items() if isinstance(attribute, made))
    stated: dict[str, Any] = {"kind": kind}
    for name in (one.name for one in fields(attribute)):
        value = getattr(attribute, name)
        if isinstance(value, Tree):
            stated |= {"labels": list(value.labels), "parents": value.parents.tolist()}
        elif isinstance(value, tuple):
            stated[name] = [str(one) if isinstance(one, Fraction) else one for one in value]
        else:
            stated[name] = value
    return stated


def _attribute(stated: Mapping[str, Any]) -> Attribute:
    """Return the attribute of a plain mapping `stated`, the inverse of :func:`_stated`.

    Raises InvalidProblemError for an unknown kind or parents that are no integers, KeyError for a missing part.
    """
    expect(stated["kind"] in _KINDS, "attributes", "a kind that is known", repr(stated["kind"]))
    made, values = _KINDS[stated["kind"]], dict(stated)
    if made is Taxonomy:
        parents = whole_numbers(stated["parents"], "parents")
        values["tree"] = Tree(tuple(stated["labels"]), parents)
    own = {one.name: values[one.name] for one in fields(made)}
    own = {name: tuple(v) if isinstance(v, list) else v for name, v in own.items()}
    attribute: Attribute = made(**own)
    return attribute


def recorded_models(made: AnonymousTable | Anonymization[Any, Any]) -> dict[str, list[Any]]:
    """Return the privacy models that an anonymized table states: column -> list of models, empty if it states none.

    Raises
    ------
    InvalidProblemError
        For models that cannot be read; none is passed over.
    """
    from discreet.kanonymity.models import read_models

    stated = made.provenance.parameters.get("models", [])
    if not isinstance(stated, list | tuple):
        raise InvalidProblemError("--require", "what the record states in its own form", "none")
    return dict(read_models([str(text) for text in stated], field="--require"))


def recorded_k_map(made: AnonymousTable) -> int | None:
    """Return the k of the k-map that the record states, or ``None`` if it states none.

    Raises InvalidProblemError for anything but an integer of 2 or more.
    """
    stated = made.provenance.parameters.get("k_map")
    if stated is not None and (type(stated) is not int or stated < 2):
        raise InvalidProblemError("--k-map", "a whole number of 2 or more in the record", "another")
    return stated


def save_persons(path: str | os.PathLike[str], name: str, persons: Sequence[int]) -> Path:
    """Write the curator's key beside a published table: the number of the person of each row, for its owner alone.

    The columns are ``row``, from 1, and `name`, empty for -1. An OSError of the system is raised as it is; a key that
    was there is then gone. Linear in the rows.

    Parameters
    ----------
    path
        The published table.
    name
        The column that told persons apart.
    persons
        Number of the person of each row, -1 for none.

    Returns
    -------
    Path
        ``FILE.persons.private.csv``, replaced if it is there.
    """
    import polars as pl

    key = key_of_persons(path)
    key.unlink(missing_ok=True)
    numbers = pl.Series(name, persons, dtype=pl.Int64)
    table = pl.DataFrame({"row": range(1, len(persons) + 1)}).with_columns(
        numbers.replace_strict([-1], [None], default=numbers)
    )
    make_private(key).write_bytes(bytes_of(table, ".csv"))
    return key


def key_of_persons(path: str | os.PathLike[str]) -> Path:
    """Return the path of the curator's key of a published table."""
    return Path(f"{os.fspath(path)}.persons.private.csv")


def unmapped(made: AnonymousTable) -> list[str]:
    """Return phrases for what the record states and this verification did not check.

    K-map, or that classes hold persons. The list is empty if the record states neither. InvalidProblemError for a k
    of the k-map that is no integer above 1.
    """
    k_map = recorded_k_map(made)
    persons: list[str] = []
    if made.guarantee.unit == "person":
        persons = [
            "that classes hold k persons, not only rows: --person does, with the curator's key"
        ]
    if k_map is None:
        return persons
    return [
        *persons,
        f"that each class covers {k_map} people or more of the population: --population does",
    ]
