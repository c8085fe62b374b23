"""What launching costs: the launching calls, the delay until a kernel begins, and the functions of the runtime."""

from __future__ import annotations

import polars as pl

from rocm_perf.analysis.basis.intervals import holes, union_ns
from rocm_perf.analysis.basis.keys import firsts, is_first, named
from rocm_perf.analysis.basis.launched import GPU, delay, launched_kernels, launched_work, timed_calls
from rocm_perf.analysis.basis.stakes import of_one_gpu
from rocm_perf.analysis.idle.first_calls import one_off_calls
from rocm_perf.analysis.remedies.setting import setting_of
from rocm_perf.analysis.remedies.table import remedy
from rocm_perf.analysis.time.busy import wall_ns
from rocm_perf.model.calls import GRAPH_CALL
from rocm_perf.model.document import Document
from rocm_perf.model.finding import Finding
from rocm_perf.model.quantity import ratio
from rocm_perf.model.results.launches import ApiFunction, GraphLaunches, KernelLaunch, Launches
from rocm_perf.model.trace import Trace
from rocm_perf.units import format_count, format_ns, format_share

FORMULAS = {
    "launches.delay": "start_ns of the kernel - end_ns of the call with its correlation id",
    "launches.latency_ns": "median delay of kernels whose call returned while their GPU was idle",
    "launches.functions.share": "union of the function's calls over all threads / wall_ns",
}

_CALL_KEY = ["node", "pid", "correlation_id"]

# A kernel that runs for less time than it takes to launch leaves the GPU waiting for the host.
_SHORT_SHARE = 0.5
_MANY_TIMES = 10
_IDLE_SHARE = 0.1  # of the kernel time: below, launches are hidden behind kernels


def launches(trace: Trace) -> Launches:
    """Launch cost per kernel, graph launches, and the functions of the runtime."""
    calls = timed_calls(trace)
    kernels = launched_kernels(trace)
    paired = kernels.drop_nulls("launch_end")
    functions = _functions(calls, wall_ns(trace))
    missing = kernels.height - paired.height
    called = firsts(paired.select(*_CALL_KEY, "launch_start", "launch_end"), _CALL_KEY)
    once = _one_off(trace, called)
    return Launches(
        calls=called.height,
        call_ns=_spent(called),
        one_off_calls=once.height,
        one_off_ns=_spent(once),
        kernels=_per_kernel(paired),
        functions=functions,
        graphs=_graphs(paired),
        latency_ns=_latency(launched_work(trace)),
        not_paired=missing,
        unavailable=None if paired.height else _why_none(kernels, calls),
    )


def _spent(calls: pl.DataFrame) -> int:
    return int((calls["launch_end"] - calls["launch_start"]).sum())


def _one_off(trace: Trace, calls: pl.DataFrame) -> pl.DataFrame:
    """The launching calls that took far longer than others do, as when code is loaded."""
    place = ["node", "pid", "launch_start", "launch_end"]
    once = one_off_calls(trace).rename({"start_ns": "launch_start", "end_ns": "launch_end"})
    return calls.join(once, on=place, how="semi", nulls_equal=True)


def _per_kernel(paired: pl.DataFrame) -> tuple[KernelLaunch, ...]:
    length = pl.col("launch_end") - pl.col("launch_start")
    is_new_call = is_first(paired, [*_CALL_KEY, "name"])
    table = (
        paired.with_columns(is_new_call.alias("is_new_call"))
        .group_by("name")
        .agg(
            pl.len().alias("dispatches"),
            pl.col("is_new_call").sum().alias("calls"),
            length.median().alias("call_median"),
            length.quantile(0.95, "nearest").alias("call_p95"),
            length.filter("is_new_call").sum().alias("call_total"),
            delay().median().alias("delay_median"),
            delay().quantile(0.95, "nearest").alias("delay_p95"),
            delay().clip(lower_bound=0).sum().alias("delay_total"),
            (delay() < 0).sum().alias("early"),
        )
        .sort("call_total", "name", descending=[True, False])
    )
    return tuple(KernelLaunch(*row) for row in table.iter_rows())


def _functions(calls: pl.DataFrame, wall: int | None) -> tuple[ApiFunction, ...]:
    """API functions by total time; on several nodes the walls are summed, so a share is always of a whole."""
    nodes = max(1, calls["node"].n_unique())
    length = pl.col("end_ns") - pl.col("start_ns")
    sums = calls.group_by("domain", "name").agg(
        pl.len().alias("calls"), length.sum().alias("total"), length.mean().alias("mean")
    )
    unions = (
        union_ns(calls, ["domain", "name", "node"]).group_by("domain", "name").agg(pl.col("union_ns").sum())
    )
    table = sums.join(unions, on=["domain", "name"]).sort("total", "name", descending=[True, False])
    whole = wall * nodes if wall is not None else None
    return tuple(
        ApiFunction(
            domain=domain,
            name=name,
            calls=count,
            total_ns=total,
            mean_ns=mean,
            union_ns=union,
            share=ratio(union, whole, "union_ns / wall_ns", "union_ns", "wall_ns"),
        )
        for domain, name, count, total, mean, union in table.iter_rows()
    )


def _graphs(paired: pl.DataFrame) -> GraphLaunches | None:
    graph = paired.filter(named(paired["launch_name"], pl.col("name").str.contains(GRAPH_CALL)))
    if not graph.height:
        return None
    calls = firsts(graph, _CALL_KEY)
    total = int((calls["launch_end"] - calls["launch_start"]).sum())
    return GraphLaunches(calls.height, graph.height, total)


def _latency(work: pl.DataFrame) -> float | None:
    """The typical delay where nothing but the launch held the kernel back."""
    awaited = holes(work, GPU).filter(
        (pl.col("kind") == "kernel") & (pl.col("launch_end") >= pl.col("since_ns")) & (delay() >= 0)
    )
    return awaited.select(delay().median()).item() if awaited.height else None


def _why_none(kernels: pl.DataFrame, calls: pl.DataFrame) -> str:
    if not kernels.height:
        return "the recording holds no kernels with times"
    if not calls.height:
        return "no API calls were recorded"
    if not kernels["correlation_id"].count():
        return "this recording does not say which call launched a kernel"
    return "no launching call of any kernel is in the recording"


def _as_long(share: float) -> str:
    return f"{share:.0f} times that" if share >= _MANY_TIMES else f"{format_share(share)} of that"


def launch_findings(document: Document) -> list[Finding]:
    """Whether the host spends about as long launching as the GPU does running kernels, while the GPU is often idle."""
    launches = document.launches
    called, count = launches.call_ns - launches.one_off_ns, launches.calls - launches.one_off_calls
    kernel_ns = sum(device.kernel_ns for device in document.devices)
    idle_ns = document.gaps.idle_ns
    if (
        document.gaps.doubt
        or not kernel_ns
        or not count
        or called < _SHORT_SHARE * kernel_ns
        or idle_ns < _IDLE_SHARE * kernel_ns
    ):
        return []
    each = format_ns(called / count)
    once = f", beside {launches.one_off_calls:,} that took {format_ns(launches.one_off_ns)} once"
    finding = Finding(
        id="launch-bound",
        severity="warning",
        kind="host-bound",
        title="Launching takes about as long as the kernels run",
        evidence=(
            f"{format_count(count, 'launching call')} took {format_ns(called)} ({each} each)"
            f"{once if launches.one_off_calls else ''}",
            f"the kernels ran for {format_ns(kernel_ns)}: launching took {_as_long(called / kernel_ns)}",
        ),
        time_at_stake_ns=min(called, idle_ns),
        remedy=remedy("launching", setting_of(document)),
    )
    return [of_one_gpu(finding, document)]
