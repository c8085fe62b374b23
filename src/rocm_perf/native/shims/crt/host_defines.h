// What CUDA's own crt/host_defines.h defines and CUPTI's headers use, for C++ alone: pip's CUDA packages come without
// it.
#pragma once
#define CUDARTAPI
#define CUDARTAPI_CDECL
#define CUDAAPI
#define __no_return__ __attribute__((noreturn))
#define __forceinline__ __inline__ __attribute__((always_inline))
#define __align__(n) __attribute__((aligned(n)))
#define __thread__ __thread
#define __import__
#define __export__
#define __cdecl
#define __annotate__(a)
#define __location__(a)
#define __host__
#define __device__
#define __global__
#define __shared__
#define __constant__
#define __managed__
#define __device_builtin__
#define __device_builtin_texture_type__
#define __device_builtin_surface_type__
#define __cudart_builtin__
#define __specialization_static
#define __builtin_align__(n) __align__(n)
#define __cuda_assign_operators
#define __CUDA_ARCH_HAS_FEATURE__(feature) 0
