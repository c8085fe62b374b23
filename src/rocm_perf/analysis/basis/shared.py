"""What several analyses need of a Trace or a Graph is computed when first asked for, and kept as long as that.
Analyses run in several threads: who asks while it is computed waits for it."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import wraps
from threading import Lock
from typing import Any, Concatenate, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

Owner = TypeVar("Owner")
Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


class _Kept:
    """One result, or the place for it."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.results: list[Any] = []  # none, or the one


_RESULTS: WeakKeyDictionary[Any, dict[Hashable, _Kept]] = WeakKeyDictionary()
_ADDING = Lock()


def once_per_owner(
    compute: Callable[Concatenate[Owner, Parameters], Result],
) -> Callable[Concatenate[Owner, Parameters], Result]:
    """The same function, its result kept with its first argument, which never changes, for each choice of others."""

    @wraps(compute)
    def shared(owner: Owner, /, *args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        key = (compute, args, tuple(sorted(kwargs.items())))
        with _ADDING:
            kept = _RESULTS.setdefault(owner, {}).setdefault(key, _Kept())
        with kept.lock:
            if not kept.results:
                kept.results.append(compute(owner, *args, **kwargs))
        result: Result = kept.results[0]
        return result

    return shared


once_per_trace = once_per_owner
once_per_graph = once_per_owner
