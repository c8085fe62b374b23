"""What several analyses need is computed once for each Trace, when first asked for, and kept as long as the Trace."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

from rocm_perf.model.trace import Trace

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")
_RESULTS: WeakKeyDictionary[Trace, dict[Hashable, Any]] = WeakKeyDictionary()


def once_per_trace(
    compute: Callable[Concatenate[Trace, Parameters], Result],
) -> Callable[Concatenate[Trace, Parameters], Result]:
    """The same function, its result kept for each choice of its other arguments: a Trace never changes."""

    @wraps(compute)
    def shared(trace: Trace, /, *args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        results = _RESULTS.setdefault(trace, {})
        key = (compute, args, tuple(sorted(kwargs.items())))
        if key not in results:
            results[key] = compute(trace, *args, **kwargs)
        result: Result = results[key]
        return result

    return shared
