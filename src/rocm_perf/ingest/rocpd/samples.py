"""What a rocpd database measured: counters of dispatches, readings of sensors, samples of program
counters, and the events that took no time (which rocprofv3 stores as samples too)."""

from __future__ import annotations

import polars as pl

from rocm_perf.ingest.rocpd.tables import Lookup, Run, stated


def values_of(run: Run) -> pl.DataFrame:
    """Every recorded value, with its counter."""
    rows = run.frame("pmc_event", ["event_id", "pmc_id", "sample_id"], ["value"])
    info = Lookup(run.frame("info_pmc", ["id", "agent_id"], texts=["name", "units"]))
    counter = info.get(rows["pmc_id"], "agent_id", "name", "units")
    return rows.hstack(counter.rename({"agent_id": "agent", "name": "counter", "units": "unit"}))


def counters(values: pl.DataFrame, dispatches: pl.DataFrame) -> pl.DataFrame:
    """One row per dispatch and counter: the sum over the instances, as in the tool's own view.

    `dispatches` holds dispatch_id, agent_id, pid and event_id.
    """
    rows = values.filter(pl.col("sample_id").fill_null(0) == 0)  # others are streamed over time
    launched = Lookup(dispatches.drop_nulls("event_id").with_row_index("launch"), "event_id")
    dispatch = launched.get(rows["event_id"], "launch", "dispatch_id", "agent_id", "pid")
    return (
        rows.select("counter", "value")
        .hstack(dispatch)
        .drop_nulls(["launch", "counter", "value"])
        .group_by("launch", "counter", maintain_order=True)
        .agg(pl.col("pid", "dispatch_id", "agent_id").first(), pl.col("value").sum())
        .drop("launch")
    )


def instants(
    run: Run, values: pl.DataFrame, events: Lookup
) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """Marks, API calls that took no time, and sensor readings."""
    samples = run.timed("sample", ("track_id", "timestamp", "event_id"), times=("timestamp",))
    if samples.is_empty():
        return pl.DataFrame(), pl.DataFrame(), pl.DataFrame()
    tracks = Lookup(run.frame("track", ["id", "pid", "tid", "name_id"]))
    events_of = events.get(samples["event_id"], "category_id", "stack_id")
    track = tracks.get(samples["track_id"], "pid", "tid", "name_id")
    read = samples["event_id"].is_in(values["event_id"].implode())
    marked = events_of["category_id"].is_in(run.marker_categories).fill_null(False)
    rows = samples.with_columns(
        events_of["stack_id"].alias("correlation_id"),
        run.pid(track["pid"]),
        run.tid(track["tid"]),
        run.strings.column(track["name_id"], "string").alias("name"),
        run.strings.column(events_of["category_id"], "string").alias("category"),
        run.strings.column(events_of["category_id"], "domain"),
    )
    return (
        _marks(run, rows.filter(marked)),
        _named_calls(run, rows.filter(~marked & ~read)),
        _readings(run, values, rows.filter(read & ~marked)),
    )


_CALL = ("name", "start_ns", "end_ns", "pid", "tid", "correlation_id")


def _marks(run: Run, rows: pl.DataFrame) -> pl.DataFrame:
    messages = run.messages.column(rows["event_id"], "message")
    timed = rows.with_columns(start_ns="timestamp", end_ns="timestamp").with_columns(
        pl.coalesce(messages, "name").alias("name")
    )
    return timed.select(_CALL).drop_nulls("name").with_columns(source=pl.lit("roctx"))


def _named_calls(run: Run, rows: pl.DataFrame) -> pl.DataFrame:
    """API calls without duration. A track is named after the function or, more often, after the category: then the
    function is lost."""
    named = rows.filter(pl.col("name") != pl.col("category")).drop_nulls("domain")
    if named.height < rows.height:
        run.lose("API calls without duration whose names are not in the file", rows.height - named.height)
    return named.with_columns(start_ns="timestamp", end_ns="timestamp").select(*_CALL, "domain")


def _readings(run: Run, values: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
    joined = values.drop_nulls("counter").join(
        rows.select("event_id", "timestamp"), on="event_id", how="inner"
    )
    return joined.select(
        pl.col("timestamp").alias("time_ns"),
        run.agent(joined["agent"]),
        pl.col("counter").alias("metric"),
        "value",
        stated("unit").alias("unit"),
    )


def pc_samples(run: Run) -> pl.DataFrame:
    """Samples of the program counter, with the instruction where it was decoded."""
    columns = (
        "pid",
        "agent_id",
        "timestamp",
        "dispatch_id",
        "correlation_id",
        "exec_mask",
        "wave_issued",
        "wave_count",
    )
    place = ("code_object_id", "code_object_offset")
    rows = run.timed("gpu_pc_sample", (*columns, *place), times=("timestamp",))
    code = run.frame("disassembly_data", place, texts=["instruction", "comment"]).unique(place, keep="first")
    joined = rows.join(code, on=place, how="left", maintain_order="left")
    issued = pl.col("wave_issued")
    return joined.select(
        pl.col("timestamp").alias("time_ns"),
        run.pid(rows["pid"]),
        run.agent(rows["agent_id"]),
        "dispatch_id",
        "correlation_id",
        pl.col("exec_mask").reinterpret(signed=False),
        stated("instruction").alias("instruction"),
        stated("comment").alias("source"),
        pl.when(issued.is_null()).then(pl.lit("host_trap")).otherwise(pl.lit("stochastic")).alias("method"),
        (issued != 0).alias("issued"),
        "wave_count",
    )
