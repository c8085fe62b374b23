"""Counters through Nsight Compute: it replays each kernel until it has them all, in one run of the application."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from rocm_perf.backends.base import Command, Profiler, Wish
from rocm_perf.backends.machine import Machine, version_of
from rocm_perf.backends.nvidia.counters import metric_sets, ncu_metrics, replays_of
from rocm_perf.backends.nvidia.probe import may_count, package_release
from rocm_perf.backends.tools import Program
from rocm_perf.model.window import Window

_NAME = "ncu"
OUTPUT = "ncu.csv"
# What rocm-perf reads best: one row a kernel, base units, clocks as they are in the application's own runs. The output
# goes into a file, so that the application's own stays untouched, and its children are profiled, too.
_ALWAYS = [
    "--csv",
    "--page",
    "raw",
    "--print-units",
    "base",
    "--clock-control",
    "none",
    "--target-processes",
    "all",
]
_RANGE_FILTER_SINCE = (2023, 2)  # the oldest release whose documentation has it
_DELIMITERS = re.compile(r"([@,\[\]/*+\\])")  # of an NVTX filter; a backslash takes their meaning
_RANGE = re.compile(r"\[?(\d+)(?:-(\d+))?\]?")
# What a recording costs, guessed until one is measured: ncu's start, and saving and restoring memory for a replay.
_START_NS = 3_000_000_000
_REPLAY_NS = 30_000_000
_REPLAYS = 10  # of other metrics than those of a set that says how many it takes


class NcuProfiler(Profiler):
    """Counters of each kernel, and no timeline: every kernel runs alone, and several times."""

    name = tool = _NAME
    why = "it reads NVIDIA's counters"
    offers = "counters"
    vendor = "NVIDIA"
    extras = ("counters",)
    programs = (Program(_NAME, vendor="NVIDIA"),)
    preloads = ("ncu",)
    default_counters = ("counters_basic",)
    probe_counter = "sm__warps_launched.sum"

    def install(self, machine: Machine) -> str:
        here = machine.tool(_NAME) is not None
        return "" if here else f"sudo apt install cuda-nsight-compute-{package_release(machine)}"

    def refusal(self, wish: Wish, machine: Machine) -> str:
        if not self.watches(machine):
            return "ncu reads the counters of NVIDIA GPUs, and there is none here"
        tool = machine.tools.get(_NAME)
        if tool is None:
            return "ncu (Nsight Compute) is not installed (package nsight-compute)"
        if tool.problem:
            return f"ncu {tool.problem}"
        if wish.pc_sampling or wish.att:
            return "ncu is used only for counters"
        if not wish.counters:
            return "ncu records counters, and none are asked for"
        if not may_count(machine):
            return (
                "the driver keeps counters from ordinary users (ERR_NVGPUCTRPERM): run as root, "
                "or load the module with NVreg_RestrictProfilingToAdminUsers=0"
            )
        return ""

    def window_refusal(self, wish: Wish, machine: Machine) -> str:
        window = wish.window
        if window.steps and not window.range:
            return "ncu does not know the program's steps: name the range that opens at each with --range"
        if window.steps and () < version_of(machine.tools[_NAME].version) < _RANGE_FILTER_SINCE:
            return f"ncu {machine.tools[_NAME].version} does not count ranges, 2023.2 does"
        if others := [part for part in window.parts if part not in ("range", "steps")]:
            return (
                f"ncu has no --{others[0]}: it replays kernels, so that seconds of the program mean nothing"
            )
        return ""

    def dropped(self, wish: Wish, machine: Machine) -> tuple[str, ...]:  # noqa: ARG002
        return tuple(_dropped(wish))

    def counting_ns(
        self, wish: Wish, alone_ns: int, kernels: Mapping[str, tuple[int, int]], machine: Machine
    ) -> int:
        """The program once more, and each of the launches that are counted as often as its metrics take."""
        chip = _chip(machine)
        replays = sum(
            (name in metric_sets() and replays_of(name, chip)) or _REPLAYS for name in wish.counters
        )
        launches = sum(count for count, _ in kernels.values())
        time_ns = sum(total_ns for _, total_ns in kernels.values())
        return alone_ns + _START_NS + replays * (launches * _REPLAY_NS + time_ns)

    def command(self, wish: Wish, app: tuple[str, ...], folder: Path, machine: Machine) -> Command:
        """ncu around the application. Its exit code need not be the application's."""
        tool = machine.tool(_NAME)
        metrics = ncu_metrics(wish.counters, _chip(machine))
        return Command(
            argv=(
                tool.path if tool else _NAME,
                *_ALWAYS,
                "--metrics",
                ",".join(metrics),
                "--log-file",
                str(folder / OUTPUT),
                *_filters(wish),
                *_window(wish.window),
                *wish.tool_args,
                *app,
            ),
            expected=(OUTPUT,),
            notices=(*self.dropped(wish, machine), *_translated(wish)),
            separates_exit_code=False,
        )


def _chip(machine: Machine) -> str:
    return next((gpu.gfx for gpu in machine.gpus if gpu.vendor == "NVIDIA"), "")


def _filters(wish: Wish) -> list[str]:
    options: list[str] = []
    if wish.kernel_launches:
        # CONTEXT:STREAM:NAME:LAUNCH, the launch counted for each kernel; a colon within a name would end it.
        name = f"regex:{wish.kernel_include.replace(':', '.')}" if wish.kernel_include else ""
        numbers = "|".join(map(str, wish.kernel_launches))
        numbers = numbers if len(wish.kernel_launches) == 1 else f"^({numbers})$"
        options += ["--kernel-name-base", "demangled", "--kernel-id", f"::{name}:{numbers}"]
    elif wish.kernel_include:
        options += ["--kernel-name-base", "demangled", "--kernel-name", f"regex:{wish.kernel_include}"]
    if launches := _launches(wish):
        first, last = launches
        options += ["--launch-skip", str(first - 1), "--launch-count", str(last - first + 1)]
    if wish.selected_regions:
        options += ["--profile-from-start", "off"]
    return options


def _window(window: Window) -> list[str]:
    """ncu's options: a range by its name may be pushed and popped (NAME/) or started and ended (NAME)."""
    if not window.range:
        return []
    steps = "[{}-{}]".format(*window.steps) if window.steps else ""
    if window.between_calls:
        return ["--profile-from-start", "off", *(["--range-filter", f":{steps}:"] if steps else [])]
    name = _DELIMITERS.sub(r"\\\1", window.range)
    include = ["--nvtx", "--nvtx-include", f"{name}/", "--nvtx-include", name]
    return [*include, *(["--range-filter", f"::{steps}"] if steps else [])]


def _launches(wish: Wish) -> tuple[int, int] | None:
    """First and last launch of one range, counted from 1; None without one, or with several."""
    text = ",".join(wish.iteration_range)
    match = _RANGE.fullmatch(text.replace(" ", ""))
    if not match:
        return None
    first = int(match.group(1))
    last = int(match.group(2) or first)
    return (first, last) if 1 <= first <= last else None


def _translated(wish: Wish) -> list[str]:
    notices = []
    if _launches(wish):
        notices.append("the iteration range counts the launches of all kernels that fit, not of each kernel")
    if wish.selected_regions:
        notices.append("ncu takes the regions between cudaProfilerStart and cudaProfilerStop")
    return notices


def _dropped(wish: Wish) -> list[str]:
    dropped = []
    if wish.domains:
        dropped.append("trace: ncu runs each kernel alone and records no timeline")
    if wish.kernel_exclude:
        dropped.append("kernels to leave out: ncu has no such filter")
    if wish.iteration_range and not _launches(wish):
        dropped.append(f"iteration range {','.join(wish.iteration_range)}: ncu takes one range, from 1 on")
    if wish.collection_period:
        dropped.append("collection periods: ncu has none")
    if others := [name for name in wish.formats if name != "csv"]:
        dropped.append(f"format {', '.join(others)}: ncu writes CSV here")
    if wish.output_name:
        dropped.append(f"output name: ncu's counters go to {OUTPUT} in the folder of their run")
    return dropped
