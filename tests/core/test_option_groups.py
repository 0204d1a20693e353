"""Tables of options: a record is read from typed values and from the fields of a form alike."""

from __future__ import annotations

from pathlib import Path

import pytest

from discreet.core.errors import InvalidProblemError
from discreet.core.option_groups import OptionGroup, argument, option, rows_of


class Common(OptionGroup, panel="Common", environment="TRIAL_"):
    """Options that several commands share."""

    quiet: bool = option("Say less.", None, "--quiet/--loud", default=False)


class Trial(Common):
    """Options of a command."""

    file: str = argument("The table.", "FILE")
    top: tuple[str, ...] = option("Top codes.", "NAME=NUMBER", read=tuple, repeated=True)
    names: tuple[str, ...] = option("Names.", "NAME", repeated=True)
    most_rows: int = option("Rows.", "N", default=3, read=int)
    folder: Path | None = option("A folder.", "DIR", read=Path)


ROWS = {row.name: row for row in rows_of(Trial)}


def test_names_follow_from_the_field_unless_they_are_stated() -> None:
    assert ROWS["most_rows"].option.flags_of("most_rows") == ("--most-rows",)
    assert ROWS["quiet"].option.flags_of("quiet") == ("--quiet/--loud",)
    assert ROWS["file"].option.flags_of("file") == ("FILE",)
    assert [row.name for row in rows_of(Trial) if row.option.positional] == ["file"]
    assert ROWS["most_rows"].title == "Most rows"
    assert (Trial.panel, Trial.environment) == ("Common", "TRIAL_")


def test_a_form_and_a_line_give_the_same_record() -> None:
    form = {"file": " a.csv ", "top": "age=85\n\nincome=9", "most_rows": "4", "other": "x"}
    made = Trial.from_form(form)
    typed = {"file": "a.csv", "top": ["age=85", "income=9"], "most_rows": "4"}
    read = {name: ROWS[name].value(value) for name, value in typed.items()}
    assert made == Trial(**read)
    assert made.folder is None
    assert made.of(Common) == {"quiet": False}
    assert made.is_typed(Trial)
    assert not made.is_typed(Common)


def test_nothing_typed_is_the_default() -> None:
    assert ROWS["top"].value(None) == ROWS["names"].value(None) == ()
    assert ROWS["folder"].value(None) is None
    assert ROWS["names"].value(["a", "b"]) == ("a", "b")
    assert ROWS["file"].value("a.csv") == "a.csv"
    assert ROWS["most_rows"].from_field(" \n") == 3


def test_options_that_do_not_fit_are_refused_by_their_names() -> None:
    made = Trial(file="a.csv", most_rows=4)
    made.refuse(["quiet", "unknown"], "none")
    with pytest.raises(InvalidProblemError, match="^--most-rows: expected none here, got 4$"):
        made.refuse(["quiet", "most_rows"], "none here")
    with pytest.raises(InvalidProblemError, match="^--quiet: expected none, got one$"):
        Trial(file="a.csv", quiet=True).refuse(["quiet"], "none", "one")


class Loud(OptionGroup):
    """An option that is on by default."""

    loud: bool = option("Say all.", None, "--loud/--quiet", default=True)


def test_an_option_that_was_turned_off_is_refused_by_the_name_that_does_it() -> None:
    with pytest.raises(InvalidProblemError, match="^--quiet: expected none, got False$"):
        Loud(loud=False).refuse(["loud"], "none")
