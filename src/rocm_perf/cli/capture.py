"""`rocm-perf capture`."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from rocm_perf.cli.arguments import positive
from rocm_perf.errors import UsageError

if TYPE_CHECKING:
    from rocm_perf.replay.capture import Request


class CaptureCommand:
    """Save one kernel of a running program with all of its memory, to be replayed alone.

    APP runs as it is, with its own input, output and exit code. Before the chosen dispatch all queues are drained and
    its inputs are saved; after it, what it changed. The report goes to standard error.
    """

    name = "capture"

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        add = parser.add_argument
        add("--kernel", metavar="REGEX", required=True, help="kernel to capture, by symbol or demangled name")
        add("--dispatch", metavar="N", type=positive, default=1, help="which matching dispatch (default 1)")
        add("-o", "--output", metavar="SNAP", type=Path, required=True, help="folder to write")
        add(
            "--outputs",
            action=argparse.BooleanOptionalAction,
            default=True,
            help="save what the kernel changed, which verify needs (default: yes)",
        )
        add("--reachable-only", action="store_true", help="save only memory that the arguments lead to")
        add("--stop-after", action="store_true", help="end the program after the capture")
        add(
            "--allow-uncovered",
            action="store_true",
            help="capture although an argument points to unsaved memory",
        )
        add(
            "--vendor",
            choices=("auto", "amd", "nvidia"),
            default="auto",
            help="whose GPU (default: the one here)",
        )
        add("--no-compress", action="store_true", help="keep memory raw: larger, faster to write")
        add("--force", action="store_true", help="replace the snapshot")
        add("--dry-run", action="store_true", help="say what would be run, and stop")
        add("--json", action="store_true", help="the report as JSON, on standard error")
        add("app", metavar="APP", nargs="+", help="program and its arguments; -- before it ends our options")
        parser.usage = "rocm-perf capture --kernel REGEX [--dispatch N] -o SNAP [options] -- APP ..."

    def run(self, args: argparse.Namespace) -> int:
        from rocm_perf.collect.application import find_application
        from rocm_perf.collect.launch import exit_code
        from rocm_perf.replay.capture import capture

        request = _request(args)
        find_application(request.command, os.environ)
        if args.dry_run:
            return _dry_run(request)
        done = capture(request, _say)
        status = exit_code(done.ended.status)
        if status:
            _say(f"the program ended with exit code {status}")
        if done.error is not None:
            _say(str(done.error))
            return status or done.error.exit_code
        assert done.report is not None
        if args.json:
            from rocm_perf.render import json

            print(json.encode(done.report), file=sys.stderr)
        else:
            from rocm_perf.render.replay import capture_lines

            for line in capture_lines(done.report):
                print(line, file=sys.stderr)
        return status


def _request(args: argparse.Namespace) -> Request:
    from rocm_perf.replay.capture import Request, chosen_vendor
    from rocm_perf.replay.native import present_vendors

    if not args.output.name:
        raise UsageError(f"{args.output} cannot be the name of a snapshot")
    return Request(
        command=tuple(args.app),
        kernel=args.kernel,
        output=args.output,
        vendor=chosen_vendor(args.vendor, present_vendors()),
        dispatch=args.dispatch,
        outputs=args.outputs,
        reachable_only=args.reachable_only,
        stop_after=args.stop_after,
        allow_uncovered=args.allow_uncovered,
        compress=not args.no_compress,
        force=args.force,
    )


def _dry_run(request: Request) -> int:
    from rocm_perf.replay.capture import check, settings

    check(request, os.environ)
    for name, value in settings(request, Path("LIBRARY"), Path("DRAFT")).items():
        print(f"{name}={shlex.quote(value)}")
    print(shlex.join(request.command))
    print(f"would write the snapshot {request.output}")
    return 0


def _say(text: str) -> None:
    print(f"rocm-perf capture: {text}", file=sys.stderr)
