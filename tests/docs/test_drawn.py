"""The pictures of the documentation: the page's own examples run, in their order, and what raises is seen."""

from __future__ import annotations

from typing import Any

import pytest
from matplotlib.figure import Figure

from docs.loading import tool

drawn = tool("drawn")

PAGE = """# A page

```python
>>> x = 1
>>> x + y
Traceback (most recent call last):
NameError: name 'y' is not defined

```

```{drawn} ax
```

```text
>>> x = 99
```

```python
>>> x = 2
>>> print("noise")
noise

```
"""


def test_examples_above_a_line_are_taken_with_their_lines() -> None:
    assert [example.lineno for example in drawn.examples_until(PAGE, 11)] == [4, 5]
    assert [example.lineno for example in drawn.examples_until(PAGE, 99)] == [4, 5, 19, 20]


def test_examples_run_once_and_what_they_print_is_not_shown(
    capsys: pytest.CaptureFixture[str],
) -> None:
    names: dict[str, Any] = {}
    drawn.run_examples(drawn.examples_until(PAGE, 11), names, after=0, page="page")
    assert names["x"] == 1
    names["x"] = 7
    drawn.run_examples(drawn.examples_until(PAGE, 11), names, after=11, page="page")
    assert names["x"] == 7
    drawn.run_examples(drawn.examples_until(PAGE, 99), names, after=11, page="page")
    assert names["x"] == 2
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (">>> 1 / 0\n", "page:2: ZeroDivisionError"),
        (
            ">>> 1\nTraceback (most recent call last):\nValueError: no\n",
            "page:2: no ValueError: no",
        ),
    ],
)
def test_an_example_that_raises_what_it_should_not_is_refused(source: str, message: str) -> None:
    examples = drawn.examples_until(f"```python\n{source}```\n", 9)
    with pytest.raises(RuntimeError, match=f"^{message}"):
        drawn.run_examples(examples, {}, after=0, page="page")


def test_axes_and_figures_become_pictures_with_words_for_who_does_not_see_them() -> None:
    figure = Figure()
    ax = figure.add_subplot()
    for shown in (figure, ax):
        svg = drawn.svg_of(shown, label='a < b & "c"', salt="one")
        assert svg.startswith("<svg ")
        assert 'aria-label="a &lt; b &amp; &quot;c&quot;"' in svg
    assert tuple(figure.get_size_inches()) == drawn.SIZE
