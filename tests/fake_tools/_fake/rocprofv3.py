"""rocprofv3: options and jobs become passes; each pass runs the application once and writes what was recorded."""

from __future__ import annotations

import os
import signal
import sys
import time
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from . import avail, faults, settings, v3_checks, v3_options, windows
from .application import Application, die_of, end_as
from .v3_checks import Options
from .v3_jobs import Job, fatal, read_jobs, warn

if TYPE_CHECKING:
    from .recording import Process, Wanted

_RUNTIME = frozenset({"kernel", "hip", "rccl", "marker", "copy", "allocation", "scratch"})
_DOMAINS = {
    "kernel_trace": "kernel",
    "hip_trace": "hip",
    "hip_runtime_trace": "hip",
    "hsa_trace": "hsa",
    "hsa_core_trace": "hsa",
    "hsa_amd_trace": "hsa",
    "marker_trace": "marker",
    "memory_copy_trace": "copy",
    "memory_allocation_trace": "allocation",
    "scratch_memory_trace": "scratch",
    "rccl_trace": "rccl",
}


def main(arguments: list[str]) -> int:
    rocm = settings.rocm()
    if rocm < (6, 2):
        print(f"rocprofv3: ROCm {settings.rocm_text()} has no such tool", file=sys.stderr)
        return 127
    options, application = v3_options.parse(arguments, rocm)
    if getattr(options, "version", None):
        _print_version()
        return 0
    if not arguments:
        v3_options.parser(rocm).print_help()
        return 0
    if options.list_avail:
        avail.main(["info", "--pc-sampling"])
        avail.main(["info", "--pmc"])
        if not application:
            return 0
    return _run_passes(_passes(options, rocm), application)


def _print_version() -> None:
    facts = {
        "version": settings.sdk_version(),
        "git_revision": "0" * 40,
        "library_arch": "x86_64-linux-gnu",
        "system_name": "Linux",
        "system_processor": "x86_64",
        "system_version": "5.15.0",
        "compiler_id": "GNU",
        "compiler_version": "11.4.0",
        "rocm_version": settings.rocm_text() + ".0",
    }
    for name, value in facts.items():
        print(f"    {name:>16}: {value}")


def _passes(options: Namespace, rocm: settings.Version) -> list[Job]:
    """One job a run of the application."""
    given = {name: value for name, value in vars(options).items() if value is not None}
    groups = given.pop("pmc", None)
    source = given.pop("input", None)
    jobs = read_jobs(source, text_deprecated=rocm >= (7, 13)) if source else [{}]
    if groups is not None and rocm < (7, 13):
        groups = [groups]
    if groups and len(groups) > 1 and not all(groups):
        empty = groups.index([]) + 1
        fatal(f"Empty counter group in --pmc flag {empty}. Each --pmc must specify at least one counter.")
    merged = [_merged(given, job) for job in jobs]
    if not groups:
        return merged if merged else [jobs[0]]  # as the real script: an input without a line is an IndexError
    own = [{**merged[0], "pmc": group} for group in groups]
    if len(own) == 1 and not any("pmc" in job for job in jobs):
        return own
    return [{**job, "sub_directory": "pass_"} for job in own] + [job for job in merged if "pmc" in job]


def _merged(given: Options, job: Job) -> Job:
    for name in given.keys() & job.keys():
        if given[name] != job[name]:
            raise RuntimeError(f"Option '{name}' has conflicting values: {given[name]} vs {job[name]}")
    return {**job, **given}


def _run_passes(passes: list[Job], application: list[str]) -> int:
    if len(passes) == 1:
        end_as(_run(passes[0], 1, application))
    for number, options in enumerate(passes, 1):
        status = _run_apart(options, number, application)
        if status:
            died = f"died with {signal.Signals(-status)!r}." if status < 0 else ""
            fatal(f"Command '{application}' {died or f'returned non-zero exit status {status}.'}\n")
    return 0


def _run_apart(options: Options, number: int, application: list[str]) -> int:
    """A pass of several is a process of its own there, so that an abort of the library is one of the pass only."""
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            status = _run(options, number, application)
        except OSError as error:
            print(f"[rocprofv3] Fatal error: {error}\n", file=sys.stderr)
        except SystemExit as exit_:
            status = exit_.code if isinstance(exit_.code, int) else 1
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            if status < 0:
                die_of(-status)
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _run(options: Options, number: int, application: list[str]) -> int:
    """One run of the application; its status."""
    if not application and not options.get("pid"):
        fatal("No application provided")
    v3_checks.check(options)
    asked = v3_checks.asked_counters(options)
    faults.before(counts=bool(asked))
    names = v3_checks.found_counters(asked)
    v3_checks.refuse_too_many(names)
    start = settings.boot_clock_ns()
    pid, status = _attached(options) if options.get("pid") else _started(application)
    faults.after_application()
    if status != -signal.SIGKILL and not faults.writes_nothing():
        from .recording import record

        _write(options, number, application, record(pid, application, start, _wanted(options, names)))
    return status


def _started(application: list[str]) -> tuple[int, int]:
    running = Application(application)
    return running.pid, running.wait()


def _attached(options: Options) -> tuple[int, int]:
    pid = int(options["pid"])
    if not Path(f"/proc/{pid}").exists():
        fatal(f"Could not attach to process {pid}: No such process")
    time.sleep(int(options.get("attach_duration_msec") or 0) / 1000)
    return pid, 0


def _domains(options: Options) -> frozenset[str]:
    chosen: set[str] = set()
    if options.get("sys_trace"):
        chosen |= {*_RUNTIME, "hsa"}
    if options.get("runtime_trace"):
        chosen |= _RUNTIME
    for option, domain in _DOMAINS.items():
        if options.get(option):
            chosen.add(domain)
        elif options.get(option) is False:
            chosen.discard(domain)
    return frozenset(chosen)


def _wanted(options: Options, names: list[str]) -> Wanted:
    from .recording import Wanted

    ranges = options.get("kernel_iteration_range")
    return Wanted(
        _domains(options),
        tuple(name.partition(":")[0] for name in names),
        options.get("kernel_include_regex"),
        options.get("kernel_exclude_regex"),
        " ".join(ranges) if isinstance(ranges, list) else ranges,
        options.get("pc_sampling_method"),
        spans=_spans(options),
        switched=bool(options.get("selected_regions")) and "marker" in _domains(options),
    )


def _spans(options: Options) -> tuple[windows.Span, ...] | None:
    """The periods. Regions are heard of only while markers are traced."""
    periods, (unit,) = options.get("collection_period"), options.get("collection_period_unit") or ["sec"]
    if options.get("selected_regions") and "marker" not in _domains(options):
        return ()
    return windows.v3_spans(periods, unit) if periods else None


def _formats(options: Options) -> list[str]:
    asked = options.get("output_format") or ("rocpd" if settings.rocm() >= (7, 0) else "csv")
    formats = [asked] if isinstance(asked, str) else list(asked)
    if options.get("stats") and settings.rocm() >= (10, 0) and not {"csv", "json"} & set(formats):
        warn(f"--stats has no effect for the requested output format(s) {', '.join(formats)}")
    return formats


def _write(options: Options, number: int, application: list[str], processes: list[Process]) -> None:
    from . import v3_output

    folder, prefix = options.get("output_directory") or ".", options.get("output_file") or "%hostname%/%pid%"
    if "sub_directory" in options:
        folder = os.path.join(folder, f"{options['sub_directory']}{number}")
    formats = _formats(options)
    for process in processes:
        place = Path(v3_output.expand(os.path.join(folder, prefix), process.pid, application))
        files = v3_output.write(process, place, formats, bool(options.get("stats")))
        faults.damage(files)
        for file in files:
            v3_checks.log("E", "output_stream.cpp:111", f"Opened result file: {file}")
