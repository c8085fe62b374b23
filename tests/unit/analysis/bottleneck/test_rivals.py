"""Rivals: kernels that a benchmark runs one after the other, and those that only look like it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from rocm_perf.analysis.bottleneck.rivals import rivals
from rocm_perf.model.results.bottleneck import Rival
from tests.unit.analysis.traces import Row, kernel, trace


def burst(
    name: str, start: int, length: int, calls: int = 10, *, items: int | None = 64, op_id: int | None = None
) -> list[Row]:
    more: dict[str, int | None] = {"op_id": op_id, "pid": 1}
    more |= {} if items is None else {"grid_x": items, "grid_y": 1, "grid_z": 1}
    return [kernel(name, start + length * i, start + length * (i + 1), **more) for i in range(calls)]


def found(*bursts: Sequence[Row], shapes: Sequence[str] = ()) -> list[Rival]:
    """The rivals among kernels; of the operators 0, 1, ... the shapes."""
    ops = [
        {"name": f"op{number}", "category": "operator", "op_id": number, "pid": 1, "shapes": shape, "start_ns": 0,
         "end_ns": 1}
        for number, shape in enumerate(shapes)
    ]  # fmt: skip
    dispatches = [row for rows in bursts for row in rows]
    recording = trace(dispatches=dispatches, ops=ops) if ops else trace(dispatches=dispatches)
    return list(rivals(recording))


def test_a_first_word_of_four_letters_says_that_two_do_the_same() -> None:
    slow, fast = "stencil_naive(float*, int)", "stencil_tiled(float*, int)"
    (rival,) = found(burst(slow, 0, 300, items=64), burst(fast, 3000, 100, items=256))
    assert (rival.slow_ns, rival.fast_ns, rival.calls, rival.total_ns) == (300, 100, 10, 3000)
    assert "both named stencil, with the same parameters" in rival.basis
    assert "stencil_naive runs 64 work-items, stencil_tiled 256" in rival.basis


def test_versions_with_other_grids_and_parameters_may_have_other_inputs() -> None:
    slow, fast = "stencil_naive(float*, int)", "stencil_tiled(float*)"
    assert found(burst(slow, 0, 300, items=64), burst(fast, 3000, 100, items=256)) == []
    assert found(burst("stencil_a", 0, 300, items=None), burst("stencil_b", 3000, 100, items=None)) == []


def test_the_same_grid_is_enough_where_no_name_says_otherwise() -> None:
    (rival,) = found(burst("micro_tk", 0, 300), burst("matmul_kernel", 3000, 100))
    assert rival.basis == "10 launches and 10 launches, one after the other, both over 64 work-items"


@pytest.mark.parametrize(
    ("slow", "fast", "are_rivals"),
    [
        ("attend_bwd", "fmha_fwd", False),
        ("attend_bwd", "fmha_bwd", True),
        ("attend_ker", "_attn_fwd", True),
        ("_attn_bwd_dq", "_attn_bwd_dkdv", False),
        ("conv_dgrad_engine", "conv_wgrad_engine", False),
        ("softmax_grad", "softmax_warp_forward", False),
        ("gemm_bf16", "gemm_f16", False),
        ("gemm_bf16", "gemm_kernel", True),
        ("stencil_a(double*)", "stencil_b(float*)", False),
        ("Cijk_Ailk_Bljk_HHS_BH_MT1x1x1", "Cijk_Ailk_Bljk_BBS_BH_MT2x2x2", False),
        ("Cijk_Ailk_Bljk_HHS_BH_MT1x1x1", "Cijk_Ailk_Bljk_HHS_BH_MT2x2x2", True),
        ("gemm_a8w8", "gemm_half", False),
    ],
)
def test_directions_and_types_have_to_agree_as_far_as_names_tell(
    slow: str, fast: str, are_rivals: bool
) -> None:
    assert bool(found(burst(slow, 0, 300), burst(fast, 3000, 100))) == are_rivals


def test_shapes_of_operators_tell_more_than_grids() -> None:
    slow, fast = burst("gemm_a", 0, 300, op_id=0), burst("gemm_b", 3000, 100, op_id=1)
    other_grid = burst("gemm_b", 3000, 100, items=4096, op_id=1)
    square, wide = "[[64, 64], [64, 64]]", "[[64, 64], [64, 128]]"
    (rival,) = found(slow, other_grid, shapes=(square, square))
    assert "both gemm kernels, with the same shapes of inputs" in rival.basis
    assert found(slow, fast, shapes=(square, wide)) == []


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
