"""The launches of a mixture of experts, from a recording to the work of its operator and of each kernel."""

from __future__ import annotations

from rocm_perf.analysis.operators.build import operators
from rocm_perf.analysis.operators.routed import with_routed
from rocm_perf.analysis.operators.tree import operator_tree
from rocm_perf.analysis.roofline.build import roofline
from rocm_perf.model.results.operators import OperatorShape
from rocm_perf.model.trace import Trace
from tests.unit.analysis.operators.test_build import MI300X, named, op
from tests.unit.analysis.operators.work.test_grouped import DOWN, DOWN_FLOPS, SHAPES, SUM, TYPES, UP, UP_FLOPS
from tests.unit.analysis.traces import call, kernel, trace

CHOICE = {
    "shapes": "[[6,4],[]]",
    "dtypes": '["c10::BFloat16","Scalar"]',
    "inputs": '["","2"]',
}


def layer(*, chosen: bool = True, wave: int | None = 64, added_up: str = SUM) -> Trace:
    """A call that launches the kernels of its experts, and what chooses them."""
    choice = [op("TopK", 10, 40, 2, **CHOICE)] if chosen else []
    names = ("_topk_forward", UP, DOWN, added_up)
    return trace(
        agents=[{"agent_id": 0, **MI300X}],
        ops=[op("vllm::moe_forward", 0, 500, 1, shapes=SHAPES, dtypes=TYPES), *choice],
        api_calls=[call("hipModuleLaunchKernel", at, at + 5, at, pid=1, tid=1) for at in (20, 100, 200, 300)],
        dispatches=[
            kernel(
                name,
                1_000 * place,
                1_000 * place + 900,
                dispatch_id=place,
                correlation_id=at,
                pid=1,
                grid_x=64 * workgroups,
                grid_y=1,
                grid_z=1,
                workgroup_x=wave,
                workgroup_y=1,
                workgroup_z=1,
            )
            for place, (name, at, workgroups) in enumerate(
                zip(names, (20, 100, 200, 300), (6, 18, 12, 6), strict=True), 1
            )
        ],
    )


def experts(recording: Trace) -> OperatorShape:
    return named(operators(recording), "vllm::moe_forward").shapes[0]


def test_the_operator_has_the_flops_of_its_products() -> None:
    assert experts(layer()).flops.value == UP_FLOPS + DOWN_FLOPS


def test_a_name_may_have_a_line_break() -> None:
    broken = layer(added_up=SUM + "\nof another line")
    assert experts(broken).flops.value == UP_FLOPS + DOWN_FLOPS
    known = {row.kernel: row.flops.value for row in roofline(broken).kernels}
    assert known[UP] == UP_FLOPS


def test_without_the_choice_or_the_grid_it_says_so() -> None:
    assert "how many experts a token goes to" in (experts(layer(chosen=False)).flops.unavailable or "")
    assert "the grids of its kernels are not recorded" in (experts(layer(wave=None)).flops.unavailable or "")


def test_each_kernel_has_its_own_in_the_roofline() -> None:
    points = {point.kernel: point for point in roofline(layer()).kernels}
    assert points[UP].flops.value == UP_FLOPS
    assert points[DOWN].flops.value == DOWN_FLOPS
    assert points[SUM].bytes.value == 2 * 12 * 32 + 2 * 6 * 32


def test_kernels_that_begin_at_once_have_one_order() -> None:
    texts: set[str] = set()
    for names in ((UP, DOWN, SUM), (SUM, DOWN, UP), (DOWN, SUM, UP)):
        recording = trace(
            ops=[op("vllm::moe_forward", 0, 500, 1, shapes=SHAPES, dtypes=TYPES)],
            api_calls=[call("hipModuleLaunchKernel", 20, 25, 1, pid=1, tid=1)],
            dispatches=[kernel(name, 1_000, 1_900, correlation_id=1, pid=1) for name in names],
        )
        tree = operator_tree(recording)
        texts.add(*with_routed(tree, tree.operators.select("signature", "row"))["routed"])
    assert len(texts) == 1


def test_of_several_choices_the_first_counts() -> None:
    later = {**CHOICE, "inputs": '["","4"]'}
    for first, second, expected in ((CHOICE, later, "2"), (later, CHOICE, "4")):
        recording = trace(
            ops=[
                op("vllm::moe_forward", 0, 500, 1, shapes=SHAPES, dtypes=TYPES),
                op("TopK", 10, 20, 2, **first),
                op("TopK", 30, 40, 3, **second),
            ],
            api_calls=[call("hipModuleLaunchKernel", 50, 55, 1, pid=1, tid=1)],
            dispatches=[kernel(UP, 1_000, 1_900, correlation_id=1, pid=1)],
        )
        tree = operator_tree(recording)
        (text,) = with_routed(tree, tree.operators.select("signature", "row"))["routed"].drop_nulls()
        assert text.split("\n")[0] == expected
