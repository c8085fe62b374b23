"""rocm-perf: why is a GPU program slow, and is a change really better.

Importing this package costs next to nothing; what is heavy is imported when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rocm_perf.version import __version__

if TYPE_CHECKING:
    from rocm_perf.api import analyze, load, load_runs, simulate

__all__ = ["__version__", "analyze", "load", "load_runs", "simulate"]


def __getattr__(name: str) -> Any:
    if name in ("analyze", "load", "load_runs", "simulate"):
        from rocm_perf import api

        return getattr(api, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
