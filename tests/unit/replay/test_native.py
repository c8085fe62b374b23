"""Building the native parts: once, with the machine's compiler, or words about what is missing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rocm_perf.errors import NotSupportedError, OutputError, ToolAbsentError
from rocm_perf.replay import native

COMPILER = """#!/bin/sh
echo "$@" >> "{log}"
while [ "$1" != -o ]; do shift; done
[ -z "{fail}" ] || {{ echo "x.cpp:1: error: {fail}" >&2; exit 1; }}
echo built > "$2"
"""


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """A machine with a compiler that notes what it is asked for, and ROCm's and CUDA's headers."""
    compiler(tmp_path)
    hsa = ("hsa_ext_amd.h", "hsa_api_trace.h")
    cuda = ("cuda/include/cuda.h", "cuda/include/cupti.h")
    for header in (*(f"rocm/include/hsa/{name}" for name in hsa), *cuda):
        file = tmp_path / header
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    (tmp_path / "rocm/.info").mkdir()
    (tmp_path / "rocm/.info/version").write_text("7.2.0")
    (tmp_path / "cuda/lib64").mkdir()
    (tmp_path / "cuda/lib64/libcupti.so").touch()
    monkeypatch.setattr(native, "_ROOT", tmp_path / "root")
    return {
        "PATH": f"{tmp_path}:{os.defpath}",
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "ROCM_PATH": str(tmp_path / "rocm"),
        "CUDA_HOME": str(tmp_path / "cuda"),
    }


def compiler(folder: Path, fail: str = "") -> None:
    file = folder / "c++"
    file.write_text(COMPILER.format(log=folder / "log", fail=fail))
    file.chmod(0o755)


def test_it_is_built_once(machine: dict[str, str], tmp_path: Path) -> None:
    for vendor, task in (("AMD", "capture"), ("AMD", "replay"), ("NVIDIA", "capture"), ("NVIDIA", "replay")):
        first = native.part(vendor, task, machine)  # type: ignore[arg-type]  # a loop over all
        assert first.read_text() == "built\n"
        assert native.part(vendor, task, machine) == first  # type: ignore[arg-type]
    lines = (tmp_path / "log").read_text().splitlines()
    compiled, linked = ([line for line in lines if (" -c " in line) is wanted] for wanted in (True, False))
    assert len(linked) == 4
    assert ["-shared" in line for line in linked] == [True, False, True, False]
    assert ["libcupti.so" in line for line in linked] == [False, False, True, False]
    of_hsa = [line for line in compiled if "native/hsa/" in line]
    assert of_hsa
    assert all("-DLITTLEENDIAN_CPU" in line for line in of_hsa)
    assert not list((tmp_path / "cache").rglob("build-*"))


def test_another_compiler_is_another_build(machine: dict[str, str], tmp_path: Path) -> None:
    first = native.part("AMD", "replay", machine)
    (tmp_path / "other").mkdir()
    compiler(tmp_path / "other")
    assert native.part("AMD", "replay", {**machine, "PATH": f"{tmp_path}/other:{os.defpath}"}) != first


def test_what_does_not_compile(machine: dict[str, str], tmp_path: Path) -> None:
    compiler(tmp_path, fail="no such header")
    with pytest.raises(NotSupportedError, match=r"does not compile here.*no such header") as caught:
        native.part("AMD", "replay", machine)
    assert caught.value.exit_code == 4
    assert not list((tmp_path / "cache").rglob("replay_hsa"))


def test_what_is_missing(machine: dict[str, str], tmp_path: Path) -> None:
    with pytest.raises(ToolAbsentError, match="no C\\+\\+ compiler"):
        native.part("AMD", "replay", {**machine, "PATH": ""})
    (tmp_path / "rocm/include/hsa/hsa_ext_amd.h").unlink()
    with pytest.raises(ToolAbsentError, match="headers of HSA"):
        native.part("AMD", "replay", machine)
    (tmp_path / "cuda/include/cupti.h").unlink()
    with pytest.raises(ToolAbsentError, match="CUPTI"):
        native.part("NVIDIA", "capture", machine)


def test_a_cache_that_cannot_be_written(machine: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "cache").touch()
    with pytest.raises(OutputError, match="XDG_CACHE_HOME"):
        native.part("AMD", "replay", machine)


def test_a_runner_that_others_could_have_written_is_not_run(machine: dict[str, str]) -> None:
    native.part("AMD", "replay", machine).chmod(0o722)
    with pytest.raises(NotSupportedError, match="other users can write"):
        native.part("AMD", "replay", machine)


def test_parts_that_were_built_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "replay_hsa").touch()
    environment = {"ROCM_PERF_NATIVE_DIR": str(tmp_path)}
    assert native.part("AMD", "replay", environment) == tmp_path / "replay_hsa"
    with pytest.raises(ToolAbsentError, match="there is no replay_cuda"):
        native.part("NVIDIA", "replay", environment)


def test_whose_gpus_are_here(tmp_path: Path) -> None:
    assert native.present_vendors(tmp_path) == ()
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev/nvidiactl").touch()
    assert native.present_vendors(tmp_path) == ("NVIDIA",)
    (tmp_path / "dev/kfd").touch()
    assert native.present_vendors(tmp_path) == ("AMD", "NVIDIA")
