"""What was measured: the samples of one process, and a result over several. Standard library alone, because this is
also made in the user's process; what the numbers say is computed by `statistics`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, get_args

from rocm_perf.errors import InputError
from rocm_perf.statistics import LEVEL, Interval, Summary, interval, summary

SCHEMA_VERSION = 1
Clock = Literal["device events", "device timestamps", "wall clock"]  # timestamps: of our tracer
# Whose fault it is that a process ended early: a target that cannot be had, that raised, that needs a GPU that is not
# there, that cannot be measured as asked, that hung, that died, a command that failed; or the user's, who ended it.
Fault = Literal["", "target", "raised", "device", "unsupported", "hung", "died", "exit", "interrupted"]
_CLOCKS: tuple[Clock, ...] = get_args(Clock)


@dataclass(frozen=True, kw_only=True)
class Samples:
    """What one process measured of one target."""

    times_ms: tuple[float, ...]  # steady state, in the order in which they were taken
    clock: Clock
    first_call_ms: float | None = None  # wall clock: compilation, tuning and allocation are in it
    warmup_ms: tuple[float, ...] = ()  # wall clock, of the calls after the first and before the samples
    throttled: tuple[int, ...] = ()  # places in times_ms that were taken while the GPU held its clock down
    peak_memory_bytes: int | None = None  # what torch allocated at most
    clocks_mhz: tuple[float, ...] = ()  # of the GPU, read beside the timing
    notes: tuple[str, ...] = ()  # whole phrases: what the reader must know to trust the times
    error: str = ""  # why it ended before it was done; the times so far are kept
    fault: Fault = ""
    facts: Mapping[str, Any] = field(default_factory=dict)  # further measurements, by name: recompiles, ...


@dataclass(frozen=True, kw_only=True)
class Result:
    """One target, measured in one process or several."""

    target: str
    processes: tuple[Samples, ...]
    machine: Mapping[str, Any] = field(default_factory=dict)
    date: str = ""  # ISO 8601, UTC
    commit: str = ""  # of the working directory, "-dirty" behind it where files were changed
    notes: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)  # how it was measured

    @property
    def times_ms(self) -> tuple[tuple[float, ...], ...]:
        """The samples of every process that has some: what `interval` and `difference` take."""
        return tuple(one.times_ms for one in self.processes if one.times_ms)

    @property
    def summary(self) -> Summary:
        """All samples of all processes in a few numbers."""
        return summary([time for process in self.times_ms for time in process])

    @property
    def interval(self) -> Interval | None:
        """Where the median process's median lies."""
        return interval(self.times_ms)

    @property
    def median_ms(self) -> float:
        """The median of the processes' medians."""
        return summary([summary(times).median for times in self.times_ms]).median

    def to_json(self) -> dict[str, Any]:
        """The result as plain data, with its statistics; `from_json` reads it again."""
        return {"schema_version": SCHEMA_VERSION, **_statistics(self), **asdict(self)}

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Result:
        """The result that `to_json` made data of. Raises InputError for anything else."""
        try:
            return _result(data)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InputError(
                "not a result of rocm-perf bench", f"{type(error).__name__}: {error}", "Measure it again."
            ) from error


def _statistics(result: Result) -> dict[str, Any]:
    if not result.times_ms:
        return {}
    numbers, bounds = result.summary, result.interval
    return {
        "mean_ms": numbers.mean,
        "median_ms": result.median_ms,
        "std_ms": numbers.std,
        "min_ms": numbers.min,
        "max_ms": numbers.max,
        "p5_ms": numbers.p5,
        "p95_ms": numbers.p95,
        "p99_ms": numbers.p99,
        "interval_ms": bounds and [bounds.low, bounds.high],
        "interval_level": LEVEL,
        "interval_scope": bounds and bounds.scope,
        "samples": numbers.count,
        "clock": result.processes[0].clock,
    }


def _result(data: Mapping[str, Any]) -> Result:
    if data["schema_version"] != SCHEMA_VERSION:
        raise ValueError(f"schema_version is {data['schema_version']!r}, not {SCHEMA_VERSION}")
    return Result(
        target=str(data["target"]),
        processes=tuple(samples_from(one) for one in data["processes"]),
        machine=dict(data["machine"]),
        date=str(data["date"]),
        commit=str(data["commit"]),
        notes=tuple(map(str, data["notes"])),
        settings=dict(data.get("settings", {})),
    )


def samples_from(data: Mapping[str, Any]) -> Samples:
    """The samples of one process from plain data. Raises KeyError, TypeError or ValueError for anything else."""
    clock, times = data["clock"], tuple(map(float, data["times_ms"]))
    if clock not in _CLOCKS:
        raise ValueError(f"clock is {clock!r}")
    if not all(0 < time < float("inf") for time in times):
        raise ValueError("a time is not a positive number")
    first, memory = data.get("first_call_ms"), data.get("peak_memory_bytes")
    return Samples(
        times_ms=times,
        clock=clock,
        first_call_ms=None if first is None else float(first),
        warmup_ms=tuple(map(float, data.get("warmup_ms", ()))),
        throttled=tuple(map(int, data.get("throttled", ()))),
        peak_memory_bytes=None if memory is None else int(memory),
        clocks_mhz=tuple(map(float, data.get("clocks_mhz", ()))),
        notes=tuple(map(str, data.get("notes", ()))),
        error=str(data.get("error", "")),
        fault=data.get("fault", ""),
        facts=dict(data.get("facts", {})),
    )
