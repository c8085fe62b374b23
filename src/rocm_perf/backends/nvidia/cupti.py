"""A trace through CUPTI: our own small library, which CUDA's driver loads into the application when it initialises."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from rocm_perf.backends.base import Command, Domain, Profiler, Wish
from rocm_perf.backends.launch_cost import LaunchCost, kept
from rocm_perf.backends.machine import Machine
from rocm_perf.backends.nvidia import tracer_cost
from rocm_perf.backends.nvidia.build import absence, build, library
from rocm_perf.backends.nvidia.probe import CUPTI, package_release
from rocm_perf.backends.window_variables import window_variables

_MEASURED: tuple[Domain, ...] = ("kernel", "hip", "copy", "marker")  # what every preset records
OUTPUT_NAME = "%hostname%/rank%env{RANK}%-%pid%"
SUFFIX = ".rptrace"


class CuptiProfiler(Profiler):
    """Kernels, copies, API calls, allocations and NVTX ranges of any CUDA program."""

    name = "cupti"
    why = "it traces any CUDA program"
    offers = "kernel and API trace"
    vendor = "NVIDIA"
    domains = ("kernel", "hip", "hsa", "copy", "allocation", "marker", "rccl")  # NCCL's calls are NVTX ranges
    tool = CUPTI
    preloads = ("cupti",)

    def install(self, machine: Machine) -> str:
        return f"sudo apt install cuda-cupti-dev-{package_release(machine)} g++" if absence(machine) else ""

    def refusal(self, wish: Wish, machine: Machine) -> str:
        if not self.watches(machine):
            return "CUPTI traces NVIDIA GPUs, and there is none here"
        if wish.counters:
            return "counters are recorded by ncu"
        if wish.pc_sampling or wish.att:
            return "it samples no program counters and traces no threads"
        if not set(wish.domains) & set(self.domains):
            return "nothing of what is asked for is CUPTI's to record"
        return absence(machine)

    def window_refusal(self, wish: Wish, machine: Machine) -> str:  # noqa: ARG002
        if wish.window.steps and not wish.window.range:
            return "CUPTI does not know the program's steps: name the range that opens at each with --range"
        return ""

    def dropped(self, wish: Wish, machine: Machine) -> tuple[str, ...]:  # noqa: ARG002
        return tuple(_dropped(wish))

    def command(self, wish: Wish, app: tuple[str, ...], folder: Path, machine: Machine) -> Command:
        """The application as it is; the environment makes CUDA load the tracer. `prepare` builds it first."""
        tracer = str(library(machine))
        name = wish.output_name or OUTPUT_NAME
        return Command(
            argv=app,
            environment={
                "CUDA_INJECTION64_PATH": tracer,
                "NVTX_INJECTION64_PATH": tracer,
                "ROCM_PERF_CUPTI_OUTPUT": f"{folder / name}{SUFFIX}",
                "ROCM_PERF_CUPTI_DOMAINS": ",".join(self._domains(wish)),
                **window_variables(wish.window),
            },
            expected=(f"**/*{SUFFIX}",),
            notices=(*_without_meaning(wish), *self.dropped(wish, machine)),
        )

    def prepare(self, machine: Machine) -> None:
        """Build the tracer, and measure what it costs here, unless an earlier run did."""
        tracer = build(machine)
        if kept(tracer_cost.cost_file(tracer)) is None:
            with TemporaryDirectory(prefix="rocm-perf-") as folder:
                wish = Wish(domains=_MEASURED)
                tracer_cost.measure(tracer, self.command(wish, (), Path(folder), machine).environment)

    def launch_cost(self, machine: Machine) -> LaunchCost | None:
        return kept(tracer_cost.cost_file(library(machine)))

    def _domains(self, wish: Wish) -> tuple[Domain, ...]:
        return tuple(domain for domain in self.domains if domain in wish.domains)


def _without_meaning(wish: Wish) -> tuple[str, ...]:
    """Notices about what presets ask for on AMD and CUDA does not have: nothing is lost."""
    return ("scratch memory: CUDA has no such events",) if "scratch" in wish.domains else ()


def _dropped(wish: Wish) -> list[str]:
    dropped = []
    if wish.kernel_include or wish.kernel_exclude or wish.iteration_range:
        dropped.append("kernel filters: CUPTI records every kernel")
    if wish.collection_period or wish.selected_regions:
        dropped.append(
            "collection periods and selected regions: CUPTI records from the first CUDA call to the last"
        )
    others = [name for name in wish.formats if name != "json"]
    if others:
        dropped.append(
            f"format {', '.join(others)}: the trace is JSON, `rocm-perf export` turns it into others"
        )
    if wish.tool_args:
        dropped.append(f"{' '.join(wish.tool_args)}: the CUPTI tracer takes no arguments")
    return dropped
