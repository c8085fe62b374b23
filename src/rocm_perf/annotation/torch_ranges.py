"""Ranges for torch.profiler, which listens to its own only: used where rocm-perf records with it."""

from __future__ import annotations

import itertools
import threading
from typing import Any

from rocm_perf.annotation.library import Library


class _Stack(threading.local):
    def __init__(self) -> None:
        self.ranges: list[Any] = []


def torch_ranges() -> Library:
    """Ranges as `torch.profiler.record_function` makes them."""
    from torch.profiler import record_function

    stack, numbers = _Stack(), itertools.count(1)
    numbered: dict[int, Any] = {}

    def opened(name: bytes) -> Any:
        entered = record_function(name.decode())
        entered.__enter__()
        return entered

    def pop() -> None:
        if stack.ranges:
            stack.ranges.pop().__exit__(None, None, None)

    def start(name: bytes) -> int:
        number = next(numbers)
        numbered[number] = opened(name)
        return number

    def stop(number: int) -> None:
        if number in numbered:  # not one that began before torch was imported
            numbered.pop(number).__exit__(None, None, None)

    def mark(text: bytes) -> None:
        opened(text).__exit__(None, None, None)

    def push(name: bytes) -> None:
        stack.ranges.append(opened(name))

    return Library(name="torch", push=push, pop=pop, mark=mark, start=start, stop=stop)
