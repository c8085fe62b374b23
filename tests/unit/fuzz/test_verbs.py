"""Hostile inputs to whole verbs, as many as the suite has time for; the judge and the workers behind `make fuzz`."""

from __future__ import annotations

import os
import pickle
import signal
import sys
import time
from pathlib import Path

import pytest

from tests.compile_amd import Compiler
from tests.fuzz.verbs import judge as judging
from tests.fuzz.verbs.__main__ import attack
from tests.fuzz.verbs.attempts import ATTEMPTS
from tests.fuzz.verbs.campaign import Campaign, Result
from tests.fuzz.verbs.inputs import Input, all_inputs
from tests.fuzz.verbs.judge import OUTPUT, judge
from tests.fuzz.verbs.tally import Tally
from tests.fuzz.verbs.worker import Worker

SEED, CASES = 16, 120


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Campaign:
    return Campaign(all_inputs(Compiler.of_this_run(tmp_path_factory), with_specimens=False), SEED)


@pytest.mark.thorough
def test_no_verb_falls_over(campaign: Campaign, tmp_path: Path) -> None:
    tally = Tally(SEED)
    for number in range(CASES):
        result = campaign.run(number, tmp_path / str(number))
        assert not result.findings, f"case {number}, {result.command}: {result.findings}"
        tally.count(result)
    assert set(tally.verbs) == {attempt.verb for attempt in ATTEMPTS}
    recognised = sum(verb.recognised for verb in tally.verbs.values())
    assert recognised > 0.6 * CASES  # else the changes break too much to get past the first look


def test_the_same_seed_gives_the_same_cases(campaign: Campaign) -> None:
    again, other = (Campaign(campaign.inputs, seed) for seed in (SEED, SEED + 1))
    cases = [campaign.case(number) for number in range(10)]
    assert [again.case(number) for number in range(10)] == cases
    assert [other.case(number) for number in range(10)] != cases


def _misbehave(what: str) -> int:
    """A verb that does one thing wrong."""
    if what == "raises":
        raise ValueError("a defect")
    if what == "litters":
        Path("litter").touch()
    elif what == "strays":
        (Path(__file__).parent / "litter").unlink(missing_ok=True)
    elif what == "takes long":
        end = time.process_time() + 0.2
        while time.process_time() < end:
            pass
    elif what == "leaves a file":
        Path(OUTPUT, "half").touch()
        print("failed", file=sys.stderr)
    print({"escapes": "\x1b[31m", "turns": "\u202e"}.get(what, "fine"))
    return {"ends with 70": 70, "says nothing": 6, "leaves a file": 6}.get(what, 0)


@pytest.mark.parametrize(
    ("what", "finding"),
    [
        ("raises", "ValueError in elsewhere"),
        ("ends with 70", "verb ends with 70"),
        ("says nothing", "verb ends with 6 without a word"),
        ("escapes", "verb passes control characters on to stdout"),
        ("turns", "verb passes control characters on to stdout"),
        ("litters", "files beside the output folder"),
        ("strays", "a write outside of the output folder"),
        ("leaves a file", "files written although the verb failed"),
        ("takes long", "verb is slow"),
    ],
)
def test_the_judge_sees(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str, finding: str) -> None:
    (tmp_path / OUTPUT).mkdir()
    monkeypatch.setattr(judging, "main", lambda argv: _misbehave(argv[1]))
    monkeypatch.setattr(judging, "CPU_LIMIT_S", 0.1)
    assert finding in judge(["verb", what], tmp_path).findings


def test_the_judge_says_nothing_of_what_is_right(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / OUTPUT).mkdir()
    monkeypatch.setattr(judging, "main", lambda argv: _misbehave(argv[1]))
    assert not judge(["verb", "is fine"], tmp_path).findings


class DyingWorker(Worker):
    """One whose process is killed in the middle of its second case."""

    def _one(self, campaign: Campaign, number: int) -> Result:
        if number == 1:
            self.case_folder(number).mkdir()
            os.kill(os.getpid(), signal.SIGKILL)
        return super()._one(campaign, number)


@pytest.mark.whole
def test_a_case_that_ends_the_process_is_a_finding(tmp_path: Path) -> None:
    seeds = tmp_path / "seeds"
    seeds.write_bytes(pickle.dumps([Input("counters", "input.txt", {"": b"pmc: SQ_WAVES\n"})]))
    worker = DyingWorker(tmp_path / "worker", seeds, SEED)
    results = attack(worker, range(3), tmp_path / "findings")
    assert [list(result.findings) for result in results] == [
        [],
        ["profile (counters) process ended with -9"],
        [],
    ]
    (finding,) = (tmp_path / "findings").iterdir()
    assert "rocm-perf profile --dry-run" in (finding / "finding.txt").read_text()
