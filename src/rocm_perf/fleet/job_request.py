"""The job that options and a configuration describe; what is wrong with them is said before anything starts."""

from __future__ import annotations

import argparse
import os
from collections.abc import Collection
from pathlib import Path

from rocm_perf.collect.request.application import check_output
from rocm_perf.collect.request.configuration import Configuration, configuration_text, read_configuration
from rocm_perf.collect.request.launching import Distributed, Slurm
from rocm_perf.collect.request.request import Request
from rocm_perf.collect.run.layout import check_run_id, new_run_id
from rocm_perf.errors import UsageError
from rocm_perf.fleet.job import Job


def job_of(args: argparse.Namespace, obeyed: Collection[str]) -> tuple[Job, tuple[str, ...]]:
    """The job, and what the user should know about its configuration. `obeyed` are the keys that the launcher uses."""
    if not args.app:
        raise UsageError("there is no application to run", next_step="Write it behind --: -- ./app args.")
    configuration, notices = _configuration(args.config, obeyed)
    output, run_id = _place(args, configuration, obeyed)
    check_run_id(run_id)
    job = Job(
        app=args.app,
        profile=args.profile,
        nodes=args.nodes or _nodes(configuration),
        ranks_per_node=args.ranks_per_node or _ranks_per_node(configuration),
        output=str(output),
        run_id=run_id or new_run_id(),
        working_folder=os.getcwd(),
        configuration=configuration,
    )
    check_output(Path(job.output))
    if job.folder.exists():
        raise UsageError(
            f"the run {job.run_id} exists", f"{job.folder} is a folder already", "Choose another --run-id."
        )
    return job, notices


def _configuration(path: Path | None, obeyed: Collection[str]) -> tuple[Configuration, tuple[str, ...]]:
    if path is None:
        return Configuration(), ()
    configuration, unused = read_configuration(configuration_text(path), str(path), obeyed)
    return configuration, ((f"{path.name}: not used here: {', '.join(unused)}",) if unused else ())


def _nodes(configuration: Configuration) -> int:
    """The number of nodes; refused where two parts of a file name different ones."""
    distributed = (configuration.distributed or Distributed()).nnodes
    slurm = (configuration.slurm or Slurm()).nodes
    if distributed and slurm and distributed != slurm:
        raise UsageError(
            "the configuration names two numbers of nodes",
            f"slurm.nodes is {slurm}, distributed.nnodes is {distributed}",
            "Make them equal, or say which with --nodes.",
        )
    return distributed or slurm or 1


def _ranks_per_node(configuration: Configuration) -> int:
    """The number of processes on each node: what is said, or else one for each GPU that SLURM gives."""
    slurm = configuration.slurm or Slurm()
    named = (configuration.distributed or Distributed()).nproc_per_node or slurm.ntasks_per_node
    if named:
        return named
    gpus = str(slurm.gpus_per_node or 1).rpartition(":")[2]  # a type may stand before it: mi300x:8
    return int(gpus) if gpus.isdecimal() and int(gpus) else 1


def _place(
    args: argparse.Namespace, configuration: Configuration, obeyed: Collection[str]
) -> tuple[Path, str]:
    """The folder that the run's own lies in, and what that one is called; empty: by the time."""
    if not args.output:
        return _output(args.output_directory, configuration, obeyed), args.run_id
    if args.run_id:
        raise UsageError(
            "-o and --run-id both name the run", f"-o names it {args.output.name}", "Leave one out."
        )
    folder = Path(args.output_directory or "", args.output).absolute()
    return folder.parent, folder.name


def _output(given: Path | None, configuration: Configuration, obeyed: Collection[str]) -> Path:
    named = configuration.slurm.output_dir if configuration.slurm and "slurm" in obeyed else ""
    return Path(given or named or Request(command=()).output).absolute()
