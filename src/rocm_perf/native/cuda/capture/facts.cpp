#include "cuda/capture/facts.h"

#include <unistd.h>

#include <cstdint>
#include <cstdio>

namespace rocm_perf {
namespace {

int attribute(const Launch& launch, CUfunction_attribute which) {
  int value = 0;
  return driver().function_attribute(&value, which, launch.function) == CUDA_SUCCESS ? value : 0;
}

std::string driver_version() {
  int version = 0;
  driver().version(&version);
  return "CUDA driver " + std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::string device_json() {
  CUdevice device = 0;
  driver().context_device(&device);
  char name[256] = "";
  int major = 0, minor = 0;
  std::size_t memory = 0;
  CUuuid uuid{};
  driver().device_name(name, sizeof name, device);
  driver().device_attribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
  driver().device_attribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
  driver().device_memory(&memory, device);
  driver().device_uuid(&uuid, device);
  std::string hexadecimal;
  for (char byte : uuid.bytes) {
    char text[4];
    std::snprintf(text, sizeof text, "%02x", static_cast<unsigned char>(byte));
    hexadecimal += text;
  }
  return "{\"index\": " + std::to_string(device) + ", \"name\": " + quoted(name) +
         ", \"gfx\": " + quoted("sm_" + std::to_string(major) + std::to_string(minor)) +
         ", \"uuid\": " + quoted(hexadecimal) + ", \"memory_bytes\": " + std::to_string(memory) + "}";
}

}  // namespace

std::string dispatch_json(const Launch& launch, const std::string& symbol, const Target& target, const Layout& layout,
                          std::size_t arguments) {
  auto three = [](const unsigned (&of)[3], const unsigned (&times)[3]) {
    auto product = [&](int axis) { return std::to_string(std::uint64_t{of[axis]} * times[axis]); };
    return "[" + product(0) + ", " + product(1) + ", " + product(2) + "]";
  };
  const unsigned one[3] = {1, 1, 1};
  std::string parameters;
  for (const auto& parameter : layout)
    parameters += (parameters.empty() ? "" : ", ") + ("{\"offset\": " + std::to_string(parameter.first)) +
                  ", \"size\": " + std::to_string(parameter.second) + "}";
  return "{\"version\": 1, \"vendor\": \"NVIDIA\", \"kernel\": " + quoted(symbol) +
         ", \"name\": " + quoted(demangled(symbol)) + ", \"dispatch\": " + std::to_string(target.matched()) +
         ", \"launch\": " + std::to_string(target.launches()) + ", \"grid\": " + three(launch.blocks, launch.block) +
         ", \"workgroup\": " + three(launch.block, one) +
         ", \"dynamic_lds_bytes\": " + std::to_string(launch.dynamic_lds) +
         ", \"group_segment_bytes\": " + std::to_string(attribute(launch, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)) +
         ", \"private_segment_bytes\": " + std::to_string(attribute(launch, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)) +
         ", \"kernarg\": {\"size\": " + std::to_string(arguments) + ", \"address\": null}, \"parameters\": [" +
         parameters + "], \"device\": " + device_json() + ", \"driver\": " + quoted(driver_version()) +
         ", \"runtime\": " +
         quoted("CUDA " + std::to_string(CUDA_VERSION / 1000) + "." + std::to_string(CUDA_VERSION % 1000 / 10)) +
         ", \"attributes\": {\"cooperative\": " + (launch.cooperative ? "true" : "false") +
         ", \"cluster\": " + three(launch.cluster, one) +
         "}, \"code_object\": \"kernel.cubin\", \"pid\": " + std::to_string(::getpid()) +
         ", \"command\": " + command_json() + "}\n";
}

}  // namespace rocm_perf
