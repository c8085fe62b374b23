"""The layers of a model in one line of the first screen."""

from __future__ import annotations

from rocm_perf.analysis.overview import overview
from rocm_perf.model.trace import Trace
from rocm_perf.render.sections.layers import layer_line
from tests.unit.analysis.layers.program import LAYER, served
from tests.unit.analysis.operators.test_build import frame, op
from tests.unit.analysis.traces import call, kernel, trace


def test_layers_that_repeat_are_told_by_what_takes_most_of_them() -> None:
    document = overview(served([[LAYER] * 6]), "x")
    assert layer_line(document) == (
        "6 of 190 ns, 95.0 % of a decode step: Cijk_Alik_Bljk_BBS_BH MT64x32x256 71.1 %, flash_fwd_kernel 15.8 %, "
        "activation 3.7 %"
    )


def test_layers_that_are_modules_are_told_by_their_operators() -> None:
    assert layer_line(overview(equal_modules("Block"), "x")) == (
        "3 x Block of 80 ns, 100.0 % of the time in modules: aten::relu 75.0 %, aten::mm 25.0 %"
    )


def test_the_name_of_a_module_may_have_a_comma() -> None:
    line = layer_line(overview(equal_modules("Block, fused"), "x"))
    assert line.startswith("3 x Block, fused of 80 ns, 100.0 % of the time in modules")


def equal_modules(name: str) -> Trace:
    """Three equal modules, each with two operators; the second takes three times as long."""
    ops, calls, kernels = [frame("nn.Module: Net_0", 0, 1_000)], [], []
    for number in range(3):
        start, ran = 10 + 300 * number, 10_000 + 100 * number
        ops.append(frame(f"nn.Module: {name}_{number}", start, start + 200))
        for place, (operator, length) in enumerate((("aten::mm", 20), ("aten::relu", 60))):
            at, correlation = start + 10 + 50 * place, 10 * number + place
            ops.append(op(operator, at, at + 30, correlation))
            calls.append(call("hipLaunchKernel", at + 5, at + 6, correlation, pid=1, tid=1))
            begun = ran + 30 * place
            kernels.append(kernel(operator, begun, begun + length, correlation_id=correlation, pid=1))
    return trace(ops=ops, api_calls=calls, dispatches=kernels)


def test_without_layers_there_is_no_line() -> None:
    assert layer_line(overview(trace(dispatches=[kernel("gemm", 0, 9)]), "x")) == ""
