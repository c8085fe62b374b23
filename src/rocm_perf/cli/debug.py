"""`rocm-perf debug`."""

from __future__ import annotations

import argparse
import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from rocm_perf.cli.arguments import named_path, seconds
from rocm_perf.cli.output import say, show, show_json

if TYPE_CHECKING:
    from rocm_perf.collect.debug import DebugReport

_STDERR = 2


class DebugCommand:
    """Find the kernel that makes a program fail: every launch waits for the one before.

    The program keeps its input, output and exit code; what was found goes to stderr, the runtime's logs to a folder.
    Timings of such a run are not valid.
    """

    name = "debug"

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "-d",
            "--output-directory",
            metavar="DIR",
            type=named_path,
            help="logs (rocm-perf-debug-1, -2, ...)",
        )
        parser.add_argument(
            "--sanitize", action="store_true", help="NVIDIA: run below compute-sanitizer, which is far slower"
        )
        parser.add_argument("--timeout", metavar="S", type=seconds, help="end the application after so long")
        parser.add_argument("--dry-run", action="store_true", help="say what would be run, and stop")
        parser.add_argument("--json", action="store_true", help="what was found, as JSON on stdout")
        parser.add_argument(
            "app", metavar="APP", nargs=argparse.REMAINDER, help="application; -- before it ends our options"
        )
        parser.usage = "rocm-perf debug [options] -- APP [args]"

    def run(self, args: argparse.Namespace) -> int:
        from rocm_perf.collect.debug import debug, debug_command, debug_environment, find_sanitizer
        from rocm_perf.collect.request.application import find_application

        app = tuple(args.app[1:] if args.app[:1] == ["--"] else args.app)
        find_application(app, os.environ)
        folder = args.output_directory or _free_name()
        sanitizer = find_sanitizer(os.environ) if args.sanitize else ""
        if args.dry_run:
            variables = [f"{name}={value}" for name, value in debug_environment(folder).items()]
            show(shlex.join([*variables, *debug_command(app, folder, sanitizer)]))
            return 0
        found = debug(
            app,
            folder,
            os.environ,
            sanitizer=sanitizer,
            stdout=_STDERR if args.json else None,
            timeout_s=args.timeout,
        )
        _tell(found, folder, as_json=args.json)
        return found.exit_code


def _free_name() -> Path:
    number = 1
    while (folder := Path(f"rocm-perf-debug-{number}")).exists():
        number += 1
    return folder


def _tell(found: DebugReport, folder: Path, *, as_json: bool) -> None:
    if as_json:
        from rocm_perf.render import json

        show_json(json.encode(found))
        return
    for line in lines(found, folder):
        say(line)


def lines(found: DebugReport, folder: Path) -> list[str]:
    """What was found, in words."""
    told = []
    if found.fault is None:
        told.append(f"no fault of a kernel was found; the program ended with exit code {found.exit_code}")
    else:
        details = [found.fault.reason, found.fault.address and f"address {found.fault.address}"]
        told.append(f"{found.fault.meaning} ({', '.join(filter(None, details)) or found.fault.line})")
        name = found.kernel or "unknown"
        told.append(f"kernel: {name} ({found.certainty}: {found.because})")
    others = [kernel for kernel in found.last_kernels if kernel != found.kernel]
    if others:
        told.append(f"launched {'before' if found.kernel else 'last'}: {', '.join(others)}")
    if found.failed_call:
        told.append(f"failed call: {found.failed_call}")
    told.append(f"next: {found.next_step}")
    if found.logs:
        told.append(f"logs: {folder}")
    return [*told, found.timings]
