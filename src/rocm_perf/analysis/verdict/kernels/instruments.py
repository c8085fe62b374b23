"""What a thread trace or PC samples say of a kernel: where its waves are stalled, and what they wait for."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from rocm_perf.analysis.basis.counters_refused import counters_refused
from rocm_perf.analysis.kernels.instructions import (
    BOTH_WAITS,
    SCALAR_WAIT,
    STORE_WAIT,
    VECTOR_WAIT,
    instruction_kind,
    stall_cause,
)
from rocm_perf.model.document import Document
from rocm_perf.model.results.bottleneck import Label
from rocm_perf.model.results.instructions import KernelInstructions, KernelSamples, SampleCount
from rocm_perf.units import format_count, format_share

STILL = 0.3  # of the cycles, or of the samples: from here on waiting is the story
HOT = 0.3  # of the samples: an instruction worth naming
_ONE = 0.5  # of the samples on one arithmetic instruction: it takes a few cycles, so its inputs come late
_CLEARLY = 2.0  # times as much as all other waits
_MEMORY = (VECTOR_WAIT, BOTH_WAITS, STORE_WAIT)
_REGISTER = re.compile(r"\bv(?:\[(\d+):(\d+)\]|(\d+))")
_NAMED = 3
_END = "s_endpgm"  # a wave that is done waits there for its stores
_CLASSES = {
    "wait": "waits for memory (s_waitcnt)",
    "barrier": "barriers (s_barrier)",
    "VMEM load": "loads",
    "VMEM store": "stores",
    "LDS": "LDS",
    "matrix": "matrix instructions",
    "VALU": "vector arithmetic",
}


class Instrument(msgspec.Struct, frozen=True):
    """`label`: the cause; `share`: of the kernel's time that the waves are stalled, at most to be gained."""

    kernel: str | None
    label: Label | None
    title: str
    evidence: tuple[str, ...]
    share: float | None
    shown_by: str  # the section that holds all of it


def instruments(document: Document) -> list[Instrument]:
    """What each traced or sampled kernel shows, the costliest first; a thread trace says more than samples."""
    traced = [_traced(row) for row in document.thread_trace.kernels if row.latency_cycles]
    have = {row.kernel for row in traced}
    countable = not counters_refused(document.run, (agent.gfx for agent in document.agents))
    sampled = [
        _sampled(row, countable=countable)
        for row in document.pc_samples.kernels
        if row.samples and row.kernel not in have
    ]
    return [*traced, *sampled]


def _traced(row: KernelInstructions) -> Instrument:
    latency = {cost.kind: cost.latency_cycles / row.latency_cycles for cost in row.classes}
    still = row.stall_cycles / row.latency_cycles
    waits = {cause.cause: cause.stall_cycles / row.latency_cycles for cause in row.causes}
    label = _label_of(_waits(waits), computing=latency.get("matrix", 0.0) + latency.get("VALU", 0.0))
    hot = [cost for cost in row.hottest if cost.kind in ("wait", "barrier")] or list(row.hottest)
    instructions = _listed([cost.text for cost in hot])
    evidence = (
        f"traced waves are stalled {format_share(still)} of the cycles of their instructions",
        f"of these cycles: {_class_words(latency)}",
        "costliest: "
        + ", ".join(f"{cost.text} ({format_share(cost.share)})" for cost in row.hottest[:_NAMED]),
    )
    return Instrument(
        kernel=row.kernel,
        label=label,
        title=_computes(latency) if label == "compute" else _is_stalled(instructions, still),
        evidence=evidence,
        share=sum(_waits(waits).values()) if label and label != "compute" else None,
        shown_by="instructions",
    )


def _computes(latency: Mapping[str, float]) -> str:
    parts = {kind: latency[kind] for kind in ("matrix", "VALU") if latency.get(kind)}
    return f"its waves spend more of their cycles computing than waiting ({_class_words(parts)})"


def _is_stalled(instructions: str, share: float) -> str:
    return f"its waves are stalled {format_share(share)} of the time, mostly at {instructions}"


def _class_words(shares: Mapping[str, float]) -> str:
    """What instructions of each class take, in the order of the table."""
    return ", ".join(
        f"{words} {format_share(shares[kind])}" for kind, words in _CLASSES.items() if shares.get(kind)
    )


def _largest(shares: Mapping[str, float]) -> dict[str, float]:
    """The three largest classes that have words."""
    named = [kind for kind in shares if kind in _CLASSES]
    return {kind: shares[kind] for kind in sorted(named, key=lambda kind: -shares[kind])[:_NAMED]}


def _waits(causes: Mapping[str, float]) -> dict[Label, float]:
    """Cycles or samples that waves are stalled, by what they wait for."""
    return {
        "memory bandwidth": sum(causes.get(name, 0.0) for name in _MEMORY),
        "LDS": causes.get(SCALAR_WAIT, 0.0),
        "waiting": causes.get("barrier", 0.0),
    }


def _label_of(waits: Mapping[Label, float], computing: float) -> Label | None:
    """The wait that clearly leads; memory latency where none does; compute where waves work."""
    total = sum(waits.values())
    if computing >= max(total, STILL):
        return "compute"
    if total < STILL:
        return None
    most = max(waits, key=lambda label: waits[label])
    return most if waits[most] >= _CLEARLY * (total - waits[most]) else "memory latency"


def _sampled(row: KernelSamples, *, countable: bool) -> Instrument:
    instructions = _by_text(row.instructions)
    working = [count for count in instructions if count.name != _END]
    top = (working or instructions)[0]
    loaded = _loaded_by(top, instructions)
    classes = {count.name: count.share for count in row.classes}
    label: Label | None
    if top.share >= _ONE and instruction_kind(top.name) == "VALU":
        label = "memory bandwidth" if loaded else "memory latency" if _waits_seen(classes) else None
    else:
        computing = classes.get("VALU", 0.0) + classes.get("matrix", 0.0)
        label = _label_of(_sampled_waits(classes, instructions), computing)
    hot = f"{format_share(top.share)} of its samples are at {top.name}"
    return Instrument(
        kernel=row.kernel,
        label=label,
        title=hot if top.share >= HOT else f"its samples: {_class_words(_largest(classes))}",
        evidence=tuple(_sample_evidence(row, top, loaded, countable=countable)),
        share=None,
        shown_by="pc-samples",
    )


def _waits_seen(classes: Mapping[str, float]) -> bool:
    """Whether any sample lies at something that takes or awaits data."""
    return any(classes.get(kind) for kind in ("wait", "barrier", "VMEM load", "VMEM store", "LDS", "SMEM"))


def _sampled_waits(classes: Mapping[str, float], instructions: Sequence[SampleCount]) -> dict[Label, float]:
    """Samples at waits, barriers and memory instructions; waits are for what those listed wait for."""
    causes: dict[str, float] = {}
    for count in instructions:
        causes[stall_cause(count.name)] = causes.get(stall_cause(count.name), 0.0) + count.share
    memory, scalar = sum(causes.get(name, 0.0) for name in _MEMORY), causes.get(SCALAR_WAIT, 0.0)
    for_memory = classes.get("wait", 0.0) * (memory / (memory + scalar) if memory + scalar else 1.0)
    return {
        "memory bandwidth": for_memory + classes.get("VMEM load", 0.0) + classes.get("VMEM store", 0.0),
        "LDS": classes.get("wait", 0.0) - for_memory + classes.get("LDS", 0.0),
        "waiting": classes.get("barrier", 0.0),
    }


def _by_text(counts: Sequence[SampleCount]) -> list[SampleCount]:
    """The samples of each instruction, wherever it stands in the source; most samples first."""
    merged: dict[str, SampleCount] = {}
    for count in counts:
        before = merged.get(count.name)
        merged[count.name] = count if before is None else _sum(before, count)
    return sorted(merged.values(), key=lambda count: -count.samples)


def _sum(one: SampleCount, other: SampleCount) -> SampleCount:
    """Both together, at the source line of the one with more samples."""
    larger = max(one, other, key=lambda count: count.samples)
    return SampleCount(
        name=one.name,
        samples=one.samples + other.samples,
        share=one.share + other.share,
        source=larger.source,
    )


def _sample_evidence(row: KernelSamples, top: SampleCount, loaded: str, *, countable: bool) -> Iterator[str]:
    where = f" ({top.source})" if top.source else ""
    samples = format_count(row.samples, "sample of its program counter", "samples of its program counter")
    yield f"{top.samples:,} of {samples} are at {top.name}{where}"
    if loaded:
        yield f"it uses what {loaded} loads: waves wait there for memory, not for arithmetic"
    elif top.share >= _ONE and instruction_kind(top.name) == "VALU":
        seen = _waits_seen({count.name: count.share for count in row.classes})
        yield _at_arithmetic(waits_seen=seen, countable=countable)
    if row.issued.value is not None:
        yield f"waves issued an instruction in {format_share(float(row.issued.value))} of the samples"
    reasons = ", ".join(f"{count.name} {format_share(count.share)}" for count in row.stall_reasons[:_NAMED])
    if reasons:
        yield f"why waves were stalled, of the samples that issued nothing: {reasons}"
    elif row.stall_reasons_unavailable:
        yield row.stall_reasons_unavailable


def _at_arithmetic(*, waits_seen: bool, countable: bool) -> str:
    """What most samples at one arithmetic instruction mean; `countable`: counters that would tell can be recorded."""
    if waits_seen:
        return "one such instruction takes a few cycles: waves wait there for its inputs"
    more = "; counters tell (rocm-perf profile --preset compute -- APP)" if countable else ""
    return (
        "whether waves wait there for its inputs or compute is not known: no load and no wait was sampled"
        + more
    )


def _loaded_by(top: SampleCount, instructions: Sequence[SampleCount]) -> str:
    """The vector load whose result an instruction uses; empty if none was seen."""
    if instruction_kind(top.name) != "VALU":
        return ""
    used = set().union(*_operands(top.name)[1:]) if len(_operands(top.name)) > 1 else set()
    for count in instructions:
        operands = _operands(count.name)
        if instruction_kind(count.name) == "VMEM load" and operands and used & operands[0]:
            return count.name
    return ""


def _operands(text: str) -> list[set[int]]:
    """The vector registers of each operand: `v_add_f32 v0, v0, v[2:3]` -> [{0}, {0}, {2, 3}]."""
    _, _, operands = text.partition(" ")
    return [_registers(operand) for operand in operands.split(",")]


def _registers(operand: str) -> set[int]:
    registers: set[int] = set()
    for first, last, single in _REGISTER.findall(operand):
        registers |= {int(single)} if single else set(range(int(first), min(int(last), int(first) + 64) + 1))
    return registers


def _listed(texts: Sequence[str]) -> str:
    """The first two different ones."""
    return " and ".join(list(dict.fromkeys(texts))[:2])
