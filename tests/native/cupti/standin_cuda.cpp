// Stand-in for the driver: two GPUs.
#include <cuda.h>

#include <cstring>

#undef cuDeviceGetUuid_v2  // newer headers map the old name to it

extern "C" {
CUresult cuDeviceGetCount(int* count) { return *count = 2, CUDA_SUCCESS; }
CUresult cuDeviceGet(CUdevice* device, int ordinal) { return *device = ordinal, CUDA_SUCCESS; }
CUresult cuDriverGetVersion(int* version) { return *version = 13000, CUDA_SUCCESS; }
CUresult cuDeviceGetName(char* name, int size, CUdevice) {
  return std::strncpy(name, "NVIDIA \"Stand-in\"", size), CUDA_SUCCESS;
}
CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice) { return *bytes = 150109880320u, CUDA_SUCCESS; }
CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice device) {
  return std::memset(uuid->bytes, 0xa0 + device, 16), CUDA_SUCCESS;
}
CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice) {
  switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
      *value = 9;
      break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
      *value = 0;
      break;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
      *value = 132;
      break;
    case CU_DEVICE_ATTRIBUTE_WARP_SIZE:
      *value = 32;
      break;
    case CU_DEVICE_ATTRIBUTE_CLOCK_RATE:
      *value = 1980000;
      break;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR:
      *value = 233472;
      break;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}
}
