"""The steps that a serving program annotates by itself, as its ranges tell them."""

from __future__ import annotations

import polars as pl

from rocm_perf.analysis.basis.intervals import disjoint
from rocm_perf.analysis.basis.nested import nest
from rocm_perf.analysis.basis.passes import timed_pass
from rocm_perf.analysis.basis.shared import once_per_trace
from rocm_perf.analysis.basis.step_labels import GENERIC, MARKS, step_label
from rocm_perf.model.trace import Trace

TRACK = ["node", "pass_id", "rank", "pid", "tid"]
GPU_TRACK = ["node", "pass_id", "rank", "pid", "agent_id", "stream_id"]
_LABEL: dict[str, pl.DataType | type[pl.DataType]] = {
    "name": pl.String,
    "kind": pl.String,
    "told_by": pl.String,
    "requests": pl.Int64,
    "tokens": pl.Int64,
}
_SEVERAL = 2  # steps inside of a range: it is a loop or a phase, not a step


@once_per_trace
def annotated_steps(trace: Trace) -> pl.DataFrame:
    """The annotated steps of the timed pass: where and when each ran, its kind, told_by, requests, tokens and on_gpu.

    They are those of the host; where only their shadows on the GPU were recorded, those. A range around several steps
    is not one itself, and of steps within one another the outermost counts.
    """
    usable = (pl.col("pass_id") == timed_pass(trace)) & (pl.col("end_ns") > pl.col("start_ns"))
    ranges = trace.table("ranges").filter(usable)
    labelled = ranges.join(_labels(ranges["name"]), on="name", how="inner", maintain_order="left")
    on_host = labelled.filter(~pl.col("on_gpu"))
    chosen, track = (on_host, TRACK) if on_host.height else (labelled, GPU_TRACK)
    return _outermost(chosen, track).sort("node", "pid", "tid", "start_ns")


def _labels(names: pl.Series) -> pl.DataFrame:
    """What each of the names says of a step. Ranges named prefill and decode count only where no framework annotates
    its steps, and where they say a number or come in more than one kind: much else is decoded."""
    marked = names.filter(names.str.contains(MARKS)).unique(maintain_order=True)
    rows = [(name, *label) for name in marked if (label := step_label(name))]
    table = pl.DataFrame(rows, schema=_LABEL, orient="row")
    frameworks = table.filter(pl.col("told_by") != GENERIC)
    if frameworks.height:
        return frameworks
    clear = table["kind"].n_unique() > 1 or table["requests"].count() or table["tokens"].count()
    return table if clear else table.clear()


def _outermost(ranges: pl.DataFrame, track: list[str]) -> pl.DataFrame:
    nested = nest(ranges, track)
    inside = nested["parent"].drop_nulls().value_counts(name="count")
    around = inside.filter(pl.col("count") >= _SEVERAL)["parent"]
    steps = nested.filter(~pl.col("row").is_in(around.implode()))
    return disjoint(steps, track).select(
        *track,
        "start_ns",
        "end_ns",
        "name",
        "kind",
        "told_by",
        "requests",
        "tokens",
        "on_gpu",
        *(name for name in ("tid", "agent_id", "stream_id") if name not in track),
    )
