"""The bar of the phases, by the cells of each."""

from __future__ import annotations

import pytest

from rocm_perf.model.quantity import unavailable
from rocm_perf.model.results.phases import Phase, PhaseName, Phases
from rocm_perf.render.drawings.characters import ASCII, UNICODE
from rocm_perf.render.drawings.phases import phases_bar, shared_cells


def lasting(durations: dict[PhaseName, int], steps: int = 0) -> Phases:
    rows: list[Phase] = []
    for name, duration in durations.items():
        start = rows[-1].end_ns if rows else 0
        rows.append(Phase(name, start, start + duration))
    nothing = unavailable("", "", "not needed here")
    return Phases(
        rows=tuple(rows),
        origin_ns=0,
        found_by="",
        steps=steps,
        step_ns=nothing,
        kernels_per_step=nothing,
        carried_over=0,
        pauses=(),
    )


@pytest.mark.parametrize(
    ("durations", "cells"),
    [
        ([1, 2, 1], [25, 50, 25]),
        ([1, 10**6], [1, 99]),
        ([10**6, 1, 1], [98, 1, 1]),
        ([0, 7], [0, 100]),
        ([0], [0]),
    ],
)
def test_cells_are_shared_in_proportion(durations: list[int], cells: list[int]) -> None:
    assert shared_cells(durations, 100) == cells


def test_each_phase_has_its_character_and_steps_are_set_apart() -> None:
    phases = lasting({"before": 20, "start-up": 20, "steady": 120, "end": 40}, steps=3)
    assert phases_bar(phases, 20, UNICODE).plain == "░░▒▒███▉███▉████▓▓▓▓"
    assert phases_bar(phases, 20, ASCII).plain == "..::===|===|====----"


def test_steps_that_are_too_many_to_be_told_apart_are_not_drawn() -> None:
    assert phases_bar(lasting({"before": 10, "steady": 90}, steps=6), 10, ASCII).plain == ".=" + "=" * 8
