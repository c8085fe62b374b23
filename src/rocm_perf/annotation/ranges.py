"""`annotate`, `mark`, `push` and `pop`: names for parts of a program, in the profiler's timeline. Where no profiler's
library is here they do nothing, at next to no cost."""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable, Generator
from contextvars import ContextVar
from types import TracebackType
from typing import Any, TypeVar, cast

from rocm_perf.annotation.libraries import choose
from rocm_perf.annotation.library import NOT_YET, Library

F = TypeVar("F", bound=Callable[..., Any])

_lock = threading.Lock()
_chosen: Library | None = None
# Ranges of `async with` that the current task has open: tasks take turns on one thread, so its stack is no place.
_open: ContextVar[tuple[int, ...]] = ContextVar("rocm_perf_open_ranges", default=())


def _choose_once() -> Library:
    global _chosen  # noqa: PLW0603  (chosen once, at the first range)
    with _lock:
        if _chosen is None:
            library = choose()
            if library is NOT_YET:
                return library
            _chosen = library
        return _chosen


def annotation_backend() -> str:
    """The name of what the ranges go to: "rocprofiler-sdk-roctx", "roctx64", "nvtx", "torch" or "none"."""
    return (_chosen or _choose_once()).name


def push(name: str) -> None:
    """Open a range on this thread."""
    (_chosen or _choose_once()).push(name.encode(errors="replace"))


def pop() -> None:
    """Close the range that this thread opened last."""
    (_chosen or _choose_once()).pop()


def mark(text: str) -> None:
    """Mark one moment."""
    (_chosen or _choose_once()).mark(text.encode(errors="replace"))


class annotate:  # noqa: N801  (used like a function: `with annotate("load"):` and `@annotate("load")`)
    """A range around a block or a function. It may be nested, reused and shared by threads.

    `with` and plain functions use the thread's stack of ranges. `async with` and coroutines use ranges that may
    overlap, because tasks take turns. Of a generator, every stretch that it runs is a range of its own.
    """

    __slots__ = ("_name",)

    def __init__(self, name: str | None = None) -> None:
        if name is not None and not isinstance(name, str):
            raise TypeError(
                'annotate takes a name: write @annotate("name"), or @annotate() for the function\'s own'
            )
        self._name = None if name is None else name.encode(errors="replace")

    def __enter__(self) -> annotate:
        (_chosen or _choose_once()).push(self._name or b"range")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        (_chosen or _choose_once()).pop()

    async def __aenter__(self) -> annotate:
        _open.set((*_open.get(), (_chosen or _choose_once()).start(self._name or b"range")))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        *rest, last = _open.get()
        _open.set(tuple(rest))
        (_chosen or _choose_once()).stop(last)

    def __call__(self, function: F) -> F:
        if inspect.isasyncgenfunction(function):
            raise TypeError(
                f"{function.__qualname__} is an async generator: use `async with annotate(...)` inside it"
            )
        name = annotate(function.__qualname__) if self._name is None else self
        if inspect.iscoroutinefunction(function):
            return cast(F, _around_coroutine(name, function))
        if inspect.isgeneratorfunction(function):
            return cast(F, _around_generator(name, function))
        return cast(F, _around_call(name, function))


def _around_call(name: annotate, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        with name:
            return function(*args, **kwargs)

    return called


def _around_coroutine(name: annotate, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    async def awaited(*args: Any, **kwargs: Any) -> Any:
        async with name:
            return await function(*args, **kwargs)

    return awaited


def _around_generator(name: annotate, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def generated(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        return (yield from _stretches(name, function(*args, **kwargs)))

    return generated


def _stretches(name: annotate, generator: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
    """`yield from`, with every stretch of the generator in a range: never the consumer's time."""
    resume: Callable[[], Any] = functools.partial(next, generator)
    while True:
        try:
            with name:
                item = resume()
        except StopIteration as end:
            return end.value
        try:
            resume = functools.partial(generator.send, (yield item))
        except GeneratorExit:
            with name:
                generator.close()
            raise
        except BaseException as error:  # noqa: BLE001  (the generator's own to handle, as in `yield from`)
            resume = functools.partial(generator.throw, error)
