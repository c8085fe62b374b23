"""A software machine for the tests, and the programs that run on it."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from rocm_perf.arch.catalog import find_gpu
from rocm_perf.errors import RocmPerfError
from rocm_perf.replay import native
from rocm_perf.softgpu.device import device, library
from rocm_perf.softgpu.packages import library_folder, releases, root, runtime
from rocm_perf.softgpu.topology import soft_gpus
from tests.bundle_amd import bundle
from tests.compile_amd import Compiler

TESTS = Path(__file__).parents[1]
PROGRAMS = Path(__file__).parent / "programs"
_SECONDS = 120
# What a debug build of ROCr says at the end of programs that keep their signals.
_CHATTER = "SharedSignalPool"


@dataclass(frozen=True)
class Ran:
    """How a program on the machine ended, and what it said."""

    status: int
    stdout: str
    stderr: str
    failures: tuple[str, ...]  # why the device ended it

    @property
    def answer(self) -> Any:
        return json.loads(self.stdout)


@dataclass(frozen=True)
class Bench:
    """Programs and kernels, compiled, and the machines that they run on."""

    folder: Path
    compiler: Compiler

    def code(self, gfx: str = "gfx942") -> Path:
        # The newest version that ROCr 6.1 loads.
        return self.compiler.compile("softgpu_programs", gfx, "-mcode-object-version=5").path

    def hsa(self, scenario: str, gfx: str = "gfx942") -> list[str]:
        return [
            str(self._program("hsa_program", "rocr-7.2", "libhsa-runtime64.so.1")),
            scenario,
            str(self.code(gfx)),
        ]

    def hip(self, scenario: str = "") -> list[str]:
        program = self._program("hip_program", "hip-7.2", "libamdhip64.so.7")
        return [str(program), str(self.code()), str(self._fat_binary()), *([scenario] if scenario else [])]

    def run(
        self,
        command: Sequence[str],
        *,
        release: str = "7.2",
        gpu: str = "MI300X",
        count: int = 1,
        limit_s: int = _SECONDS,
    ) -> Ran:
        """Run a command on a machine of its own; it may start whatever it likes there."""
        with device(runtime(release), soft_gpus(find_gpu(gpu), count)) as machine:
            done = subprocess.run(
                machine.command(command),
                env={**os.environ, **machine.environment},
                cwd=TESTS.parent,
                capture_output=True,
                text=True,
                timeout=_SECONDS,
                check=False,
            )
            said = "".join(line for line in done.stderr.splitlines(keepends=True) if _CHATTER not in line)
            return Ran(done.returncode, done.stdout, said, machine.failures())

    def chain(self, program: Sequence[str], kernel: str, snapshot: Path, **machine: Any) -> Ran:
        """Capture a kernel of a program and replay it, all on the machine: see chain.py."""
        words = [sys.executable, "-m", "tests.softgpu.chain", kernel, str(snapshot), *program]
        return self.run(words, **machine)

    def runner_without(self, folder: Path, base: str, size: int) -> Path:
        """A folder with a runner in whose process an address range is taken from the beginning."""
        library = folder / "taken.so"
        flags = ["gcc", "-shared", "-fPIC", "-o", str(library), str(PROGRAMS / "taken.c")]
        subprocess.run(flags, check=True, timeout=_SECONDS)
        runner = folder / "replay_hsa"
        preload = f'LD_PRELOAD="$LD_PRELOAD:{library}" TAKEN={base}:{size}'
        runner.write_text(f'#!/bin/sh\n{preload} exec {native.part("AMD", "replay")} "$@"\n')
        runner.chmod(0o755)
        return folder

    def _fat_binary(self) -> Path:
        data = bundle({"gfx942": self.code().read_bytes()})
        target = self.folder / f"fat_binary-{hashlib.sha256(data).hexdigest()[:12]}"
        with _alone(self.folder):
            if not target.exists():  # a program that another process started may be reading it
                target.write_bytes(data)
        return target

    def _program(self, name: str, package: str, shared: str) -> Path:
        source = PROGRAMS / f"{name}.cpp"
        key = hashlib.sha256(source.read_bytes()).hexdigest()[:12]
        target = self.folder / f"{name}-{key}"
        with _alone(self.folder):
            if not target.exists():
                _compile(source, target, library_folder(root() / package) / shared)
        return target


def bench_of(config: pytest.Config, factory: pytest.TempPathFactory) -> Bench:
    """The programs of this run of the tests; skips where the runtimes or a compiler are not here."""
    if shutil.which("g++") is None:
        pytest.skip("there is no g++")
    if config.cache is None:
        pytest.skip("pytest's cache, where the programs are kept, is switched off")
    folder = config.cache.mkdir(f"softgpu-{platform.machine()}")
    with _alone(folder):
        _prepare()
    return Bench(folder, Compiler.of_this_run(factory))


def _prepare() -> None:
    """Build the native parts: once for all test processes, and before the first of them is timed."""
    try:
        for release in releases():
            runtime(release)
        for task in ("capture", "replay"):
            native.part("AMD", task)
        library()
    except RocmPerfError as error:
        pytest.skip(str(error))


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """A block that one test process is in at a time."""
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _compile(source: Path, target: Path, shared: Path) -> None:
    argv = [
        "g++", "-std=c++17", "-O1", "-Wall", "-Werror", "-Wno-unused-result", "-pthread", "-DLITTLEENDIAN_CPU",
        "-I", str(TESTS), "-idirafter", str(root() / "headers/usr/include"), str(source), str(shared),
        "-Wl,--allow-shlib-undefined",  # the library needs a newer C library than the linker has
        "-o", str(target),
    ]  # fmt: skip
    done = subprocess.run(argv, capture_output=True, text=True, timeout=_SECONDS, check=False)
    assert done.returncode == 0, done.stderr
