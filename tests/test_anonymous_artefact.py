"""Anonymized tables as files: what stands beside them, and what is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from discreet.artefact import load_anonymous, save_anonymous
from discreet.artefact.sidecar import sidecar_of
from discreet.core.certificate import Certificate, Check
from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import KAnonymity
from discreet.core.tree import Tree
from discreet.kanonymity import verify
from discreet.kanonymity.problem import Attribute, Categorical, Numeric, Taxonomy
from kanonymity.tables import anonymize_kept as anonymize

if TYPE_CHECKING:
    from discreet.core.outcome import Anonymization

DATA = Path(__file__).parent / "data"
KINDS: tuple[Attribute, ...] = (
    Numeric("age", 2, 0, 120),
    Categorical("sex", values=("F", "M")),
    Taxonomy(
        "home", Tree.from_paths([("Europe", "FR"), ("Europe", 'D"E'), ("Asia", "IN")], root="*")
    ),
)
ROWS = pl.DataFrame(
    {
        "age": [30, 31, 50, 52, 70, 71],
        "sex": ["F", "F", "M", "F", "M", "M"],
        "home": ["FR", 'D"E', "IN", "FR", "IN", "IN"],
        "ill": ["a,b", "c", None, "", "c", "c"],
    }
)


@cache
def published() -> Anonymization[Any, Any]:
    return anonymize(ROWS, KAnonymity(2, ("age", "sex", "home")), attributes=KINDS)


@pytest.mark.parametrize("name", ["out.csv", "out.parquet"])
def test_a_table_is_read_as_it_was_written(tmp_path: Path, name: str) -> None:
    save_anonymous(published(), tmp_path / name, KINDS)
    kept = load_anonymous(tmp_path / name)
    assert not kept.altered
    assert kept.guarantee == published().guarantee
    assert kept.certificate == published().certificate
    assert kept.provenance.to_dict() == published().provenance.to_dict()
    assert kept.attributes == KINDS


def test_nothing_beside_the_table_is_computed_from_the_original(tmp_path: Path) -> None:
    """Bounds and values are written where they were declared, and never where they were observed."""
    plain: tuple[Attribute, ...] = (Numeric("age"), Categorical("sex"))
    made = anonymize(ROWS.drop("home"), KAnonymity(2, ("age", "sex")), attributes=plain)
    save_anonymous(made, tmp_path / "out.csv", plain)
    stated = json.loads(sidecar_of(tmp_path / "out.csv").read_text(encoding="utf-8"))
    assert stated["attributes"][0]["low"] is None
    assert stated["attributes"][1]["values"] is None
    assert set(stated["provenance"]["parameters"]) <= {
        "k",
        "loss",
        "method",
        "suppress",
        "roles",
        "rows",
    }


def test_an_altered_table_is_told(tmp_path: Path) -> None:
    save_anonymous(published(), tmp_path / "out.csv", KINDS)
    with (tmp_path / "out.csv").open("a", encoding="utf-8") as file:
        file.write("30,F,FR,c\n")
    assert load_anonymous(tmp_path / "out.csv").altered


def test_a_failed_certificate_is_not_written(tmp_path: Path) -> None:
    broken = Certificate((Check("classes smaller than k", 1, 0, exact=True),))
    with pytest.raises(InvalidProblemError, match="certificate"):
        save_anonymous(replace(published(), certificate=broken), tmp_path / "out.csv")


def test_what_is_none_of_ours_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidProblemError, match="anonymized table"):
        load_anonymous(DATA / "counts-1.csv")
    save_anonymous(published(), tmp_path / "out.csv", KINDS)
    (tmp_path / "out.csv").unlink()
    with pytest.raises(InvalidProblemError, match="can be read"):
        load_anonymous(tmp_path / "out.csv")


@pytest.mark.parametrize("name", ["anonymous-1.csv", "anonymous-1.parquet"])
def test_a_table_of_the_first_version_loads_for_ever(name: str) -> None:
    kept = load_anonymous(DATA / name)
    assert not kept.altered
    assert kept.guarantee == KAnonymity(2, ("age", "sex", "home"))
    assert kept.attributes == KINDS
    table = (
        pl.read_csv(DATA / name, infer_schema=False)
        if name.endswith(".csv")
        else pl.read_parquet(DATA / name)
    )
    assert verify(table, kept.guarantee, against=ROWS, attributes=kept.attributes).passed
