"""Modules of a small transformer, recorded by a real torch.profiler (CPU): `make test-torch`."""

from __future__ import annotations

import importlib.util
import json
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from rocm_perf.analysis.modules.build import modules
from rocm_perf.ingest.load import load
from rocm_perf.model.results.modules import ModuleLine, Modules

if importlib.util.find_spec("torch") is None:
    pytest.skip("torch is not in this environment: make test-torch", allow_module_level=True)

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile
from torch.utils.checkpoint import checkpoint

WIDTH, LAYERS, CHECKPOINTED, STEPS = 16, 4, 2, 3


class Block(nn.Module):  # type: ignore[misc]  # torch is not there where types are checked
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.down(torch.relu(self.up(self.norm(x))))


class Model(nn.Module):  # type: ignore[misc]
    """`reentrant`: how the first layers are checkpointed; None: not at all."""

    def __init__(self, reentrant: bool | None) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Block() for _ in range(LAYERS))
        self.head = nn.Linear(WIDTH, 1)
        self.reentrant = reentrant

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for number, layer in enumerate(self.layers):
            if self.reentrant is None or number >= CHECKPOINTED:
                x = layer(x)
            else:
                x = checkpoint(layer, x, use_reentrant=self.reentrant)
        return self.head(x)


@cache
def trained(reentrant: bool | None) -> tuple[Modules, int]:
    """What a recording says of three steps, and how long operators ran in them."""
    model = Model(reentrant)
    batch = torch.randn(4, WIDTH, requires_grad=True)
    model(batch).sum().backward()
    with profile(activities=[ProfilerActivity.CPU], with_stack=True, record_shapes=True) as recorder:
        for _ in range(STEPS):
            model(batch).sum().backward()
    return read(recorder)


def read(recorder: Any) -> tuple[Modules, int]:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        recorder.export_chrome_trace(str(path))
        return modules(load(path)), covered_ns(json.loads(path.read_text())["traceEvents"])


def covered_ns(events: list[dict[str, Any]]) -> int:
    """The time in which an operator runs: on a CPU all of them run on one thread."""
    operators = [event for event in events if event.get("cat") == "cpu_op"]
    spans = sorted((round(event["ts"] * 1000), round(event["dur"] * 1000)) for event in operators)
    reach = total = 0
    for start, length in spans:
        total += max(0, start + length - max(start, reach))
        reach = max(reach, start + length)
    return total


def named(result: Modules, name: str) -> list[ModuleLine]:
    return [line for line in result.lines if line.name == name]


def test_equal_layers_are_one_line() -> None:
    (line,) = named(trained(None)[0], "Block")
    assert (line.modules, line.calls, line.recomputed_calls) == (LAYERS, LAYERS * STEPS, 0)
    assert (line.recomputed.time_ns, line.backward.time_ns > 0) == (0, True)


@pytest.mark.parametrize("reentrant", [True, False])
def test_recomputed_layers_are_those_that_were_checkpointed(reentrant: bool) -> None:
    result, _ = trained(reentrant)
    lines = named(result, "Block")
    assert sum(line.modules for line in lines) == LAYERS
    assert sum(line.calls for line in lines) == LAYERS * STEPS
    assert sum(line.recomputed_calls for line in lines) == CHECKPOINTED * STEPS
    assert all(line.backward.time_ns > 0 for line in lines)
    (root,) = [line for line in result.lines if line.parent is None]
    assert (root.name, root.recomputed_calls) == ("Model_0", 0)


@pytest.mark.parametrize("reentrant", [None, True, False])
def test_no_time_of_an_operator_is_lost_or_counted_twice(reentrant: bool | None) -> None:
    result, spent_ns = trained(reentrant)
    roots = sum(line.total_ns for line in result.lines if line.parent is None)
    assert roots + result.outside_ns == result.total_ns
    assert result.total_ns == spent_ns


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_modules_of_torchscript_are_known_without_a_stack() -> None:
    model = torch.jit.script(nn.Sequential(Block(), Block()))
    batch = torch.randn(4, WIDTH)
    for _ in range(3):
        model(batch)
    with profile(activities=[ProfilerActivity.CPU], with_modules=True) as recorder:
        model(batch)
    (line,) = named(read(recorder)[0], "Block")
    assert (line.modules, line.calls) == (2, 2)
