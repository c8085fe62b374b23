"""Python runs this at its start. The user's own sitecustomize, which this one hides, runs first and as ever."""

from __future__ import annotations

import importlib.util
import os
import sys
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

FOLDER = os.path.dirname(os.path.abspath(__file__))


def _load(spec: ModuleSpec) -> ModuleType:
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    assert spec.loader is not None
    spec.loader.exec_module(module)
    return module


def _run_hidden() -> None:
    """The next sitecustomize on the path, under its own name. What it raises is for Python to report, as without us."""
    spec = PathFinder.find_spec("sitecustomize", sys.path)
    if spec is not None and spec.loader is not None:
        _load(spec)


def _watch_for_torch() -> None:
    path = os.path.join(FOLDER, "rocm_perf_torch_hook.py")
    spec = importlib.util.spec_from_file_location("rocm_perf_torch_hook", path)
    assert spec is not None
    _load(spec).install()


def _start() -> None:
    # The program sees the path that it would have without us; its children find us by PYTHONPATH again.
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or os.curdir) != FOLDER]
    try:
        _run_hidden()
    finally:
        if os.environ.get("ROCM_PERF_TORCH_OUTPUT"):
            _watch_for_torch()


if __name__ == "sitecustomize":
    _start()
