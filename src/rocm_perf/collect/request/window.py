"""The window that options or a configuration ask for; what makes no sense is refused in one line."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from rocm_perf.collect.request.window_options import WINDOW_OPTIONS
from rocm_perf.errors import UsageError
from rocm_perf.model.time_window import parse_time
from rocm_perf.model.window import Window
from rocm_perf.units import NS_PER_S

Value = str | int | float

_LONGEST_S = 1e6  # eleven days, as for every number of seconds on the command line
_LEAST_BYTES = 1 << 16  # a smaller file would hold a tracer's names and nothing else
_MOST_BYTES = 1 << 50
_LEAST_DUTY, _MOST_DUTY = 1, 90  # percent
_PERIOD_S = 60.0
_LEAST_PERIOD_S, _MOST_PERIOD_S = 0.5, 24 * 3600.0
_LEAST_OPEN_S = 0.05  # switching CUPTI's activities takes milliseconds
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(i?)B?", re.IGNORECASE)
_STEPS = re.compile(r"(\d{1,9})(?:\.\.(\d{1,9}))?")
_MULTIPLES = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}


def window_of(given: Mapping[str, Value | None]) -> Window:
    """The window of these values, named as in WINDOW_OPTIONS; None is not given."""
    values = {name: value for name, value in given.items() if value is not None}
    if unknown := [name for name in values if name not in WINDOW_OPTIONS]:
        raise UsageError(f"a window has no {unknown[0]!r}", f"it has {', '.join(WINDOW_OPTIONS)}")
    window = Window(
        delay_s=_seconds("delay", values, least=0),
        duration_s=_seconds("duration", values),
        duty=_duty(values["duty"]) if "duty" in values else None,
        period_s=_period(values),
        last_s=_seconds("last", values),
        max_bytes=_size(values["max_size"]) if "max_size" in values else None,
        range=_range(values["range"]) if "range" in values else "",
        steps=_steps(values["steps"]) if "steps" in values else None,
    )
    _refuse_contradictions(window)
    return window


def _seconds(name: str, values: Mapping[str, Value], least: float | None = None) -> float | None:
    """A number of seconds: more than 0, or from `least` on."""
    if name not in values:
        return None
    try:
        seconds = float(values[name])
    except ValueError as error:
        raise UsageError(f"--{name} {values[name]!r} is not a number of seconds") from error
    if (
        not math.isfinite(seconds)
        or seconds > _LONGEST_S
        or (seconds <= 0 if least is None else seconds < least)
    ):
        lowest = "more than 0" if least is None else f"{least:g} or more"
        raise UsageError(
            f"--{name} {values[name]} is not possible",
            f"it has to be {lowest} and at most {_LONGEST_S:,.0f} seconds",
        )
    return seconds


def _duty(value: Value) -> float:
    """The share that is recorded, from a number of percent."""
    try:
        percent = float(str(value).strip().removesuffix("%"))
    except ValueError as error:
        raise UsageError(f"--duty {value!r} is not a number of percent", "", "Write --duty 10%.") from error
    if not _LEAST_DUTY <= percent <= _MOST_DUTY:
        raise UsageError(
            f"--duty {value} is not possible",
            f"it has to be from {_LEAST_DUTY} to {_MOST_DUTY} %",
            "Write --duty 10%, or leave it out to record all of the time.",
        )
    return percent / 100


def _period(values: Mapping[str, Value]) -> float | None:
    """The distance of two openings in seconds; a minute where it is not given."""
    if "duty" not in values:
        if "period" in values:
            raise UsageError(
                "--period needs --duty", "it says how often windows open", "Write --duty 10% too."
            )
        return None
    try:
        period_s = (parse_time(str(values.get("period", _PERIOD_S))) or 0) / NS_PER_S
    except ValueError as error:
        raise UsageError(f"--period: {error}") from error
    if not _LEAST_PERIOD_S <= period_s <= _MOST_PERIOD_S:
        raise UsageError(
            f"--period {values['period']} is not possible",
            f"it has to be from {_LEAST_PERIOD_S:g} s to {_MOST_PERIOD_S / 3600:g} hours",
        )
    return period_s


def _size(value: Value) -> int:
    """A number of bytes: 500M and 2G are powers of 1000, 500MiB and 2GiB of 1024."""
    match = _SIZE.fullmatch(str(value).strip())
    if match is None:
        raise UsageError(f"--max-size {value!r} is not a size", "write a number of bytes, or 500M, 2G, 2GiB")
    number, multiple, binary = match.groups()
    size = int(float(number) * (1024 if binary else 1000) ** _MULTIPLES[multiple.upper()])
    if not _LEAST_BYTES <= size <= _MOST_BYTES:
        raise UsageError(
            f"--max-size {value} is not possible", f"it has to be from {_LEAST_BYTES:,} bytes to 1 PiB"
        )
    return size


def _range(value: Value) -> str:
    name = str(value)
    if not name.strip() or "\0" in name:
        raise UsageError("--range has no name", "", "Name a range of the program, or @profiler.")
    return name


def _steps(value: Value) -> tuple[int, int]:
    match = _STEPS.fullmatch(str(value).strip())
    if match is None:
        raise UsageError(f"--steps {value!r} is not a range of steps", "write it as 3..5, or 3 for one")
    first, last = int(match.group(1)), int(match.group(2) or match.group(1))
    if first < 1:
        raise UsageError(f"--steps {value} begins before step 1", "steps are counted from 1")
    if first > last:
        raise UsageError(f"--steps {value} ends before it begins", "", f"Write --steps {last}..{first}.")
    return first, last


def _refuse_contradictions(window: Window) -> None:
    """A ring is the end of the run, whenever that comes: no other part says when to record."""
    others = [part for part in window.parts if part not in ("last", "max-size")]
    if window.last_s is not None and others:
        why = "the last seconds are those before the end, or before a signal"
        raise UsageError(f"--{others[0]} and --last cannot be combined", why)
    if window.recurs:
        _refuse_unrepeated(window)


def _refuse_unrepeated(window: Window) -> None:
    """Windows that recur go by the clock alone, are long enough to be switched, and open at least twice."""
    if window.range or window.steps:
        raise UsageError(
            f"--duty and --{'range' if window.range else 'steps'} cannot be combined",
            "one goes by the clock, the other by what the program does",
        )
    if window.open_s < _LEAST_OPEN_S:
        raise UsageError(
            f"windows of {window.open_s * 1e3:g} ms are too short",
            f"switching a profiler on and off takes time: at least {_LEAST_OPEN_S * 1e3:g} ms each",
            "Give a longer --period, or a higher --duty.",
        )
    if window.openings == 1:
        raise UsageError(
            f"--duration {window.duration_s:g} ends before the second window opens",
            f"one opens every {window.period_s:g} s",
            "Give a shorter --period, or leave --duty out.",
        )
