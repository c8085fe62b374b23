"""Files that other processes read beside this one."""

from __future__ import annotations

import pickle
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rocm_perf.errors import EmptyCaptureError, InputError, RocmPerfError
from rocm_perf.ingest import helpers as module
from rocm_perf.ingest.helpers import Helpers, reading_helpers
from rocm_perf.ingest.io.source import Source
from rocm_perf.ingest.load import load, load_files
from rocm_perf.ingest.reading import read_source
from rocm_perf.ingest.sniff import adapter_named
from tests.unit.ingest import recordings as make

_PATIENCE_S = 60.0
_UP = "import os, pickle, sys; os.write(1, b'.'); "
_ENDS = _UP + "pickle.load(sys.stdin.buffer)"
_GARBLES = _ENDS + r"; sys.stdout.buffer.write(b'cnowhere\nNothing\n.')"  # a module that does not exist
_REFUSES = (
    _UP + "pickle.load(sys.stdin.buffer); "
    "from rocm_perf.errors import InputError; "
    "sys.stdout.buffer.write(pickle.dumps(InputError('broken', 'by a test', 'Go on.')))"
)


@pytest.fixture(autouse=True)
def _every_file_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_LARGE_BYTES", 0)


@pytest.fixture
def source(tmp_path: Path) -> Source:
    return Source(make.kernel_trace(tmp_path / "kernel_trace.csv"))


@contextmanager
def _reading(source: Source, *script: str) -> Iterator[Helpers]:
    """One helper that has begun with the file."""
    command = (sys.executable, "-c", *script) if script else module._COMMAND
    helpers = Helpers(1, command=command)
    helpers.expect([source])
    deadline = time.monotonic() + _PATIENCE_S
    while helpers.waiting and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not helpers.waiting
    try:
        yield helpers
    finally:
        helpers.close()


def test_a_helper_brings_what_this_process_would_have_read(source: Source) -> None:
    with _reading(source) as helpers:
        content = helpers.read(source, None)
    expected = read_source(source, None)
    assert content is not None
    assert adapter_named(content.adapter) is expected.adapter
    assert content.part.tables.keys() == expected.part.tables.keys()
    assert all(content.part.tables[name].equals(table) for name, table in expected.part.tables.items())


def test_a_helper_imports_nothing_from_the_working_folder(
    source: Source, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trap = "import pathlib; pathlib.Path('imported').touch()"
    for name in ("polars", "msgspec", "rocm_perf"):
        (tmp_path / f"{name}.py").write_text(trap)
    monkeypatch.chdir(tmp_path)
    with _reading(source) as helpers:
        assert helpers.read(source, None) is not None
    assert not (tmp_path / "imported").exists()


def test_why_a_file_cannot_be_read_is_said_as_without_a_helper(tmp_path: Path) -> None:
    file = tmp_path / "notes.csv"
    file.write_text("nothing that a profiler writes\n")
    with pytest.raises(RocmPerfError) as here:
        read_source(Source(file), None)
    with _reading(Source(file)) as helpers, pytest.raises(RocmPerfError) as there:
        helpers.read(Source(file), None)
    assert (type(there.value), str(there.value)) == (type(here.value), str(here.value))


def test_an_answer_may_be_a_refusal(source: Source) -> None:
    with (
        _reading(source, _REFUSES) as helpers,
        pytest.raises(InputError, match=r"broken: by a test\. Go on\."),
    ):
        helpers.read(source, None)


@pytest.mark.parametrize("script", [_ENDS, _GARBLES], ids=["ends", "garbles"])
def test_what_a_helper_did_not_bring_to_an_end_is_read_here(source: Source, script: str) -> None:
    with _reading(source, script) as helpers:
        assert helpers.read(source, None) is None


@pytest.mark.parametrize("command", [("/nowhere/python",), ("false",)], ids=["absent", "fails"])
def test_without_helpers_all_is_read_here(source: Source, command: tuple[str, ...]) -> None:
    helpers = Helpers(1, command=command)
    helpers.expect([source])
    assert helpers.read(source, None) is None
    helpers.close()


def test_a_file_that_nobody_expected_is_read_here(source: Source) -> None:
    helpers = Helpers(1)
    assert helpers.read(source, None) is None
    helpers.close()


def test_files_that_do_not_fit_into_memory_together_are_read_one_after_another(tmp_path: Path) -> None:
    files = [Source(make.kernel_trace(tmp_path / f"{number}_kernel_trace.csv")) for number in range(3)]
    room = 2 * module.MOST_PER_BYTE * files[0].stored_bytes
    helpers = Helpers(0, room)
    helpers.expect(files)
    helpers.expect(files)
    assert helpers.waiting == 2
    helpers.close()


def test_runs_are_the_same_with_and_without_helpers(tmp_path: Path) -> None:
    good = make.kernel_trace(tmp_path / "a" / "1_kernel_trace.csv")
    empty = tmp_path / "b" / "2_kernel_trace.csv"
    empty.parent.mkdir()
    empty.write_text(make.KERNEL_HEADER)
    files = [good, empty, make.kernel_trace(tmp_path / "c" / "3_kernel_trace.csv", start=9000)]
    with reading_helpers(later=files[1:]):
        helped = load_files(files)
        folder = load(tmp_path / "a")
    alone = load_files(files)
    assert [run.label for run in helped] == [run.label for run in alone]
    for one, other in zip(helped, alone, strict=True):
        assert str(one.error) == str(other.error)
        assert one.trace is not None
        assert other.trace is not None
        assert one.trace.run == other.trace.run
        assert one.trace.table("dispatches").equals(other.trace.table("dispatches"))
    assert folder.rows("dispatches") == 3


@pytest.mark.parametrize(
    "error", [InputError("a", "b", "c"), EmptyCaptureError("a"), InputError("a", next_step="c")]
)
def test_errors_reach_another_process_whole(error: RocmPerfError) -> None:
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), str(copy), copy.next_step) == (type(error), str(error), error.next_step)
