"""`rocm-perf profile`, and its shortcuts `counters` and `trace`."""

from __future__ import annotations

import argparse
import os
import shlex
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from rocm_perf.cli.kept_answers import WORTH_KEEPING_S, Wish, keep, question_of
from rocm_perf.cli.output import say, show, show_json
from rocm_perf.cli.profile_options import add_options
from rocm_perf.cli.progress import status
from rocm_perf.cli.reading import reading
from rocm_perf.errors import RocmPerfError, UsageError
from rocm_perf.units import format_count

if TYPE_CHECKING:
    from rocm_perf.backends.machine import Machine
    from rocm_perf.collect.plan.planned import Plan
    from rocm_perf.collect.request.request import Request
    from rocm_perf.collect.run.session import Recorded
    from rocm_perf.model.document import Document

SCHEMA_VERSION = 1


class ProfileCommand:
    """Record a program and report on it, with the best profiler on this machine.

    The application keeps its input, output and exit code; the report goes to stderr. Nothing is overwritten: each run
    has a folder of its own, which `analyze` reads again. rocprofv3's options are taken as they are, whichever profiler
    runs. With --device sim:MI300X, APP is a workload file as in examples/workloads.
    """

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        add_options(parser)
        parser.usage = f"{parser.prog} [options] -- APP [args]"

    def run(self, args: argparse.Namespace) -> int:
        if args.device:
            from rocm_perf.cli.profile_simulated import profile_simulated

            return profile_simulated(args)
        from rocm_perf.cli.profile_request import request_of

        request, notices = request_of(args)
        return _profile(request, notices, args)


class CountersCommand(ProfileCommand):
    """`profile --counters counters_basic`: waves, instructions and caches of each kernel, beside what a good one has.

    Other counters, metrics or sets: --counters. The application runs once more for each pass that they need.
    """

    def run(self, args: argparse.Namespace) -> int:
        if not (args.counters or args.pmc or args.input):
            args.counters = ["counters_basic"]
        return super().run(args)


class TraceCommand(ProfileCommand):
    """`profile --preset sys`: everything that can be traced, and no counters."""

    def run(self, args: argparse.Namespace) -> int:
        args.preset = args.preset or "sys"
        return super().run(args)


def _profile(request: Request, notices: tuple[str, ...], args: argparse.Namespace) -> int:
    from msgspec.structs import replace

    from rocm_perf.backends.probe import probe_machine
    from rocm_perf.cli.profile_deep import depth_of

    environment = {**os.environ, **request.environment}
    _refuse_second_profiler(environment)
    request = replace(request, deep=depth_of(args, request, environment))
    machine = probe_machine()
    if args.dry_run:
        _print_plans(request, machine, notices, as_json=args.json)
        return 0
    from rocm_perf.collect.run.session import record

    for notice in notices:
        say(notice)
    recorded = record(request, machine, say)
    if args.no_analyze:
        say(f"recorded in {_run_folder(recorded)}; rocm-perf analyze reads it")
        return recorded.exit_code
    _report(recorded, args)
    return recorded.exit_code


def _refuse_second_profiler(environment: dict[str, str]) -> None:
    from rocm_perf.collect.doctor.conflicts import preloaded_profilers

    if loaded := preloaded_profilers(environment):
        raise UsageError(
            "a profiler is already loaded into every program",
            f"{', '.join(loaded)}: two at once disturb one another",
            f"unset {' '.join(dict.fromkeys(word.partition('=')[0] for word in loaded))}.",
        )


def _print_plans(request: Request, machine: Machine, notices: tuple[str, ...], *, as_json: bool) -> None:
    import msgspec

    from rocm_perf.collect.plan.deeper import prospect
    from rocm_perf.collect.plan.plan import plans

    folder = _folder(request, machine)
    ways: tuple[Plan, ...] = plans(request, machine, folder)
    data = [msgspec.to_builtins(plan) for plan in ways]
    afterwards = prospect(ways[0], request, machine, folder)
    if as_json:
        from rocm_perf.render import json

        head = {"schema_version": SCHEMA_VERSION, "request": msgspec.to_builtins(request)}
        show_json(json.encode({**head, "notices": list(notices), "plans": data, "afterwards": afterwards}))
        return
    from rocm_perf.render.screen.plan import plan_lines

    window = request.wish.window.sentence
    show(
        *plan_lines(data, overhead_runs=request.overhead_runs),
        *([afterwards] if afterwards else []),
        *([f"window: {window}"] if window else []),
        *(f"note: {notice}" for notice in notices),
    )


def _folder(request: Request, machine: Machine) -> Path:
    """Where the run would go; its id and process number are not known before it starts."""
    rank = os.environ.get("RANK", "")
    return Path(request.output, request.run_id or "RUN_ID", machine.host, f"rank{rank}-PID")


def _print_json(document: Document) -> None:
    from rocm_perf.render import json

    show_json(json.documents([document], []))


def _report(recorded: Recorded, args: argparse.Namespace) -> None:
    """Print the analysis of what was recorded: on stderr, or as JSON on stdout."""
    from rocm_perf.ingest.io.source import consulting

    with reading(), consulting() as consulted:
        trace = recorded.trace
    if trace is None:
        return
    from rocm_perf.analysis.overview import examine
    from rocm_perf.bench.ceilings.store import chosen

    begun, folder, machines = monotonic(), _run_folder(recorded), chosen()
    with status(f"analysing {format_count(trace.rows('dispatches'), 'kernel')}"):
        document = examine(trace, str(folder), machines=machines)
    _write_files(document, folder)
    if monotonic() - begun >= WORTH_KEEPING_S:
        keep(question_of(folder, machines, Wish()), document, consulted)
    if args.json:
        _print_json(document)
        return
    from rocm_perf.cli.console import result_console
    from rocm_perf.render.screen.drawn import characters_of
    from rocm_perf.render.screen.terminal import View, print_document, print_sections

    console = result_console(stderr=True, no_color=args.no_color)
    view = View(top=args.top, width=console.width, characters=characters_of(console))
    if args.show:
        print_sections(document, _sections(args.show), console, view)
    else:
        print_document(document, console, view)
        if args.verb == "counters" and document.metrics.indicators:
            print_sections(document, ["indicators"], console, view)
    say(f"recorded in {_run_folder(recorded)}")
    if recorded.record.preset == "auto" and recorded.record.deep is None and not args.deep:
        _advise(document, recorded)


def _write_files(document: Document, folder: Path) -> None:
    """Leave profile.json, roofline.json, dag.json and analysis.json in the folder of the run."""
    from rocm_perf.render.report.files import write_documents

    try:
        write_documents([document], folder, overwrite=True)
    except RocmPerfError as error:
        say(f"the analysis is not in the run's folder: {error}")


def _run_folder(recorded: Recorded) -> Path:
    """The folder of the whole run; that of this process alone where others belong to it, or where it was moved."""
    whole = recorded.folder.parent.parent
    is_alone = recorded.record.rank is None and whole.name == recorded.record.run_id
    return whole if is_alone else recorded.folder


def _advise(document: Document, recorded: Recorded) -> None:
    """Say which targeted preset is worth a second recording."""
    from rocm_perf.analysis.verdict.next_preset import next_preset
    from rocm_perf.collect.request.presets import preset

    if worth := next_preset(document):
        command = shlex.join(recorded.record.command)
        what = "--deep" if preset(worth.preset).counters else f"--preset {worth.preset}"
        say(f"next: rocm-perf profile {what} -- {command} ({worth.reason})")


def _sections(text: str) -> list[str]:
    from rocm_perf.render.sections.index import chosen

    return chosen([name.strip() for name in text.split(",") if name.strip()])
