from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

from rocm_perf.once import once


def test_threads_that_ask_at_the_same_time_have_it_made_once() -> None:
    made: list[str] = []
    together = threading.Barrier(8)

    @once
    def slow(name: str) -> str:
        made.append(name)
        time.sleep(0.02)
        return name.upper()

    def ask(name: str) -> str:
        together.wait()
        return slow(name)

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(ask, "abababab"))
    assert answers == list("ABABABAB")
    assert sorted(made) == ["a", "b"]


def test_it_is_made_again_once_it_was_forgotten() -> None:
    made: list[int] = []

    @once
    def number() -> int:
        """How often it was made."""
        made.append(1)
        return len(made)

    assert (number(), number()) == (1, 1)
    number.cache_clear()
    assert number() == 2
    assert number.__doc__ == "How often it was made."
