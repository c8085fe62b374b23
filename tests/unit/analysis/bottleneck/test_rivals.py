"""Rivals: kernels that a benchmark runs one after the other, and those that only look like it."""

from __future__ import annotations

from collections.abc import Sequence

from rocm_perf.analysis.bottleneck.rivals import rivals
from rocm_perf.model.results.bottleneck import Rival
from tests.unit.analysis.traces import Row, kernel, trace


def burst(name: str, start: int, length: int, calls: int = 10, items: int | None = None) -> list[Row]:
    more = {} if items is None else {"grid_x": items, "grid_y": 1, "grid_z": 1}
    return [kernel(name, start + length * i, start + length * (i + 1), **more) for i in range(calls)]


def found(*bursts: Sequence[Row]) -> list[Rival]:
    return list(rivals(trace(dispatches=[row for rows in bursts for row in rows])))


def test_a_first_word_of_four_letters_says_that_two_do_the_same() -> None:
    (rival,) = found(burst("stencil_naive", 0, 300, items=64), burst("stencil_tiled", 3000, 100, items=256))
    assert (rival.slow_ns, rival.fast_ns, rival.calls, rival.total_ns) == (300, 100, 10, 3000)
    assert "both named stencil" in rival.basis
    assert "stencil_naive runs 64 work-items, stencil_tiled 256" in rival.basis


def test_two_products_are_rivals_whatever_their_names() -> None:
    (rival,) = found(
        burst("matmul_kernel", 0, 200), burst("Cijk_Ailk_Bljk_BBS_BH_MT1x1x1", 2000, 100, calls=11)
    )
    assert rival.slow == "matmul_kernel"
    assert "both gemm kernels" in rival.basis


def test_the_fastest_of_several_is_the_measure() -> None:
    slow, middle = found(burst("solve_a", 0, 400), burst("solve_b", 4000, 200), burst("solve_c", 6000, 100))
    assert [slow.fast, middle.fast] == ["solve_c", "solve_c"]


def test_kernels_that_take_turns_work_together() -> None:
    turns = [
        row
        for i in range(10)
        for row in (*burst("stage_a", 400 * i, 300, 1), *burst("stage_b", 400 * i + 300, 100, 1))
    ]
    assert found(turns) == []


def test_other_kinds_of_work_are_no_rivals() -> None:
    assert found(burst("softmax_kernel", 0, 300), burst("matmul_kernel", 3000, 100)) == []
    assert found(burst("hip_gather", 0, 300), burst("hip_sort", 3000, 100)) == []


def test_other_numbers_of_launches_are_other_problems() -> None:
    assert found(burst("stencil_a", 0, 300), burst("stencil_b", 3000, 100, calls=40)) == []


def test_nearly_equal_times_are_no_finding() -> None:
    assert found(burst("stencil_a", 0, 110), burst("stencil_b", 3000, 100)) == []


def test_much_unequal_times_are_different_work() -> None:
    assert found(burst("stencil_init", 0, 10), burst("stencil_solve", 3000, 100)) == []
