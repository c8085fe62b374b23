"""`rocm-perf compare`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING

from rocm_perf.cli.arguments import add_captures, add_no_color, named_path, positive, read_separator_as
from rocm_perf.cli.checks import add_checks, exit_code_of, expressions_of, write_junit
from rocm_perf.cli.judged import add_gpu, add_step_kind, named, steps_of
from rocm_perf.cli.lean import load_libraries
from rocm_perf.cli.output import say, show, show_json
from rocm_perf.cli.reading import reading
from rocm_perf.errors import InputError, RocmPerfError, UsageError
from rocm_perf.units import format_bytes

if TYPE_CHECKING:
    from rocm_perf.analysis.compare.runs import Recording
    from rocm_perf.ingest.load import Loaded
    from rocm_perf.model.results.comparison import Comparison
    from rocm_perf.model.results.scorecard import Accuracy
    from rocm_perf.model.step_kinds import StepKind

    Sides = tuple[list[Recording], list[Recording]]


_MOST_ACCURACY = 1 << 28  # bytes: `ab` keeps every sample


class CompareCommand:
    """What changed between two programs, from one recording of each or, better, from several.

    compare BASE NEW takes two recordings, or two folders with the runs of a side each. compare A1 A2 A3 -- B1 B2 B3
    names the runs of both sides. They are anything that `analyze` takes, in the same or different formats. Differences
    are NEW - BASE. With several runs a side, every difference has an interval over the runs; with one run each, none.
    """

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        parser.usage = "rocm-perf compare BASE [BASE ...] [--] NEW [NEW ...] [options]"
        read_separator_as("--against", parser)
        add = parser.add_argument
        add("paths", metavar="BASE", nargs="+", type=named_path, help="recordings before the change")
        add(
            "--against",
            metavar="NEW",
            nargs="+",
            type=named_path,
            default=[],
            help="recordings after it; -- is short for --against, and two paths need neither",
        )
        add(
            "--show",
            metavar="SECTION,...",
            default="",
            help="show these sections instead, such as scorecard, or all (a wrong name lists them)",
        )
        add(
            "--accuracy",
            metavar="AB.json",
            type=named_path,
            help="what `ab --json` said of the outputs of both sides, for the scorecard",
        )
        add("--top", metavar="N", type=positive, default=10, help="kernels to show (default 10)")
        add(
            "--window",
            choices=("steady", "all"),
            default="steady",
            help="a step of the steady state, if all runs have steps (the default), or all of every run",
        )
        add_step_kind(parser)
        add("--as-one", action="store_true", help="treat all files of a folder as one run")
        add_captures(parser)
        add_gpu(parser)
        add("--markdown", action="store_true", help="print Markdown, for a pull request")
        add(
            "-o",
            "--output",
            metavar="F",
            type=named_path,
            help="also write it to a file: .html, a page for any browser, or .md",
        )
        add_checks(
            parser,
            "wall>3%",
            "wall>3% and +50us",
            "kernel:gemm*.median>5%",
            "operator:aten::mm*.total>5%",
            "module:*Attention.total>5%",
            "kernels>+10",
            "memory>5%",
            "findings>0",
        )
        add_no_color(parser)
        add("--json", action="store_true", help="print everything as JSON")

    def run(self, args: argparse.Namespace) -> int:
        load_libraries()
        from msgspec.structs import replace

        from rocm_perf.analysis.compare.gates.recordings import judge, require_known
        from rocm_perf.analysis.compare.populations import compare
        from rocm_perf.cli.recording_size import require_room
        from rocm_perf.ingest.helpers import expect_files
        from rocm_perf.render.sections.comparison import require_sections

        expressions = expressions_of(args)
        require_known(expressions)
        _require_known(args.output)
        require_sections(_shown(args))
        accuracy = _accuracy(args.accuracy) if args.accuracy else None
        base, new = _sides(args)
        require_room([*base, *new, *args.captures])
        with reading():
            expect_files([*base[1:], *new])
            loaded = [_load(paths, as_one=args.as_one, captures=args.captures) for paths in (base, new)]
        before, after = _both([_named(side, args) for side in loaded], args.step_kind)
        comparison = compare(
            before, after, side_labels(base, new), whole=args.window == "all", accuracy=accuracy
        )
        if args.as_one and (doubt := _doubt_on_joined((*base, *new))):
            comparison = replace(comparison, wall_doubt=doubt, notes=(doubt, *comparison.notes))
        comparison = replace(comparison, checks=judge(comparison, expressions))
        _print(comparison, args)
        if args.output:
            _write(comparison, (before, after), args)
        write_junit(comparison.checks, args, suite="rocm-perf compare")
        errors = [run.error for side in loaded for run in side if run.error]
        for error in errors:
            say(str(error))
        return exit_code_of(comparison.checks) or (errors[0].exit_code if errors else 0)


def _sides(args: argparse.Namespace) -> tuple[list[Path], list[Path]]:
    """The paths of both sides: parted by `--`, or two of them."""
    if args.against:
        return args.paths, args.against
    if len(args.paths) == 2:
        return args.paths[:1], args.paths[1:]
    raise UsageError(
        f"compare needs BASE and NEW, and got {len(args.paths)} path{'s' if len(args.paths) > 1 else ''}",
        "with more than two it cannot tell which belong together" if len(args.paths) > 2 else "",
        "Put -- between the two sides: rocm-perf compare A1 A2 -- B1 B2.",
    )


def _load(paths: Sequence[Path], *, as_one: bool, captures: Sequence[Path]) -> list[Loaded]:
    """Every run at the paths of a side, each path for itself. One that cannot be read does not keep the others from it,
    unless there are none."""
    from rocm_perf.ingest.load import Loaded, load_path

    runs: list[Loaded] = []
    for path in paths:
        try:
            runs += load_path(path, as_one=as_one, captures=captures)
        except RocmPerfError as error:
            runs.append(Loaded(str(path), error=error))
    if not any(run.trace for run in runs):
        raise next(run.error for run in runs if run.error)
    return runs


def _both(sides: Sequence[Sequence[Loaded]], kind: StepKind | None) -> list[list[Recording]]:
    """The recordings of both sides; raises with the names of the sides that have no steps of the kind."""
    found: list[list[Recording]] = []
    lacking: dict[str, UsageError] = {}
    for name, side in zip(("BASE", "NEW"), sides, strict=True):
        try:
            found.append(_recordings(side, kind))
        except UsageError as error:
            lacking[f"{name} ({', '.join(run.label for run in side if run.trace)})"] = error
    if lacking:
        first = next(iter(lacking.values()))
        raise UsageError(f"{' and '.join(lacking)}: {first.what}", first.why, first.next_step)
    return found


def _recordings(runs: Sequence[Loaded], kind: StepKind | None) -> list[Recording]:
    from rocm_perf.api import recordings_of

    return [
        recording
        for run in runs
        if run.trace
        for recording in recordings_of(steps_of(run.trace, kind), run.label)
    ]


def _named(runs: Sequence[Loaded], args: argparse.Namespace) -> list[Loaded]:
    """The runs of a side as those of the GPU that the user named, where they do not name their own."""
    from msgspec.structs import replace

    return [replace(run, trace=named(run.trace, args)) if run.trace else run for run in runs]


def side_labels(base: Sequence[Path], new: Sequence[Path]) -> tuple[str, str]:
    """What the sides are called: by the names of their files, as far as the runs of a side share them, or of their
    folders; whole paths, or before and after, where these do not tell them apart."""
    alone = len(base) == len(new) == 1
    for name in (_name,) if alone else (_stem, _folder):
        one, other = name(base), name(new)
        if one and other and one != other:
            return one, other
    return (str(base[0]), str(new[0])) if alone else ("before", "after")


def _name(paths: Sequence[Path]) -> str:
    return paths[0].name


def _stem(paths: Sequence[Path]) -> str:
    """What the names begin with, but for the numbers of the runs."""
    letters = takewhile(
        lambda column: len(set(column)) == 1, zip(*(path.name for path in paths), strict=False)
    )
    return "".join(column[0] for column in letters).rstrip("0123456789._-")


def _folder(paths: Sequence[Path]) -> str:
    folders = {path.parent.name for path in paths}
    return folders.pop() if len(folders) == 1 else ""


def _require_known(output: Path | None) -> None:
    if output and output.suffix not in (".html", ".md"):
        raise UsageError(
            f"cannot write {output}", next_step="A comparison is written as an .html or .md file."
        )


def _shown(args: argparse.Namespace) -> list[str]:
    """The sections of `--show`."""
    return [name.strip() for name in args.show.split(",") if name.strip()]


def _accuracy(path: Path) -> Accuracy:
    """Read what `ab --json` wrote."""
    import msgspec

    from rocm_perf.model.results.scorecard import Accuracy

    try:
        with path.open("rb") as file:
            content = file.read(_MOST_ACCURACY + 1)
    except OSError as error:
        raise InputError(f"cannot read {path}", error.strerror or str(error)) from error
    try:
        if len(content) > _MOST_ACCURACY:
            raise msgspec.DecodeError(f"it is larger than {format_bytes(_MOST_ACCURACY)}")
        return msgspec.json.decode(content, type=Accuracy)
    except (msgspec.DecodeError, RecursionError) as error:
        raise InputError(
            f"{path} is not what `ab` says",
            str(error),
            "Write it with `rocm-perf ab BASE NEW --inputs F --json`.",
        ) from error


def _doubt_on_joined(paths: Sequence[Path]) -> str | None:
    """What --as-one did where a path holds several runs."""
    from rocm_perf.ingest.load import load_path

    joined = [str(path) for path in paths if sum(run.trace is not None for run in load_path(path)) > 1]
    if not joined:
        return None
    return (
        f"--as-one made one run of the several in {' and in '.join(joined)}: the pauses between them count as its "
        "time. Without it they are compared as repeats"
    )


def _print(comparison: Comparison, args: argparse.Namespace) -> None:
    if args.json:
        from rocm_perf.render import json

        show_json(json.encode(comparison))
    elif args.markdown:
        show(_markdown(comparison, args).rstrip("\n"))
    else:
        from rocm_perf.cli.console import result_console
        from rocm_perf.render.screen.comparison import print_comparison

        print_comparison(comparison, result_console(no_color=args.no_color), args.top, _shown(args))


def _write(comparison: Comparison, sides: Sides, args: argparse.Namespace) -> None:
    from rocm_perf.files import write_whole

    text = _page(comparison, sides) if args.output.suffix == ".html" else _markdown(comparison, args)
    write_whole(args.output, lambda draft: draft.write_text(text, encoding="utf-8"), overwrite=args.force)
    say(f"wrote {args.output}")


def _page(comparison: Comparison, sides: Sides) -> str:
    """The comparison as a page, with the timelines of the middle run of each side."""
    from rocm_perf.analysis.overview import examine
    from rocm_perf.analysis.timeline.build import timeline
    from rocm_perf.render.page.comparison import comparison_page

    middles = sides[0][comparison.base.middle], sides[1][comparison.new.middle]
    return comparison_page(
        comparison, [timeline(run.trace, examine(run.trace, run.label)) for run in middles]
    )


def _markdown(comparison: Comparison, args: argparse.Namespace) -> str:
    from rocm_perf.render.report.comparison import comparison_markdown

    return comparison_markdown(comparison, args.top, _shown(args))
