"""torch.profiler, put into a Python program from outside: through PYTHONPATH, without a change to the program."""

from __future__ import annotations

import os
import re
from pathlib import Path

from msgspec.structs import replace

from rocm_perf.backends.base import Command, Profiler, TorchOptions, Wish
from rocm_perf.backends.launch_cost import LaunchCost, keep, kept, printed_times
from rocm_perf.backends.machine import Machine, version_of
from rocm_perf.backends.native_cache import cache_folder
from rocm_perf.backends.window_variables import window_variables
from rocm_perf.model.window import Window

INJECTED = Path(__file__).parents[1] / "inject"
_PROBE = Path(__file__).with_name("probes") / "torch_launch.py"

_CANNOT = {
    "hsa": "torch.profiler records the HIP or CUDA runtime, not the layer below it",
    "scratch": "torch.profiler does not record scratch memory",
}
_EVERY_THREAD_SINCE = (2, 8)
# -I and -E ignore PYTHONPATH, -S does not run sitecustomize; one letter may stand among others (-sE).
_ISOLATED = re.compile(r"-[A-Za-z]*[IES][A-Za-z]*")
_PYTHON = re.compile(r"python[0-9.]*t?d?")
_TAKES_VALUE = ("-W", "-X")


class TorchProfiler(Profiler):
    """The Kineto recorder of PyTorch. It works wherever torch does, with ROCm, CUDA or neither."""

    name = "torch"
    why = "the program is Python, and torch brings its own profiler"
    offers = "torch.profiler"
    domains = ("kernel", "hip", "copy", "allocation", "marker", "rccl")  # rccl: as the kernels of collectives
    python_only = True
    own_method = "torch.profiler"
    condition = "only programs that use torch"

    def is_here(self, machine: Machine) -> bool:
        return machine.torch is not None

    def install(self, machine: Machine) -> str:
        if machine.torch is None:
            return "activate the environment that has it"
        return "" if _built_for(machine) else f"install torch for {_platform(machine)}"

    def gpu_refusal(self, machine: Machine) -> str:
        if machine.torch is None:
            return "no torch in the Python that is on PATH"
        lacking = f"torch {machine.torch.version} is built without {_platform(machine)}"
        return "" if _built_for(machine) else lacking

    def app_refusal(self, app: tuple[str, ...], folder: Path, *, is_python: bool) -> str:
        if reason := super().app_refusal(app, folder, is_python=is_python):
            return reason
        flag = _isolating_flag(app)
        return f"`{Path(app[0]).name} {flag}` ignores what is put on PYTHONPATH" if flag else ""

    def refusal(self, wish: Wish, machine: Machine) -> str:
        if machine.torch is None:
            return "the Python on PATH has no torch"
        if wish.purpose != "trace":
            return "torch.profiler has no counters, no PC sampling and no thread trace"
        if wish.domains and not set(wish.domains) & set(self.domains):
            return "torch.profiler records none of " + ", ".join(wish.domains)
        return ""

    def window_refusal(self, wish: Wish, machine: Machine) -> str:
        window = wish.window
        if window.last_s is not None:
            return "torch.profiler has no ring that keeps the last seconds"
        if window.max_bytes is not None:
            return "torch.profiler writes everything at its end, whatever the size"
        if window.by_both:
            return "torch.profiler is switched by the clock or by steps and ranges, not by both"
        version = machine.torch.version if machine.torch is not None else ""
        if window.by_clock and () < version_of(version.partition("+")[0]) < _EVERY_THREAD_SINCE:
            return f"torch {version} records only the thread that begins, and clocks run on another: give --steps"
        if window and wish.torch.active:
            return f"--{window.parts[0]} and --torch-active both choose a part of the run: leave one out"
        return ""

    def dropped(self, wish: Wish, machine: Machine) -> tuple[str, ...]:  # noqa: ARG002
        lost = [f"{domain} trace: {why}" for domain, why in _CANNOT.items() if domain in wish.domains]
        asked = {
            "kernel filter": bool(wish.kernel_include or wish.kernel_exclude or wish.iteration_range),
            "collection period": bool(wish.collection_period),
            "selected regions": wish.selected_regions,
            "output name": bool(wish.output_name),
            "output format": bool(wish.formats),
            "tool arguments": bool(wish.tool_args),
        }
        return (*lost, *(f"{what}: torch.profiler has none" for what, is_asked in asked.items() if is_asked))

    def command(self, wish: Wish, app: tuple[str, ...], folder: Path, machine: Machine) -> Command:
        python_path = machine.environment.get("PYTHONPATH", "")
        path = os.pathsep.join(filter(None, (str(INJECTED), python_path)))
        options = _variables(_scheduled(wish), "allocation" in wish.domains)
        return Command(
            argv=app,
            environment={
                "PYTHONPATH": path,
                "ROCM_PERF_TORCH_OUTPUT": str(folder),
                **options,
                **_window(wish.window),
            },
            expected=("*.pt.trace.json",),
        )

    def prepare(self, machine: Machine) -> None:
        """Measure what torch.profiler costs here, unless an earlier run did."""
        file = _cost_file(machine)
        if machine.torch is None or not machine.gpus or not _built_for(machine) or kept(file):
            return
        times = printed_times([machine.torch.python, str(_PROBE)], {})
        if len(times) == 2:
            keep(LaunchCost(*times), file)

    def launch_cost_ns(self, machine: Machine) -> float | None:
        cost = kept(_cost_file(machine))
        return None if cost is None else cost.added_ns


def _cost_file(machine: Machine) -> Path:
    """Where the cost is kept: another torch or another machine has another one."""
    version = machine.torch.version if machine.torch else ""
    return cache_folder(machine.environment).parent / "launch-cost" / machine.host / f"torch-{version}.json"


def _built_for(machine: Machine) -> str:
    """The release of the GPUs' platform that torch was built for; empty if it was built for another."""
    if machine.torch is None:
        return ""
    return machine.torch.hip if machine.vendor == "AMD" else machine.torch.cuda


def _platform(machine: Machine) -> str:
    return "ROCm" if machine.vendor == "AMD" else "CUDA"


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


def _scheduled(wish: Wish) -> TorchOptions:
    """The schedule: the user's own, or the one that records the steps of the window, after one to warm up."""
    window = wish.window
    if window.steps is None or window.range:
        return wish.torch
    first, last = window.steps
    warmup = min(1, first - 1)
    return replace(wish.torch, wait=first - 1 - warmup, warmup=warmup, active=last - first + 1, repeat=1)


def _window(window: Window) -> dict[str, str]:
    """What the recorder itself has to watch: torch's schedule counts the program's steps."""
    return window_variables(window) if window.by_clock or window.range else {}


def _variables(options: TorchOptions, with_allocations: bool) -> dict[str, str]:
    """The variables that the injected recorder reads (inject/rocm_perf_torch_hook.py)."""
    values = {
        "WAIT": options.wait,
        "WARMUP": options.warmup,
        "ACTIVE": options.active,
        "REPEAT": options.repeat,
        "SHAPES": int(options.shapes),
        "MEMORY": int(options.memory or with_allocations),
        "STACKS": int(options.stacks),
    }
    return {f"ROCM_PERF_TORCH_{name}": str(value) for name, value in values.items()}
