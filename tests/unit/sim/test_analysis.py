"""The analyses against the simulator's truth: what they infer from the recording is what really happened."""

from __future__ import annotations

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from rocm_perf.analysis.idle.sync import waiting
from rocm_perf.analysis.time.busy import device_times
from rocm_perf.analysis.time.hotspots import hotspots
from rocm_perf.analysis.trust.coverage import coverage
from rocm_perf.analysis.verdict.doubts import doubts
from rocm_perf.model.calls import SYNC_CALL
from rocm_perf.model.trace import Trace
from rocm_perf.sim.engine import Run, simulate
from rocm_perf.sim.gpu import find_gpu
from rocm_perf.sim.record import agent_of, record
from rocm_perf.sim.steps import Workload
from rocm_perf.sim.truth import gap_causes
from rocm_perf.sim.workload import parse_workload
from tests.sim.strategies import workloads

GPU = find_gpu("sim:MI300X")


def device_items(run: Run, rank: int) -> list[tuple[int, int]]:
    return [(i.start, i.end) for i in run.items if i.kind != "marker" and i.stream.device.rank == rank]


@given(workloads())
def test_busy_and_idle_time_of_every_gpu(workload: Workload) -> None:
    run = simulate(workload, GPU)
    devices = {device.agent_id: device for device in device_times(record(run))}
    for rank in workload.ranks:
        spans = device_items(run, rank)
        if not spans:
            assert agent_of(rank) not in devices
            continue
        device = devices[agent_of(rank)]
        first, last = min(start for start, _ in spans), max(end for _, end in spans)
        inner = sum(
            gap.end - gap.start for gap in gap_causes(run, rank) if first <= gap.start and gap.end <= last
        )
        assert device.window_ns == last - first
        assert device.idle_ns == inner


@given(workloads())
def test_kernels_and_their_launches(workload: Workload) -> None:
    run = simulate(workload, GPU)
    trace = record(run)
    covered = coverage(trace)
    kernels = [item for item in run.items if item.kind in ("kernel", "collective")]
    assert hotspots(trace).total_ns == sum(item.end - item.start for item in kernels)
    assert covered.dispatched == len(kernels)
    if kernels:
        assert covered.paired == len(kernels)
        assert covered.kernels_without_launches == 0


@given(workloads())
def test_time_in_synchronising_calls(workload: Workload) -> None:
    import re

    run = simulate(workload, GPU)
    calls = [call for call in run.calls if re.search(SYNC_CALL, call.name)]
    sync = waiting(record(run))
    assert sync.total.calls == len(calls)
    assert sync.total.total_ns == sum(call.end - call.start for call in calls)
    assert sync.total.useful_ns + sync.total.lost_ns == sync.total.total_ns


@given(workloads())
def test_nothing_is_missing_from_what_was_recorded_whole(workload: Workload) -> None:
    recorded = record(simulate(workload, GPU))
    if recorded.has("dispatches"):
        assert doubts(recorded) == ()


REPLAYS = """
name = "replayed"
[kernel.work]
flops = {f32 = 1.0e8}
bytes = {hbm = 4_194_304}
grid = [131072]
[graph.step]
steps = [{launch = "work"}, {launch = "work"}, {launch = "work"}]
[[thread]]
name = "main"
steps = [{repeat = 32, steps = [{graph = "step"}]}, {sync = "device"}]
"""


@given(st.sets(st.integers(0, 31), min_size=2, max_size=31))
def test_replays_whose_kernels_were_lost_come_first(lost: set[int]) -> None:
    recorded = record(simulate(parse_workload(REPLAYS), GPU))
    ids = recorded.table("dispatches")["correlation_id"].unique().sort()
    gone = pl.col("correlation_id").is_in(ids.gather(sorted(lost)).implode())
    tables = {name: recorded.table(name) for name in recorded}
    thinned = Trace({**tables, "dispatches": tables["dispatches"].filter(~gone)}, recorded.run)
    finding = doubts(thinned)[0]
    assert finding.kind == "unrecorded-work"
    assert finding.title.startswith(f"{len(lost)} of 32 graph replays left no kernel")
    assert coverage(thinned).paired_share == 1 - len(lost) / 32
