"""A Trace as the CSV files that rocprofv3 writes, in the layout of any release, and as `rocpd convert` writes them.

One set of files per process; a file only if it has rows. Calls of other vendors' runtimes, framework operators and
device-side ranges have no place in these files and are left out.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import polars as pl

from rocm_perf.files import write_whole
from rocm_perf.model.trace import Trace
from rocm_perf.render.formats.cells import inert
from rocm_perf.render.formats.rocprofv3_columns import (
    AGENT_INFO,
    COLUMNS,
    Layout,
    copy_word,
    domain_word,
    marker_word,
    values,
)

API_DOMAINS = {
    "hip_api": ("hip", "hip_compiler"),
    "hsa_api": ("hsa",),
    "rccl_api": ("rccl",),
    "rocdecode_api": ("rocdecode",),
    "rocjpeg_api": ("rocjpeg",),
}
_PLAIN_NAME = re.compile(r"\w[\w.-]{0,200}")
_EVENTS = ("dispatches", "api_calls", "copies", "allocations", "scratch", "ranges", "counters")


class Process(NamedTuple):
    """One process of a Trace."""

    node: int
    pid: int | None


class Part(NamedTuple):
    """One process in one pass: what one set of files holds."""

    node: int
    pid: int | None
    pass_id: int

    def of(self, trace: Trace, table: str) -> pl.DataFrame:
        frame = trace.table(table)
        mine = pl.lit(True)
        for column, value in zip(self._fields, self, strict=True):
            if column in frame.columns:
                mine &= pl.col(column).eq_missing(pl.lit(value, frame.schema[column]))
        return frame.filter(mine)


def processes_of(trace: Trace) -> list[Process]:
    """Every process that has an event, by node and pid."""
    return list(dict.fromkeys(Process(part.node, part.pid) for part in parts_of(trace)))


def parts_of(trace: Trace) -> list[Part]:
    """Every process and pass that has an event; one nameless process where there is no event at all."""
    keys = pl.concat(trace.table(name).select(Part._fields).unique() for name in _EVENTS)
    return [Part(*row) for row in keys.unique().sort(Part._fields).rows()] or [Part(0, None, 0)]


def write_csv(  # noqa: PLR0913  (two of them place the files, the rest choose)
    trace: Trace,
    folder: Path,
    prefix: str,
    *,
    layout: Layout = "7.0",
    stats: bool = False,
    overwrite: bool = False,
) -> list[Path]:
    """Write the files of every process, and return their paths.

    Several processes get `<prefix>_<pid>`; those of several nodes lie in `<host>/<pid>_...`, rocprofv3's own
    default. Where the trace has several passes, each with counters lies in a folder pmc_N.
    """
    written: list[Path] = []
    for part, stem in _stems(trace, folder, prefix):
        files = dict(_traces(trace, part, layout))
        sums = _stats(files) if stats else {}
        files |= _counted(trace, part, layout)
        files |= sums
        files["agent_info"] = agent_info(trace, part.node)
        written += [_write(stem, name, frame, overwrite) for name, frame in files.items()]
    return written


def pass_folder(trace: Trace, part: Part, parts: list[Part]) -> str:
    """pmc_N for a pass with counters, where there are several passes."""
    several = len({other.pass_id for other in parts}) > 1
    counted = part.pass_id or trace.table("counters").filter(pass_id=part.pass_id).height
    return f"pmc_{part.pass_id}" if several and counted else ""


def host_of(trace: Trace, node: int) -> str | None:
    hosts = trace.table("nodes").filter(node=node)["host"].to_list()
    return hosts[0] if hosts else None


def host_folder(trace: Trace, node: int) -> str:
    """The folder of a node: its host's name, unless that would lead out of the output folder."""
    host = host_of(trace, node) or ""
    return host if _PLAIN_NAME.fullmatch(host) else f"node{node}"


def guid(trace: Trace, part: Part) -> pl.Expr:
    """An id of the recording, the same for the same trace."""
    return pl.lit(
        str(uuid.uuid5(uuid.NAMESPACE_OID, f"{host_of(trace, part.node)}/{part.pid}/{part.pass_id}"))
    )


def _stems(trace: Trace, folder: Path, prefix: str) -> Iterator[tuple[Part, Path]]:
    parts = parts_of(trace)
    processes = {(part.node, part.pid) for part in parts}
    several_nodes = len({node for node, _ in processes}) > 1
    for part in parts:
        place = folder / pass_folder(trace, part, parts)
        if several_nodes:
            yield part, place / host_folder(trace, part.node) / f"{part.pid or 0}"
        else:
            yield part, place / (f"{prefix}_{part.pid or 0}" if len(processes) > 1 else prefix)


def _write(stem: Path, name: str, frame: pl.DataFrame, overwrite: bool) -> Path:
    """Write a table with strings quoted and numbers bare. Numbers in a fixed format are Categorical, which is not
    quoted."""
    path = stem.with_name(f"{stem.name}_{name}.csv")
    header = ",".join(f'"{column}"' for column in frame.columns) + "\n"
    quoted = [_quoted(name) for name, dtype in frame.schema.items() if dtype == pl.String]

    def write(draft: Path) -> None:
        with draft.open("wb") as out:
            out.write(header.encode())
            inert(frame).with_columns(quoted).write_csv(out, include_header=False, quote_style="never")

    write_whole(path, write, overwrite=overwrite)
    return path


def _quoted(column: str) -> pl.Expr:
    text = pl.col(column).fill_null("").str.replace_all('"', '""', literal=True)
    return pl.concat_str(pl.lit('"'), text, pl.lit('"')).alias(column)


def _traces(trace: Trace, part: Part, layout: Layout) -> Iterator[tuple[str, pl.DataFrame]]:
    columns_of = values(layout) | {"Guid": guid(trace, part)}
    for name, frame in _tables(trace, part, layout):
        columns = COLUMNS[layout].get("api_trace" if name.endswith("api_trace") else name)
        if columns and frame.height:
            yield name, frame.select(columns_of[column].alias(column) for column in columns.split())


def _tables(trace: Trace, part: Part, layout: Layout) -> Iterator[tuple[str, pl.DataFrame]]:
    """The rows of each file, with the release's names in `word` and `kind`."""
    dispatches = part.of(trace, "dispatches").drop_nulls(["start_ns", "end_ns"])
    dispatches = dispatches.join(kernel_ids(trace, part), on="kernel", how="left", maintain_order="left")
    yield "kernel_trace", dispatches.with_columns(kind=pl.lit("KERNEL_DISPATCH"))
    calls = part.of(trace, "api_calls").with_columns(domain_word(layout))
    for name, domains in API_DOMAINS.items():
        yield f"{name}_trace", calls.filter(pl.col("domain").is_in(domains))
    yield "marker_api_trace", host_ranges(trace, part).with_columns(word=pl.lit(marker_word(layout)))
    yield "memory_copy_trace", part.of(trace, "copies").with_columns(copy_word(), kind=pl.lit("MEMORY_COPY"))
    yield "memory_allocation_trace", allocations(trace, part).with_columns(kind=pl.lit("MEMORY_ALLOCATION"))
    yield (
        "scratch_memory_trace",
        part.of(trace, "scratch").with_columns(word=pl.col("operation"), kind=pl.lit("SCRATCH_MEMORY")),
    )


def host_ranges(trace: Trace, part: Part) -> pl.DataFrame:
    return part.of(trace, "ranges").filter(~pl.col("on_gpu"))


def allocations(trace: Trace, part: Part) -> pl.DataFrame:
    """Allocations of the runtime; for a release neither size nor GPU is known."""
    level, operation = pl.col("level").fill_null("REAL"), pl.col("operation")
    operation_name = operation.replace_strict(
        {"ALLOC": "ALLOCATE"}, default=operation, return_dtype=pl.String
    )
    virtual = pl.when(level == "VIRTUAL").then(pl.lit("VMEM_")).otherwise(pl.lit(""))
    rows = part.of(trace, "allocations").filter(
        operation.is_in(["ALLOC", "FREE"]) & level.is_in(["REAL", "VIRTUAL"])
    )
    is_allocation = operation == "ALLOC"
    return rows.with_columns(
        pl.concat_str(pl.lit("MEMORY_ALLOCATION_"), virtual, operation_name).alias("word"),
        pl.when(is_allocation).then("agent_id"),
        pl.when(is_allocation).then("size_bytes").otherwise(0),
    )


def kernel_ids(trace: Trace, part: Part) -> pl.DataFrame:
    """The number of each kernel of the process: the recorder's, else the next free one."""
    kernels = (
        trace.table("kernels")
        .filter(node=part.node)
        .filter(pl.col("pid").is_null() | pl.col("pid").eq_missing(pl.lit(part.pid, pl.Int64)))
    )
    numbered = (
        kernels.select("kernel", "kernel_id").drop_nulls().unique("kernel", keep="first", maintain_order=True)
    )
    used = part.of(trace, "dispatches").select("kernel").unique(maintain_order=True)
    unknown = used.join(numbered, on="kernel", how="anti", maintain_order="left")
    last = numbered["kernel_id"].max() or 0
    return pl.concat(
        [numbered, unknown.with_columns(kernel_id=pl.int_range(1, pl.len() + 1, dtype=pl.Int64) + last)]
    )


def _counted(trace: Trace, part: Part, layout: Layout) -> Iterator[tuple[str, pl.DataFrame]]:
    """counter_collection: one row for each counter of each dispatch."""
    rows = counted_dispatches(trace, part)
    if not rows.height:
        return
    rows = rows.join(kernel_ids(trace, part), on="kernel", how="left", maintain_order="left")
    rows = rows.with_columns(_counter_value(rows["value"], layout))
    expressions = values(layout) | {"Pid": guid(trace, part)}
    columns = COLUMNS[layout]["counter_collection"].split()
    yield "counter_collection", rows.select(expressions[column].alias(column) for column in columns)


def counted_dispatches(trace: Trace, part: Part) -> pl.DataFrame:
    """The counters of a process, each with what is known about its dispatch."""
    dispatches = part.of(trace, "dispatches").unique("dispatch_id", keep="first", maintain_order=True)
    about = dispatches.rename({"agent_id": "ran_on"}).drop("rank", *Part._fields)
    rows = part.of(trace, "counters").join(about, on="dispatch_id", how="left", maintain_order="left")
    return rows.with_columns(pl.coalesce("agent_id", "ran_on").alias("agent_id"))


def _counter_value(counted: pl.Series, layout: Layout) -> pl.Series:
    """The value as text: `16384` up to 6.2, `16384.000000` and `5.00000000e-01` since, `16384.0` from a database."""
    if layout == "converted":
        return bare("shown", [repr(value) for value in counted])
    if layout in ("6.1", "6.2"):
        return bare("shown", [repr(value).removesuffix(".0") for value in counted])
    return bare("shown", [_real(value) for value in counted])


def bare(name: str, numbers: list[str]) -> pl.Series:
    """Numbers in a fixed format, as categories, which are not quoted."""
    return pl.Series(name, numbers, dtype=pl.Categorical)


def _real(value: float) -> str:
    return f"{value:.6f}" if abs(value) >= 1 else f"{value:.8e}"


def _percentage(value: float) -> str:
    if value < 0.01:
        return f"{value:.3e}"
    return f"{value:.2f}" if value >= 1 else f"{value:.4f}"


def _stats(files: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """*_stats of each trace file, and domain_stats of them all."""
    sums, domains = {}, []
    for name, frame in files.items():
        kind = name.removesuffix("_trace")
        column = next(c for c in ("Kernel_Name", "Function", "Direction", "Operation") if c in frame.columns)
        sums[f"{kind}_stats"] = _sums(frame.rename({column: "Name"}))
        domain = "KERNEL_DISPATCH" if kind == "kernel" else kind.upper()
        domains.append(frame.select(pl.lit(domain).alias("Name"), "Start_Timestamp", "End_Timestamp"))
    return sums | ({"domain_stats": _sums(pl.concat(domains))} if domains else {})


def _sums(frame: pl.DataFrame) -> pl.DataFrame:
    length = pl.col("End_Timestamp") - pl.col("Start_Timestamp")
    sums = frame.group_by("Name", maintain_order=True).agg(
        pl.len().alias("Calls"),
        length.sum().alias("TotalDurationNs"),
        length.mean().alias("AverageNs"),
        length.min().alias("MinNs"),
        length.max().alias("MaxNs"),
        length.std().fill_null(0.0).alias("StdDev"),
    )
    sums = sums.sort("TotalDurationNs", descending=True, maintain_order=True)
    total = sums["TotalDurationNs"].sum() or 1
    return sums.with_columns(
        bare("AverageNs", [_real(value) for value in sums["AverageNs"]]),
        bare("Percentage", [_percentage(100 * value / total) for value in sums["TotalDurationNs"]]),
        bare("StdDev", [_real(value) for value in sums["StdDev"]]),
    ).select("Name", "Calls", "TotalDurationNs", "AverageNs", "Percentage", "MinNs", "MaxNs", "StdDev")


def agent_info(trace: Trace, node: int) -> pl.DataFrame:
    """The CPUs and GPUs of a node; an unknown value is 0, as the tool writes it."""
    agents = trace.table("agents").filter(pl.col("node") == node, pl.col("kind").is_in(["CPU", "GPU"]))
    gpu = pl.col("kind") == "GPU"
    expressions = {
        "Node_Id": pl.col("agent_id"),
        "Logical_Node_Id": pl.int_range(pl.len(), dtype=pl.Int64),
        "Agent_Type": pl.col("kind"),
        "Simd_Count": pl.col("simd_count"),
        "Max_Waves_Per_Simd": pl.col("max_waves_per_simd"),
        "Lds_Size_In_Kb": pl.col("lds_bytes") // 1024,
        "Wave_Front_Size": pl.col("wave_size"),
        "Num_Xcc": pl.col("xcc_count"),
        "Cu_Count": pl.col("cu_count"),
        "Gfx_Target_Version": pl.col("gfx").map_elements(target_version, return_dtype=pl.Int64),
        "Max_Engine_Clk_Fcompute": pl.col("clock_mhz").round().cast(pl.Int64, strict=False),
        "Local_Mem_Size": pl.col("memory_bytes"),
        "Name": pl.when(gpu).then("gfx").otherwise("name"),
        "Vendor_Name": pl.col("vendor"),
        "Product_Name": pl.col("name"),
        "Model_Name": pl.lit(""),
    }
    zero = pl.lit(0, pl.Int64)
    frame = agents.sort("agent_id").select(
        expressions.get(column, zero).alias(column) for column in AGENT_INFO.split()
    )
    return frame.with_columns(pl.col(pl.Int64).fill_null(0), pl.col(pl.String).fill_null(""))


def target_version(gfx: str) -> int:
    """gfx942 -> 90402, gfx90a -> 90010: the last two digits are hexadecimal."""
    digits = re.fullmatch(r"gfx(\d+)([0-9a-f])([0-9a-f])", gfx)
    if not digits:
        return 0
    return 10_000 * int(digits[1]) + 100 * int(digits[2], 16) + int(digits[3], 16)
