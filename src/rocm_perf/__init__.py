"""rocm-perf: why a GPU program is slow, and whether a change really makes it faster.

Importing this package costs next to nothing; heavy modules are imported when they are first used. `annotate`, `mark`,
`push`, `pop`, `benchmark` and `torch_profile` need the standard library alone (and torch): they run inside the user's
program.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from rocm_perf.version import __version__

if TYPE_CHECKING:
    from rocm_perf.annotation.ranges import annotate, annotation_backend, mark, pop, push
    from rocm_perf.api import analyze, compare, load, load_runs, report, simulate
    from rocm_perf.bench.ab import ab_test
    from rocm_perf.bench.here import benchmark
    from rocm_perf.torch_recording import torch_profile

__all__ = [
    "__version__",
    "ab_test",
    "analyze",
    "annotate",
    "annotation_backend",
    "benchmark",
    "compare",
    "load",
    "load_runs",
    "mark",
    "pop",
    "push",
    "report",
    "simulate",
    "torch_profile",
]

_NOTEBOOK = "rocm_perf.integrations.jupyter"
_HOMES = {
    "ab_test": "rocm_perf.bench.ab",
    **dict.fromkeys(("analyze", "compare", "load", "load_runs", "report", "simulate"), "rocm_perf.api"),
    **dict.fromkeys(("annotate", "annotation_backend", "mark", "pop", "push"), "rocm_perf.annotation.ranges"),
    "benchmark": "rocm_perf.bench.here",
    "load_ipython_extension": _NOTEBOOK,  # %load_ext rocm_perf
    "torch_profile": "rocm_perf.torch_recording",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if "IPython" in sys.modules:
        import_module(_NOTEBOOK).register()
    value = globals()[name] = getattr(import_module(_HOMES[name]), name)
    return value
