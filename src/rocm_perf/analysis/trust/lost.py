"""GPU work that ran, but is not in the recording: launches and replays of graphs that left less than they should have,
and files that hold some of their dispatches only."""

from __future__ import annotations

from typing import NamedTuple

import polars as pl

from rocm_perf.analysis.basis.carried import carried_over
from rocm_perf.analysis.basis.intervals import disjoint
from rocm_perf.analysis.basis.keys import grouped, named, ordered
from rocm_perf.analysis.basis.launched import (
    CALL_KEY,
    THREAD,
    call_key,
    launched_kernels,
    timed_calls,
    with_calls,
)
from rocm_perf.analysis.basis.passes import shown_pass
from rocm_perf.analysis.basis.shared import once_per_trace
from rocm_perf.model.calls import (
    CAPTURE_BEGINS,
    CAPTURE_ENDS,
    GRAPH_CALL,
    HOST_CALL,
    LAUNCH_CALL,
    SYNC_CALL,
)
from rocm_perf.model.trace import Trace

_PROCESS = ("node", "pid")
_NUMBERED = ("node", "pid", "pass_id")
_SHORT = 0.9  # of its like: graphs for other batch sizes differ by a few kernels
_SEVERAL = 3
_UNLINKED = 0.5  # of what replays lack: with so many kernels of no known launch, they are here but not linked


class Replays(NamedTuple):
    """Replays of graphs, compared with one another."""

    function: str
    launched: int
    short: int  # that left fewer kernels and copies than their like, or none
    empty: int  # of those: none
    usual: int  # kernels and copies of a whole replay; 0 where no replay left any
    recorded: int  # kernels and copies that replays left
    missing: int  # kernels and copies that their like had


class SingleLosses(NamedTuple):
    """Launches of single kernels that left nothing, of all of them."""

    lost: int
    launched: int


class Captures(NamedTuple):
    """Launches that went into graphs instead of running."""

    graphs: int
    launches: int  # captured, without work of their own
    others: int  # launches of single kernels that were not captured
    replays: int  # launches of graphs
    spent_ns: int  # from the calls that begin a capture to those that end it
    call: str  # the first of them


class Excerpts(NamedTuple):
    """Dispatches whose own numbers say that others are missing between them."""

    recorded: int
    numbered: int  # from the first number to the last
    runs: int  # of consecutive numbers
    first: int
    last: int


@once_per_trace
def launches(trace: Trace) -> pl.DataFrame:
    """Calls that launch work on the GPU, counted by function (name), by how much each `left` in the recording, by
    whether its id would show that (identified), and by whether it was `pending` when the recording ended: nothing
    shows that it ran by then. `calls` and `total_ns` are those of each row."""
    by = ["name", "left", "identified", "pending"]
    spent = (pl.col("end_ns") - pl.col("start_ns")).sum().alias("total_ns")
    counted = _launching_calls(trace).group_by(by).agg(pl.len().alias("calls"), spent)
    return counted.with_columns(pl.col("name").cast(pl.String)).sort(by)


def _launching_calls(trace: Trace) -> pl.DataFrame:
    """Each of these calls. Not among them: calls inside another one, and launches that a graph captured."""
    calls = timed_calls(trace)
    name = pl.col("name").str
    outer = disjoint(_uncaptured(calls), THREAD)
    left = with_calls(outer, _work(trace))["left"]
    counted = outer.with_columns(
        left.fill_null(0), pl.col("correlation_id").is_not_null().alias("identified")
    )
    # In a part of a recording, or of a run, a wait may end after it: what it waited for may lie there too.
    ended = trace.run.window is None and not trace.has("windows")
    waits = calls.filter(named(calls["name"], name.contains(SYNC_CALL))) if ended else calls.clear()
    return counted.with_columns(_pending(counted, waits).alias("pending"))


def _uncaptured(calls: pl.DataFrame) -> pl.DataFrame:
    return _by_capture(calls).filter(pl.col("launching") & ~pl.col("captured")).drop("launching", "captured")


def _by_capture(calls: pl.DataFrame) -> pl.DataFrame:
    """Return calls that launch, or begin or end a capture, by whether a graph is being captured in their process. A
    recording that begins within a capture holds the end alone."""
    name, functions = pl.col("name").str, calls["name"]
    launching = named(functions, name.contains(LAUNCH_CALL) & ~name.contains(HOST_CALL))
    begins, ends = (named(functions, name.contains(mark)) for mark in (CAPTURE_BEGINS, CAPTURE_ENDS))
    mark = pl.when(begins).then(True).when(ends).then(False)
    columns = (*THREAD, "name", "start_ns", "end_ns", "correlation_id")
    marked = calls.select(*columns, launching.alias("launching"), mark.alias("capturing")).filter(
        pl.col("launching") | pl.col("capturing").is_not_null()
    )
    since, until = pl.col("capturing").forward_fill(), pl.col("capturing").backward_fill()
    within = pl.coalesce(since, ~until).over(_PROCESS).fill_null(False)
    return ordered(marked, ["start_ns"]).with_columns(within.alias("captured")).drop("capturing")


@once_per_trace
def captures(trace: Trace) -> Captures | None:
    """Return what was captured into graphs; None where nothing was."""
    calls = timed_calls(trace)
    marks = _marks(calls)
    if not marks.height:
        return None
    launching = _by_capture(calls).filter("launching")
    of_graphs = named(launching["name"], pl.col("name").str.contains(GRAPH_CALL))
    single = with_calls(launching.filter(~of_graphs), _work(trace))
    launched = single.filter(pl.col("captured") & (pl.col("left").fill_null(0) == 0)).height
    return Captures(
        graphs=marks.filter(pl.col("begins") | pl.col("is_first")).height,
        launches=launched,
        others=single.height - launched,
        replays=int(of_graphs.sum()),
        spent_ns=_spent(calls, marks),
        call=str(marks["name"][0]),
    )


def _marks(calls: pl.DataFrame) -> pl.DataFrame:
    """Return the calls that begin or end a capture, in their order, and whether each is the first of its process."""
    name = pl.col("name").str
    begins, ends = (named(calls["name"], name.contains(mark)) for mark in (CAPTURE_BEGINS, CAPTURE_ENDS))
    marks = calls.select(*_PROCESS, "name", "start_ns", begins.alias("begins")).filter(begins | ends)
    is_first = (pl.int_range(pl.len()).over(_PROCESS) == 0).alias("is_first")
    return marks.sort("start_ns").with_columns(is_first)


def _spent(calls: pl.DataFrame, marks: pl.DataFrame) -> int:
    """Return how long captures lasted; from or to the bounds of the recording, where one is cut."""
    first, last = calls["start_ns"].min(), calls["end_ns"].max()
    following = pl.col("start_ns").shift(-1).over(_PROCESS).fill_null(last)
    whole = marks.select(pl.when("begins").then(following - pl.col("start_ns")))
    cut = marks.filter(~pl.col("begins") & pl.col("is_first")).select(pl.col("start_ns") - first)
    return int(whole.to_series().sum()) + int(cut.to_series().sum())


def _work(trace: Trace) -> pl.DataFrame:
    """How many kernels and copies carry the key of each call."""
    of_pass = pl.col("pass_id") == (shown_pass(trace) or 0)
    work = pl.concat(trace.lazy(table).filter(of_pass).select(CALL_KEY) for table in ("dispatches", "copies"))
    rows = ordered(work.drop_nulls("correlation_id").collect(), CALL_KEY)
    keys = rows.select(call_key(rows)).to_series()
    first = (keys != keys.shift(1)).fill_null(True)
    return rows.filter(first).with_columns(left=keys.rle().struct.field("len").cast(pl.Int64))


def _pending(launched: pl.DataFrame, syncs: pl.DataFrame) -> pl.Series:
    """Launches after the last one that left work, and after the last wait for the GPU."""
    waited = syncs.group_by(_PROCESS).agg(pl.col("start_ns").max().alias("waited"))
    joined = launched.join(waited, on=_PROCESS, how="left", nulls_equal=True, maintain_order="left")
    fruitful = pl.col("start_ns").filter(pl.col("left") > 0).max().over(_PROCESS)
    return (
        joined.select((pl.col("start_ns") > fruitful) & (pl.col("start_ns") > pl.col("waited").fill_null(0)))
        .to_series()
        .fill_null(False)
    )


def _finished(trace: Trace, graphs: bool) -> pl.DataFrame:
    """Launches whose id tells what they left, and that were not pending at the end: those of graphs, or the others."""
    kind = pl.col("name").str.contains(GRAPH_CALL) == graphs
    return launches(trace).filter(pl.col("identified") & ~pl.col("pending") & kind)


@once_per_trace
def replays(trace: Trace) -> Replays | None:
    """None where no graph was replayed, or where every replay left what its like did."""
    graphs = _finished(trace, graphs=True)
    if not graphs.height:
        return None
    sizes = graphs.group_by("left").agg(pl.col("calls").sum())
    whole = _whole_sizes(sizes)
    like = sizes["left"].map_elements(lambda size: _whole_size(size, whole), pl.Int64)
    short = _of_one_graph(trace, sizes.with_columns(like.alias("like")).filter(pl.col("left") < like))
    empty = int(sizes.filter(pl.col("left") == 0)["calls"].sum())
    missing = int(((short["like"] - short["left"]) * short["calls"]).sum())
    few = not empty and int(short["calls"].sum()) < _SEVERAL  # small graphs of their own look like that
    if few or unlinked(trace) > _UNLINKED * missing:
        return None
    return Replays(
        function=graphs["name"][0],
        launched=int(sizes["calls"].sum()),
        short=int(short["calls"].sum()) or empty,
        empty=empty,
        usual=whole[-1] if whole else 0,
        recorded=int((sizes["left"] * sizes["calls"]).sum()),
        missing=missing,
    )


def _of_one_graph(trace: Trace, short: pl.DataFrame) -> pl.DataFrame:
    """Those of the sizes (left, like, calls) whose replays lack kernels of their like, and have none that it lacks:
    else they are replays of another graph."""
    partial = short.filter(pl.col("left") > 0)
    if not partial.height:
        return short
    calls = _launching_calls(trace)
    of_graphs = named(calls["name"], pl.col("name").str.contains(GRAPH_CALL))
    calls = calls.filter(of_graphs).unique("left", keep="first")
    kernels = launched_kernels(trace).select(*CALL_KEY, pl.col("name").alias("kernel"))
    replayed = kernels.drop_nulls("correlation_id").join(
        calls.select(*CALL_KEY, "left"), on=CALL_KEY, nulls_equal=True
    )
    counted = replayed.group_by("left", "kernel").len()
    theirs = counted.select(pl.col("left").alias("like"), "kernel", pl.col("len").alias("most"))
    compared = counted.join(partial, on="left").join(theirs, on=["like", "kernel"], how="left")
    others = compared.filter(pl.col("len") > pl.col("most").fill_null(0))["left"]
    return short.filter(~pl.col("left").is_in(others.implode()))


def _whole_sizes(sizes: pl.DataFrame) -> list[int]:
    """Sizes that come more than once, since different graphs have their own, or else the largest; in their order."""
    filled = sizes.filter(pl.col("left") > 0).sort("left")
    again: list[int] = filled.filter(pl.col("calls") > 1)["left"].to_list()
    return again or filled["left"].to_list()[-1:]


def _whole_size(size: int, whole: list[int]) -> int:
    """The size that a replay should have: the next whole one, but its own where little is missing."""
    larger = next((one for one in whole if one >= size), size)
    return larger if size < _SHORT * larger else size


@once_per_trace
def unlinked(trace: Trace) -> int:
    """Kernels whose launch is not in the recording, although it began before them."""
    kernels = launched_kernels(trace)
    return kernels.filter(kernels["launch_end"].is_null() & ~carried_over(kernels)).height


def single_losses(trace: Trace) -> SingleLosses:
    """Launches of single kernels that finished and left nothing; none where their kernels are here without a link.
    Without any kernel, that is all of them, whatever their ids."""
    if not trace.has("dispatches"):
        every = int(launches(trace).filter(~pl.col("name").str.contains(GRAPH_CALL))["calls"].sum())
        return SingleLosses(every, every)
    single = _finished(trace, graphs=False)
    lost = int(single.filter(pl.col("left") == 0)["calls"].sum())
    return SingleLosses(lost if unlinked(trace) <= _UNLINKED * lost else 0, int(single["calls"].sum()))


@once_per_trace
def excerpts(trace: Trace) -> Excerpts | None:
    """The process with most dispatches missing between its first number and its last; None where none are.

    Copies may be numbered together with kernels: what they explain is not missing.
    """
    rows = (
        trace.table("dispatches")
        .filter(pl.col("pass_id") == (shown_pass(trace) or 0))
        .select(*_NUMBERED, "dispatch_id")
        .drop_nulls("dispatch_id")
    )
    number = pl.col("dispatch_id")
    counted = grouped(
        rows,
        _NUMBERED,
        number.n_unique().cast(pl.Int64).alias("recorded"),
        (number.max() - number.min() + 1).alias("numbered"),
        number.min().alias("first"),
        number.max().alias("last"),
    )
    absent = pl.col("numbered") - pl.col("recorded")
    most = counted.filter(absent > trace.rows("copies")).sort(absent, descending=True).head(1)
    if not most.height:
        return None
    mine = rows.join(most, on=_NUMBERED, how="semi", nulls_equal=True)
    runs = mine.select(1 + (number.unique().sort().diff() > 1).sum()).item()
    return Excerpts(runs=int(runs), **most.drop(_NUMBERED).row(0, named=True))
