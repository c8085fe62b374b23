"""From a workload to the command that records it: `rocm-perf profile` on this machine or in a container. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import msgspec

from rocm_perf.collect.request.configuration import Configuration, configured
from rocm_perf.fleet.job import recorded_part
from rocm_perf.fleet.workloads.container import Container
from rocm_perf.fleet.workloads.images import needs_image
from rocm_perf.fleet.workloads.workload import ALL_GPUS, Workload

RAW = "raw"  # folder of a run that holds what the profiler wrote
Where = Literal["here", "container", "simulated"]

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
    profile = profile_arguments(workload, folder / RAW, asked)
    argv = ("rocm-perf", *profile)
    if where == "container":
        container = Container(
            image=image,
            writable=(asked.working_folder, (asked.working_folder / folder).parent),
            readable=(Path(workload.folder),),
            variables=workload.pass_env,
            nvidia=_is_nvidia(asked.configuration),
        )
        argv = container.command(profile)
    return Step(
        workload=workload,
        where=where,
        argv=argv,
        folder=str(folder),
        image=image if where == "container" else "",
        notices=step_notices(workload, asked),
    )


def profile_arguments(workload: Workload, raw: Path, asked: Asked) -> tuple[str, ...]:
    """The arguments of rocm-perf that record a workload."""
    options = ["--no-analyze", "-o", str(raw)]
    if asked.stdout_to_stderr:
        options.append("--json")
    if workload.device:
        options += ["--device", workload.device, *_simulated_preset(asked.configuration)]
        return ("profile", *options, "--", *workload.command)
    if workload.timeout_s is not None:
        options += ["--timeout", f"{workload.timeout_s:g}"]
    if context := recorded_part(asked.configuration):
        options += ["--additional-context", msgspec.json.format(context, indent=-1)]
    for name, value in {**workload.env_vars, **visible_gpus(workload, asked)}.items():
        if name not in asked.configuration.env_vars:
            options += ["--env", f"{name}={value}"]
    return ("profile", *options, "--", *workload.command)


def visible_gpus(workload: Workload, asked: Asked) -> dict[str, str]:
    """The variable that shows the program the GPUs it takes; none where it takes all, or where it is set already."""
    name = _VISIBLE.get(asked.configuration.gpu_vendor.upper(), _VISIBLE_ON_AMD)
    if name in asked.environment or name in workload.env_vars:
        return {}
    listed = asked.configuration.docker_gpus
    if listed and listed != "all":
        return {name: listed}
    if workload.gpus == ALL_GPUS:
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
    return "container" if needs_image(workload) and asked.has_docker and asked.in_container else "here"


def step_notices(workload: Workload, asked: Asked) -> tuple[str, ...]:
    """What the user should know before a workload starts."""
    return (*_here_instead(workload, asked), *_missing(workload, asked.environment))


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
