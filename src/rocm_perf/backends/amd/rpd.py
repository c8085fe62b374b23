"""Tracers that write RPD databases: rocmProfileData's runTracer.sh, and rocm-trace-lite. Only where the user asks for
them: rocprofv3 records more."""

from __future__ import annotations

from pathlib import Path

from rocm_perf.backends.amd.profiler import AmdTracer
from rocm_perf.backends.base import Command, Domain, Wish
from rocm_perf.backends.machine import Machine
from rocm_perf.backends.tools import Program


class RpdProfiler(AmdTracer):
    """rocmProfileData: HIP calls, kernels and copies."""

    name = tool = "rpd"
    programs = (Program("rpd", files=("runTracer.sh",), asked=()),)
    why = "you asked for it"
    offers = "HIP calls, kernels and copies"
    domains: tuple[Domain, ...] = ("kernel", "hip", "copy", "marker")
    preloads = ("librpd_tracer",)

    def app_refusal(self, app: tuple[str, ...], folder: Path, *, is_python: bool) -> str:
        if any(letter.isspace() for letter in str(folder)):
            return f"runTracer.sh cannot write to a path with blanks, as {folder} is"
        return super().app_refusal(app, folder, is_python=is_python)

    def command(self, wish: Wish, app: tuple[str, ...], folder: Path, machine: Machine) -> Command:
        program = machine.tools[self.tool].path
        return Command(
            argv=(program, "-o", str(folder / "trace.rpd"), *wish.tool_args, *app), expected=("*.rpd",)
        )


class TraceLiteProfiler(RpdProfiler):
    """rocm-trace-lite: kernels alone, by intercepting HSA queues. Its mode is the variable RTL_MODE."""

    name = tool = "rocm-trace-lite"
    programs = (Program("rocm-trace-lite", files=("rtl",)),)
    offers = "kernels"
    domains: tuple[Domain, ...] = ("kernel",)
    preloads = ("librtl.so",)

    def app_refusal(self, app: tuple[str, ...], folder: Path, *, is_python: bool) -> str:  # noqa: ARG002
        return "rtl takes every -- out of the program's arguments" if "--" in app else ""

    def command(self, wish: Wish, app: tuple[str, ...], folder: Path, machine: Machine) -> Command:
        program = machine.tools[self.tool].path
        return Command(
            argv=(program, "trace", "-o", str(folder / "trace.db"), *wish.tool_args, *app), expected=("*.db",)
        )
