"""amd-smi list, static and metric, as text and as JSON, and rocm-smi's table and JSON: the GPUs and one reading
of their sensors. (Their CSV is read by `smi_csv`.)

Text and JSON become the same thing first: for each GPU, `POWER/SOCKET_POWER` -> `120 W`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from rocm_perf.errors import EmptyCaptureError
from rocm_perf.ingest.io.json import decode
from rocm_perf.ingest.io.source import Source
from rocm_perf.ingest.part import Adapter, Part, part
from rocm_perf.ingest.peek import Peek
from rocm_perf.ingest.system.smi_csv import scale_of, sensor_of, unit_of, unitless_scale
from rocm_perf.model.run import Loss

Facts = dict[str, str]
Gpu = tuple[int, Facts]

_LINE = re.compile(r"( *)([A-Z][A-Z0-9_ ]*?): *(.*)")
_QUANTITY = re.compile(r"\(?(-?\d{1,18}(?:\.\d{1,18})?)\s*(°?[A-Za-z%]*)\)?")
_UNKNOWN = ("", "N/A", "NA", "NONE", "UNKNOWN", "[N/A]")
_DEEPEST = 16

# The places of amd-smi's metric tree that hold readings; ambiguous leaves are named by their branch.
_SENSORS = {
    "USAGE/GFX_ACTIVITY": "utilization_percent",
    "USAGE/UMC_ACTIVITY": "memory_utilization_percent",
    "POWER/SOCKET_POWER": "power_w",
    "POWER/AVERAGE_SOCKET_POWER": "power_w",
    "POWER/CURRENT_SOCKET_POWER": "power_w",
    "POWER/GFX_VOLTAGE": "gfx_voltage_v",
    "CLOCK/GFX_0/CLK": "clock_mhz",
    "CLOCK/MEM_0/CLK": "memory_clock_mhz",
    "TEMPERATURE/EDGE": "temperature_edge_c",
    "TEMPERATURE/HOTSPOT": "temperature_c",
    "TEMPERATURE/MEM": "temperature_memory_c",
    "MEM_USAGE/TOTAL_VRAM": "vram_total_bytes",
    "MEM_USAGE/USED_VRAM": "vram_used_bytes",
    "FAN/USAGE": "fan_percent",
    "ENERGY/TOTAL_ENERGY_CONSUMPTION": "energy_j",
}
_TABLE = {
    "Power": "power_w",
    "AvgPwr": "power_w",
    "SCLK": "clock_mhz",
    "MCLK": "memory_clock_mhz",
    "PwrCap": "power_limit_w",
    "VRAM%": "vram_percent",
    "GPU%": "utilization_percent",
}
_CLOCK_LEVELS = "CLOCK/SYS/FREQUENCY_LEVELS/"


def read_text(source: Source) -> Part:
    content = source.read()
    losses = [Loss(source.name, content.damage)] if content.damage else []
    return _part(source, "amd-smi", list(_gpus_of_text(content.data.decode("utf-8", "replace"))), losses)


def read_json(source: Source) -> Part:
    document, damage = decode(source, Any)
    losses = [Loss(source.name, damage)] if damage else []
    entries = document.get("gpu_data", document) if isinstance(document, dict) else document
    if isinstance(entries, dict) and any(key.startswith("card") for key in entries):
        return _part(source, "rocm-smi", list(_gpus_of_cards(entries)), losses)
    listed = entries if isinstance(entries, list) else [entries]
    gpus = [(_index(entry.get("gpu")), dict(_flat(entry))) for entry in listed if isinstance(entry, dict)]
    return _part(source, "amd-smi", [(index, facts) for index, facts in gpus if index is not None], losses)


def read_table(source: Source) -> Part:
    """rocm-smi's concise table. Its Node column, where there is one, is the HSA node."""
    content = source.read()
    losses = [Loss(source.name, content.damage)] if content.damage else []
    lines = content.data.decode("utf-8", "replace").splitlines()
    columns = next((_columns(line) for line in lines if re.match(r"(Device|GPU)\s.*\bSCLK\b", line)), {})
    temperature = (
        "temperature_edge_c" if any(re.search(r"\((Die)?Edge\)", line) for line in lines) else "temperature_c"
    )
    agents: list[dict[str, object]] = []
    samples: list[dict[str, object]] = []
    for line in lines:
        if re.match(r"\d{1,9}\s+\S", line):
            index, node = int(line.split()[0]), _index(_cell(line, columns, "Node"))
            agent_id = index if node is None else node
            agents.append(
                {"agent_id": agent_id, "kind": "GPU", "vendor": "AMD", "name": None, "logical_index": index}
            )
            for column, metric in {"Temp": temperature, **_TABLE}.items():
                value = _value(metric, _cell(line, columns, column))
                samples += [] if value is None else [_sample(agent_id, None, metric, value)]
        elif agents and re.match(r" {4,}[A-Za-z]", line):
            agents[-1]["name"] = line.strip()
    return _finished(source, "rocm-smi", agents, samples, losses)


def _columns(header: str) -> dict[str, tuple[int, int]]:
    """Where each column of a table starts and ends."""
    names = [(match.group(), match.start()) for match in re.finditer(r"\S+", header)]
    ends = [start for _, start in names[1:]] + [len(header) + 80]
    return {name: (start, end) for (name, start), end in zip(names, ends, strict=True)}


def _cell(line: str, columns: dict[str, tuple[int, int]], name: str) -> str:
    start, end = columns.get(name, (0, 0))
    return line[start:end].strip()


def _gpus_of_text(text: str) -> Iterator[Gpu]:
    """Indented `KEY: value` lines; every `GPU: n` starts a GPU."""
    index: int | None = None
    facts: Facts = {}
    branch: list[tuple[int, str]] = []
    for line in text.splitlines():
        match = _LINE.fullmatch(line.rstrip())
        if not match:
            continue
        indent, key, value = len(match.group(1)), match.group(2), match.group(3)
        if key == "GPU" and indent == 0:
            if index is not None:
                yield index, facts
            index, facts, branch = _index(value), {}, []
            continue
        branch = [(depth, name) for depth, name in branch if depth < indent][:_DEEPEST]
        if value:
            facts.setdefault("/".join([*(name for _, name in branch), key]), value)
        else:
            branch.append((indent, key))
    if index is not None:
        yield index, facts


def _flat(entry: Mapping[str, Any], path: str = "", depth: int = 0) -> Iterator[tuple[str, str]]:
    """Leaves of a JSON tree; {"value": 120, "unit": "W"} is one leaf, `120 W`."""
    for key, value in entry.items():
        place = f"{path}/{key}".lstrip("/").upper()
        if isinstance(value, dict) and "value" in value and not isinstance(value["value"], dict | list):
            yield place, f"{value['value']} {value.get('unit') or ''}".strip()
        elif isinstance(value, dict) and depth < _DEEPEST:
            yield from _flat(value, place, depth + 1)
        elif isinstance(value, str | int | float):
            yield place, str(value)


def _gpus_of_cards(cards: Mapping[str, Any]) -> Iterator[Gpu]:
    for card, facts in cards.items():
        index = _index(card.removeprefix("card"))
        if index is not None and isinstance(facts, dict):
            yield (
                index,
                {name: str(value) for name, value in facts.items() if isinstance(value, str | int | float)},
            )


def _part(source: Source, tool: str, gpus: list[Gpu], losses: list[Loss]) -> Part:
    agents, samples = [], []
    for index, facts in gpus:
        row = _agent(index, facts)
        agents.append(row)
        for name, text in facts.items():
            sensor = (
                sensor_of(name) if tool == "rocm-smi" else None
            )  # its JSON has the column names of its CSV
            metric = sensor.metric if sensor else _SENSORS.get(name)
            value = _value(metric, text, sensor.scale if sensor else None) if metric else None
            if metric and value is not None:
                samples.append(_sample(int(str(row["agent_id"])), _time(facts), metric, value))
    described = [row for row in agents if len([value for value in row.values() if value is not None]) > 4]
    return _finished(source, tool, described, samples, losses)


def _finished(
    source: Source,
    tool: str,
    agents: list[dict[str, object]],
    samples: list[dict[str, object]],
    losses: list[Loss],
) -> Part:
    if not agents and not samples:
        raise EmptyCaptureError(
            f"{source.name} describes no GPU", f"every value that {tool} printed is missing or N/A"
        )
    tables = {
        "agents": pl.DataFrame(agents, infer_schema_length=None),
        "samples": pl.DataFrame(samples, infer_schema_length=None),
    }
    if agents:
        tables["agents"] = tables["agents"].unique("agent_id", keep="first", maintain_order=True)
    timed = any(sample["time_ns"] is not None for sample in samples)
    return part(tool, tables, losses, clock="epoch" if timed else "unknown")


def _agent(index: int, facts: Facts) -> dict[str, object]:
    """The agent of a GPU. `amd-smi list` gives the HSA node; elsewhere amd-smi's own number identifies the GPU."""
    node = _index(facts.get("NODE_ID"))
    levels = [name for name in facts if name.startswith(_CLOCK_LEVELS)]
    return {
        "agent_id": index if node is None else node,
        "kind": "GPU",
        "vendor": "AMD",
        "logical_index": index,
        "gfx": _unless_placeholder(facts.get("ASIC/TARGET_GRAPHICS_VERSION") or facts.get("GFX Version")),
        "name": _unless_placeholder(
            facts.get("ASIC/MARKET_NAME") or facts.get("Card Series") or facts.get("Card series")
        ),
        "uuid": _unless_placeholder(facts.get("UUID")),
        "cu_count": _index(facts.get("ASIC/NUM_COMPUTE_UNITS")),
        "memory_bytes": int(_value("vram_total_bytes", facts.get("VRAM/SIZE", "")) or 0) or None,
        "clock_mhz": max(filter(None, (_value("clock_mhz", facts[name]) for name in levels)), default=None),
    }


def _sample(agent_id: int, time: int | None, metric: str, value: float) -> dict[str, object]:
    return {"time_ns": time, "agent_id": agent_id, "metric": metric, "value": value, "unit": unit_of(metric)}


def _value(metric: str, text: str, unitless: float | None = None) -> float | None:
    match = _QUANTITY.fullmatch(text.strip())
    if not match:
        return None
    number, unit = match.groups()
    scale = scale_of(unit) if unit else unitless_scale(metric) if unitless is None else unitless
    return None if scale is None else float(number) * scale


def _time(facts: Facts) -> int | None:
    text = facts.get("TIMESTAMP", "")
    return int(text) * 1_000_000_000 if re.fullmatch(r"[1-8]\d{9}", text) else None


def _index(value: object) -> int | None:
    text = str(value).strip() if value is not None else ""
    return int(text) if re.fullmatch(r"\d{1,9}", text) else None


def _unless_placeholder(text: str | None) -> str | None:
    return None if text is None or text.strip().upper() in _UNKNOWN else text.strip()


def _is_text(peek: Peek) -> bool:
    return not peek.is_binary and bool(
        re.search(r"^GPU: \d+\s*\n +[A-Z][A-Z0-9_]*:", peek.text, re.MULTILINE)
    )


def _is_json(peek: Peek) -> bool:
    start = re.sub(r"\s+", "", peek.text[:4096])
    if re.match(r'(\[|\{"gpu_data":\[)\{("timestamp":[^,]{1,40},)?"gpu":\d+,', start):
        return True
    return bool(re.match(r'\{"card\d+":\{"', start))


ADAPTERS = (
    Adapter(
        name="amd-smi-text",
        title="amd-smi list, static, metric",
        recognised_by="lines `GPU: n` with indented KEY: value below",
        claims=_is_text,
        read=read_text,
        fills=("agents", "samples"),
    ),
    Adapter(
        name="amd-smi-json",
        title="amd-smi --json and rocm-smi --json",
        recognised_by='JSON entries that start with "gpu", or keys card0, card1',
        claims=_is_json,
        read=read_json,
        fills=("agents", "samples"),
    ),
    Adapter(
        name="rocm-smi-table",
        title="rocm-smi's concise table",
        recognised_by="the heading ROCm System Management Interface",
        claims=lambda peek: not peek.is_binary and "= ROCm System Management Interface =" in peek.text,
        read=read_table,
        fills=("agents", "samples"),
    ),
)
