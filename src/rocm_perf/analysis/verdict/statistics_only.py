"""What a profiler's own sums can tell where no single event was recorded: calls of the host, copies, collectives."""

from __future__ import annotations

import polars as pl

from rocm_perf.analysis.remedies.setting import setting
from rocm_perf.analysis.remedies.table import remedy
from rocm_perf.analysis.time.kernel_family import is_collective
from rocm_perf.model.calls import COPY_CALL, LAUNCH_CALL, SYNC_CALL
from rocm_perf.model.finding import Finding, Kind
from rocm_perf.model.trace import Trace
from rocm_perf.units import NS_PER_MS, format_count, format_ns, format_share

_MOST = 0.5  # of the summed time
_MUCH = 0.2  # of the kernel time: collectives that take more come first
_SOME = 0.05  # : less is not worth a line
_FEW = 4  # calls of a function, each of at least
_LONG_NS = NS_PER_MS  # : it is made once, not in a loop
_LONGEST_NS = float(1 << 62)  # times are kept as 64-bit integers
_SHOWN = 3
_HOST = (
    "hip",
    "hsa",
    "kfd",
)  # calls of each contain those of the next: the outermost that was recorded counts
_COPIED = r"(?i)copy"  # of what the GPU or its DMA engines did: the others fill
_RECORD = "Record the program's kernels and calls with their times: rocm-perf profile -- APP."
_WORDS: dict[str, tuple[Kind, str, str]] = {
    "once": (
        "startup",
        "Start-up: calls that are made a few times take {share} of the time in calls",
        "They cost that much once per process: keep the process alive, and judge the program by warm iterations. ",
    ),
    "waiting": (
        "cannot-tell",
        "The host waits for the GPU in {share} of its time in calls ({first}); for what cannot be told",
        "A wait lasts as long as the kernels it waits for: with their times it can be told which these are. ",
    ),
    "copying": (
        "cannot-tell",
        "Copying calls take {share} of the time in calls ({first}); whether they copy or wait cannot be told",
        "A blocking copy also waits for the kernels before it: times of kernels and copies tell one from the other. ",
    ),
    "launching": (
        "host-bound",
        "Launching takes {share} of the time in calls",
        "",
    ),
    "other": ("cannot-tell", "Only sums over calls were recorded: no call stands out", ""),
}


def statistics_findings(trace: Trace) -> list[Finding]:
    """What the sums point to; nothing where single kernels, copies or calls were recorded."""
    if any(trace.has(table) for table in ("dispatches", "copies", "api_calls")) or not trace.has("summaries"):
        return []
    sums = trace.table("summaries").drop_nulls("total_ns").filter(pl.col("total_ns") > 0)
    kernels = sums.filter(pl.col("domain") == "kernel")
    if kernels.height:
        return _collectives(kernels)
    return _calls(trace, sums) if sums.height else []


def _collectives(kernels: pl.DataFrame) -> list[Finding]:
    """Collectives that take a large part of the kernel time."""
    talking = kernels.filter(is_collective(kernels["name"])).sort("total_ns", descending=True)
    share = float(talking["total_ns"].sum()) / float(kernels["total_ns"].sum())
    if share < _MUCH:
        return []
    first = talking.row(0, named=True)
    return [
        Finding(
            id="collectives",
            severity="warning",
            kind="communication",
            title=f"Collectives take {format_share(share)} of the kernel time",
            evidence=(
                f"{first['name'].partition('(')[0]}: {format_ns(first['total_ns'])} in "
                f"{format_count(first['calls'] or 0, 'call')}, the longest {format_ns(first['max_ns'] or 0)}",
                "a collective lasts until its slowest rank has come, and may run beside other kernels: neither shows "
                "in sums",
            ),
            time_at_stake_ns=round(min(float(talking["total_ns"].sum()), _LONGEST_NS)),
            remedy="Record the ranks with their times, and see who comes last and what runs beside the collectives: "
            "rocm-perf profile --preset communication -- APP.",
        )
    ]


def _calls(trace: Trace, sums: pl.DataFrame) -> list[Finding]:
    """What the calls point to, of the outermost layer: sums of one contain those of the layers below it."""
    layers = set(sums["domain"].unique())
    outermost = next((layer for layer in _HOST if layer in layers), None)
    calls = sums.filter(pl.col("domain") == outermost) if outermost else sums
    classes = calls.with_columns(_class().alias("class"))
    totals = (
        classes.group_by("class").agg(pl.col("total_ns").sum()).sort("total_ns", "class", descending=True)
    )
    name, spent = totals.row(0)
    share = spent / float(calls["total_ns"].sum())
    kind, title, advice = _WORDS[name if share >= _MOST else "other"]
    if name == "launching" and share >= _MOST:
        advice = f"{remedy('launching', setting(trace))} "
    evidence = (_listed(classes), *_below(sums, outermost))
    copied = sums.filter(pl.col("domain") == "copy", pl.col("name").str.contains(_COPIED))
    if name == "copying" and share >= _MOST and outermost and copied.height:
        title, advice, measured = _beside_copies(copied, spent)
        evidence = (evidence[0], measured, *evidence[1:])
    return [
        Finding(
            id="statistics-of-calls",
            severity="info",
            kind=kind,
            title=title.format(share=format_share(share), first=_first(classes, name)),
            evidence=(
                *evidence,
                *_once(classes, name),
                "the file holds sums, no kernel and no point in time",
            ),
            remedy=advice + _RECORD,
        )
    ]


def _first(classes: pl.DataFrame, name: str) -> str:
    """Return the call of a class that takes longest, with how long one takes."""
    row = classes.filter(pl.col("class") == name).sort("total_ns", descending=True).row(0, named=True)
    calls = row["calls"] or 0
    each = f", {format_ns(row['total_ns'] / calls)} each" if calls > 1 else ""
    return f"{row['name']}{each}"


def _once(classes: pl.DataFrame, name: str) -> list[str]:
    """Return the calls that are made a few times and take long, where they are not what most time goes into."""
    rows = classes.filter((pl.col("class") == "once") & (pl.lit(name) != "once"))
    much = rows.filter(pl.col("total_ns") >= _SOME * float(classes["total_ns"].sum()))
    return [f"made once, as start-up is: {_listed(much)}"] if much.height else []


def _beside_copies(copied: pl.DataFrame, spent_ns: float) -> tuple[str, str, str]:
    """The title, the remedy and the evidence where the copies themselves were summed as well as the calls that copy."""
    copied_ns = float(copied["total_ns"].sum())
    count = format_count(int(copied["calls"].sum() or 0), "copy", "copies")
    measured = f"{format_ns(round(copied_ns))} in {count} of {format_ns(round(spent_ns))} in copying calls"
    if copied_ns >= _MOST * spent_ns:
        title = "Copying calls take {share} of the time in calls, and copy for most of it"
        return title, "Copy less often and less, or beside kernels from pinned memory. ", measured
    title = (
        "Copying calls take {share} of the time in calls, and copy for little of it: they wait or initialise"
    )
    remedy = "A blocking copy also waits for kernels, pins pageable memory, and the first one initialises. "
    return title, remedy, measured


def _below(sums: pl.DataFrame, outermost: str | None) -> tuple[str, ...]:
    """The longest calls of the layer below, which lie inside those of the outermost one."""
    layers = _HOST[_HOST.index(outermost) + 1 :] if outermost else ()
    inner = next((rows for name in layers if (rows := sums.filter(pl.col("domain") == name)).height), None)
    return () if inner is None else (f"inside them: {_listed(inner)}",)


def _listed(calls: pl.DataFrame) -> str:
    """The calls that take longest, with their sums."""
    longest = calls.sort("total_ns", descending=True).head(_SHOWN).iter_rows(named=True)
    return ", ".join(
        f"{row['name']} {format_ns(row['total_ns'])} in {format_count(row['calls'] or 0, 'call')}"
        for row in longest
    )


def _class() -> pl.Expr:
    name = pl.col("name").str
    once = (pl.col("calls") <= _FEW) & (pl.col("total_ns") >= _LONG_NS * pl.col("calls"))
    return (
        pl.when(name.contains(SYNC_CALL))
        .then(pl.lit("waiting"))
        .when(once)
        .then(pl.lit("once"))
        .when(name.contains(COPY_CALL) | (pl.col("domain") == "copy"))
        .then(pl.lit("copying"))
        .when(name.contains(LAUNCH_CALL))
        .then(pl.lit("launching"))
        .otherwise(pl.lit("other"))
    )
