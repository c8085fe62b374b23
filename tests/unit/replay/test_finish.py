"""From draft to snapshot: under a name only when it is whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocm_perf.errors import OutputError, UsageError
from rocm_perf.replay import finish as module
from rocm_perf.replay.finish import Making, draft_beside, finish, refuse_existing
from rocm_perf.replay.snapshot import read_snapshot
from tests.unit.replay.toys import Toy, make_snapshot, write_draft


def test_the_size_is_told_before_it_is_written(tmp_path: Path) -> None:
    draft = write_draft(tmp_path / "draft", Toy())
    told: list[str] = []

    def say(text: str) -> None:
        assert not (tmp_path / "snap").exists()
        told.append(text)

    finish(draft, tmp_path / "snap", Making(), say)
    assert len(told) == 1
    assert told[0].startswith("2 regions, 256 KiB (")


def test_a_draft_that_lacks_a_region(tmp_path: Path) -> None:
    draft = write_draft(tmp_path / "draft", Toy())
    (draft / "memory/region_7f0004000000.bin").unlink()
    with pytest.raises(OutputError, match=r"region_7f0004000000\.bin was not written"):
        finish(draft, tmp_path / "snap", Making(), lambda _: None)
    assert not (tmp_path / "snap").exists()


def test_killed_before_the_rename_there_is_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "_put_in_place", killed)
    output = tmp_path / "out" / "snap"
    with pytest.raises(KeyboardInterrupt), draft_beside(output) as draft:
        finish(write_draft(draft / "7", Toy()), output, Making(), lambda _: None)
    assert not list(output.parent.iterdir())


def test_existing_folders(tmp_path: Path) -> None:
    snapshot = make_snapshot(tmp_path)
    with pytest.raises(UsageError, match="--force"):
        refuse_existing(snapshot.folder, force=False)
    refuse_existing(snapshot.folder, force=True)
    (tmp_path / "photos").mkdir()
    with pytest.raises(UsageError, match="no snapshot"):
        refuse_existing(tmp_path / "photos", force=True)
    refuse_existing(tmp_path / "fresh", force=False)


def test_a_snapshot_is_replaced_as_a_whole(tmp_path: Path) -> None:
    old = make_snapshot(tmp_path, Toy(grid=(32, 1, 1)))
    (old.folder / "mark").touch()
    finish(write_draft(tmp_path / "second", Toy()), old.folder, Making(), lambda _: None)
    assert read_snapshot(old.folder).dispatch.grid == (64, 1, 1)
    assert not (old.folder / "mark").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["snap"]


def test_what_is_not_covered_is_listed(tmp_path: Path) -> None:
    extra: dict[str, object] = {
        "base": "0x900000",
        "size": 4096,
        "kind": "managed",
        "saved": False,
        "reason": "it moves",
    }
    snapshot = make_snapshot(tmp_path, Toy(extra=[extra]))
    assert snapshot.manifest.uncovered == ("managed memory at 0x900000, 4.00 KiB: it moves",)
    assert len(snapshot.saved) == 2


def test_files_that_belong_to_nothing_are_left_out(tmp_path: Path) -> None:
    draft = write_draft(tmp_path / "draft", Toy())
    (draft / "after/region_7f0004000000.bin").write_bytes(b"x")
    snapshot = finish(draft, tmp_path / "snap", Making(), lambda _: None)
    assert not (snapshot.folder / "after/region_7f0004000000.bin").exists()
    assert not (snapshot.folder / "capture.json").exists()


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match="cannot write"), draft_beside(tmp_path / "file" / "snap"):
        pass
