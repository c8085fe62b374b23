"""What the time of each step goes to, as the TensorBoard plugin of torch.profiler divides it: kernels, copies, fills,
communication, runtime calls, the data loader, other work of the host, and the rest. A moment counts for the first of
these that is active in it, so that they sum up to the step."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from rocm_perf.analysis.basis.annotated_steps import annotated_steps
from rocm_perf.analysis.basis.intervals import disjoint, overlap_ns
from rocm_perf.analysis.basis.keys import grouped, named, telling
from rocm_perf.analysis.basis.launched import launched_work, timed_calls
from rocm_perf.analysis.basis.passes import timed_pass
from rocm_perf.analysis.basis.profiled_times import only_lengths
from rocm_perf.analysis.idle.unrecorded import unrecorded_waits
from rocm_perf.analysis.phases.build import phases
from rocm_perf.analysis.phases.step_spans import OWN_WORK, PROCESS, lasting
from rocm_perf.analysis.time.kernel_family import is_collective
from rocm_perf.analysis.time.steps import steps
from rocm_perf.model.results.step_breakdown import StepBreakdown, StepBreakdownRow, StepRoles
from rocm_perf.model.trace import Trace

FORMULAS = {
    "step_breakdown.roles": "time of the step in which the role is active and none before it in the list is: kernel, "
    "copy, fill, communication, runtime call, data loader, operator or Python function or range, other"
}
WHOLE = "no step is recorded: all of it is one"

_STEP = r"^ProfilerStep"
_COMMUNICATES = r"^(nccl|rccl|gloo|mpi|ucc|xccl):"  # ranges of torch.distributed: nccl:all_reduce
_LOADS = r"^enumerate\((DataLoader|DataPipe)\)#"
_SPAN = ["start_ns", "end_ns"]
_RUNTIME = StepRoles.__struct_fields__.index("runtime_ns")


def step_breakdown(trace: Trace) -> StepBreakdown:
    """Every step of the process with the most kernels; the whole recording where it has no steps."""
    if why := only_lengths(trace):
        return StepBreakdown((), None, "", unavailable=why)
    process = _process(trace)
    work = _own(launched_work(trace), process)
    spans = _host_spans(trace, process)
    found_by, bounds = _steps(trace, spans, process)
    roles = _roles(work, spans.join(bounds, on=_SPAN, how="anti"), _own(timed_calls(trace), process))
    if bounds.height:
        waits = unrecorded_waits(trace)
        windows = _until_done(bounds, work, waits, process) if steps(trace).host_times else bounds
    else:
        windows = pl.concat(role.select(_SPAN) for role in roles).select(
            pl.lit("all").alias("name"), pl.col("start_ns").min(), pl.col("end_ns").max()
        )
    if windows["start_ns"].null_count():
        return StepBreakdown((), None, "", unavailable="the recording holds nothing with times")
    times = _times(windows, roles).with_columns(_unrecorded(work, spans, roles))
    rows = zip(windows.iter_rows(), times.iter_rows(), strict=True)
    return StepBreakdown(
        steps=tuple(
            StepBreakdownRow(name=name, start_ns=start, end_ns=end, roles=StepRoles(*row))
            for (name, start, end), row in rows
        ),
        mean=StepRoles(*_judged(trace, windows, times).mean().row(0)),
        found_by=found_by if bounds.height else WHOLE,
    )


def _judged(trace: Trace, windows: pl.DataFrame, times: pl.DataFrame) -> pl.DataFrame:
    """The times of the steps in the steady state; of all where there is none, or none of them is in it."""
    division = phases(trace)
    steady = division.phase("steady")
    if steady is None:
        return times
    since, until = steady.start_ns + division.origin_ns, steady.end_ns + division.origin_ns
    middle = (windows["start_ns"] + windows["end_ns"]) // 2
    inside = times.filter(middle.is_between(since, until))
    return inside if inside.height else times


def _process(trace: Trace) -> pl.DataFrame:
    """The process with the most kernels and copies, or else with the most operators, ranges or calls."""
    place = ["node", "pid"]
    tables = (launched_work(trace), trace.table("ops"), trace.table("ranges"), timed_calls(trace))
    fullest = next((table for table in tables if table.height), tables[0])
    counts = grouped(fullest, place, pl.len()).sort("len", *place, descending=[True, False, False])
    return counts.select(place).head(1)


def _own(rows: pl.DataFrame, process: pl.DataFrame) -> pl.DataFrame:
    usable = rows.filter(pl.col("end_ns") >= pl.col("start_ns"))
    if not telling(["node", "pid"], usable, process):
        return usable
    return usable.join(process, on=["node", "pid"], how="semi", nulls_equal=True)


def _host_spans(trace: Trace, process: pl.DataFrame) -> pl.DataFrame:
    """Operators, Python functions and the program's ranges on the host, with name and times."""
    of_pass = pl.col("pass_id") == (timed_pass(trace) or 0)
    of_program = ~pl.col("on_gpu") & (pl.col("source") != "profiler")
    tables = (trace.table("ops").filter(of_pass), trace.table("ranges").filter(of_pass & of_program))
    return pl.concat(_own(table, process).select("name", *_SPAN) for table in tables)


def _steps(trace: Trace, spans: pl.DataFrame, process: pl.DataFrame) -> tuple[str, pl.DataFrame]:
    """How steps are known, and their name, start and end on the host; no rows where there are none."""
    repeated = steps(trace)
    if not repeated.steps:
        return _single_steps(trace, spans, process)
    rows = [(f"step {number}", step.start_ns, step.end_ns) for number, step in enumerate(repeated.steps)]
    schema = {"name": pl.String, "start_ns": pl.Int64, "end_ns": pl.Int64}
    bounds = pl.DataFrame(rows, schema=schema, orient="row")
    as_long = spans.join(bounds, on=_SPAN, how="semi", maintain_order="left")
    names = as_long.unique(_SPAN, keep="first", maintain_order=True).rename({"name": "range"})
    named = bounds.join(names, on=_SPAN, how="left", maintain_order="left")
    return repeated.found_by, named.select(pl.coalesce("range", "name").alias("name"), *_SPAN)


def _single_steps(trace: Trace, spans: pl.DataFrame, process: pl.DataFrame) -> tuple[str, pl.DataFrame]:
    """Steps that are too few to repeat, or launch nothing: those that the framework or the profiler marks."""
    annotated = _own(annotated_steps(trace).filter(~pl.col("on_gpu")), process)
    if annotated.height:
        return "the program's own annotations", disjoint(annotated.select("name", *_SPAN), [])
    marked = spans.filter(pl.col("name").str.contains(_STEP))
    return "ProfilerStep ranges", disjoint(marked, [])


def _until_done(
    bounds: pl.DataFrame, work: pl.DataFrame, waits: pl.DataFrame, process: pl.DataFrame
) -> pl.DataFrame:
    """The steps from where the one before is done, also on the GPU, to the end of the last work that they launched."""
    numbered = bounds.with_row_index("step").join(process, how="cross")
    launches = work.drop_nulls("launch_start").select("launch_start", *_SPAN)
    inside = launches.sort("launch_start").join_asof(
        numbered.select("step", opened="start_ns", closed="end_ns").sort("opened"),
        left_on="launch_start",
        right_on="opened",
    )
    own = inside.filter(pl.col("launch_start") < pl.col("closed")).group_by("step").agg(OWN_WORK)
    placed = numbered.join(own, on="step", how="left", maintain_order="left")
    timed = lasting(placed, work, waits, PROCESS)
    return timed.select("name", start_ns="begin_ns", end_ns="done_ns")


def _roles(work: pl.DataFrame, spans: pl.DataFrame, calls: pl.DataFrame) -> list[pl.DataFrame]:
    """What is active in each role, in the order of StepRoles; all but `other`."""
    is_kernel, is_fill = work["kind"] == "kernel", work["name"] == "copy MEMSET"
    collective = is_kernel & is_collective(work["name"])
    times = work.select(_SPAN)
    name = pl.col("name").str
    of_program = spans.filter(~named(spans["name"], name.contains(_STEP)))
    communicates = named(of_program["name"], name.contains(_COMMUNICATES))
    loads = named(of_program["name"], name.contains(_LOADS))
    return [
        times.filter(is_kernel & ~collective),
        times.filter(~is_kernel & ~is_fill),
        times.filter(~is_kernel & is_fill),
        pl.concat([times.filter(collective), of_program.filter(communicates).select(_SPAN)]),
        calls,
        of_program.filter(loads),
        of_program.filter(~communicates & ~loads),
    ]


def _unrecorded(work: pl.DataFrame, spans: pl.DataFrame, roles: list[pl.DataFrame]) -> list[pl.Expr]:
    """The roles of which nothing was recorded, as columns without a value. Where kernels are all there is, copies were
    not asked for."""
    without_host = not spans.height
    without_calls = not roles[_RUNTIME].height
    without_copies = not work.height or (
        without_host and without_calls and bool((work["kind"] == "kernel").all())
    )
    silent = {
        "kernel_ns": not work.height,
        "copy_ns": without_copies,
        "fill_ns": without_copies,
        "communication_ns": not work.height and without_host,
        "runtime_ns": without_calls,
        "data_loader_ns": without_host,
        "host_ns": without_host,
    }
    return [pl.lit(None, pl.Int64).alias(name) for name, is_silent in silent.items() if is_silent]


def _times(windows: pl.DataFrame, roles: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """For each window the time of every role: what it covers beyond all roles before it; the rest is `other`."""
    active = pl.DataFrame(schema={"start_ns": pl.Int64, "end_ns": pl.Int64})
    covered = [pl.zeros(windows.height, pl.Int64, eager=True)]
    for role in roles:
        if not role.height:
            covered.append(covered[-1])
            continue
        active = disjoint(pl.concat([active, role.select(_SPAN)]), [])
        covered.append(overlap_ns(windows, active, []))
    covered.append(windows["end_ns"] - windows["start_ns"])
    names = StepRoles.__struct_fields__
    return pl.DataFrame(
        [
            (covered[place + 1] - covered[place]).cast(pl.Float64).alias(name)
            for place, name in enumerate(names)
        ]
    )
