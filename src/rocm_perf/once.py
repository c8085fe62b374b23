"""Values that are made once, on first use, however many threads ask for them at the same time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from functools import cache, update_wrapper
from typing import Generic, TypeVar

Value = TypeVar("Value")


class once(Generic[Value]):  # noqa: N801  a decorator, used as functools.cache is
    """As `functools.cache`, but a thread waits for another that makes the value already.

    Topics are analysed by several threads. Whatever msgspec converts is made this way: two threads that have it learn
    the same type at once crash the process.
    """

    def __init__(self, make: Callable[..., Value]) -> None:
        self._kept = cache(make)
        self._lock = threading.RLock()
        update_wrapper(self, make)

    def __call__(self, *arguments: Hashable) -> Value:
        with self._lock:
            return self._kept(*arguments)

    def cache_clear(self) -> None:
        """Forget what was made."""
        self._kept.cache_clear()
