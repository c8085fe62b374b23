"""`rocm-perf replay`."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from rocm_perf.cli.arguments import count, positive, seconds
from rocm_perf.errors import UsageError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from rocm_perf.replay.plan import Code, Options
    from rocm_perf.replay.replayer import Replayer
    from rocm_perf.replay.snapshot import Snapshot

Run = Callable[[argparse.Namespace, "Snapshot"], int]
Result = TypeVar("Result")
_TIMEOUT_S = 300.0
_DIFFERENT = 1


class ReplayCommand:
    """Run a captured kernel alone, with its memory at its own addresses.

    info describes a snapshot without a GPU; reserve-check asks whether its addresses can be had here; full-vm times the
    kernel; verify checks that it gives the application's own result; compare times two code objects by turns.
    """

    name = "replay"

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        tasks = parser.add_subparsers(dest="task", metavar="TASK", required=True)
        info = _task(tasks, "info", "describe a snapshot, and check every hash; needs no GPU", _info)
        reserve = _task(
            tasks, "reserve-check", "can every range be had at its address: exit 0, 1 or 2", _reserve
        )
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
        for task in (info, reserve, times, verify, compare):
            task.add_argument("--json", action="store_true", help="everything, as JSON")

    def run(self, args: argparse.Namespace) -> int:
        from rocm_perf.replay.snapshot import read_snapshot

        folder = args.snapshot or args.capture_dir
        if folder is None:
            raise UsageError("no snapshot is named", next_step=f"Write: rocm-perf replay {args.task} SNAP")
        run: Run = args.run_task
        return run(args, read_snapshot(folder))


def _task(
    tasks: argparse._SubParsersAction[argparse.ArgumentParser], name: str, text: str, run: Run
) -> argparse.ArgumentParser:
    task = tasks.add_parser(name, help=text, description=text)
    task.add_argument("snapshot", metavar="SNAP", type=Path, nargs="?", help="folder that capture wrote")
    task.add_argument("--capture-dir", metavar="SNAP", type=Path, help="the same, as guides write it")
    task.set_defaults(run_task=run)
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
        "--hsaco", "--cubin", dest="codes", metavar="FILE", type=Path, action="append", default=[], help=text
    )


def _info(args: argparse.Namespace, snapshot: Snapshot) -> int:
    from rocm_perf.render import replay as words
    from rocm_perf.replay.info import describe

    _show(args, describe(snapshot), words.info_blocks)
    return 0


def _reserve(args: argparse.Namespace, snapshot: Snapshot) -> int:
    from rocm_perf.render import replay as words
    from rocm_perf.replay import native, timing
    from rocm_perf.replay.plan import Options
    from rocm_perf.replay.replayer import work_folder
    from rocm_perf.replay.store import check

    if args.dry_run:
        return _dry_run(snapshot, Options(mode="reserve"))
    runner = native.part(snapshot.dispatch.vendor, "replay")
    check(snapshot)
    with work_folder() as work:
        found = timing.reserve_check(snapshot, runner, work, args.timeout)
    _show(args, found, words.reserve_blocks)
    return timing.EXIT_CODES[found.verdict]


def _full_vm(args: argparse.Namespace, snapshot: Snapshot) -> int:
    from rocm_perf.render import replay as words
    from rocm_perf.replay.timing import time_replay

    if len(args.codes) > 1:
        raise UsageError("full-vm takes one code object", next_step="rocm-perf replay compare takes two.")
    if args.dry_run:
        return _dry_run(snapshot, _timed(args, _unchecked(args.codes)))
    with _prepared(args, snapshot) as (replayer, codes):
        _show(args, time_replay(replayer, _timed(args, codes)), words.timing_blocks)
    return 0


def _verify(args: argparse.Namespace, snapshot: Snapshot) -> int:
    from rocm_perf.render import replay as words
    from rocm_perf.replay.plan import Options
    from rocm_perf.replay.tolerance import parse_tolerance
    from rocm_perf.replay.verify import refused, verify

    if len(args.codes) > 1:
        raise UsageError("verify takes one code object")
    tolerances = tuple(parse_tolerance(text) for text in args.tolerance)
    if args.dry_run:
        return _dry_run(snapshot, Options(dumps=snapshot.saved, codes=_unchecked(args.codes)))
    found = refused(snapshot)
    if found is None:
        with _prepared(args, snapshot) as (replayer, codes):
            found = verify(replayer, tolerances, codes[0] if codes else None)
    _show(args, found, words.verification_blocks)
    return 0 if found.verdict in ("same", "same within tolerance") else _DIFFERENT


def _compare(args: argparse.Namespace, snapshot: Snapshot) -> int:
    from rocm_perf.render import replay as words
    from rocm_perf.replay.plan import CAPTURED, Code
    from rocm_perf.replay.timing import compare_codes, first_again

    if len(args.codes) not in (1, 2):
        raise UsageError(
            "compare takes one or two code objects", next_step="Give them with --hsaco or --cubin."
        )
    names = [str(path) for path in args.codes]
    labels = (CAPTURED, names[0]) if len(names) == 1 else (names[0], names[1])
    own = () if len(names) == 2 else (Code(CAPTURED, snapshot.path(snapshot.dispatch.code_object)),)
    if args.dry_run:
        return _dry_run(snapshot, first_again(_timed(args, (*own, *_unchecked(args.codes)))))
    with _prepared(args, snapshot) as (replayer, codes):
        _show(args, compare_codes(replayer, _timed(args, (*own, *codes)), labels), words.comparison_blocks)
    return 0


@contextmanager
def _prepared(args: argparse.Namespace, snapshot: Snapshot) -> Iterator[tuple[Replayer, tuple[Code, ...]]]:
    """The snapshot unpacked, and the user's code objects looked at before anything runs."""
    from rocm_perf.replay.code import code_of
    from rocm_perf.replay.replayer import ready, work_folder

    with work_folder() as images:
        codes = tuple(code_of(path, _label(place), snapshot, images) for place, path in enumerate(args.codes))
        with ready(snapshot, args.timeout) as replayer:
            yield replayer, codes


def _timed(args: argparse.Namespace, codes: tuple[Code, ...]) -> Options:
    from rocm_perf.replay.plan import Options

    return Options(
        codes=codes,
        iterations=args.iterations,
        warmup=args.warmup,
        recopy=not args.no_recopy,
        cold_cache=args.cold_cache,
    )


def _unchecked(paths: list[Path]) -> tuple[Code, ...]:
    from rocm_perf.replay.plan import Code

    return tuple(Code(_label(place), path) for place, path in enumerate(paths))


def _label(place: int) -> str:
    return "AB"[place] if place < 2 else str(place)


def _dry_run(snapshot: Snapshot, options: Options) -> int:
    from rocm_perf.replay.plan import plan_text

    files = {name: snapshot.path(name) for name in snapshot.manifest.files}
    print(plan_text(snapshot, files, Path("WORK"), options), end="")
    return 0


def _show(
    args: argparse.Namespace, result: Result, blocks: Callable[[Result, int], Iterable[RenderableType]]
) -> None:
    if args.json:
        from rocm_perf.render import json

        print(json.encode(result))
        return
    from rich.console import Console

    from rocm_perf.render.replay import print_blocks

    console = Console(highlight=False)
    print_blocks(blocks(result, console.width), console)
