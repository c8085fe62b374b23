"""Writing the accepted source, and taking it back."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocm_perf.errors import InputError, UsageError
from rocm_perf.optimize.applying import apply, roll_back

OLD, NEW = b"old text\n", b"new text\n"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "k.hip"
    path.write_bytes(OLD)
    path.chmod(0o640)
    return path


def test_applied_and_taken_back(source: Path, tmp_path: Path) -> None:
    apply(source, OLD, NEW, tmp_path / "kept")
    assert source.read_bytes() == NEW
    assert source.stat().st_mode & 0o777 == 0o640
    roll_back(source, tmp_path / "kept")
    assert source.read_bytes() == OLD
    with pytest.raises(UsageError, match="nothing was applied"):
        roll_back(source, tmp_path / "kept")


def test_a_link_stays_a_link(source: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.hip"
    link.symlink_to(source)
    apply(link, OLD, NEW, tmp_path / "kept")
    assert link.is_symlink()
    assert source.read_bytes() == NEW


def test_somebody_elses_work_is_not_overwritten(source: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="was changed while"):
        apply(source, b"other", NEW, tmp_path / "kept")
    assert source.read_bytes() == OLD
    apply(source, OLD, NEW, tmp_path / "kept")
    source.write_bytes(b"edited since\n")
    with pytest.raises(UsageError, match="would lose that"):
        roll_back(source, tmp_path / "kept")
    assert source.read_bytes() == b"edited since\n"


def test_a_damaged_original_is_not_restored(source: Path, tmp_path: Path) -> None:
    apply(source, OLD, NEW, tmp_path / "kept")
    (tmp_path / "kept" / "original").write_bytes(b"damaged")
    with pytest.raises(InputError, match="its hash differs"):
        roll_back(source, tmp_path / "kept")
    assert source.read_bytes() == NEW
