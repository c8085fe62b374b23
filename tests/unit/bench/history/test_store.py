"""The store: what comes back, what two writers, a full disk and a damaged file do."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from rocm_perf.bench.history.records import Phase
from rocm_perf.bench.history.store import History
from rocm_perf.errors import InputError, OutputError, RocmPerfError
from tests.unit.bench.history.runs import level, run, shown

WRITERS, EACH = 4, 5
WRITE_MUCH = """
import resource, sys
from pathlib import Path
from rocm_perf.bench.history.store import History
from rocm_perf.errors import RocmPerfError
from tests.unit.bench.history.runs import run
limit = int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
try:
    History(Path(sys.argv[1])).add_run(run([1.0] * 50_000))
except RocmPerfError as error:
    print(error)
"""


@pytest.fixture
def history(tmp_path: Path) -> History:
    return History(tmp_path / ".rocm-perf")


def test_what_is_kept_comes_back_in_its_order(history: History) -> None:
    first, second = run([1.0, 1.1], test=shown(0.02)), level(2.0)
    for one in (first, second, level(3.0, target="other")):
        history.add_run(one)
    assert history.targets() == ["model.py:step", "other"]
    assert history.runs("model.py:step", 10) == [first, second]
    assert history.runs("model.py:step", 1) == [second]


def test_phases_come_back(history: History) -> None:
    phase = Phase(
        name="eager", date="2026-11-16", source="run", numbers={"latency_ns": 5.0, "accuracy": None}
    )
    history.add_phase(phase)
    assert history.phases() == [phase]


def test_nothing_is_created_by_looking(history: History) -> None:
    assert not history.targets()
    assert not history.runs("model.py:step", 3)
    assert not history.phases()
    assert not history.folder.exists()


def test_writers_at_once_lose_nothing(history: History) -> None:
    def write() -> None:
        for _ in range(EACH):
            history.add_run(level(1.0))

    threads = [threading.Thread(target=write) for _ in range(WRITERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(history.runs("model.py:step", 100)) == WRITERS * EACH


def test_several_may_create_it_at_once(tmp_path: Path) -> None:
    for number in range(20):
        history = History(tmp_path / str(number))
        threads = [threading.Thread(target=history.add_run, args=(level(1.0),)) for _ in range(WRITERS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(history.runs("model.py:step", 100)) == WRITERS


def test_a_writer_that_never_ends_costs_one_line(history: History, monkeypatch: pytest.MonkeyPatch) -> None:
    history.add_run(level(1.0))
    monkeypatch.setattr("rocm_perf.bench.history.store._PATIENCE_S", 0.0)
    other = sqlite3.connect(history.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(OutputError, match=r"locked.*as it was before"):
        history.add_run(level(2.0))
    other.close()
    assert history.runs("model.py:step", 9) == [level(1.0)]


def test_a_full_disk_leaves_what_was_there(history: History) -> None:
    history.add_run(level(1.0))
    size = history.path.stat().st_size
    done = subprocess.run(
        [sys.executable, "-c", WRITE_MUCH, str(history.folder), str(size + 8192)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith(f"cannot use {history.path}: ")
    assert done.stdout.count("\n") == 1
    assert history.runs("model.py:step", 9) == [level(1.0)]


@pytest.mark.parametrize(
    "content", [b"not a database at all, but long enough", b"SQLite format 3\0" + b"\xff" * 500]
)
def test_a_damaged_file_is_left_alone(history: History, content: bytes) -> None:
    history.folder.mkdir()
    history.path.write_bytes(content)
    for attempt in (history.targets, lambda: history.add_run(level(1.0))):
        with pytest.raises(InputError, match="move it away"):
            attempt()
    assert history.path.read_bytes() == content


def test_bytes_changed_in_the_middle_cost_one_line(history: History) -> None:
    for _ in range(20):
        history.add_run(level(1.0))
    data = bytearray(history.path.read_bytes())
    data[4096:] = b"\xa5" * len(data[4096:])
    history.path.write_bytes(bytes(data))
    with pytest.raises(RocmPerfError):
        history.runs("model.py:step", 100)


def test_another_programs_database_is_refused(history: History) -> None:
    history.folder.mkdir()
    with sqlite3.connect(history.path) as other:
        other.execute("CREATE TABLE notes (text)")
    other.close()
    with pytest.raises(InputError, match="another program's"):
        history.add_run(level(1.0))


def test_a_later_release_is_not_touched(history: History) -> None:
    history.add_run(level(1.0))
    with sqlite3.connect(history.path) as other:
        other.execute("PRAGMA user_version = 99")
    other.close()
    with pytest.raises(InputError, match="Update rocm-perf"):
        history.runs("model.py:step", 1)


def test_a_row_that_is_no_result_is_named(history: History) -> None:
    history.add_run(level(1.0))
    with sqlite3.connect(history.path) as other:
        other.execute("UPDATE runs SET document = '{}'")
    other.close()
    with pytest.raises(InputError, match="row 1 is not what was written"):
        history.runs("model.py:step", 1)


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="cannot write"):
        History(tmp_path / "file").add_run(level(1.0))
