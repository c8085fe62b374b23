"""A device without a GPU, and a pair of programs that sleep."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

from tests.gpu.pairs.pair import Pair, Program, Remedy, Tensor


class Sleeper:
    """A device that remembers what was asked of it."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def seed(self) -> None:
        self.asked.append("seed")

    def synchronize(self) -> None:
        self.asked.append("synchronize")

    def rest(self) -> None:
        self.asked.append("rest")

    def range(self, name: str) -> AbstractContextManager[None]:
        self.asked.append(f"range {name}")
        return nullcontext()

    def alone_us(self, launch: Callable[[], None]) -> float:
        begun = time.perf_counter()
        launch()
        return 1e6 * (time.perf_counter() - begun)

    def same(self, one: Tensor, other: Tensor) -> bool:
        return bool(one == other)

    def release(self) -> None:
        self.asked.append("release")


def sleeping_pair(steps_taken: list[tuple[bool, int]], **changed: object) -> Pair:
    """Steps of 4 ms, then of 1 ms; each is noted in `steps_taken`."""

    def make(after: bool) -> Program:
        def sleep() -> None:
            time.sleep(0.001 if after else 0.004)

        def step(number: int) -> None:
            steps_taken.append((after, number))
            sleep()

        return Program(step, result=lambda: "asleep", kernels=sleep)

    facts: dict[str, object] = {
        "name": "sleeping",
        "title": "sleeps -> naps",
        "make": make,
        "steps": 3,
        "torch_steps": 2,
        "remedy": Remedy("graphs"),
        "kinds": ("host-bound",),
    }
    return Pair(**{**facts, **changed})  # type: ignore[arg-type]
