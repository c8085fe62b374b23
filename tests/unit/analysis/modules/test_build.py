"""Where in the model time is spent, in programs whose times are known."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from rocm_perf.analysis.modules.build import NO_MODULES, modules
from rocm_perf.model.results.modules import ModuleLine, Modules
from tests.unit.analysis.modules.program import Program
from tests.unit.analysis.traces import kernel, trace

LAYERS = (100, 100, 100, 100, 250)  # GPU time of each forward pass
CHECKPOINTED = 2  # of them, from the first one on


def layer(program: Program, number: int, gpu_ns: int, sequence: int | None = None) -> None:
    with program.module(f"Layer_{number}"), program.module(f"Linear_{number}"):
        program.operator("aten::mm", gpu_ns, sequence=sequence, shapes="[[8, 8], [8, 8]]")


def training() -> Program:
    """Five layers, one slower, the first two checkpointed; their backward pass takes twice their time."""
    program = Program()
    with program.module("Model_0"):
        for number, gpu_ns in enumerate(LAYERS):
            layer(program, number, gpu_ns, sequence=number)
    program.operator("aten::mse_loss", 7, sequence=90)
    with program.thread(2):
        for number, gpu_ns in reversed(list(enumerate(LAYERS))):
            with program.backward("MmBackward0", number):
                if number < CHECKPOINTED:
                    with program.span("torch/utils/checkpoint.py(1111): unpack_hook"):
                        layer(program, number, gpu_ns + 1, sequence=number)  # a count of this thread's own
                program.operator("aten::mm", 2 * gpu_ns)
            with program.span(
                "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", "operator"
            ):
                program.operator("aten::add_", 3)
    program.operator("aten::_foreach_add_", 11)
    return program


def named(result: Modules, name: str) -> ModuleLine:
    (line,) = [line for line in result.lines if line.name == name]
    return line


def test_equal_layers_are_one_line_with_their_spread() -> None:
    line = named(modules(training().recorded()), "Layer")
    assert (line.modules, line.calls, line.recomputed_calls) == (5, 5, 2)
    assert line.spread is not None
    assert (line.spread.least_ns, line.spread.median_ns, line.spread.most_ns) == (300, 401, 750)
    assert line.spread.longest == "Layer_4"


def test_forward_recomputed_and_backward_passes_are_told_apart() -> None:
    result = modules(training().recorded())
    for name in ("Model_0", "Layer", "Linear"):
        line = named(result, name)
        assert line.forward.time_ns == sum(LAYERS)
        assert line.recomputed.time_ns == sum(LAYERS[:CHECKPOINTED]) + CHECKPOINTED
        assert line.backward.time_ns == 2 * sum(LAYERS)
        assert line.backward.dispatches == len(LAYERS)
    assert result.backward_by == "the same sequence number"


def test_lines_and_what_is_outside_sum_up_to_all_gpu_time() -> None:
    recording = training().recorded()
    result = modules(recording)
    spent = recording.table("dispatches").select("start_ns", "end_ns")
    assert result.total_ns == (spent["end_ns"] - spent["start_ns"]).sum()
    assert {operator.name: operator.total_ns for operator in result.outside if operator.total_ns} == {
        "aten::mse_loss": 7,
        "aten::add_": 3 * len(LAYERS),
        "aten::_foreach_add_": 11,
    }
    assert result.outside_ns == 7 + 3 * len(LAYERS) + 11
    (root,) = [line for line in result.lines if line.parent is None]
    assert root.total_ns + result.outside_ns == result.total_ns
    assert sum(op.total_ns for line in result.lines for op in line.operators) == root.total_ns


def test_the_operators_of_a_module_are_those_directly_in_it() -> None:
    result = modules(training().recorded())
    assert named(result, "Layer").operators == ()
    (product,) = [operator for operator in named(result, "Linear").operators if operator.total_ns]
    assert (product.name, product.calls) == ("aten::mm", 5 + 2 + 5)


def test_projections_of_one_layer_are_equal_only_with_equal_shapes() -> None:
    program = Program()
    for number in range(2):
        with program.module(f"Attention_{number}"):
            for place, shape in enumerate(("[8, 8]", "[8, 8]", "[8, 99]")):
                with program.module(f"Linear_{3 * number + place}"):
                    program.operator("aten::mm", 10, shapes=shape)
    result = modules(program.recorded())
    assert [(line.name, line.modules, line.depth) for line in result.lines] == [
        ("Attention", 2, 0),
        ("Linear", 4, 1),
        ("Linear", 2, 1),
    ]


def test_modules_with_other_operators_inside_are_not_equal() -> None:
    program = Program()
    for number, operator in enumerate(("aten::norm", "aten::add_norm", "aten::add_norm")):
        with program.module(f"Layer_{number}"):
            program.operator(operator, 10)
    assert [(line.name, line.modules) for line in modules(program.recorded()).lines] == [
        ("Layer_0", 1),
        ("Layer", 2),
    ]


def test_a_backward_pass_that_is_differentiated_is_not_a_forward_pass_again() -> None:
    program = Program()
    with program.module("Linear_0"):
        program.operator("aten::mm", 10, sequence=1)
    with program.thread(2):
        with program.backward("MmBackward0", 1):
            program.operator("aten::mm", 20, sequence=2)  # noted, because it is differentiated below
        with program.span("MmBackward0", "operator", sequence=2, forward_thread=2):
            program.operator("aten::mm", 40)
    line = named(modules(program.recorded()), "Linear_0")
    assert (line.forward.time_ns, line.recomputed.time_ns) == (10, 0)
    assert line.backward.time_ns == 20 + 40


def test_recomputed_operators_are_known_without_any_stack() -> None:
    program = Program()
    with program.range("model.layers.0"):
        program.operator("CheckpointFunction", 10, sequence=1)
    with program.thread(2), program.backward("CheckpointFunctionBackward", 1):
        program.operator("aten::mm", 12, sequence=1)
        with program.span("autograd::engine::evaluate_function: MmBackward0", "operator", sequence=1):
            program.operator("aten::mm", 24)
    result = modules(program.recorded())
    again = [operator for operator in result.outside if operator.recomputed_ns]
    assert [(operator.name, operator.recomputed_ns) for operator in again] == [("aten::mm", 12)]


def test_a_module_that_several_share_has_its_own_place_where_it_runs_again() -> None:
    program = Program()
    for number in range(2):
        with program.module(f"Block_{number}"), program.module("ReLU_0"):
            program.operator("aten::relu", 5, sequence=number)
    with program.thread(2), program.backward("ReluBackward0", 0), program.module("ReLU_0"):
        program.operator("aten::relu", 6, sequence=0)
    roots = [line for line in modules(program.recorded()).lines if line.parent is None]
    assert {(line.name, line.recomputed.time_ns) for line in roots} == {("Block", 0), ("ReLU_0", 6)}


def test_kernels_without_an_operator_belong_to_the_module_that_launched_them() -> None:
    program = Program()
    with program.module("Linear_0"):
        program.launch("triton_poi_fused_add_0", 30)
    line = named(modules(program.recorded()), "Linear_0")
    assert [(operator.name, operator.total_ns) for operator in line.operators] == [(None, 30)]


@pytest.mark.parametrize(
    ("ranges", "names"),
    [
        (["model.layers.0", "model.layers.1"], ["layers"]),
        (["layers.0.mlp", "layers.1.mlp"], ["mlp"]),
        (["step.0", "step.1"], []),
        (["{'Module': 'model.layers.0.mlp', 'Inputs': [[8]]}"], ["model.layers.0.mlp"]),
        (["## Call CompiledFxGraph fal4xpiah2v6blbfmwwonu52 ##"], ["CompiledFxGraph fal4xpia"]),
        (["DistributedDataParallel.forward"], ["DistributedDataParallel"]),
        (["Optimizer.step#SGD.step", "my range", "forward", "nccl:all_reduce"], []),
    ],
)
def test_ranges_that_are_named_like_modules_are_modules(ranges: Sequence[str], names: list[str]) -> None:
    program = Program()
    for name in ranges:
        with program.range(name):
            program.operator("aten::mm", 10)
    assert [line.name for line in modules(program.recorded()).lines] == names


def test_ranges_around_a_module_are_modules_if_they_begin_its_path() -> None:
    program = Program()
    with program.range("step.3"), program.range("model"), program.range("model.layers.0"):
        program.operator("aten::mm", 10)
    assert [line.name for line in modules(program.recorded()).lines] == ["model", "model.layers.0"]


def test_ranges_of_a_recording_without_operators_are_modules_too() -> None:
    program = Program()
    for number in range(3):
        with program.range(f"model.layers.{number}"):
            program.launch("attn_fwd", 10 + number)
    (line,) = modules(program.recorded()).lines
    assert (line.name, line.modules, line.total_ns) == ("layers", 3, 33)


def test_ranges_are_not_modules_beside_recorded_ones() -> None:
    program = Program()
    with program.module("Model_0"), program.range("model.layers.0"), program.module("Linear_0"):
        program.operator("aten::mm", 10)
    assert [line.name for line in modules(program.recorded()).lines] == ["Model_0", "Linear_0"]


def test_what_torchscript_notes_with_operators_are_modules() -> None:
    program = Program()
    with program.span("forward", "operator", modules="TOP(Net)::forward."):
        for number in range(2):
            block = f"TOP(Net)::forward.{number}(Block)::forward."
            program.operator("aten::addmm", 10, modules=f"{block}lin(Linear)::forward.SELF(Linear)::helper.")
            program.operator("aten::relu", 3, modules=block)
    result = modules(program.recorded())
    assert [(line.name, line.modules, line.total_ns) for line in result.lines] == [
        ("Net", 1, 26),
        ("Block", 2, 26),
        ("Linear", 2, 20),
    ]


def test_without_a_gpu_times_are_those_of_operators_on_the_host() -> None:
    program = Program()
    with program.module("Linear_0"), program.span("aten::mm", "operator"):
        pass
    result = modules(program.recorded())
    assert (result.measured, result.total_ns, named(result, "Linear_0").total_ns) == ("host", 10, 10)


def test_matrix_units_and_occupancy_of_a_module() -> None:
    program = Program()
    with program.module("Linear_0"):
        program.launch("nvjet_sm90_tst_64x8_64x16", 300, occupancy=10.0)
        program.launch("triton_poi_fused_add_0", 100, occupancy=50.0)
    line = named(modules(program.recorded()), "Linear_0")
    assert line.occupancy.value == pytest.approx(0.2)
    assert (line.matrix_share.value, line.matrix_share.doubt) == (0.75, None)


def test_modules_nested_a_thousand_times_are_no_trouble() -> None:
    program = Program()
    spans = [program.module(f"Nested_{number}") for number in range(1200)]
    for span in spans:
        span.__enter__()
    program.operator("aten::mm", 10)
    for span in reversed(spans):
        span.__exit__(None, None, None)
    result = modules(program.recorded())
    assert (len(result.lines), result.left_out) == (1000, 200)


def test_a_recording_without_modules_says_how_to_get_them() -> None:
    assert modules(trace(dispatches=[kernel("a", 0, 10)])).unavailable == NO_MODULES
