// The stand-in's API table, how a tool gets it, and the exported calls, each of which goes through the table.
#include <dlfcn.h>

#include <sstream>

#include "description.h"
#include "order.h"
#include "standin.h"

namespace standin {
namespace {

using OnTable = void (*)(int, std::uint64_t, std::uint64_t, void**, std::uint64_t, void*);

CoreApiTable core;
std::vector<std::string> names;  // of the AMD table's calls, in order
std::vector<void*> amd;          // two words of version, then the calls
HsaApiTable table;
OnTable on_table = nullptr;
void* on_table_data = nullptr;
void (*on_unload)() = nullptr;

std::vector<std::string> ordered() {
#define X(name) #name,
  if (option("TABLE", "6") == "5") return {STANDIN_ORDER_5(X)};
  if (option("TABLE", "6") == "10") return {STANDIN_ORDER_10(X)};
  return {STANDIN_ORDER_6(X)};
#undef X
}

void make_tables() {
  std::uint32_t major = option("TABLE", "6") == "5" ? 1 : 2;
  add_calls(core);
  add_memory_calls(core);
  add_code_calls(core);
  core.hsa_status_string_fn = [](hsa_status_t, const char** out) {
    *out = "a stand-in's error";
    return HSA_STATUS_SUCCESS;
  };
  core.hsa_system_get_info_fn = [](hsa_system_info_t what, void* out) {
    if (what == HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY)
      *static_cast<std::uint64_t*>(out) = kTicksPerSecond;
    else
      *static_cast<std::uint16_t*>(out) = 1;
    return HSA_STATUS_SUCCESS;
  };
  core.version = {major, sizeof core, 0, 0};
  names = ordered();
  amd.assign(2 + names.size(), nullptr);
  for (std::size_t at = 0; at < names.size(); ++at) amd[2 + at] = amd_call(names[at]);
  auto* version = reinterpret_cast<ApiTableVersion*>(amd.data());
  *version = {major, static_cast<std::uint32_t>(amd.size() * sizeof(void*)), 0, 0};
  table.version = {major == 1 ? 1u : 3u, sizeof table, 0, 0};
  table.core_ = &core;
  table.amd_ext_ = reinterpret_cast<decltype(table.amd_ext_)>(amd.data());
}

void* opened(const std::string& path) {
  void* library = ::dlopen(path.c_str(), RTLD_NOW);
  if (!library) misuse(::dlerror());
  return library;
}

// As rocprofiler-register does: it asks the tool, which then asks for the table; HSA_TOOLS_LIB is ignored.
void hand_to_register(const char* libraries) {
  void* tool = opened(libraries);
  auto* configure = ::dlsym(tool, "rocprofiler_configure");
  if (!configure) misuse("the tool has no rocprofiler_configure");
  reinterpret_cast<void* (*)(std::uint32_t, const char*, std::uint32_t, void*)>(configure)(10000, "1.0.0", 0, nullptr);
  void* tables[] = {&table};
  if (on_table) on_table(1, 1, 0, tables, 1, on_table_data);
}

void hand_to_tool(const char* path) {
  void* tool = opened(path);
  auto* load = reinterpret_cast<bool (*)(HsaApiTable*, std::uint64_t, std::uint64_t, const char* const*)>(
      ::dlsym(tool, "OnLoad"));
  if (!load || !load(&table, 1, 0, nullptr)) return;
  on_unload = reinterpret_cast<void (*)()>(::dlsym(tool, "OnUnload"));
}

template <class Function>
Function* slot(const char* name) {
  for (std::size_t at = 0; at < names.size(); ++at)
    if (names[at] == name) return reinterpret_cast<Function*>(amd[2 + at]);
  misuse((std::string("the table has no ") + name).c_str());
}

}  // namespace

hsa_status_t initialise() {
  static std::once_flag once;
  if (option("NO_DEVICE") == "1") return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  std::call_once(once, [] {
    squat();
    make_tables();
    const char* tool = std::getenv("HSA_TOOLS_LIB");
    const char* registered = std::getenv("ROCP_TOOL_LIBRARIES");
    if (option("REGISTER") == "1" && registered)
      hand_to_register(registered);
    else if (tool)
      hand_to_tool(tool);
  });
  return HSA_STATUS_SUCCESS;
}

}  // namespace standin

using namespace standin;
#define API extern "C" __attribute__((visibility("default")))
#define CORE(RESULT, NAME, TAKES, GIVES) \
  API RESULT NAME TAKES { return core.NAME##_fn GIVES; }
#define AMD(RESULT, NAME, TAKES, GIVES) \
  API RESULT NAME TAKES { return slot<RESULT TAKES>(#NAME) GIVES; }

API hsa_status_t hsa_init() { return initialise(); }
API hsa_status_t hsa_shut_down() {
  if (on_unload) on_unload();
  return HSA_STATUS_SUCCESS;
}
API int rocprofiler_at_intercept_table_registration(OnTable callback, int, void* data) {
  on_table = callback;
  on_table_data = data;
  return 0;
}

using Status = hsa_status_t;
using Value = hsa_signal_value_t;
CORE(Status, hsa_iterate_agents, (Status(*with)(hsa_agent_t, void*), void* data), (with, data))
CORE(Status, hsa_agent_get_info, (hsa_agent_t agent, hsa_agent_info_t what, void* out), (agent, what, out))
CORE(Status, hsa_agent_iterate_regions, (hsa_agent_t agent, Status (*with)(hsa_region_t, void*), void* data),
     (agent, with, data))
CORE(Status, hsa_region_get_info, (hsa_region_t region, hsa_region_info_t what, void* out), (region, what, out))
CORE(Status, hsa_system_get_info, (hsa_system_info_t what, void* out), (what, out))
CORE(Status, hsa_status_string, (Status status, const char** out), (status, out))
CORE(Status, hsa_signal_create, (Value value, uint32_t count, const hsa_agent_t* who, hsa_signal_t* out),
     (value, count, who, out))
CORE(Status, hsa_signal_destroy, (hsa_signal_t signal), (signal))
CORE(Value, hsa_signal_load_scacquire, (hsa_signal_t signal), (signal))
CORE(void, hsa_signal_store_screlease, (hsa_signal_t signal, Value value), (signal, value))
CORE(void, hsa_signal_add_scacq_screl, (hsa_signal_t signal, Value value), (signal, value))
CORE(Value, hsa_signal_wait_scacquire,
     (hsa_signal_t signal, hsa_signal_condition_t condition, Value than, uint64_t timeout, hsa_wait_state_t state),
     (signal, condition, than, timeout, state))
CORE(Status, hsa_queue_create,
     (hsa_agent_t agent, uint32_t size, hsa_queue_type32_t type, void (*callback)(Status, hsa_queue_t*, void*),
      void* data, uint32_t scratch, uint32_t group, hsa_queue_t** out),
     (agent, size, type, callback, data, scratch, group, out))
CORE(Status, hsa_queue_destroy, (hsa_queue_t * queue), (queue))
CORE(uint64_t, hsa_queue_load_read_index_scacquire, (const hsa_queue_t* queue), (queue))
CORE(uint64_t, hsa_queue_load_write_index_relaxed, (const hsa_queue_t* queue), (queue))
CORE(uint64_t, hsa_queue_add_write_index_scacq_screl, (const hsa_queue_t* queue, uint64_t count), (queue, count))
CORE(uint64_t, hsa_queue_cas_write_index_scacq_screl, (const hsa_queue_t* queue, uint64_t expected, uint64_t value),
     (queue, expected, value))
CORE(void, hsa_queue_store_write_index_screlease, (const hsa_queue_t* queue, uint64_t value), (queue, value))
CORE(Status, hsa_memory_allocate, (hsa_region_t region, size_t size, void** out), (region, size, out))
CORE(Status, hsa_memory_free, (void* address), (address))
CORE(Status, hsa_memory_copy, (void* to, const void* from, size_t size), (to, from, size))
CORE(Status, hsa_code_object_reader_create_from_memory, (const void* data, size_t size, hsa_code_object_reader_t* out),
     (data, size, out))
CORE(Status, hsa_code_object_reader_create_from_file, (hsa_file_t file, hsa_code_object_reader_t* out), (file, out))
CORE(Status, hsa_code_object_reader_destroy, (hsa_code_object_reader_t reader), (reader))
CORE(Status, hsa_executable_create_alt,
     (hsa_profile_t profile, hsa_default_float_rounding_mode_t mode, const char* options, hsa_executable_t* out),
     (profile, mode, options, out))
CORE(Status, hsa_executable_load_agent_code_object,
     (hsa_executable_t executable, hsa_agent_t agent, hsa_code_object_reader_t reader, const char* options,
      hsa_loaded_code_object_t* out),
     (executable, agent, reader, options, out))
CORE(Status, hsa_executable_freeze, (hsa_executable_t executable, const char* options), (executable, options))
CORE(Status, hsa_executable_destroy, (hsa_executable_t executable), (executable))
CORE(Status, hsa_executable_get_symbol_by_name,
     (hsa_executable_t executable, const char* name, const hsa_agent_t* agent, hsa_executable_symbol_t* out),
     (executable, name, agent, out))
CORE(Status, hsa_executable_symbol_get_info,
     (hsa_executable_symbol_t symbol, hsa_executable_symbol_info_t what, void* out), (symbol, what, out))
CORE(Status, hsa_executable_iterate_agent_symbols,
     (hsa_executable_t executable, hsa_agent_t agent,
      Status (*with)(hsa_executable_t, hsa_agent_t, hsa_executable_symbol_t, void*), void* data),
     (executable, agent, with, data))

AMD(Status, hsa_amd_agent_iterate_memory_pools,
    (hsa_agent_t agent, Status (*with)(hsa_amd_memory_pool_t, void*), void* data), (agent, with, data))
AMD(Status, hsa_amd_memory_pool_get_info, (hsa_amd_memory_pool_t pool, hsa_amd_memory_pool_info_t what, void* out),
    (pool, what, out))
AMD(Status, hsa_amd_memory_pool_allocate, (hsa_amd_memory_pool_t pool, size_t size, uint32_t flags, void** out),
    (pool, size, flags, out))
AMD(Status, hsa_amd_memory_pool_free, (void* address), (address))
AMD(Status, hsa_amd_memory_async_copy,
    (void* to, hsa_agent_t to_agent, const void* from, hsa_agent_t from_agent, size_t size, uint32_t count,
     const hsa_signal_t* after, hsa_signal_t completes),
    (to, to_agent, from, from_agent, size, count, after, completes))
AMD(Status, hsa_amd_memory_async_copy_rect,
    (const hsa_pitched_ptr_t* to, const hsa_dim3_t* to_offset, const hsa_pitched_ptr_t* from,
     const hsa_dim3_t* from_offset, const hsa_dim3_t* range, hsa_agent_t agent, hsa_amd_copy_direction_t direction,
     uint32_t count, const hsa_signal_t* after, hsa_signal_t completes),
    (to, to_offset, from, from_offset, range, agent, direction, count, after, completes))
AMD(Status, hsa_amd_agents_allow_access,
    (uint32_t count, const hsa_agent_t* agents, const uint32_t* flags, const void* address),
    (count, agents, flags, address))
AMD(Status, hsa_amd_memory_fill, (void* to, uint32_t value, size_t count), (to, value, count))
AMD(Status, hsa_amd_memory_lock, (void* host, size_t size, hsa_agent_t* agents, int count, void** out),
    (host, size, agents, count, out))
AMD(Status, hsa_amd_memory_unlock, (void* host), (host))
AMD(Status, hsa_amd_svm_attributes_set,
    (void* address, size_t size, hsa_amd_svm_attribute_pair_t* attributes, size_t count),
    (address, size, attributes, count))
AMD(Status, hsa_amd_ipc_memory_attach,
    (const hsa_amd_ipc_memory_t* handle, size_t size, uint32_t count, const hsa_agent_t* agents, void** out),
    (handle, size, count, agents, out))
AMD(Status, hsa_amd_profiling_set_profiler_enabled, (hsa_queue_t * queue, int on), (queue, on))
AMD(Status, hsa_amd_profiling_get_dispatch_time,
    (hsa_agent_t agent, hsa_signal_t signal, hsa_amd_profiling_dispatch_time_t* out), (agent, signal, out))
AMD(Status, hsa_amd_queue_create, (hsa_agent_t agent, QueueDescription* descriptions, uint32_t count),
    (agent, descriptions, count))
AMD(Status, hsa_amd_vmem_address_reserve, (void** out, size_t size, uint64_t wanted, uint64_t flags),
    (out, size, wanted, flags))
AMD(Status, hsa_amd_vmem_handle_create,
    (hsa_amd_memory_pool_t pool, size_t size, uint32_t type, uint64_t flags, uint64_t* out),
    (pool, size, type, flags, out))
AMD(Status, hsa_amd_vmem_map, (void* address, size_t size, size_t offset, uint64_t handle, uint64_t flags),
    (address, size, offset, handle, flags))
AMD(Status, hsa_amd_vmem_unmap, (void* address, size_t size), (address, size))
AMD(Status, hsa_amd_vmem_set_access, (void* address, size_t size, const void* access, size_t count),
    (address, size, access, count))
