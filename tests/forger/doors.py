"""Runs of every command on broken files: what comes out must hold nothing that stands in a private file alone.

:func:`prepared` makes a folder with files that are right, :func:`run_of` the command line and the broken files of a
number, :func:`tried` runs it in this process and looks at its status and at both streams, descriptors included.
"""

from __future__ import annotations

import base64
import csv
import io
import json
import os
import random
import sys
import tempfile
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from discreet.cli.app import run
from forger.engine import Hole, Looked

if TYPE_CHECKING:
    from collections.abc import Iterator

BIRD = "Kanari7431"
"""A word that stands in private files alone, in cells, in headers, in bytes."""

NUMBER = 817_263_549
"""A number of which the same is true."""

SHOWN = "Amsel2208"
"""A word for the records of published tables, which are public: messages may say what stands there."""

ENDS = frozenset({0, 1, 2, 3, 4, 5})
"""Documented ends of a run that nobody interrupted, without that of a failure inside."""

ROWS = 24
PLAIN: dict[str, list[Any]] = {
    "age": [20 + i % 4 for i in range(ROWS)],
    "sex": ["FM"[i % 2] for i in range(ROWS)],
    "zip": [f"10{i % 3}" for i in range(ROWS)],
    "client": [f"c{i % 5}" for i in range(ROWS)],
    "candidate": ["F", "M"] * (ROWS // 2),
    "home": [f"h{i % 8}" for i in range(ROWS)],
}
DP = ("--epsilon", "1", "--neighbors")
ANONYMIZE = ("anonymize", "-k", "2", "--quasi", "age,sex", "--unassigned", "keep", "-o", "out.csv")
COUNTS = (
    "--regions",
    "sex",
    "--region-list",
    "regions.csv",
    "--max-size",
    "9",
    *DP,
    "add-remove-person",
)

COMMANDS: dict[str, tuple[str, ...]] = {
    "counts": ("counts", "TABLE", "--unit", "home", *COUNTS, "-o", "counts.csv"),
    "counts of people": (
        "counts",
        "TABLE",
        "--unit",
        "home",
        "--quantity",
        "age",
        "--max-quantity",
        "50",
        *COUNTS,
    ),
    "counts of units": ("counts", "--units", "TABLE", "--size", "age", *COUNTS),
    "select": (
        "select",
        "--coverage",
        "TABLE",
        "--candidates",
        "regions.csv",
        "--matroid",
        "uniform:1",
        *DP,
        "add-remove-one",
    ),
    "select, similarity": (
        "select",
        "--similarity",
        "ARRAY",
        "--matroid",
        "uniform:1",
        *DP,
        "add-remove-one",
    ),
    "anonymize": (*ANONYMIZE, "TABLE", "--method", "mondrian", "--sensitive", "zip"),
    "anonymize, diverse": (
        *(*ANONYMIZE, "TABLE", "--method", "mondrian"),
        *("--sensitive", "zip", "--l-diversity", "2"),
    ),
    "anonymize, memory": (*ANONYMIZE, "TABLE", "--memory", "1GB"),
    "risk": ("risk", "TABLE", "--quasi", "age,sex", "--sensitive", "zip"),
    "verify": ("verify", "TABLE", "-k", "2", "--quasi", "age,sex"),
    "verify, against": ("verify", "published.csv", "--against", "TABLE"),
    "verify, record": ("verify", "RECORD"),
    "verify, channel": ("verify", "CHANNEL", "--optimality"),
    "attack": ("attack", "published.csv", "--against", "TABLE"),
    "attack, channel": ("attack", "CHANNEL"),
    "audit, channel": ("audit", "CHANNEL"),
    "info": ("info", "CHANNEL"),
    "sample": ("sample", "CHANNEL", "--secret", "1"),
    "design": (
        "design",
        "--points",
        "PLACES",
        "--unit",
        "km",
        "--epsilon",
        "1",
        "--loss",
        "euclidean",
        "-o",
        "new.channel",
    ),
    "query": ("query", "noisy.csv", "--region", "all"),
    "budget create": (
        "budget",
        "create",
        "new.db",
        "--dataset",
        "census",
        *DP,
        "add-remove-person",
    ),
    "budget show": ("budget", "show", "LEDGER"),
    "budget history": ("budget", "history", "LEDGER", "--dataset", "census"),
    "budget check": ("budget", "check", "LEDGER", "--digest", "1:00"),
    "compare": ("compare", "nothing", "--epsilon", "1"),
    "locate": ("locate", "--server", "nowhere", "--at", "0,0", "--state", "RECORD"),
    "serve": ("serve", "no-such-file"),
    "studio": ("studio", "--port", "none"),
    "demo": ("demo", "-o", "fine.csv"),
    "doctor": ("doctor", "--strange"),
}
"""Every command at least once; words in capitals are files that are broken."""

STARTERS = frozenset({"serve", "studio", "demo", "compare"})
"""Commands that would run for minutes if a strange word were right by chance."""

STRANGE = (
    "",
    "-1",
    "0",
    "nan",
    "1e300000000",
    "1/0",
    "\x1b[2J",
    "9" * 400,
    "no/such/x",
    "age",
    "age,age",
    "*",
    "\u202e",
    "--json",
)


def prepared(folder: Path) -> None:
    """Make what every run starts with; the working directory is then this folder."""
    os.chdir(folder)
    Path("regions.csv").write_text("sex\nF\nM\n", encoding="utf-8")
    pl.DataFrame(PLAIN).write_csv("fine.csv")
    Path("places.csv").write_text("x,y\n0,0\n1,0\n0,2\n", encoding="utf-8")
    for line in (
        [*ANONYMIZE[:-1], "published.csv", "fine.csv", "--method", "mondrian"],
        [
            "design",
            "--grid",
            "2x2",
            "--cell",
            "1",
            "--unit",
            "km",
            "--epsilon",
            "1",
            "-o",
            "fine.channel",
        ],
        [
            *("counts", "fine.csv", "--unit", "home", *COUNTS, "-o", "counts.csv"),
            *("--measurements", "noisy.csv"),
        ],
        ["budget", "create", "fine.db", "--dataset", "census", *DP, "add-remove-person"],
    ):
        status, out, err = streams(line)
        assert status == 0, (line, out, err)


def run_of(number: int) -> tuple[str, list[str]]:
    """Write the broken files of a number, and give the name of the command and its line."""
    chance = random.Random(f"door {number}")  # noqa: S311 - broken files, no noise
    # Those that read private files, three times as often.
    often = [
        *COMMANDS,
        *(
            name
            for name, line in COMMANDS.items()
            for _ in range(2)
            if {*line} & {"TABLE", "ARRAY"}
        ),
    ]
    name = chance.choice(often)
    line = [*COMMANDS[name]]
    made: dict[str, Any] = {
        "TABLE": _table,
        "ARRAY": _array,
        "CHANNEL": lambda chance: _bytes("fine.channel", "broken.channel", chance),
        "LEDGER": lambda chance: _bytes("fine.db", "broken.db", chance),
        "RECORD": _record,
        "PLACES": lambda chance: _bytes("places.csv", "broken-places.csv", chance),
    }
    line = [made[word](chance) if word in made else word for word in line]
    if name not in STARTERS and chance.random() < 0.25:
        # An option's value, or a word in its place; a file stays the file that it is.
        at = chance.randrange(1, len(line))
        line[at] = chance.choice(STRANGE)
    if chance.random() < 0.5:
        line.append("--json")
    return name, line


def _table(chance: random.Random) -> str:
    """Break a private table: mostly cells, so that a run gets past the reader."""
    columns = {key: [*values] for key, values in PLAIN.items()}
    for _ in range(chance.choice([0, 1, 1, 2, 5])):
        key = chance.choice([*columns])
        at = chance.randrange(ROWS)
        columns[key][at] = chance.choice(
            [BIRD, NUMBER, -NUMBER, "", None, f"{BIRD},1", 0.5, NUMBER / 7, columns[key][at - 1]]
        )
    shape = chance.choice(["plain"] * 6 + ["rows", "columns", "names", "types", "bytes"])
    if shape == "rows":
        keep = sorted(chance.sample(range(ROWS), chance.randrange(ROWS)))
        columns = {key: [values[at] for at in keep] for key, values in columns.items()}
    if shape == "columns":
        columns[BIRD] = [BIRD] * len(columns["age"])
    if shape == "names":
        columns[BIRD] = columns.pop(chance.choice([*columns]))
    name = f"broken.{chance.choice(['csv', 'parquet'])}"
    if name.endswith("csv"):
        text = io.StringIO()
        out = csv.writer(
            text, lineterminator=chance.choice(["\n", "\r\n"]), delimiter=chance.choice(",,,;\t")
        )
        out.writerow(columns)
        out.writerows(zip(*columns.values(), strict=True))
        data = text.getvalue().encode(chance.choice(["utf-8", "utf-8", "utf-8", "utf-16"]))
    else:
        data = _parquet(columns, chance, strange=shape == "types")
    if shape == "bytes":
        data = _broken(data, chance)
    Path(name).write_bytes(data)
    return name


def _parquet(columns: dict[str, list[Any]], chance: random.Random, *, strange: bool) -> bytes:
    table = {}
    for key, values in columns.items():
        texts = [None if value is None else str(value) for value in values]
        try:
            table[key] = pl.Series(values, dtype=pl.Int64 if key == "age" else pl.String)
        except (TypeError, OverflowError, pl.exceptions.PolarsError):
            table[key] = pl.Series(texts)
        if strange and chance.random() < 0.5:
            table[key] = _strangely(texts, chance.randrange(7))
    file = io.BytesIO()
    pl.DataFrame({key: series.alias(key) for key, series in table.items()}).write_parquet(file)
    return file.getvalue()


def _strangely(texts: list[str | None], kind: int) -> pl.Series:
    """Give a column a type that few readers expect."""
    n = len(texts)
    if kind < 3:
        made: list[Any] = [
            [[x] for x in texts],
            [{BIRD: x} for x in texts],
            [None if x is None else x.encode() for x in texts],
        ]
        return pl.Series(made[kind])
    if kind == 3:
        return pl.Series(texts, dtype=pl.Categorical)
    if kind == 4:
        return pl.Series([NUMBER] * n).cast(pl.Datetime("ns"))
    if kind == 5:
        return pl.Series([NUMBER / 3, float("nan")] * n)[:n]
    return pl.Series([2**55] * n).cast(pl.Datetime("us"))


def _broken(data: bytes, chance: random.Random, word: str = BIRD) -> bytes:
    """Change bytes: flip some, cut, repeat, or put a word among them."""
    made = bytearray(data)
    for _ in range(chance.choice([1, 1, 3, 10])):
        at = chance.randrange(len(made) + 1)
        change = chance.choice(["flip", "flip", "cut", "twice", "word", "zero"])
        if change == "flip" and at < len(made):
            made[at] ^= 1 << chance.randrange(8)
        elif change == "cut" and chance.random() < 0.3:
            del made[at:]
        elif change == "twice":
            made[at:at] = made[at : at + 40]
        elif change == "word":
            made[at:at] = word.encode()
        elif change == "zero":
            made[at:at] = b"\0"
    return bytes(made)


def _array(chance: random.Random) -> str:
    table = np.random.default_rng(chance.randrange(99)).random((6, 6))
    table = (table + table.T) / 2
    table[chance.randrange(6), chance.randrange(6)] = chance.choice(
        [NUMBER, np.nan, np.inf, -1, 0.5]
    )
    kinds: list[Any] = [
        table,
        table,
        table,
        table > 0.5,
        table[:3],
        np.array([[BIRD]]),
        table.astype("f4"),
        table[None],
    ]
    file = io.BytesIO()
    np.save(file, chance.choice(kinds))
    data = file.getvalue()
    Path("broken.npy").write_bytes(_broken(data, chance) if chance.random() < 0.3 else data)
    return "broken.npy"


def _bytes(source: str, name: str, chance: random.Random) -> str:
    data = Path(source).read_bytes()
    Path(name).write_bytes(_broken(data, chance) if chance.random() < 0.7 else data)
    return name


def _record(chance: random.Random) -> str:
    """Break the record beside a table, or leave it as it is and break the table."""
    Path("record.csv").write_bytes(Path("published.csv").read_bytes())
    stated = json.loads(Path("published.csv.discreet.json").read_text(encoding="utf-8"))
    key = chance.choice([*stated])
    changed = chance.choice(
        [None, [], {}, SHOWN, 2208, True, stated[chance.choice([*stated])], stated[key]]
    )
    text = json.dumps({**stated, key: changed}).encode()
    Path("record.csv.discreet.json").write_bytes(
        _broken(text, chance, SHOWN) if chance.random() < 0.3 else text
    )
    return "record.csv"


def streams(line: list[str]) -> tuple[int, str, str]:
    """Run a command in this process, and give its status and what it shows on both streams."""
    return outcome(line)[:3]


def outcome(line: list[str]) -> tuple[int, str, str, str]:
    """Run a command, and give also what libraries write to descriptor 2 by themselves, which leads nowhere then."""
    with _caught() as caught:
        status = run(line)
    return status, caught[0], caught[1], caught[2]


@contextmanager
def _caught() -> Iterator[list[str]]:
    found: list[str] = []
    files = [tempfile.TemporaryFile() for _ in range(3)]  # noqa: SIM115 - closed below
    kept = [os.dup(number) for number in (1, 2)]
    before = sys.stdout, sys.stderr
    for number, file in zip((1, 2), (files[0], files[2]), strict=True):
        os.dup2(file.fileno(), number)
    sys.stdout = os.fdopen(os.dup(1), "w", encoding="utf-8", errors="backslashreplace")
    # As the command does: what is ours goes through a descriptor of its own.
    ours = os.dup(files[1].fileno())
    sys.stderr = os.fdopen(ours, "w", encoding="utf-8", errors="backslashreplace")
    try:
        yield found
    finally:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.close()
        sys.stdout, sys.stderr = before
        for number, old in zip((1, 2), kept, strict=True):
            os.dup2(old, number)
            os.close(old)
        for file in files:
            file.seek(0)
            found.append(file.read().decode("utf-8", "replace"))
            file.close()


SECRETS = (BIRD, str(NUMBER), base64.b64encode(BIRD.encode()).decode()[:12])


MOST_SECONDS = 30.0
"""What a command may take for small files, on a busy machine too."""


def tried(number: int) -> Looked:
    """Make one run, and say what became of it; one that takes too long, once more, since the machine may be busy."""
    for _ in range(2):
        began = time.monotonic()
        seen = _tried(number)
        took = time.monotonic() - began
        if took <= MOST_SECONDS:
            return seen
    name, line = run_of(number)
    return _hole(number, name, line, f"it takes {took:.1f} seconds")


def _tried(number: int) -> Looked:
    name, line = run_of(number)
    try:
        status, out, err, aside = outcome(line)
    except MemoryError:
        return _hole(number, name, line, "it takes more memory than it may")
    except BaseException as error:  # noqa: BLE001 - nothing leaves a command, whatever it is
        return _hole(number, name, line, f"it raises {type(error).__name__}")
    told = out + err
    # Also where nobody sees it.
    whole = told + aside
    private = [secret for secret in SECRETS if secret in whole and secret not in " ".join(line)]
    if private:
        at = whole.index(private[0])
        return _hole(number, name, line, f"a canary: {whole[max(0, at - 80) : at + 40]!r}")
    if status not in ENDS:
        return _hole(number, name, line, f"status {status}: {err[-300:]}")
    if "Traceback (most recent" in told or "panicked at" in told:
        return _hole(number, name, line, f"a trace: {told[-300:]}")
    return Looked(
        number,
        f"{'past the reader' if status != 2 or _is_past(err) else 'at the reader'}: status {status}",
    )


def _is_past(err: str) -> bool:
    """Tell whether a refusal is about what was read, and not about reading it, nor about what was typed."""
    return any(
        word in err for word in ("rows", "column", "cell", "classes", "values", "region", "weights")
    )


def _hole(number: int, name: str, line: list[str], why: str) -> Looked:
    return Looked(number, "hole", Hole(number, (name, " ".join(line)), why))
