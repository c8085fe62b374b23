"""Who could have put a native part into the cache."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rocm_perf.backends.native_cache import cache_folder, distrust, is_kept, make_private
from rocm_perf.errors import NotSupportedError

STRANGER = 12345


@pytest.fixture
def part(tmp_path: Path) -> Path:
    file = tmp_path / "cache/key/part.so"
    make_private(file.parent)
    file.write_text("code")
    file.chmod(0o700)
    return file


def test_what_this_user_made_is_trusted(part: Path) -> None:
    assert distrust(part) == ""
    assert is_kept(part)
    assert not is_kept(part.with_name("another.so"))


@pytest.mark.parametrize("place", ["cache/key/part.so", "cache/key", "cache"])
@pytest.mark.parametrize("mode", [0o720, 0o702])
def test_what_others_can_write_to(part: Path, tmp_path: Path, place: str, mode: int) -> None:
    (tmp_path / place).chmod(mode)
    assert str(tmp_path / place) in distrust(part)
    with pytest.raises(NotSupportedError, match="other users can write"):
        is_kept(part)


def test_a_folder_like_tmp_may_be_above_it(part: Path, tmp_path: Path) -> None:
    (tmp_path / "cache").chmod(0o1777)
    assert distrust(part) == ""


def test_a_sticky_file_is_not_a_folder_like_tmp(part: Path) -> None:
    part.chmod(0o1777)
    assert "other users can write" in distrust(part)


@pytest.mark.parametrize("place", ["cache/key/part.so", "cache/key", "cache"])
def test_what_somebody_else_owns(part: Path, tmp_path: Path, place: str) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give files away")
    os.chown(tmp_path / place, STRANGER, -1)
    assert distrust(part) == f"{tmp_path / place} belongs to user {STRANGER}"


def test_owners_as_another_user_sees_them(part: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Root's files are trusted, those of a user who is neither are not."""
    owner = part.stat().st_uid
    monkeypatch.setattr(os, "geteuid", lambda: STRANGER)
    assert ("belongs to" in distrust(part)) is (owner != 0)


def test_where_a_link_leads_counts(part: Path, tmp_path: Path) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    (tmp_path / "open/part.so").write_text("another's code")
    part.unlink()
    part.symlink_to(tmp_path / "open/part.so")
    assert str(tmp_path / "open") in distrust(part)


def test_the_folder_of_a_link_counts(part: Path, tmp_path: Path) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "open/part.so").symlink_to(part)
    assert distrust(tmp_path / "open/part.so") == ""
    (tmp_path / "open").chmod(0o777)
    assert str(tmp_path / "open") in distrust(tmp_path / "open/part.so")


def test_links_in_a_circle(tmp_path: Path) -> None:
    (tmp_path / "one").symlink_to(tmp_path / "two")
    (tmp_path / "two").symlink_to(tmp_path / "one")
    with pytest.raises(NotSupportedError):
        is_kept(tmp_path / "one")


def test_a_part_that_vanished_behind_its_link(part: Path, tmp_path: Path) -> None:
    link = part.with_name("link.so")
    link.symlink_to(tmp_path / "nowhere")
    with pytest.raises(NotSupportedError):
        is_kept(link)


def test_where_parts_are_kept(tmp_path: Path) -> None:
    assert cache_folder({"XDG_CACHE_HOME": str(tmp_path)}) == tmp_path / "rocm-perf/native"
    assert cache_folder({"XDG_CACHE_HOME": "relative"}) == Path.home() / ".cache/rocm-perf/native"
