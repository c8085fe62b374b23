"""The waterfall of a comparison, and intervals of its ratios."""

from __future__ import annotations

import pytest

from rocm_perf.analysis.compare.populations import compare
from rocm_perf.model.results.wall_change import WallChange, WallPart
from rocm_perf.render.figures.figure import NARROW, WIDE, Missing
from rocm_perf.render.figures.waterfall import intervals_figure, signed, waterfall_figure
from tests.unit.analysis.compare.sides import compared, example, loop, side
from tests.unit.render.figures.drawings import SVG, check, parsed, rects, texts

PARTS = (
    WallPart("kernels", "kernels <running>", 700, 300, -400),
    WallPart("copies", "copies", 100, 200, 100),
    WallPart("same", "same", 200, 200, 0),
)
WALL = WallChange(base_gpu="0", new_gpu="0", base_ns=1000, new_ns=700, difference_ns=-300, parts=PARTS)


def test_each_part_goes_on_where_the_one_before_it_ended() -> None:
    drawn = waterfall_figure(WALL)
    (better,), (worse,) = rects(drawn, "good"), rects(drawn, "bad")
    assert worse.left == pytest.approx(better.left)
    assert better.width == pytest.approx(4 * worse.width, abs=0.1)
    base, new = (float(one.get("cx", "0")) for one in parsed(drawn).iter(f"{SVG}circle"))
    assert base == pytest.approx(better.right, abs=0.02)
    assert new == pytest.approx(worse.right, abs=0.02)


def test_a_part_that_did_not_change_is_left_out() -> None:
    shown = texts(waterfall_figure(WALL))
    assert "same" not in shown
    assert {"kernels <running>", "-400 ns", "+100 ns", "1.00 us", "700 ns"} <= set(shown)


def test_differences_have_a_sign() -> None:
    assert (signed(-1500), signed(20)) == ("-1.50 us", "+20 ns")


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_simulated_runs(width: float) -> None:
    check(waterfall_figure(compared(example("sync_in_loop"), example("sync_hoisted")).waterfall, width))


def test_a_comparison_without_walls_has_no_waterfall() -> None:
    assert isinstance(waterfall_figure(None), Missing)


def test_intervals_need_repeats() -> None:
    once = compared(example("sync_in_loop"), example("sync_hoisted"))
    assert intervals_figure(once) == Missing(once.wall.no_interval or "")


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_a_ratio_lies_in_its_interval_left_of_one_where_new_is_faster(width: float) -> None:
    base = side(*(loop(seed, 50, scale=1 + seed / 100) for seed in range(4)))
    new = side(*(loop(seed + 10, 40, scale=1 + seed / 100) for seed in range(4)))
    drawn = intervals_figure(compare(base, new), width)
    check(drawn)
    tree = parsed(drawn)
    wall = next(tree.iter(f"{SVG}circle"))
    interval = next(one for one in tree.iter(f"{SVG}line") if one.get("class") == "interval")
    unchanged = next(
        float(one.get("x1", "0")) for one in tree.iter(f"{SVG}line") if one.get("class") == "axis"
    )
    place = float(wall.get("cx", "0"))
    assert float(interval.get("x1", "0")) < place < float(interval.get("x2", "0")) < unchanged
    assert wall.get("class") == "good"
