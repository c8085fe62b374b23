"""Time that the host spends waiting for the GPU: how often, how long, and how much of it the GPU stood idle."""

from __future__ import annotations

import polars as pl

from rocm_perf.analysis.basis.intervals import disjoint, overlap_ns, union_ns
from rocm_perf.analysis.basis.keys import named
from rocm_perf.analysis.basis.passes import timed_copies, timed_dispatches, timed_pass
from rocm_perf.analysis.basis.shared import once_per_trace
from rocm_perf.analysis.remedies.setting import setting_of
from rocm_perf.analysis.remedies.table import remedy
from rocm_perf.analysis.time.busy import wall_ns
from rocm_perf.model.calls import COPY_CALL, SYNC_CALL
from rocm_perf.model.document import Document
from rocm_perf.model.finding import Finding
from rocm_perf.model.quantity import Quantity, ratio, unavailable
from rocm_perf.model.results.sync import Sync, Waiting
from rocm_perf.model.trace import Trace
from rocm_perf.units import format_count, format_ns, format_share

FORMULAS = {
    "sync.total_ns": "sum over threads of the union of synchronising calls",
    "sync.share": "union over all threads of synchronising calls / wall_ns",
    "sync.lost_share": "part of that union in which no kernel and no copy of the node ran / wall_ns",
    "sync.useful_ns": "per thread: time in the calls during which a kernel or copy of the process ran",
    "sync.lost_ns": "total_ns - useful_ns",
}

_DEVICE_WIDE = r"(Device|Ctx|Context)Synchronize"
_SCOPES = {
    "device": _DEVICE_WIDE,
    "stream": "StreamSynchronize",
    "event": "EventSynchronize",
    "signal": "^hsa_",
}
_THREAD = ("node", "pid", "tid")

# Two waits for every three kernels, and a twentieth of the window lost: below that, it is not the pattern.
_CALLS_PER_KERNEL = 2 / 3
_LOST_SHARE = 0.05

_SPAN = ("node", "start_ns", "end_ns")
_SHARE = "union_ns / wall_ns"
_LOST_OF_WALL = "lost_ns / wall_ns"


def sync_findings(document: Document) -> list[Finding]:
    """The pattern "synchronises after every kernel", where it costs something."""
    sync, devices = document.sync, document.devices
    if not sync.total.calls or not devices or document.gaps.doubt:
        return []
    kernels = sum(device.dispatches for device in devices)
    busiest = devices[0]
    if (
        not kernels
        or sync.total.calls < _CALLS_PER_KERNEL * kernels
        or busiest.idle_ns < _LOST_SHARE * busiest.window_ns
    ):
        return []
    bound = Quantity(
        value=busiest.window_ns / busiest.busy_ns,
        unit="x",
        formula="window_ns / busy_ns: what a GPU that is never idle would gain at most",
        inputs={"window_ns": busiest.window_ns, "busy_ns": busiest.busy_ns},
    )
    lost = format_share(sync.total.lost_ns / sync.total.total_ns) if sync.total.total_ns else "0 %"
    waited = f"{format_ns(sync.total.lost_ns)} ({lost}) of their {format_ns(sync.total.total_ns)}"
    return [
        Finding(
            id="sync-after-every-kernel",
            severity="warning",
            kind="sync",
            title="The program synchronises after nearly every kernel",
            evidence=(
                f"{format_count(sync.total.calls, 'synchronising call')} for {format_count(kernels, 'kernel')}",
                f"the GPU was idle for {waited}",
                f"{busiest.name} was idle {format_ns(busiest.idle_ns)} of {format_ns(busiest.window_ns)}",
            ),
            time_at_stake_ns=busiest.idle_ns,
            projected_speedup=bound,
            remedy=remedy("waiting-for-gpu", setting_of(document)),
        )
    ]


@once_per_trace
def waiting(trace: Trace) -> Sync:
    """Synchronising calls and blocking copies by scope, function, thread and operator."""
    calls = _waits(trace)
    if not calls.height:
        return _none(trace)
    work, by, busy_is = _work(trace, calls)
    length = calls["end_ns"] - calls["start_ns"]
    useful = overlap_ns(calls, work, by)
    calls = calls.with_columns(length.alias("total"), useful.alias("useful"))
    syncs = calls.filter(pl.col("scope") != "copy")
    thread = pl.format("process {}, thread {}", pl.col("pid").fill_null(0), pl.col("tid").fill_null(0))
    return Sync(
        total=_total("all", syncs),
        blocking_copies=_total("copy", calls.filter(pl.col("scope") == "copy")),
        share=_share(syncs, wall_ns(trace)),
        lost_share=_lost_share(syncs, work, wall_ns(trace)),
        scopes=_by(calls, pl.col("scope")),
        functions=_by(calls, pl.col("name")),
        threads=_by(calls, thread),
        operators=_by(_with_operators(trace, calls), pl.col("operator")),
        busy_is=busy_is,
    )


def _none(trace: Trace) -> Sync:
    """No synchronising call: the host never waits, if calls were recorded at all."""
    nothing = Waiting(name="all", calls=0, total_ns=0, useful_ns=0, lost_ns=0)
    if trace.has("api_calls"):
        why = "no synchronising call was recorded"
        share = ratio(0, wall_ns(trace), _SHARE, "union_ns", "wall_ns")
        lost_share = ratio(0, wall_ns(trace), _LOST_OF_WALL, "lost_ns", "wall_ns")
    else:
        why = "no API calls were recorded"
        share, lost_share = unavailable("", _SHARE, why), unavailable("", _LOST_OF_WALL, why)
    return Sync(
        total=nothing,
        blocking_copies=nothing,
        share=share,
        lost_share=lost_share,
        scopes=(),
        functions=(),
        threads=(),
        operators=(),
        busy_is="",
        unavailable=why,
    )


def _waits(trace: Trace) -> pl.DataFrame:
    """The outermost waiting calls of each thread, with their scope."""
    name = pl.col("name").str
    blocking = name.contains(COPY_CALL) & ~name.contains("Async")
    calls = trace.table("api_calls")
    waiting = named(calls["name"], name.contains(SYNC_CALL) | blocking)
    scope = pl.coalesce(
        *(pl.when(name.contains(pattern)).then(pl.lit(scope)) for scope, pattern in _SCOPES.items()),
        pl.lit("copy"),
    )
    columns = ("name", "start_ns", "end_ns", *_THREAD, "op_id")
    waits = calls.filter(waiting & (calls["pass_id"] == timed_pass(trace)))
    return disjoint(waits.select(*columns, scope.alias("scope")), _THREAD)


def _work(trace: Trace, calls: pl.DataFrame) -> tuple[pl.DataFrame, list[str], str]:
    """GPU work of each process, or of the node where the recording does not say whose it is."""
    columns = (*_SPAN, "pid")
    work = pl.concat([timed_dispatches(trace).select(columns), timed_copies(trace).select(columns)])
    strangers = calls.join(work, on=["node", "pid"], how="anti", nulls_equal=True)
    if strangers.height or work["pid"].null_count():
        return work, ["node"], "any GPU work of the node"
    return work, ["node", "pid"], "GPU work of the same process"


def _total(name: str, calls: pl.DataFrame) -> Waiting:
    total, useful = int(calls["total"].sum()), int(calls["useful"].sum())
    return Waiting(name=name, calls=calls.height, total_ns=total, useful_ns=useful, lost_ns=total - useful)


def _by(calls: pl.DataFrame, key: pl.Expr) -> tuple[Waiting, ...]:
    table = calls.group_by(key.alias("key")).agg(
        pl.len(),
        pl.col("total").sum(),
        pl.col("useful").sum(),
        (pl.col("total") - pl.col("useful")).sum().alias("lost"),
    )
    ordered = table.sort("total", "key", descending=[True, False])
    return tuple(Waiting(*row) for row in ordered.iter_rows())


def _share(syncs: pl.DataFrame, wall: int | None) -> Quantity:
    """Nodes have clocks of their own: on several, the wall counts once for each."""
    union = int(union_ns(syncs, ["node"])["union_ns"].sum())
    nodes = max(1, syncs["node"].n_unique())
    whole = None if wall is None else wall * nodes
    return ratio(union, whole, _SHARE, "union_ns", "wall_ns")


def _lost_share(syncs: pl.DataFrame, work: pl.DataFrame, wall: int | None) -> Quantity:
    """Like the share, of what GPU work does not cover: |S or G| - |G|, S the calls and G the work of a node."""
    nodes = syncs["node"].unique()
    busy = work.filter(pl.col("node").is_in(nodes.implode())).select(_SPAN)
    either, covered = (
        int(union_ns(spans, ["node"])["union_ns"].sum())
        for spans in (pl.concat([syncs.select(_SPAN), busy]), busy)
    )
    whole = None if wall is None else wall * max(1, nodes.len())
    return ratio(either - covered, whole, _LOST_OF_WALL, "lost_ns", "wall_ns")


def _with_operators(trace: Trace, calls: pl.DataFrame) -> pl.DataFrame:
    key = ["node", "pid", "op_id"]
    known = calls.drop_nulls("op_id")
    operators = trace.table("ops").filter(
        (pl.col("category") == "operator") & pl.col("op_id").is_in(known["op_id"].implode())
    )
    names = operators.select(*key, pl.col("name").alias("operator")).unique(key, keep="first")
    return known.join(names, on=key, how="inner", nulls_equal=True)
