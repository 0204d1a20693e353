"""The pages of tables, choices and places: one for each algorithm, each with what a page must hold."""

from __future__ import annotations

import pkgutil
from importlib import import_module

import pytest

from discreet import MetricDP, lrgeo
from discreet.core.errors import InvalidProblemError
from discreet.kanonymity.methods import METHODS as TABLES
from discreet.lrgeo.as_published.baselines import BASELINES
from discreet.lrgeo.methods import METHODS as DESIGNS
from discreet.submodular.methods import METHODS as CHOICES
from meta.theory_pages import faults, pages_of, without_page


def published() -> set[str]:
    """Find what has no valid guarantee, and says why: the classes of the package that give a reason."""
    found = set()
    for module in pkgutil.walk_packages(lrgeo.__path__, "discreet.lrgeo."):
        for name, kind in vars(import_module(module.name)).items():
            protocol = getattr(kind, "_is_protocol", False)
            if isinstance(kind, type) and hasattr(kind, "reason") and not protocol:
                found.add(name)
    return found


REGISTRIES = {
    "lrgeo": [*DESIGNS, *BASELINES, *published()],
    "kanonymity": [*TABLES],
    "submodular": [*CHOICES],
}
PAGES = {folder: pages_of(folder) for folder in REGISTRIES}


@pytest.mark.parametrize("folder", sorted(REGISTRIES))
def test_every_method_of_a_registry_has_one_page(folder: str) -> None:
    assert len(PAGES[folder]) > 10
    assert without_page(REGISTRIES[folder], PAGES[folder]) == []


@pytest.mark.parametrize(
    ("folder", "page"), [(folder, page) for folder, pages in PAGES.items() for page in pages]
)
def test_a_page_has_its_sections_and_names_what_is_there(folder: str, page: str) -> None:
    assert faults(PAGES[folder][page]) == []


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("## Proof", "## Idea", "section 3 is 'Idea'"),
        (
            "split_carry.SplitCarry`",
            "split_carry.Carry`",
            "nothing is discreet.kanonymity.methods.split",
        ),
        ("kanonymity/test_split", "test_split", "no file tests/test_split_carry.py"),
        ("`test_blocks_are", "`test_blocks_were", "no test test_blocks_were_at_most"),
    ],
)
def test_a_page_of_tables_made_wrong_is_found_out(old: str, new: str, fault: str) -> None:
    page = PAGES["kanonymity"]["split-carry"]
    assert old in page
    assert any(found.startswith(fault) for found in faults(page.replace(old, new)))


def test_a_registered_method_without_a_page_is_found_out() -> None:
    pages = {name: text for name, text in PAGES["kanonymity"].items() if name != "mondrian"}
    assert without_page(REGISTRIES["kanonymity"], pages) == ["mondrian has no page"]


def test_methods_of_places_are_found_and_refused_by_name() -> None:
    runs = {"AsReleased", "FrozenScales", "LRGeo", "LROMG", "PrintedExponential"}
    assert published() == runs | {"AnchorInterpolation", "RemappedLaplace"}
    region = lrgeo.Region.from_grid(2, 2, cell=1, unit="km")
    with pytest.raises(InvalidProblemError, match=", ".join(sorted(DESIGNS))):
        lrgeo.design(region, MetricDP(1, "km"), method="another", scope="places")
