"""`rocm-perf capture`."""

from __future__ import annotations

import argparse
import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from rocm_perf.cli.arguments import new_folder, positive
from rocm_perf.cli.output import say, show, show_json
from rocm_perf.errors import RocmPerfError, UsageError

if TYPE_CHECKING:
    from rocm_perf.model.results.replay import CaptureReport
    from rocm_perf.replay.capture import Request


class CaptureCommand:
    """Save one kernel of a running program with all of its memory, to be replayed alone.

    APP runs as it is, with its own input, output and exit code. Before the chosen dispatch all queues are drained and
    its inputs are saved; after it, what it changed. The report goes to standard error; with --json it goes to standard
    output, and what the program prints there goes to standard error.
    """

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        add = parser.add_argument
        add("--kernel", metavar="REGEX", required=True, help="kernel to capture, by symbol or demangled name")
        add("--dispatch", metavar="N", type=positive, default=1, help="which matching dispatch (default 1)")
        add("-o", "--output", metavar="SNAP", type=new_folder, required=True, help="folder to write")
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
        add("--json", action="store_true", help="the report (or the plan) as JSON on stdout")
        add("app", metavar="APP", nargs="+", help="program and its arguments; -- before it ends our options")
        parser.usage = "rocm-perf capture --kernel REGEX [--dispatch N] -o SNAP [options] -- APP ..."

    def run(self, args: argparse.Namespace) -> int:
        from rocm_perf.collect.request.application import find_application
        from rocm_perf.collect.run.launch import exit_code
        from rocm_perf.replay.capture import capture
        from rocm_perf.replay.replayer import unheard
        from rocm_perf.replay.run import signal_text

        request = _request(args)
        find_application(request.command, os.environ)
        if args.dry_run:
            return _dry_run(request, as_json=args.json)
        done = capture(request, unheard if args.json else _say)
        status = exit_code(done.ended.status)
        if status:
            how = signal_text(-done.ended.status) if done.ended.status < 0 else f"with exit code {status}"
            _say(f"the program ended {how}")
        if done.error is not None:
            _explain(done.error)
            return status or done.error.exit_code
        assert done.report is not None
        _show(done.report, as_json=args.json)
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
        stdout_to_stderr=args.json,
    )


def _dry_run(request: Request, *, as_json: bool) -> int:
    from rocm_perf.model.results.replay import SCHEMA_VERSION
    from rocm_perf.replay.capture import check, settings

    check(request, os.environ)
    variables = settings(request, Path("LIBRARY"), Path("DRAFT"))
    if as_json:
        from rocm_perf.render import json

        plan = {"environment": variables, "command": request.command, "snapshot": str(request.output)}
        show_json(json.encode({"schema_version": SCHEMA_VERSION, **plan}))
        return 0
    for name, value in variables.items():
        show(f"{name}={shlex.quote(value)}")
    show(shlex.join(request.command))
    show(f"would write the snapshot {request.output}")
    return 0


def _show(report: CaptureReport, *, as_json: bool) -> None:
    """Print the report: on stdout only as JSON, else that is the program's."""
    if as_json:
        from rocm_perf.render import json

        show_json(json.encode(report))
        return
    from rocm_perf.cli.console import result_console
    from rocm_perf.render.screen.replay import capture_blocks, print_blocks

    console = result_console(stderr=True)
    print_blocks(capture_blocks(report, console.width), console)


def _explain(error: RocmPerfError) -> None:
    """Say why there is no snapshot, and what else could have been captured."""
    from rocm_perf.cli.console import result_console
    from rocm_perf.render.screen.replay import print_blocks, seen_blocks
    from rocm_perf.replay.capture import NoMatchError

    _say(str(error))
    if isinstance(error, NoMatchError) and error.seen:
        console = result_console(stderr=True)
        print_blocks(seen_blocks(error.seen, console.width), console)


def _say(text: str) -> None:
    say(text, "rocm-perf capture")
