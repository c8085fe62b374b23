"""Options of the compiler that may help without a change of the text. An option works on the whole file, so limits of
registers are proposed only where it has one kernel."""

from __future__ import annotations

from dataclasses import dataclass

from rocm_perf.optimize.candidate import Cause
from rocm_perf.optimize.source.contents import contents_of
from rocm_perf.optimize.source.model import Kernel
from rocm_perf.optimize.source.parse import Source
from rocm_perf.optimize.transforms.setting import Setting
from rocm_perf.optimize.transforms.transform import Proposals, Transform


@dataclass(frozen=True)
class Option:
    """Flags, and what they are tried for."""

    flags: tuple[str, ...]
    causes: tuple[Cause, ...]
    inexact: bool = False  # changes how numbers are rounded
    registers: bool = False  # limits every kernel of the file
    atomics: bool = False  # changes nothing without atomics


_AMD = (
    Option(("-O3",), ("memory", "latency", "occupancy", "lds", "compute", "unknown")),
    # LLVM's "User Guide for AMDGPU Backend": the scheduler's aim, more loads in flight or more waves.
    Option(("-mllvm", "-amdgpu-sched-strategy=max-ilp"), ("latency", "compute", "unknown")),
    Option(("-mllvm", "-amdgpu-sched-strategy=max-memory-clause"), ("memory", "latency")),
    Option(("-ffast-math",), ("compute", "latency", "unknown"), inexact=True),
    Option(("-munsafe-fp-atomics",), ("memory", "latency"), inexact=True, atomics=True),
)
_NVIDIA = (
    # NVIDIA CUDA Compiler Driver: "extra-device-vectorization", "maxrregcount", "use_fast_math".
    Option(("--extra-device-vectorization",), ("memory", "latency", "unknown")),
    Option(("--maxrregcount=64",), ("occupancy", "latency"), registers=True),
    Option(("--maxrregcount=32",), ("occupancy",), registers=True),
    Option(("-use_fast_math",), ("compute", "latency", "unknown"), inexact=True),
)


def propose(source: Source, kernel: Kernel, setting: Setting, proposals: Proposals) -> None:
    """Every option that fits the cause and is not given already."""
    for option in _AMD if setting.is_amd else _NVIDIA:
        if setting.cause not in option.causes or _is_given(option, setting.flags):
            continue
        if option.atomics and not contents_of(kernel.node, kernel.calls, frozenset()).atomics:
            continue
        title = " ".join(option.flags)
        reason = _reason_against(option, source, kernel, setting)
        if reason is not None:
            proposals.refuse(title, reason)
        else:
            proposals.propose(title, flags=option.flags)


def _is_given(option: Option, flags: tuple[str, ...]) -> bool:
    last = option.flags[-1]
    return last in flags or (last == "-O3" and "-Ofast" in flags)


def _reason_against(option: Option, source: Source, kernel: Kernel, setting: Setting) -> str | None:
    if option.inexact and not setting.allow_fast_math:
        return "it is less exact, and fast math is not allowed"
    if option.registers and len(source.kernels) + len(source.unreadable) > 1:
        return "it would limit the other kernels of the file too; __launch_bounds__ does it for one"
    if option.registers and (kernel.attribute("__launch_bounds__") or kernel.macros):
        return "the kernel's own bounds come first"
    return None


TRANSFORM = Transform(
    name="compiler options",
    ranks={"memory": 7, "latency": 5, "occupancy": 3, "lds": 6, "compute": 5, "unknown": 6},
    propose=propose,
)
