"""Where in the program memory was allocated and freed: the places that call stacks of a snapshot name, or the operators
and Python functions that were open on the thread at that moment."""

from __future__ import annotations

import re

import polars as pl

from rocm_perf.analysis.basis.forest import itself_or_around
from rocm_perf.analysis.basis.nested import THREAD, enclosing, nest
from rocm_perf.analysis.basis.passes import timed_pass
from rocm_perf.analysis.memory.stages import PYTHON_FRAME, stage_of, stages_of_spans
from rocm_perf.model.trace import Trace

OUTSIDE = "outside Python"
NO_SITE = "no call stack"
# Torch and the standard library call back into the program; what is frozen into Python has no file.
_LIBRARY = r"^torch/|-packages/torch/|/lib/python3[.\d]*/[a-z]|^<"
_SPAN = [*THREAD, "name", "start_ns", "end_ns", "sequence"]
_PLACED = {"site": pl.String, "stage": pl.String}


def placed(trace: Trace, events: pl.DataFrame) -> pl.DataFrame:
    """The site and the stage of each event, null where nothing tells them: by its stack where stacks were recorded."""
    if events["stack_id"].null_count() < events.height:
        return _by_stack(trace, events)
    return _by_spans(trace, events)


def site_of(frames: str) -> str:
    """The place that a stack stands for: its innermost function outside torch."""
    python = [line for line in frames.split("\n") if re.search(PYTHON_FRAME, line)]
    own = (line for line in python if not re.search(_LIBRARY, line))
    return next(own, python[0] if python else OUTSIDE)


def _by_stack(trace: Trace, events: pl.DataFrame) -> pl.DataFrame:
    stacks = trace.table("stacks")
    known = stacks.select(
        "stack_id",
        pl.Series("site", map(site_of, stacks["frames"]), dtype=pl.String),
        pl.Series("stage", [stage_of(frames.split("\n")) for frames in stacks["frames"]], dtype=pl.String),
    )
    joined = events.select("stack_id").join(
        known.unique("stack_id"), on="stack_id", how="left", maintain_order="left"
    )
    return joined.select("site", "stage")


def _by_spans(trace: Trace, events: pl.DataFrame) -> pl.DataFrame:
    """An operator that autograd has numbered runs forward, unless something around it tells otherwise."""
    spans = _spans(trace)
    if not spans.height:
        return pl.DataFrame({name: [None] * events.height for name in _PLACED}, schema=_PLACED)
    inside = enclosing(spans, events.select(*THREAD, pl.col("start_ns").alias("time_ns")))
    names, stages = spans["name"], stages_of_spans(spans["name"])
    is_own = names.str.contains(PYTHON_FRAME) & ~names.str.contains(_LIBRARY)
    numbered = _innermost(spans, spans["sequence"].is_not_null(), inside, names)
    return pl.select(
        pl.coalesce(_innermost(spans, is_own, inside, names), names.gather(inside)).alias("site"),
        pl.coalesce(
            _innermost(spans, stages.is_not_null(), inside, stages),
            pl.when(numbered.is_not_null()).then(pl.lit("forward")),
        ).alias("stage"),
    )


def _innermost(spans: pl.DataFrame, wanted: pl.Series, inside: pl.Series, values: pl.Series) -> pl.Series:
    """The value of the innermost wanted span around each; null where there is none."""
    return values.gather(itself_or_around(spans["parent"], wanted).gather(inside))


def _spans(trace: Trace) -> pl.DataFrame:
    """Ranges, Python functions and operators of the timed pass, nested."""
    of_pass = pl.col("pass_id") == timed_pass(trace)
    ranges = trace.table("ranges").filter(of_pass & ~pl.col("on_gpu"))
    unnumbered = ranges.with_columns(pl.lit(None, pl.Int64).alias("sequence"))
    return nest(pl.concat([unnumbered.select(_SPAN), trace.table("ops").filter(of_pass).select(_SPAN)]))
