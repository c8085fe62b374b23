// The few names that the kernels use, over the compiler's builtins: no ROCm is needed to compile them.
#pragma once
#define KERNEL extern "C" __attribute__((global)) void
#define TEMPLATE_KERNEL __attribute__((global)) void
#define DEVICE static __attribute__((device))
#define SHARED static __attribute__((shared))
#define CONSTANT __attribute__((device, constant))
#define VARIABLE __attribute__((device))
#define TWIN(name)
#define TWIN_AS(name, function)

DEVICE inline u32 thread_x() { return __builtin_amdgcn_workitem_id_x(); }
DEVICE inline u32 thread_y() { return __builtin_amdgcn_workitem_id_y(); }
DEVICE inline u32 group_x() { return __builtin_amdgcn_workgroup_id_x(); }
DEVICE inline u32 group_y() { return __builtin_amdgcn_workgroup_id_y(); }
DEVICE inline u32 block_x() { return __builtin_amdgcn_workgroup_size_x(); }
DEVICE inline u32 grid_x() { return __builtin_amdgcn_grid_size_x(); }
DEVICE inline u32 item() { return group_x() * block_x() + thread_x(); }
DEVICE inline u32 lane() { return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0)); }
DEVICE inline u32 lanes() { return __builtin_amdgcn_wavefrontsize(); }

DEVICE inline void barrier() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

DEVICE inline float shuffle(float value, u32 from) {
  return __builtin_bit_cast(float, __builtin_amdgcn_ds_bpermute(from << 2, __builtin_bit_cast(int, value)));
}

DEVICE inline float of_bfloat(u16 value) { return (float)__builtin_bit_cast(__bf16, value); }
DEVICE inline u16 to_bfloat(float value) { return __builtin_bit_cast(u16, (__bf16)value); }
DEVICE inline float exp2_of(float x) { return __builtin_amdgcn_exp2f(x); }

#define SCOPE __HIP_MEMORY_SCOPE_AGENT
#define ATOMIC(operation, at, value) __hip_atomic_##operation(at, value, __ATOMIC_RELAXED, SCOPE)
