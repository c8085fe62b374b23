"""The path where recordings are as real ones are: kernels that drain, threads beside the program, no calls at all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import accumulate
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocm_perf.analysis.graph import build, forward
from rocm_perf.analysis.path.changes import Change, FasterKernels, SyncsRemoved
from rocm_perf.analysis.path.critical_path import critical_path
from rocm_perf.analysis.path.joined import Captured
from rocm_perf.analysis.path.whatif import whatif
from rocm_perf.analysis.phases.focus import focused
from rocm_perf.ingest.load import load
from rocm_perf.model import schema
from rocm_perf.model.trace import Trace
from rocm_perf.sim import changes as sim
from rocm_perf.sim.engine import simulate
from rocm_perf.sim.record import record
from rocm_perf.sim.workload import Workload, parse_workload
from tests.unit.analysis.traces import call, kernel, trace
from tests.unit.sim.runs import KERNELS, STEADY, thread

GPU_BOUND = parse_workload(
    KERNELS + thread('{repeat = 40, steps = [{launch = "big"}, {launch = "small"}]}, {sync = "device"}')
)
TWO_STREAMS = parse_workload(
    KERNELS
    + thread(
        '{repeat = 40, steps = [{launch = "big"}, {launch = "big"}, {launch = "small", stream = "s"}]}, '
        '{sync = "device"}'
    )
)


def drained(made: Trace) -> Trace:
    """The recording, each kernel ending a twentieth of its length later: the next one starts before that."""
    later = pl.col("end_ns") + (pl.col("end_ns") - pl.col("start_ns")) // 20
    return with_table(made, "dispatches", made.table("dispatches").with_columns(later.alias("end_ns")))


def with_side_thread(made: Trace) -> Trace:
    """The recording with a thread that makes one call at its beginning, and one long after its end."""
    first, last = made.table("api_calls")["start_ns"].min(), made.table("dispatches")["end_ns"].max()
    assert isinstance(first, int)
    assert isinstance(last, int)
    pid = made.table("api_calls")["pid"][0]
    rows = [
        call("hipGetDeviceCount", at, at + 100, 0, pid=pid, tid=99, node=0, pass_id=0)
        for at in (first, last + 506_000_000)
    ]
    calls = schema.conform("api_calls", pl.DataFrame(rows))
    return with_table(made, "api_calls", pl.concat([made.table("api_calls"), calls]))


def without_calls(made: Trace) -> Trace:
    return Trace({"dispatches": made.table("dispatches")}, made.run)


def with_table(made: Trace, name: str, table: pl.DataFrame) -> Trace:
    return Trace({**{one: made.table(one) for one in made}, name: table}, made.run)


@pytest.mark.parametrize("disturbed", [drained, with_side_thread])
@pytest.mark.parametrize("key", ["big", "small"])
def test_a_gpu_bound_loop_gains_what_its_kernels_do(disturbed: Callable[[Trace], Trace], key: str) -> None:
    made = record(simulate(GPU_BOUND, STEADY))
    graph = build(disturbed(made))
    assert forward(graph).to_list() == graph.nodes["start_ns"].to_list()
    saved = simulate(GPU_BOUND, STEADY).wall_ns - sim.wall_if(GPU_BOUND, STEADY, sim.FasterKernel(key, 2))
    assert whatif(graph, FasterKernels(key, 2)).saved_ns == pytest.approx(saved, rel=0.06)
    true = {row.kernel: row.path_ns for row in critical_path(build(made)).by_kernel}
    assert {row.kernel: row.path_ns for row in critical_path(graph).by_kernel} == pytest.approx(
        true, rel=0.06
    )


@pytest.mark.parametrize("workload", [GPU_BOUND, TWO_STREAMS])
def test_kernels_alone_share_the_path_as_they_share_the_gpu(workload: Workload) -> None:
    made = without_calls(record(simulate(workload, STEADY)))
    busy = made.table("dispatches").select(pl.col("end_ns").max() - pl.col("start_ns").min()).item()
    path = {row.kernel: row.path_ns for row in critical_path(build(made)).by_kernel}
    assert path["big"] >= 0.9 * min(busy, 20_000 * made.table("dispatches").filter(kernel="big").height)


LENGTHS = st.integers(50_000, 500_000)  # any is longer than the drain of another
PERCENT_TO_NEXT = st.one_of(st.integers(91, 100), st.integers(101, 400))  # of its length: a drain, or a gap


@given(st.lists(st.tuples(st.sampled_from("abcd"), LENGTHS, PERCENT_TO_NEXT), min_size=1, max_size=40))
def test_where_one_stream_holds_everything_shares_of_the_path_are_shares_of_the_time(
    sequence: list[tuple[str, int, int]],
) -> None:
    starts = [0, *accumulate(length * percent // 100 for _, length, percent in sequence)]
    kernels = [kernel(name, at, at + length) for (name, length, _), at in zip(sequence, starts, strict=False)]
    last = max(at + length for (_, length, _), at in zip(sequence, starts, strict=False))
    busy: Counter[str] = Counter()
    for (name, length, _), at, then in zip(sequence, starts, [*starts[1:-1], last], strict=False):
        busy[name] += min(at + length, then) - at
    path = critical_path(build(trace(dispatches=kernels)))
    assert {row.kernel: row.path_ns for row in path.by_kernel} == dict(busy)


# Measured on an H200 without a profiler (../shared/verdicts/README.md): what the change saved, as a share of the wall.
TRUTHS: list[tuple[str, Change, float, float]] = [
    ("streams_histogram", FasterKernels("histogram", 6.75), 151, 38),
    ("sync_between_products", SyncsRemoved(), 191, 184),
    ("decode_item", Captured(), 465, 116),
]


@pytest.mark.parametrize(("name", "change", "before", "after"), TRUTHS)
def test_what_was_measured_on_an_h200(
    specimens: Path, name: str, change: Change, before: float, after: float
) -> None:
    file = specimens.parent / "verdicts" / "h200" / f"{name}.cupti.json.gz"
    if not file.exists():
        pytest.skip("the recordings of the expert's verdicts are not on this machine")
    projection = whatif(build(focused(load(file))), change)
    saved, measured = projection.saved_ns / projection.recorded_wall_ns, 1 - after / before
    assert saved == pytest.approx(measured, abs=max(0.1 * measured, 0.03))
