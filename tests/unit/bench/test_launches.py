"""Blocks per compute unit, from a trace of one call."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rocm_perf.bench.launches import launch_facts

MACHINE = {"machine": {"compute_units": 100}}


def _trace(folder: Path, *kernels: tuple[str, float, list[int]]) -> Path:
    events = [
        {
            "ph": "X",
            "cat": "kernel",
            "name": name,
            "pid": 0,
            "tid": 7,
            "ts": 100.0 * number,
            "dur": duration,
            "args": {"device": 0, "stream": 7, "correlation": number, "grid": grid, "block": [256, 1, 1]},
        }
        for number, (name, duration, grid) in enumerate(kernels, start=1)
    ]
    path = folder / "one_call.json"
    path.write_text(json.dumps({"schemaVersion": 1, "deviceProperties": [], "traceEvents": events}))
    return path


def test_the_longest_kernel_counts(tmp_path: Path) -> None:
    trace = _trace(tmp_path, ("short", 5.0, [1000, 1, 1]), ("long", 50.0, [10, 4, 1]))
    kernel = launch_facts(trace, MACHINE)["longest_kernel"]
    assert kernel == {"name": "long", "blocks": 40, "blocks_per_cu": pytest.approx(0.4)}


def test_what_is_not_known_is_left_out(tmp_path: Path) -> None:
    assert launch_facts(tmp_path / "absent.json", MACHINE) == {}
    assert launch_facts(_trace(tmp_path, ("k", 5.0, [1, 1, 1])), {}) == {}
    (tmp_path / "damaged.json").write_text("{")
    assert launch_facts(tmp_path / "damaged.json", MACHINE) == {}
    assert launch_facts(_trace(tmp_path), MACHINE) == {}
