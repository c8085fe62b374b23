"""The host's side of the graph: the outermost calls of each thread, in order."""

from __future__ import annotations

import polars as pl

from rocm_perf.analysis.basis.keys import firsts, ordered, over, ranks, telling
from rocm_perf.analysis.basis.launched import CALL_KEY
from rocm_perf.analysis.graph.graph import EDGE_KINDS, NODE_KINDS, RULE_NAMES, START
from rocm_perf.analysis.time.steps import steps
from rocm_perf.model.calls import SYNC_CALL
from rocm_perf.model.trace import Trace

PROCESS = ["node", "pid"]
THREAD = [*PROCESS, "tid"]
_DEVICE_WIDE = r"(Device|Ctx|Context)Synchronize|^(hip|cuda)Free$"
_EVENT = r"EventSynchronize"
_WAIT_EVENT = r"StreamWaitEvent"
_TURN_CALLS = 8  # in a row: threads that merely run side by side mix their calls


def placed(frame: pl.LazyFrame, number: int, origins: pl.DataFrame) -> pl.LazyFrame:
    """Rows of the timed pass with usable times, from the first start of their clock domain on."""
    usable = (pl.col("pass_id") == number) & (pl.col("end_ns") >= pl.col("start_ns"))
    ids = [pl.col(name).fill_null(-1) for name in ("pid", "tid", "rank")]
    return (
        frame.filter(usable)
        .join(
            origins.lazy(), on="node", how="left", maintain_order="left"
        )  # copies nothing, unlike an inner join
        .filter(pl.col("origin_ns").is_not_null())
        .with_columns(pl.col("start_ns") - pl.col("origin_ns"), pl.col("end_ns") - pl.col("origin_ns"), *ids)
    )


def host_calls(trace: Trace, number: int, origins: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The outermost calls, numbered by thread and time, and which of them owns each CALL_KEY, the first if several.

    A call within another (HSA within HIP) is part of it. Without any call, framework operators take their place.
    """
    table, kind = ("api_calls", "api") if trace.has("api_calls") else ("ops", "op")
    frame = trace.lazy(table).with_row_index("row")
    if table == "ops":
        frame = frame.filter(pl.col("category") == "operator")
    rows = (
        placed(frame, number, origins)
        .select(
            *THREAD,
            "rank",
            "row",
            pl.col("name").cast(pl.Categorical),
            "start_ns",
            "end_ns",
            "correlation_id",
        )
        .collect()
    )
    rows = rows.with_columns(thread=ranks(THREAD, rows))
    rows = ordered(rows, ["thread", "start_ns", "end_ns"], falling=["end_ns"])
    reach = over(pl.col("end_ns").cum_max().shift(1), telling(["thread"], rows))
    rows = rows.with_columns(inner=(pl.col("start_ns") < reach).fill_null(False))
    rows = rows.with_columns(call=(~pl.col("inner")).cum_sum().cast(pl.Int64) - 1)
    owners = rows.select(*CALL_KEY, "call").filter(pl.col("correlation_id") > 0)
    calls = rows.filter(~pl.col("inner")).drop("inner", "correlation_id")
    calls = calls.join(_scopes(calls["name"]), on="name", how="left", maintain_order="left")
    waited = over(pl.when("waits").then("call").forward_fill(), telling(["thread"], calls))
    calls = calls.with_columns(pl.lit(kind, NODE_KINDS).alias("kind"), waited.alias("last_wait")).drop(
        "waits"
    )
    return calls, owners


def _scopes(names: pl.Series) -> pl.DataFrame:
    """For each function, what it waits for, if it waits; and whether it makes a stream wait for an event."""
    name = pl.col("name").cast(pl.String).str
    scope = (
        pl.when(name.contains(_DEVICE_WIDE))
        .then(pl.lit("device sync"))
        .when(name.contains(_EVENT))
        .then(pl.lit("event sync"))
        .when(name.contains(SYNC_CALL))
        .then(pl.lit("stream sync"))
    )
    return names.unique().to_frame().with_columns(scope=scope, waits=name.contains(_WAIT_EVENT))


def extents(trace: Trace, number: int, origins: pl.DataFrame) -> pl.DataFrame:
    """The last end of each thread's operators and ranges: host time that may follow its last call."""
    ops = trace.lazy("ops").filter(pl.col("category") == "operator")
    ranges = trace.lazy("ranges").filter(~pl.col("on_gpu") & (pl.col("source") != "profiler"))
    spans = [placed(frame, number, origins).select(*THREAD, "end_ns") for frame in (ops, ranges)]
    return pl.concat(spans).group_by(THREAD).agg(pl.col("end_ns").max().alias("last_ns")).collect()


def with_sections(calls: pl.DataFrame, trace: Trace, number: int, origins: pl.DataFrame) -> pl.DataFrame:
    """Each call with the number of marks on its thread before it: bounds of steps where ranges show them, else of all
    ranges; and with `looped`: whether it is part of the one step of a loop that was recorded."""
    calls = calls.with_columns(looped=_of_one_step(trace, origins))
    threads = firsts(calls.select(*THREAD, "thread"), ["thread"])
    marks = _step_marks(trace, origins, threads)
    if marks is None:
        marks = _range_marks(trace, number, origins, threads)
    bounds = marks.sort("at_ns").with_columns(section=pl.int_range(pl.len(), dtype=pl.Int64))
    if not bounds.height:
        return calls.with_columns(section=pl.lit(-1, pl.Int64))
    placed_calls = calls.sort("start_ns").join_asof(
        bounds, left_on="start_ns", right_on="at_ns", by="thread", strategy="backward", check_sortedness=False
    )
    return placed_calls.drop("at_ns").sort("call").with_columns(pl.col("section").fill_null(-1))


def _of_one_step(trace: Trace, origins: pl.DataFrame) -> pl.Expr:
    """Whether a call starts in the only recorded step of a program that numbers its steps: there are others like it."""
    numbered = steps(trace).steps if trace.has("ranges") else ()
    if len(numbered) != 1:
        return pl.lit(False)
    (step,) = numbered
    bounds = (time - origins["origin_ns"][0] for time in (step.start_ns, step.end_ns))
    return pl.col("start_ns").is_between(*bounds)


def _step_marks(trace: Trace, origins: pl.DataFrame, threads: pl.DataFrame) -> pl.DataFrame | None:
    """Starts and ends of the steps that ranges show, for each thread; None without any, or of several processes."""
    if not trace.has("ranges") or threads.select(PROCESS).unique().height != 1:
        return None
    repeated = steps(trace)
    if not repeated.steps or not repeated.host_times:
        return None
    times = {time for step in repeated.steps for time in (step.start_ns, step.end_ns)}
    at = pl.DataFrame({"at_ns": sorted(times)}, schema={"at_ns": pl.Int64}) - origins["origin_ns"][0]
    return threads.select("thread").join(at, how="cross")


def _range_marks(trace: Trace, number: int, origins: pl.DataFrame, threads: pl.DataFrame) -> pl.DataFrame:
    """Starts and ends of the ranges of each thread."""
    ranges = placed(trace.lazy("ranges").filter(~pl.col("on_gpu")), number, origins)
    marks = pl.concat([ranges.select(*THREAD, at_ns=name) for name in ("start_ns", "end_ns")])
    return marks.join(threads.lazy(), on=THREAD).select("thread", "at_ns").collect()


def with_works(calls: pl.DataFrame, known: pl.Series) -> pl.DataFrame:
    """Each call with `works`: whether its thread starts or awaits anything on a GPU, or no thread does.

    `known` are the calls that do. Nothing waits for the calls of any other thread, a profiler's own for instance.
    """
    threads = calls["thread"].gather(known.drop_nulls()).unique()
    works = pl.col("thread").is_in(threads.implode()) if threads.len() else pl.lit(True)
    return calls.with_columns(works=works)


def program_edges(calls: pl.DataFrame, hidden_waits: pl.DataFrame) -> pl.DataFrame:
    """Each call of a thread after the one before, or after the start; what lies between is the host's own time, unless
    it was another thread's turn, or it waited."""
    turns = _turns(calls)
    held = pl.concat([turns["effect"], hidden_waits["effect"]])
    same = pl.col("thread") == pl.col("thread").shift(1)
    by_thread = calls.select(
        cause=pl.when(same).then(pl.col("out").shift(1)).otherwise(START),
        effect="into",
        kind=pl.lit("program", EDGE_KINDS),
        rule=pl.lit("thread", RULE_NAMES),
        usual=pl.when(pl.col("into").is_in(held.implode())).then(0),
    )
    others = [
        edges.with_columns(kind=pl.lit("program", EDGE_KINDS), rule=pl.lit(rule, RULE_NAMES))
        for rule, edges in (("turn", turns), ("hidden wait", hidden_waits))
    ]
    return pl.concat([by_thread, *others], how="diagonal")


def _turns(calls: pl.DataFrame) -> pl.DataFrame:
    """Where threads of a process take turns, as forward and backward passes do: the last call of the one, the first of
    the other (cause, effect). Several calls in a row, each way, with the other thread silent, are a turn; where a
    thread resumes in the last one, the recording may have ended too soon for several."""
    working = calls.filter("works")
    if working["thread"].n_unique() < 2:
        return pl.DataFrame(schema={"cause": pl.Int64, "effect": pl.Int64})
    stints = (
        working.sort("start_ns")
        .with_columns(stint=pl.col("thread").rle_id().over(PROCESS))
        .group_by(*PROCESS, "stint", maintain_order=True)
        .agg(
            pl.col("thread").first(),
            size=pl.len(),
            effect=pl.col("into").first(),
            began=pl.col("start_ns").first(),
            cause=pl.col("out").last(),
            ended=pl.col("end_ns").max(),
        )
    )
    stints = stints.with_columns(
        pl.col("cause", "size").shift(1).over(PROCESS).name.prefix("other_"),
        other_ended=pl.col("ended").shift(1).over(PROCESS),
        silence=pl.col("began") - pl.col("ended").shift(1).over("thread"),
    )
    is_last = (pl.col("stint") == pl.col("stint").max()).over(PROCESS)
    cut_short = is_last & pl.col("silence").is_not_null()
    several = (cut_short | (pl.col("size") >= _TURN_CALLS)) & (pl.col("other_size") >= _TURN_CALLS)
    handed_over = pl.col("began") - pl.col("other_ended")
    soon = (handed_over >= 0) & (handed_over <= pl.col("silence") // 2).fill_null(True)
    return stints.filter(several & soon).select(cause="other_cause", effect="effect")
