"""`rocm-perf gate`."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from rocm_perf.cli.arguments import positive, share
from rocm_perf.cli.output import say, show, show_json
from rocm_perf.errors import EmptyCaptureError, RocmPerfError

if TYPE_CHECKING:
    from rocm_perf.bench.history.gate import Judgement
    from rocm_perf.bench.history.store import History

_LAST = 10
_KEPT = 500  # runs of a target among which comparable ones are looked for


class GateCommand:
    """Judge the newest run of each target against the runs before it; exit with 1 where one is slower.

    Runs are those that `bench --save` kept. Only runs of the same target on the same machine and GPU with the same
    settings are compared. A target that cannot be judged fails with 5, and a line says what to do.
    """

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "targets", metavar="TARGET", nargs="*", help="what to judge (default: every target)"
        )
        parser.add_argument(
            "--last",
            metavar="N",
            type=positive,
            default=_LAST,
            help=f"comparable runs before (default {_LAST})",
        )
        parser.add_argument(
            "--against", metavar="COMMIT", default="", help="compare with the runs of this commit"
        )
        parser.add_argument(
            "--at-least",
            metavar="SHARE",
            type=share,
            help="a difference that matters, such as 3%%: none below it fails; what the self-test cannot show is never "
            "judged",
        )
        parser.add_argument("--json", action="store_true", help="print the judgements as JSON")

    def run(self, args: argparse.Namespace) -> int:
        from rocm_perf.bench.history.store import History

        history = History()
        targets = args.targets or history.targets()
        if not targets:
            raise EmptyCaptureError(
                f"{history.path} holds no runs",
                next_step="Measure the state before the change, then the one after it: rocm-perf bench --save TARGET",
            )
        judgements, problems = _judged(targets, args, history)
        if args.json:
            _show_json(judgements, problems)
        else:
            for judgement in judgements:
                show(_line(judgement))
        for problem in problems:
            say(str(problem))
        if any(one.verdict == "worse" for one in judgements):
            return 1
        return problems[0].exit_code if problems else 0


def _judged(
    targets: list[str], args: argparse.Namespace, history: History
) -> tuple[list[Judgement], list[RocmPerfError]]:
    """The judgement of each target, and why the others have none."""
    from rocm_perf.bench.history.gate import judge

    judgements: list[Judgement] = []
    problems: list[RocmPerfError] = []
    for target in targets:
        runs = history.runs(target, _KEPT)
        try:
            if not runs:
                raise EmptyCaptureError(
                    f"{target} has no run in {history.path}", next_step="Measure it: rocm-perf bench --save"
                )
            judgements.append(judge(runs, last=args.last, at_least=args.at_least, against=args.against))
        except EmptyCaptureError as problem:
            problems.append(problem)
    return judgements, problems


def _line(judgement: Judgement) -> str:
    from rocm_perf.cli.bench_report import milliseconds
    from rocm_perf.cli.history_report import bounds, change
    from rocm_perf.units import format_count, format_share

    new, difference = judgement.new.result, judgement.over_processes
    basis = f"{format_count(len(judgement.base), 'run')} before"
    parts = [
        f"{new.target}: {judgement.verdict}",
        f"{milliseconds(new.median_ms)} is {change(difference.ratio)} ({bounds(difference)}) against {basis}",
        f"judged from {format_share(judgement.threshold)} on ({judgement.threshold_source})",
    ]
    if judgement.reason:
        parts.append(judgement.reason)
    if judgement.over_runs is None:
        parts.append("how runs differ from day to day is not known from so few")
    return "; ".join(parts)


def _show_json(judgements: list[Judgement], problems: list[RocmPerfError]) -> None:
    from rocm_perf.render import json

    document = {
        "schema_version": 1,
        "judgements": [_data(one) for one in judgements],
        "problems": [str(one) for one in problems],
    }
    show_json(json.encode(document))


def _data(judgement: Judgement) -> dict[str, Any]:
    return {
        "target": judgement.new.result.target,
        "verdict": judgement.verdict,
        "reason": judgement.reason,
        "median_ms": judgement.new.result.median_ms,
        "commit": judgement.new.result.commit,
        "base_commits": [run.result.commit for run in judgement.base],
        "over_processes": judgement.over_processes,
        "over_runs": judgement.over_runs,
        "threshold": judgement.threshold,
        "threshold_source": judgement.threshold_source,
    }
