"""Which runs are found, what is never read, and when a recording rests."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from rocm_perf.serve.folders import REST_S, Folders
from tests.unit.serve.sites import write_bundle, write_csv

TRACE = b'{"traceEvents": [], "schemaVersion": 1, "deviceProperties": []}'


@dataclass
class Clock:
    """A clock that the test sets."""

    now: float = field(default_factory=lambda: 2_000_000_000.0)

    def __call__(self) -> float:
        return self.now


def names(folders: Folders) -> list[str]:
    folders.look()
    return sorted(run.name for run in folders.runs)


def test_files_of_one_process_and_bundles_are_one_run_each(tmp_path: Path) -> None:
    write_csv(tmp_path / "first", "out")
    write_csv(tmp_path / "second" / "host", "4711")
    write_bundle(tmp_path / "third")
    (tmp_path / "notes.txt").write_text("nothing to do with profilers")
    assert names(Folders([tmp_path])) == ["first/out", "second", "third"]


def test_a_file_that_is_named_is_listed_even_if_it_is_no_recording(tmp_path: Path) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_text("nothing to do with profilers")
    folders = Folders([notes])
    folders.look()
    (run,) = folders.runs
    assert "not a recording" in run.error


def test_ids_are_opaque_differ_between_servers_and_stay(tmp_path: Path) -> None:
    write_bundle(tmp_path / "run")
    folders, others = Folders([tmp_path]), Folders([tmp_path])
    folders.look()
    others.look()
    first = folders.runs[0].id
    folders.look()
    assert folders.runs[0].id == first != others.runs[0].id
    assert folders.run("run") is None
    assert folders.run(first) is not None


def test_links_that_leave_the_folder_are_not_followed(tmp_path: Path) -> None:
    outside, inside = tmp_path / "outside", tmp_path / "inside"
    outside.mkdir()
    inside.mkdir()
    (outside / "secret.json").write_bytes(TRACE)
    write_bundle(outside / "bundle")
    (inside / "link.json").symlink_to(outside / "secret.json")
    (inside / "folder").symlink_to(outside)
    (inside / "circle").symlink_to(inside / "circle")
    shutil.copytree(outside / "bundle", inside / "forged")
    table = next((inside / "forged").glob("*.parquet"))
    table.unlink()
    table.symlink_to(outside / "bundle" / table.name)
    assert names(Folders([inside])) == []


def test_links_that_stay_inside_are_followed(tmp_path: Path) -> None:
    (tmp_path / "trace.json").write_bytes(TRACE)
    (tmp_path / "again.json").symlink_to(tmp_path / "trace.json")
    assert names(Folders([tmp_path])) == ["again.json", "trace.json"]


def test_runs_of_several_folders_carry_the_name_of_theirs(tmp_path: Path) -> None:
    write_bundle(tmp_path / "a" / "run")
    write_bundle(tmp_path / "b" / "run")
    assert names(Folders([tmp_path / "a", tmp_path / "b"])) == ["a/run", "b/run"]


def test_a_recording_is_read_once_it_rests(tmp_path: Path) -> None:
    clock = Clock()
    folders = Folders([tmp_path], clock)
    folders.look()
    trace = tmp_path / "trace.json"
    for size in (30, len(TRACE)):
        trace.write_bytes(TRACE[:size])
        folders.look()
        assert folders.runs[0].growing
        clock.now += 0.7 * REST_S
        folders.look()
        assert folders.runs[0].growing
    clock.now += 0.7 * REST_S
    folders.look()
    assert not folders.runs[0].growing


@pytest.mark.parametrize(("age_s", "growing"), [(REST_S + 1, False), (0.5 * REST_S, True), (-3_600.0, True)])
def test_what_was_there_before_rests_by_its_own_time(tmp_path: Path, age_s: float, growing: bool) -> None:
    clock = Clock()
    trace = tmp_path / "trace.json"
    trace.write_bytes(TRACE)
    os.utime(trace, (clock.now - age_s,) * 2)
    folders = Folders([tmp_path], clock)
    folders.look()
    assert folders.runs[0].growing is growing
    clock.now += REST_S
    folders.look()
    assert not folders.runs[0].growing  # even if another machine's clock has set its time


def test_a_changed_file_is_another_version_and_a_deleted_one_is_gone(tmp_path: Path) -> None:
    trace = tmp_path / "trace.json"
    trace.write_bytes(TRACE)
    folders = Folders([tmp_path])
    folders.look()
    before = folders.runs[0]
    trace.write_bytes(TRACE + b" ")
    folders.look()
    assert folders.runs[0].id == before.id
    assert folders.runs[0].version != before.version
    trace.unlink()
    folders.look()
    assert folders.runs == []


def test_files_that_hold_several_runs_are_listed_one_by_one(tmp_path: Path) -> None:
    (tmp_path / "trace.json").write_bytes(TRACE)
    folders = Folders([tmp_path])
    folders.look()
    folders.divide(folders.runs[0], ["one", "two"])
    assert [run.name for run in folders.runs] == ["trace.json (one)", "trace.json (two)"]
    assert [run.part for run in folders.runs] == [0, 1]
    assert folders.run(folders.runs[1].id) == folders.runs[1]
