"""The entrances of the verbs beside ``anonymize``: Python with frames and a path, the command, the studio."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

import polars as pl

import discreet as dc
from discreet.artefact import OutputFile, ReleaseFiles
from discreet.artefact.choice import choice_content
from discreet.artefact.counts import counts_content
from discreet.core.errors import DiscreetError, InvalidProblemError
from discreet.ledger import Ledger
from discreet.submodular import Coverage, UniformMatroid, plan
from refusals.entrances import PUBLISHED, REFUSED, Fields, run_command

if TYPE_CHECKING:
    from collections.abc import Callable

    from refusals.entrances import Studio
    from refusals.releases import ReleaseCase

Neighbors = Literal["add-remove-person"]

NAMES = {
    "PEOPLE": "people",
    "The file": "people",
    "source": "people",
    "regions": "regions",
    "tree": "regions",
    "region-list": "regions",
    "The list of regions": "regions",
    "Regions": "regions",
    "TABLE": "table",
    "guarantee": "epsilon",
    "Epsilon": "epsilon",
    "Categories": "domain",
    "coverage": "source",
}
"""What options, files and fields of forms are called here."""


@dataclass(frozen=True)
class ReleaseVerdict:
    """What an entrance made of a case: refused with a sentence or published, what it charged and what it wrote."""

    refused: bool
    named: str = ""
    sentence: str = ""
    charged: bool = False
    written: bool = False
    shape: tuple[int, ...] = ()
    code: str = ""


def place(case: ReleaseCase, folder: Path) -> Path:
    """Write the files of a case and a ledger with a budget of 2; return the private table."""
    suffix = "csv" if isinstance(case.table, bytes) else "parquet"
    table = folder / f"people.{suffix}"
    if isinstance(case.table, bytes):
        table.write_bytes(case.table)
    else:
        case.table.write_parquet(table)
    assert isinstance(case.regions, bytes)
    (folder / "regions.csv").write_bytes(case.regions)
    (folder / "candidates.csv").write_text("candidate\nx\ny\nz\n", encoding="utf-8")
    lines = (line.partition(": ") for line in case.domain.splitlines())
    domain = {name: listed.split(", ") for name, _, listed in lines}
    (folder / "domain.json").write_text(json.dumps(domain), encoding="utf-8")
    Ledger.create(folder / "ledger.db", "d", dc.PureDP(2, cast("Neighbors", case.neighbors)))
    return table


def charged(folder: Path) -> bool:
    """Whether the ledger has less than it was granted."""
    return Ledger(folder / "ledger.db").account("d").left[0] < 2


def neutral(case: ReleaseCase, field: str, sentence: str, folder: Path) -> tuple[str, str]:
    """Take the names of options, files and fields out of a sentence."""
    field = field.removeprefix("--")
    named = NAMES.get(field, field)
    if case.verb == "risk" and named == "people":
        named = "table"
    if case.verb == "select" and named == "people":
        named = "source"
    words = re.sub(r"\S*(people|regions|domain)\.(csv|parquet|json)", "FILE", sentence)
    words = words.replace(str(folder), "").replace("--", "")
    words = re.sub(r"\b(PEOPLE|TABLE|The file|table|source)\b", "", words)
    return named, re.sub(r"\s+", " ", words).strip(" :.")


def refusal(case: ReleaseCase, error: DiscreetError, folder: Path) -> ReleaseVerdict:
    """Read an error of the library."""
    assert isinstance(error, InvalidProblemError), error
    named, words = neutral(case, error.field, f"expected {error.expected}, got {error.got}", folder)
    return ReleaseVerdict(REFUSED, named, words, charged(folder), code=error.code)


def shape(path: Path) -> tuple[int, ...]:
    """Count the rows and columns of a table that was written."""
    return pl.read_csv(path, infer_schema=False).shape if path.is_file() else ()


def outputs_of(case: ReleaseCase, folder: Path) -> ReleaseFiles:
    """Name the output of a release."""
    render: Callable[[Any], Any] = {
        "sizes": lambda made: counts_content(made, ".csv"),
        "categories": lambda made: counts_content(made, ".csv"),
        "select": choice_content,
    }[case.verb]
    return ReleaseFiles([OutputFile("path", folder / "out.csv", render)])


def release_by_python(case: ReleaseCase, source: Any, folder: Path) -> ReleaseVerdict:
    """Call the library with a frame or a path."""
    try:
        made = called(case, source, folder)
    except DiscreetError as error:
        verdict = refusal(case, error, folder)
        assert not (folder / "out.csv").exists()
        return verdict
    if case.verb == "risk":
        return ReleaseVerdict(PUBLISHED, shape=(made.risks["risk"].rows, made.risks["risk"].k))
    written = (folder / "out.csv").exists()
    rows = () if case.verb == "select" else shape(folder / "out.csv")
    return ReleaseVerdict(PUBLISHED, charged=charged(folder), written=written, shape=rows)


def called(case: ReleaseCase, source: Any, folder: Path) -> Any:
    """Call the public function of the verb."""
    if case.verb == "risk":
        return dc.risk(source, ["r", "sex"])
    promise = dc.PureDP(case.amount, cast("Neighbors", case.neighbors))
    charge: dict[str, Any] = {
        "budget": Ledger(folder / "ledger.db"),
        "dataset": "d",
        "outputs": outputs_of(case, folder),
    }
    if case.verb == "select":
        names = ["x", "y", "z"]
        planned = plan(
            names,
            UniformMatroid(3, 1),
            promise,
            objective=Coverage.spec(edges=("client", "candidate")),
        )
        return planned.release(source, **charge)
    shared: dict[str, Any] = {"columns": list(case.columns), "regions": str(folder / "regions.csv")}
    if case.verb == "sizes":
        return dc.counts(source, promise, unit=case.unit, max_size=3, **shared, **charge)
    domain = json.loads((folder / "domain.json").read_text(encoding="utf-8"))
    return dc.counts(source, promise, by=list(domain), domain=domain, **shared, **charge)


def arguments(case: ReleaseCase, table: Path, folder: Path) -> list[str]:
    """Write the command."""
    if case.verb == "risk":
        return ["risk", str(table), "--quasi", "r,sex", "-q"]
    budget = ["--epsilon", case.amount, "--neighbors", case.neighbors]
    budget += ["--ledger", str(folder / "ledger.db"), "--dataset", "d", "-q"]
    budget += ["-o", str(folder / "out.csv"), *case.more]
    if case.verb == "select":
        data = ["--coverage", str(table), "--candidates", str(folder / "candidates.csv")]
        return ["select", *data, "--matroid", "uniform:1", *budget]
    line = ["counts", str(table), "--regions", ",".join(case.columns)]
    line += ["--region-list", str(folder / "regions.csv")]
    if case.verb == "sizes":
        return [*line, "--unit", case.unit, "--max-size", "3", *budget]
    domain = json.loads((folder / "domain.json").read_text(encoding="utf-8"))
    return [*line, "--by", ",".join(domain), "--domain", str(folder / "domain.json"), *budget]


def release_by_command(case: ReleaseCase, table: Path, folder: Path, capsys: Any) -> ReleaseVerdict:
    """Run the command, in this process, or as one of its own where nothing captures its output."""
    status, out, err = run_command([*arguments(case, table, folder), "--json"], capsys)
    written = (folder / "out.csv").exists()
    if status == 0:
        if case.verb == "risk":
            told = json.loads(out)
            return ReleaseVerdict(PUBLISHED, shape=(told["rows"], told["k"]))
        rows = () if case.verb == "select" else shape(folder / "out.csv")
        return ReleaseVerdict(PUBLISHED, charged=charged(folder), written=written, shape=rows)
    told = json.loads(err.strip().splitlines()[-1])["error"]
    assert (status, told["kind"], written) == (2, "InvalidProblemError", False), told
    sentence = f"expected {told['expected']}, got {told['got']}"
    named, words = neutral(case, told["argument"], sentence, folder)
    return ReleaseVerdict(REFUSED, named, words, charged(folder), code=told.get("code", ""))


def release_by_page(case: ReleaseCase, table: Path, folder: Path, studio: Studio) -> ReleaseVerdict:
    """Fill in the forms that the pages of the studio show, and release."""
    name = {"sizes": "counts", "categories": "tables", "risk": ""}[case.verb]
    page = Fields(studio.client.get(f"{studio.base}{name}").text)
    at = f"{studio.base}{page.workspace}/"
    try:
        if case.verb == "risk":
            return _risk_by_page(case, at, table, folder, studio)
        return _release_by_page(case, f"{at}{name}/", at, table, folder, studio)
    finally:
        studio.client.post(f"{at}leave")


def _risk_by_page(
    case: ReleaseCase, at: str, table: Path, folder: Path, studio: Studio
) -> ReleaseVerdict:
    loaded = studio.client.post(
        f"{at}table", params={"name": table.name}, content=table.read_bytes()
    )
    if loaded.status_code != 200:
        return _page_refusal(case, loaded, folder)
    form = Fields(loaded.text).values
    columns = re.findall(r"<legend>(.*?)</legend>", loaded.text)
    for number, column in enumerate(columns):
        form[f"role-{number}"] = "quasi" if column in ("r", "sex") else "drop"
    told = studio.client.post(f"{at}risk", content=json.dumps(form))
    if told.status_code != 200:
        return _page_refusal(case, told, folder)
    rows = (
        pl.read_csv(table, infer_schema=False) if table.suffix == ".csv" else pl.read_parquet(table)
    )
    k = rows.group_by("r", "sex").len()["len"].min()
    return ReleaseVerdict(PUBLISHED, shape=(rows.height, cast("int", k)))


def _release_by_page(  # noqa: PLR0917 - the places of a release
    case: ReleaseCase, at: str, workspace: str, table: Path, folder: Path, studio: Studio
) -> ReleaseVerdict:
    client, files = studio.client, {"table": table, "list": folder / "regions.csv"}
    form: dict[str, str] = {}
    for which, path in files.items():
        params = {"name": path.name, "kind": "persons", "which": which}
        loaded = client.post(f"{at}{which}", params=params, content=path.read_bytes())
        if loaded.status_code != 200:
            verdict = _page_refusal(case, loaded, folder)
            if which == "list" and verdict.named == "people":
                verdict = ReleaseVerdict(REFUSED, "regions", verdict.sentence, code=verdict.code)
            return verdict
        form |= Fields(loaded.text).values
    form |= {"region-0": case.columns[0], "max_size": "3", "neighbors": case.neighbors}
    form |= {"unit": case.unit, "public": "list", "categories": case.domain, "name": "d.csv"}
    form |= {"workload": "cells"}
    told = client.post(f"{at}public", content=json.dumps(form))
    if told.status_code != 200:
        return _page_refusal(case, told, folder)
    form |= Fields(told.text).values
    form |= {"notion": "epsilon", "amount": case.amount, "dataset": "d"}
    form |= {"ledger": str(folder / "ledger.db")}
    told = client.post(f"{at}run", content=json.dumps(form))
    if told.status_code != 202:
        return _page_refusal(case, told, folder)
    lines = client.get(f"{workspace}events").text.splitlines()
    events = [json.loads(line[6:]) for line in lines if line.startswith("data: ")]
    if failed := next((event for event in events if event["type"] == "failed"), None):
        field, _, words = str(failed["message"]).partition(": ")
        named, words = neutral(case, field, words, folder)
        return ReleaseVerdict(REFUSED, named, words, charged(folder), code=failed.get("code", ""))
    shown = client.get(f"{at}result").text
    link = re.search(r'href="(released/[^"]+\.csv)" download', shown)
    assert link, events
    (folder / "page.csv").write_bytes(client.get(f"{studio.base}{link[1]}").content)
    return ReleaseVerdict(
        PUBLISHED, charged=charged(folder), written=True, shape=shape(folder / "page.csv")
    )


def _page_refusal(case: ReleaseCase, told: Any, folder: Path) -> ReleaseVerdict:
    assert told.status_code == 400, told.text
    body = told.json()
    field, _, words = body["message"].partition(": ")
    field = body.get("field") or field
    named, words = neutral(case, field, words, folder)
    return ReleaseVerdict(REFUSED, named, words, charged(folder), code=body.get("code", ""))
