"""The options of `profile`, `counters` and `trace`. Light: every start of rocm-perf builds them."""

from __future__ import annotations

import argparse

from rocm_perf.cli.arguments import add_no_color, count, named_path, new_folder, positive, seconds
from rocm_perf.collect.request.flag_options import add_flags
from rocm_perf.collect.request.window_options import add_window

_MOST_PASSES = 1_000_000
SAMPLED = ("power", "memory")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add all of them. `--` ends ours; everything behind the first one is the application's."""
    parser.allow_abbrev = False
    parser.add_argument(
        "--preset", metavar="P", help="what to record (default auto; rocm-perf presets lists)"
    )
    parser.add_argument(
        "--counters",
        "--counter",
        metavar="NAME",
        nargs="+",
        action="extend",
        default=[],
        help="counters, metrics, sets, or files of them",
    )
    parser.add_argument(
        "--profiler",
        metavar="TOOL",
        default="",
        help="use this profiler, and no other (a wrong name lists them)",
    )
    parser.add_argument(
        "--tool-arg", metavar="ARG", action="append", default=[], help="hand to the profiler as it is"
    )
    parser.add_argument(
        "--deep",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="then run it again for counters that tell why kernels take their time (short programs: as it is)",
    )
    parser.add_argument("--dry-run", action="store_true", help="print what would run, and why; start nothing")
    parser.add_argument("--json", action="store_true", help="the report as JSON on stdout")
    parser.add_argument("-p", "--pid", "--attach", metavar="PID", help=argparse.SUPPRESS)
    _add_output(parser.add_argument_group("where it goes"))
    add_window(parser.add_argument_group("which part of the run (default: all of it)"))
    _add_run(parser.add_argument_group("the run"))
    _add_torch(parser.add_argument_group("torch.profiler"))
    add_flags(parser)
    parser.add_argument(
        "app", metavar="APP", nargs=argparse.REMAINDER, help="application; -- before it ends our options"
    )


def _add_output(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "-d", "--output-directory", metavar="DIR", type=new_folder, help="runs go below it (rocm-perf-runs)"
    )
    group.add_argument("-o", "--output", metavar="DIR", type=new_folder, help="the run's own folder")
    group.add_argument(
        "--output-file", metavar="NAME", default="", help="the profiler's files, with its %%keys%%"
    )
    group.add_argument("--run-id", metavar="ID", default="", help="ranks with the same one are one run")
    group.add_argument(
        "--scratch",
        metavar="DIR",
        type=named_path,
        help="record there, on a disk of this node, and move it at the end",
    )
    group.add_argument("--force-overwrite", "--force", action="store_true", help="replace a run of that id")
    group.add_argument("--no-analyze", action="store_true", help="record only; analyze reads it later")
    group.add_argument("--show", metavar="SECTION,...", help="sections of the report, as analyze has them")
    group.add_argument("--top", metavar="N", type=positive, help="rows of each list")
    add_no_color(group)


def _add_run(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--ranks",
        metavar="R,...",
        default="",
        help="of many ranks record these (0,7 or 0-3), and only time the others",
    )
    group.add_argument(
        "--pass", metavar="N", dest="only_pass", type=_pass,
        help="of the runs that this takes do the Nth: many ranks are launched once for each (all: rank by rank)",
    )  # fmt: skip
    group.add_argument("--timeout", metavar="S", type=seconds, help="kill the application after S seconds")
    group.add_argument(
        "--measure-overhead", metavar="N", type=positive, nargs="?", const=1, default=0,
        help="also run it unprofiled, N times (1)",
    )  # fmt: skip
    group.add_argument(
        "--sample", metavar="WHAT", nargs="?", const="power,memory", default="", type=_sampled,
        help="power,memory while it runs",
    )  # fmt: skip
    group.add_argument(
        "--sample-interval", metavar="S", type=seconds, help="seconds between readings of --sample (0.1)"
    )
    group.add_argument(
        "--keep-exit-code", action="store_true", help="exit as the application did, whatever was recorded"
    )
    group.add_argument("--library-trace", action="store_true", help="log rocBLAS, MIOpen, RCCL, ... calls")
    group.add_argument(
        "--env",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        type=_variable,
        help="set a variable for the application; may be repeated",
    )
    group.add_argument("--additional-context", metavar="JSON", help="a configuration, inline")
    group.add_argument("--additional-context-file", metavar="FILE", type=named_path, help="or in a file")
    group.add_argument("--device", metavar="D", help="sim:MI300X simulates a workload file instead")


def _add_torch(group: argparse._ArgumentGroup) -> None:
    for name, meaning in (("wait", "steps to skip"), ("warmup", "steps to warm up"), ("repeat", "how often")):
        group.add_argument(f"--torch-{name}", metavar="N", type=count, help=meaning)
    group.add_argument("--torch-active", metavar="N", type=count, help="steps to record (all)")
    group.add_argument(
        "--step",
        metavar="FUNCTION",
        dest="torch_step",
        help="count calls of this function as steps: NAME, CLASS.NAME or MODULE:NAME (default: steps of the first "
        "optimizer, else calls of the outermost nn.Module)",
    )
    for name in ("shapes", "memory", "stacks"):
        group.add_argument(
            f"--torch-{name}", action=argparse.BooleanOptionalAction, default=None, help=f"record {name}"
        )


def _sampled(text: str) -> tuple[str, ...]:
    names = tuple(name for name in text.split(",") if name)
    if unknown := [name for name in names if name not in SAMPLED]:
        raise argparse.ArgumentTypeError(f"{unknown[0]!r} is none of {', '.join(SAMPLED)}")
    return names


def _pass(text: str) -> int:
    if text != "all" and (not text.isdecimal() or not 0 < int(text) < _MOST_PASSES):
        raise argparse.ArgumentTypeError(f"{text!r} is neither the number of a run nor 'all'")
    return 0 if text == "all" else int(text)


def _variable(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    return name, value
