// The functions of CUDA's two APIs: what they are called, and which are worth a record.
#pragma once

#include <cupti.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rocm_perf {

class Calls {
 public:
  explicit Calls(CUpti_CallbackDomain domain) : domain_(domain) {}
  const std::string& name(CUpti_CallbackId id);  // empty if CUPTI does not know it

 private:
  CUpti_CallbackDomain domain_;
  std::vector<std::string> names_;
};

// Runtime functions that a verdict needs: those that give the GPU work, wait for it, allocate, or record and run
// graphs.
bool is_needed(const std::string& runtime_function);
// Driver functions that give the GPU work or wait for it: Triton, JAX and Julia call them, past the runtime.
bool is_work(const std::string& driver_function);
// What a function of either API means for a profiler that wants to leave.
enum class CallKind : std::uint8_t { other, graph, wait, query, capture_begin, capture_end };
CallKind call_kind(std::string_view function);

}  // namespace rocm_perf
