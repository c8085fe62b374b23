"""What an optimisation says in the end."""

from __future__ import annotations

from rocm_perf.model.results.optimize import Attempt, GatePassage
from rocm_perf.optimize.choice import Prospect
from rocm_perf.optimize.conclusions import accepted, none_accepted, not_worth_it, rounding_notes
from rocm_perf.optimize.loop.search import Found
from rocm_perf.optimize.loop.trial import Version
from tests.unit.optimize.loop.laboratory import speedup

NEEDED = "--verify f32=0,1e-05"


def prospect(saved_ns: float) -> Prospect:
    return Prospect(
        kernel="k", share=0.0, cause="unknown", because="", roof_share=None, wall_ns=1000, saved_ns=saved_ns, basis=""
    )  # fmt: skip


def refused(name: str, pace: float, needed: str = NEEDED) -> Attempt:
    passage = GatePassage(gate="captured", passed=False, words="", needed=needed)
    return Attempt(
        number=1, round=0, key="", name=name, by="test", verdict="rejected", reason="", passages=(passage,),
        replay=speedup(pace),
    )  # fmt: skip


def test_a_kernel_beside_the_critical_path_is_said_to_be_there() -> None:
    assert "hides behind that of others" in not_worth_it(prospect(0), 0.01)
    assert "less than 1.0 %" in not_worth_it(prospect(1), 0.01)


def test_nothing_to_try_is_not_none_of_zero() -> None:
    assert none_accepted(0, None).startswith("No change that we know")
    assert none_accepted(3, "60 s are over") == (
        "None of 3 candidates passed every gate and was faster; 60 s are over."
    )


def test_an_answer_says_what_ended_the_search() -> None:
    found = Found(Version(b""), 1, "60 s are over")
    assert accepted(found, 4, applied=False) == (
        "1 of 4 candidates accepted; 60 s are over; nothing of yours was changed."
    )


def test_the_fastest_change_that_only_rounds_otherwise_is_named() -> None:
    (note,) = rounding_notes([refused("slow", 1.1), refused("fast", 1.4), refused("wrong", 9.0, "")], 0.01)
    assert note.startswith("fast: 1.40 times as fast")
    assert note.endswith(f"{NEEDED} allows that")
    assert rounding_notes([refused("slower", 0.9)], 0.01) == ()
