"""The machine that programs see: its description, and the environment by which they find it."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocm_perf.arch.catalog import find_gpu
from rocm_perf.errors import NotSupportedError
from rocm_perf.softgpu.device import added_variables, describe, device_preload
from rocm_perf.softgpu.packages import Runtime
from rocm_perf.softgpu.topology import soft_gpus, target_version, write_topology

OLD = Runtime("7.2", Path("/cache/ld.so"), (Path("/cache/rocr"), Path("/cache/base")))
NEW = Runtime("7.2", None, OLD.libraries)


def properties(path: Path) -> dict[str, int]:
    pairs = (line.split() for line in path.read_text().splitlines())
    return {name: int(value) for name, value in pairs}


@pytest.mark.parametrize(
    ("gpu", "version", "simds", "wave"),
    [
        ("MI300X", 90402, 1216, 64),
        ("MI210", 90010, 416, 64),
        ("RX 7900 XTX", 110000, 192, 32),
        ("Radeon 8060S", 110501, 80, 32),
    ],
)
def test_a_gpu_is_described_as_the_catalogue_has_it(
    tmp_path: Path, gpu: str, version: int, simds: int, wave: int
) -> None:
    write_topology(tmp_path, soft_gpus(find_gpu(gpu)))
    node = properties(tmp_path / "nodes" / "1" / "properties")
    assert (node["gfx_target_version"], node["simd_count"], node["wave_front_size"]) == (version, simds, wave)
    # The runtimes multiply these; the arrays of a real chip may have a unit more, which is switched off.
    assert node["array_count"] * node["cu_per_simd_array"] * node["simd_per_cu"] >= simds
    assert properties(tmp_path / "nodes" / "0" / "properties")["simd_count"] == 0


def test_two_gpus_are_linked_with_each_other_and_the_host(tmp_path: Path) -> None:
    write_topology(tmp_path, soft_gpus(find_gpu("MI210"), 2))
    links = {
        (link["node_from"], link["node_to"])
        for link in map(properties, tmp_path.glob("nodes/*/io_links/*/properties"))
    }
    assert links == {(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)}
    for node in tmp_path.glob("nodes/*"):
        assert properties(node / "properties")["io_links_count"] == len(list((node / "io_links").iterdir()))


def test_a_chip_that_cannot_be_executed_is_refused() -> None:
    with pytest.raises(NotSupportedError, match=r"gfx906.*Known chips: gfx90a, gfx942"):
        soft_gpus(find_gpu("MI60"))


def test_a_chips_number_is_the_drivers() -> None:
    assert [target_version(gfx) for gfx in ("gfx906", "gfx90a", "gfx1151")] == [90006, 90010, 110501]


def test_only_an_older_machine_is_told_of_a_loader(tmp_path: Path) -> None:
    gpus = soft_gpus(find_gpu("MI300X"))
    for name, runtime in (("old", OLD), ("new", NEW)):
        (tmp_path / name).mkdir()
        describe(tmp_path / name, runtime, gpus)
    assert (
        "loader /cache/ld.so\nlibraries /cache/rocr:/cache/base\n"
        in (tmp_path / "old/device.txt").read_text()
    )
    assert "loader" not in (tmp_path / "new/device.txt").read_text()
    own = {"LD_LIBRARY_PATH": "/own", "LD_PRELOAD": "/own/a.so"}
    assert "LD_LIBRARY_PATH" not in added_variables(Path("/lib.so"), tmp_path, OLD, own)
    added = added_variables(Path("/lib.so"), tmp_path, NEW, own)
    assert added["LD_LIBRARY_PATH"] == "/cache/rocr:/cache/base:/own"
    assert added["LD_PRELOAD"] == "/lib.so:/own/a.so"


def test_the_runner_keeps_the_device_and_no_other_preloaded_library() -> None:
    preloads = "/cache/librocm_perf_softgpu.so:/tool.so"
    assert device_preload({"LD_PRELOAD": preloads}) == {"LD_PRELOAD": "/cache/librocm_perf_softgpu.so"}
    assert device_preload({"LD_PRELOAD": "/tool.so"}) == {}
