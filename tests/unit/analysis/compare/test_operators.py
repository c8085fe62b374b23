"""Framework operators of two sides: which are the same, and what each takes."""

from __future__ import annotations

import pytest

from rocm_perf.analysis.compare.operator_matching import plain_operator
from rocm_perf.analysis.compare.populations import compare
from rocm_perf.model.results.comparison import Comparison, OperatorChange
from tests.unit.analysis.compare.programs import MM, RELU, US, Op, ahead, program
from tests.unit.analysis.compare.sides import compared, side
from tests.unit.analysis.traces import kernel, trace


def change(comparison: Comparison, operator: str) -> OperatorChange:
    return next(row for row in comparison.operators if row.operator == operator)


def test_one_that_got_faster() -> None:
    comparison = compared(program(MM, RELU, MM), program(MM._replace(gpu_us=60), RELU, MM))
    faster = change(comparison, "aten::mm")
    assert (faster.gpu.base, faster.gpu.new, faster.gpu.ratio) == (200 * US, 160 * US, 0.8)
    assert (faster.host.base, faster.host.new) == (20 * US, 20 * US)
    assert (faster.calls.base, faster.calls.new) == (2, 2)
    assert (faster.match, faster.category) == ("name", "GEMM")
    assert faster.gpu.no_interval == "one run each: no interval"
    assert comparison.operators[0] == faster
    assert change(comparison, "aten::relu").gpu.difference == 0
    assert comparison.operators_unavailable is None


def test_one_that_vanished_and_one_that_appeared() -> None:
    comparison = compared(program(MM, RELU), program(MM, Op("aten::sum", 7), Op("aten::sum", 8)))
    gone, fresh = change(comparison, "aten::relu"), change(comparison, "aten::sum")
    assert (gone.match, gone.gpu.base, gone.gpu.new, gone.gpu.ratio) == ("vanished", 20 * US, 0, 0)
    assert (gone.base_names, gone.new_names) == (("aten::relu",), ())
    assert (fresh.match, fresh.gpu.base, fresh.gpu.new, fresh.gpu.ratio) == ("appeared", 0, 15 * US, None)
    assert (fresh.calls.base, fresh.calls.new) == (0, 2)


def test_time_inside_another_operator_is_not_its_own() -> None:
    base = program(Op("aten::mm", 100, inside="aten::linear"))
    comparison = compared(base, base)
    outer, inner = change(comparison, "aten::linear"), change(comparison, "aten::mm")
    assert (outer.gpu.base, outer.host.base) == (0, 0)
    assert (inner.gpu.base, inner.host.base) == (100 * US, 10 * US)


def test_times_are_those_of_a_step_where_both_sides_have_steps() -> None:
    comparison = compared(
        program(MM, RELU, steps=12), program(MM._replace(gpu_us=50), RELU, steps=20), whole=False
    )
    assert comparison.per == "step"
    faster = change(comparison, "aten::mm")
    assert (faster.gpu.base, faster.gpu.new) == (100 * US, 50 * US)
    assert (faster.calls.base, faster.calls.new) == (1, 1)


def test_a_host_that_runs_ahead_still_owns_the_work_of_its_steps() -> None:
    comparison = compared(ahead(MM, 12), ahead(MM._replace(gpu_us=50), 12), whole=False)
    assert comparison.per == "step"
    faster = change(comparison, "aten::mm")
    assert (faster.gpu.base, faster.gpu.new) == (100 * US, 50 * US)
    assert (faster.calls.base, faster.calls.new) == (1, 1)


def test_several_runs_have_an_interval() -> None:
    base = side(*(program(MM._replace(gpu_us=100 + run), RELU) for run in range(5)))
    new = side(*(program(MM._replace(gpu_us=50 + run), RELU) for run in range(5)))
    comparison = compare(base, new)
    faster, same = change(comparison, "aten::mm"), change(comparison, "aten::relu")
    assert faster.gpu.interval is not None
    low, high = faster.gpu.interval
    assert 0.4 < low < 52 / 102 < high < 0.6
    assert faster.gpu.verdict == "better"
    assert faster.gpu.base_runs == tuple((100 + run) * US for run in range(5))
    assert same.gpu.verdict == "no difference shown"


def test_an_operator_that_some_runs_lack_took_no_time_there() -> None:
    comparison = compare(side(program(MM, RELU), program(MM), program(MM)), side(*[program(MM, RELU)] * 3))
    partly = change(comparison, "aten::relu")
    assert partly.gpu.base_runs == (20 * US, 0, 0)
    assert partly.gpu.no_interval == "it takes no time in some of the runs"
    assert partly.calls.base_range == (0, 1)


def test_without_operators_there_is_a_reason() -> None:
    bare = trace(dispatches=[kernel("k", 0, US)])
    neither = compared(bare, bare)
    assert neither.operators == ()
    assert neither.operators_unavailable == (
        "no framework operator was recorded (torch.profiler records them)"
    )
    one = compared(bare, program(MM))
    assert one.operators == ()
    assert one.operators_unavailable == (
        "no framework operator was recorded in base, unlike in the other runs (torch.profiler records them)"
    )


def test_what_a_compiler_numbers_is_matched_without_it() -> None:
    base = program(Op("triton_poi_fused_add_3", 10), Op("## Call CompiledFxGraph fabc12 ##", 5))
    new = program(Op("triton_poi_fused_add_7", 12), Op("## Call CompiledFxGraph fdef34 ##", 5))
    comparison = compared(base, new)
    assert {row.match for row in comparison.operators} == {"name without numbers"}
    fused = change(comparison, "triton_poi_fused_add_3")
    assert (fused.new_operator, fused.gpu.difference) == ("triton_poi_fused_add_7", 2 * US)


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("Torch-Compiled Region: 3/1", "Torch-Compiled Region:"),
        ("aten::conv2d", "aten::conv2d"),
        ("AddmmBackward0", "AddmmBackward0"),
    ],
)
def test_numbers_that_mean_something_stay(name: str, plain: str) -> None:
    assert plain_operator(name) == plain


ATTENTION = Op("aten::_flash_attention", 90, inside="aten::scaled_dot_product_attention")


@pytest.mark.parametrize("steps", [1, 12])
def test_another_operator_of_its_kind_in_its_place_succeeds_it(steps: int) -> None:
    base = program(MM, ATTENTION, ATTENTION, steps=steps)
    other = ATTENTION._replace(name="aten::_efficient_attention", gpu_us=30)
    comparison = compared(base, program(MM, other, other, steps=2 * steps), whole=steps == 1)
    successor = change(comparison, "aten::_flash_attention")
    assert (successor.match, successor.new_operator) == ("category and place", "aten::_efficient_attention")
    assert successor.gpu.difference < 0


@pytest.mark.parametrize(
    "rivals",
    [
        (Op("aten::_a_attention", 1), Op("aten::_b_attention", 1)),  # nothing is around them
        tuple(ATTENTION._replace(name=f"aten::_{name}_attention") for name in "ab"),  # two could be it
        (ATTENTION._replace(name="aten::relu"),),  # it does something else
        (ATTENTION._replace(name="aten::_a_attention", inside="aten::other"),),
    ],
)
def test_what_could_be_either_is_neither(rivals: tuple[Op, ...]) -> None:
    comparison = compared(program(ATTENTION), program(*rivals))
    assert change(comparison, "aten::_flash_attention").match == "vanished"
    assert {row.match for row in comparison.operators if row.operator in {one.name for one in rivals}} == {
        "appeared"
    }


def test_a_module_is_a_place_too() -> None:
    base = program(Op("aten::relu", 5, module="MLP_0"), Op("aten::silu", 5))
    new = program(Op("aten::gelu", 5, module="MLP_0"), Op("aten::silu", 5))
    assert change(compared(base, new), "aten::relu").new_operator == "aten::gelu"
