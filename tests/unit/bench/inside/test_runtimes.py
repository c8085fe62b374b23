"""Events of each runtime that a target may have imported."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from rocm_perf.bench.inside.runtimes import chosen_timer
from rocm_perf.bench.inside.timers import WallClock
from rocm_perf.errors import ToolAbsentError
from tests.unit.bench.fakes import FakeBinding, FakeClock, Work, fake_torch

RUNTIMES = ("torch", "cuda.bindings.runtime", "cuda.cudart", "hip.hip")


@pytest.fixture(autouse=True)
def _nothing_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in RUNTIMES:
        monkeypatch.delitem(sys.modules, name, raising=False)


@pytest.mark.parametrize(
    ("module", "prefix"), [("cuda.bindings.runtime", "cuda"), ("cuda.cudart", "cuda"), ("hip.hip", "hip")]
)
def test_bindings_of_both_vendors(module: str, prefix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = FakeClock()
    binding = FakeBinding(prefix, clock)
    monkeypatch.setitem(sys.modules, module, binding)
    timer = chosen_timer("auto")
    assert timer.clock == "device events"
    assert timer.batch(Work(clock, 9, 1, 2), 2).times_ms == (1, 2)
    assert binding.log.count("StreamSynchronize") == 1
    assert "DeviceSynchronize" not in binding.log


def test_an_error_of_a_binding_is_the_batch_s(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = FakeClock()
    binding = FakeBinding("hip", clock)
    monkeypatch.setitem(sys.modules, "hip.hip", binding)
    timer = chosen_timer("auto")
    binding.hipStreamSynchronize = lambda _stream: (719,)  # type: ignore[attr-defined]
    batch = timer.batch(Work(clock, 1), 2)
    assert str(batch.error) == "hipStreamSynchronize failed: 719"


def test_torch_on_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = FakeClock()
    torch = fake_torch(clock)
    monkeypatch.setitem(sys.modules, "torch", torch)
    assert chosen_timer("auto").batch(Work(clock, 9, 3), 1).times_ms == (9,)
    assert torch.log == ["record", "record", "synchronize stream"]
    assert chosen_timer("wall").clock == "wall clock"


def test_torch_that_has_not_used_a_gpu_means_the_wall_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    idle = SimpleNamespace(cuda=SimpleNamespace(is_initialized=lambda: False))
    monkeypatch.setitem(sys.modules, "torch", idle)
    assert isinstance(chosen_timer("auto"), WallClock)
    with pytest.raises(ToolAbsentError, match="no device events"):
        chosen_timer("device")
