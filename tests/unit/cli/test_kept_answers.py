"""What took seconds to find out is kept, for as long as nothing that it rests on has changed."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from rocm_perf.cli import analyze, kept_answers
from rocm_perf.cli.main import main


@pytest.fixture
def recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A recording that is worth keeping an answer on, however small and fast it is."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(analyze, "WORTH_KEEPING_S", 0.0)
    monkeypatch.setattr(kept_answers, "_SMALLEST_BYTES", 0)
    return write(tmp_path / "trace.json")


def write(file: Path, count: int = 40) -> Path:
    events = [
        {
            "ph": "X",
            "cat": "kernel",
            "name": "k",
            "ts": 10 * n,
            "dur": 5,
            "pid": 0,
            "tid": 7,
            "args": {"device": 0},
        }
        for n in range(count)
    ]
    file.write_text(json.dumps({"schemaVersion": 1, "deviceProperties": [], "traceEvents": events}))
    return file


def asked(recording: Path, capsys: pytest.CaptureFixture[str], *options: str) -> tuple[str, bool]:
    """The answer as JSON, and whether it was kept."""
    assert main(["analyze", str(recording), "--json", *options]) == 0
    told = capsys.readouterr()
    return told.out, "--fresh looks again" in told.err


def test_the_second_answer_is_the_first(recording: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = asked(recording, capsys), asked(recording, capsys)
    assert (first[1], second[1]) == (False, True)
    assert first[0] == second[0]


def test_fresh_looks_again(recording: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked(recording, capsys)
    assert not asked(recording, capsys, "--fresh")[1]


def test_another_recording_of_the_same_name_is_read(
    recording: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked(recording, capsys)
    write(recording, count=41)
    text, was_kept = asked(recording, capsys)
    assert not was_kept
    assert json.loads(text)["runs"][0]["hotspots"]["dispatches"] == 40  # whole periods


@pytest.mark.parametrize("options", [("--by", "short"), ("--window", "all"), ("--as-one",)])
@pytest.mark.whole
def test_other_options_are_another_question(
    recording: Path,
    capsys: pytest.CaptureFixture[str],
    options: tuple[str, ...],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked(recording, capsys)
    assert not asked(recording, capsys, *options)[1]


def test_a_change_of_the_program_makes_every_answer_old(
    recording: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked(recording, capsys)
    monkeypatch.setattr(kept_answers, "_own_sources", lambda: [("changed.py", 1, 1)])
    assert not asked(recording, capsys)[1]


def rpd(file: Path) -> Path:
    """A database with 40 kernels."""
    with closing(sqlite3.connect(file)) as connection:
        for table, columns in (
            ("rocpd_op", "gpuId, queueId, start, end, description_id, opType_id"),
            ("rocpd_api", "pid, tid, start, end, apiName_id, args_id"),
            ("rocpd_string", "string"),
        ):
            connection.execute(f"CREATE TABLE {table} (id INTEGER PRIMARY KEY, {columns})")
        connection.executemany(
            "INSERT INTO rocpd_string VALUES (?, ?)", [(1, "gemm"), (2, "KernelExecution")]
        )
        rows = [(n, 0, 0, 1000 * n, 1000 * n + 500, 1, 2) for n in range(1, 41)]
        connection.executemany("INSERT INTO rocpd_op VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
        connection.commit()
    return file


def test_rows_in_the_log_of_a_database_are_looked_for(
    recording: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = rpd(recording.with_name("run.rpd"))
    first, _ = asked(file, capsys, "--window", "all")
    assert asked(file, capsys, "--window", "all") == (first, True)
    delete = (
        "import os, sqlite3, sys; connection = sqlite3.connect(sys.argv[1]); "
        "connection.execute('PRAGMA journal_mode = wal'); "
        "connection.execute('DELETE FROM rocpd_op WHERE id > 10'); connection.commit(); os._exit(0)"
    )
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA journal_mode = wal")
    wal_mode, _ = asked(file, capsys, "--window", "all")
    subprocess.run([sys.executable, "-c", delete, file], check=True)
    later, was_kept = asked(file, capsys, "--window", "all")
    assert not was_kept
    counts = [json.loads(text)["runs"][0]["hotspots"]["dispatches"] for text in (wal_mode, later)]
    assert counts == [40, 10]
    assert asked(file, capsys, "--window", "all") == (later, True)


def test_the_users_gpus_and_settings_belong_to_the_question(
    recording: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gpus = tmp_path / "gpus"
    gpus.mkdir()
    monkeypatch.setenv("ROCM_PERF_GPUS", str(gpus))
    asked(recording, capsys)
    assert asked(recording, capsys)[1]
    (gpus / "mine.txt").write_text("a file that was not there")
    assert not asked(recording, capsys)[1]
    monkeypatch.setenv("ROCM_PERF_MAX_BYTES", "1000000")
    assert not asked(recording, capsys)[1]


def test_a_file_that_the_recording_names_is_looked_for(
    recording: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Inductor's generated source, which may come, change and go."""
    source = tmp_path / "cabc.py"
    args = {"kernel_file": str(source), "kernel_hash": "cabc", "Input Dims": [[8]], "Input type": ["float"]}
    document = json.loads(recording.read_text())
    span = {"ph": "X", "pid": 1, "tid": 1, "ts": 1, "dur": 2}
    document["traceEvents"].append({**span, "cat": "cpu_op", "name": "triton_poi_fused_0", "args": args})
    recording.write_text(json.dumps(document))
    asked(recording, capsys)
    assert asked(recording, capsys)[1]
    source.write_text("def triton_poi_fused_0(in_ptr0, out_ptr0, xnumel):\n")
    assert not asked(recording, capsys)[1]
    assert asked(recording, capsys)[1]


@pytest.mark.parametrize("damage", [b"", b"\xff" * 100, b"\x80"])
@pytest.mark.whole
def test_a_damaged_answer_is_made_again(
    recording: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path, damage: bytes
) -> None:
    first, _ = asked(recording, capsys)
    (file,) = (tmp_path / "cache").rglob("*.msgpack")
    file.write_bytes(damage)
    assert asked(recording, capsys) == (first, False)


def test_an_answer_that_others_could_have_written_is_not_used(
    recording: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    asked(recording, capsys)
    (file,) = (tmp_path / "cache").rglob("*.msgpack")
    file.chmod(0o666)
    assert not asked(recording, capsys)[1]


def test_the_oldest_answers_make_room(
    recording: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_answers, "_MOST_ANSWERS", 2)
    for number in range(4):
        write(recording, count=40 + number)
        asked(recording, capsys)
        newest = max((tmp_path / "cache").rglob("*.msgpack"), key=lambda file: file.stat().st_mtime_ns)
        os.utime(newest, ns=(number, number))
    assert len(list((tmp_path / "cache").rglob("*.msgpack"))) == 2


def test_a_cache_that_cannot_be_written_is_no_error(
    recording: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "cache").write_text("a file, not a folder")
    assert not asked(recording, capsys)[1]
    assert not asked(recording, capsys)[1]


def test_small_recordings_are_not_asked_about(recording: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    assert kept_answers.question_of(recording, (), kept_answers.Wish()) is None
