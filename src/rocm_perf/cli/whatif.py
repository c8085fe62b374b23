"""`rocm-perf whatif`."""

from __future__ import annotations

import argparse
import re
from typing import TYPE_CHECKING

from rocm_perf.cli.arguments import add_captures, count, named_path
from rocm_perf.cli.judged import add_ceilings, add_window, chosen_window, judged, part_and_whole
from rocm_perf.cli.lean import load_libraries
from rocm_perf.cli.output import show, show_json
from rocm_perf.cli.reading import reading
from rocm_perf.errors import EmptyCaptureError, UsageError

if TYPE_CHECKING:
    from rocm_perf.analysis.graph import Graph
    from rocm_perf.analysis.path.changes import Change
    from rocm_perf.model.results.whatif import Projection
    from rocm_perf.model.trace import Trace

SCHEMA_VERSION = 1
_NEARLY_ALL = 0.95  # of a recording: then what is left out is not worth a line


class WhatifCommand:
    """What a change would save, projected from a recording alone.

    Changes the dependency graph of the recording and times it again; several changes apply one after another. Every
    assumption is printed with the answer.
    """

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "path", metavar="PATH", type=named_path, help="recording, folder of one run, or bundle"
        )
        parser.add_argument(
            "--faster",
            metavar="REGEX=K",
            action="append",
            default=[],
            help="kernels whose name matches become K times faster",
        )
        parser.add_argument(
            "--at-roof",
            metavar="REGEX",
            action="append",
            default=[],
            help="kernels whose name matches run at their roof (see --ceilings)",
        )
        parser.add_argument("--hoist-syncs", action="store_true", help="synchronise once, at the end")
        parser.add_argument(
            "--stream-syncs", action="store_true", help="device-wide waits become waits for one stream"
        )
        parser.add_argument("--graphs", action="store_true", help="capture repeated launches into graphs")
        parser.add_argument(
            "--async-copies", action="store_true", help="copies do not block the calling thread"
        )
        parser.add_argument(
            "--overlap-copies",
            action="store_true",
            help="copies block neither the calling thread nor the kernels after them",
        )
        parser.add_argument(
            "--host",
            metavar="RANK=F",
            action="append",
            default=[],
            help="host work of a rank takes F times as long",
        )
        parser.add_argument(
            "--compute",
            metavar="RANK=F",
            action="append",
            default=[],
            help="kernels of a rank take F times as long",
        )
        parser.add_argument(
            "--link",
            metavar="FASTER",
            help="collectives transfer their bytes FASTER times as fast once all ranks have come",
        )
        add_window(parser)
        add_ceilings(parser)
        parser.add_argument("--as-one", action="store_true", help="treat all files of a folder as one run")
        add_captures(parser)
        parser.add_argument("--json", action="store_true", help="print the projection as JSON")

    def run(self, args: argparse.Namespace) -> int:
        load_libraries()
        from rocm_perf.analysis.path.unprofiled import unprofiled
        from rocm_perf.analysis.path.whatif import whatif

        whole, trace = _recording(args)
        graph = unprofiled(trace)
        if graph.empty:
            raise EmptyCaptureError(f"{args.path} holds no timed work", "there is nothing to time again")
        changes = _changes(args, trace, graph)
        if not changes:
            raise UsageError(
                "no change was given", next_step="See rocm-perf whatif --help for what can be changed."
            )
        projection = whatif(graph, *changes)
        if args.json:
            from rocm_perf.render import json

            show_json(json.encode({"schema_version": SCHEMA_VERSION, "projection": projection}))
        else:
            _print(projection, whole, *part_and_whole(args))
        return 0


def _recording(args: argparse.Namespace) -> tuple[Trace, Trace]:
    """The recording, or the window of it that was asked for, and the part that is timed again."""
    from rocm_perf.cli.recording_size import require_room
    from rocm_perf.ingest import load

    window = chosen_window(args)
    require_room([args.path, *args.captures], window)
    with reading():
        whole = load.load(args.path, as_one=args.as_one, window=window, captures=args.captures)
    return whole, judged(whole, args)


def _changes(args: argparse.Namespace, trace: Trace, graph: Graph) -> list[Change]:
    from rocm_perf.analysis.path.changes import (
        CopiesAsync,
        FasterKernels,
        SyncsNarrowed,
        SyncsRemoved,
    )
    from rocm_perf.analysis.path.joined import Captured
    from rocm_perf.analysis.path.rank_changes import FasterLink, ScaledHost, ScaledKernels
    from rocm_perf.analysis.path.wrappers import sync_wrappers

    changes: list[Change] = [FasterKernels(*_pattern(text)) for text in args.faster]
    changes += [ScaledHost(*_rank_factor(text, "--host")) for text in args.host]
    changes += [ScaledKernels(*_rank_factor(text, "--compute")) for text in args.compute]
    if args.link is not None:
        changes.append(FasterLink(_factor(args.link, "--link")))
    changes += _at_roof(args, trace)
    if args.hoist_syncs:
        changes.append(SyncsRemoved(sync_wrappers(trace, graph)))
    if args.stream_syncs:
        changes.append(SyncsNarrowed())
    if args.graphs:
        changes.append(Captured())
    if args.async_copies or args.overlap_copies:
        changes.append(CopiesAsync(overlapped=args.overlap_copies))
    return changes


def _at_roof(args: argparse.Namespace, trace: Trace) -> list[Change]:
    if not args.at_roof:
        return []
    from rocm_perf.analysis.path.at_roof import kernels_at_roof
    from rocm_perf.analysis.roofline import roofline
    from rocm_perf.bench.ceilings.store import chosen

    points = roofline(trace, machines=chosen(args.ceilings))
    return [kernels_at_roof(points, _expression(pattern)) for pattern in args.at_roof]


def _pattern(text: str) -> tuple[str, float]:
    pattern, factor = _pair(text, "--faster")
    return _expression(pattern), factor


def _expression(pattern: str) -> str:
    try:
        re.compile(pattern)
    except re.error as error:
        raise UsageError(f"{pattern!r} is not a regular expression", str(error)) from error
    return pattern


def _pair(text: str, option: str) -> tuple[str, float]:
    name, _, factor = text.rpartition("=")
    value = _positive(factor)
    if not name or value is None:
        raise UsageError(
            f"{option} {text!r} is not understood", next_step="Write NAME=NUMBER, with a number above 0."
        )
    return name, value


def _factor(text: str, option: str) -> float:
    value = _positive(text)
    if value is None:
        raise UsageError(
            f"{option} {text!r} is not understood", next_step=f"Write a number above 0, as in {option} 2."
        )
    return value


def _positive(text: str) -> float | None:
    """The number above 0 that the text is, if it is one."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 < value < float("inf") else None


def _rank_factor(text: str, option: str) -> tuple[int, float]:
    name, factor = _pair(text, option)
    try:
        return count(name), factor
    except argparse.ArgumentTypeError as error:
        raise UsageError(
            f"{name!r} is not a rank", str(error), f"Write the rank as a number, as in {option} 3=0.5."
        ) from error


def _print(projection: Projection, whole: Trace, part: str, all_of_it: str) -> None:
    from rocm_perf.analysis.time.busy import wall_ns
    from rocm_perf.units import format_ns

    recorded = wall_ns(whole) or 0
    speedup = projection.speedup.value
    gain = "" if speedup is None else f", {speedup:.2f}x"
    show(
        f"{projection.change}: {format_ns(projection.unprofiled_wall_ns)} -> {format_ns(projection.wall_ns)}{gain}"
    )
    if projection.profiler_ns:
        show(
            f"Recorded were {format_ns(projection.recorded_wall_ns)}: {format_ns(projection.profiler_ns)} of it is "
            "what the profiler added to launches."
        )
    if projection.recorded_wall_ns < _NEARLY_ALL * recorded:
        judged_ns = format_ns(projection.recorded_wall_ns)
        show(
            f"This covers {part} ({judged_ns} of {format_ns(recorded)}); {all_of_it} for the whole recording."
        )
    if not projection.saved_ns:
        show("Nothing would change: the change has nothing to act on, or the critical path runs elsewhere.")
    show("Assumed:", *(f"- {line}" for line in projection.assumptions))
