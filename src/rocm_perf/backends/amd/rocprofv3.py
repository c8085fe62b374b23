"""rocprofv3, ROCm 6.2 and later: what each release can record, and its command line.

The options and the releases that brought them follow AMD's rocprofv3.py; docs/collecting.md lists them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from rocm_perf.backends.amd.chips import first_gfx, method_doubt, method_refusal, release, written
from rocm_perf.backends.amd.pc_sampling import supported_sampling
from rocm_perf.backends.amd.probe import DECODER
from rocm_perf.backends.amd.profiler import NO_GPU, AmdProfiler
from rocm_perf.backends.amd.windows import lacking, v3_period
from rocm_perf.backends.base import DOMAINS, Command, Domain, Wish
from rocm_perf.backends.machine import Machine, Version
from rocm_perf.backends.tools import Program

_NAME = "rocprofv3"
OLDEST: Version = (6, 2)
OUTPUT_NAME = "%hostname%/rank%env{RANK}%-%pid%"  # %rank% is the node's under torchrun

RUNTIME: frozenset[Domain] = frozenset(DOMAINS) - {"hsa"}
_FLAGS: dict[Domain, tuple[Version, str]] = {
    "kernel": ((6, 2), "--kernel-trace"),
    "hip": ((6, 2), "--hip-trace"),
    "hsa": ((6, 2), "--hsa-trace"),
    "copy": ((6, 2), "--memory-copy-trace"),
    "allocation": ((6, 3), "--memory-allocation-trace"),
    "scratch": ((6, 2), "--scratch-memory-trace"),
    "marker": ((6, 2), "--marker-trace"),
    "rccl": ((6, 3), "--rccl-trace"),
}
_CSV: dict[Domain, str] = {
    "kernel": "kernel_trace",
    "hip": "hip_api_trace",
    "hsa": "hsa_api_trace",
    "copy": "memory_copy_trace",
    "allocation": "memory_allocation_trace",
    "scratch": "scratch_memory_trace",
    "marker": "marker_api_trace",
    "rccl": "rccl_api_trace",
}
_READABLE = ("rocpd", "csv", "json")
_ROCPD_SINCE: Version = (7, 0)
_PERIODS_SINCE: Version = (6, 4)
_REGIONS_SINCE: Version = (7, 0)
_CALLS = "roctxProfilerResume(0) and roctxProfilerPause(0)"
_WHOLE_SINCE: Version = (6, 3)  # --runtime-trace; --sys-trace came earlier, without allocations and RCCL


class Rocprofv3Profiler(AmdProfiler):
    """AMD's current profiler."""

    name = tool = _NAME
    why = "AMD's current profiler is installed"
    programs = (Program(_NAME, version=r"(?m)^\s*version\s*:\s*([\d.]+)"),)
    domains = DOMAINS
    extras = ("counters", "pc sampling", "thread trace")

    def install(self, machine: Machine) -> str:
        here = machine.tool(_NAME) is not None
        return "" if here else "sudo apt install rocprofiler-sdk (ROCm 6.2 on; pip wheels have none)"

    def refusal(self, wish: Wish, machine: Machine) -> str:
        if not self.watches(machine):
            return NO_GPU
        tool = machine.tools.get(_NAME)
        if tool is None:
            return (
                "it is not on this machine: it comes with ROCm 6.2 and later, in the package rocprofiler-sdk"
            )
        rocm = _release(machine)
        if tool.problem or rocm < OLDEST:
            return tool.problem or f"rocprofv3 works from ROCm 6.2 on, and this is {written(rocm)}"
        if wish.pc_sampling is not None:
            return _sampling_refusal(wish, machine, rocm)
        if wish.counters:
            return method_refusal(first_gfx(machine), "counters", rocm)
        return _att_refusal(machine, rocm) if wish.att else ""

    def window_refusal(self, wish: Wish, machine: Machine) -> str:
        window, rocm = wish.window, _release(machine)
        if window.by_clock and rocm < _PERIODS_SINCE:
            return f"rocprofv3 has periods from ROCm 6.4 on, and this is {written(rocm)}"
        if (
            window.by_clock and wish.counters
        ):  # its counters have a context of their own, which no period switches
            return "rocprofv3 counts from the start to the end, whatever the period; it keeps to --range @profiler"
        if window.between_calls and rocm < _REGIONS_SINCE:
            return f"rocprofv3 has selected regions from ROCm 7.0 on, and this is {written(rocm)}"
        return lacking(window, _NAME, _CALLS)

    def dropped(self, wish: Wish, machine: Machine) -> tuple[str, ...]:
        rocm = _release(machine)
        return tuple(
            f"{domain} trace: rocprofv3 has it from ROCm {written(since)} on, and this is {written(rocm)}"
            for domain, (since, _) in _FLAGS.items()
            if domain in wish.domains and rocm < since
        )

    def command(self, wish: Wish, app: tuple[str, ...], folder: Path, machine: Machine) -> Command:
        rocm = _release(machine)
        path = str(folder)
        counting, files = _counting(wish, path, rocm)
        filters, notices = _filters(wish, rocm)
        sampling, sampling_notices = _sampling(wish, machine, rocm)
        formats, format_notices = _formats(wish, rocm)
        argv = [
            machine.tools[_NAME].path,
            *_traces(_domains(wish), rocm),
            *counting,
            *sampling,
            *_thread_trace(wish, machine),
            *_tables(wish, rocm),
            *filters,
            *_window(wish),
            *("-f", *formats),
            *("-d", path, "-o", wish.output_name or OUTPUT_NAME),
            *wish.tool_args,
        ]
        return Command(
            argv=(*argv, "--", *app),
            files=files,
            expected=tuple(_expected(wish, formats, rocm)),
            notices=(*notices, *sampling_notices, *format_notices),
        )


def _release(machine: Machine) -> Version:
    """The release of rocprofv3; the oldest where it is unknown, as the newer ones can do all that it can."""
    return release(machine, _NAME) or OLDEST


def _traces(domains: Iterable[Domain], rocm: Version) -> Iterator[str]:
    """The options for the domains: --sys-trace or --runtime-trace where one of them says it all."""
    wanted = frozenset(domain for domain in domains if rocm >= _FLAGS[domain][0])
    if rocm >= _WHOLE_SINCE and wanted == frozenset(DOMAINS):
        yield "--sys-trace"
    elif rocm >= _WHOLE_SINCE and wanted == RUNTIME:
        yield "--runtime-trace"
    else:
        yield from (_FLAGS[domain][1] for domain in DOMAINS if domain in wanted)


def _domains(wish: Wish) -> tuple[Domain, ...]:
    """The domains to trace: rocprofv3 hears the calls that switch it on and off only while it traces markers."""
    return (*wish.domains, "marker") if wish.window.between_calls else wish.domains


def _window(wish: Wish) -> tuple[str, ...]:
    return ("--selected-regions",) if wish.window.between_calls else v3_period(wish.window)


def _counting(wish: Wish, folder: str, rocm: Version) -> tuple[tuple[str, ...], dict[str, str]]:
    """The options for counters, and the file that they name: 6.2 takes counters only from a file. One pass per file, so
    that the application's exit code stays its own."""
    if not wish.counters:
        return (), {}
    if rocm >= (6, 3):
        return ("--pmc", *wish.counters), {}
    file = f"{folder}/counters.txt"
    return ("-i", file), {file: f"pmc: {' '.join(wish.counters)}\n"}


def _sampling(wish: Wish, machine: Machine, rocm: Version) -> tuple[tuple[str, ...], tuple[str, ...]]:
    if wish.pc_sampling is None:
        return (), ()
    gfx = first_gfx(machine)
    chosen, notices = supported_sampling(wish.pc_sampling, gfx, rocm)
    if doubt := method_doubt(gfx, f"pc_sampling_{chosen.method}"):
        notices = (*notices, f"PC sampling on {gfx} is untested: {doubt}")
    method = ("--pc-sampling-method", chosen.method)
    rate = ("--pc-sampling-unit", chosen.unit, "--pc-sampling-interval", str(chosen.interval))
    return ("--pc-sampling-beta-enabled", *method, *rate), notices


def _sampling_refusal(wish: Wish, machine: Machine, rocm: Version) -> str:
    assert wish.pc_sampling is not None
    gfx = first_gfx(machine)
    chosen, _ = supported_sampling(wish.pc_sampling, gfx, rocm)
    if rocm < (6, 3):
        return f"rocprofv3 has it from ROCm 6.3 on, and this is {written(rocm)}"
    return method_refusal(gfx, f"pc_sampling_{chosen.method}", rocm)


def _att_refusal(machine: Machine, rocm: Version) -> str:
    if rocm < (7, 0):
        return f"rocprofv3 has it from ROCm 7.0 on, and this is {written(rocm)}"
    if reason := method_refusal(first_gfx(machine), "att", rocm):
        return reason
    if machine.tool(DECODER) is None:
        return "librocprof-trace-decoder.so was not found: install the package rocprof-trace-decoder"
    return ""


def _thread_trace(wish: Wish, machine: Machine) -> tuple[str, ...]:
    decoder = machine.tool(DECODER)
    if not wish.att:
        return ()
    return ("--att", "--att-library-path", str(Path(decoder.path).parent)) if decoder else ("--att",)


def _tables(wish: Wish, rocm: Version) -> Iterator[str]:
    if wish.stats:
        yield "--stats"
    if wish.summary and rocm >= (6, 3):
        yield "--summary"


def _filters(wish: Wish, rocm: Version) -> tuple[list[str], tuple[str, ...]]:
    """The options that choose what is recorded, and a notice for those that the release does not know."""
    options: tuple[tuple[Version, str, tuple[str, ...]], ...] = (
        ((6, 3), "--kernel-include-regex", (wish.kernel_include,) if wish.kernel_include else ()),
        ((6, 3), "--kernel-exclude-regex", (wish.kernel_exclude,) if wish.kernel_exclude else ()),
        ((6, 3), "--kernel-iteration-range", wish.iteration_range),
        (_PERIODS_SINCE, "--collection-period", wish.collection_period),
        (_PERIODS_SINCE, "--collection-period-unit", _unit(wish)),
    )
    given = [(since, (flag, *values)) for since, flag, values in options if values]
    if wish.selected_regions:
        given.append((_REGIONS_SINCE, ("--selected-regions",)))
    known = [word for since, option in given if rocm >= since for word in option]
    lacking = [option[0] for since, option in given if rocm < since]
    if wish.summary and rocm < (6, 3):
        lacking.append("--summary")
    return known, tuple(f"{flag} is left out: ROCm {written(rocm)} does not know it" for flag in lacking)


def _unit(wish: Wish) -> tuple[str, ...]:
    return (wish.collection_period_unit,) if wish.collection_period and wish.collection_period_unit else ()


def _formats(wish: Wish, rocm: Version) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What was asked for, with one that rocm-perf reads in full beside it; and what was changed about it."""
    apart = bool(wish.counters or wish.pc_sampling)
    best = "rocpd" if rocm >= _ROCPD_SINCE and not apart else "csv"
    notices = []
    asked = list(wish.formats)
    if "rocpd" in asked and rocm < _ROCPD_SINCE:
        asked = [each for each in asked if each != "rocpd"]
        notices.append(
            f"rocpd becomes csv: rocprofv3 writes it from ROCm 7.0 on, and this is {written(rocm)}"
        )
    if wish.pc_sampling and {"pftrace", "otf2"} & set(asked):
        asked = [each for each in asked if each in _READABLE]
        notices.append("PC samples reach neither pftrace nor otf2: csv instead")
    if wish.pc_sampling and "csv" not in asked and "json" not in asked:
        asked.append("csv")
    if not set(asked) & set(_READABLE):
        asked.insert(0, best)
    if wish.stats and not {"csv", "json"} & set(asked):
        asked.append("csv")
    return tuple(dict.fromkeys(asked)), tuple(notices)


def _expected(wish: Wish, formats: tuple[str, ...], rocm: Version) -> Iterator[str]:
    """Patterns of the files that it leaves, one set per process."""
    ends = {
        "rocpd": "results.db",
        "json": "results.json",
        "pftrace": "results.pftrace",
        "otf2": "results.otf2",
    }
    yield from (f"**/*_{ends[each]}" for each in formats if each in ends)
    if wish.att:
        yield "**/ui_output_*"
    if "csv" not in formats:
        return
    yield from (
        f"**/*_{_CSV[domain]}.csv"
        for domain in DOMAINS
        if domain in wish.domains and rocm >= _FLAGS[domain][0]
    )
    if wish.counters:
        yield "**/*_counter_collection.csv"
    if wish.pc_sampling:
        yield "**/*_pc_sampling_*.csv"
