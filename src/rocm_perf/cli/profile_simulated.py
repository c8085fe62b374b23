"""`rocm-perf profile --device sim:...`: a workload file on a simulated GPU."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from rocm_perf import api
from rocm_perf.backends.amd.counter_passes import counter_passes
from rocm_perf.backends.base import CounterPasses, Domain
from rocm_perf.cli.analyze import AnalyzeCommand
from rocm_perf.cli.output import say, show
from rocm_perf.cli.profile_options import add_options
from rocm_perf.cli.profile_request import application, counters_of, output_folder
from rocm_perf.collect.request.presets import preset
from rocm_perf.errors import UsageError
from rocm_perf.model import bundle
from rocm_perf.model.trace import Trace
from rocm_perf.sim.gpu import find_gpu
from rocm_perf.sim.workload import read_workload
from rocm_perf.units import format_count

# The tables that each domain fills; those of kernels are always there.
_TABLES: dict[Domain, tuple[str, ...]] = {
    "hip": ("api_calls",),
    "copy": ("copies",),
    "allocation": ("allocations",),
    "marker": ("ranges", "ops"),
    "rccl": ("collectives",),
}

_SOFTWARE = "soft:"
_LIMITS = "limits"  # the set of counters that --deep stands for
# What a simulation can obey; the other options are about a program, or about a profiler.
_OBEYED = frozenset(
    (
        *("app", "device", "preset", "counters", "deep", "dry_run", "json", "help"),
        *("output_directory", "output", "run_id", "force_overwrite", "no_analyze", "show", "top", "no_color"),
    )
)


def profile_simulated(args: argparse.Namespace) -> int:
    """Simulate, write the bundle, report."""
    arguments = application(args)
    if args.device.startswith(_SOFTWARE):
        raise _has_no_times(args.device.removeprefix(_SOFTWARE), arguments)
    _refuse_others(args)
    gpu = find_gpu(args.device)
    if len(arguments) != 1 or not arguments[0].endswith(".toml"):
        given = shlex.join(arguments) or "nothing"
        raise UsageError(
            "a simulated device takes one workload file (.toml), and runs no program",
            f"{given} was given",
            "docs/simulator.md says how to write one, and rocm-perf demo runs two; leave out --device to profile a "
            "program.",
        )
    source = Path(arguments[0])
    workload = read_workload(source)
    if args.deep and not args.preset:
        args.counters = [*args.counters, _LIMITS]
    asked, passes = _asked(args, gpu.gfx)
    target = _target(args, source)
    if args.dry_run:
        what = f"{source} ({workload.name}) on {gpu.name} ({gpu.gfx})"
        times = (
            f", with counters in {format_count(len(passes), 'more pass', 'more passes')}," if passes else ""
        )
        show(f"would simulate {what}{times} and write the bundle {target}")
        return 0
    trace = _recorded(api.simulate(source, args.device, counters=passes), asked)
    bundle.write(trace, target, overwrite=args.force_overwrite)
    say(f"recorded {target}")
    return 0 if args.no_analyze else _report(target, args)


def _refuse_others(args: argparse.Namespace) -> None:
    """Refuse options that a simulation would ignore."""
    parser = argparse.ArgumentParser()
    add_options(parser)
    defaults = vars(parser.parse_args([]))
    given = [
        f"--{name.replace('_', '-')}"
        for name, default in defaults.items()
        if name not in _OBEYED and getattr(args, name, default) != default
    ]
    if given:
        raise UsageError(
            f"a simulated device cannot obey {', '.join(given)}",
            "no program runs and no profiler records it",
            f"Leave {'it' if len(given) == 1 else 'them'} out, or profile the program itself.",
        )


def _target(args: argparse.Namespace, source: Path) -> Path:
    """The folder of the bundle: what -o or --run-id names, else the first free one after the workload."""
    if args.output:
        if args.run_id:
            raise UsageError("-o and --run-id both name the run", "", "Leave one out.")
        return output_folder(args)
    below = Path(args.output_directory or "")
    return below / args.run_id if args.run_id else _free_name(below / source.stem)


def _has_no_times(gpu: str, app: Sequence[str]) -> UsageError:
    run, words = f"rocm-perf emulate --device {shlex.quote(gpu)} --", shlex.join(app)
    return UsageError(
        "a GPU in software has no times to profile",
        "it executes kernels on the CPU",
        f"`{run} {words}` runs it there; `{run} rocm-perf capture --kernel NAME -- {words}` captures a kernel, "
        "`rocm-perf count` counts what that does.",
    )


def _asked(args: argparse.Namespace, gfx: str) -> tuple[tuple[Domain, ...], tuple[tuple[str, ...], ...]]:
    """What the preset and the options name: domains, none of them if all are wanted, and passes of counters."""
    chosen = preset(args.preset) if args.preset else None
    if chosen and (chosen.pc_sampling or chosen.att or not chosen.domains):
        raise UsageError(
            f"a simulated GPU cannot record the preset {args.preset}",
            "it has a timeline and counters, no samples and no thread trace",
            "Choose one of those, such as memory.",
        )
    names, own = counters_of(args.counters)
    wanted = (*(chosen.counters if chosen else ()), *names)
    counted = counter_passes(wanted, own, gfx, None) if wanted or own else CounterPasses()
    if counted.refusal:
        say(f"no counters: {counted.refusal}")
    return (chosen.domains if chosen else ()), counted.passes


def _recorded(trace: Trace, asked: tuple[Domain, ...]) -> Trace:
    """The Trace without what the preset does not record."""
    if not asked:
        return trace
    dropped = {table for domain, tables in _TABLES.items() if domain not in asked for table in tables}
    kept = {name: trace.table(name) for name in trace if name not in dropped}
    counted = ("counters",) if "counters" in trace.run.asked else ()
    return Trace(kept, replace(trace.run, asked=(*asked, *counted)))


def _free_name(place: Path) -> Path:
    """The first of NAME-1, NAME-2, ... that is not taken."""
    number = 1
    while (folder := place.with_name(f"{place.name}-{number}")).exists():
        number += 1
    return folder


def _report(folder: Path, args: argparse.Namespace) -> int:
    """Analyse the bundle, as the verb does, and leave its files there."""
    analyze, parser = AnalyzeCommand(), argparse.ArgumentParser()
    analyze.prepare_parser(parser)
    asked = ["--json"] * args.json + ["--no-color"] * args.no_color
    asked += ["--show", args.show] if args.show else []
    asked += ["--top", str(args.top)] if args.top else []
    return analyze.run(parser.parse_args([str(folder), "-o", str(folder), *asked]))
