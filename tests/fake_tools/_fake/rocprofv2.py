"""rocprofv2: a bash script with `set -e`; no `--`, counters a line, plugins for the kinds of output."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from . import counters, faults, settings, windows
from .application import Application, as_shell_status
from .rocprof_v1 import DEPRECATED

_PLUGINS = ("ctf", "perfetto", "file", "att", "cli", "json")
_DOMAINS = {
    "--hip-api": {"hip"},
    "--hip-activity": {"hip", "kernel", "copy"},
    "--hip-trace": {"hip", "kernel", "copy"},
    "--hsa-api": {"hsa"},
    "--hsa-activity": {"hsa", "kernel", "copy"},
    "--hsa-trace": {"hsa", "kernel", "copy"},
    "--roctx-trace": {"marker"},
    "--kernel-trace": {"kernel"},
    "--sys-trace": {"hip", "hsa", "kernel", "copy", "marker"},
}
_WITHOUT_VALUE = ("-ns", "--no-serialization", "--basenames", "--disable-json-data-flows")
_WITH_VALUE = {
    "-i": "-i", "--input": "-i", "-o": "-o", "--output-file-name": "-o", "-d": "-d", "--output-directory": "-d",
    "-fi": "-fi", "--flush-interval": "-fi", "-tp": "-tp", "--trace-period": "-tp", "-m": "-m", "--plugin": "--plugin",
    "--plugin-version": "--plugin-version", "--tool-version": "--tool-version", "--roc-sys": "--roc-sys",
}  # fmt: skip


@dataclass
class Options:
    """The command line."""

    domains: set[str] = field(default_factory=set)
    values: dict[str, str] = field(default_factory=dict)
    application: list[str] = field(default_factory=list)


def main(arguments: list[str]) -> int:
    if settings.rocm() >= (10, 0):
        print(f"rocprofv2: ROCm {settings.rocm_text()} has no such tool", file=sys.stderr)
        return 127
    if settings.rocm() >= (6, 4):
        print(f"\n\033[0;31m{DEPRECATED}\033[0m\n")
    if not arguments:
        _usage()
    options = parse(arguments)
    return _profile(options, _lines(options))


def parse(arguments: list[str]) -> Options:
    rest = list(arguments)
    options = Options()
    while rest:
        word = rest[0]
        if word in ("-h", "--help"):
            _usage()
        elif word == "--version":
            print(f"ROCm version: {settings.rocm_text()}.0\nROCProfiler version: 2.0")
            raise SystemExit(0)
        elif word == "--list-counters":
            _list_counters()
        elif word in _DOMAINS:
            options.domains |= _DOMAINS[word]
            rest = rest[1:]
        elif word in _WITHOUT_VALUE:
            rest = rest[1:]
        elif word in _WITH_VALUE:
            value = rest[1] if len(rest) > 1 else ""
            _check(_WITH_VALUE[word], value)
            options.values[_WITH_VALUE[word]] = value
            rest = rest[2:]
        elif word.startswith("-"):
            print(f'Wrong option "{word}", Please use the following options:\n')
            _usage()
        else:
            break
    options.application = rest
    return options


def _check(name: str, value: str) -> None:
    if name in ("-i", "-m") and not os.access(value, os.R_OK):
        _wrong(f'Error: "{value}" doesn\'t exist!')
    if name == "-fi" and not (value.isdigit() and int(value) > 0):
        _wrong(f'Wrong input "{value}" for flush interval, it needs to be integer greater than zero!')
    if name == "-tp" and ":" not in value:
        _wrong(f'Wrong input "{value}" for trace period!')
    if name == "--plugin" and value not in _PLUGINS:
        _wrong(f'Wrong input "{value}" for plugin!')
    if not value:
        _usage()


def _wrong(message: str) -> NoReturn:
    print(message)
    _usage()


def _usage() -> NoReturn:
    print("ROCProfilerV2 Run Script Usage:\n-h   | --help                 For showing this message")
    raise SystemExit(1)


def _list_counters() -> NoReturn:
    if faults.no_counters():
        print(faults.AQLPROFILE, file=sys.stderr)
        raise SystemExit(1)
    for name in counters.hardware(settings.gpu().gfx, settings.rocm()):
        print(f"gpu-agent1 : {name} : {name} of the hardware.\n      block {counters.block(name)}")
    raise SystemExit(1)  # as the real script, even when all went well


def _lines(options: Options) -> list[list[str]]:
    if "-i" not in options.values:
        return []
    text = Path(options.values["-i"]).read_text()
    return [line.partition(":")[2].split() for line in text.splitlines() if "pmc" in line]


def _profile(options: Options, lines: list[list[str]]) -> int:
    faults.before(counts=any(lines))
    if not options.application:
        return 0
    for number, names in enumerate(lines or [[]], 1):
        start = settings.boot_clock_ns()
        known = [name for name in names if name in counters.known(settings.gpu().gfx, settings.rocm())]
        if counters.over_capacity(known, settings.gpu().gfx, settings.rocm()):
            print("rocprofiler: the counters exceed the hardware limits of one pass", file=sys.stderr)
            return 134
        application = Application(options.application)
        status = application.wait()
        faults.after_application()
        folder = Path(options.values.get("-d", "."))
        if lines:
            folder = folder / f"pmc_{number}"
        if not faults.writes_nothing():
            _write(options, folder, application.pid, start, known)
        if status:  # bash -e stops here
            return as_shell_status(status)
        if lines and {"-d", "-o"} & set(options.values):
            print(f"\nThe output path for the following counters: {folder}")
    return 0


def _write(options: Options, folder: Path, pid: int, start: int, names: list[str]) -> None:
    from . import v2_output
    from .recording import Wanted, record

    domains = options.domains | ({"kernel"} if names else set())
    if settings.rocm() >= (6, 2):
        domains &= {"kernel"}  # with 6.2.4 and later it mostly records kernels alone
    plugin = options.values.get("--plugin", "file" if {"-d", "-o"} & set(options.values) else "cli")
    period = options.values.get("-tp")
    spans = windows.v2_spans(period) if period else None
    wanted = Wanted(frozenset(domains), tuple(names), spans=spans)
    for process in record(pid, options.application, start, wanted):
        faults.damage(v2_output.write(process, plugin, folder, options.values.get("-o")))
