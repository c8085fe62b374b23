"""rocprof (v1): a script that takes its options up to the first word that is none, prints its own lines on stdout, and
runs the application with its error output joined to the other one."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from . import counters, faults, rocminfo, settings, windows
from .application import Application, as_shell_status

_WITHOUT_VALUE = ("--stats", "--roctx-trace", "--hsa-trace", "--sys-trace", "--hip-trace", "--roctx-rename",
                  "--parallel-kernels", "--verbose")  # fmt: skip
_WITH_VALUE = ("-i", "-o", "-d", "-t", "-m", "--basenames", "--timestamp", "--ctx-wait", "--ctx-limit", "--heartbeat",
               "--trace-start", "--trace-period", "--flush-rate", "--obj-tracking", "--cmd-qts",
               "--tool-version")  # fmt: skip
_USAGE = (
    "  rocprof [-h] [--list-basic] [--list-derived] [-i <input .txt/.xml file>] [-o <output CSV file>] "
    "<app command line>"
)
_TRACES = ("--hsa-trace", "--hip-trace", "--sys-trace", "--roctx-trace")
_DOMAINS = {
    "--hsa-trace": {"kernel", "hsa", "copy"},
    "--hip-trace": {"kernel", "hip", "copy"},
    "--sys-trace": {"kernel", "hip", "hsa", "copy"},
    "--roctx-trace": {"marker"},
}
DEPRECATED = (
    "WARNING: We are phasing out development and support for roctracer/rocprofiler/rocprof/rocprofv2 in favor of "
    "rocprofiler-sdk/rocprofv3 in upcoming ROCm releases."
)


@dataclass
class Options:
    """The command line."""

    switches: set[str] = field(default_factory=set)
    values: dict[str, str] = field(default_factory=dict)
    application: list[str] = field(default_factory=list)


def main(arguments: list[str]) -> int:
    if settings.rocm() >= (10, 0):
        print(f"rocprof: ROCm {settings.rocm_text()} has no such tool", file=sys.stderr)
        return 127
    if settings.rocm() >= (6, 4):
        print(f"\n\033[0;31m{DEPRECATED}\033[0m\n")
    print(
        f"RPL: on '{time.strftime('%y%m%d_%H%M%S')}' from '/opt/rocm-{settings.rocm_text()}.0' in '{Path.cwd()}'"
    )
    if not arguments or arguments[0] == "-h":
        _usage()
    options = parse(arguments)
    groups = _groups(options)
    print(f"RPL: profiling '{' '.join(options.application)}'")
    print(f"RPL: input file '{options.values.get('-i', '')}'")
    return _profile(options, groups)


def parse(arguments: list[str]) -> Options:
    rest = list(arguments)
    options = Options()
    while rest:
        word = rest[0]
        if word in ("-h", "--version", "--list-basic", "--list-derived"):
            _answer(word)
        elif word in _WITHOUT_VALUE:
            options.switches.add(word)
            rest = rest[1:]
        elif word in _WITH_VALUE:
            value = rest[1] if len(rest) > 1 else ""
            _check_value(word, value)
            options.values[word] = value
            rest = rest[2:]
        else:
            break
    if rest and rest[0].startswith("-"):
        _fatal(f"Wrong option '{rest[0]}'")
    options.application = rest
    return options


def _check_value(name: str, value: str) -> None:
    if name == "-o" and not value.endswith(".csv"):
        print("error: file name must have .CSV extension")
        raise SystemExit(1)
    if name == "--trace-period" and not re.fullmatch(r"[^:]*:[^:]*:[^:]*", value):
        _fatal(f"Wrong option '{name} {value}'")
    if name == "--trace-period":
        try:
            windows.v1_spans(value)
        except ValueError as error:
            _fatal(f"Option '{name}' : {error}")


def _answer(word: str) -> NoReturn:
    if word == "-h":
        _usage()
    if word == "--version":
        print(f"ROCm version: {settings.rocm_text()}.0\nROCProfiler version: 2.0")
        raise SystemExit(0)
    if faults.no_counters():
        print(faults.AQLPROFILE)
        raise SystemExit(1)
    gpu, rocm = settings.gpu().gfx, settings.rocm()
    if word == "--list-basic":
        print("Basic HW counters:")
        for name in counters.hardware(gpu, rocm):
            block = counters.block(name)
            limit = counters.LIMITS.get(block, 4)
            print(f"\n  gpu-agent1 : {name} : {name} of the hardware.")
            print(f"      block {block} can only handle {limit} counters at a time")
    else:
        print("Derived metrics:")
        for name, formula in counters.derived(gpu, rocm).items():
            print(f"\n  gpu-agent1 : {name} : {name}, computed.\n      {name} = {formula}")
    raise SystemExit(1)  # the real script ends so, even when all went well


def _usage() -> NoReturn:
    print("ROCm Profiling Library (RPL) run script, a part of ROCprofiler library package.\n\nUsage:")
    print(_USAGE)
    raise SystemExit(1)


def _fatal(message: str) -> NoReturn:
    print(f"rocprof: Error: {message}\n")
    _usage()


def _groups(options: Options) -> list[list[str]]:
    """Counters of each run of the application."""
    source = options.values.get("-i")
    if not source:
        return [[]]
    if Path(source).suffix not in (".txt", ".xml"):
        _fatal(f"Bad input file type '{source}'")
    if not Path(source).exists():
        print(f"rocprof: Error: Input file '{source}' not found\n")
        raise SystemExit(1)
    text = Path(source).read_text()
    if source.endswith(".xml"):
        return [re.findall(r"[\w:]+", match) for match in re.findall(r'name="?([^">\n]*)', text)] or [[]]
    return [line.split() for line in re.findall(r"^\s*pmc\s*:([^#\n]*)", text, re.MULTILINE)] or [[]]


def _profile(options: Options, groups: list[list[str]]) -> int:
    faults.before(counts=any(groups))
    gpu, rocm = settings.gpu().gfx, settings.rocm()
    status, runs = 0, []
    for names in groups:
        start = settings.boot_clock_ns()
        if problem := _problem(names, gpu, rocm):
            print(f"Profiling error found: '{problem}'")
            return 1
        application = Application(options.application, stderr=subprocess.STDOUT)
        status = application.wait()
        runs.append((application.pid, start, names))
    faults.after_application()
    if not faults.writes_nothing():
        _write(options, runs)
    return as_shell_status(status)


def _problem(names: list[str], gpu: str, rocm: settings.Version) -> str:
    unknown = [name for name in names if name not in counters.known(gpu, rocm)]
    if unknown:
        return f"input metric '{unknown[0]}' not found"
    over = counters.over_capacity(names, gpu, rocm)
    return f"ImportMetrics: metrics exceed the limit of block {min(over)}" if over else ""


def _spans(options: Options) -> tuple[windows.Span, ...] | None:
    period = options.values.get("--trace-period")
    return windows.v1_spans(period) if period else None


def _write(options: Options, runs: list[tuple[int, int, list[str]]]) -> None:
    from rocm_perf.render.formats import rocprof_v1

    from .recording import Wanted, record

    domains = {"kernel"}.union(*(_DOMAINS[name] for name in options.switches & set(_DOMAINS)))
    base = Path(options.values.get("-i", "results")).stem
    output = Path(options.values.get("-o", f"{base}.csv"))
    pid, start, _ = runs[0]
    names = tuple(name for _, _, group in runs for name in group)  # of all runs, in one table
    wanted = Wanted(
        frozenset(domains),
        names,
        spans=_spans(options),
        switched=options.values.get("--trace-start") == "off",
    )
    (process, *_others) = record(pid, options.application, start, wanted)
    rocprof_v1.write_csv(process.trace, output, overwrite=True)
    files = [output]
    if options.switches & {*_TRACES, "--stats"}:
        files += rocprof_v1.write_stats(process.trace, output.parent, output.stem, overwrite=True)
    if options.switches & set(_TRACES):
        rocprof_v1.write_json(process.trace, output.with_suffix(".json"), overwrite=True)
        files.append(output.with_suffix(".json"))
    faults.damage(files)
    sysinfo = output.with_name(f"{output.stem}.sysinfo.txt")
    sysinfo.write_text("CMD: rocminfo\n" + rocminfo.text())
    print(f"RPL: '{output}' is generated")
