"""What took seconds to find out is kept, for as long as nothing that it rests on has changed."""

from __future__ import annotations

import json
import os
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
