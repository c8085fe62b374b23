from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocm_perf.errors import UsageError
from rocm_perf.sim.changes import (
    AsyncCopies,
    Captured,
    Change,
    FasterKernel,
    Fused,
    ScaledCpu,
    StreamSyncs,
    SyncsHoisted,
    wall_if,
)
from rocm_perf.sim.engine import simulate
from rocm_perf.sim.steps import Step, Workload, in_order
from rocm_perf.sim.truth import work
from rocm_perf.sim.workload import parse_workload
from tests.sim.strategies import workloads
from tests.unit.sim.runs import KERNELS, MI300X, STEADY, thread


def workload(*threads: str) -> Workload:
    return parse_workload(KERNELS + "".join(one if one.startswith("[[") else thread(one) for one in threads))


def steps_of(changed: Workload, number: int = 0) -> list[Step]:
    return list(in_order(changed.threads[number].steps))


def test_without_a_change_the_wall_is_that_of_the_run() -> None:
    given_ = workload('{launch = "big"}, {sync = "device"}')
    assert wall_if(given_, STEADY) == simulate(given_, STEADY).wall_ns


def test_a_faster_kernel_does_the_same_work() -> None:
    given_ = workload('{launch = "big"}, {sync = "device"}')
    assert wall_if(given_, STEADY) - wall_if(given_, STEADY, FasterKernel("big", 4)) == 15000
    text = "[kernel.k]\nflops = {f32 = 1e12}\n" + thread('{launch = "k"}')
    before = work(simulate(parse_workload(text), STEADY))[0]
    after = work(simulate(FasterKernel("k", 2).apply(parse_workload(text), STEADY), STEADY))[0]
    assert after.flops == before.flops
    assert after.duration_ns == pytest.approx(before.duration_ns / 2, abs=1)


def test_an_unknown_kernel_is_refused() -> None:
    with pytest.raises(UsageError, match="Known: big, small"):
        FasterKernel("bug", 2).apply(workload('{launch = "big"}'), STEADY)


def test_hoisted_syncs_leave_the_last_one_behind_the_loop() -> None:
    loop = (
        '{repeat = 3, steps = [{launch = "big"}, {sync = "stream"}, {launch = "small"}, {sync = "stream"}]}'
    )
    changed = SyncsHoisted().apply(workload(loop), STEADY)
    assert [step.verb for step in steps_of(changed)] == ["launch"] * 6 + ["sync"]
    assert wall_if(changed, STEADY) == 7000 + 3 * 30000 + 5 * 1500 + 6000


def test_hoisted_syncs_keep_one_a_stream_and_drop_loops_of_nothing_else() -> None:
    given_ = workload(
        '{launch = "big"}, {repeat = 2, steps = [{sync = "stream", stream = "s"}]}, {sync = "device"}'
    )
    assert [(step.verb, step.what) for step in SyncsHoisted().apply(given_, STEADY).threads[0].steps] == [
        ("launch", "big"),
        ("sync", "stream"),
        ("sync", "device"),
    ]


def test_a_device_sync_becomes_one_of_the_stream_in_use() -> None:
    given_ = workload('{launch = "big"}, {launch = "small", stream = "s"}, {sync = "device"}')
    assert steps_of(StreamSyncs().apply(given_, STEADY))[-1] == Step("sync", "stream", "s")


def test_fusing_adds_the_work_and_spares_the_memory_between() -> None:
    text = "[kernel.a]\nflops = {f32 = 10}\nbytes = {hbm = 1e9}\nvgprs = 8\n"
    text += "[kernel.b]\nbytes = {hbm = 2e9}\nvgprs = 64\n"
    steps = '{repeat = 2, steps = [{launch = "a"}, {launch = "b"}, {launch = "b"}]}, {launch = "a"}, {sync = "device"}'
    given_ = parse_workload(text + thread(steps))
    changed = Fused(("a", "b"), kept_bytes=1.5e9).apply(given_, STEADY)
    assert [step.what for step in steps_of(changed)] == ["fused a b", "b"] * 2 + ["a", "device"]
    fused = changed.kernels["fused a b"]
    assert (fused.flops, fused.bytes, fused.vgprs) == ({"f32": 10}, {"hbm": 1.5e9}, 64)
    assert wall_if(given_, STEADY, Fused(("a", "b"), 1.5e9)) < wall_if(given_, STEADY)


def test_timed_kernels_fuse_to_the_sum_of_their_times() -> None:
    given_ = workload('{launch = "big"}, {launch = "small"}')
    assert wall_if(given_, STEADY, Fused(("big", "small"))) == 7000 + 30000


def test_launches_on_other_streams_are_not_fused() -> None:
    given_ = workload('{launch = "big"}, {launch = "small", stream = "s"}')
    assert steps_of(Fused(("big", "small")).apply(given_, STEADY)) == steps_of(given_)


def test_a_loop_body_becomes_one_graph() -> None:
    body = '{launch = "big"}, {launch = "small"}, {copy = "D2H", bytes = 8}, {cpu = "x", us = 1}, {launch = "small"}'
    given_ = workload(f'{{launch = "big"}}, {{launch = "big"}}, {{repeat = 3, steps = [{body}]}}')
    changed = Captured().apply(given_, STEADY)
    assert [step.verb for step in steps_of(changed)] == ["launch"] * 2 + ["graph", "cpu", "launch"] * 3
    assert [step.verb for step in next(iter(changed.graphs.values()))] == ["launch", "launch", "copy"]
    assert wall_if(given_, STEADY, Captured()) < wall_if(given_, STEADY)


def test_copies_made_asynchronous_no_longer_block() -> None:
    given_ = workload('{copy = "H2D", bytes = 1000000, pinned = false}, {launch = "big"}')
    assert simulate(AsyncCopies().apply(given_, STEADY), STEADY).calls[0].name == "hipMemcpyAsync"
    assert wall_if(given_, STEADY, AsyncCopies()) < wall_if(given_, STEADY)


def test_only_the_straggler_is_scaled() -> None:
    loops = [thread('{repeat = 2, steps = [{cpu = "load", us = 100}]}', rank) for rank in (0, 1)]
    changed = ScaledCpu(1, 0.5).apply(workload(*loops), STEADY)
    assert [[step.duration_us for step in steps_of(changed, rank)] for rank in (0, 1)] == [
        [100, 100],
        [50, 50],
    ]


EVERY: list[Change] = [
    SyncsHoisted(),
    StreamSyncs(),
    Captured(),
    AsyncCopies(),
    ScaledCpu(0, 0.5),
    FasterKernel("k0", 2),
]


@given(workloads(), st.lists(st.sampled_from(EVERY), max_size=3))
def test_every_change_gives_a_workload_that_ends(given_: Workload, changes: list[Change]) -> None:
    assert wall_if(given_, MI300X, *changes) > 0
