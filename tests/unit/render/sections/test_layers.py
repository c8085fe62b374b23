"""The layers of a model in one line of the first screen."""

from __future__ import annotations

from collections.abc import Sequence

from rocm_perf.analysis.overview import examine, overview
from rocm_perf.model.results.layers import EqualModules
from rocm_perf.model.trace import Trace
from rocm_perf.render.sections.layers import layer_line
from tests.unit.analysis.layers.program import LAYER, served
from tests.unit.analysis.operators.test_build import frame, op
from tests.unit.analysis.traces import call, kernel, trace


def test_layers_that_repeat_are_told_by_what_takes_most_of_them() -> None:
    document = overview(served([[LAYER] * 6]), "x")
    assert layer_line(document) == (
        "6 layers of 190 ns each, 95.0 % of the kernel time of a decode step: Cijk_Alik_Bljk_BBS_BH MT64x32x256 "
        "71.1 %, flash_fwd_kernel 15.8 %, activation 3.7 %"
    )


def test_of_several_stacks_the_one_with_most_time_is_told() -> None:
    vision = {f"{name} of vision": length // 2 for name, length in LAYER.items()}
    document = overview(served([[vision] * 6 + [LAYER] * 8]), "x")
    assert [stack.layers for stack in document.layers.rows[0].stacks] == [6, 8]
    assert layer_line(document).startswith("8 layers of 190 ns each, ")


def test_layers_are_those_of_the_part_that_is_judged() -> None:
    """A prompt takes longer than all the steps that repeat."""
    prompt = {f"{name} of a prompt": 100 * length for name, length in LAYER.items()}
    recorded = served([[prompt] * 6, *([[LAYER] * 8] * 12)])
    document = examine(recorded, "x")
    assert document.phases.judged is not None
    assert layer_line(overview(recorded, "x")).startswith("6 layers of 19.0 us each, ")
    assert layer_line(document).startswith("8 layers of 190 ns each, ")


def of_modules(
    operators: Sequence[Sequence[tuple[str, int]]], name: str = "Block", modules: int | None = None
) -> Trace:
    """A model of one block after another, each with these operators; of so many blocks, called again and again."""
    ops, calls, kernels = [frame("nn.Module: Net_0", 0, 1_000_000)], [], []
    for number, inside in enumerate(operators):
        start, ran = 10 + 300 * number, 1_000_000 + 100 * number
        ops.append(frame(f"nn.Module: {name}_{number % (modules or len(operators))}", start, start + 200))
        for place, (operator, length) in enumerate(inside):
            at, correlation = start + 10 + 50 * place, 10 * number + place
            ops.append(op(operator, at, at + 30, correlation))
            calls.append(call("hipLaunchKernel", at + 5, at + 6, correlation, pid=1, tid=1))
            begun = ran + 30 * place
            kernels.append(kernel(operator, begun, begun + length, correlation_id=correlation, pid=1))
    return trace(ops=ops, api_calls=calls, dispatches=kernels)


def test_layers_that_are_modules_are_told_by_their_operators() -> None:
    """Three equal modules, each with two operators; the second takes three times as long."""
    document = overview(of_modules([(("aten::mm", 20), ("aten::relu", 60))] * 3), "x")
    assert layer_line(document) == (
        "3 x Block of 80 ns each, 100.0 % of the GPU time: aten::relu 75.0 %, aten::mm 25.0 %"
    )


def test_a_first_module_that_is_a_little_different_is_a_layer_too() -> None:
    """As the first layer of a decoder, whose norm has nothing to add."""
    first, other = (("norm", 20), ("aten::mm", 60)), (("add_and_norm", 20), ("aten::mm", 60))
    document = overview(of_modules([first, *([other] * 3)]), "x")
    assert layer_line(document) == (
        "4 x Block (3 alike) of 80 ns each, 100.0 % of the GPU time: aten::mm 75.0 %, add_and_norm 18.8 %, "
        "norm 6.2 %"
    )
    assert document.layers.modules == (EqualModules("Block", 4, 3),)


def test_the_name_of_a_module_may_have_a_comma() -> None:
    document = overview(of_modules([(("aten::mm", 20), ("aten::relu", 60))] * 3, "Block, fused"), "x")
    assert layer_line(document).startswith("3 x Block, fused of 80 ns each, 100.0 % of the GPU time")


def test_a_layer_of_modules_is_told_by_the_call() -> None:
    """Each of three blocks is called twice: that takes 80 ns each time, not 160."""
    work = (("aten::mm", 20), ("aten::relu", 60))
    document = overview(of_modules([work] * 6, modules=3), "x")
    assert layer_line(document).startswith("3 x Block of 80 ns each, 100.0 % of the GPU time")


def test_without_layers_there_is_no_line() -> None:
    assert layer_line(overview(trace(dispatches=[kernel("gemm", 0, 9)]), "x")) == ""
