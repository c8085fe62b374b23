"""The bar of phases."""

from __future__ import annotations

from typing import Literal

import pytest
from msgspec.structs import replace

from rocm_perf.model.quantity import Quantity
from rocm_perf.model.results.kernels import Step, Steps
from rocm_perf.model.results.phases import Pause, Phase, Phases, StepSpread
from rocm_perf.render.figures.figure import Missing
from rocm_perf.render.figures.phases import phases_figure
from rocm_perf.render.sections.phases import phase_line
from tests.unit.render.figures.drawings import SVG, check, parsed, rects, texts

PHASES = Phases(
    rows=(
        Phase("before", 0, 1_000_000),
        Phase("start-up", 1_000_000, 3_000_000),
        Phase("steady", 3_000_000, 9_000_000),
        Phase("end", 9_000_000, 10_000_000),
    ),
    origin_ns=500,
    found_by="ranges",
    steps=3,
    step_ns=Quantity(2_000_000, "ns", "median"),
    kernels_per_step=Quantity(4, "", "median"),
    carried_over=0,
    pauses=(),
)
STEPS = Steps(
    found_by="ranges",
    steps=tuple(Step(500 + at, 500 + at + 2_000_000, 4, 1) for at in (3_000_000, 5_000_000, 7_000_000)),
    kernels_per_step=Quantity(4, "", "median"),
    duration_ns=Quantity(2_000_000, "ns", "median"),
    steady_from_ns=None,
)


def test_parts_are_as_wide_as_they_last_and_sum_to_the_width() -> None:
    drawn = phases_figure(PHASES, STEPS, width=500)
    bars = [one for look in ("idle", "fill-2", "fill-1", "fill-8") for one in rects(drawn, look)[:1]]
    assert [bar.left for bar in bars] == pytest.approx([0, 50, 150, 450])
    assert [bar.width for bar in bars] == pytest.approx([50, 100, 300, 50])
    check(drawn)


def test_the_legend_says_how_long_and_how_many_steps() -> None:
    shown = texts(phases_figure(PHASES, STEPS))
    assert "start-up 2.00 ms (20.0 %)" in shown
    assert "steady 6.00 ms (60.0 %): 3 steps of 2.00 ms" in shown


@pytest.mark.parametrize(
    ("median_ns", "steps"),
    [
        (1_900_000, "3 steps of 1.90 ms (median; 1.00 ms to 2.10 ms)"),
        (1_000_000, "3 steps of 1.00 ms (median; 1.00 ms to 2.10 ms)"),
    ],
)
def test_the_length_of_a_step_is_the_median_with_its_spread(median_ns: float, steps: str) -> None:
    """Not the length of the phase divided by the steps."""
    told = replace(
        PHASES,
        step_ns=Quantity(median_ns, "ns", "median"),
        step_spread=StepSpread(1_000_000, 2_100_000, whole=True),
    )
    assert phase_line(told).split(": ")[1].startswith(steps + " | ")


def test_steps_that_are_alike_are_told_by_their_median_alone() -> None:
    told = replace(PHASES, step_spread=StepSpread(1_900_000, 2_100_000, whole=True))
    assert "3 steps of 2.00 ms | " in phase_line(told)


def test_launches_of_one_kernel_are_not_called_steps() -> None:
    assert "3 launches of one kernel, one every 2.00 ms" in phase_line(replace(PHASES, kernel="laplacian"))


@pytest.mark.parametrize(("begins", "name"), [("work", "GPU work"), ("launch", "launch"), ("step", "step")])
def test_what_comes_before_is_called_by_what_follows(
    begins: Literal["work", "launch", "step"], name: str
) -> None:
    without = tuple(row for row in PHASES.rows if row.name != "start-up")
    assert f"before the first {name} 1.00 ms" in phase_line(replace(PHASES, rows=without, begins=begins))


def test_a_line_where_each_further_step_begins_unless_they_are_too_close_or_unknown() -> None:
    def marks(phases: Phases, steps: Steps | None) -> list[float]:
        lines = parsed(phases_figure(phases, steps, width=500)).iter(f"{SVG}line")
        return [float(one.get("x1", "0")) for one in lines if one.get("y2") == "34" and one.get("y1") != "0"]

    assert marks(PHASES, STEPS) == pytest.approx([250, 350])
    assert marks(PHASES, None) == []
    assert marks(replace(PHASES, steps=4), STEPS) == []
    assert marks(replace(PHASES, steps=200), STEPS) == []


def test_a_pause_stands_where_it_was() -> None:
    drawn = phases_figure(replace(PHASES, pauses=(Pause(4_000_000, 5_000_000, "<gemm>"),)), STEPS, width=500)
    assert [(box.left, box.width) for box in rects(drawn, "idle") if box.height < 14 < box.width] == [
        (200, 50)
    ]
    assert "pause that does not recur 1.00 ms" in texts(drawn)


def test_nothing_to_draw_says_why() -> None:
    assert phases_figure(replace(PHASES, rows=(), unavailable="no times")) == Missing("no times")


@pytest.mark.parametrize(("judged_ns", "told"), [(6_100_000, "work 6.10 ms"), (9_000_000, "work 6.00 ms")])
def test_work_is_as_long_as_the_judged_time_that_is_told_beside_it(judged_ns: int, told: str) -> None:
    rows = (Phase("before", 0, 3_000_000), Phase("work", 3_000_000, 9_000_000))
    assert phase_line(replace(PHASES, rows=rows, steps=0), work_ns=judged_ns).endswith(told)
