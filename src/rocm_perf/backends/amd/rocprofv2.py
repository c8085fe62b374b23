"""rocprofv2, ROCm 5.5 to 7: one plugin per run, no `--` before the application."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rocm_perf.backends.amd.scripts import VERSION, ScriptProfiler, counter_file, through_script
from rocm_perf.backends.amd.windows import lacking, v2_period, without_end
from rocm_perf.backends.base import Command, Wish
from rocm_perf.backends.machine import Machine, Version
from rocm_perf.backends.tools import Program

_NAME = "rocprofv2"
_KERNELS_ONLY_SINCE: Version = (6, 2)


class Rocprofv2Profiler(ScriptProfiler):
    """AMD's profiler before rocprofv3."""

    name = tool = _NAME
    programs = (Program(_NAME, version=VERSION),)
    domains = ("kernel", "hip", "hsa", "copy", "marker")
    flags = {  # noqa: RUF012
        "kernel": "--kernel-trace",
        "hip": "--hip-trace",
        "hsa": "--hsa-trace",
        "marker": "--roctx-trace",
    }

    def doubt(self, wish: Wish, machine: Machine) -> str:
        if set(wish.domains) - {"kernel"} and self.release(machine) >= _KERNELS_ONLY_SINCE:
            return "rocprofv2 of ROCm 6.2 and later mostly records only kernels"
        return ""

    def window_refusal(self, wish: Wish, machine: Machine) -> str:  # noqa: ARG002
        return without_end(wish.window, _NAME) or lacking(wish.window, _NAME, calls="")

    def command(self, wish: Wish, app: tuple[str, ...], folder: Path, machine: Machine) -> Command:
        counters = counter_file(wish, folder)
        started, script = through_script(app, folder) if app[0].startswith("-") else (app, {})
        plugin = "perfetto" if "pftrace" in wish.formats and not counters else "file"
        argv = [
            machine.tools[self.tool].path,
            *self.trace_options(wish),
            *(("-i", *counters) if counters else ()),
            *v2_period(wish.window),
            *("--plugin", plugin, "-d", str(folder), "-o", wish.output_name or "results"),
            *wish.tool_args,
        ]
        doubt = self.doubt(wish, machine)
        return Command(
            argv=(*argv, *started),
            files={**counters, **script},
            expected=("**/*.pftrace",) if plugin == "perfetto" else ("**/*.csv",),
            notices=(*([doubt] if doubt else []), *_other_formats(wish, plugin), *self.left_out(wish)),
        )


def _other_formats(wish: Wish, plugin: str) -> Iterator[str]:
    others = [each for each in wish.formats if each not in ("csv", "pftrace")]
    if plugin == "perfetto" and "csv" in wish.formats:
        others.append("csv")
    if others:
        written = "pftrace" if plugin == "perfetto" else "csv"
        yield f"rocprofv2 writes one format per run: {written}, not {', '.join(others)}"
