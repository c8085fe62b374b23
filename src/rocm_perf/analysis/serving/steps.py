"""The annotated steps with the GPU work that belongs to each, and when each lasts."""

from __future__ import annotations

import polars as pl

from rocm_perf.analysis.basis.annotated_steps import annotated_steps
from rocm_perf.analysis.basis.intervals import overlap_ns
from rocm_perf.analysis.basis.launched import launched_work
from rocm_perf.analysis.basis.shared import once_per_trace
from rocm_perf.analysis.basis.work_in_steps import PROCESS, STREAM, THREAD, work_in_steps
from rocm_perf.analysis.idle.unrecorded import unrecorded_waits
from rocm_perf.analysis.phases.step_spans import OWN_WORK, lasting
from rocm_perf.model.trace import Trace

FORMULAS = {
    "serving.step_ns": "from the beginning of the step's range on the host, or the end of the step before where that "
    "is later, to the end of the range or of the last work launched in it, whichever is later; the first step begins "
    "once the GPU is done with what it found there, and that of a host that ran ahead with its work on the GPU",
}


@once_per_trace
def timed_steps(trace: Trace) -> pl.DataFrame:
    """The annotated steps with their GPU work (gpu_start, gpu_end, kernels), when each lasts (begin_ns, done_ns), and
    busy_ns, how much of that its process had work on a GPU."""
    steps = annotated_steps(trace).with_row_index("step")
    own = (
        work_in_steps(trace)
        .drop_nulls("step")
        .group_by("step")
        .agg(*OWN_WORK, (pl.col("kind") == "kernel").sum().cast(pl.Int64).alias("kernels"))
    )
    joined = steps.join(own, on="step", how="left", maintain_order="left").with_columns(
        pl.col("kernels").fill_null(0)
    )
    work, track = launched_work(trace), STREAM if steps["on_gpu"].any() else THREAD
    timed = lasting(joined, work, unrecorded_waits(trace), track)
    spans = timed.select(*PROCESS, start_ns="begin_ns", end_ns="done_ns")
    return timed.with_columns(busy_ns=overlap_ns(spans, work, PROCESS))
