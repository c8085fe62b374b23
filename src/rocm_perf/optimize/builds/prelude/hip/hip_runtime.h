// The names of HIP that kernels use, over the compiler's builtins, so that device code compiles where there is no ROCm.
// Host functions are declared, because clang reads them even when it compiles for the device alone; nothing defines
// them.
#pragma once

#include <stddef.h>
#include <stdint.h>

#define __host__ __attribute__((host))
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __managed__ __attribute__((managed))
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __align__(n) __attribute__((aligned(n)))
// As HIP's own headers have it: the second number is the least of waves per SIMD.
#define PRELUDE_BOUNDS_1(threads) __attribute__((amdgpu_flat_work_group_size(1, threads)))
#define PRELUDE_BOUNDS_2(threads, waves) \
  __attribute__((amdgpu_flat_work_group_size(1, threads), amdgpu_waves_per_eu(waves)))
#define PRELUDE_CHOSEN(first, second, name, ...) name
#define __launch_bounds__(...) PRELUDE_CHOSEN(__VA_ARGS__, PRELUDE_BOUNDS_2, PRELUDE_BOUNDS_1, )(__VA_ARGS__)
#define HIP_DYNAMIC_SHARED(type, name) extern __shared__ type name[];

#define PRELUDE_DEVICE static __device__ __forceinline__
#define PRELUDE_BOTH static __host__ __device__ __forceinline__

// Indices of work-items, as HIP's own headers have them: values that are read when they are asked for.
#define PRELUDE_INDEX(name, x_value, y_value, z_value)                         \
  struct prelude_##name {                                                      \
    __declspec(property(get = get_x)) unsigned x;                              \
    __declspec(property(get = get_y)) unsigned y;                              \
    __declspec(property(get = get_z)) unsigned z;                              \
    __device__ __forceinline__ unsigned get_x() const { return (x_value); }    \
    __device__ __forceinline__ unsigned get_y() const { return (y_value); }    \
    __device__ __forceinline__ unsigned get_z() const { return (z_value); }    \
    __device__ __forceinline__ operator dim3() const { return dim3(x, y, z); } \
  };                                                                           \
  extern const __device__ __attribute__((weak)) prelude_##name name;

struct dim3 {
  uint32_t x, y, z;
  constexpr __host__ __device__ dim3(uint32_t x = 1, uint32_t y = 1, uint32_t z = 1) : x(x), y(y), z(z) {}
};

PRELUDE_INDEX(threadIdx, __builtin_amdgcn_workitem_id_x(), __builtin_amdgcn_workitem_id_y(),
              __builtin_amdgcn_workitem_id_z())
PRELUDE_INDEX(blockIdx, __builtin_amdgcn_workgroup_id_x(), __builtin_amdgcn_workgroup_id_y(),
              __builtin_amdgcn_workgroup_id_z())
PRELUDE_INDEX(blockDim, __builtin_amdgcn_workgroup_size_x(), __builtin_amdgcn_workgroup_size_y(),
              __builtin_amdgcn_workgroup_size_z())
PRELUDE_INDEX(gridDim, __builtin_amdgcn_grid_size_x() / __builtin_amdgcn_workgroup_size_x(),
              __builtin_amdgcn_grid_size_y() / __builtin_amdgcn_workgroup_size_y(),
              __builtin_amdgcn_grid_size_z() / __builtin_amdgcn_workgroup_size_z())
struct prelude_wave_size {
  __host__ __device__ __forceinline__ operator int() const {
#if defined(__HIP_DEVICE_COMPILE__)
    return __builtin_amdgcn_wavefrontsize();
#else
    return 64;
#endif
  }
};
static constexpr __device__ prelude_wave_size warpSize;

// Vectors.
#define PRELUDE_VECTORS(type, base)                                                           \
  struct alignas(2 * sizeof(base)) type##2 { base x, y; };                                    \
  struct type##3 { base x, y, z; };                                                           \
  struct alignas(4 * sizeof(base) < 16 ? 4 * sizeof(base) : 16) type##4 { base x, y, z, w; }; \
  PRELUDE_BOTH type##2 make_##type##2(base x, base y) { return {x, y}; }                      \
  PRELUDE_BOTH type##3 make_##type##3(base x, base y, base z) { return {x, y, z}; }           \
  PRELUDE_BOTH type##4 make_##type##4(base x, base y, base z, base w) { return {x, y, z, w}; }
PRELUDE_VECTORS(char, signed char)
PRELUDE_VECTORS(uchar, unsigned char)
PRELUDE_VECTORS(short, short)
PRELUDE_VECTORS(ushort, unsigned short)
PRELUDE_VECTORS(int, int)
PRELUDE_VECTORS(uint, unsigned)
PRELUDE_VECTORS(longlong, long long)
PRELUDE_VECTORS(ulonglong, unsigned long long)
PRELUDE_VECTORS(float, float)
PRELUDE_VECTORS(double, double)
#undef PRELUDE_VECTORS

// Barriers and fences.
PRELUDE_DEVICE void __syncthreads() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
PRELUDE_DEVICE void __threadfence() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent"); }
PRELUDE_DEVICE void __threadfence_block() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup"); }
PRELUDE_DEVICE void __threadfence_system() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, ""); }
PRELUDE_DEVICE void __syncwarp(unsigned long long = ~0ull) {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront");
  __builtin_amdgcn_wave_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront");
}

// Atomics, relaxed and of the whole device, as HIP's are.
#define PRELUDE_ATOMIC(name, builtin)                                           \
  template <typename T>                                                         \
  PRELUDE_DEVICE T name(T* address, decltype(T()) value) {                      \
    return builtin(address, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT); \
  }
PRELUDE_ATOMIC(atomicAdd, __hip_atomic_fetch_add)
PRELUDE_ATOMIC(atomicAnd, __hip_atomic_fetch_and)
PRELUDE_ATOMIC(atomicOr, __hip_atomic_fetch_or)
PRELUDE_ATOMIC(atomicXor, __hip_atomic_fetch_xor)
PRELUDE_ATOMIC(atomicMin, __hip_atomic_fetch_min)
PRELUDE_ATOMIC(atomicMax, __hip_atomic_fetch_max)
PRELUDE_ATOMIC(atomicExch, __hip_atomic_exchange)
#undef PRELUDE_ATOMIC
template <typename T>
PRELUDE_DEVICE T atomicSub(T* address, decltype(T()) value) {
  return atomicAdd(address, static_cast<T>(-value));
}
template <typename T>
PRELUDE_DEVICE T atomicCAS(T* address, decltype(T()) expected, decltype(T()) value) {
  __hip_atomic_compare_exchange_strong(address, &expected, value, __ATOMIC_RELAXED, __ATOMIC_RELAXED,
                                       __HIP_MEMORY_SCOPE_AGENT);
  return expected;
}

// Across the lanes of a wave.
PRELUDE_DEVICE unsigned __lane_id() { return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0u)); }
template <typename T>
PRELUDE_DEVICE T prelude_from_lane(T value, int lane) {
  static_assert(sizeof(T) % 4 == 0, "shuffled values have a multiple of four bytes");
  int words[sizeof(T) / 4];
  __builtin_memcpy(words, &value, sizeof(T));
  for (unsigned i = 0; i < sizeof(T) / 4; ++i) words[i] = __builtin_amdgcn_ds_bpermute(lane << 2, words[i]);
  __builtin_memcpy(&value, words, sizeof(T));
  return value;
}
template <typename T>
PRELUDE_DEVICE T __shfl(T value, int lane, int width = warpSize) {
  const int self = __lane_id();
  return prelude_from_lane(value, (lane & (width - 1)) + (self & ~(width - 1)));
}
template <typename T>
PRELUDE_DEVICE T __shfl_up(T value, unsigned delta, int width = warpSize) {
  const int self = __lane_id(), lane = self - static_cast<int>(delta);
  return prelude_from_lane(value, lane < (self & ~(width - 1)) ? self : lane);
}
template <typename T>
PRELUDE_DEVICE T __shfl_down(T value, unsigned delta, int width = warpSize) {
  const int self = __lane_id(), lane = self + static_cast<int>(delta);
  return prelude_from_lane(value, static_cast<int>((self & (width - 1)) + delta) >= width ? self : lane);
}
template <typename T>
PRELUDE_DEVICE T __shfl_xor(T value, int mask, int width = warpSize) {
  const int self = __lane_id(), lane = self ^ mask;
  return prelude_from_lane(value, lane >= ((self + width) & ~(width - 1)) ? self : lane);
}
template <typename T>
PRELUDE_DEVICE T __shfl_sync(unsigned long long, T value, int lane, int width = warpSize) {
  return __shfl(value, lane, width);
}
template <typename T>
PRELUDE_DEVICE T __shfl_up_sync(unsigned long long, T value, unsigned delta, int width = warpSize) {
  return __shfl_up(value, delta, width);
}
template <typename T>
PRELUDE_DEVICE T __shfl_down_sync(unsigned long long, T value, unsigned delta, int width = warpSize) {
  return __shfl_down(value, delta, width);
}
template <typename T>
PRELUDE_DEVICE T __shfl_xor_sync(unsigned long long, T value, int mask, int width = warpSize) {
  return __shfl_xor(value, mask, width);
}
PRELUDE_DEVICE unsigned long long __ballot(int predicate) {
#if defined(__GFX10__) || defined(__GFX11__) || defined(__GFX12__)  // waves of 32, unless asked otherwise
  return __builtin_amdgcn_ballot_w32(predicate);
#else
  return __builtin_amdgcn_ballot_w64(predicate);
#endif
}
PRELUDE_DEVICE unsigned long long __ballot_sync(unsigned long long, int predicate) { return __ballot(predicate); }
PRELUDE_DEVICE unsigned long long __activemask() { return __ballot(1); }
PRELUDE_DEVICE int __any(int predicate) { return __ballot(predicate) != 0; }
PRELUDE_DEVICE int __all(int predicate) { return __ballot(!predicate) == 0; }
PRELUDE_DEVICE int __any_sync(unsigned long long, int predicate) { return __any(predicate); }
PRELUDE_DEVICE int __all_sync(unsigned long long, int predicate) { return __all(predicate); }

// Integers.
PRELUDE_DEVICE int __popc(unsigned value) { return __builtin_popcount(value); }
PRELUDE_DEVICE int __popcll(unsigned long long value) { return __builtin_popcountll(value); }
PRELUDE_DEVICE int __clz(int value) { return value ? __builtin_clz(value) : 32; }
PRELUDE_DEVICE int __ffs(int value) { return __builtin_ffs(value); }
PRELUDE_DEVICE unsigned __brev(unsigned value) { return __builtin_bitreverse32(value); }
PRELUDE_DEVICE unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>(static_cast<unsigned long long>(a) * b >> 32);
}
PRELUDE_DEVICE int min(int a, int b) { return a < b ? a : b; }
PRELUDE_DEVICE int max(int a, int b) { return a > b ? a : b; }
PRELUDE_DEVICE unsigned min(unsigned a, unsigned b) { return a < b ? a : b; }
PRELUDE_DEVICE unsigned max(unsigned a, unsigned b) { return a > b ? a : b; }
PRELUDE_DEVICE long min(long a, long b) { return a < b ? a : b; }
PRELUDE_DEVICE long max(long a, long b) { return a > b ? a : b; }
PRELUDE_DEVICE unsigned long min(unsigned long a, unsigned long b) { return a < b ? a : b; }
PRELUDE_DEVICE unsigned long max(unsigned long a, unsigned long b) { return a > b ? a : b; }
PRELUDE_DEVICE float min(float a, float b) { return __builtin_fminf(a, b); }
PRELUDE_DEVICE float max(float a, float b) { return __builtin_fmaxf(a, b); }
PRELUDE_DEVICE double min(double a, double b) { return __builtin_fmin(a, b); }
PRELUDE_DEVICE double max(double a, double b) { return __builtin_fmax(a, b); }

// Reinterpretation.
template <typename To, typename From>
PRELUDE_DEVICE To prelude_bits(From value) {
  return __builtin_bit_cast(To, value);
}
PRELUDE_DEVICE int __float_as_int(float value) { return prelude_bits<int>(value); }
PRELUDE_DEVICE unsigned __float_as_uint(float value) { return prelude_bits<unsigned>(value); }
PRELUDE_DEVICE float __int_as_float(int value) { return prelude_bits<float>(value); }
PRELUDE_DEVICE float __uint_as_float(unsigned value) { return prelude_bits<float>(value); }
PRELUDE_DEVICE long long __double_as_longlong(double value) { return prelude_bits<long long>(value); }
PRELUDE_DEVICE double __longlong_as_double(long long value) { return prelude_bits<double>(value); }

// Mathematics: what the AMDGPU target can do without a library.
#define PRELUDE_UNARY(name)                                                \
  PRELUDE_DEVICE float name##f(float x) { return __builtin_##name##f(x); } \
  PRELUDE_DEVICE float name(float x) { return __builtin_##name##f(x); }
#define PRELUDE_UNARY_DOUBLE(name) \
  PRELUDE_UNARY(name)              \
  PRELUDE_DEVICE double name(double x) { return __builtin_##name(x); }
#define PRELUDE_BINARY_DOUBLE(name)                                                    \
  PRELUDE_DEVICE float name##f(float x, float y) { return __builtin_##name##f(x, y); } \
  PRELUDE_DEVICE float name(float x, float y) { return __builtin_##name##f(x, y); }    \
  PRELUDE_DEVICE double name(double x, double y) { return __builtin_##name(x, y); }
PRELUDE_UNARY(exp)
PRELUDE_UNARY(exp2)
PRELUDE_UNARY(log)
PRELUDE_UNARY(log2)
PRELUDE_UNARY(log10)
PRELUDE_UNARY(sin)
PRELUDE_UNARY(cos)
PRELUDE_UNARY_DOUBLE(sqrt)
PRELUDE_UNARY_DOUBLE(fabs)
PRELUDE_UNARY_DOUBLE(floor)
PRELUDE_UNARY_DOUBLE(ceil)
PRELUDE_UNARY_DOUBLE(trunc)
PRELUDE_UNARY_DOUBLE(rint)
PRELUDE_UNARY_DOUBLE(round)
PRELUDE_BINARY_DOUBLE(fmin)
PRELUDE_BINARY_DOUBLE(fmax)
PRELUDE_BINARY_DOUBLE(copysign)
#undef PRELUDE_UNARY
#undef PRELUDE_UNARY_DOUBLE
#undef PRELUDE_BINARY_DOUBLE
PRELUDE_DEVICE float abs(float x) { return __builtin_fabsf(x); }
PRELUDE_DEVICE int abs(int x) { return x < 0 ? -x : x; }
PRELUDE_DEVICE float fmaf(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
PRELUDE_DEVICE float fma(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
PRELUDE_DEVICE double fma(double x, double y, double z) { return __builtin_fma(x, y, z); }
PRELUDE_DEVICE float rsqrtf(float x) { return 1.0f / __builtin_sqrtf(x); }
PRELUDE_DEVICE double rsqrt(double x) { return 1.0 / __builtin_sqrt(x); }
PRELUDE_DEVICE float powf(float x, float y) { return __builtin_exp2f(y * __builtin_log2f(x)); }
PRELUDE_DEVICE float tanhf(float x) { return 1.0f - 2.0f / (__builtin_expf(2.0f * x) + 1.0f); }
PRELUDE_DEVICE bool isnan(float x) { return __builtin_isnan(x); }
PRELUDE_DEVICE bool isinf(float x) { return __builtin_isinf(x); }

// Approximations, by the instructions that they stand for.
PRELUDE_DEVICE float __expf(float x) { return __builtin_amdgcn_exp2f(x * 1.44269504f); }
PRELUDE_DEVICE float __logf(float x) { return __builtin_amdgcn_logf(x) * 0.693147181f; }
PRELUDE_DEVICE float __sinf(float x) { return __builtin_amdgcn_sinf(x * 0.159154943f); }
PRELUDE_DEVICE float __cosf(float x) { return __builtin_amdgcn_cosf(x * 0.159154943f); }
PRELUDE_DEVICE float __frcp_rn(float x) { return 1.0f / x; }
PRELUDE_DEVICE float __fdividef(float x, float y) { return x * __builtin_amdgcn_rcpf(y); }
PRELUDE_DEVICE float __frsqrt_rn(float x) { return __builtin_amdgcn_rsqf(x); }
PRELUDE_DEVICE float __fmaf_rn(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
PRELUDE_DEVICE float __fmul_rn(float x, float y) { return x * y; }
PRELUDE_DEVICE float __fadd_rn(float x, float y) { return x + y; }
PRELUDE_DEVICE float __saturatef(float x) { return __builtin_fminf(__builtin_fmaxf(x, 0.0f), 1.0f); }
template <typename T>
PRELUDE_DEVICE T __ldg(const T* address) {
  return *address;
}
PRELUDE_DEVICE long long clock64() { return __builtin_readcyclecounter(); }
#if __has_builtin(__builtin_readsteadycounter)  // clang 18
PRELUDE_DEVICE long long wall_clock64() { return __builtin_readsteadycounter(); }
#endif

// Host: declared only.
enum hipError_t { hipSuccess = 0, hipErrorInvalidValue = 1, hipErrorNotReady = 600, hipErrorUnknown = 999 };
enum hipMemcpyKind {
  hipMemcpyHostToHost,
  hipMemcpyHostToDevice,
  hipMemcpyDeviceToHost,
  hipMemcpyDeviceToDevice,
  hipMemcpyDefault
};
enum hipFuncAttribute { hipFuncAttributeMaxDynamicSharedMemorySize = 8 };
enum hipDeviceAttribute_t { hipDeviceAttributeMultiprocessorCount = 63, hipDeviceAttributeWarpSize = 87 };
typedef struct ihipStream_t* hipStream_t;
typedef struct ihipEvent_t* hipEvent_t;
struct hipDeviceProp_t {
  char name[256];
  size_t totalGlobalMem, sharedMemPerBlock;
  int regsPerBlock, warpSize, maxThreadsPerBlock, multiProcessorCount, clockRate, memoryClockRate, memoryBusWidth,
      l2CacheSize, major, minor;
  char gcnArchName[256];
};
extern "C" {
hipError_t __hipPushCallConfiguration(dim3 grid, dim3 block, size_t shared = 0, hipStream_t stream = nullptr);
hipError_t hipConfigureCall(dim3 grid, dim3 block, size_t shared = 0, hipStream_t stream = nullptr);
const char* hipGetErrorString(hipError_t error);
const char* hipGetErrorName(hipError_t error);
hipError_t hipGetLastError();
hipError_t hipPeekAtLastError();
hipError_t hipDeviceSynchronize();
hipError_t hipDeviceReset();
hipError_t hipSetDevice(int device);
hipError_t hipGetDevice(int* device);
hipError_t hipGetDeviceCount(int* count);
hipError_t hipGetDeviceProperties(hipDeviceProp_t* properties, int device);
hipError_t hipDeviceGetAttribute(int* value, hipDeviceAttribute_t attribute, int device);
hipError_t hipMalloc(void** memory, size_t bytes);
hipError_t hipMallocManaged(void** memory, size_t bytes, unsigned flags = 1);
hipError_t hipHostMalloc(void** memory, size_t bytes, unsigned flags = 0);
hipError_t hipMallocAsync(void** memory, size_t bytes, hipStream_t stream);
hipError_t hipFree(void* memory);
hipError_t hipFreeAsync(void* memory, hipStream_t stream);
hipError_t hipHostFree(void* memory);
hipError_t hipMemcpy(void* to, const void* from, size_t bytes, hipMemcpyKind kind);
hipError_t hipMemcpyAsync(void* to, const void* from, size_t bytes, hipMemcpyKind kind, hipStream_t stream = nullptr);
hipError_t hipMemcpyToSymbol(const void* symbol, const void* from, size_t bytes, size_t offset = 0,
                             hipMemcpyKind kind = hipMemcpyHostToDevice);
hipError_t hipMemset(void* memory, int value, size_t bytes);
hipError_t hipMemsetAsync(void* memory, int value, size_t bytes, hipStream_t stream = nullptr);
hipError_t hipStreamCreate(hipStream_t* stream);
hipError_t hipStreamSynchronize(hipStream_t stream);
hipError_t hipStreamDestroy(hipStream_t stream);
hipError_t hipEventCreate(hipEvent_t* event);
hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream = nullptr);
hipError_t hipEventSynchronize(hipEvent_t event);
hipError_t hipEventElapsedTime(float* milliseconds, hipEvent_t start, hipEvent_t stop);
hipError_t hipEventDestroy(hipEvent_t event);
hipError_t hipFuncSetAttribute(const void* kernel, hipFuncAttribute attribute, int value);
hipError_t hipLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** arguments, size_t shared = 0,
                           hipStream_t stream = nullptr);
}
template <typename T>
hipError_t hipMalloc(T** memory, size_t bytes);
template <typename T>
hipError_t hipMallocManaged(T** memory, size_t bytes, unsigned flags = 1);
template <typename T>
hipError_t hipHostMalloc(T** memory, size_t bytes, unsigned flags = 0);
#define HIP_KERNEL_NAME(...) __VA_ARGS__
#define HIP_SYMBOL(name) name
#define hipLaunchKernelGGL(kernel, grid, block, shared, stream, ...) \
  kernel<<<dim3(grid), dim3(block), shared, stream>>>(__VA_ARGS__)
#undef PRELUDE_INDEX
#undef PRELUDE_DEVICE
#undef PRELUDE_BOTH
