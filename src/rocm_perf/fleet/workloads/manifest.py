"""`build_manifest.json`: which workloads were built into which images. `run` reads ours and that of other benchmark
runners, whose layout it keeps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from rocm_perf.collect.request.configuration import Configuration
from rocm_perf.errors import InputError
from rocm_perf.files import read_text, write_whole
from rocm_perf.fleet.workloads.workload import Workload, workload_of
from rocm_perf.text import encode_json

FILE_NAME = "build_manifest.json"
SCHEMA_VERSION = 1


class BuiltImage(msgspec.Struct, frozen=True, kw_only=True):
    """An image of a manifest."""

    docker_image: str
    base_image: str = ""
    built: bool = True
    reason: str = ""  # why it was not built
    build_duration: float | None = None  # seconds


class BuildManifest(msgspec.Struct, frozen=True, kw_only=True):
    """The content of build_manifest.json; images and workloads have the same keys."""

    schema_version: int = SCHEMA_VERSION
    built_images: dict[str, BuiltImage] = {}
    built_models: dict[str, Workload] = {}
    context: dict[str, Any] = {}  # the configuration of the build
    registry: str = ""
    summary: dict[str, int] = {}


class Prepared(msgspec.Struct, frozen=True, kw_only=True):
    """What a manifest says to `run`: workloads, their images, and the configuration of the build."""

    workloads: tuple[Workload, ...]
    images: dict[str, BuiltImage] = {}  # by the name of the workload
    configuration: Configuration = Configuration()
    registry: str = ""  # where the images were pushed


def write_manifest(manifest: BuildManifest, path: Path) -> None:
    """Write the file; the one of an earlier build is replaced."""
    text = encode_json(manifest) + b"\n"
    write_whole(path, lambda draft: draft.write_bytes(text), overwrite=True)


def read_manifest(path: Path) -> Prepared:
    """The workloads and images of a manifest."""
    if not path.exists():
        raise InputError(
            f"there is no {path}", next_step="rocm-perf build --tags T writes it; run --tags T needs none."
        )
    try:
        document = msgspec.json.decode(read_text(path), type=dict[str, Any])
        models = msgspec.convert(document.get("built_models", {}), dict[str, dict[str, Any]])
        images = msgspec.convert(document.get("built_images", {}), dict[str, BuiltImage])
        said = {**document.get("context", {}), **document.get("deployment_config", {})}
        configuration = msgspec.convert(said, Configuration)
    except (msgspec.DecodeError, RecursionError, TypeError) as error:
        raise InputError(f"{path} is not a build manifest", str(error)) from error
    if not models:
        raise InputError(f"{path} names no workload", "it has no built_models")
    folder = str(path.absolute().parent)
    workloads = {key: workload_of(entry, f"{path}, {key}", folder) for key, entry in models.items()}
    return Prepared(
        workloads=tuple(workloads.values()),
        images={workloads[key].name: image for key, image in images.items() if key in workloads},
        configuration=configuration,
        registry=str(document.get("registry") or ""),
    )
