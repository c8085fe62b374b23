// Limits of global memory: what is fetched and not used, narrow accesses, latency, caches, atomics.
#include <cuda_fp16.h>

#include "case.h"

namespace {

constexpr unsigned kBlock = 256;

__device__ std::size_t thread_index() { return std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; }

// One field of eight of a structure.
constexpr std::size_t kParticles = kElements / 8;
__global__ void fill_fields(float* a, float* b) {
  const std::size_t i = thread_index();
  if (i < kParticles) {
    for (int field = 0; field < 8; ++field) a[i * 8 + field] = random01(static_cast<std::uint32_t>(i) + field);
    b[i] = a[i * 8 + 3];
  }
}
__global__ void kinetic_a(const float* particles, float* out) {
  const std::size_t i = thread_index();
  if (i < kParticles) out[i] = 0.5f * particles[i * 8 + 3] * particles[i * 8 + 3];
}
__global__ void kinetic_b(const float* velocity, float* out) {
  const std::size_t i = thread_index();
  if (i < kParticles) out[i] = 0.5f * velocity[i] * velocity[i];
}
const Register kinetic{{"kinetic", "uncoalesced",
                        [](const Buffers& x) { kinetic_a<<<blocks_for(kParticles, kBlock), kBlock>>>(x.a, x.out); },
                        [](const Buffers& x) { kinetic_b<<<blocks_for(kParticles, kBlock), kBlock>>>(x.b, x.out); },
                        [](const Buffers& x) { fill_fields<<<blocks_for(kParticles, kBlock), kBlock>>>(x.a, x.b); },
                        kParticles}};

// A thread for each row of 64: neighbours are 256 bytes apart.
constexpr std::size_t kRows = std::size_t{1} << 20;
constexpr int kColumns = 64;
__global__ void row_total_a(const float* a, float* out) {
  const std::size_t row = thread_index();
  float total = 0;
  for (int column = 0; column < kColumns; ++column) total += a[row * kColumns + column];
  out[row] = total;
}
__global__ void row_total_b(const float* a, float* out) {
  const std::size_t row = thread_index() / 32;
  const int lane = threadIdx.x % 32;
  float total = a[row * kColumns + lane] + a[row * kColumns + lane + 32];
  for (int step = 16; step; step /= 2) total += __shfl_down_sync(~0u, total, step);
  if (lane == 0) out[row] = total;
}
const Register row_total{
    {"row_total", "uncoalesced", [](const Buffers& x) { row_total_a<<<kRows / kBlock, kBlock>>>(x.a, x.out); },
     [](const Buffers& x) { row_total_b<<<kRows * 32 / kBlock, kBlock>>>(x.a, x.out); }, nullptr, kRows}};

// A transpose whose writes are a row apart.
constexpr int kSide = 8192;
__global__ void turn_a(const float* a, float* out) {
  const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
  out[std::size_t{1} * x * kSide + y] = a[std::size_t{1} * y * kSide + x];
}
__global__ void turn_b(const float* a, float* out) {
  __shared__ float tile[32][33];
  for (int k = 0; k < 32; k += 8)
    tile[threadIdx.y + k][threadIdx.x] =
        a[(std::size_t{1} * blockIdx.y * 32 + threadIdx.y + k) * kSide + blockIdx.x * 32 + threadIdx.x];
  __syncthreads();
  for (int k = 0; k < 32; k += 8)
    out[(std::size_t{1} * blockIdx.x * 32 + threadIdx.y + k) * kSide + blockIdx.y * 32 + threadIdx.x] =
        tile[threadIdx.x][threadIdx.y + k];
}
const Register turn{{"turn", "uncoalesced",
                     [](const Buffers& x) { turn_a<<<dim3(kSide / 32, kSide / 8), dim3(32, 8)>>>(x.a, x.out); },
                     [](const Buffers& x) { turn_b<<<dim3(kSide / 32, kSide / 32), dim3(32, 8)>>>(x.a, x.out); },
                     nullptr, std::size_t{kSide} * kSide}};

// A look-up at random places; the repaired one visits them in order.
constexpr std::size_t kLookups = std::size_t{1} << 25;
__global__ void fill_random_index(std::uint32_t* index) {
  const std::size_t i = thread_index();
  if (i < kLookups) index[i] = hashed(static_cast<std::uint32_t>(i)) % kElements;
  if (i < kLookups) index[i + kLookups] = static_cast<std::uint32_t>(i * (kElements / kLookups) / 8);
}
__global__ void look_up(const float* a, const std::uint32_t* index, float* out) {
  const std::size_t i = thread_index();
  out[i] = a[index[i]];
}
const Register lookup{{"look_up", "uncoalesced",
                       [](const Buffers& x) { look_up<<<kLookups / kBlock, kBlock>>>(x.a, x.index, x.out); },
                       [](const Buffers& x) { look_up<<<kLookups / kBlock, kBlock>>>(x.a, x.index + kLookups, x.out); },
                       [](const Buffers& x) { fill_random_index<<<kLookups / kBlock, kBlock>>>(x.index); }, 0}};

// Writes of one word in eight.
__global__ void spread_a(const float* a, float* out) {
  const std::size_t i = thread_index();
  out[i * 8] = a[i] + 1.0f;
}
__global__ void spread_b(const float* a, float* out) {
  const std::size_t i = thread_index();
  out[i] = a[i] + 1.0f;
}
const Register spread{{"spread", "uncoalesced",
                       [](const Buffers& x) { spread_a<<<kParticles / kBlock, kBlock>>>(x.a, x.out); },
                       [](const Buffers& x) { spread_b<<<kParticles / kBlock, kBlock>>>(x.a, x.out); }, nullptr, 0}};

// One byte for each thread; the repaired one moves 16.
constexpr std::size_t kBytes = std::size_t{1} << 29;
__global__ void invert_a(const std::uint8_t* a, std::uint8_t* out) {
  const std::size_t i = thread_index();
  out[i] = static_cast<std::uint8_t>(~a[i]);
}
__global__ void invert_b(const uint4* a, uint4* out) {
  const std::size_t i = thread_index();
  const uint4 v = a[i];
  out[i] = make_uint4(~v.x, ~v.y, ~v.z, ~v.w);
}
const Register invert{{"invert", "narrow accesses",
                       [](const Buffers& x) {
                         invert_a<<<kBytes / kBlock, kBlock>>>(reinterpret_cast<const std::uint8_t*>(x.a),
                                                               reinterpret_cast<std::uint8_t*>(x.out));
                       },
                       [](const Buffers& x) {
                         invert_b<<<kBytes / 16 / kBlock, kBlock>>>(reinterpret_cast<const uint4*>(x.a),
                                                                    reinterpret_cast<uint4*>(x.out));
                       },
                       nullptr, kBytes / 4}};

// Two-byte numbers, one by one.
constexpr std::size_t kHalves = std::size_t{1} << 28;
__global__ void halves_a(const __half* a, __half* out) {
  const std::size_t i = thread_index();
  out[i] = __hmul(a[i], __float2half(0.5f));
}
__global__ void halves_b(const uint4* a, uint4* out) {
  const std::size_t i = thread_index();
  uint4 v = a[i];
  __half2* pairs = reinterpret_cast<__half2*>(&v);
  for (int k = 0; k < 4; ++k) pairs[k] = __hmul2(pairs[k], __float2half2_rn(0.5f));
  out[i] = v;
}
__global__ void fill_halves(__half* a) {
  const std::size_t i = thread_index();
  a[i] = __float2half(random01(static_cast<std::uint32_t>(i)));
}
const Register halves{
    {"halves", "narrow accesses",
     [](const Buffers& x) {
       halves_a<<<kHalves / kBlock, kBlock>>>(reinterpret_cast<const __half*>(x.a), reinterpret_cast<__half*>(x.out));
     },
     [](const Buffers& x) {
       halves_b<<<kHalves / 8 / kBlock, kBlock>>>(reinterpret_cast<const uint4*>(x.a), reinterpret_cast<uint4*>(x.out));
     },
     [](const Buffers& x) { fill_halves<<<kHalves / kBlock, kBlock>>>(reinterpret_cast<__half*>(x.a)); }, kHalves / 2}};

// A list whose next address is in what was read; the repaired one computes its addresses.
constexpr int kHops = 256;
constexpr unsigned kWalkers = 132 * 64;
__global__ void fill_links(std::uint32_t* index) {
  const std::size_t i = thread_index();
  index[i] = hashed(static_cast<std::uint32_t>(i)) % kIndices;
}
__global__ void walk_a(const std::uint32_t* next, float* out) {
  std::uint32_t at = hashed(static_cast<std::uint32_t>(thread_index())) % kIndices;
  for (int hop = 0; hop < kHops; ++hop) at = next[at];
  out[thread_index()] = static_cast<float>(at);
}
__global__ void walk_b(const std::uint32_t* next, float* out) {
  std::uint32_t at = hashed(static_cast<std::uint32_t>(thread_index())) % kIndices, sum = 0;
#pragma unroll 16
  for (int hop = 0; hop < kHops; ++hop) sum += next[hashed(at + hop) % kIndices];
  out[thread_index()] = static_cast<float>(sum);
}
const Register walk{{"walk", "dependent loads", [](const Buffers& x) { walk_a<<<kWalkers / 64, 64>>>(x.index, x.out); },
                     [](const Buffers& x) { walk_b<<<kWalkers / 64, 64>>>(x.index, x.out); },
                     [](const Buffers& x) { fill_links<<<kIndices / kBlock, kBlock>>>(x.index); }, 0}};

// Memory bandwidth with useful bytes: a roof.
__global__ void triad(const float4* a, const float4* b, float4* out) {
  const std::size_t i = thread_index();
  const float4 p = a[i], q = b[i];
  out[i] = make_float4(p.x + 2 * q.x, p.y + 2 * q.y, p.z + 2 * q.z, p.w + 2 * q.w);
}
const Register triads{{"triad", "memory bandwidth",
                       [](const Buffers& x) {
                         triad<<<kElements / 4 / kBlock, kBlock>>>(reinterpret_cast<const float4*>(x.a),
                                                                   reinterpret_cast<const float4*>(x.b),
                                                                   reinterpret_cast<float4*>(x.out));
                       },
                       nullptr, nullptr, 0}};

// A softmax that reads each row three times; the repaired one keeps it.
constexpr int kRowLength = 16384;
template <typename Combine>
__device__ float over_block(float value, Combine combine) {
  __shared__ float partial[32];
  for (int step = 16; step; step /= 2) value = combine(value, __shfl_xor_sync(~0u, value, step));
  __syncthreads();
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = value;
  __syncthreads();
  value = partial[threadIdx.x % (blockDim.x / 32)];
  for (int step = 16; step; step /= 2) value = combine(value, __shfl_xor_sync(~0u, value, step));
  return value;
}
struct Max {
  __device__ float operator()(float p, float q) const { return fmaxf(p, q); }
};
__global__ void __launch_bounds__(1024) normalise_a(const float* a, float* out) {
  const float* row = a + std::size_t{blockIdx.x} * kRowLength;
  float* to = out + std::size_t{blockIdx.x} * kRowLength;
  float highest = -1e30f, total = 0;
  for (int i = threadIdx.x; i < kRowLength; i += 1024) highest = fmaxf(highest, __ldcs(row + i));
  highest = over_block(highest, Max{});
  for (int i = threadIdx.x; i < kRowLength; i += 1024) to[i] = __expf(__ldcs(row + i) - highest);
  __syncthreads();
  for (int i = threadIdx.x; i < kRowLength; i += 1024) total += __ldcs(to + i);
  for (int step = 16; step; step /= 2) total += __shfl_xor_sync(~0u, total, step);
  __shared__ float sums[32];
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = total;
  __syncthreads();
  total = 0;
  for (int k = 0; k < 32; ++k) total += sums[k];
  for (int i = threadIdx.x; i < kRowLength; i += 1024) to[i] = __ldcs(to + i) / total;
}
__global__ void __launch_bounds__(1024) normalise_b(const float* a, float* out) {
  const float* row = a + std::size_t{blockIdx.x} * kRowLength;
  float* to = out + std::size_t{blockIdx.x} * kRowLength;
  float kept[kRowLength / 1024], highest = -1e30f, total = 0;
#pragma unroll
  for (int k = 0; k < kRowLength / 1024; ++k) highest = fmaxf(highest, kept[k] = row[threadIdx.x + k * 1024]);
  highest = over_block(highest, Max{});
#pragma unroll
  for (int k = 0; k < kRowLength / 1024; ++k) total += kept[k] = __expf(kept[k] - highest);
  for (int step = 16; step; step /= 2) total += __shfl_xor_sync(~0u, total, step);
  __shared__ float sums[32];
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = total;
  __syncthreads();
  total = 0;
  for (int k = 0; k < 32; ++k) total += sums[k];
#pragma unroll
  for (int k = 0; k < kRowLength / 1024; ++k) to[threadIdx.x + k * 1024] = kept[k] / total;
}
const Register normalise{{"normalise", "memory bandwidth",
                          [](const Buffers& x) { normalise_a<<<kElements / kRowLength, 1024>>>(x.a, x.out); },
                          [](const Buffers& x) { normalise_b<<<kElements / kRowLength, 1024>>>(x.a, x.out); }, nullptr,
                          kElements}};

// What fits into L2 is read from there again and again.
constexpr std::uint32_t kCached = 1u << 22;  // floats: 16 MiB
__global__ void reread(const float* a, float* out) {
  const std::uint32_t i = static_cast<std::uint32_t>(thread_index());
  float total = 0;
#pragma unroll 8
  for (std::uint32_t k = 0; k < 64; ++k) total += __ldcg(a + ((i + k * 65536u) & (kCached - 1)));
  out[i] = total;
}
const Register rereads{{"reread", "L2 bandwidth",
                        [](const Buffers& x) { reread<<<(1u << 24) / kBlock, kBlock>>>(x.a, x.out); }, nullptr, nullptr,
                        0}};

// The input is still in the memory of the host.
__global__ void scale(const float* in, float* out) {
  const std::size_t i = thread_index();
  out[i] = in[i] * 3.0f;
}
__global__ void fill_host(const float* host, float* a) {
  const std::size_t i = thread_index();
  a[i] = host[i];
}
const Register remote{
    {"scale", "host memory", [](const Buffers& x) { scale<<<kHostElements / kBlock, kBlock>>>(x.host, x.out); },
     [](const Buffers& x) { scale<<<kHostElements / kBlock, kBlock>>>(x.a, x.out); },
     [](const Buffers& x) { fill_host<<<kHostElements / kBlock, kBlock>>>(x.host, x.a); }, kHostElements}};

// Every thread adds to one address.
constexpr std::size_t kAdded = std::size_t{1} << 23;
__global__ void total_a(const float* a, float* out) { atomicAdd(out + 32, a[thread_index()]); }
__global__ void total_b(const float* a, float* out) {
  __shared__ float sums[kBlock / 32];
  float value = a[thread_index()];
  for (int step = 16; step; step /= 2) value += __shfl_xor_sync(~0u, value, step);
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = value;
  __syncthreads();
  if (threadIdx.x == 0) {
    value = 0;
    for (float each : sums) value += each;
    atomicAdd(out + 32, value);
  }
}
const Register total{{"total", "contended atomics",
                      [](const Buffers& x) { total_a<<<kAdded / kBlock, kBlock>>>(x.a, x.out); },
                      [](const Buffers& x) { total_b<<<kAdded / kBlock, kBlock>>>(x.a, x.out); }, nullptr, 0}};

// A histogram of sixteen bins in global memory; the repaired one has one for each block in shared memory.
__global__ void bins_a(const std::uint32_t* index, std::uint32_t* bins) {
  atomicAdd(bins + (hashed(index[thread_index()]) & 15), 1u);
}
__global__ void bins_b(const std::uint32_t* index, std::uint32_t* bins) {
  __shared__ std::uint32_t mine[16][32];
  for (int k = threadIdx.x; k < 512; k += kBlock) mine[k / 32][k % 32] = 0;
  __syncthreads();
  for (int k = 0; k < 16; ++k)
    atomicAdd(&mine[hashed(index[(std::size_t{blockIdx.x} * 16 + k) * kBlock + threadIdx.x]) & 15][threadIdx.x % 32],
              1u);
  __syncthreads();
  if (threadIdx.x < 16) {
    std::uint32_t sum = 0;
    for (int k = 0; k < 32; ++k) sum += mine[threadIdx.x][k];
    atomicAdd(bins + threadIdx.x, sum);
  }
}
const Register bins{
    {"bins", "contended atomics",
     [](const Buffers& x) { bins_a<<<kAdded / kBlock, kBlock>>>(x.index, reinterpret_cast<std::uint32_t*>(x.out)); },
     [](const Buffers& x) {
       bins_b<<<kAdded / kBlock / 16, kBlock>>>(x.index, reinterpret_cast<std::uint32_t*>(x.out));
     },
     nullptr, 0}};

// Additions to addresses all over memory; the repaired one adds to neighbours.
__global__ void scatter_a(const std::uint32_t* index, float* out) {
  atomicAdd(out + hashed(static_cast<std::uint32_t>(thread_index())) % kElements, 1.0f);
}
__global__ void scatter_b(const std::uint32_t* index, float* out) { atomicAdd(out + thread_index(), 1.0f); }
const Register scatter{
    {"scatter", "many atomics", [](const Buffers& x) { scatter_a<<<kLookups / kBlock, kBlock>>>(x.index, x.out); },
     [](const Buffers& x) { scatter_b<<<kLookups / kBlock, kBlock>>>(x.index, x.out); }, nullptr, 0}};

}  // namespace
