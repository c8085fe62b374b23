"""Attention as separate kernels: told from a loss, a router and a sampler, which use a softmax as well."""

from __future__ import annotations

import pytest

from rocm_perf.analysis.overview import examine
from rocm_perf.analysis.time.attention_products import fused_products
from rocm_perf.analysis.time.families import family_findings, family_totals
from rocm_perf.model.quantity import Quantity, unavailable
from rocm_perf.model.results.kernels import AttentionByHand, AttentionProduct
from rocm_perf.model.results.roofline import KernelRoofline, Roofline, WorkPart
from rocm_perf.model.trace import Trace
from tests.unit.analysis.documents import document
from tests.unit.analysis.traces import kernel, trace

PRODUCT = "Cijk_Ailk_Bljk_HHS_BH_MT128x128x32"
SCALE = "void at::native::vectorized_elementwise_kernel<4, at::native::MulFunctor<float>>"
SOFTMAX = "void softmax_warp_forward<c10::Half, c10::Half, float, 10, false, false>"
LOSS = "void cunn_SoftMaxForward<4, float, float, float, at::native::LogSoftMaxForwardEpilogue>"
SORT = "void at::native::radixSortKVInPlace<2>"
ATTENTION = [PRODUCT, SCALE, SOFTMAX, PRODUCT]


def in_order(names: list[str], *, shorter: int = 0) -> Trace:
    """Kernels of 10 us, one after the other; some `shorter` by so many nanoseconds."""
    starts = range(0, 10_000 * len(names), 10_000)
    return trace(
        dispatches=[
            kernel(name, start, start + 10_000 - shorter * (place % 3 == 0))
            for place, (name, start) in enumerate(zip(names, starts, strict=True))
        ]
    )


def by_hand(names: list[str]) -> AttentionByHand | None:
    return family_totals(in_order(names)).attention_by_hand


def test_what_runs_between_the_products_is_counted() -> None:
    products = (AttentionProduct(kernel=PRODUCT, calls=6, total_ns=60_000),)
    assert by_hand(ATTENTION * 3) == AttentionByHand(
        calls=3, between_ns=60_000, kernels=(SCALE, SOFTMAX), products=products
    )


def test_a_product_that_computes_something_else_as_well_is_not_counted() -> None:
    attention = by_hand([*ATTENTION * 3, PRODUCT, SORT])
    assert attention is not None
    assert attention.products == ()


def point(kernel_name: str, flops: float, tflops: float) -> KernelRoofline:
    unknown = unavailable("", "", "not asked")
    work = WorkPart(
        ceiling="f16 matrix",
        kind="compute",
        amount=unknown,
        rate=unknown,
        intensity=None,
        percent_of_ceiling=unknown,
        basis="analytical from shapes",
        dispatches=6,
    )
    return KernelRoofline(
        kernel=kernel_name,
        short_name=kernel_name,
        gpu=0,
        calls=6,
        total_ns=60_000,
        basis="analytical from shapes",
        dispatches=6,
        time_ns=unknown,
        work=(work,),
        flops=Quantity(value=flops, unit="FLOP", formula=""),
        bytes=unknown,
        operational_intensity=unknown,
        tflops=Quantity(value=tflops, unit="TFLOP/s", formula=""),
        tbytes=unknown,
        roof=unknown,
        percent_of_roof=unknown,
        position=None,
        regime="memory",
        reason="",
        spread=None,
        evidence={},
    )


def test_a_fused_kernel_needs_the_flops_of_the_products_at_the_fastest_rate() -> None:
    """Six products of 10 us and 1 GFLOP each; another kernel reaches 500 TFLOP/s: 2 us each."""
    points = (point(PRODUCT, 1e9, 100.0), point("Cijk_other", 1e9, 500.0))
    asked = document(in_order(ATTENTION * 3), roofline=Roofline(gpus=(), kernels=points))
    products = fused_products(asked)
    assert products is not None
    assert (products.total_ns, products.saved_ns) == (60_000, 48_000)
    without_shapes = document(in_order(ATTENTION * 3), roofline=Roofline(gpus=(), kernels=()))
    assert fused_products(without_shapes) is None


@pytest.mark.parametrize(
    "names",
    [
        [PRODUCT, LOSS, PRODUCT],
        [PRODUCT, SOFTMAX, SORT, PRODUCT],
        [PRODUCT, SCALE, PRODUCT],
        [SOFTMAX, PRODUCT],
        [PRODUCT, SOFTMAX],
        [PRODUCT, *[SCALE] * 10, SOFTMAX, PRODUCT],
    ],
)
def test_a_softmax_elsewhere_is_not_attention(names: list[str]) -> None:
    assert by_hand(names) is None


def test_products_of_another_stream_do_not_count() -> None:
    rows = [
        kernel(name, place * 1000, (place + 1) * 1000, stream_id=place)
        for place, name in enumerate([PRODUCT, SOFTMAX, PRODUCT])
    ]
    assert family_totals(trace(dispatches=rows)).attention_by_hand is None


def test_the_finding_says_what_to_use_instead_and_is_told_once() -> None:
    findings = examine(in_order(ATTENTION * 30, shorter=20), "x").findings
    assert findings[0].id == "attention-by-hand"
    assert "scaled_dot_product_attention" in findings[0].remedy
    assert findings[0].time_at_stake_ns == pytest.approx(600_000, rel=0.01)
    assert not [finding for finding in findings[1:] if "softmax" in finding.title.lower()]


DOUBLE = "void softmax_warp_forward<double, double, double, 10, false, false>"


@pytest.mark.parametrize(
    ("softmax", "product"),
    [(DOUBLE, PRODUCT), (SOFTMAX, "Cijk_Ailk_Bljk_DB_MT32x32x8"), (SOFTMAX, "dgemm_64x64")],
)
def test_a_reference_in_double_precision_is_not_told_to_use_a_kernel_that_takes_none(
    softmax: str, product: str
) -> None:
    (finding,) = family_findings(document(in_order([product, SCALE, softmax, product] * 4)))
    assert "scaled_dot_product_attention" not in finding.remedy
    assert finding.remedy.startswith("Check whether it has to be in double precision")
    (usual,) = family_findings(document(in_order(ATTENTION * 4)))
    assert "scaled_dot_product_attention" in usual.remedy
