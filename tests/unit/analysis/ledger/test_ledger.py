"""The ledger: each moment of the judged time has one cause and one place, and all of them add up to it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rocm_perf.analysis.ledger.entries import all_ledgers, ledger
from rocm_perf.analysis.phases.build import phases
from rocm_perf.analysis.time.busy import wall_ns
from rocm_perf.model.results.ledger import Ledger
from rocm_perf.model.trace import Trace
from tests.unit.analysis.traces import Row, call, kernel, trace, with_launch_cost

MS, US = 1_000_000, 1_000
STEPS = 6


def told(found: Ledger) -> dict[tuple[str, str], int]:
    """The microseconds of each cause and place."""
    return {(entry.cause, entry.place): round(entry.total_ns / US) for entry in found.entries}


def adds_up(found: Ledger, *, to_ns: int | None) -> None:
    """The entries of each GPU, and those of all, add up; nothing is negative."""
    for gpu in found.gpus:
        assert sum(entry.total_ns for entry in gpu.entries) == gpu.judged_ns == to_ns
    assert sum(entry.total_ns for entry in found.entries) == found.judged_ns
    assert all(entry.total_ns > 0 for entry in found.entries)
    assert abs(sum(entry.share for entry in found.entries) - bool(found.judged_ns)) < 1e-9


def span(name: str, start: int, end: int, **more: object) -> Row:
    given_source = {} if "category" in more else {"source": "roctx"}
    return {"name": name, "start_ns": start, "end_ns": end, "pid": 1, "tid": 7, **given_source, **more}


def host_loop(*inside: tuple[str, int, int], busy_ms: int = 20, **tables: list[Row]) -> Trace:
    """Every 100 ms a launch of 10 us and a kernel; `inside` are calls of the host in each step, in milliseconds."""
    calls, kernels = [], []
    for step in range(STEPS):
        at = step * 100 * MS
        calls.append(call("hipLaunchKernel", at, at + 10 * US, step, pid=1, tid=7))
        calls += [
            call(name, at + begin * MS, at + end * MS, 100 * (number + 1) + step, pid=1, tid=7)
            for number, (name, begin, end) in enumerate(inside)
        ]
        kernels.append(kernel("k", at + 10 * US, at + 10 * US + busy_ms * MS, correlation_id=step, pid=1))
    return trace((), (), api_calls=calls, dispatches=kernels, **tables)


def test_a_moment_of_two_kernels_belongs_to_the_one_that_began_first() -> None:
    rows = [
        kernel("long", 0, 100 * US),
        kernel("beside", 50 * US, 120 * US, stream_id=1),
        kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 90 * US, 150 * US, stream_id=2),
    ]
    copies = [
        {"kind": "H2D", "start_ns": 100 * US, "end_ns": 160 * US, "agent_id": 0, "stream_id": 3},
        {"kind": "MEMSET", "start_ns": 155 * US, "end_ns": 170 * US, "agent_id": 0, "stream_id": 3},
    ]
    found = ledger(trace(dispatches=rows, copies=copies))
    assert told(found) == {
        ("running", "long"): 100,
        ("running", "beside"): 20,
        ("communicating", "ncclDevKernel_AllReduce_Sum_f32_RING_LL"): 30,
        ("copying-to-gpu", "H2D"): 10,
        ("filling", ""): 10,
    }
    adds_up(found, to_ns=170 * US)


def test_time_inside_calls_has_the_call_as_its_place() -> None:
    found = ledger(
        host_loop(("hipStreamSynchronize", 1, 24), ("hipMalloc", 60, 70), ("hipGetDevice", 80, 85))
    )
    causes = told(found)
    assert causes["waiting-for-gpu", "hipStreamSynchronize"] == 5 * 3_990
    assert causes["allocating", "hipMalloc"] == 5 * 10_000
    assert causes["other-calls", "hipGetDevice"] == 5 * 5_000
    assert causes["host-work", ""] == 5 * (100_000 - 24_000 - 15_000)
    adds_up(found, to_ns=5 * 100 * MS + 85 * MS)


def test_parts_of_the_program_are_named_the_most_specific_first() -> None:
    ranges = [
        span("preprocess", step * 100 * MS + 30 * MS, step * 100 * MS + 95 * MS) for step in range(STEPS)
    ]
    ranges += [span("step", step * 100 * MS, step * 100 * MS + 100 * MS) for step in range(STEPS)]
    found = ledger(host_loop(ranges=ranges))
    assert told(found)["host-work", "preprocess"] == 5 * 65_000
    loading = [
        span("get_batch", step * 100 * MS + 30 * MS, step * 100 * MS + 95 * MS) for step in range(STEPS)
    ]
    assert told(ledger(host_loop(ranges=loading)))["loading-data", "get_batch"] == 5 * 65_000
    compiling = [
        span("backend_compile", step * 100 * MS + 30 * MS, step * 100 * MS + 40 * MS) for step in (1, 2)
    ]
    assert told(ledger(host_loop(ranges=compiling)))["compiling", "backend_compile"] == 2 * 10_000


def test_an_operator_that_is_slow_by_itself_is_work_of_the_host() -> None:
    ops = [
        span("aten::sort", step * 100 * MS + 30 * MS, step * 100 * MS + 90 * MS, category="operator")
        for step in range(STEPS)
    ]
    assert told(ledger(host_loop(ops=ops)))["host-work", "aten::sort"] == 5 * 60_000


def test_what_the_profiler_adds_to_launches_is_its_own() -> None:
    starts = [100 * US * place for place in range(10)]
    loop = trace(
        dispatches=[kernel("k", at + 45 * US, at + 60 * US, correlation_id=n) for n, at in enumerate(starts)],
        api_calls=[
            call("hipLaunchKernel", at, at + 40 * US, n, pid=None, tid=7) for n, at in enumerate(starts)
        ],
    )
    plain, traced = ledger(loop), ledger(with_launch_cost(loop, 30 * US))
    assert ("profiler", "") not in told(plain)
    assert told(traced)["profiler", ""] == 9 * 30  # the first begins with the judged time
    assert plain.judged_ns == traced.judged_ns
    launching = plain.total_ns("launching") - traced.total_ns("launching")
    assert launching == traced.total_ns("profiler")


def test_time_in_passes_of_counters_is_that_of_kernels() -> None:
    rows = [kernel("k", place * MS, place * MS + 100 * US, dispatch_id=place) for place in range(5)]
    counters = [
        {"counter": "SQ_WAVES", "value": 1.0, "dispatch_id": place, "pass_id": 0} for place in range(5)
    ]
    found = ledger(trace(dispatches=rows, counters=counters))
    assert told(found) == {("running", "k"): 500}
    assert found.idle_unknown is not None


def test_parts_of_a_recording_add_up() -> None:
    one, other = ledger(host_loop()), ledger(host_loop(busy_ms=30))
    both = all_ledgers([one, other])
    assert both.judged_ns == one.judged_ns + other.judged_ns
    assert len(both.gpus) == 1
    adds_up(both, to_ns=both.judged_ns)


@st.composite
def recordings(draw: st.DrawFn) -> Trace:
    """Kernels, collectives and copies on two GPUs and some streams, calls, operators and ranges, all at random."""
    times = st.integers(0, 400)
    names = st.sampled_from(["k", "Cijk_A", "ncclDevKernel_Generic"])
    calls: list[Row] = []
    dispatches: list[Row] = []
    copies: list[Row] = []
    ranges: list[Row] = []
    ops: list[Row] = []
    for number in range(draw(st.integers(1, 12))):
        start, length, launched = draw(times), draw(st.integers(0, 60)), draw(times)
        known = draw(st.booleans())
        where = {"agent_id": draw(st.integers(0, 1)), "stream_id": draw(st.integers(0, 2)), "pid": 1}
        if draw(st.booleans()):
            row = kernel(
                draw(names),
                (start + launched) * 50 * US,
                (start + launched + length) * 50 * US,
                **{**where, "correlation_id": number if known else None},
            )
            dispatches.append(row)
        else:
            begin = (start + launched) * 50 * US
            kind = draw(st.sampled_from(["H2D", "D2H", "D2D", "MEMSET", "UNKNOWN"]))
            copies.append({"kind": kind, "start_ns": begin, "end_ns": begin + length * 50 * US, **where})
        name = draw(
            st.sampled_from(["hipLaunchKernel", "hipMemcpy", "hipStreamSynchronize", "hipMalloc", "MPI_Wait"])
        )
        at = launched * 50 * US
        until, thread = at + draw(st.integers(0, 80)) * 50 * US, draw(st.integers(1, 2))
        calls.append(call(name, at, until, number, pid=1, tid=thread))
    more: dict[str, str]
    for rows, more in ((ranges, {"source": "roctx"}), (ops, {"category": "operator"})):
        for name in draw(
            st.lists(st.sampled_from(["load_batch", "aten::mm", "compile", "step"]), max_size=4)
        ):
            begin = draw(times) * 50 * US
            end = begin + draw(st.integers(0, 300)) * 50 * US
            rows.append({"name": name, "start_ns": begin, "end_ns": end, "pid": 1, "tid": 1, **more})
    tables = {"dispatches": dispatches, "copies": copies, "api_calls": calls, "ranges": ranges, "ops": ops}
    return trace((), (), **{name: rows for name, rows in tables.items() if rows})


@given(recordings())
def test_the_entries_of_any_recording_add_up_to_its_judged_time(recording: Trace) -> None:
    found = ledger(recording)
    assert found.unavailable is None
    if found.idle_unknown is None:
        adds_up(found, to_ns=(wall_ns(recording) or 0) - phases(recording).paused_ns)
    else:
        assert sum(entry.total_ns for entry in found.entries) == found.judged_ns
