"""Which GPU of the catalogue a recording was made on, and where the recording overrides the catalogue.

The name decides; without one, the chip (gfx), its compute units, its memory and its clock do. What the recording says
about the machine overrides what the catalogue says about the product.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from rocm_perf.arch import catalog
from rocm_perf.arch.gpu import Gpu, Source

RECORDING = Source(title="recording", note="what the recording says about the machine")
_SCALED = Source(
    title="recording", note="the catalogue's number, scaled to what the recording says about the machine"
)
_MEMORY_SLACK = 0.06  # firmware and ECC keep some of it from the runtime

Agent = Mapping[str, Any]  # a row of the table `agents`


class Override(msgspec.Struct, frozen=True):
    """A value of the catalogue that the recording overrides."""

    field: str
    catalogue: Any
    recording: Any

    def __str__(self) -> str:
        return f"{self.field}: {self.recording} in the recording, {self.catalogue} in the catalogue"


class Match(msgspec.Struct, frozen=True):
    """The GPU of an agent. Without a `gpu`, `reason` says why."""

    gpu: Gpu | None = None
    identified_by: str = ""
    ambiguous: tuple[str, ...] = ()  # other GPUs that it could be
    share: float = 1.0  # of the compute units of the whole product
    overrides: tuple[Override, ...] = ()
    notes: tuple[str, ...] = ()
    reason: str = ""


def match(agent: Agent) -> Match:
    """The GPU of one row of the table `agents`."""
    named = catalog.gpus_named(_product(agent))
    if named:
        kept, identified_by = _narrowed(named, agent)
        return _adapted(kept, agent, f"the name {agent['name']!r}" + _also(identified_by))
    gfx = agent.get("gfx")
    if not gfx:
        return Match(
            reason=f"{_called(agent)} has neither a recorded architecture nor a name that the catalogue knows"
        )
    if not catalog.gpus_of(gfx):
        return Match(reason=f"the catalogue has no {gfx} (it has {', '.join(catalog.known_gfx())})")
    return _by_chip(catalog.gpus_of(gfx), agent, gfx)


def _by_chip(known: Sequence[Gpu], agent: Agent, gfx: str) -> Match:
    units = agent.get("cu_count")
    if units is None:
        return Match(reason=f"{_called(agent)} is {gfx}, but its number of compute units was not recorded")
    whole = [gpu for gpu in known if gpu.compute_units == units]
    fitting = whole or [gpu for gpu in known if _is_partition(gpu, units)]
    if not fitting:
        sizes = ", ".join(f"{gpu.name} {gpu.compute_units}" for gpu in known)
        return Match(reason=f"no {gfx} in the catalogue has {units} compute units ({sizes})")
    kept, identified_by = _narrowed(fitting, agent)
    return _adapted(kept, agent, f"{gfx} with {units} compute units" + _also(identified_by))


def _is_partition(gpu: Gpu, units: int) -> bool:
    """Whether this many units are an equal part of its dies (the partition modes of MI300: CPX, QPX, TPX, DPX)."""
    dies, rest = divmod(units * gpu.dies, gpu.compute_units)
    return rest == 0 and 0 < dies < gpu.dies and gpu.dies % dies == 0


def _narrowed(known: Sequence[Gpu], agent: Agent) -> tuple[list[Gpu], list[str]]:
    """The GPUs that fit what else is recorded, and what ruled out others; a property that fits none is ignored."""
    kept, identified_by = list(known), []
    tests: dict[str, Callable[[Gpu], bool]] = {
        "compute units": lambda gpu: gpu.compute_units == agent.get("cu_count"),
        "memory": lambda gpu: _memory_fits(gpu, agent),
        "clock": lambda gpu: gpu.clock_mhz == agent.get("clock_mhz"),
    }
    for name, fits in tests.items():
        fitting = [gpu for gpu in kept if fits(gpu)]
        if fitting and len(fitting) < len(kept):
            kept = fitting
            identified_by.append(name)
    return kept, identified_by


def _memory_fits(gpu: Gpu, agent: Agent) -> bool:
    """Whether the memory is that of the GPU, or the same share of it as of the compute units."""
    recorded = agent.get("memory_bytes")
    if gpu.memory_bytes is None or recorded is None:
        return False
    of_memory = recorded / gpu.memory_bytes
    return any(abs(of_memory / share - 1) < _MEMORY_SLACK for share in (1, _share(gpu, agent)))


def _adapted(kept: Sequence[Gpu], agent: Agent, identified_by: str) -> Match:
    gpu = kept[0]
    share = _share(gpu, agent)
    part, notes = (gpu, []) if share == 1 else _part(gpu, share, agent)
    live, overrides = _overridden(gpu, part, agent)
    return Match(
        gpu=live,
        identified_by=identified_by,
        ambiguous=tuple(other.name for other in kept[1:]),
        share=share,
        overrides=overrides,
        notes=(*notes, *_name_notes(agent), *_clock_notes(gpu, agent), *_die_notes(part, agent)),
    )


def _share(gpu: Gpu, agent: Agent) -> float:
    """Share of the compute units: below 1 for a partition (MI300), an instance (MIG), or units switched off."""
    return min(1.0, (agent.get("cu_count") or gpu.compute_units) / gpu.compute_units)


def _part(gpu: Gpu, share: float, agent: Agent) -> tuple[Gpu, list[str]]:
    """A part of a GPU: rates follow its compute units, bandwidth and last-level cache its memory, if recorded."""
    if _is_undivided(gpu, agent):
        return _fewer_units(gpu, share, agent)
    memory = agent.get("memory_bytes")
    of_memory = min(1.0, memory / gpu.memory_bytes) if memory and gpu.memory_bytes else share
    if of_memory > 1 - _MEMORY_SLACK:
        of_memory = 1.0
    dies = max(1, round(gpu.dies * share))
    units = round(gpu.compute_units * share)
    part = msgspec.structs.replace(
        gpu,
        dies=dies,
        vector_tflops=_times(gpu.vector_tflops, share),
        matrix_tflops=_times(gpu.matrix_tflops, share),
        memory_gbps=gpu.memory_gbps * of_memory,
        l2_bytes=_part_of(gpu.l2_bytes, dies / gpu.dies),
        l2_channels=_part_of(gpu.l2_channels, dies / gpu.dies),
        last_level_bytes=_part_of(gpu.last_level_bytes, of_memory),
        board_power_w=None,
        links=None,  # partitions share them, and those of one GPU do without
    )
    notes = [
        f"{units} of the {gpu.compute_units} compute units of {gpu.name}, a partition or a part of it: "
        f"rates are {share:.1%} of the whole, bandwidth {of_memory:.1%} (more if the others are idle and share memory)"
    ]
    scaled = (
        "vector_tflops", "matrix_tflops", "memory_gbps", "l2_bytes", "l2_channels", "last_level_bytes", "dies",
    )  # fmt: skip
    return _sourced(part, scaled, _SCALED), notes


def _is_undivided(gpu: Gpu, agent: Agent) -> bool:
    """Whether the recorded modes say that all dies and all of the memory are one GPU, whatever its compute units."""
    dies = agent.get("xcc_count") or gpu.dies
    memory = agent.get("memory_partition") or "NPS1"
    return agent.get("compute_partition") == "SPX" and memory == "NPS1" and bool(dies == gpu.dies)


def _fewer_units(gpu: Gpu, share: float, agent: Agent) -> tuple[Gpu, list[str]]:
    """An undivided GPU with fewer compute units than it has: rates follow them, memory and caches do not."""
    part = msgspec.structs.replace(
        gpu,
        vector_tflops=_times(gpu.vector_tflops, share),
        matrix_tflops=_times(gpu.matrix_tflops, share),
    )
    notes = [
        f"compute units: {agent.get('cu_count')} in the recording, which its partition mode SPX contradicts: all of "
        f"{gpu.name} has {gpu.compute_units}; rates are {share:.1%} of the whole, bandwidth and dies are those of all"
    ]
    return _sourced(part, ("vector_tflops", "matrix_tflops"), _SCALED), notes


def _overridden(whole: Gpu, part: Gpu, agent: Agent) -> tuple[Gpu, tuple[Override, ...]]:
    live = {
        "gfx": agent.get("gfx"),
        "compute_units": agent.get("cu_count"),
        "dies": part.dies if agent.get("xcc_count") == part.dies else None,
        "clock_mhz": agent.get("clock_mhz"),
        "memory_bytes": agent.get("memory_bytes"),
        "wave_sizes": _wave_sizes(whole, agent.get("wave_size")),
    }
    changed = {name: value for name, value in live.items() if value and value != getattr(whole, name)}
    faster = (agent.get("clock_mhz") or 0) / whole.clock_mhz
    if faster > 1:
        part = msgspec.structs.replace(
            part,
            vector_tflops=_times(part.vector_tflops, faster),
            matrix_tflops=_times(part.matrix_tflops, faster),
        )
        part = _sourced(part, ("vector_tflops", "matrix_tflops"), _SCALED)
    gpu = _sourced(msgspec.structs.replace(part, **changed), tuple(changed), RECORDING)
    return gpu, tuple(Override(name, getattr(whole, name), value) for name, value in changed.items())


def _die_notes(part: Gpu, agent: Agent) -> list[str]:
    """Some tools write 1, or the dies of the whole product, for any partition: trust the compute units."""
    dies = agent.get("xcc_count")
    if not dies or dies == part.dies:
        return []
    return [f"dies: {dies} in the recording, which its compute units contradict; {part.dies} is used"]


def _name_notes(agent: Agent) -> list[str]:
    if not agent.get("name") or catalog.gpus_named(_product(agent)):
        return []
    return [f"the catalogue has no GPU named {agent['name']!r}"]


def _clock_notes(gpu: Gpu, agent: Agent) -> list[str]:
    """Rates rise with a higher clock but do not fall with a lower one: RDNA 4 reports its game clock as the highest."""
    clock = agent.get("clock_mhz")
    if not clock or clock == gpu.clock_mhz:
        return []
    if clock > gpu.clock_mhz:
        return [f"rates are those of the recorded clock, {clock:g} MHz instead of {gpu.clock_mhz:g}"]
    return [f"the recorded clock is {clock:g} MHz; rates are those of the catalogue's {gpu.clock_mhz:g}"]


def _wave_sizes(gpu: Gpu, recorded: int | None) -> tuple[int, ...] | None:
    if recorded not in gpu.wave_sizes:
        return None
    return (recorded, *(size for size in gpu.wave_sizes if size != recorded))


def _sourced(gpu: Gpu, fields: Sequence[str], source: Source) -> Gpu:
    """The GPU with `source` as the source of these fields and their entries."""
    sources = {path: source if path.split(".")[0] in fields else known for path, known in gpu.sources.items()}
    sources.update({field: source for field in fields if not isinstance(getattr(gpu, field), Mapping)})
    return msgspec.structs.replace(gpu, sources=sources)


def _times(rates: Mapping[str, float], factor: float) -> dict[str, float]:
    return {dtype: rate * factor for dtype, rate in rates.items()}


def _part_of(amount: int | None, share: float) -> int | None:
    return None if amount is None else round(amount * share)


def _also(identified_by: Sequence[str]) -> str:
    return f" and its {' and '.join(identified_by)}" if identified_by else ""


def _product(agent: Agent) -> str:
    """The name of the whole GPU: `NVIDIA H100 80GB HBM3 MIG 1g.10gb` is an instance of one."""
    return (agent.get("name") or "").partition(" MIG ")[0]


def _called(agent: Agent) -> str:
    return f"{agent['name']!r}" if agent.get("name") else "the device"
