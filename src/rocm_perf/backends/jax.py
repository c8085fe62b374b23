"""jax.profiler, put into a Python program from outside."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from rocm_perf.backends.base import Command, Wish
from rocm_perf.backends.injected import InjectedProfiler, python_path
from rocm_perf.backends.machine import Machine
from rocm_perf.backends.window_variables import window_variables
from rocm_perf.model.window import Window

_STEPS = "@steps"  # every StepTraceAnnotation, whatever its name (inject/rocm_perf_torch_window.py)


class JaxProfiler(InjectedProfiler):
    """XLA's recorder, as JAX starts it. It works wherever JAX does, with ROCm, CUDA, a TPU or a CPU alone."""

    name = "jax"
    why = "the program is Python, and JAX brings its own profiler"
    offers = "jax.profiler"
    own_method = "jax.profiler"
    condition = "only programs that use JAX"
    only_asked = True  # a Python with JAX runs much else as well

    def is_here(self, machine: Machine) -> bool:
        return bool(machine.jax)

    def install(self, machine: Machine) -> str:
        return "" if machine.jax else "activate the environment that has it"

    def gpu_refusal(self, machine: Machine) -> str:
        return "" if machine.jax else "no jax in the Python that is on PATH"

    def window_refusal(self, wish: Wish, machine: Machine) -> str:
        if wish.window.between_calls:
            return "JAX programs do not call a profiler of CUDA or ROCm: give --range, --steps or --delay"
        return super().window_refusal(wish, machine)

    def command(self, wish: Wish, app: tuple[str, ...], folder: Path, machine: Machine) -> Command:
        return Command(
            argv=app,
            environment={
                "PYTHONPATH": python_path(machine),
                "ROCM_PERF_JAX_OUTPUT": str(folder),
                **window_variables(_watched(wish.window)),
            },
            expected=("*.xplane.pb",),
        )


def _watched(window: Window) -> Window:
    """The window as the recorder watches it: steps of no range are those that the program annotates as steps."""
    return replace(window, range=_STEPS) if window.steps and not window.range else window
