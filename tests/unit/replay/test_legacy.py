"""Captures in the layout that guides describe: they replay, and say what they lack."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest

from rocm_perf.errors import InputError
from rocm_perf.replay.info import describe
from rocm_perf.replay.plan import Options, plan_text
from rocm_perf.replay.replayer import ready
from rocm_perf.replay.snapshot import read_snapshot
from rocm_perf.replay.timing import time_replay
from rocm_perf.replay.verify import refused
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


@pytest.mark.parametrize("change", [{"mangled_name": ""}, {"grid": [0]}, {"grid": "all"}, {"block": []}])
def test_launches_that_make_no_sense(tmp_path: Path, change: dict[str, object]) -> None:
    folder = written(tmp_path, **change)
    if change == {"block": []}:  # one work-item a group, by default
        assert read_snapshot(folder).dispatch.workgroup == (1, 1, 1)
        return
    with pytest.raises(InputError, match="damaged"):
        read_snapshot(folder)
