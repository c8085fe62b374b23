"""`rocm-perf optimize`."""

from __future__ import annotations

import argparse
import math
import shlex
import sys
from typing import TYPE_CHECKING

from rocm_perf.cli.arguments import add_no_color, named_path, positive, seconds, share
from rocm_perf.cli.output import say, show_json
from rocm_perf.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from rocm_perf.model.results.optimize import Attempt, Optimization
    from rocm_perf.optimize.request import Checked, Request

_FILE, _FLOPS = "file:", "flops="


class OptimizeCommand:
    """Make a kernel faster, and prove it: candidates are proposed, guarded, verified in replay and measured.

    SOURCE is a .cpp, .hip or .cu file, or a program whose source and build command can be found. A candidate is
    accepted only if it gives the captured results and those of the original on inputs that nobody has seen, and is
    faster in fresh processes. Nothing of yours is changed without --apply; --rollback takes that back.
    """

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        add = parser.add_argument
        add("target", metavar="SOURCE", type=named_path, help="source file, or program")
        _add_subject(parser)
        _add_search(parser)
        add(
            "--apply",
            action="store_true",
            help="write the accepted change over the source; the original is kept",
        )
        add("--rollback", action="store_true", help="restore what --apply replaced, and stop")
        add("--dry-run", action="store_true", help="say what would be built, run and tried, and stop")
        add("-o", "--output", metavar="F.html", type=named_path, help="also write a page for any browser")
        add_no_color(parser)
        add("--json", action="store_true", help="print everything as JSON")

    def run(self, args: argparse.Namespace) -> int:
        request = _request(args)
        if args.rollback:
            return _roll_back(request)
        if args.dry_run:
            return _dry_run(request, as_json=args.json)
        from rocm_perf.optimize.session import optimize

        result = optimize(request, say, _heard, apply=args.apply)
        _print(result, args)
        return 0


def _add_subject(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("what is optimised").add_argument
    add("--source", metavar="FILE", type=named_path, help="the source of a program given as SOURCE")
    add(
        "--build",
        metavar="CMD",
        help="command that builds the program from the source (default: it is looked for)",
    )
    add(
        "--run", metavar="CMD", help="command that runs the program (default: the program, without arguments)"
    )
    add("--kernel", metavar="NAME", help="kernel to change (default: the one with the most to gain)")
    add("--arch", metavar="GFX", help="chip to build for, such as gfx942 (default: the one here)")
    add("--profile", metavar="BUNDLE", type=named_path, help="recording of the program (default: made now)")
    add(
        "--verify",
        metavar="RULE",
        action="append",
        default=[],
        help="TYPE=ABS,REL: how far f16, bf16, f32 or f64 results may be off (default: not at all); "
        "file:PATH: compare a file that the program writes; flops=N: FLOPs that any right kernel needs for the largest "
        "launch, so that what is faster than the GPU computes them is refused",
    )


def _add_search(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("how").add_argument
    add("--budget", metavar="S", type=seconds, default=600.0, help="seconds to search (default 600)")
    add("--attempts", metavar="N", type=positive, default=60, help="candidates to try at most (default 60)")
    add("--min-gain", metavar="P", type=share, default=0.01, help="least gain that counts (default 1%%)")
    add("--allow-fast-math", action="store_true", help="also try arithmetic that rounds otherwise")
    add("--proposer", metavar="CMD", help="program that proposes patches (docs/proposers.md)")
    add("--patches", metavar="PATH", type=named_path, action="append", default=[], help="patches to try, too")
    add("--only-proposed", action="store_true", help="try nothing but --proposer and --patches")
    add("--static", action="store_true", help="without a GPU: compile and rank; nothing is accepted")
    add(
        "--snapshot",
        metavar="SNAP",
        type=named_path,
        action="append",
        default=[],
        help="with --static: verify candidates on a captured AMD kernel, by emulation",
    )
    add(
        "-d",
        "--directory",
        metavar="DIR",
        type=named_path,
        help="of the ledger (default: below .rocm-perf/optimize)",
    )
    add("--fresh", action="store_true", help="forget earlier attempts instead of going on from them")
    add(
        "--timeout",
        metavar="S",
        type=seconds,
        default=120.0,
        help="end a build or a run after S (default 120)",
    )


def _request(args: argparse.Namespace) -> Request:
    from rocm_perf.optimize.request import Request

    if args.rollback and args.apply:
        raise UsageError("--apply and --rollback exclude each other")
    if args.only_proposed and not (args.proposer or args.patches):
        raise UsageError("--only-proposed needs --proposer or --patches")
    checked = _checked(args.verify)
    if args.allow_fast_math and not args.static and not checked.tolerances:
        raise UsageError(
            "--allow-fast-math needs --verify",
            "results have to be the same bit for bit, unless you say how far they may be off",
            "Add, for example, --verify f32=0,1e-5.",
        )
    if args.snapshot and not args.static:
        raise UsageError("--snapshot needs --static", "with a GPU, dispatches are captured from the program")
    if args.static and args.apply:
        raise UsageError("--static accepts nothing, so there is nothing to apply", "it measures nothing")
    return Request(
        target=args.target,
        source=args.source,
        build=args.build,
        run=_words(args.run),
        kernel=args.kernel,
        arch=args.arch,
        profile=args.profile,
        checked=checked,
        seconds=args.budget,
        attempts=args.attempts,
        least_gain=args.min_gain,
        allow_fast_math=args.allow_fast_math,
        proposer=args.proposer,
        patches=tuple(args.patches),
        only_proposed=args.only_proposed,
        static=args.static,
        snapshots=tuple(args.snapshot),
        folder=args.directory,
        fresh=args.fresh,
        timeout_s=args.timeout,
    )


def _words(command: str | None) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(command or ""))
    except ValueError as error:
        raise UsageError(f"--run {command!r} cannot be read as a command", str(error)) from error


def _checked(rules: list[str]) -> Checked:
    from pathlib import Path

    from rocm_perf.optimize.request import Checked
    from rocm_perf.replay.tolerance import parse_tolerance

    return Checked(
        tolerances=tuple(parse_tolerance(rule) for rule in rules if not rule.startswith((_FILE, _FLOPS))),
        files=tuple(Path(rule.removeprefix(_FILE)) for rule in rules if rule.startswith(_FILE)),
        flops=max((_flops(rule) for rule in rules if rule.startswith(_FLOPS)), default=0.0),
    )


def _flops(rule: str) -> float:
    try:
        count = float(rule.removeprefix(_FLOPS))
    except ValueError:
        count = math.nan
    if not 0 < count < math.inf:
        raise UsageError(
            f"--verify {rule} says no number of FLOPs",
            "it has to be above 0",
            "Write for example flops=1.4e11.",
        )
    return count


def _heard(attempt: Attempt) -> None:
    from rocm_perf.render.screen.optimization import attempt_line

    say(attempt_line(attempt))


def _roll_back(request: Request) -> int:
    from rocm_perf.optimize.session import roll_back

    for source in roll_back(request):
        say(f"{source} is as it was before")
    return 0


def _dry_run(request: Request, *, as_json: bool) -> int:
    from rocm_perf.cli.output import show
    from rocm_perf.optimize.session import planned

    plan = planned(request)
    if as_json:
        from rocm_perf.render import json

        show_json(json.encode(plan))
    else:
        show(*plan.lines())
    return 0


def _print(result: Optimization, args: argparse.Namespace) -> None:
    if args.output:
        _write_page(result, args.output)
    if args.json:
        from rocm_perf.render import json

        show_json(json.encode(result))
        return
    from rocm_perf.cli.console import result_console
    from rocm_perf.render.screen.optimization import print_optimization

    again = shlex.join(["rocm-perf", "optimize", *sys.argv[2:], "--apply"])
    offers_apply = result.conclusion == "improved" and not result.applied
    print_optimization(result, result_console(no_color=args.no_color), again if offers_apply else "")


def _write_page(result: Optimization, path: Path) -> None:
    from rocm_perf.files import write_whole
    from rocm_perf.render.page.optimization import optimization_page

    text = optimization_page(result).encode()
    write_whole(path, lambda draft: draft.write_bytes(text), overwrite=True)
    say(f"wrote {path}")
