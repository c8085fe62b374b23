"""Images with rocm-perf in them: the workload's own, and a layer on top of it. Building is docker's work."""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from importlib import metadata, resources
from pathlib import Path

import msgspec

from rocm_perf.collect.request.configuration import Configuration
from rocm_perf.errors import InputError
from rocm_perf.fleet.workloads.workload import Workload
from rocm_perf.version import __version__

STAGED = "CONTEXT"  # stands for the staged folder in a command that is only shown
_ODD = re.compile(r"[^a-z0-9]+")
_NOT_IN_A_TAG = re.compile(r"[^A-Za-z0-9_.-]")


class ImagePlan(msgspec.Struct, frozen=True, kw_only=True):
    """How the image of a workload is made."""

    image: str  # what it will be called
    base: str  # the workload's own image
    commands: tuple[tuple[str, ...], ...]  # in their order; STAGED stands for the staged folder


def needs_image(workload: Workload) -> bool:
    """Whether a workload runs in an image at all."""
    return bool(workload.image or workload.dockerfile) and not workload.device


def image_plan(
    workload: Workload, configuration: Configuration, registry: str = "", *, context: str = STAGED
) -> ImagePlan:
    """What docker has to do for the image of a workload; with a registry, the image is pushed there."""
    name = f"rocm-perf-{_ODD.sub('-', workload.name.lower()).strip('-') or 'workload'}"
    tag = _NOT_IN_A_TAG.sub("-", __version__)
    image = f"{registry.rstrip('/')}/{name}:{tag}" if registry else f"{name}:{tag}"
    base = workload.image or f"{name}-base:{tag}"
    commands: list[tuple[str, ...]] = []
    if not workload.image:
        file = dockerfile_of(workload, configuration)
        commands.append(("docker", "build", "--tag", base, "--file", str(file), workload.folder))
    commands.append(("docker", "build", "--tag", image, "--build-arg", f"ROCM_IMAGE={base}", context))
    if registry:
        commands.append(("docker", "push", image))
    return ImagePlan(image=image, base=base, commands=tuple(commands))


def dockerfile_of(workload: Workload, configuration: Configuration) -> Path:
    """The Dockerfile of a workload; models.json leaves out `.ubuntu.amd.Dockerfile`, which the configuration says."""
    named = Path(workload.folder, workload.dockerfile)
    system = (configuration.guest_os or "ubuntu").lower()
    vendor = (configuration.gpu_vendor or "amd").lower()
    full = named.with_name(f"{named.name}.{system}.{vendor}.Dockerfile")
    for file in (named, full):
        if file.is_file():
            return file
    raise InputError(f"{workload.name}: there is no {named}", f"nor {full.name} beside it")


def stage(folder: Path) -> None:
    """Fill a folder with what the layer is built from: this rocm-perf, and what it needs."""
    package = str(resources.files("rocm_perf"))
    shutil.copytree(package, folder / "rocm_perf", ignore=shutil.ignore_patterns("__pycache__"))
    requirements = "\n".join(_requirements(metadata.requires("rocm-perf") or ()))
    (folder / "requirements.txt").write_text(f"{requirements}\n", encoding="utf-8")
    recipe = resources.files("rocm_perf.fleet.workloads") / "shipped" / "Dockerfile"
    (folder / "Dockerfile").write_bytes(recipe.read_bytes())


def _requirements(given: Sequence[str]) -> list[str]:
    """What rocm-perf always needs, without its extras."""
    return [each for each in given if "extra ==" not in each]
