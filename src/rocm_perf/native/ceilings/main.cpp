// Measures what a GPU reaches: `ceilings DEVICE` prints the GPU and then one JSON object per rate.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "ceilings/arithmetic.h"
#include "ceilings/host.h"
#include "ceilings/memory.h"
#include "gpu/gpu.h"

namespace rocm_perf {

namespace {

std::string architecture(const DeviceFacts& facts) {
#if defined(__HIP__)
  const std::string name = facts.gcnArchName;  // gfx942:sramecc+:xnack-
  return name.substr(0, name.find(':'));
#else
  return "sm_" + std::to_string(facts.major) + std::to_string(facts.minor);
#endif
}

// As torch writes it: 8-4-4-4-12 hexadecimal digits.
std::string uuid_text(const unsigned char* bytes) {
  std::string text;
  for (int place = 0; place < 16; ++place) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", bytes[place]);
    if (place == 4 || place == 6 || place == 8 || place == 10) text += '-';
    text += digits;
  }
  return text;
}

std::string uuid_of(int device, const DeviceFacts& facts) {
#if defined(__HIP__)
  (void)facts;
  hipUUID uuid;
  if (hipDeviceGetUuid(&uuid, device) != hipSuccess) return "";
  return uuid_text(reinterpret_cast<const unsigned char*>(uuid.bytes));
#else
  (void)device;
  return uuid_text(reinterpret_cast<const unsigned char*>(facts.uuid.bytes));
#endif
}

Chip describe(int device) {
  DeviceFacts facts;
  check(gpu(GetDeviceProperties)(&facts, device), "asking for the GPU's properties");
  std::printf(
      "{\"gpu\": {\"name\": \"%s\", \"gfx\": \"%s\", \"uuid\": \"%s\", \"compute_units\": %d, \"memory_bytes\": "
      "%zu}}\n",
      facts.name, architecture(facts).c_str(), uuid_of(device, facts).c_str(), facts.multiProcessorCount,
      facts.totalGlobalMem);
  std::fflush(stdout);
  return {facts.multiProcessorCount, facts.warpSize, facts.totalGlobalMem, static_cast<size_t>(facts.l2CacheSize)};
}

}  // namespace

}  // namespace rocm_perf

int main(int count, char** arguments) {
  const int device = count > 1 ? std::atoi(arguments[1]) : 0;
  rocm_perf::check(gpu(SetDevice)(device), "choosing the GPU");
  const rocm_perf::Chip chip = rocm_perf::describe(device);
  rocm_perf::measure_memory(chip);
  rocm_perf::measure_vector_units(chip);
  rocm_perf::measure_matrix_units(chip);
  rocm_perf::measure_launches();
  rocm_perf::measure_host_link();
  return 0;
}
