#include "softgpu/device/settings.h"

#include <cstdlib>
#include <fstream>
#include <sstream>

namespace rocm_perf::softgpu::device {
namespace {

std::string rest_of(std::istringstream& words) {
  std::string text;
  std::getline(words >> std::ws, text);
  return text;
}

Gpu read_gpu(std::istringstream& words) {
  Gpu gpu;
  words >> gpu.id >> gpu.render_minor >> gpu.memory_bytes >> gpu.pci_device >> gpu.isa;
  gpu.name = rest_of(words);
  return gpu;
}

Settings* read_settings() {
  auto* out = new Settings;  // never destroyed: queues run until the very end of the process
  const char* folder = std::getenv("ROCM_PERF_SOFTGPU");
  if (!folder || !*folder) return out;
  out->folder = folder;
  out->is_loud = std::getenv("ROCM_PERF_SOFTGPU_LOG") != nullptr;
  std::ifstream file(out->folder + "/device.txt");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string key;
    words >> key;
    if (key == "gpu") out->gpus.push_back(read_gpu(words));
    if (key == "loader") out->loader = rest_of(words);
    if (key == "libraries") out->libraries = rest_of(words);
    if (key == "library") out->library = rest_of(words);
  }
  return out;
}

}  // namespace

const Settings& settings() {
  static const Settings* const read = read_settings();
  return *read;
}

int gpu_index(std::uint32_t id) {
  const auto& gpus = settings().gpus;
  for (std::size_t index = 0; index < gpus.size(); ++index) {
    if (gpus[index].id == id) return static_cast<int>(index);
  }
  return -1;
}

}  // namespace rocm_perf::softgpu::device
