"""What is installed is what was written down: the lock, the licences, the workflows, the sources to cite."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from meta.licences import canonical, needed

ROOT = Path(__file__).parents[2]
PIN = re.compile(r"^([A-Za-z0-9._-]+)==(\S+)")
USES = re.compile(r"uses:\s*(\S+)(.*)")


def pins(text: str) -> dict[str, str]:
    """Return the packages of a list with their versions."""
    found = (PIN.match(line) for line in text.splitlines())
    return {canonical(each.group(1)): each.group(2) for each in found if each is not None}


def unhashed(text: str) -> list[str]:
    """Return the packages of a lock that any file could be installed for."""
    entries = re.split(r"(?m)^(?=[A-Za-z0-9])", text)
    return [
        each.split("==")[0] for each in entries if each.strip() and "--hash=sha256:" not in each
    ]


def unpinned(text: str) -> list[str]:
    """Return the actions of a workflow that are not named by a commit with its version beside it."""
    return [
        name
        for name, rest in USES.findall(text)
        if not (re.search(r"@[0-9a-f]{40}$", name) and re.match(r"\s*# v\d", rest))
    ]


def test_the_lock_names_the_versions_of_the_constraints() -> None:
    lock = pins((ROOT / "requirements.lock").read_text(encoding="utf-8"))
    stated = pins((ROOT / "constraints.txt").read_text(encoding="utf-8"))
    assert len(lock) > 50
    assert {
        name: lock[name] for name in lock.keys() & stated.keys() if lock[name] != stated[name]
    } == {}


def test_all_that_the_project_names_is_in_the_lock() -> None:
    lock = pins((ROOT / "requirements.lock").read_text(encoding="utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    lines = [
        *project["project"]["dependencies"],
        *(line for lines in project["project"]["optional-dependencies"].values() for line in lines),
        *project["dependency-groups"]["dev"],
        *project["build-system"]["requires"],
    ]
    names = {canonical(re.split(r"[\[<>=~! ]", line)[0]) for line in lines} - {"discreet"}
    assert names - lock.keys() == set()


def test_every_file_of_the_lock_has_a_hash() -> None:
    assert unhashed((ROOT / "requirements.lock").read_text(encoding="utf-8")) == []


def test_a_package_without_a_hash_is_found() -> None:
    assert unhashed("a==1 \\\n    --hash=sha256:00\nb==2\n") == ["b"]


def test_licences_of_all_that_is_installed_are_listed() -> None:
    page = (ROOT / "THIRD_PARTY.md").read_text(encoding="utf-8")
    assert {name for name in needed() if f"| {name} |" not in page} == set()
    assert "not stated" not in page


@pytest.mark.parametrize(
    "path", sorted((ROOT / ".github" / "workflows").glob("*.yml")), ids=lambda path: path.stem
)
def test_a_workflow_names_its_actions_by_commit_and_takes_no_rights_by_default(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert unpinned(text) == []
    assert "\npermissions: {}\n" in text
    assert text.count("timeout-minutes:") == text.count("runs-on:")


def loosely_installed(workflow: str) -> list[str]:
    """Return the steps of a workflow that install packages which an index may exchange."""
    lines = re.findall(r"(?m)^.*\bpip install\b.*$", workflow)
    return [line.strip() for line in lines if "--require-hashes" not in line]


def test_what_a_release_installs_is_named_by_its_hash() -> None:
    """The job that publishes has an identity by which anything could be published."""
    workflow = (ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8")
    assert loosely_installed(workflow) == []
    assert loosely_installed("- run: python -m pip install uv") == [
        "- run: python -m pip install uv"
    ]
    locks = re.findall(r"-r (\S+)", workflow)
    assert len(locks) == 2
    for name in locks:
        lock = (ROOT / name).read_text(encoding="utf-8")
        assert unhashed(lock.partition("\n")[2]) == []
        stated = pins((ROOT / "constraints.txt").read_text(encoding="utf-8"))
        found = pins(lock)
        assert {
            each for each in found.keys() & stated.keys() if found[each] != stated[each]
        } == set()


def test_an_action_that_may_move_is_found() -> None:
    commit = "0123456789" * 4
    text = f"uses: a/b@v4\nuses: c/d@{commit} # v1.0\nuses: e/f@{commit}\n"
    assert unpinned(text) == ["a/b@v4", f"e/f@{commit}"]


def test_the_five_papers_are_cited_as_the_bibliography_has_them() -> None:
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    titles = re.findall(r"^    title: \"?(.*?)\"?$", citation, re.MULTILINE)
    titles += re.findall(r"- type: \S+\n    title: \"?(.*?)\"?$", citation, re.MULTILINE)
    known = re.sub(r"[{}$]", "", (ROOT / "docs" / "refs.bib").read_text(encoding="utf-8"))
    assert len(set(titles)) == 5
    assert [title for title in set(titles) if title not in known] == []
