"""The operator tree of a small training step made by hand."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from rocm_perf.analysis.operators.build import NO_OPERATORS, operators
from rocm_perf.analysis.operators.categories import operator_category
from rocm_perf.analysis.operators.tree import BY_ID, BY_LAUNCH, UNOWNED
from rocm_perf.analysis.phases.focus import cut
from rocm_perf.model.results.operators import Operator, Operators, OperatorShape
from rocm_perf.model.time_window import Span
from rocm_perf.model.trace import Trace
from tests.unit.analysis.compare.programs import MM, US, ahead
from tests.unit.analysis.traces import Row, call, kernel, trace

HOST: dict[str, Any] = {"pid": 1, "tid": 1}


def op(name: str, start: int, end: int, op_id: int, **more: object) -> Row:
    return {
        "name": name,
        "category": "operator",
        "start_ns": start,
        "end_ns": end,
        "op_id": op_id,
        **HOST,
        **more,
    }


def frame(name: str, start: int, end: int, op_id: int = 0) -> Row:
    return {"name": name, "category": "python", "start_ns": start, "end_ns": end, "op_id": op_id, **HOST}


def gemm(start: int, op_id: int) -> list[Row]:
    """A linear layer whose product launches one kernel."""
    more = {"shapes": "[[4, 8], [8, 2]]", "dtypes": '["float", "float"]', "sequence": op_id}
    return [
        op("aten::linear", start, start + 40, op_id),
        op("aten::mm", start + 5, start + 30, op_id + 1, **more),
    ]


def step(**more: object) -> Trace:
    return trace(
        ops=[
            frame("train.py(7): step", 0, 200),
            frame("nn.Module: Linear_0", 5, 60),
            frame("torch/nn/modules/linear.py(1): forward", 6, 59),
            *gemm(10, 1),
            *gemm(100, 11),
            op("MmBackward0", 300, 350, 20, tid=2, sequence=1),
            op("aten::mm", 310, 340, 21, tid=2),
        ],
        api_calls=[
            call("hipLaunchKernel", 20, 22, 1, **HOST),
            call("hipLaunchKernel", 120, 122, 2, **HOST),
            call("hipLaunchKernel", 320, 322, 3, pid=1, tid=2),
            call("hipLaunchKernel", 500, 501, 4, **HOST),
        ],
        dispatches=[
            kernel("Cijk_mm", 1000, 1100, pid=1, correlation_id=1, op_id=2),
            kernel("Cijk_mm", 1100, 1300, pid=1, correlation_id=2, op_id=12),
            kernel("Cijk_back", 1300, 1700, pid=1, correlation_id=3, op_id=21),
            kernel("lost", 1700, 1750, pid=1, correlation_id=4),
            kernel("noted", 1800, 1825, pid=1, correlation_id=99, op_id=1),
        ],
        copies=[
            {"kind": "D2D", "start_ns": 1900, "end_ns": 1930, "agent_id": 0, "pid": 1, "correlation_id": 2}
        ],
        **more,  # type: ignore[arg-type]
    )


def named(attribution: Operators, name: str) -> Operator:
    return next(row for group in attribution.categories for row in group.operators if row.name == name)


def test_who_owns_a_kernel_and_how_that_is_known() -> None:
    attribution = operators(step())
    assert attribution.owned_by == {BY_LAUNCH: 3, BY_ID: 1, UNOWNED: 1}
    assert (attribution.total_ns, attribution.owned_ns, attribution.unowned_ns) == (805, 755, 50)


def test_self_and_total_times() -> None:
    attribution = operators(step())
    linear, mm = named(attribution, "aten::linear"), named(attribution, "aten::mm")
    assert (linear.calls, linear.host_total_ns, linear.host_self_ns) == (2, 80, 30)
    assert (linear.gpu_self_ns, linear.gpu_total_ns) == (25, 355)
    assert (mm.calls, mm.gpu_self_ns, mm.dispatches, mm.copy_ns) == (3, 730, 3, 30)
    assert (linear.category, mm.category) == ("GEMM", "GEMM")


def test_shapes_with_their_kernels_work_and_rates() -> None:
    mm = named(operators(step()), "aten::mm")
    forward = next(shape for shape in mm.shapes if shape.shapes)
    assert (forward.shapes, forward.calls, forward.op_id, forward.gpu_total_ns) == (
        "[[4,8],[8,2]]",
        2,
        12,
        330,
    )
    assert (forward.flops.value, forward.bytes.value) == (2 * 2 * 4 * 8 * 2, 2 * 4 * (32 + 16 + 8))
    assert forward.tflops.value == 256 / 330 / 1000
    assert [(row.kernel, row.dispatches, row.gpu_ns) for row in forward.kernels] == [("Cijk_mm", 2, 300)]
    other = next(shape for shape in mm.shapes if not shape.shapes)
    assert "record_shapes=True" in str(other.tflops.unavailable)


def test_a_call_inside_one_of_its_name_keeps_its_total() -> None:
    """`div` by a Python number calls `div` by a tensor: each line has the time of its calls, the operator once."""
    nested = trace(
        ops=[
            op("aten::div", 0, 100, 1, shapes="[[8], []]", dtypes='["float", "Scalar"]'),
            op("aten::div", 10, 90, 2, shapes="[[8], []]", dtypes='["float", "long int"]'),
            op("aten::div", 20, 80, 3, shapes="[[8], []]", dtypes='["float", "long int"]'),
        ],
        api_calls=[call("hipLaunchKernel", 30, 31, 1, **HOST)],
        dispatches=[kernel("divide", 200, 300, pid=1, correlation_id=1)],
    )
    div = named(operators(nested), "aten::div")
    assert (div.calls, div.gpu_self_ns, div.gpu_total_ns) == (3, 100, 100)
    totals = {shape.dtypes: (shape.calls, shape.gpu_total_ns) for shape in div.shapes}
    assert totals == {'["float","Scalar"]': (1, 100), '["float","long int"]': (2, 100)}
    assert all(shape.tbytes.known for shape in div.shapes)


def upsampling(name: str, *calls: tuple[int, int, str, str]) -> Operator:
    """An operator of [2, 3, 8] elements called inside itself; what is innermost launches a kernel of 100 ns."""
    nested = trace(
        ops=[
            op(name, start, end, number, shapes="[[2, 3, 8], [], []]", dtypes=dtypes, inputs=inputs)
            for number, (start, end, dtypes, inputs) in enumerate(calls)
        ],
        api_calls=[call("hipLaunchKernel", 50, 51, 1, **HOST)],
        dispatches=[kernel("upsample", 200, 300, pid=1, correlation_id=1)],
    )
    return named(operators(nested), name)


SIZED = ('["float", "ScalarList", ""]', '["", "[16]", ""]')
SCALED = ('["float", "", "ScalarList"]', '["", "", ""]')  # by a factor that was not recorded
ENLARGED = 4 * (2 * 3 * 8 + 2 * 3 * 16)  # read, and written twice as long


def test_an_operator_that_calls_itself_with_the_same_shapes_moves_its_bytes_once() -> None:
    """As `upsample_nearest1d` does: the overload that a program calls, and in it that which launches the kernel."""
    row = upsampling("aten::upsample_nearest1d", (0, 100, *SIZED), (10, 90, *SIZED))
    (shape,) = row.shapes
    assert (row.calls, shape.calls, shape.counted_calls) == (2, 2, 1)
    assert (row.bytes.value, shape.bytes.value, shape.gpu_total_ns) == (ENLARGED, ENLARGED, 100)
    assert shape.tbytes.value == ENLARGED / 100 / 1000


def test_an_operator_that_calls_itself_with_other_arguments_has_its_work_once_in_its_total() -> None:
    """Each line has the work of its calls; that of an outer call without a formula is the one inside it."""
    row = upsampling("aten::upsample_nearest1d", (0, 100, *SCALED), (10, 90, *SIZED), (20, 80, *SIZED))
    lines = {shape.dtypes: (shape.bytes.value, shape.calls, shape.counted_calls) for shape in row.shapes}
    assert lines == {'["float","","ScalarList"]': (None, 1, 1), '["float","ScalarList",""]': (ENLARGED, 2, 1)}
    assert (row.bytes.value, row.bytes.doubt) == (ENLARGED, None)


def product(length_ns: int, size: int, **agent: object) -> OperatorShape:
    """The one line of a product of square bf16 matrices that takes this long."""
    recorded = trace(
        ops=[
            op(
                "aten::mm",
                0,
                50,
                1,
                shapes=f"[[{size}, {size}], [{size}, {size}]]",
                dtypes=f'["{HALF}", "{HALF}"]',
            )
        ],
        api_calls=[call("hipLaunchKernel", 10, 11, 1, **HOST)],
        dispatches=[kernel("Cijk", 100, 100 + length_ns, pid=1, correlation_id=1)],
        agents=[{"agent_id": 0, "kind": "GPU", **agent}],
    )
    (line,) = named(operators(recorded), "aten::mm").shapes
    return line


HALF = "c10::BFloat16"
MI300X = {"gfx": "gfx942", "name": "AMD Instinct MI300X"}  # 5.3 TB/s, 1,307.4 TFLOP/s of dense bf16


def test_a_rate_above_the_peak_of_the_gpu_is_doubted() -> None:
    possible = product(1_000_000, 4096, **MI300X)
    assert (possible.tflops.doubt, possible.tbytes.doubt) == (None, None)
    fast = product(50_000, 4096, **MI300X)
    assert str(fast.tflops.doubt).startswith("above the 1,307 TFLOP/s of AMD Instinct MI300X in bf16: ")
    assert fast.tbytes.doubt is None
    cached = product(1_000, 1024, **MI300X)
    assert "a call's 6.00 MiB fit the last cache before it (256 MiB)" in str(cached.tbytes.doubt)
    beyond = product(50_000, 16384, **MI300X)
    assert "it moves less than its shapes say" in str(beyond.tbytes.doubt)
    assert product(50_000, 16384, name="some GPU").tbytes.doubt is None


def test_calls_with_other_scalars_are_variants_whose_rates_are_means() -> None:
    """Attention of 4 queries and keys: 4 * 8 heads * depth 16 for each of 16 pairs, or of 10 where it is causal."""
    states, texts = [[1, 8, 4, 16]] * 3, ["", "", "", "0.", "False"]
    rows = [
        op("aten::_scaled_dot_product_flash_attention", start, start + 50, number, shapes=json.dumps([*states, [], []]),
           dtypes=json.dumps(["float"] * 3 + ["Scalar"] * 2), inputs=json.dumps([*texts[:4], causal]))
        for number, (start, causal) in enumerate([(100, "False"), (200, "True")], 1)
    ]  # fmt: skip
    launches = [
        call("hipLaunchKernel", start + 10, start + 11, number, **HOST)
        for number, start in ((1, 100), (2, 200))
    ]
    ran = [
        kernel("attn_fwd", start + 20, start + 30, pid=1, correlation_id=n)
        for n, start in ((1, 100), (2, 200))
    ]
    (category,) = operators(trace(ops=rows, api_calls=launches, dispatches=ran)).categories
    (shape,) = category.operators[0].shapes
    assert (shape.variants, shape.flops.value) == (2, 4 * 8 * 16 * (16 + 10))
    assert shape.flops.formula.startswith(
        "sum over calls of 2 kinds, the least being 2 * 1 * 8 heads * 10 pairs"
    )


def test_backward_is_linked_by_sequence_and_counts_for_the_module_of_its_forward() -> None:
    attribution = operators(step())
    assert attribution.backward_by == "the same sequence number"
    mm = named(attribution, "aten::mm")
    assert (mm.backward, mm.backward_gpu_ns) == (("MmBackward0",), 400)
    (module,) = attribution.modules
    assert (module.name, module.gpu_ns, module.backward_gpu_ns, module.dispatches) == (
        "Linear_0",
        125,
        400,
        2,
    )


def test_recorded_links_come_first() -> None:
    links = [
        {
            "kind": "forward_backward",
            "pid": 1,
            "cause_ns": 105,
            "cause_track": 1,
            "effect_ns": 300,
            "effect_track": 2,
        }
    ]
    linked = step(links=[{**row, "known": "recorded"} for row in links])
    attribution = operators(linked)
    assert attribution.backward_by == "recorded links"
    assert attribution.modules[0].backward_gpu_ns == 0  # the second layer was called outside of a module


def test_call_sites_are_the_innermost_functions_outside_torch() -> None:
    (site,) = operators(step()).call_sites
    assert (site.name, site.calls, site.gpu_ns, site.dispatches) == ("train.py(7): step", 2, 355, 3)


def test_sequences_of_an_outer_operator_hold_what_is_inside_it() -> None:
    attribution = operators(step())
    (first, second) = named(attribution, "aten::linear").sequences
    assert {first.kernels, second.kernels} == {("Cijk_mm",), ("Cijk_mm", "noted")}
    assert [row.kernels for row in named(attribution, "MmBackward0").sequences] == [("Cijk_back",)]


def test_work_of_a_kernel_comes_from_operators_that_launched_nothing_else() -> None:
    (row,) = operators(step()).kernel_work
    assert (row.kernel, row.dispatches, row.gpu_ns, row.flops) == ("Cijk_mm", 2, 300, 256)
    assert row.operators == ("aten::mm",)


def test_shapes_that_no_gpu_could_compute_are_no_work() -> None:
    absurd = {"shapes": json.dumps([[10**40, 10**40]] * 2), "dtypes": '["float", "float"]'}
    recording = trace(
        ops=[op("aten::mm", 0, 40, 1, **absurd)],
        api_calls=[call("hipLaunchKernel", 20, 22, 1, **HOST)],
        dispatches=[kernel("Cijk_mm", 1000, 1100, pid=1, correlation_id=1)],
    )
    attribution = operators(recording)
    assert attribution.kernel_work == ()
    shape = named(attribution, "aten::mm").shapes[0]
    assert "an amount of work that no call can have" in (shape.flops.unavailable or "")


def test_an_operator_inside_itself_counts_once() -> None:
    recording = trace(
        ops=[op("aten::to", 0, 100, 1), op("aten::to", 10, 60, 2)],
        api_calls=[call("hipLaunchKernel", 20, 21, 1, **HOST)],
        dispatches=[kernel("k", 200, 230, pid=1, correlation_id=1)],
    )
    row = named(operators(recording), "aten::to")
    assert (row.calls, row.host_total_ns, row.host_self_ns, row.gpu_total_ns, row.gpu_self_ns) == (
        2,
        100,
        100,
        30,
        30,
    )


def test_ids_that_repeat_the_correlation_are_not_believed() -> None:
    recording = trace(
        ops=[op("aten::add", 0, 10, 5)], dispatches=[kernel("k", 20, 30, pid=1, correlation_id=5, op_id=5)]
    )
    assert operators(recording).owned_by == {UNOWNED: 1}


def test_nothing_recorded_says_so() -> None:
    attribution = operators(trace(dispatches=[kernel("k", 0, 10)]))
    assert (attribution.unavailable, attribution.total_ns, attribution.unowned_ns) == (NO_OPERATORS, 10, 10)


SPAN = st.tuples(st.integers(0, 60), st.integers(1, 30), st.sampled_from(["aten::a", "aten::b", "aten::c"]))


@given(
    st.lists(SPAN, min_size=1, max_size=10),
    st.lists(st.tuples(st.integers(0, 90), st.integers(0, 9)), max_size=10),
)
def test_sums_never_exceed_the_kernel_time(
    spans: list[tuple[int, int, str]], launches: list[tuple[int, int]]
) -> None:
    recording = trace(
        ops=[op(name, start, start + length, i) for i, (start, length, name) in enumerate(spans)],
        api_calls=[
            call("hipLaunchKernel", start, start + 1, i, **HOST) for i, (start, _) in enumerate(launches)
        ]
        or [call("hipFree", 0, 1)],
        dispatches=[
            kernel("k", 100 + start, 100 + start + length, pid=1, correlation_id=i)
            for i, (start, length) in enumerate(launches)
        ]
        or [kernel("k", 0, 0)],
    )
    attribution = operators(recording)
    rows = [row for group in attribution.categories for row in group.operators]
    assert sum(group.gpu_self_ns for group in attribution.categories) == attribution.owned_ns
    assert (
        attribution.owned_ns + attribution.unowned_ns
        == attribution.total_ns
        == sum(length for _, length in launches)
    )
    assert all(row.gpu_self_ns <= row.gpu_total_ns for row in rows)
    assert all(row.gpu_total_ns <= attribution.total_ns for row in rows)
    assert sum(shape.gpu_self_ns for row in rows for shape in row.shapes) == attribution.owned_ns


def test_categories_by_name() -> None:
    expected = {
        "aten::addmm": "GEMM",
        "aten::linear": "GEMM",
        "aten::cudnn_convolution": "convolution",
        "aten::convolution_backward": "convolution",
        "aten::_flash_attention_forward": "attention",
        "aten::native_layer_norm": "normalisation",
        "aten::_softmax": "softmax",
        "aten::add_": "elementwise",
        "aten::threshold_backward": "elementwise",
        "aten::copy_": "copy",
        "aten::embedding": "indexing",
        "aten::empty_strided": "allocation and views",
        "aten::sum": "reduction",
        "c10d::allreduce_": "collective",
        "triton_poi_fused_add_0": "compiled",
        "autograd::engine::evaluate_function: MmBackward0": "autograd",
        "aten::_foreach_add_": "optimizer",
        "my::thing": "other",
        "aiter::gemm_a16w16": "GEMM",
        "aiter::add_rmsnorm": "normalisation",
        "sgl_kernel::silu_and_mul": "elementwise",
        "sgl_kernel::rotary_embedding": "rotary embedding",
        "aiter::rope_cached_2c_fwd_impl": "rotary embedding",
        "vllm::moe_forward": "mixture of experts",
        "aiter::fused_moe_": "mixture of experts",
        "_moe_C::topk_softmax": "mixture of experts",
        "_C_cache_ops::reshape_and_cache_flash": "cache",
        "vllm::unified_kv_cache_update": "cache",
        "vllm::unified_attention_with_output": "attention",
        "aiter::mha_fwd": "attention",
        "_C::dynamic_scaled_fp8_quant": "quantisation",
        "aten::remainder": "elementwise",
    }
    assert {name: operator_category(name) for name in expected} == expected


def test_the_launch_is_believed_before_a_recorded_id() -> None:
    recording = trace(
        ops=[op("aten::a", 0, 10, 5), op("aten::b", 20, 30, 6)],
        api_calls=[call("hipLaunchKernel", 22, 23, 1, **HOST)],
        dispatches=[kernel("k", 40, 50, pid=1, correlation_id=1, op_id=5)],
    )
    attribution = operators(recording)
    assert (named(attribution, "aten::a").gpu_self_ns, named(attribution, "aten::b").gpu_self_ns) == (0, 10)


def test_work_is_not_divided_among_several_kernels() -> None:
    alike = {"shapes": "[[4, 8], [8, 2]]", "dtypes": '["float", "float"]'}
    recording = trace(
        ops=[op("aten::mm", 0, 10, 5, **alike), op("aten::mm", 20, 30, 6, **alike)],
        api_calls=[call("hipLaunchKernel", at, at + 1, at, **HOST) for at in (2, 22, 24)],
        dispatches=[kernel("k", 100 + at, 101 + at, pid=1, correlation_id=at) for at in (2, 22, 24)],
    )
    (work,) = operators(recording).kernel_work
    assert (work.dispatches, work.left_out, work.flops) == (1, 2, 128)


def test_calls_that_launched_work_of_the_judged_part_before_it_are_part_of_it() -> None:
    """The host runs ahead: the second and third of four kernels run in the part, and nothing is called in it."""
    whole = ahead(MM, steps=4)
    second, fourth = whole.table("dispatches")["start_ns"].to_list()[1::2]
    part = cut(whole, Span(second, fourth))
    assert not part.has("ops")
    result = operators(part)
    (category,) = result.categories
    (operator,) = category.operators
    assert (operator.name, operator.calls, operator.gpu_self_ns) == (MM.name, 2, 2 * MM.gpu_us * US)
    assert result.unowned_ns == 0


def test_operators_around_such_calls_are_kept_and_others_are_not() -> None:
    part = cut(step(), Span(1050, 10_000))  # behind the first kernel and all calls
    calls = {row.name: row.calls for group in operators(part).categories for row in group.operators}
    assert calls == {"aten::linear": 1, "aten::mm": 2, "MmBackward0": 1}
