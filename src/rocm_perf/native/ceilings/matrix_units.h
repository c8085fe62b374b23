// AMD's matrix instructions by data type: those of the chip that is compiled for. A unit without operations is one that
// the chip does not have, or that only libraries use well.
#pragma once

#include "gpu/gpu.h"

#if defined(__HIP__)

namespace rocm_perf {

template <typename T, int size>
using Vector = T __attribute__((ext_vector_type(size)));

struct NoUnit {
  using Operand = int;
  using Sum = Vector<int, 2>;
  static constexpr int kOperations = 0;
  static __device__ Sum multiply(Operand, Operand, Sum sum) { return sum; }
};

// OPERATIONS are those of one instruction of one wave: 2 * M * N * K.
#define ROCM_PERF_UNIT(NAME, OPERAND, SUM, OPERATIONS, PRODUCT)                       \
  struct NAME {                                                                       \
    using Operand = OPERAND;                                                          \
    using Sum = SUM;                                                                  \
    static constexpr int kOperations = OPERATIONS;                                    \
    static __device__ Sum multiply(Operand a, Operand b, Sum sum) { return PRODUCT; } \
  }
#define ROCM_PERF_V(T, SIZE) Vector<T, SIZE>

#if defined(__gfx90a__) || defined(__gfx942__)
ROCM_PERF_UNIT(F16Unit, ROCM_PERF_V(_Float16, 4), ROCM_PERF_V(float, 16), 2 * 32 * 32 * 8,
               __builtin_amdgcn_mfma_f32_32x32x8f16(a, b, sum, 0, 0, 0));
ROCM_PERF_UNIT(Bf16Unit, ROCM_PERF_V(short, 4), ROCM_PERF_V(float, 16), 2 * 32 * 32 * 8,
               __builtin_amdgcn_mfma_f32_32x32x8bf16_1k(a, b, sum, 0, 0, 0));
#elif defined(__gfx950__)
ROCM_PERF_UNIT(F16Unit, ROCM_PERF_V(_Float16, 8), ROCM_PERF_V(float, 16), 2 * 32 * 32 * 16,
               __builtin_amdgcn_mfma_f32_32x32x16_f16(a, b, sum, 0, 0, 0));
ROCM_PERF_UNIT(Bf16Unit, ROCM_PERF_V(__bf16, 8), ROCM_PERF_V(float, 16), 2 * 32 * 32 * 16,
               __builtin_amdgcn_mfma_f32_32x32x16_bf16(a, b, sum, 0, 0, 0));
#elif defined(__GFX11__)
ROCM_PERF_UNIT(F16Unit, ROCM_PERF_V(_Float16, 16), ROCM_PERF_V(float, 8), 2 * 16 * 16 * 16,
               __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a, b, sum));
ROCM_PERF_UNIT(Bf16Unit, ROCM_PERF_V(short, 16), ROCM_PERF_V(float, 8), 2 * 16 * 16 * 16,
               __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32(a, b, sum));
#elif defined(__GFX12__)
ROCM_PERF_UNIT(F16Unit, ROCM_PERF_V(_Float16, 8), ROCM_PERF_V(float, 8), 2 * 16 * 16 * 16,
               __builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12(a, b, sum));
ROCM_PERF_UNIT(Bf16Unit, ROCM_PERF_V(short, 8), ROCM_PERF_V(float, 8), 2 * 16 * 16 * 16,
               __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32_gfx12(a, b, sum));
#else
using F16Unit = NoUnit;
using Bf16Unit = NoUnit;
#endif

#if defined(__gfx90a__)
ROCM_PERF_UNIT(I8Unit, int, ROCM_PERF_V(int, 16), 2 * 32 * 32 * 8,
               __builtin_amdgcn_mfma_i32_32x32x8i8(a, b, sum, 0, 0, 0));
#elif defined(__gfx942__)
ROCM_PERF_UNIT(I8Unit, long, ROCM_PERF_V(int, 16), 2 * 32 * 32 * 16,
               __builtin_amdgcn_mfma_i32_32x32x16_i8(a, b, sum, 0, 0, 0));
#elif defined(__gfx950__)
ROCM_PERF_UNIT(I8Unit, ROCM_PERF_V(int, 4), ROCM_PERF_V(int, 16), 2 * 32 * 32 * 32,
               __builtin_amdgcn_mfma_i32_32x32x32_i8(a, b, sum, 0, 0, 0));
#elif defined(__GFX11__)
ROCM_PERF_UNIT(I8Unit, ROCM_PERF_V(int, 4), ROCM_PERF_V(int, 8), 2 * 16 * 16 * 16,
               __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32(true, a, true, b, sum, false));
#elif defined(__GFX12__)
ROCM_PERF_UNIT(I8Unit, ROCM_PERF_V(int, 2), ROCM_PERF_V(int, 8), 2 * 16 * 16 * 16,
               __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32_gfx12(true, a, true, b, sum, false));
#else
using I8Unit = NoUnit;
#endif

#if defined(__gfx942__)
ROCM_PERF_UNIT(F8Unit, long, ROCM_PERF_V(float, 16), 2 * 32 * 32 * 16,
               __builtin_amdgcn_mfma_f32_32x32x16_fp8_fp8(a, b, sum, 0, 0, 0));
ROCM_PERF_UNIT(Xf32Unit, ROCM_PERF_V(float, 2), ROCM_PERF_V(float, 16), 2 * 32 * 32 * 4,
               __builtin_amdgcn_mfma_f32_32x32x4_xf32(a, b, sum, 0, 0, 0));
#elif defined(__GFX12__)
ROCM_PERF_UNIT(F8Unit, ROCM_PERF_V(int, 2), ROCM_PERF_V(float, 8), 2 * 16 * 16 * 16,
               __builtin_amdgcn_wmma_f32_16x16x16_fp8_fp8_w32_gfx12(a, b, sum));
using Xf32Unit = NoUnit;
#else
using F8Unit = NoUnit;  // gfx950 reaches its rate with scaled instructions alone
using Xf32Unit = NoUnit;
#endif

#if defined(__gfx90a__) || defined(__gfx942__) || defined(__gfx950__)
ROCM_PERF_UNIT(F32Unit, float, ROCM_PERF_V(float, 16), 2 * 32 * 32 * 2,
               __builtin_amdgcn_mfma_f32_32x32x2f32(a, b, sum, 0, 0, 0));
ROCM_PERF_UNIT(F64Unit, double, ROCM_PERF_V(double, 4), 2 * 16 * 16 * 4,
               __builtin_amdgcn_mfma_f64_16x16x4f64(a, b, sum, 0, 0, 0));
#else
using F32Unit = NoUnit;
using F64Unit = NoUnit;
#endif

#undef ROCM_PERF_UNIT
#undef ROCM_PERF_V

}  // namespace rocm_perf

#endif
