"""`rocm-perf replay`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, TypeVar

from rocm_perf.cli.arguments import count, named_path, positive, seconds
from rocm_perf.cli.output import forget, say, show, show_json
from rocm_perf.cli.progress import step_progress
from rocm_perf.errors import UsageError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from rocm_perf.replay.plan import Code, Options
    from rocm_perf.replay.replayer import Replayer
    from rocm_perf.replay.snapshot import Snapshot

Run = Callable[[argparse.Namespace, "Snapshot"], int]
# From the user's code objects, and the files.
Wanted = Callable[[tuple["Code", ...], Mapping[str, Path]], "Options"]
Result = TypeVar("Result")
_TIMEOUT_S = 300.0
_DIFFERENT = 1
_WRONG_USAGE = UsageError.exit_code
_WRONG_USAGE_OF_RESERVE = 3  # its 2 is an answer: relocated
_WORK = Path("WORK")  # stands for the temporary folder in a plan that is only printed


class _TaskParser(argparse.ArgumentParser):
    """A parser whose exit code for wrong usage can be chosen. It also refuses, itself, what it does not know."""

    usage_status = _WRONG_USAGE

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(self.usage_status, f"{self.prog}: error: {message}\n")

    def parse_known_args(  # type: ignore[override]  # one of its overloads is used
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        known, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return known, unknown


class ReplayCommand:
    """Run a captured kernel alone, with its memory at its own addresses.

    info describes a snapshot without a GPU; reserve-check asks whether its addresses can be had here; full-vm times the
    kernel; verify checks that it gives the application's own result; compare times two code objects by turns.
    """

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        tasks = parser.add_subparsers(dest="task", metavar="TASK", required=True, parser_class=_TaskParser)
        info = _task(tasks, "info", "describe a snapshot, and check every hash; needs no GPU", _info)
        reserve = _task(
            tasks, "reserve-check", "can every range be had at its address: exit 0, 1 or 2", _reserve
        )
        reserve.usage_status = _WRONG_USAGE_OF_RESERVE
        times = _task(tasks, "full-vm", "time the kernel by device timestamps", _full_vm)
        verify = _task(tasks, "verify", "does a replay give the application's result", _verify)
        compare = _task(tasks, "compare", "time two code objects by turns", _compare)
        for task in (reserve, times, verify, compare):
            task.add_argument(
                "--timeout",
                metavar="S",
                type=seconds,
                default=_TIMEOUT_S,
                help="end a replay after S (default 300)",
            )
            task.add_argument("--dry-run", action="store_true", help="print the runner's plan, and stop")
        _add_timing(times, iterations=20)
        _add_timing(compare, iterations=100)
        _add_code(times, "run this code object instead")
        _add_code(verify, "compare this code object's result with the application's")
        _add_code(compare, "code object, given twice: A, then B; given once: B, against the captured one")
        verify.add_argument(
            "--tolerance",
            metavar="TYPE=ABS,REL",
            action="append",
            default=[],
            help="how far f16, bf16, f32 or f64 values may be off (default, where replays differ: f32=0,1e-5)",
        )
        for task, text in (
            (times, "refused: emulation has no times"),
            (verify, "execute the kernel on the CPU instead of a GPU (AMD)"),
            (compare, "no times: do both leave the same memory, executed on the CPU (AMD)"),
        ):
            task.add_argument("--emulate", action="store_true", help=text)
        for task in (info, reserve, times, verify, compare):
            task.add_argument("--json", action="store_true", help="everything, as JSON")

    def run(self, args: argparse.Namespace) -> int:
        from rocm_perf.replay.load import read_snapshot

        run: Run = args.run_task
        try:
            return run(args, read_snapshot(args.snapshot or args.capture_dir or _nearby()))
        except UsageError as error:
            error.exit_code = args.parser.usage_status
            raise


def _nearby() -> Path:
    from rocm_perf.replay.nearby import nearby_snapshot

    folder = nearby_snapshot(Path())
    say(f"no snapshot is named, so this is of {folder}")
    return folder


def _task(tasks: argparse._SubParsersAction[_TaskParser], name: str, text: str, run: Run) -> _TaskParser:
    task = tasks.add_parser(name, help=text, description=text)
    task.add_argument(
        "snapshot",
        metavar="SNAP",
        type=named_path,
        nargs="?",
        help="folder that capture wrote (default: isolate_capture, or the only snapshot here)",
    )
    task.add_argument("--capture-dir", metavar="SNAP", type=named_path, help="the same, as guides write it")
    task.set_defaults(run_task=run, parser=task)
    return task


def _add_timing(task: argparse.ArgumentParser, iterations: int) -> None:
    task.add_argument(
        "--iterations",
        metavar="N",
        type=positive,
        default=iterations,
        help=f"launches to time (default {iterations})",
    )
    task.add_argument(
        "--warmup", metavar="N", type=count, default=3, help="launches before those (default 3)"
    )
    task.add_argument("--no-recopy", action="store_true", help="restore memory once, not before each launch")
    task.add_argument("--cold-cache", action="store_true", help="empty the caches before each launch")


def _add_code(task: argparse.ArgumentParser, text: str) -> None:
    task.add_argument(
        "--hsaco",
        "--cubin",
        dest="codes",
        metavar="FILE",
        type=named_path,
        action="append",
        default=[],
        help=text,
    )


def _info(args: argparse.Namespace, snapshot: Snapshot) -> int:
    from rocm_perf.render.screen import replay as screen
    from rocm_perf.replay.info import describe
    from rocm_perf.replay.replayer import reading_text

    with step_progress() as say:
        say(reading_text(snapshot))
        info = describe(snapshot)
    _show(args, info, screen.info_blocks)
    return 0


def _reserve(args: argparse.Namespace, snapshot: Snapshot) -> int:
    from rocm_perf.render.screen import replay as screen
    from rocm_perf.replay import native, timing
    from rocm_perf.replay.plan import Options
    from rocm_perf.replay.replayer import reading_text, work_folder
    from rocm_perf.replay.store import check

    if args.dry_run:
        return _print_plan(args, snapshot, Options(mode="reserve"))
    runner = native.part(snapshot.dispatch.vendor, "replay")
    with work_folder() as work, step_progress() as say:
        say(reading_text(snapshot))
        check(snapshot)
        answer = timing.reserve_check(snapshot, runner, work, args.timeout)
    _show(args, answer, screen.reserve_blocks)
    return timing.EXIT_CODES[answer.verdict]


def _full_vm(args: argparse.Namespace, snapshot: Snapshot) -> int:
    from rocm_perf.render.screen import replay as screen
    from rocm_perf.replay.timing import time_replay

    if args.emulate:
        raise UsageError(
            "full-vm cannot emulate", "emulation has no times", "verify and compare can, and so does count."
        )
    if len(args.codes) > 1:
        raise UsageError("full-vm takes one code object", next_step="rocm-perf replay compare takes two.")
    if args.dry_run:
        return _dry_run(args, snapshot, "A", lambda codes, _: _timed(args, codes))
    with _prepared(args, snapshot, "A") as (replayer, codes):
        timing = time_replay(replayer, _timed(args, codes))
    _show(args, timing, screen.timing_blocks)
    return 0


def _verify(args: argparse.Namespace, snapshot: Snapshot) -> int:
    from rocm_perf.render.screen import replay as screen
    from rocm_perf.replay.plan import Options
    from rocm_perf.replay.tolerance import parse_tolerance
    from rocm_perf.replay.verify import refused, verify

    if len(args.codes) > 1:
        raise UsageError("verify takes one code object")
    tolerances = tuple(parse_tolerance(text) for text in args.tolerance)
    verification = refused(snapshot)
    if args.emulate and args.dry_run:
        raise UsageError("--dry-run prints the plan of a GPU's runner", "an emulation has another")
    if verification is None and args.dry_run:
        return _dry_run(args, snapshot, "A", lambda codes, _: Options(dumps=snapshot.saved, codes=codes))
    if verification is None:
        with _prepared(args, snapshot, "A") as (replayer, codes):
            verification = verify(replayer, tolerances, codes[0] if codes else None)
    _show(args, verification, screen.verification_blocks)
    return 0 if verification.verdict in ("same", "same within tolerance") else _DIFFERENT


def _compare(args: argparse.Namespace, snapshot: Snapshot) -> int:
    from rocm_perf.render.screen import replay as screen
    from rocm_perf.replay.plan import CAPTURED, Code
    from rocm_perf.replay.timing import compare_codes, first_again

    if len(args.codes) not in (1, 2):
        raise UsageError(
            "compare takes one or two code objects", next_step="Give them with --hsaco or --cubin."
        )
    if args.emulate:
        return _compare_results(args, snapshot)
    against_captured = len(args.codes) == 1

    def wanted(codes: tuple[Code, ...], files: Mapping[str, Path]) -> Options:
        own = (Code("A", files[snapshot.dispatch.code_object]),) if against_captured else ()
        return _timed(args, (*own, *codes))

    letters = "B" if against_captured else "AB"
    if args.dry_run:
        return _dry_run(args, snapshot, letters, lambda *given: first_again(wanted(*given)))
    names = [*([CAPTURED] if against_captured else []), *map(str, args.codes)]
    with _prepared(args, snapshot, letters) as (replayer, codes):
        comparison = compare_codes(replayer, wanted(codes, replayer.files), (names[0], names[1]))
    _show(args, comparison, screen.comparison_blocks)
    return 0


def _compare_results(args: argparse.Namespace, snapshot: Snapshot) -> int:
    """Whether two code objects leave the same memory, without times."""
    from rocm_perf.render.screen import replay as screen
    from rocm_perf.replay.alike import compare_results
    from rocm_perf.replay.plan import Code

    if args.dry_run:
        raise UsageError("--dry-run prints the plan of a GPU's runner", "an emulation has another")
    with _prepared(args, snapshot, "B" if len(args.codes) == 1 else "AB") as (replayer, codes):
        base = codes[0] if len(codes) > 1 else Code("A", replayer.files[snapshot.dispatch.code_object])
        verification = compare_results(replayer, base, codes[-1])
    _show(args, verification, screen.verification_blocks)
    return 0 if verification.verdict in ("same", "same within tolerance") else _DIFFERENT


@contextmanager
def _prepared(
    args: argparse.Namespace, snapshot: Snapshot, letters: str
) -> Iterator[tuple[Replayer, tuple[Code, ...]]]:
    """Unpack the snapshot, and look at the user's code objects before anything runs."""
    from rocm_perf.replay.replayer import ready, work_folder

    with work_folder() as images, step_progress() as say:
        codes = _codes(args.codes, letters, snapshot, images)
        with ready(snapshot, args.timeout, say, emulate=args.emulate) as replayer:
            yield replayer, codes


def _codes(paths: Sequence[Path], letters: str, snapshot: Snapshot, images: Path) -> tuple[Code, ...]:
    """The user's code objects by their letters, each checked."""
    from rocm_perf.replay.code import code_of

    return tuple(
        code_of(path, letter, snapshot, images) for letter, path in zip(letters, paths, strict=False)
    )


def _timed(args: argparse.Namespace, codes: tuple[Code, ...]) -> Options:
    from rocm_perf.replay.plan import Options

    return Options(
        codes=codes,
        iterations=args.iterations,
        warmup=args.warmup,
        recopy=not args.no_recopy,
        cold_cache=args.cold_cache,
    )


def _dry_run(args: argparse.Namespace, snapshot: Snapshot, letters: str, wanted: Wanted) -> int:
    """Print the plan as the runner would get it. Code objects are looked at, and nothing is unpacked."""
    from rocm_perf.replay.replayer import planned_files, work_folder

    with work_folder() as images:
        unpacked = _codes(args.codes, letters, snapshot, images)
    codes = tuple(
        replace(code, path=_WORK / code.path.name) if code.path.parent == images else code
        for code in unpacked
    )
    return _print_plan(args, snapshot, wanted(codes, planned_files(snapshot, _WORK)))


def _print_plan(args: argparse.Namespace, snapshot: Snapshot, options: Options) -> int:
    from rocm_perf.model.results.replay import SCHEMA_VERSION
    from rocm_perf.replay.plan import plan_text
    from rocm_perf.replay.replayer import planned_files

    text = plan_text(snapshot, planned_files(snapshot, _WORK), _WORK, options)
    if args.json:
        from rocm_perf.render import json

        show_json(json.encode({"schema_version": SCHEMA_VERSION, "plan": text.rstrip("\n").split("\n")}))
    else:
        show(text.rstrip("\n"))
    return 0


def _show(
    args: argparse.Namespace, result: Result, blocks: Callable[[Result, int], Iterable[RenderableType]]
) -> None:
    """Print the result, whether or not somebody reads it to its end: the exit code is part of the answer."""
    from rocm_perf.cli.console import result_console

    try:
        if args.json:
            from rocm_perf.render import json

            show_json(json.encode(result))
            return
        from rocm_perf.render.screen.replay import print_blocks

        console = result_console()
        print_blocks(blocks(result, console.width), console)
    except BrokenPipeError:
        forget(sys.stdout)
