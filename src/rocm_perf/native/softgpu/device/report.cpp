#include "softgpu/device/report.h"

#include <time.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <fstream>

#include "softgpu/device/settings.h"

namespace rocm_perf::softgpu::device {
namespace {
constexpr int kExitCode = 1;
constexpr std::uint64_t kNsPerTick = 10;
}  // namespace

void log(const char* format, ...) {
  if (!settings().is_loud) return;
  va_list arguments;
  va_start(arguments, format);
  std::string line = "[softgpu] " + std::string(format) + "\n";
  std::vfprintf(stderr, line.c_str(), arguments);
  va_end(arguments);
}

void fail(const std::string& reason) {
  std::ofstream(settings().folder + "/failure-" + std::to_string(::getpid())) << reason << '\n';
  std::fprintf(stderr, "software GPU: %s\n", reason.c_str());
  std::fflush(nullptr);
  ::_exit(kExitCode);
}

std::uint64_t now_ns() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC_RAW, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1000000000 + static_cast<std::uint64_t>(time.tv_nsec);
}

std::uint64_t gpu_ticks() { return now_ns() / kNsPerTick; }

std::string hexadecimal(std::uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

}  // namespace rocm_perf::softgpu::device
