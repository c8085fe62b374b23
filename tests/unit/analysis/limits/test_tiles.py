"""What the names of library kernels tell: names are from public recordings, cut where they tell nothing more."""

from __future__ import annotations

import pytest

from rocm_perf.analysis.limits.products import fit
from rocm_perf.analysis.limits.tiles import AttentionTile, Tile, adds_up_parts, attention_tile, tile
from rocm_perf.arch.chip_of_kernels import chip_of_kernel, chip_of_kernels

GEMM_01 = (
    "Cijk_Ailk_Bljk_BBS_BH_MT256x128x64_MI16x16x16x1_SN_1LDSB0_GLVWA2_GSU2_GSUAMB_GLS0_ISA942_IU1_WG64_4_1"
)
NAMES = {
    GEMM_01: Tile(
        maker="Tensile", m=256, n=128, k=64, split=2, on_matrix=True, dtype="bf16", workgroup=256
    ),
    "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT16x32x512_MI16x16x1_SN_GSUAMBSK_GLS0_ISA942_IU1": Tile(
        maker="Tensile", m=16, n=32, k=512, splits_at_run_time=True, on_matrix=True, dtype="bf16"
    ),
    "Cijk_Alik_Bljk_HB_GB_MT64x64x8_SN_APM1_GSU1_ISA1201_IU1_TT8_4_WG8_8_1": Tile(
        maker="Tensile", m=64, n=64, k=8, split=1, on_matrix=False, dtype="f16", workgroup=64
    ),
    "Cijk_Ailk_Bjlk_S_B_Bias_HA_S_SAV_UserArgs_MT64x64x64_MI16x16x1_SN_GSU0_GSUAMB_ISA950_SK3_": Tile(
        maker="Tensile", m=64, n=64, k=64, splits_at_run_time=True, stream=True, on_matrix=True, dtype="f32"
    ),
    "nvjet_tst_64x64_64x16_2x1_2cta_v_bz_bias_TNT": Tile(
        maker="nvjet", m=64, n=64, k=64, on_matrix=True, dtype="bf16"
    ),
    "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute_kernel__5x_cublas": Tile(
        maker="xmma", m=128, n=128, k=64, either=True, on_matrix=True, dtype="bf16"
    ),
    "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize64x128x8_stage3_warpsize2x2x1_ffma_aligna4_alignc4": Tile(
        maker="xmma", m=64, n=128, k=8, either=True, on_matrix=False, dtype="f32", alignment=4
    ),
    "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_bf16_256x128_64x3_tn_align2>(": Tile(
        maker="CUTLASS", m=256, n=128, k=64, on_matrix=True, dtype="bf16", alignment=2
    ),
    "void cutlass::Kernel2<cutlass_75_tensorop_bf16_s1688gemm_bf16_128x128_nn_align1>(": Tile(
        maker="CUTLASS", m=128, n=128, on_matrix=True, dtype="bf16", alignment=1
    ),
    "void cutlass::Kernel2<cutlass_80_simt_sgemm_128x32_8x5_nn_align1>(": Tile(
        maker="CUTLASS", m=128, n=32, k=8, on_matrix=False, dtype="f32", alignment=1
    ),
    "ampere_sgemm_128x64_tn": Tile(maker="cuBLAS", m=128, n=64, on_matrix=False, dtype="f32"),
    "volta_fp16_s884gemm_fp16_128x64_ldg8_f2f_nn": Tile(
        maker="cuBLAS", m=128, n=64, on_matrix=True, dtype="f16"
    ),
    "bmm_MxE4m3_MxE2m1MxE4m3_Fp32_t128x16x256u2_s3_et128x16": Tile(
        maker="TensorRT-LLM", m=128, n=16, k=256, on_matrix=True, dtype="f8", weights="f4"
    ),
    "_matmul_ogs_NNT_bf16xbf16xmxfp4_16x128x256x1_swiglu": Tile(
        maker="triton_kernels", m=16, n=128, k=256, columns_first=False, split=1, on_matrix=True, dtype="bf16",
        weights="f4",
    ),
    "void kentry<ck_tile::GemmKernel<ck_tile::TileGemmShape<ck_tile::sequence<256, 256, 64>, ck_tile::sequence<2": Tile(
        maker="CK tile", m=256, n=256, k=64, columns_first=False, on_matrix=True
    ),
    "_ZN2ck16tensor_operation6deviceELi256ELi128ELi64ELi32ELi8ELi8ELi32ELi32ELi2ELi1E": Tile(
        maker="CK", m=128, n=64, k=32, columns_first=False, on_matrix=True, workgroup=256
    ),
    "void mul_mat_vec_q<(ggml_type)2, 1, false, false>(void const*": Tile(
        maker="ggml", m=1, n=1, on_matrix=False, weights="ggml 2"
    ),
    "igemm_fwd_gtcx3_nhwc_bf16_bx0_ex1_bt64x128x32_wt32x32x8_ws1x1_wr2x1_gkgs": Tile(
        maker="MIOpen", m=64, n=128, k=32, columns_first=False, splits_at_run_time=True, on_matrix=True, dtype="bf16"
    ),
    "igemm_bwd_data_gtcx_nhwc_fp32_bx0_bt128x128x16": Tile(
        maker="MIOpen", m=128, n=128, k=16, columns_first=False, on_matrix=True, dtype="f32"
    ),
    "vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>": None,
}  # fmt: skip


@pytest.mark.parametrize("name", NAMES, ids=lambda name: name[:40])
def test_a_name_tells_the_tile(name: str) -> None:
    assert tile(name) == NAMES[name]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("attn_fwd.kd", AttentionTile("AOTriton", pads=True)),
        (
            "void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<64, 128, 128, 4, false, false",
            AttentionTile("FlashAttention", 64, 128, 128),
        ),
        (
            "void ck_tile::kentry<FmhaFwdKernel<ck_tile::TileFmhaShape<ck_tile::sequence<128, 128, 32, 128, 32, 128>",
            AttentionTile("CK tile", 128, 128, 128),
        ),
        (
            "fmhaSm100aKernel_QkvE4m3OBfloat16H64PagedKvCausalP16VarSeqQ128Kv128Persistent",
            AttentionTile("TensorRT-LLM", 64, 128, 128, paged=True),
        ),
        ("_ZN5aiter19fmha_fwd_hd128_bf16E", AttentionTile("aiter", 128)),
        (
            "void paged_attention_ll4mi_QKV_mfma16_kernel<0, __hip_bfloat16, __hip_bfloat16, (vllm::Fp8KVCacheDataType)"
            "0, 1, 128, 256, false, 4>",
            AttentionTile("vLLM", 128, paged=True),
        ),
        ("softmax_warp_forward", None),
    ],
    ids=lambda value: str(value)[:30],
)
def test_a_name_tells_the_tile_of_attention(name: str, expected: AttentionTile | None) -> None:
    assert attention_tile(name) == expected


def test_columns_come_first_in_libraries_that_think_in_columns() -> None:
    """A result of 256 rows and 512 columns takes 2 x 2 tiles of 128 rows and 256 columns."""
    known = tile(GEMM_01)

    assert known is not None
    assert known.sides == (128, 256)
    assert known.count(256, 512) == 4
    assert known.padded(129, 512) == 4 * 128 * 256 / (129 * 512)


def test_kernels_that_add_up_parts_are_known() -> None:
    assert adds_up_parts("Cijk_B_PostGSU2") == 2
    assert adds_up_parts("void cublasLt::splitKreduce_kernel<32, 16, int, float>") == 0
    assert adds_up_parts("Cijk_Ailk_Bljk_BBS_BH_MT256x128x64") is None


def test_names_tell_the_chip() -> None:
    assert chip_of_kernel(GEMM_01) == "gfx942"
    assert chip_of_kernel("Cijk_Ailk_Bjlk_SB_Bias_AS_MT64x16x16_MI16x16x1_SN_GSUAMB_ISA90a_IU1") == "gfx90a"
    assert chip_of_kernel("nvjet_sm90_tst_320x128_64x3_1x2_h_bz_coopB_NNT") == "sm_90"
    assert chip_of_kernel("sm80_xmma_gemm_f32f32") is None  # newer chips run it as well
    assert chip_of_kernels([GEMM_01, "attn_fwd"]) == "gfx942"
    assert chip_of_kernels([GEMM_01, GEMM_01.replace("942", "950")]) is None


@pytest.mark.parametrize(
    ("name", "sizes", "workgroups", "tiles", "kind"),
    [
        # Grids of H100 and H200, as torch recorded them.
        ("nvjet_sm90_tst_64x8_64x16_4x1_v_bz_NNT", (1, 8, 8192, 768), 128, 128, "by tiles"),
        ("nvjet_sm90_tst_64x8_64x16_4x1_v_bz_splitK_NNT", (1, 8, 768, 3072), 24, 12, "split"),
        ("nvjet_sm90_hsh_64x24_64x16_2x4_h_bz_bias_TNT", (1, 128, 512, 2048), 64, 48, "padded"),
        ("nvjet_sm90_tst_320x128_64x3_1x2_h_bz_coopB_NNT", (1, 8192, 8192, 8192), 132, 1664, "persistent"),
        (
            "cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_128x64_64x6_tn_align8",
            (1, 788, 768, 768),
            104,
            78,
            "padded",
        ),
        ("sm90_xmma_gemm_bf16bf16_f32_tn_n_tilesize256x128x64_w", (1, 5184, 768, 1024), 126, 126, "by tiles"),
    ],
)
def test_grids_of_nvidia_follow_from_name_and_shape(
    name: str, sizes: tuple[int, ...], workgroups: int, tiles: int, kind: str
) -> None:
    """Some are rounded up to the width of a cluster or a swizzle; persistent ones share tiles among the units."""
    known = tile(name)

    assert known is not None
    placed = fit(known, sizes, workgroups, units=132)
    assert (placed.tiles, placed.grid) == (tiles, kind)
