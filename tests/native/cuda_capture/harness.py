"""Builds the library that captures CUDA programs, the stand-in driver and the program; runs its scenes."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from rocm_perf.backends.native_build import NATIVE, sources
from rocm_perf.backends.nvidia.build import includes
from tests.native.cuda_capture.cubins import cubin
from tests.native.cupti import SHIMS, compiler, header
from tests.native.once import compiled_once, key_of

HERE = Path(__file__).parent
_PRODUCT = ("common", "capture", "cuda", "cuda/capture")
CAPTURE, DRIVER, PROGRAM = "librocm_perf_capture_cuda.so", "libcuda.so.1", "program"
FEW_THREADS = "few_threads.so"
OLDEST = 12040  # older headers do not tell a kernel's parameters
_SECONDS = 180  # with a busy machine
_FLAGS = (
    "-std=c++17",
    "-O1",
    "-g",
    "-pthread",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-Wno-missing-field-initializers",
)
_SANITISERS = {
    "ASAN_OPTIONS": "detect_leaks=0:detect_stack_use_after_return=1",
    "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
    "TSAN_OPTIONS": "halt_on_error=0:exitcode=66",
}


@dataclass(frozen=True)
class Ended:
    """How the program ended, and what its capture left."""

    status: int
    stdout: str
    stderr: str
    folder: Path | None

    def json(self, name: str) -> Any:
        assert self.folder, self
        return json.loads((self.folder / name).read_text())

    @property
    def account(self) -> Any:
        return self.json("capture.json")

    @property
    def regions(self) -> list[dict[str, Any]]:
        return list(self.json("memory_regions.json")["regions"])

    @property
    def undisturbed(self) -> bool:
        return self.status == 0 and self.stdout.endswith("went on to its end\n")

    def number(self, region: Mapping[str, Any], state: str) -> int:
        """The first number of a region, in "memory" (before) or "after"."""
        assert self.folder
        data = (self.folder / state / f"region_{int(region['base'], 16):x}.bin").read_bytes()
        return int.from_bytes(data[:8], "little")


@dataclass(frozen=True)
class Bench:
    """Everything built, in one folder."""

    folder: Path

    def run(
        self,
        scene: str,
        folder: Path,
        *words: bytes,
        code: bytes | None = None,
        threads: int | None = None,
        **settings: str,
    ) -> Ended:
        """A scene with the capture; `settings` are the capture's own, by their short names."""
        draft = Path(settings.setdefault("DIR", str(folder / "draft")))
        draft.mkdir(exist_ok=True)
        (folder / "one.cubin").write_bytes(code or ONE)
        (folder / "other.cubin").write_bytes(OTHER)
        own = {"KERNEL": "increment", "OUTPUTS": "1", **settings}
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("ROCM_PERF_")},
            **{f"ROCM_PERF_CAPTURE_{name}": value for name, value in own.items()},
            **_SANITISERS,
            "CUDA_INJECTION64_PATH": str(self.folder / CAPTURE),
        }
        if threads is not None:
            environment |= {"LD_PRELOAD": str(self.folder / FEW_THREADS), "FEW_THREADS": str(threads)}
        argv: list[Path | str | bytes] = [
            self.folder / PROGRAM,
            scene,
            folder / "one.cubin",
            folder / "other.cubin",
            *words,
        ]
        done = subprocess.run(argv, env=environment, capture_output=True, timeout=_SECONDS, check=False)
        left = list(draft.iterdir()) if draft.exists() else []
        stdout, stderr = (text.decode(errors="replace") for text in (done.stdout, done.stderr))
        if "ThreadSanitizer: unexpected memory mapping" in stderr:
            pytest.skip("the thread sanitiser cannot run with this system's address randomisation")
        return Ended(done.returncode, stdout, stderr, left[0] if left else None)


ONE = cubin(("increment", "nothing"), b"one's code")
OTHER = cubin(("increment", "other"), b"other code")


def build(config: pytest.Config, temporary: Path, sanitiser: str = "") -> Bench:
    """All binaries, compiled once for each state of their sources; several test processes may ask at once."""
    cupti_h, cxx = header(), compiler()
    if (version := _cuda_version(cupti_h)) < OLDEST:
        pytest.skip(f"capture needs the headers of CUDA 12.4 or newer; those here are of {version}")
    cache: pytest.Cache | None = getattr(config, "cache", None)  # absent where pytest's is switched off
    root = cache.mkdir("cuda-capture") if cache else temporary
    kind = sanitiser.replace(",", "-") or "plain"
    return Bench(
        compiled_once(
            root, kind, _key(cupti_h, cxx), lambda folder: _compile_all(cxx, cupti_h, folder, sanitiser)
        )
    )


def _cuda_version(cupti_h: Path) -> int:
    for folder in includes(cupti_h):
        if (cuda_h := folder / "cuda.h").is_file():
            found = re.search(r"#define CUDA_VERSION (\d+)", cuda_h.read_text(errors="replace"))
            return int(found[1]) if found else 0
    return 0


def _key(cupti_h: Path, cxx: str) -> str:
    own = (file for file in HERE.glob("*") if file.suffix in {".cpp", ".h"})
    files = (*sorted(own), *sources(_PRODUCT, (".cpp", ".h")))
    return key_of(files, *_FLAGS, cxx, str(cupti_h))


def _compile_all(cxx: str, cupti_h: Path, folder: Path, sanitiser: str) -> None:
    headers = [word for place in includes(cupti_h) for word in ("-isystem", str(place))]
    quickly = ("-O0", "-g1")  # in half of the time, and with no less found
    checks = (f"-fsanitize={sanitiser}", "-fno-sanitize-recover=undefined", *quickly) if sanitiser else ()
    shared = ("-fPIC", "-shared")
    driver = folder / DRIVER
    standin = (HERE / "standin_cuda.cpp", HERE / "standin_cupti.cpp")
    parts: list[tuple[str | Path, ...]] = [
        (*shared, f"-Wl,-soname,{DRIVER}", *standin, "-ldl", "-o", driver),
        (*shared, "-fvisibility=hidden", *sources(_PRODUCT), "-ldl", "-o", folder / CAPTURE),
        (*shared, HERE / "few_threads.cpp", "-ldl", "-o", folder / FEW_THREADS),
        (HERE / "program.cpp", driver, f"-Wl,-rpath,{folder}", "-o", folder / PROGRAM),
    ]
    for part in parts:
        argv = [cxx, *_FLAGS, *checks, *headers, "-I", NATIVE, "-idirafter", SHIMS, *part]
        done = subprocess.run(argv, capture_output=True, text=True, timeout=1800, check=False)
        if sanitiser and any(words in done.stderr for words in ("-fsanitize", "cannot find")):
            pytest.skip(f"the compiler has no {sanitiser} sanitiser: {done.stderr[-200:]}")
        assert done.returncode == 0, done.stderr
