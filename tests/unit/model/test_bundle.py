"""Bundles: all or nothing on disk, lazy in memory, and never at the cost of what was there."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocm_perf import __version__
from rocm_perf.errors import InputError, OutputError, RocmPerfError, UsageError
from rocm_perf.ingest.load import load
from rocm_perf.model import bundle, schema
from rocm_perf.model.bounds import bounded
from rocm_perf.model.run import Loss, RunInfo, SourceFile
from rocm_perf.model.trace import Trace
from tests.properties import examples


def _trace(count: int = 3, tool: str = "rocprofv3") -> Trace:
    dispatches = pl.DataFrame({"kernel": [f'k{n}, "x"' for n in range(count)], "start_ns": range(count)})
    copies = pl.DataFrame({"kind": ["H2D"], "start_ns": [2**61]})
    tables = {"dispatches": dispatches, "copies": copies}
    return Trace({name: schema.conform(name, frame) for name, frame in tables.items()}, RunInfo(tool=tool))


def _same(one: Trace, other: Trace) -> bool:
    return one.run == other.run and all(one.table(name).equals(other.table(name)) for name in schema.SCHEMAS)


def _edit_manifest(folder: Path, **changes: object) -> None:
    file = folder / bundle.MANIFEST
    file.write_text(json.dumps({**json.loads(file.read_text()), **changes}))


def _values(column: schema.Column) -> st.SearchStrategy[Any]:
    bits = 31 if column.dtype == pl.Int32 else 63
    kinds: dict[Any, st.SearchStrategy[Any]] = {
        pl.String: st.text(st.characters(exclude_categories=["Cs"]), max_size=5),
        pl.Boolean: st.booleans(),
        pl.Float64: st.floats(allow_nan=False),
        pl.UInt64: st.integers(0, 2**64 - 1),
    }
    known = kinds.get(column.dtype, st.integers(-(2**bits), 2**bits - 1))
    return known if column.required else st.none() | known


def _rows(table: str) -> st.SearchStrategy[pl.DataFrame]:
    contract = schema.SCHEMAS[table]
    row = st.tuples(*(_values(column) for column in contract.columns))
    return st.lists(row, max_size=3).map(
        lambda rows: bounded(table, pl.DataFrame(rows, schema=contract.dtypes, orient="row"))[0]
    )


@examples(times=0.6)
@given(
    st.fixed_dictionaries(
        {}, optional={name: _rows(name) for name in ("dispatches", "agents", "counters", "ranges")}
    )
)
def test_round_trip(tmp_path_factory: pytest.TempPathFactory, tables: dict[str, pl.DataFrame]) -> None:
    folder = tmp_path_factory.mktemp("round") / "x"
    trace = Trace(tables, RunInfo(losses=(Loss("a", "b", 3),), asked=("hip",)))
    bundle.write(trace, folder)
    assert _same(bundle.read(folder), trace)


def test_the_manifest_says_where_the_trace_comes_from(tmp_path: Path) -> None:
    plain, archive = tmp_path / "a.csv", tmp_path / "b.zip"
    plain.write_bytes(b"content")
    archive.write_bytes(b"zipped")
    sources = (
        SourceFile(str(plain), 7, "rocprofv3-kernel-csv"),
        SourceFile(f"{archive}!x/y.csv", 3, "rocprofv3-kernel-csv"),
        SourceFile(str(tmp_path / "gone.csv"), 3, "x"),
        SourceFile("elsewhere.csv", 3, "x", sha256="kept"),
    )
    run = RunInfo(
        "rocprofv3", "7.0", ("csv",), ("node1",), "./app --fast", "boot", sources=sources, recorded_at="today"
    )
    bundle.write(Trace({}, run), tmp_path / "x")
    manifest = json.loads((tmp_path / "x" / "manifest.json").read_text())
    assert (manifest["kind"], manifest["version"]) == ("rocm-perf-bundle", 1)
    assert manifest["producer"] == f"rocm-perf {__version__}"
    stored = manifest["run"]
    assert (stored["tool"], stored["tool_version"], stored["hosts"]) == ("rocprofv3", "7.0", ["node1"])
    assert (stored["command"], stored["clock"]) == ("./app --fast", "boot")
    expected = [hashlib.sha256(b"content").hexdigest(), hashlib.sha256(b"zipped").hexdigest(), None, "kept"]
    assert [source["sha256"] for source in stored["sources"]] == expected


def test_a_source_that_changed_since_gets_no_hash(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_bytes(b"other content")
    run = RunInfo(sources=(SourceFile(str(file), 7, "x"),))
    assert bundle.write(Trace({}, run), tmp_path / "x").run.sources[0].sha256 is None


def _with_damaged_rows(folder: Path) -> Path:
    """A bundle whose dispatches have a good footer and rows that cannot be decoded."""
    bundle.write(_trace(2000), folder)
    file = folder / "dispatches.parquet"
    data = bytearray(file.read_bytes())
    data[4 : len(data) // 3] = bytes(len(data) // 3 - 4)
    file.write_bytes(data)
    return folder


def _without_checksums(folder: Path) -> Path:
    """The bundle as the first versions wrote it."""
    tables = json.loads((folder / "manifest.json").read_text())["tables"]
    _edit_manifest(folder, tables={name: {**entry, "crc32": None} for name, entry in tables.items()})
    return folder


def test_a_file_that_is_not_what_was_written_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"dispatches.parquet is damaged: it is not what was written"):
        bundle.read(_with_damaged_rows(tmp_path / "x"))


def test_no_row_is_read_before_a_table_is_asked_for(tmp_path: Path) -> None:
    trace = bundle.read(_without_checksums(_with_damaged_rows(tmp_path / "x")))
    assert trace.table("copies").height == 1
    assert trace.rows("dispatches") == 2000
    with pytest.raises(InputError, match="dispatches cannot be read"):
        trace.table("dispatches")
    with pytest.raises(InputError, match="dispatches cannot be read"):
        trace.lazy("dispatches")


def test_an_existing_folder_is_kept(tmp_path: Path) -> None:
    bundle.write(_trace(tool="first"), tmp_path / "x")
    with pytest.raises(UsageError, match=r"exists already.*--force"):
        bundle.write(_trace(tool="second"), tmp_path / "x")
    assert bundle.read(tmp_path / "x").run.tool == "first"
    bundle.write(_trace(5, tool="second"), tmp_path / "x", overwrite=True)
    assert _same(bundle.read(tmp_path / "x"), _trace(5, tool="second"))
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


@pytest.mark.parametrize("content", [None, "data.csv", "manifest.json", "a file"])
def test_what_is_not_a_bundle_is_never_replaced(tmp_path: Path, content: str | None) -> None:
    target = tmp_path / "x"
    if content == "a file":
        target.write_text("precious")
    else:
        target.mkdir()
    if content in ("data.csv", "manifest.json"):
        (target / content).write_text('{"name": "another tool"}')
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(UsageError, match="is not a bundle"):
        bundle.write(_trace(), target, overwrite=True)
    assert sorted(tmp_path.rglob("*")) == before


def test_a_bundle_with_files_of_the_user_is_not_replaced(tmp_path: Path) -> None:
    bundle.write(_trace(), tmp_path / "x")
    (tmp_path / "x" / "notes.txt").write_text("precious")
    with pytest.raises(UsageError, match=r"notes\.txt would be lost"):
        bundle.write(_trace(), tmp_path / "x", overwrite=True)


def test_a_link_to_a_bundle_stays_a_link(tmp_path: Path) -> None:
    bundle.write(_trace(tool="first"), tmp_path / "x")
    (tmp_path / "link").symlink_to(tmp_path / "x")
    bundle.write(_trace(tool="second"), tmp_path / "link", overwrite=True)
    assert (tmp_path / "link").is_symlink()
    assert bundle.read(tmp_path / "x").run.tool == "second"


def _fails_at(monkeypatch: pytest.MonkeyPatch, step: str, error: BaseException) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    owner = {"write_parquet": pl.DataFrame, "write_bytes": Path, "rename": Path}[step]
    monkeypatch.setattr(owner, step, fail)


@pytest.mark.parametrize("step", ["write_parquet", "write_bytes", "rename"])
def test_a_full_disk_leaves_the_old_bundle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    bundle.write(_trace(tool="old"), tmp_path / "x")
    with monkeypatch.context() as patch:
        _fails_at(patch, step, OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
        with pytest.raises(OutputError, match=r"cannot write .*x: No space left on device"):
            bundle.write(_trace(tool="new"), tmp_path / "x", overwrite=True)
    assert _same(bundle.read(tmp_path / "x"), _trace(tool="old"))
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


@pytest.mark.parametrize("error", [OSError(errno.EIO, os.strerror(errno.EIO)), KeyboardInterrupt()])
def test_a_failed_last_step_puts_the_old_bundle_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    bundle.write(_trace(tool="old"), tmp_path / "x")
    real = Path.rename

    def rename(path: Path, target: Path) -> Path:
        if path.suffix == ".partial":
            raise error
        return real(path, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", rename)
        with pytest.raises((OutputError, KeyboardInterrupt)):
            bundle.write(_trace(tool="new"), tmp_path / "x", overwrite=True)
    assert bundle.read(tmp_path / "x").run.tool == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


def _in_child(script: str) -> subprocess.CompletedProcess[str]:
    root = Path(__file__).parents[3]
    command = [sys.executable, "-c", script]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=root, check=False)


def test_the_error_of_a_real_full_disk(tmp_path: Path) -> None:
    script = f"""
import resource, signal
from pathlib import Path
from tests.unit.model.test_bundle import _trace
from rocm_perf.model import bundle
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
bundle.write(_trace(5000), Path({str(tmp_path / "x")!r}))
"""
    done = _in_child(script)
    assert "OutputError: cannot write" in done.stderr
    assert "File too large" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_killed_writer_leaves_nothing_that_loads(tmp_path: Path) -> None:
    script = f"""
import os, signal
from pathlib import Path
from tests.unit.model.test_bundle import _trace
from rocm_perf.model import bundle
bundle._put_in_place = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
bundle.write(_trace(), Path({str(tmp_path / "x")!r}))
"""
    assert _in_child(script).returncode == -signal.SIGKILL
    (left,) = tmp_path.iterdir()
    assert left.name.startswith(".x.")
    assert left.name.endswith(".partial")
    with pytest.raises(RocmPerfError):
        load(tmp_path / "x")
    with pytest.raises(RocmPerfError):
        load(tmp_path)
    bundle.write(_trace(), tmp_path / "x")
    assert _same(load(tmp_path), _trace())


def test_a_failure_of_any_kind_leaves_no_draft(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _fails_at(monkeypatch, "write_bytes", KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        bundle.write(_trace(), tmp_path / "x")
    assert list(tmp_path.iterdir()) == []


def test_a_parent_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="cannot write"):
        bundle.write(_trace(), tmp_path / "file" / "x")


@pytest.mark.parametrize("overwrite", [False, True])
def test_of_two_writers_one_wins_whole(tmp_path: Path, overwrite: bool) -> None:
    if overwrite:
        bundle.write(_trace(), tmp_path / "x")
    writers = [_trace(count, tool=f"writer {count}") for count in range(10, 16)]
    errors: list[BaseException] = []

    def write(trace: Trace) -> None:
        try:
            bundle.write(trace, tmp_path / "x", overwrite=overwrite)
        except RocmPerfError as error:
            errors.append(error)

    threads = [threading.Thread(target=write, args=(trace,)) for trace in writers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    kept = bundle.read(tmp_path / "x")
    assert sum(_same(kept, trace) for trace in writers) == 1
    assert overwrite or len(errors) == len(writers) - 1
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


def test_a_writer_that_comes_second_does_not_replace_the_first(tmp_path: Path) -> None:
    def write_meanwhile() -> None:
        with bundle.writing(tmp_path / "x") as draft:
            bundle.write(_trace(tool="first"), tmp_path / "x")
            draft.finish(RunInfo(tool="second"))

    with pytest.raises(OutputError, match="not empty"):
        write_meanwhile()
    assert bundle.read(tmp_path / "x").run.tool == "first"


def _refused(folder: Path, message: str) -> None:
    with pytest.raises(InputError, match=message):
        load(folder)


def test_columns_that_were_added_since_are_null_in_an_older_bundle(tmp_path: Path) -> None:
    samples = pl.DataFrame({"time_ns": [1], "metric": ["power_w"], "value": [2.0]})
    folder = tmp_path / "older"
    bundle.write(Trace({"samples": schema.conform("samples", samples)}), folder)
    file = folder / "samples.parquet"
    pl.read_parquet(file).drop("lowest", "start_ns").write_parquet(file)
    table = bundle.read(_without_checksums(folder)).table("samples")
    assert table.equals(schema.conform("samples", samples))
    pl.read_parquet(file).drop("metric").write_parquet(file)
    _refused(folder, "columns are not those of samples")


def test_what_does_not_load(tmp_path: Path) -> None:
    good = tmp_path / "good"
    bundle.write(_trace(), good)

    def broken(name: str) -> Path:
        return Path(shutil.copytree(good, tmp_path / name))

    (broken("missing") / "copies.parquet").unlink()
    _refused(tmp_path / "missing", "copies.parquet is missing")
    file = broken("cut") / "copies.parquet"
    file.write_bytes(file.read_bytes()[:-10])
    _refused(tmp_path / "cut", "copies.parquet is damaged")
    (broken("empty") / "copies.parquet").write_bytes(b"")
    _refused(tmp_path / "empty", "copies.parquet is damaged")
    shutil.copy(good / "dispatches.parquet", broken("swapped") / "copies.parquet")
    _refused(tmp_path / "swapped", "not what was written")
    _refused(_without_checksums(tmp_path / "swapped"), "columns are not those of copies")
    _edit_manifest(broken("newer"), version=2, run=3)
    _refused(tmp_path / "newer", r"format version 2.*pip install -U")
    _edit_manifest(broken("older"), version=0)
    _refused(tmp_path / "older", "format version 0")
    _edit_manifest(broken("kind"), kind="something")
    _refused(tmp_path / "kind", "no readable recording")
    with pytest.raises(InputError, match="its kind is 'something'"):
        bundle.read(tmp_path / "kind")
    _edit_manifest(broken("typed"), tables=[1])
    _refused(tmp_path / "typed", "is not the manifest")
    (broken("half") / "manifest.json").write_bytes((good / "manifest.json").read_bytes()[:99])
    _refused(tmp_path / "half", "is not the manifest")
    (broken("deep") / "manifest.json").write_text(
        '{"kind": "rocm-perf-bundle", "version": 1, "x": ' + "[" * 99_999
    )
    _refused(tmp_path / "deep", "is not the manifest")
    _edit_manifest(broken("unknown"), tables={"secrets": {"file": "secrets.parquet", "rows": 1}})
    _refused(tmp_path / "unknown", "secrets")
    with pytest.raises(InputError, match="cannot read"):
        bundle.read(tmp_path / "nowhere")


@pytest.mark.parametrize(
    "name", ["../good/copies.parquet", "/etc/passwd", "..", "", "copies.parquet/", "a\0b", "x" * 999]
)
def test_a_manifest_cannot_point_elsewhere(tmp_path: Path, name: str) -> None:
    bundle.write(_trace(), tmp_path / "good")
    bundle.write(_trace(), tmp_path / "x")
    _edit_manifest(tmp_path / "x", tables={"copies": {"file": name, "rows": 1}})
    _refused(tmp_path / "x", "is damaged")


def test_a_manifest_that_is_a_pipe_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / bundle.MANIFEST)
    assert not bundle.is_bundle(tmp_path)
    with pytest.raises(InputError, match="it is not a file"):
        bundle.read(tmp_path)


def test_a_bundle_exported_onto_itself(tmp_path: Path) -> None:
    bundle.write(_trace(), tmp_path / "x")
    bundle.write(bundle.read(tmp_path / "x"), tmp_path / "x", overwrite=True)
    assert _same(bundle.read(tmp_path / "x"), _trace())


def test_the_bundle_has_the_rights_of_any_new_folder(tmp_path: Path) -> None:
    (tmp_path / "usual").mkdir()
    bundle.write(_trace(), tmp_path / "x")
    assert (tmp_path / "x").stat().st_mode == (tmp_path / "usual").stat().st_mode
