"""One kernel against the ceilings of its GPU: its work, its rates, and how near it comes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from rocm_perf.analysis.basis.names import short_name
from rocm_perf.analysis.roofline.amounts import COUNTERS, EMULATED, LEVELS, MEMORY, SHAPES, Known
from rocm_perf.analysis.roofline.devices import Device
from rocm_perf.analysis.roofline.direct import SM
from rocm_perf.analysis.roofline.regime import NEAR, NEAR_DATA_SHEET, Percent, verdict
from rocm_perf.model.machine_ceilings import MATRIX, VECTOR
from rocm_perf.model.quantity import Quantity, unavailable
from rocm_perf.model.results.roofline import Ceiling, KernelRoofline, Spread, WorkPart
from rocm_perf.units import format_bytes

_TFLOPS, _TBYTES = "FLOPs / time / 1000", "bytes / time / 1000"
_INTENSITY = "FLOPs / bytes"
_PERCENT = "100 * amount / ceiling / time"
_OF_ROOF = "100 * least time at the ceilings / time; dtypes of one unit add up, the largest of units and levels counts"
_APART = "no dispatch has both its operations and its bytes known"
_ROOF = "FLOPs / least time at the ceilings / 1000"
AT_LEAST_FLOPS = "at least:"  # before the reason why some operations are not among the FLOPs
NO_CEILING = "no peak of {name} is known for {gpu}"


class Amount(msgspec.Struct, frozen=True):
    """A kind of work as a mean over the dispatches of which it is known, with their time."""

    ceiling: str
    value: float
    known: Known
    time_ns: Quantity
    dispatches: int = 1
    few: str | None = None  # that they take little of the kernel's time

    @property
    def doubt(self) -> str | None:
        return _together(self.known.doubt, self.few)

    @property
    def quantity(self) -> Quantity:
        known = self.known
        return Quantity(
            value=self.value, unit=known.unit, formula=known.formula, inputs=known.inputs, doubt=self.doubt
        )

    @property
    def is_level(self) -> bool:
        return self.ceiling in LEVELS


class Facts(msgspec.Struct, frozen=True):
    """Everything that is known of one kernel. `whole`: its amounts over the dispatches of which all of them are known,
    which alone may be related to each other."""

    kernel: str
    gpu: int
    calls: int
    total_ns: int
    dispatches: int
    time_ns: Quantity
    amounts: Sequence[Amount]
    whole: Sequence[Amount]
    all_flops: bool
    no_flops: str  # why some operations are not known
    no_bytes: str
    direct: Mapping[str, Quantity] = msgspec.field(default_factory=dict)
    spread: Spread | None = None
    evidence: Mapping[str, Quantity] = msgspec.field(default_factory=dict)
    notes: tuple[str, ...] = ()


def kernel_roofline(facts: Facts, device: Device, ceilings: Mapping[str, Ceiling]) -> KernelRoofline:
    flops, moved = _flops(facts, facts.amounts), _moved(facts, device)
    work = tuple(_part(amount, facts, device, ceilings) for amount in facts.amounts)
    percents = [*_percents(work, ceilings), *_direct(facts, work)]
    bases = list(dict.fromkeys(part.basis for part in work)) or (
        ["ncu's own percentages"] if percents else []
    )
    result = verdict(percents, list(_missing(facts, device, ceilings, work)), SHAPES in bases)
    of_roof = _of_roof(percents, result.reason)
    compute_ns, memory_ns = (
        _time_of(_computing(facts.amounts), facts),
        _time_of(_memory(facts, device), facts),
    )
    return KernelRoofline(
        kernel=facts.kernel,
        short_name=short_name(facts.kernel),
        gpu=facts.gpu,
        calls=facts.calls,
        total_ns=facts.total_ns,
        basis=" and ".join(bases) or "none",
        dispatches=facts.dispatches,
        time_ns=facts.time_ns,
        work=work,
        flops=flops,
        bytes=moved,
        operational_intensity=_intensity(facts, device.memory, moved),
        tflops=_rate(flops, compute_ns, "TFLOP/s", _TFLOPS, _doubts(work, "compute")),
        tbytes=_rate(moved, memory_ns, "TB/s", _TBYTES, _doubts(work, "memory")),
        roof=_roof(facts, device, ceilings, of_roof),
        percent_of_roof=of_roof,
        position=result.binding.position if result.binding else None,
        regime=result.regime,
        reason=result.reason,
        spread=facts.spread,
        evidence=dict(facts.evidence),
        notes=facts.notes,
    )


def _computing(amounts: Sequence[Amount]) -> list[Amount]:
    return [amount for amount in amounts if amount.known.unit == "FLOP"]


def _memory(facts: Facts, device: Device) -> list[Amount]:
    return [amount for amount in facts.amounts if amount.ceiling == device.memory]


def _time_of(amounts: Sequence[Amount], facts: Facts) -> Quantity:
    """The time of the dispatches of which these amounts are known."""
    most = max(amounts, key=lambda amount: amount.dispatches, default=None)
    return most.time_ns if most else facts.time_ns


def _flops(facts: Facts, amounts: Sequence[Amount]) -> Quantity:
    parts = _computing(amounts)
    formula = "sum over dtypes, mean over dispatches"
    if not parts:
        if facts.all_flops:
            return Quantity(0, "FLOP", "its operator computes no floating-point numbers")
        return unavailable("FLOP", formula, facts.no_flops)
    doubts = [
        None if facts.all_flops else f"{AT_LEAST_FLOPS} {facts.no_flops}",
        *(part.few for part in parts),
    ]
    inputs = {amount.ceiling: amount.value for amount in parts}
    return Quantity(
        value=sum(inputs.values()), unit="FLOP", formula=formula, inputs=inputs, doubt=_together(*doubts)
    )


def _moved(facts: Facts, device: Device) -> Quantity:
    for amount in _memory(facts, device):
        return amount.quantity
    return unavailable("B", "bytes of the device memory", facts.no_bytes)


def _intensity(facts: Facts, level: str, moved: Quantity) -> Quantity:
    """FLOPs for each byte of a level, of the dispatches of which both are known."""
    flops = _flops(facts, facts.amounts)
    if facts.amounts and not facts.whole and flops.known and moved.known:
        return unavailable("FLOP/B", _INTENSITY, _APART)
    for amount in facts.whole:
        if amount.ceiling == level:
            return _ratio(_flops(facts, facts.whole), amount.quantity, "FLOP/B", _INTENSITY)
    return _ratio(flops, moved, "FLOP/B", _INTENSITY)


def _part(amount: Amount, facts: Facts, device: Device, ceilings: Mapping[str, Ceiling]) -> WorkPart:
    quantity = amount.quantity
    ceiling = ceilings.get(amount.ceiling)
    percent = _percent(amount, ceiling, device)
    unit = "TB/s" if amount.is_level else f"T{amount.known.unit}/s"
    return WorkPart(
        ceiling=amount.ceiling,
        kind="memory" if amount.is_level else "compute",
        amount=quantity,
        rate=_rate(quantity, amount.time_ns, unit, "amount / time / 1000", percent.doubt),
        intensity=_intensity(facts, amount.ceiling, quantity) if amount.is_level else None,
        percent_of_ceiling=percent,
        basis=amount.known.basis,
        dispatches=amount.dispatches,
    )


def _percent(amount: Amount, ceiling: Ceiling | None, device: Device) -> Quantity:
    time = amount.time_ns
    if time.value is None:
        return unavailable("%", _PERCENT, time.unavailable or "")
    if ceiling is None or not ceiling.rate.value:
        if not amount.value and device.gpu is not None:  # without peaks, none at all is near anything
            return Quantity(value=0, unit="%", formula=_PERCENT, inputs={"amount": 0})
        return unavailable(
            "%", _PERCENT, device.reason or NO_CEILING.format(name=amount.ceiling, gpu=device.name)
        )
    value = amount.value / (ceiling.rate.value * 1000) / time.value * 100
    inputs = {"amount": amount.value, "ceiling": ceiling.rate.value, "time_ns": time.value}
    above = _why_above(amount, device, ceiling, value) if value > 100 else None
    doubt = _together(above, amount.doubt, ceiling.rate.doubt)
    return Quantity(value=value, unit="%", formula=_PERCENT, inputs=inputs, doubt=doubt)


def _together(*doubts: str | None) -> str | None:
    """All of these doubts, each once."""
    return "; ".join(dict.fromkeys(text for text in doubts if text)) or None


def _why_above(amount: Amount, device: Device, ceiling: Ceiling, percent: float) -> str:
    """The likely cause of more than the peak."""
    data_sheet = ceiling.data_sheet.value if ceiling.data_sheet else None
    if data_sheet and percent * float(ceiling.rate.value or 0) <= 100 * data_sheet:
        return f"above what was {ceiling.origin}, but not above the data sheet: measure again (rocm-perf ceilings)"
    if not amount.is_level:
        return "above the peak: it runs on faster units than assumed, or the peak is of another GPU"
    if amount.ceiling not in MEMORY:
        return f"above the {'measured' if ceiling.measured else 'computed'} peak"
    cache = (device.gpu.last_level_bytes or device.gpu.l2_bytes) if device.gpu else None
    if cache and amount.value <= cache:
        return (
            f"above the peak of the memory: {format_bytes(amount.value)} fit the last cache before it "
            f"({format_bytes(cache)}), which served some of them"
        )
    if amount.known.basis == COUNTERS:
        return (
            "above the peak: a cache behind the counted requests served some, or the peak is of another GPU"
        )
    if amount.known.basis == EMULATED:
        return "above the peak: caches kept some of it from an earlier launch, or the peak is of another GPU"
    return "above the peak: it moves less than its shapes say, or the peak is of another GPU"


def _percents(work: Sequence[WorkPart], ceilings: Mapping[str, Ceiling]) -> Iterator[Percent]:
    """The percentage of each level and kind of unit: dtypes of one kind of unit take turns, so they add up."""
    for part in work:
        percent = part.percent_of_ceiling
        if part.kind == "memory" and percent.value is not None:
            near = _near(part.ceiling, ceilings)
            yield Percent(
                position=f"memory ({part.ceiling})",
                kind="memory",
                value=float(percent.value),
                doubt=percent.doubt,
                near=near,
            )
    for unit in (MATRIX, VECTOR):
        parts = [
            (float(part.percent_of_ceiling.value), part)
            for part in work
            if part.ceiling.endswith(unit) and part.percent_of_ceiling.value is not None
        ]
        if parts:
            most = max(parts, key=lambda pair: pair[0])[1]
            doubt = most.percent_of_ceiling.doubt
            total = sum(value for value, _ in parts)
            above = "above the peak of these units together" if total > 100 else None
            near = _near(most.ceiling, ceilings)
            yield Percent(
                position=f"compute ({most.ceiling})",
                kind="compute",
                value=total,
                doubt=doubt or above,
                near=near,
            )


def _near(ceiling: str, ceilings: Mapping[str, Ceiling]) -> float:
    return NEAR if ceiling in ceilings and ceilings[ceiling].measured else NEAR_DATA_SHEET


def _direct(facts: Facts, work: Sequence[WorkPart]) -> Iterator[Percent]:
    """What ncu measured itself, where it is not computed here."""
    computed = {part.ceiling for part in work if part.percent_of_ceiling.known}
    for name, percent in facts.direct.items():
        if percent.value is None or name in computed or name not in (SM, *MEMORY):
            continue
        kind = "compute" if name == SM else "memory"
        yield Percent(position=f"{kind} ({name})", kind=kind, value=float(percent.value), doubt=percent.doubt)


def _missing(
    facts: Facts, device: Device, ceilings: Mapping[str, Ceiling], work: Sequence[WorkPart]
) -> Iterator[str]:
    """What would have to be known before a low percentage means anything."""
    if not facts.time_ns.known:
        yield facts.time_ns.unavailable or "its time is not known"
    measured = {name for name, percent in facts.direct.items() if percent.known}
    if not ceilings and device.reason and not measured:
        yield device.reason
    memory = [amount for amount in facts.amounts if amount.ceiling == device.memory]
    no_bytes = not (memory and memory[0].known.complete) and not measured & set(MEMORY)
    no_flops = not facts.all_flops and SM not in measured
    if no_flops and no_bytes and facts.no_flops == facts.no_bytes:
        yield f"its work is not known: {facts.no_flops}"
        return
    if no_flops:
        yield f"its operations are not all known: {facts.no_flops}"
    if no_bytes:
        yield f"its bytes are not all known: {facts.no_bytes}"
    for part in work:
        percent = part.percent_of_ceiling
        if not percent.known and ceilings and part.ceiling not in ("L2", "LDS") and facts.time_ns.known:
            yield percent.unavailable or ""


def _of_roof(percents: Sequence[Percent], reason: str) -> Quantity:
    if not percents:
        return unavailable("%", _OF_ROOF, reason)
    most = max(percents, key=lambda percent: percent.value)
    inputs = {percent.position: percent.value for percent in percents}
    return Quantity(value=most.value, unit="%", formula=_OF_ROOF, inputs=inputs, doubt=most.doubt)


def _roof(facts: Facts, device: Device, ceilings: Mapping[str, Ceiling], of_roof: Quantity) -> Quantity:
    """Of the dispatches of which everything is known."""
    flops, time = _flops(facts, facts.amounts), _time_of(facts.whole, facts)
    for part in (flops, time, of_roof):
        if part.value is None:
            return unavailable("TFLOP/s", _ROOF, part.unavailable or "")
    if facts.amounts and not facts.whole:
        return unavailable("TFLOP/s", _ROOF, _APART)
    work = tuple(_part(amount, facts, device, ceilings) for amount in facts.whole)
    percent = max((one.value for one in (*_percents(work, ceilings), *_direct(facts, work))), default=0)
    if not percent:
        return unavailable("TFLOP/s", _ROOF, "it neither computes nor moves anything")
    least = percent / 100 * float(time.value or 0)
    inputs = {"FLOPs": _flops(facts, facts.whole).value or 0, "least_ns": least}
    return Quantity(value=inputs["FLOPs"] / least / 1000, unit="TFLOP/s", formula=_ROOF, inputs=inputs)


def _doubts(work: Sequence[WorkPart], kind: str) -> str | None:
    """Doubts about the rates that are above their peak."""
    texts = (
        part.percent_of_ceiling.doubt
        for part in work
        if part.kind == kind and part.ceiling not in ("L2", "LDS")
    )
    return "; ".join(dict.fromkeys(text for text in texts if text)) or None


def _rate(amount: Quantity, time: Quantity, unit: str, formula: str, doubt: str | None) -> Quantity:
    for part in (amount, time):
        if part.value is None:
            return unavailable(unit, formula, part.unavailable or "")
    value = float(amount.value or 0) / float(time.value or 1) / 1000
    both = "; ".join(dict.fromkeys(text for text in (doubt, amount.doubt) if text)) or None
    return Quantity(
        value=value,
        unit=unit,
        formula=formula,
        inputs={"amount": amount.value or 0, "time_ns": time.value or 0},
        doubt=both,
    )


def _ratio(flops: Quantity, moved: Quantity, unit: str, formula: str) -> Quantity:
    for part in (flops, moved):
        if part.value is None:
            return unavailable(unit, formula, part.unavailable or "")
    if not moved.value:
        return unavailable(unit, formula, "it moves no byte")
    doubts = "; ".join(dict.fromkeys(text for text in (flops.doubt, moved.doubt) if text)) or None
    inputs = {"FLOPs": flops.value or 0, "bytes": moved.value}
    return Quantity(
        value=float(flops.value or 0) / float(moved.value),
        unit=unit,
        formula=formula,
        inputs=inputs,
        doubt=doubts,
    )
