"""Divide the time in which a GPU runs nothing among causes and places, each moment once, by the most specific evidence
that the recording holds."""

from __future__ import annotations

import polars as pl

from rocm_perf.analysis.basis.intervals import count_between, overlap_ns
from rocm_perf.analysis.basis.keys import groups, named
from rocm_perf.analysis.basis.launched import GPU, THREAD, launched_work, timed_calls
from rocm_perf.analysis.basis.loading import LOADING
from rocm_perf.analysis.basis.nested import nest
from rocm_perf.analysis.basis.passes import timed_rows
from rocm_perf.analysis.basis.shared import once_per_trace
from rocm_perf.analysis.basis.whole import whole_of
from rocm_perf.analysis.idle.copies import call_sites
from rocm_perf.analysis.idle.first_calls import one_off_calls
from rocm_perf.analysis.idle.gap_causes import CAUSES, host_windows
from rocm_perf.analysis.idle.gap_ranges import NO_PART, Part, parts_of_program
from rocm_perf.analysis.idle.gaps import causes_of, judged_gaps, outermost_calls
from rocm_perf.analysis.idle.long_gaps import LONG_NS, in_operators
from rocm_perf.analysis.phases.build import phases
from rocm_perf.model.calls import ALLOCATION_CALL, LAUNCH_CALL
from rocm_perf.model.trace import Trace

# What programs and frameworks call the compilation of code.
COMPILING = (
    r"(?i)compile_fx|inductor.*compil|_?dynamo\b.*compil|_compile(d)?_?fn|triton.*compil|jit.*compil|compil\w*.*jit"
    r"|backend_compile|XlaCompile|RunBackend|hlo_passes|nvrtc|hiprtc|ptxas|LinkComplete|CompileProgram|comgr"
    r"|^compil(e|ing)\b|autotun|\bcudagraph_trees.*record"
)
_LOADS_CODE = r"ModuleLoad|LibraryLoad|LinkCreate|ModuleGetFunction|GraphInstantiate"
MPI = r"^P?MPI_[A-Z]"
# What the name of a part of the program says that it does.
_NAMED = (("loading-data", LOADING), ("compiling", COMPILING), ("mpi", MPI))
_OPERATOR = "operator"
# Causes of a gap that need no further division.
_AS_THEY_ARE = {
    "queue_gap": "queue-gaps",
    "event": "stream-dependency",
    "collective": "waiting-for-communication",
    "unrecorded": "unrecorded-work",
    "nothing_recorded": "not-recorded",
}
_IN_CALLS = {"host_sync": "waiting-for-gpu", "copy": "waiting-for-copy", "host_api": "other-calls"}
_OUTSIDE = ("framework", "loading", "host_busy")
AFTER_A_WAIT = "after a wait"  # the host had waited until the GPU was idle before it launched again
AFTER_A_COPY = "after a copy"  # the same, inside a call that copies
BEFORE_A_COPY = "before a copy to the GPU"  # nothing names what the host does, but its result is copied there
_PREPARED_NS = 200_000  # in no call for each launch: a host that takes longer does more than prepare it
BETWEEN_CALLS = "between calls"
_LATENCY = "until the GPU begins what was launched"
_NOT_SHORT_NS = LONG_NS // 10  # shorter operators take nothing from one that is slow by itself
# A queue takes less than that to begin its next kernel: 4.6 us on average in a decode of llama.cpp on gfx1201.
_NEXT_KERNEL_NS = 10_000
_TO_GPU = "copy H2D"
_FEW = 3  # slow calls of one function: more of them recur
_PARTS = 3  # named parts of the program that are told apart
_ROW = [*GPU, "cause", "place", "detail", "ns", "gaps"]


@once_per_trace
def idle_time(trace: Trace) -> pl.DataFrame:
    """Return idle time by GPU, cause (of model/results/ledger.py), place and detail: columns ns and gaps."""
    idle = _without_pauses(_explained(judged_gaps(trace), trace), trace)
    waited, copied = idle["host_sync"] > 0, (idle["host_sync"] == 0) & (idle["copy"] > 0)
    kinds = (("", ~waited & ~copied), (AFTER_A_WAIT, waited), (AFTER_A_COPY, copied))
    table = pl.concat(part for after, own in kinds for part in _divided(idle.filter(own), trace, after))
    return _with_profilers_part(table, idle, trace)


def _divided(idle: pl.DataFrame, trace: Trace, after: str) -> list[pl.DataFrame]:
    """Return the time of these gaps by cause and place. `after` is the place of launching in them."""
    rows = [_whole(idle, cause, name) for cause, name in _AS_THEY_ARE.items()]
    rows.append(_whole(idle, "after_ns", "end-of-work"))
    rows += [_in_calls(idle, trace, after), _outside_calls(idle, trace, after)]
    rows.append(_whole(idle, "launch_latency", "launching", after, _LATENCY))
    return [part.select(_ROW) for part in rows]


def _explained(idle: pl.DataFrame, trace: Trace) -> pl.DataFrame:
    """Return the gaps, those that end in work of no known launch with the best that can be told of them: a GPU takes a
    moment to begin the next kernel, and where the launches of a process are recorded, its thread that makes most calls
    shows what the host did."""
    unknown = (idle["nothing_recorded"] > 0) & idle["launch_end"].is_null()
    if not unknown.any():
        return idle
    length = idle["start_ns"] - idle["since_ns"]
    short = unknown & (length < _NEXT_KERNEL_NS)
    moved = pl.when(short).then(pl.col("nothing_recorded")).otherwise(0)
    told = idle.with_columns(
        queue_gap=pl.col("queue_gap") + moved, nothing_recorded=pl.col("nothing_recorded") - moved
    )
    calls = timed_calls(trace)
    launches = calls.filter(named(calls["name"], pl.col("name").str.contains(LAUNCH_CALL)))
    if not launches.height:
        return told
    threads = launches.group_by("node", "tid").len().sort("len", "tid", descending=[True, False])
    main = threads.group_by("node", maintain_order=True).agg(pl.col("tid").first())
    process = launches.group_by("node", "tid").agg(pl.col("pid").first())
    owner = main.join(process, on=["node", "tid"], nulls_equal=True)
    rest = told.filter(unknown & ~short).drop("pid", "tid", *CAUSES).join(owner, on="node", how="inner")
    by_thread = rest.with_columns(launch_end="start_ns", launch_start=pl.lit(None, pl.Int64))
    again = causes_of(trace, by_thread)
    left = told.filter(~(unknown & ~short) | ~told["node"].is_in(owner["node"].implode()))
    return pl.concat([left, again.select(left.columns)])


def _without_pauses(idle: pl.DataFrame, trace: Trace) -> pl.DataFrame:
    """Return the gaps, those with a pause without its length: what happens once is not judged."""
    found = phases(whole_of(trace))
    if not found.pauses:
        return idle
    pauses = pl.DataFrame(
        {
            "start_ns": [pause.start_ns + found.origin_ns for pause in found.pauses],
            "end_ns": [pause.end_ns + found.origin_ns for pause in found.pauses],
        }
    )
    spans = idle.select(start_ns="since_ns", end_ns="start_ns")
    left = overlap_ns(spans, pauses, ())
    columns = ["after_ns", *CAUSES]
    for column in sorted(columns, key=lambda name: -int(idle[name].sum())):
        taken = pl.select(pl.min_horizontal(idle[column].fill_null(0), left)).to_series()
        idle = idle.with_columns((idle[column] - taken).alias(column))
        left = left - taken
    return idle


def _whole(idle: pl.DataFrame, column: str, cause: str, place: str = "", detail: str = "") -> pl.DataFrame:
    """Return the sums of a column of the gaps for each GPU as time of one cause."""
    spent = idle.filter(pl.col(column) > 0)
    return (
        spent.group_by(GPU)
        .agg(pl.col(column).sum().cast(pl.Int64).alias("ns"), pl.len().cast(pl.Int64).alias("gaps"))
        .with_columns(cause=pl.lit(cause), place=pl.lit(place), detail=pl.lit(detail))
    )


def _in_calls(idle: pl.DataFrame, trace: Trace, after: str) -> pl.DataFrame:
    """Return the time inside calls of the runtime by function; what no call explains of these causes has no place."""
    calls = _with_sites(outermost_calls(trace), trace)
    once = _made_first(one_off_calls(trace))
    known = idle.filter(pl.col("launch_end").is_not_null())
    times = known.select(*THREAD, "agent_id", "start_ns", "since_ns", "launch_end")
    rows = []
    for windows in groups(host_windows(times), GPU):
        gpu = windows.select(GPU).head(1)
        threads = windows.select(THREAD).unique()
        mine = calls.join(threads, on=list(THREAD), how="semi", nulls_equal=True)
        inside = mine.with_columns(ns=overlap_ns(mine, windows, THREAD)).filter(pl.col("ns") > 0)
        if inside.height:
            first = overlap_ns(inside, once, THREAD).cast(pl.Int64)
            rows.append(gpu.join(inside.with_columns(first=first > 0).drop("node"), how="cross"))
    spent = pl.concat(rows) if rows else None
    return pl.concat([_capped(idle, spent, column, after) for column in _IN_CALLS])


def _made_first(once: pl.DataFrame) -> pl.DataFrame:
    """Return the calls that took long once: a function that takes long again and again has another reason, unless it
    loads code."""
    name = pl.col("name").cast(pl.String)
    loads = named(once["name"], pl.col("name").str.contains(f"{_LOADS_CODE}|{LAUNCH_CALL}"))
    return once.filter((pl.len().over(name) <= _FEW) | loads)


def _with_sites(calls: pl.DataFrame, trace: Trace) -> pl.DataFrame:
    """Return the calls that wait or copy with the operator, function or range that made them."""
    waits = calls.filter(pl.col("cause").is_in(["host_sync", "copy"]))
    if not waits.height:
        return calls.with_columns(site=pl.lit(""))
    ids = timed_calls(trace).select(*THREAD, "start_ns", "op_id").unique([*THREAD, "start_ns"])
    placed = waits.join(ids, on=[*THREAD, "start_ns"], how="left", nulls_equal=True, maintain_order="left")
    sites = call_sites(trace, placed.with_columns(launch_start="start_ns"))
    return pl.concat(
        [
            waits.with_columns(site=sites),
            calls.filter(~pl.col("cause").is_in(["host_sync", "copy"])).with_columns(site=pl.lit("")),
        ]
    )


def _capped(idle: pl.DataFrame, spent: pl.DataFrame | None, column: str, after: str) -> pl.DataFrame:
    """Return the time of one cause by call, and what calls do not explain of it. No more than there is in all: time
    behind unrecorded work is told elsewhere."""
    whole = _whole(idle, column, _IN_CALLS[column])
    if spent is None or not whole.height:
        return whole.select(_ROW)
    name = pl.col("name").cast(pl.String)
    own = spent.filter(pl.col("cause") == column)
    launches = named(own["name"], pl.col("name").str.contains(LAUNCH_CALL))
    loads = launches | named(own["name"], pl.col("name").str.contains(_LOADS_CODE))
    cause = (
        pl.when(name.str.contains(MPI))
        .then(pl.lit("mpi"))
        .when(name.str.contains(COMPILING))
        .then(pl.lit("compiling"))
        .when("first")
        .then(pl.when(loads).then(pl.lit("loading-code")).otherwise(pl.lit("first-use")))
        .when(name.str.contains(ALLOCATION_CALL))
        .then(pl.lit("allocating"))
        .when(launches & pl.lit(column == "host_api"))
        .then(pl.lit("launching"))
        .otherwise(pl.lit(_IN_CALLS[column]))
    )
    named_rows = own.with_columns(cause=cause, call=name).with_columns(
        place=pl.when(pl.col("cause") == "launching").then(pl.lit(after)).otherwise("call"),
        detail=pl.when(pl.col("cause") == "launching").then("call").otherwise("site"),
    )
    by_call = (
        named_rows.group_by(*GPU, "cause", "place", "detail")
        .agg(pl.col("ns").sum(), pl.len().cast(pl.Int64).alias("gaps"))
        .sort(*GPU, "ns", "place", "detail", descending=[False, False, True, False, False])
    )
    limited = by_call.join(
        whole.select(*GPU, most="ns"), on=GPU, how="inner", nulls_equal=True, maintain_order="left"
    )
    reached = pl.col("ns").cum_sum().over(GPU)
    fits = (pl.col("ns") - (reached - pl.col("most")).clip(lower_bound=0)).clip(lower_bound=0)
    limited = limited.with_columns(ns=fits).filter(pl.col("ns") > 0)
    told = limited.group_by(GPU).agg(told=pl.col("ns").sum())
    rest = (
        whole.join(told, on=GPU, how="left", nulls_equal=True)
        .with_columns(ns=pl.col("ns") - pl.col("told").fill_null(0))
        .filter(pl.col("ns") > 0)
    )
    return pl.concat([limited.select(_ROW), rest.select(_ROW)])


def _outside_calls(idle: pl.DataFrame, trace: Trace, after: str) -> pl.DataFrame:
    """Return the time in which the host is in no call: what named parts of the program explain, what it spends on
    something else for too long to prepare a launch, and the rest, in which it prepares launches."""
    known = idle.filter(pl.sum_horizontal(_OUTSIDE) > 0)
    outside = known.select(pl.sum_horizontal(_OUTSIDE)).to_series()
    if not known.height:
        return _whole(idle, _OUTSIDE[0], "launching").select(_ROW)
    calls = outermost_calls(trace)
    length = known["start_ns"] - known["since_ns"]
    does_more = int(outside.sum()) > _PREPARED_NS * max(launched_work(trace)["launch_start"].n_unique(), 1)
    is_long = (outside >= _PREPARED_NS) if does_more else (length >= LONG_NS)
    rows, left, covered = [], outside, calls.select(*THREAD, "start_ns", "end_ns")
    windows = host_windows(known.select(*THREAD, "start_ns", "since_ns", "launch_end"))
    for cause, place, spans in _special(trace):
        taken, covered = _inside(windows, spans, covered, left, THREAD)
        left = left - taken
        rows.append(_named_part(known, taken, cause, place))
    for name, spans in _slow_operators(trace, elsewhere=is_long.any()):
        taken, covered = _inside(windows, spans, covered, left * is_long.cast(pl.Int64), THREAD)
        left = left - taken
        rows.append(_named_part(known, taken, _cause_of(name), name))
    in_framework = pl.select(pl.min_horizontal(in_operators(trace, known, calls), left)).to_series()
    elsewhere = (left - in_framework) * is_long.cast(pl.Int64)
    launching = left - elsewhere
    for part in _parts(trace, known, elsewhere):
        by = THREAD if not part.in_other_threads else THREAD[:2]
        taken, covered = _inside(windows, part.spans, covered, elsewhere, by)
        elsewhere = elsewhere - taken
        rows.append(_named_part(known, taken, _cause_of(part.name), part.name))
    ends_in_copy = (known["name"].cast(pl.String) == _TO_GPU).fill_null(False).cast(pl.Int64)
    rows.append(_named_part(known, elsewhere * ends_in_copy, "host-work", BEFORE_A_COPY))
    rows.append(_named_part(known, elsewhere * (1 - ends_in_copy), "host-work", ""))
    rows.append(_named_part(known, launching, "launching", after, BETWEEN_CALLS))
    return pl.concat(rows)


@once_per_trace
def _special(trace: Trace) -> list[tuple[str, str, pl.DataFrame]]:
    """Return the cause, the name and the times of what the host does whose name says that it loads data, compiles or
    is inside MPI; the names with most time apart, the others together."""
    columns = ["name", *THREAD, "start_ns", "end_ns"]
    tables = (
        timed_rows(trace, "ops").filter(pl.col("category") == _OPERATOR),
        timed_rows(trace, "ranges").filter(~pl.col("on_gpu")),
    )
    # Collected before any name is looked at: one filter would look at those of Python frames too.
    spans = pl.concat(rows.select(columns).cast({"name": pl.String}).collect() for rows in tables)
    found = []
    for cause, pattern in _NAMED:
        own = spans.filter(named(spans["name"], pl.col("name").str.contains(pattern)))
        spent = (pl.col("end_ns") - pl.col("start_ns")).sum()
        totals = own.group_by("name").agg(spent=spent).sort("spent", "name", descending=[True, False])
        names = totals["name"].head(_PARTS).to_list()
        found += [(cause, name, own.filter(pl.col("name") == name).drop("name")) for name in names]
        found.append((cause, "", own.filter(~pl.col("name").is_in(names)).drop("name")))
    return [(cause, name, rows) for cause, name, rows in found if rows.height]


def _slow_operators(trace: Trace, *, elsewhere: bool) -> list[tuple[str, pl.DataFrame]]:
    """Return the operators that keep the host for so long by themselves that they do more than launch, such as one that
    computes on the host: by name, the innermost first."""
    if not elsewhere:
        return []
    columns = ["name", *THREAD, "start_ns", "end_ns"]
    length = pl.col("end_ns") - pl.col("start_ns")
    name = pl.col("name").cast(pl.String)
    is_operator = (pl.col("category") == _OPERATOR) & (length >= _NOT_SHORT_NS) & ~name.str.contains(NO_PART)
    nested = nest(timed_rows(trace, "ops").filter(is_operator).select(columns).collect(), list(THREAD))
    inside = nested.group_by(row="parent").agg(inside=length.sum()).drop_nulls("row")
    own = nested.join(inside, on="row", how="left").filter(length - pl.col("inside").fill_null(0) >= LONG_NS)
    names = own.group_by("name").agg(spent=length.sum(), each=length.mean()).top_k(_PARTS, by="spent")
    return [
        (name, own.filter(pl.col("name") == name).select(columns[1:]))
        for name in names.sort("each", "name")["name"].cast(pl.String).to_list()
    ]


def _parts(trace: Trace, known: pl.DataFrame, elsewhere: pl.Series) -> list[Part]:
    """Return the parts of the program that explain most of the time in which the host does something else, one after
    another."""
    found: list[Part] = []
    gaps = known.with_columns(left=elsewhere).filter(pl.col("left") > 0)
    while gaps.height and len(found) < _PARTS:
        part = parts_of_program(trace, gaps)
        if part is None or part.name in {one.name for one in found}:
            break
        found.append(part)
        by = THREAD if not part.in_other_threads else THREAD[:2]
        windows = host_windows(gaps.select(*THREAD, "start_ns", "since_ns", "launch_end"))
        inside = overlap_ns(windows, part.spans, by)
        gaps = gaps.filter(2 * inside < pl.Series(gaps["left"]))
    return found


def _cause_of(part: str) -> str:
    """Return the cause that the name of a part of the program says."""
    said = (cause for cause, pattern in _NAMED if pl.Series([part]).str.contains(pattern).item())
    return next(said, "host-work")


def _inside(
    windows: pl.DataFrame, spans: pl.DataFrame, covered: pl.DataFrame, most: pl.Series, by: tuple[str, ...]
) -> tuple[pl.Series, pl.DataFrame]:
    """Return how much of each window the spans cover beyond what is covered already, at most what is left of it, and
    what is covered then."""
    columns = [*THREAD, "start_ns", "end_ns"]
    both = pl.concat([covered, spans.select(columns)])
    if by != THREAD:  # of other threads: whatever this one did meanwhile
        inside = overlap_ns(windows, spans, by)
    else:
        inside = overlap_ns(windows, both, by) - overlap_ns(windows, covered, by)
    taken = pl.select(pl.min_horizontal(inside, most)).to_series()
    return taken, both


def _named_part(
    gaps: pl.DataFrame, spent: pl.Series, cause: str, place: str, detail: str = ""
) -> pl.DataFrame:
    return _whole(gaps.with_columns(part=spent), "part", cause, place, detail).select(_ROW)


def _with_profilers_part(rows: pl.DataFrame, idle: pl.DataFrame, trace: Trace) -> pl.DataFrame:
    """Return the rows with what the profiler adds to launches as time of its own, where that was measured: no more
    than launching takes."""
    collection = trace.run.collection
    if collection is None or not collection.launch_cost_ns or not rows.height:
        return rows
    known = idle.filter(pl.col("launch_end").is_not_null())
    calls = timed_calls(trace)
    launches = calls.filter(named(calls["name"], pl.col("name").str.contains(LAUNCH_CALL)))
    windows = host_windows(known.select(*GPU, "pid", "tid", "start_ns", "since_ns", "launch_end"))
    within = count_between(windows, launches, THREAD)
    in_graphs = _further_kernels(known, trace) * (collection.graph_kernel_cost_ns or 0.0)
    cost = (within * collection.launch_cost_ns + in_graphs).cast(pl.Int64)
    added = windows.select(GPU).with_columns(cost=cost).group_by(GPU).agg(pl.col("cost").sum())
    launching = rows.filter(pl.col("cause") == "launching").sort("ns", descending=True)
    limited = launching.join(added, on=GPU, how="left", nulls_equal=True, maintain_order="left").with_columns(
        pl.col("cost").fill_null(0)
    )
    before = pl.col("ns").cum_sum().over(GPU) - pl.col("ns")
    taken = pl.min_horizontal("ns", (pl.col("cost") - before).clip(lower_bound=0))
    divided = limited.with_columns(taken=taken)
    own = divided.filter(pl.col("taken") > 0).with_columns(
        cause=pl.lit("profiler"), ns="taken", place=pl.lit(""), detail=pl.lit("")
    )
    others = rows.filter(pl.col("cause") != "launching")
    left = divided.with_columns(ns=pl.col("ns") - pl.col("taken")).filter(pl.col("ns") > 0)
    return pl.concat([others, left.select(_ROW), own.select(_ROW)])


def _further_kernels(gaps: pl.DataFrame, trace: Trace) -> pl.Series:
    """Return, for each gap, how many kernels beside the first the graph has whose launch ended it."""
    launch = [*THREAD, "launch_start"]
    sizes = launched_work(trace).group_by(launch).agg(size=pl.len().cast(pl.Int64))
    own = gaps.select(launch).join(sizes, on=launch, how="left", nulls_equal=True, maintain_order="left")[
        "size"
    ]
    was_idle = (gaps["launch_end"] > gaps["since_ns"]).cast(pl.Int64)
    further: pl.Series = (own.fill_null(1) - 1) * was_idle
    return further
