"""`rocm_perf.benchmark`: how long a function takes in this process. Standard library and the caller's torch alone."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from rocm_perf.bench.inside.measure import CallError, measure
from rocm_perf.bench.journal import Entry, samples_in
from rocm_perf.bench.samples import Result
from rocm_perf.bench.settings import ClockChoice, Settings
from rocm_perf.errors import EmptyCaptureError


class BenchmarkError(EmptyCaptureError):
    """The function raised while it was measured, which the cause shows. `result` holds the samples so far."""

    def __init__(self, what: str, result: dict[str, Any]) -> None:
        super().__init__(what, next_step="The samples so far are in the error's `result`.")
        self.result = result


def benchmark(  # noqa: PLR0913  (what there is to choose)
    fn: Callable[..., object],
    *args: Any,
    warmup: int = 10,
    iterations: int = 100,
    precision: float | None = 0.01,
    budget_s: float = 60.0,
    cold: bool = False,
    graph: bool = False,
    clock: ClockChoice = "auto",
    kwargs: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Call `fn(*args, **kwargs)` again and again, and return its times: `mean_ms`, `median_ms`, `std_ms`, `min_ms`,
    `max_ms`, `p5_ms`, `p95_ms`, `p99_ms`, `interval_ms`, and every sample under `processes`.

    Times are those of device events on the current stream if the function uses a GPU, else of the wall clock, as
    `clock` then says. The first call and the warm-up are kept apart. More than `iterations` samples are taken while the
    median is known less well than to `precision` and `budget_s` lasts. What one process shows holds for that process:
    `rocm-perf bench` measures several.
    """
    settings = Settings(
        warmup=warmup,
        iterations=iterations,
        precision=precision,
        budget_s=budget_s,
        cold=cold,
        graph=graph,
        clock=clock,
    )
    name = getattr(fn, "__qualname__", type(fn).__name__)
    entries: list[Entry] = []
    try:
        entries.extend(measure(partial(fn, *args, **(kwargs or {})), settings))
    except CallError as error:
        cause = error.__cause__
        entries.append({"error": f"{error} raised {type(cause).__name__}: {cause}", "fault": "raised"})
        raise BenchmarkError(f"{name}: {entries[-1]['error']}", _result(name, entries)) from cause
    return _result(name, entries)


def _result(name: str, entries: list[Entry]) -> dict[str, Any]:
    samples = samples_in(entries)
    date = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
    machine = samples.facts.get("machine", {})
    return Result(target=name, processes=(samples,), machine=machine, date=date).to_json()
