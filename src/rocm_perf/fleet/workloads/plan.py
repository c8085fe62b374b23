"""From a workload to the command that records it: `rocm-perf profile` on this machine or in a container. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path, PurePath
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from rocm_perf.collect.request.configuration import Configuration, configured
from rocm_perf.collect.request.launching import Distributed, Slurm, start_of
from rocm_perf.fleet.job import recorded_part
from rocm_perf.fleet.workloads.container import Container
from rocm_perf.fleet.workloads.images import needs_image
from rocm_perf.fleet.workloads.workload import ALL_GPUS, Workload

RAW = "raw"  # folder of a run that holds what the profiler wrote
Where = Literal["here", "container", "simulated", "slurm"]

# What starts ranks itself: `run` does not start several of it.
_LAUNCHERS = ("torchrun", "mpirun", "mpiexec", "srun", "deepspeed", "accelerate", "ray", "bash", "sh")
_VISIBLE = {"NVIDIA": "CUDA_VISIBLE_DEVICES"}
_VISIBLE_ON_AMD = "HIP_VISIBLE_DEVICES"


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One workload of a run: what is started, and where what it leaves goes."""

    workload: Workload
    where: Where
    argv: tuple[str, ...]  # rocm-perf and its arguments, or docker and its own
    folder: str
    image: str = ""
    before: tuple[tuple[str, ...], ...] = ()  # commands that build the image; STAGED stands for a folder
    stdout_to_stderr: bool = False  # the program's
    notices: tuple[str, ...] = ()


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """What a run is asked for, beside the workloads."""

    configuration: Configuration = Configuration()
    environment: dict[str, str] = {}  # of this shell
    working_folder: Path = Path()
    has_docker: bool = False
    in_container: bool = True  # where the workload has an image and docker is here
    stdout_to_stderr: bool = False  # the program's, because ours carries JSON


def step_of(workload: Workload, image: str, folder: Path, asked: Asked) -> Step:
    """The step that records one workload into a folder; `image` has rocm-perf in it."""
    where = where_of(workload, asked)
    arguments = arguments_of(workload, folder / RAW, asked, image)
    argv = ("rocm-perf", *arguments)
    if where == "container":
        container = Container(
            image=image,
            writable=(asked.working_folder, (asked.working_folder / folder).parent),
            readable=(Path(workload.folder),),
            variables=workload.pass_env,
            nvidia=_is_nvidia(asked.configuration),
        )
        argv = container.command(arguments)
    return Step(
        workload=workload,
        where=where,
        argv=argv,
        folder=str(folder),
        image=image if where in ("container", "slurm") else "",
        stdout_to_stderr=asked.stdout_to_stderr,
        notices=step_notices(workload, asked),
    )


def arguments_of(workload: Workload, raw: Path, asked: Asked, image: str = "") -> tuple[str, ...]:
    """The arguments of rocm-perf that record a workload: with `profile`, or with `launch` where it has several ranks
    or runs on a cluster."""
    if where_of(workload, asked) == "slurm":
        return _slurm_arguments(workload, raw, asked, image)
    if launcher := _launcher(workload, asked):
        distributed = asked.configuration.distributed or Distributed()
        ranks = (
            "--nodes",
            str(distributed.nnodes or 1),
            "--ranks-per-node",
            str(distributed.nproc_per_node or 1),
        )
        options = ("--no-analyze", "-o", str(raw), *_recording(workload, asked))
        return ("launch", launcher, *ranks, *options, "--", *workload.command)
    return _profile_arguments(workload, raw, asked)


def _profile_arguments(workload: Workload, raw: Path, asked: Asked) -> tuple[str, ...]:
    options = ["--no-analyze", "-o", str(raw)]
    if asked.stdout_to_stderr:
        options.append("--json")
    if workload.device:
        options += ["--device", workload.device, *_simulated_preset(asked.configuration)]
        return ("profile", *options, "--", *workload.command)
    return ("profile", *options, *_recording(workload, asked), "--", *workload.command)


def _recording(workload: Workload, asked: Asked) -> tuple[str, ...]:
    """The options of `profile` that say what is recorded, and in which environment."""
    options: list[str] = []
    if workload.timeout_s is not None:
        options += ["--timeout", f"{workload.timeout_s:g}"]
    if context := recorded_part(asked.configuration):
        options += ["--additional-context", msgspec.json.format(context, indent=-1)]
    for name, value in {**workload.env_vars, **visible_gpus(workload, asked)}.items():
        if name not in asked.configuration.env_vars:
            options += ["--env", f"{name}={value}"]
    return tuple(options)


def _slurm_arguments(workload: Workload, raw: Path, asked: Asked, image: str) -> tuple[str, ...]:
    """The arguments that submit a workload as a job."""
    given = asked.configuration
    slurm, distributed = given.slurm or Slurm(), given.distributed or Distributed()
    if _starts_ranks(workload):
        slurm = replace(slurm, ntasks_per_node=None)
        distributed = Distributed(launcher="srun", nnodes=distributed.nnodes, nproc_per_node=1)
    if workload.gpus != ALL_GPUS and not slurm.gpus_per_node and not slurm.gres:
        slurm = replace(slurm, gpus_per_node=workload.gpus)
    said = {
        "gpu_vendor": given.gpu_vendor,
        "env_vars": {**workload.env_vars, **given.env_vars},
        "tools": given.tools,
        "window": given.window,
        "slurm": _said(replace(slurm, output_dir="")),
        "distributed": _said(distributed),
    }
    text = msgspec.json.encode({name: value for name, value in said.items() if value}).decode()
    options = ["--config", text, "--no-analyze", "-o", str(raw)]
    if image:
        options += ["--image", image]
    if workload.timeout_s is not None:
        options += ["--timeout", f"{workload.timeout_s:g}"]
    return ("launch", "slurm", *options, "--", *workload.command)


def _said(part: msgspec.Struct) -> dict[str, Any]:
    """What a part of a configuration says beside what it says anyway."""
    usual = msgspec.structs.asdict(type(part)())
    return {name: value for name, value in msgspec.structs.asdict(part).items() if value != usual[name]}


def _launcher(workload: Workload, asked: Asked) -> str:
    """The launcher of this machine that starts the ranks of a workload; empty where it is one process, or starts its
    ranks itself."""
    distributed = asked.configuration.distributed
    if distributed is None or workload.device or _starts_ranks(workload):
        return ""
    by = start_of(distributed).by
    if by == "itself" or (distributed.nproc_per_node or 1) * (distributed.nnodes or 1) == 1:
        return ""
    return "mpi" if by == "mpirun" else "torchrun"


def _starts_ranks(workload: Workload) -> bool:
    return PurePath(workload.command[0]).name in _LAUNCHERS


def visible_gpus(workload: Workload, asked: Asked) -> dict[str, str]:
    """The variable that shows the program the GPUs it takes; none where it takes all, or where it is set already."""
    name = _VISIBLE.get(asked.configuration.gpu_vendor.upper(), _VISIBLE_ON_AMD)
    if name in asked.environment or name in workload.env_vars:
        return {}
    listed = asked.configuration.docker_gpus
    if listed and listed != "all":
        return {name: listed}
    distributed = asked.configuration.distributed
    if workload.gpus == ALL_GPUS or (distributed and (distributed.nproc_per_node or 1) > workload.gpus):
        return {}
    return {name: ",".join(map(str, range(workload.gpus)))}


def combined(stored: Configuration, given: Configuration) -> Configuration:
    """The configuration of a build, with what is given for the run in place of it."""
    usual = Configuration()
    said = {name: getattr(given, name) for name in Configuration.__struct_fields__}
    changed = {name: value for name, value in said.items() if value != getattr(usual, name)}
    return msgspec.structs.replace(stored, **changed)


def where_of(workload: Workload, asked: Asked) -> Where:
    """Where a workload runs: in its image, if it has one and docker is here."""
    if workload.device:
        return "simulated"
    if asked.configuration.slurm is not None and asked.in_container:
        return "slurm"
    return "container" if needs_image(workload) and asked.has_docker and asked.in_container else "here"


def step_notices(workload: Workload, asked: Asked) -> tuple[str, ...]:
    """What the user should know before a workload starts."""
    return (
        *_here_instead(workload, asked),
        *_not_distributed(workload, asked),
        *_missing(workload, asked.environment),
    )


def _not_distributed(workload: Workload, asked: Asked) -> tuple[str, ...]:
    """A notice where the configuration asks for ranks, and the workload is started once."""
    given = asked.configuration
    keys = [name for name in ("slurm", "distributed") if getattr(given, name) is not None]
    if not keys:
        return ()
    if workload.device:
        return (f"{' and '.join(keys)} of the configuration: not used, it runs on the simulator",)
    if given.slurm is not None and not asked.in_container:
        return ("slurm of the configuration: not used, because of --here",)
    if given.distributed is not None and _starts_ranks(workload):
        return (f"{workload.command[0]} is left to start the ranks: it is started once on each node",)
    return ()


def _here_instead(workload: Workload, asked: Asked) -> tuple[str, ...]:
    if where_of(workload, asked) != "here" or not needs_image(workload) or not asked.in_container:
        return ()
    named = workload.image or f"that of {workload.dockerfile}"
    return (f"docker is not installed: runs on this machine, not in the image {named}",)


def _missing(workload: Workload, environment: Mapping[str, str]) -> tuple[str, ...]:
    unset = [name for name in workload.pass_env if not environment.get(name)]
    return (f"it may need {', '.join(unset)}, which this shell does not set",) if unset else ()


def _is_nvidia(configuration: Configuration) -> bool:
    return configuration.gpu_vendor.upper() == "NVIDIA"


def _simulated_preset(configuration: Configuration) -> tuple[str, ...]:
    """The preset that the tools of a configuration name, which is all of them that a simulated GPU knows."""
    preset = configured(configuration).preset
    return ("--preset", preset) if preset and "+" not in preset else ()
