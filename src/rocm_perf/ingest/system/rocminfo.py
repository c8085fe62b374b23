"""rocminfo, and the sysinfo.txt of rocprof v1 that holds it: the CPUs and GPUs of a machine. Their id is the
HSA node, as in rocprofv3's agent_info."""

from __future__ import annotations

import re

import msgspec
import polars as pl

from rocm_perf.errors import EmptyCaptureError
from rocm_perf.ingest.io.source import Source
from rocm_perf.ingest.part import Adapter, Part, part
from rocm_perf.ingest.peek import Peek
from rocm_perf.model.run import Loss

_ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_AGENT = re.compile(r"Agent\s+\d+\s*")
_PLACEHOLDERS = ("", "CPU-XX", "GPU-XX", "N/A")


class _Agent(msgspec.Struct):
    """What rocminfo prints about one agent: the first value of each key, and the size of its memory pools."""

    values: dict[str, str] = msgspec.field(default_factory=dict)
    pools: dict[str, int] = msgspec.field(default_factory=dict)
    segment: str = ""

    def take(self, key: str, value: str) -> None:
        self.values.setdefault(key, value)  # ISA entries repeat keys such as Name further down
        if key == "Segment":
            self.segment = value
        elif key == "Size" and self.segment:
            size = _number(value)
            if size:
                self.pools.setdefault(self.segment, 1024 * size)  # in KB


def read(source: Source) -> Part:
    content = source.read()
    losses = [Loss(source.name, content.damage)] if content.damage else []
    text = _ANSI.sub("", content.data.decode("utf-8", "replace"))
    rows = [_row(agent, number) for number, agent in enumerate(_agents(text))]
    if not rows:
        raise EmptyCaptureError(
            f"{source.name} lists no agent", "rocminfo found none, or its output is truncated"
        )
    agents = [row for row in rows if row["kind"]]
    if len(agents) < len(rows):
        losses.append(Loss(source.name, "agents whose description breaks off", len(rows) - len(agents)))
    table = pl.DataFrame(agents, infer_schema_length=None) if agents else pl.DataFrame()
    return part("rocminfo", {"agents": _numbered(table)}, losses, tool_version=_runtime_version(text))


def _agents(text: str) -> list[_Agent]:
    agents: list[_Agent] = []
    for line in text.splitlines():
        if _AGENT.fullmatch(line):
            agents.append(_Agent())
            continue
        key, colon, value = line.partition(":")
        if agents and colon:
            agents[-1].take(key.strip(), value.strip(" \t:\\"))
    return agents


def _row(agent: _Agent, number: int) -> dict[str, object]:
    values = agent.values
    kind = values.get("Device Type", "")
    is_gpu = kind == "GPU"
    cus, simds = _number(values.get("Compute Unit", "")), _number(values.get("SIMDs per CU", ""))
    waves = _number(values.get("Max Waves Per CU", ""))
    node = _number(values.get("Node", ""))
    return {
        "agent_id": number if node is None else node,
        "kind": kind or None,
        "gfx": values["Name"] if values.get("Name", "").startswith("gfx") else None,
        "name": values.get("Marketing Name") or values.get("Name"),
        "vendor": _unless_placeholder(values.get("Vendor Name")),
        "uuid": _unless_placeholder(values.get("Uuid")),
        "cu_count": cus if is_gpu else None,
        "simd_count": cus * simds if is_gpu and cus and simds else None,
        "wave_size": _number(values.get("Wavefront Size", "")),
        "max_waves_per_simd": waves // simds if waves and simds else None,
        "lds_bytes": agent.pools.get("GROUP"),
        "memory_bytes": max(
            (size for segment, size in agent.pools.items() if segment.startswith("GLOBAL")), default=None
        ),
        "clock_mhz": _positive(values.get("Max Clock Freq. (MHz)", "")),
    }


def _numbered(table: pl.DataFrame) -> pl.DataFrame:
    """The agents, each with its index among those of its kind."""
    if not table.height:
        return table
    table = table.unique("agent_id", keep="first", maintain_order=True)
    return table.with_columns(logical_index=pl.int_range(pl.len(), dtype=pl.Int64).over("kind"))


def _number(value: str) -> int | None:
    """The number in a text like `304(0x130)` or `304`."""
    match = re.match(r"\d{1,15}", value)
    return int(match.group()) if match else None


def _positive(value: str) -> float | None:
    return float(_number(value) or 0) or None


def _unless_placeholder(value: str | None) -> str | None:
    return None if value is None or value in _PLACEHOLDERS else value


def _runtime_version(text: str) -> str | None:
    match = re.search(r"^Runtime Version:\s*(\S+)", text, re.MULTILINE)
    return match.group(1) if match else None


def _claims(peek: Peek) -> bool:
    marks = ("HSA System Attributes", "HSA Agents")
    return not peek.is_binary and any(re.search(rf"^{mark}\s*$", peek.text, re.MULTILINE) for mark in marks)


ADAPTERS = (
    Adapter(
        name="rocminfo",
        title="rocminfo, and rocprof v1's sysinfo.txt",
        recognised_by="the headings HSA System Attributes, HSA Agents",
        claims=_claims,
        read=read,
        fills=("agents",),
    ),
)
