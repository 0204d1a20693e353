"""Choices as files: they come back as they were, hold their matroid, and the frozen one loads for ever."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from discreet.artefact import load_choice, save_choice
from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import ApproxDP, PureDP
from discreet.submodular import (
    Contraction,
    Coverage,
    DirectSum,
    Dual,
    GraphicMatroid,
    LaminarMatroid,
    LinearMatroid,
    Matroid,
    PartitionMatroid,
    Selection,
    TransversalMatroid,
    Truncation,
    UniformMatroid,
    release,
    verify,
)
from discreet.submodular.matroids.stored import matroid_from_dict, matroid_to_dict
from discreet.submodular.problem import AccountLine, ChoiceFacts
from discreet.submodular.verify import verify_selection

FROZEN = Path(__file__).parent / "data" / "choice-1.choice"
PURE = PureDP(1, "add-remove-one")
REACH = Coverage([[True, False, True], [False, True, False]] * 30)
MATROIDS: list[Matroid] = [
    UniformMatroid(3, 2),
    PartitionMatroid([0, 0, 1], [1, 1]),
    LaminarMatroid(3, [[0, 1, 2], [0, 1]], [2, 1]),
    GraphicMatroid(3, [[0, 1], [1, 2], [0, 2]]),
    LinearMatroid([[True, False], [False, True], [True, True]]),
    TransversalMatroid([[True, False], [True, False], [True, True]]),
    Truncation(PartitionMatroid([0, 1, 2], 1), 2),
    DirectSum([UniformMatroid(2, 1), UniformMatroid(1, 1)]),
    Dual(UniformMatroid(3, 1)),
    Contraction(GraphicMatroid(3, [[0, 1], [1, 2], [0, 2]]), [0]),
]


@pytest.mark.parametrize("matroid", MATROIDS, ids=repr)
def test_a_choice_comes_back_as_it_was(matroid: Matroid, tmp_path: Path) -> None:
    again = matroid_from_dict(json.loads(json.dumps(matroid_to_dict(matroid))))
    assert again == matroid
    made = release(REACH, matroid, ApproxDP(1, "1e-6", "replace-one"))
    save_choice(made, tmp_path / "a.choice")
    stored = load_choice(tmp_path / "a.choice")
    assert stored.result == made.result
    assert stored.guarantee == made.guarantee
    assert stored.provenance == made.provenance
    assert verify(stored).passed


def test_matroids_are_equal_where_they_allow_the_same_by_the_same_facts() -> None:
    assert UniformMatroid(3, 2) == UniformMatroid(3, 2)
    assert len({UniformMatroid(3, 2), UniformMatroid(3, 2), UniformMatroid(3, 1)}) == 2
    assert UniformMatroid(3, 3) != Truncation(UniformMatroid(3, 3), 3)
    assert UniformMatroid(3, 2) != 3


def test_the_frozen_choice_loads() -> None:
    stored = load_choice(FROZEN)
    assert len(stored.result.names) == 3
    assert all(str(name).startswith("site ") for name in stored.result.names)
    assert stored.guarantee == PURE
    assert verify(stored).passed


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"kind": "channel"}, "kind"),
        ({"format": "others"}, "schema_version"),
        ({"statement": {}}, "n_elements"),
        ({"per_draw": True}, "integers"),
        ({"names": ["site 0", "site 0", "site 0"]}, "names: expected"),
        ({"candidates": [None] * 6}, "text or integers"),
        ({"coefficient": 1}, "a number as text"),
        ({"matroid": {"kind": "dual", "matroid": {"kind": "cube"}}}, "one of uniform"),
        ({"matroid": {"kind": "partition", "labels": [0], "capacities": [1, 2]}}, "capacities"),
        ({"matroid": {"kind": "linear", "vectors": [[0, 1]]}}, "booleans"),
        ({"accounting": [{"rule": "none"}]}, "guarantee"),
        ({"statement": None}, "NoneType"),
    ],
)
def test_what_is_no_choice_is_refused(change: dict[str, Any], said: str, tmp_path: Path) -> None:
    stated = json.loads(FROZEN.read_text(encoding="utf-8"))
    (tmp_path / "b.choice").write_text(json.dumps(stated | change), encoding="utf-8")
    with pytest.raises(InvalidProblemError, match=said):
        load_choice(tmp_path / "b.choice")


def test_a_flag_that_is_no_flag_is_refused(tmp_path: Path) -> None:
    stated = json.loads(FROZEN.read_text(encoding="utf-8"))
    stated["statement"]["decomposable"] = 1
    (tmp_path / "b.choice").write_text(json.dumps(stated), encoding="utf-8")
    with pytest.raises(InvalidProblemError, match="true or false"):
        load_choice(tmp_path / "b.choice")


def test_matroids_within_matroids_end(tmp_path: Path) -> None:
    deep: dict[str, Any] = {"kind": "uniform", "n_elements": 2, "rank": 1}
    for _ in range(9):
        deep = {"kind": "dual", "matroid": deep}
    with pytest.raises(InvalidProblemError, match="at most 8 nested matroids"):
        matroid_from_dict(deep)
    stated = json.loads(FROZEN.read_text(encoding="utf-8")) | {"matroid": deep}
    (tmp_path / "b.choice").write_text(json.dumps(stated), encoding="utf-8")
    with pytest.raises(InvalidProblemError, match="nested"):
        load_choice(tmp_path / "b.choice")


def test_a_matroid_of_ones_own_is_released_and_not_written(tmp_path: Path) -> None:
    class Own(Matroid):
        n_elements, rank = 3, 1

        def start(self) -> Any:
            return UniformMatroid(3, 1).start()

        def _facts(self) -> str:
            return "own"

    made = release(REACH, Own(), PURE)
    assert verify(made).passed
    with pytest.raises(InvalidProblemError, match="one of the library.*Own"):
        save_choice(made, tmp_path / "a.choice")
    assert not (tmp_path / "a.choice").exists()


def test_a_choice_made_by_hand_needs_its_matroid(tmp_path: Path) -> None:
    made = release(REACH, UniformMatroid(3, 2), PURE)
    bare = Selection(
        made.result.chosen,
        made.result.statement,
        made.result.coefficient,
        mechanism=made.result.mechanism,
        accounting=made.result.accounting,
    )
    by_hand = type(made)(bare, made.guarantee, made.certificate, made.provenance)
    assert verify(by_hand, UniformMatroid(3, 2)).passed
    with pytest.raises(InvalidProblemError, match="the matroid of the choice"):
        verify(by_hand)
    with pytest.raises(InvalidProblemError, match="a choice that stores its matroid"):
        save_choice(by_hand, tmp_path / "a.choice")


@pytest.mark.parametrize(("name", "value"), [("draws", "3"), ("rule", 10**400), ("draws", True)])
def test_a_line_of_the_accountant_is_of_its_types(name: str, value: object, tmp_path: Path) -> None:
    stated = json.loads(FROZEN.read_text(encoding="utf-8"))
    stated["accounting"][0][name] = value
    (tmp_path / "b.choice").write_text(json.dumps(stated), encoding="utf-8")
    with pytest.raises(InvalidProblemError, match="integers|a name"):
        load_choice(tmp_path / "b.choice")


@pytest.mark.parametrize("names", [[1, 0], [True, 2], ["0", "2"]])
def test_names_are_the_chosen_numbers_where_candidates_have_none(
    names: list[object], tmp_path: Path
) -> None:
    """They were compared with nothing, and are what a reader sees."""
    save_choice(release(REACH, UniformMatroid(3, 2), PURE), tmp_path / "a.choice")
    stated = json.loads((tmp_path / "a.choice").read_text(encoding="utf-8"))
    stated["chosen"] = [[0, 0], [2, 0]]
    stated["names"] = [0, 2]
    (tmp_path / "a.choice").write_text(json.dumps(stated), encoding="utf-8")
    assert verify(load_choice(tmp_path / "a.choice")).passed
    (tmp_path / "a.choice").write_text(json.dumps(stated | {"names": names}), encoding="utf-8")
    with pytest.raises(InvalidProblemError, match="names"):
        load_choice(tmp_path / "a.choice")


@pytest.mark.parametrize("where", ["guarantee", "coefficient"])
def test_powers_that_fill_the_memory_are_not_computed(where: str, tmp_path: Path) -> None:
    """Who claims almost nothing is believed, and who draws by an enormous coefficient is not: both at once."""
    stated = json.loads(FROZEN.read_text(encoding="utf-8"))
    if where == "guarantee":
        stated["accounting"][0]["guarantee"]["epsilon"] = stated["guarantee"]["epsilon"] = str(
            2**63
        )
    else:
        stated["coefficient"] = stated["accounting"][0]["loss_per_draw"] = str(2**63)
    (tmp_path / "b.choice").write_text(json.dumps(stated), encoding="utf-8")
    assert verify(load_choice(tmp_path / "b.choice")).passed == (where == "guarantee")


@pytest.mark.parametrize(
    ("mechanism", "rule"), [("greedy", "decomposable, one pass"), ("walk", "exchange walk")]
)
def test_a_loss_beyond_all_exponents_proves_nothing(mechanism: str, rule: str) -> None:
    """No power of e is computed for it, and no guarantee follows."""
    claim = ApproxDP(10**9, "1/2", "add-remove-one")
    facts = ChoiceFacts(
        3, 1, 1, decomposable=True, sensitivity=Fraction(1), neighbors="add-remove-one"
    )
    line = AccountLine(rule, claim, 1, Fraction(10**9))
    drawn = Selection(((2, 0),), facts, Fraction(10**9), mechanism=mechanism, accounting=(line,))
    made = verify_selection(drawn, UniformMatroid(3, 1), claim)
    assert [check.name for check in made.checks if not check.passed] == [
        "accountant's lines unproved"
    ]
