// Limits within a block and of the launch: shared memory, barriers, registers, occupancy, size of the grid.
#include "case.h"

namespace {

constexpr unsigned kBlock = 256;

__device__ std::size_t thread_index() { return std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; }

// Columns of a tile of shared memory; the repaired tile has padded rows.
constexpr unsigned kTiles = 132 * 16;
template <int kPitch>
__global__ void columns(const float* a, float* out) {
  __shared__ float tile[32 * kPitch];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (int k = threadIdx.x; k < 1024; k += kBlock) tile[k / 32 * kPitch + k % 32] = a[k];
  __syncthreads();
  float sum = 0;
  for (int k = 0; k < 512; ++k) sum += tile[lane * kPitch + (k + warp) % 32];
  out[thread_index()] = sum;
}
const Register bank32{{"columns", "bank conflicts",
                       [](const Buffers& x) { columns<32><<<kTiles, kBlock>>>(x.a, x.out); },
                       [](const Buffers& x) { columns<33><<<kTiles, kBlock>>>(x.a, x.out); }, nullptr, kTiles* kBlock}};

// Structures of four words in shared memory, one word of each at a time; the repaired form keeps the words apart.
template <int kWord, int kItem>
__global__ void fields(const float* a, float* out) {
  __shared__ float held[4 * 1024];
  for (int k = threadIdx.x; k < 4096; k += kBlock) held[k % 4 * kWord + k / 4 * kItem] = a[k];
  __syncthreads();
  float sum = 0;
  for (int k = 0; k < 512; ++k) {
    const int item = (threadIdx.x + k * 4) % 1024;
    sum += held[item * kItem] * held[kWord + item * kItem];
  }
  out[thread_index()] = sum;
}
const Register bank4{
    {"fields", "bank conflicts", [](const Buffers& x) { fields<1, 4><<<kTiles, kBlock>>>(x.a, x.out); },
     [](const Buffers& x) { fields<1024, 1><<<kTiles, kBlock>>>(x.a, x.out); }, nullptr, kTiles* kBlock}};

// All lanes add to one of four numbers in shared memory; the repaired form adds up in registers first.
__device__ float share_of(int k) { return random01(threadIdx.x + k * kBlock); }
__global__ void votes_a(float* out) {
  __shared__ float bins[4];
  if (threadIdx.x < 4) bins[threadIdx.x] = 0;
  __syncthreads();
  for (int k = 0; k < 64; ++k) atomicAdd(&bins[k % 4], share_of(k));
  __syncthreads();
  if (threadIdx.x < 4) out[blockIdx.x * 4 + threadIdx.x] = bins[threadIdx.x];
}
__global__ void votes_b(float* out) {
  __shared__ float bins[4];
  if (threadIdx.x < 4) bins[threadIdx.x] = 0;
  __syncthreads();
  float mine[4] = {};
#pragma unroll
  for (int k = 0; k < 64; ++k) mine[k % 4] += share_of(k);
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    for (int step = 16; step; step /= 2) mine[j] += __shfl_xor_sync(~0u, mine[j], step);
    if (threadIdx.x % 32 == 0) atomicAdd(&bins[j], mine[j]);
  }
  __syncthreads();
  if (threadIdx.x < 4) out[blockIdx.x * 4 + threadIdx.x] = bins[threadIdx.x];
}
const Register votes{{"votes", "contended atomics", [](const Buffers& x) { votes_a<<<kTiles, kBlock>>>(x.out); },
                      [](const Buffers& x) { votes_b<<<kTiles, kBlock>>>(x.out); }, nullptr, kTiles * 4}};

// Sums over a block with a barrier for each halving; the repaired form sums within warps.
__global__ void __launch_bounds__(1024) prefix_a(const float* a, float* out) {
  __shared__ float values[1024];
  float sum = 0;
  for (int round = 0; round < 64; ++round) {
    values[threadIdx.x] = a[threadIdx.x] + round;
    __syncthreads();
    for (int step = 1; step < 1024; step *= 2) {
      const float other = threadIdx.x >= step ? values[threadIdx.x - step] : 0.0f;
      __syncthreads();
      values[threadIdx.x] += other;
      __syncthreads();
    }
    sum += values[threadIdx.x];
  }
  out[thread_index()] = sum;
}
__global__ void __launch_bounds__(1024) prefix_b(const float* a, float* out) {
  __shared__ float totals[2][32];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  float sum = 0;
  for (int round = 0; round < 64; ++round) {
    float value = a[threadIdx.x] + round;
    for (int step = 1; step < 32; step *= 2) {
      const float other = __shfl_up_sync(~0u, value, step);
      if (lane >= step) value += other;
    }
    if (lane == 31) totals[round % 2][warp] = value;
    __syncthreads();
    float before = lane < warp ? totals[round % 2][lane] : 0.0f;
    for (int step = 16; step; step /= 2) before += __shfl_xor_sync(~0u, before, step);
    sum += value + before;
  }
  out[thread_index()] = sum;
}
const Register prefix{{"prefix", "barriers", [](const Buffers& x) { prefix_a<<<kTiles, 1024>>>(x.a, x.out); },
                       [](const Buffers& x) { prefix_b<<<kTiles, 1024>>>(x.a, x.out); }, nullptr, kTiles * 1024,
                       1e-2f}};

// A product that reads both factors from shared memory for each multiplication; the repaired form keeps 8 x 4 in
// registers.
constexpr int kN = 2048;
__global__ void __launch_bounds__(1024) tiles_a(const float* a, const float* b, float* out) {
  __shared__ float p[32][32], q[32][32];
  const int x = threadIdx.x, y = threadIdx.y;
  float sum = 0;
  for (int k0 = 0; k0 < kN; k0 += 32) {
    p[y][x] = a[(blockIdx.y * 32 + y) * kN + k0 + x];
    q[y][x] = b[(k0 + y) * kN + blockIdx.x * 32 + x];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 32; ++k) sum += p[y][k] * q[k][x];
    __syncthreads();
  }
  out[(blockIdx.y * 32 + y) * kN + blockIdx.x * 32 + x] = sum;
}
__global__ void __launch_bounds__(256) tiles_b(const float* a, const float* b, float* out) {
  __shared__ float p[16][128 + 4], q[16][64];
  const int x = threadIdx.x % 16, y = threadIdx.x / 16;
  float sum[8][4] = {};
  for (int k0 = 0; k0 < kN; k0 += 16) {
    for (int e = threadIdx.x; e < 128 * 16; e += 256)
      p[e % 16][e / 16] = a[(blockIdx.y * 128 + e / 16) * kN + k0 + e % 16];
    for (int e = threadIdx.x; e < 16 * 64; e += 256)
      q[e / 64][e % 64] = b[(k0 + e / 64) * kN + blockIdx.x * 64 + e % 64];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 16; ++k) {
      float left[8], right[4];
#pragma unroll
      for (int i = 0; i < 8; ++i) left[i] = p[k][y * 8 + i];
#pragma unroll
      for (int j = 0; j < 4; ++j) right[j] = q[k][x * 4 + j];
#pragma unroll
      for (int i = 0; i < 8; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) sum[i][j] += left[i] * right[j];
    }
    __syncthreads();
  }
  for (int i = 0; i < 8; ++i)
    for (int j = 0; j < 4; ++j) out[(blockIdx.y * 128 + y * 8 + i) * kN + blockIdx.x * 64 + x * 4 + j] = sum[i][j];
}
const Register tiles{{"tiles", "shared memory bandwidth",
                      [](const Buffers& x) { tiles_a<<<dim3(kN / 32, kN / 32), dim3(32, 32)>>>(x.a, x.b, x.out); },
                      [](const Buffers& x) { tiles_b<<<dim3(kN / 64, kN / 128), 256>>>(x.a, x.b, x.out); }, nullptr,
                      std::size_t{kN} * kN}};

// More live values than registers allow; the repaired form has them.
constexpr std::size_t kBodies = std::size_t{1} << 20;
template <int kThreads, int kBlocks>
__global__ void __launch_bounds__(kThreads, kBlocks) bodies(const float* a, float* out) {
  constexpr int kLive = 80;
  float x[kLive];
#pragma unroll
  for (int j = 0; j < kLive; ++j) x[j] = a[thread_index() + j];
  for (int k = 0; k < 64; ++k) {
    const float shift = a[k];
#pragma unroll
    for (int j = 0; j < kLive; ++j) x[j] = x[j] * x[(j + 7) % kLive] + shift;
  }
  float sum = 0;
#pragma unroll
  for (int j = 0; j < kLive; ++j) sum += x[j];
  out[thread_index()] = sum;
}
const Register spills{{"bodies", "spills",
                       [](const Buffers& x) { bodies<1024, 2><<<kBodies / 1024, 1024>>>(x.a, x.out); },
                       [](const Buffers& x) { bodies<256, 1><<<kBodies / 256, 256>>>(x.a, x.out); }, nullptr, 0}};

// An array indexed by a variable lies in local memory; the repaired one lies in shared memory.
constexpr std::size_t kSequences = std::size_t{1} << 20;
__global__ void __launch_bounds__(128) ring_a(const std::uint32_t* index, const float* a, float* out) {
  float held[48];
  for (int k = 0; k < 48; ++k) held[k] = a[thread_index() + k];
  std::uint32_t at = index[thread_index()];
  for (int k = 0; k < 96; ++k) {
    held[at % 48] += held[(at >> 8) % 48];
    at = at * 1664525u + 1013904223u;
  }
  float sum = 0;
  for (int k = 0; k < 48; ++k) sum += held[k];
  out[thread_index()] = sum;
}
__global__ void __launch_bounds__(128) ring_b(const std::uint32_t* index, const float* a, float* out) {
  __shared__ float held[48][128];
  const int me = threadIdx.x;
  for (int k = 0; k < 48; ++k) held[k][me] = a[thread_index() + k];
  std::uint32_t at = index[thread_index()];
  for (int k = 0; k < 96; ++k) {
    held[at % 48][me] += held[(at >> 8) % 48][me];
    at = at * 1664525u + 1013904223u;
  }
  float sum = 0;
  for (int k = 0; k < 48; ++k) sum += held[k][me];
  out[thread_index()] = sum;
}
const Register ring{
    {"ring", "local memory", [](const Buffers& x) { ring_a<<<kSequences / 128, 128>>>(x.index, x.a, x.out); },
     [](const Buffers& x) { ring_b<<<kSequences / 128, 128>>>(x.index, x.a, x.out); }, nullptr, kSequences, 1e-2f}};

// Blocks that reserve so much shared memory that two warps run on a multiprocessor.
constexpr std::size_t kStreamed = std::size_t{1} << 26;
__global__ void smooth(const float* a, float* out, int reserved) {
  extern __shared__ float held[];
  const std::size_t i = thread_index() + 1;
  held[threadIdx.x] = a[i];
  __syncwarp();
  out[i] = 0.5f * held[threadIdx.x] + 0.25f * (a[i - 1] + a[i + 1]);
}
template <int kBytes>
void smooth_with(const Buffers& x) {
  cudaFuncSetAttribute(smooth, cudaFuncAttributeMaxDynamicSharedMemorySize, 200 << 10);
  smooth<<<kStreamed / 64, 64, kBytes>>>(x.a, x.out, kBytes);
}
const Register reserved{
    {"smooth", "occupancy: shared memory", smooth_with<200 << 10>, smooth_with<1 << 10>, nullptr, kStreamed - 64}};

// Loads all over memory, many of them in flight.
__global__ void __launch_bounds__(512, 1) damped_a(const float* a, float* out) {
  float kept[96];
#pragma unroll
  for (int k = 0; k < 96; ++k) kept[k] = a[(thread_index() * 7 + k * 1048583u) % kElements];
  float sum = 0;
#pragma unroll
  for (int k = 0; k < 96; ++k) sum += kept[k] * kept[95 - k];
  out[thread_index()] = sum;
}
const Register registers{
    {"damped", "uncoalesced", [](const Buffers& x) { damped_a<<<132 * 16, 512>>>(x.a, x.out); }, nullptr, nullptr, 0}};

// Few blocks for a large array; the repaired launch has enough.
constexpr std::size_t kSummed = std::size_t{1} << 27;
__global__ void slices(const float* a, float* out) {
  float sum = 0;
  for (std::size_t i = thread_index(); i < kSummed; i += std::size_t{gridDim.x} * blockDim.x) sum += a[i];
  atomicAdd(out + threadIdx.x, sum);
}
const Register few{{"slices", "grid too small", [](const Buffers& x) { slices<<<24, kBlock>>>(x.a, x.out); },
                    [](const Buffers& x) { slices<<<132 * 8, kBlock>>>(x.a, x.out); }, nullptr, 0}};

// One block more than fits at once, all as long as one another; the repaired launch has blocks an eighth as long.
__global__ void __launch_bounds__(1024, 1) portions(const float* a, float* out, int steps) {
  extern __shared__ float held[];
  float x[4];
  for (int j = 0; j < 4; ++j) x[j] = a[thread_index() + j];
  for (int k = 0; k < steps; ++k)
#pragma unroll
    for (int j = 0; j < 4; ++j) x[j] = x[j] * 0.999f + 0.001f;
  held[threadIdx.x] = x[0] + x[1] + x[2] + x[3];
  out[thread_index()] = held[threadIdx.x];
}
template <int kParts>
void portions_of(const Buffers& x) {
  cudaFuncSetAttribute(portions, cudaFuncAttributeMaxDynamicSharedMemorySize, 160 << 10);
  portions<<<133 * kParts, 1024, 160 << 10>>>(x.a, x.out, 16384 / kParts);
}
const Register last_wave{{"portions", "tail", portions_of<1>, portions_of<8>, nullptr, 0}};

// One block has most of the work; the repaired form divides each row among blocks.
constexpr int kLongest = 1 << 24;
__device__ void add_up(float sum, float* to) {
  for (int step = 16; step; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
  if (threadIdx.x % 32 == 0) atomicAdd(to, sum);
}
__global__ void rows_a(const float* a, float* out) {
  const int length = blockIdx.x ? 1 << 13 : kLongest;
  float sum = 0;
  for (int i = threadIdx.x; i < length; i += kBlock) sum += a[i];
  add_up(sum, out + blockIdx.x);
}
__global__ void rows_b(const float* a, float* out) {
  const int length = blockIdx.x ? 1 << 13 : kLongest;
  float sum = 0;
  for (int i = blockIdx.y * kBlock + threadIdx.x; i < length; i += kBlock * gridDim.y) sum += a[i];
  add_up(sum, out + blockIdx.x);
}
const Register imbalance{{"rows", "imbalance", [](const Buffers& x) { rows_a<<<64, kBlock>>>(x.a, x.out); },
                          [](const Buffers& x) { rows_b<<<dim3(64, 128), kBlock>>>(x.a, x.out); }, nullptr, 0}};

// Blocks of 33 threads take two warps each.
__global__ void relaxed(const float* a, float* out) {
  float x = a[thread_index()];
  for (int k = 0; k < 512; ++k) x = x * 0.75f + 0.125f;
  out[thread_index()] = x;
}
constexpr unsigned kRelaxed = 33u << 16;
const Register odd{{"relaxed", "block size", [](const Buffers& x) { relaxed<<<kRelaxed / 33, 33>>>(x.a, x.out); },
                    [](const Buffers& x) { relaxed<<<kRelaxed / 256, 256>>>(x.a, x.out); }, nullptr, kRelaxed}};

// Blocks of one warp: 32 of them are all that a multiprocessor holds.
__global__ void gathered(const float* a, const std::uint32_t* index, float* out) {
  const std::size_t i = thread_index();
  out[i] = a[hashed(static_cast<std::uint32_t>(i / 32)) % (kElements / 32) * 32 + i % 32];
}
const Register small_blocks{
    {"gathered", "block size", [](const Buffers& x) { gathered<<<kStreamed / 32, 32>>>(x.a, x.index, x.out); },
     [](const Buffers& x) { gathered<<<kStreamed / 512, 512>>>(x.a, x.index, x.out); }, nullptr, kStreamed}};

}  // namespace
