"""What a thread trace or PC samples say of a kernel: where its waves stand still, and what they wait for."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

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
_WORKING = 0.5
_CLEARLY = 2.0  # times as much as all other waits
_MEMORY = (VECTOR_WAIT, BOTH_WAITS, STORE_WAIT)
_REGISTER = re.compile(r"\bv(?:\[(\d+):(\d+)\]|(\d+))")
_NAMED = 3


@dataclass(frozen=True)
class Instrument:
    """`label`: the cause; `share`: of the kernel's time that the waves stand still, at most to be gained."""

    kernel: str | None
    label: Label | None
    title: str
    evidence: tuple[str, ...]
    share: float | None


def instruments(document: Document) -> list[Instrument]:
    """What each traced or sampled kernel shows, the costliest first; a thread trace says more than samples."""
    traced = [_traced(row) for row in document.thread_trace.kernels if row.latency_cycles]
    have = {row.kernel for row in traced}
    sampled = [_sampled(row) for row in document.pc_samples.kernels if row.samples and row.kernel not in have]
    return [*traced, *sampled]


def _traced(row: KernelInstructions) -> Instrument:
    latency = {cost.kind: cost.latency_cycles / row.latency_cycles for cost in row.classes}
    still = row.stall_cycles / row.latency_cycles
    waits = {cause.cause: cause.stall_cycles / row.latency_cycles for cause in row.causes}
    label = _label_of(_waits(waits), computing=latency.get("matrix", 0.0) + latency.get("VALU", 0.0))
    hot = [cost for cost in row.hottest if cost.kind in ("wait", "barrier")] or list(row.hottest)
    instructions = _listed([cost.text for cost in hot])
    evidence = (
        f"traced waves stand still {format_share(still)} of the cycles of their instructions",
        _class_words(latency),
        "costliest: "
        + ", ".join(f"{cost.text} ({format_share(cost.share)})" for cost in row.hottest[:_NAMED]),
    )
    return Instrument(
        kernel=row.kernel,
        label=label,
        title=_stands_still(instructions, still)
        if label != "compute"
        else "its waves compute most of the time",
        evidence=evidence,
        share=sum(_waits(waits).values()) if label and label != "compute" else None,
    )


def _stands_still(instructions: str, share: float) -> str:
    return f"its waves stand still {format_share(share)} of the time, mostly at {instructions}"


def _class_words(latency: Mapping[str, float]) -> str:
    names = {
        "wait": "waits for memory (s_waitcnt)",
        "barrier": "barriers (s_barrier)",
        "matrix": "matrix instructions",
        "VALU": "vector arithmetic",
    }
    parts = [f"{words} {format_share(latency[kind])}" for kind, words in names.items() if kind in latency]
    return f"of these cycles: {', '.join(parts)}"


def _waits(causes: Mapping[str, float]) -> dict[Label, float]:
    """Cycles or samples that waves stand still, by what they wait for."""
    return {
        "memory bandwidth": sum(causes.get(name, 0.0) for name in _MEMORY),
        "LDS": causes.get(SCALAR_WAIT, 0.0),
        "waiting": causes.get("barrier", 0.0),
    }


def _label_of(waits: Mapping[Label, float], computing: float) -> Label | None:
    """The wait that clearly leads; memory latency where none does; compute where waves work."""
    total = sum(waits.values())
    if total < STILL:
        return "compute" if computing >= _WORKING else None
    most = max(waits, key=lambda label: waits[label])
    return most if waits[most] >= _CLEARLY * (total - waits[most]) else "memory latency"


def _sampled(row: KernelSamples) -> Instrument:
    instructions = _by_text(row.instructions)
    top = instructions[0]
    causes = _sampled_causes(instructions)
    loaded = _loaded_by(top, instructions)
    classes = {count.name: count.share for count in row.classes}
    computing = classes.get("VALU", 0.0) + classes.get("matrix", 0.0)
    label: Label | None
    if top.share >= _ONE and instruction_kind(top.name) == "VALU":
        label = "memory bandwidth" if loaded else "memory latency"
    else:
        label = _label_of(_waits(causes), computing)
    return Instrument(
        kernel=row.kernel,
        label=label,
        title=f"{format_share(top.share)} of its samples are at {top.name}",
        evidence=tuple(_sample_evidence(row, top, loaded)),
        share=None,
    )


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


def _sampled_causes(instructions: Sequence[SampleCount]) -> dict[str, float]:
    causes: dict[str, float] = {}
    for count in instructions:
        cause = stall_cause(count.name)
        causes[cause] = causes.get(cause, 0.0) + count.share
    return causes


def _sample_evidence(row: KernelSamples, top: SampleCount, loaded: str) -> Iterator[str]:
    where = f" ({top.source})" if top.source else ""
    samples = format_count(row.samples, "sample of its program counter", "samples of its program counter")
    yield f"{top.samples:,} of {samples} are at {top.name}{where}"
    if loaded:
        yield f"it uses what {loaded} loads: waves wait there for memory, not for arithmetic"
    elif top.share >= _ONE and instruction_kind(top.name) == "VALU":
        yield "one such instruction takes a few cycles: waves wait there for its inputs"
    reasons = ", ".join(f"{count.name} {format_share(count.share)}" for count in row.stall_reasons[:_NAMED])
    if reasons:
        yield f"why waves stood still, of the samples that issued nothing: {reasons}"
    elif row.stall_reasons_unavailable:
        yield row.stall_reasons_unavailable


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
