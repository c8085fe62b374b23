"""`rocm-perf profile --device sim:...`: a workload file on a simulated GPU."""

from __future__ import annotations

import argparse
from pathlib import Path

from rocm_perf import api
from rocm_perf.cli.analyze import AnalyzeCommand
from rocm_perf.cli.output import say, show
from rocm_perf.cli.profile_request import application
from rocm_perf.errors import UsageError
from rocm_perf.model import bundle
from rocm_perf.sim.gpu import find_gpu
from rocm_perf.sim.workload import read_workload


def profile_simulated(args: argparse.Namespace) -> int:
    """Simulate, write the bundle, report."""
    gpu = find_gpu(args.device)
    arguments = application(args)
    if len(arguments) != 1:
        raise UsageError(
            "a simulated device runs one workload file", f"{len(arguments)} arguments were given"
        )
    source = Path(arguments[0])
    workload = read_workload(source)
    target = Path(args.output_file) if args.output_file else _free_name(source)
    if args.dry_run:
        what = f"{source} ({workload.name}) on {gpu.name} ({gpu.gfx})"
        show(f"would simulate {what} and write the bundle {target}")
        return 0
    trace = api.simulate(source, args.device)
    bundle.write(trace, target, overwrite=args.force_overwrite)
    say(f"recorded {target}")
    return 0 if args.no_analyze else _report(target, args.json)


def _free_name(source: Path) -> Path:
    """The first of NAME-1, NAME-2, ... that is not taken."""
    number = 1
    while (folder := Path(f"{source.stem}-{number}")).exists():
        number += 1
    return folder


def _report(folder: Path, as_json: bool) -> int:
    """Analyse the bundle, as the verb does."""
    analyze, parser = AnalyzeCommand(), argparse.ArgumentParser()
    analyze.prepare_parser(parser)
    return analyze.run(parser.parse_args([str(folder), *(["--json"] if as_json else [])]))
