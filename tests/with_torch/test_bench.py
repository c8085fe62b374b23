"""A real torch (CPU) is measured by wall clock, in this process and in fresh ones: `make test-torch`."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

import rocm_perf
from rocm_perf.bench.processes import Repeats, measured
from rocm_perf.bench.settings import Settings
from rocm_perf.bench.target import Target

if importlib.util.find_spec("torch") is None:
    pytest.skip("torch is not in this environment: make test-torch", allow_module_level=True)

MODEL = """
import torch
weight, value = torch.eye(32), torch.ones(32, 32)
def step(): return value @ weight
def on_gpu(): return torch.ones(3, device="cuda")
"""


def test_here() -> None:
    import torch

    result = rocm_perf.benchmark(torch.matmul, torch.ones(32, 32), torch.eye(32), iterations=30)
    assert result["clock"] == "wall clock"
    assert 0 < result["min_ms"] <= result["median_ms"]
    assert any("wall clock" in note for note in result["processes"][0]["notes"])


def test_in_fresh_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    (tmp_path / "model.py").write_text(MODEL)
    monkeypatch.chdir(tmp_path)
    (processes,) = measured([Target("model:step")], Settings(iterations=20), Repeats(count=2))
    assert [one.error for one in processes] == ["", ""]
    assert all(len(one.times_ms) >= 20 for one in processes)
    if not torch.cuda.is_available():
        ((process,),) = measured([Target("model.py:on_gpu")], Settings(), Repeats(count=3))
        assert process.fault == "device"
