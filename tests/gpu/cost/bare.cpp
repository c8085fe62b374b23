// CUPTI alone: the activities of our tracer with an empty consumer, loaded into the program as the tracer is, by CUDA
// and by NVTX. What this costs, any tracer costs.
#include <cupti.h>

#include <cstdint>
#include <cstdlib>
#include <string>

#include "common/environment.h"
#include "cupti/activities.h"

namespace {

constexpr std::size_t kBufferBytes = 1 << 20;

void CUPTIAPI requested(std::uint8_t** buffer, std::size_t* size, std::size_t* most_records) {
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(16, kBufferBytes));
  *size = kBufferBytes;
  *most_records = 0;
}

void CUPTIAPI completed(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t) { std::free(buffer); }

}  // namespace

extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
  const std::string domains = rocm_perf::environment("ROCM_PERF_CUPTI_DOMAINS", "kernel,hip,copy,marker");
  rocm_perf::enable_activities(domains, rocm_perf::call_choice(domains, true));
  cuptiActivityRegisterCallbacks(requested, completed);
  std::atexit([] { cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED); });
  return 1;
}
