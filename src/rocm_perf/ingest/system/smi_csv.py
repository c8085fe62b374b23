"""CSV of power, clock, temperature and memory samplers: amd-smi (metric, monitor), rocm-smi, nvidia-smi and
madengine's gpu_info profilers. `sensor_of` is the one place that knows what such tools call a sensor.

`temperature_c` is what the tool reports as the temperature of the GPU: nvidia-smi's only one, AMD's hotspot
(junction). The edge sensor, which is cooler, is `temperature_edge_c`.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import polars as pl

from rocm_perf.errors import EmptyCaptureError, InputError
from rocm_perf.ingest.io.csv import header as csv_header
from rocm_perf.ingest.io.csv import parse_csv
from rocm_perf.ingest.io.source import Source
from rocm_perf.ingest.part import Adapter, Part, part
from rocm_perf.ingest.peek import Peek
from rocm_perf.model.run import Loss

# Metric: its unit, and the names that tools give it (lower case, without a unit in brackets).
_READINGS = {
    "power_w": ("W", r"power\.draw(\.instant|\.average)?|(average_|current_)?socket_power|power_usage|power"
                r"|average graphics package power|current socket graphics package power"),
    "power_limit_w": ("W", r"(enforced\.)?power\.limit|max_power|power_cap|pwr_cap|max graphics package power"),
    "temperature_c": ("C", r"temperature\.gpu|hotspot(_temperature)?|gpu_t|temperature \(sensor junction\)"),
    "temperature_edge_c": ("C", r"edge(_temperature)?|temperature \(sensor edge\)"),
    "temperature_memory_c": ("C", r"temperature\.memory|memory_temperature|mem_t|temperature \(sensor memory\)"),
    "clock_mhz": ("MHz", r"clocks(\.current)?\.(sm|graphics|gr)|gfx(_0)?_cl(oc)?k|sclk clock speed:?"),
    "memory_clock_mhz": ("MHz", r"clocks(\.current)?\.mem(ory)?|mem(_0)?_cl(oc)?k|mclk clock speed:?"),
    "utilization_percent": ("%", r"utilization\.gpu|gfx_activity|gfx|gfx%|gpu use|gpu%"),
    "memory_utilization_percent": ("%", r"utilization\.memory|umc_activity|mem%|mem|gpu memory use"
                                   r"|gpu memory read/write activity"),
    "vram_used_bytes": ("B", r"memory\.used|vram_used|used_vram|vram total used memory"),
    "vram_total_bytes": ("B", r"memory\.total|vram_total|total_vram|vram total memory"),
    "vram_percent": ("%", r"vram_percent|vram%|vram|gpu memory allocated \(vram%\)"),
    "gfx_voltage_v": ("V", r"gfx_voltage"),
    "fan_percent": ("%", r"fan\.speed|fan%"),
    "energy_j": ("J", r"total_energy_consumption"),
}  # fmt: skip
METRICS = tuple(_READINGS)
_PATTERNS = [(re.compile(names), metric) for metric, (_, names) in _READINGS.items()]

# To the unit of the metric. amd-smi and nvidia-smi count memory in powers of 1024, and so does "MB" here.
_SCALES = {"b": 1.0, "bytes": 1.0, "w": 1.0, "watt": 1.0, "%": 1.0, "mhz": 1.0, "c": 1.0, "v": 1.0, "j": 1.0}
_SCALES |= {f"{prefix}{end}": 1024.0**power for power, prefix in enumerate("kmgt", 1) for end in ("b", "ib")}
_SCALES |= {"mw": 1e-3, "kw": 1e3, "ghz": 1e3, "khz": 1e-3, "hz": 1e-6, "mv": 1e-3, "kj": 1e3}
_UNITLESS = {"vram_used_bytes": 2.0**20, "vram_total_bytes": 2.0**20, "gfx_voltage_v": 1e-3}

_BRACKETED_UNIT = re.compile(r"[\[(]([A-Za-z%]+)[\])]$")
_LONGEST_NAME = 100
_MADENGINE = re.compile(r"(Power\(Watt\)|vram\(%\)) GPU(\d+)")
_TIMES = ("timestamp", "time", "timestamp_unix")
_NUMBERS = ("gpu", "index", "device", "gpu_index", "gpu_id")
_IDENTITIES = ("uuid", "gpu_uuid", "pci.bus_id", "gpu_bus_id", "bdf")
_LINES_BEFORE_HEADER = 20
_LOCAL_TIME = "the times of day carry no time zone; they are taken as UTC"


class Sensor(NamedTuple):
    """One column of readings."""

    column: str
    metric: str
    scale: float
    gpu: int | None = None


def scale_of(unit: str) -> float | None:
    """The factor from a tool's unit to that of the metric: MB -> 1048576, mW -> 0.001."""
    return _SCALES.get(unit.lower().removeprefix("°"))


def unit_of(metric: str) -> str:
    return _READINGS[metric][0]


def unitless_scale(metric: str) -> float:
    """The factor for a reading without any unit: amd-smi's bare numbers are MB and mV."""
    return _UNITLESS.get(metric, 1.0)


def read(source: Source) -> Part:
    content = source.read()
    losses = [Loss(source.name, content.damage)] if content.damage else []
    blocks = _blocks(content.data.decode("utf-8", "replace"))
    samples, agents = [], []
    for lines in blocks:
        frame, lost = _parsed(lines, source.name)
        losses += lost
        samples += _samples(frame)
        agents.append(_agents(frame))
    table = pl.concat(samples) if samples else pl.DataFrame()
    if not table.height:
        raise EmptyCaptureError(f"{source.name} holds no reading", "every value is missing or N/A")
    gpus = pl.concat(agents, how="diagonal_relaxed").unique("agent_id", maintain_order=True)
    local = bool(table["local"].any())
    clock = "epoch" if table["time_ns"].drop_nulls().len() and not local else "unknown"
    tables = {"samples": table.drop("local").sort("time_ns", maintain_order=True), "agents": gpus}
    return part(_tool(blocks[0][0]), tables, losses, clock=clock, notices=(_LOCAL_TIME,) if local else ())


def _blocks(text: str) -> list[list[str]]:
    """Tables of the text, each from its header on. Loops that append repeat the header, and rocm-smi prints a table
    for each thing it is asked for."""
    blocks: dict[str, list[str]] = {}
    current: list[str] | None = None
    for line in text.replace("\x00", "").splitlines():
        if line in blocks:
            current = blocks[line]
        elif line[:1].isalpha() and not line.startswith("card") and sensors(csv_header(line)):
            current = blocks[line] = [line]
        elif current is not None and line.strip():
            current.append(line)
    return list(blocks.values())


def _parsed(lines: list[str], name: str) -> tuple[pl.DataFrame, list[Loss]]:
    losses: list[Loss] = []
    if len(csv_header(lines[-1])) < len(csv_header(lines[0])):  # its last number may have lost digits
        lines = lines[:-1]
        losses.append(Loss(name, "the last row breaks off", 1))
    try:
        frame = parse_csv("\n".join(lines).encode() + b"\n", name)
    except InputError:
        frame, foreign = _without_foreign_lines(lines, name)
        losses.append(Loss(name, "lines that do not belong to the table", foreign))
    bare = {
        column.strip(): column for column in reversed(frame.columns)
    }  # of two columns with one name, the first counts
    return frame.select(pl.col(column).alias(name) for name, column in reversed(bare.items())), losses


def _without_foreign_lines(lines: list[str], name: str) -> tuple[pl.DataFrame, int]:
    width = len(csv_header(lines[0]))
    whole = [line for line in lines if len(csv_header(line)) == width]
    return parse_csv("\n".join(whole).encode() + b"\n", name), len(lines) - len(whole)


def sensors(columns: tuple[str, ...] | list[str]) -> list[Sensor]:
    """The columns of a sampler's table that hold readings; none if it is another kind of table."""
    lower = [column.strip().lower() for column in columns]
    per_gpu = [_MADENGINE.fullmatch(column.strip()) for column in columns]
    if lower[:1] == ["time"] and any(per_gpu):
        return [_madengine_sensor(column) for column in per_gpu if column]
    if not (set(lower) & {*_NUMBERS, *_IDENTITIES} or any("." in name for name in lower)):
        return []
    by_metric: dict[str, Sensor] = {}
    hot = bool({"hotspot", "edge"} & set(lower))
    for column in columns:
        sensor = sensor_of(column.strip(), hot)
        if sensor:
            by_metric.setdefault(sensor.metric, sensor)
    return list(by_metric.values())


def sensor_of(column: str, hot: bool = False) -> Sensor | None:
    """What a column of that name holds. `mem` is a temperature beside other temperatures (amd-smi metric), else
    a load (amd-smi monitor)."""
    name = column.lower() if len(column) <= _LONGEST_NAME else ""
    bracket = _BRACKETED_UNIT.search(name)
    metric = _metric(name) or _metric(_BRACKETED_UNIT.sub("", name).rstrip())
    if name == "mem" and hot:
        metric = "temperature_memory_c"
    if not metric:
        return None
    stated = scale_of(bracket.group(1)) if bracket else None
    return Sensor(column, metric, unitless_scale(metric) if stated is None else stated)


def _metric(name: str) -> str | None:
    return next((metric for names, metric in _PATTERNS if names.fullmatch(name)), None)


def _madengine_sensor(column: re.Match[str]) -> Sensor:
    metric = "power_w" if column.group(1).startswith("Power") else "vram_percent"
    return Sensor(column=column.group(), metric=metric, scale=1.0, gpu=int(column.group(2)[:9]))


def _samples(frame: pl.DataFrame) -> list[pl.DataFrame]:
    columns = {column.lower(): column for column in frame.columns}
    when = next((columns[name] for name in _TIMES if name in columns), None)
    time, local = _time(when) if when else (pl.lit(None, pl.Int64), pl.lit(False))
    number = _gpu(columns)
    pieces = []
    for column, metric, scale, gpu in sensors(frame.columns):
        readings = frame.select(
            time.alias("time_ns"),
            (number if gpu is None else pl.lit(gpu, pl.Int64)).alias("agent_id"),
            pl.lit(metric).alias("metric"),
            _quantity(column, scale).alias("value"),
            pl.lit(unit_of(metric)).alias("unit"),
            local.fill_null(False).alias("local"),
        )
        pieces.append(readings.drop_nulls("value"))
    return pieces


def _quantity(column: str, scale: float) -> pl.Expr:
    """`187.80 W`, `14 MB`, `(1300Mhz)`, `95`; N/A, [N/A] and the like are null."""
    text = pl.col(column).str.strip_chars(" ()\t")
    number = text.str.extract(r"^(-?\d{1,18}(?:\.\d+)?)\s*°?[A-Za-z%]*$").cast(pl.Float64, strict=False)
    unit = text.str.extract(r"([A-Za-z%]+)$").str.to_lowercase()
    return number * unit.replace_strict(_SCALES, default=scale, return_dtype=pl.Float64)


def _gpu(columns: dict[str, str]) -> pl.Expr:
    number = next((columns[name] for name in _NUMBERS if name in columns), None)
    if number:
        return pl.col(number).str.extract(r"(\d{1,9})\s*$").cast(pl.Int64, strict=False)
    identity = next((columns[name] for name in _IDENTITIES if name in columns), None)
    return pl.col(identity).rank("dense").cast(pl.Int64) - 1 if identity else pl.lit(None, pl.Int64)


def _time(column: str) -> tuple[pl.Expr, pl.Expr]:
    """Nanoseconds since 1970, and whether the time zone had to be assumed."""
    text = pl.col(column).str.strip_chars()
    whole, fraction = text.str.extract(r"^(\d{10})(?:\.\d+)?$"), text.str.extract(r"^\d{10}\.(\d{1,9})")
    seconds = whole.cast(pl.Int64)
    epoch = pl.when(seconds < 9_000_000_000).then(seconds * 1_000_000_000 + _nanoseconds(fraction))
    day = text.str.replace_all("/", "-", literal=True).str.replace("T", " ", literal=True)
    moment = day.str.extract(r"^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)(?:[.,]\d+)?(?:Z|\+00:00)?$")
    micros = moment.str.to_datetime("%Y-%m-%d %H:%M:%S", strict=False, time_unit="us").dt.epoch("us")
    digits = day.str.extract(r":\d\d[.,](\d{1,9})")
    dated = pl.when(micros.abs() < 9_000_000_000_000_000).then(micros * 1000 + _nanoseconds(digits))
    return pl.coalesce(epoch, dated), dated.is_not_null() & ~text.str.contains(r"(Z|\+00:00)$")


def _nanoseconds(fraction: pl.Expr) -> pl.Expr:
    return fraction.str.pad_end(9, "0").cast(pl.Int64).fill_null(0)


def _agents(frame: pl.DataFrame) -> pl.DataFrame:
    """The GPUs of a table. nvidia-smi can print names; the AMD tools only number GPUs."""
    columns = {column.lower(): column for column in frame.columns}
    if not {"name", "index"} <= columns.keys():
        return pl.DataFrame(schema={"agent_id": pl.Int64})
    uuid = pl.col(columns["uuid"]).str.strip_chars() if "uuid" in columns else pl.lit(None, pl.String)
    rows = frame.select(
        _gpu(columns).alias("agent_id"),
        pl.lit("GPU").alias("kind"),
        pl.col(columns["name"]).str.strip_chars().alias("name"),
        pl.lit("NVIDIA").alias("vendor"),
        uuid.alias("uuid"),
    )
    return rows.drop_nulls("agent_id").unique("agent_id", keep="first", maintain_order=True)


def _tool(header: str) -> str:
    names = [name.lower() for name in csv_header(header)]
    if any("." in name for name in names):
        return "nvidia-smi"
    if names[:1] == ["time"]:
        return "madengine"
    return "rocm-smi" if names[:1] == ["device"] else "amd-smi"


def _claims(peek: Peek) -> bool:
    if peek.is_binary or peek.json_kind:
        return False
    lines = peek.text.splitlines()[:_LINES_BEFORE_HEADER]
    return any("," in line and sensors(csv_header(line)) for line in lines)


ADAPTERS = (
    Adapter(
        name="smi-csv",
        title="readings of amd-smi, rocm-smi, nvidia-smi and madengine, as CSV",
        recognised_by="a CSV header that names a GPU and sensors (socket_power, power.draw [W], GPU use (%), ...)",
        claims=_claims,
        read=read,
        fills=("samples", "agents"),
    ),
)
