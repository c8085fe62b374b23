"""The part of a run that a profiler is told to record: periods of time, or where the program switches it on. Every
program here does that at its range `step`, which it opens once."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import polars as pl

SWITCHED_ON_IN = "step"
_NS = {"hour": 3_600e9, "min": 60e9, "sec": 1e9, "msec": 1e6, "usec": 1e3, "nsec": 1.0}
_UNITS = {"m": 60e9, "s": 1e9, "ms": 1e6, "us": 1e3}


class Span(NamedTuple):
    """From a moment, counted from the start of the program, and for how long."""

    delay_ns: float
    length_ns: float
    period_ns: float = 1e18  # after which it comes again; longer than any run


def v3_spans(periods: list[str], unit: str) -> tuple[Span, ...]:
    """rocprofv3's delay:length:repeat, each period behind the one before; 0 repeats to the end."""
    spans: list[Span] = []
    passed = 0.0
    for period in periods:
        delay_ns, length_ns = (float(time) * _NS[unit] for time in period.split(":")[:2])
        repeat = int(period.split(":")[2])
        if repeat == 0:
            return (*spans, Span(passed + delay_ns, length_ns, delay_ns + length_ns))
        for _ in range(repeat):
            spans.append(Span(passed + delay_ns, length_ns))
            passed += delay_ns + length_ns
    return tuple(spans)


def v2_spans(text: str) -> tuple[Span, ...]:
    """rocprofv2's DELAY:LENGTH:DISTANCE in milliseconds; without the third number it is not repeated."""
    return (Span(*(int(number) * 1e6 for number in text.split(":"))),)


def v1_spans(text: str) -> tuple[Span, ...]:
    """rocprof's delay:length:rate; the script refuses what has no unit or is too long, the library a length above the
    rate."""
    times = []
    for part in text.split(":"):
        match = re.fullmatch(r"(\d+)(m|s|ms|us)", part)
        if match is None or int(match.group(1)) * _UNITS[match.group(2)] > 0xFFFFFFFF * 1e3:
            raise ValueError(f"invalid time value format ({part})")
        times.append(int(match.group(1)) * _UNITS[match.group(2)])
    delay, length, rate = times
    if length > rate:
        raise ValueError("invalid ROCP_CTRL_RATE variable (ctrl_delay:ctrl_len:ctrl_rate)")
    return (Span(delay, length, rate),)


def region(tables: Mapping[str, pl.DataFrame], start_ns: int, name: str = SWITCHED_ON_IN) -> tuple[Span, ...]:
    """Where ranges of a name are open."""
    ranges = tables["ranges"]
    rows = ranges.filter(ranges["name"] == name).select("start_ns", "end_ns").iter_rows()
    return tuple(Span(first - start_ns, last - first) for first, last in rows)


def inside(
    tables: Mapping[str, pl.DataFrame], start_ns: int, spans: tuple[Span, ...]
) -> dict[str, pl.DataFrame]:
    """The rows that begin in one of the spans."""
    import polars as pl

    kept = {}
    for name, frame in tables.items():
        if "start_ns" in frame.columns:
            times = pl.col("start_ns") - start_ns
            within = [
                (times >= span.delay_ns) & ((times - span.delay_ns) % span.period_ns < span.length_ns)
                for span in spans
            ]
            kept[name] = frame.filter(pl.any_horizontal(pl.lit(False), *within))
        else:
            kept[name] = frame
    return kept
