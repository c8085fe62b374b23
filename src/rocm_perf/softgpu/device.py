"""The device, ready for a program: a library to be loaded into it, and a folder that describes the GPUs. Programs find
both through their environment, and so do all programs that they start."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rocm_perf.backends import native_build
from rocm_perf.backends.native_build import Recipe
from rocm_perf.softgpu.build import executor, executor_flags
from rocm_perf.softgpu.packages import Runtime
from rocm_perf.softgpu.topology import SoftGpu, write_topology

FOLDER_VARIABLE = "ROCM_PERF_SOFTGPU"
_LIBRARY = "librocm_perf_softgpu.so"
_PRELOAD, _SEARCH = "LD_PRELOAD", "LD_LIBRARY_PATH"


@dataclass(frozen=True)
class Device:
    """A software machine that programs can be started on."""

    folder: Path
    environment: dict[str, str]  # what it adds to a program's own

    def command(self, application: Sequence[str]) -> list[str]:
        """What starts an application there: a shell that is on the device itself, and so are all that it starts."""
        return ["/bin/sh", "-c", 'exec "$@"', "sh", *application]

    def failures(self) -> tuple[str, ...]:
        """Why the device ended programs that ran on it."""
        return tuple(file.read_text().strip() for file in sorted(self.folder.glob("failure-*")))


def library(environment: Mapping[str, str] | None = None) -> Path:
    """The library that is the device; compiled unless that was done before."""
    variables = os.environ if environment is None else environment

    def recipe(compiler: str) -> Recipe:
        return Recipe(
            compiler=compiler,
            folders=("softgpu/device",),
            flags=executor_flags(),
            linked=(str(executor(variables)), "-ldl"),
            makes="library",
            exports="softgpu/device/exports.map",
        )

    return native_build.part(_LIBRARY, recipe, variables)


@contextmanager
def device(
    runtime: Runtime, gpus: Sequence[SoftGpu], environment: Mapping[str, str] | None = None
) -> Iterator[Device]:
    """A machine with these GPUs, for as long as the block lasts."""
    variables = os.environ if environment is None else environment
    shared = library(variables)
    with tempfile.TemporaryDirectory(prefix="rocm-perf-softgpu-") as name:
        folder = Path(name)
        describe(folder, runtime, gpus)
        yield Device(folder, added_variables(shared, folder, runtime, variables))


def describe(folder: Path, runtime: Runtime, gpus: Sequence[SoftGpu]) -> None:
    """Write what the device and the runtimes read."""
    write_topology(folder / "topology", gpus)
    (folder / "module").mkdir()
    (folder / "module" / "initstate").write_text("live\n")
    lines = [
        f"gpu {one.identifier} {one.render_minor} {one.memory_bytes} {one.pci_device} {one.gpu.gfx} {one.name}"
        for one in gpus
    ]
    if runtime.loader is not None:
        lines += [f"loader {runtime.loader}", f"libraries {':'.join(map(str, runtime.libraries))}"]
    (folder / "device.txt").write_text("".join(f"{line}\n" for line in lines))


def added_variables(
    shared: Path, folder: Path, runtime: Runtime, environment: Mapping[str, str]
) -> dict[str, str]:
    """The variables by which a program finds the device. A C library of its own is taken by the device itself."""
    preloaded = [str(shared), *environment.get(_PRELOAD, "").replace(":", " ").split()]
    added = {FOLDER_VARIABLE: str(folder), _PRELOAD: ":".join(preloaded)}
    if runtime.loader is None:
        own = environment.get(_SEARCH, "")
        added[_SEARCH] = ":".join([*map(str, runtime.libraries), *([own] if own else [])])
    return added


def device_preload(environment: Mapping[str, str]) -> dict[str, str]:
    """Of what is to be loaded into programs, the software GPU alone: the machine, not a tool."""
    entries = environment.get(_PRELOAD, "").replace(":", " ").split()
    own = [entry for entry in entries if Path(entry).name == _LIBRARY]
    return {_PRELOAD: own[0]} if own else {}
