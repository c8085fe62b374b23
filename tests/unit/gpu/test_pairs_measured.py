"""How pairs of GPU programs are measured and recorded, with programs that sleep and recorders that only write."""

from __future__ import annotations

import argparse
import gzip
import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from rocm_perf.cli.profile import ProfileCommand
from rocm_perf.cli.profile_request import request_of
from tests.gpu.pairs.loop import WARM_UP
from tests.gpu.pairs.measure import REPEATS, measure, truth
from tests.gpu.pairs.pair import Program
from tests.gpu.pairs.recording import RECORDERS, Recorder, command, launched, record
from tests.gpu.pairs.results import append, latest
from tests.unit.gpu.stand_ins import Sleeper, sleeping_pair

pytestmark = pytest.mark.thorough  # scripts for a machine with a GPU: slow, and seldom changed

ANSWER = '{"us_per_step": 5.5}\n'
CUPTI = RECORDERS[0]


def recording(words: Sequence[str]) -> str:
    """Leaves what the profiler of the command would leave."""
    folder, profiler = (words[words.index(option) + 1] for option in ("-d", "--profiler"))
    suffix = next(recorder.suffix for recorder in RECORDERS if recorder.name == profiler)
    home = Path(folder) / "host"
    home.mkdir()
    (home / f"rank0-7{suffix}").write_bytes(b"recorded")
    return ANSWER


def test_the_variants_take_turns() -> None:
    taken: list[tuple[bool, int]] = []
    truth(sleeping_pair(taken), Sleeper())
    warm = [(after, number) for after in (False, True) for number in range(WARM_UP)]
    turns = [(after, number) for _ in range(REPEATS) for after in (False, True) for number in range(3)]
    assert taken == warm + turns


def test_the_truth_is_the_median_of_every_turn() -> None:
    row = truth(sleeping_pair([]), Sleeper())
    before, after = row["medians_us"]
    assert len(row["before_us"]) == len(row["after_us"]) == REPEATS
    assert sorted(row["before_us"])[REPEATS // 2] == before > 4000
    assert 1000 < after < before
    assert row["same"] is True
    assert row["factor"] > 1


def test_every_loop_is_timed_until_the_gpu_is_done() -> None:
    device = Sleeper()
    truth(sleeping_pair([]), device)
    loops = ["synchronize", "rest", "range loop", "synchronize"] * 2 * REPEATS
    assert device.asked == ["seed", "synchronize"] * 2 + loops + ["release"]


def test_results_that_differ_are_told() -> None:
    def make(after: bool) -> Program:
        return Program(lambda _: None, result=lambda: after)

    row = truth(replace(sleeping_pair([]), make=make), Sleeper())
    assert (row["same"], row["factor"]) == (False, None)


def test_a_recording_is_kept_compressed(tmp_path: Path) -> None:
    row = record(sleeping_pair([]), CUPTI, tmp_path, recording)
    assert gzip.decompress((tmp_path / "sleeping.rptrace.gz").read_bytes()) == b"recorded"
    assert row["file"] == "sleeping.rptrace.gz"
    assert row["us_per_step"] == 5.5
    assert "too_large" not in row


def test_a_recording_that_is_too_large_is_kept_and_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.gpu.pairs.recording.LARGEST_BYTES", 5)
    assert record(sleeping_pair([]), CUPTI, tmp_path, recording)["too_large"]
    assert (tmp_path / "sleeping.rptrace.gz").exists()


def test_no_recording_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="cupti left 0 files"):
        record(sleeping_pair([]), CUPTI, tmp_path, lambda _: ANSWER)


def test_what_fails_is_written_down_and_the_rest_goes_on(tmp_path: Path) -> None:
    def launch(words: Sequence[str]) -> str:
        if "cupti" in words:
            raise subprocess.TimeoutExpired("rocm-perf", 90)
        return recording(words) if "profile" in words else ANSWER

    measure(sleeping_pair([]), Sleeper(), tmp_path, launch)
    rows = [json.loads(line) for line in (tmp_path / "pairs.jsonl").read_text().splitlines()]
    assert [(row["part"], "error" in row) for row in rows] == [
        ("truth", False),
        ("apart", False),
        ("cupti", True),
        ("torch", False),
    ]
    assert {part for _, part in latest(tmp_path / "pairs.jsonl")} == {"truth", "apart", "torch"}


def test_the_last_whole_row_counts(tmp_path: Path) -> None:
    path = tmp_path / "pairs.jsonl"
    append(path, {"pair": "a", "part": "truth", "steps": 1})
    append(path, {"pair": "a", "part": "truth", "steps": 2})
    with path.open("a") as file:
        file.write('{"pair": "a", "part": "tru')
    append(path, {"pair": "b", "part": "truth", "steps": 3})
    assert {pair: row["steps"] for (pair, _), row in latest(path).items()} == {"a": 2, "b": 3}


def test_a_program_that_fails_is_told_with_its_message() -> None:
    with pytest.raises(ValueError, match="exit code 3: out of memory"):
        launched([sys.executable, "-c", "import sys; print('out of memory', file=sys.stderr); sys.exit(3)"])


@pytest.mark.parametrize("recorder", RECORDERS, ids=lambda recorder: recorder.name)
def test_the_command_is_one_that_profile_takes(recorder: Recorder, tmp_path: Path) -> None:
    words = command(sleeping_pair([]), recorder, tmp_path)
    parser = argparse.ArgumentParser()
    ProfileCommand().prepare_parser(parser)
    request, notices = request_of(parser.parse_args(words[words.index("profile") + 1 :]))
    assert request.profiler == recorder.name
    assert request.command[-2:] == ("sleeping", "3" if recorder == CUPTI else "2")
    assert notices == ()
