#include "cupti/devices.h"

#include <cuda.h>
#include <dlfcn.h>

#include "common/text.h"

namespace rocm_perf {
namespace {

// The driver is in the process already: it loaded us. Its functions are looked up, so that nothing is linked.
template <typename Function>
Function* driver_function(const char* name) {
  static void* const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  return driver ? reinterpret_cast<Function*>(dlsym(driver, name)) : nullptr;
}

struct Named {
  const char* name;
  CUdevice_attribute attribute;
};

constexpr Named kAttributes[] = {
    {"computeMajor", CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR},
    {"computeMinor", CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR},
    {"maxThreadsPerBlock", CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK},
    {"maxThreadsPerMultiprocessor", CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR},
    {"regsPerMultiprocessor", CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR},
    {"warpSize", CU_DEVICE_ATTRIBUTE_WARP_SIZE},
    {"sharedMemPerMultiprocessor", CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR},
    {"numSms", CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT},
    {"clockRateKhz", CU_DEVICE_ATTRIBUTE_CLOCK_RATE},
};

std::string uuid_text(const CUuuid& uuid) {
  static const char* const hex = "0123456789abcdef";
  std::string text = "GPU-";
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    const auto byte = static_cast<unsigned char>(uuid.bytes[i]);
    (text += hex[byte >> 4]) += hex[byte & 15];
  }
  return text;
}

std::string device(int ordinal, CUdevice handle) {
  std::string out = "{\"id\": ";
  append_number(out, ordinal);
  char name[256] = "";
  const auto get_name = driver_function<CUresult(char*, int, CUdevice)>("cuDeviceGetName");
  if (get_name && get_name(name, sizeof name, handle) == CUDA_SUCCESS) append_quoted(out += ", \"name\": ", name);
  std::size_t bytes = 0;
  const auto get_memory = driver_function<CUresult(std::size_t*, CUdevice)>("cuDeviceTotalMem_v2");
  if (get_memory && get_memory(&bytes, handle) == CUDA_SUCCESS)
    append_number(out += ", \"totalGlobalMem\": ", static_cast<std::int64_t>(bytes));
  CUuuid uuid{};
  const auto get_uuid = driver_function<CUresult(CUuuid*, CUdevice)>("cuDeviceGetUuid_v2");
  if (get_uuid && get_uuid(&uuid, handle) == CUDA_SUCCESS) append_quoted(out += ", \"uuid\": ", uuid_text(uuid));
  const auto get = driver_function<CUresult(int*, CUdevice_attribute, CUdevice)>("cuDeviceGetAttribute");
  for (const Named& named : kAttributes) {
    int value = 0;
    if (!get || get(&value, named.attribute, handle) != CUDA_SUCCESS) continue;
    append_quoted(out += ", ", named.name);
    append_number(out += ": ", value);
  }
  return out + "}";
}

}  // namespace

std::string device_properties() {
  const auto get_count = driver_function<CUresult(int*)>("cuDeviceGetCount");
  const auto get_device = driver_function<CUresult(CUdevice*, int)>("cuDeviceGet");
  int count = 0;
  if (!get_count || !get_device || get_count(&count) != CUDA_SUCCESS) return "[]";
  std::string list;
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    CUdevice handle = 0;
    if (get_device(&handle, ordinal) != CUDA_SUCCESS) continue;
    list += (list.empty() ? "" : ", ") + device(ordinal, handle);
  }
  return "[" + list + "]";
}

int contexts() {
  const auto get_count = driver_function<CUresult(int*)>("cuDeviceGetCount");
  const auto get_state = driver_function<CUresult(CUdevice, unsigned*, int*)>("cuDevicePrimaryCtxGetState");
  if (!get_count || !get_state) return 1;
  int devices = 0, active = 0;
  if (get_count(&devices) != CUDA_SUCCESS) return 0;
  for (CUdevice device = 0; device < devices; ++device) {
    unsigned flags = 0;
    int is_active = 0;
    active += get_state(device, &flags, &is_active) == CUDA_SUCCESS && is_active;
  }
  return active;
}

bool finish_work() {
  const auto wait = driver_function<CUresult()>("cuCtxSynchronize");
  return contexts() == 1 && wait && wait() == CUDA_SUCCESS;
}

int driver_version() {
  int version = 0;
  const auto get = driver_function<CUresult(int*)>("cuDriverGetVersion");
  return get && get(&version) == CUDA_SUCCESS ? version : 0;
}

}  // namespace rocm_perf
