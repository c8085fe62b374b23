"""What several analyses need is computed once for each Trace, when first asked for, and kept as long as the Trace."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from rocm_perf.model.trace import Trace

Result = TypeVar("Result")
_RESULTS: WeakKeyDictionary[Trace, dict[Callable[[Trace], Any], Any]] = WeakKeyDictionary()


def once_per_trace(compute: Callable[[Trace], Result]) -> Callable[[Trace], Result]:
    """The same function, its result kept: a Trace never changes, so neither does what follows from it."""

    @wraps(compute)
    def shared(trace: Trace) -> Result:
        results = _RESULTS.setdefault(trace, {})
        if compute not in results:
            results[compute] = compute(trace)
        result: Result = results[compute]
        return result

    return shared
