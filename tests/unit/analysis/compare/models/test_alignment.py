"""The work of two sides whose difference is known."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocm_perf.analysis.compare.models.alignment import Aligned, align_calls
from rocm_perf.analysis.compare.models.calls import GpuCall, GpuWork
from rocm_perf.analysis.compare.models.views import by_family, by_module, by_operator
from tests.unit.analysis.compare.models.models import (
    GEMM,
    LARGE,
    NORM,
    SMALL,
    bare,
    compiled_layer,
    layer,
    mm,
    op,
    triton,
)

Change = tuple[str, list[str], list[str]]


def changes(rows: list[Aligned]) -> list[Change]:
    """What is not the same: its fate, and the names of both sides."""
    return [
        (row.fate, [call.name for call in row.base], [call.name for call in row.new])
        for row in rows
        if row.fate != "same"
    ]


def test_other_kernels_for_the_same_operators() -> None:
    faster = mm(LARGE, gpu_ns=40, kernel="sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64")
    new = [faster if call.shapes == LARGE else call for call in layer()]
    assert changes(align_calls(layer(), new)) == [("other kernels", ["aten::mm"], ["aten::mm"])]


def test_what_a_compiler_fused_stands_against_what_it_names() -> None:
    residual = triton("triton_poi_fused_add_9")
    rows = changes(align_calls([*layer(), *layer()], [*compiled_layer(0), *compiled_layer(1), residual]))
    norm = [f"aten::{name}" for name in NORM]
    assert rows == [
        ("fused", norm, ["triton_red_fused_add_mean_mul_pow_rsqrt_0"]),
        ("fused", ["aten::silu", "aten::mul"], ["triton_poi_fused_mul_silu_0"]),
        ("fused", ["aten::add", *norm], ["triton_red_fused_add_mean_mul_pow_rsqrt_1"]),
        ("fused", ["aten::silu", "aten::mul"], ["triton_poi_fused_mul_silu_1"]),
        ("other kernels", ["aten::add"], ["triton_poi_fused_add_9"]),
    ]


def test_fused_kernels_without_any_other_between_them_share_the_operators_out() -> None:
    base = [op(f"aten::{name}") for name in ("relu", "add_", "mul", "sigmoid", "tanh")]
    new = [triton("triton_poi_fused_add_relu_0"), triton("triton_poi_fused_mul_sigmoid_tanh_1")]
    assert changes(align_calls(base, new)) == [
        ("fused", ["aten::relu", "aten::add_"], ["triton_poi_fused_add_relu_0"]),
        ("fused", ["aten::mul", "aten::sigmoid", "aten::tanh"], ["triton_poi_fused_mul_sigmoid_tanh_1"]),
    ]


def test_what_a_fused_kernel_neither_names_nor_could_have_passed_on_went() -> None:
    copy = op(
        "aten::copy_",
        kernel="void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda>",
    )
    base = [op("aten::sort"), copy, op("aten::mul"), op("aten::silu"), op("aten::sum")]
    assert changes(align_calls(base, [triton("triton_poi_fused_mul_silu_0")])) == [
        ("fused", ["aten::copy_", "aten::mul", "aten::silu"], ["triton_poi_fused_mul_silu_0"]),
        ("went", ["aten::sort"], []),
        ("went", ["aten::sum"], []),
    ]


def test_an_epilogue_belongs_to_the_product_that_names_it() -> None:
    base = [op("aten::addmm", 100, kernel=GEMM), op("aten::gelu"), op("aten::sum")]
    new = [triton("triton_tem_fused_addmm_gelu_0", 90), op("aten::sum")]
    assert changes(align_calls(base, new)) == [
        ("fused", ["aten::addmm", "aten::gelu"], ["triton_tem_fused_addmm_gelu_0"])
    ]


def test_fewer_operators_in_their_place_are_fused_only_if_they_say_so() -> None:
    base = [mm(), op("aten::pow"), op("aten::mean"), mm(LARGE)]
    for name, fate in (("_C::fused_rms_norm", "fused"), ("my::norm", "other operators")):
        assert changes(align_calls(base, [mm(), op(name), mm(LARGE)])) == [
            (fate, ["aten::pow", "aten::mean"], [name])
        ]


def test_a_layer_that_was_inserted_came() -> None:
    rows = align_calls([*layer(), *layer()], [*layer(), *layer(), *layer()])
    assert Counter(row.fate for row in rows) == {"same": 2 * len(layer()), "came": len(layer())}


def test_another_order_is_the_same_work() -> None:
    names = ["aten::a", "aten::b", "aten::c"]
    rows = align_calls([*map(op, names), mm()], [*map(op, names[1:]), op(names[0]), mm()])
    assert changes(rows) == []
    assert [row.base[0].name for row in rows if row.moved] == ["aten::a"]


def test_another_batch_size_is_matched_by_name_and_order() -> None:
    sides = [[op(name, shapes=f"[[{batch}, 64]]") for name in ("a", "b", "a", "c")] for batch in (1, 8)]
    assert changes(align_calls(*sides)) == [("other shapes", [name], [name]) for name in ("a", "b", "a", "c")]


def test_compiled_code_hands_the_output_to_its_operators() -> None:
    """Which is an argument more, with a shape more; types are not recorded on one side."""
    compiled = mm(f"{SMALL[:-1]}, [8, 64]]")
    assert changes(align_calls([mm(LARGE), mm(SMALL)], [mm(LARGE), compiled])) == []
    assert changes(align_calls([mm(SMALL)], [mm("[[8, 64], [64, 640]]")])) == [
        ("other shapes", ["aten::mm"], ["aten::mm"])
    ]


def test_the_replay_of_a_graph_runs_the_kernels_of_operators() -> None:
    attention = GpuCall(
        work=(GpuWork("copy MEMSET", 1), GpuWork("flash_fwd_kernel", 50)),
        operator="aten::_flash_attention_forward",
    )
    base = [*layer(), attention, *layer()]
    new = [bare(work.name, work.gpu_ns) for call in base for work in call.work]
    assert changes(align_calls(base, new)) == []


def test_kernels_without_operators_do_the_same_only_if_they_are_of_one_family() -> None:
    other = "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64"
    assert changes(align_calls([mm()], [bare(other)])) == [
        ("other kernels", ["aten::mm"], [bare(other).name])
    ]
    assert changes(align_calls([mm()], [bare("mystery")])) == [("other operators", ["aten::mm"], ["mystery"])]


def test_inside_an_operator_that_both_call_other_operators_may_do_its_work() -> None:
    def attention(*inner: str) -> list[GpuCall]:
        around = ("aten::scaled_dot_product_attention",)
        return [
            GpuCall(
                work=(GpuWork(f"{name}_kernel", 9),),
                operator=name,
                around=around,
                root=3,
                root_shapes="[[8]]",
            )
            for name in inner
        ]

    base, new = attention("aten::_flash"), attention("aten::bmm", "aten::_softmax", "aten::bmm")
    rows = changes(align_calls([op("aten::x"), *base, op("aten::y")], [op("aten::z"), *new, op("aten::y")]))
    assert rows == [
        ("other operators", ["aten::x"], ["aten::z"]),
        ("other operators", ["aten::_flash"], ["aten::bmm", "aten::_softmax", "aten::bmm"]),
    ]


def inside(outer: str, *calls: tuple[str, str]) -> list[GpuCall]:
    """What one call of an outer operator launched: operators and their kernels."""
    return [
        GpuCall(work=(GpuWork(kernel, 9),), operator=name, around=(outer,), root=3, root_shapes="[[8]]")
        for name, kernel in calls
    ]


def test_a_fused_call_stands_for_all_that_its_outer_operator_does() -> None:
    """It is a product, and so are two of the four calls: it is not the like of the first."""
    parts = ("moe_sorting", "moe_stage1_gemm", "moe_stage2_gemm", "moe_sum")
    base = inside("moe_layer", *((f"aiter::{name}", f"{name}_kernel") for name in parts))
    new = inside("moe_layer", ("triton::fused_moe_kernel", "fused_moe_kernel"))
    rows = align_calls(base, new)
    assert changes(rows) == [("fused", [call.name for call in base], ["triton::fused_moe_kernel"])]
    (share,) = by_operator(rows)
    assert share.name.endswith("aiter::moe_sum -> triton::fused_moe_kernel")
    assert [row.fate for row in align_calls(new, base)] == ["split"]


def test_attention_by_hand_is_attention_no_longer_fused() -> None:
    flash = inside("attention", ("my::flash", "flash_fwd_kernel"))
    products = [("aten::bmm", GEMM), ("aten::softmax", "softmax_warp_forward"), ("aten::bmm", GEMM)]
    rows = align_calls(flash, inside("attention", *products))
    assert changes(rows) == [("split", ["my::flash"], [name for name, _ in products])]
    assert [share.name for share in by_operator(rows)] == ["my::flash -> aten::bmm + aten::softmax"]


def test_no_pointwise_kernel_takes_in_a_product() -> None:
    base = [op("aten::add"), mm(), op("aten::add"), op("aten::mul"), mm(LARGE), op("aten::add")]
    assert changes(align_calls(base, [triton("triton_poi_fused_add_mul_0")])) == [
        ("fused", ["aten::add", "aten::mul"], ["triton_poi_fused_add_mul_0"]),
        *[("went", [name], []) for name in ("aten::add", "aten::mm", "aten::mm", "aten::add")],
    ]


def test_a_product_does_not_stand_against_a_sort() -> None:
    alone = [("came", [], ["aten::mm"]), ("went", ["aten::sort"], [])]
    assert sorted(changes(align_calls([op("aten::sort")], [mm()]))) == alone


def test_a_compiled_side_takes_the_modules_of_the_other() -> None:
    base = [op("aten::mul", 10, module="Net_0/Act_1"), op("aten::silu", 20, module="Net_0/Silu_0")]
    (share,) = by_module(align_calls(base, [triton("triton_poi_fused_mul_silu_0", 12)]))
    assert (share.name, share.base_ns, share.new_ns, share.difference_ns) == ("Net", 30, 12, -18)


CALLS = st.lists(
    st.builds(
        op,
        st.sampled_from(["aten::mul", "aten::add", "aten::mm", "triton_poi_fused_add_mul_0"]),
        st.integers(1, 9),
        shapes=st.sampled_from(["[[1]]", "[[2]]"]),
        kernel=st.sampled_from([GEMM, "a", "b"]),
        module=st.sampled_from([None, "Net_0/Linear_0", "Net_0/Linear_1"]),
    )
    | st.builds(bare, st.sampled_from([GEMM, "a", "triton_poi_fused_mul_1"]), st.integers(1, 9)),
    max_size=8,
)
FLIPPED = {"came": "went", "went": "came", "fused": "split", "split": "fused"}


@given(CALLS, CALLS)
def test_every_call_counts_once_and_every_view_sums_to_the_difference(
    base: list[GpuCall], new: list[GpuCall]
) -> None:
    rows = align_calls(base, new)
    assert Counter(call for row in rows for call in row.base) == Counter(base)
    assert Counter(call for row in rows for call in row.new) == Counter(new)
    difference = sum(call.gpu_ns for call in new) - sum(call.gpu_ns for call in base)
    for view in (by_module, by_operator, by_family):
        assert sum(share.difference_ns for share in view(rows)) == difference


@given(CALLS, CALLS)
def test_the_other_way_round_is_the_reverse(base: list[GpuCall], new: list[GpuCall]) -> None:
    there, back = align_calls(base, new), align_calls(new, base)
    assert Counter((row.base, row.new, row.fate) for row in there) == Counter(
        (row.new, row.base, FLIPPED.get(row.fate, row.fate)) for row in back
    )


@given(CALLS)
def test_a_side_against_itself_shows_nothing(calls: list[GpuCall]) -> None:
    rows = align_calls(calls, calls)
    assert [row.base for row in rows] == [row.new for row in rows] == [(call,) for call in calls]
    assert {row.fate for row in rows} <= {"same"}


@pytest.mark.parametrize("view", [by_module, by_operator, by_family])
def test_work_without_a_name_is_part_of_every_view(view: object) -> None:
    assert callable(view)
    (share,) = view(align_calls([bare("k", 5)], [bare("k", 7)]))
    assert (share.base_ns, share.new_ns) == (5, 7)
