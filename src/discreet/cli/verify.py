"""``verify``: check an artefact anew."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.artefact.folders import RECORD
from discreet.artefact.judging import judge
from discreet.artefact.mechanism import FOR_EVERY_POINT
from discreet.artefact.sidecar import digest_of, interruption_of, is_table
from discreet.cli.calls import command_again, from_options
from discreet.cli.files import check_outputs, write_page
from discreet.cli.microdata import taxonomy_files
from discreet.cli.output import Status, emit, facts, proved
from discreet.cli.row_judges import RowJudgeOptions, VerifyOptions, judge_folder, judge_rows
from discreet.core import printed
from discreet.core.errors import InvalidProblemError
from discreet.tables.dialect import SUFFIXES
from discreet.tables.sizes import refuse_killers
from discreet.tables.writing import WRITABLE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from discreet.core.certificate import Certificate

__all__ = ["verify"]

_EXAMPLES = """Examples:

```
discreet verify c.channel --optimality -v

discreet verify out.parquet --json

discreet verify out.csv --quasi age,sex,zip -k 5 --against patients.csv

discreet verify c.channel --optimality --report verified.html

python verify_standalone.py c.channel
```
"""


@from_options(
    VerifyOptions, examples=_EXAMPLES, first=("optimality", "k", "quasi", "against", "report")
)
def verify(options: VerifyOptions) -> Status:
    """Check what an artefact claims, with code that did not make it.

    A channel's privacy is checked on the stored integers, in exact arithmetic, for all constrained pairs; a table by
    its own numbers, and its guarantee by the arithmetic of its noise; an anonymized table by counting the rows of each
    equivalence class. The exit status is 1 when a check fails, and for anything that was made with a seed. Where a run
    was interrupted while it put a table and its record in place, the result states which files are there, and judges
    them.
    """
    certificate: Certificate
    file = options.file
    check_outputs(
        {"--report": options.report},
        file,
        options.against,
        options.population,
        *taxonomy_files(options),
    )
    _try_table(file)
    if options.sensitive and options.demanded(options.sensitive) == options.require:
        expected = "columns for --l-diversity, --t-closeness or --alpha"
        raise InvalidProblemError("--sensitive", expected, "none of these")
    options.demanded(options.sensitive)
    if Path(file).is_dir():
        if options.optimality:
            expected = "a channel, which has a lower bound"
            raise InvalidProblemError("--optimality", expected, "a folder")
        certificate, stated = judge_folder(file, options)
    elif options.is_typed(RowJudgeOptions):
        certificate, stated = judge_rows(file, options)
    else:
        with _named(file):
            certificate, stated = judge(file, optimality=options.optimality)
    if options.report is not None:
        from discreet.report import make_chapter

        again = command_again("verify", options, without=("report", "verbose", "as_json"))
        page = make_chapter(
            "verified",
            certificate,
            stated=stated,
            file=Path(file).name,
            command=again,
            sha256=digest_of(Path(file, RECORD) if Path(file).is_dir() else file),
        )
        private = bool(stated.get("private"))
        write_page([page], options.report, title="A claim, checked anew", private=private)
    data = {**certificate.to_dict(), **stated}
    interrupted = interruption_of(file)
    if interrupted:
        data["interrupted"] = interrupted
    summary = _summary(certificate, stated, interrupted)
    emit("verify", options, data, f"{proved(certificate, verbose=options.verbose)}\n\n{summary}")
    return Status.DONE if certificate.passed else Status.CHECK_FAILED


def _summary(certificate: Certificate, stated: Mapping[str, Any], interrupted: str | None) -> str:
    """Return the text below the checks: the kind of the file, and claims that were not or cannot be checked."""
    lines: list[tuple[str, object]] = [("passed", "yes" if certificate.passed else "NO")]
    if "achieved_epsilon" in stated:
        lines.insert(0, ("achieved epsilon", printed.at_most(stated["achieved_epsilon"])))
    if stated["kind"] in FOR_EVERY_POINT:
        about = "a mechanism for every point: any two points of the region, none snapped to a place"
        lines.insert(0, ("what it is", about))
    if interrupted:
        lines.append(("interrupted", interrupted))
    summary = facts(lines)
    left = [("no file can show", claim) for claim in stated.get("not_shown", ())]
    if left or stated["kind"] == "channel":
        left = [("not checked", claim) for claim in stated["not_checked"]] + left
    return f"{facts(left)}\n\n{summary}" if left else summary


def _try_table(file: str) -> None:
    """Read a table of unknown origin once in a child process, and refuse it if that is killed.

    Other files than tables are left alone.
    """
    path = Path(file)
    if path.is_file() and path.suffix.lower() in SUFFIXES:
        with path.open("rb") as opened:
            parquet = opened.read(4) == b"PAR1"
        refuse_killers(file, "" if parquet else ",", "FILE", unknown=True)


@contextmanager
def _named(path: str) -> Iterator[None]:
    """Rename the path of the library to the argument of the command in errors."""
    try:
        yield
    except InvalidProblemError as error:
        if error.field != "path":
            raise
        table = path.lower().endswith(tuple(WRITABLE))
        field = "FILE" if table or is_table(path) else "CHANNEL"
        bare = table and not is_table(path)
        hint = "; -k and --quasi check a table without one" if bare else ""
        raise error.renamed(field, expected=f"{error.expected}{hint}") from None
