"""Private choices as files: JSON with the choice, the matroid that it was made under, and the proof of its guarantee.

A file holds what a release holds, and nothing else that depends on records: the chosen candidates, by number and by
name where they have one, the public facts, the accountant's lines, the matroid whole, and the provenance.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.artefact.layout import (
    FORMAT,
    check_public,
    check_version,
    expect,
    head,
    is_whole,
    read_json,
)
from discreet.artefact.placing import replace_file
from discreet.artefact.sidecar import FileContent
from discreet.core.certificate import Certificate
from discreet.core.errors import InvalidProblemError
from discreet.core.exact import to_fraction
from discreet.core.guarantee import guarantee_from_dict
from discreet.core.outcome import Provenance, PublicInput, Release
from discreet.submodular.matroids.base import Matroid
from discreet.submodular.matroids.stored import matroid_from_dict, matroid_to_dict
from discreet.submodular.problem import AccountLine, ChoiceFacts, Selection

if TYPE_CHECKING:
    import os
    from fractions import Fraction

CHOICE = "choice"


_FACTS = ("n_elements", "n_kinds", "rank", "decomposable", "neighbors")


def save_choice(release: Release[Selection], path: str | os.PathLike[str]) -> None:
    """Write a choice to a file, whole or not at all.

    Linear in the names and in the matroid.

    Parameters
    ----------
    release
        What ``submodular.release``, or a plan, gave.
    path
        The file, replaced if it is there.

    Raises
    ------
    InvalidProblemError
        For a file that cannot be written, or a matroid of a class that is not the library's.

    Examples
    --------
    >>> import tempfile
    >>> from discreet import PureDP, submodular
    >>> f, matroid = submodular.Coverage([[True, False]] * 9), submodular.UniformMatroid(2, 1)
    >>> made = submodular.release(f, matroid, PureDP(1, "add-remove-one"))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_choice(made, f"{folder}/team.choice")
    ...     submodular.verify(load_choice(f"{folder}/team.choice")).passed
    True
    """
    replace_file(Path(path), choice_content(release).data)


def load_choice(path: str | os.PathLike[str]) -> Release[Selection]:
    """Read a choice from a file of :func:`save_choice`; linear in the file, plus what building the matroid takes.

    Raises
    ------
    InvalidProblemError
        For a file that cannot be read, is no choice, has another version, or has parts that do not fit each other, such
        as a matroid other than the one that was assumed public.

    Notes
    -----
    What it claims, :func:`discreet.submodular.verify` checks anew.
    """
    with is_whole(path) as data:
        stated = read_json(data)
        expect(stated.get("kind") == CHOICE, "kind", repr(CHOICE), "another kind of file")
        expect(stated["format"] == FORMAT, "schema_version", FORMAT, stated["format"])
        check_version(stated)
        release = _decoded(stated)
        matroid = release.result.matroid
        if isinstance(matroid, Matroid):
            assumed = PublicInput("matroid", matroid.digest, "")
            check_public(release.provenance, [assumed])
        return release


def choice_content(release: Release[Selection]) -> FileContent:
    """Render the file of :func:`save_choice`, for :class:`discreet.artefact.ReleaseFiles`; it has no record beside it.

    Linear in the names and in the matroid. Raises InvalidProblemError for a choice that does not store its matroid.
    """
    selection = release.result
    if not isinstance(selection.matroid, Matroid):
        raise InvalidProblemError("matroid", "a choice that stores its matroid", "none")
    facts = selection.statement
    stated = {
        **head(CHOICE),
        "guarantee": release.guarantee.to_dict(),
        "chosen": [list(pair) for pair in selection.chosen],
        "names": list(selection.names),
        "candidates": None if selection.candidates is None else list(selection.candidates),
        "matroid": matroid_to_dict(selection.matroid),
        "statement": {
            **{name: getattr(facts, name) for name in _FACTS},
            "sensitivity": str(facts.sensitivity),
        },
        "coefficient": None if selection.coefficient is None else str(selection.coefficient),
        "per_draw": selection.per_draw,
        "mechanism": selection.mechanism,
        "accounting": [line.to_dict() for line in selection.accounting],
        "certificate": release.certificate.to_dict(),
        "provenance": release.provenance.to_dict(),
    }
    return FileContent(json.dumps(stated, indent=1, allow_nan=False).encode() + b"\n")


def _decoded(stated: dict[str, Any]) -> Release[Selection]:
    """Read a choice from its JSON; raise for parts that do not fit each other, such as names of other elements."""
    facts, coefficient, named = stated["statement"], stated["coefficient"], stated["candidates"]
    selection = Selection(
        tuple((_integer(element), _integer(kind)) for element, kind in stated["chosen"]),
        ChoiceFacts(
            _integer(facts["n_elements"]),
            _integer(facts["n_kinds"]),
            _integer(facts["rank"]),
            _typed(facts["decomposable"], bool, "decomposable", "true or false"),
            _number(facts["sensitivity"], "sensitivity"),
            facts["neighbors"],
        ),
        None if coefficient is None else _number(coefficient, "coefficient"),
        _integer(stated["per_draw"]),
        _typed(stated["mechanism"], str, "mechanism", "a name"),
        tuple(_line(line) for line in stated["accounting"]),
        matroid_from_dict(stated["matroid"]),
        None
        if named is None
        else tuple(_typed(name, str | int, "candidates", "text or integers") for name in named),
    )
    n, count = selection.statement.n_elements, len(selection.candidates or ())
    expect(selection.candidates is None or count == n, "candidates", f"{n} names", count)
    # As text: 1 and true are equal, and not the same name. Without candidates the names are numbers.
    if json.dumps(list(selection.names)) != json.dumps(stated["names"]):
        raise InvalidProblemError("names", "those of the chosen elements", "other names")
    return Release(
        selection,
        guarantee_from_dict(stated["guarantee"]),
        Certificate.from_dict(stated["certificate"]),
        Provenance.from_dict(stated["provenance"]),
    )


def _line(stated: dict[str, Any]) -> AccountLine:
    """Return a line of account from plain values; raise InvalidProblemError for other types."""
    line = AccountLine.from_dict(stated)
    _integer(line.draws)
    _typed(line.rule, str, "rule", "a name")
    return line


def _typed(value: Any, kind: Any, field: str, expected: str) -> Any:  # noqa: ANN401 - as read from JSON
    """Refuse a value of another kind; true and false are no numbers."""
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise InvalidProblemError(field, expected, type(value).__name__)
    return value


def _integer(value: object) -> int:
    """Return an integer; refuse anything else."""
    return int(_typed(value, int, "choice", "integers"))


def _number(value: object, field: str) -> Fraction:
    """Return an exact number from text; refuse anything else."""
    return to_fraction(_typed(value, str, field, "a number as text"), field)
