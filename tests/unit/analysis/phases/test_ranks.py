"""The steady state of a job of many ranks: steps are those of one rank, and the others do the same."""

from __future__ import annotations

from rocm_perf.analysis.phases.build import phases
from rocm_perf.sim.jobs import simulate_job


def test_the_steps_of_a_job_are_found_whatever_the_number_of_its_ranks() -> None:
    two, four = (phases(simulate_job(ranks, 12, seed=3, cause="none").trace) for ranks in (2, 4))
    assert two.steps == four.steps >= 10
    assert {phase.name for phase in four.rows} >= {"steady"}
