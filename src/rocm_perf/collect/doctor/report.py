"""The doctor's report on a probed machine. Pure: probing and trying are done before."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

import msgspec

from rocm_perf.backends.amd.probe import DECODER
from rocm_perf.backends.machine import DeviceNode, FoundGpu, Machine, Tool
from rocm_perf.backends.nvidia.probe import CUPTI, CUPTI_HEADER
from rocm_perf.backends.probe import programs
from rocm_perf.collect.doctor.access import blocked
from rocm_perf.collect.doctor.conflicts import conflicts
from rocm_perf.collect.doctor.methods import KERNEL_TRACE, Profilers, methods
from rocm_perf.model.finding import Finding
from rocm_perf.model.results.doctor import DoctorReport, Fact, GpuMethods, MethodAnswer, Trial
from rocm_perf.units import format_count
from rocm_perf.version import __version__

Trials = Mapping[tuple[str, str], Trial]  # by chip and method
EXIT_FINE, EXIT_ABSENT, EXIT_TIMING_ONLY = 0, 3, 4
_LIBRARIES = (DECODER, CUPTI, CUPTI_HEADER)
_CAPABILITIES = ("CAP_SYS_ADMIN", "CAP_SYS_PTRACE", "CAP_PERFMON")


def report(machine: Machine, profilers: Profilers, trials: Trials | None = None) -> DoctorReport:
    """Everything about the machine, with what was tried on it, if anything was."""
    gpus = tuple(_gpu(gpu, machine, profilers, trials or {}) for gpu in machine.gpus)
    problems = conflicts(machine)
    code = _exit_code(machine, profilers, gpus, problems)
    return DoctorReport(
        producer=f"rocm-perf {__version__}",
        verdict=(_can(gpus, profilers, code), _in_the_way(problems, gpus, code)),
        exit_code=code,
        gpus=gpus,
        versions=tuple(_versions(machine)),
        access=tuple(_access(machine)),
        tools=tuple(_tools(machine)),
        problems=problems,
    )


def _gpu(gpu: FoundGpu, machine: Machine, profilers: Profilers, trials: Trials) -> GpuMethods:
    answers = methods(gpu, machine, profilers)
    return GpuMethods(
        index=gpu.index,
        vendor=gpu.vendor,
        gfx=gpu.gfx,
        name=gpu.name or f"{gpu.vendor} {gpu.gfx}",
        memory_bytes=gpu.memory_bytes,
        compute_units=gpu.compute_units,
        pci=gpu.pci,
        methods=tuple(_tried(answer, trials.get((gpu.gfx, answer.method))) for answer in answers),
    )


def _tried(answer: MethodAnswer, trial: Trial | None) -> MethodAnswer:
    """An answer after its trial: what was tried counts more than what was known."""
    if trial is None:
        return answer
    return msgspec.structs.replace(
        answer,
        works="yes" if trial.works else "no",
        reason=answer.reason if trial.works and answer.works == "yes" else "" if trial.works else trial.words,
        remedy="",
        trial=trial,
    )


def _exit_code(
    machine: Machine, profilers: Profilers, gpus: tuple[GpuMethods, ...], problems: tuple[Finding, ...]
) -> int:
    reachable = [gpu for gpu in gpus if blocked(machine, gpu.vendor) is None]
    if not reachable or not any(_has_tracer(gpu, machine, profilers) for gpu in machine.gpus):
        return EXIT_ABSENT
    stands = any(finding.severity == "error" and finding.id == "profiler-preloaded" for finding in problems)
    traced = any(_answer(gpu, KERNEL_TRACE).works == "yes" for gpu in reachable)
    return EXIT_FINE if traced and not stands else EXIT_TIMING_ONLY


def _has_tracer(gpu: FoundGpu, machine: Machine, profilers: Profilers) -> bool:
    """Whether a profiler is here that traces such GPUs, whatever may keep it from doing so."""
    alone = msgspec.structs.replace(machine, gpus=(gpu,))
    tracers = (each for each in profilers.values() if each.traces and each.is_here(alone))
    return any(not each.gpu_refusal(alone) for each in tracers)


def _answer(gpu: GpuMethods, name: str) -> MethodAnswer:
    return next(answer for answer in gpu.methods if answer.method == name)


def _can(gpus: tuple[GpuMethods, ...], profilers: Profilers, code: int) -> str:
    """The answer to: can I profile here?"""
    if not gpus:
        return "No: no GPU was found. Recordings from elsewhere can be analysed: rocm-perf analyze PATH"
    best = max(gpus, key=lambda gpu: sum(answer.works == "yes" for answer in gpu.methods))
    alike = sum(gpu.methods == best.methods for gpu in gpus)
    where = best.name + (f" ({alike} of {len(gpus)} GPUs)" if len(gpus) > 1 else "")
    if code == EXIT_FINE:
        always = {profiler.own_method for profiler in profilers.values() if not profiler.records}
        works = [answer.method for answer in best.methods if answer.works == "yes"]
        worth = [method for method in works if method not in always]
        return f"Yes: {_listed(worth)} {'work' if len(worth) > 1 else 'works'} on {where}."
    if any(answer.works == "yes" for answer in best.methods):
        return f"Partly: only the wall time of programs can be measured on {where}."
    return f"No: programs cannot use {where} yet."


def _in_the_way(problems: tuple[Finding, ...], gpus: tuple[GpuMethods, ...], code: int) -> str:
    """The answer to: what is in the way?"""
    errors = [finding for finding in problems if finding.severity == "error"]
    if errors:
        return f"In the way: {errors[0].title}; the fix is below."
    if code != EXIT_FINE and gpus:
        answer = _answer(gpus[0], KERNEL_TRACE)
        return f"In the way: {answer.reason}." + (f" Try: {answer.remedy}" if answer.remedy else "")
    doubts = sum(finding.severity == "warning" for finding in problems)
    return f"Worth a look: {format_count(doubts, 'warning')} below." if doubts else "Nothing is in the way."


def _listed(names: Sequence[str]) -> str:
    """The names as A, B and C; the two kinds of PC sampling as one."""
    short = list(dict.fromkeys("PC sampling" if name.startswith("PC") else name for name in names))
    return short[0] if len(short) == 1 else f"{', '.join(short[:-1])} and {short[-1]}"


def _versions(machine: Machine) -> Iterator[Fact]:
    yield Fact(
        "ROCm", f"{machine.rocm} in {machine.rocm_paths[0]}" if machine.rocm_paths else machine.rocm or "none"
    )
    if len(machine.rocm_paths) > 1:
        yield Fact("also", ", ".join(machine.rocm_paths[1:]), fine=False)
    module = f"{machine.kernel_module} {machine.driver}".strip()
    yield Fact("driver", module or "none is loaded", fine=bool(module))
    if machine.cuda:
        yield Fact("CUDA", machine.cuda)
    torch = machine.torch
    if torch is None:
        yield Fact("torch", "none in the Python on PATH")
        return
    built = (
        f"for ROCm {torch.hip}" if torch.hip else f"for CUDA {torch.cuda}" if torch.cuda else "for CPUs only"
    )
    yield Fact("torch", f"{torch.version} {built}, {torch.python}", fine=bool(torch.hip or torch.cuda))
    if torch.vendored:
        yield Fact("its own ROCm", ", ".join(torch.vendored), fine=False)


def _access(machine: Machine) -> Iterator[Fact]:
    for (_, rights), alike in groupby(machine.device_nodes, key=lambda node: (_kind(node), _rights(node))):
        first, *others = alike
        until = f" to {others[-1].path[len(_kind(first)) :]}" if others else ""
        yield Fact(first.path + until, rights, fine=first.readable and first.writable)
    yield Fact("user", f"{machine.user}, in {', '.join(machine.groups)}")
    held = [name.removeprefix("CAP_") for name in _CAPABILITIES if name in machine.capabilities]
    yield Fact("container", machine.container or "none")
    yield Fact("capabilities", ", ".join(held) or "neither SYS_ADMIN nor SYS_PTRACE nor PERFMON")


def _kind(node: DeviceNode) -> str:
    return node.path.rstrip("0123456789")


def _rights(node: DeviceNode) -> str:
    access = {(True, True): "open to you", (True, False): "read-only"}
    right = access.get((node.readable, node.writable), "closed to you")
    return f"{right}, group {node.group}" if node.group else right


def _tools(machine: Machine) -> Iterator[Fact]:
    """The tools that are here, then the others."""
    names = [*(program.name for program in programs()), *_LIBRARIES]
    for name in names:
        if name in machine.tools:
            yield _tool(machine.tools[name])
    yield Fact("not found", ", ".join(name for name in names if name not in machine.tools))


def _tool(tool: Tool) -> Fact:
    parts = [tool.version, f"ROCm {tool.rocm}" if tool.rocm else "", tool.path, tool.problem]
    return Fact(tool.name, ", ".join(part for part in parts if part), fine=not tool.problem)
