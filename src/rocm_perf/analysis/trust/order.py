"""Events whose order, overlap or identity cannot be right: queues, launches, clocks that step back, ids used twice."""

from __future__ import annotations

import polars as pl

from rocm_perf.analysis.basis.keys import all_differ, ordered, over, telling
from rocm_perf.analysis.basis.launched import CALL_KEY, with_calls
from rocm_perf.analysis.basis.names import short_name
from rocm_perf.analysis.basis.passes import timed_by_kernel, timed_dispatches, timed_pass
from rocm_perf.model.finding import Finding
from rocm_perf.model.trace import Trace
from rocm_perf.units import NS_PER_S, NS_PER_US, format_count, format_ns, format_share

_PROCESS = ["node", "pid", "pass_id"]
_QUEUE = [*_PROCESS, "agent_id", "queue_id", "stream_id"]
_KEY = [*_PROCESS, "correlation_id"]
_LENGTH = pl.col("end_ns") - pl.col("start_ns")

_STEP_BACK_NS = NS_PER_S  # queues may reorder by their depth, never by a second
_WRAPS = {"ns": 1 << 32, "us": (1 << 32) * NS_PER_US}
_WRAP_SHARE = 0.9  # a wrap is seen as nearly the whole range of the counter
_EARLY_NS = NS_PER_US  # host and GPU clocks are matched no better than that
_EARLY_SHARE = 0.01
_OVERLAPS = 10
_OVERLAP_SHARE = 0.01
_OVERLAP_TIME_SHARE = 0.05


def clock_steps_back(trace: Trace) -> list[Finding]:
    """In the order in which ids were given, start times of a thread or a queue that fall by more than a second."""
    evidence = []
    for table, track in (("api_calls", [*_PROCESS, "tid", "domain"]), ("dispatches", _QUEUE)):
        steps = _steps_back(trace, table, track)
        if steps.len():
            evidence.append(f"{table}: {format_count(steps.len(), 'step')} back, the largest {_step(steps)}")
    if not evidence:
        return []
    return [
        Finding(
            id="clock-steps-back",
            severity="error",
            title="Time runs backwards",
            evidence=tuple(evidence),
            remedy="The clock was set, or its counter wrapped: windows and gaps are wrong. Record again.",
        )
    ]


def _steps_back(trace: Trace, table: str, track: list[str]) -> pl.Series:
    known = pl.col("correlation_id").is_not_null() & pl.col("start_ns").is_not_null()
    rows = trace.table(table).select("correlation_id", "start_ns", *track).filter(known)
    numbers = ordered(rows.select("correlation_id", "start_ns"), ["correlation_id", "start_ns"])
    falls = numbers.select((pl.col("start_ns").cum_max() - pl.col("start_ns")).max()).item()
    if (falls or 0) <= _STEP_BACK_NS:  # what never falls on the whole falls on no track
        return pl.Series([], dtype=pl.Int64)
    before = pl.col("start_ns").shift(1).over(track)
    fallen = (before - pl.col("start_ns")).alias("back")
    steps = rows.sort("correlation_id", "start_ns").select(fallen).filter(pl.col("back") > _STEP_BACK_NS)
    return steps["back"]


def _step(steps: pl.Series) -> str:
    largest = int(steps.max())  # type: ignore[arg-type]
    for unit, size in _WRAPS.items():
        if _WRAP_SHARE * size < largest <= size:
            return f"{format_ns(largest)}: a 32-bit counter of {unit} wraps after {format_ns(size)}"
    return format_ns(largest)


def kernels_before_launch(trace: Trace) -> list[Finding]:
    """Kernels that start before the call that launched them: the host's clock and the GPU's are not aligned."""
    number = timed_pass(trace)
    calls = (
        trace.lazy("api_calls")
        .filter((pl.col("pass_id") == number) & pl.col("correlation_id").is_not_null())
        .select(*CALL_KEY, called="start_ns")
        .collect()
    )
    calls = ordered(calls, ["called"])
    kernels = timed_dispatches(trace).select("node", "pid", "correlation_id", "kernel", "start_ns")
    lead = (pl.col("called") - pl.col("start_ns")).alias("lead")
    pairs = with_calls(kernels, calls).drop_nulls("called").select("kernel", lead)
    early = pairs.filter(pl.col("lead") > _EARLY_NS).sort("lead", descending=True)
    if not early.height or early.height < _EARLY_SHARE * pairs.height:
        return []
    return [
        Finding(
            id="kernels-before-launch",
            severity="warning",
            title=f"{early.height:,} of {pairs.height:,} kernels start before they are launched",
            evidence=tuple(
                f"{short_name(name)}: {format_ns(lead)} before its launch"
                for name, lead in early.head(3).iter_rows()
            ),
            remedy="Host and GPU clocks are not aligned: times on one side are right among themselves, gap causes and "
            "launch delays are off by at least that much.",
        )
    ]


def queue_overlap(trace: Trace) -> list[Finding]:
    """Kernels of one queue that run at the same time. Legal on AMD: without a barrier bit, a queue's packets may
    overlap, and a kernel may start while the last waves of the one before it drain."""
    known = pl.col("queue_id").is_not_null() | pl.col("stream_id").is_not_null()
    queues = timed_by_kernel(trace).select(*_QUEUE, "kernel", "start_ns", "end_ns").filter(known)
    reach = over(pl.col("end_ns").cum_max().shift(1), telling(_QUEUE, queues))
    spans = ordered(queues, ["start_ns"]).with_columns(reach=reach)
    shared = (pl.min_horizontal("end_ns", "reach") - pl.col("start_ns")).alias("shared")
    both = spans.select("kernel", "reach", shared, _LENGTH.alias("length"))
    overlapping = both.drop_nulls("reach").filter(pl.col("shared") > 0).sort("shared", descending=True)
    if overlapping.height < max(_OVERLAPS, _OVERLAP_SHARE * both.height):
        return []
    share = int(overlapping["shared"].sum()) / int(both["length"].sum())
    most = overlapping.row(0, named=True)
    return [
        Finding(
            id="queue-overlap",
            severity="warning" if share > _OVERLAP_TIME_SHARE else "info",
            title=f"{overlapping.height:,} of {both.height:,} kernels start before an earlier one in their queue ends",
            evidence=(
                f"they share {format_share(share)} of the summed kernel time; median {format_ns(_median(overlapping))}",
                f"longest: {short_name(most['kernel'])}, {format_ns(most['shared'])} of {format_ns(most['length'])}",
            ),
            remedy="Busy time counts it once; sums over kernels count it twice. A queue may overlap kernels that no "
            "barrier keeps apart.",
        )
    ]


def _median(overlapping: pl.DataFrame) -> float:
    return float(overlapping["shared"].median())  # type: ignore[arg-type]


def duplicate_dispatches(trace: Trace) -> list[Finding]:
    """One execution recorded twice: everything but its number is the same."""
    dispatches = timed_dispatches(trace).drop("dispatch_id")
    if all_differ(dispatches["start_ns"]):
        return []
    together = dispatches.filter(pl.col("start_ns").is_duplicated())
    suspects = together.filter(pl.struct("start_ns", "end_ns", "agent_id", "queue_id").is_duplicated())
    extra = suspects.height - suspects.unique().height
    if not extra:
        return []
    twice = suspects.filter(suspects.is_duplicated()).head(3)
    return [
        Finding(
            id="duplicate-dispatches",
            severity="error",
            title=f"{format_count(extra, 'kernel')} recorded more than once",
            evidence=tuple(
                f"{short_name(row['kernel'])} at {row['start_ns']} ns for {format_ns(row['end_ns'] - row['start_ns'])}"
                for row in twice.iter_rows(named=True)
            ),
            remedy="Sums count every copy. Usual cause: one run read from two files.",
        )
    ]


def reused_correlation_ids(trace: Trace) -> list[Finding]:
    """Calls of one API that share an id at different times; nested ones may share it."""
    rows = trace.table("api_calls")
    if all_differ(rows["correlation_id"]):
        return []
    calls = (
        rows.lazy()
        .filter((pl.col("correlation_id") != 0) & pl.col("correlation_id").is_duplicated())
        .select(*_KEY, "domain", "name", "start_ns", "end_ns")
        .sort("start_ns")
    )
    key = [*_KEY, "domain"]
    reach = pl.col("end_ns").cum_max().shift(1).over(key)
    again = calls.filter(pl.col("start_ns") >= reach).select("correlation_id", "name").collect()
    if not again.height:
        return []
    ids = again["correlation_id"].n_unique()
    return [
        Finding(
            id="reused-correlation-ids",
            severity="warning",
            title=f"{format_count(ids, 'correlation id')} used by more than one call",
            evidence=tuple(f"id {number}: again by {name}" for number, name in again.head(3).iter_rows()),
            remedy="Kernels are paired with calls by this id: gap causes and launch delays may belong "
            "to the wrong call.",
        )
    ]
