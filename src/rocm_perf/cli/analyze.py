"""`rocm-perf analyze`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from rocm_perf.cli.arguments import (
    Parser,
    add_captures,
    add_no_color,
    named_path,
    new_folder,
    positive,
    rate,
    size,
)
from rocm_perf.cli.cluster_options import add_cluster, cluster_request
from rocm_perf.cli.judged import (
    add_ceilings,
    add_code,
    add_gpu,
    add_window,
    asked_with,
    chosen_part,
    named,
    with_code,
)
from rocm_perf.cli.kept_answers import WORTH_KEEPING_S, Wish, keep, kept, question_of
from rocm_perf.cli.lean import load_libraries
from rocm_perf.cli.output import say, show_json
from rocm_perf.cli.progress import count_progress, say_beside_progress
from rocm_perf.cli.reading import reading
from rocm_perf.errors import EmptyCaptureError, RocmPerfError, UsageError

if TYPE_CHECKING:
    from rocm_perf.analysis.roofline.build import Machines
    from rocm_perf.ingest.load import Loaded
    from rocm_perf.model.document import Document
    from rocm_perf.model.time_window import TimeWindow

Failure = tuple[str, RocmPerfError]  # of the recording with that label


class AnalyzeCommand:
    """What holds a program back, where its time goes, and how far the recording can be trusted.

    The answer fits on one screen; --show adds details, -o and --json give everything. PATH is anything a profiler
    wrote: a file, a .gz, .zst or .zip of one, the folder of a run, or a bundle. Several paths are reported one after
    another; files of the same process count as one recording.
    """

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "paths",
            metavar="PATH",
            nargs="+",
            type=named_path,
            help="recording, folder of one run, or bundle",
        )
        parser.add_argument(
            "-o",
            "--output",
            metavar="DIR",
            type=new_folder,
            help="also write profile, roofline, dag and analysis.json",
        )
        parser.add_argument(
            "--show",
            metavar="SECTION,...",
            help="show these sections in full instead, or all (a wrong name lists them); "
            "`kernel NAME` shows what limits one kernel, of which a part of the name is enough",
        )
        parser.add_argument(
            "--explain", action="store_true", help="say below each table of --show how its numbers are made"
        )
        parser.add_argument(
            "--sort",
            choices=("self", "total", "host", "calls", "flops", "bytes"),
            help="operators as one list, by GPU time of their own or of all inside, host time, calls or work",
        )
        parser.add_argument(
            "--top",
            metavar="N",
            type=positive,
            default=None,
            help="rows in each list (default 10, in sections 20)",
        )
        parser.add_argument(
            "--by",
            choices=("full", "short"),
            default="full",
            help="group kernels by full or by short name",
        )
        parser.add_argument(
            "--link-bandwidth",
            metavar="GB/S",
            type=rate,
            help="what each GPU can send to the others, in one direction (default: its links within a machine)",
        )
        parser.add_argument("--full-names", action="store_true", help="do not shorten kernel names")
        parser.add_argument(
            "--each", action="store_true", help="report on every run of a folder that holds several"
        )
        parser.add_argument("--as-one", action="store_true", help="treat all files of a folder as one run")
        add_captures(parser)
        add_window(parser)
        add_ceilings(parser)
        add_gpu(parser)
        add_code(parser)
        _add_large_recordings(parser)
        add_cluster(parser)
        parser.add_argument("--force", action="store_true", help="replace files in DIR")
        parser.add_argument("--json", action="store_true", help="print everything as JSON")
        add_no_color(parser)
        if isinstance(parser, Parser):
            parser.rewritten = _with_kernel_named

    def run(self, args: argparse.Namespace) -> int:
        names = _sections(args.show, args.sort)
        if args.explain and not names:
            raise UsageError(
                "--explain is about the tables of sections",
                next_step="Name some with --show, or all of them.",
            )
        answers, errors = _on_cluster(args) if args.cluster else _here(args)
        documents = [asked_with(answer, args) for answer in answers]
        if args.output:
            empty = {label for label, error in errors if isinstance(error, EmptyCaptureError)}
            _write([one for one in documents if one.label not in empty], args.output, args.force)
        first = [] if args.json else [error for _, error in errors if isinstance(error, EmptyCaptureError)]
        for error in first:
            say(str(error))
        if args.json:
            _print_json(documents, errors)
        else:
            _print(documents, names, args)
        for _, other in errors:
            if other not in first:
                say(str(other))
        return errors[0][1].exit_code if errors else 0


def _add_large_recordings(parser: argparse.ArgumentParser) -> None:
    """Add the options of recordings that take much memory, or long."""
    parser.add_argument(
        "--memory",
        metavar="SIZE",
        type=size,
        help="the memory to get by with: 6G, 500M (default: 80 %% of what is available)",
    )
    parser.add_argument(
        "--in-parts",
        action="store_true",
        help="analyse a recording that does not fit into memory part by part, and add the parts up",
    )
    parser.add_argument(
        "--fresh",
        action="store_true",
        help="analyse again what was analysed before (answers that took seconds are kept)",
    )


def _on_cluster(args: argparse.Namespace) -> tuple[list[Document], list[Failure]]:
    """What the ranks of the one job say together, and why that is not all of them."""
    from rocm_perf.fleet.cluster.analyse import analyse_on_cluster

    if args.code:
        raise UsageError("--code and --cluster exclude each other", next_step="Leave one of them out.")
    request = cluster_request(args)
    with count_progress("ranks") as progress:
        document, cut_short = analyse_on_cluster(
            args.paths[0], request, grouping=args.by, progress=progress, say=say_beside_progress
        )
    return [document], [(document.label, cut_short)] if cut_short else []


def _here(args: argparse.Namespace) -> tuple[list[Document], list[Failure]]:
    """What is said of each recording, or of a window of the one, by this process."""
    from rocm_perf.ingest.helpers import reading_helpers

    with reading_helpers(later=_read_later(args)):
        load_libraries()
        from rocm_perf.cli.recording_size import windows_of

        windows = windows_of(args)
        return _of_windows(args, windows) if windows else _of_recordings(args)


def _read_later(args: argparse.Namespace) -> list[Path]:
    """The files that are read after others, by helpers if there are any, which begin with the last. The one recording
    comes behind its captures: it is mostly the largest file, and this process has the analyses to import."""
    is_read_whole = not args.in_parts and isinstance(args.window, str)
    if args.captures and len(args.paths) == 1 and is_read_whole:
        return [*args.captures, *args.paths]
    return [*args.paths[1:], *args.captures]


def _of_recordings(args: argparse.Namespace) -> tuple[list[Document], list[Failure]]:
    """What is said of each recording, and why some could not be read; of a single one perhaps from before."""
    from rocm_perf.bench.ceilings.store import chosen
    from rocm_perf.ingest.io.source import consulting

    machines = chosen(args.ceilings)
    if len(args.paths) > 1 or args.each or args.fresh or args.code:
        return _analysed(args, machines)
    wish = Wish(
        grouping=args.by,
        window=args.window,
        range_name=args.range,
        step_kind=args.step_kind,
        as_one=args.as_one,
        captures=tuple(args.captures),
        link_gbps=args.link_bandwidth,
        gpu=args.gpu,
    )
    question = question_of(args.paths[0], machines, wish)
    document = kept(question)
    if document is not None:
        say("this is what was found in the same files before; --fresh looks again")
        return [document], []
    begun = monotonic()
    with consulting() as consulted:
        documents, errors = _analysed(args, machines)
    if not errors and monotonic() - begun >= WORTH_KEEPING_S:
        keep(question, documents[0], consulted)
    return documents, errors


def _analysed(args: argparse.Namespace, machines: Machines) -> tuple[list[Document], list[Failure]]:
    from rocm_perf.analysis.overview import examine, formulas, overview

    formulas()  # imports every analysis, while helpers read
    with reading():
        loaded = _load(args)
    analyse = overview if args.window == "all" else examine
    documents = [
        analyse(
            chosen_part(with_code(named(run.trace, args), args), args),
            run.label,
            args.by,
            machines=machines,
            link_gbps=args.link_bandwidth,
        )
        for run in loaded
        if run.trace
    ]
    return documents, [(run.label, run.error) for run in loaded if run.error]


def _of_windows(args: argparse.Namespace, windows: list[TimeWindow]) -> tuple[list[Document], list[Failure]]:
    """What is said of a window of the one recording, or of all of it in parts."""
    from rocm_perf import api

    (path,) = args.paths
    options = {
        "grouping": args.by,
        "reading": api.Reading(args.as_one, args.captures),
        "ceilings": args.ceilings,
        "gpu": args.gpu,
    }
    if args.code:
        raise UsageError(
            "--code is for recordings that are analysed whole", next_step="Leave it out, or the window."
        )
    if args.link_bandwidth is not None:
        raise UsageError(
            "--link-bandwidth is for recordings that are analysed whole",
            next_step="Leave it out, or the window.",
        )
    with reading():
        if args.in_parts:
            return [api.analyze_in_parts(path, windows, **options)], []
        return [api.analyze_window(path, windows[0], **options)], []


def _load(args: argparse.Namespace) -> list[Loaded]:
    from rocm_perf.ingest import load

    first: Path = args.paths[0]
    if len(args.paths) == 1 and not args.each:
        try:
            trace = load.load(first, as_one=args.as_one, captures=args.captures)
            return [load.Loaded(str(first), trace)]
        except EmptyCaptureError as error:
            return [load.empty(first, error)]
    return load.load_files(args.paths, args.captures)


def _print_json(documents: list[Document], errors: list[Failure]) -> None:
    from rocm_perf.render import json

    show_json(json.documents(documents, errors))


def _print(documents: list[Document], names: list[str], args: argparse.Namespace) -> None:
    from rocm_perf.cli.console import result_console
    from rocm_perf.render.screen.drawn import bars_of, characters_of
    from rocm_perf.render.screen.terminal import View, print_document, print_sections

    _require_kernels(documents, names)
    console = result_console(no_color=args.no_color)
    view = View(
        top=args.top,
        full_names=args.full_names,
        brief=len(documents) > 1,
        operators_by=args.sort,
        width=console.width,
        characters=characters_of(console),
        bars=bars_of(console),
        explain=args.explain,
    )
    for number, document in enumerate(documents):
        if number:
            console.print()
        if names:
            print_sections(document, names, console, view)
        else:
            print_document(document, console, view)


def _write(documents: list[Document], folder: Path, force: bool) -> None:
    from rocm_perf.render.report.files import write_documents

    write_documents(documents, folder, overwrite=force)


def _sections(text: str | None, sort: str | None) -> list[str]:
    """The sections that `--show` names, or that of the operators where `--sort` orders them; none for the first
    screen."""
    if text is None:
        return ["operators"] if sort else []
    from rocm_perf.render.sections.index import chosen, names_in

    names = chosen(names_in(text))
    if sort and "operators" not in names:
        raise UsageError(
            "--sort is for operators", f"--show {text} does not show them", "Add operators to it."
        )
    return names


def _with_kernel_named(words: list[str]) -> list[str]:
    """Return the arguments with "--show kernel NAME" written as "--show kernel:NAME". What follows is the recording
    where none was named before, and the next word is none."""
    for place, word in enumerate(words):
        list_at = place + 1 if word == "--show" else place
        is_list = list_at < len(words) and (list_at > place or word.startswith("--show="))
        if not is_list or words[list_at].removeprefix("--show=").split(",")[-1] != "kernel":
            continue
        rest = words[list_at + 1 :]
        if rest and _names_kernel(rest, words[:place]):
            return [*words[:list_at], f"{words[list_at]}:{rest[0]}", *rest[1:]]
    return words


def _names_kernel(rest: Sequence[str], before: Sequence[str]) -> bool:
    """Whether the first of these words is the name of a kernel rather than an option or a recording."""
    if rest[0].startswith("-"):
        return False
    has_recording = any(Path(word).exists() for word in (*before, *rest[1:2]) if not word.startswith("-"))
    return has_recording or not Path(rest[0]).exists()


def _require_kernels(documents: Sequence[Document], names: Sequence[str]) -> None:
    """Refuse the name of a kernel that no recording has."""
    from rocm_perf.render.sections.index import kernel_name
    from rocm_perf.render.sections.limits import named, no_such_kernel

    for name in names:
        kernel = kernel_name(name)
        if kernel is not None and documents and not any(named(document, kernel) for document in documents):
            raise UsageError(no_such_kernel(documents[0], kernel), next_step="--show kernels lists them all.")
