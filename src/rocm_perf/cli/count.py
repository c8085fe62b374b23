"""`rocm-perf count`."""

from __future__ import annotations

import argparse
import re
import shlex
from typing import TYPE_CHECKING

from rocm_perf.cli.arguments import named_path, positive, seconds
from rocm_perf.cli.output import show_json
from rocm_perf.cli.progress import step_progress

if TYPE_CHECKING:
    from rocm_perf.analysis.emulated.build import Observed

_TIMEOUT_S = 300.0
_NS_OF = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}
_TIME = re.compile(r"(?P<value>\d+(?:\.\d+)?(?:e[+-]?\d+)?) ?(?P<unit>ns|us|ms|s)")


class CountCommand:
    """Execute a captured AMD kernel without a GPU, and count what it does.

    Instructions by class, operations by type, bytes and cache lines, LDS bank conflicts, divergence, atomics, scratch;
    from them a roofline with bounds and what to look at first. Nothing is timed: caches and clocks are not emulated.
    """

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("snapshot", metavar="SNAP", type=named_path, help="folder that capture wrote")
        parser.add_argument(
            "--hsaco",
            metavar="FILE",
            type=named_path,
            help="count this code object instead of the captured one",
        )
        parser.add_argument(
            "--workgroups",
            metavar="N|all",
            type=_workgroups,
            default=None,
            help="execute N workgroups, evenly spread, and scale the counts (default: all)",
        )
        parser.add_argument("--by-line", action="store_true", help="the counts of each source line, too")
        parser.add_argument(
            "--time",
            metavar="T",
            type=_time_ns,
            help="what it takes on the GPU (83us), to place it under the roof",
        )
        parser.add_argument("--gpu", metavar="NAME", help="the GPU whose roofs are meant (rocm-perf gpus)")
        parser.add_argument(
            "--ceilings",
            metavar="FILE",
            help="measured ceilings, or none (default: those measured on this machine)",
        )
        parser.add_argument(
            "--timeout", metavar="S", type=seconds, default=_TIMEOUT_S, help="end it after S (default 300)"
        )
        parser.add_argument("--json", action="store_true", help="everything, as JSON")

    def run(self, args: argparse.Namespace) -> int:
        from rocm_perf.analysis.emulated.build import counting
        from rocm_perf.arch.catalog import find_gpu
        from rocm_perf.bench.ceilings.store import chosen

        gpu = find_gpu(args.gpu) if args.gpu else None
        machines = chosen(args.ceilings)
        result = counting(_observed(args), gpu=gpu, machines=machines, time_ns=args.time)
        if args.json:
            from rocm_perf.render import json

            show_json(json.encode(result))
            return 0
        from rocm_perf.cli.console import result_console
        from rocm_perf.render.screen.count import print_count

        code = shlex.quote(str(args.hsaco)) if args.hsaco else "NEW.hsaco"
        verify = f"rocm-perf replay verify {shlex.quote(str(args.snapshot))} --emulate --hsaco {code}"
        print_count(result, result_console(), by_line=args.by_line, next_command=verify)
        return 0


def _observed(args: argparse.Namespace) -> Observed:
    from msgspec.structs import replace

    from rocm_perf.replay.code import code_of
    from rocm_perf.replay.counted import observe
    from rocm_perf.replay.load import read_snapshot
    from rocm_perf.replay.replayer import ready, work_folder

    snapshot = read_snapshot(args.snapshot)
    with work_folder() as images, step_progress() as say:
        code = code_of(args.hsaco, "A", snapshot, images) if args.hsaco else None
        with ready(snapshot, args.timeout, say, emulate=True) as replayer:
            say("counting")
            observed = observe(replayer, code, args.workgroups)
    return replace(observed, code=str(args.hsaco)) if args.hsaco else observed


def _workgroups(text: str) -> int | None:
    return None if text == "all" else positive(text)


def _time_ns(text: str) -> float:
    """A time with its unit, in nanoseconds."""
    match = _TIME.fullmatch(text.strip())
    value = float(match["value"]) * _NS_OF[match["unit"]] if match else 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a time with a unit, such as 83us or 1.2ms")
    return value
