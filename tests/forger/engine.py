"""The forger: mutants of right files, shown to verifiers, and judged again by an oracle where they pass.

A verifier says what it accepts. An oracle knows what is true, by brute force from what the file states, and shares no
code with the verifier. A mutant that is accepted and false is a hole; so are two verifiers that contradict each other,
an error that no verifier documents, and a file that takes too long. What the oracle cannot judge is counted by reason.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, final

from discreet.core.errors import DiscreetError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from forger.mutations import Catalogue

MOST_SECONDS = 5.0
"""What a verifier may take for a small file, on a busy machine too."""


@final
@dataclass(frozen=True)
class Ruling:
    """What a verifier says of a file.

    Parameters
    ----------
    answer
        ``"accepted"``, ``"refused"``, or ``"not checked"`` where it says itself that it is not the one to say.
    said
        What it tells of a file that it accepts, for the oracle.
    """

    answer: Literal["accepted", "refused", "not checked"]
    said: Any = None


@final
@dataclass(frozen=True, eq=False)
class Format:
    """A kind of file, and all that is needed to look for holes in its verification.

    Parameters
    ----------
    name
        What the kind is called.
    catalogue
        Originals and what is done to them.
    write
        ``write(parts, path, number)``: puts a file together from parts, hashes sealed anew. It may leave a hash as it
        was for some numbers, and raise for parts that no file can hold.
    verifiers
        ``verifier(path)`` gives a :class:`Ruling`. An error of this library counts as a refusal; any other as a hole.
    oracle
        ``oracle(path, said)`` gives nothing where all that the file states is true, ``"beyond: why"`` where it cannot
        say, and otherwise why it is false. `said` is what the first verifier told.
    """

    name: str
    catalogue: Catalogue
    write: Callable[[Any, Path, int], None]
    verifiers: Mapping[str, Callable[[Path], Ruling]]
    oracle: Callable[[Path, Any], str]


@final
@dataclass(frozen=True)
class Hole:
    """A mutant that verification should not have passed, or not in this way.

    Parameters
    ----------
    number
        Of the mutant in the catalogue.
    changes
        What was changed.
    why
        What is wrong.
    """

    number: int
    changes: tuple[str, ...]
    why: str


@final
@dataclass(frozen=True)
class Looked:
    """What became of one mutant: a word for the tally, and the hole where there is one."""

    number: int
    outcome: str
    hole: Hole | None = None


@final
@dataclass
class Tally:
    """Counts over many mutants.

    Parameters
    ----------
    counts
        By outcome: ``refused``, ``accepted and true``, ``beyond: ...``, ``not written`` and ``unchanged`` (which are
        no mutants), and ``hole``; ``not checked`` counts verdicts of a verifier beside the first.
    holes
        All that was found.

    Examples
    --------
    >>> tally = Tally()
    >>> tally.add(Looked(0, "refused"))
    >>> print(tally)
    1 mutants: 1 refused
    """

    counts: Counter[str] = field(default_factory=Counter)
    holes: list[Hole] = field(default_factory=list)

    @property
    def mutants(self) -> int:
        """How many mutants were shown to the verifiers."""
        aside = ("not written", "unchanged", "not checked")
        return sum(count for name, count in self.counts.items() if name not in aside)

    def add(self, seen: Looked) -> None:
        """Count one."""
        outcome, _, aside = seen.outcome.partition("; ")
        self.counts[outcome] += 1
        if aside:
            self.counts[aside] += 1
        if seen.hole is not None:
            self.holes.append(seen.hole)

    def __str__(self) -> str:
        listed = ", ".join(f"{count} {name}" for name, count in sorted(self.counts.items()))
        return f"{self.mutants} mutants: {listed}"


def forge(
    kind: Format,
    numbers: Iterable[int],
    folder: Path,
    *,
    on_progress: Callable[[Looked], None] | None = None,
) -> Tally:
    """Make mutants, show them to the verifiers, and judge again what is accepted.

    Parameters
    ----------
    kind
        The kind of file.
    numbers
        Numbers of mutants.
    folder
        Where files are written, one after the other under one name.
    on_progress
        Called after each mutant.

    Returns
    -------
    Tally
        Counts by outcome, and the holes. It does not raise for a hole.

    Examples
    --------
    A verifier that believes what a file says of its sum, and an oracle that adds up:

    >>> import json, tempfile
    >>> from pathlib import Path
    >>> from forger.engine import Format, Ruling, forge
    >>> from forger.mutations import Catalogue
    >>> def write(parts, path, number):
    ...     path.write_text(json.dumps(parts))
    >>> def trusting(path):
    ...     stated = json.loads(path.read_text())
    ...     known = isinstance(stated, dict) and {*stated} == {"parts", "sum"} and isinstance(stated["parts"], list)
    ...     whole = known and all(type(x) is int for x in [*stated["parts"], stated["sum"]])
    ...     return Ruling("accepted" if whole and stated["sum"] > 0 else "refused")
    >>> def adds_up(path, said):
    ...     stated = json.loads(path.read_text())
    ...     return "" if sum(stated["parts"]) == stated["sum"] else "the sum is another"
    >>> catalogue = Catalogue(({"parts": [1, 2], "sum": 3},))
    >>> kind = Format("sums", catalogue, write, {"trusting": trusting}, adds_up)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     found = forge(kind, range(200), Path(folder))
    >>> len(found.holes) > 0, found.holes[0].why
    (True, 'accepted by trusting and false: the sum is another')
    """
    tally = Tally()
    for number in numbers:
        seen = look(kind, number, folder)
        tally.add(seen)
        if on_progress is not None:
            on_progress(seen)
    return tally


def look(kind: Format, number: int, folder: Path) -> Looked:
    """Make one mutant, and see what becomes of it; the rest is as in :func:`forge`."""
    mutant = kind.catalogue.mutant(number)
    if all(mutant.parts is not one for one in kind.catalogue.originals):
        path = folder / "mutant"
        try:
            kind.write(mutant.parts, path, number)
        except (
            ArithmeticError,
            AttributeError,
            LookupError,
            RecursionError,
            TypeError,
            ValueError,
        ):
            return Looked(number, "not written")
    else:
        return Looked(number, "unchanged")
    answers: dict[str, Ruling] = {}
    for name, verifier in kind.verifiers.items():
        try:
            answers[name], took = _ruled(verifier, path)
        except MemoryError:
            return _hole(mutant.changes, number, f"{name} takes more memory than it may")
        except Exception as error:  # noqa: BLE001 - an error that no verifier documents is what is looked for
            return _hole(
                mutant.changes, number, f"{name} fails: {type(error).__name__}: {error}"[:300]
            )
        if took > MOST_SECONDS:
            return _hole(mutant.changes, number, f"{name} takes {took:.1f} seconds")
    return _judged(kind, number, mutant.changes, path, answers)


def _ruled(verifier: Callable[[Path], Ruling], path: Path) -> tuple[Ruling, float]:
    """Give what a verifier says, and its seconds: the lesser ones of two where the first took too long."""
    took = math.inf
    for _ in range(2):
        began = time.monotonic()
        try:
            answer = verifier(path)
        except DiscreetError:
            answer = Ruling("refused")
        took = min(took, time.monotonic() - began)
        if took <= MOST_SECONDS:
            break
    return answer, took


def _judged(
    kind: Format, number: int, changes: tuple[str, ...], path: Path, answers: dict[str, Ruling]
) -> Looked:
    given = {name: verdict.answer for name, verdict in answers.items()}
    aside = "; not checked" if "not checked" in given.values() else ""
    accepting = [name for name, answer in given.items() if answer == "accepted"]
    refusing = [name for name, answer in given.items() if answer == "refused"]
    if accepting:
        said = next(iter(answers.values())).said
        try:
            false = kind.oracle(path, said)
        except (
            ArithmeticError,
            AttributeError,
            LookupError,
            OSError,
            TypeError,
            ValueError,
        ) as error:
            # In another form than its kind has: what it states, the oracle does not guess.
            false = f"beyond: in a form that the oracle does not read ({type(error).__name__})"
        if false and not false.startswith("beyond"):
            return _hole(changes, number, f"accepted by {', '.join(accepting)} and false: {false}")
        if refusing:
            told = f"{', '.join(accepting)} accepts what {', '.join(refusing)} refuses"
            return _hole(changes, number, told)
        return Looked(number, (false or "accepted and true") + aside)
    return Looked(number, "refused" + aside)


def _hole(changes: tuple[str, ...], number: int, why: str) -> Looked:
    return Looked(number, "hole", Hole(number, changes, why))
