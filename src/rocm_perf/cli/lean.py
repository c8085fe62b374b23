"""What a process of one command goes without."""

from __future__ import annotations

import atexit
import gc
import os
from importlib import import_module

_THREADS = "OPENBLAS_NUM_THREADS"


def without_blas_threads() -> None:
    """Import numpy without the threads of its BLAS: nothing here multiplies matrices, and they would spin for a tenth
    of a second. Programs that are started later see the environment as it was."""
    given = os.environ.get(_THREADS)
    os.environ[_THREADS] = "1"
    try:
        import_module("numpy")
    finally:
        del os.environ[_THREADS]
        if given is not None:
            os.environ[_THREADS] = given


def without_last_collection() -> None:
    """Have nothing searched for garbage when the process ends, and all of it goes."""
    atexit.register(gc.freeze)
