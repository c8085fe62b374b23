"""Short kernel names."""

from __future__ import annotations

import polars as pl
import pytest

from rocm_perf.analysis.basis.names import demangle, short_name, short_names

FUNCTOR = "at::native::binary_internal::MulFunctor<float>"


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("copy_kernel", "copy_kernel"),
        ("void softmax_kernel<float>(float const*, float*, int)", "softmax_kernel"),
        ("void (anonymous namespace)::scale<float, 4>(float*)", "scale"),
        (
            f"void at::native::vectorized_elementwise_kernel<4, {FUNCTOR}, std::array<char*, 2ul> >(int)",
            "vectorized_elementwise_kernel<MulFunctor>",
        ),
        (
            "void cutlass::Kernel2<cutlass_80_simt_sgemm_nn>(cutlass_80_simt_sgemm_nn::Params)",
            "Kernel2<cutlass_80_simt_sgemm_nn>",
        ),
        (
            "Cijk_Ailk_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT64x64x32_MI16x16x1_SN_LDSB0",
            "Cijk_Ailk_Bljk_BBS_BH MT64x64x32",
        ),
        (
            "void ck_tile::kentry<ck_tile::gfx950_t, 2, ck_tile::FmhaFwdKernel<ck_tile::BlockFmha<int> > >(int)",
            "kentry<FmhaFwdKernel>",
        ),
        ("Cijk_Ailk_Bljk_BBS_BH_MT32x32x64_MI16x16x16x1_SN", "Cijk_Ailk_Bljk_BBS_BH MT32x32x64"),
        ("_Z9vectorAddPKfS0_Pfi", "vectorAdd"),
        ("_ZN2ck6device4gemmIXnot_a_valid_encodingEE", "gemm"),
        ("_Z6gatherIDF16_Li128EEvPT_PKf", "gather"),  # _Float16, which older demanglers do not know
        ("_ZL8internalIDF16_EvPT_", "internal"),
        ("_ZNK2ns6Caller4callIDF16_EEvv", "call"),
        ("_Z24cut_in_the_middle_of_its", "cut_in_the_middle_of_its"),
        ("_Z40cut_earlier", "cut_earlier"),
        ("_Z9", "_Z9"),
        (
            "std::enable_if<(((8)>(0)))&&ns::Converts<c10::Half>::exists, void>::type "
            "ns::fused_norm<c10::Half, 8>(c10::Half*, std::pair<int, int>)",
            "fused_norm",
        ),
        ("void ns::shifted<(8)<<(2), ((8)>(2))>(int)", "shifted"),
        ("void ns::shifted<(8) >> (2), (8)<(2)>(int)", "shifted"),
        ("void ns::bounded<(8)>=(2), (8)<=(2)>(int)", "bounded"),
        ("void ns::stored<(a)->b, std::function<void (int)> >(int)", "stored"),
        ("void ns::called<std::function<void (std::pair<int, int>)>>(int)", "called"),
        ("bool ns::operator< <int>(int)", "operator"),
        ("bool ns::operator<=><int>(int)", "operator"),
        ("void ns::my_operator<int>(int)", "my_operator"),
        ("triton_poi_fused_add_0", "triton_poi_fused_add_0"),
        ("bool ns::less<int>(int)", "less"),
        ("<", "<"),
        ("", ""),
        ("(", "("),
    ],
)
def test_short_name(name: str, short: str) -> None:
    assert short_name(name) == short


def test_demangle_leaves_other_names_alone() -> None:
    assert demangle("not mangled") == "not mangled"
    assert demangle("_Zbroken") == "_Zbroken"


def test_short_names_keep_rows_and_nulls() -> None:
    names = pl.Series("kernel", ["void a<int>(int)", None, "void a<int>(int)", "b"])
    assert short_names(names).to_list() == ["a", None, "a", "b"]


def test_a_name_that_is_nearly_one_of_tensile_is_not_tried_in_all_its_divisions() -> None:
    assert short_name("Cijk" + "_Ax_Bx_C" * 2_000).startswith("Cijk_Ax_Bx_C")
