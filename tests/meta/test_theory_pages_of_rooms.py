"""The pages of the mechanisms: one for each algorithm, each with what a page must hold."""

from __future__ import annotations

import pkgutil
from importlib import import_module
from pathlib import Path

import pytest

import discreet as dc
from discreet import MetricDP, lrgeo
from discreet.core.errors import InvalidProblemError
from discreet.core.method import MethodRecord, Methods
from discreet.hierarchy.methods import METHODS as COUNTS
from discreet.kanonymity.methods import METHODS as TABLES
from discreet.lrgeo.methods import METHODS as DESIGNS
from discreet.metricdp.methods import METHODS as CHANNELS
from discreet.submodular.methods import METHODS as CHOICES
from discreet_reproduction import lrgeo as published_lrgeo
from discreet_reproduction.lrgeo.as_published.baselines import BASELINES
from meta.theory_pages import ROOT, faults, pages_of, proved_in_modules, without_page


def published() -> set[str]:
    """Find what has no valid guarantee, and says why: the classes of the package that give a reason."""
    found = set()
    for module in pkgutil.walk_packages(published_lrgeo.__path__, "discreet_reproduction.lrgeo."):
        # A job of the server has a reason, too, for its failure.
        if ".service" in module.name:
            continue
        for name, kind in vars(import_module(module.name)).items():
            protocol = getattr(kind, "_is_protocol", False)
            if isinstance(kind, type) and getattr(kind, "reason", None) and not protocol:
                found.add(name)
    return found


REGISTRIES = {
    "hierarchy": [*COUNTS],
    "metricdp": [*CHANNELS.proven],
    "lrgeo": [*DESIGNS, *BASELINES, *published()],
    "kanonymity": [*TABLES],
    "submodular": [*CHOICES],
}
PAGES = {folder: pages_of(folder) for folder in REGISTRIES}
GROUND = pages_of("")


@pytest.mark.parametrize("folder", sorted(REGISTRIES))
def test_every_method_of_a_registry_has_one_page(folder: str) -> None:
    assert len(PAGES[folder]) > 5
    proved = proved_in_modules(COUNTS, CHANNELS, TABLES, CHOICES)
    assert without_page(REGISTRIES[folder], PAGES[folder], proved) == []


NEW_METHOD = '''"""The exponential mechanism, written anew.

Guarantee
---------
Metric differential privacy at epsilon.

Proof
-----
The numerator falls off at epsilon / 2, and so does the sum in the denominator.
"""

from dataclasses import dataclass

import numpy as np

from discreet.metricdp.part import Candidate


@dataclass(frozen=True)
class Halved:
    def solve(self, part, _limits):
        table = np.exp(-0.5 * part.rate * part.paths)
        return Candidate("halved", table / table.sum(axis=1, keepdims=True), None, "Half of epsilon.")
'''


def test_a_new_method_needs_its_file_and_its_line_in_the_registry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file holds guarantee and proof in its docstring: the method has a page, a row in the reference, and runs."""
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "halved.py").write_text(NEW_METHOD, encoding="utf-8")
    registry = Methods([MethodRecord("halved", "halved:Halved", "half of epsilon", "metric DP")])
    assert without_page(registry, {}, proved_in_modules(registry)) == []
    assert without_page(registry, {}) == ["halved has no page"]
    space = dc.MetricSpace.grid(2, 2, cell=1, unit="km")
    task = dc.metricdp.Problem(space, utility_loss="euclidean")
    made = dc.metricdp.design(
        task, dc.MetricDP(2, "km"), method=registry.resolve("halved"), throw=False
    )
    assert made.certificate.passed
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "tools"))
    monkeypatch.setattr("discreet.metricdp.methods.METHODS", registry)
    table = import_module("api_pages")._methods("metricdp")
    assert "| [halved](modules/halved.md) | half of epsilon |" in table


@pytest.mark.parametrize(
    ("folder", "page"), [(folder, page) for folder, pages in PAGES.items() for page in pages]
)
def test_a_page_has_its_sections_and_names_what_is_there(folder: str, page: str) -> None:
    assert faults(PAGES[folder][page]) == []


@pytest.mark.parametrize("page", ["channels", "distances", "sampling"])
def test_the_common_ground_has_such_pages_too(page: str) -> None:
    assert faults(GROUND[page]) == []


def test_methods_of_places_are_found_and_refused_by_name() -> None:
    runs = {"AsReleased", "FrozenScales", "LRGeo", "LROMG", "PrintedExponential"}
    assert published() == runs | {"AnchorInterpolation", "RemappedLaplace"}
    region = lrgeo.Region.from_grid(2, 2, cell=1, unit="km")
    with pytest.raises(InvalidProblemError, match=", ".join(sorted(DESIGNS))):
        lrgeo.design(region, MetricDP(1, "km"), method="another", scope="places")
