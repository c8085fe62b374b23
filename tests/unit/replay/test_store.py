"""Contents of files: raw and sparse, compressed, stored once; nothing is lost on the way."""

from __future__ import annotations

import os
import random
import shutil
from collections import namedtuple
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocm_perf.errors import InputError, OutputError
from rocm_perf.replay import pieces, store
from rocm_perf.replay.finish import Making, finish
from rocm_perf.replay.snapshot import Snapshot
from tests.unit.replay.toys import BLOCK, OTHER, Toy, make_snapshot, write_draft

Usage = namedtuple("Usage", "total used free")
CONTENTS = st.lists(
    st.sampled_from([b"\0" * BLOCK, b"ab" * (BLOCK // 2), bytes(range(256)) * 256]), min_size=1, max_size=4
)


@given(CONTENTS, st.binary(max_size=100), st.booleans())
def test_every_byte_comes_back(
    tmp_path_factory: pytest.TempPathFactory, blocks: list[bytes], end: bytes, compress: bool
) -> None:
    folder = tmp_path_factory.mktemp("bytes")
    constant = b"".join(blocks) + end
    snapshot = make_snapshot(folder, Toy(constant=constant), compress=compress)
    (folder / "work").mkdir()
    files = store.unpack(snapshot, folder / "work")
    assert files[f"memory/region_{OTHER:x}.bin"].read_bytes() == constant
    assert files["memory/region_7f0000010000.bin"].read_bytes() == Toy().before


def unpacked(snapshot: Snapshot, folder: Path) -> dict[str, Path]:
    folder.mkdir()
    return store.unpack(snapshot, folder)


def test_the_same_contents_are_stored_once(tmp_path: Path) -> None:
    toy = Toy()
    toy.constant = toy.before
    snapshot = make_snapshot(tmp_path, toy)
    name = f"memory/region_{OTHER:x}.bin"
    assert snapshot.manifest.files[name].same_as == "memory/region_7f0000010000.bin"
    assert not list(snapshot.folder.glob(f"{name}*"))
    assert unpacked(snapshot, tmp_path / "work")[name].read_bytes() == toy.before


def test_what_does_not_compress_stays_raw(tmp_path: Path) -> None:
    noise = random.Random(1).randbytes(4 * BLOCK)
    snapshot = make_snapshot(tmp_path, Toy(constant=noise))
    name = f"memory/region_{OTHER:x}.bin"
    assert snapshot.manifest.files[name].stored == "raw"
    assert [file.name for file in (snapshot.folder / "memory").glob(f"region_{OTHER:x}*")] == [
        f"region_{OTHER:x}.bin"
    ]
    assert unpacked(snapshot, tmp_path / "work")[name] == snapshot.folder / name


def test_the_code_object_stays_a_file_for_other_tools(tmp_path: Path) -> None:
    program = [*Toy().program, *["# padding"] * 10_000]
    snapshot = make_snapshot(tmp_path, Toy(program=program))
    assert (snapshot.folder / "kernel.cubin").stat().st_size > BLOCK
    assert snapshot.manifest.files["kernel.cubin"].stored == "raw"


def test_uncompressed_snapshots_stay_sparse(tmp_path: Path) -> None:
    snapshot = make_snapshot(tmp_path, Toy(constant=b"\1" * BLOCK + bytes(64 * BLOCK)), compress=False)
    file = snapshot.folder / f"memory/region_{OTHER:x}.bin"
    assert file.stat().st_size == 65 * BLOCK
    assert store.on_disk(file) < 4 * BLOCK


def test_unpacking_keeps_holes(tmp_path: Path) -> None:
    snapshot = make_snapshot(tmp_path, Toy(constant=b"\1" * BLOCK + bytes(64 * BLOCK)))
    file = unpacked(snapshot, tmp_path / "work")[f"memory/region_{OTHER:x}.bin"]
    assert file.stat().st_size == 65 * BLOCK
    assert store.on_disk(file) < 4 * BLOCK


@pytest.mark.parametrize("compress", [True, False])
def test_bytes_behind_the_end_are_damage(tmp_path: Path, compress: bool) -> None:
    snapshot = make_snapshot(tmp_path, compress=compress)
    with snapshot.path(f"memory/region_{OTHER:x}.bin").open("ab") as file:
        file.write(b"x")
    with pytest.raises(InputError, match="bytes instead of"):
        store.check(snapshot)


def test_a_full_disk_is_seen_before_unpacking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    snapshot = make_snapshot(tmp_path)
    (tmp_path / "work").mkdir()
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(1, 1, 1000))
    with pytest.raises(OutputError, match=r"384 KiB are needed and 1000 B are free.*TMPDIR"):
        store.unpack(snapshot, tmp_path / "work")
    assert not list((tmp_path / "work").iterdir())


def test_without_room_to_compress_memory_stays_raw(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(1, 1, 1000))
    snapshot = make_snapshot(tmp_path)
    assert {entry.stored for entry in snapshot.manifest.files.values()} == {"raw"}


def test_a_disk_that_fills_up_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    draft = write_draft(tmp_path / "draft", Toy())

    def full(_: int) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OutputError, match="No space left on device"):
        finish(draft, tmp_path / "snap", Making(), lambda _: None)
    assert not (tmp_path / "snap").exists()


@pytest.mark.parametrize(("shrinks", "tries"), [(False, 8), (True, 8 + 16)])
def test_what_does_not_shrink_is_not_tried_as_a_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shrinks: bool, tries: int
) -> None:
    monkeypatch.setattr(pieces, "PIECE", BLOCK)
    tried: list[int] = []
    really = pieces.compressed

    def counted(data: bytes) -> bytes:
        tried.append(len(data))
        return really(data)

    monkeypatch.setattr(pieces, "compressed", counted)
    source = random.Random(3)
    data = b"".join(
        bytes(BLOCK // 2 * shrinks) + source.randbytes(BLOCK - BLOCK // 2 * shrinks) for _ in range(16)
    )
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "one").write_bytes(data)
    (entry,) = store.pack_all(tmp_path, ["memory/one"], compress=True).values()
    assert (entry.stored, len(tried)) == ("zstd" if shrinks else "raw", tries)
