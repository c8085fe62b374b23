"""What is planned for each chip and release, and that the stand-in of that release takes it: argv.txt.

`python -m tests.golden.test_argv` writes the table anew; read the difference before you commit it.
"""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from msgspec.structs import replace

from rocm_perf.backends.machine import FoundGpu, Machine, Tool
from rocm_perf.collect.plan.plan import plans
from rocm_perf.collect.plan.planned import Plan
from rocm_perf.collect.request.presets import preset
from rocm_perf.collect.request.request import Request
from rocm_perf.errors import NotSupportedError
from rocm_perf.model.window import PROFILER_CALLS, Window
from tests.fake_tools import fake_path, run_tool

pytestmark = pytest.mark.launches

TABLE = Path(__file__).parent / "argv.txt"
CHIPS = ("gfx942", "gfx90a", "gfx1100", "gfx1151")
RELEASES = ("5.7", "6.2", "6.4", "7.0", "7.2", "10.0")
PRESETS = ("auto", "compute", "memory", "communication", "full", "perfetto", "pc_sampling", "att", "agent")
WINDOWS = (
    Window(delay_s=5, duration_s=2.5),
    Window(delay_s=5),
    Window(duration_s=0.001),
    Window(duty=0.1, period_s=60),
    Window(range=PROFILER_CALLS),
    Window(range="step", steps=(3, 5)),
    Window(last_s=30),
    Window(max_bytes=10**9),
)
APP = ("./app", "--", "--weird")
FOLDER = Path("RUN")


def tools_of(rocm: str) -> tuple[str, ...]:
    """Which profilers a release has."""
    if rocm == "10.0":
        return ("rocprofv3",)
    return ("rocprofv2", "rocprof") if rocm == "5.7" else ("rocprofv3", "rocprofv2", "rocprof")


def machine(gfx: str, rocm: str) -> Machine:
    return Machine(
        host="node1",
        gpus=(FoundGpu(index=0, vendor="AMD", gfx=gfx),),
        tools={name: Tool(name=name, path=name, rocm=rocm) for name in tools_of(rocm)},
        rocm=f"{rocm}.0",
    )


@cache
def planned(gfx: str, rocm: str, name: str, window: Window | None = None) -> tuple[Plan, ...]:
    chosen = preset(name)
    wish = replace(chosen.wish, window=window or Window())
    request = Request(command=APP, preset=name, wish=wish, counters=chosen.counters)
    return plans(request, machine(gfx, rocm), FOLDER)


def planned_windows(gfx: str, rocm: str) -> Iterator[tuple[Window, tuple[Plan, ...]]]:
    """The windows that some profiler can keep to."""
    for window in WINDOWS:
        try:
            yield window, planned(gfx, rocm, "compute", window)
        except NotSupportedError:
            continue


def described(plan: Plan) -> Iterator[str]:
    for run in plan.runs:
        words = _without_app(run.command.argv)
        yield f"  {run.number} {run.purpose}: {shlex.join(words)}"
        yield from (f"      {Path(path).name}: {text.strip()}" for path, text in run.command.files.items())
    yield from (f"  could not: {reason}" for reason in plan.could_not)


def _without_app(argv: tuple[str, ...]) -> tuple[str, ...]:
    return (*argv[: -len(APP)], "APP") if argv[-len(APP) :] == APP else argv


def table() -> str:
    """Preset by preset and profiler by profiler: what is planned, under the chips and releases that share it."""
    blocks: list[str] = []
    for name in PRESETS:
        shared: defaultdict[tuple[str, str], defaultdict[str, list[str]]] = defaultdict(
            lambda: defaultdict(list)
        )
        for gfx in CHIPS:
            for rocm in RELEASES:
                found = planned(gfx, rocm, name)
                for plan in found[:-1] if name in ("auto", "compute") else found[:1]:
                    shared[plan.profiler, "\n".join(described(plan))][gfx].append(rocm)
        for (profiler, lines), where in shared.items():
            places = "; ".join(f"{gfx} {' '.join(releases)}" for gfx, releases in where.items())
            blocks.append(f"{name}, {profiler} ({places})\n{lines}\n")
    return "\n".join([*blocks, *window_blocks()])


def window_blocks() -> Iterator[str]:
    """Window by window: how each profiler records it on one chip, or why none does."""
    for window in WINDOWS:
        shared: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
        for rocm in RELEASES:
            try:
                for plan in planned("gfx942", rocm, "auto", window)[:-1]:
                    shared[plan.profiler, "\n".join(described(plan))].append(rocm)
            except NotSupportedError as error:
                shared["refused", f"  {error}"].append(rocm)
        for (profiler, lines), releases in shared.items():
            yield f"{window.sentence}: {profiler} (gfx942 {' '.join(releases)})\n{lines}\n"


def test_the_plans_are_those_of_the_table() -> None:
    assert table() == TABLE.read_text()


@pytest.mark.parametrize("rocm", RELEASES)
@pytest.mark.parametrize("gfx", CHIPS)
def test_the_tool_of_that_release_takes_them(tmp_path: Path, gfx: str, rocm: str) -> None:
    """It runs the application, whose exit code 7 comes back: a refused command line would be 1 or 2."""
    environment = fake_path(tmp_path, tools_of(rocm), FAKE_ROCM=rocm, FAKE_GPU=gfx, FAKE_FAULT="empty")
    app = tmp_path / "app"
    app.write_text('#!/bin/sh\n[ "$*" = "-- --weird" ] && exit 7\n')
    app.chmod(0o755)
    seen: set[str] = set()
    windows = [plan for _, found in planned_windows(gfx, rocm) for plan in found]
    for found in (*(planned(gfx, rocm, name) for name in PRESETS), windows):
        for plan in found:
            for run in plan.runs:
                line = shlex.join(run.command.argv)
                if line in seen or _knows_too_few(run.profiler, run.counters):
                    continue
                seen.add(line)
                for path, text in run.command.files.items():
                    file = tmp_path / path
                    file.parent.mkdir(parents=True, exist_ok=True)
                    file.write_text(text)
                ended = run_tool(environment, *run.command.argv, cwd=tmp_path)
                assert ended.returncode == 7, f"{line}\n{ended.stdout}\n{ended.stderr}"
    assert seen


def _knows_too_few(profiler: str, counters: tuple[str, ...]) -> bool:
    """The stand-in for rocprof ends at a counter that it does not have, and it has a part of AMD's definitions."""
    return profiler == "rocprof" and bool(counters)


def main() -> None:
    TABLE.write_text(table())


if __name__ == "__main__":
    main()
