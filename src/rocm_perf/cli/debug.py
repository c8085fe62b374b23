"""`rocm-perf debug`."""

from __future__ import annotations

import argparse
import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from rocm_perf import user_program
from rocm_perf.cli.arguments import new_folder, seconds
from rocm_perf.cli.output import say, show, show_json

if TYPE_CHECKING:
    from rocm_perf.collect.debug import DebugReport

_STDERR = 2


class DebugCommand:
    """Find the kernel that makes a program fail: every launch waits for the one before.

    The program keeps its input, output and exit code; what was found goes to stderr, the runtime's logs to a folder.
    Timings of such a run are not valid.
    """

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "-d",
            "--output-directory",
            metavar="DIR",
            type=new_folder,
            help="logs (rocm-perf-debug-1, -2, ...)",
        )
        parser.add_argument(
            "--sanitize", action="store_true", help="NVIDIA: run below compute-sanitizer, which is far slower"
        )
        parser.add_argument(
            "--timeout", metavar="S", type=seconds, help="kill the application after S seconds"
        )
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
        report = debug(
            app,
            folder,
            user_program.environment(),
            sanitizer=sanitizer,
            stdout=_STDERR if args.json else None,
            timeout_s=args.timeout,
        )
        _tell(report, folder, as_json=args.json)
        return report.exit_code


def _free_name() -> Path:
    number = 1
    while (folder := Path(f"rocm-perf-debug-{number}")).exists():
        number += 1
    return folder


def _tell(report: DebugReport, folder: Path, *, as_json: bool) -> None:
    if as_json:
        from rocm_perf.render import json

        show_json(json.encode(report))
        return
    for line in lines(report, folder):
        say(line)


def lines(report: DebugReport, folder: Path) -> list[str]:
    """The report as lines for a terminal."""
    shown = []
    if report.fault is None:
        shown.append(f"no fault of a kernel was found; the program ended with exit code {report.exit_code}")
    else:
        details = [report.fault.reason, report.fault.address and f"address {report.fault.address}"]
        shown.append(f"{report.fault.meaning} ({', '.join(filter(None, details)) or report.fault.line})")
        name = report.kernel or "unknown"
        shown.append(f"kernel: {name} ({report.certainty}: {report.because})")
    others = [kernel for kernel in report.last_kernels if kernel != report.kernel]
    if others:
        shown.append(f"launched {'before' if report.kernel else 'last'}: {', '.join(others)}")
    if report.failed_call:
        shown.append(f"failed call: {report.failed_call}")
    shown.append(f"next: {report.next_step}")
    if report.logs:
        shown.append(f"logs: {folder}")
    return [*shown, report.timings]
