// c = a * b on the matrix units, tiled through LDS: a plain kernel to compare libraries with, not a rival of theirs.
// All matrices are row-major, c is f32; m and n are multiples of 128, k of 32.
#include "gemm/tile.h"

namespace rocm_perf {

namespace {

constexpr int kThreads = 256;
constexpr int kBlock = 128;  // rows and columns of c that a block computes
constexpr int kBlockDepth = 32;
constexpr int kChunk = 8;  // elements that a thread loads at once: 16 bytes
constexpr int kWaves = kThreads / kWave;
constexpr int kWaveRows = 2, kWaveColumns = kWaves / kWaveRows;  // how the waves share the block
constexpr int kRows = kBlock / kWaveRows / kSide;                // tiles of a wave
constexpr int kColumns = kBlock / kWaveColumns / kSide;

struct alignas(16) Bytes16 {
  unsigned words[4];
};

// A block's part of a, as it lies in memory.
template <typename T>
__device__ void stage_a(T* rows, const T* a, int k) {
  constexpr int kChunks = kBlockDepth / kChunk;  // of one row
  for (int number = threadIdx.x; number < kBlock * kChunks; number += kThreads) {
    const int row = number / kChunks, depth = number % kChunks * kChunk;
    *reinterpret_cast<Bytes16*>(rows + row * kStride + depth) =
        *reinterpret_cast<const Bytes16*>(a + static_cast<size_t>(row) * k + depth);
  }
}

// A block's part of b, turned so that its depth runs fastest, too.
template <typename T>
__device__ void stage_b(T* rows, const T* b, int n) {
  constexpr int kChunks = kBlock / kChunk;
  for (int number = threadIdx.x; number < kBlockDepth * kChunks; number += kThreads) {
    const int depth = number / kChunks, column = number % kChunks * kChunk;
    alignas(16) T chunk[kChunk];
    *reinterpret_cast<Bytes16*>(chunk) = *reinterpret_cast<const Bytes16*>(b + static_cast<size_t>(depth) * n + column);
    for (int place = 0; place < kChunk; ++place) rows[(column + place) * kStride + depth] = chunk[place];
  }
}

template <typename T>
__global__ void __launch_bounds__(kThreads) multiply(const T* a, const T* b, float* c, int n, int k) {
  __shared__ __align__(32) T rows_a[kBlock * kStride];
  __shared__ __align__(32) T rows_b[kBlock * kStride];
  const int wave = threadIdx.x / kWave;
  const int first_row = wave / kWaveColumns * kRows * kSide;
  const int first_column = wave % kWaveColumns * kColumns * kSide;
  a += static_cast<size_t>(blockIdx.y) * kBlock * k;
  b += static_cast<size_t>(blockIdx.x) * kBlock;
  Tile<T> tiles[kRows][kColumns];
  for (int depth = 0; depth < k; depth += kBlockDepth) {
    stage_a(rows_a, a + depth, k);
    stage_b(rows_b, b + static_cast<size_t>(depth) * n, n);
    __syncthreads();
#pragma unroll
    for (int step = 0; step < kBlockDepth; step += kDepth) {
#pragma unroll
      for (int row = 0; row < kRows; ++row) {
        const auto left = Tile<T>::load_a(rows_a + (first_row + row * kSide) * kStride + step);
#pragma unroll
        for (int column = 0; column < kColumns; ++column) {
          const auto right = Tile<T>::load_b(rows_b + (first_column + column * kSide) * kStride + step);
          tiles[row][column].add(left, right);
        }
      }
    }
    __syncthreads();
  }
  c += (static_cast<size_t>(blockIdx.y) * kBlock + first_row) * n + static_cast<size_t>(blockIdx.x) * kBlock +
       first_column;
#pragma unroll
  for (int row = 0; row < kRows; ++row) {
#pragma unroll
    for (int column = 0; column < kColumns; ++column) {
      tiles[row][column].store(c + static_cast<size_t>(row) * kSide * n + column * kSide, n);
    }
  }
}

template <typename T>
int launch(const void* a, const void* b, float* c, int m, int n, int k, void* stream) {
  if (m % kBlock || n % kBlock || k % kBlockDepth) return -1;
  const dim3 blocks(n / kBlock, m / kBlock);
  multiply<T><<<blocks, kThreads, 0, static_cast<gpu(Stream_t)>(stream)>>>(static_cast<const T*>(a),
                                                                           static_cast<const T*>(b), c, n, k);
  return static_cast<int>(gpu(GetLastError)());
}

}  // namespace

}  // namespace rocm_perf

// Returns 0, or the runtime's error; -1 for a shape that it does not take.
extern "C" int rocm_perf_gemm_f16(const void* a, const void* b, float* c, int m, int n, int k, void* stream) {
  return rocm_perf::launch<rocm_perf::F16>(a, b, c, m, n, k, stream);
}

extern "C" int rocm_perf_gemm_bf16(const void* a, const void* b, float* c, int m, int n, int k, void* stream) {
  return rocm_perf::launch<rocm_perf::Bf16>(a, b, c, m, n, k, stream);
}
