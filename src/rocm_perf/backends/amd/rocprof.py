"""rocprof, up to ROCm 7: counters from a file, results in CSV files and a Chrome trace.

Its script pastes the application's words into a line that a shell evaluates (rpl_run.sh), so that words with blanks or
other characters of the shell's go through a file instead. It pipes the application through `tee`: the exit code is the
script's own, and the application's stderr arrives on its stdout.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rocm_perf.backends.amd.scripts import VERSION, ScriptProfiler, counter_file, is_plain, through_script
from rocm_perf.backends.amd.windows import MOST_S, lacking, v1_period, without_end
from rocm_perf.backends.base import Command, Wish
from rocm_perf.backends.machine import Machine
from rocm_perf.backends.tools import Program

_NAME = "rocprof"
_CALLS = "roctracer_start() and roctracer_stop()"
_JOINED = "rocprof writes the application's stderr to its stdout"


class RocprofProfiler(ScriptProfiler):
    """AMD's first profiler."""

    name = tool = _NAME
    programs = (Program(_NAME, version=VERSION),)
    domains = ("kernel", "hip", "hsa", "copy", "marker")  # kernels always
    flags = {"hip": "--hip-trace", "hsa": "--hsa-trace", "marker": "--roctx-trace"}  # noqa: RUF012

    def window_refusal(self, wish: Wish, machine: Machine) -> str:  # noqa: ARG002
        """Its tracer keeps to periods; what counts and times kernels without it does not in every release."""
        window = wish.window
        if window and not self.trace_options(wish):
            return "rocprof keeps to a window only while it traces calls: add --hip-trace"
        if max(window.first_s, window.duration_s or 0, window.period_s or 0) > MOST_S:
            return f"rocprof counts at most {MOST_S:,.0f} s"
        return without_end(window, _NAME) or lacking(window, _NAME, _CALLS)

    def command(self, wish: Wish, app: tuple[str, ...], folder: Path, machine: Machine) -> Command:
        counters, traces = counter_file(wish, folder), self.trace_options(wish)
        misread = app[0].startswith("-") or not all(map(is_plain, app))
        started, script = through_script(app, folder) if misread else (app, {})
        argv = [
            machine.tools[self.tool].path,
            *traces,
            *_window(wish),
            *(("-i", *counters, "--timestamp", "on") if counters else ("--stats",)),
            *("-o", f"{folder}/results.csv"),
            *wish.tool_args,
        ]
        return Command(
            argv=(*argv, *started),
            files={**counters, **script},
            expected=("results.csv", "results.json") if traces else ("results.csv",),
            notices=(*_notices(wish), *self.left_out(wish)),
            separates_exit_code=False,
        )


def _window(wish: Wish) -> tuple[str, ...]:
    return ("--trace-start", "off") if wish.window.between_calls else v1_period(wish.window)


def _notices(wish: Wish) -> Iterator[str]:
    yield _JOINED
    if wish.window.by_clock and not wish.window.recurs:
        yield f"rocprof opens the window again every {MOST_S:,.0f} s"
    if others := [each for each in wish.formats if each not in ("csv", "json")]:
        yield f"rocprof writes csv and a Chrome trace, not {', '.join(others)}"
    if wish.output_name:
        yield "-o is left out: rocprof does not know %keys%"
