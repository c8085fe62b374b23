"""Start-up: what a program does once. It is the first finding only where the recording holds little else."""

from __future__ import annotations

import polars as pl

from rocm_perf.analysis.basis.intervals import total_union_ns
from rocm_perf.analysis.basis.launched import launched_work, timed_calls
from rocm_perf.analysis.basis.names import short_name
from rocm_perf.analysis.idle.first_calls import one_off_calls
from rocm_perf.analysis.ledger.idle import COMPILING
from rocm_perf.analysis.remedies.setting import setting
from rocm_perf.analysis.remedies.table import remedy
from rocm_perf.model.calls import COPY_CALL, LAUNCH_CALL
from rocm_perf.model.document import Document
from rocm_perf.model.finding import Finding
from rocm_perf.model.results.phases import Pause
from rocm_perf.model.trace import Trace
from rocm_perf.units import NS_PER_MS, format_count, format_ns, format_share

_Timed = tuple[int, str]  # nanoseconds, and what they went into

_PROCESS = ("node", "pid")
_SET_UP = "setting up devices"
# What a call is for that takes long once, by its name; the first that fits.
_USES = {
    "compiling": COMPILING,
    "loading code": rf"{LAUNCH_CALL}|Module|Library|GetFunction|FuncGet|FuncSet|Occupancy|GraphInstantiate|Link",
    _SET_UP: r"Init|Ctx|Context|DeviceGet|GetDevice|SetDevice|Stream|Event|DriverGet|hsa_(init|agent|system)",
    "first copies": rf"{COPY_CALL}|Memset",
    "allocating": r"Malloc|Alloc|Free|HostRegister|MemPool|MemCreate|MemMap",
}
_SURE = 2  # of them, which say it whenever they are called
_NAMES = 2
_CALLS = 3
_PAUSES = 2
_MUCH = 0.01  # of the start-up: calls that take less explain nothing
_LARGE = 0.5  # of the recording, or of a pause
_AGAIN = 0.5  # of the kernels after a pause: it interrupts what goes on
_TELLING = 0.1  # of the recording, with
_MANY = 1_000  # kernels: so much work says how a program runs, whether it repeats or not
_WORKING = 0.5  # of the rest in kernels: then that work is worth judging, however long start-up was


def one_off_ns(document: Document) -> int:
    """Time before the judged part without earlier steps like its own, and pauses within it."""
    phases = document.phases
    parts = [phase.duration_ns for phase in phases.rows if phase.name in ("before", "start-up")]
    return sum(parts) - phases.other_steps_ns + phases.paused_ns


def is_mostly_startup(document: Document) -> bool:
    """Return whether nothing repeats, most of the recording happens once, and the rest is neither GPU work nor long and
    busy enough to judge a program by."""
    phases = document.phases
    if not phases.rows or phases.steps or not document.hotspots.rows:
        return False
    if document.judged_ns >= _TELLING * phases.wall_ns and document.hotspots.dispatches >= _MANY:
        return False
    return one_off_ns(document) > _LARGE * phases.wall_ns and _kernel_share(document) < _WORKING


def _kernel_share(document: Document) -> float:
    """Return the part of the judged time in which the busiest GPU runs kernels."""
    rest = document.judged_ns
    return max((device.kernel_ns for device in document.devices), default=0) / rest if rest else 0.0


def startup_findings(document: Document, whole: Trace) -> list[Finding]:
    """One finding where start-up is a large part of the whole recording."""
    phases = document.phases
    spent = one_off_ns(document) - sum(pause.duration_ns for pause in _hiccups(document, whole))
    if not phases.rows or not document.hotspots.rows or spent <= _LARGE * phases.wall_ns:
        return []
    wall = phases.wall_ns
    return [
        Finding(
            id="startup",
            kind="startup",
            severity="info" if phases.steps else "warning",
            title=f"{format_share(spent / wall)} of the recording happens once: {format_ns(spent)} of "
            f"{format_ns(wall)}",
            evidence=tuple(_evidence(document, whole)),
            remedy=_remedy(document, whole),
        )
    ]


def _hiccups(document: Document, whole: Trace) -> list[Pause]:
    """Return pauses that begin nothing: what runs after them ran before, and no call was the first of its kind."""
    if not document.phases.pauses:
        return []
    work, first = launched_work(whole), one_off_calls(whole)
    return [
        pause
        for pause in document.phases.pauses
        if _goes_on(work, document.phases.origin_ns + pause.start_ns)
        and _within(first, pause, document.phases.origin_ns) < _LARGE * pause.duration_ns
    ]


def _goes_on(work: pl.DataFrame, until_ns: int) -> bool:
    """Return whether most kernels after a moment are such as ran before it."""
    kernels = work.filter(pl.col("kind") == "kernel")
    earlier = kernels["start_ns"] < until_ns
    before, after = kernels.filter(earlier)["name"], kernels.filter(~earlier)["name"]
    return after.len() > 0 and int(after.is_in(before.unique().implode()).sum()) > _AGAIN * after.len()


def _within(calls: pl.DataFrame, pause: Pause, origin_ns: int) -> int:
    """Return how much of a pause lies inside these calls."""
    start, end = origin_ns + pause.start_ns, origin_ns + pause.end_ns
    clipped = calls.with_columns(
        pl.col("start_ns").clip(lower_bound=start), pl.col("end_ns").clip(upper_bound=end)
    )
    return total_union_ns(clipped.filter(pl.col("end_ns") > pl.col("start_ns")))


def _evidence(document: Document, whole: Trace) -> list[str]:
    """What the time went into, the longest first."""
    timed = [*_first_calls(document, whole), *_until_the_steps(document, whole), *_pauses(document, whole)]
    before = document.phases.phase("before")
    if before is not None:
        timed.append((before.duration_ns, f"{format_ns(before.duration_ns)} before the first GPU work"))
    lines = [line for _, line in sorted(timed, key=lambda entry: -entry[0])]
    if not document.phases.steps:
        busiest = max((device.busy_ns for device in document.devices), default=0)
        lines.append(f"the GPU works {format_ns(busiest)} in all")
    if not document.launches.functions:
        lines.append("what the host did was not recorded")
    return lines


def _first_calls(document: Document, whole: Trace) -> list[_Timed]:
    """What calls that took long once were for, with those that took longest."""
    uses = _first_uses(whole)[:_CALLS]
    spent = sum(ns for ns, _ in uses)
    if not uses or spent < _MUCH * one_off_ns(document):
        return []
    return [(spent, f"calls that took long once: {', '.join(use for _, use in uses)}")]


def _first_uses(whole: Trace) -> list[_Timed]:
    """What first uses are for. The first long call of a process, before any work, sets up the device as well, whatever
    it is called."""
    calls = one_off_calls(whole).with_columns(pl.col("name").cast(pl.String)).sort("start_ns")
    is_long = pl.col("own") >= NS_PER_MS
    nothing_ran = pl.col("start_ns") < pl.lit(launched_work(whole)["start_ns"].min(), pl.Int64)
    is_first = is_long & (is_long.cum_sum().over(_PROCESS) == 1) & nothing_ran
    found = [
        pl.when(pl.col("name").str.contains(pattern)).then(pl.lit(use)) for use, pattern in _USES.items()
    ]
    use = pl.coalesce(*found[:_SURE], pl.when(is_first).then(pl.lit(_SET_UP)), *found, pl.lit("other calls"))
    summed = calls.with_columns(use.alias("use")).group_by("use", "name").agg(pl.col("own").sum())
    longest = summed.sort("own", "name", descending=[True, False])
    uses = longest.group_by("use", maintain_order=True).agg(pl.col("own").sum().alias("total"), "name", "own")
    rows = uses.sort("total", "use", descending=[True, False]).rows(named=True)
    return [
        (row["total"], f"{row['use']} {format_ns(row['total'])} ({_called(row['name'], row['own'])})")
        for row in rows
    ]


def _called(names: list[str], spent: list[int]) -> str:
    """Return the calls that took longest, with their times where there are several."""
    if len(names) == 1:
        return names[0]
    return ", ".join(f"{name} {format_ns(ns)}" for name, ns in list(zip(names, spent, strict=True))[:_NAMES])


def _pauses(document: Document, whole: Trace) -> list[_Timed]:
    """The longest pauses, and what of them no call explains."""
    hiccups = _hiccups(document, whole)
    once = [pause for pause in document.phases.pauses if pause not in hiccups]
    longest = sorted(once, key=lambda pause: -pause.duration_ns)[:_PAUSES]
    return [(pause.duration_ns, _pause(pause, document, whole)) for pause in longest]


def _pause(pause: Pause, document: Document, whole: Trace) -> str:
    origin = document.phases.origin_ns
    work = launched_work(whole).filter(pl.col("start_ns") < origin + pause.start_ns)
    again = (work["name"].cast(pl.String) == pause.after).any()
    first = "" if again else "the first "
    return (
        f"{format_ns(pause.duration_ns)} of pause before {first}{short_name(pause.after)}"
        + _outside_calls(whole, origin + pause.start_ns, origin + pause.end_ns)
    )


def _outside_calls(whole: Trace, start_ns: int, end_ns: int) -> str:
    """How much of a span the host spends in no recorded call, if that is most of it and calls were recorded."""
    calls = timed_calls(whole)
    start, end = pl.col("start_ns").clip(lower_bound=start_ns), pl.col("end_ns").clip(upper_bound=end_ns)
    inside = calls.with_columns(start, end).filter(pl.col("end_ns") > pl.col("start_ns"))
    outside = end_ns - start_ns - total_union_ns(inside)
    if not calls.height or outside <= _LARGE * (end_ns - start_ns):
        return ""
    return f", for {format_ns(outside)} of which the host is in no recorded call"


def _until_the_steps(document: Document, whole: Trace) -> list[_Timed]:
    """What the GPU and the host do before the first step of the steady state."""
    phase = document.phases.phase("start-up")
    if phase is None or not document.phases.steps:
        return []
    early = pl.col("start_ns") < document.phases.origin_ns + phase.end_ns
    work = launched_work(whole).filter(early)
    count = format_count(int((work["kind"] == "kernel").sum()), "kernel")
    worked = format_ns(total_union_ns(work))
    told = f"until the steps the GPU works {worked} of {format_ns(phase.duration_ns)}, in {count}"
    if document.phases.other_steps_ns:
        told = (
            f"{format_ns(document.phases.other_steps_ns)} before the steady state are steps as well; {told}"
        )
    calls = timed_calls(whole).filter(early)
    outside = phase.duration_ns - total_union_ns(calls)
    if calls.height and outside > _LARGE * phase.duration_ns:
        told += f", and for {format_ns(outside)} the host is in no recorded call (it may compile or prepare input)"
    return [(phase.duration_ns, told)]


def _remedy(document: Document, whole: Trace) -> str:
    if document.phases.steps:
        return "It is paid once: shorten it only if the program is started often."
    steps = remedy("record-steps", setting(whole))
    return f"Nothing repeats here, so this says little about steady speed. {steps}"
