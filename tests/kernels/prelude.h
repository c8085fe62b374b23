// The few names of HIP that the test kernels use, over the compiler's builtins: no ROCm is needed to compile them.
#pragma once
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define WORKGROUP(n) __attribute__((amdgpu_flat_work_group_size(n, n)))
#define WAVES_PER_SIMD(n) __attribute__((amdgpu_waves_per_eu(n, n)))
typedef _Float16 half;
typedef half half2 __attribute__((ext_vector_type(2)));
typedef half half4 __attribute__((ext_vector_type(4)));
typedef half half16 __attribute__((ext_vector_type(16)));
typedef float float4 __attribute__((ext_vector_type(4)));
typedef float float8 __attribute__((ext_vector_type(8)));
typedef float float16 __attribute__((ext_vector_type(16)));
typedef float float32 __attribute__((ext_vector_type(32)));
__device__ inline unsigned thread() { return __builtin_amdgcn_workitem_id_x(); }
__device__ inline unsigned group() { return __builtin_amdgcn_workgroup_id_x(); }
__device__ inline void barrier() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
