"""`rocm-perf ab`."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from rocm_perf.cli.arguments import number, positive, seconds, share
from rocm_perf.cli.output import say, show, show_json, show_status
from rocm_perf.errors import EmptyCaptureError

if TYPE_CHECKING:
    from rocm_perf.bench.ab_result import AbResult


class AbCommand:
    """Whether new code gives the results of the old code, and whether it is faster.

    BASE, NEW and what makes their inputs are functions: module:function or script.py:function. Results are compared
    first, on fresh inputs in every round; then both are timed in several fresh processes, in turns, and what they
    return is still compared. This process imports neither of them, and holds the clock. Exit code 1 if NEW is wrong, or
    slower than --fail-on allows.
    """

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("base", metavar="BASE", help="function whose results are right")
        parser.add_argument("new", metavar="NEW", help="function that is to do the same, faster")
        parser.add_argument(
            "--inputs",
            metavar="FUNCTION",
            action="append",
            required=True,
            help="makes the arguments: a tuple, or a list of tuples for several shapes; may be repeated",
        )
        parser.add_argument(
            "--in-place",
            metavar="ARGUMENT",
            type=_argument,
            action="append",
            default=[],
            help="position (from 0) or keyword of an argument that the functions write; may be repeated",
        )
        parser.add_argument(
            "--tolerance",
            metavar="ABS",
            type=_tolerance,
            help="largest difference allowed (default: by type)",
        )
        parser.add_argument("--any-strides", action="store_true", help="results may differ in memory layout")
        parser.add_argument(
            "--processes", metavar="N", type=positive, default=6, help="fresh processes for each (default 6)"
        )
        parser.add_argument(
            "--laps", metavar="N", type=positive, default=15, help="timed laps per process (default 15)"
        )
        parser.add_argument(
            "--timeout", metavar="S", type=seconds, default=60.0, help="for one answer (default 60 seconds)"
        )
        parser.add_argument(
            "--fail-on",
            metavar="SHARE",
            type=share,
            default=0.0,
            help="slower by more than this is exit code 1: 3%% (default: by anything that shows)",
        )
        parser.add_argument(
            "--save", action="store_true", help="keep the times of both in .rocm-perf/, for `history`"
        )
        parser.add_argument("--json", action="store_true", help="print everything as JSON")

    def run(self, args: argparse.Namespace) -> int:
        from rocm_perf.bench.ab_processes import AbRequest, ab_processes
        from rocm_perf.bench.judge.trial import TrialPlan
        from rocm_perf.text import encode_json

        plan = TrialPlan(
            tolerance=args.tolerance,
            in_place=tuple(args.in_place),
            compares_strides=not args.any_strides,
            laps=args.laps,
        )
        request = AbRequest(
            base=args.base,
            new=args.new,
            inputs=tuple(args.inputs),
            plan=plan,
            processes=args.processes,
            timeout_s=args.timeout,
        )
        try:
            result = ab_processes(request, _progress)
        finally:
            _progress("")
        if args.json:
            show_json(encode_json(result.to_json()).decode())
            if result.failure:
                say(result.failure)
        else:
            show(*result.lines())
        if args.save:
            _save(result, args.laps)
        return int(result.fails(args.fail_on)) or (EmptyCaptureError.exit_code if result.failure else 0)


def _save(result: AbResult, laps: int) -> None:
    """Keep the times of both sides, apart from those of `bench`, which takes them otherwise."""
    from dataclasses import replace

    from rocm_perf.bench.history.records import SavedRun
    from rocm_perf.cli.saving import save_run

    if not result.correct or result.failure:
        why = "it ended before it was done" if result.correct else "a wrong result has no speed"
        say(f"nothing is kept in the history: {why}")
        return
    for side in (result.base, result.new):
        save_run(SavedRun(result=replace(side, settings={"measured_by": "ab", "laps": laps})))


def _progress(text: str) -> None:
    if sys.stderr.isatty():
        show_status(text)


def _argument(text: str) -> int | str:
    return int(text) if text.isdecimal() else text


def _tolerance(text: str) -> float:
    value = number(text)
    if value < 0:
        raise argparse.ArgumentTypeError("must be a difference, 0 or more")
    return value
