#include "prelude.h"

// Pairs of kernels: one with a limit that was planted, and the same work without it.
typedef unsigned uint4 __attribute__((ext_vector_type(4)));
struct Particle {
  float mass, other[7];
};

// All lanes of half a wave read one bank / rows are padded by an element.
template <int ROW>
__device__ inline void columns(const float* x, float* y, int n) {
  __shared__ float tile[64 * ROW];
  unsigned t = thread(), i = group() * 64 + t;
  for (int k = 0; k < 32; ++k) tile[t * ROW + k] = x[i] + static_cast<float>(k);
  barrier();
  float sum = 0;
#pragma nounroll
  for (int k = 0; k < n; ++k) sum += tile[(t ^ 1) * ROW + (k & 31)];
  y[i] = sum;
}
extern "C" __global__ WORKGROUP(64) void conflicting(const float* x, float* y, int n) { columns<32>(x, y, n); }
extern "C" __global__ WORKGROUP(64) void conflict_free(const float* x, float* y, int n) { columns<33>(x, y, n); }

// One float of each structure of 32 B / an array of them.
extern "C" __global__ WORKGROUP(64) void of_structures(const Particle* x, float* y) {
  unsigned i = group() * 64 + thread();
  y[i] = x[i].mass + 1.0f;
}
extern "C" __global__ WORKGROUP(64) void of_arrays(const float* x, float* y) {
  unsigned i = group() * 64 + thread();
  y[i] = x[i] + 1.0f;
}

// A byte or two for each lane / 16 of them.
extern "C" __global__ WORKGROUP(64) void copy_bytes(const unsigned char* x, unsigned char* y) {
  unsigned i = group() * 64 + thread();
  y[i] = x[i];
}
extern "C" __global__ WORKGROUP(64) void copy_halves(const unsigned short* x, unsigned short* y) {
  unsigned i = group() * 64 + thread();
  y[i] = x[i];
}
extern "C" __global__ WORKGROUP(64) void copy_wide(const uint4* x, uint4* y) {
  unsigned i = group() * 64 + thread();
  y[i] = x[i];
}

// Literals without an f / with it.
extern "C" __global__ WORKGROUP(64) void doubles(float* x, int n) {
  unsigned i = group() * 64 + thread();
  float v = x[i];
#pragma nounroll
  for (int k = 0; k < n; ++k) v = v * 0.999 + 0.125;
  x[i] = v;
}
extern "C" __global__ WORKGROUP(64) void floats(float* x, int n) {
  unsigned i = group() * 64 + thread();
  float v = x[i];
#pragma nounroll
  for (int k = 0; k < n; ++k) v = v * 0.999f + 0.125f;
  x[i] = v;
}
// Data of double precision: nothing accidental.
extern "C" __global__ WORKGROUP(64) void true_doubles(double* x, int n) {
  unsigned i = group() * 64 + thread();
  double v = x[i];
#pragma nounroll
  for (int k = 0; k < n; ++k) v = v * 0.999 + 0.125;
  x[i] = v;
}

// A quarter of the lanes loops / a quarter of the waves does.
extern "C" __global__ WORKGROUP(256) void quarters(float* x, int n) {
  unsigned i = group() * 256 + thread();
  float v = x[i];
  if (thread() % 4 == 0) {
    for (int k = 0; k < n; ++k) {
#pragma unroll
      for (int step = 0; step < 8; ++step) v = v * 0.5f + 0.25f;
    }
  }
  x[i] = v;
}
extern "C" __global__ WORKGROUP(256) void whole_waves(float* x, int n) {
  unsigned i = group() * 256 + thread();
  float v = x[i];
  if (thread() / 64 == 0) {
    for (int k = 0; k < n; ++k) {
#pragma unroll
      for (int step = 0; step < 8; ++step) v = v * 0.5f + 0.25f;
    }
  }
  x[i] = v;
}

// A sine and an exponential a step / polynomials.
extern "C" __global__ WORKGROUP(64) void special(float* x, int n) {
  unsigned i = group() * 64 + thread();
  float v = x[i];
#pragma nounroll
  for (int k = 0; k < n; ++k) v = __builtin_amdgcn_sinf(v) + __builtin_amdgcn_exp2f(v);
  x[i] = v;
}
extern "C" __global__ WORKGROUP(64) void polynomial(float* x, int n) {
  unsigned i = group() * 64 + thread();
  float v = x[i];
#pragma nounroll
  for (int k = 0; k < n; ++k) v = v * (v * (v * 0.125f + 0.25f) + 0.5f) + 0.0625f;
  x[i] = v;
}

// Divided by what only the launch knows / by a power of two.
extern "C" __global__ WORKGROUP(64) void divided(unsigned* x, unsigned d, int n) {
  unsigned i = group() * 64 + thread(), v = x[i], sum = 0;
#pragma nounroll
  for (int k = 0; k < n; ++k) sum += (v + k) / (d + sum % 2);
  x[i] = sum;
}
extern "C" __global__ WORKGROUP(64) void shifted(unsigned* x, unsigned d, int n) {
  unsigned i = group() * 64 + thread(), v = x[i], sum = 0;
#pragma nounroll
  for (int k = 0; k < n; ++k) sum += (v + k) >> (d + sum % 2);
  x[i] = sum;
}

// Neighbours exchange through LDS, two barriers a step / within the wave.
extern "C" __global__ WORKGROUP(256) void barriers(float* x, int n) {
  __shared__ float shared[256];
  unsigned t = thread(), i = group() * 256 + t;
  float v = x[i];
#pragma nounroll
  for (int k = 0; k < n; ++k) {
    shared[t] = v;
    barrier();
    v = shared[t ^ 1] * 0.5f;
    barrier();
  }
  x[i] = v;
}
extern "C" __global__ WORKGROUP(256) void no_barriers(float* x, int n) {
  unsigned t = thread(), i = group() * 256 + t;
  float v = x[i];
#pragma nounroll
  for (int k = 0; k < n; ++k)
    v = __builtin_bit_cast(float, __builtin_amdgcn_ds_bpermute((t ^ 1) * 4, __builtin_bit_cast(int, v))) * 0.5f;
  x[i] = v;
}

// Each lane counts its value, of 8 / each workgroup adds up first.
extern "C" __global__ WORKGROUP(64) void histogram(const unsigned* x, unsigned* counters) {
  unsigned value = x[group() * 64 + thread()] & 7;
  __hip_atomic_fetch_add(counters + value, 1u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
extern "C" __global__ WORKGROUP(64) void counted_first(const unsigned* x, unsigned* counters) {
  __shared__ unsigned own[64];
  unsigned t = thread();
  own[t] = x[group() * 64 + t] & 7;
  barrier();
  if (t >= 8) return;
  unsigned sum = 0;
#pragma unroll
  for (int k = 0; k < 64; ++k) sum += own[k] == t;
  __hip_atomic_fetch_add(counters + t, sum, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}

// An atomic addition for each term, each to an address of its own / one for the sum.
extern "C" __global__ WORKGROUP(64) void each_atomic(const unsigned* x, unsigned* sums, int n) {
  unsigned i = group() * 64 + thread();
#pragma nounroll
  for (int k = 0; k < n; ++k) __hip_atomic_fetch_add(sums + i, x[i] + k, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
extern "C" __global__ WORKGROUP(64) void one_atomic(const unsigned* x, unsigned* sums, int n) {
  unsigned i = group() * 64 + thread(), sum = 0;
#pragma nounroll
  for (int k = 0; k < n; ++k) sum += x[i] ^ k;
  __hip_atomic_fetch_add(sums + i, sum, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}

// An array that is indexed by what was loaded / that lies in LDS.
extern "C" __global__ WORKGROUP(64) void in_scratch(const unsigned* which, float* x) {
  float own[64];
  unsigned i = group() * 64 + thread();
#pragma nounroll
  for (int k = 0; k < 64; ++k) own[k] = x[i] + static_cast<float>(k);
  own[which[i] & 63] = 0.0f;
  x[i] = own[which[i] >> 6 & 63];
}
extern "C" __global__ WORKGROUP(64) void in_lds(const unsigned* which, float* x) {
  __shared__ float own[64][64];
  unsigned t = thread(), i = group() * 64 + t;
#pragma nounroll
  for (int k = 0; k < 64; ++k) own[k][t] = x[i] + static_cast<float>(k);
  own[which[i] & 63][t] = 0.0f;
  x[i] = own[which[i] >> 6 & 63][t];
}

// Values that are held across a barrier, with few registers / with enough of them.
template <int HELD>
__device__ inline void hold(const float* x, float* y) {
  float held[HELD];
  unsigned i = group() * 64 + thread();
#pragma unroll
  for (int k = 0; k < HELD; ++k) held[k] = x[i + 16 * k];
  __builtin_amdgcn_sched_barrier(0);
#pragma unroll
  for (int k = 0; k < HELD; ++k) held[k] = held[k] * held[(k * 7 + 3) % HELD] + held[(k * 5 + 1) % HELD];
  __builtin_amdgcn_sched_barrier(0);
#pragma unroll
  for (int k = 0; k < HELD; ++k) y[i + 16 * k] = held[k];
}
extern "C" __global__ WORKGROUP(64) __attribute__((amdgpu_num_vgpr(24))) void spilling(const float* x, float* y) {
  hold<64>(x, y);
}
extern "C" __global__ WORKGROUP(64) void holding(const float* x, float* y) { hold<64>(x, y); }

// One chain of 512 steps, each of which waits for the last / eight chains.
template <int CHAINS>
__device__ inline void chain(float* x, float a) {
  unsigned i = group() * 64 + thread();
  float v[CHAINS], sum = 0;
  for (int c = 0; c < CHAINS; ++c) v[c] = x[i] + static_cast<float>(c);
#pragma unroll
  for (int k = 0; k < 512 / CHAINS; ++k)
    for (int c = 0; c < CHAINS; ++c) v[c] = v[c] * a + x[c];
  for (int c = 0; c < CHAINS; ++c) sum += v[c];
  x[i + 512] = sum;
}
extern "C" __global__ WORKGROUP(64) void one_chain(float* x, float a) { chain<1>(x, a); }
extern "C" __global__ WORKGROUP(64) void eight_chains(float* x, float a) { chain<8>(x, a); }

// A tile of a matrix product by multiply-adds; mfma.hip and wmma.hip have the same by matrix instructions.
extern "C" __global__ WORKGROUP(256) void plain_product(const half* a, const half* b, float* c, int n) {
  __shared__ float left[16][17], right[16][17];
  unsigned x = thread() % 16, y = thread() / 16;
  float sum = 0;
#pragma nounroll
  for (int k = 0; k < n; k += 16) {
    left[y][x] = static_cast<float>(a[y * n + k + x]);
    right[y][x] = static_cast<float>(b[(k + y) * 16 + x]);
    barrier();
#pragma unroll
    for (int i = 0; i < 16; ++i) sum += left[y][i] * right[i][x];
    barrier();
  }
  c[y * 16 + x] = sum;
}
