"""Which ways of looking work on a GPU of this machine: by the catalogue, and by what the profilers that are here say
themselves, so that the matrix and the plans agree. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from rocm_perf.arch import catalog
from rocm_perf.backends.amd.chips import method_doubt, method_refusal, release
from rocm_perf.backends.base import PcSampling, Profiler, Wish
from rocm_perf.backends.machine import FoundGpu, Machine, version_of
from rocm_perf.collect.doctor.access import blocked, may_count
from rocm_perf.model.results.doctor import MethodAnswer, MethodName, Works

PROBE = "rocm-perf doctor --probe"
_TORCH_ONLY = "programs with torch alone"
_NVIDIA_COUNTER = "sm__warps_launched.sum"
_KERNELS_ONLY_SINCE = (6, 2)  # what rocprofv2 mostly records from then on


@dataclass(frozen=True)
class Way:
    """One method: what is asked of a profiler for it, and what the catalogue calls it."""

    method: MethodName
    wish: Wish
    catalogue: str = ""
    table: str = ""  # the rows that prove it


WAYS = (
    Way("API trace", Wish(domains=("hip",)), table="api_calls"),
    Way("kernel trace", Wish(domains=("kernel",)), table="dispatches"),
    Way("counters", Wish(counters=("SQ_WAVES",)), "counters", "counters"),
    Way(
        "PC sampling, host trap",
        Wish(pc_sampling=PcSampling("host_trap", "time", 1000)),
        "pc_sampling_host_trap",
        "pc_samples",
    ),
    Way(
        "PC sampling, stochastic",
        Wish(pc_sampling=PcSampling("stochastic", "cycles", 1 << 20)),
        "pc_sampling_stochastic",
        "pc_samples",
    ),
    Way("ATT", Wish(att=True), "att", "instructions"),
)


def wish_on(way: Way, gpu: FoundGpu) -> Wish:
    """What is asked for on this GPU: the vendors count different things."""
    if way.wish.counters and gpu.vendor == "NVIDIA":
        return msgspec.structs.replace(way.wish, counters=(_NVIDIA_COUNTER,))
    return way.wish


def methods(gpu: FoundGpu, machine: Machine, profilers: Mapping[str, Profiler]) -> tuple[MethodAnswer, ...]:
    """Every method on this GPU, in the order of the matrix."""
    alone = msgspec.structs.replace(machine, gpus=(gpu,))
    obstacle = blocked(alone, gpu.vendor)
    if obstacle:
        names: list[MethodName] = ["timing", "torch.profiler", *(way.method for way in WAYS), "roofline"]
        return tuple(
            MethodAnswer(method=name, works="no", reason=obstacle.title, remedy=obstacle.next_command)
            for name in names
        )
    torch = _torch(gpu, alone, profilers)
    usable = {
        name: profiler for name, profiler in profilers.items() if name != "torch" or torch.works == "yes"
    }
    answers = [_answer(way, gpu, alone, usable) for way in WAYS]
    counters = next(answer for answer in answers if answer.method == "counters")
    timing = MethodAnswer(method="timing", works="yes", reason="wall time of the whole program")
    return (timing, torch, *answers, _roofline(gpu, machine, counters))


def _answer(way: Way, gpu: FoundGpu, machine: Machine, profilers: Mapping[str, Profiler]) -> MethodAnswer:
    chip = gpu.gfx.partition(":")[0]
    lacking = _catalogue_refusal(way, gpu, chip, machine)
    if lacking:
        return _no(way.method, lacking, _newer(way, chip))
    if way.method == "counters" and gpu.vendor == "NVIDIA" and not may_count(machine):
        return _no(way.method, "the driver lets only root read counters", "see the problems below")
    through, reasons = _chosen(wish_on(way, gpu), machine, profilers)
    if not through:
        reason = _first_reason(way, gpu, machine, reasons)
        return _no(way.method, reason, _install(way.method, gpu, machine))
    doubt = _doubt(way, chip, machine, through)
    works: Works = "untested" if doubt else "yes"
    return MethodAnswer(
        method=way.method,
        works=works,
        through=through,
        reason=doubt or (_TORCH_ONLY if through == "torch" else ""),
        remedy=f"probe with `{PROBE}`" if doubt else "",
    )


def _catalogue_refusal(way: Way, gpu: FoundGpu, chip: str, machine: Machine) -> str:
    if not way.catalogue:
        return ""
    tool = next((name for name in ("rocprofv3", "rocprofv2", "rocprof") if machine.tool(name)), "")
    return method_refusal(chip, way.catalogue, release(machine, tool) if gpu.vendor == "AMD" else ())


def _newer(way: Way, chip: str) -> str:
    known = [
        method for gpu in catalog.gpus_of(chip)[:1] for method in gpu.methods if method.name == way.catalogue
    ]
    return f"ROCm {known[0].since} or later" if known and known[0].works == "yes" and known[0].since else ""


def _chosen(wish: Wish, machine: Machine, profilers: Mapping[str, Profiler]) -> tuple[str, dict[str, str]]:
    """The first profiler that does all of it, and why the ones before it do not."""
    reasons: dict[str, str] = {}
    for name, profiler in profilers.items():
        if name == "timing":
            continue
        why = profiler.refusal(wish, machine) or "; ".join(profiler.dropped(wish, machine))
        if not why:
            return name, reasons
        reasons[name] = why
    return "", reasons


def _first_reason(way: Way, gpu: FoundGpu, machine: Machine, reasons: Mapping[str, str]) -> str:
    """Of the profiler that would be the one for it."""
    nvidia = "ncu" if way.method == "counters" else "cupti"
    name = "rocprofv3" if gpu.vendor == "AMD" else nvidia
    if name != "cupti" and name not in machine.tools:
        return f"{name} is not here"
    return f"{name}: {reasons[name]}" if name in reasons else "no profiler for it is here"


def _doubt(way: Way, chip: str, machine: Machine, through: str) -> str:
    """Why it may not work although nobody refuses it."""
    if (
        through == "rocprofv2"
        and way.method == "API trace"
        and release(machine, through) >= _KERNELS_ONLY_SINCE
    ):
        return "rocprofv2 of ROCm 6.2 and later mostly records kernels alone"
    if not way.catalogue:
        return ""
    if not catalog.gpus_of(chip):
        return f"the catalogue does not know {chip or 'this chip'}"
    return method_doubt(chip, way.catalogue)


def _torch(gpu: FoundGpu, machine: Machine, profilers: Mapping[str, Profiler]) -> MethodAnswer:
    torch = machine.torch
    built = "" if torch is None else torch.hip if gpu.vendor == "AMD" else torch.cuda
    if torch is None:
        return _no(
            "torch.profiler", "no torch in the Python that is on PATH", "activate the environment that has it"
        )
    if not built:
        other = "ROCm" if gpu.vendor == "AMD" else "CUDA"
        return _no(
            "torch.profiler", f"torch {torch.version} is built without {other}", f"install torch for {other}"
        )
    profiler = profilers.get("torch")
    why = profiler.refusal(Wish(domains=("kernel",)), machine) if profiler else "not built in"
    if why:
        return _no("torch.profiler", why, "")
    return MethodAnswer(method="torch.profiler", works="yes", through="torch", reason=_TORCH_ONLY)


def _roofline(gpu: FoundGpu, machine: Machine, counters: MethodAnswer) -> MethodAnswer:
    """Counters below the peaks of the catalogue, or those that rocprof-compute measures."""
    chip = gpu.gfx.partition(":")[0]
    if counters.works == "no":
        return _no("roofline", "needs counters", "")
    if not catalog.gpus_of(chip):
        return _no(
            "roofline", f"no peaks of {chip or 'this chip'} are known", "describe it in a file: docs/gpus.md"
        )
    measured = machine.tool("rocprof-compute") and not method_refusal(
        chip, "roofline", version_of(machine.rocm)[:2]
    )
    peaks = "peaks of the data sheet" + (", or measured by rocprof-compute" if measured else "")
    doubt = f"as the counters: {counters.reason}" if counters.works == "untested" else peaks
    return msgspec.structs.replace(counters, method="roofline", reason=doubt)


def _install(method: MethodName, gpu: FoundGpu, machine: Machine) -> str:
    """What to install, where a tool is all that is missing."""
    if gpu.vendor == "AMD":
        here = machine.tool("rocprofv3") is not None
        return "" if here else "sudo apt install rocprofiler-sdk (ROCm 6.2 on; pip wheels have none)"
    release_ = "-".join(machine.cuda.split(".")[:2]) or "13-0"
    if method == "counters":
        return "" if machine.tool("ncu") else f"sudo apt install cuda-nsight-compute-{release_}"
    if method in ("API trace", "kernel trace"):
        return f"sudo apt install cuda-cupti-dev-{release_} g++"
    return ""


def _no(method: MethodName, reason: str, remedy: str) -> MethodAnswer:
    return MethodAnswer(method=method, works="no", reason=reason, remedy=remedy)
