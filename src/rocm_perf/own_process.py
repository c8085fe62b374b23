"""How processes of our own are started: with the modules that this one has, and none that lie in the working folder."""

from __future__ import annotations

import sys
from pathlib import Path

_PACKAGES = str(Path(__file__).resolve().parents[1])
_START = (
    "import runpy, sys; sys.path[:] = [sys.argv[1], *filter(None, sys.path)]; "
    "runpy.run_module(sys.argv[2], run_name='__main__')"
)


def own_module(module: str) -> tuple[str, ...]:
    """The command that runs one of our modules. `python -m` would import what lies in the working folder first."""
    return (sys.executable, "-c", _START, _PACKAGES, module)
