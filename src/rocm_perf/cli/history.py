"""`rocm-perf history`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from rocm_perf.cli.arguments import add_no_color, named_path, number, positive
from rocm_perf.cli.output import say, show, show_json
from rocm_perf.errors import EmptyCaptureError, UsageError

if TYPE_CHECKING:
    from rocm_perf.bench.history.series import Series
    from rocm_perf.bench.history.store import History

_LAST = 100


class HistoryCommand:
    """Show what was measured before: runs that `bench --save` kept, and the phases of an optimisation.

    Without TARGET, one line for each target, and the phases. `history add RUN --phase NAME` keeps the numbers of a
    profile, which may be anything that `analyze` takes, as a phase; `history add RESULT.json` keeps a result that
    `bench -o` wrote.
    """

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        parser.usage = "rocm-perf history [options] [TARGET | add RUN --phase NAME | add RESULT.json]"
        parser.add_argument("words", metavar="TARGET", nargs="*", help="what was measured, as bench names it")
        parser.add_argument("--phase", metavar="NAME", help="what to call the profile that is added")
        parser.add_argument(
            "--accuracy", metavar="X", type=number, help="accuracy of the model in that phase, in any unit"
        )
        parser.add_argument(
            "--last", metavar="N", type=positive, default=_LAST, help=f"runs to show (default {_LAST})"
        )
        parser.add_argument(
            "-o", "--output", metavar="F.svg", type=named_path, help="write the trend as a picture"
        )
        parser.add_argument("--force", action="store_true", help="replace the file")
        add_no_color(parser)
        parser.add_argument("--json", action="store_true", help="print everything as JSON")

    def run(self, args: argparse.Namespace) -> int:
        from rocm_perf.bench.history.store import History

        history = History()
        if args.words[:1] == ["add"]:
            return _add(args, history)
        if args.phase is not None or args.accuracy is not None:
            raise UsageError("--phase and --accuracy are for `history add RUN`")
        return _show(args, history)


def _add(args: argparse.Namespace, history: History) -> int:
    if len(args.words) != 2:
        raise UsageError(
            "`history add` takes one profile or result", next_step="history add RUN --phase NAME"
        )
    path = named_path(args.words[1])
    if args.phase is None:
        _add_result(path, history)
        return 0
    _add_phase(path, args, history)
    return _show_phases(args, history)


def _add_result(path: Path, history: History) -> None:
    from rocm_perf.bench.history.records import SavedRun
    from rocm_perf.bench.results import read_result

    if path.suffix != ".json":
        raise UsageError(
            f"{path} is not the result of a benchmark", next_step="A profile needs --phase NAME."
        )
    result = read_result(path)
    history.add_run(SavedRun(result=result))
    say(f"added {result.target} to {history.path}")


def _add_phase(path: Path, args: argparse.Namespace, history: History) -> None:
    from rocm_perf.api import analyze
    from rocm_perf.bench.history.phases import phase_numbers
    from rocm_perf.bench.history.records import Phase
    from rocm_perf.bench.results import commit, now
    from rocm_perf.cli.reading import reading

    with reading():
        document = analyze(path)
    numbers = phase_numbers(document, args.accuracy)
    history.add_phase(Phase(name=args.phase, date=now(), source=str(path), commit=commit(), numbers=numbers))


def _show(args: argparse.Namespace, history: History) -> int:
    targets = [" ".join(args.words)] if args.words else history.targets()
    series = _series(targets, args.last, history)
    if args.words and not series:
        raise EmptyCaptureError(
            f"{targets[0]} has no run in {history.path}",
            next_step=f"Measure it: rocm-perf bench --save {targets[0]}",
        )
    if args.output:
        _write_picture(series, args)
    if args.json:
        _show_json(series, history)
        return 0
    from rocm_perf.cli.history_report import overview_lines, series_lines

    if not args.words:
        show(*overview_lines(series, history.path))
        return _show_phases(args, history) if history.phases() else 0
    for one in series:
        show(*series_lines(one))
    return 0


def _series(targets: list[str], last: int, history: History) -> list[Series]:
    from rocm_perf.bench.history.series import series_of

    return [one for target in targets for one in series_of(history.runs(target, last))]


def _show_phases(args: argparse.Namespace, history: History) -> int:
    from rocm_perf.cli.console import result_console
    from rocm_perf.cli.history_report import phase_table

    phases = history.phases()
    if args.json:
        _show_json([], history)
        return 0
    console = result_console(no_color=args.no_color)
    console.print(phase_table(phases, console.width))
    show(
        "One profile per phase, so there are no intervals; `rocm-perf compare` says where a difference comes from."
    )
    return 0


def _show_json(series: list[Series], history: History) -> None:
    from rocm_perf.cli.history_report import series_data
    from rocm_perf.render import json

    phases = history.phases()
    show_json(
        json.encode({"schema_version": 1, "series": [series_data(one) for one in series], "phases": phases})
    )


def _write_picture(series: list[Series], args: argparse.Namespace) -> None:
    from rocm_perf.cli.history_report import trend_of
    from rocm_perf.files import write_whole
    from rocm_perf.render.trend_picture import trend_picture

    if args.output.suffix != ".svg":
        raise UsageError(f"cannot write {args.output}", next_step="The trend is an .svg file.")
    title = " ".join(args.words) or "History"
    text = trend_picture(title, [trend_of(one) for one in series])
    write_whole(args.output, lambda draft: draft.write_text(text, encoding="utf-8"), overwrite=args.force)
    say(f"wrote {args.output}")
