"""Worked examples of norms, activations, reductions and what moves data: FLOPs and bytes with their arithmetic."""

from __future__ import annotations

from tests.unit.analysis.operators.work.calls import F4, I1, I4, I8, Given, tensor

Example = tuple[str, list[Given], int, int]

x = tensor(4, 8)  # 32 elements of 2 bytes: 64 B

NORMS: list[Example] = [
    # 7 = mean, subtract, square, add, scale, weight, bias; 64 + 64 + 16 + 16
    ("aten::native_layer_norm", [x, "[8]", tensor(8), tensor(8), "1e-05"], 224, 160),
    # 10 for the input, 2 for the weight, 1 for the bias; reads 2 * 64 + 2 * 16 (statistics) + 2 * 16, writes 96
    (
        "aten::native_layer_norm_backward",
        [
            x,
            x,
            "[8]",
            tensor(4, 1, dtype=F4),
            tensor(4, 1, dtype=F4),
            tensor(8),
            tensor(8),
            "[True, True, True]",
        ],
        416,
        288,
    ),
    # 4 = square, add, scale, weight
    ("aten::rms_norm", [x, "[8]", tensor(8), "1e-06"], 128, 144),
    ("_C::rms_norm", [x, x, tensor(8), "1e-06"], 128, 144),
    ("aiter::rmsnorm", [x, x, tensor(8), "1e-06"], 128, 144),
    # one more for the addition; input and residual are read and written
    ("_C::fused_add_rms_norm", [x, x, tensor(8), "1e-06"], 160, 4 * 64 + 16),
    ("sgl_kernel::fused_add_rmsnorm", [x, x, tensor(8), "1e-06", "False"], 160, 4 * 64 + 16),
    ("aiter::add_rmsnorm", [x, x, x, x, tensor(8), "1e-06"], 160, 4 * 64 + 16),
    ("vllm::rocm_aiter_rmsnorm2d_fwd_with_add", [x, x, tensor(8), "1e-05"], 160, 4 * 64 + 16),
    # 7 for the input, 2 for the weight; reads 64 + 64 + 16 + 16, writes 64 + 16
    (
        "aten::_fused_rms_norm_backward",
        [x, x, "[8]", tensor(4, 1, dtype=F4), tensor(8), "[True, True]"],
        288,
        240,
    ),
    # group norm over [2, 4, 8]: 64 elements, 7 each; 128 + 128 + 8 + 8
    (
        "aten::native_group_norm",
        [tensor(2, 4, 8), tensor(4), tensor(4), "2", "4", "8", "2", "1e-05"],
        448,
        272,
    ),
    ("aiter::_groupnorm_run", [tensor(2, 4, 8), "2", tensor(4), tensor(4), "1e-06"], 448, 272),
    # batch norm: 7 in training, 4 by recorded statistics; 128 + 128 + 4 * 8
    ("aten::native_batch_norm", [tensor(2, 4, 8), *[tensor(4)] * 4, "True", "0.1", "1e-05"], 448, 288),
    ("aten::native_batch_norm", [tensor(2, 4, 8), *[tensor(4)] * 4, "False", "0.1", "1e-05"], 256, 288),
    # without recorded statistics; 128 + 128 + 2 * 8
    ("aten::_native_batch_norm_legit", [tensor(2, 4, 8), *[tensor(4)] * 2, "True", "0.1", "1e-05"], 448, 272),
    # instance norm without weights: 5 each
    (
        "aten::instance_norm",
        [tensor(2, 4, 8), None, None, None, None, "True", "0.1", "1e-05", "True"],
        320,
        256,
    ),
    # 13 each; reads 2 * 128 + 3 * 8 (weight, statistics), writes 128 + 2 * 8
    (
        "aten::native_batch_norm_backward",
        [
            tensor(2, 4, 8),
            tensor(2, 4, 8),
            tensor(4),
            None,
            None,
            tensor(4),
            tensor(4),
            "True",
            "1e-05",
            "[True, True, True]",
        ],
        832,
        424,
    ),
]

ACTIVATIONS: list[Example] = [
    # [4, 16] -> [4, 8]: 2 for each of 32 results; 128 + 64
    ("_C::silu_and_mul", [x, tensor(4, 16)], 64, 192),
    ("sgl_kernel::gelu_tanh_and_mul", [x, tensor(4, 16)], 64, 192),
    ("aten::gelu", [x, "none"], 32, 128),
    ("aten::silu_", [x], 32, 128),
    ("aten::gelu_backward", [x, x, "none"], 64, 192),
]

MOVEMENT: list[Example] = [
    # a Triton kernel that reads 32 elements, and writes them in one byte each with 4 scales
    ("my_quant_kernel_0", [x, tensor(4, 8, dtype=I1), tensor(4, dtype=F4)], 0, 64 + 32 + 16),
    ("aten::copy_", [tensor(4, 8, dtype=F4), x, "False"], 0, 192),
    ("aten::clone", [x, None], 0, 128),
    ("aten::fill_", [x, "0."], 0, 64),
    # 3 of 99 rows of 8: 48 read, 48 written, 3 indices of 8 B
    ("aten::embedding", [tensor(99, 8), tensor(3, dtype=I8), "-1", "False", "False"], 0, 120),
    ("aten::index_select", [tensor(99, 8), "0", tensor(3, dtype=I8)], 0, 120),
    ("aten::gather", [x, "1", tensor(4, 2, dtype=I8), "False"], 0, 96),
    # the gradient is added into a table of 99 rows: reads 48 + 24, writes 99 * 16
    ("aten::embedding_dense_backward", [tensor(3, 8), tensor(3, dtype=I8), "99", "-1", "False"], 24, 1656),
    ("aten::scatter_add_", [x, "0", tensor(3, 8, dtype=I8), tensor(3, 8)], 24, 192 + 48 + 96),
    # two columns of 4 are set: 8 places, 2 indices of 8 B
    ("aten::index_fill_", [x, "1", tensor(2, dtype=I8), "0."], 0, 16 + 2 * 8),
    # 24 places that are multiplied: read and written
    ("aten::scatter_", [x, "0", tensor(3, 8, dtype=I8), tensor(3, 8), "multiply"], 24, 192 + 48 + 96),
    # a mask of bytes and a tensor; the number that the others get is no tensor
    ("aten::where", [tensor(4, 8, dtype="bool"), x, "0."], 0, 32 + 64 + 64),
    ("aten::constant_pad_nd", [x, "[1, 1]", "0."], 0, 64 + 80),
]

REDUCTIONS: list[Example] = [
    ("aten::sum", [x, "[-1]", "False", None], 32, 64 + 8),
    ("aten::sum", [x, None], 32, 64 + 2),
    ("aten::sum", [tensor(4, 8, dtype=I4), "[0]", "False", None], 32, 128 + 8 * 8),
    ("aten::mean", [x, "[1]", "True", "6"], 32, 64 + 4 * 4),
    ("aten::max", [x, "-1", "False"], 32, 64 + 4 * (2 + 8)),
    # over a whole tensor: one value is left; of two tensors: as many as they have
    ("aten::max", [x], 32, 64 + 2),
    ("aten::min", [x], 32, 64 + 2),
    ("aten::max", [x, x], 32, 3 * 64),
    # sums of integers are 8 bytes wide
    ("aten::cumsum", [tensor(4, 8, dtype=I4), "1", None], 32, 128 + 8 * 32),
    ("aten::cumsum", [x, "1", "6"], 32, 64 + 4 * 32),
    # in the order of the overload without axes the type comes third
    ("aten::norm", [x, "2", "6"], 64, 64 + 4),
    ("aten::var_mean", [x, "True"], 160, 64 + 2 * 2),
    ("aten::argmax", [x, "-1", "False"], 32, 64 + 4 * 8),
    ("aten::_softmax", [x, "-1", "True"], 160, 64 + 128),
    ("aten::_softmax_backward_data", [x, x, "-1", "15"], 128, 192),
    ("aten::topk", [x, "3", "-1", "True", "True"], 0, 64 + 12 * (2 + 8)),
    ("aten::linalg_vector_norm", [x, "2", None, "False", None], 64, 66),
    # of each row: 4 results
    ("aten::linalg_norm", [x, None, "[-1]", "True", None], 64, 72),
    ("aten::mse_loss", [x, x, "1"], 96, 130),
]
