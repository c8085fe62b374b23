"""`rocm-perf run`."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rocm_perf.cli.arguments import add_no_color, named_path, new_folder, positive, seconds
from rocm_perf.cli.output import say, show, show_json
from rocm_perf.cli.workload_options import add_workload_options

if TYPE_CHECKING:
    from rocm_perf.fleet.workloads.plan import Step
    from rocm_perf.fleet.workloads.workload import Workload

SCHEMA_VERSION = 1
_WHERE = {"here": "on this machine", "simulated": "on a simulated GPU", "slurm": "as a job of SLURM"}


class RunCommand:
    """Record named workloads of a catalogue, one after the other, and report on each.

    Each leaves rocprof_output/TIME: what the profiler recorded, and the files that scripts read (kernel_trace.csv,
    hip_api_trace.csv, *_results.db, model_trace.pftrace, ...). A workload with an image runs in a container where
    docker is. One that fails does not keep the others back; the exit code is that of the first failure.
    """

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        add_workload_options(parser)
        parser.add_argument("--list", action="store_true", help="list the workloads, and run nothing")
        parser.add_argument(
            "-m", "--manifest-file", metavar="M", type=named_path, help="run what rocm-perf build prepared"
        )
        parser.add_argument(
            "--here",
            action="store_true",
            help="on this machine: not in a container, and not as a job of SLURM",
        )
        parser.add_argument(
            "-d",
            "--output-directory",
            metavar="DIR",
            type=new_folder,
            help="runs go below it (slurm.output_dir of a configuration, else rocprof_output)",
        )
        parser.add_argument("--timeout", metavar="S", type=seconds, help="kill a workload after S seconds")
        parser.add_argument("--top", metavar="N", type=positive, help="rows of each list in the report")
        add_no_color(parser)

    def run(self, args: argparse.Namespace) -> int:
        from rocm_perf.cli.run_workloads import dry_steps, output_of, prepare, run_all

        if args.list:
            return _list(args)
        prepared, asked, notices = prepare(args)
        if args.dry_run:
            _show_steps(dry_steps(prepared, asked, output_of(args, asked)), notices, as_json=args.json)
            return 0
        for notice in notices:
            say(notice)
        return run_all(prepared, asked, args)


def _list(args: argparse.Namespace) -> int:
    from rocm_perf.fleet.workloads.catalogue import catalogue, chosen

    known = catalogue(args.catalogue, Path.cwd())
    workloads = chosen(known, args.tags) if args.tags else known
    if args.json:
        from rocm_perf.render import json

        show_json(json.encode({"schema_version": SCHEMA_VERSION, "workloads": workloads}))
        return 0
    for workload in workloads:
        show(f"{workload.name} ({', '.join(workload.tags)})", *_description(workload))
    return 0


def _description(workload: Workload) -> list[str]:
    lines = [workload.description, shlex.join(workload.command)]
    return [f"  {line}" for line in (*lines, f"image {workload.image}" if workload.image else "") if line]


def _show_steps(steps: Sequence[Step], notices: tuple[str, ...], *, as_json: bool) -> None:
    """Print what would be started, as a shell would take it."""
    if as_json:
        from rocm_perf.render import json

        show_json(json.encode({"schema_version": SCHEMA_VERSION, "steps": steps, "notices": notices}))
        return
    for step in steps:
        where = _WHERE.get(step.where, f"in the image {step.image}")
        if step.where == "slurm" and step.image:
            where = f"{where}, in the image {step.image}"
        show(f"{step.workload.name}: {where}")
        show(*(f"  {shlex.join(command)}" for command in (*step.before, step.argv)))
        show(*(f"  note: {notice}" for notice in step.notices), f"  leaves {step.folder}")
    for notice in notices:
        show(f"note: {notice}")
