"""Our own kernel on the matrix units, compiled by hipcc or nvcc: MFMA, WMMA, or NVIDIA's WMMA interface."""

from __future__ import annotations

import ctypes
import os
from typing import Any

import torch

NAME = "MFMA/WMMA kernel (hipcc)" if torch.version.hip else "WMMA kernel (nvcc)"
DTYPES = ("f16", "bf16")
MULTIPLE_OF = (128, 128, 32)

_LIBRARY = os.environ.get("ROCM_PERF_GEMM_LIBRARY", "")
if not _LIBRARY:
    raise RuntimeError(os.environ.get("ROCM_PERF_NO_GEMM_LIBRARY", "it was not compiled"))
_library = ctypes.CDLL(_LIBRARY)
_functions = {torch.float16: _library.rocm_perf_gemm_f16, torch.bfloat16: _library.rocm_perf_gemm_bf16}


def multiply(a: Any, b: Any) -> Any:
    """The product of the two, in f32."""
    (m, k), n = a.shape, b.shape[1]
    c = torch.empty(m, n, device=a.device, dtype=torch.float32)
    stream = torch.cuda.current_stream().cuda_stream
    addresses = [ctypes.c_void_p(tensor.data_ptr()) for tensor in (a, b, c)]
    status = _functions[a.dtype](*addresses, m, n, k, ctypes.c_void_p(stream))
    if status:
        raise RuntimeError(f"the kernel could not be launched (error {status})")
    return c
