"""Worked examples of products and convolutions: FLOPs and bytes with their arithmetic."""

from __future__ import annotations

from tests.unit.analysis.operators.work.calls import F4, F8, I1, I4, U1, Given, tensor

Example = tuple[str, list[Given], int, int]

x = tensor(4, 8)  # 32 elements of 2 bytes: 64 B

PRODUCTS: list[Example] = [
    # a result of 4 bytes that was asked for, given as the last argument or in the middle
    ("aten::mm", [tensor(4, 8), tensor(8, 6), "6"], 384, 64 + 96 + 4 * 24),
    ("aten::addmm", [tensor(6), tensor(4, 8), tensor(8, 6), "6", "1", "1"], 384, 12 + 64 + 96 + 4 * 24),
    # 2 * 4 * 6 * 8 = 384; 64 + 96 + 48 B
    ("aten::mm", [x, tensor(8, 6)], 384, 208),
    # the bias is read, its addition is not counted: 12 B more
    ("aten::addmm", [tensor(6), x, tensor(8, 6), "1", "1"], 384, 220),
    # 3 products of 2 * 4 * 6 * 8; 3 * (64 + 96 + 48)
    ("aten::bmm", [tensor(3, 4, 8), tensor(3, 8, 6)], 1152, 624),
    # 2 * (2 * 4) * 6 * 8 rows of a linear layer; 128 + 96 + 12 + 96
    ("aten::linear", [tensor(2, 4, 8), tensor(6, 8), tensor(6)], 768, 332),
    ("vllm::rocm_unquantized_gemm", [tensor(2, 4, 8), tensor(6, 8), tensor(6)], 768, 332),
    # [4, 8] x [6, 8] with a result of type 15 (bfloat16)
    ("aiter::gemm_a16w16", [x, tensor(6, 8), None, "15", None, None, None], 384, 208),
    # mat-vec: 2 * 4 * 8; 64 + 16 + 8
    ("aten::mv", [x, tensor(8)], 64, 88),
    # three groups with rows of their own: all 4 rows once, 2 * 4 * 6 * 8; 64 + 3 * 96 + 12 + 48
    ("aten::_grouped_mm", [x, tensor(3, 8, 6), tensor(3, dtype=I4), None, None], 384, 412),
]
QUANTISED: list[Example] = [
    # one byte an element, f32 scales of one element each, a result of bfloat16: 32 + 48 + 4 + 4 + 48
    (
        "aten::_scaled_mm",
        [
            tensor(4, 8, dtype=F8),
            tensor(8, 6, dtype=F8),
            tensor(dtype=F4),
            tensor(dtype=F4),
            None,
            None,
            "15",
            "True",
        ],
        384,
        136,
    ),
    # weights as [N, K]; a scale for each row and column: 32 + 48 + 16 + 24 + 48
    (
        "aiter::gemm_a8w8",
        [
            tensor(4, 8, dtype=I1),
            tensor(6, 8, dtype=I1),
            tensor(4, 1, dtype=F4),
            tensor(6, 1, dtype=F4),
            None,
            "15",
            "0",
        ],
        384,
        168,
    ),
    # the result is an argument: 32 + 48 + 4 + 4 + 48
    (
        "aiter::gemm_a8w8_blockscale_ck",
        [
            tensor(4, 8, dtype=F8),
            tensor(6, 8, dtype=F8),
            tensor(1, 1, dtype=F4),
            tensor(1, 1, dtype=F4),
            tensor(4, 6),
        ],
        384,
        136,
    ),
    (
        "vllm::rocm_aiter_gemm_a8w8_blockscale",
        [
            tensor(4, 8, dtype=F8),
            tensor(6, 8, dtype=F8),
            tensor(1, 1, dtype=F4),
            tensor(1, 1, dtype=F4),
            "15",
        ],
        384,
        136,
    ),
    (
        "_C::cutlass_scaled_mm",
        [
            tensor(4, 6),
            tensor(4, 8, dtype=F8),
            tensor(8, 6, dtype=F8),
            tensor(4, 1, dtype=F4),
            tensor(6, dtype=F4),
            None,
        ],
        384,
        168,
    ),
    (
        "sgl_kernel::fp8_scaled_mm",
        [
            tensor(4, 8, dtype=F8),
            tensor(8, 6, dtype=F8),
            tensor(4, dtype=F4),
            tensor(6, dtype=F4),
            "15",
            None,
        ],
        384,
        168,
    ),
    # two values of four bits in a byte: K = 2 * 4; 16 + 24 + 4 + 6 + 48
    (
        "aiter::gemm_a4w4_asm",
        [
            tensor(4, 4, dtype=U1),
            tensor(6, 4, dtype=U1),
            tensor(4, 1, dtype=U1),
            tensor(6, 1, dtype=U1),
            tensor(4, 6),
        ],
        384,
        98,
    ),
    # mxfp4 weights and bfloat16 activations: 64 + 24 + 6 + 48
    (
        "vllm::gemm_with_dynamic_quant",
        [x, tensor(6, 4, dtype=U1), tensor(6, 1, dtype=U1), "False", "15"],
        384,
        142,
    ),
    # weights of four bits, eight in an int32: N = 8 * 1; 2 * 4 * 8 * 8; 64 + 32 + 16 + 4 + 64
    ("_C::awq_gemm", [x, tensor(8, 1, dtype=I4), tensor(1, 8), tensor(1, 1, dtype=I4), "8"], 512, 180),
    # absolute value, maximum, scale: 3 * 32; 64 read, 32 written, a scale of 4 B for each of 4 rows
    (
        "_C::dynamic_per_token_scaled_fp8_quant",
        [tensor(4, 8, dtype=F8), x, tensor(4, 1, dtype=F4), None],
        96,
        112,
    ),
    ("_C::static_scaled_fp8_quant", [tensor(4, 8, dtype=F8), x, tensor(1, dtype=F4)], 32, 100),
]

IMAGE, FILTERS = tensor(1, 2, 4, 4), tensor(3, 2, 3, 3)
CONVOLUTIONS: list[Example] = [
    # 1 * 3 * 4 * 4 = 48 outputs of 2 * 3 * 3 = 18 terms: 2 * 48 * 18; 2 * (32 + 54 + 48)
    ("aten::conv2d", [IMAGE, FILTERS, None, "[1, 1]", "[1, 1]", "[1, 1]", "1"], 1728, 268),
    # no padding: 2 * 2 positions; 12 outputs; 2 * (32 + 54 + 12)
    ("aten::cudnn_convolution", [IMAGE, FILTERS, "[0, 0]", "[1, 1]", "[1, 1]", "1"], 432, 196),
    # both gradients and that of the bias: 2 * 1728 + 48; reads 96 + 64 + 108, writes 2 * (32 + 54 + 3)
    (
        "aten::convolution_backward",
        [
            tensor(1, 3, 4, 4),
            IMAGE,
            FILTERS,
            "[3]",
            "[1, 1]",
            "[1, 1]",
            "[1, 1]",
            "False",
            "[0, 0]",
            "1",
            "[True, True, True]",
        ],
        3504,
        446,
    ),
    # the gradient of the weight alone: 1728; writes 2 * 54
    (
        "aten::convolution_backward",
        [
            tensor(1, 3, 4, 4),
            IMAGE,
            FILTERS,
            "[0]",
            "[1, 1]",
            "[1, 1]",
            "[1, 1]",
            "False",
            "[0, 0]",
            "1",
            "[False, True, False]",
        ],
        1728,
        376,
    ),
    # transposed, stride 2: every one of 32 inputs meets 3 * 2 * 2 weights: 2 * 32 * 12; output 1 * 3 * 8 * 8
    (
        "aten::convolution",
        [IMAGE, tensor(2, 3, 2, 2), None, "[2, 2]", "[0, 0]", "[1, 1]", "True", "[0, 0]", "1"],
        768,
        2 * (32 + 24 + 192),
    ),
]
