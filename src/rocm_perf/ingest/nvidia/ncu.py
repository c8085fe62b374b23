"""Nsight Compute's tables (`ncu --csv`): one row per kernel with the units in the second line (`--page raw`), one row
per metric (`--page details`), or the least, largest and mean value of each metric (`--print-summary`).

ncu records how long a kernel ran (gpu__time_duration), not when. Where nothing else timed the kernels of a run,
`laid_end_to_end` places them one after the other.

Values are converted to ncu's own base units (`--print-units base`): byte, nsecond, hz, byte/second, inst, %. The unit
of each metric is in `counter_info`. Metrics have the names of the raw page: `ncu_labels.toml` says which metric stands
behind a label of the details page.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib import resources

import polars as pl

from rocm_perf.arch.toml import read_toml
from rocm_perf.errors import EmptyCaptureError, InputError
from rocm_perf.ingest.io.csv import drop_incomplete, header, integer, parse_csv
from rocm_perf.ingest.io.source import Source
from rocm_perf.ingest.nvidia.ncu_rules import numbers_of_rules
from rocm_perf.ingest.nvidia.spelling import demangled_spelling
from rocm_perf.ingest.part import Adapter, Part, part
from rocm_perf.ingest.peek import Peek
from rocm_perf.model.run import Loss
from rocm_perf.once import once

NAME = "ncu-csv"  # of the adapter
_BOM = rb"^(?:\xef\xbb\xbf)?"
_HEADER = re.compile(_BOM + rb'"?(?:ID"?,"?)?Process ID"?,"?Process Name"?,.*$', re.MULTILINE)
_CONSOLE = re.compile(r"^==PROF== (Connected to process|Profiling )", re.MULTILINE)
_ERROR = re.compile(rb"^==ERROR== (.*)$", re.MULTILINE)
_REPORT = b"NVR\x00"  # opens a file that ncu --export wrote
_SOURCE_PAGE = re.compile(_BOM + rb'"Kernel Name",".*\s+"(?:#","|Line No","|Address",")')
_SESSION_PAGE = re.compile(
    _BOM + rb'(?:Launch Settings|Session Info)\s+"(?:Launch|Session) Attribute","Value"'
)
_ROW = re.compile(rb'"\d*","')
_ROW_WITH_ID = re.compile(rb'"\d*","\d*","')
_EXPORT = "Run `ncu --import REPORT.ncu-rep --csv --page raw > metrics.csv`, and read that."

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
    # what the sampler of the timeline adds up beside the counters
    r"|[A-Z_]+\.Triage\w*\..*"
    # what the device is and can do, repeated for every kernel
    r"|device__attribute_.*|(nvlink|c2clink|numa)__.*|.*\.peak_sustained(_[a-z]+)*(\.per_second)?)"
)
_METRIC_BEHIND_LABEL = r"\(([a-zA-Z]\w*__[\w.]+)\)$"  # `--print-metric-name label-name`

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
# How numbers are grouped depends on the language of the machine: 1,234.5 or 1.234,5.
_DECIMAL_COMMA = r"\.\d{3}[.,]|^-?\d+,(?:\d{1,2}|\d{4,})$"
_DECIMAL_POINT = r",\d{2,3}[.,]|^-?\d+\.(?:\d{1,2}|\d{4,})$"
_OTHER_GROUPING = "[\\s'\u2019\u00a0\u202f]"

_DURATIONS = ("gpu__time_duration.sum", "gpu__time_duration.avg", "gpu__time_duration.max")
_UNTIMED = "ncu did not record how long the kernels took: add gpu__time_duration.sum to its --metrics"
_RANGES = (
    "ncu profiled ranges, each of several kernels: a row is a whole range, and no single kernel is known"
)
LAID_OUT = (
    "ncu ran the kernels one by one and records how long each took, not when: they are shown end to end in its order, "
    "and nothing can be said about idle time, steps or overlap"
)


def read(source: Source) -> Part:
    table, losses = _table(source)
    if "ID" not in table.columns:
        return _summary(table, losses, source.name)
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
    of_ranges = not dispatches["workgroup_x"].count()
    notices = (_RANGES,) if of_ranges else ()
    if of_ranges:  # what it says of a launch is that of one of the range's kernels
        readings = readings.filter(~pl.col("counter").str.starts_with("launch__"))
        counters = counters.filter(~pl.col("counter").str.starts_with("launch__"))
    if not readings["counter"].is_in(_DURATIONS).any():
        notices = (*notices, _UNTIMED)
    tables = {
        "dispatches": dispatches if of_ranges else _with_resources(dispatches, readings),
        "counters": counters.drop("unit", "section"),
        "agents": _agents(table, readings),
        "counter_info": _counter_info(readings),
    }
    return part("ncu", tables, losses + lost, host=_host(table), notices=notices)


def laid_end_to_end(dispatches: pl.DataFrame, counters: pl.DataFrame) -> pl.DataFrame | None:
    """Return the dispatches one after the other on each GPU, as long as ncu measured each; None if it measured none."""
    measured = counters.filter(pl.col("counter").is_in(_DURATIONS), pl.col("value") > 0)
    if not measured.height:
        return None
    key = ["node", "pid", "pass_id", "dispatch_id"]
    best = measured.with_columns(pl.col("counter").cast(pl.Enum(_DURATIONS))).sort("counter")
    lengths = best.unique(key, keep="first").select(*key, length=pl.col("value").round().cast(pl.Int64))
    table = dispatches.join(lengths, on=key, how="left", nulls_equal=True, maintain_order="left")
    ordered = table.with_row_index("row").sort("pass_id", "dispatch_id", "row")
    end = pl.col("length").fill_null(0).cum_sum().over("node", "pass_id", "agent_id")
    timed = ordered.with_columns(end_ns=pl.when(pl.col("length") > 0).then(end)).with_columns(
        start_ns=pl.col("end_ns") - pl.col("length")
    )
    return timed.sort("row").select(dispatches.columns)


def _table(source: Source) -> tuple[pl.DataFrame, list[Loss]]:
    """The lines of the CSV, without ncu's messages and the application's output before and between them."""
    content = source.read()
    losses = [Loss(source.name, content.damage)] if content.damage else []
    found = _HEADER.search(content.data)
    if not found:
        raise _refusal(source.name, content.data)
    lines = content.data[found.start() :].removeprefix(b"\xef\xbb\xbf").splitlines()
    if lines[0].startswith(b'"'):
        whole = _quoted_rows(lines, _ROW_WITH_ID if lines[0].startswith(b'"ID"') else _ROW)
        if _is_cut(whole, is_ended=content.data.endswith((b"\n", b"\r"))):
            losses.append(Loss(source.name, "the last row breaks off", 1))
            whole.pop()
    else:
        whole = [line for line in lines if line.strip() and not line.startswith(b"==")]
    table = parse_csv(b"\n".join(whole) + b"\n", source.name)
    missing = {"Kernel Name"} - set(table.columns)
    if missing or not {"ID", "Invocations"} & set(table.columns):
        raise InputError(
            f"{source.name} is not ncu's table",
            "it lacks the columns Kernel Name and ID or Invocations",
            _EXPORT,
        )
    return table, losses


def _refusal(name: str, data: bytes) -> InputError:
    """Why a file of ncu cannot be read, and what to do."""
    if data.startswith(_REPORT):
        return InputError(f"{name} is a report of Nsight Compute", "only its CSV can be read", _EXPORT)
    if _SOURCE_PAGE.search(data[:65_536]):
        why = "it has samples and counts for each instruction, and no time or metric of a kernel"
        return InputError(f"{name} is the source page of ncu", why, _EXPORT)
    if _SESSION_PAGE.search(data[:65_536]):
        return InputError(
            f"{name} is the session page of ncu", "it describes the machine, not a kernel", _EXPORT
        )
    if error := _ERROR.search(data):
        why = error[1].decode("utf-8", "replace").strip()
        return InputError(
            f"{name} holds no table of ncu, but its error", why[:200], "Mend that, and profile again."
        )
    return InputError(f"{name} is ncu's text output without its table", "only its CSV can be read", _EXPORT)


def _quoted_rows(lines: list[bytes], row: re.Pattern[bytes]) -> list[bytes]:
    """Rows of ncu's own CSV start with a quoted number (or are its header, or its line of units). A rule's text may
    span several lines; what the application prints is never inside an open quote."""
    rows: list[list[bytes]] = []
    is_open = False
    for line in lines:
        if not rows or row.match(line):
            rows.append([line])
            is_open = line.count(b'"') % 2 > 0
        elif is_open:
            rows[-1].append(line)
            is_open = line.count(b'"') % 2 == 0
    return [b"\n".join(parts) for parts in rows]


def _is_cut(rows: list[bytes], *, is_ended: bool) -> bool:
    """Whether the last row breaks off: within a quote, or before the value of its metric."""
    if rows[-1].count(b'"') % 2:
        return True
    if is_ended:
        return False
    names = header(rows[0].decode("utf-8", "replace"))
    fields = len(header(rows[-1].decode("utf-8", "replace")))
    needed = names.index("Metric Value") + 1 if "Metric Value" in names else len(names)
    return fields < needed


def _launches(table: pl.DataFrame) -> pl.DataFrame:
    blocks, threads = _sizes(table, "Grid Size"), _sizes(table, "Block Size")
    return table.select(
        integer("ID").alias("dispatch_id"),
        _kernels(table).alias("kernel"),
        _optional(table, "Process ID").alias("pid"),
        _optional(table, "Device").alias("agent_id"),
        _optional(table, "Stream").alias("stream_id"),
        *(threads[axis].alias(f"workgroup_{axis}") for axis in "xyz"),
        *((blocks[axis] * threads[axis]).alias(f"grid_{axis}") for axis in "xyz"),
    ).filter(
        pl.col("dispatch_id").is_not_null() | pl.col("kernel").is_not_null()
    )  # the line of units has neither


def _kernels(table: pl.DataFrame) -> pl.Expr:
    names = {name: demangled_spelling(name) for name in table["Kernel Name"].drop_nulls().unique()}
    return pl.col("Kernel Name").replace_strict(names, default=None, return_dtype=pl.String)


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
    """The details page: rules have no metric. `--print-details all` has charts and tables below its sections, whose
    labels repeat those of others."""
    item = _text(table, "Body Item Label")
    metric, label = pl.col("Metric Name"), pl.concat_str(item, pl.lit(": "), pl.col("Metric Name"))
    rows = table.select(
        integer("ID").alias("dispatch_id"),
        pl.coalesce(
            metric.str.extract(_METRIC_BEHIND_LABEL),
            pl.when(metric.str.contains("__", literal=True)).then(metric),
            label,
            metric,
        ).alias("counter"),
        _text(table, "Metric Value").alias("text"),
        _text(table, "Metric Unit").fill_null("").alias("unit"),
        _text(table, "Section Name").alias("section"),
    ).drop_nulls(["counter", "text"])
    rules = table.select(
        integer("ID").alias("dispatch_id"),
        _text(table, "Rule Description").alias("rule"),
        pl.lit("").alias("unit"),
        _text(table, "Section Name").alias("section"),
    )
    rows = pl.concat([rows, numbers_of_rules(rules).select(rows.columns)])
    names = rows["counter"].unique()
    no_metrics = [name for name in names if _NO_METRIC.fullmatch(name)]
    return _with_values(rows.filter(~pl.col("counter").is_in(no_metrics)))


def _wide(table: pl.DataFrame) -> pl.DataFrame:
    metrics = [c for c in table.columns if c not in _LAUNCH and not _NO_METRIC.fullmatch(c)]
    has_units = table.height > 0 and table["ID"][0] is None
    units = {c: (table[c][0] or "").strip() if has_units else "" for c in metrics}
    rows = table.slice(int(has_units)).with_columns(integer("ID").alias("dispatch_id"))
    long = rows.unpivot(metrics, index="dispatch_id", variable_name="counter", value_name="text").drop_nulls()
    unit = pl.col("counter").replace_strict(units, default="", return_dtype=pl.String)
    return _with_values(long.cast({"text": pl.String})).with_columns(
        unit=unit, section=pl.lit(None, pl.String)
    )


def _with_values(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.with_columns(value=numbers(rows["text"])).drop("text")


def numbers(texts: pl.Series) -> pl.Series:
    """Return the numbers in texts of ncu, grouped as its machine groups them; the total of a value that lists those of
    its instances, as in `7 (3; 4)`; null for what is no number."""
    name = texts.name
    plain = texts.str.extract(r"^\s*([^(;]*)").str.replace_all(_OTHER_GROUPING, "")
    commas = plain.str.contains(_DECIMAL_COMMA).sum() or 0
    if commas > (plain.str.contains(_DECIMAL_POINT).sum() or 0):
        plain = plain.str.replace_all(".", "", literal=True).str.replace(",", ".", literal=True)
    values = plain.str.replace_all(",", "", literal=True).cast(pl.Float64, strict=False)
    return pl.select(pl.when(values.is_finite()).then(values)).to_series().alias(name)


def _in_base_units(readings: pl.DataFrame) -> pl.DataFrame:
    """Scaled values under the names of the raw page, each metric once per dispatch. An unknown name with two meanings
    carries its unit."""
    readings = readings.drop_nulls(["dispatch_id", "counter", "value"])
    bases = {unit: base_unit(unit) for unit in readings["unit"].unique()}
    factor = pl.col("unit").replace_strict(
        {u: f for u, (f, _) in bases.items()}, default=1.0, return_dtype=pl.Float64
    )
    base = pl.col("unit").replace_strict(
        {u: b for u, (_, b) in bases.items()}, default="", return_dtype=pl.String
    )
    readings = _under_metrics_names(readings.with_columns(value=pl.col("value") * factor, unit=base))
    # A share that ncu makes of two counters of different passes may fall below 0: nothing was counted.
    readings = readings.filter((pl.col("value") >= 0) | (pl.col("unit") != "%"))
    readings = readings.unique(["dispatch_id", "counter", "unit"], keep="first", maintain_order=True)
    ambiguous = pl.col("unit").n_unique().over("counter") > 1
    named = pl.concat_str("counter", pl.lit(" ["), "unit", pl.lit("]"))
    return readings.with_columns(counter=pl.when(ambiguous).then(named).otherwise("counter"))


def _under_metrics_names(readings: pl.DataFrame) -> pl.DataFrame:
    labels = _labels()
    pairs = readings.select("counter", "unit").unique()
    known = [
        (counter, unit, metric)
        for counter, unit in pairs.rows()
        if (metric := labels.get(counter) or labels.get(f"{counter} [{unit}]"))
    ]
    schema = {"counter": pl.String, "unit": pl.String, "metric": pl.String}
    joined = readings.join(
        pl.DataFrame(known, schema, orient="row"), on=["counter", "unit"], how="left", maintain_order="left"
    )
    return joined.with_columns(counter=pl.coalesce("metric", "counter")).drop("metric")


@once
def _labels() -> Mapping[str, str]:
    """The metric behind each label of the details page."""
    file = resources.files("rocm_perf.ingest.nvidia").joinpath("ncu_labels.toml")
    return read_toml(file.read_bytes(), file.name)


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
    """The registers of a thread, and the shared memory that the program asked for: the driver keeps some for itself."""
    shared = "launch__shared_mem_per_block"
    parts = {
        "vgprs": "launch__registers_per_thread",
        "static": f"{shared}_static",
        "dynamic": f"{shared}_dynamic",
        "driver": f"{shared}_driver",
        "whole": shared,
        "allocated": f"{shared}_allocated",
    }
    of_launches = readings.filter(pl.col("counter").is_in(list(parts.values())))
    values = of_launches.pivot("counter", index="dispatch_id", values="value", aggregate_function="first")
    number = {
        name: pl.col(counter) if counter in values.columns else pl.lit(None, pl.Float64)
        for name, counter in parts.items()
    }
    lds = pl.coalesce(
        number["static"] + number["dynamic"],
        pl.coalesce(number["whole"], number["allocated"]) - number["driver"].fill_null(0),
    )
    resources = values.select(
        "dispatch_id",
        number["vgprs"].round().cast(pl.Int64, strict=False).alias("vgprs"),
        lds.round().cast(pl.Int64, strict=False).alias("lds_bytes"),
    )
    return dispatches.join(resources, on="dispatch_id", how="left", maintain_order="left")


def _agents(table: pl.DataFrame, readings: pl.DataFrame) -> pl.DataFrame:
    if not {"Device", "CC"} <= set(table.columns):
        return pl.DataFrame()
    name, units = "device__attribute_display_name", "device__attribute_multiprocessor_count"
    counted = readings.filter(pl.col("counter") == "launch__sm_count")["value"].max()
    rows = table.select(
        integer("Device").alias("agent_id"),
        pl.lit("GPU").alias("kind"),
        ("sm_" + pl.col("CC").str.extract(r"^(\d+\.\d+)$").str.replace(".", "", literal=True)).alias("gfx"),
        _text(table, name).alias("name"),
        pl.lit("NVIDIA").alias("vendor"),
        pl.coalesce(_optional(table, units), pl.lit(counted, pl.Float64).cast(pl.Int64)).alias("cu_count"),
    )
    return rows.drop_nulls("agent_id").unique("agent_id", keep="first", maintain_order=True)


def _counter_info(readings: pl.DataFrame) -> pl.DataFrame:
    counters = readings.unique("counter", keep="first", maintain_order=True)
    unit = pl.when(pl.col("unit") != "").then(pl.col("unit"))
    return counters.select("counter", pl.col("section").alias("block"), unit.alias("unit"))


def _summary(table: pl.DataFrame, losses: list[Loss], name: str) -> Part:
    """`--print-summary`: the values of all launches of a kernel with one size together. Their order is not known."""
    statistics = {"Minimum": "min", "Maximum": "max", "Average": "avg"}
    launch = ["Process ID", "Device", "Kernel Name", "Block Size", "Grid Size"]
    groups = table.select(launch).unique(maintain_order=True).with_row_index("dispatch_id")
    numbered = table.join(groups, on=launch, how="left", nulls_equal=True, maintain_order="left")
    kernels = numbered.select(
        "dispatch_id",
        _kernels(table).alias("kernel"),
        _optional(table, "Process ID").alias("pid"),
        _optional(table, "Device").alias("agent_id"),
        integer("Invocations").alias("calls"),
    ).unique("dispatch_id", keep="first", maintain_order=True)
    values = []
    for column, statistic in statistics.items():
        if column in table.columns:
            rows = numbered.with_columns(pl.col("dispatch_id").cast(pl.String).alias("ID"))
            readings = _long(rows.drop("Metric Value", strict=False).rename({column: "Metric Value"}))
            values.append(_in_base_units(readings).with_columns(statistic=pl.lit(statistic)))
    if not values or not kernels["kernel"].count():
        raise EmptyCaptureError(f"{name} names no kernel", "ncu profiled nothing", "Check its kernel filter.")
    known = pl.concat(values).join(
        kernels.cast({"dispatch_id": pl.Int64}), on="dispatch_id", maintain_order="left"
    )
    times = known.filter(pl.col("counter") == _DURATIONS[0]).pivot(
        "statistic", index=["dispatch_id", "kernel", "pid", "agent_id", "calls"], values="value"
    )
    columns = {name: pl.col(name) if name in times.columns else pl.lit(None) for name in statistics.values()}
    tables = {
        "metrics": known.select(
            metric="counter",
            group="section",
            kernel="kernel",
            statistic="statistic",
            value="value",
            unit="unit",
        ),
        "summaries": times.select(
            pl.lit("kernel").alias("domain"),
            pl.col("kernel").alias("name"),
            "pid",
            "calls",
            total_ns=columns["avg"] * pl.col("calls"),
            mean_ns=columns["avg"],
            min_ns=columns["min"],
            max_ns=columns["max"],
        ),
        "agents": _agents(table, known),
    }
    return part("ncu", tables, losses, host=_host(table))


def _text(table: pl.DataFrame, column: str) -> pl.Expr:
    return pl.col(column) if column in table.columns else pl.lit(None, pl.String)


def _optional(table: pl.DataFrame, column: str) -> pl.Expr:
    return integer(column) if column in table.columns else pl.lit(None, pl.Int64)


def _host(table: pl.DataFrame) -> str | None:
    names = table["Host Name"].drop_nulls().unique().to_list() if "Host Name" in table.columns else []
    return names[0] if len(names) == 1 and names[0] not in ("127.0.0.1", "localhost") else None


def _claims(peek: Peek) -> bool:
    if peek.head.startswith(_REPORT):
        return True
    if peek.is_binary:
        return False
    pages = (_HEADER, _SOURCE_PAGE, _SESSION_PAGE)
    return any(page.search(peek.head) for page in pages) or bool(_CONSOLE.search(peek.text))


ADAPTERS = (
    Adapter(
        name=NAME,
        title="Nsight Compute, `ncu --csv` (raw and details page, summaries)",
        recognised_by="a line that starts ID, Process ID, Process Name, or ncu's ==PROF== messages",
        claims=_claims,
        read=read,
        fills=("dispatches", "counters", "agents", "counter_info", "metrics", "summaries"),
    ),
)
