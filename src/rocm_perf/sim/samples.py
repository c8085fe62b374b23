"""Power, clock and memory of the simulated GPUs over time. Energy is the integral of power by construction."""

from __future__ import annotations

import polars as pl

from rocm_perf.sim.engine import START_NS, Item, Run

INTERVAL_NS = 1_000_000


def samples(run: Run) -> pl.DataFrame:
    """One reading of each sensor per millisecond; power is the mean over the interval that ends with the reading."""
    items: dict[int, list[Item]] = {rank: [] for rank in run.workload.ranks}
    for item in run.items:
        items[item.stream.device.rank].append(item)
    frames = [_of_gpu(run, rank, items[rank]) for rank in run.workload.ranks]
    return pl.concat(frames) if frames else pl.DataFrame()


def energy_j(run: Run, rank: int) -> float:
    """Energy of a GPU: idle power over the run, plus what each kernel adds while it fills its share of the GPU."""
    idle, busy = run.gpu.power_w["idle"], run.gpu.power_w["busy"]
    active = sum(
        item.share * (item.end - item.start) for item in run.items if item.stream.device.rank == rank
    )
    return (idle * run.wall_ns + (busy - idle) * active) / 1e9


def _of_gpu(run: Run, rank: int, items: list[Item]) -> pl.DataFrame:
    last = START_NS + run.wall_ns
    ends = [*range(START_NS + INTERVAL_NS, last, INTERVAL_NS), last]
    active = _active_share(items, ends)
    idle, busy = run.gpu.power_w["idle"], run.gpu.power_w["busy"]
    agent = 2 + rank
    power = pl.DataFrame({"time_ns": ends, "value": [idle + (busy - idle) * share for share in active]})
    clock = pl.DataFrame(
        {"time_ns": ends, "value": [run.gpu.clock_mhz * (0.3 + 0.7 * min(1.0, share)) for share in active]}
    )
    memory = pl.DataFrame({"time_ns": ends, "value": _allocated(run, rank, ends)})
    named = ((power, "power_w", "W"), (clock, "clock_mhz", "MHz"), (memory, "vram_used_bytes", "B"))
    return pl.concat(
        frame.with_columns(
            pl.col("value").cast(pl.Float64),
            metric=pl.lit(metric),
            unit=pl.lit(unit),
            agent_id=pl.lit(agent, pl.Int64),
        )
        for frame, metric, unit in named
    )


def _active_share(items: list[Item], ends: list[int]) -> list[float]:
    """The share of the GPU that kernels fill, averaged over each interval."""
    filled = [0.0] * len(ends)
    for item in items:
        share = item.share
        if share:
            start, end = item.start - START_NS, item.end - START_NS
            slot = start // INTERVAL_NS
            while (edge := (slot + 1) * INTERVAL_NS) < end:
                filled[slot] += share * (edge - start)
                start, slot = edge, slot + 1
            filled[slot] += share * (end - start)
    starts = [START_NS, *ends[:-1]]
    return [
        amount / (end - start) if end > start else 0.0
        for amount, start, end in zip(filled, starts, ends, strict=True)
    ]


def _allocated(run: Run, rank: int, ends: list[int]) -> list[float]:
    changes = sorted(
        (call.end, size if kind == "ALLOC" else -size)
        for call, kind, size in run.allocations
        if call.thread.rank == rank
    )
    readings, used, position = [], 0, 0
    for end in ends:
        while position < len(changes) and changes[position][0] <= end:
            used += changes[position][1]
            position += 1
        readings.append(float(used))
    return readings
