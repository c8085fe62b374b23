"""Short kernels that follow one another on a stream again and again: candidates for fusion, and what it could save."""

from __future__ import annotations

import polars as pl

from rocm_perf.analysis.basis.keys import as_one, ordered, telling
from rocm_perf.analysis.basis.launched import launched_kernels
from rocm_perf.analysis.basis.names import short_name
from rocm_perf.analysis.basis.stakes import of_one_gpu
from rocm_perf.analysis.remedies.setting import setting_of
from rocm_perf.analysis.remedies.table import remedy
from rocm_perf.analysis.time.kernel_family import families
from rocm_perf.analysis.time.steps import step_time, steps
from rocm_perf.model.document import Document
from rocm_perf.model.finding import Finding
from rocm_perf.model.results.kernels import Sliver, Slivers, Steps
from rocm_perf.model.trace import Trace
from rocm_perf.units import NS_PER_US, format_count, format_list, format_ns

FORMULAS = {
    "slivers.saving_ns": "gaps between the kernels of each occurrence + (kernels - 1) * floor_ns, at most the time "
    "of the occurrence; the most that fewer launches save on the stream. Memory traffic that fusion saves is not in it",
    "slivers.floor_ns": "5th percentile of kernel durations: what a kernel takes that does next to nothing",
}

SHORT_NS = 10 * NS_PER_US
_WORTH = 0.05  # of the GPU's busy time
_PAUSE_NS = 100 * NS_PER_US  # a longer gap has another cause than a launch
_OCCURRENCES = 3
_ROWS = 20
_LONGEST = 64  # kernels in a sequence
_NAMES = 4  # kernels of a sequence that are named
_FLOOR = 0.05
# Kernels of libraries that no compiler fuses into their neighbours.
_NOT_FUSED = ("gemm", "convolution", "attention", "collective", "sort")
_STREAM = ("node", "pid", "agent_id", "queue_id", "stream_id")
_BASIS = (
    f"kernels shorter than {SHORT_NS // NS_PER_US} us, of other families than {', '.join(_NOT_FUSED)}, less than "
    f"{_PAUSE_NS // NS_PER_US} us apart on one stream and in one step, in the same order at least {_OCCURRENCES} times"
)


def slivers(trace: Trace) -> Slivers:
    """Sequences by what fusing them could save; none reaches from one step into the next."""
    kernels = launched_kernels(trace)
    if not kernels.height:
        return Slivers(
            rows=(),
            saving_ns=0,
            floor_ns=None,
            basis=_BASIS,
            unavailable="the recording holds no kernels with times",
        )
    length = kernels["end_ns"] - kernels["start_ns"]
    floor = round(length.quantile(_FLOOR, "nearest") or 0)
    runs = _runs(_in_streams(kernels, steps(trace)), floor)
    rows = tuple(_sliver(row) for row in _repeated(runs).head(_ROWS).iter_rows(named=True))
    return Slivers(rows=rows, saving_ns=sum(row.saving_ns for row in rows), floor_ns=floor, basis=_BASIS)


def _in_streams(kernels: pl.DataFrame, program_steps: Steps) -> pl.DataFrame:
    """Every kernel in stream order, with whether a new run begins at it."""
    starts = pl.Series([step.start_ns for step in program_steps.steps], dtype=pl.Int64)
    times = kernels.select(step_time(program_steps)).to_series()
    length = pl.col("end_ns") - pl.col("start_ns")
    keys = telling(_STREAM, kernels)
    table = kernels.select(
        *_STREAM,
        "start_ns",
        "end_ns",
        pl.col("name").alias("kernel"),
        ((length < SHORT_NS) & ~families(kernels["name"]).is_in(_NOT_FUSED)).alias("fusible"),
        starts.search_sorted(times, "right").alias("step"),
    )
    table = ordered(table, [*keys, "start_ns"])
    apart = as_one([*keys, "step"]) != as_one([*keys, "step"]).shift(1)
    gap = pl.col("start_ns") - pl.col("end_ns").shift(1)
    begins = apart | ~pl.col("fusible") | ~pl.col("fusible").shift(1) | (gap > _PAUSE_NS)
    return table.with_columns(gap.clip(lower_bound=0).alias("gap"), begins.fill_null(True).alias("begins"))


def _runs(table: pl.DataFrame, floor: int) -> pl.DataFrame:
    """Runs of at least two fusible kernels."""
    length = (pl.col("end_ns") - pl.col("start_ns")).sum()
    runs = (
        table.with_columns(pl.col("begins").cum_sum().alias("run"))
        .filter("fusible")
        .group_by("run", maintain_order=True)
        .agg(
            pl.col("kernel"),
            length.alias("kernel_ns"),
            pl.col("gap").slice(1).sum().alias("gap_ns"),
            pl.len().cast(pl.Int64).alias("count"),
        )
        .filter(pl.col("count").is_between(2, _LONGEST))
        .cast({"kernel": pl.List(pl.String)})
    )
    at_most = pl.col("kernel_ns") + pl.col("gap_ns")
    saving = pl.min_horizontal(pl.col("gap_ns") + (pl.col("count") - 1) * floor, at_most)
    return runs.with_columns(saving.alias("saving_ns"))


def _repeated(runs: pl.DataFrame) -> pl.DataFrame:
    return (
        runs.group_by("kernel")
        .agg(pl.len().alias("occurrences"), pl.col("kernel_ns", "gap_ns", "saving_ns").sum())
        .filter(pl.col("occurrences") >= _OCCURRENCES)
        .sort("saving_ns", pl.col("kernel").list.join("|"), descending=[True, False])
    )


def _sliver(row: dict[str, object]) -> Sliver:
    kernels: list[str] = row.pop("kernel")  # type: ignore[assignment]
    return Sliver(tuple(kernels), **row)  # type: ignore[arg-type]


def sliver_findings(document: Document) -> list[Finding]:
    """Findings about short kernels whose fusion could save enough of the kernel time."""
    result = document.slivers
    busy_ns = sum(device.kernel_ns for device in document.devices)
    if not result.rows or document.gaps.doubt or result.saving_ns < _WORTH * busy_ns:
        return []
    first = result.rows[0]
    names = format_list(list(dict.fromkeys(map(short_name, first.kernels))), _NAMES)
    finding = Finding(
        id="slivers",
        severity="warning",
        title="Runs of short kernels could be fused into one",
        evidence=(
            f"{format_count(len(result.rows), 'sequence')} of short kernels repeat{'s' * (len(result.rows) == 1)}; "
            f"the one with most to save runs {first.occurrences:,} times: {names}",
            f"its {len(first.kernels)} kernels take {format_ns(first.kernel_ns / first.occurrences)} per "
            f"occurrence, the gaps between them {format_ns(first.gap_ns / first.occurrences)}",
        ),
        time_at_stake_ns=result.saving_ns,
        remedy=remedy("short-kernels", setting_of(document)),
    )
    return [of_one_gpu(finding, document)]
