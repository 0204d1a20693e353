"""The pages of channels and of hierarchical counts: one for each algorithm, each with what a page must hold."""

from __future__ import annotations

import pytest

from discreet.hierarchy.methods import METHODS as COUNTS
from discreet.metricdp.methods import METHODS as CHANNELS
from meta.theory_pages import faults, pages_of, without_page

REGISTRIES = {"hierarchy": COUNTS, "metricdp": CHANNELS.proven}
PAGES = {folder: pages_of(folder) for folder in REGISTRIES}
GROUND = pages_of("")


@pytest.mark.parametrize("folder", sorted(REGISTRIES))
def test_every_method_has_one_page(folder: str) -> None:
    assert len(PAGES[folder]) > 15
    assert without_page(REGISTRIES[folder], PAGES[folder]) == []


@pytest.mark.parametrize(
    ("folder", "page"), [(folder, page) for folder, pages in PAGES.items() for page in pages]
)
def test_a_page_holds_what_it_must_and_names_what_is_there(folder: str, page: str) -> None:
    assert faults(PAGES[folder][page]) == []


@pytest.mark.parametrize("page", ["channels", "distances", "sampling"])
def test_the_common_ground_has_such_pages_too(page: str) -> None:
    assert faults(GROUND[page]) == []


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("## Guarantee", "## Promise", "section 2 is 'Promise', not 'Guarantee'"),
        (
            "kernel.Kernel`",
            "kernel.Colonel`",
            "nothing is discreet.metricdp.methods.kernel.Colonel",
        ),
        ("metricdp/test_kernel", "test_kernel", "no file tests/test_kernel.py"),
        (
            "`test_primal_equal",
            "`test_dual_equal",
            "no test test_dual_equal_to_dual_proves_nothing",
        ),
    ],
)
def test_a_real_page_made_wrong_is_found_out(old: str, new: str, fault: str) -> None:
    page = PAGES["metricdp"]["kernel"]
    assert old in page
    assert any(found.startswith(fault) for found in faults(page.replace(old, new)))


def test_a_method_without_a_page_is_found_out() -> None:
    pages = {name: text for name, text in PAGES["metricdp"].items() if name != "tem"}
    assert without_page(CHANNELS.proven, pages) == ["tem has no page"]
