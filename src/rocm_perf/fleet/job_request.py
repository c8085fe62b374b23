"""The job that options and a configuration describe; what is wrong with them is said before anything starts."""

from __future__ import annotations

import argparse
import os
from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from rocm_perf.collect.request.application import check_output
from rocm_perf.collect.request.configuration import Configuration, configuration_text, read_configuration
from rocm_perf.collect.request.launching import Distributed, Slurm, start_of
from rocm_perf.collect.request.request import Request
from rocm_perf.collect.run.layout import check_run_id, new_run_id
from rocm_perf.errors import UsageError
from rocm_perf.fleet.job import Job
from rocm_perf.fleet.workloads.catalogue import catalogue, chosen
from rocm_perf.fleet.workloads.images import needs_image
from rocm_perf.fleet.workloads.manifest import Prepared, read_manifest
from rocm_perf.fleet.workloads.plan import combined
from rocm_perf.fleet.workloads.workload import Workload


def job_of(args: argparse.Namespace, obeyed: Collection[str]) -> tuple[Job, tuple[str, ...]]:
    """The job, and what the user should know about its configuration. `obeyed` are the keys that the launcher uses."""
    named = _named_workload(args)
    if not args.app and named is None:
        raise UsageError("there is no application to run", next_step="Write it behind --: -- ./app args.")
    configuration, notices = _configuration(args.config, obeyed)
    if named:
        configuration = _of_workload(named.workload, combined(named.configuration, configuration))
    output, run_id = _place(args, configuration, obeyed)
    check_run_id(run_id)
    job = Job(
        app=named.workload.command if named else args.app,
        profile=(*(_limit(named.workload) if named else ()), *args.profile),
        nodes=args.nodes or _nodes(configuration),
        ranks_per_node=args.ranks_per_node or _ranks_per_node(configuration),
        output=str(output),
        run_id=run_id or new_run_id(),
        working_folder=os.getcwd(),
        configuration=configuration,
        image=getattr(args, "image", "") or (named.image if named else ""),
        gpus=max(named.workload.gpus, 0) if named else 0,
        pass_env=named.workload.pass_env if named else (),
        readable=(named.workload.folder,) if named else (),
    )
    check_output(Path(job.output))
    if job.folder.exists():
        raise UsageError(
            f"the run {job.run_id} exists", f"{job.folder} is a folder already", "Choose another --run-id."
        )
    return job, (*notices, *(named.notices if named else ()))


class _Named(NamedTuple):
    """A workload that options name, and the image it was built into."""

    workload: Workload
    image: str
    configuration: Configuration  # of the build
    notices: tuple[str, ...]


def _named_workload(args: argparse.Namespace) -> _Named | None:
    """The one workload that --tags or --manifest-file name; None where the application stands behind --."""
    tags, manifest = getattr(args, "tags", ()), getattr(args, "manifest_file", None)
    if not tags and manifest is None:
        return None
    if args.app:
        raise UsageError(
            "a workload says itself what runs",
            "an application stands behind --, too",
            "Leave one of the two out.",
        )
    prepared = (
        read_manifest(manifest) if manifest else Prepared(workloads=catalogue(args.catalogue, Path.cwd()))
    )
    found = chosen(prepared.workloads, tags) if tags else prepared.workloads
    if len(found) != 1:
        names = ", ".join(each.name for each in found)
        raise UsageError(
            f"launch starts one workload, not {len(found)}", names, "Name one of them with --tags."
        )
    (workload,) = found
    if workload.device:
        raise UsageError(
            f"{workload.name} runs on the simulator",
            f"its device is {workload.device}",
            f"rocm-perf run --tags {workload.name}.",
        )
    image = args.image or _built_image(workload, prepared)
    unpushed = image and not args.image and not prepared.registry
    notice = f"the image {image} is in no registry; each node has to have it (rocm-perf build --registry R pushes it)"
    return _Named(workload, image, prepared.configuration, (notice,) if unpushed else ())


def _built_image(workload: Workload, prepared: Prepared) -> str:
    """The image that a workload was built into; empty if it needs none."""
    built = prepared.images.get(workload.name)
    if built and built.built:
        return built.docker_image
    if not needs_image(workload):
        return ""
    raise UsageError(
        f"no image of {workload.name} with rocm-perf in it is known",
        built.reason if built else f"{workload.image or workload.dockerfile} has none",
        f"rocm-perf build --tags {workload.name} --registry R makes it, for --manifest-file build_manifest.json; "
        "--image names another.",
    )


def _of_workload(workload: Workload, configuration: Configuration) -> Configuration:
    """The configuration with the variables of the workload; its own ones come first."""
    return replace(configuration, env_vars={**workload.env_vars, **configuration.env_vars})


def _limit(workload: Workload) -> tuple[str, ...]:
    return ("--timeout", f"{workload.timeout_s:g}") if workload.timeout_s is not None else ()


def _configuration(path: Path | str | None, obeyed: Collection[str]) -> tuple[Configuration, tuple[str, ...]]:
    if path is None:
        return Configuration(), ()
    if isinstance(path, str):
        configuration, unused = read_configuration(path, "--config", obeyed)
        return configuration, ((f"--config: not used here: {', '.join(unused)}",) if unused else ())
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
    if start_of(configuration.distributed).by == "itself":
        return 1
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
