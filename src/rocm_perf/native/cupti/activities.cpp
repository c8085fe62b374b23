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

void switch_functions(const Api& api, bool wanted, bool on) {
  Calls calls(api.domain);
  for (CUpti_CallbackId id = 1; id < api.end; ++id)
    if (api.is_wanted(calls.name(id)) == wanted) api.one_function(id, on);
}

// All functions also where this CUPTI cannot choose.
CUptiResult switch_calls(const Api& api, CallChoice choice, bool on) {
  if (choice == CallChoice::chosen && api.one_function) return switch_functions(api, true, on), CUPTI_SUCCESS;
  const CUptiResult result = (on ? cuptiActivityEnable : cuptiActivityDisable)(api.all);
  if (choice == CallChoice::left_out && api.one_function && on) switch_functions(api, false, false);
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

CallChoice call_choice(const std::string& domains, bool before_first_call) {
  if (is_asked(domains, "hsa")) return CallChoice::all;
  return before_first_call ? CallChoice::chosen : CallChoice::left_out;
}

std::vector<std::string> enable_activities(const std::string& domains, CallChoice choice) {
  std::vector<std::string> problems;
  const auto note = [&problems](const char* what, CUptiResult result) {
    if (result != CUPTI_SUCCESS) problems.push_back(problem(what, result));
  };
  for (const Wanted& wanted : kKinds)
    if (is_asked(domains, wanted.domain)) note(wanted.what, cuptiActivityEnable(wanted.kind));
  if (records_calls(domains))
    for (const Api& api : kApis) note(api.what, switch_calls(api, choice, true));
  return problems;
}

void disable_activities(const std::string& domains, CallChoice choice) {
  for (const Wanted& wanted : kKinds)
    if (is_asked(domains, wanted.domain)) cuptiActivityDisable(wanted.kind);
  if (records_calls(domains))
    for (const Api& api : kApis) switch_calls(api, choice, false);
}

}  // namespace rocm_perf
