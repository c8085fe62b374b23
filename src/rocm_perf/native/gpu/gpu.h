// One source for HIP and CUDA: gpu(Malloc) is hipMalloc or cudaMalloc. What the two spell differently is below.
#pragma once

#if defined(__HIP__)
#include <hip/hip_runtime.h>
#define gpu(name) hip##name
#define GPU_LIBRARY "HIP"
#else
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#define gpu(name) cuda##name
#define GPU_LIBRARY "CUDA"
#endif

#include <cstdio>
#include <cstdlib>

namespace rocm_perf {

// Ends the program with the runtime's own words: nothing that follows a failed call would mean anything.
inline void check(gpu(Error_t) status, const char* what) {
  if (status == gpu(Success)) return;
  std::fprintf(stderr, "%s failed: %s\n", what, gpu(GetErrorString)(status));
  std::exit(1);
}

#if defined(__HIP__)
using DeviceFacts = hipDeviceProp_t;
inline gpu(Error_t) allocate_pinned(void** memory, size_t bytes) { return hipHostMalloc(memory, bytes, 0); }
inline gpu(Error_t) free_pinned(void* memory) { return hipHostFree(memory); }
#else
using DeviceFacts = cudaDeviceProp;
inline gpu(Error_t) allocate_pinned(void** memory, size_t bytes) { return cudaMallocHost(memory, bytes); }
inline gpu(Error_t) free_pinned(void* memory) { return cudaFreeHost(memory); }
#endif

// Device memory that is freed at the end of its scope.
class DeviceMemory {
 public:
  explicit DeviceMemory(size_t bytes) : bytes_(bytes) {
    check(gpu(Malloc)(&memory_, bytes), "allocating device memory");
    check(gpu(Memset)(memory_, 0, bytes), "clearing device memory");
  }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  ~DeviceMemory() { (void)gpu(Free)(memory_); }

  template <typename T>
  T* as() const {
    return static_cast<T*>(memory_);
  }
  size_t bytes() const { return bytes_; }

 private:
  void* memory_ = nullptr;
  size_t bytes_;
};

}  // namespace rocm_perf
