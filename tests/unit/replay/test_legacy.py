"""Captures in the layout that guides describe: they replay, and say what they lack."""

from __future__ import annotations

import json
import os
import struct
from pathlib import Path

import pytest

from rocm_perf.arch.codeobject import reader
from rocm_perf.errors import InputError
from rocm_perf.replay.info import describe
from rocm_perf.replay.load import read_snapshot
from rocm_perf.replay.plan import Options, plan_text
from rocm_perf.replay.replayer import ready
from rocm_perf.replay.store import unpack
from rocm_perf.replay.timing import time_replay
from rocm_perf.replay.verify import refused
from tests.compile_amd import Compiler
from tests.unit.replay.toys import BASE, code_text, floats

DISPATCH: dict[str, object] = {
    "mangled_name": "_Z5scalePf.kd",
    "demangled_name": "scale(float*) [clone .kd]",
    "agent_name": "gfx942",
    "isa_name": "amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-",
    "wavefront_size": 64,
    "kernel_object": 140_000,
    "grid": [64, 1, 1],
    "block": [16, 1, 1],
    "group_segment_size": 512,
    "private_segment_size": 16,
    "kernarg_size": 8,
    "dispatch_index": 2,
}


def written(folder: Path, **changes: object) -> Path:
    (folder / "memory").mkdir(parents=True)
    (folder / "dispatch.json").write_text(json.dumps({**DISPATCH, **changes}))
    (folder / "kernarg.bin").write_bytes(struct.pack("<Q", BASE))
    (folder / "kernel.hsaco").write_text(code_text(f"add 0x{BASE:x} 64 1"))
    region = {"base": BASE, "size": 4096, "is_pool": True, "is_vmem": False, "handle": 0}
    (folder / "memory_regions.json").write_text(json.dumps({"regions": [region]}))
    (folder / f"memory/region_{BASE:x}.bin").write_bytes(floats(*range(64)) + bytes(4096 - 256))
    return folder


def test_what_it_says(tmp_path: Path) -> None:
    snapshot = read_snapshot(written(tmp_path / "isolate_capture"))
    dispatch = snapshot.dispatch
    assert (dispatch.vendor, dispatch.kernel, dispatch.device.gfx) == ("AMD", "_Z5scalePf", "gfx942")
    assert (dispatch.grid, dispatch.workgroup, dispatch.dispatch) == ((64, 1, 1), (16, 1, 1), 3)
    assert (dispatch.group_segment_bytes, dispatch.private_segment_bytes, dispatch.kernarg.size) == (
        512,
        16,
        8,
    )
    info = describe(snapshot)
    assert (info.layout, info.checked_files, info.changed_bytes) == ("guides", 0, None)
    assert any("not verified" in words for words in info.missing)
    assert any("hashes" in words for words in info.missing)


def test_what_it_says_of_the_state_after_the_kernel_is_not_used(tmp_path: Path) -> None:
    """It does not hold that state: asking for its file was an internal error."""
    folder = written(tmp_path / "isolate_capture")
    regions = json.loads((folder / "memory_regions.json").read_text())
    regions["regions"][0]["changed"] = [[0, 4096]]
    (folder / "memory_regions.json").write_text(json.dumps(regions))
    assert read_snapshot(folder).changed == ()


def test_all_memory_is_restored(tmp_path: Path) -> None:
    snapshot = read_snapshot(written(tmp_path))
    files = {name: snapshot.path(name) for name in snapshot.manifest.files}
    text = plan_text(snapshot, files, tmp_path, Options())
    assert f"restore 0x{BASE:x} 4096 0 {tmp_path}/memory/region_{BASE:x}.bin\n" in text
    assert "\nkernarg - 8 " in text


@pytest.mark.usefixtures("runner")
def test_it_replays(tmp_path: Path) -> None:
    snapshot = read_snapshot(written(tmp_path / "capture", isa_name="sm_90", agent_name=""))
    with ready(snapshot) as replayer:  # the stand-in is no gfx942; without an ISA none is asked for
        assert time_replay(replayer, Options(iterations=2)).restored_bytes == 4096


def test_it_cannot_be_verified(tmp_path: Path) -> None:
    found = refused(read_snapshot(written(tmp_path)))
    assert found is not None
    assert "does not hold the state after the kernel" in found.reason


def test_a_region_that_is_missing_or_short(tmp_path: Path) -> None:
    folder = written(tmp_path)
    blob = folder / f"memory/region_{BASE:x}.bin"
    blob.write_bytes(b"short")
    with pytest.raises(InputError, match="holds 5 bytes of 4096"):
        read_snapshot(folder)
    blob.unlink()
    with pytest.raises(InputError, match=f"region_{BASE:x}.bin is missing"):
        read_snapshot(folder)


def test_what_cannot_be_checked_is_not_read(tmp_path: Path, reads: list[int]) -> None:
    """There are no hashes: gigabytes would be read for nothing."""
    folder = written(tmp_path)
    snapshot = read_snapshot(folder)
    before = list(reads)
    assert describe(snapshot).raw_bytes > 4096
    assert unpack(snapshot, tmp_path)["kernarg.bin"] == folder / "kernarg.bin"
    assert reads == before  # the two JSON files
    (folder / "kernarg.bin").write_bytes(b"")
    with pytest.raises(InputError, match=r"kernarg\.bin has 0 bytes instead of 8"):
        describe(snapshot)


@pytest.mark.parametrize(
    "name", ["dispatch.json", "kernarg.bin", "kernel.hsaco", f"memory/region_{BASE:x}.bin"]
)
def test_a_pipe_in_place_of_a_file(tmp_path: Path, name: str) -> None:
    folder = written(tmp_path)
    (folder / name).unlink()
    os.mkfifo(folder / name)
    with pytest.raises(InputError, match=f"{name} is not a file"):
        read_snapshot(folder)


@pytest.mark.parametrize(
    "change",
    [
        {"isa_name": "gfx942\ndump 0x510000000000 160000 /victim"},
        {"isa_name": "amdgcn-amd-amdhsa--gfx942\tx:xnack-"},
        {"isa_name": "", "agent_name": "gfx942\nx"},
        {"mangled_name": "a b"},
        {"mangled_name": "a\nb"},
        {"grid": [1 << 40]},
        {"grid": [64, 1, 1, 2]},
        {"block": [2048]},
        {"private_segment_size": -1},
        {"group_segment_size": 1 << 32},
        {"kernarg_address": "zz"},
        {"dispatch_index": -2},
    ],
)
def test_launches_that_cannot_have_been(tmp_path: Path, change: dict[str, object]) -> None:
    with pytest.raises(InputError, match=r"dispatch\.json is damaged"):
        read_snapshot(written(tmp_path, **change))


def test_arguments_that_are_far_too_large(tmp_path: Path) -> None:
    folder = written(tmp_path)
    os.truncate(folder / "kernarg.bin", 1 << 40)
    with pytest.raises(InputError, match="there can be no arguments of 1099511627776 bytes"):
        read_snapshot(folder)


@pytest.mark.parametrize("change", [{"mangled_name": ""}, {"grid": [0]}, {"grid": "all"}, {"block": []}])
def test_launches_that_make_no_sense(tmp_path: Path, change: dict[str, object]) -> None:
    folder = written(tmp_path, **change)
    if change == {"block": []}:  # one work-item a group, by default
        assert read_snapshot(folder).dispatch.workgroup == (1, 1, 1)
        return
    with pytest.raises(InputError, match="damaged"):
        read_snapshot(folder)


def test_dynamic_lds_is_what_the_code_does_not_declare(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    tile = Compiler.of_this_run(tmp_path_factory).compile("tile_gemm", "gfx942").path  # 2 KiB of LDS
    kernel = reader.read(tile)[0].kernels[0].name
    for place, (whole, dynamic) in enumerate(((2048 + 512, 512), (2048, 0), (0, 0))):
        folder = written(tmp_path / str(place), mangled_name=f"{kernel}.kd", group_segment_size=whole)
        (folder / "kernel.hsaco").write_bytes(tile.read_bytes())
        assert read_snapshot(folder).dispatch.dynamic_lds_bytes == dynamic
