"""Which part of a recording a verb is about: its steady state unless the user says otherwise."""

from __future__ import annotations

import argparse
import shlex
from typing import TYPE_CHECKING

from rocm_perf.cli.arguments import gpu_name, named_path, window
from rocm_perf.cli.output import say
from rocm_perf.errors import UsageError
from rocm_perf.model.step_kinds import STEP_KINDS, StepKind

if TYPE_CHECKING:
    from rocm_perf.model.document import Document
    from rocm_perf.model.time_window import TimeWindow
    from rocm_perf.model.trace import Trace


def add_window(parser: argparse.ArgumentParser) -> None:
    """The options that choose the part."""
    parser.add_argument(
        "--window",
        metavar="W",
        type=window,
        default="steady",
        help="steady (the steps that repeat; the default), all, or A..B: what starts from A to B seconds (or 500ms, "
        "2min) after the start of the recording",
    )
    parser.add_argument(
        "--range",
        metavar="NAME",
        help="only what starts between the first start and the last end of the ranges (roctx, NVTX, record_function) "
        "of this name",
    )
    add_step_kind(parser)


def add_step_kind(parser: argparse.ArgumentParser) -> None:
    """The option that chooses the steps of one kind."""
    parser.add_argument(
        "--step-kind",
        metavar="KIND",
        choices=STEP_KINDS,
        help="only the steps of a serving program that are prefill, decode, mixed, draft or other, put end to end",
    )


def add_ceilings(parser: argparse.ArgumentParser) -> None:
    """The option that chooses the peaks kernels are measured against."""
    parser.add_argument(
        "--ceilings",
        metavar="FILE|none",
        help="peaks that `rocm-perf ceilings` wrote to FILE, or none: data sheets alone (default: those it measured "
        "here, for recordings of the same model of GPU)",
    )


def add_gpu(parser: argparse.ArgumentParser) -> None:
    """The option that names the GPU of recordings that do not."""
    parser.add_argument(
        "--gpu",
        metavar="NAME",
        type=gpu_name,
        help="the GPU that it was recorded on, where the recording does not say (rocm-perf gpus lists them)",
    )


def add_code(parser: argparse.ArgumentParser) -> None:
    """The option that names files with the code of the kernels."""
    parser.add_argument(
        "--code",
        metavar="FILE",
        type=named_path,
        action="append",
        default=[],
        help="file with the GPU code that ran (program, library, .hsaco, .cubin, or a folder of them): what it shows "
        "counts as evidence; again for each further one",
    )


def with_code(trace: Trace, args: argparse.Namespace) -> Trace:
    """The recording with what the code of its kernels shows, in the files that were given."""
    if not args.code:
        return trace
    from rocm_perf.collect.run.device_code import with_code as joined

    with_tables, notices = joined(trace, args.code)
    for notice in notices:
        say(f"code: {notice}")
    return with_tables


def named(trace: Trace, args: argparse.Namespace) -> Trace:
    """The recording as one of the GPU that the user named, wherever it does not name its own."""
    from rocm_perf import api

    return api.named(trace, args.gpu)


def chosen_window(args: argparse.Namespace) -> TimeWindow | None:
    """The window that was given by its times, which is looked at alone."""
    if isinstance(args.window, str):
        return None
    for option, value in (("--range", args.range), ("--step-kind", args.step_kind)):
        if value is not None:
            raise UsageError(
                f"--window A..B and {option} exclude each other", next_step="Leave one of them out."
            )
    given: TimeWindow = args.window
    return given.alone()


def asked_with(document: Document, args: argparse.Namespace) -> Document:
    """The document, whose commands name the GPU, the code and the captures that were given."""
    options = ["--gpu", args.gpu] if args.gpu else []
    for file in getattr(args, "code", ()):
        options += ["--code", str(file)]
    if args.captures:
        options += ["--capture", *map(str, args.captures)]
    if not options:
        return document
    from rocm_perf.analysis.parts.combine import asking_again

    return asking_again(document, shlex.join(options))


def chosen_part(trace: Trace, args: argparse.Namespace) -> Trace:
    """What starts within the ranges of a name, and of that the steps of a kind; all where neither was asked for."""
    from rocm_perf.analysis.phases.focus import within_ranges

    return steps_of(trace if args.range is None else within_ranges(trace, args.range), args.step_kind)


def part_and_whole(args: argparse.Namespace) -> tuple[str, str]:
    """What the options choose of a recording, and the options that choose all of it."""
    parts = {
        "--step-kind": args.step_kind and f"the {args.step_kind} steps",
        "--range": args.range and f"the ranges {args.range!r}",
    }
    given = {option: part for option, part in parts.items() if part}
    if not given:
        return "the steady state", "--window all"
    return " in ".join(given.values()), f"--window all without {' and '.join(given)}"


def steps_of(trace: Trace, kind: StepKind | None) -> Trace:
    """The steps of a kind; all of the recording where none was asked for."""
    from rocm_perf.analysis.serving.part import of_kind

    return trace if kind is None else of_kind(trace, kind)


def judged(trace: Trace, args: argparse.Namespace) -> Trace:
    """The part of a loaded recording that the options choose; a window by its times was cut when it was read."""
    from rocm_perf.analysis.phases.focus import focused

    part = chosen_part(trace, args)
    _require_one_window(part)
    return focused(part) if args.window == "steady" else part


def _require_one_window(trace: Trace) -> None:
    """Refuse a run that was recorded in several windows: the time between them is not known, and cannot be re-timed."""
    from rocm_perf.analysis.basis.recorded import fullest_part

    fullest = fullest_part(trace)
    if fullest is not None:
        raise UsageError(
            "the recording holds several windows of the run",
            "what lies between them is not known",
            f"Choose one of them, such as the fullest: --window {fullest.window}.",
        )
