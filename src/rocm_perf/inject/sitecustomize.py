"""Python runs this at its start. The user's own sitecustomize, which this one hides, runs first and as ever."""

from __future__ import annotations

import importlib.util
import os
import sys
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

FOLDER = os.path.dirname(os.path.abspath(__file__))
# The folder that a recorder writes to, by the variable that names it, and what waits for its framework.
HOOKS = {"ROCM_PERF_TORCH_OUTPUT": "rocm_perf_torch_hook", "ROCM_PERF_JAX_OUTPUT": "rocm_perf_jax_hook"}


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


def _neighbour(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, os.path.join(FOLDER, name + ".py"))
    assert spec is not None
    return _load(spec)


def _watch() -> None:
    """Wait for the frameworks that are to be recorded."""
    asked = [hook for variable, hook in HOOKS.items() if os.environ.get(variable)]
    if asked:
        shared = _neighbour("rocm_perf_injection")
        for hook in asked:
            _neighbour(hook).install(shared)


def _start() -> None:
    # The program sees the path that it would have without us; its children find us by PYTHONPATH again.
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or os.curdir) != FOLDER]
    try:
        _run_hidden()
    finally:
        _watch()


if __name__ == "sitecustomize":
    _start()
