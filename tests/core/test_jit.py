"""The clock of searches stands still while kernels are compiled, and who asked is told once."""

from __future__ import annotations

import importlib
import itertools
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numba
import pytest
from numba.core import event

from discreet.core import jit
from discreet.core.jit import Compiled, clock, compiling, disjoint, inlined, kernel, part

_compiled: Any = numba.njit


class Time:
    """A clock on the wall that goes on when it is told to."""

    def __init__(self) -> None:
        self.seconds = 100.0

    def perf_counter(self) -> float:
        return self.seconds


@pytest.fixture
def wall(monkeypatch: pytest.MonkeyPatch) -> Time:
    """Put a clock in the place of that of the system."""
    kernel(_nothing)
    time = Time()
    monkeypatch.setattr(jit, "time", SimpleNamespace(perf_counter=time.perf_counter))
    return time


def test_the_clock_stands_still_from_the_outermost_begin_to_its_end(wall: Time) -> None:
    before = clock()
    wall.seconds += 3
    assert clock() - before == pytest.approx(3)
    with event.trigger_event("numba:compile"):
        wall.seconds += 20
        assert clock() - before == pytest.approx(3)
        with event.trigger_event("numba:compile"):
            wall.seconds += 5
        wall.seconds += 1
        assert clock() - before == pytest.approx(3)
    wall.seconds += 2
    assert clock() - before == pytest.approx(5)


def test_a_compilation_that_fails_ends(wall: Time) -> None:
    before = clock()

    def compile_in_vain() -> None:
        with event.trigger_event("numba:compile"):
            wall.seconds += 20
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        compile_in_vain()
    wall.seconds += 4
    assert clock() - before == pytest.approx(4)


def test_who_asked_is_told_once_and_before_it_begins() -> None:
    kernel(_nothing)
    told: list[str] = []
    with compiling(lambda: told.append("compiling")):
        assert told == []
        for _ in range(2):
            with event.trigger_event("numba:compile"):
                assert told == ["compiling"]
    with event.trigger_event("numba:compile"):
        pass
    with compiling(lambda: told.append("never")):
        pass
    with event.trigger_event("numba:compile"):
        pass
    assert told == ["compiling"]


@pytest.mark.jit
def test_a_kernel_that_must_be_compiled_is_noticed_and_one_on_the_disk_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = "from discreet.core.jit import kernel\n\n\n@kernel\ndef double(x):\n    return 2 * x\n"
    (tmp_path / "kernels_of_a_test.py").write_text(source, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    told: list[str] = []
    for run in ("first", "second"):
        module = importlib.import_module("kernels_of_a_test")
        with compiling(lambda run=run: told.append(run)):  # type: ignore[misc] # bound at once
            assert module.double(21) == 42
            assert module.double(4) == 8
        sys.modules.pop(module.__name__)
    assert told == ["first"]


def test_processes_that_compile_at_once_do_not_get_the_code_of_other_types(tmp_path: Path) -> None:
    """Numba's own files fail this in one of seven rounds."""
    for each in range(100):
        (folder := tmp_path / str(each)).mkdir()
        caches = {types: Compiled(str(folder), "kernel-1", "stamp") for types in "XYZ"}
        with ThreadPoolExecutor(3) as pool:
            list(pool.map(lambda types, caches=caches: caches[types].save(types, types), "XYZ"))
        assert [Compiled(str(folder), "kernel-1", "stamp").load(types) for types in "XYZ"] == [
            *"XYZ"
        ]


def test_a_form_is_taken_only_where_source_and_types_are_the_same(tmp_path: Path) -> None:
    cache = Compiled(str(tmp_path), "kernel-1", "stamp")
    cache.save("X", 1)
    assert cache.load("X") == 1
    assert cache.load("Y") is None
    later = Compiled(str(tmp_path), "kernel-1", "later")
    assert later.load("X") is None
    later.save("X", 2)
    assert later.load("X") == 2
    assert cache.load("X") is None
    for file in sorted(tmp_path.iterdir()):
        whole = file.read_bytes()
        for length in (0, 1, len(whole) // 2):
            file.write_bytes(whole[:length])
            assert later.load("X") is None
        # Whatever a changed byte makes of the file, nothing is raised.
        for at, byte in itertools.product(range(len(whole)), (0, 0x4E, 0x52, 0x93, 0xFF)):
            file.write_bytes(whole[:at] + bytes([byte]) + whole[at + 1 :])
            later.load("X")
        file.write_bytes(whole)
    assert later.load("X") == 2


def test_the_folder_of_the_user_is_named_and_not_made() -> None:
    folder = Path(jit.user_cache())
    before = folder.exists()
    assert folder.is_absolute()
    assert folder.exists() == before


@pytest.mark.jit
def test_a_kernel_is_compiled_anew_where_one_that_it_calls_has_changed(tmp_path: Path) -> None:
    """Numba by itself goes on with the code of the old one."""
    inner = "from discreet.core.jit import part\n\n\n@part\ndef inner(x):\n    return {} * x\n"
    outer = (
        "from discreet.core.jit import kernel\nfrom inner_of_a_test import inner\n\n\n"
        "@kernel\ndef outer(x):\n    return inner(x) + 1\n"
    )
    (tmp_path / "outer_of_a_test.py").write_text(outer, encoding="utf-8")
    script = "import sys; sys.path[0] = ''; from outer_of_a_test import outer; print(outer(4))"
    for factor, found in ((2, "9"), (2, "9"), (100, "401")):
        (tmp_path / "inner_of_a_test.py").write_text(inner.format(factor), encoding="utf-8")
        done = subprocess.run(
            [sys.executable, "-c", script],
            capture_output=True,
            text=True,
            check=True,
            cwd=tmp_path,
            env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "kept")},
        )
        assert done.stdout.strip() == found


def test_sources_that_cannot_be_listed_are_none(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("1", encoding="utf-8")
    assert [name for name, _, _ in jit._sources(str(tmp_path))] == ["a.py"]
    assert jit._sources(str(tmp_path / "not there")) == ()


def test_a_disk_that_takes_nothing_costs_a_compilation_and_not_the_run(tmp_path: Path) -> None:
    cache = Compiled(str(tmp_path / "not there"), "kernel-1", "stamp")
    cache.save("X", 1)
    assert cache.load("X") is None


def test_a_compiler_without_these_parts_is_left_as_it_is(tmp_path: Path) -> None:
    locator = SimpleNamespace(get_source_stamp=lambda: "stamp")
    impl = SimpleNamespace(filename_base="kernel-1", locator=locator)
    cache = SimpleNamespace(cache_path=str(tmp_path), _impl=impl, _cache_file=None)
    jit._separate(SimpleNamespace(_cache=cache, py_func=_nothing))
    assert isinstance(cache._cache_file, Compiled)
    other = SimpleNamespace(_cache=SimpleNamespace(cache_path=str(tmp_path)))
    jit._separate(other)
    assert vars(other._cache) == {"cache_path": str(tmp_path)}


@pytest.mark.parametrize("way", [inlined, disjoint, part])
def test_what_kernels_call_computes_what_it_says(way: Any) -> None:
    inner = way(_twice)

    def outer(x: int) -> int:
        return int(inner(x)) + 1

    assert _compiled(outer)(21) == 43


@pytest.mark.jit
@pytest.mark.parametrize("way", [inlined, disjoint, part])
def test_what_has_no_entry_from_python_says_so(way: Any) -> None:
    """It would end the process otherwise."""
    inner = way(_twice)

    def outer(x: int) -> int:
        return int(inner(x))

    assert _compiled(outer)(1) == 2
    with pytest.raises(TypeError, match="_twice has no entry from Python"):
        inner(1)


def test_what_was_compiled_without_an_entry_refuses_to_be_called() -> None:
    class Found:
        """As a compiled function: it knows the plain one."""

        py_func = staticmethod(_twice)
        __name__ = "_twice"

        def __call__(self, x: int) -> int:
            return 2 * x

    made, one = Found(), Found()
    assert jit._without_entry(made) is made
    with pytest.raises(TypeError, match="_twice has no entry from Python; kernels call it"):
        made(1)
    assert isinstance(made, Found)
    assert one(1) == 2


@pytest.mark.jit
def test_kernels_are_kept_in_files_of_their_own() -> None:
    from discreet.kanonymity.kernels import pricing

    assert isinstance(pricing.price._cache._cache_file, Compiled)  # type: ignore[attr-defined]


def test_the_clock_loads_no_compiler() -> None:
    script = (
        "import sys; from discreet.core.jit import clock; clock(); print('numba' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"


def test_a_module_of_kernels_loads_what_they_need() -> None:
    """Else the first kernel would, at the expense of the search that calls it."""
    script = (
        "import discreet.kanonymity.kernels.runs; from numba.core.registry import cpu_target; "
        "print(len(cpu_target.target_context._registries) > 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "True"


def _nothing() -> None:
    """Make the wrapper load the compiler."""


def _twice(x: int) -> int:
    return 2 * x
