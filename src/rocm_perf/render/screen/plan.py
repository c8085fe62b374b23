"""What `--dry-run` prints: the commands as they would run, and why; from plain data, as planning is a layer above."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Data = Mapping[str, Any]


def plan_lines(plans: Sequence[Data], *, overhead_runs: int = 0) -> Iterator[str]:
    """Lines that show the first plan in full and the others by name."""
    first, *others = plans
    yield f"{first['profiler']}: {first['why']}"
    for rejected in first["rejected"]:
        yield f"  not {rejected['profiler']}: {rejected['reason']}"
    for run in first["runs"]:
        yield ""
        yield from _run_lines(run)
    if overhead_runs:
        times = "once" if overhead_runs == 1 else f"{overhead_runs} times"
        yield f"\nplus {times} without a profiler, to measure the overhead"
    if first["could_not"] or first["notices"] or others:
        yield ""
    yield from (f"could not: {reason}" for reason in first["could_not"])
    yield from (f"note: {notice}" for notice in first["notices"])
    if others:
        yield f"if nothing is recorded: {', then '.join(other['profiler'] for other in others)}"


def _run_lines(run: Data) -> Iterator[str]:
    command = run["command"]
    what = ", ".join(run["counters"] or run["domains"])
    yield f"{run['folder']}: {run['purpose']}" + (f" ({what})" if what else "")
    yield f"  $ {shlex.join(command['argv'])}"
    for name, value in command["environment"].items():
        yield f"  with {name}={shlex.quote(value)}"
    for path, text in command["files"].items():
        yield f"  from {path}: {text.strip()}"
    if command["expected"]:
        yield f"  writes {', '.join(command['expected'])}"


def preset_lines(presets: Mapping[str, Data]) -> Iterator[str]:
    """Lines that name every preset and what it records."""
    width = max(map(len, presets))
    for name, preset in presets.items():
        yield f"{name:<{width}}  {_OVERHEAD[preset['overhead']]:<6}  {preset['title']}"
        if recorded := _recorded(preset):
            yield f"{'':<{width}}  {'':<6}  {recorded}"
    yield ""
    yield "The second column is the overhead to expect, not a measured one: low records calls and kernels; medium also"
    yield "the layers below, or samples; high runs the application again for each pass of counters, or slows kernels"
    yield "down. `rocm-perf profile --measure-overhead` measures it."


_OVERHEAD = {"none": "-", "low": "low", "medium": "medium", "high": "high"}


def _recorded(preset: Data) -> str:
    parts = [", ".join(preset["domains"])] if preset["domains"] else []
    parts += [f"counters {', '.join(preset['counters'])}"] if preset["counters"] else []
    parts += ["PC samples"] if preset["pc_sampling"] else []
    parts += ["thread trace"] if preset["att"] else []
    parts += ["statistics"] if preset["stats"] else []
    parts += [f"as {', '.join(preset['formats'])}"] if preset["formats"] else []
    return "; ".join(parts)
