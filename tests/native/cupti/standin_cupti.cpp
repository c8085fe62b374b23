// Stand-in for CUPTI's activity and callback APIs: buffers are filled by the program, and handed over when they are
// full or flushed. STANDIN_BUSY: another profiler has subscribed already. STANDIN_READS_SLOWLY: a tenth of a
// millisecond a record. STANDIN_ATTACHES_SLOWLY: a fifth of a second, as on a crowded machine. STANDIN_SAYS_CALLS: the
// name of each that is recorded, on stderr, as is what makes programs crash with the real one.
#include <cupti.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "standin.h"

namespace {

std::mutex guard;
CUpti_BuffersCallbackRequestFunc request = nullptr;
CUpti_BuffersCallbackCompleteFunc complete = nullptr;
CUpti_CallbackFunc callback = nullptr;
std::uint8_t* buffer = nullptr;
std::size_t room = 0, used = 0, lost = 0;
std::map<std::size_t, unsigned> devices;
std::set<CUpti_ActivityKind> kinds;
std::set<std::pair<CUpti_ActivityKind, CUpti_CallbackId>> chosen, left_out;  // functions of the APIs
bool has_begun = false;                                                      // choosing some has no effect any more
std::set<std::pair<CUpti_CallbackDomain, CUpti_CallbackId>> callbacks;
std::set<CUpti_CallbackDomain> domains;
unsigned detachments = 0;
int result = 0;           // of all calls
int calls_under_way = 0;  // of the program, in all threads
bool graph_runs = false;
std::set<std::thread::id> callers;  // while attached

bool is_call(const CUpti_Activity& activity) {
  return activity.kind == CUPTI_ACTIVITY_KIND_RUNTIME || activity.kind == CUPTI_ACTIVITY_KIND_DRIVER;
}

const CUpti_ActivityAPI& as_call(const CUpti_Activity& activity) {
  return reinterpret_cast<const CUpti_ActivityAPI&>(activity);
}

const char* name(const CUpti_ActivityAPI& call) {
  const char* name = "";
  const bool is_runtime = call.kind == CUPTI_ACTIVITY_KIND_RUNTIME;
  cuptiGetCallbackName(is_runtime ? CUPTI_CB_DOMAIN_RUNTIME_API : CUPTI_CB_DOMAIN_DRIVER_API, call.cbid, &name);
  return name;
}

bool is_recorded(const CUpti_Activity& activity) {
  if (!is_call(activity)) return kinds.count(activity.kind);
  const std::pair function{activity.kind, as_call(activity).cbid};
  return chosen.count(function) || (kinds.count(activity.kind) && !left_out.count(function));
}

CUptiResult choose(CUpti_ActivityKind kind, CUpti_CallbackId function, bool on) {
  const std::lock_guard lock(guard);
  if (on && !has_begun) chosen.insert({kind, function});
  if (!on) chosen.erase({kind, function}), left_out.insert({kind, function});
  return CUPTI_SUCCESS;
}

void hand_over() {
  if (buffer) complete(nullptr, 0, buffer, room, used);
  buffer = nullptr;
}

CUpti_CallbackData call_data(CUpti_ApiCallbackSite site) {
  CUpti_CallbackData data{};
  data.callbackSite = site;
  data.functionReturnValue = &result;
  return data;
}

// Each record stands behind its size.
struct Stored {
  std::uint64_t size;
  CUpti_Activity activity;
};

}  // namespace

extern "C" {

void standin_put(const void* record, std::size_t size) {
  const std::lock_guard lock(guard);
  const auto& activity = *static_cast<const CUpti_Activity*>(record);
  if (!request || !is_recorded(activity)) return;
  if (std::getenv("STANDIN_SAYS_CALLS") && is_call(activity)) std::fprintf(stderr, "%s\n", name(as_call(activity)));
  const std::size_t needed = 8 + (size + 7) / 8 * 8;
  if (buffer && used + needed > room) hand_over();
  if (!buffer) {
    std::size_t most = 0;
    used = 0;
    request(&buffer, &room, &most);
  }
  if (!buffer) {
    ++lost;
    return;
  }
  const std::uint64_t length = needed;
  std::memcpy(buffer + used, &length, 8);
  std::memcpy(buffer + used + 8, record, size);
  used += needed;
}

void standin_drop(std::size_t records) { lost += records; }

unsigned long standin_now() {
  timespec time{};
  clock_gettime(CLOCK_REALTIME, &time);
  return time.tv_sec * 1000000000ul + time.tv_nsec;
}

bool standin_records_kernels() {
  const std::lock_guard lock(guard);
  return kinds.count(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
}

bool standin_is_attached() {
  const std::lock_guard lock(guard);
  return callback;
}

bool standin_has_context(unsigned device) {
  const std::lock_guard lock(guard);
  return std::any_of(devices.begin(), devices.end(),
                     [device](const auto& context) { return context.second == device; });
}

void standin_gpu_is_idle() {
  const std::lock_guard lock(guard);
  graph_runs = false;
}

unsigned standin_detachments() {
  const std::lock_guard lock(guard);
  return detachments;
}

void standin_context_created(unsigned id, unsigned device) {
  {
    const std::lock_guard lock(guard);
    devices[id] = device;
    has_begun = true;
  }
  CUpti_ResourceData data{};
  data.context = reinterpret_cast<CUcontext>(static_cast<std::size_t>(id));
  standin_call_back(CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_CONTEXT_CREATED, &data);
}

void standin_call_back(CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) {
  CUpti_CallbackFunc wanted = nullptr;
  {
    const std::lock_guard lock(guard);
    if (callbacks.count({domain, id}) || domains.count(domain)) wanted = callback;
  }
  if (wanted) wanted(nullptr, domain, id, data);
}

void standin_begin_call(CUpti_CallbackDomain domain, CUpti_CallbackId id) {
  const CUpti_CallbackData data = call_data(CUPTI_API_ENTER);
  standin_call_back(domain, id, &data);
  const std::lock_guard lock(guard);
  ++calls_under_way;
  if (callback) callers.insert(std::this_thread::get_id());
  graph_runs |= domain == CUPTI_CB_DOMAIN_RUNTIME_API && id == CUPTI_RUNTIME_TRACE_CBID_cudaGraphLaunch_v10000;
}

void standin_end_call(CUpti_CallbackDomain domain, CUpti_CallbackId id) {
  {
    const std::lock_guard lock(guard);
    --calls_under_way;
  }
  const CUpti_CallbackData data = call_data(CUPTI_API_EXIT);
  standin_call_back(domain, id, &data);
}

CUptiResult cuptiSubscribe(CUpti_SubscriberHandle*, CUpti_CallbackFunc function, void*) {
  if (std::getenv("STANDIN_ATTACHES_SLOWLY")) usleep(200 * 1000);
  const std::lock_guard lock(guard);
  if (!std::getenv("STANDIN_BUSY")) callback = function;
  return std::getenv("STANDIN_BUSY") ? CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED : CUPTI_SUCCESS;
}
CUptiResult cuptiEnableCallback(uint32_t, CUpti_SubscriberHandle, CUpti_CallbackDomain domain, CUpti_CallbackId id) {
  const std::lock_guard lock(guard);
  callbacks.insert({domain, id});
  return CUPTI_SUCCESS;
}
CUptiResult cuptiEnableDomain(uint32_t on, CUpti_SubscriberHandle, CUpti_CallbackDomain domain) {
  const std::lock_guard lock(guard);
  on ? (void)domains.insert(domain) : (void)domains.erase(domain);
  if (!on) callbacks.erase(callbacks.lower_bound({domain, 0}), callbacks.upper_bound({domain, UINT32_MAX}));
  return CUPTI_SUCCESS;
}
// Everything is forgotten; numbers begin anew.
CUptiResult cuptiFinalize() {
  const std::lock_guard lock(guard);
  callback = nullptr, request = nullptr, complete = nullptr, buffer = nullptr;
  callbacks.clear(), domains.clear(), kinds.clear(), chosen.clear(), left_out.clear();
  ++detachments;
  if (calls_under_way) std::fprintf(stderr, "detached while a call was under way\n");
  if (callers.size() > 1) std::fprintf(stderr, "detached where several threads call\n");
  if (graph_runs) std::fprintf(stderr, "detached while a graph ran\n");
  if (const char* said = std::getenv("STANDIN_SAYS_FINALIZED")) std::fprintf(stderr, "%s\n", said);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind) {
  const std::lock_guard lock(guard);
  if (!callback) std::fprintf(stderr, "enabled before it was attached\n");
  if (kinds.insert(kind).second)
    left_out.erase(left_out.lower_bound({kind, 0}), left_out.upper_bound({kind, UINT32_MAX}));
  return kind == CUPTI_ACTIVITY_KIND_OVERHEAD ? CUPTI_ERROR_INVALID_KIND : CUPTI_SUCCESS;
}
CUptiResult cuptiActivityEnableRuntimeApi(CUpti_CallbackId function, uint8_t on) {
  return choose(CUPTI_ACTIVITY_KIND_RUNTIME, function, on);
}
CUptiResult cuptiActivityEnableDriverApi(CUpti_CallbackId function, uint8_t on) {
  return choose(CUPTI_ACTIVITY_KIND_DRIVER, function, on);
}
CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind) {
  const std::lock_guard lock(guard);
  kinds.erase(kind);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc first,
                                           CUpti_BuffersCallbackCompleteFunc second) {
  const std::lock_guard lock(guard);
  request = first, complete = second;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityFlushAll(uint32_t) {
  const std::lock_guard lock(guard);
  hand_over();
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityGetNextRecord(uint8_t* data, size_t size, CUpti_Activity** record) {
  {
    const std::lock_guard lock(guard);
    if (!callback) std::fprintf(stderr, "read when detached\n");
  }
  if (std::getenv("STANDIN_READS_SLOWLY")) usleep(100);
  std::uint8_t* next = data;
  if (*record) {
    Stored* stored = reinterpret_cast<Stored*>(reinterpret_cast<std::uint8_t*>(*record) - 8);
    next = reinterpret_cast<std::uint8_t*>(stored) + stored->size;
  }
  if (next >= data + size) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = reinterpret_cast<CUpti_Activity*>(next + 8);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext, uint32_t, size_t* records) {
  *records = lost;
  lost = 0;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiGetTimestamp(uint64_t* time) { return *time = standin_now(), CUPTI_SUCCESS; }
CUptiResult cuptiGetVersion(uint32_t* version) { return *version = CUPTI_API_VERSION, CUPTI_SUCCESS; }
CUptiResult cuptiGetResultString(CUptiResult, const char** text) { return *text = "STANDIN_REFUSAL", CUPTI_SUCCESS; }
CUptiResult cuptiGetContextId(CUcontext context, uint32_t* id) {
  *id = static_cast<uint32_t>(reinterpret_cast<std::size_t>(context));
  return CUPTI_SUCCESS;
}
CUptiResult cuptiGetDeviceId(CUcontext context, uint32_t* id) {
  const std::lock_guard lock(guard);
  *id = devices[reinterpret_cast<std::size_t>(context)];
  return CUPTI_SUCCESS;
}
CUptiResult cuptiSetThreadIdType(CUpti_ActivityThreadIdType) { return CUPTI_SUCCESS; }
CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t id, const char** name) {
  // There until the very end.
  static const auto& runtime = *new std::map<uint32_t, const char*>{
      {CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000, "cudaLaunchKernel_v7000"},
      {CUPTI_RUNTIME_TRACE_CBID_cudaMemcpy_ptds_v7000, "cudaMemcpy_ptds_v7000"},
      {CUPTI_RUNTIME_TRACE_CBID_cudaGraphLaunch_v10000, "cudaGraphLaunch_v10000"},
      {CUPTI_RUNTIME_TRACE_CBID_cudaStreamSynchronize_v3020, "cudaStreamSynchronize_v3020"},
      {CUPTI_RUNTIME_TRACE_CBID_cudaStreamQuery_v3020, "cudaStreamQuery_v3020"},
      {CUPTI_RUNTIME_TRACE_CBID_cudaStreamBeginCapture_v10000, "cudaStreamBeginCapture_v10000"},
      {CUPTI_RUNTIME_TRACE_CBID_cudaStreamEndCapture_v10000, "cudaStreamEndCapture_v10000"},
      {CUPTI_RUNTIME_TRACE_CBID_cudaGetLastError_v3020, "cudaGetLastError_v3020"}};
  static const auto& driver =
      *new std::map<uint32_t, const char*>{{CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, "cuLaunchKernel"},
                                           {CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2, "cuMemAlloc_v2"}};
  const auto& names = domain == CUPTI_CB_DOMAIN_RUNTIME_API ? runtime : driver;
  const auto found = names.find(id);
  if (found == names.end()) return CUPTI_ERROR_INVALID_PARAMETER;
  *name = found->second;
  return CUPTI_SUCCESS;
}
int InitializeInjectionNvtx2(void* table) { return table ? 42 : 0; }
}
