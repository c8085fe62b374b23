"""The search on a laboratory whose answers are known."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from rocm_perf.errors import InputError
from rocm_perf.model.results.optimize import Attempt
from rocm_perf.optimize.candidate import Candidate, Refused
from rocm_perf.optimize.gates import GATES
from rocm_perf.optimize.loop.budget import Budget
from rocm_perf.optimize.loop.halving import RUNGS
from rocm_perf.optimize.loop.ledger import Ledger, read_attempts
from rocm_perf.optimize.loop.search import Found, Search
from rocm_perf.optimize.loop.trial import Version

from .laboratory import ToyLaboratory, candidate, start

NAMES = ("a", "b", "c", "d")


def searched(tmp_path: Path, laboratory: ToyLaboratory, **settings: object) -> tuple[Found, list[Attempt]]:
    """What the search finds among four candidates, and its ledger."""

    def propose(version: Version, _: Sequence[Attempt]) -> list[Candidate]:
        return [candidate(name) for name in NAMES if f"/* {name} */".encode() not in version.text]

    limits = {"seconds": 60.0, "attempts": 100, **settings}
    budget = Budget(float(str(limits["seconds"])), int(str(limits["attempts"])))
    ledger = Ledger(tmp_path / "ledger.jsonl", "k.hip", lambda _: None)
    search = Search(laboratory, propose, ledger, budget, least_gain=0.01)
    return search.run(start()), read_attempts(tmp_path / "ledger.jsonl")


def test_accepts_the_fastest_first_and_builds_on_it(tmp_path: Path) -> None:
    found, attempts = searched(tmp_path, ToyLaboratory(speeds={"b": 1.2, "d": 1.1, "c": 0.8}))
    assert found.rounds == 2
    assert found.version.text.startswith(b"/* d */\n/* b */\n")
    assert [one.name for one in attempts if one.verdict == "accepted"] == ["b", "d"]
    assert {one.name for one in attempts if one.verdict == "no gain"} == {"a", "c"}


def test_nothing_helps(tmp_path: Path) -> None:
    found, attempts = searched(tmp_path, ToyLaboratory())
    assert found.rounds == 0
    assert found.version == start()
    assert [one.verdict for one in attempts] == ["no gain"] * 4


@pytest.mark.parametrize("gate", [gate for gate in GATES if gate != "precision"])
def test_a_closed_gate_rejects_whatever_the_speed(tmp_path: Path, gate: str) -> None:
    laboratory = ToyLaboratory(speeds={"a": 5.0}, fails_at={"a": gate})  # type: ignore[dict-item]
    found, attempts = searched(tmp_path, laboratory)
    assert found.rounds == 0
    fate = next(one for one in attempts if one.name == "a")
    assert fate.verdict == ("no gain" if gate == "gain" else "rejected")
    assert fate.reason == f"{gate}: planted"
    assert fate.passages[-1].gate == gate  # nothing was asked behind it


def test_a_slower_one_gets_its_turn_when_the_faster_one_is_wrong(tmp_path: Path) -> None:
    laboratory = ToyLaboratory(speeds={"a": 3.0, "b": 1.5}, fails_at={"a": "fresh"})
    found, attempts = searched(tmp_path, laboratory)
    assert b"/* b */" in found.version.text
    assert [one.verdict for one in attempts if one.name == "a"] == [
        "rejected",
        "rejected",
    ]  # on both versions


def test_a_candidate_that_crashes_has_its_line(tmp_path: Path) -> None:
    found, attempts = searched(tmp_path, ToyLaboratory(speeds={"b": 1.5}, crashes=frozenset("a")))
    assert found.rounds == 1  # the others were timed without it
    assert next(one for one in attempts if one.name == "a").verdict == "failed"


def test_all_run_the_first_rung_and_half_the_second(tmp_path: Path) -> None:
    laboratory = ToyLaboratory(speeds=dict(zip(NAMES, (1.1, 1.2, 1.3, 1.4), strict=True)))
    searched(tmp_path, laboratory, attempts=4)
    first, second = RUNGS
    assert laboratory.asked[4:10] == [
        *(f"race {name} {first}" for name in NAMES),
        f"race d {second}",
        f"race c {second}",
    ]


def test_the_budget_ends_it(tmp_path: Path) -> None:
    found, attempts = searched(tmp_path, ToyLaboratory(speeds={"c": 2.0}), attempts=2)
    assert found.stopped == "2 attempts made"
    assert [one.name for one in attempts] == ["a", "b"]


def test_what_was_tried_is_not_tried_again(tmp_path: Path) -> None:
    searched(tmp_path, ToyLaboratory(), attempts=2)
    second = ToyLaboratory()
    _, attempts = searched(tmp_path, second)
    assert [one.name for one in attempts] == list(NAMES)
    assert not any("race a" in what for what in second.asked)


def test_a_ledger_that_was_cut_off_is_read_up_to_there(tmp_path: Path) -> None:
    searched(tmp_path, ToyLaboratory())
    path = tmp_path / "ledger.jsonl"
    path.write_bytes(path.read_bytes()[:-20])
    assert len(read_attempts(path)) == 3
    path.write_bytes(b"not a ledger\n")
    with pytest.raises(InputError, match="--fresh"):
        read_attempts(path)


def test_a_second_run_starts_from_what_was_accepted(tmp_path: Path) -> None:
    speeds = {"b": 1.2, "d": 1.1}
    first, _ = searched(tmp_path, ToyLaboratory(speeds=speeds), attempts=4)
    assert first.rounds == 1  # the budget was spent
    laboratory = ToyLaboratory(speeds=speeds)
    second, attempts = searched(tmp_path, laboratory)
    assert second.rounds == 2
    assert second.version.text.startswith(b"/* d */\n/* b */\n")
    assert not any("race b" in what for what in laboratory.asked)
    assert len({one.number for one in attempts}) == len(attempts)


def test_what_is_not_proposed_is_entered_once(tmp_path: Path) -> None:
    refused = Refused("unroll: loop in line 3", "unroll", "it holds a barrier")
    ledger = Ledger(tmp_path / "ledger.jsonl", "k.hip", lambda _: None)
    search = Search(
        laboratory=ToyLaboratory(speeds={"a": 2.0}),
        propose=lambda version, _: [refused, *([] if b"a" in version.text[:6] else [candidate("a")])],
        ledger=ledger,
        budget=Budget(60, 100),
        least_gain=0.01,
    )
    assert search.run(start()).rounds == 1
    assert [one.verdict for one in ledger.attempts] == ["not proposed", "accepted"]


def test_who_proposes_is_asked_again_with_what_came_of_it(tmp_path: Path) -> None:
    def learning(version: Version, attempts: Sequence[Attempt]) -> list[Candidate]:
        return [candidate(f"idea {len(attempts)}")] if len(attempts) < 3 else []

    ledger = Ledger(tmp_path / "ledger.jsonl", "k.hip", lambda _: None)
    laboratory = ToyLaboratory(fails_at={"idea 0": "text", "idea 1": "captured"}, speeds={"idea 1": 2.0})
    search = Search(laboratory, learning, ledger, Budget(60, 100), least_gain=0.01)
    assert search.run(start()).rounds == 0
    assert [one.verdict for one in ledger.attempts] == ["rejected", "rejected", "no gain"]
