"""The command line of rocprofv3, release by release. Like the real script it is argparse, with its abbreviations, its
messages and its exit code 2; an option that a release does not know yet is simply not there."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from .settings import Version

# Since which ROCm, and the names. All of these take an optional truth value.
_SWITCHES: tuple[tuple[Version, str], ...] = (
    ((6, 2), "-s --sys-trace"), ((6, 2), "--hip-trace"), ((6, 2), "--marker-trace"), ((6, 2), "--kernel-trace"),
    ((6, 2), "--memory-copy-trace"), ((6, 2), "--scratch-memory-trace"), ((6, 2), "--hsa-trace"),
    ((6, 2), "--hip-runtime-trace"), ((6, 2), "--hip-compiler-trace"), ((6, 2), "--hsa-core-trace"),
    ((6, 2), "--hsa-amd-trace"), ((6, 2), "--hsa-image-trace"), ((6, 2), "--hsa-finalizer-trace"),
    ((6, 2), "--stats"), ((6, 2), "-M --mangled-kernels"), ((6, 2), "-T --truncate-kernels"),
    ((6, 2), "--kernel-rename"), ((6, 2), "-L --list-avail"), ((6, 3), "-r --runtime-trace"),
    ((6, 3), "--memory-allocation-trace"), ((6, 3), "--rccl-trace"), ((6, 3), "-S --summary"),
    ((6, 3), "-D --summary-per-domain"), ((6, 3), "--pc-sampling-beta-enabled"), ((6, 4), "--rocdecode-trace"),
    ((6, 4), "--kokkos-trace"), ((6, 4), "--disable-signal-handlers"), ((7, 0), "-v --version"),
    ((7, 0), "--output-config"), ((7, 0), "--rocjpeg-trace"), ((7, 0), "--selected-regions"),
    ((7, 0), "--group-by-queue"), ((7, 0), "--advanced-thread-trace --att"), ((7, 0), "--att-serialize-all"),
    ((7, 1), "--process-sync"), ((7, 13), "--kfd-trace"), ((7, 13), "--hip-graph-trace"),
    ((7, 13), "--rocshmem-trace"), ((7, 14), "--spm-beta-enabled"), ((10, 0), "--hipfile-trace"),
    ((10, 0), "--kernel-replay-beta-enabled"),
)  # fmt: skip
_UNITS = ("hour", "min", "sec", "msec", "usec", "nsec")
_VALUES: tuple[tuple[Version, str, dict[str, Any]], ...] = (
    ((6, 2), "-i --input", {}),
    ((6, 2), "-o --output-file", {}),
    ((6, 2), "-d --output-directory", {}),
    ((6, 2), "--log-level", {"choices": ("fatal", "error", "warning", "info", "trace", "env", "config")}),
    ((6, 2), "--preload", {"nargs": "*"}),
    ((6, 2), "--perfetto-backend", {"nargs": 1, "choices": ("inprocess", "system")}),
    ((6, 2), "--perfetto-buffer-size", {"type": int, "metavar": "KB"}),
    ((6, 2), "--perfetto-buffer-fill-policy", {"choices": ("discard", "ring_buffer")}),
    ((6, 2), "--perfetto-shmem-size-hint", {"type": int, "metavar": "KB"}),
    ((6, 3), "--summary-groups", {"nargs": "+"}),
    ((6, 3), "--summary-output-file", {}),
    ((6, 3), "-u --summary-units", {"choices": ("sec", "msec", "usec", "nsec")}),
    ((6, 3), "--pc-sampling-unit", {"type": str.lower, "choices": ("instructions", "cycles", "time")}),
    ((6, 3), "--pc-sampling-method", {"type": str.lower, "choices": ("stochastic", "host_trap")}),
    ((6, 3), "--pc-sampling-interval", {"type": int}),
    ((6, 3), "--kernel-include-regex", {}),
    ((6, 3), "--kernel-exclude-regex", {}),
    ((6, 3), "--kernel-iteration-range", {"nargs": "+"}),
    ((6, 4), "--collection-period-unit", {"nargs": 1, "choices": _UNITS}),
    ((6, 4), "-E --extra-counters", {}),
    ((6, 4), "--minimum-output-data", {"type": int, "metavar": "KB"}),
    ((6, 4), "--rocm-root", {}),
    ((7, 0), "-A --agent-index", {"choices": ("absolute", "relative", "type-relative")}),
    ((7, 0), "--sdk-soversion", {"type": int}),
    ((7, 0), "--sdk-version", {}),
    ((7, 0), "--att-library-path", {"nargs": "+"}),
    ((7, 0), "--att-target-cu", {}),
    ((7, 0), "--att-simd-select", {}),
    ((7, 0), "--att-buffer-size", {}),
    ((7, 0), "--att-shader-engine-mask", {}),
    ((7, 0), "--att-consecutive-kernels", {}),
    ((7, 0), "--att-gpu-index", {}),
    ((7, 0), "--att-perfcounters", {"type": str.upper}),
    ((7, 0), "--att-perfcounter-ctrl", {"type": int}),
    ((7, 0), "--att-activity", {"type": int}),
    ((7, 1), "-p --pid --attach", {"type": int}),
    ((7, 1), "--attach-duration-msec", {"type": int}),
    ((7, 2), "--profile-mpi-ranks", {}),
    ((7, 14), "--spm", {"nargs": "*"}),
    ((7, 14), "--spm-sample-interval", {"type": int}),
    ((10, 0), "--ompt-trace", {"nargs": "*"}),
    ((10, 0), "--replay-mode", {"choices": ("kernel", "application")}),
)
_TRUE, _FALSE = ("y", "yes", "t", "true", "on", "1"), ("n", "no", "f", "false", "off", "0")


class _Truth(argparse.Action):
    """As in the real script, a value that is none raises ValueError out of argparse: a traceback, exit code 1."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        text = str(values).lower()
        if text not in _TRUE + _FALSE:
            raise ValueError(f"invalid truth value {values} (type={type(values).__name__})")
        setattr(namespace, self.dest, text in _TRUE)


def formats(rocm: Version) -> tuple[str, ...]:
    return ("csv", "json", "pftrace", "otf2") + (("rocpd",) if rocm >= (7, 0) else ())


def parser(rocm: Version) -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="rocprofv3",
        usage="%(prog)s [options] -- <application> [application options]",
        description="ROCProfilerV3 Run Script",
        epilog="rocprofv3 requires double-hyphen (--) before the application to be executed",
    )
    for since, names in _SWITCHES:
        if rocm >= since:
            made.add_argument(*names.split(), action=_Truth, nargs="?", const="true", metavar="BOOL")
    for since, names, how in _VALUES:
        if rocm >= since:
            made.add_argument(*names.split(), **how)
    made.add_argument("-f", "--output-format", nargs="+", type=str.lower, choices=formats(rocm))
    if rocm >= (6, 3):
        made.add_argument("--pmc", nargs="*", action="append" if rocm >= (7, 13) else "store")
    if rocm >= (6, 4):  # its letter was -p before 7.0 kept that for attaching
        made.add_argument("-P" if rocm >= (7, 0) else "-p", "--collection-period", nargs="+")
    return made


def parse(arguments: list[str], rocm: Version) -> tuple[argparse.Namespace, list[str]]:
    """The options, and the application behind the first `--`."""
    own, application = arguments, []
    if "--" in arguments:
        place = arguments.index("--")
        own, application = arguments[:place], arguments[place + 1 :]
    return parser(rocm).parse_args(own), application
