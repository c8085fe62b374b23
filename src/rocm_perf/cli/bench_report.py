"""A result of `rocm-perf bench` in lines."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rocm_perf.units import format_bytes, format_count, format_share

if TYPE_CHECKING:
    from rocm_perf.bench.samples import Result, Samples
    from rocm_perf.bench.self_test import SelfTest

_DIGITS = 4  # that count
_MOST_MEDIANS = 20
_ABSURD = 10.0  # an interval that reaches so many times the median, or its fraction, says nothing


def result_lines(result: Result) -> list[str]:
    """Everything that was measured of a target, the time first."""
    return [
        _headline(result),
        _spread(result),
        *_medians(result),
        *_starts(result.processes[0]),
        *_beside(result),
        *_launch(result),
        *_synchronisation(result),
        *(f"note: {note}" for note in _notes(result)),
    ]


def self_test_lines(tests: Sequence[SelfTest], processes: int) -> list[str]:
    """The self-tests, one line for each number of processes a side."""
    if not tests:
        return [
            f"self-test: {format_count(processes, 'process', 'processes')} do not suffice; 6 are the fewest"
        ]
    return ["A against A, in the order in which the processes ran:", *map(_self_test_line, tests)]


def _self_test_line(test: SelfTest) -> str:
    sides = format_count(test.processes_a_side, "process", "processes")
    rate = f"{test.called_different} of {format_count(test.comparisons, 'comparison')} called different"
    if test.processes_a_side == 1:
        return f"  {sides} per side (this process alone): {rate}"
    return f"  {sides} per side: {rate}; a difference of {_share(test)} would be shown"


def _share(test: SelfTest) -> str:
    return "unknown size" if test.smallest_shown is None else format_share(test.smallest_shown)


def milliseconds(value: float) -> str:
    """A time with four digits that count."""
    decimals = max(0, _DIGITS - 1 - math.floor(math.log10(value))) if value > 0 else 0
    return f"{value:,.{min(decimals, 6)}f} ms"


def _headline(result: Result) -> str:
    count = len(result.times_ms)
    over = "median of this process alone" if count == 1 else f"median of {count} processes"
    return f"{result.target}: {milliseconds(result.median_ms)} ({over}{_interval(result)})"


def _interval(result: Result) -> str:
    bounds, median = result.interval, result.median_ms
    if bounds is None:
        return ", no interval from so few samples"
    if bounds.high > _ABSURD * median or bounds.low < median / _ABSURD:
        return ", no interval: the processes are too few and differ too much"
    return f", 95 %: {milliseconds(bounds.low)} to {milliseconds(bounds.high)}"


def _spread(result: Result) -> str:
    numbers = result.summary
    parts = [
        f"{name} {milliseconds(getattr(numbers, name))}"
        for name in ("mean", "std", "min", "p5", "p95", "p99", "max")
    ]
    return f"{', '.join(parts)}; {format_count(numbers.count, 'sample')}, {result.processes[0].clock}"


def _medians(result: Result) -> Iterator[str]:
    medians = sorted(sorted(times)[len(times) // 2] for times in result.times_ms)
    if 1 < len(medians) <= _MOST_MEDIANS:
        yield f"processes: {', '.join(milliseconds(one).removesuffix(' ms') for one in medians)} ms"


def _starts(samples: Samples) -> Iterator[str]:
    if samples.first_call_ms is None:
        return
    parts = [f"first call {milliseconds(samples.first_call_ms)}"]
    if samples.warmup_ms:
        slowest = max(samples.warmup_ms)
        place = samples.warmup_ms.index(slowest) + 1
        parts.append(
            f"slowest of {len(samples.warmup_ms)} warm-up calls {milliseconds(slowest)} (number {place})"
        )
    if "graph_capture_ms" in samples.facts:
        parts.append(f"graph capture {milliseconds(samples.facts['graph_capture_ms'])}")
    if "compiled_graphs" in samples.facts:
        parts.append(format_count(samples.facts["compiled_graphs"], "graph") + " compiled")
    yield ", ".join(parts)


def _beside(result: Result) -> Iterator[str]:
    peaks = [one.peak_memory_bytes for one in result.processes if one.peak_memory_bytes]
    clocks = [clock for one in result.processes for clock in one.clocks_mhz]
    parts = [f"peak memory {format_bytes(max(peaks))}"] if peaks else []
    if clocks:
        parts.append(f"GPU clock {min(clocks):,.0f} to {max(clocks):,.0f} MHz")
    if parts:
        yield ", ".join(parts)


def _launch(result: Result) -> Iterator[str]:
    for samples in result.processes[:1]:
        if (kernel := samples.facts.get("longest_kernel")) is not None:
            share = kernel["blocks_per_cu"]
            hint = ": below one, some compute units stand idle and times scatter" if share < 1 else ""
            blocks = format_count(kernel["blocks"], "block")
            yield f"longest kernel: {blocks}, {share:.2f} per compute unit{hint} ({kernel['name'][:60]})"


def _synchronisation(result: Result) -> Iterator[str]:
    facts = result.processes[0].facts
    if "stream_synchronize_us" in facts:
        yield (
            f"synchronising costs {facts['stream_synchronize_us']:.1f} us for the stream, "
            f"{facts['device_synchronize_us']:.1f} us for the device"
        )


def _notes(result: Result) -> list[str]:
    """What the processes noted, each once, and what shows in their samples."""
    notes = [note for samples in result.processes for note in samples.notes]
    throttled = sum(len(samples.throttled) for samples in result.processes)
    if throttled:
        notes.append(f"power or heat held the GPU's clock down during {format_count(throttled, 'sample')}")
    again = sum(samples.facts.get("recompiled_in_steady_state", 0) for samples in result.processes)
    if again:
        notes.append(f"torch.compile compiled {format_count(again, 'graph')} again in the steady state")
    return list(dict.fromkeys([*result.notes, *notes]))
