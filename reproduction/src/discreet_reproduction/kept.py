"""Kept results: what the commands wrote, by digest, so that a page cannot state what was not run.

``results.json`` beside this module has a record of each kept run; the tables themselves are in
``reproduction/results`` of the repository. To keep the results in a folder::

    python -m discreet_reproduction.kept papers/
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass
from hashlib import sha256
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, final

from discreet_reproduction.registry import ITEMS
from discreet_reproduction.scales import SCALES, Scale, Status

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_NAME = "results.json"


@final
@dataclass(frozen=True)
class Result:
    """Record of a finished run of an item.

    Parameters
    ----------
    command
        The command that computes it again.
    status
        A word of :class:`~discreet_reproduction.scales.Status`.
    detail
        The ratio of a small run, or the limit of a bounded one.
    seconds
        Processor seconds, those of child processes included.
    digest
        SHA-256 of the table in CSV, in hexadecimal digits.
    """

    command: str
    status: str
    detail: str
    seconds: float
    digest: str


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal digits."""
    return sha256(path.read_bytes()).hexdigest()


def results() -> dict[str, Result]:
    """Return the record of each kept run, by item.

    Examples
    --------
    >>> results()["hierarchy/table5"].status
    'full'
    """
    text = resources.files("discreet_reproduction").joinpath(_NAME).read_text(encoding="utf-8")
    return {name: Result(**record) for name, record in json.loads(text).items()}


def state(name: str, known: Mapping[str, Result]) -> tuple[str, str, str]:
    """Return status, processor seconds and detail of an item as people read them.

    Parameters
    ----------
    name
        The item.
    known
        Records by item, as from :func:`results`.

    Examples
    --------
    >>> state("metricdp/table3", {})
    ('not run', '', 'no result is kept')
    >>> state("hierarchy/figure7", {})
    ('not run', 'about 3 h', 'no result is kept')
    """
    kept = known.get(name)
    if kept is not None:
        return kept.status, f"{kept.seconds:.3g} s", kept.detail
    hours = SCALES.get(name, Scale()).hours
    return Status.NOT_RUN.value, f"about {hours:g} h" if hours else "", "no result is kept"


def keep(source: Path, tables: Path, record: Path) -> list[str]:
    """Copy the tables in a folder that ``discreet reproduce`` wrote, and record their runs.

    Parameters
    ----------
    source
        The folder of ``--output``.
    tables
        Folder of the kept tables.
    record
        The file ``results.json``.

    Returns
    -------
    list of str
        Items that were kept.

    Raises
    ------
    ValueError
        For a table that is not the one that its run wrote.
    """
    known = json.loads(record.read_text(encoding="utf-8")) if record.exists() else {}
    tables.mkdir(parents=True, exist_ok=True)
    names = []
    for path in sorted(source.glob("*.json")):
        written = json.loads(path.read_text(encoding="utf-8"))
        if "run" not in written or written["name"] not in ITEMS:
            continue
        result = Result(**written["run"])
        table = path.with_suffix(".csv")
        if digest_of(table) != result.digest:
            raise ValueError(f"{table.name} is not the table that the run wrote")
        (tables / table.name).write_bytes(table.read_bytes())
        known[written["name"]] = asdict(result)
        names.append(written["name"])
    lines = [f"{json.dumps(name)}: {json.dumps(known[name])}" for name in ITEMS if name in known]
    record.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    return names


def main(folders: Sequence[str]) -> None:
    """Keep the results in folders."""
    package = Path(__file__).parent
    for folder in folders:
        kept = keep(Path(folder), package.parents[1] / "results", package / _NAME)
        sys.stdout.write("".join(f"{name}\n" for name in kept))


if __name__ == "__main__":
    main(sys.argv[1:])
