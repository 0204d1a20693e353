"""Pieces of work: each is done once, by whichever thread, and an error of one is raised."""

from __future__ import annotations

import pytest

from discreet.core.threads import run_pieces, thread_pool


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_each_piece_is_done_once(threads: int) -> None:
    done: list[int] = []
    with thread_pool(threads) as pool:
        run_pieces(pool, threads, 40, done.append)
        run_pieces(pool, threads, 0, done.append)
    assert sorted(done) == list(range(40))


def test_an_error_of_a_helper_is_raised() -> None:
    def work(piece: int) -> None:
        if piece % 2:
            raise ValueError(piece)

    with thread_pool(3) as pool, pytest.raises(ValueError, match=r"\d"):
        run_pieces(pool, 3, 4, work)
