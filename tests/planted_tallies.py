"""What the kernels of tests/kernels/limits.hip do, counted for each workgroup by the emulator and kept as a file.

Tests without a compiler and an emulator have it so; tests/softgpu/test_limits.py compares it with what is counted."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

FILE = Path(__file__).parent / "data" / "planted_tallies.json"
WRITE_AGAIN = "if the compiler or the kernels changed: python -m tests.softgpu.write_planted_tallies"


@lru_cache(maxsize=1)
def planted_tallies() -> Mapping[str, Mapping[str, Mapping[str, float]]]:
    """Return the tallies of a workgroup by chip and kernel."""
    chips: dict[str, dict[str, dict[str, float]]] = json.loads(FILE.read_text())
    return chips
