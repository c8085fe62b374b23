#include "cupti/activities.h"

#include <cupti.h>

#include <cstdint>

#include "cupti/calls.h"

// Of later releases than the oldest that this is built against: null where the loaded CUPTI has none.
extern "C" {
CUptiResult CUPTIAPI cuptiActivityEnableDriverApi(CUpti_CallbackId, std::uint8_t) __attribute__((weak));
CUptiResult CUPTIAPI cuptiActivityEnableRuntimeApi(CUpti_CallbackId, std::uint8_t) __attribute__((weak));
}

namespace rocm_perf {
namespace {

struct Wanted {
  const char* domain;
  const char* what;
  CUpti_ActivityKind kind;
};

constexpr Wanted kKinds[] = {
    {"kernel", "kernels", CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL},
    {"kernel", "CUPTI's own overhead", CUPTI_ACTIVITY_KIND_OVERHEAD},
    {"copy", "copies", CUPTI_ACTIVITY_KIND_MEMCPY},
    {"copy", "copies between GPUs", CUPTI_ACTIVITY_KIND_MEMCPY2},
    {"copy", "fills", CUPTI_ACTIVITY_KIND_MEMSET},
    {"hip", "waits", CUPTI_ACTIVITY_KIND_SYNCHRONIZATION},
    {"hip", "events", CUPTI_ACTIVITY_KIND_CUDA_EVENT},
    {"allocation", "allocations", CUPTI_ACTIVITY_KIND_MEMORY2},
    {"marker", "NVTX ranges", CUPTI_ACTIVITY_KIND_MARKER},
    {"rccl", "NCCL's ranges", CUPTI_ACTIVITY_KIND_MARKER},
};

using Switch = CUptiResult (*)(CUpti_CallbackId, std::uint8_t);

// One of CUDA's two APIs.
struct Api {
  const char* what;
  Switch one_function;
  CUpti_ActivityKind all;
  CUpti_CallbackDomain domain;
  CUpti_CallbackId end;
  bool (*is_wanted)(const std::string&);
};

const Api kApis[] = {
    {"API calls", cuptiActivityEnableRuntimeApi, CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_CB_DOMAIN_RUNTIME_API,
     CUPTI_RUNTIME_TRACE_CBID_SIZE, is_needed},
    {"driver calls", cuptiActivityEnableDriverApi, CUPTI_ACTIVITY_KIND_DRIVER, CUPTI_CB_DOMAIN_DRIVER_API,
     CUPTI_DRIVER_TRACE_CBID_SIZE, is_work},
};

// Left out of all, not chosen one by one: that records nothing once the program has called CUDA (H200, CUDA 13.0).
void leave_out_unwanted(const Api& api) {
  Calls calls(api.domain);
  for (CUpti_CallbackId id = 1; id < api.end; ++id)
    if (!api.is_wanted(calls.name(id))) api.one_function(id, false);
}

CUptiResult enable_calls(const Api& api, bool every) {
  const CUptiResult result = cuptiActivityEnable(api.all);
  if (!every && api.one_function) leave_out_unwanted(api);
  return result;
}

bool records_calls(const std::string& domains) { return is_asked(domains, "hip") || is_asked(domains, "hsa"); }

std::string problem(const char* what, CUptiResult result) {
  const char* text = nullptr;
  const bool known = cuptiGetResultString(result, &text) == CUPTI_SUCCESS && text;
  return std::string(what) + ": " + (known ? text : "CUPTI error " + std::to_string(result));
}

}  // namespace

bool is_asked(const std::string& domains, const std::string& domain) {
  return ("," + domains + ",").find("," + domain + ",") != std::string::npos;
}

std::vector<std::string> enable_activities(const std::string& domains) {
  std::vector<std::string> problems;
  const auto note = [&problems](const char* what, CUptiResult result) {
    if (result != CUPTI_SUCCESS) problems.push_back(problem(what, result));
  };
  for (const Wanted& wanted : kKinds)
    if (is_asked(domains, wanted.domain)) note(wanted.what, cuptiActivityEnable(wanted.kind));
  if (records_calls(domains))
    for (const Api& api : kApis) note(api.what, enable_calls(api, is_asked(domains, "hsa")));
  return problems;
}

void disable_activities(const std::string& domains) {
  for (const Wanted& wanted : kKinds)
    if (is_asked(domains, wanted.domain)) cuptiActivityDisable(wanted.kind);
  if (records_calls(domains))
    for (const Api& api : kApis) cuptiActivityDisable(api.all);
}

}  // namespace rocm_perf
