"""`rocm-perf sample`."""

from __future__ import annotations

import argparse
import math
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

from rocm_perf import user_program
from rocm_perf.cli.arguments import named_path, seconds
from rocm_perf.cli.output import say, show, show_json
from rocm_perf.errors import EmptyCaptureError, OutputError, RocmPerfError, ToolAbsentError, UsageError
from rocm_perf.files import refuse_existing

if TYPE_CHECKING:
    from rocm_perf.collect.sampling.samplers import Sampler
    from rocm_perf.model.results.energy import GpuEnergy
    from rocm_perf.model.trace import Trace

SCHEMA_VERSION = 1
_SHORTEST_S = 0.001
_LOOK_S = 0.2  # at a sampler that may have ended


class SampleCommand:
    """Read power, clocks, temperature, load and memory of the GPUs.

    For a while, until Ctrl-C, or while a program runs, whose output and exit code stay its own. The readings go to a
    CSV file that `rocm-perf analyze` reads; the report says what energy was used and what the sampling itself cost.
    """

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "--interval",
            metavar="S",
            type=seconds,
            default=0.1,
            help="seconds between readings (default 0.1)",
        )
        parser.add_argument("--duration", metavar="S", type=seconds, help="stop after so many seconds")
        parser.add_argument(
            "-o",
            "--output",
            metavar="CSV",
            type=named_path,
            default=Path("samples.csv"),
            help="default samples.csv",
        )
        parser.add_argument("--force", action="store_true", help="replace the file")
        parser.add_argument("--json", action="store_true", help="the report as JSON")
        parser.add_argument("app", metavar="APP", nargs="*", help="program; -- before it ends our options")
        parser.usage = (
            "rocm-perf sample [--interval S] [--duration S] [-o CSV] [--force] [--json] [-- APP ...]"
        )

    def run(self, args: argparse.Namespace) -> int:
        from rocm_perf.backends.probe import probe_machine
        from rocm_perf.collect.request.request import SAMPLED, Sampling
        from rocm_perf.collect.sampling.samplers import recording

        _check(args)
        machine = probe_machine()
        args.output.unlink(missing_ok=True)
        with recording(Sampling(metrics=SAMPLED, interval_s=args.interval), args.output, machine) as sampler:
            code = _launch(args) if args.app else _wait(args.duration, sampler)
        try:
            if not sampler.path.is_file():
                raise ToolAbsentError("no GPU could be read", "; ".join(sampler.notices))
            _report(args, sampler)
        except RocmPerfError as error:
            if not code:
                raise
            say(str(error))  # the program's own failure is the one to hand on
        ended_early = not sampler.summary
        return code or (OutputError.exit_code if ended_early else 0)


def _check(args: argparse.Namespace) -> None:
    if args.interval < _SHORTEST_S:
        raise UsageError(
            f"--interval {args.interval:g} is too short", f"at least {_SHORTEST_S:g} s are possible"
        )
    refuse_existing(args.output, overwrite=args.force)
    if not os.access(args.output.parent, os.W_OK):
        raise UsageError(f"{args.output} cannot be written", "its folder is not there, or not writable")


def _launch(args: argparse.Namespace) -> int:
    """Run the program and return its exit code; 128 + N where signal N ended it."""
    from rocm_perf.collect.run.launch import exit_code, launch

    ended = launch(
        tuple(args.app),
        user_program.environment(),
        stdout=sys.stderr.fileno() if args.json else None,
        timeout_s=args.duration,
        watch_stderr=False,
    )
    if ended.timed_out:
        say(f"the program was ended after {args.duration:g} s (--duration)")
    elif ended.status:
        say(f"the program {user_program.failure(ended.status)}")
    return exit_code(ended.status)


def _wait(duration: float | None, sampler: Sampler) -> int:
    """Wait until the time is up, the user has had enough, or nothing is read any more."""
    if duration is None and not sampler.has_ended:
        say("reading until Ctrl-C; --duration S ends it by itself")
    deadline = time.monotonic() + (math.inf if duration is None else duration)
    enough = threading.Event()
    before = {
        number: signal.signal(number, lambda *_: enough.set()) for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        while (left := deadline - time.monotonic()) > 0 and not sampler.has_ended:
            if enough.wait(min(left, _LOOK_S)):
                break
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return 0


def _report(args: argparse.Namespace, sampler: Sampler) -> None:
    from rocm_perf.analysis.program.energy import energy
    from rocm_perf.ingest.load import load
    from rocm_perf.render import json

    trace = load(sampler.path)
    used = energy(trace)
    if not trace.has("samples"):
        raise EmptyCaptureError(f"{sampler.path} holds no reading")
    lines = [_gpu_line(gpu, trace) for gpu in used.gpus] or [f"energy: {used.unavailable}"]
    if args.json:
        document = {
            "schema_version": SCHEMA_VERSION,
            "file": str(sampler.path),
            "summary": sampler.summary,
            "notices": sampler.notices,
            "energy": used,
            "counted_j": {str(gpu.agent_id): _counted_j(trace, gpu) for gpu in used.gpus},
        }
        show_json(json.encode(document))
        return
    # The program's own output stays alone on stdout.
    tell = say if args.app else show
    summary = [sampler.summary] if sampler.summary else []
    for line in (*lines, *summary, *(f"note: {notice}" for notice in sampler.notices)):
        tell(line)
    tell(f"wrote {sampler.path}")


def _gpu_line(gpu: GpuEnergy, trace: Trace) -> str:
    from rocm_perf.units import format_ns

    counted = _counted_j(trace, gpu)
    beside = "" if counted is None else f" (its own counter: {counted:,.1f} J)"
    return (
        f"GPU {gpu.agent_id}: {gpu.energy.value:,.1f} J in {format_ns(gpu.window_ns)}{beside}, "
        f"mean {gpu.mean_power.value:,.1f} W, peak {gpu.peak_power_w:,.1f} W"
    )


def _counted_j(trace: Trace, gpu: GpuEnergy) -> float | None:
    """What the GPU's own energy counter advanced by: it only rises."""
    import polars as pl

    from rocm_perf.analysis.basis.readings import HIGHEST, LOWEST

    rows = trace.table("samples").filter(
        (pl.col("metric") == "energy_j") & pl.col("agent_id").eq_missing(gpu.agent_id)
    )
    advance: float | None = rows.select(HIGHEST.last() - LOWEST.first()).item()
    return advance if rows.height > 1 else None
