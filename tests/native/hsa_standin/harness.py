"""Builds the AMD parts of capture and replay and the stand-in HSA runtime; runs captures and replays on them."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from shutil import which
from typing import Any

import pytest
from tests.native.once import compiled_once, key_of

from rocm_perf.backends.native_build import NATIVE, sources
from rocm_perf.replay.native import HSA_DEFINES

STANDIN = Path(__file__).parent
APP = STANDIN.parent / "hsa_app"
HEADER = Path("/usr/include/hsa/hsa_api_trace.h")
GRANULE = 2 << 20
_FLAGS = ("-std=c++17", "-O0", "-pthread", "-Wall", "-Wextra", "-Werror", "-Wno-missing-field-initializers")
_LIBRARY = ("-fPIC", "-shared", "-fvisibility=hidden")
_CAPTURE_SOURCES = ("common", "capture", "hsa", "hsa/capture")
_REPLAY_SOURCES = ("common", "replay", "hsa", "hsa/replay")
CAPTURE = "librocm_perf_capture_hsa.so"
NEWER_CAPTURE = "librocm_perf_capture_hsa_newer.so"
RUNTIME = "libhsa-runtime64.so.1"
_SECONDS = 180  # with a busy machine


@dataclass(frozen=True)
class Draft:
    """What a captured process left behind."""

    folder: Path

    def json(self, name: str) -> Any:
        return json.loads((self.folder / name).read_text())

    @property
    def account(self) -> Any:
        return self.json("capture.json")

    @property
    def dispatch(self) -> Any:
        return self.json("dispatch.json")

    @property
    def regions(self) -> list[dict[str, Any]]:
        return list(self.json("memory_regions.json")["regions"])

    @property
    def saved(self) -> list[dict[str, Any]]:
        return [region for region in self.regions if region["saved"]]

    @property
    def changed(self) -> list[dict[str, Any]]:
        return [region for region in self.saved if region["changed"]]

    def before(self, region: Mapping[str, Any]) -> bytes:
        return (self.folder / "memory" / f"region_{int(region['base'], 16):x}.bin").read_bytes()

    def after(self, region: Mapping[str, Any]) -> bytes:
        """The whole region as the kernel left it."""
        out = bytearray(self.before(region))
        if region["changed"]:
            data = (self.folder / "after" / f"region_{int(region['base'], 16):x}.bin").read_bytes()
            for offset, length in region["changed"]:
                out[offset : offset + length] = data[offset : offset + length]
        return bytes(out)


@dataclass(frozen=True)
class Ran:
    """How a process ended, and what it said."""

    status: int
    stdout: str
    stderr: str

    @property
    def answer(self) -> Any:
        return json.loads(self.stdout)


@dataclass(frozen=True)
class Bench:
    """Everything built, in one folder."""

    folder: Path
    one: Path
    two: Path

    def environment(self, **switches: str) -> dict[str, str]:
        """The stand-in's switches by their short names: KERNEL_MS="50"."""
        plain = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("STANDIN_", "HSA_", "ROCP_", "ROCM_PERF_"))
        }
        own = {f"STANDIN_{name}": value for name, value in switches.items()}
        return {
            **plain,
            "STANDIN_KERNELS": str(self.folder / "kernels.so"),
            "ROCM_PERF_HSA_LIBRARY": str(self.folder / RUNTIME),
            **own,
        }

    def program(self, scenario: str) -> list[str]:
        return [str(self.folder / "app"), scenario, str(self.one), str(self.two)]

    def run(self, scenario: str, environment: Mapping[str, str]) -> Ran:
        return ran(self.program(scenario), environment)

    def capture(
        self,
        scenario: str,
        kernel: str,
        folder: Path,
        *,
        library: str = CAPTURE,
        settings: Mapping[str, str] | None = None,
        **switches: str,
    ) -> tuple[Draft, Ran]:
        """A run with the tool; `settings` are the tool's own, by their short names."""
        draft = folder / "draft"
        draft.mkdir()
        words = {"DIR": str(draft), "KERNEL": kernel, "OUTPUTS": "1", **(settings or {})}
        tool = str(self.folder / library)
        environment = {
            **self.environment(**switches),
            **{f"ROCM_PERF_CAPTURE_{name}": value for name, value in words.items()},
            "HSA_TOOLS_LIB": tool,
            "ROCP_TOOL_LIBRARIES": tool,
        }
        done = self.run(scenario, environment)
        folders = list(draft.iterdir())
        assert len(folders) == 1, (folders, done)
        return Draft(folders[0]), done

    def replay(self, plan: Sequence[str], folder: Path, **switches: str) -> Ran:
        path = folder / "plan.txt"
        path.write_text("".join(f"{line}\n" for line in plan))
        return ran([str(self.folder / "replay_hsa"), str(path)], self.environment(**switches))


def reservations(draft: Draft) -> list[tuple[int, int]]:
    """Whole granules over all saved regions, merged."""
    out: list[tuple[int, int]] = []
    mapped = [region for region in draft.saved if region["kind"] != "global"]
    for base, size in sorted((int(region["base"], 16), region["size"]) for region in mapped):
        start, end = base // GRANULE * GRANULE, -(-(base + size) // GRANULE) * GRANULE
        if out and start <= out[-1][0] + out[-1][1]:
            out[-1] = (out[-1][0], max(out[-1][0] + out[-1][1], end) - out[-1][0])
        else:
            out.append((start, end - start))
    return out


def plan(draft: Draft, dumps: Path, *extra: str, mode: str = "run", code: Path | None = None) -> list[str]:
    """The contract's PLAN for a draft as it lies; later lines win over earlier ones."""
    dispatch = draft.dispatch
    lines = ["version 1", f"mode {mode}", "device 0", f"isa {dispatch['device']['gfx']}"]
    lines += [f"reserve 0x{base:x} {size}" for base, size in reservations(draft)]
    lines += _memory(draft, dumps)
    lines.append(f"code A {code or draft.folder / 'kernel.hsaco'}")
    kernarg = dispatch["kernarg"]
    lines += [
        f"kernel {dispatch['kernel']}",
        f"kernarg {kernarg['address'] or '-'} {kernarg['size']} {draft.folder / 'kernarg.bin'}",
        f"grid {_words(dispatch['grid'])}",
        f"workgroup {_words(dispatch['workgroup'])}",
        f"dynamic_lds {dispatch['dynamic_lds_bytes']}",
        f"private_segment {dispatch['private_segment_bytes']}",
        "iterations 1",
    ]
    return [*lines, *extra]


def _memory(draft: Draft, dumps: Path) -> Iterator[str]:
    for region in draft.saved:
        file = draft.folder / "memory" / f"region_{int(region['base'], 16):x}.bin"
        dump = dumps / f"{int(region['base'], 16):x}.bin"
        if region["kind"] == "global":
            yield f"global {region['name']} {region['size']} {file}"
            yield f"dump_global {region['name']} {region['size']} {dump}"
            continue
        yield f"load {region['base']} {region['size']} 0 {file}"
        yield f"dump {region['base']} {region['size']} {dump}"
        for offset, length in region["changed"]:
            yield f"restore 0x{int(region['base'], 16) + offset:x} {length} {offset} {file}"


def differing(draft: Draft, dumps: Path) -> list[str]:
    """The saved regions that a replay left otherwise than the program did."""
    return [
        str(region["base"])
        for region in draft.saved
        if (dumps / f"{int(region['base'], 16):x}.bin").read_bytes() != draft.after(region)
    ]


def _words(values: Sequence[int]) -> str:
    return " ".join(map(str, values))


def ran(argv: Sequence[str], environment: Mapping[str, str]) -> Ran:
    done = subprocess.run(
        argv, env=dict(environment), capture_output=True, text=True, timeout=_SECONDS, check=False
    )
    return Ran(done.returncode, done.stdout, done.stderr)


def build(config: pytest.Config) -> Path:
    """All binaries, compiled once for each state of their sources; several test processes may ask at once."""
    if which("g++") is None:
        pytest.skip("there is no g++")
    if not HEADER.is_file():
        pytest.skip("the HSA headers are not here (Debian: libhsa-runtime-dev)")
    if "hsa_amd_vmem" in HEADER.read_text():
        pytest.skip("the stand-in HSA runtime is written against Debian's older HSA headers")
    if config.cache is None:
        pytest.skip("pytest's cache, where the binaries are kept, is switched off")
    return compiled_once(config.cache.mkdir("hsa-standin"), "plain", _key(), _compile_all)


def _key() -> str:
    own = (file for folder in (STANDIN, APP) for file in folder.rglob("*") if file.suffix in {".cpp", ".h"})
    product = sources((*_CAPTURE_SOURCES, "replay", "hsa/replay"), (".cpp", ".h"))
    return key_of((*sorted(own), *product), *_FLAGS, *HSA_DEFINES)


def _compile_all(folder: Path) -> None:
    runtime = folder / RUNTIME
    shown = tuple(flag for flag in _LIBRARY if flag != "-fvisibility=hidden")
    link = (str(runtime), f"-Wl,-rpath,{folder}")
    capture = (*_LIBRARY, *map(str, sources(_CAPTURE_SOURCES)), "-ldl")
    replay = (*map(str, sources(_REPLAY_SOURCES)), "-ldl")
    standin = sorted(map(str, STANDIN.glob("*.cpp")))
    app = (str(APP / "app.cpp"), str(APP / "newer.cpp"))
    kernels = (str(APP / "kernels.cpp"), str(APP / "candidates.cpp"))
    with ThreadPoolExecutor(2) as pool:  # the largest first
        compiling = [
            pool.submit(_compile, folder / CAPTURE, *capture),
            pool.submit(_compile, folder / NEWER_CAPTURE, "-I", str(STANDIN / "newer"), *capture),
            pool.submit(_compile, runtime, *shown, f"-Wl,-soname,{RUNTIME}", *standin, "-ldl"),
            pool.submit(_compile, folder / "replay_hsa", *replay),
            pool.submit(_compile, folder / "kernels.so", *shown, *kernels),
        ]
        for one in compiling:
            one.result()
    _compile(folder / "app", *app, *link)


def _compile(target: Path, *arguments: str) -> None:
    argv = ["g++", *_FLAGS, *HSA_DEFINES, "-I", str(NATIVE), *arguments, "-o", str(target)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=1800, check=False)
    assert done.returncode == 0, done.stderr
