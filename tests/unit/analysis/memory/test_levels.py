"""Memory in use, from allocations and from readings."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from rocm_perf.analysis.memory.levels import NOTHING, memory
from rocm_perf.model.results.memory import MemoryUse
from tests.unit.analysis.traces import Row, kernel, trace


def alloc(time: int, address: int, size: int | None, level: str = "REAL", agent: int | None = 0) -> Row:
    return {"operation": "ALLOC", "level": level, "address": address, "size_bytes": size, "start_ns": time,
            "end_ns": time, "agent_id": agent, "pid": 1}  # fmt: skip


def free(time: int, address: int, level: str = "REAL") -> Row:
    return {**alloc(time, address, None, level, None), "operation": "FREE"}


def use(*rows: Row, **more: Any) -> MemoryUse:
    (usage,) = memory(trace(allocations=rows, **more)).rows
    return usage


def test_a_free_takes_size_and_gpu_from_its_allocation() -> None:
    usage = use(alloc(0, 1, 100), alloc(10, 2, 50), free(20, 1), alloc(30, 3, 10))
    assert (usage.peak_bytes, usage.peak_ns, usage.last_bytes, usage.agent_id) == (150, 10, 60, 0)
    assert (usage.allocations, usage.frees, usage.frees_without_allocation) == (3, 1, 0)


def test_frees_of_earlier_memory_are_noted_and_do_not_count() -> None:
    rows = memory(trace(allocations=[free(0, 9), alloc(5, 1, 10), free(6, 1), free(7, 1)])).rows
    assert sum(row.frees_without_allocation for row in rows) == 2
    assert max(row.peak_bytes for row in rows) == 10
    assert min(row.last_bytes for row in rows) == 0


def test_an_address_given_out_twice_was_freed_in_between() -> None:
    usage = use(alloc(0, 1, 100), alloc(5, 1, 30))
    assert (usage.reused_addresses, usage.last_bytes, usage.peak_bytes) == (1, 30, 100)


def test_the_frameworks_allocator_stands_apart() -> None:
    report = memory(trace(allocations=[alloc(0, 1, 1000), alloc(1, 1, 10, "CACHED"), free(2, 1, "CACHED")]))
    assert {row.level: (row.peak_bytes, row.last_bytes) for row in report.rows} == {
        "REAL": (1000, 1000),
        "CACHED": (10, 0),
    }


def test_growth_from_step_to_step() -> None:
    steps: list[Row] = [
        {
            "name": f"ProfilerStep#{i}",
            "source": "record_function",
            "start_ns": 10 * i,
            "end_ns": 10 * i + 9,
            "depth": 0,
        }
        for i in range(4)
    ]
    leaking = use(*(alloc(10 * i + 1, i, 8) for i in range(4)), ranges=steps).growth
    assert leaking is not None
    assert (leaking.levels_bytes, leaking.suspicious, leaking.per_step.value) == ((8, 16, 24, 32), True, 8)
    steady = use(
        *(row for i in range(4) for row in (alloc(10 * i + 1, i, 8), free(10 * i + 2, i))), ranges=steps
    ).growth
    assert steady is not None
    assert (steady.levels_bytes, steady.suspicious) == ((0, 0, 0, 0), False)


def test_growth_without_steps_looks_at_the_lowest_of_each_tenth() -> None:
    rows = [
        row
        for i in range(50)
        for row in (alloc(10 * i, 100 + i, 4), alloc(10 * i + 1, 1, 1000), free(10 * i + 2, 1))
    ]
    growth = use(*rows).growth
    assert growth is not None
    assert growth.suspicious
    assert growth.levels_bytes[0] == 4
    assert max(growth.levels_bytes) < 1000
    assert use(alloc(0, 1, 1)).growth is None


def test_readings_are_a_source_of_their_own() -> None:
    samples: list[Row] = [
        {"time_ns": 10 * i, "metric": "vram_used_bytes", "value": float(value), "agent_id": 2}
        for i, value in enumerate((5, 9, 7))
    ]
    usage = memory(trace(samples=samples)).rows[0]
    assert (usage.source, usage.level, usage.peak_bytes, usage.peak_ns) == (
        "samples",
        "vram_used_bytes",
        9,
        10,
    )


def test_nothing_recorded_says_so() -> None:
    assert memory(trace(dispatches=[kernel("k", 0, 1)])).unavailable == NOTHING
    assert memory(trace(allocations=[alloc(0, 1, None)])).untimed == 1


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 99)), min_size=1, max_size=30))
def test_the_timeline_equals_a_walk_through_the_events(events: list[tuple[int, int]]) -> None:
    held: dict[int, int] = {}
    rows, levels = [], []
    for time, (address, size) in enumerate(events):
        if address in held:
            del held[address]
            rows.append(free(time, address))
        else:
            held[address] = size
            rows.append(alloc(time, address, size))
        levels.append(sum(held.values()))
    usage = use(*rows)
    assert (usage.peak_bytes, usage.last_bytes, usage.peak_ns) == (
        max(levels),
        levels[-1],
        levels.index(max(levels)),
    )
    assert max(usage.series_bytes) == usage.peak_bytes
