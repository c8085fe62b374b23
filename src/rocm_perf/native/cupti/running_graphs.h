// CUDA graphs that were launched and may still run. While CUPTI records, their kernels write to memory of CUPTI's,
// which goes with it (H200, CUDA 13.0: "an illegal memory access").
#pragma once

#include <cupti.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <utility>

namespace rocm_perf {

class RunningGraphs {
 public:
  void called(const CUpti_CallbackData& call);   // CUDA, in any thread
  bool finish(const CUpti_CallbackData& ended);  // waits a moment for the one that was just launched; whether none runs
  void forget();

 private:
  using Stream = std::pair<std::uint32_t, const void*>;  // of a context

  void launched(const Stream& stream);
  void waited(const Stream& stream, bool begins);
  void waited(std::uint32_t context, bool begins);

  std::mutex mutex_;  // of what follows
  std::map<Stream, std::uint64_t> last_launch_;
  std::uint64_t launches_ = 0;
};

}  // namespace rocm_perf
