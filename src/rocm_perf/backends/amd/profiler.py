"""What AMD's profilers have in common: the release of ROCm that they belong to, and counters packed into passes."""

from __future__ import annotations

from msgspec.structs import replace

from rocm_perf.backends.amd.chips import first_gfx, method_refusal, release, written
from rocm_perf.backends.amd.counter_passes import Names, counter_passes
from rocm_perf.backends.base import CounterPasses, Profiler, Wish
from rocm_perf.backends.machine import Machine, Version

NO_GPU = "no AMD GPU was found"


class AmdProfiler(Profiler):
    """A profiler of AMD's."""

    vendor = "AMD"
    offers = "kernel and API trace"
    preloads = ("librocprof",)
    probe_counter = "SQ_WAVES"

    def release(self, machine: Machine) -> Version:
        return release(machine, self.name)

    def counter_passes(self, names: Names, groups: tuple[Names, ...], machine: Machine) -> CounterPasses:
        """As many passes as the first GPU needs; the others are asked for the same counters."""
        gfx, rocm = first_gfx(machine), self.release(machine)
        planned = counter_passes(names, groups, gfx, written(rocm) or None)
        return replace(
            planned,
            notes=(*planned.notes, *_other_gpus(machine, gfx)),
            refusal=method_refusal(gfx, "counters", rocm) or planned.refusal,
        )


def _other_gpus(machine: Machine, gfx: str) -> tuple[str, ...]:
    others = sorted({gpu.gfx.partition(":")[0] for gpu in machine.gpus if gpu.vendor == "AMD"} - {gfx})
    return (f"counters are those of {gfx}; {', '.join(others)} may lack some of them",) if others else ()


class AmdTracer(AmdProfiler):
    """A tool that records traces alone, and only where the user asks for it."""

    only_asked = True
    probe_counter = ""

    def refusal(self, wish: Wish, machine: Machine) -> str:
        if wish.counters:
            return f"{self.name} is not used for counters here (rocprofv3 is)"
        if wish.pc_sampling is not None:
            return f"{self.name} does not sample program counters of the GPU"
        if wish.att:
            return "only rocprofv3 records thread traces"
        if not self.watches(machine):
            return NO_GPU
        found = machine.tools.get(self.tool)
        return "it is not on this machine" if found is None else found.problem
