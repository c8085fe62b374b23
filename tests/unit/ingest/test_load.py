"""From paths to runs: folders of processes, hosts, ranks and passes, and everything that is none of that."""

from __future__ import annotations

import errno
import gzip
import json
import os
import shutil
import warnings
import zipfile
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from rocm_perf.errors import EmptyCaptureError, InputError, RocmPerfError, UsageError
from rocm_perf.ingest import paths
from rocm_perf.ingest import reading as module
from rocm_perf.ingest import sniff as sniffing
from rocm_perf.ingest.io.source import Source
from rocm_perf.ingest.load import load, load_files, load_path
from rocm_perf.model import bundle
from tests.unit.ingest import recordings as make


def _column(path: Path, table: str, *columns: str) -> list[tuple[object, ...]]:
    return load(path).table(table).select(columns).rows()


# One file


@pytest.mark.parametrize("pack", [lambda data: data, gzip.compress], ids=["plain", "gzip"])
def test_a_file(tmp_path: Path, pack: object) -> None:
    file = make.kernel_trace(tmp_path / "kernel_trace.csv")
    file.write_bytes(pack(file.read_bytes()))  # type: ignore[operator]
    trace = load(file)
    assert trace.table("dispatches")["start_ns"].to_list() == [1020, 1040, 1060]
    (source,) = trace.run.sources
    assert (source.path, source.size_bytes, source.sha256) == (str(file), file.stat().st_size, None)


@pytest.mark.parametrize(
    "header", [make.KERNEL_HEADER, make.API_HEADER, make.COUNTER_HEADER], ids=["kernel", "api", "counters"]
)
def test_a_header_without_rows_says_that_nothing_was_recorded(tmp_path: Path, header: str) -> None:
    file = tmp_path / "x_trace.csv"
    file.write_text(header)
    for path in (file, tmp_path):
        with pytest.raises(
            EmptyCaptureError, match="holds no record: the profiler recorded nothing"
        ) as caught:
            load(path)
        assert caught.value.exit_code == 5


def test_rows_of_which_none_is_usable_are_an_input_error(tmp_path: Path) -> None:
    file = tmp_path / "kernel_trace.csv"
    file.write_text(make.KERNEL_HEADER + "KERNEL_DISPATCH,x,y\n")
    with pytest.raises(InputError, match="holds no usable record"):
        load(file)


@pytest.mark.parametrize("content", [b"", b"\n \n", b"\xef\xbb\xbf"])
def test_an_empty_file(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.csv").write_bytes(content)
    with pytest.raises((EmptyCaptureError, InputError), match=r"x.csv"):
        load(tmp_path / "x.csv")


def test_paths_that_lead_nowhere(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "dangling").symlink_to(tmp_path / "gone")
    for name in ("gone", "loop", "dangling", "x" * 5000, "a/b/c"):
        with pytest.raises(InputError, match="does not exist"):
            load(tmp_path / name)


def test_pipes_and_devices_are_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(InputError, match="Save it to a file first"):
            load(path)


def test_a_file_that_cannot_be_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = make.kernel_trace(tmp_path / "a_kernel_trace.csv")
    _deny(monkeypatch, file)
    with pytest.raises(InputError, match=r"a_kernel_trace.csv: Permission denied"):
        load(file)


def _deny(monkeypatch: pytest.MonkeyPatch, file: Path) -> None:
    real: Any = Path.open

    def opened(path: Path, *rest: str) -> object:
        if path == file:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return real(path, *rest)

    monkeypatch.setattr(Path, "open", opened)


def test_a_file_that_vanishes_while_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = make.kernel_trace(tmp_path / "a_kernel_trace.csv")
    real = sniffing.sniff

    def sniff(source: Source) -> object:
        found = real(source)
        file.unlink()
        return found

    monkeypatch.setattr(module, "sniff", sniff)
    with pytest.raises(InputError, match="No such file"):
        load(file)


@pytest.mark.parametrize(
    "error", [MemoryError(), pl.exceptions.ComputeError("odd\nmore"), RecursionError("deep")]
)
def test_what_an_adapter_must_not_raise_becomes_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail(source: Source) -> object:
        raise error

    monkeypatch.setattr(module, "sniff", fail)
    with pytest.raises(InputError, match=r"x\.csv"):
        load(make.kernel_trace(tmp_path / "x.csv"))


# A folder of one run


def test_processes_and_hosts(tmp_path: Path) -> None:
    for host, pid in (("n1", 11), ("n1", 12), ("n2", 13)):
        make.kernel_trace(tmp_path / host / f"{pid}_kernel_trace.csv")
        make.api_trace(tmp_path / host / f"{pid}_hip_api_trace.csv", pid)
        make.agent_info(tmp_path / host / f"{pid}_agent_info.csv")
    trace = load(tmp_path)
    found = trace.table("dispatches").group_by("node", "pid").len().sort("pid").rows()
    assert found == [(0, 11, 3), (0, 12, 3), (1, 13, 3)]
    assert trace.table("nodes").select("node", "host", "clock").rows() == [
        (0, "n1", "boot"),
        (1, "n2", "boot"),
    ]
    assert trace.table("agents").select("node", "agent_id").rows() == [(0, 4), (1, 4)]
    assert trace.table("processes").select("node", "pid").rows() == [(0, 11), (0, 12), (1, 13)]
    assert len(trace.run.sources) == 9


def test_the_pid_comes_from_the_sibling_that_knows_it(tmp_path: Path) -> None:
    make.kernel_trace(tmp_path / "app_kernel_trace.csv")
    make.api_trace(tmp_path / "app_hip_api_trace.csv", 42)
    assert set(_column(tmp_path, "dispatches", "pid")) == {(42,)}


@pytest.mark.parametrize("name", ["pmc", "pass"])
def test_passes_from_folders(tmp_path: Path, name: str) -> None:
    for number, counter in ((1, "SQ_WAVES"), (2, "GRBM_COUNT")):
        folder = tmp_path / f"{name}_{number}" / "n1"
        make.counters(folder / f"{number}_counter_collection.csv", counter, pid=number, start=1000 * number)
    assert set(_column(tmp_path, "counters", "pass_id", "counter")) == {(1, "SQ_WAVES"), (2, "GRBM_COUNT")}
    assert set(_column(tmp_path, "dispatches", "pass_id", "pid")) == {(1, 1), (2, 2)}


def test_passes_from_separate_counter_files_beside_a_trace(tmp_path: Path) -> None:
    make.kernel_trace(tmp_path / "trace_kernel_trace.csv", start=1000)
    make.api_trace(tmp_path / "trace_hip_api_trace.csv", 42, start=1000)
    make.counters(tmp_path / "waves_counter_collection.csv", "SQ_WAVES", start=5000)
    make.counters(tmp_path / "cycles_counter_collection.csv", "GRBM_COUNT", start=9000)
    assert set(_column(tmp_path, "counters", "pass_id", "counter")) == {(1, "SQ_WAVES"), (2, "GRBM_COUNT")}
    passes = load(tmp_path).table("dispatches").group_by("pass_id").len().sort("pass_id").rows()
    assert passes == [(0, 3), (1, 3), (2, 3)]


def test_a_kernel_trace_and_counters_of_one_pass_list_each_dispatch_once(tmp_path: Path) -> None:
    make.old_kernel_trace(tmp_path / "77_kernel_trace.csv")
    make.counters(tmp_path / "77_counter_collection.csv", "SQ_WAVES", "GRBM_COUNT")
    rows = _column(tmp_path, "dispatches", "dispatch_id", "pid", "start_ns", "vgprs", "grid_y", "pass_id")
    assert rows == [(n, 77, 1000 + 20 * n, 24, 2, 0) for n in (1, 2, 3)]
    assert len(_column(tmp_path, "counters", "value")) == 6


def test_ranks(tmp_path: Path) -> None:
    for rank in (0, 1):
        make.torch_trace(tmp_path / f"rank_{rank}.json")
    assert sorted(_column(tmp_path, "dispatches", "rank")) == [(0,), (1,)]


def test_csv_and_json_of_one_process_are_not_added_up(tmp_path: Path) -> None:
    make.kernel_trace(tmp_path / "77_kernel_trace.csv", start=1000)
    make.torch_trace(tmp_path / "77_results.json", start_us=1)
    trace = load(tmp_path)
    assert trace.rows("dispatches") == 3
    assert "77_kernel_trace.csv holds the same run" in trace.run.notices[-1]


def test_agents_of_several_files_are_one(tmp_path: Path) -> None:
    make.agent_info(tmp_path / "1_agent_info.csv")
    make.agent_info(tmp_path / "2_agent_info.csv", "MI300X")
    assert _column(tmp_path, "agents", "agent_id", "gfx", "name") == [(4, "gfx942", "MI300X")]


def test_a_folder_with_two_runs_names_both(tmp_path: Path) -> None:
    make.kernel_trace(tmp_path / "first_kernel_trace.csv", start=1000)
    make.kernel_trace(tmp_path / "second_kernel_trace.csv", start=900_000)
    with pytest.raises(
        UsageError,
        match=r"2 runs, not one: .*first_kernel_trace.csv \(rocprofv3, 3 dispatches over 50 ns\); .*second",
    ) as caught:
        load(tmp_path)
    assert caught.value.exit_code == 2
    assert [run.label for run in load_path(tmp_path)] == [str(tmp_path / "first"), str(tmp_path / "second")]


def test_zips_hold_runs_like_folders(tmp_path: Path) -> None:
    make.kernel_trace(tmp_path / "run" / "n1" / "77_kernel_trace.csv")
    make.agent_info(tmp_path / "run" / "n1" / "77_agent_info.csv")
    packed = Path(shutil.make_archive(str(tmp_path / "run"), "zip", tmp_path / "run"))
    trace = load(packed)
    assert trace.run.hosts == ("n1",)
    assert set(trace.table("dispatches")["pid"]) == {77}
    bundle.write(trace, tmp_path / "out")
    assert len({source.sha256 for source in bundle.read(tmp_path / "out").run.sources}) == 1


# What lies beside it


def test_files_beside_the_recording(tmp_path: Path) -> None:
    make.kernel_trace(tmp_path / "app_kernel_trace.csv")
    (tmp_path / "app_hip_api_trace.csv").write_text("")
    (tmp_path / "notes.txt").write_text("remember the milk")
    (tmp_path / "app_marker_api_trace.csv").write_text(make.API_HEADER + "a,b,c,d,e,f,g,h,i\n")
    (tmp_path / "broken.zip").write_bytes(b"PK\x03\x04 nothing more")
    run = load(tmp_path).run
    assert [Path(loss.source).name for loss in run.losses] == ["app_marker_api_trace.csv", "broken.zip"]
    assert "row 2 has 9 fields, but the header names 7" in run.losses[0].what
    assert run.notices[-2:] == (
        "1 file beside it empty: app_hip_api_trace.csv",
        "1 file beside it not read: notes.txt",
    )


def test_one_unreadable_file_does_not_hide_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make.kernel_trace(tmp_path / "a_kernel_trace.csv")
    _deny(monkeypatch, make.agent_info(tmp_path / "a_agent_info.csv"))
    trace = load(tmp_path)
    assert trace.rows("dispatches") == 3
    assert "Permission denied" in trace.run.losses[0].what


def test_a_subfolder_that_cannot_be_listed_is_a_loss(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make.kernel_trace(tmp_path / "a_kernel_trace.csv")
    (tmp_path / "locked").mkdir()
    real = os.scandir

    def scandir(path: str) -> object:
        if str(path).endswith("locked"):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    assert "Permission denied" in load(tmp_path).run.losses[0].what


def test_hidden_files_and_linked_folders_are_passed_by_and_pipes_named(tmp_path: Path) -> None:
    make.kernel_trace(tmp_path / "a_kernel_trace.csv")
    make.kernel_trace(tmp_path / ".x.123.partial" / "b_kernel_trace.csv", start=900_000)
    make.kernel_trace(tmp_path / ".hidden_kernel_trace.csv", start=900_000)
    os.mkfifo(tmp_path / "pipe_kernel_trace.csv")
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "self").symlink_to(tmp_path / "self")
    trace = load(tmp_path)
    assert trace.rows("dispatches") == 3
    assert trace.run.losses == ()
    assert trace.run.notices == ("2 files beside it not read: pipe_kernel_trace.csv, self",)


def test_a_folder_with_a_pipe_alone(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe_kernel_trace.csv")
    with pytest.raises(InputError, match=r"holds no readable recording: 1 file there.*is not a file"):
        load(tmp_path)


def test_a_zip_with_two_members_of_one_name(tmp_path: Path) -> None:
    files = [make.kernel_trace(tmp_path / f"{name}_kernel_trace.csv") for name in "ab"]
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # zipfile sees it, too
        for file in files:
            archive.write(file, "x_kernel_trace.csv")
    with pytest.raises(InputError, match=r"holds two files called x_kernel_trace\.csv"):
        load(tmp_path / "x.zip")


def test_a_panic_of_polars_is_said_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def panic(*_: object) -> None:
        raise pl.exceptions.PanicException("attempt to subtract with overflow")

    monkeypatch.setattr("rocm_perf.ingest.reading.sniff", panic)
    file = make.kernel_trace(tmp_path / "a_kernel_trace.csv")
    with pytest.raises(InputError, match=r"cannot read .*a_kernel_trace.csv: attempt to subtract"):
        load(file)


def test_folders_without_a_recording(tmp_path: Path) -> None:
    empty, junk, nothing = (tmp_path / name for name in ("empty", "junk", "nothing"))
    for folder in (empty, junk, nothing):
        folder.mkdir()
    with pytest.raises(EmptyCaptureError, match="is empty"):
        load(empty)
    (junk / "a.txt").write_text("hello")
    (junk / "b.bin").write_bytes(bytes(range(256)))
    with pytest.raises(InputError, match="holds no readable recording: 2 files there"):
        load(junk)
    for name in ("a_kernel_trace.csv", "a_hip_api_trace.csv"):
        (nothing / name).write_text("")
    with pytest.raises(EmptyCaptureError, match=r"2 files there, for example: .*is empty"):
        load(nothing)


def test_a_folder_with_far_too_many_files_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "MAX_FILES", 2)
    for number in range(3):
        (tmp_path / f"{number}.txt").write_text("x")
    with pytest.raises(InputError, match="more than 2 files"):
        load(tmp_path)


# Bundles


def test_a_folder_of_bundles_gives_each(tmp_path: Path) -> None:
    trace = load(make.kernel_trace(tmp_path / "source" / "a_kernel_trace.csv"))
    shutil.rmtree(tmp_path / "source")
    for name in ("one", "deep/two", "bad"):
        bundle.write(trace, tmp_path / name)
    (tmp_path / "bad" / "dispatches.parquet").unlink()
    loaded = load_path(tmp_path)
    assert sorted(Path(run.label).name for run in loaded if run.trace) == ["one", "two"]
    assert [Path(run.label).name for run in loaded if run.error] == ["bad"]
    with pytest.raises(UsageError, match="holds 2 runs"):
        load(tmp_path)


def test_a_manifest_of_another_tool_does_not_hide_a_recording(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "inner"):
        make.kernel_trace(folder / "a_kernel_trace.csv")
        (folder / "manifest.json").write_text(json.dumps({"name": "web app"}))
    assert load(tmp_path / "inner").rows("dispatches") == 3
    assert len(load(tmp_path).run.sources) == 2


# Several paths


def test_ten_paths_of_which_one_is_bad(tmp_path: Path) -> None:
    paths = [make.kernel_trace(tmp_path / f"{name}_kernel_trace.csv") for name in "abcdefghi"]
    bad = tmp_path / "j_kernel_trace.csv"
    bad.write_text("this is no trace")
    loaded = load_files([*paths[:4], bad, *paths[4:]])
    assert [run.label for run in loaded] == [str(path) for path in [*paths[:4], bad, *paths[4:]]]
    assert sum(run.trace is not None for run in loaded) == 9
    (error,) = [run.error for run in loaded if run.error]
    assert str(bad) in str(error)


def test_named_files_of_one_process_are_one_run(tmp_path: Path) -> None:
    kernel = make.kernel_trace(tmp_path / "a_kernel_trace.csv")
    calls = make.api_trace(tmp_path / "a_hip_api_trace.csv", 42)
    bad = tmp_path / "a_agent_info.csv"
    bad.write_text("nothing of ours")
    run, error = load_files([kernel, calls, bad, kernel])
    assert run.trace is not None
    assert (run.trace.rows("dispatches"), run.trace.rows("api_calls")) == (3, 1)
    assert (error.label, error.trace) == (str(bad), None)


def test_paths_of_every_kind_at_once(tmp_path: Path) -> None:
    make.kernel_trace(tmp_path / "folder" / "a_kernel_trace.csv")
    (tmp_path / "empty").mkdir()
    with zipfile.ZipFile(tmp_path / "none.zip", "w"):
        pass
    paths = [tmp_path / name for name in ("folder", "empty", "none.zip", "gone", "x" * 5000)]
    loaded = load_files(paths)
    assert [type(run.error) for run in loaded] == [
        type(None),
        EmptyCaptureError,
        EmptyCaptureError,
        InputError,
        InputError,
    ]
    assert all(isinstance(run.error, RocmPerfError) for run in loaded[1:])
    assert load_files([]) == []
