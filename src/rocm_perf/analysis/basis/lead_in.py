"""What of a marked step comes before the first work of a GPU: the host prepares it, loads its input perhaps, and the
GPU is as idle as between two kernels."""

from __future__ import annotations

import polars as pl

from rocm_perf.analysis.basis.launched import GPU, launched_work
from rocm_perf.analysis.basis.passes import timed_rows
from rocm_perf.analysis.basis.shared import once_per_trace
from rocm_perf.analysis.basis.whole import cut_at_ns, whole_of
from rocm_perf.model.trace import Trace

# The steps that torch's profiler marks, but the program's first: whatever is set up once is set up there.
_MARKED = r"^ProfilerStep#[1-9]"


@once_per_trace
def lead_ins(part: Trace) -> pl.DataFrame:
    """Each GPU of the part that does nothing as its first marked step begins, with since when, as `since_ns`."""
    begins = _first_steps(part)
    if not begins.height:
        return pl.DataFrame(schema={"node": pl.Int32, "agent_id": pl.Int64, "since_ns": pl.Int64})
    first = launched_work(part).group_by(GPU).agg(first_ns=pl.col("start_ns").min())
    before = (
        launched_work(whole_of(part))
        .join(begins, on="node")
        .filter(pl.col("start_ns") < pl.col("begun_ns"))
        .group_by(GPU)
        .agg(ended_ns=pl.col("end_ns").max())
    )
    led = first.join(begins, on="node").join(before, on=GPU, how="left", nulls_equal=True)
    since = led.with_columns(since_ns=pl.max_horizontal("begun_ns", "ended_ns"))
    return since.filter(pl.col("since_ns") < pl.col("first_ns")).select(*GPU, "since_ns")


def marked_steps(trace: Trace) -> pl.DataFrame:
    """The steps marked on the host of the timed pass, with node, start_ns and end_ns."""
    marked = ~pl.col("on_gpu") & pl.col("name").cast(pl.String).str.contains(_MARKED)
    steps = timed_rows(trace, "ranges").filter(marked)
    return steps.select("node", "start_ns", "end_ns").collect()


def _first_steps(part: Trace) -> pl.DataFrame:
    """When the first step of each node is marked in the part."""
    steps, since = marked_steps(whole_of(part)), cut_at_ns(part)
    own = steps if since is None else steps.filter(pl.col("start_ns") >= since)
    return own.group_by("node").agg(begun_ns=pl.col("start_ns").min())
