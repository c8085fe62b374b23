"""Metrics of kernels, as a document shows them."""

from __future__ import annotations

from rocm_perf.analysis.kernels.counter_metrics import NO_COUNTERS, counter_metrics
from rocm_perf.model.trace import Trace
from tests.unit.analysis.traces import Row, kernel, trace

MI300X: Row = {"agent_id": 0, "kind": "GPU", "gfx": "gfx942", "name": "AMD Instinct MI300X"}


def counted(agent: Row = MI300X) -> Trace:
    values = {"short": (30.0, 10.0), "long": (1.0, 3.0)}
    dispatches = [kernel("short", 0, 10, dispatch_id=0), kernel("long", 10, 1000, dispatch_id=1)]
    counters: list[Row] = [
        {"dispatch_id": place, "agent_id": 0, "counter": counter, "value": value}
        for place, name in enumerate(values)
        for counter, value in zip(("TCC_HIT_sum", "TCC_MISS_sum"), values[name], strict=True)
    ]
    return trace(dispatches=dispatches, counters=counters, agents=[agent])


def test_the_longest_kernel_first_and_reasons_for_the_rest() -> None:
    result = counter_metrics(counted())
    rates = [(row.kernel, row.value) for row in result.rows if row.metric == "l2_hit_rate"]
    assert rates == [("long", 0.25), ("short", 0.75)]
    assert result.missing["dram_read_bytes"].startswith("needs ")
    assert "l2_hit_rate" not in result.missing


def test_without_counters_it_says_how_to_get_them() -> None:
    assert counter_metrics(trace(dispatches=[kernel("k", 0, 1)])).unavailable == (
        f"{NO_COUNTERS} (rocm-perf list-counters --arch GFX --plan memory_bound shows how to)"
    )


def test_an_unknown_gpu_gives_its_reason() -> None:
    result = counter_metrics(counted({"agent_id": 0, "kind": "GPU", "gfx": "gfx777", "name": "?"}))
    assert result.rows == ()
    assert result.unavailable is not None
