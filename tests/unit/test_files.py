"""Files that are written whole, and texts that are read whole."""

from __future__ import annotations

import os
import resource
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rocm_perf.errors import InputError, OutputError, UsageError
from rocm_perf.files import read_text, write_whole


@contextmanager
def full_disk(most_bytes: int) -> Iterator[None]:
    """No file grows beyond that."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def _write(path: Path, text: str = "new", *, overwrite: bool = False, durable: bool = False) -> None:
    write_whole(path, lambda draft: draft.write_text(text), overwrite=overwrite, durable=durable)


@pytest.mark.parametrize("durable", [False, True])
def test_a_file_appears_with_its_folders(tmp_path: Path, durable: bool) -> None:
    target = tmp_path / "a" / "b" / "c.txt"
    _write(target, durable=durable)
    assert target.read_text() == "new"
    assert list(target.parent.iterdir()) == [target]


def test_a_file_is_replaced_only_when_asked_for(tmp_path: Path) -> None:
    target = tmp_path / "x"
    target.write_text("old")
    with pytest.raises(UsageError, match="--force"):
        _write(target)
    assert target.read_text() == "old"
    _write(target, overwrite=True)
    assert target.read_text() == "new"


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    target = tmp_path / "x"
    target.write_text("old")
    with full_disk(100), pytest.raises(OutputError, match="Nothing was changed") as raised:
        _write(target, "n" * 200, overwrite=True)
    assert raised.value.exit_code == 6
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_only_regular_files_are_replaced(tmp_path: Path, make: object) -> None:
    target = tmp_path / "x"
    make(target)  # type: ignore[operator]
    before = target.lstat()
    with pytest.raises(UsageError, match="not a regular file"):
        _write(target, overwrite=True)
    assert os.path.samestat(before, target.lstat())


def test_a_device_is_not_replaced_through_a_link(tmp_path: Path) -> None:
    link = tmp_path / "full"
    link.symlink_to("/dev/full")
    with pytest.raises(UsageError, match="not a regular file"):
        _write(link, overwrite=True)
    assert link.is_symlink()


def test_a_link_to_a_file_stays_one(tmp_path: Path) -> None:
    target, link = tmp_path / "file", tmp_path / "link"
    target.write_text("old")
    link.symlink_to(target)
    _write(link, overwrite=True)
    assert link.is_symlink()
    assert target.read_text() == "new"


def test_the_mask_of_the_process_decides_who_may_read_it(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        _write(tmp_path / "x")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "x").stat().st_mode) == 0o600


def test_a_name_that_is_too_long_is_an_output_error(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="too long"):
        _write(tmp_path / ("x" * 300))


def test_a_text_that_does_not_end_is_refused() -> None:
    with pytest.raises(InputError, match="larger than"):
        read_text(Path("/dev/zero"))


def test_a_text_may_come_through_a_pipe(tmp_path: Path) -> None:
    source, sink = os.pipe()
    os.write(sink, b"pmc: SQ_WAVES")
    os.close(sink)
    try:
        assert read_text(Path(f"/dev/fd/{source}")) == "pmc: SQ_WAVES"
    finally:
        os.close(source)


def test_a_text_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"ab\xff")
    with pytest.raises(InputError, match="byte 2"):
        read_text(tmp_path / "x")
