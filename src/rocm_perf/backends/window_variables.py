"""A window as variables, for what runs inside the program: the CUPTI tracer and the recorders of torch and JAX."""

from __future__ import annotations

from rocm_perf.model.window import Window

PREFIX = "ROCM_PERF_WINDOW_"


def window_variables(window: Window) -> dict[str, str]:
    """ROCM_PERF_WINDOW_DELAY_S, _DURATION_S and _LAST_S (seconds), _OPEN_S and _PERIOD_S (of windows that recur),
    _MAX_BYTES (of one process), _RANGE (a name, or @profiler) and _STEPS (A..B); only what is given."""
    seconds = {"DELAY_S": window.delay_s, "DURATION_S": window.duration_s, "LAST_S": window.last_s}
    if window.recurs:
        seconds |= {"DELAY_S": window.first_s, "OPEN_S": window.open_s, "PERIOD_S": window.period_s}
    values = {name: decimal(value) for name, value in seconds.items() if value is not None}
    if window.max_bytes is not None:
        values["MAX_BYTES"] = str(window.max_bytes)
    if window.range:
        values["RANGE"] = window.range
    if window.steps:
        values["STEPS"] = "{}..{}".format(*window.steps)
    return {f"{PREFIX}{name}": value for name, value in values.items()}


def decimal(number: float) -> str:
    """A number of seconds as tools take it: without an exponent, and no digit more than it has."""
    return f"{number:.9f}".rstrip("0").rstrip(".")
