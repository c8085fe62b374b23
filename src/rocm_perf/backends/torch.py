"""torch.profiler, put into a Python program from outside: through PYTHONPATH, without a change to the program."""

from __future__ import annotations

import os
import re
from pathlib import Path

from rocm_perf.backends.base import Command, TorchOptions, Wish
from rocm_perf.backends.machine import Machine

INJECTED = Path(__file__).parents[1] / "inject"

_RECORDED = ("kernel", "hip", "copy", "marker", "rccl")  # rccl: as the kernels of collectives
_CANNOT = {
    "hsa": "torch.profiler records the HIP or CUDA runtime, not the layer below it",
    "scratch": "torch.profiler does not record scratch memory",
}
# -I and -E ignore PYTHONPATH, -S does not run sitecustomize; one letter may stand among others (-sE).
_ISOLATED = re.compile(r"-[A-Za-z]*[IES][A-Za-z]*")
_PYTHON = re.compile(r"python[0-9.]*t?d?")
_TAKES_VALUE = ("-W", "-X")


class TorchProfiler:
    """The Kineto recorder of PyTorch. It works wherever torch does, with ROCm, CUDA or neither."""

    name = "torch"

    def refusal(self, wish: Wish, machine: Machine) -> str:
        if machine.torch is None:
            return "the Python on PATH has no torch"
        if wish.domains and not set(wish.domains) & {*_RECORDED, "allocation"}:
            return "torch.profiler records none of " + ", ".join(wish.domains)
        if not wish.domains and (wish.counters or wish.att or wish.pc_sampling is not None):
            return "torch.profiler has no counters, no PC sampling and no thread trace"
        return ""

    def dropped(self, wish: Wish, machine: Machine) -> tuple[str, ...]:  # noqa: ARG002
        lost = [f"{domain} trace: {why}" for domain, why in _CANNOT.items() if domain in wish.domains]
        asked = {
            "counters": bool(wish.counters),
            "PC sampling": wish.pc_sampling is not None,
            "thread trace": wish.att,
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
        options = _variables(wish.torch, "allocation" in wish.domains)
        return Command(
            argv=app,
            environment={"PYTHONPATH": path, "ROCM_PERF_TORCH_OUTPUT": str(folder), **options},
            expected=("*.pt.trace.json",),
        )


def app_refusal(app: tuple[str, ...]) -> str:
    """Why it cannot get into this program; empty if nothing speaks against it."""
    flag = _isolating_flag(app)
    return f"`{Path(app[0]).name} {flag}` ignores what is put on PYTHONPATH" if flag else ""


def _isolating_flag(app: tuple[str, ...]) -> str:
    """The option by which Python is told to ignore PYTHONPATH or sitecustomize; empty if there is none."""
    if not app or not _PYTHON.fullmatch(Path(app[0]).name):
        return ""
    words = iter(app[1:])
    for word in words:
        if word in _TAKES_VALUE:
            next(words, "")
        elif not word.startswith("-") or word[1:2] in ("c", "m") or word == "-":
            return ""
        elif _ISOLATED.fullmatch(word):
            return word
    return ""


def _variables(options: TorchOptions, with_allocations: bool) -> dict[str, str]:
    """What the injected recorder reads (inject/rocm_perf_torch_hook.py)."""
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
