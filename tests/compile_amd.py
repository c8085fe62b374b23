"""Compiles the kernels of tests/kernels for real AMD chips, with the clang that the ziglang wheel brings."""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import pytest

from rocm_perf.optimize.builds.compilers import TARGET

KERNELS = Path(__file__).parent / "kernels"
ARCHS = ("gfx90a", "gfx942", "gfx1100", "gfx1151")
_REMARK = re.compile(r"remark:\s+(?P<what>[^:]+): (?P<value>\S+) \[-Rpass")
_FLAGS = (
    "-x", "hip", "--cuda-device-only", "--no-gpu-bundle-output", "-nogpulib", "-nogpuinc", "-O3", "-fuse-cuid=none",
    "-Rpass-analysis=kernel-resource-usage",
)  # fmt: skip


@dataclass(frozen=True)
class Compiled:
    """A code object, and what the compiler said about each of its kernels."""

    path: Path
    remarks: tuple[dict[str, str], ...]


@dataclass(frozen=True)
class Compiler:
    """Keeps what it compiled in a folder that all processes of a test run share."""

    folder: Path

    @classmethod
    def of_this_run(cls, factory: pytest.TempPathFactory) -> Compiler:
        if find_spec("ziglang") is None:
            pytest.skip("ziglang, whose clang compiles for AMD GPUs, is not installed")
        base = factory.getbasetemp()
        shared = base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base
        folder = shared / "compiled-amd"
        folder.mkdir(exist_ok=True)
        return cls(folder)

    def compile(self, name: str, arch: str, *flags: str) -> Compiled:
        """tests/kernels/NAME.hip for one architecture; once, whoever asks first."""
        return self.compile_file(KERNELS / f"{name}.hip", arch, *flags)

    def compile_file(self, source: Path, arch: str, *flags: str) -> Compiled:
        """A source for one architecture; once, whoever asks first. The last -O of the flags counts."""
        key = hashlib.sha256(" ".join((str(source), arch, *flags)).encode()).hexdigest()[:12]
        target = self.folder / f"{source.stem}.{arch.replace(':', '_')}.{key}.hsaco"
        said = target.with_suffix(".txt")
        with _alone(target):
            if not said.exists():
                argv = [*self.clang(), *_FLAGS, f"--offload-arch={arch}", *flags, "-o", str(target)]
                draft = said.with_suffix(".part")
                draft.write_text(_run([*argv, str(source)]))
                draft.rename(said)
        return Compiled(target, _remarks(said.read_text()))

    def compile_for_host(self, source: Path, *flags: str) -> Path:
        """A shared library for this machine from a source that is C++ there; once, whoever asks first."""
        key = hashlib.sha256(" ".join((str(source), *flags)).encode()).hexdigest()[:12]
        target = self.folder / f"{source.stem}.{key}.so"
        with _alone(target):
            if not target.exists():
                # Not `zig c++`, which would compile a C++ library of its own first; the machine's is linked.
                compiled, draft = target.with_suffix(".o"), target.with_suffix(".part.so")
                headers = str(Path(find_spec("ziglang").origin or "").parent / "lib" / "include")  # type: ignore[union-attr]
                argv = [sys.executable, "-m", "ziglang", "clang", TARGET, "-x", "c++", "-fPIC"]
                _run([*argv, "-idirafter", headers, *flags, "-c", "-o", str(compiled), str(source)])
                _run(["c++", "-shared", "-o", str(draft), str(compiled)])
                draft.rename(target)
        return target

    def host_library(self, target: Path, sections: dict[str, Path]) -> Path:
        """A shared library for this machine that carries the files as sections of these names."""
        source = target.with_suffix(".s")
        source.write_text(
            "".join(
                f'.section {name},"a",@progbits\n.p2align 12\n.incbin "{file}"\n'
                for name, file in sections.items()
            )
        )
        _run([sys.executable, "-m", "ziglang", "cc", "-nostdlib", "-shared", "-o", str(target), str(source)])
        return target

    def clang(self) -> list[str]:
        """The compiler, with a folder of tools in which `lld` is the linker that zig brings."""
        tools = self.folder / "tools"
        lld = tools / "lld"
        if not lld.exists():
            tools.mkdir(exist_ok=True)
            draft = tools / f"lld.{os.getpid()}"  # another process may look for it at this moment
            draft.write_text(f'#!/bin/sh\nshift 2\nexec "{sys.executable}" -m ziglang ld.lld "$@"\n')
            draft.chmod(0o755)
            draft.rename(lld)
        return [sys.executable, "-m", "ziglang", "clang", TARGET, "-B", str(tools)]


@contextmanager
def _alone(target: Path) -> Iterator[None]:
    """Nobody else makes this file meanwhile; others are made at the same time."""
    with target.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _run(argv: list[str]) -> str:
    done = subprocess.run(argv, capture_output=True, text=True, timeout=1800, check=False)
    assert done.returncode == 0, done.stderr
    return done.stderr


def _remarks(text: str) -> tuple[dict[str, str], ...]:
    """One mapping a kernel: {"Function Name": ..., "VGPRs": ..., "Occupancy [waves/SIMD]": ...}."""
    found: list[dict[str, str]] = []
    for match in _REMARK.finditer(text):
        if match["what"] == "Function Name":
            found.append({})
        found[-1][match["what"]] = match["value"]
    return tuple(found)
