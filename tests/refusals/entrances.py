"""The entrances, each with one case: Python with frames and a path, the command here and as a process, the studio."""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
from contextlib import contextmanager
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import httpx
import polars as pl

import warm
from discreet import KAnonymity
from discreet.core.errors import DiscreetError, InvalidProblemError
from discreet.kanonymity import anonymize
from discreet.kanonymity.problem import Categorical, Taxonomy
from discreet.tables.taxonomies import read_taxonomy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from refusals.cases import Case

Row = tuple[str, ...]
REFUSED, PUBLISHED = True, False


@dataclass(frozen=True)
class Verdict:
    """What an entrance made of a case: refused with a sentence, or published rows, in any order."""

    refused: bool
    named: str
    sentence: str
    rows: frozenset[Row] = frozenset()
    invalid: bool = True
    code: str = ""


NAMES = {
    "TABLE": "table",
    "The file": "table",
    "quasi_identifiers": "quasi",
    "-k": "k",
    "guarantee": "k",
    "k": "k",
}


def neutral(field: str, sentence: str, path: str, case: Case) -> tuple[str, str]:
    """Take the names of options, files and labels out of a sentence."""
    named = NAMES.get(field.removeprefix("--"), field.removeprefix("--"))
    if named.lower() in case.quasi:
        # A sentence of the page begins with a capital.
        named = named.lower()
    if named in case.quasi and case.named in {"quasi", ""}:
        # The page has a field for each column.
        named = "quasi"
    if named in case.quasi and case.named == "taxonomy":
        named = "taxonomy"
    words = sentence.replace(path, "FILE").replace(Path(path).name, "FILE").replace("--", "")
    words = re.sub(r"\b(TABLE|The file|table|quasi_identifiers)\b", "", words)
    # What the command alone can do besides.
    words = re.sub(r" \(show-columns [^)]*\)", "", words).replace(" NAME,", ",")
    # What a page says of a file that is sent as it is.
    words = words.replace(", in a file of a value and what stands for it on each line", "")
    words = re.sub(r"\S*taxonomy\.csv: ", "", words)
    return named, re.sub(r"\s+", " ", words).strip(" :.")


def refusal(error: DiscreetError, path: str, case: Case) -> Verdict:
    """Read an error of the library."""
    if isinstance(error, InvalidProblemError):
        named, words = neutral(
            error.field, f"expected {error.expected}, got {error.got}", path, case
        )
        return Verdict(REFUSED, named, words, code=error.code)
    return Verdict(REFUSED, "k", str(error), invalid=False)


def stored(case: Case, folder: Path) -> Path:
    """Write the table of a case as a file."""
    if isinstance(case.table, bytes):
        path = folder / "table.csv"
        path.write_bytes(case.table)
    else:
        path = folder / "table.parquet"
        case.table.write_parquet(path)
    return path


def taxonomy_of(case: Case, folder: Path) -> Path:
    """Write the taxonomy of a case as a file."""
    path = folder / "taxonomy.csv"
    path.write_bytes(case.taxonomy)
    return path


def texts(table: Any) -> frozenset[Row]:
    """Write published rows as a file of CSV has them."""
    frame = table if isinstance(table, pl.DataFrame) else pl.from_pandas(table)
    return rows_of(frame.write_csv())


def rows_of(text: str) -> frozenset[Row]:
    """Read the rows of a published CSV file."""
    read = csv.reader(io.StringIO(text, newline=""))
    next(read)
    return frozenset(tuple(row) for row in read)


def by_frame(table: Any, case: Case) -> Verdict:
    """Call the library with a frame or a path."""
    path = str(table) if isinstance(table, Path) else "no file"
    try:
        attributes: list[Any] = [Categorical(name) for name in case.categorical]
        if case.taxonomy:
            with TemporaryDirectory() as folder:
                tree = read_taxonomy(taxonomy_of(case, Path(folder)))
            attributes.append(Taxonomy(case.quasi[0], tree))
        made = anonymize(
            table,
            KAnonymity(2, case.quasi),
            attributes=attributes,
            sensitive=case.sensitive,
            drop=case.drop,
        )
    except DiscreetError as error:
        return refusal(error, path, case)
    return Verdict(PUBLISHED, "", "", texts(made.table))


def by_path(path: Path, case: Case) -> Verdict:
    """Call the library with a path."""
    return by_frame(path, case)


def arguments(path: Path, output: Path, case: Case) -> list[str]:
    """Write the options of the command."""
    line = ["anonymize", str(path), "-k", "2", "-q", "-o", str(output)]
    for option, names in (
        ("--quasi", case.quasi),
        ("--sensitive", case.sensitive),
        ("--drop", case.drop),
        ("--categorical", case.categorical),
    ):
        line += [part for name in names for part in (option, name)]
    if case.taxonomy:
        line += ["--taxonomy", f"{case.quasi[0]}={taxonomy_of(case, output.parent)}"]
    return line


def run_command(line: list[str], capsys: Any) -> tuple[int, str, str]:
    """Run a command, in this process, or as one of its own where nothing captures its output; return all it says."""
    from discreet.cli.app import run

    if capsys is None:
        made = warm.run(*line)
        return made.returncode, made.stdout, made.stderr
    capsys.readouterr()
    status = run(line)
    told = capsys.readouterr()
    return status, told.out, told.err


def by_command(path: Path, output: Path, case: Case, capsys: Any) -> Verdict:
    """Run the command, in this process, or as one of its own where nothing captures its output."""
    status, _, err = run_command([*arguments(path, output, case), "--json"], capsys)
    if status == 0:
        return Verdict(PUBLISHED, "", "", rows_of(output.read_text(encoding="utf-8")))
    assert not output.exists()
    told = json.loads(err.strip().splitlines()[-1])["error"]
    if status == 3:
        return Verdict(REFUSED, "k", told["message"], invalid=False)
    assert (status, told["kind"]) == (2, "InvalidProblemError"), told
    sentence = f"expected {told['expected']}, got {told['got']}"
    named, words = neutral(told["argument"], sentence, str(path), case)
    return Verdict(REFUSED, named, words, code=told.get("code", ""))


class Fields(HTMLParser):
    """The fields of a form with the values that its page proposes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.values: dict[str, str] = {}
        self.workspace = ""
        self._select = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.workspace = given.get("data-workspace", self.workspace)
        if tag == "select":
            self._select = given.get("name", "")
        elif tag == "option" and self._select:
            if "selected" in given or self._select not in self.values:
                self.values[self._select] = given.get("value", "")
        elif tag in ("input", "textarea") and given.get("name"):
            self.values[given["name"]] = given.get("value", "")


def page_refusal(told: dict[str, Any], path: Path, case: Case) -> Verdict:
    """Read a refusal of the studio: the body of HTTP 400, or the last event of a job."""
    if not told.get("field"):
        words = str(told["message"]).strip(".")
        return Verdict(REFUSED, "k", f"{words[:1].lower()}{words[1:]}", invalid=False)
    words = str(told["message"]).partition(": ")[2]
    named, words = neutral(told["field"], words, str(path), case)
    return Verdict(REFUSED, named, words, code=told["code"])


@dataclass(frozen=True)
class Studio:
    """A studio of a process of its own, asked as its page does."""

    client: httpx.Client
    base: str

    def __call__(self, path: Path, case: Case) -> Verdict:
        """Load the table, fill in the form that the page shows, and publish."""
        page = Fields(self.client.get(self.base).text)
        at = f"{self.base}{page.workspace}/"
        try:
            return self._published(at, path, case)
        finally:
            self.client.post(f"{at}leave")

    def _published(self, at: str, path: Path, case: Case) -> Verdict:
        name = {"name": path.name, "encoding": case.encoding}
        loaded = self.client.post(f"{at}table", params=name, content=path.read_bytes())
        if loaded.status_code != 200:
            return self._refused(loaded, path, case)
        form = Fields(loaded.text).values
        columns = re.findall(r"<legend>(.*?)</legend>", loaded.text)
        roles = {"quasi": case.quasi, "sensitive": case.sensitive, "drop": case.drop}
        for number, column in enumerate(columns):
            given = [role for role, names in roles.items() if column in names]
            form[f"role-{number}"] = given[0] if given else form[f"role-{number}"]
            drawn = case.taxonomy and column == case.quasi[0]
            if drawn or column in case.categorical:
                form[f"kind-{number}"] = "taxonomy"
                listed = {"column": str(number), "how": "file" if drawn else "values"}
                outline = self._post(f"{at}outline", listed | {"text": case.taxonomy.decode()})
                if outline.status_code != 200:
                    return self._refused(outline, path, case)
                form[f"outline-{number}"] = outline.text
        form |= {"k": "2", "seconds": "20"}
        for step in ("risk", "run"):
            told = self._post(f"{at}{step}", form)
            if told.status_code >= 400:
                return self._refused(told, path, case)
        lines = self.client.get(f"{at}events").text.splitlines()
        events = [json.loads(line[6:]) for line in lines if line.startswith("data: ")]
        if failed := next((event for event in events if event["type"] == "failed"), None):
            return page_refusal(failed, path, case)
        page_of_result = self.client.get(f"{at}result").text
        link = re.search(r'href="(download/table)"', page_of_result)
        assert link, events
        return Verdict(PUBLISHED, "", "", rows_of(self.client.get(f"{at}{link[1]}").text))

    def _post(self, url: str, form: dict[str, str]) -> httpx.Response:
        return self.client.post(url, content=json.dumps(form))

    def _refused(self, told: httpx.Response, path: Path, case: Case) -> Verdict:
        assert told.status_code == 400, told.text
        return page_refusal(told.json(), path, case)


@contextmanager
def studio_process() -> Iterator[Studio]:
    """Start a studio, and end it."""
    command = [*warm.command(), "studio", "--no-browser", "--json", "--port", "0"]
    with (
        TemporaryDirectory() as folder,
        # Releases are kept in the folder where a studio was started.
        subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, cwd=folder, env=warm.WHERE
        ) as process,
    ):
        try:
            assert process.stdout
            text = ""
            while not text.rstrip().endswith("}"):
                line = process.stdout.readline()
                assert line, text
                text += line
            base = json.loads(text)["url"]
            origin = base.rpartition("/")[0].rpartition("/")[0]
            with httpx.Client(headers={"origin": origin}, timeout=120) as client:
                yield Studio(client, base)
        finally:
            process.terminate()
