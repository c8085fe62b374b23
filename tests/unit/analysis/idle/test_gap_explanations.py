"""What explains idle time: named ranges, first uses, work that was not recorded; and when nothing is concluded."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
import pytest

from rocm_perf.analysis.idle.gaps import gaps
from rocm_perf.analysis.idle.launches import launch_findings
from rocm_perf.analysis.idle.sync import sync_findings
from rocm_perf.analysis.overview import examine
from rocm_perf.analysis.time.slivers import sliver_findings
from rocm_perf.analysis.verdict.themes import IDLE
from rocm_perf.model.finding import Finding
from rocm_perf.model.trace import Trace
from rocm_perf.units import NS_PER_MS, NS_PER_US
from tests.unit.analysis.documents import document
from tests.unit.analysis.traces import Row, call, kernel, trace

MS, US = NS_PER_MS, NS_PER_US
STEPS = 6


def loop(busy_ms: int, launch_us: Sequence[int] = (5,) * STEPS, **tables: Sequence[Row]) -> Trace:
    """A step of 100 ms: a launch, and a kernel that begins as the launch returns; the rest is the host's."""
    calls, kernels = [], []
    for step, spent in enumerate(launch_us):
        start = step * 100 * MS
        calls.append(call("hipLaunchKernel", start, start + spent * US, step, tid=7, pid=1))
        begin = start + (spent + 5) * US
        kernels.append(kernel("k", begin, begin + busy_ms * MS + step, correlation_id=step, pid=1))
    return trace((), (), api_calls=calls, dispatches=kernels, **tables)


def idle_findings(recording: Trace) -> list[Finding]:
    return [finding for finding in document(recording).findings if finding.id in IDLE]


def span(name: str, start_ms: float, end_ms: float, **more: object) -> Row:
    return {
        "name": name,
        **({} if "category" in more else {"source": "record_function"}),
        "start_ns": round(start_ms * MS),
        "end_ns": round(end_ms * MS),
        "pid": 1,
        "tid": 7,
        **more,
    }


def each_step(name: str, start_ms: float, end_ms: float, **more: object) -> list[Row]:
    return [span(name, step * 100 + start_ms, step * 100 + end_ms, **more) for step in range(STEPS)]


def test_the_range_that_holds_the_idle_time_is_named() -> None:
    ranges = [*each_step("step", 0, 100), *each_step("next batch", 25, 95), *each_step("loss", 95, 99)]
    recording = loop(20, ranges=ranges)
    (named,) = gaps(recording).ranges
    assert (named.name, named.idle_ns) == ("next batch", 5 * 70 * MS)
    first = idle_findings(recording)[0]
    assert (first.id, first.kind, first.time_at_stake_ns) == ("data-loading", "host-bound", 5 * 70 * MS)
    assert (
        first.evidence[0] == "the host loads data, in next batch: 350 ms in 5 gaps, 72.9 % of the idle time"
    )


def bursts(range_name: str) -> Trace:
    """Every 100 ms a burst of 1,000 kernels of 20 us, launched ahead; then the host is in a range until the next."""
    calls, kernels = [], []
    for step, place in ((step, place) for step in range(STEPS) for place in range(1_000)):
        start, number = step * 100 * MS, 1_000 * step + place
        calls.append(call("hipLaunchKernel", start + place * 5 * US, start + (place * 5 + 3) * US, number))
        begin = start + 10 * US + place * 20 * US
        kernels.append(kernel("k", begin, begin + 20 * US - place % 3, correlation_id=number, pid=1))
    timed = [{**row, "tid": 7, "pid": 1} for row in calls]
    return trace((), (), api_calls=timed, dispatches=kernels, ranges=each_step(range_name, 20, 100))


def test_long_gaps_between_bursts_of_launches_are_not_the_launches_fault() -> None:
    recording = bursts("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__")
    assert gaps(recording).long.gaps == 5
    first = examine(recording, "x").findings[0]
    assert (first.id, first.kind) == ("data-loading", "host-bound")
    assert first.title == "The GPU waits for the data loader"
    assert first.time_at_stake_ns == pytest.approx(400 * MS, rel=0.05)


def test_the_part_of_the_program_that_keeps_the_host_is_named() -> None:
    first = examine(bursts("tokenize"), "x").findings[0]
    assert first.title == "The GPU waits while the host is in tokenize, and in no call of the runtime"


@pytest.mark.parametrize(
    ("around", "elsewhere_ms"),
    [("forward", 5 * 70), ("next batch", 5 * 80), ("enumerate(DataLoader)", 5 * 80)],
)
def test_an_operator_is_no_other_work_unless_it_loads_data(around: str, elsewhere_ms: int) -> None:
    operators = each_step("vendor::projection", 90, 100.003, category="operator")
    recording = loop(20, ops=operators, ranges=each_step(around, 22, 101))
    assert gaps(recording).long.host_ns == pytest.approx(elsewhere_ms * MS, rel=0.01)


def test_outermost_operators_name_it_too() -> None:
    ops = [
        *each_step("enumerate(DataLoader)", 25, 95, category="operator"),
        *each_step("aten::copy_", 30, 90, category="operator"),
    ]
    (named,) = gaps(loop(20, ops=ops)).ranges
    assert named.name == "enumerate(DataLoader)"


def test_a_range_beside_the_idle_time_does_not_explain_it() -> None:
    assert gaps(loop(20, ranges=[*each_step("forward", 0, 25), *each_step("step", 0, 100)])).ranges == ()
    assert gaps(loop(20, ranges=each_step("ProfilerStep#3", 10, 95))).ranges == ()


def test_what_was_compiled_is_no_part_of_the_program() -> None:
    compiled = each_step("## Call CompiledFxGraph f7 ##", 22, 98)
    region = each_step("Torch-Compiled Region: 0/0", 22, 98, category="operator")
    assert gaps(loop(20, ranges=compiled, ops=region)).ranges == ()
    (told,) = gaps(loop(20, ranges=[*compiled, *each_step("load", 25, 95)], ops=region)).ranges
    assert told.name == "load"


def test_without_ranges_a_function_of_the_program_names_it() -> None:
    """The shortest of those that hold nearly all of the time: not the loop around it, nor a part of what it does."""
    frames = [
        span("app.py(1): main", 0, 600, category="python"),
        *each_step("app.py(9): step", 21, 99.9, category="python"),
        *each_step("data.py(3): preprocess", 22, 97, category="python"),
        *each_step("image.py(7): resize", 30, 80, category="python"),
    ]
    told = gaps(loop(20, ops=frames)).ranges
    assert [row.name for row in told] == ["data.py(3): preprocess", "app.py(9): step"]
    first = examine(loop(20, ops=frames), "x").findings[0]
    assert (
        first.title
        == "The GPU waits while the host is in data.py(3): preprocess, and in no call of the runtime"
    )
    (ranged,) = gaps(loop(20, ops=frames, ranges=each_step("load", 25, 95))).ranges
    assert ranged.name == "load"


def test_functions_around_short_gaps_name_nothing() -> None:
    """A framework is in its own functions between two launches."""
    starts = [100 * US * place for place in range(60)]
    recording = trace(
        (),
        (),
        api_calls=[call("hipLaunchKernel", at, at + 5 * US, n, tid=7, pid=1) for n, at in enumerate(starts)],
        dispatches=[
            kernel("k", at + 9 * US, at + 30 * US + n, correlation_id=n, pid=1) for n, at in enumerate(starts)
        ],
        ops=[
            span("module.py(5): call", at / MS + 0.006, at / MS + 0.099, category="python") for at in starts
        ],
    )
    assert gaps(recording).ranges == ()


def unnamed(recording: Trace) -> Trace:
    """Without the process, as JAX records it."""
    nobody = pl.lit(None, pl.Int64).alias("pid")
    tables = ("api_calls", "dispatches", "ranges")
    return Trace({name: recording.table(name).with_columns(nobody) for name in tables})


def test_another_thread_explains_it_where_launches_go_on_as_soon_as_it_is_done() -> None:
    recording = unnamed(loop(20, ranges=each_step("evict", 25, 95, tid=8)))
    (named,) = gaps(recording).ranges
    assert (named.name, named.idle_ns, named.in_other_threads) == ("evict", 5 * 70 * MS, True)
    first = examine(recording, "x").findings[0]
    assert first.title == "The GPU waits until another thread of the program is done with evict"
    for start, end in ((25, 80), (60, 140)):  # over long before the launch, or when it is long over
        assert gaps(loop(20, ranges=each_step("evict", start, end, tid=8))).ranges == ()
    assert gaps(loop(20, ranges=each_step("evict", 25, 95, tid=8, pid=2))).ranges == ()  # of another process


def test_threads_that_launch_side_by_side_are_in_a_part_of_their_time() -> None:
    """The time of a range is summed over threads, which may be more than the wall."""
    one, other = (loop(20, ranges=each_step("load", 25, 95, tid=tid)) for tid in (7, 8))
    tables = {
        name: [*one.table(name).iter_rows(named=True)] for name in ("api_calls", "dispatches", "ranges")
    }
    for row in other.table("api_calls").iter_rows(named=True):
        tables["api_calls"].append({**row, "tid": 8, "correlation_id": row["correlation_id"] + 100})
    for row in other.table("dispatches").iter_rows(named=True):
        tables["dispatches"].append({**row, "agent_id": 1, "correlation_id": row["correlation_id"] + 100})
    tables["ranges"] += other.table("ranges").iter_rows(named=True)
    (named,) = gaps(trace((), (), **tables)).ranges
    assert (named.name, named.in_other_threads) == ("load", False)


def test_launches_that_load_code_are_first_uses() -> None:
    recording = loop(20, [5, 60_000, 5, 60_000, 5, 5])
    (finding,) = [one for one in idle_findings(recording) if one.kind == "startup"]
    assert finding.id == "first-uses"
    assert "hipLaunchKernel" in finding.title
    assert finding.time_at_stake_ns == 120 * MS


def test_what_loading_code_takes_is_not_what_launching_takes() -> None:
    recording = loop(1, [700, 60_000, 700, 700, 700, 700])
    (finding,) = launch_findings(document(recording))
    assert finding.evidence == (
        "5 launching calls took 3.50 ms (700 us each), beside 1 that took 60.0 ms once",
        "the kernels ran for 6.00 ms: launching took 58.3 % of that",
    )
    (finding,) = launch_findings(document(loop(1, [40_000] * STEPS)))
    assert finding.evidence[1] == "the kernels ran for 6.00 ms: launching took 40 times that"


def test_launches_that_are_all_slow_are_the_hosts() -> None:
    first = idle_findings(loop(20, [60_000] * STEPS))[0]
    assert (first.id, first.kind) == ("host-bound", "host-bound")


def test_waits_behind_unrecorded_work_are_not_idle_time() -> None:
    kernels = [
        kernel("earlier", 10 * US, 20 * US, correlation_id=1),
        kernel("awaited", 400 * MS, 410 * MS, correlation_id=2, stream_id=3),
    ]
    calls = [call("hipLaunchKernel", 0, 5 * US, 1), call("hipLaunchKernel", 30 * US, 35 * US, 2)]
    recording = trace(dispatches=kernels, api_calls=calls)
    causes = {row.cause: row.total_ns for row in gaps(recording).causes}
    assert causes["unrecorded"] == 400 * MS - 35 * US
    assert sum(causes.values()) == gaps(recording).idle_ns
    assert idle_findings(recording) == []


def counted(recording: Trace, pass_id: int = 0) -> Trace:
    row = {"counter": "SQ_WAVES", "value": 1.0, "dispatch_id": 0, "pass_id": pass_id}
    counters = trace(counters=[row]).table("counters")
    return Trace({**{name: recording.table(name) for name in recording}, "counters": counters})


def test_nothing_is_concluded_from_the_idle_time_of_a_counter_pass() -> None:
    calls = [
        call("hipDeviceSynchronize", step * 100 * MS + 21 * MS, step * 100 * MS + 99 * MS)
        for step in range(STEPS)
    ]
    waiting = loop(20)
    recording = Trace(
        {
            "dispatches": waiting.table("dispatches"),
            "api_calls": trace(api_calls=[*waiting.table("api_calls").to_dicts(), *calls]).table("api_calls"),
        }
    )
    findings = (sync_findings, launch_findings, sliver_findings)
    plain, profiled = document(recording), document(counted(recording))
    assert idle_findings(recording)
    assert idle_findings(counted(recording)) == []
    assert [one.id for find in findings for one in find(plain)]
    assert [one.id for find in findings for one in find(profiled)] == []
    assert profiled.gaps.doubt is not None
    assert {score.id: score.verdict for score in profiled.scorecard}["gap-share"] == "unknown"


def test_counters_of_another_pass_leave_the_times_alone() -> None:
    assert gaps(counted(loop(20), pass_id=1)).doubt is None


def test_nothing_is_concluded_from_the_time_between_collectives_alone() -> None:
    reduce = "ncclDevKernel_AllReduce_Sum_f32_RING_LL"
    alone = [kernel(reduce, at * MS, at * MS + 10 * US) for at in range(9)]
    assert gaps(trace(dispatches=alone)).doubt is not None
    assert gaps(trace(dispatches=[*alone, kernel("gemm", 9 * MS, 10 * MS)])).doubt is None


def emptied(freed_us: int, once_us: int = 0) -> Trace:
    """A step of 1 ms: an allocation, a kernel of 500 us, and a call that frees, and waits for it first."""
    calls, kernels = [], []
    for step in range(20):
        at, early = step * MS, once_us if step == 10 else 0
        calls += [
            call("hipMalloc", at - early * US, at + 10 * US, 100 + step, tid=7, pid=1),
            call("hipLaunchKernel", at + 20 * US, at + 25 * US, step, tid=7, pid=1),
            call("hipFree", at + 30 * US, at + (530 + freed_us) * US, 200 + step, tid=7, pid=1),
        ]
        kernels.append(kernel("k", at + 28 * US, at + 528 * US, correlation_id=step, pid=1))
    return trace((), (), api_calls=calls, dispatches=kernels)


def test_memory_that_is_freed_in_every_step_is_a_finding_of_its_own() -> None:
    findings = examine(emptied(400), "x").findings
    (finding,) = [one for one in findings if one.id == "allocation"]
    assert finding.title == "The GPU waits while memory is allocated and freed: hipFree, hipMalloc"
    assert "hipMallocAsync" in finding.remedy
    assert finding.time_at_stake_ns == pytest.approx(19 * 412 * US, rel=0.04)
    assert finding is findings[0]  # before a kernel of which nothing is known
    assert not {"synchronisation"} & {one.id for one in findings}  # told once


def test_memory_that_is_freed_at_once_is_not() -> None:
    assert "allocation" not in {finding.id for finding in examine(emptied(2), "x").findings}


def test_allocations_that_took_long_once_are_start_up() -> None:
    often, once = (document(emptied(2, once_us=us)).ledger for us in (0, 400))
    assert once.total_ns("first-use") == pytest.approx(400 * US, rel=0.1)
    assert once.total_ns("allocating") <= often.total_ns("allocating")
