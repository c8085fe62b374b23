"""What several analyses need of a Trace or a Graph is computed when first asked for, and kept as long as that."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

Owner = TypeVar("Owner")
Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")
_RESULTS: WeakKeyDictionary[Any, dict[Hashable, Any]] = WeakKeyDictionary()


def once_per_owner(
    compute: Callable[Concatenate[Owner, Parameters], Result],
) -> Callable[Concatenate[Owner, Parameters], Result]:
    """The same function, its result kept with its first argument, which never changes, for each choice of others."""

    @wraps(compute)
    def shared(owner: Owner, /, *args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        results = _RESULTS.setdefault(owner, {})
        key = (compute, args, tuple(sorted(kwargs.items())))
        if key not in results:
            results[key] = compute(owner, *args, **kwargs)
        result: Result = results[key]
        return result

    return shared


once_per_trace = once_per_owner
once_per_graph = once_per_owner
