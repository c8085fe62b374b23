"""Worked examples of recurrent layers, Fourier transforms and Transformer Engine's products."""

from __future__ import annotations

from tests.unit.analysis.operators.work.calls import F4, U1, Given, tensor

Example = tuple[str, list[Given], int, int]

C8 = "c10::complex<float>"
states = tensor(1, 2, 3)
steps = tensor(5, 2, 4)  # 5 time steps of 2 sequences of 4 values: 80 B
LSTM = [[12, 4], [12, 3], [12], [12]]  # 3 hidden values, 4 gates: 84 elements in matrices of 108
GRU = [[9, 4], [9, 3], [9], [9]]  # 3 gates: 63 of 81

RECURRENT: list[Example] = [
    # 2 * 10 * 84; 80 + 2 * (108 + 12 of the states) read, 2 * (10 * 3 + 12) written
    (
        "aten::lstm",
        [steps, [[1, 2, 3], [1, 2, 3]], LSTM, "True", "1", "0.", "False", "False", "False"],
        1680,
        404,
    ),
    # the same 10 time steps, packed
    (
        "aten::lstm",
        [tensor(10, 4), tensor(5), [[1, 2, 3], [1, 2, 3]], LSTM, "True", "1", "0.", "False", "False"],
        1680,
        404,
    ),
    # two directions: 2 * 10 * 126; 80 + 2 * (162 + 12) + 2 * (10 * 6 + 12), the buffer of the weights not again
    (
        "aten::_cudnn_rnn",
        [steps, GRU + GRU, "4", tensor(162), tensor(2, 2, 3), None, "3", "3", "0", "1", "False", "0.", "True", "True",
         "[]", None],
        2520,
        572,
    ),
    ("aten::miopen_rnn", [steps, LSTM, "4", states, states, "2", "3", "1", "False", "0.", "True", "False", "[]", None],
     1680, 404),
    # twice: for the inputs and for the weights; 80 + 60 + 60 + 64 B of reserve + 2 * (108 + 12), 2 * (40 + 12 + 108)
    (
        "aten::miopen_rnn_backward",
        [steps, LSTM, "4", tensor(108), states, states, tensor(5, 2, 3), tensor(5, 2, 3), None, None, "2", "3", "1",
         "False", "0.", "True", "False", "[]", None, tensor(64, dtype=U1), "[True, True, True, True]"],
        3360,
        824,
    ),
    # the gradient of the weights is not asked for
    (
        "aten::_cudnn_rnn_backward",
        [steps, LSTM, "4", tensor(108), states, states, tensor(5, 2, 3), tensor(5, 2, 3), None, None, "2", "3", "0",
         "1", "False", "0.", "True", "False", "[]", None, tensor(64, dtype=U1), "[True, True, True, False]"],
        1680,
        608,
    ),
]  # fmt: skip
FOURIER: list[Example] = [
    # 3 signals: 3 * 5 * 8 * log2(8); 24 complex numbers of 8 B read and written
    ("aten::_fft_c2c", [tensor(3, 8, dtype=C8), "[1]", "0", "True"], 360, 384),
    # 2.5 * 64 * log2(64); 256 B read, 4 * 9 complex numbers written
    ("aten::_fft_r2c", [tensor(4, 16, dtype=F4), "[0, 1]", "0", "True"], 960, 544),
    ("aten::_fft_r2c", [tensor(4, 16, dtype=F4), "[0, 1]", "0", "False"], 960, 768),
    ("aten::_fft_c2r", [tensor(4, 9, dtype=C8), "[0, 1]", "2", "16"], 960, 544),
]
_NONE = tensor(0)
_SCALE = tensor(1, dtype=F4)
_WORKSPACE = tensor(1 << 25, dtype=U1)  # is not data
TRANSFORMER_ENGINE: list[Example] = [
    # [4, 8] x [6, 8] transposed, in fp8: 2 * 4 * 6 * 8; 48 + 32 + 48 B
    (
        "tex_ts::te_gemm_ts",
        [tensor(6, 8, dtype=U1), _SCALE, "0", "6", "1", tensor(4, 8, dtype=U1), _SCALE, "1", "6", "0", tensor(4, 6),
         _NONE, "5", _NONE, _NONE, "5", _NONE, "0", _WORKSPACE, "33554432", "0", "0"],
        384,
        128,
    ),
    # the gradient of a weight, added to what there is: 96 + 64 + 2 * 96 B
    (
        "tex_ts::te_gemm_ts",
        [tensor(8, 6), _NONE, "0", "5", "0", tensor(8, 4), _NONE, "0", "5", "1", tensor(4, 6, dtype=F4),
         _NONE, "3", _NONE, _NONE, "5", _NONE, "1", _WORKSPACE, "33554432", "1", "0"],
        384,
        352,
    ),
]  # fmt: skip
