// The functions of libdrm_amdgpu that ROCr calls: it passes buffers on, and maps them at further addresses.
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "softgpu/device/hook.h"
#include "softgpu/device/memory.h"
#include "softgpu/device/report.h"
#include "softgpu/device/settings.h"

namespace kfd = rocm_perf::softgpu::device;
using kfd::Allocation;

namespace {

enum AddressOperation : std::uint32_t { kMap = 1, kUnmap = 2, kClear = 3, kReplace = 4 };

struct Device {
  int file;
};

// All GPUs of the machine are alike.
const kfd::Gpu& any_gpu() { return kfd::settings().gpus.front(); }

struct Imported {
  Allocation* buffer;
  std::uint64_t size;
};

const kfd::Gpu* gpu_of_minor(int minor) {
  for (const auto& gpu : kfd::settings().gpus) {
    if (gpu.render_minor == minor) return &gpu;
  }
  return nullptr;
}

}  // namespace

extern "C" {

HOOK int drmOpenRender(int minor) { return gpu_of_minor(minor) ? kfd::memory().open() : -1; }

HOOK int drmClose(int file) { return ::close(file); }

HOOK int amdgpu_device_initialize(int file, std::uint32_t* major, std::uint32_t* minor, Device** out) {
  *major = 3;
  *minor = 61;
  *out = new Device{::dup(file)};
  return 0;
}

HOOK int amdgpu_device_deinitialize(Device* device) {
  ::close(device->file);
  delete device;
  return 0;
}

HOOK int amdgpu_device_get_fd(Device* device) { return device->file; }

HOOK const char* amdgpu_get_marketing_name(Device*) { return any_gpu().name.c_str(); }

HOOK int amdgpu_query_gpu_info(Device*, void* out) {
  std::memcpy(out, &any_gpu().pci_device, sizeof(std::uint32_t));
  return 0;
}

HOOK int amdgpu_bo_import(Device*, int, std::uint32_t file, Imported* out) {
  auto* buffer = new Allocation;
  if (::pread(static_cast<int>(file), buffer, sizeof *buffer, 0) != sizeof *buffer) {
    delete buffer;
    return -EINVAL;
  }
  *out = Imported{buffer, buffer->size};
  return 0;
}

HOOK int amdgpu_bo_free(Allocation* buffer) {
  delete buffer;
  return 0;
}

HOOK int amdgpu_bo_export(Allocation* buffer, int, std::uint32_t* handle) {
  *handle = static_cast<std::uint32_t>(buffer->handle);
  return 0;
}

HOOK int amdgpu_bo_query_info(Allocation*, void*) { return 0; }

HOOK int amdgpu_bo_set_metadata(Allocation*, void*) { return 0; }

HOOK int amdgpu_bo_va_op(Allocation* buffer, std::uint64_t offset, std::uint64_t size, std::uint64_t address,
                         std::uint64_t, std::uint32_t operation) {
  kfd::log("addresses %s, %llu bytes, operation %u", kfd::hexadecimal(address).c_str(),
           static_cast<unsigned long long>(size), operation);
  if (operation == kMap || operation == kReplace) {
    return kfd::memory().map(*buffer, offset, size, address) ? 0 : -ENOMEM;
  }
  kfd::memory().unmap(address, size);
  return 0;
}

// DRM_AMDGPU_GEM_MMAP, the only one that ROCr sends: where a buffer can be mapped for the host.
HOOK int drmCommandWriteRead(int, unsigned long, void* data, unsigned long) {
  std::uint32_t handle = 0;
  std::memcpy(&handle, data, sizeof handle);
  auto found = kfd::memory().find(handle);
  if (!found) return -EINVAL;
  std::memcpy(data, &found->offset, sizeof found->offset);
  return 0;
}
}
