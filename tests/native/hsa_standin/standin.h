// A stand-in for AMD's HSA runtime, for tests only: no GPU, "device" memory is host memory at chosen addresses, and a
// kernel is a C function. It proves our own plumbing, not ROCr. What it can be told to do is in README.md.
#pragma once
#ifndef AMD_INTERNAL_BUILD
#define AMD_INTERNAL_BUILD
#endif
#include <hsa/hsa.h>
#include <hsa/hsa_api_trace.h>
#include <hsa/hsa_ext_amd.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "launch.h"

namespace standin {

inline std::string option(const char* name, const char* otherwise = "") {
  const char* value = std::getenv((std::string("STANDIN_") + name).c_str());
  return value ? value : otherwise;
}
inline std::uint64_t number(const char* name, const char* otherwise) {
  return std::strtoull(option(name, otherwise).c_str(), nullptr, 0);
}
[[noreturn]] inline void misuse(const char* what) {
  std::fprintf(stderr, "stand-in HSA runtime: %s\n", what);
  std::abort();
}

constexpr std::uint64_t kTicksPerSecond = 100 * 1000 * 1000;  // not nanoseconds, so that nobody takes them for it
std::uint64_t ticks();

struct Queue;
struct Signal {
  std::atomic<hsa_signal_value_t> value{0};
  Queue* doorbell_of = nullptr;
  std::uint64_t start = 0, end = 0;
  std::atomic<bool> destroyed{false};  // its memory stays, so that a later use is told and does not go unseen
};
inline Signal& at(hsa_signal_t signal) {
  auto& out = *reinterpret_cast<Signal*>(signal.handle);
  if (out.destroyed) misuse("a signal was used that had been destroyed");
  return out;
}
void store(Signal& signal, hsa_signal_value_t value);
void subtract(hsa_signal_t signal);
hsa_signal_value_t wait(hsa_signal_t signal, hsa_signal_condition_t condition, hsa_signal_value_t than,
                        std::uint64_t timeout_ticks);

// Agents by their handles: 1 the host, 2 and 3 the GPUs.
constexpr std::uint64_t kHost = 1;
inline std::uint64_t gpus() { return number("GPUS", "1"); }
inline std::string gfx() { return option("GFX", "gfx942"); }

struct Symbol {
  std::string name;
  bool kernel = false;
  std::uint64_t address = 0;  // of the kernel object, or of the variable
  std::uint32_t size = 0, kernarg_bytes = 0, group_bytes = 0, private_bytes = 0;
  const void* executable = nullptr;
  void (*function)(const Launch&) = nullptr;
};

void run(const hsa_kernel_dispatch_packet_t& packet);  // code.cpp
void add_calls(CoreApiTable& core);                    // each of the files fills in what it has
void add_memory_calls(CoreApiTable& core);
void add_code_calls(CoreApiTable& core);
void* amd_call(const std::string& name);  // queues.cpp; null if there is none
void* amd_memory_call(const std::string& name);
void squat();
void copied();
std::uint64_t device_memory(std::uint64_t size);

}  // namespace standin
