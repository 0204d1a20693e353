"""Tables that differ in one odd row: real processes give one status, one shape of output, and one set of files.

Noise is not seeded, so that values which depend on it are compared by kind alone; all else has to be equal.
"""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import warm
from discreet.core.guarantee import PureDP
from discreet.ledger import Ledger

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.ledger import Charge

COMMAND = "from discreet.cli import main; main()"

FRAME = """
import sys
import polars as pl
from discreet import PureDP
from discreet.artefact import OutputFile, ReleaseFiles
from discreet.ledger import Ledger

kind = sys.argv[1]
table = pl.read_csv("table.csv", truncate_ragged_lines=True, encoding="utf8-lossy")
book = {"budget": Ledger("l.db"), "dataset": "d"}
if kind == "select":
    from discreet.artefact.choice import choice_content as content
    from discreet.submodular import Coverage, UniformMatroid, plan

    one = PureDP(1, "add-remove-one")
    objective = Coverage.spec(edges=("client", "candidate"))
    planned = plan(["n", "s"], UniformMatroid(2, 1), one, objective=objective)
    file = OutputFile("--output", "out.choice", content)
else:
    from discreet.hierarchy import contingency, plan

    one, regions = PureDP(1, "add-remove-person"), [("GA",), ("NY",)]
    if kind == "sizes":
        from discreet.artefact.counts import counts_content as content

        sizes = {"unit": "home", "quantity": "number", "max_quantity": 3, "max_size": 9}
        planned = plan(regions, one, columns=["state"], **sizes)
    else:
        from discreet.artefact.counts import counts_content as content

        domain = {"sex": ["F", "M"]}
        planned = contingency.plan(regions, one, columns=["state"], domain=domain)
    file = OutputFile("--output", "out.csv", lambda made: content(made, ".csv"))
made = planned.release(table, **book, outputs=ReleaseFiles([file]))
print(made)
"""

PEOPLE = ["home,state,sex,number"]
PEOPLE += [f"{at // 2},{'GA' if at % 4 < 2 else 'NY'},{'FM'[at % 2]},1" for at in range(24)]
EDGES = ["client,candidate", *(f"{at},{'ns'[at % 2]}" for at in range(24))]

_PAID = "--epsilon 1 --ledger l.db --dataset d --neighbors"
_PERSON = f"--regions state --region-list regions.csv -o out.csv {_PAID} add-remove-person"
COMMANDS = {
    "sizes": "counts {table} --unit home --quantity number --max-quantity 3 --max-size 9 "
    f"--measurements nm.parquet --report page.html {_PERSON}",
    "categories": f"counts {{table}} --by sex --domain domain.json {_PERSON}",
    "select": "select --coverage {table} --candidates candidates.csv --matroid uniform:1 "
    f"-o out.choice {_PAID} add-remove-one",
}

ODD: dict[str, dict[str, bytes]] = {
    "counts": {
        "key": b"1,Secret,F,1",
        "missing": b",,,",
        "not-a-number": b"NaN,GA,nan,NaN",
        "other-type": b"Secret,GA,Secret,Secret",
        "undecodable": b"1,GA,Secr\xe9t,1",
        "undecodable-unit": b"Secr\xe9t,GA,F,1",
        "zero-byte": b"1,GA,Se\0cret,1",
        "short": b"1,GA",
        "long": b"1,GA,F,1,Secret",
        "blank": b"",
        "none": b"1,GA,F,1",
    },
    "select": {
        "partner": b"3,Secret",
        "missing": b",",
        "not-a-number": b"NaN,NaN",
        "other-type": b"Secret,n",
        "undecodable": b"3,Secr\xe9t",
        "undecodable-client": b"Secr\xe9t,n",
        "zero-byte": b"3,Se\0cret",
        "short": b"3",
        "long": b"3,n,Secret",
        "blank": b"",
        "none": b"3,n",
    },
}
"""Rows by what is odd in them; "none" is an ordinary one."""

NOISY = re.compile(
    r"charge|left|gaps?|lower|upper|chosen|names|digest|charged|counts_digest|table|release_id"
    r"|outputs|bytes|versions"
)
"""Keys whose values depend on noise, on the id of the release, or on the file."""


@dataclass(frozen=True)
class Seen:
    """What a process left to see: its status, outputs and files without what depends on noise, and its terminal."""

    status: int
    out: object
    files: dict[str, object]
    charges: object
    private: tuple[str, ...]
    public: tuple[str, ...]


def shape(value: Any, key: str = "") -> Any:
    """Replace values that depend on noise by their kind."""
    if isinstance(value, dict):
        return {name: shape(one, name) for name, one in value.items()}
    if NOISY.fullmatch(key):
        return type(value).__name__
    if isinstance(value, list):
        return [shape(one, key) for one in value]
    return plain(value) if isinstance(value, str) else value


def plain(text: str) -> str:
    """Replace ids, digests and numbers, which depend on noise."""
    # Which candidate is chosen is noise, too.
    text = re.sub(r"(?m)^(chosen +)\w+", r"\1#", text)
    return re.sub(r"[0-9a-f]{20,}|-?\d[\d.,]*(e[-+]?\d+)?", "#", text)


def file_shape(path: Path) -> object:
    """Describe a file: fields of JSON, columns and keys of a table, headings of a page without numbers."""
    if path.suffix in {".json", ".choice"}:
        return shape(json.loads(path.read_bytes()))
    if path.suffix == ".html":
        # Sentences, rows and drawings depend on noise; titles and names of columns do not.
        page = path.read_text(encoding="utf-8")
        return [plain(text) for text in re.findall(r"<(?:title|h[1-6]|th)\b[^>]*>([^<]*)", page)]
    table = pl.read_csv(path) if path.suffix == ".csv" else pl.read_parquet(path)
    noisy = [name for name in table.columns if name in {"count", "value", "noisy"}]
    return table.schema, table.drop(noisy).rows()


def charge_shape(charge: Charge) -> object:
    """Describe a line of the ledger: all its fields, and the names of its outputs."""
    outputs = [Path(path).name for path in charge.outputs]
    return shape({**vars(charge), "guarantee": charge.guarantee.to_dict(), "outputs": {}}), outputs


def write(folder: Path, kind: str, ending: str, odd: Sequence[bytes]) -> None:
    """Write the inputs of a command, and a ledger."""
    rows = EDGES if kind == "select" else PEOPLE
    if ending == ".parquet":
        names = rows[0].split(",")
        cells = [next(csv.reader([row])) for row in rows[1:]]
        typed = [[None if cell == "" else cell for cell in row] for row in cells]
        for row in odd:
            given = next(csv.reader(io.StringIO(row.decode("latin-1"))), [])
            given = (given + [""] * len(names))[: len(names)]
            typed.append([None if cell == "" else cell for cell in given])
        columns = dict(zip(names, map(list, zip(*typed, strict=True)), strict=True))
        table = pl.DataFrame(columns, schema=dict.fromkeys(names, pl.String))
        # A declared type, whose NaN and null are values of rows.
        first = pl.col(names[0]).cast(pl.Float64, strict=False)
        table.with_columns(first).write_parquet(folder / f"table{ending}")
    else:
        lines = b"".join(row + b"\n" for row in (*map(str.encode, rows), *odd))
        (folder / f"table{ending}").write_bytes(lines)
    (folder / "regions.csv").write_text("state\nGA\nNY\n", encoding="utf-8")
    (folder / "domain.json").write_text('{"sex": ["F", "M"]}', encoding="utf-8")
    (folder / "candidates.csv").write_text("candidate\nn\ns\n", encoding="utf-8")
    neighbors: Any = "add-remove-one" if kind == "select" else "add-remove-person"
    Ledger.create(folder / "l.db", "d", PureDP(9, neighbors))


def run(folder: Path, kind: str, entrance: str, odd: Sequence[bytes], *more: str) -> Seen:
    """Run a command, or a program with a frame, on a table with odd rows."""
    folder.mkdir(parents=True)
    ending = ".parquet" if entrance == "parquet" else ".csv"
    write(folder, kind, ending, odd)
    before = {path.name for path in folder.iterdir()}
    code, arguments = FRAME, [kind]
    if entrance != "frame":
        code, arguments = COMMAND, COMMANDS[kind].format(table=f"table{ending}").split()
    process = warm.run(*arguments, *more, code=code, cwd=folder)
    assert process.returncode == 0, process.stderr
    told = process.stderr.replace("discreet: compiling, first run only\n", "").splitlines()
    made = sorted(path for path in folder.iterdir() if path.name not in before)
    book = Ledger(folder / "l.db").history("d")
    return Seen(
        process.returncode,
        shape(json.loads(process.stdout)) if "--json" in more else plain(process.stdout),
        {path.name: file_shape(path) for path in made},
        [charge_shape(one) for one in book],
        tuple(line for line in told if "PRIVATE" in line),
        tuple(line for line in told if "PRIVATE" not in line and "is running" not in line),
    )


def odd_rows(kind: str) -> dict[str, bytes]:
    return ODD["select" if kind == "select" else "counts"]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("neighbors")


@cache
def without(folders: Path, kind: str, entrance: str, *more: str) -> Seen:
    """Run on the table that has no odd row."""
    return run(folders / f"{kind}-{entrance}-{len(more)}", kind, entrance, [], *more)


def check(folders: Path, kind: str, entrance: str, name: str, *more: str) -> None:
    """Compare a table with its neighbor."""
    row = odd_rows(kind)[name]
    one = without(folders, kind, entrance, *more)
    # Quick and slow tests share some cases.
    folder = folders / f"{kind}-{entrance}-{name}-{len(list(folders.iterdir()))}"
    other = run(folder, kind, entrance, [row], *more)
    assert one.private == ()
    assert (other.status, other.out) == (one.status, one.out)
    assert other.files == one.files
    assert len(one.files) == {"select": 1, "categories": 2}.get(
        kind, 2 if entrance == "frame" else 5
    )
    assert other.charges == one.charges
    assert other.public == one.public
    assert "Secr" not in "".join(other.private)


def slow(*case: str) -> Any:
    """Return a case that only slow runs try."""
    return pytest.param(*case, marks=pytest.mark.slow)


@pytest.mark.jit
@pytest.mark.parametrize("kind", ["select", slow("sizes"), slow("categories")])
def test_a_quote_changes_nothing_in_a_file_without_quoting(folders: Path, kind: str) -> None:
    """Without the option such a file is refused, since by RFC 4180 it holds no table."""
    more = ("--json", "--quotes", "none")
    row = b'3"Secret,n"' if kind == "select" else b'1,"GA,Secret"F,1'
    one = without(folders, kind, "csv", *more)
    other = run(folders / f"{kind}-quote", kind, "csv", [row], *more)
    assert (other.status, other.out, other.files) == (one.status, one.out, one.files)
    assert (other.charges, other.public) == (one.charges, one.public)
    assert "Secr" not in "".join(other.private)


QUICK = [
    ("sizes", "csv", "undecodable-unit", "--json"),
    ("categories", "parquet", "not-a-number"),
    ("select", "frame", "other-type"),
]


@pytest.mark.jit
@pytest.mark.parametrize(("kind", "entrance", "name", "more"), [(*one, "")[:4] for one in QUICK])
def test_one_odd_row_changes_nothing_but_the_noise(
    folders: Path, kind: str, entrance: str, name: str, more: str
) -> None:
    check(folders, kind, entrance, name, *([more] if more else []))


EVERY = [
    (kind, entrance, name)
    for kind in COMMANDS
    for entrance in ("csv", "parquet", "frame")
    for name in odd_rows(kind)
]


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "entrance", "name"), EVERY)
def test_no_odd_row_changes_anything_but_the_noise(
    folders: Path, kind: str, entrance: str, name: str
) -> None:
    check(folders, kind, entrance, name, *(["--json"] if entrance != "frame" else []))


@pytest.mark.jit
@pytest.mark.parametrize(
    ("kind", "entrance"), [("sizes", "parquet"), slow("categories", "frame"), slow("select", "csv")]
)
def test_the_number_of_odd_rows_is_on_the_terminal_alone(
    tmp_path: Path, kind: str, entrance: str
) -> None:
    """Of 613 rows that are left out, the number stands in a line that is marked private, and nowhere else."""
    name = "partner" if kind == "select" else "key"
    folder = tmp_path / "many"
    seen = run(folder, kind, entrance, [odd_rows(kind)[name]] * 613)
    number = re.compile(r"(?<![0-9a-f.])613(?![0-9a-f])")
    assert number.search("\n".join(seen.private))
    assert not number.search("\n".join(seen.public))
    for path in folder.iterdir():
        if path.stem != "table":
            assert not number.search(path.read_bytes().decode("latin-1")), path.name
