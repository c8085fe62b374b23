"""Who holds the memory of a training loop whose bytes are known, in a trace of a real torch: `make test-torch`.

torch has no GPU here, so the allocator's events are said to be of one; the rest is as torch.profiler wrote it.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from rocm_perf.analysis.memory.build import memory
from rocm_perf.ingest.load import load
from rocm_perf.model.results.memory import Memory

if importlib.util.find_spec("torch") is None:
    pytest.skip("torch is not in this environment: make test-torch", allow_module_level=True)

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile, record_function

WIDTH, LAYERS, ROWS, STEPS, LEAK = 256, 3, 512, 5, 1 << 20
PARAMETERS = LAYERS * (WIDTH * WIDTH + WIDTH) * 4


class Training:
    """A loop that keeps a little more after every step."""

    def __init__(self) -> None:
        self.net = nn.Sequential(
            *(layer for _ in range(LAYERS) for layer in (nn.Linear(WIDTH, WIDTH), nn.ReLU()))
        )
        self.optimiser = torch.optim.Adam(self.net.parameters())
        self.kept: list[torch.Tensor] = []

    def step(self) -> None:
        self.net(torch.randn(ROWS, WIDTH)).square().mean().backward()
        self.optimiser.step()
        self.optimiser.zero_grad()
        self.remember()

    def remember(self) -> None:
        self.kept.append(torch.empty(LEAK, dtype=torch.uint8))


def recorded(path: Path, with_stack: bool) -> Memory:
    training = Training()
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True, with_stack=with_stack) as prof:
        for number in range(STEPS):
            with record_function(f"ProfilerStep#{number}"):
                training.step()
    prof.export_chrome_trace(str(path))
    written = path.read_text()
    on_host, on_gpu = '"Device Id": -1, "Device Type": 0', '"Device Id": 0, "Device Type": 1'
    assert on_host in written
    path.write_text(written.replace(on_host, on_gpu))
    return memory(load(path))


@pytest.mark.parametrize("with_stack", [True, False])
def test_owners_and_leak_of_a_real_trace(tmp_path: Path, with_stack: bool) -> None:
    told = recorded(tmp_path / "trace.json", with_stack)
    (peak,) = told.peaks
    owners = {row.owner: row.bytes for row in peak.owners}
    (leak,) = told.growing
    steps_counted = 4 * 2 * LAYERS  # Adam counts in a float for each parameter
    assert owners["optimiser state"] == 2 * PARAMETERS + steps_counted
    assert owners["activations"] == pytest.approx(LAYERS * ROWS * WIDTH * 4, abs=100)
    assert leak.per_step.value == LEAK
    assert ("remember" in leak.site) == with_stack
