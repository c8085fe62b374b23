"""From draft to snapshot: under a name only when it is whole."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from rocm_perf.errors import InputError, OutputError, UsageError
from rocm_perf.replay import finish as module
from rocm_perf.replay.finish import Making, draft_beside, finish, refuse_existing
from rocm_perf.replay.load import read_snapshot
from tests.unit.replay.toys import BLOCK, Toy, make_snapshot, write_draft


def test_the_size_is_told_before_it_is_written(tmp_path: Path) -> None:
    draft = write_draft(tmp_path / "draft", Toy())
    told: list[str] = []

    def say(text: str) -> None:
        assert not (tmp_path / "snap").exists()
        told.append(text)

    finish(draft, tmp_path / "snap", Making(), say)
    assert len(told) == 1
    assert told[0].startswith("2 regions, 256 KiB (")


def test_no_more_than_everything_is_not_zero(tmp_path: Path) -> None:
    """A file takes whole blocks of the disk, of 4 KiB or more."""
    told: list[str] = []
    full = b"\1" * (BLOCK + 1)
    finish(write_draft(tmp_path / "draft", Toy(constant=full)), tmp_path / "snap", Making(), told.append)
    assert told == ["2 regions, 192 KiB (128 KiB of it not zero); compressing them"]


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
    with pytest.raises(UsageError, match="is not a snapshot"):
        refuse_existing(tmp_path / "photos", force=True)
    refuse_existing(tmp_path / "fresh", force=False)


def test_a_snapshot_is_replaced_as_a_whole(tmp_path: Path) -> None:
    old = make_snapshot(tmp_path, Toy(grid=(32, 1, 1)))
    (old.folder / "mark").touch()
    found = finish(write_draft(tmp_path / "second", Toy()), old.folder, Making(force=True), lambda _: None)
    assert found == read_snapshot(old.folder)
    assert read_snapshot(old.folder).dispatch.grid == (64, 1, 1)
    assert not (old.folder / "mark").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["snap"]


def test_a_name_that_was_taken_meanwhile(tmp_path: Path) -> None:
    """Two captures to one name: the second does not replace the first, unless that was asked for."""
    output = tmp_path / "snap"
    with draft_beside(output) as mine, draft_beside(output) as theirs:
        drafts = [write_draft(one / "7", Toy(grid=(grid, 1, 1))) for one, grid in ((mine, 64), (theirs, 32))]
        finish(drafts[1], output, Making(), lambda _: None)
        with pytest.raises(UsageError, match=r"snap exists already.*--force"):
            finish(drafts[0], output, Making(), lambda _: None)
    assert read_snapshot(output).dispatch.grid == (32, 1, 1)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["snap"]


def test_what_is_no_snapshot_is_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "one").touch()
    with pytest.raises(UsageError, match="is not a snapshot"):
        finish(write_draft(tmp_path / "d", Toy()), tmp_path / "photos", Making(force=True), lambda _: None)
    assert (tmp_path / "photos" / "one").exists()


def test_forced_captures_to_one_name_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another one takes the name between setting the old one aside and the rename: the last one has it."""
    output = make_snapshot(tmp_path).folder
    other = make_snapshot(tmp_path / "other", Toy(grid=(32, 1, 1))).folder
    real = module._set_aside

    def slow(path: Path) -> list[Path]:
        old = real(path)
        if other.exists():
            other.rename(output)
        return old

    monkeypatch.setattr(module, "_set_aside", slow)
    finish(write_draft(tmp_path / "second", Toy(grid=(16, 1, 1))), output, Making(force=True), lambda _: None)
    assert read_snapshot(output).dispatch.grid == (16, 1, 1)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other", "snap"]


def test_the_old_one_stays_where_the_new_one_cannot_be_put(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = make_snapshot(tmp_path, Toy(grid=(32, 1, 1)))
    draft = write_draft(tmp_path / "second", Toy())

    def failing(draft: Path, output: Path) -> bool:
        if output.exists():
            return False
        raise OSError(5, os.strerror(5))

    monkeypatch.setattr(module, "_takes_name", failing)
    with pytest.raises(OutputError, match="Input/output error"):
        finish(draft, old.folder, Making(force=True), lambda _: None)
    assert read_snapshot(old.folder) == old
    assert sorted(path.name for path in tmp_path.iterdir()) == ["second", "snap"]


def test_of_a_link_to_a_snapshot_only_the_link_goes(tmp_path: Path) -> None:
    old = make_snapshot(tmp_path / "old", Toy(grid=(32, 1, 1)))
    link = tmp_path / "link"
    link.symlink_to(old.folder)
    finish(write_draft(tmp_path / "second", Toy()), link, Making(force=True), lambda _: None)
    assert not link.is_symlink()
    assert read_snapshot(link).dispatch.grid == (64, 1, 1)
    assert read_snapshot(old.folder) == old
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "old"]


@pytest.mark.parametrize("change", [{"kernarg": {"size": 9}}, {"grid": [0, 1, 1]}])
def test_what_could_not_be_read_again_gets_no_name(tmp_path: Path, change: dict[str, object]) -> None:
    draft = write_draft(tmp_path / "draft", Toy())
    path = draft / "dispatch.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(InputError, match="damaged"):
        finish(draft, tmp_path / "snap", Making(), lambda _: None)
    assert not (tmp_path / "snap").exists()


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
    for output in (tmp_path / ("x" * 260), tmp_path / "file" / "snap"):
        refuse_existing(output, force=False)  # does not know, and leaves it to the draft
        with pytest.raises(OutputError, match="cannot write"), draft_beside(output):
            pass
