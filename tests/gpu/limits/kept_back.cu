// A second set of planted limits, written apart from the rules that are to name them. It is built with main.cu alone.
#include <cuda_fp16.h>
#include <mma.h>

#include "case.h"

namespace {

using std::size_t;
using std::uint32_t;
using std::uint64_t;

constexpr unsigned kSMs = 132;

__device__ uint32_t global_id() { return blockIdx.x * blockDim.x + threadIdx.x; }

// ---- Particles of eight doubles, of which the step reads one; the repaired form keeps each field in its own array.
struct Particle {
  double x, y, z, vx, vy, vz, mass, charge;
};
constexpr uint32_t kParticles = 1u << 24;

__global__ void advect(const Particle* particles, float* speed, double dt) {
  const uint32_t i = global_id();
  speed[i] = static_cast<float>(particles[i].vx * dt);
}
__global__ void advect_v2(const double* vx, float* speed, double dt) {
  const uint32_t i = global_id();
  speed[i] = static_cast<float>(vx[i] * dt);
}
__global__ void fill_particles(Particle* particles, double* vx) {
  const uint32_t i = global_id();
  vx[i] = particles[i].vx = random01(i);
}
const Register advection{
    {"advect", "uncoalesced",
     [](const Buffers& m) { advect<<<kParticles / 256, 256>>>(reinterpret_cast<const Particle*>(m.a), m.out, 0.25); },
     [](const Buffers& m) { advect_v2<<<kParticles / 256, 256>>>(reinterpret_cast<const double*>(m.b), m.out, 0.25); },
     [](const Buffers& m) {
       fill_particles<<<kParticles / 256, 256>>>(reinterpret_cast<Particle*>(m.a), reinterpret_cast<double*>(m.b));
     },
     kParticles}};

// ---- Gray from three bytes of colour, a pixel for each thread; the repaired form takes sixteen pixels as words.
constexpr uint32_t kPixels = 1u << 26;

__device__ uint32_t gray_of(uint32_t r, uint32_t g, uint32_t b) { return (77 * r + 150 * g + 29 * b) >> 8; }

__global__ void luma(const unsigned char* rgb, unsigned char* gray) {
  const uint32_t i = global_id();
  gray[i] = static_cast<unsigned char>(gray_of(rgb[3 * i], rgb[3 * i + 1], rgb[3 * i + 2]));
}
__global__ void luma_v2(const uint4* rgb, uint4* gray) {
  const uint32_t i = global_id();
  const uint4 u = rgb[3 * i], v = rgb[3 * i + 1], w = rgb[3 * i + 2];
  const uint32_t words[12] = {u.x, u.y, u.z, u.w, v.x, v.y, v.z, v.w, w.x, w.y, w.z, w.w};
  uint32_t packed[4] = {};
#pragma unroll
  for (int p = 0; p < 16; ++p) {
    uint32_t channel[3];
#pragma unroll
    for (int c = 0; c < 3; ++c) channel[c] = words[(3 * p + c) / 4] >> ((3 * p + c) % 4 * 8) & 255;
    packed[p / 4] |= gray_of(channel[0], channel[1], channel[2]) << (p % 4 * 8);
  }
  gray[i] = make_uint4(packed[0], packed[1], packed[2], packed[3]);
}
const Register gray_image{{"luma", "narrow accesses",
                           [](const Buffers& m) {
                             luma<<<kPixels / 256, 256>>>(reinterpret_cast<const unsigned char*>(m.a),
                                                          reinterpret_cast<unsigned char*>(m.out));
                           },
                           [](const Buffers& m) {
                             luma_v2<<<kPixels / 16 / 256, 256>>>(reinterpret_cast<const uint4*>(m.a),
                                                                  reinterpret_cast<uint4*>(m.out));
                           },
                           nullptr, kPixels / 4}};

// ---- A linked list for each thread; the repaired form has the values of all lists in one array, list beside list.
struct Node {
  uint32_t next;
  float value;
};
constexpr uint32_t kNodes = 1u << 24, kLists = kSMs * 128, kLength = 256;

__device__ uint32_t head_of(uint32_t list) { return hashed(list) % kNodes; }

__global__ void accumulate_orders(const Node* nodes, float* total) {
  const uint32_t list = global_id();
  float sum = 0;
  Node at = nodes[head_of(list)];
  for (uint32_t k = 0; k < kLength; ++k) {
    sum += at.value;
    at = nodes[at.next];
  }
  total[list] = sum;
}
__global__ void accumulate_orders_v2(const float* values, float* total) {
  const uint32_t list = global_id();
  float sum = 0;
#pragma unroll 16
  for (uint32_t k = 0; k < kLength; ++k) sum += values[size_t{k} * kLists + list];
  total[list] = sum;
}
__global__ void fill_nodes(Node* nodes) {
  const uint32_t i = global_id();
  nodes[i] = {(i * 1664525u + 1013904223u) % kNodes, random01(i)};
}
__global__ void fill_lists(const Node* nodes, float* values) {
  const uint32_t list = global_id();
  uint32_t at = head_of(list);
  for (uint32_t k = 0; k < kLength; ++k) {
    values[size_t{k} * kLists + list] = nodes[at].value;
    at = nodes[at].next;
  }
}
const Register orders{
    {"accumulate_orders", "dependent loads",
     [](const Buffers& m) { accumulate_orders<<<kSMs, 128>>>(reinterpret_cast<const Node*>(m.index), m.out); },
     [](const Buffers& m) { accumulate_orders_v2<<<kSMs, 128>>>(m.b, m.out); },
     [](const Buffers& m) {
       fill_nodes<<<kNodes / 256, 256>>>(reinterpret_cast<Node*>(m.index));
       fill_lists<<<kSMs, 128>>>(reinterpret_cast<const Node*>(m.index), m.b);
     },
     kLists}};

// ---- Two pictures laid over each other, at the roof of the memory.
constexpr uint32_t kQuads = 1u << 25;

__global__ void overlay(const float4* below, const float4* above, float4* out, float alpha) {
  const uint32_t i = global_id();
  const float4 p = below[i], q = above[i];
  out[i] = make_float4(p.x + alpha * (q.x - p.x), p.y + alpha * (q.y - p.y), p.z + alpha * (q.z - p.z),
                       p.w + alpha * (q.w - p.w));
}
const Register pictures{{"overlay", "memory bandwidth",
                         [](const Buffers& m) {
                           overlay<<<kQuads / 512, 512>>>(reinterpret_cast<const float4*>(m.a),
                                                          reinterpret_cast<const float4*>(m.b),
                                                          reinterpret_cast<float4*>(m.out), 0.3f);
                         },
                         nullptr, nullptr, 0}};

// ---- Each block compares the whole signal of 4 MiB with one level; the repaired form with eight levels in one pass.
constexpr uint32_t kSignal = 1u << 18;  // of four numbers
constexpr int kLevels = kSMs * 8;

template <int kAtOnce, int kThreads>
__global__ void __launch_bounds__(kThreads) match_levels(const float4* signal, float* distance) {
  __shared__ float partial[kThreads / 32][kAtOnce];
  float sum[kAtOnce] = {}, level[kAtOnce];
#pragma unroll
  for (int j = 0; j < kAtOnce; ++j) level[j] = static_cast<float>(blockIdx.x * kAtOnce + j) / kLevels;
  const uint32_t start = hashed(blockIdx.x) & ~31u;
#pragma unroll 4
  for (uint32_t k = threadIdx.x; k < kSignal; k += kThreads) {
    const float4 s = __ldcg(&signal[(start + k) % kSignal]);
#pragma unroll
    for (int j = 0; j < kAtOnce; ++j)
      sum[j] += (fabsf(s.x - level[j]) + fabsf(s.y - level[j])) + (fabsf(s.z - level[j]) + fabsf(s.w - level[j]));
  }
#pragma unroll
  for (int j = 0; j < kAtOnce; ++j) {
    for (int step = 16; step; step /= 2) sum[j] += __shfl_xor_sync(~0u, sum[j], step);
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32][j] = sum[j];
  }
  __syncthreads();
  if (threadIdx.x >= kAtOnce) return;
  float total = 0;
  for (int warp = 0; warp < kThreads / 32; ++warp) total += partial[warp][threadIdx.x];
  distance[blockIdx.x * kAtOnce + threadIdx.x] = total;
}
const Register levels{
    {"match_levels", "L2 bandwidth",
     [](const Buffers& m) { match_levels<1, 256><<<kLevels, 256>>>(reinterpret_cast<const float4*>(m.a), m.out); },
     [](const Buffers& m) {
       match_levels<8, 1024><<<kLevels / 8, 1024>>>(reinterpret_cast<const float4*>(m.a), m.out);
     },
     nullptr, kLevels}};

// ---- Samples in mapped memory of the host; the repaired form has them on the GPU.
constexpr uint32_t kSamples = 1u << 24;

__global__ void calibrate(const float* samples, float* out, float gain, float offset) {
  const uint32_t i = global_id();
  out[i] = fmaxf(samples[i] * gain + offset, 0.0f);
}
const Register calibration{
    {"calibrate", "host memory",
     [](const Buffers& m) { calibrate<<<kSamples / 256, 256>>>(m.host, m.out, 1.5f, -0.25f); },
     [](const Buffers& m) { calibrate<<<kSamples / 256, 256>>>(m.a, m.out, 1.5f, -0.25f); },
     [](const Buffers& m) { cudaMemcpy(m.a, m.host, kSamples * sizeof(float), cudaMemcpyHostToDevice); }, kSamples}};

// ---- The brightest pixel and its place, by one word in memory; the repaired form compares within a block first.
using Ranked = unsigned long long;
constexpr uint32_t kCandidates = 1u << 21;

__device__ Ranked ranked(const float* light, uint32_t i) { return Ranked{__float_as_uint(light[i])} << 32 | i; }

__global__ void brightest(const float* light, Ranked* best) {
  const uint32_t i = global_id();
  atomicMax(best, ranked(light, i));
}
__global__ void brightest_v2(const float* light, Ranked* best) {
  __shared__ Ranked of_warp[8];
  Ranked mine = 0;
  for (uint32_t i = global_id(); i < kCandidates; i += gridDim.x * blockDim.x) mine = max(mine, ranked(light, i));
  for (int step = 16; step; step /= 2) mine = max(mine, __shfl_xor_sync(~0u, mine, step));
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = mine;
  __syncthreads();
  if (threadIdx.x) return;
  for (int warp = 1; warp < 8; ++warp) mine = max(mine, of_warp[warp]);
  atomicMax(best, mine);
}
const Register light{
    {"brightest", "contended atomics",
     [](const Buffers& m) { brightest<<<kCandidates / 256, 256>>>(m.a, reinterpret_cast<Ranked*>(m.out)); },
     [](const Buffers& m) { brightest_v2<<<kSMs * 4, 256>>>(m.a, reinterpret_cast<Ranked*>(m.out)); }, nullptr, 2}};

// ---- Charges added to scattered cells; the repaired form has them by cell, sixteen each.
constexpr uint32_t kCells = 1u << 20, kCharges = kCells * 16;

__device__ uint32_t slot_of(uint32_t charge) { return charge * 0x9e3779b1u % kCharges; }

__global__ void deposit(const float* charge, const uint32_t* cell, float* density) {
  const uint32_t i = global_id();
  atomicAdd(&density[cell[i]], charge[i]);
}
__global__ void deposit_v2(const float* charge, float* density) {
  const uint32_t cell = global_id();
  float sum = 0;
#pragma unroll
  for (uint32_t k = 0; k < 16; ++k) sum += charge[k * kCells + cell];
  density[cell] = sum;
}
__global__ void fill_charges(const float* charge, uint32_t* cell, float* by_cell) {
  const uint32_t i = global_id(), slot = slot_of(i);
  cell[i] = slot / 16;
  by_cell[slot % 16 * kCells + slot / 16] = charge[i];
}
const Register charges{{"deposit", "many atomics",
                        [](const Buffers& m) {
                          cudaMemsetAsync(m.out, 0, kCells * sizeof(float));
                          deposit<<<kCharges / 256, 256>>>(m.a, m.index, m.out);
                        },
                        [](const Buffers& m) {
                          cudaMemsetAsync(m.out, 0, kCells * sizeof(float));
                          deposit_v2<<<kCells / 256, 256>>>(m.b, m.out);
                        },
                        [](const Buffers& m) { fill_charges<<<kCharges / 256, 256>>>(m.a, m.index, m.b); }, kCells}};

// ---- A curve of light by the pow() of doubles.
constexpr uint32_t kToned = 1u << 24;

__global__ void tonemap(const float* linear, float* shown) {
  const uint32_t i = global_id();
  shown[i] = 1.055 * pow(linear[i], 1.0 / 2.4) - 0.055;
}
__global__ void tonemap_v2(const float* linear, float* shown) {
  const uint32_t i = global_id();
  shown[i] = 1.055f * __powf(linear[i], 1.0f / 2.4f) - 0.055f;
}
const Register toned{{"tonemap", "accidental double precision",
                      [](const Buffers& m) { tonemap<<<kToned / 256, 256>>>(m.a, m.out); },
                      [](const Buffers& m) { tonemap_v2<<<kToned / 256, 256>>>(m.a, m.out); }, nullptr, kToned}};

// ---- Photons of very different lives; the repaired input has them by length of life.
constexpr uint32_t kPhotons = 1u << 22;

__global__ void transport(const uint32_t* scatterings, float* absorbed) {
  const uint32_t i = global_id();
  const uint32_t last = scatterings[i];
  uint32_t state = i;
  float weight = 1;
#pragma unroll 1
  for (uint32_t k = 0; k < last; ++k) {
    state = state * 1664525u + 1013904223u;
    weight = weight * 0.97f + 0.01f * __uint_as_float(0x3f800000u | state >> 9);
  }
  absorbed[i] = weight;
}
__device__ uint32_t life_of(float quantile) { return static_cast<uint32_t>(-64.0f * logf(quantile)) + 1; }
__global__ void fill_photons(uint32_t* scatterings) {
  const uint32_t i = global_id();
  scatterings[i] = life_of(fmaxf(random01(i), 1e-6f));
  scatterings[i + kPhotons] = life_of((static_cast<float>(i) + 1.0f) / kPhotons);
}
const Register photons{{"transport", "divergence",
                        [](const Buffers& m) { transport<<<kPhotons / 256, 256>>>(m.index, m.out); },
                        [](const Buffers& m) { transport<<<kPhotons / 256, 256>>>(m.index + kPhotons, m.out); },
                        [](const Buffers& m) { fill_photons<<<kPhotons / 256, 256>>>(m.index); }, 0}};

// ---- A small network with tanh by an exponential and a reciprocal; the repaired form has the one instruction.
constexpr uint32_t kInputs = 1u << 21;

__device__ float squashed(float x) { return 1.0f - __fdividef(2.0f, __expf(2.0f * x) + 1.0f); }
__device__ float squashed_v2(float x) {
  float y;
  asm("tanh.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
template <float (*kSquashed)(float)>
__global__ void hidden_layer(const float* input, float* output) {
  const uint32_t i = global_id();
  const float x = input[i];
  float sum = 0;
#pragma unroll
  for (int unit = 0; unit < 128; ++unit)
    sum += kSquashed(x * (0.5f + 0.0078125f * unit) + (0.25f - 0.001953125f * unit));
  output[i] = sum;
}
const Register network{{"hidden_layer", "special functions",
                        [](const Buffers& m) { hidden_layer<squashed><<<kInputs / 256, 256>>>(m.a, m.out); },
                        [](const Buffers& m) { hidden_layer<squashed_v2><<<kInputs / 256, 256>>>(m.a, m.out); },
                        nullptr, kInputs, 1e-2f}};

// ---- Hashes modulo a prime of 61 bits; the repaired form knows that it is 2^61 - 1 and needs no division.
constexpr uint64_t kPrime = (uint64_t{1} << 61) - 1;
constexpr uint32_t kKeys = 1u << 22;

struct Modulus {
  uint64_t prime;
  __device__ uint64_t operator()(uint64_t x) const { return x % prime; }
};
struct Mersenne {
  __device__ uint64_t operator()(uint64_t x) const {
    const uint64_t r = (x & kPrime) + (x >> 61);
    return r >= kPrime ? r - kPrime : r;
  }
};
template <typename Reduced>
__global__ void sketch(const uint32_t* keys, float* least, Reduced reduced) {
  const uint32_t i = global_id();
  const uint64_t key = keys[i];
  uint64_t found = ~uint64_t{0};
#pragma unroll
  for (uint32_t k = 0; k < 16; ++k) {
    const uint64_t value = reduced(key * (hashed(k + 1) | 1u << 31) + hashed(k + 100));
    found = value < found ? value : found;
  }
  least[i] = static_cast<float>(found >> 32);
}
const Register sketches{{"sketch", "integer division",
                         [](const Buffers& m) { sketch<<<kKeys / 256, 256>>>(m.index, m.out, Modulus{kPrime}); },
                         [](const Buffers& m) { sketch<<<kKeys / 256, 256>>>(m.index, m.out, Mersenne{}); }, nullptr,
                         kKeys}};

// ---- Pixels cut to whole numbers after each of 48 filters; the repaired form cuts by an addition.
constexpr uint32_t kFiltered = 1u << 21;

__device__ float cut(float x) { return static_cast<float>(static_cast<int>(x)); }
__device__ float cut_v2(float x) { return __fadd_rd(x, 8388608.0f) - 8388608.0f; }

template <float (*kCut)(float)>
__global__ void filter_chain(const float4* in, float4* out) {
  const uint32_t i = global_id();
  float4 p = in[i];
  p = make_float4(p.x * 255, p.y * 255, p.z * 255, p.w * 255);
#pragma unroll 8
  for (int filter = 0; filter < 48; ++filter) {
    const float gain = 0.75f + 0.00390625f * (filter % 8), bias = 24.0f + filter % 8;
    p.x = kCut(p.x * gain + bias);
    p.y = kCut(p.y * gain + bias);
    p.z = kCut(p.z * gain + bias);
    p.w = kCut(p.w * gain + bias);
  }
  out[i] = p;
}
const Register filters{{"filter_chain", "conversions",
                        [](const Buffers& m) {
                          filter_chain<cut><<<kFiltered / 256, 256>>>(reinterpret_cast<const float4*>(m.a),
                                                                      reinterpret_cast<float4*>(m.out));
                        },
                        [](const Buffers& m) {
                          filter_chain<cut_v2><<<kFiltered / 256, 256>>>(reinterpret_cast<const float4*>(m.a),
                                                                         reinterpret_cast<float4*>(m.out));
                        },
                        nullptr, kFiltered * 4}};

// ---- Eight recurrences for each thread, one after the other; the repaired form runs them side by side.
constexpr uint32_t kHerds = kSMs * 128;
constexpr int kYears = 2048;

template <int kSide>
__global__ void __launch_bounds__(128) population(const float* start, float* end) {
  const uint32_t i = global_id();
#pragma unroll 1
  for (int first = 0; first < 8; first += kSide) {
    float x[kSide];
#pragma unroll
    for (int j = 0; j < kSide; ++j) x[j] = start[(first + j) * kHerds + i];
#pragma unroll 4
    for (int year = 0; year < kYears; ++year) {
#pragma unroll
      for (int j = 0; j < kSide; ++j) x[j] = 2.5f * x[j] * (1.0f - x[j]);
    }
#pragma unroll
    for (int j = 0; j < kSide; ++j) end[(first + j) * kHerds + i] = x[j];
  }
}
const Register herds{{"population", "dependent arithmetic",
                      [](const Buffers& m) { population<1><<<kSMs, 128>>>(m.a, m.out); },
                      [](const Buffers& m) { population<8><<<kSMs, 128>>>(m.a, m.out); }, nullptr, kHerds * 8}};

// ---- Counts of each thread in an array of its own by a computed place; the repaired form has them in shared memory.
constexpr uint32_t kCounters = kSMs * 16 * 128;
constexpr int kBins = 32, kDraws = 512;

template <typename Bins>
__device__ float spread_of(Bins bins, uint32_t state) {
  for (int k = 0; k < kBins; ++k) bins(k) = 0;
#pragma unroll 1
  for (int k = 0; k < kDraws; ++k) {
    state = state * 1664525u + 1013904223u;
    ++bins(state >> 27);
  }
  float sum = 0;
  for (int k = 0; k < kBins; ++k) sum += static_cast<float>(bins(k) * bins(k));
  return sum;
}
__global__ void __launch_bounds__(128) histogram_step(float* out) {
  uint32_t held[kBins];
  const uint32_t i = global_id();
  out[i] = spread_of([&](uint32_t k) -> uint32_t& { return held[k]; }, hashed(i));
}
__global__ void __launch_bounds__(128) histogram_step_v2(float* out) {
  __shared__ uint32_t held[kBins][128];
  const uint32_t i = global_id();
  out[i] = spread_of([&](uint32_t k) -> uint32_t& { return held[k][threadIdx.x]; }, hashed(i));
}
const Register counters{
    {"histogram_step", "local memory", [](const Buffers& m) { histogram_step<<<kCounters / 128, 128>>>(m.out); },
     [](const Buffers& m) { histogram_step_v2<<<kCounters / 128, 128>>>(m.out); }, nullptr, kCounters}};

// ---- A row of a tile for each thread, smoothed in place; the repaired tile has rows of one word more.
constexpr uint32_t kBands = kSMs * 8;

template <int kPitch>
__global__ void __launch_bounds__(128) smooth_rows(const float* in, float* out) {
  __shared__ float tile[128 * kPitch];
  in += blockIdx.x * 4096;
  out += blockIdx.x * 4096;
  for (int e = threadIdx.x; e < 4096; e += 128) tile[e / 32 * kPitch + e % 32] = in[e];
  __syncthreads();
  float* row = &tile[threadIdx.x * kPitch];
#pragma unroll 1
  for (int pass = 0; pass < 16; ++pass) {
    float kept = row[0];
#pragma unroll 4
    for (int k = 0; k < 32; ++k) row[k] = kept = 0.5f * (kept + row[k]);
  }
  __syncthreads();
  for (int e = threadIdx.x; e < 4096; e += 128) out[e] = tile[e / 32 * kPitch + e % 32];
}
const Register bands{{"smooth_rows", "bank conflicts",
                      [](const Buffers& m) { smooth_rows<32><<<kBands, 128>>>(m.a, m.out); },
                      [](const Buffers& m) { smooth_rows<33><<<kBands, 128>>>(m.a, m.out); }, nullptr, kBands * 4096}};

// ---- A sum over the block in each round, by halves with a barrier each; the repaired form adds up within warps.
constexpr int kRounds = 256;

__global__ void __launch_bounds__(1024) relax_weights(const float* in, float* out) {
  __shared__ float held[1024];
  const uint32_t t = threadIdx.x;
  float x = in[global_id()] + 0.5f;
  for (int round = 0; round < kRounds; ++round) {
    held[t] = x;
    __syncthreads();
    for (uint32_t step = 512; step; step /= 2) {
      if (t < step) held[t] += held[t + step];
      __syncthreads();
    }
    x = 0.75f * x + 0.000244140625f * held[0];
    __syncthreads();
  }
  out[global_id()] = x;
}
__global__ void __launch_bounds__(1024) relax_weights_v2(const float* in, float* out) {
  __shared__ float held[2][32];
  const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  float x = in[global_id()] + 0.5f;
  for (int round = 0; round < kRounds; ++round) {
    float sum = x;
    for (int step = 16; step; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
    if (!lane) held[round % 2][warp] = sum;
    __syncthreads();
    sum = held[round % 2][lane];
    for (int step = 16; step; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
    x = 0.75f * x + 0.000244140625f * sum;
  }
  out[global_id()] = x;
}
const Register weights{
    {"relax_weights", "barriers", [](const Buffers& m) { relax_weights<<<kSMs * 2, 1024>>>(m.a, m.out); },
     [](const Buffers& m) { relax_weights_v2<<<kSMs * 2, 1024>>>(m.a, m.out); }, nullptr, kSMs * 2 * 1024}};

// ---- A tile with its edges in shared memory, of which 200 KiB are asked for; the repaired form asks for what it uses.
constexpr uint32_t kPoints = 1u << 24;
constexpr unsigned kUsed = 258 * sizeof(float), kAsked = 200 * 1024;

__global__ void __launch_bounds__(256) interpolate(const float* in, float* out) {
  extern __shared__ float tile[];
  const uint32_t i = global_id(), t = threadIdx.x;
  tile[t + 1] = in[i];
  if (t == 0) tile[0] = in[i ? i - 1 : 0];
  if (t == 255) tile[257] = in[i + 1];
  __syncthreads();
  out[i] = 0.25f * tile[t] + 0.5f * tile[t + 1] + 0.25f * tile[t + 2];
}
const Register points{{"interpolate", "occupancy: shared memory",
                       [](const Buffers& m) {
                         cudaFuncSetAttribute(interpolate, cudaFuncAttributeMaxDynamicSharedMemorySize, kAsked);
                         interpolate<<<kPoints / 256, 256, kAsked>>>(m.a, m.out);
                       },
                       [](const Buffers& m) { interpolate<<<kPoints / 256, 256, kUsed>>>(m.a, m.out); }, nullptr,
                       kPoints}};

// ---- Twenty blocks for the whole array; the repaired grid fills the GPU.
constexpr uint32_t kScaled = 1u << 22;  // of four numbers

__global__ void __launch_bounds__(256) rescale(const float4* in, float4* out, float low, float scale) {
  for (uint32_t i = global_id(); i < kScaled; i += gridDim.x * 256) {
    const float4 v = in[i];
    out[i] = make_float4((v.x - low) * scale, (v.y - low) * scale, (v.z - low) * scale, (v.w - low) * scale);
  }
}
template <unsigned kBlocks>
void launch_rescale(const Buffers& m) {
  rescale<<<kBlocks, 256>>>(reinterpret_cast<const float4*>(m.a), reinterpret_cast<float4*>(m.out), -0.5f, 0.4f);
}
const Register scaled{
    {"rescale", "grid too small", launch_rescale<20>, launch_rescale<kSMs * 8>, nullptr, kScaled * 4}};

// ---- 139 long blocks on 132 places; the repaired form has eight times as many of an eighth.
constexpr uint32_t kBatches = 139 * 8;

__global__ void __launch_bounds__(1024, 1) sample_paths(const float* in, float* out, int batches) {
  for (int batch = 0; batch < batches; ++batch) {
    const uint32_t i = (blockIdx.x * batches + batch) * 1024 + threadIdx.x;
    float path[24];
#pragma unroll
    for (int j = 0; j < 24; ++j) path[j] = 0.25f * in[i] + 0.0078125f * j;
#pragma unroll 1
    for (int step = 0; step < 256; ++step) {
      const float drift = 0.0005f * step, drop = 0.9f - 0.0001f * step;
#pragma unroll
      for (int j = 0; j < 24; ++j) path[j] = path[j] * drop + drift;
#pragma unroll
      for (int j = 0; j < 24; ++j) path[j] = path[j] * path[(j + 1) % 24] + 0.125f;
    }
    float sum = 0;
#pragma unroll
    for (int j = 0; j < 24; ++j) sum += path[j];
    out[i] = sum;
  }
}
const Register paths{{"sample_paths", "tail", [](const Buffers& m) { sample_paths<<<139, 1024>>>(m.a, m.out, 8); },
                      [](const Buffers& m) { sample_paths<<<139 * 8, 1024>>>(m.a, m.out, 1); }, nullptr,
                      kBatches * 1024}};

// ---- A sparse product, a warp for each row, and few rows are 512 times as long; the repaired form cuts rows in
// pieces.
constexpr uint32_t kRows = 1u << 15, kPiece = 256, kPieces = kRows + kRows / 4096 * 511;

__device__ float piece_sum(const float* p, const float* q, size_t from, size_t to) {
  float sum = 0;
#pragma unroll 4
  for (size_t k = from + threadIdx.x % 32; k < to; k += 32) sum += p[k] * q[k];
  for (int step = 16; step; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
  return sum;
}
__global__ void row_products(const uint32_t* first, const float* p, const float* q, float* out) {
  const uint32_t row = global_id() / 32;
  const float sum = piece_sum(p, q, size_t{first[row]} * kPiece, size_t{first[row + 1]} * kPiece);
  if (threadIdx.x % 32 == 0) out[row] = sum;
}
__global__ void row_products_v2(const uint32_t* row, const float* p, const float* q, float* out) {
  const size_t piece = global_id() / 32;
  const float sum = piece_sum(p, q, piece * kPiece, (piece + 1) * kPiece);
  if (threadIdx.x % 32 == 0) atomicAdd(&out[row[piece]], sum);
}
__global__ void fill_rows(uint32_t* first, uint32_t* row) {
  const uint32_t i = global_id(), longer = (i + 4088) / 4096;  // of the rows before
  const uint32_t begin = i + longer * 511, pieces = i % 4096 == 7 ? 512 : 1;
  first[i] = begin;
  if (i == kRows - 1) first[kRows] = begin + pieces;
  for (uint32_t k = 0; k < pieces; ++k) row[begin + k] = i;
}
const Register products{
    {"row_products", "imbalance", [](const Buffers& m) { row_products<<<kRows / 8, 256>>>(m.index, m.a, m.b, m.out); },
     [](const Buffers& m) {
       cudaMemsetAsync(m.out, 0, kRows * sizeof(float));
       row_products_v2<<<kPieces / 8, 256>>>(m.index + (1 << 20), m.a, m.b, m.out);
     },
     [](const Buffers& m) { fill_rows<<<kRows / 256, 256>>>(m.index, m.index + (1 << 20)); }, kRows}};

// ---- Scores of attention of halves, eight by eight for each thread in f32; the repaired form uses the matrix units.
constexpr int kHeads = 32, kSeq = 1024, kDim = 128, kTile = 128;

__global__ void __launch_bounds__(256) attention_scores(const __half* queries, const __half* keys, float* scores) {
  __shared__ __align__(16) float p[16][kTile], q[16][kTile];
  const int t = threadIdx.x, x = t % 16, y = t / 16;
  queries += (size_t{blockIdx.z} * kSeq + blockIdx.y * kTile) * kDim;
  keys += (size_t{blockIdx.z} * kSeq + blockIdx.x * kTile) * kDim;
  float sum[8][8] = {};
  for (int k0 = 0; k0 < kDim; k0 += 16) {
    const int row = t % 128, k1 = t / 128 * 8;
    const uint4 left = *reinterpret_cast<const uint4*>(&queries[row * kDim + k0 + k1]);
    const uint4 right = *reinterpret_cast<const uint4*>(&keys[row * kDim + k0 + k1]);
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      p[k1 + j][row] = __half2float(reinterpret_cast<const __half*>(&left)[j]);
      q[k1 + j][row] = __half2float(reinterpret_cast<const __half*>(&right)[j]);
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 16; ++k) {
      float u[8], v[8];
      *reinterpret_cast<float4*>(u) = *reinterpret_cast<const float4*>(&p[k][y * 4]);
      *reinterpret_cast<float4*>(u + 4) = *reinterpret_cast<const float4*>(&p[k][64 + y * 4]);
      *reinterpret_cast<float4*>(v) = *reinterpret_cast<const float4*>(&q[k][x * 4]);
      *reinterpret_cast<float4*>(v + 4) = *reinterpret_cast<const float4*>(&q[k][64 + x * 4]);
#pragma unroll
      for (int i = 0; i < 8; ++i)
#pragma unroll
        for (int j = 0; j < 8; ++j) sum[i][j] += u[i] * v[j];
    }
    __syncthreads();
  }
  scores += (size_t{blockIdx.z} * kSeq + blockIdx.y * kTile) * kSeq + blockIdx.x * kTile;
#pragma unroll
  for (int i = 0; i < 8; ++i)
#pragma unroll
    for (int j = 0; j < 8; j += 4)
      __stcs(reinterpret_cast<float4*>(&scores[(i / 4 * 64 + y * 4 + i % 4) * kSeq + j / 4 * 64 + x * 4]),
             make_float4(sum[i][j], sum[i][j + 1], sum[i][j + 2], sum[i][j + 3]));
}
__global__ void __launch_bounds__(256) attention_scores_v2(const __half* queries, const __half* keys, float* scores) {
  using namespace nvcuda::wmma;
  const int warp = threadIdx.x / 32;
  const size_t y = size_t{blockIdx.z} * kSeq + blockIdx.y * kTile + warp / 2 * 32;
  const int x = blockIdx.x * kTile + warp % 2 * 64;
  fragment<matrix_a, 16, 16, 16, __half, row_major> u[2];
  fragment<matrix_b, 16, 16, 16, __half, col_major> v[4];
  fragment<accumulator, 16, 16, 16, float> sum[2][4];
#pragma unroll
  for (int e = 0; e < 8; ++e) fill_fragment(sum[e / 4][e % 4], 0.0f);
#pragma unroll
  for (int k = 0; k < kDim; k += 16) {
#pragma unroll
    for (int i = 0; i < 2; ++i) load_matrix_sync(u[i], &queries[(y + i * 16) * kDim + k], kDim);
#pragma unroll
    for (int j = 0; j < 4; ++j)
      load_matrix_sync(v[j], &keys[(size_t{blockIdx.z} * kSeq + x + j * 16) * kDim + k], kDim);
#pragma unroll
    for (int e = 0; e < 8; ++e) mma_sync(sum[e / 4][e % 4], u[e / 4], v[e % 4], sum[e / 4][e % 4]);
  }
#pragma unroll
  for (int e = 0; e < 8; ++e)
    store_matrix_sync(&scores[(y + e / 4 * 16) * kSeq + x + e % 4 * 16], sum[e / 4][e % 4], kSeq, mem_row_major);
}
__global__ void fill_tokens(__half* queries, __half* keys) {
  const uint32_t i = global_id();
  queries[i] = __float2half(random01(i) - 0.5f);
  keys[i] = __float2half(random01(i + (1u << 30)) - 0.5f);
}
const Register attention{{"attention_scores", "matrix units unused",
                          [](const Buffers& m) {
                            attention_scores<<<dim3(kSeq / kTile, kSeq / kTile, kHeads), 256>>>(
                                reinterpret_cast<const __half*>(m.a), reinterpret_cast<const __half*>(m.b), m.out);
                          },
                          [](const Buffers& m) {
                            attention_scores_v2<<<dim3(kSeq / kTile, kSeq / kTile, kHeads), 256>>>(
                                reinterpret_cast<const __half*>(m.a), reinterpret_cast<const __half*>(m.b), m.out);
                          },
                          [](const Buffers& m) {
                            fill_tokens<<<kHeads * kSeq * kDim / 256, 256>>>(reinterpret_cast<__half*>(m.a),
                                                                             reinterpret_cast<__half*>(m.b));
                          },
                          size_t{kHeads} * kSeq* kSeq}};

}  // namespace
