"""Files that are missing, closed, or no files at all: each is told in words, and nothing is waited for."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rocm_perf.errors import InputError
from rocm_perf.replay import info, pieces
from rocm_perf.replay.info import describe
from rocm_perf.replay.load import read_snapshot
from rocm_perf.replay.replayer import ready
from rocm_perf.replay.snapshot import Snapshot
from rocm_perf.replay.store import check, unpack
from rocm_perf.replay.verify import verify
from tests.unit.replay.toys import BASE, make_snapshot

REGION = f"memory/region_{BASE:x}.bin.zst"
FILES = ["manifest.json", "dispatch.json", "memory_regions.json", "kernarg.bin", "kernel.cubin", REGION]


@pytest.fixture
def snap(made: Snapshot) -> Iterator[Path]:
    """A copy where every user can read it."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    shutil.copytree(made.folder, folder / "snap")
    yield folder / "snap"
    shutil.rmtree(folder)


@contextmanager
def without_roots_rights() -> Iterator[None]:
    user = os.geteuid()
    if user == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(user)


def make_folder(path: Path) -> None:
    path.mkdir()


@pytest.mark.parametrize("name", FILES)
def test_a_missing_file(snap: Path, name: str) -> None:
    (snap / name).unlink()
    with pytest.raises(InputError, match=rf"the snapshot .*snap is incomplete: {name} is missing"):
        check(read_snapshot(snap))


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("make", [make_folder, os.mkfifo])
def test_a_folder_or_pipe_in_place_of_a_file(snap: Path, name: str, make: object) -> None:
    """A pipe would be waited for without end."""
    assert callable(make)
    (snap / name).unlink()
    make(snap / name)
    with pytest.raises(InputError, match=rf"damaged: {name} is not a file"):
        check(read_snapshot(snap))


def test_a_device_in_place_of_a_file(snap: Path) -> None:
    (snap / "kernarg.bin").unlink()
    (snap / "kernarg.bin").symlink_to("/dev/zero")
    with pytest.raises(InputError, match=r"kernarg\.bin is not a file"):
        check(read_snapshot(snap))


def test_a_file_that_is_far_too_large(snap: Path) -> None:
    os.truncate(snap / "dispatch.json", 1 << 40)
    with pytest.raises(InputError, match=r"dispatch\.json is damaged: it is far too large"):
        read_snapshot(snap)


@pytest.mark.parametrize("name", [*FILES, "memory", "."])
def test_what_may_not_be_read(snap: Path, name: str) -> None:
    (snap / name).chmod(0)
    with without_roots_rights(), pytest.raises(InputError, match=r"cannot read .*Permission denied.*owner"):
        describe(read_snapshot(snap))
    (snap / name).chmod(0o755)


def test_reading_that_fails_is_no_lack_of_room(
    snap: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshot = read_snapshot(snap)

    def broken(*_: object) -> bytes:
        raise OSError(5, os.strerror(5))

    monkeypatch.setattr(os, "pread", broken)
    with pytest.raises(InputError, match=r"cannot read .*Input/output error") as caught:
        unpack(snapshot, tmp_path)
    assert "TMPDIR" not in str(caught.value)


def test_folders_that_cannot_be_looked_at(snap: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot read .*File name too long"):
        read_snapshot(tmp_path / ("x" * 300))
    with pytest.raises(InputError, match="there is no such folder"):
        read_snapshot(snap / "kernarg.bin" / "x")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with pytest.raises(InputError, match="cannot read"):
        read_snapshot(tmp_path / "loop")


def test_a_folder_that_may_not_be_entered(snap: Path) -> None:
    snap.parent.chmod(0)
    with without_roots_rights(), pytest.raises(InputError, match=r"cannot read .*snap: Permission denied"):
        read_snapshot(snap)
    snap.parent.chmod(0o755)


def test_only_what_is_there_is_read_at_once(snap: Path, reads: list[int]) -> None:
    """However large a file claims to be, it is read in pieces."""
    check(read_snapshot(snap))
    assert max(reads) <= pieces.PIECE


@pytest.mark.usefixtures("runner")
def test_a_file_that_goes_away_while_it_is_compared(tmp_path: Path) -> None:
    snapshot = make_snapshot(tmp_path, compress=False)
    with ready(snapshot) as replayer:
        (snapshot.folder / f"after/region_{BASE:x}.bin").unlink()
        with pytest.raises(InputError, match=r"region_[0-9a-f]+\.bin is missing"):
            verify(replayer)


def test_a_file_that_goes_away_after_it_was_checked(snap: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def check_and_lose(snapshot: Snapshot) -> int:
        (snapshot.folder / "kernarg.bin").unlink()
        return 1

    monkeypatch.setattr(info, "check", check_and_lose)
    with pytest.raises(InputError, match=r"cannot read .*kernarg\.bin"):
        describe(read_snapshot(snap))
