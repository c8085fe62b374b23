"""What a process of one command goes without: threads and memory that it would not use, most looks for garbage, and
long waits of one thread for another."""

from __future__ import annotations

import atexit
import gc
import os
import sys
from importlib import import_module

_BLAS = "OPENBLAS_NUM_THREADS"
_ALLOCATOR = "_RJEM_MALLOC_CONF"
_CORES_PER_ARENA = 8
_OBJECTS_BETWEEN_COLLECTIONS = 70_000  # Python's own number is 700
_TURN_S = 1e-4


def load_libraries() -> None:
    """Import numpy without the threads of its BLAS, and Polars such that its threads use what others of them have
    freed; nothing changes where they are imported already. Programs that are started later see the environment as it
    was.

    Nothing here multiplies matrices, and the threads would spin for a tenth of a second. The allocator of Polars
    (jemalloc.net, "opt.") has four arenas per core by default, none of which uses what another has freed, and gives
    blocks of 8 MiB and more back to the system at once, which has to clear them again."""
    arenas = max(1, (os.cpu_count() or 1) // _CORES_PER_ARENA)
    given = os.environ.get(_ALLOCATOR)
    ours = f"narenas:{arenas},oversize_threshold:0"
    _import_with("numpy", _BLAS, "1")
    _import_with("polars", _ALLOCATOR, f"{ours},{given}" if given else ours)


def _import_with(module: str, variable: str, value: str) -> None:
    """Import a module that reads the variable as it is loaded."""
    given = os.environ.get(variable)
    os.environ[variable] = value
    try:
        import_module(module)
    finally:
        del os.environ[variable]
        if given is not None:
            os.environ[variable] = given


def collect_seldom() -> None:
    """Have Python look for garbage a hundred times less often, and not when the process ends, and all of it goes: what
    is read and computed stays, and is looked through in vain each time."""
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS, *gc.get_threshold()[1:])
    atexit.register(gc.freeze)


def take_turns_often() -> None:
    """Have a thread that computes in Python make way for another after a tenth of a millisecond: the analyses' threads
    wait for Polars most of the time, and would then wait for each other's five."""
    sys.setswitchinterval(_TURN_S)
