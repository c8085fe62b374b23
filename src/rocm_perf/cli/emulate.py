"""`rocm-perf emulate`."""

from __future__ import annotations

import argparse
import os
import shlex
from typing import TYPE_CHECKING, Any

from rocm_perf import user_program
from rocm_perf.cli.arguments import positive, seconds
from rocm_perf.cli.output import say, show, show_json
from rocm_perf.errors import UsageError

if TYPE_CHECKING:
    from rocm_perf.softgpu.packages import Runtime
    from rocm_perf.softgpu.topology import SoftGpu

_SCHEMA_VERSION = 1
_STDERR = 2
_GRACE_S = 2.0  # between signals, to a program that is to end


class EmulateCommand:
    """Run a HIP or HSA program on an AMD GPU in software: no GPU and no driver are needed.

    APP and all programs that it starts find a GPU of the catalogue, driven by AMD's own runtime (ROCr, HIP), which
    --fetch gets from Debian's archive once. Kernels are executed instruction by instruction: results are those of the
    machine code, times mean nothing. `rocm-perf emulate -- rocm-perf capture ... -- APP` captures a kernel on it.
    """

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        add = parser.add_argument
        add("--device", metavar="GPU", default="MI300X", help="GPU of the catalogue (default MI300X)")
        add("--count", metavar="N", type=positive, default=1, help="how many of them (default 1)")
        add("--rocr", metavar="RELEASE", default=None, help="release of ROCr (default: the newest)")
        add("--timeout", metavar="S", type=seconds, default=None, help="end the program after S seconds")
        add("--fetch", action="store_true", help="get the runtimes (about 70 MB), and stop")
        add("--dry-run", action="store_true", help="say what would be run, and stop")
        add("--json", action="store_true", help="the report (or the plan) as JSON on stdout")
        add("app", metavar="APP", nargs="*", help="program and its arguments; -- before it ends our options")
        parser.usage = "rocm-perf emulate [--device GPU] [--timeout S] [options] -- APP ..."

    def run(self, args: argparse.Namespace) -> int:
        if args.fetch:
            return _fetch()
        if not args.app:
            raise UsageError("there is no program to run", next_step="rocm-perf emulate -- ./program")
        from rocm_perf.arch.catalog import find_gpu
        from rocm_perf.collect.request.application import find_application
        from rocm_perf.softgpu.packages import releases, runtime
        from rocm_perf.softgpu.topology import soft_gpus

        find_application(tuple(args.app), os.environ)
        gpus = soft_gpus(find_gpu(args.device), args.count)
        ready = runtime(args.rocr or releases()[0])
        if args.dry_run:
            return _dry_run(args, ready, gpus)
        return _run(args, ready, gpus)


def _fetch() -> int:
    from rocm_perf.softgpu.fetch import fetch

    show(f"The runtimes are in {fetch(_say)}")
    return 0


def _run(args: argparse.Namespace, ready: Runtime, gpus: tuple[SoftGpu, ...]) -> int:
    from rocm_perf.collect.run.launch import exit_code, launch
    from rocm_perf.replay.run import signal_text
    from rocm_perf.softgpu.device import device

    with device(ready, gpus) as machine:
        ended = launch(
            machine.command(args.app),
            {**user_program.environment(), **machine.environment},
            stdout=_STDERR if args.json else None,
            timeout_s=args.timeout,
            grace_s=_GRACE_S,
            watch_stderr=False,
        )
        failures = machine.failures()
    if ended.timed_out:
        _say(
            f"the program did not end within {args.timeout:g} s, and was ended. --timeout S gives it longer."
        )
    elif ended.status < 0:
        _say(f"the program ended {signal_text(-ended.status)}")
    if args.json:
        facts = {"status": ended.status, "timed_out": ended.timed_out, "failures": failures}
        _show_json({**_plan(args, ready, gpus), **facts})
    return exit_code(ended.status)


def _dry_run(args: argparse.Namespace, ready: Runtime, gpus: tuple[SoftGpu, ...]) -> int:
    plan = _plan(args, ready, gpus)
    if args.json:
        _show_json(plan)
        return 0
    for name, value in plan.items():
        show(f"{name:<8} {shlex.join(value) if name == 'command' else value}")
    return 0


def _plan(args: argparse.Namespace, ready: Runtime, gpus: tuple[SoftGpu, ...]) -> dict[str, Any]:
    """What runs on what."""
    return {
        "device": gpus[0].gpu.name,
        "gfx": gpus[0].gpu.gfx,
        "count": len(gpus),
        "rocr": ready.release,
        "command": args.app,
    }


def _show_json(content: dict[str, Any]) -> None:
    from rocm_perf.render import json

    show_json(json.encode({"schema_version": _SCHEMA_VERSION, **content}))


def _say(text: str) -> None:
    say(text, "rocm-perf emulate")
