"""Probing laid-out machines, with the stand-ins for the vendors' tools."""

from __future__ import annotations

import os
import platform
import subprocess
import time
from pathlib import Path

import pytest

from rocm_perf.backends import host
from rocm_perf.backends.amd import probe as amd
from rocm_perf.backends.probe import probe_machine
from tests.fake_tools import fake_path
from tests.unit.backends.machines import CHIPS, lay_out_amd, lay_out_host, lay_out_nvidia, write

BARE = {"PATH": ""}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "root"


def script(path: Path, text: str) -> None:
    write(path, f"#!/bin/sh\n{text}\n").chmod(0o755)


@pytest.mark.parametrize(
    ("gfx", "name", "units"),
    [
        ("gfx942", "AMD Instinct MI300X", 304),
        ("gfx90a", "AMD Instinct MI210", 104),
        ("gfx1100", "", 96),  # one number for several products
        ("gfx1151", "", 40),
    ],
)
def test_the_kernels_own_listing_needs_no_tool(root: Path, gfx: str, name: str, units: int) -> None:
    machine = probe_machine(BARE, lay_out_amd(root, gfx, count=2, rocms=("7.2.0",)))
    first, second = machine.gpus
    assert (first.gfx, first.compute_units, first.node, first.index) == (gfx, units, 2, 0)
    assert first.name == name
    assert first.pci == "0000:c3:05.1"
    assert second.pci == "0000:c4:05.1"
    assert first.uuid == "GPU-a8673551b40c6374"
    assert first.memory_bytes == 192 << 30
    assert machine.rocm == "7.2.0"
    assert (machine.kernel_module, machine.driver) == ("amdgpu", "6.12.12")
    assert [node.path for node in machine.device_nodes] == [
        "/dev/kfd",
        "/dev/dri/renderD128",
        "/dev/dri/renderD129",
    ]
    assert machine.tools == {}


def test_rocminfo_names_what_the_catalogue_cannot_tell_apart(root: Path, tmp_path: Path) -> None:
    lay_out_amd(root, "gfx1100", count=2)
    environment = fake_path(tmp_path, ["rocminfo"], FAKE_GPU="gfx1100", FAKE_GPU_COUNT="2")
    found = probe_machine(environment, root).gpus
    assert [(gpu.name, gpu.pci) for gpu in found] == [
        ("Radeon RX 7900 XTX", "0000:c3:05.1"),
        ("Radeon RX 7900 XTX", "0000:c4:05.1"),
    ]


@pytest.mark.parametrize("gfx", CHIPS)
def test_names_of_chips(gfx: str) -> None:
    assert amd.gfx_name(CHIPS[gfx][0]) == gfx
    assert amd.gfx_name(100300) == "gfx1030"
    assert amd.gfx_name(90500) == "gfx950"


@pytest.mark.launches
@pytest.mark.parametrize("rocm", ["5.7", "6.2", "6.4", "7.0", "7.2", "10.0"])
@pytest.mark.parametrize("gfx", ["gfx942", "gfx1151"])
def test_without_a_listing_the_tools_tell(root: Path, tmp_path: Path, gfx: str, rocm: str) -> None:
    tools = ["rocprofv3", "rocprof", "rocminfo"]
    machine = probe_machine(
        fake_path(tmp_path, tools, FAKE_GPU=gfx, FAKE_ROCM=rocm, FAKE_GPU_COUNT="2"), root
    )
    assert [gpu.gfx for gpu in machine.gpus] == [gfx, gfx]
    assert [gpu.index for gpu in machine.gpus] == [0, 1]
    assert machine.gpus[1].node == 3
    assert machine.gpus[0].name.startswith(("AMD Instinct", "Radeon"))
    assert (machine.tool("rocprof") is None) == (rocm == "10.0")
    assert machine.rocm == f"{rocm}.0"
    usable = machine.tool("rocprofv3")
    assert (usable is None) == (rocm == "5.7")
    if usable:
        assert usable.rocm == f"{rocm}.0"


def test_amd_smi_is_the_last_resort(root: Path, tmp_path: Path) -> None:
    for rocm in ("6.4", "7.2"):  # whose JSON differ
        machine = probe_machine(fake_path(tmp_path, ["amd-smi"], FAKE_ROCM=rocm), root)
        (gpu,) = machine.gpus
        assert (gpu.gfx, gpu.name, gpu.compute_units) == ("gfx942", "AMD Instinct MI300X", 304)
        assert (gpu.pci, gpu.memory_bytes) == ("0000:c3:00.0", 196592 << 20)


def test_a_container_that_may_not_use_a_gpu_does_not_see_it(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lay_out_amd(root, count=2)
    real = Path.read_text
    shut = root / "sys/class/kfd/kfd/topology/nodes/2/properties"

    def read(path: Path, *args: object, **more: object) -> str:
        if path == shut:
            raise PermissionError(1, "Operation not permitted")
        return real(path, *args, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(Path, "read_text", read)
    assert [gpu.node for gpu in probe_machine(BARE, root).gpus] == [3]


def test_no_gpu_at_all(root: Path) -> None:
    machine = probe_machine(BARE, lay_out_host(root))
    assert (machine.gpus, machine.vendor, machine.kernel_module, machine.rocm) == ((), None, "", "")
    assert machine.hidden_gpus == ()


def test_a_gpu_without_a_driver_is_on_the_bus(root: Path) -> None:
    for place, vendor, kind in (
        ("0000:c3:00.0", "0x1002", "0x038000"),
        ("0000:00:1f.0", "0x8086", "0x030000"),
        ("0000:c3:00.1", "0x1002", "0x040300"),  # its sound
    ):
        write(root / "sys/bus/pci/devices" / place / "vendor", f"{vendor}\n")
        write(root / "sys/bus/pci/devices" / place / "class", f"{kind}\n")
    assert probe_machine(BARE, root).hidden_gpus == ("AMD GPU at 0000:c3:00.0",)
    assert probe_machine(BARE, lay_out_amd(root)).hidden_gpus == ()


def test_the_driver_of_the_kernel_itself(root: Path) -> None:
    lay_out_amd(root)
    (root / "sys/module/amdgpu/version").unlink()
    assert probe_machine(BARE, root).driver == "of Linux 6.8.0-45-generic"


def test_several_releases_of_rocm(root: Path) -> None:
    lay_out_amd(root, rocms=("6.4.1", "7.2.0", "10.0.0"))
    write(root / "opt/rocm/core-7.14/.info/version", "7.14.0\n")
    machine = probe_machine(BARE, root)
    names = [Path(path).name for path in machine.rocm_paths]
    assert names == ["rocm-10.0.0", "core-7.14", "rocm-7.2.0", "rocm-6.4.1"]
    assert machine.rocm == "10.0.0"
    chosen = probe_machine({"PATH": "", "ROCM_PATH": str(root / "opt/rocm-6.4.1")}, root)
    assert chosen.rocm == "6.4.1"
    assert len(chosen.rocm_paths) == 4


def test_a_link_and_its_target_are_one_release(root: Path) -> None:
    lay_out_amd(root, rocms=("6.4.1", "7.2.0"))
    (root / "opt/rocm").symlink_to(root / "opt/rocm-6.4.1")
    machine = probe_machine(BARE, root)
    assert [Path(path).name for path in machine.rocm_paths] == ["rocm-6.4.1", "rocm-7.2.0"]
    assert machine.rocm == "6.4.1"


def test_tools_beside_path(root: Path) -> None:
    lay_out_amd(root, rocms=("7.2.0",))
    script(root / "opt/rocm-7.2.0/bin/rocprofv3", "echo '   version: 1.1.0'")
    write(root / "opt/rocm-7.2.0/lib/librocprof-trace-decoder.so", "")
    machine = probe_machine(BARE, root)
    assert machine.tools["rocprofv3"].path == str(root / "opt/rocm-7.2.0/bin/rocprofv3")
    assert machine.tools["rocprofv3"].rocm == "7.2.0"
    assert machine.tools["att-decoder"].rocm == "7.2.0"


def test_the_decoder_where_the_environment_says(root: Path, tmp_path: Path) -> None:
    write(tmp_path / "own" / "librocprof-trace-decoder.so", "")
    machine = probe_machine({"PATH": "", "LD_LIBRARY_PATH": f"/nowhere::{tmp_path / 'own'}"}, root)
    assert machine.tools["att-decoder"].path == str(tmp_path / "own/librocprof-trace-decoder.so")


def test_h200_by_nvidia_smi(root: Path, tmp_path: Path) -> None:
    lay_out_nvidia(root, admin_only=1)
    machine = probe_machine(fake_path(tmp_path, ["nvidia-smi", "nvcc"], FAKE_GPU_COUNT="2"), root)
    first, second = machine.gpus
    assert (first.vendor, first.gfx, first.name) == ("NVIDIA", "sm_90", "NVIDIA H200")
    assert (second.index, second.pci, second.memory_bytes) == (1, "0000:07:00.0", 143771 << 20)
    assert (machine.driver, machine.kernel_module, machine.cuda) == ("580.159.04", "nvidia", "13.0")
    assert machine.counters_need_root
    assert machine.vendor == "NVIDIA"


@pytest.mark.parametrize("fault", ["", "permission"])
def test_h200_by_its_driver_alone(root: Path, tmp_path: Path, fault: str) -> None:
    lay_out_nvidia(root)
    environment = fake_path(tmp_path, ["nvidia-smi"], FAKE_FAULT=fault) if fault else BARE
    machine = probe_machine(environment, root)
    (gpu,) = machine.gpus
    assert (gpu.gfx, gpu.name, gpu.pci, gpu.uuid) == (
        "sm_90",
        "NVIDIA H200",
        "0000:00:06.0",
        "GPU-25a0436b-795b",
    )
    assert machine.driver == "580.159.04"
    assert not machine.counters_need_root


def test_both_vendors(root: Path) -> None:
    lay_out_nvidia(lay_out_amd(root))
    machine = probe_machine(BARE, root)
    assert [gpu.vendor for gpu in machine.gpus] == ["AMD", "NVIDIA"]
    assert machine.kernel_module == "amdgpu"


@pytest.mark.parametrize("prefix", ["usr/local/cuda-13.0", "usr/local/cuda-13.0/extras/CUPTI"])
def test_cupti_with_its_header(root: Path, prefix: str) -> None:
    write(root / "usr/local/cuda-12.4/lib64/libcupti.so.12", "")  # without the header
    write(root / prefix / "lib64/libcupti.so.2025.3.1", "")
    (root / prefix / "lib64/libcupti.so").symlink_to("libcupti.so.2025.3.1")
    write(root / prefix / "include/cupti.h", "")
    tools = probe_machine(BARE, root).tools
    assert tools["cupti"].path == str(root / prefix / "lib64/libcupti.so")
    assert tools["cupti"].version == "2025.3.1"
    assert tools["cupti.h"].path == str(root / prefix / "include/cupti.h")


@pytest.mark.parametrize(
    ("processor", "target"),
    [("x86_64", "x86_64-linux"), ("aarch64", "sbsa-linux"), ("aarch64", "aarch64-linux")],
)
def test_cupti_of_this_processor(
    root: Path, processor: str, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A toolkit may hold the libraries of other processors too."""
    monkeypatch.setattr(platform, "machine", lambda: processor)
    targets = root / "usr/local/cuda-13.0/targets"
    for folder in ("x86_64-linux", target, "riscv64-linux"):
        write(targets / folder / "lib/libcupti.so", "")
        write(targets / folder / "include/cupti.h", "")
    tools = probe_machine(BARE, root).tools
    assert tools["cupti"].path == str(targets / target / "lib/libcupti.so")
    assert tools["cupti.h"].path == str(targets / target / "include/cupti.h")


def test_cupti_in_debians_folder_of_this_processor(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    write(root / "usr/lib/x86_64-linux-gnu/libcupti.so", "")
    write(root / "usr/lib/aarch64-linux-gnu/libcupti.so", "")
    assert "aarch64" in probe_machine(BARE, root).tools["cupti"].path


def test_ncu_where_nvidia_installs_it(root: Path) -> None:
    for release in ("2024.1.0", "2025.3.1"):
        script(root / f"opt/nvidia/nsight-compute/{release}/ncu", f"echo Version {release}.0")
    found = probe_machine(BARE, root).tools["ncu"]
    assert found.version == "2025.3.1.0"


def lay_out_torch(tmp_path: Path, version: str) -> dict[str, str]:
    """A Python on PATH with a torch that must not be imported."""
    site = tmp_path / "site"
    write(site / "torch/__init__.py", f"open({str(tmp_path / 'imported')!r}, 'w').close()")
    write(site / "torch/version.py", version)
    python = tmp_path / "python/bin/python"
    write(python, f'#!/bin/sh\nPYTHONPATH="{site}" exec "{os.path.realpath("/proc/self/exe")}" "$@"\n').chmod(
        0o755
    )
    return {"PATH": str(python.parent)}


def test_torch_is_found_without_importing_it(root: Path, tmp_path: Path) -> None:
    version = (
        "from typing import Optional\n__all__ = ['__version__', 'cuda', 'hip']\n__version__ = '2.9.0+rocm6.4'\n"
        "cuda: Optional[str] = None\nhip: Optional[str] = '6.4.43482-0f2d60242'\n"
    )
    environment = lay_out_torch(tmp_path, version)
    for name in ("libamdhip64.so", "librocprofiler-sdk.so.0", "libtorch_hip.so", "libc10.so"):
        write(tmp_path / "site/torch/lib" / name, "")
    write(tmp_path / "site/_rocm_sdk_core/lib/libhsa-runtime64.so.1", "")
    torch = probe_machine(environment, root).torch
    assert torch is not None
    assert (torch.version, torch.hip, torch.cuda) == ("2.9.0+rocm6.4", "6.4.43482-0f2d60242", "")
    assert torch.vendored == ("libamdhip64.so", "libhsa-runtime64.so", "librocprofiler-sdk.so")
    assert torch.python == str(tmp_path / "python/bin/python")
    assert not (tmp_path / "imported").exists()


def test_torch_for_cuda_brings_cupti_along(root: Path, tmp_path: Path) -> None:
    environment = lay_out_torch(
        tmp_path, "__version__ = '2.11.0+cu130'\ncuda: Optional[str] = '13.0'\nhip = None\n"
    )
    write(tmp_path / "site/nvidia/cu13/lib/libcupti.so.13", "")
    write(tmp_path / "site/nvidia/cu13/include/cupti.h", "")
    machine = probe_machine(environment, root)
    assert machine.torch is not None
    assert (machine.torch.cuda, machine.torch.hip, machine.cuda) == ("13.0", "", "13.0")
    assert machine.tools["cupti"].version == "13"
    assert "cupti.h" in machine.tools


def test_a_python_without_torch_or_a_broken_one(root: Path, tmp_path: Path) -> None:
    script(tmp_path / "bin/python", "echo /x/torch/__init__.py; exit 1")
    assert probe_machine({"PATH": str(tmp_path / "bin")}, root).torch is None
    script(tmp_path / "bin/python", "echo")
    assert probe_machine({"PATH": str(tmp_path / "bin")}, root).torch is None


def test_tools_that_hang_crash_or_babble_do_not_stop_the_probe(root: Path, tmp_path: Path) -> None:
    lay_out_amd(root, rocms=("7.2.0",))
    for hanging in ("rocprofv3", "rocprofv2", "rocprof", "rocm-smi"):
        script(tmp_path / "bin" / hanging, "exec sleep 600")
    script(tmp_path / "bin/amd-smi", "kill -SEGV $$")
    script(tmp_path / "bin/hipcc", "head -c 100000 /dev/zero")
    script(tmp_path / "bin/nvidia-smi", "echo '}{,,,,,,'; echo '1,2'")
    script(tmp_path / "bin/rocminfo", "exec sleep 600")
    begin = time.monotonic()
    machine = probe_machine({"PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin"}, root)
    assert time.monotonic() - begin < 120  # not the 600 s that they sleep
    assert "gives no answer" in machine.tools["rocprofv3"].problem
    assert machine.tools["amd-smi"].problem == "crashes: SIGSEGV"
    assert machine.tools["hipcc"].version == ""
    assert len(machine.gpus) == 1
    assert machine.tool("rocprofv3") is None


def test_a_machine_without_tools_is_probed_without_starting_a_program(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lay_out_amd(root, rocms=("7.2.0",))
    monkeypatch.setattr(subprocess, "Popen", lambda *_, **__: pytest.fail("a program was started"))
    assert probe_machine(BARE, root).gpus


def test_the_machine_that_runs_this_test() -> None:
    machine = probe_machine()
    assert machine.host
    assert machine.groups == host.group_names(Path("/"))
