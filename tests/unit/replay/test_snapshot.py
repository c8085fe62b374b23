"""Reading snapshots: what is damaged, missing, newer or not a snapshot is refused in words."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from rocm_perf.errors import InputError, RocmPerfError
from rocm_perf.replay.errors import NewerVersionError
from rocm_perf.replay.load import read_snapshot
from rocm_perf.replay.snapshot import Snapshot
from rocm_perf.replay.store import check, unpack
from tests.unit.replay.toys import BASE, OTHER, rewrite_manifest


def test_what_was_captured_comes_back(made: Snapshot) -> None:
    again = read_snapshot(made.folder)
    assert again == made
    assert check(again) == 7
    assert (again.dispatch.grid, again.dispatch.dispatch, again.dispatch.launch) == ((64, 1, 1), 3, 17)
    assert [region.base for region in again.regions] == [BASE, OTHER]
    assert again.regions[0].changed == ((0, 65536),)
    assert [region.base for region in again.changed] == [BASE]
    assert again.manifest.outputs
    assert again.manifest.raw_bytes == 2 * 131072 + 65536 + sum(
        again.manifest.files[name].size
        for name in ("dispatch.json", "memory_regions.json", "kernarg.bin", "kernel.cubin")
    )


@given(data=st.data())
def test_no_flipped_bit_passes(made: Snapshot, data: st.DataObject) -> None:
    """Any bit of any file: it is refused, or the contents are the same all the same (a compressor's spare bits)."""
    files = sorted(file for file in made.folder.rglob("*") if file.is_file())
    file = data.draw(st.sampled_from(files))
    original = file.read_bytes()
    place = data.draw(st.integers(0, 8 * len(original) - 1))
    flipped = bytearray(original)
    flipped[place // 8] ^= 1 << place % 8
    try:
        file.write_bytes(flipped)
        code = _exit_code(made.folder)
        assert code in (6, 20) or (file.suffix == ".zst" and _unpacked(bytes(flipped)) == _unpacked(original))
    finally:
        file.write_bytes(original)


def _exit_code(folder: Path) -> int:
    try:
        check(read_snapshot(folder))
    except RocmPerfError as error:
        return error.exit_code
    return 0


def _unpacked(data: bytes) -> bytes:
    return zstandard.ZstdDecompressor().decompress(data, max_output_size=1 << 20)


def test_a_region_that_was_cut_short(snap: Path) -> None:
    file = snap / "memory/region_7f0000010000.bin.zst"
    file.write_bytes(file.read_bytes()[:-20])
    with pytest.raises(InputError, match="damaged"):
        check(read_snapshot(snap))


def test_a_newer_version_says_so(snap: Path) -> None:
    rewrite_manifest(snap, version=2)
    with pytest.raises(NewerVersionError, match=r"version 2.*pip install -U") as caught:
        read_snapshot(snap)
    assert caught.value.exit_code == 20


def test_other_manifests(snap: Path) -> None:
    rewrite_manifest(snap, kind="rocm-perf-bundle")
    with pytest.raises(InputError, match="not of a snapshot"):
        read_snapshot(snap)
    (snap / "manifest.json").write_text("{")
    with pytest.raises(InputError, match="damaged"):
        read_snapshot(snap)


def test_a_manifest_that_forgets_a_region(snap: Path) -> None:
    files = json.loads((snap / "manifest.json").read_text())["files"]
    files.pop("memory/region_7f0004000000.bin")
    rewrite_manifest(snap, files=files)
    with pytest.raises(InputError, match=r"does not list memory/region_7f0004000000\.bin"):
        read_snapshot(snap)


def test_what_is_no_snapshot(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such folder"):
        read_snapshot(tmp_path / "nothing")
    with pytest.raises(InputError, match=r"neither manifest\.json nor dispatch\.json"):
        read_snapshot(tmp_path)
    file = tmp_path / "file"
    file.write_text("x")
    with pytest.raises(InputError, match="not a folder"):
        read_snapshot(file)


def test_a_region_that_the_user_unpacked_is_as_good(snap: Path, tmp_path: Path) -> None:
    packed = snap / "memory/region_7f0000010000.bin.zst"
    raw = packed.with_suffix("")
    raw.write_bytes(_unpacked(packed.read_bytes()))
    packed.unlink()
    snapshot = read_snapshot(snap)
    check(snapshot)
    assert unpack(snapshot, tmp_path)["memory/region_7f0000010000.bin"] == raw


def test_a_missing_manifest_is_named(snap: Path) -> None:
    (snap / "manifest.json").unlink()
    with pytest.raises(InputError, match=r"snap is incomplete: manifest\.json is missing"):
        read_snapshot(snap)
