// Limits of the arithmetic units: types, special functions, integers, conversions, lanes, dependencies.
#include <cuda_fp16.h>
#include <mma.h>

#include "case.h"

namespace {

constexpr unsigned kBlock = 256;
constexpr std::size_t kItems = std::size_t{1} << 22;

__device__ std::size_t thread_index() { return std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; }

#define LAUNCH(kernel, ...) kernel<<<kItems / kBlock, kBlock>>>(__VA_ARGS__)

// Constants without an f make each step a double.
__global__ void decay_a(const float* a, float* out) {
  float x = a[thread_index()];
  for (int k = 0; k < 128; ++k) x = x * 0.9990234375 + 0.0001;
  out[thread_index()] = x;
}
__global__ void decay_b(const float* a, float* out) {
  float x = a[thread_index()];
  for (int k = 0; k < 128; ++k) x = x * 0.9990234375f + 0.0001f;
  out[thread_index()] = x;
}
const Register decay{{"decay", "accidental double precision", [](const Buffers& x) { LAUNCH(decay_a, x.a, x.out); },
                      [](const Buffers& x) { LAUNCH(decay_b, x.a, x.out); }, nullptr, kItems}};

// A function of doubles for floats.
__global__ void gamma_a(const float* a, float* out) {
  float x = a[thread_index()] + 0.5f;
  for (int k = 0; k < 8; ++k) x = static_cast<float>(exp(-static_cast<double>(x)) + 0.25);
  out[thread_index()] = x;
}
__global__ void gamma_b(const float* a, float* out) {
  float x = a[thread_index()] + 0.5f;
  for (int k = 0; k < 8; ++k) x = expf(-x) + 0.25f;
  out[thread_index()] = x;
}
const Register gamma_correction{{"gamma", "accidental double precision",
                                 [](const Buffers& x) { LAUNCH(gamma_a, x.a, x.out); },
                                 [](const Buffers& x) { LAUNCH(gamma_b, x.a, x.out); }, nullptr, kItems}};

// Lanes of a warp take eight ways; the repaired input is sorted by way.
template <int kWay>
__device__ float one_way(float x) {
  for (int k = 0; k < 48; ++k) x = x * (0.5f + kWay * 0.03125f) + (kWay + 1) * 0.125f;
  return x;
}
__global__ void ways(const std::uint32_t* way, const float* a, float* out) {
  const std::size_t i = thread_index();
  float x = a[i];
  switch (way[i]) {
    case 0:
      x = one_way<0>(x);
      break;
    case 1:
      x = __fsqrt_rn(one_way<1>(x));
      break;
    case 2:
      x = one_way<2>(x) - 3.0f;
      break;
    case 3:
      x = fabsf(one_way<3>(x));
      break;
    case 4:
      x = one_way<4>(x) * x;
      break;
    case 5:
      x = 1.0f - one_way<5>(x);
      break;
    case 6:
      x = one_way<6>(x) + x;
      break;
    default:
      x = fminf(one_way<7>(x), 4.0f);
  }
  out[i] = x;
}
__global__ void fill_ways(std::uint32_t* way) {
  const std::size_t i = thread_index();
  way[i] = hashed(static_cast<std::uint32_t>(i)) & 7;
  way[i + kItems] = static_cast<std::uint32_t>(i / (kItems / 8));
}
const Register way_mix{{"ways", "divergence", [](const Buffers& x) { LAUNCH(ways, x.index, x.a, x.out); },
                        [](const Buffers& x) { LAUNCH(ways, x.index + kItems, x.a, x.out); },
                        [](const Buffers& x) { LAUNCH(fill_ways, x.index); }, 0}};

// Each lane has its own number of rounds; the repaired input is sorted by it.
__global__ void rounds(const std::uint32_t* count, const float* a, float* out) {
  const std::size_t i = thread_index();
  float x = a[i];
  for (std::uint32_t k = 0; k < count[i]; ++k) x = x * 0.75f + 0.125f;
  out[i] = x;
}
__global__ void fill_rounds(std::uint32_t* count) {
  const std::size_t i = thread_index();
  const float u = random01(static_cast<std::uint32_t>(i)), v = static_cast<float>(i) / kItems;
  count[i] = static_cast<std::uint32_t>(2000.0f * u * u * u * u * u * u);
  count[i + kItems] = static_cast<std::uint32_t>(2000.0f * v * v * v * v * v * v);
}
const Register ragged{{"rounds", "divergence", [](const Buffers& x) { LAUNCH(rounds, x.index, x.a, x.out); },
                       [](const Buffers& x) { LAUNCH(rounds, x.index + kItems, x.a, x.out); },
                       [](const Buffers& x) { LAUNCH(fill_rounds, x.index); }, 0}};

// One lane of each warp works.
constexpr std::size_t kWorked = kItems / 32;
__device__ float heavy(float x) {
  for (int k = 0; k < 512; ++k) x = x * 0.75f + 0.125f;
  return x;
}
__global__ void sampled_a(const float* a, float* out) {
  const std::size_t i = thread_index();
  if (i % 32 == 0) out[i / 32] = heavy(a[i]);
}
__global__ void sampled_b(const float* a, float* out) {
  const std::size_t i = thread_index();
  out[i] = heavy(a[i * 32]);
}
const Register sampled{{"sampled", "divergence", [](const Buffers& x) { LAUNCH(sampled_a, x.a, x.out); },
                        [](const Buffers& x) { sampled_b<<<kWorked / kBlock, kBlock>>>(x.a, x.out); }, nullptr,
                        kWorked}};

// A sine for each angle; the repaired form turns a vector instead.
__global__ void waves_a(const float* a, float* out) {
  const float x = a[thread_index()];
  float sum = 0;
  for (int k = 0; k < 128; ++k) sum += __sinf(x + 0.01f * k);
  out[thread_index()] = sum;
}
__global__ void waves_b(const float* a, float* out) {
  const float x = a[thread_index()];
  float sine, cosine, sum = 0;
  __sincosf(x, &sine, &cosine);
  const float s = 0.00999983333f, c = 0.99995000042f;  // of 0.01
  for (int k = 0; k < 128; ++k) {
    sum += sine;
    const float turned = sine * c + cosine * s;
    cosine = cosine * c - sine * s;
    sine = turned;
  }
  out[thread_index()] = sum;
}
const Register sines{{"waves", "special functions", [](const Buffers& x) { LAUNCH(waves_a, x.a, x.out); },
                      [](const Buffers& x) { LAUNCH(waves_b, x.a, x.out); }, nullptr, kItems}};

// Coordinates by division; the repaired form multiplies by a prepared reciprocal.
__global__ void places_a(std::uint32_t w, std::uint32_t h, float* out) {
  std::uint32_t i = static_cast<std::uint32_t>(thread_index()), sum = 0;
  for (int k = 0; k < 32; ++k) {
    sum += i % w + (i / w) % h;
    i += 977;
  }
  out[thread_index()] = static_cast<float>(sum);
}
__global__ void places_b(std::uint32_t w, std::uint64_t by_w, std::uint32_t h, std::uint64_t by_h, float* out) {
  std::uint32_t i = static_cast<std::uint32_t>(thread_index()), sum = 0;
  for (int k = 0; k < 32; ++k) {
    const std::uint32_t row = __umulhi(i, static_cast<std::uint32_t>(by_w)) >> 8,
                        plane = __umulhi(row, static_cast<std::uint32_t>(by_h)) >> 8;
    sum += i - row * w + row - plane * h;
    i += 977;
  }
  out[thread_index()] = static_cast<float>(sum);
}
std::uint64_t reciprocal(std::uint32_t divisor) { return ((std::uint64_t{1} << 40) + divisor - 1) / divisor; }
const Register places{
    {"places", "integer division", [](const Buffers& x) { LAUNCH(places_a, 1009u, 757u, x.out); },
     [](const Buffers& x) { LAUNCH(places_b, 1009u, reciprocal(1009), 757u, reciprocal(757), x.out); }, nullptr,
     kItems}};

// 64 bits for numbers that need 32.
template <typename Number>
__global__ void shuffled(Number modulus, float* out) {
  Number x = static_cast<Number>(thread_index()) % modulus;
  for (int k = 0; k < 32; ++k) x = (x * 171 + 11) % modulus;
  out[thread_index()] = static_cast<float>(x);
}
const Register shuffle{{"shuffled", "integer division",
                        [](const Buffers& x) { LAUNCH(shuffled<std::uint64_t>, 30269u, x.out); },
                        [](const Buffers& x) { LAUNCH(shuffled<std::uint32_t>, 30269u, x.out); }, nullptr, kItems}};

// Rounding by a conversion there and back; the repaired form adds and takes away a large number.
__global__ void rounded_a(const float* a, float* out) {
  float x = a[thread_index()] * 100;
  for (int k = 0; k < 128; ++k) x = static_cast<float>(__float2int_rn(x * 1.01f)) * 0.99f;
  out[thread_index()] = x;
}
__global__ void rounded_b(const float* a, float* out) {
  float x = a[thread_index()] * 100;
  for (int k = 0; k < 128; ++k) x = __fadd_rn(__fadd_rn(x * 1.01f, 12582912.0f), -12582912.0f) * 0.99f;
  out[thread_index()] = x;
}
const Register conversion{{"rounded", "conversions", [](const Buffers& x) { LAUNCH(rounded_a, x.a, x.out); },
                           [](const Buffers& x) { LAUNCH(rounded_b, x.a, x.out); }, nullptr, kItems}};

// The units of half precision full of packed work: a roof.
__global__ void mixed(const __half2* a, __half2* out) {
  __half2 x = a[thread_index()];
  const __half2 p = __float2half2_rn(0.75f), q = __float2half2_rn(0.125f);
  for (int k = 0; k < 512; ++k)
    asm volatile("fma.rn.f16x2 %0, %0, %1, %2;"
                 : "+r"(*reinterpret_cast<unsigned*>(&x))
                 : "r"(*reinterpret_cast<const unsigned*>(&p)), "r"(*reinterpret_cast<const unsigned*>(&q)));
  out[thread_index()] = x;
}
__global__ void fill_halves(__half* a) {
  a[thread_index() * 2] = a[thread_index() * 2 + 1] =
      __float2half(random01(static_cast<std::uint32_t>(thread_index())));
}
const Register packed{
    {"mixed", "f16 arithmetic",
     [](const Buffers& x) { LAUNCH(mixed, reinterpret_cast<const __half2*>(x.a), reinterpret_cast<__half2*>(x.out)); },
     nullptr, [](const Buffers& x) { LAUNCH(fill_halves, reinterpret_cast<__half*>(x.a)); }, 0}};

// One chain of dependent operations in four warps of each multiprocessor; the repaired form has eight chains.
constexpr int kChain = 1 << 15;
template <int kChains>
__global__ void chain(const float* a, float* out) {
  float x[kChains];
  for (int j = 0; j < kChains; ++j) x[j] = a[thread_index() + j];
  for (int k = 0; k < kChain / kChains; ++k)
    for (int j = 0; j < kChains; ++j) x[j] = x[j] * 0.999f + 0.001f;
  float sum = 0;
  for (int j = 0; j < kChains; ++j) sum += x[j];
  out[thread_index()] = sum;
}
const Register chains{{"chain", "dependent arithmetic", [](const Buffers& x) { chain<1><<<132, 128>>>(x.a, x.out); },
                       [](const Buffers& x) { chain<8><<<132, 128>>>(x.a, x.out); }, nullptr, 0}};

// The multiply-add units full of useful work, in both precisions: roofs.
template <typename Number>
__global__ void full(const float* a, float* out) {
  Number x[8];
  for (int j = 0; j < 8; ++j) x[j] = a[thread_index() + j];
  for (int k = 0; k < 256; ++k)
#pragma unroll
    for (int j = 0; j < 8; ++j) x[j] = x[j] * Number(0.999) + Number(0.001);
  Number sum = 0;
  for (int j = 0; j < 8; ++j) sum += x[j];
  out[thread_index()] = static_cast<float>(sum);
}
__global__ void full_double(const double* a, double* out) {
  double x[8];
  for (int j = 0; j < 8; ++j) x[j] = a[thread_index() + j];
  for (int k = 0; k < 256; ++k)
#pragma unroll
    for (int j = 0; j < 8; ++j) x[j] = x[j] * 0.999 + 0.001;
  double sum = 0;
  for (int j = 0; j < 8; ++j) sum += x[j];
  out[thread_index()] = sum;
}
const Register fma_roof{
    {"full", "f32 arithmetic", [](const Buffers& x) { LAUNCH(full<float>, x.a, x.out); }, nullptr, nullptr, 0}};
__global__ void fill_doubles(double* a) { a[thread_index()] = random01(static_cast<std::uint32_t>(thread_index())); }
const Register double_roof{
    {"full_double", "f64 arithmetic",
     [](const Buffers& x) {
       LAUNCH(full_double, reinterpret_cast<const double*>(x.a), reinterpret_cast<double*>(x.out));
     },
     nullptr, [](const Buffers& x) { fill_doubles<<<kItems * 2 / kBlock, kBlock>>>(reinterpret_cast<double*>(x.a)); },
     0}};

// A product of halves without the matrix units; the repaired form uses them.
constexpr int kN = 2048, kTile = 64;
__global__ void fill_square(__half* a) {
  const std::size_t i = thread_index();
  a[i] = __float2half(random01(static_cast<std::uint32_t>(i)) - 0.5f);
}
__global__ void __launch_bounds__(256) product_a(const __half* a, const __half* b, float* out) {
  __shared__ float p[16][kTile + 1], q[16][kTile];
  const int x = threadIdx.x % 16, y = threadIdx.x / 16;
  float sum[4][4] = {};
  for (int k0 = 0; k0 < kN; k0 += 16) {
    for (int e = threadIdx.x; e < 16 * kTile; e += 256) {
      p[e % 16][e / 16] = __half2float(a[(blockIdx.y * kTile + e / 16) * kN + k0 + e % 16]);
      q[e / kTile][e % kTile] = __half2float(b[(k0 + e / kTile) * kN + blockIdx.x * kTile + e % kTile]);
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 16; ++k)
#pragma unroll
      for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) sum[i][j] += p[k][y + 16 * i] * q[k][x + 16 * j];
    __syncthreads();
  }
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j)
      out[(blockIdx.y * kTile + y + 16 * i) * kN + blockIdx.x * kTile + x + 16 * j] = sum[i][j];
}
__global__ void __launch_bounds__(256) product_b(const __half* a, const __half* b, float* out) {
  using namespace nvcuda::wmma;
  __shared__ __half p[kTile][32 + 8], q[32][kTile + 8];
  const int warp = threadIdx.x / 32, row = warp / 2 * 16, column = warp % 2 * 32;
  fragment<accumulator, 16, 16, 16, float> sum[2];
  for (auto& each : sum) fill_fragment(each, 0.0f);
  for (int k0 = 0; k0 < kN; k0 += 32) {
    for (int e = threadIdx.x; e < 32 * kTile / 8; e += 256) {
      *reinterpret_cast<uint4*>(&p[e / 4][e % 4 * 8]) =
          *reinterpret_cast<const uint4*>(&a[(blockIdx.y * kTile + e / 4) * kN + k0 + e % 4 * 8]);
      *reinterpret_cast<uint4*>(&q[e / 8][e % 8 * 8]) =
          *reinterpret_cast<const uint4*>(&b[(k0 + e / 8) * kN + blockIdx.x * kTile + e % 8 * 8]);
    }
    __syncthreads();
    for (int k = 0; k < 32; k += 16) {
      fragment<matrix_a, 16, 16, 16, __half, row_major> left;
      load_matrix_sync(left, &p[row][k], 32 + 8);
      for (int j = 0; j < 2; ++j) {
        fragment<matrix_b, 16, 16, 16, __half, row_major> right;
        load_matrix_sync(right, &q[k][column + 16 * j], kTile + 8);
        mma_sync(sum[j], left, right, sum[j]);
      }
    }
    __syncthreads();
  }
  for (int j = 0; j < 2; ++j)
    store_matrix_sync(&out[(blockIdx.y * kTile + row) * kN + blockIdx.x * kTile + column + 16 * j], sum[j], kN,
                      mem_row_major);
}
const Register product{{"product", "matrix units unused",
                        [](const Buffers& x) {
                          product_a<<<dim3(kN / kTile, kN / kTile), 256>>>(reinterpret_cast<const __half*>(x.a),
                                                                           reinterpret_cast<const __half*>(x.b), x.out);
                        },
                        [](const Buffers& x) {
                          product_b<<<dim3(kN / kTile, kN / kTile), 256>>>(reinterpret_cast<const __half*>(x.a),
                                                                           reinterpret_cast<const __half*>(x.b), x.out);
                        },
                        [](const Buffers& x) {
                          fill_square<<<kN * kN / kBlock, kBlock>>>(reinterpret_cast<__half*>(x.a));
                          fill_square<<<kN * kN / kBlock, kBlock>>>(reinterpret_cast<__half*>(x.b));
                        },
                        std::size_t{kN} * kN, 0.05f}};

// Code that does not fit into the instruction caches; the repaired form is a loop.
constexpr int kSteps = 12288;
__device__ void step(float& x, float y) {
  asm volatile("fma.rn.f32 %0, %0, %1, %1;" : "+f"(x) : "f"(y));  // volatile: none is merged or moved
}
__global__ void series_a(const float* a, float* out) {
  float x = a[thread_index()];
  const float y = a[0];
  for (int k = 0; k < 4; ++k)
#pragma unroll 12288
    for (int j = 0; j < kSteps; ++j) step(x, y);
  out[thread_index()] = x;
}
__global__ void series_b(const float* a, float* out) {
  float x = a[thread_index()];
  const float y = a[0];
  for (int k = 0; k < 4; ++k)
#pragma unroll 16
    for (int j = 0; j < kSteps; ++j) step(x, y);
  out[thread_index()] = x;
}
const Register series{{"series", "instruction fetch", [](const Buffers& x) { series_a<<<132 * 2, 128>>>(x.a, x.out); },
                       [](const Buffers& x) { series_b<<<132 * 2, 128>>>(x.a, x.out); }, nullptr, 132 * 2 * 128}};

// A table in constant memory, read at another place by each lane; the repaired one lies in shared memory.
__constant__ float kTable[1024];
__global__ void table_a(const std::uint32_t* index, float* out) {
  std::uint32_t at = hashed(static_cast<std::uint32_t>(thread_index()));
  float sum = 0;
  for (int k = 0; k < 64; ++k) {
    sum += kTable[at & 1023];
    at = at * 1664525u + 1013904223u;
    at ^= at >> 16;
  }
  out[thread_index()] = sum;
}
__global__ void table_b(const std::uint32_t* index, float* out) {
  __shared__ float table[1024];
  for (int k = threadIdx.x; k < 1024; k += kBlock) table[k] = kTable[k];
  __syncthreads();
  std::uint32_t at = hashed(static_cast<std::uint32_t>(thread_index()));
  float sum = 0;
  for (int k = 0; k < 64; ++k) {
    sum += table[at & 1023];
    at = at * 1664525u + 1013904223u;
    at ^= at >> 16;
  }
  out[thread_index()] = sum;
}
const Register constants{{"table", "constant cache", [](const Buffers& x) { LAUNCH(table_a, x.index, x.out); },
                          [](const Buffers& x) { LAUNCH(table_b, x.index, x.out); },
                          [](const Buffers& x) {
                            static float values[1024];
                            for (int k = 0; k < 1024; ++k) values[k] = random01(k);
                            cudaMemcpyToSymbol(kTable, values, sizeof values);
                          },
                          kItems}};

}  // namespace
