from __future__ import annotations

import io
from collections.abc import Sequence

import pytest
from rich.console import Console

from rocm_perf.analysis.compare.recordings import compare
from rocm_perf.model.finding import Finding
from rocm_perf.model.results.comparison import Comparison
from rocm_perf.render.screen.comparison import print_comparison
from tests.unit.analysis.traces import Row, call, kernel, trace

US = 1000


def shown(comparison: Comparison, width: int = 80, top: int = 10) -> list[str]:
    console = Console(width=width, file=io.StringIO(), highlight=False)
    print_comparison(comparison, console, top)
    return [line.rstrip() for line in console.file.getvalue().splitlines()]  # type: ignore[attr-defined]


def compared(base: Sequence[Row], new: Sequence[Row]) -> Comparison:
    gone = Finding("sync", "warning", "Synchronises [often]", time_at_stake_ns=9 * US)
    came = Finding("copy", "warning", "Copies too much")
    calls = [call("hipMalloc", 0, US)]
    sides = trace(dispatches=base, api_calls=calls), trace(dispatches=new, api_calls=calls)
    return compare(*sides, ("a.db", "b.csv"), ([gone], [came]))


LONG = "void " + "very_" * 40 + "long_kernel(int)"
BASE = [kernel("gemm", 2 * US, 12 * US), kernel("old [x]", 20 * US, 24 * US), kernel(LONG, 30 * US, 31 * US)]
NEW = [kernel("gemm", 2 * US, 7 * US), kernel("fresh", 8 * US, 9 * US), kernel(LONG, 10 * US, 12 * US)]


def test_what_is_said() -> None:
    lines = shown(compared(BASE, NEW))
    assert lines[0] == "a.db -> b.csv"
    assert lines[1] == "Wall 31.0 us -> 12.0 us: 2.58x faster (-19.0 us)"
    text = "\n".join(lines)
    assert "-7.00 us  15.0 us  8.00 us  kernels running" in text
    assert "-19.0 us  31.0 us  12.0 us  sum: the wall" in text
    assert "-5.00 us  10.0 us -> 5.00 us      1   -50.0 %  gemm" in text
    assert "Appeared: fresh (1.00 us)" in text
    assert "Vanished: old [x] (4.00 us)" in text
    assert "+ new: Copies too much" in text
    assert "- gone: Synchronises [often] (9.00 us at stake)" in text
    assert "No confidence interval: with one run per side" in text


@pytest.mark.parametrize("width", [80, 160])
def test_lines_fit(width: int) -> None:
    lines = shown(compared(BASE, NEW), width)
    assert max(map(len, lines)) <= width
    assert len(lines) <= 40


def test_a_slower_run_is_called_slower() -> None:
    assert shown(compared(NEW, BASE))[1].endswith("2.58x slower (+19.0 us)")


def test_no_difference() -> None:
    same = shown(compared(BASE, BASE))
    assert same[1] == "Wall 31.0 us -> 31.0 us: no difference (0)"
    assert "No difference in 3 kernels." in same


def test_top_limits_the_kernels() -> None:
    assert "1 more kernel changed (--top N shows more)" in shown(compared(BASE, NEW), top=1)


def test_several_gpus() -> None:
    two = [*BASE, *({**row, "agent_id": 1} for row in BASE)]
    shorter = [*BASE, *({**row, "agent_id": 1} for row in BASE[:2])]
    lines = shown(compared(two, shorter))
    heading = next(number for number, line in enumerate(lines) if line.endswith("by GPU"))
    assert lines[heading + 1].split() == ["0", "0", "0", "0", "0", "GPU", "0"]
    assert lines[heading + 2].split() == ["0", "-1.00", "us", "0", "-6.00", "us", "+7.00", "us", "GPU", "1"]


def test_without_times() -> None:
    summary = [{"domain": "kernel", "name": "k", "calls": 2, "total_ns": 30.0, "mean_ns": 15.0}]
    lines = shown(compare(trace(summaries=summary), trace(summaries=summary), ("a", "b")))
    assert lines[1] == "Wall: unavailable, a has no times of single events"
    assert lines[-1] == "note: a and b: no kernel and no copy with times"
