"""torch.profiler, put into a Python program from outside."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from rocm_perf.backends.base import Command, TorchOptions, Wish
from rocm_perf.backends.injected import InjectedProfiler, python_path
from rocm_perf.backends.launch_cost import LaunchCost, keep, kept, printed_times
from rocm_perf.backends.machine import Machine, version_of
from rocm_perf.backends.native_cache import cache_folder
from rocm_perf.backends.window_variables import window_variables
from rocm_perf.model.window import Window

_PROBE = Path(__file__).with_name("probes") / "torch_launch.py"

_EVERY_THREAD_SINCE = (2, 8)
_TO_THE_END = 10**9  # steps: more than any program makes


class TorchProfiler(InjectedProfiler):
    """The Kineto recorder of PyTorch. It works wherever torch does, with ROCm, CUDA or neither."""

    name = "torch"
    why = "the program is Python, and torch brings its own profiler"
    offers = "torch.profiler"
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

    def window_refusal(self, wish: Wish, machine: Machine) -> str:
        if reason := super().window_refusal(wish, machine):
            return reason
        window = wish.window
        version = machine.torch.version if machine.torch is not None else ""
        if window.by_clock and () < version_of(version.partition("+")[0]) < _EVERY_THREAD_SINCE:
            return f"torch {version} records only the thread that begins, and clocks run on another: give --steps"
        if window and wish.torch.active:
            return f"--{window.parts[0]} and --torch-active both choose a part of the run: leave one out"
        return ""

    def command(self, wish: Wish, app: tuple[str, ...], folder: Path, machine: Machine) -> Command:
        options = _variables(_scheduled(wish), "allocation" in wish.domains)
        return Command(
            argv=app,
            environment={
                "PYTHONPATH": python_path(machine),
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

    def launch_cost(self, machine: Machine) -> LaunchCost | None:
        return kept(_cost_file(machine))


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
    later = options.wait or options.warmup
    values = {
        "STEP": options.step,
        "WAIT": options.wait,
        "WARMUP": options.warmup,
        "ACTIVE": options.active or (_TO_THE_END if later else 0),
        "REPEAT": options.repeat,
        "SHAPES": int(options.shapes),
        "MEMORY": int(options.memory or with_allocations),
        "STACKS": int(options.stacks),
    }
    return {f"ROCM_PERF_TORCH_{name}": str(value) for name, value in values.items()}
