"""A request on a probed machine -> the ways to do it, best first. Pure: nothing is started, nothing is read.

One invocation of the profiler a run: a file with several jobs would turn the application's exit code into the tool's.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec
from msgspec.structs import replace

from rocm_perf.backends.amd.chips import first_gfx, method_refusal, release, written
from rocm_perf.backends.base import Profiler, Wish
from rocm_perf.backends.machine import Machine
from rocm_perf.backends.profilers import PROFILERS
from rocm_perf.backends.torch import app_refusal
from rocm_perf.collect.plan.counter_plan import counter_passes
from rocm_perf.collect.plan.planned import Plan, PlannedRun, Rejected
from rocm_perf.collect.request.request import Request
from rocm_perf.errors import NotSupportedError, ToolAbsentError, UsageError

AMD_TOOLS = ("rocprofv3", "rocprofv2", "rocprof")
_SCRIPTS = ("rocprofv2", "rocprof")
_PROGRAMS = (*AMD_TOOLS, "ncu")
_ORDER: Mapping[str | None, tuple[str, ...]] = {
    "AMD": (*AMD_TOOLS, "torch", "timing"),
    "NVIDIA": ("cupti", "torch", "timing"),
    None: ("torch", "timing"),
}
_WHY = {
    "rocprofv3": "AMD's current profiler is here",
    "rocprofv2": "it is the newest of AMD's profilers that works here",
    "rocprof": "it is the newest of AMD's profilers that works here",
    "cupti": "it traces any CUDA program",
    "ncu": "it reads NVIDIA's counters",
    "torch": "the program is Python, and torch brings its own profiler",
    "timing": "nothing else works here",
}
_NCU_DEFAULT = "counters_basic"


class _Run(msgspec.Struct, frozen=True):
    purpose: str
    profiler: Profiler
    wish: Wish


class _Draft(msgspec.Struct):
    """A plan in the making."""

    runs: list[_Run] = []
    could_not: list[str] = []
    notices: list[str] = []


def plans(request: Request, machine: Machine, folder: Path) -> tuple[Plan, ...]:
    """Every way that works here, the best first; `timing` last, unless one profiler is forced."""
    if not request.command:
        raise UsageError("there is no application to run", next_step="Write it behind --.")
    if request.profiler:
        return (_forced(request, machine, folder),)
    found: list[Plan] = []
    rejected: list[Rejected] = []
    for name in _candidates(request, machine):
        if reason := _refusal(name, request, machine, folder):
            rejected.append(Rejected(name, reason))
            continue
        asked = request if not found else _without_tool_args(request)
        found.append(_plan(name, asked, machine, folder, tuple(rejected)))
    return tuple(found)


def _candidates(request: Request, machine: Machine) -> tuple[str, ...]:
    return _ORDER[machine.vendor] if _records(request) else ("timing",)


def _records(request: Request) -> bool:
    wish = request.wish
    return bool(wish.domains or wish.pc_sampling or wish.att or _counts(request))


def _counts(request: Request) -> bool:
    return bool(request.counters or request.counter_passes)


def _forced(request: Request, machine: Machine, folder: Path) -> Plan:
    name = request.profiler
    if name not in PROFILERS:
        near = difflib.get_close_matches(name[:40], PROFILERS, n=1)
        hint = f"the nearest is {near[0]}" if near else ""
        raise UsageError(f"there is no profiler {name[:40]!r}", hint, f"Known: {', '.join(PROFILERS)}.")
    reason = _refusal(name, request, machine, folder)
    if not reason:
        return replace(_plan(name, request, machine, folder, ()), why="you asked for it")
    absent = name in _PROGRAMS and name not in machine.tools
    absent = absent or (name not in ("torch", "timing") and machine.vendor is None)
    absent = absent or (name == "torch" and machine.torch is None)
    error = ToolAbsentError if absent else NotSupportedError
    raise error(f"{name} cannot profile this here", reason, "Leave out --profiler for the best that is here.")


def _refusal(name: str, request: Request, machine: Machine, folder: Path) -> str:
    """Why a profiler cannot be the one that traces."""
    if name == "torch" and not request.is_python:
        return "the application is not a Python program"
    if name in _SCRIPTS and len(str(folder).split()) > 1:
        return "its script does not take a folder with a blank in its name"
    if name == "torch" and (reason := app_refusal(request.command)):
        return reason
    wish = _trace_wish(request)
    if name == "ncu":
        wish = replace(wish, domains=(), counters=_named(request) or (_NCU_DEFAULT,))
    return PROFILERS[name].refusal(wish, machine)


def _trace_wish(request: Request) -> Wish:
    """Kernels at least: what all else is seen beside."""
    domains = request.wish.domains or ("kernel",)
    return replace(request.wish, domains=domains, counters=(), pc_sampling=None, att=False)


def _without_tool_args(request: Request) -> Request:
    """They are meant for the profiler that is tried first."""
    return replace(request, wish=replace(request.wish, tool_args=()))


def _plan(
    name: str, request: Request, machine: Machine, folder: Path, rejected: tuple[Rejected, ...]
) -> Plan:
    draft = _Draft()
    if name in AMD_TOOLS:
        _draft_amd(draft, PROFILERS[name], request, machine)
    elif name == "ncu":
        _draft_ncu(draft, request, machine)
    else:
        _draft_tracer(draft, PROFILERS[name], request, machine)
    runs = tuple(_planned(n, run, request.command, folder, machine) for n, run in enumerate(draft.runs, 1))
    notices = [*draft.notices, *(note for run in runs for note in run.command.notices)]
    return Plan(
        profiler=name,
        why=_why(name, request, rejected),
        rejected=rejected,
        runs=runs,
        could_not=tuple(dict.fromkeys(draft.could_not)),
        notices=tuple(dict.fromkeys(notices)),
    )


def _why(name: str, request: Request, rejected: tuple[Rejected, ...]) -> str:
    if not _records(request):
        return "nothing but the wall time was asked for"
    if name != "timing" or not rejected:
        return _WHY[name]
    return f"{_WHY[name]} ({'; '.join(f'{each.profiler}: {each.reason}' for each in rejected)})"


def _draft_amd(draft: _Draft, profiler: Profiler, request: Request, machine: Machine) -> None:
    """A trace, as many counter runs as it takes, and PC sampling and a thread trace in runs of their own."""
    kernels = replace(_trace_wish(request), domains=("kernel",), stats=False)
    counting = [
        replace(kernels, counters=names) for names in _counter_runs(draft, profiler, request, machine)
    ]
    apart: list[_Run] = [_Run("counters", profiler, wish) for wish in counting]
    for purpose, wish in _special(kernels, request).items():
        if reason := profiler.refusal(wish, machine):
            draft.could_not.append(f"{purpose}: {reason}; what remains: {_remaining(request, machine)}")
        else:
            apart.append(_Run(purpose, profiler, wish))
    trace = _trace_wish(request)
    if trace.domains != ("kernel",) or not apart:  # the other runs record kernels anyway
        draft.runs.append(_Run("trace", profiler, trace))
    draft.runs += apart
    draft.could_not += profiler.dropped(trace, machine)


def _special(kernels: Wish, request: Request) -> dict[str, Wish]:
    """What is recorded in a run of its own."""
    found: dict[str, Wish] = {}
    if request.wish.pc_sampling is not None:
        found["pc sampling"] = replace(kernels, pc_sampling=request.wish.pc_sampling)
    if request.wish.att:
        found["thread trace"] = replace(kernels, att=True)
    return found


def _counter_runs(
    draft: _Draft, profiler: Profiler, request: Request, machine: Machine
) -> tuple[tuple[str, ...], ...]:
    if not _counts(request):
        return ()
    gfx = first_gfx(machine)
    rocm = written(release(machine, profiler.name)) or None
    found = counter_passes(request.counters, request.counter_passes, gfx, rocm)
    reason = method_refusal(gfx, "counters", release(machine, profiler.name)) or found.refusal
    draft.notices += [*found.notes, *_other_gpus(machine, gfx)]
    if reason:
        draft.could_not.append(f"counters: {reason}; what remains: {_remaining(request, machine)}")
        return ()
    return found.passes


def _other_gpus(machine: Machine, gfx: str) -> Iterator[str]:
    others = sorted({gpu.gfx.partition(":")[0] for gpu in machine.gpus if gpu.vendor == "AMD"} - {gfx})
    if others:
        yield f"counters are those of {gfx}; {', '.join(others)} may lack some of them"


def _remaining(request: Request, machine: Machine) -> str:
    ways = ["kernel and API trace"]
    ways += ["torch.profiler"] * (request.is_python and machine.torch is not None)
    return ", ".join([*ways, "timing"])


def _draft_tracer(draft: _Draft, profiler: Profiler, request: Request, machine: Machine) -> None:
    """A profiler without counters; on NVIDIA ncu reads those in a run of its own."""
    trace = _trace_wish(request)
    if profiler.name == "timing":
        trace = replace(trace, domains=request.wish.domains)
    names = _named(request)
    by_ncu = bool(names) and machine.vendor == "NVIDIA" and request.profiler in ("", "cupti")
    wanted = replace(request.wish, domains=trace.domains, counters=() if by_ncu else names)
    draft.could_not += profiler.dropped(wanted, machine)
    for purpose, wish in _special(trace, request).items():
        if reason := profiler.refusal(wish, machine):
            draft.could_not.append(f"{purpose}: {reason}")
    draft.runs.append(_Run("timing" if profiler.name == "timing" else "trace", profiler, trace))
    if by_ncu:
        _draft_ncu(draft, request, machine)


def _draft_ncu(draft: _Draft, request: Request, machine: Machine) -> None:
    ncu = PROFILERS["ncu"]
    names = _named(request)
    if not names:
        draft.notices.append(f"ncu records counters alone, and none were named: {_NCU_DEFAULT}")
    alone = request.profiler == "ncu"
    wish = replace(
        request.wish,
        domains=(),
        counters=names or (_NCU_DEFAULT,),
        pc_sampling=None,
        att=False,
        tool_args=request.wish.tool_args if alone else (),
    )
    if reason := ncu.refusal(wish, machine):
        draft.could_not.append(f"counters: {reason}")
        return
    draft.runs.append(_Run("counters", ncu, wish))
    draft.could_not += ncu.dropped(wish, machine)


def _named(request: Request) -> tuple[str, ...]:
    grouped = (name for group in request.counter_passes for name in group)
    return tuple(dict.fromkeys((*request.counters, *grouped)))


def _planned(number: int, run: _Run, app: tuple[str, ...], folder: Path, machine: Machine) -> PlannedRun:
    name = f"pass_{number}"
    return PlannedRun(
        number=number,
        purpose=run.purpose,
        profiler=run.profiler.name,
        folder=name,
        command=run.profiler.command(run.wish, app, folder / name, machine),
        domains=run.wish.domains if run.profiler.name != "timing" else (),
        counters=run.wish.counters,
    )
