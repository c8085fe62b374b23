"""rocprof-compute and omniperf: what a workload folder holds besides its counters. The machine (sysinfo.csv),
measured peaks (roofline.csv), the tool's own analysis (`7.1_Wavefront_Launch_Stats.csv`, pmc_kernel_top.csv)
and its settings (profiling_config.yaml)."""

from __future__ import annotations

import re
from collections.abc import Mapping

import polars as pl

from rocm_perf.errors import EmptyCaptureError
from rocm_perf.ingest import domains
from rocm_perf.ingest.io.csv import drop_incomplete, integer, read_csv, real
from rocm_perf.ingest.io.source import Source
from rocm_perf.ingest.part import Adapter, Part, part
from rocm_perf.ingest.peek import Peek
from rocm_perf.model.run import Loss

Facts = Mapping[str, object]

_TOOL = "rocprof-compute"
_NUMBERLESS = "the GPU is described without its number; it is shown as agent 0"

# The names that one fact has had: rocprof-compute and omniperf 2.x first, then omniperf 1.x.
_HOST, _OS, _WHEN = ("hostname", "host_name"), ("linux_distro", "host_distro"), ("timestamp", "date")
_GFX, _MODEL = ("gpu_arch", "gpu_soc"), ("gpu_model", "name")
_CUS, _SIMDS, _WAVE = ("cu_per_gpu", "numCU"), ("simd_per_cu", "numSIMD"), ("wave_size", "waveSize")
_WAVES_PER_CU, _CLOCK = ("max_waves_per_cu", "maxWavesPerCU"), ("max_sclk", "sclk")

_CEILING = re.compile(r"(HBM|MALL|L2|L1|LDS|MFMA|FP|BF|I)(\w*?)(Bw|Flops|Ops)")
_CEILING_UNITS = {"Bw": "GB/s", "Flops": "GFLOP/s", "Ops": "GOP/s"}

_STATISTICS = ("Avg", "Value", "Min", "Max", "Median", "Std Dev", "Q1", "Q3", "Count", "Mean", "Peak")
_SHARES = ("Pct of Peak", "PoP")
_TOP = frozenset({"Kernel_Name", "Count", "Sum(ns)", "Mean(ns)"})


def read_sysinfo(source: Source) -> Part:
    frame, losses = read_csv(source)
    if not frame.height:
        raise EmptyCaptureError(
            f"{source.name} has a header and no rows", "the profiler described no machine"
        )
    facts: Facts = frame.row(0, named=True)
    return part(_TOOL, {"agents": agents_of(facts, 0)}, losses, notices=(_NUMBERLESS,), **run_facts(facts))


def agents_of(facts: Facts, agent_id: int) -> pl.DataFrame:
    """The GPU that a machine description names."""
    cus, simds = _number(facts, *_CUS), _number(facts, *_SIMDS)
    waves = _number(facts, *_WAVES_PER_CU)
    memory = _number(facts, "gpu_memory")
    row: dict[str, object] = {
        "agent_id": agent_id,
        "kind": "GPU",
        "gfx": _text(facts, *_GFX),
        "name": _text(facts, *_MODEL),
        "vendor": "AMD",
        "cu_count": cus,
        "simd_count": cus * simds if cus and simds else None,
        "xcc_count": _number(facts, "num_xcd"),
        "wave_size": _number(facts, *_WAVE),
        "max_waves_per_simd": waves // simds if waves and simds else None,
        "memory_bytes": 1024 * memory if memory else None,
        "clock_mhz": _number(facts, *_CLOCK),
        "compute_partition": _text(facts, "compute_partition"),
        "memory_partition": _text(facts, "memory_partition"),
    }
    return pl.DataFrame([row], infer_schema_length=None)


def run_facts(facts: Facts) -> dict[str, object]:
    """Host, command and time of a machine description, as `part` takes them."""
    return {
        "host": _text(facts, *_HOST),
        "os": _text(facts, *_OS),
        "command": _text(facts, "command"),
        "recorded_at": _text(facts, *_WHEN),
        "tool_version": _text(facts, "version"),
    }


def read_roofline(source: Source) -> Part:
    """Peaks of each GPU. A peak of 0 was not measured."""
    frame, losses = read_csv(source)
    peaks = {column: ceiling for column in frame.columns if (ceiling := ceiling_of(column))}
    lower = {column.lower().replace("mfmafi8", "mfmai8"): column for column in frame.columns}
    pieces = []
    for column, (name, unit) in peaks.items():
        ends = (lower.get(f"{column.lower()}{end}") for end in ("low", "high"))
        low, high = (real(end) if end else pl.lit(None, pl.Float64) for end in ends)
        pieces.append(
            frame.select(
                integer("device").alias("agent_id"),
                pl.lit(name).alias("ceiling"),
                real(column).alias("value"),
                low.alias("low"),
                high.alias("high"),
                pl.lit(unit).alias("unit"),
            )
        )
    ceilings = pl.concat(pieces) if pieces else pl.DataFrame()
    return _roofline_part(source, ceilings, losses)


def ceiling_of(column: str) -> tuple[str, str] | None:
    """HBMBw -> (hbm, GB/s), MFMAF16Flops -> (mfma_f16, GFLOP/s), I8Ops -> (i8, GOP/s)."""
    match = _CEILING.fullmatch(column)
    if not match:
        return None
    where, what, kind = match.groups()
    name = f"mfma_{what}" if where == "MFMA" else where + what
    return name.lower(), _CEILING_UNITS[kind]


def _roofline_part(source: Source, ceilings: pl.DataFrame, losses: list[Loss]) -> Part:
    if not ceilings.height:
        raise EmptyCaptureError(f"{source.name} holds no peaks", "the roofline benchmark recorded nothing")
    ceilings = ceilings.with_columns(pl.when(pl.col("value").is_finite()).then("value"))
    ceilings, lost = drop_incomplete(ceilings, ("value", "agent_id"), source.name)
    measured = ceilings.filter(pl.col("value") > 0)
    unmeasured = sorted(set(ceilings["ceiling"]) - set(measured["ceiling"]))
    notice = f"not measured on any GPU (recorded as 0): {', '.join(unmeasured)}"
    return part(_TOOL, {"ceilings": measured}, losses + lost, notices=(notice,) if unmeasured else ())


def read_analysis(source: Source) -> Part:
    """One panel of `rocprof-compute analyze`: one row per metric, one column per statistic."""
    frame, losses = read_csv(source)
    statistics = [c for c in frame.columns if c in (*_STATISTICS, *_SHARES)]
    unit = pl.col("Unit") if "Unit" in frame.columns else pl.lit(None, pl.String)
    values = pl.concat(
        frame.select(
            pl.col("Metric").alias("metric"),
            pl.lit(statistic_name(column)).alias("statistic"),
            real(column).alias("value"),
            (pl.lit("Pct") if column in _SHARES else unit).alias("unit"),
        )
        for column in statistics
    )
    values = values.with_columns(group=pl.lit(_panel(source), pl.String)).filter(pl.col("value").is_finite())
    values, lost = drop_incomplete(values, ("metric",), source.name)
    return part(_TOOL, {"metrics": values}, losses + lost)


def statistic_name(column: str) -> str:
    """`Std Dev` -> std_dev, `Pct of Peak` and PoP -> pct_of_peak."""
    if column in _SHARES:
        return "pct_of_peak"
    return re.sub(r"\W+", "_", column.lower()).strip("_")


def read_top_kernels(source: Source) -> Part:
    """Time by kernel, as the tool summed it (pmc_kernel_top.csv)."""
    frame, losses = read_csv(source)
    summaries = frame.select(
        pl.lit("kernel").alias("domain"),
        domains.kernel_name(pl.col("Kernel_Name")).alias("name"),
        real("Count").cast(pl.Int64, strict=False).alias("calls"),
        real("Sum(ns)").alias("total_ns"),
        real("Mean(ns)").alias("mean_ns"),
        *([real("Pct").alias("percent")] if "Pct" in frame.columns else []),
    )
    summaries, lost = drop_incomplete(summaries, ("name",), source.name)
    return part(_TOOL, {"summaries": summaries}, losses + lost)


def read_settings(source: Source) -> Part:
    """profiling_config.yaml: which application was profiled. It holds no measurements."""
    text = source.read().data.decode("utf-8", "replace")
    notice = "settings of a rocprof-compute run; its measurements are in the files beside it"
    return part(_TOOL, {}, command=_profiled_command(text), notices=(notice,))


def _profiled_command(text: str) -> str | None:
    """The value of `remaining:`, which is a list of words in some releases and one line in others."""
    match = re.search(r"^remaining:[ \t]*(.*)\n((?:[ \t]*- .*\n?)*)", text, re.MULTILINE)
    if not match:
        return None
    line, items = match.groups()
    arguments = [item.strip().removeprefix("-").strip().strip("'\"") for item in items.splitlines()] or [
        line.strip().strip("'\"")
    ]
    if arguments and arguments[0] == "--":
        arguments = arguments[1:]
    return " ".join(arguments) or None


def _panel(source: Source) -> str | None:
    named = re.search(r"(\d+\.\d+_.+?)(?:\.csv)?$", source.file_name)
    return named.group(1).replace("_", " ") if named else None


def _text(facts: Facts, *names: str) -> str | None:
    value = next((facts[name] for name in names if facts.get(name) is not None), None)
    text = "" if value is None else str(value).strip()
    return text if text and text.upper() not in ("N/A", "NA", "NONE") else None


def _number(facts: Facts, *names: str) -> int | None:
    """A whole number above 0; anything else means that the tool did not know."""
    text = _text(facts, *names) or ""
    match = re.fullmatch(r"(\d{1,15})(?:\.0*)?", text)
    return int(match.group(1)) or None if match else None


def _is_sysinfo(peek: Peek) -> bool:
    header = set(peek.csv_header)
    return {"workload_name", "gpu_arch", "cu_per_gpu"} <= header or {
        "workload_name",
        "gpu_soc",
        "numCU",
    } <= header


def _is_analysis(peek: Peek) -> bool:
    header = set(peek.csv_header)
    return {"Metric", "Unit"} <= header and bool(header & {"Avg", "Value"})


def _is_settings(peek: Peek) -> bool:
    keys = ("mode: profile", "path: ", "remaining:")
    return not peek.is_binary and all(re.search(rf"^{key}", peek.text, re.MULTILINE) for key in keys)


ADAPTERS = (
    Adapter(
        name="rocprof-compute-sysinfo",
        title="rocprof-compute and omniperf sysinfo.csv",
        recognised_by="CSV columns workload_name with gpu_arch and cu_per_gpu, or with gpu_soc and numCU",
        claims=_is_sysinfo,
        read=read_sysinfo,
        fills=("agents",),
    ),
    Adapter(
        name="rocprof-compute-roofline",
        title="rocprof-compute and omniperf roofline.csv",
        recognised_by="CSV columns device, HBMBw, HBMBwLow",
        claims=lambda peek: set(peek.csv_header) >= {"device", "HBMBw", "HBMBwLow"},
        read=read_roofline,
        fills=("ceilings",),
    ),
    Adapter(
        name="rocprof-compute-analysis",
        title="tables that rocprof-compute analyze saved (7.1_Wavefront_Launch_Stats.csv, ...)",
        recognised_by="CSV columns Metric and Unit with Avg or Value",
        claims=_is_analysis,
        read=read_analysis,
        fills=("metrics",),
    ),
    Adapter(
        name="rocprof-compute-top-kernels",
        title="rocprof-compute pmc_kernel_top.csv",
        recognised_by="CSV columns " + ", ".join(sorted(_TOP)),
        claims=lambda peek: set(peek.csv_header) >= _TOP,
        read=read_top_kernels,
        fills=("summaries",),
    ),
    Adapter(
        name="rocprof-compute-settings",
        title="rocprof-compute profiling_config.yaml",
        recognised_by="YAML keys mode (profile), path and remaining",
        claims=_is_settings,
        read=read_settings,
    ),
)
