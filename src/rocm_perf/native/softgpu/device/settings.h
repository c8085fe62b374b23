// What `rocm-perf emulate` tells the device: one folder, named by ROCM_PERF_SOFTGPU.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace rocm_perf::softgpu::device {

struct Gpu {
  std::uint32_t id = 0;  // the driver's name for it
  int render_minor = 0;
  std::uint64_t memory_bytes = 0;
  std::uint32_t pci_device = 0;
  std::string isa;
  std::string name;
};

struct Settings {
  std::string folder;  // empty: the program is not emulated
  std::vector<Gpu> gpus;
  std::string loader;  // of the C library that the runtime needs; empty: the machine's own is new enough
  std::string libraries;
  std::string library;  // this one
  bool is_loud = false;
};

const Settings& settings();

// Index among the GPUs, or -1.
int gpu_index(std::uint32_t id);

}  // namespace rocm_perf::softgpu::device
