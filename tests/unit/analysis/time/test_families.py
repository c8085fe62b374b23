"""Kernel families: the table against its own examples, and against real names labelled by reading them."""

from __future__ import annotations

import csv
import re
from itertools import accumulate
from pathlib import Path
from typing import get_args

import polars as pl
import pytest

from rocm_perf.analysis.time.families import family_findings, family_totals
from rocm_perf.analysis.time.kernel_family import families, family, rules
from rocm_perf.model.finding import Finding
from rocm_perf.model.results.kernels import FamilyName
from tests.unit.analysis.documents import document
from tests.unit.analysis.traces import kernel, trace

LABELS = Path(__file__).parent / "kernel_families.tsv"
ELEMENTWISE = "void at::native::vectorized_elementwise_kernel<4, {}, std::array<char*, 2ul> >(int)"


def labelled() -> list[tuple[str, str]]:
    """Names from recordings of rocprofv3, rocprof, torch.profiler and RPD; the label is what the kernel does."""
    with LABELS.open() as file:
        rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        return [(row["family"], row["kernel"]) for row in rows]


def test_real_names_have_the_family_that_a_reader_gives_them() -> None:
    rows = labelled()
    wrong = [(label, family(name).name, name[:120]) for label, name in rows if family(name).name != label]
    assert wrong == []
    assert len(rows) >= 120
    assert {label for label, _ in rows} == set(get_args(FamilyName))


def test_every_rule_matches_its_examples() -> None:
    assert [
        (rule.pattern, text)
        for rule in rules()
        for text in rule.examples
        if not re.search(rule.pattern, text)
    ] == []
    assert all(rule.examples for rule in rules())


def test_every_example_reaches_its_rule() -> None:
    """No earlier rule takes an example away, so the order of the table is right."""
    lost = [
        (text, rule.pattern, first.pattern)
        for rule in rules()
        for text in rule.examples
        if (first := next(one for one in rules() if one.on == rule.on and re.search(one.pattern, text)))
        != rule
    ]
    assert lost == []


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            ELEMENTWISE.format(
                "at::native::gemm_bias_kernel_cuda(at::TensorIteratorBase&)::{lambda(float)#1}"
            ),
            "elementwise",
        ),
        (ELEMENTWISE.format("my::attention_softmax_Functor<float>"), "elementwise"),
        (
            "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, matmul_sum_Ops<float> > >(int)",
            "reduction",
        ),
        ("nvjet_tst_128x256_64x4_1x2_h_bz_coopA_TNT", "gemm"),
        (
            "void cutlass::device_kernel<flash::enable_sm90_or_later<flash::FlashAttnFwdSm90<flash::C> > >(P)",
            "attention",
        ),
        ("triton_per_fused__softmax_add_3", "softmax"),
        ("triton_tem_fused_addmm_7", "gemm"),
        ("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "collective"),
        (
            "void vllm::rms_norm_kernel<c10::Half>(c10::Half*, c10::Half const*, float, int, int)",
            "normalisation",
        ),
        (
            "void vllm::act_and_mul_kernel<c10::Half, &(c10::Half vllm::silu_kernel<c10::Half>())>(int)",
            "elementwise",
        ),
        ("miopenSp3AsmConv_v30_3_1_gfx9_fp32_f2x3_stride1", "convolution"),
        ("some_kernel_of_mine(float*)", "other"),
        ("", "other"),
    ],
)
def test_other_names(name: str, expected: str) -> None:
    assert family(name).name == expected


def test_names_keep_their_rows() -> None:
    names = pl.Series(["mul_mat_q", None, "rope_norm", "mul_mat_q"])
    assert families(names).to_list() == ["gemm", None, "elementwise", "gemm"]


def test_totals_and_the_gemm_share() -> None:
    result = family_totals(
        trace(dispatches=[kernel("mul_mat_q", 0, 30), kernel("Cijk_A", 30, 60), kernel("scale_f32", 60, 100)])
    )
    assert [(row.family, row.calls, row.kernels, row.total_ns, row.share) for row in result.rows] == [
        ("gemm", 2, 2, 60, 0.6),
        ("elementwise", 1, 1, 40, 0.4),
    ]
    assert result.rows[0].libraries == ("Tensile", "ggml")
    assert (result.gemm_share.value, result.unclassified_share.value) == (0.6, 0.0)


ADD = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>(int)"
MUL = "void at::native::vectorized_elementwise_kernel<4, at::native::MulFunctor<float>>(int)"


def unfused(*kernels: tuple[str, int]) -> list[Finding]:
    """What is said of kernels of these lengths, one after the other on a stream."""
    ends = list(accumulate(length for _, length in kernels))
    rows = [kernel(name, end - length, end) for (name, length), end in zip(kernels, ends, strict=True)]
    return family_findings(document(trace(dispatches=rows)))


def test_a_fused_kernel_still_takes_as_long_as_the_longest_of_its_run() -> None:
    (finding,) = unfused((ADD, 40), (MUL, 60), ("Cijk_A", 50), (ADD, 40))
    assert finding.time_at_stake_ns == 40  # of the first run; the single kernel behind the product stays
    assert finding.kind == "kernel-memory"
    assert finding.title == "73.7 % of the kernel time is unfused elementwise kernels"
    assert "torch.compile" in finding.remedy


def test_kernels_of_two_steps_are_not_fused() -> None:
    (finding,) = unfused(*[(ADD, 40), (MUL, 60)] * 5)
    assert finding.time_at_stake_ns == 5 * 40


def test_one_such_kernel_has_nothing_to_be_fused_with() -> None:
    assert unfused((ADD, 40), ("Cijk_A", 40)) == []


def test_a_program_with_kernels_of_its_own_is_not_told_to_compile() -> None:
    """No framework's compiler would see them."""
    assert unfused(("scale_f32", 40), ("add_f32", 40), ("mul_mat_q", 40)) == []


def test_copies_of_the_runtime_are_not_fused() -> None:
    assert unfused(("__amd_rocclr_copyBuffer", 90), ("__amd_rocclr_fillBufferAligned", 90), (ADD, 40)) == []


def test_conversions_of_the_libraries_of_convolutions_are_not_fused() -> None:
    """No compiler of a framework sees them: they are launched inside of a convolution."""
    conversions = [("batched_transpose_16x32_half", 90), ("SubTensorOpWithScalar1d", 90)]
    assert unfused(*conversions, (ADD, 40)) == []
    (finding,) = unfused(*conversions, (ADD, 240), (MUL, 60))
    assert finding.title == "62.5 % of the kernel time is unfused elementwise kernels"


def test_every_family_that_the_share_is_of_is_named_with_its_time() -> None:
    copied = ELEMENTWISE.format("at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)")
    summed = "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MeanOps<float> > >(int)"
    (finding,) = unfused((ADD, 50), (copied, 30), (summed, 10), ("Cijk_A", 10))
    assert finding.title == "90.0 % of the kernel time is unfused elementwise, copy and reduction kernels"
    assert (
        finding.evidence[0] == "elementwise 50 ns in 1 call, copy 30 ns in 1 call, reduction 10 ns in 1 call"
    )


def test_statistics_alone_have_families_too() -> None:
    rows = [
        {"domain": "kernel", "name": name, "calls": 10, "total_ns": 100.0} for name in (ADD, MUL, "Cijk_A")
    ]
    recorded = trace(summaries=rows)
    assert family_totals(recorded).rows[0].calls == 20
    (finding,) = family_findings(document(recorded))
    assert finding.time_at_stake_ns is None  # nothing says which follow one another


def test_no_kernels_no_share() -> None:
    assert not family_totals(trace()).gemm_share.known
    assert family_findings(document(trace())) == []
