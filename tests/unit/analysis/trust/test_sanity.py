from __future__ import annotations

import pytest
from hypothesis import given

from rocm_perf.analysis.basis.plausible import plausible_counters
from rocm_perf.analysis.trust.sanity import sanity
from rocm_perf.model.finding import Finding
from rocm_perf.model.trace import Trace
from rocm_perf.sim.workload import Workload
from tests.sim.recorded import recorded
from tests.sim.strategies import workloads
from tests.unit.analysis.traces import Row, call, kernel, trace

HOUR = 3600 * 10**9


def only(check_ids: Trace) -> Finding:
    (finding,) = sanity(check_ids)
    return finding


def ids(check_ids: Trace) -> list[str]:
    return [finding.id for finding in sanity(check_ids)]


def row_of(count: int, length: int = 701, step: int = 1_003, **more: object) -> list[Row]:
    """Kernels one after another, of two names and of slightly different lengths."""
    return [
        kernel(f"k{n % 2}", n * step, n * step + length + n % 3, queue_id=0, **more) for n in range(count)
    ]


def counter(dispatch: int, name: str, value: float, number: int = 0) -> Row:
    return {"dispatch_id": dispatch, "counter": name, "value": value, "pass_id": number}


def sample(metric: str, value: float) -> Row:
    return {"time_ns": 0, "agent_id": 1, "metric": metric, "value": value}


@given(workloads())
def test_a_simulated_run_is_plausible(workload: Workload) -> None:
    assert {finding.severity for finding in sanity(recorded(workload))} <= {"info"}


def test_nothing_to_say_about_nothing() -> None:
    assert sanity(trace()) == ()


def test_an_event_that_ends_before_it_starts() -> None:
    finding = only(trace(api_calls=[call("hipMalloc", 10, 5), call("hipFree", 10, 20)]))
    assert (finding.id, finding.severity) == ("ends-before-start", "error")
    assert finding.evidence == ("1 of 2 api_calls: hipMalloc lasts -5 ns",)


def test_many_kernels_of_no_length() -> None:
    rows = [*row_of(19), *(kernel("empty", t, t, queue_id=0) for t in (40_001, 40_003))]
    assert only(trace(dispatches=rows)).title == "2 of 21 kernels have no duration"
    assert not ids(
        trace(dispatches=[*row_of(30), kernel("empty", 40_001, 40_001)])
    )  # one in 31 is no pattern


def test_different_kernels_of_one_length() -> None:
    equal = [kernel(f"k{n % 2}", n * 1003, n * 1003 + 500) for n in range(20)]
    assert ids(trace(dispatches=equal)) == ["equal-durations"]
    assert not ids(
        trace(dispatches=[{**row, "kernel": "k"} for row in equal])
    )  # one kernel may be that steady


@pytest.mark.parametrize(("length", "severity"), [(19_000, "warning"), (20_000, "info")])
def test_whole_microseconds(length: int, severity: str) -> None:
    rows = [kernel("k", n * 100_000, n * 100_000 + length + n * 1000) for n in range(20)]
    finding = only(trace(dispatches=rows))
    assert (finding.id, finding.severity) == ("coarse-times", severity)
    rows[7] = {**rows[7], "end_ns": 700_000 + length + 7_001}
    assert not ids(trace(dispatches=rows))


def test_tables_of_two_clocks() -> None:
    calls = [call("hipFree", 2 * HOUR + 5, 2 * HOUR + 9)]
    assert only(trace(dispatches=row_of(3), api_calls=calls)).evidence == (
        "dispatches and api_calls are 7,200 s apart",
    )
    close = [call("hipFree", HOUR, HOUR + 9)]
    assert not ids(trace(dispatches=row_of(3), api_calls=close))


def test_one_table_of_two_clocks() -> None:
    rows = [*row_of(3), kernel("k", 2 * HOUR, 2 * HOUR + 5)]
    assert only(trace(dispatches=rows)).id == "mixed-clocks"
    steady = [kernel("k", hour * HOUR, hour * HOUR + 5) for hour in range(0, 8, 2)]
    assert not ids(trace(dispatches=steady))


def test_times_that_wrap() -> None:
    late, early = (1 << 32) - 1000, 500
    calls = [call("a", late, late + 5, 1), call("b", early, early + 5, 2)]
    (finding,) = sanity(trace(api_calls=calls))
    assert (finding.id, finding.severity) == ("clock-steps-back", "error")
    assert "a 32-bit counter of ns wraps after 4.29 s" in finding.evidence[0]
    assert not ids(trace(api_calls=[call("a", 10**9, 10**9 + 5, 1), call("b", early, early + 5, 2)]))


def test_kernels_that_start_before_their_launch() -> None:
    launch = call("hipLaunchKernel", 10_000, 10_500, 1)
    early = trace(dispatches=[kernel("k", 8_999, 9_800, correlation_id=1)], api_calls=[launch])
    assert only(early).evidence == ("k: 1.00 us before its launch",)
    jitter = trace(dispatches=[kernel("k", 9_000, 9_800, correlation_id=1)], api_calls=[launch])
    assert not ids(jitter)


@pytest.mark.parametrize(("length", "severity"), [(1_010, "info"), (1_100, "warning")])
def test_kernels_that_overlap_in_a_queue(length: int, severity: str) -> None:
    finding = only(trace(dispatches=row_of(12, length)))
    assert (finding.id, finding.severity) == ("queue-overlap", severity)
    assert finding.title.startswith("11 of 12 kernels")
    apart = [{**row, "queue_id": n, "stream_id": n} for n, row in enumerate(row_of(12, length))]
    assert not ids(trace(dispatches=apart))


def test_a_dispatch_recorded_twice() -> None:
    rows = [*row_of(3), {**row_of(3)[1], "dispatch_id": 9}]
    assert only(trace(dispatches=rows)).title == "1 kernel recorded more than once"
    assert not ids(trace(dispatches=[*row_of(3), {**row_of(3)[1], "stream_id": 5}]))


def test_a_correlation_id_used_twice() -> None:
    nested = [call("hipMemset", 0, 100, 7), call("hipMemsetAsync", 10, 90, 7)]
    assert not ids(trace(api_calls=nested))
    again = [*nested, call("hipFree", 100, 110, 7), call("hipFree", 120, 125, 8)]
    assert only(trace(api_calls=again)).evidence == ("id 7: again by hipFree",)


def two_passes(**second: object) -> list[Row]:
    first = [kernel("k", n * 1000, n * 1000 + 400, dispatch_id=n) for n in range(4)]
    return [*first, *({**row, "pass_id": 1, "pid": 5, **second} for row in first)]


def test_passes_that_ran_different_kernels() -> None:
    assert not ids(trace(dispatches=two_passes()))
    finding = only(trace(dispatches=two_passes()[:-1]))
    assert (finding.id, finding.evidence) == (
        "passes-run-different-kernels",
        ("k: 3 to 4 calls in 2 passes",),
    )


def test_what_an_accumulator_accumulates_is_another_counter_in_each_pass() -> None:
    rows = [
        counter(0, "SQ_ACCUM_PREV_HIRES", 10_000),
        {**counter(0, "SQ_ACCUM_PREV_HIRES", 90_000, 1), "pid": 5},
    ]
    assert not ids(trace(dispatches=two_passes(), counters=rows))


def test_a_counter_that_differs_is_counted_once_for_all_dispatches() -> None:
    rows = [
        {
            **counter(turn, name, 1000 + 500 * number * (name == "SQ_WAVES"), number),
            "pid": 5 if number else None,
        }
        for turn in range(4)
        for number in (0, 1)
        for name in ("SQ_WAVES", "TCC_HIT_sum")
    ]
    finding = only(trace(dispatches=two_passes(), counters=rows))
    assert finding.title.startswith("The passes did not do the same work: 1 of 2 counters")
    assert len(finding.evidence) == 1


@pytest.mark.parametrize(
    "name", ["GRBM_COUNT", "GRBM_GUI_ACTIVE", "SQ_BUSY_CYCLES", "SQ_WAIT_INST_ANY", "TA_BUSY_avr"]
)
def test_clocks_differ_between_passes_that_do_the_same(name: str) -> None:
    rows = [
        {**counter(turn, measured, value, number), "pid": 5 if number else None}
        for turn in range(4)
        for number, ticks in enumerate((10_000, 30_000))
        for measured, value in ((name, ticks), ("SQ_WAVES", 64), ("TCC_HIT_sum", 5_000))
    ]
    assert not ids(trace(dispatches=two_passes(), counters=rows))


def test_caches_that_did_not_do_the_same_do_not_say_that_the_work_differs() -> None:
    rows = [counter(0, "TCC_HIT_sum", 10_000), {**counter(0, "TCC_HIT_sum", 14_000, 1), "pid": 5}]
    finding = only(trace(dispatches=two_passes(), counters=rows))
    assert finding.title.startswith("Caches and memory did not do the same in each pass: 1 of 1 counters")


@pytest.mark.parametrize(
    ("name", "value", "items", "dead"),
    [
        ("FETCH_SIZE", 0, 1 << 24, True),
        ("FETCH_SIZE", 4, 1 << 24, False),
        ("FETCH_SIZE", 0, 256, False),
        ("WRITE_SIZE", 0, 1 << 24, False),
    ],
)
def test_reads_that_stay_zero_are_not_counted(name: str, value: float, items: int, dead: bool) -> None:
    sizes = {"grid_x": items, "grid_y": 1, "grid_z": 1}
    rows = [kernel("k", n * 1000, n * 1000 + 400 + n, dispatch_id=n, **sizes) for n in (1, 2)]
    counted = trace(dispatches=rows, counters=[counter(1, name, 0), counter(2, name, value)])
    assert ids(counted) == (["counters-at-zero"] if dead else [])
    assert plausible_counters(counted).height == (0 if dead else 2)


def test_passes_of_different_speed() -> None:
    rows = two_passes()
    slow = [{**row, "end_ns": row["start_ns"] + 520} if row.get("pass_id") else row for row in rows]  # type: ignore[operator]
    assert only(trace(dispatches=slow)).evidence == (
        "pass 1: median ratio 1.30 (2.08 us instead of 1.60 us)",
    )
    near = [{**row, "end_ns": row["start_ns"] + 490} if row.get("pass_id") else row for row in rows]  # type: ignore[operator]
    assert not ids(trace(dispatches=near))


@pytest.mark.parametrize(
    ("name", "values", "differ"),
    [
        ("SQ_WAVES", (1000, 1020), True),
        ("SQ_WAVES", (1000, 1001), False),
        ("TCC_HIT_sum", (10_000, 14_000), True),
        ("TCC_HIT_sum", (10_000, 11_000), False),
        ("TCC_HIT_sum", (2, 9), False),
    ],
)
def test_counters_of_several_passes(name: str, values: tuple[float, float], differ: bool) -> None:
    rows = [counter(0, name, values[0]), {**counter(0, name, values[1], 1), "pid": 5}]
    check_ids = ids(trace(dispatches=two_passes(), counters=rows))
    assert check_ids == (["counters-differ-between-passes"] if differ else [])


@pytest.mark.parametrize(
    ("value", "impossible"), [(-1, True), (2.0**54, True), (float("inf"), True), (0, False)]
)
def test_counter_values(value: float, impossible: bool) -> None:
    check_ids = ids(trace(dispatches=[kernel("k", 0, 9, dispatch_id=1)], counters=[counter(1, "X", value)]))
    assert check_ids == (["impossible-counters"] if impossible else [])


@pytest.mark.parametrize(("waves", "fits"), [(8, True), (16, True), (1, False)])
def test_waves_of_a_grid(waves: int, fits: bool) -> None:
    shape = {"grid_x": 500, "workgroup_x": 256} | {
        f"{what}_{axis}": 1 for what in ("grid", "workgroup") for axis in "yz"
    }
    rows = [kernel("k", 0, 9, dispatch_id=1, **shape)]
    check_ids = ids(trace(dispatches=rows, counters=[counter(1, "SQ_WAVES", waves)]))
    assert check_ids == ([] if fits else ["waves-differ-from-grid"])


def test_percentages() -> None:
    metrics = [
        {"metric": "L2 hit rate", "value": 104.0, "unit": "Percent"},
        {"metric": "VALU utilisation", "value": 100.4, "unit": "pct"},
        {"metric": "traffic ratio", "value": 300.0, "unit": "%"},
        {"metric": "bandwidth", "value": 5000.0, "unit": "GB/s"},
    ]
    assert only(trace(metrics=metrics)).evidence == ("L2 hit rate: up to 104.0 %",)
    shares = [{"domain": "kernel", "name": name, "percent": 60.0} for name in "ab"]
    assert only(trace(summaries=shares)).evidence == ("shares of kernel sum to 120.0 %",)


@pytest.mark.parametrize(
    ("changed", "fits"),
    [({}, True), ({"mean_ns": 11.0, "total_ns": 44.0}, False), ({"total_ns": 50.0}, False)],
)
def test_statistics_that_contradict_themselves(changed: Row, fits: bool) -> None:
    row = {
        "domain": "kernel",
        "name": "k",
        "calls": 4,
        "mean_ns": 9.0,
        "total_ns": 36.0,
        "min_ns": 8.0,
        "max_ns": 10.0,
    }
    assert ids(trace(summaries=[{**row, **changed}])) == ([] if fits else ["inconsistent-statistics"])


def test_statistics_may_lack_the_number_of_calls() -> None:
    row = {"domain": "kernel", "name": "k", "mean_ns": 5.0, "min_ns": 9.0, "max_ns": 12.0, "total_ns": 50.0}
    assert ids(trace(summaries=[row])) == ["inconsistent-statistics"]


@pytest.mark.parametrize(
    ("metric", "value", "words"),
    [
        ("power_w", 0.75, "1000 times too small"),
        ("power_w", 750_000.0, "1000 times too large"),
        ("temperature_c", 400.0, "400 to 400"),
        ("utilization_percent", 130.0, "130 to 130"),
    ],
)
def test_readings_that_no_gpu_has(metric: str, value: float, words: str) -> None:
    finding = only(trace(samples=[sample(metric, value)]))
    assert finding.id == "impossible-samples"
    assert words in finding.evidence[0]


@pytest.mark.parametrize(("metric", "value"), [("power_w", 12.0), ("clock_mhz", 0.0), ("my_sensor", 1e12)])
def test_readings_that_a_gpu_has(metric: str, value: float) -> None:
    assert not ids(trace(samples=[sample(metric, value)]))


@pytest.mark.parametrize(("span", "possible"), [(1_000, True), (100, False), (0, False)])
def test_copies_faster_than_light(span: int, possible: bool) -> None:
    copy = {"kind": "H2D", "size_bytes": 4_000_000, "start_ns": 0, "end_ns": span}
    assert ids(trace(copies=[copy])) == ([] if possible else ["impossible-copies"])


def test_a_stall_is_part_of_the_latency() -> None:
    row = {"text": "s_waitcnt vmcnt(0)", "latency_cycles": 40, "stall_cycles": 41}
    assert only(trace(instructions=[row])).evidence == ("s_waitcnt vmcnt(0): 41 of 40 cycles",)
    assert not ids(trace(instructions=[{**row, "stall_cycles": 40}]))


def test_the_worst_comes_first() -> None:
    both = trace(
        api_calls=[call("hipMalloc", 10, 5)],
        samples=[sample("power_w", 0.75)],
        dispatches=row_of(12, 1_010),
    )
    assert [finding.severity for finding in sanity(both)] == ["error", "warning", "info"]
