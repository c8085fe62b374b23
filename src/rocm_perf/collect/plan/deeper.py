"""What is recorded after a trace, to tell why its kernels take their time: counters of those that matter, in few runs.

Pure: a trace and a plan in, further runs and what they cost out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
import polars as pl
from msgspec.structs import replace

from rocm_perf.analysis.basis.names import demangle, short_name
from rocm_perf.backends import profilers
from rocm_perf.backends.base import Wish
from rocm_perf.backends.machine import Machine
from rocm_perf.collect.plan.plan import counted_behind
from rocm_perf.collect.plan.planned import Plan
from rocm_perf.collect.request.request import Request
from rocm_perf.model.collection import DeepRecord
from rocm_perf.units import format_count, format_ns, format_share

ENOUGH = 0.9  # of the kernel time
_ENOUGH = "90 %"
MOST_KERNELS = 10
SHORT_NS = 60_000_000_000  # that the extra runs of a program may take where nobody asked for them
SETS = ("limits", "limits_first")  # what decides between all causes, and between the most frequent ones
_UNEVEN = 2.0  # times the median: from here on the longest launch of a kernel does other work than most
_LONGEST_OF = 3  # kernels whose longest launch is counted, too
_PLAIN = re.compile(r"[\w.$]+")
_WORD = re.compile(r"\w+")
_NAMED = 3  # kernels in a sentence
ASK_FOR_IT = "--deep records them all the same"


class KernelTime(msgspec.Struct, frozen=True):
    """A kernel of the trace: when each of its launches ran, in their order."""

    name: str
    share: float  # of the time of all kernels
    launches_ns: tuple[int, ...]


class Traced(NamedTuple):
    """What a trace has shown, and how long the program took in it."""

    dispatches: pl.DataFrame
    alone_ns: int


class Deeper(msgspec.Struct, frozen=True):
    """Further runs of the program, and what they are about to cost; or why there are none."""

    plan: Plan | None = None
    record: DeepRecord | None = None
    refusal: str = ""


def kernels_that_matter(dispatches: pl.DataFrame, *, all_of_them: bool = False) -> tuple[KernelTime, ...]:
    """The fewest kernels that hold most of the kernel time, the longest first; at most a few, however long the rest.
    `all_of_them`: the user chose them."""
    timed = dispatches.drop_nulls(["kernel", "start_ns", "end_ns"]).filter(
        pl.col("end_ns") > pl.col("start_ns")
    )
    if not timed.height:
        return ()
    sums = (
        timed.sort("start_ns")
        .with_columns(duration=pl.col("end_ns") - pl.col("start_ns"))
        .group_by("kernel", maintain_order=True)
        .agg(pl.col("duration"), total=pl.col("duration").sum())
        .sort("total", "kernel", descending=[True, False])
        .with_columns(share=pl.col("total") / pl.col("total").sum())
    )
    if not all_of_them:
        before = pl.col("share").cum_sum() - pl.col("share")
        sums = sums.filter(before < ENOUGH).head(MOST_KERNELS)
    return tuple(
        KernelTime(str(row["kernel"]), float(row["share"]), tuple(row["duration"]))
        for row in sums.iter_rows(named=True)
    )


def _chosen(dispatches: pl.DataFrame, wanted: str) -> pl.DataFrame:
    """The dispatches of the kernels that the user's regular expression finds; of all where there is none."""
    if not wanted:
        return dispatches
    try:
        expression = re.compile(wanted)
    except re.error:  # another dialect than ours
        return dispatches
    names = [name for name in dispatches["kernel"].drop_nulls().unique() if expression.search(demangle(name))]
    return dispatches.filter(pl.col("kernel").is_in(names))


def launches_to_count(kernels: Sequence[KernelTime]) -> tuple[int, ...]:
    """The launches of each kernel that say enough about it: the second and third, where there are such, as the first
    may have found caches and pages cold; and the longest of those that hold most time, where launches differ."""
    chosen: set[int] = set()
    for kernel in kernels:
        count = len(kernel.launches_ns)
        chosen |= {1} if count == 1 else {2} if count == 2 else {2, 3}
    for kernel in kernels[:_LONGEST_OF]:
        ordered = sorted(kernel.launches_ns)
        longest = kernel.launches_ns.index(ordered[-1])
        if kernel.launches_ns[longest] >= _UNEVEN * ordered[len(ordered) // 2]:
            chosen.add(longest + 1)
    return tuple(sorted(chosen))


def pattern(names: Sequence[str]) -> str:
    """A regular expression that finds the kernels, whether a tool writes their names mangled or not, and however it
    spells their parameters."""
    return "|".join(dict.fromkeys(_pattern(name) for name in names))


def _pattern(name: str) -> str:
    text = demangle(name)
    if _PLAIN.fullmatch(text):
        return re.escape(text)
    word = _WORD.match(short_name(name))
    return word.group() if word and word.group() in name else re.escape(name)


def further(plan: Plan, request: Request, machine: Machine, folder: Path, traced: Traced) -> Deeper:
    """The runs behind a plan that has traced the program."""
    wanted = request.wish.kernel_include
    kernels = kernels_that_matter(_chosen(traced.dispatches, wanted), all_of_them=bool(wanted))
    if not kernels:
        return Deeper(refusal="no kernel with times was recorded")
    launches = launches_to_count(kernels)
    offers = []
    for name in SETS:
        asked = _asking(plan, request, name, kernels, launches)
        found = counted_behind(plan, asked, machine, folder)
        offers.append(
            _offer(plan, replace(asked.wish, counters=(name,)), found, kernels, machine, traced.alone_ns)
        )
    if request.deep == "asked" or offers[0].record is None:
        return offers[0]
    affordable = [each for each in offers if each.record is not None and each.record.estimated_ns <= SHORT_NS]
    if affordable:
        return affordable[0]
    record = offers[0].record
    return Deeper(
        refusal=f"{_times(record.runs)} would take about {format_ns(record.estimated_ns)}; {ASK_FOR_IT}"
    )


def _offer(  # noqa: PLR0913, PLR0917
    plan: Plan, wish: Wish, found: Plan, kernels: Sequence[KernelTime], machine: Machine, alone_ns: int
) -> Deeper:
    """The runs that were found for a set of counters, with what they are about to cost."""
    counting = [run for run in found.runs if run.counters]
    if not counting:
        return Deeper(refusal="; ".join(found.could_not) or "there are no counters for this GPU")
    profiler = profilers.PROFILERS[counting[0].profiler]
    is_replaying = profiler is not profilers.PROFILERS[plan.profiler]
    counted = {kernel.name: _counted(kernel, wish.kernel_launches) for kernel in kernels}
    asked = replace(wish, counters=counting[0].counters)
    each_ns = profiler.counting_ns(asked, alone_ns, counted, machine)
    others = len(found.runs) - len(counting)  # each about as long as the trace
    record = DeepRecord(
        counters=wish.counters,
        kernels=tuple(kernel.name for kernel in kernels),
        share=min(sum(kernel.share for kernel in kernels), 1.0),
        launches=wish.kernel_launches if is_replaying else (),
        runs=len(found.runs),
        estimated_ns=len(counting) * each_ns + others * alone_ns,
    )
    return Deeper(found, record)


def _asking(
    plan: Plan, request: Request, counters: str, kernels: Sequence[KernelTime], launches: tuple[int, ...]
) -> Request:
    """The request for the counters of a set; with a thread trace of the longest kernel, where the user asked to go deep
    and the profiler records such."""
    names = [kernel.name for kernel in kernels]
    traces_threads = "thread trace" in profilers.PROFILERS[plan.profiler].extras
    wish = replace(
        request.wish,
        kernel_include=request.wish.kernel_include or pattern(names),
        kernel_launches=launches,
        pc_sampling=None,
        att=request.deep == "asked" and not request.wish.att and traces_threads,
        att_kernels=pattern(names[:1]),
    )
    return replace(request, counters=(counters,), counter_passes=(), wish=wish)


def _counted(kernel: KernelTime, launches: tuple[int, ...]) -> tuple[int, int]:
    own = [kernel.launches_ns[number - 1] for number in launches if number <= len(kernel.launches_ns)]
    return len(own), sum(own)


def announcement(record: DeepRecord) -> str:
    """What is about to be recorded, of which kernels, and what it costs: said before the first of the runs."""
    return (
        f"counters that tell why kernels take their time, of {_kernels(record)}: the program runs "
        f"{_times(record.runs)}, about {format_ns(record.estimated_ns)}"
    )


def account(record: DeepRecord) -> str:
    """What the runs took, beside what was said before."""
    took = format_ns(record.measured_ns or 0)
    return f"the counters took {took} ({_times(record.runs)}; about {format_ns(record.estimated_ns)} was expected)"


def prospect(plan: Plan, request: Request, machine: Machine, folder: Path) -> str:
    """What may follow a plan, as it can be said before anything has run; empty where nothing can."""
    if request.deep == "no" or not plan.profiled or any(run.counters for run in plan.runs):
        return ""
    asked = replace(request, counters=SETS[:1], counter_passes=())
    found = counted_behind(plan, replace(asked, wish=replace(asked.wish, pc_sampling=None)), machine, folder)
    counting = [run for run in found.runs if run.counters]
    if not counting:
        return f"no counters afterwards: {'; '.join(found.could_not)}" if request.deep == "asked" else ""
    what = f"counters (the set {SETS[0]}) of the kernels that hold {_ENOUGH} of the kernel time"
    times = _times(len(counting))
    if request.deep == "asked":
        return f"afterwards: {what}; the program runs {times}"
    return (
        f"afterwards, if that takes less than a minute: {what}; the program runs {times}, "
        "its output is not shown again (--no-deep leaves that out)"
    )


def _times(runs: int) -> str:
    return "once more" if runs == 1 else f"{runs} more times"


def _kernels(record: DeepRecord) -> str:
    names = ", ".join(short_name(name) for name in record.kernels[:_NAMED])
    more = ", ..." if len(record.kernels) > _NAMED else ""
    which = "" if not record.launches else f", launches {', '.join(map(str, record.launches))} of each"
    return (
        f"{format_count(len(record.kernels), 'kernel')} with {format_share(record.share)} of the kernel time "
        f"({names}{more}{which})"
    )
