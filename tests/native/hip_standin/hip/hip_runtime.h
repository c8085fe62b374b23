// The few names of HIP that our GPU programs use, so that they compile for real chips without ROCm. Nothing here runs.
#pragma once

#include <stddef.h>

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __shared__ __attribute__((shared))
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};

#if defined(__HIP_DEVICE_COMPILE__)
struct Thread {
  __declspec(property(get = get_x)) unsigned x;
  __device__ unsigned get_x() const { return __builtin_amdgcn_workitem_id_x(); }
};
struct Block {
  __declspec(property(get = get_x)) unsigned x;
  __declspec(property(get = get_y)) unsigned y;
  __device__ unsigned get_x() const { return __builtin_amdgcn_workgroup_id_x(); }
  __device__ unsigned get_y() const { return __builtin_amdgcn_workgroup_id_y(); }
};
struct Grid {
  __declspec(property(get = get_x)) unsigned x;
  __device__ unsigned get_x() const { return __builtin_amdgcn_grid_size_x() / __builtin_amdgcn_workgroup_size_x(); }
};
__device__ inline void __syncthreads() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
#else
struct Thread {
  unsigned x, y;
};
using Block = Thread;
using Grid = Thread;
__device__ void __syncthreads();
#endif
static const __device__ Thread threadIdx{};
static const __device__ Block blockIdx{};
static const __device__ Grid gridDim{};

typedef float float4 __attribute__((ext_vector_type(4)));

enum hipError_t { hipSuccess };
enum hipMemcpyKind { hipMemcpyHostToDevice, hipMemcpyDeviceToHost };
typedef struct ihipEvent_t* hipEvent_t;
typedef struct ihipStream_t* hipStream_t;
struct hipUUID {
  char bytes[16];
};
struct hipDeviceProp_t {
  char name[256];
  size_t totalGlobalMem;
  int warpSize, multiProcessorCount, l2CacheSize;
  char gcnArchName[256];
};

const char* hipGetErrorString(hipError_t);
hipError_t hipGetLastError();
hipError_t hipSetDevice(int);
hipError_t hipGetDeviceProperties(hipDeviceProp_t*, int);
hipError_t hipDeviceGetUuid(hipUUID*, int);
hipError_t hipMalloc(void**, size_t);
hipError_t hipFree(void*);
hipError_t hipHostMalloc(void**, size_t, unsigned);
hipError_t hipHostFree(void*);
hipError_t hipMemset(void*, int, size_t);
hipError_t hipMemcpy(void*, const void*, size_t, hipMemcpyKind);
hipError_t hipEventCreate(hipEvent_t*);
hipError_t hipEventDestroy(hipEvent_t);
hipError_t hipEventRecord(hipEvent_t, hipStream_t);
hipError_t hipEventSynchronize(hipEvent_t);
hipError_t hipEventElapsedTime(float*, hipEvent_t, hipEvent_t);
hipError_t hipStreamSynchronize(hipStream_t);
hipError_t hipDeviceSynchronize();
extern "C" hipError_t __hipPushCallConfiguration(dim3, dim3, size_t = 0, hipStream_t = nullptr);
extern "C" hipError_t __hipPopCallConfiguration(dim3*, dim3*, size_t*, hipStream_t*);
extern "C" hipError_t hipLaunchKernel(const void*, dim3, dim3, void**, size_t, hipStream_t);
