"""The images of some workloads, built one after the other: one that fails does not keep the others back."""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from rocm_perf import user_program
from rocm_perf.collect.request.configuration import Configuration
from rocm_perf.collect.run.launch import exit_code, launch
from rocm_perf.errors import NotSupportedError, RocmPerfError
from rocm_perf.fleet.workloads.images import STAGED, ImagePlan, image_plan, needs_image, stage
from rocm_perf.fleet.workloads.manifest import BuildManifest, BuiltImage
from rocm_perf.fleet.workloads.workload import Workload

Say = Callable[[str], None]

NO_DOCKER = "docker is not installed"


class Build(msgspec.Struct, frozen=True, kw_only=True):
    """Which images are to be built, by the name of the workload; one without an image has none."""

    workloads: tuple[Workload, ...]
    configuration: Configuration
    registry: str
    plans: dict[str, ImagePlan]


class Built(msgspec.Struct, frozen=True, kw_only=True):
    """What was built."""

    manifest: BuildManifest
    failures: tuple[str, ...]
    exit_code: int


def planned(workloads: Sequence[Workload], configuration: Configuration, registry: str = "") -> Build:
    """The images that the workloads need. Nothing is built yet."""
    plans = {each.name: image_plan(each, configuration, registry) for each in workloads if needs_image(each)}
    return Build(workloads=tuple(workloads), configuration=configuration, registry=registry, plans=plans)


def has_docker() -> bool:
    return shutil.which("docker") is not None


def built(build: Build, say: Say, *, stdout_to_stderr: bool = False) -> Built:
    """Build every image, and describe what came of it."""
    images: dict[str, BuiltImage] = {}
    if build.plans and not has_docker():
        images = {name: _unbuilt(plan, NO_DOCKER) for name, plan in build.plans.items()}
    elif build.plans:
        with tempfile.TemporaryDirectory(prefix="rocm-perf-build-") as folder:
            stage(Path(folder))
            for name, plan in build.plans.items():
                say(f"{name}: building {plan.image} on {plan.base}")
                images[name] = _image(plan, folder, stdout_to_stderr=stdout_to_stderr)
    failures = tuple(f"{name}: no image: {image.reason}" for name, image in images.items() if not image.built)
    return Built(
        manifest=_manifest(build, images),
        failures=failures,
        exit_code=NotSupportedError.exit_code if failures else 0,
    )


def _image(plan: ImagePlan, context: str, *, stdout_to_stderr: bool) -> BuiltImage:
    begun = time.monotonic()
    for command in plan.commands:
        argv = tuple(context if word == STAGED else word for word in command)
        try:
            ended = launch(
                argv,
                user_program.environment(),
                stdout=sys.stderr.fileno() if stdout_to_stderr else None,
                watch_stderr=False,
            )
        except RocmPerfError as error:
            return _unbuilt(plan, str(error))
        if ended.interrupted:
            raise KeyboardInterrupt
        if ended.status:
            return _unbuilt(plan, f"docker {command[1]} ended with {exit_code(ended.status)}")
    return BuiltImage(
        docker_image=plan.image,
        base_image=plan.base,
        build_duration=round(time.monotonic() - begun, 3),
    )


def _unbuilt(plan: ImagePlan, reason: str) -> BuiltImage:
    return BuiltImage(docker_image=plan.image, base_image=plan.base, built=False, reason=reason)


def _manifest(build: Build, images: dict[str, BuiltImage]) -> BuildManifest:
    failed = sum(not image.built for image in images.values())
    context = msgspec.to_builtins(build.configuration)
    usual = msgspec.to_builtins(Configuration())
    return BuildManifest(
        built_images=images,
        built_models={each.name: each for each in build.workloads},
        context={name: value for name, value in context.items() if value != usual[name]},
        registry=build.registry,
        summary={"total": len(build.workloads), "images": len(images) - failed, "failed": failed},
    )
