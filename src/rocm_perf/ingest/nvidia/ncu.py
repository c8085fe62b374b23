"""Nsight Compute (`ncu --csv`): one row per metric (details page), or one row per kernel with the units in the second
line (`--page raw`). ncu records how long a kernel took but not when, so dispatches have no times.

Values are converted to ncu's own base units (`--print-units base`): byte, nsecond, hz, byte/second, inst, %. The unit
of each metric is in `counter_info`.
"""

from __future__ import annotations

import re

import polars as pl

from rocm_perf.errors import EmptyCaptureError, InputError
from rocm_perf.ingest.io.csv import drop_incomplete, integer, parse_csv, real
from rocm_perf.ingest.io.source import Source
from rocm_perf.ingest.nvidia.spelling import demangled_spelling
from rocm_perf.ingest.part import Adapter, Part, part
from rocm_perf.ingest.peek import Peek
from rocm_perf.model.run import Loss

_HEADER = re.compile(rb'^"?ID"?,"?Process ID"?,"?Process Name"?,.*$', re.MULTILINE)
_CONSOLE = re.compile(r"^==PROF== (Connected to process|Profiling )", re.MULTILINE)
_LAUNCH = (
    "ID",
    "Process ID",
    "Process Name",
    "Host Name",
    "Kernel Name",
    "Context",
    "Stream",
    "Block Size",
    "Grid Size",
    "Device",
    "CC",
)
_NO_METRIC = re.compile(
    r"(Kernel Time|Section Name|Invocations|.*Domain.*|.*_Range.*|Rule .*|Estimated Speedup.*"
    # what the device is, repeated for every kernel
    r"|device__attribute_.*|(nvlink|c2clink|numa)__.*)"
)

_PREFIXES = {
    "": 1.0,
    "p": 1e-12,
    "n": 1e-9,
    "u": 1e-6,
    "m": 1e-3,
    "K": 1e3,
    "k": 1e3,
    "M": 1e6,
    "G": 1e9,
    "T": 1e12,
    "P": 1e15,
}
_SCALED = re.compile(
    r"([pnumKkMGTP]?)(byte|second|sec|s|[hH]z|inst|cycle|sector|request|warp|thread|block|register)s?"
)

# What ncu calls the resources of a launch: on the raw page, and on the details page.
_RESOURCES = {
    "vgprs": ("launch__registers_per_thread", "Registers Per Thread"),
    "lds_bytes": (
        "launch__shared_mem_per_block",
        "launch__shared_mem_per_block_allocated",
        "Shared Memory Per Block",
    ),
}
_ROW = re.compile(rb'"\d*","')
_NOTICE = "ncu records how long a kernel ran (gpu__time_duration), not when: the dispatches have no times"


def read(source: Source) -> Part:
    table, losses = _table(source)
    launches, lost = drop_incomplete(_launches(table), ("dispatch_id", "kernel"), source.name)
    readings = _long(table) if "Metric Name" in table.columns else _wide(table)
    readings = _in_base_units(readings.filter(pl.col("dispatch_id").is_in(launches["dispatch_id"].implode())))
    dispatches = launches.unique("dispatch_id", keep="first", maintain_order=True)
    if not dispatches.height:
        raise EmptyCaptureError(
            f"{source.name} names no kernel", "ncu profiled nothing", "Check its kernel filter."
        )
    counters = readings.join(
        dispatches.select("dispatch_id", "pid", "agent_id"), on="dispatch_id", maintain_order="left"
    )
    tables = {
        "dispatches": _with_resources(dispatches, readings),
        "counters": counters.drop("unit", "section"),
        "agents": _agents(table),
        "counter_info": _counter_info(readings),
    }
    return part("ncu", tables, losses + lost, host=_host(table), notices=(_NOTICE,))


def _table(source: Source) -> tuple[pl.DataFrame, list[Loss]]:
    """The lines of the CSV, without ncu's messages and the application's output before and between them."""
    content = source.read()
    losses = [Loss(source.name, content.damage)] if content.damage else []
    header = _HEADER.search(content.data)
    if not header:
        raise InputError(
            f"{source.name} is ncu's text output without its table",
            "only its CSV can be read",
            "Run `ncu --csv --page raw --import report.ncu-rep > metrics.csv`.",
        )
    lines = content.data[header.start() :].splitlines()
    if header.group().startswith(b'"'):
        whole = _quoted_rows(lines)
        if whole[-1].count(b'"') % 2:
            losses.append(Loss(source.name, "the last row breaks off", 1))
            whole.pop()
    else:
        whole = [line for line in lines if line.strip() and not line.startswith(b"==")]
    table = parse_csv(b"\n".join(whole) + b"\n", source.name)
    if not {"ID", "Kernel Name"} <= set(table.columns):
        raise InputError(f"{source.name} is not ncu's table", "it lacks the columns ID and Kernel Name")
    return table, losses


def _quoted_rows(lines: list[bytes]) -> list[bytes]:
    """Rows of ncu's own CSV start with a quoted number (or are its header, or its line of units). A rule's text may
    span several lines; what the application prints is never inside an open quote."""
    rows: list[bytes] = []
    for line in lines:
        if rows and rows[-1].count(b'"') % 2 and not _ROW.match(line):
            rows[-1] += b"\n" + line
        elif not rows or _ROW.match(line):
            rows.append(line)
    return rows


def _launches(table: pl.DataFrame) -> pl.DataFrame:
    names = {name: demangled_spelling(name) for name in table["Kernel Name"].drop_nulls().unique()}
    blocks, threads = _sizes(table, "Grid Size"), _sizes(table, "Block Size")
    return table.select(
        integer("ID").alias("dispatch_id"),
        pl.col("Kernel Name").replace_strict(names, default=None, return_dtype=pl.String).alias("kernel"),
        _optional(table, "Process ID").alias("pid"),
        _optional(table, "Device").alias("agent_id"),
        _optional(table, "Stream").alias("stream_id"),
        *(threads[axis].alias(f"workgroup_{axis}") for axis in "xyz"),
        *((blocks[axis] * threads[axis]).alias(f"grid_{axis}") for axis in "xyz"),
    ).filter(
        pl.col("dispatch_id").is_not_null() | pl.col("kernel").is_not_null()
    )  # the line of units has neither


def _sizes(table: pl.DataFrame, column: str) -> dict[str, pl.Expr]:
    """The sizes in a text like `(256, 1, 1)`."""
    if column not in table.columns:
        return {axis: pl.lit(None, pl.Int64) for axis in "xyz"}
    numbers = pl.col(column).str.extract_all(r"\d{1,9}")
    return {
        axis: numbers.list.get(place, null_on_oob=True).cast(pl.Int64, strict=False)
        for place, axis in enumerate("xyz")
    }


def _long(table: pl.DataFrame) -> pl.DataFrame:
    section = pl.col("Section Name") if "Section Name" in table.columns else pl.lit(None, pl.String)
    unit = pl.col("Metric Unit") if "Metric Unit" in table.columns else pl.lit(None, pl.String)
    return table.select(
        integer("ID").alias("dispatch_id"),
        pl.col("Metric Name").alias("counter"),
        (real("Metric Value") if "Metric Value" in table.columns else pl.lit(None, pl.Float64)).alias(
            "value"
        ),
        unit.fill_null("").alias("unit"),
        section.alias("section"),
    )


def _wide(table: pl.DataFrame) -> pl.DataFrame:
    metrics = [c for c in table.columns if c not in _LAUNCH and not _NO_METRIC.fullmatch(c)]
    has_units = table.height > 0 and table["ID"][0] is None
    units = {c: (table[c][0] or "").strip() if has_units else "" for c in metrics}
    long = table.select(integer("ID").alias("dispatch_id"), *(real(c).alias(c) for c in metrics)).unpivot(
        index="dispatch_id", variable_name="counter", value_name="value"
    )
    unit = pl.col("counter").replace_strict(units, default="", return_dtype=pl.String)
    return long.cast({"value": pl.Float64}).with_columns(unit=unit, section=pl.lit(None, pl.String))


def _in_base_units(readings: pl.DataFrame) -> pl.DataFrame:
    """Scaled values, each metric once per dispatch. A name with two meanings (`Memory Throughput` in % and in
    byte/second) carries its unit."""
    readings = readings.drop_nulls(["dispatch_id", "counter", "value"]).filter(pl.col("value").is_finite())
    bases = {unit: base_unit(unit) for unit in readings["unit"].unique()}
    factor = pl.col("unit").replace_strict(
        {u: f for u, (f, _) in bases.items()}, default=1.0, return_dtype=pl.Float64
    )
    base = pl.col("unit").replace_strict(
        {u: b for u, (_, b) in bases.items()}, default="", return_dtype=pl.String
    )
    readings = readings.with_columns(value=pl.col("value") * factor, unit=base)
    readings = readings.unique(["dispatch_id", "counter", "unit"], keep="first", maintain_order=True)
    ambiguous = pl.col("unit").n_unique().over("counter") > 1
    named = pl.concat_str("counter", pl.lit(" ["), "unit", pl.lit("]"))
    return readings.with_columns(counter=pl.when(ambiguous).then(named).otherwise("counter"))


def base_unit(unit: str) -> tuple[float, str]:
    """The factor to ncu's base unit, and its name: Kbyte -> (1000, byte), Gbyte/s -> (1e9, byte/second),
    usecond -> (1000, nsecond), cycle/nsecond -> (1e9, cycle/second). Unknown units stay."""
    over, slash, under = unit.strip().partition("/")
    top, top_name = _token(over)
    if not slash:
        return (top * 1e9, "nsecond") if top_name == "second" else (top, top_name)
    bottom, bottom_name = _token(under)
    return top / bottom, f"{top_name}/{bottom_name}"


def _token(unit: str) -> tuple[float, str]:
    match = _SCALED.fullmatch(unit.strip())
    if not match:
        return 1.0, unit.strip()
    prefix, name = match.groups()
    name = {"s": "second", "sec": "second", "Hz": "hz"}.get(name, name)
    return _PREFIXES[prefix], name


def _with_resources(dispatches: pl.DataFrame, readings: pl.DataFrame) -> pl.DataFrame:
    for name, counters in _RESOURCES.items():
        resource = readings.filter(pl.col("counter").is_in(counters)).unique(
            "dispatch_id", keep="first", maintain_order=True
        )
        values = resource.select("dispatch_id", pl.col("value").cast(pl.Int64, strict=False).alias(name))
        dispatches = dispatches.join(values, on="dispatch_id", how="left", maintain_order="left")
    return dispatches


def _agents(table: pl.DataFrame) -> pl.DataFrame:
    if not {"Device", "CC"} <= set(table.columns):
        return pl.DataFrame()
    name, units = "device__attribute_display_name", "device__attribute_multiprocessor_count"
    rows = table.select(
        integer("Device").alias("agent_id"),
        pl.lit("GPU").alias("kind"),
        ("sm_" + pl.col("CC").str.extract(r"^(\d+\.\d+)$").str.replace(".", "", literal=True)).alias("gfx"),
        (pl.col(name) if name in table.columns else pl.lit(None, pl.String)).alias("name"),
        pl.lit("NVIDIA").alias("vendor"),
        _optional(table, units).alias("cu_count"),
    )
    return rows.drop_nulls("agent_id").unique("agent_id", keep="first", maintain_order=True)


def _counter_info(readings: pl.DataFrame) -> pl.DataFrame:
    counters = readings.unique("counter", keep="first", maintain_order=True)
    unit = pl.when(pl.col("unit") != "").then(pl.col("unit"))
    return counters.select("counter", pl.col("section").alias("block"), unit.alias("unit"))


def _optional(table: pl.DataFrame, column: str) -> pl.Expr:
    return integer(column) if column in table.columns else pl.lit(None, pl.Int64)


def _host(table: pl.DataFrame) -> str | None:
    names = table["Host Name"].drop_nulls().unique().to_list() if "Host Name" in table.columns else []
    return names[0] if len(names) == 1 and names[0] not in ("127.0.0.1", "localhost") else None


def _claims(peek: Peek) -> bool:
    return not peek.is_binary and bool(_HEADER.search(peek.head) or _CONSOLE.search(peek.text))


ADAPTERS = (
    Adapter(
        name="ncu-csv",
        title="Nsight Compute, `ncu --csv` (details and raw page)",
        recognised_by="a line that starts ID, Process ID, Process Name, or ncu's ==PROF== messages",
        claims=_claims,
        read=read,
        fills=("dispatches", "counters", "agents", "counter_info"),
    ),
)
