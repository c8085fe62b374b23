"""Profilers that are put into a Python program from outside: through PYTHONPATH, without a change to the program."""

from __future__ import annotations

import os
import re
from pathlib import Path

from rocm_perf.backends.base import Profiler, Wish
from rocm_perf.backends.machine import Machine

INJECTED = Path(__file__).parents[1] / "inject"

# -I and -E ignore PYTHONPATH, -S does not run sitecustomize; one letter may stand among others (-sE).
_ISOLATED = re.compile(r"-[A-Za-z]*[IES][A-Za-z]*")
_PYTHON = re.compile(r"python[0-9.]*t?d?")
_TAKES_VALUE = ("-W", "-X")


class InjectedProfiler(Profiler):
    """What the profilers of frameworks have in common. `offers` is what the framework calls its profiler."""

    domains = ("kernel", "hip", "copy", "allocation", "marker", "rccl")  # rccl: as the kernels of collectives
    python_only = True

    def app_refusal(self, app: tuple[str, ...], folder: Path, *, is_python: bool) -> str:
        if reason := super().app_refusal(app, folder, is_python=is_python):
            return reason
        flag = _isolating_flag(app)
        return f"`{Path(app[0]).name} {flag}` ignores what is put on PYTHONPATH" if flag else ""

    def refusal(self, wish: Wish, machine: Machine) -> str:
        if not self.is_here(machine):
            return f"the Python on PATH has no {self.name}"
        if wish.purpose != "trace":
            return f"{self.offers} has no counters, no PC sampling and no thread trace"
        if wish.domains and not set(wish.domains) & set(self.domains):
            return f"{self.offers} records none of " + ", ".join(wish.domains)
        return ""

    def window_refusal(self, wish: Wish, machine: Machine) -> str:  # noqa: ARG002
        window = wish.window
        if window.recurs:
            return f"{self.offers} stops the program to write its file whenever a window closes"
        if window.last_s is not None:
            return f"{self.offers} has no ring that keeps the last seconds"
        if window.max_bytes is not None:
            return f"{self.offers} writes everything at its end, whatever the size"
        if window.by_both:
            return f"{self.offers} is switched by the clock or by steps and ranges, not by both"
        return ""

    def dropped(self, wish: Wish, machine: Machine) -> tuple[str, ...]:  # noqa: ARG002
        cannot = {
            "hsa": f"{self.offers} records the HIP or CUDA runtime, not the layer below it",
            "scratch": f"{self.offers} does not record scratch memory",
        }
        lost = [f"{domain} trace: {why}" for domain, why in cannot.items() if domain in wish.domains]
        asked = {
            "kernel filter": bool(wish.kernel_include or wish.kernel_exclude or wish.iteration_range),
            "collection period": bool(wish.collection_period),
            "selected regions": wish.selected_regions,
            "output name": bool(wish.output_name),
            "output format": bool(wish.formats),
            "tool arguments": bool(wish.tool_args),
        }
        return (*lost, *(f"{what}: {self.offers} has none" for what, is_asked in asked.items() if is_asked))


def python_path(machine: Machine) -> str:
    """PYTHONPATH with what is injected before the user's own folders."""
    return os.pathsep.join(filter(None, (str(INJECTED), machine.environment.get("PYTHONPATH", ""))))


def _isolating_flag(app: tuple[str, ...]) -> str:
    """The option that makes Python ignore PYTHONPATH or sitecustomize; empty if there is none."""
    if not app or not _PYTHON.fullmatch(Path(app[0]).name):
        return ""
    arguments = iter(app[1:])
    for argument in arguments:
        if argument in _TAKES_VALUE:
            next(arguments, "")
        elif not argument.startswith("-") or argument[1:2] in ("c", "m") or argument == "-":
            return ""
        elif _ISOLATED.fullmatch(argument):
            return argument
    return ""
