"""Which ways of looking work on a GPU of this machine: by the catalogue, and by what the profilers that are here say
themselves, so that the matrix and the plans agree. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from rocm_perf.arch import catalog
from rocm_perf.backends.amd.chips import method_doubt, method_refusal
from rocm_perf.backends.base import PcSampling, Profiler, Purpose, Wish
from rocm_perf.backends.machine import FoundGpu, Machine, version_of
from rocm_perf.collect.doctor.access import blocked
from rocm_perf.model.results.doctor import MethodAnswer

PROBE = "rocm-perf doctor --probe"
COUNTERS, ROOFLINE, KERNEL_TRACE = "counters", "roofline", "kernel trace"
Profilers = Mapping[str, Profiler]


@dataclass(frozen=True)
class Way:
    """One method: what is asked of a profiler for it, and what the catalogue calls it."""

    method: str
    wish: Wish
    catalogue: str = ""
    table: str = ""  # the rows that prove it; empty: that the program ends well proves it
    profiler: str = ""  # the only one that it is about


_SHARED = (
    Way("API trace", Wish(domains=("hip",)), table="api_calls"),
    Way(KERNEL_TRACE, Wish(domains=("kernel",)), table="dispatches"),
    Way(COUNTERS, Wish(counters=("any",)), catalogue="counters", table="counters"),
    Way(
        "PC sampling, host trap",
        Wish(pc_sampling=PcSampling("host_trap", "time", 1000)),
        catalogue="pc_sampling_host_trap",
        table="pc_samples",
    ),
    Way(
        "PC sampling, stochastic",
        Wish(pc_sampling=PcSampling("stochastic", "cycles", 1 << 20)),
        catalogue="pc_sampling_stochastic",
        table="pc_samples",
    ),
    Way("ATT", Wish(att=True), catalogue="att", table="instructions"),
)


def ways(gpu: FoundGpu, profilers: Profilers) -> tuple[Way, ...]:
    """Every method to ask about on this GPU, in the order of the matrix: what always works comes first."""
    own = [_own_way(profiler) for profiler in reversed(list(profilers.values())) if profiler.own_method]
    return (*own, *(_on(way, gpu, profilers) for way in _SHARED))


def methods(gpu: FoundGpu, machine: Machine, profilers: Profilers) -> tuple[MethodAnswer, ...]:
    """Every method on this GPU, in the order of the matrix."""
    alone = msgspec.structs.replace(machine, gpus=(gpu,))
    asked = ways(gpu, profilers)
    if obstacle := blocked(alone, gpu.vendor):
        return tuple(
            _no(method, obstacle.title, obstacle.next_command)
            for method in (*(way.method for way in asked), ROOFLINE)
        )
    answers = [
        _own_answer(way, alone, profilers[way.profiler]) if way.profiler else _answer(way, alone, profilers)
        for way in asked
    ]
    counters = next(answer for answer in answers if answer.method == COUNTERS)
    return (*answers, _roofline(gpu, machine, counters))


def _own_way(profiler: Profiler) -> Way:
    """The row of a profiler that has one: whether kernels can be traced with it, or the program run."""
    kernels, table = (Wish(domains=("kernel",)), "dispatches") if profiler.records else (Wish(), "")
    return Way(profiler.own_method, kernels, table=table, profiler=profiler.name)


def _on(way: Way, gpu: FoundGpu, profilers: Profilers) -> Way:
    """The method as it is asked for on this GPU: the vendors count different things."""
    if not way.wish.counters:
        return way
    foremost = _foremost("counters", gpu, profilers)
    counters = (foremost.probe_counter,) if foremost else way.wish.counters
    return Way(way.method, Wish(counters=counters), catalogue=way.catalogue, table=way.table)


def _foremost(purpose: Purpose, gpu: FoundGpu, profilers: Profilers) -> Profiler | None:
    """The profiler of the GPU's vendor that would be the one for this, were it here."""
    suited = (each for each in profilers.values() if each.vendor == gpu.vendor and each.serves(purpose))
    return next(suited, None)


def _own_answer(way: Way, machine: Machine, profiler: Profiler) -> MethodAnswer:
    if reason := profiler.gpu_refusal(machine) or profiler.refusal(way.wish, machine):
        return _no(way.method, reason, profiler.install(machine))
    through = profiler.name if profiler.records else ""
    return MethodAnswer(method=way.method, works="yes", through=through, reason=profiler.condition)


def _answer(way: Way, machine: Machine, profilers: Profilers) -> MethodAnswer:
    (gpu,) = machine.gpus
    chip = gpu.gfx.partition(":")[0]
    if lacking := _catalogue_refusal(way, chip, machine, profilers):
        return _no(way.method, lacking, _newer(way, chip))
    through, reasons = _chosen(way.wish, machine, profilers)
    if through is None:
        foremost = _foremost(way.wish.purpose, gpu, profilers)
        return _no(
            way.method,
            _why_not(foremost, machine, reasons) if foremost else "no profiler for it is installed",
            foremost.install(machine) if foremost else "",
        )
    doubt = through.doubt(way.wish, machine) or _catalogue_doubt(way, chip)
    return MethodAnswer(
        method=way.method,
        works="untested" if doubt else "yes",
        through=through.name,
        reason=doubt or through.condition,
        remedy=f"probe with `{PROBE}`" if doubt else "",
    )


def _catalogue_refusal(way: Way, chip: str, machine: Machine, profilers: Profilers) -> str:
    """Why this chip does not have the method in the release of the vendor's first profiler that is here."""
    if not way.catalogue:
        return ""
    of_vendor = [each for each in profilers.values() if each.vendor == machine.vendor]
    here = [each for each in of_vendor if each.is_here(machine)] or of_vendor
    return method_refusal(chip, way.catalogue, here[0].release(machine) if here else ())


def _newer(way: Way, chip: str) -> str:
    known = [
        method for gpu in catalog.gpus_of(chip)[:1] for method in gpu.methods if method.name == way.catalogue
    ]
    return f"ROCm {known[0].since} or later" if known and known[0].works == "yes" and known[0].since else ""


def _chosen(wish: Wish, machine: Machine, profilers: Profilers) -> tuple[Profiler | None, dict[str, str]]:
    """The first profiler that does all of it, and why the ones before it do not."""
    reasons: dict[str, str] = {}
    for profiler in profilers.values():
        if not profiler.records or profiler.gpu_refusal(machine):
            continue
        reason = profiler.refusal(wish, machine) or "; ".join(profiler.dropped(wish, machine))
        if not reason:
            return profiler, reasons
        reasons[profiler.name] = reason
    return None, reasons


def _why_not(profiler: Profiler, machine: Machine, reasons: Mapping[str, str]) -> str:
    if profiler.tool and profiler.tool not in machine.tools:
        return f"{profiler.name} is not installed"
    return f"{profiler.name}: {reasons[profiler.name]}"


def _catalogue_doubt(way: Way, chip: str) -> str:
    """Why it may not work on this chip although nothing refuses it."""
    if not way.catalogue:
        return ""
    if not catalog.gpus_of(chip):
        return f"the catalogue does not know {chip or 'this chip'}"
    return method_doubt(chip, way.catalogue)


def _roofline(gpu: FoundGpu, machine: Machine, counters: MethodAnswer) -> MethodAnswer:
    """Counters below the peaks of the catalogue, or those that rocprof-compute measures."""
    chip = gpu.gfx.partition(":")[0]
    if counters.works == "no":
        return _no(ROOFLINE, "needs counters", "")
    if not catalog.gpus_of(chip):
        return _no(
            ROOFLINE, f"no peaks of {chip or 'this chip'} are known", "describe it in a file: docs/gpus.md"
        )
    measured = machine.tool("rocprof-compute") and not method_refusal(
        chip, "roofline", version_of(machine.rocm)[:2]
    )
    peaks = "peaks of the data sheet" + (", or measured by rocprof-compute" if measured else "")
    doubt = f"as the counters: {counters.reason}" if counters.works == "untested" else peaks
    return msgspec.structs.replace(counters, method=ROOFLINE, reason=doubt)


def _no(method: str, reason: str, remedy: str) -> MethodAnswer:
    return MethodAnswer(method=method, works="no", reason=reason, remedy=remedy)
