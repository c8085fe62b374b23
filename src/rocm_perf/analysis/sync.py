"""Time that the host spends waiting for the GPU: how often, how long, and how much of it the GPU stood idle."""

from __future__ import annotations

import polars as pl

from rocm_perf.analysis.intervals import total_union_ns, union_ns
from rocm_perf.analysis.passes import timed_dispatches, timed_pass
from rocm_perf.model.document import DeviceTime, SyncTime
from rocm_perf.model.finding import Finding
from rocm_perf.model.quantity import Quantity
from rocm_perf.model.trace import Trace
from rocm_perf.units import format_count, format_ns, format_share

FORMULAS = {
    "sync.union_ns": "sum over threads of the union of synchronising calls",
    "sync.idle_ns": "time in synchronising calls during which no kernel and no copy ran: |S| - |S and G|, "
    "where |S and G| = |S| + |G| - |S or G|, S the union of the calls and G that of GPU work on the node",
}

SYNC_CALL = r"(Device|Stream|Event|Ctx|Context)Synchronize|^hsa_signal_wait"
_DEVICE_WIDE = r"(Device|Ctx|Context)Synchronize"

# Two waits for every three kernels, and a twentieth of the window lost: below that, it is not the pattern.
_CALLS_PER_KERNEL = 2 / 3
_LOST_SHARE = 0.05

_SPAN = ("node", "start_ns", "end_ns")


def sync_time(trace: Trace) -> SyncTime | None:
    """None where no synchronising call was recorded."""
    number = timed_pass(trace) or 0
    waiting = pl.col("name").str.contains(SYNC_CALL) & (pl.col("pass_id") == number)
    calls = trace.lazy("api_calls").filter(waiting & (pl.col("end_ns") >= pl.col("start_ns"))).collect()
    if not calls.height:
        return None
    copies = trace.table("copies").filter(pl.col("pass_id") == number).select(_SPAN)
    work = pl.concat([timed_dispatches(trace).select(_SPAN), copies])
    idle = sum(_idle_ns(calls.select(_SPAN), work, node) for node in calls["node"].unique())
    return SyncTime(
        calls=calls.height,
        device_wide=calls.filter(pl.col("name").str.contains(_DEVICE_WIDE)).height,
        union_ns=int(union_ns(calls, ["node", "pid", "tid"])["union_ns"].sum()),
        idle_ns=idle,
    )


def _idle_ns(calls: pl.DataFrame, work: pl.DataFrame, node: int) -> int:
    waiting, working = (frame.filter(pl.col("node") == node) for frame in (calls, work))
    either = total_union_ns(pl.concat([waiting, working]))
    return either - total_union_ns(working)


def sync_findings(sync: SyncTime | None, devices: tuple[DeviceTime, ...]) -> list[Finding]:
    """The pattern "synchronises after every kernel", where it costs something."""
    if sync is None or not devices:
        return []
    kernels = sum(device.dispatches for device in devices)
    busiest = devices[0]
    if sync.calls < _CALLS_PER_KERNEL * kernels or busiest.idle_ns < _LOST_SHARE * busiest.window_ns:
        return []
    bound = Quantity(
        busiest.window_ns / busiest.busy_ns,
        "x",
        "window_ns / busy_ns: what a GPU that is never idle would gain at most",
        {"window_ns": busiest.window_ns, "busy_ns": busiest.busy_ns},
    )
    lost = format_share(sync.idle_ns / sync.union_ns) if sync.union_ns else "0 %"
    return [
        Finding(
            "sync-after-every-kernel",
            "warning",
            "The program synchronises after nearly every kernel",
            (
                f"{format_count(sync.calls, 'synchronising call')} for {format_count(kernels, 'kernel')}",
                f"the GPU stood idle for {format_ns(sync.idle_ns)} ({lost}) of their {format_ns(sync.union_ns)}",
                f"{busiest.name} was idle {format_ns(busiest.idle_ns)} of {format_ns(busiest.window_ns)}",
            ),
            time_at_stake_ns=busiest.idle_ns,
            projected_speedup=bound,
            remedy="A stream runs its kernels in order by itself: synchronise once, before the host reads a result, "
            "not after each launch (in PyTorch: no .item(), .cpu() or torch.cuda.synchronize() inside the loop).",
            next_command="rocm-perf analyze PATH_OF_THE_NEXT_RECORDING",
        )
    ]
