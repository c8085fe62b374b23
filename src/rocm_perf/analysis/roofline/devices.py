"""The GPUs of a recording, those of one model together, and on which of them each dispatch ran."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import polars as pl
from msgspec.structs import replace

from rocm_perf.analysis.basis.keys import telling
from rocm_perf.analysis.basis.shared import once_per_trace
from rocm_perf.analysis.roofline.named import named_notice
from rocm_perf.arch import catalog
from rocm_perf.arch.chip_of_counters import chips_of_counters
from rocm_perf.arch.chip_of_kernels import chip_of_kernels
from rocm_perf.arch.gpu import Gpu
from rocm_perf.arch.matching import Match, match
from rocm_perf.model.trace import Trace

NOT_RECORDED = (
    "which GPU it ran on is not recorded (rocprofv3 writes agent_info.csv, rocprof-compute sysinfo.csv: "
    "load the folder, not the one file)"
)
# Constants of formulas that every product of a chip shares; the others are of one product.
_OF_CHIP = frozenset(("wave", "lds_banks"))


class Device(msgspec.Struct, frozen=True):
    """GPUs of one model. `chip` is any product of the architecture: enough for formulas that count work."""

    name: str
    gfx: str | None
    agents: tuple[tuple[int, int], ...]  # node and agent_id
    gpu: Gpu | None
    chip: Gpu | None
    compute_units: int | None
    identified_by: str = ""
    notes: tuple[str, ...] = ()
    reason: str = ""
    may_be: tuple[str, ...] = ()  # chips among which its counters do not decide; `chip` is one of them

    @property
    def memory(self) -> str:
        """The name of the device memory."""
        return "HBM" if self.gpu is None or self.gpu.memory_kind.startswith("HBM") else "DRAM"

    def serves(self, constants: Mapping[str, float]) -> bool:
        """Whether a formula with these constants means something on it."""
        return self.gpu is not None or constants.keys() <= _OF_CHIP


_UNKNOWN = Device(
    name="unknown GPU", gfx=None, agents=(), gpu=None, chip=None, compute_units=None, reason=NOT_RECORDED
)


def devices(trace: Trace, gpu: Gpu | None = None) -> tuple[Device, ...]:
    """The GPUs by model, in recorded order; at least one. A `gpu` that is given overrides what was recorded."""
    if gpu is not None:
        return (named_device(gpu),)
    rows = trace.table("agents").filter(pl.col("kind").fill_null("GPU") == "GPU")
    groups: dict[tuple[object, ...], list[Mapping[str, Any]]] = {}
    for row in rows.iter_rows(named=True):
        groups.setdefault(_model(row), []).append(row)
    models = tuple(_as_told(_by_its_kernels(trace, device_of(members)), trace) for members in groups.values())
    if not models:
        return (_undescribed(trace),)
    return models if len(models) == 1 or _described(trace, rows) else (*models, _UNKNOWN)


def _as_told(device: Device, trace: Trace) -> Device:
    """The device, which the user named where the recording does not."""
    if device.gpu is None or named_notice(device.gpu.name) not in trace.run.notices:
        return device
    return replace(device, identified_by="you (--gpu)")


def named_device(gpu: Gpu) -> Device:
    """A GPU of the catalogue that the user named."""
    return Device(
        name=gpu.name,
        gfx=gpu.gfx,
        agents=(),
        gpu=gpu,
        chip=gpu,
        compute_units=gpu.compute_units,
        identified_by="it was named",
    )


@once_per_trace
def _undescribed(trace: Trace) -> Device:
    """A GPU that no row describes: its counters or the names of its kernels may tell the chip, but never the product:
    it has no peaks."""
    named = _by_its_kernels(trace, _UNKNOWN)
    if named.gfx is not None:
        return named
    names = trace.lazy("counters").select(pl.col("counter").unique()).collect().to_series()
    chips = chips_of_counters(names.drop_nulls())
    if not chips:
        return _UNKNOWN
    alone = chips[0] if len(chips) == 1 else None
    return replace(
        _UNKNOWN,
        name=f"unknown GPU ({' or '.join(chips)} by its counters)",
        gfx=alone,
        chip=catalog.gpus_of(chips[0])[0],
        may_be=() if alone else chips,
        identified_by="the names of its counters",
    )


def _by_its_kernels(trace: Trace, device: Device) -> Device:
    """The device with the chip that the names of its kernels tell, where nothing else tells it."""
    if device.gpu is not None or device.gfx is not None:
        return device
    kernels = trace.lazy("dispatches").select(pl.col("kernel").unique()).collect().to_series()
    chip = chip_of_kernels(kernels.drop_nulls())
    products = catalog.gpus_of(chip) if chip else ()
    if not products:
        return device
    return replace(
        device,
        name=f"unknown GPU ({chip} by the names of its kernels)",
        gfx=chip,
        chip=products[0],
        identified_by="the names of its kernels",
        reason=f"the names of its kernels tell the chip, {chip}, but not which product it ran on: name it with --gpu",
    )


def on_device(dispatches: pl.DataFrame, known: tuple[Device, ...]) -> pl.DataFrame:
    """Dispatches with `gpu`, a place among the devices: where the agent is not described, the last, which is the only
    one or stands for those that are not known."""
    rows = [(node, agent, place) for place, device in enumerate(known) for node, agent in device.agents]
    if dispatches.height and not telling(["node", "agent_id"], dispatches):
        own = dispatches.select("node", "agent_id").row(0)
        gpu = next((place for *agent, place in rows if tuple(agent) == own), len(known) - 1)
        return dispatches.with_columns(pl.lit(gpu, pl.Int32).alias("gpu"))
    schema = {"node": pl.Int32, "agent_id": pl.Int64, "gpu": pl.Int32}
    table = pl.DataFrame(rows, schema, orient="row").unique(["node", "agent_id"], keep="first")
    joined = dispatches.join(
        table, on=["node", "agent_id"], how="left", nulls_equal=True, maintain_order="left"
    )
    return joined.with_columns(pl.col("gpu").fill_null(len(known) - 1))


def _described(trace: Trace, agents: pl.DataFrame) -> bool:
    """Whether every dispatch names one of these agents."""
    ran_on = trace.lazy("dispatches").select("node", "agent_id").unique().collect()
    return ran_on.join(agents, on=["node", "agent_id"], how="anti").is_empty()


def _model(row: Mapping[str, Any]) -> tuple[object, ...]:
    return tuple(row[name] for name in ("gfx", "name", "cu_count", "clock_mhz", "memory_bytes"))


def device_of(members: Sequence[Mapping[str, Any]]) -> Device:
    """GPUs of one model, each a row of the table `agents`."""
    first = members[0]
    matched = match(first)
    gfx = matched.gpu.gfx if matched.gpu else first["gfx"]
    return Device(
        name=matched.gpu.name if matched.gpu else first["name"] or gfx or "unknown GPU",
        gfx=gfx,
        agents=tuple((row["node"], row["agent_id"]) for row in members),
        gpu=matched.gpu,
        chip=matched.gpu or next(iter(catalog.gpus_of(gfx or "")), None),
        compute_units=matched.gpu.compute_units if matched.gpu else first["cu_count"],
        identified_by=matched.identified_by,
        notes=_notes(matched),
        reason=matched.reason,
    )


def _notes(matched: Match) -> tuple[str, ...]:
    other = (f"it may also be {', '.join(matched.ambiguous)}",) if matched.ambiguous else ()
    return (*matched.notes, *other)
