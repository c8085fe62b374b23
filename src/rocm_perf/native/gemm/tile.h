// One product of small matrices by a wave (warp): AMD's MFMA and WMMA instructions, or NVIDIA's WMMA interface. A tile
// is kSide x kSide, kDepth deep; both operands lie in LDS with their depth running fastest, kStride elements to a row.
#pragma once

#include "gpu/gpu.h"

#if !defined(__HIP__)
#include <cuda_bf16.h>
#include <mma.h>
#endif

namespace rocm_perf {

constexpr int kStride = 40;  // 32 elements and some room, so that rows start in different banks

#if defined(__HIP__)

template <typename T, int size>
using Vector = T __attribute__((ext_vector_type(size)));

using F16 = _Float16;
struct Bf16 {
  short bits;
};

// The operand of a lane: consecutive elements of one row.
template <typename Operand, typename T>
__device__ Operand loaded(const T* row) {
  Operand operand;
  __builtin_memcpy(&operand, __builtin_assume_aligned(row, 8), sizeof operand);
  return operand;
}

#if defined(__gfx90a__) || defined(__gfx942__) || defined(__gfx950__)

// AMD Instinct MI200 and MI300 ISA: a lane has four depths of one row; four rows of the sum follow one another.
constexpr int kWave = 64, kSide = 32, kDepth = 8;
using Sum = Vector<float, 16>;
__device__ inline int first_depth(int lane) { return 4 * (lane / kSide); }
__device__ inline int row_of(int lane, int number) { return 8 * (number / 4) + 4 * (lane / kSide) + number % 4; }
template <typename T>
struct Operands;
template <>
struct Operands<F16> {
  using Type = Vector<_Float16, 4>;
};
template <>
struct Operands<Bf16> {
  using Type = Vector<short, 4>;
};
__device__ inline Sum product(Vector<_Float16, 4> a, Vector<_Float16, 4> b, Sum sum) {
  return __builtin_amdgcn_mfma_f32_32x32x8f16(a, b, sum, 0, 0, 0);
}
__device__ inline Sum product(Vector<short, 4> a, Vector<short, 4> b, Sum sum) {
  return __builtin_amdgcn_mfma_f32_32x32x8bf16_1k(a, b, sum, 0, 0, 0);
}

#elif defined(__GFX11__)

// RDNA 3 ISA: both halves of a wave have all depths of a row; the sum alternates its rows between them.
constexpr int kWave = 32, kSide = 16, kDepth = 16;
using Sum = Vector<float, 8>;
__device__ inline int first_depth(int) { return 0; }
__device__ inline int row_of(int lane, int number) { return 2 * number + lane / kSide; }
template <typename T>
struct Operands;
template <>
struct Operands<F16> {
  using Type = Vector<_Float16, 16>;
};
template <>
struct Operands<Bf16> {
  using Type = Vector<short, 16>;
};
__device__ inline Sum product(Vector<_Float16, 16> a, Vector<_Float16, 16> b, Sum sum) {
  return __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a, b, sum);
}
__device__ inline Sum product(Vector<short, 16> a, Vector<short, 16> b, Sum sum) {
  return __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32(a, b, sum);
}

#elif defined(__GFX12__)

// RDNA 4 ISA: each half of a wave has one half of the depths, and one half of the rows of the sum.
constexpr int kWave = 32, kSide = 16, kDepth = 16;
using Sum = Vector<float, 8>;
__device__ inline int first_depth(int lane) { return 8 * (lane / kSide); }
__device__ inline int row_of(int lane, int number) { return number + 8 * (lane / kSide); }
template <typename T>
struct Operands;
template <>
struct Operands<F16> {
  using Type = Vector<_Float16, 8>;
};
template <>
struct Operands<Bf16> {
  using Type = Vector<short, 8>;
};
__device__ inline Sum product(Vector<_Float16, 8> a, Vector<_Float16, 8> b, Sum sum) {
  return __builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12(a, b, sum);
}
__device__ inline Sum product(Vector<short, 8> a, Vector<short, 8> b, Sum sum) {
  return __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32_gfx12(a, b, sum);
}

#elif defined(__HIP_DEVICE_COMPILE__)
#error "this chip has no matrix instructions that are known here"
#else

// The host does not compute: any sizes will do.
constexpr int kWave = 32, kSide = 16, kDepth = 16;
using Sum = Vector<float, 8>;
__device__ int first_depth(int);
__device__ int row_of(int, int);
template <typename T>
struct Operands {
  using Type = T;
};
template <typename T>
__device__ Sum product(T, T, Sum);

#endif

template <typename T>
class Tile {
 public:
  using Operand = typename Operands<T>::Type;

  static __device__ Operand load_a(const T* rows) { return load(rows); }
  static __device__ Operand load_b(const T* rows) { return load(rows); }
  __device__ void add(const Operand& a, const Operand& b) { sum_ = product(a, b, sum_); }
  __device__ void store(float* to, int stride) const {
    const int lane = threadIdx.x % kWave;
    for (int number = 0; number < kSide * kSide / kWave; ++number) {
      to[row_of(lane, number) * stride + lane % kSide] = sum_[number];
    }
  }

 private:
  static __device__ Operand load(const T* rows) {
    const int lane = threadIdx.x % kWave;
    return loaded<Operand>(rows + lane % kSide * kStride + first_depth(lane));
  }

  Sum sum_ = {};
};

#else

using F16 = __half;
using Bf16 = __nv_bfloat16;
constexpr int kWave = 32, kSide = 16, kDepth = 16;

template <typename T>
class Tile {
 public:
  using A = nvcuda::wmma::fragment<nvcuda::wmma::matrix_a, kSide, kSide, kDepth, T, nvcuda::wmma::row_major>;
  using B = nvcuda::wmma::fragment<nvcuda::wmma::matrix_b, kSide, kSide, kDepth, T, nvcuda::wmma::col_major>;

  __device__ Tile() { nvcuda::wmma::fill_fragment(sum_, 0.0f); }
  static __device__ A load_a(const T* rows) { return load<A>(rows); }
  static __device__ B load_b(const T* rows) { return load<B>(rows); }
  __device__ void add(const A& a, const B& b) { nvcuda::wmma::mma_sync(sum_, a, b, sum_); }
  __device__ void store(float* to, int stride) const {
    nvcuda::wmma::store_matrix_sync(to, sum_, stride, nvcuda::wmma::mem_row_major);
  }

 private:
  template <typename Fragment>
  static __device__ Fragment load(const T* rows) {
    Fragment fragment;
    nvcuda::wmma::load_matrix_sync(fragment, rows, kStride);
    return fragment;
  }

  nvcuda::wmma::fragment<nvcuda::wmma::accumulator, kSide, kSide, kDepth, float> sum_;
};

#endif

}  // namespace rocm_perf
