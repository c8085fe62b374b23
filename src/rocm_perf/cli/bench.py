"""`rocm-perf bench`."""

from __future__ import annotations

import argparse
import re
import signal
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from rocm_perf.cli.arguments import count, named_path, positive, seconds
from rocm_perf.cli.output import say, show, show_json, show_status
from rocm_perf.cli.progress import status
from rocm_perf.errors import EmptyCaptureError, NotSupportedError, ToolAbsentError, UsageError

if TYPE_CHECKING:
    from rocm_perf.bench.history.records import SavedRun
    from rocm_perf.bench.processes import Repeats
    from rocm_perf.bench.samples import Result, Samples
    from rocm_perf.bench.settings import Settings
    from rocm_perf.bench.target import Target

_FUNCTION = re.compile(r"[^\s:]+:[A-Za-z_][\w.]*")
_PROCESSES, _RUNS, _SELF_TEST_PROCESSES = 5, 10, 20
_EXIT_CODES = {
    "target": UsageError.exit_code,
    "unsupported": NotSupportedError.exit_code,
    "device": ToolAbsentError.exit_code,
    "interrupted": 128 + signal.SIGINT,
}


class BenchCommand:
    """Measure how long a function or a command takes, in several fresh processes.

    TARGET is module:function or script.py:function, a function without arguments; a command behind -- is timed by the
    wall clock, from its start to its end. Times are those of device events where the function uses a GPU.
    """

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        parser.usage = "rocm-perf bench [options] (TARGET | -- COMMAND ...)"
        parser.add_argument(
            "target", metavar="TARGET", nargs="*", help="module:function, or -- and a command"
        )
        parser.add_argument(
            "--processes",
            metavar="N",
            type=positive,
            help=f"fresh processes, each measuring by itself (default {_PROCESSES}; a command runs {_RUNS} times)",
        )
        parser.add_argument(
            "--warmup",
            metavar="N",
            type=count,
            help="calls before the samples (default 10; of a command 1 run)",
        )
        parser.add_argument(
            "--iterations", metavar="N", type=positive, help="samples of each process (default 100)"
        )
        parser.add_argument(
            "--budget",
            metavar="S",
            type=seconds,
            default=60.0,
            help="seconds for the samples of one process; noisy ones are repeated until it is spent (default 60)",
        )
        parser.add_argument(
            "--timeout",
            metavar="S",
            type=seconds,
            default=600.0,
            help="end a process after this (default 600)",
        )
        parser.add_argument("--cold", action="store_true", help="empty the GPU's caches before each sample")
        parser.add_argument(
            "--graph", action="store_true", help="capture the function as a graph, time replays"
        )
        parser.add_argument(
            "--clock", choices=("auto", "device", "wall"), default="auto", help="which clock (default auto)"
        )
        parser.add_argument(
            "--self-test",
            action="store_true",
            help="A against A: how often is the same called different here, and which difference would show "
            f"(default {_SELF_TEST_PROCESSES} processes)",
        )
        parser.add_argument(
            "--lock-clocks",
            metavar="MHZ",
            type=positive,
            help="hold the clock of every GPU at MHZ meanwhile (needs the right to; unlocked whatever happens)",
        )
        _add_output_options(parser)

    def run(self, args: argparse.Namespace) -> int:
        from rocm_perf.bench.locked_clocks import locked_clocks
        from rocm_perf.bench.processes import measured
        from rocm_perf.bench.results import result_of, save_result
        from rocm_perf.cli.saving import save_run
        from rocm_perf.files import refuse_existing

        target, settings, repeats = _target(args.target), _settings(args), _repeats(args)
        if args.output:
            refuse_existing(args.output, overwrite=args.force)
        if args.dry_run:
            show(*_plan(target, settings, repeats))
            return 0
        with locked_clocks(args.lock_clocks), status(f"{target.name[:50]}: {repeats.count} processes"):
            (processes,) = measured([target], settings, repeats, _Progress(target, repeats))
        result = result_of(target, processes, {**asdict(settings), "locked_mhz": args.lock_clocks})
        run = _run(result, self_test=args.self_test)
        _report(run, args)
        if args.output:
            save_result(result, args.output, overwrite=args.force)
            say(f"wrote {args.output}")
        if args.save:
            save_run(run)
        return _complaint(result)


def _add_output_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--dry-run", action="store_true", help="print what would be run, and run nothing")
    parser.add_argument(
        "--save", action="store_true", help="keep the result in .rocm-perf/, for `history` and `gate`"
    )
    parser.add_argument(
        "-o", "--output", metavar="JSON", type=named_path, help="write the result to this file"
    )
    parser.add_argument("--force", action="store_true", help="replace the file")
    parser.add_argument("--json", action="store_true", help="the result as JSON, with every sample")


def _target(positionals: list[str]) -> Target:
    from rocm_perf.bench.target import parse_target

    is_function = len(positionals) == 1 and _FUNCTION.fullmatch(positionals[0])
    return parse_target(positionals[0], ()) if is_function else parse_target(None, positionals)


def _settings(args: argparse.Namespace) -> Settings:
    from rocm_perf.bench.settings import Settings

    defaults = Settings()
    return Settings(
        warmup=defaults.warmup if args.warmup is None else args.warmup,
        iterations=args.iterations or defaults.iterations,
        budget_s=args.budget,
        cold=args.cold,
        graph=args.graph,
        clock=args.clock,
    )


def _repeats(args: argparse.Namespace) -> Repeats:
    from rocm_perf.bench.processes import Repeats

    is_command = bool(_target(args.target).command)
    if is_command and (args.iterations or args.cold or args.graph or args.clock == "device"):
        raise UsageError(
            "--iterations, --cold, --graph and --clock device are for functions",
            "each run of a command is one sample",
            "Use --processes to say how often it runs.",
        )
    default = _SELF_TEST_PROCESSES if args.self_test else _RUNS if is_command else _PROCESSES
    return Repeats(
        count=args.processes or default,
        warmup=1 if args.warmup is None else args.warmup,
        timeout_s=args.timeout,
    )


def _plan(target: Target, settings: Settings, repeats: Repeats) -> list[str]:
    """What would be run."""
    import shlex

    from rocm_perf.bench.target import child_argv

    argv = target.command or child_argv(target, settings, Path("JOURNAL"), Path("TRACE_OF_ONE_CALL"))
    warmup = f"after {repeats.warmup} not timed" if target.command else "each for itself"
    limit = f"ended after {repeats.timeout_s:g} s"
    return [f"{repeats.count} processes one after the other, {warmup}, {limit}:", shlex.join(argv)]


class _Progress:
    """Shows on a terminal how many processes have ended."""

    def __init__(self, target: Target, repeats: Repeats) -> None:
        self._name, self._count, self._done = target.name[:50], repeats.count, 0

    def __call__(self, _side: int, _samples: Samples) -> None:
        self._done += 1
        if sys.stderr.isatty():
            show_status(f"{self._name}: {self._done} of {self._count} processes")


def _run(result: Result, *, self_test: bool) -> SavedRun:
    from rocm_perf.bench.history.records import SavedRun
    from rocm_perf.bench.self_test import self_tests

    return SavedRun(result=result, self_tests=tuple(self_tests(result.times_ms)) if self_test else ())


def _report(run: SavedRun, args: argparse.Namespace) -> None:
    from rocm_perf.cli.bench_report import result_lines, self_test_lines
    from rocm_perf.render import json

    result = run.result
    if args.json:
        beside = {"self_test": run.self_tests} if args.self_test else {}
        show_json(json.encode({**result.to_json(), **beside}))
        return
    if result.times_ms:
        show(*result_lines(result))
    if args.self_test:
        show(*self_test_lines(run.self_tests, len(result.times_ms)))


def _complaint(result: Result) -> int:
    """Say what went wrong, if something did, and return the exit code."""
    failed = next((one for one in result.processes if one.fault), None)
    if failed is None:
        return 0
    kept = sum(map(len, result.times_ms))
    say(
        f"{result.target}: {failed.error.rstrip('.')}{f'. The {kept} samples so far are kept' if kept else ''}"
    )
    if failed.fault == "exit":
        return int(failed.facts["status"])
    return _EXIT_CODES.get(failed.fault, EmptyCaptureError.exit_code)
