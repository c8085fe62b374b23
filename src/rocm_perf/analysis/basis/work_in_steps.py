"""Which work belongs to which of the steps that a serving program annotates.

A kernel belongs to the step in whose range the host launched it, however much later it runs: a host that runs ahead is
in another step by then. Where launches are not recorded, it belongs to the step in whose range it started; what was
launched before the recording began belongs to none.
"""

from __future__ import annotations

import polars as pl

from rocm_perf.analysis.basis.annotated_steps import annotated_steps
from rocm_perf.analysis.basis.carried import carried_over
from rocm_perf.analysis.basis.launched import launched_work
from rocm_perf.analysis.basis.open_spans import open_at
from rocm_perf.analysis.basis.shared import once_per_trace
from rocm_perf.model.trace import Trace

PROCESS = ["node", "pid"]
THREAD = ["node", "pid", "tid"]  # its steps come one after another
STREAM = ["node", "agent_id", "stream_id"]


@once_per_trace
def work_in_steps(trace: Trace) -> pl.DataFrame:
    """Kernels and copies, each with `step`, the row of `annotated_steps` that it belongs to, null where to none."""
    steps = annotated_steps(trace).with_row_index("step")
    work = launched_work(trace)
    if steps["on_gpu"].any():
        return work.with_columns(open_at(work, steps, work["start_ns"], STREAM, "step"))
    launch = work.select(pl.coalesce("launch_start", "start_ns")).to_series()
    own = open_at(work, steps, launch, THREAD, "step")
    if own.null_count():  # launched by another thread of the process, or not known by which
        own = pl.select(pl.coalesce(own, open_at(work, steps, launch, PROCESS, "step"))).to_series()
    return work.with_columns(pl.when(~carried_over(work)).then(own).alias("step"))
