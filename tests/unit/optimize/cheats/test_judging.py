"""What the script for a GPU makes of the gates: who stopped a cheat, and what an open gate lets through."""

from __future__ import annotations

from rocm_perf.optimize.gates import GATES
from tests.gpu.optimize.judging import outcome
from tests.unit.optimize.loop.laboratory import ToyLaboratory, candidate, start


def test_a_closed_gate_stops_and_an_open_one_tells() -> None:
    laboratory = ToyLaboratory(fails_at={"cheat": "captured"})
    closed = outcome(laboratory, candidate("cheat"), start())
    assert (closed.got_through, closed.stopped_by) == (False, ("captured",))
    opened = outcome(laboratory, candidate("cheat"), start(), frozenset(GATES))
    assert (opened.got_through, opened.stopped_by) == (True, ("captured",))


def test_what_was_not_built_cannot_get_through() -> None:
    laboratory = ToyLaboratory(fails_at={"cheat": "build"})
    laboratory.built = lambda trial: laboratory._gates(trial, "build")  # type: ignore[method-assign]
    opened = outcome(laboratory, candidate("cheat"), start(), frozenset(GATES))
    assert (opened.got_through, opened.failure) == (False, "there is nothing that could run")
