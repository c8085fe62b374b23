#include "softgpu/device/paths.h"

#include <cstring>

#include "softgpu/device/settings.h"

namespace rocm_perf::softgpu::device {
namespace {

constexpr const char* kTopologies[] = {"/sys/devices/virtual/kfd/kfd/topology", "/sys/class/kfd/kfd/topology"};
constexpr const char kModule[] = "/sys/module/amdgpu";
constexpr const char kRender[] = "/dev/dri/renderD";

bool begins(const char* path, const char* with) { return std::strncmp(path, with, std::strlen(with)) == 0; }

}  // namespace

bool is_device_path(const char* path) {
  if (!path || !begins(path, "/dev/")) return false;
  if (std::strcmp(path, "/dev/kfd") == 0) return !settings().gpus.empty();
  if (!begins(path, kRender)) return false;
  for (const Gpu& gpu : settings().gpus) {
    if (path == kRender + std::to_string(gpu.render_minor)) return true;
  }
  return false;
}

std::string described_path(const char* path) {
  if (!path || !begins(path, "/sys/") || settings().folder.empty()) return "";
  for (const char* topology : kTopologies) {
    if (begins(path, topology)) return settings().folder + "/topology" + (path + std::strlen(topology));
  }
  if (begins(path, kModule)) return settings().folder + "/module" + (path + std::strlen(kModule));
  return "";
}

}  // namespace rocm_perf::softgpu::device
