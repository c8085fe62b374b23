"""Steps are judged until the next one begins: what the GPU waits for behind its last work is part of the period."""

from __future__ import annotations

import pytest

from rocm_perf.analysis.compare.wall import gpu_walls
from rocm_perf.analysis.idle.gaps import gaps
from rocm_perf.analysis.phases.build import phases
from rocm_perf.analysis.phases.focus import focused
from rocm_perf.analysis.time.busy import device_times, queue_times, wall_ns
from rocm_perf.model.trace import Trace
from tests.unit.analysis.traces import call, kernel, trace

US = 1_000
MS = 1_000_000


def loop(steps: int) -> Trace:
    """Two kernels of 200 us, after which the host computes: a step takes 1 ms."""
    begins = [step * MS + place * 210 * US for step in range(steps) for place in (0, 1)]
    ran = [
        kernel("ab"[place % 2], begin + 5 * US, begin + (205 - place % 2) * US, correlation_id=place + 1)
        for place, begin in enumerate(begins)
    ]
    launches = [
        call("hipLaunchKernel", begin, begin + 4 * US, place + 1) for place, begin in enumerate(begins)
    ]
    return trace(dispatches=ran, api_calls=launches)


def test_every_step_has_its_wait() -> None:
    recording = loop(12)
    division, part = phases(recording), focused(recording)
    assert (division.steps, division.step_ns.value) == (11, MS)
    (gpu,), (queue,) = device_times(part), queue_times(part)
    assert gpu.window_ns == pytest.approx(11 * MS, abs=10 * US)
    assert gpu.busy_ns == 11 * 399 * US
    idle = gaps(part)
    assert (idle.idle_ns, idle.gaps) == (gpu.idle_ns, 22)
    assert queue.idle_ns == gpu.idle_ns
    by_cause = {row.cause: row.total_ns for row in idle.causes}
    assert by_cause["host_busy"] == pytest.approx(11 * 590 * US, rel=0.02)


def test_what_nothing_follows_ends_with_its_last_work() -> None:
    recording = loop(12)
    (gpu,) = device_times(recording)
    assert gpu.window_ns == 11 * MS + 409 * US
    assert gaps(recording).gaps == 23


def test_the_parts_of_the_wall_sum_to_the_steps() -> None:
    part = focused(loop(12))
    assert wall_ns(part) == pytest.approx(11 * MS, abs=10 * US)
    (wall,) = gpu_walls(part, gaps(part))
    assert wall.wall_ns == sum(wall.parts.values()) == wall_ns(part)
    assert wall.parts["after_last"] == 0
    assert "nothing_recorded" not in wall.parts
