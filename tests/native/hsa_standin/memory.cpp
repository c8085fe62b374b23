// The stand-in's agents, pools, copies and virtual memory.
#include <sys/mman.h>
#include <unistd.h>

#include <csignal>

#include "standin.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

namespace standin {
namespace {

std::mutex mutex;
std::map<std::uint64_t, std::uint64_t> sizes;  // of live allocations
std::uint64_t next_device = 0x510000000000, next_host = 0x520000000000;
std::uint64_t used = 0;

std::uint64_t rounded(std::uint64_t size) { return (size + 0xffff) & ~0xffffull; }

// Addresses grow and never come back, as on a busy machine.
std::uint64_t allocate(std::uint64_t size, bool device) {
  std::lock_guard<std::mutex> hold(mutex);
  std::uint64_t& next = device ? next_device : next_host;
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE;
  if (device && used + rounded(size) > number("MEMORY", "0x200000000")) return 0;
  for (;; next += rounded(size)) {
    void* got = ::mmap(reinterpret_cast<void*>(next), rounded(size), PROT_READ | PROT_WRITE, kFlags, -1, 0);
    if (got != reinterpret_cast<void*>(next)) continue;
    std::uint64_t out = next;
    next += rounded(size);
    sizes[out] = rounded(size);
    if (device) used += rounded(size);
    return out;
  }
}

hsa_status_t free_memory(void* address) {
  std::lock_guard<std::mutex> hold(mutex);
  auto known = sizes.find(reinterpret_cast<std::uint64_t>(address));
  if (known == sizes.end()) return HSA_STATUS_ERROR_INVALID_ALLOCATION;
  ::munmap(address, known->second);
  sizes.erase(known);
  return HSA_STATUS_SUCCESS;
}

// Pools by their handles: an agent's handle times 16, plus 1 (coarse), 2 (kernarg) or 3 (fine).
bool on_device(std::uint64_t pool) { return pool / 16 != kHost; }

hsa_status_t allocate_from(std::uint64_t pool, std::size_t size, void** out) {
  std::uint64_t got = allocate(size, on_device(pool));
  *out = reinterpret_cast<void*>(got);
  return got ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_OUT_OF_RESOURCES;
}

hsa_status_t iterate_agents(hsa_status_t (*with)(hsa_agent_t, void*), void* data) {
  for (std::uint64_t agent = kHost; agent <= kHost + gpus(); ++agent) {
    hsa_status_t status = with({agent}, data);
    if (status != HSA_STATUS_SUCCESS) return status;
  }
  return HSA_STATUS_SUCCESS;
}

hsa_status_t agent_info(hsa_agent_t agent, hsa_agent_info_t what, void* out) {
  bool host = agent.handle == kHost;
  auto text = [&](const std::string& words) { std::strcpy(static_cast<char*>(out), words.c_str()); };
  switch (static_cast<int>(what)) {
    case HSA_AGENT_INFO_DEVICE:
      *static_cast<hsa_device_type_t*>(out) = host ? HSA_DEVICE_TYPE_CPU : HSA_DEVICE_TYPE_GPU;
      break;
    case HSA_AGENT_INFO_NAME:
      text(host ? "a CPU" : gfx());
      break;
    case HSA_AMD_AGENT_INFO_PRODUCT_NAME:
      text("stand-in GPU");
      break;
    case HSA_AMD_AGENT_INFO_UUID:
      text("GPU-standin-" + std::to_string(agent.handle));
      break;
    case HSA_AGENT_INFO_CACHE_SIZE: {
      const std::uint32_t sizes[4] = {32u << 10, 4u << 20, 256u << 20, 0};
      std::memcpy(out, sizes, sizeof sizes);
      break;
    }
    default:
      return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  }
  return HSA_STATUS_SUCCESS;
}

hsa_status_t iterate_pools(hsa_agent_t agent, hsa_status_t (*with)(hsa_amd_memory_pool_t, void*), void* data) {
  if (agent.handle != kHost) return with({agent.handle * 16 + 1}, data);
  with({kHost * 16 + 3}, data);
  return with({kHost * 16 + 2}, data);
}

hsa_status_t pool_info(hsa_amd_memory_pool_t pool, hsa_amd_memory_pool_info_t what, void* out) {
  constexpr std::uint32_t kFlags[] = {
      0, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED,
      HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT | HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED,
      HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED};
  if (what == HSA_AMD_MEMORY_POOL_INFO_SEGMENT)
    *static_cast<hsa_amd_segment_t*>(out) = HSA_AMD_SEGMENT_GLOBAL;
  else if (what == HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS)
    *static_cast<std::uint32_t*>(out) = kFlags[pool.handle % 16];
  else if (what == HSA_AMD_MEMORY_POOL_INFO_SIZE)
    *static_cast<std::size_t*>(out) = number("MEMORY", "0x200000000");
  else
    return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  return HSA_STATUS_SUCCESS;
}

hsa_status_t iterate_regions(hsa_agent_t agent, hsa_status_t (*with)(hsa_region_t, void*), void* data) {
  return with({agent.handle * 16 + (agent.handle == kHost ? 3 : 1)}, data);
}

hsa_status_t region_info(hsa_region_t, hsa_region_info_t, void* out) {
  *static_cast<hsa_region_global_flag_t*>(out) = HSA_REGION_GLOBAL_FLAG_COARSE_GRAINED;
  return HSA_STATUS_SUCCESS;
}

void copy_now(void* to, const void* from, std::size_t size) {
  copied();
  std::memmove(to, from, size);
}

std::atomic<int> copies{0};  // asynchronous ones, of either kind

template <class Copy>
hsa_status_t copy_after(std::uint32_t count, const hsa_signal_t* after, hsa_signal_t completes, Copy copy) {
  std::vector<hsa_signal_t> signals(after, after + count);
  std::uint64_t delay_ms = ++copies == 1 ? number("COPY_MS", "0") : 0;
  auto work = [=] {
    for (hsa_signal_t one : signals) wait(one, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX);
    ::usleep(static_cast<useconds_t>(1000 * delay_ms));
    copy();
    subtract(completes);
  };
  if (signals.empty() && delay_ms == 0)
    work();
  else
    std::thread(work).detach();
  return HSA_STATUS_SUCCESS;
}

hsa_status_t async_copy(void* to, hsa_agent_t, const void* from, hsa_agent_t, std::size_t size, std::uint32_t count,
                        const hsa_signal_t* after, hsa_signal_t completes) {
  return copy_after(count, after, completes, [=] { copy_now(to, from, size); });
}

hsa_status_t copy_rect(const hsa_pitched_ptr_t* to, const hsa_dim3_t* to_offset, const hsa_pitched_ptr_t* from,
                       const hsa_dim3_t* from_offset, const hsa_dim3_t* range, hsa_agent_t, hsa_amd_copy_direction_t,
                       std::uint32_t count, const hsa_signal_t* after, hsa_signal_t completes) {
  auto row = [](const hsa_pitched_ptr_t& of, const hsa_dim3_t& offset, std::uint32_t y, std::uint32_t z) {
    return static_cast<char*>(of.base) + offset.x + (offset.y + y) * of.pitch + (offset.z + z) * of.slice;
  };
  return copy_after(count, after, completes,
                    [=, to = *to, to_at = *to_offset, from = *from, from_at = *from_offset, range = *range] {
                      for (std::uint32_t z = 0; z < range.z; ++z)
                        for (std::uint32_t y = 0; y < range.y; ++y)
                          copy_now(row(to, to_at, y, z), row(from, from_at, y, z), range.x);
                    });
}

struct Handle {
  int file;
};

hsa_status_t vmem_reserve(void** out, std::size_t size, std::uint64_t wanted, std::uint64_t) {
  if (wanted == number("REFUSE", "0") && wanted) return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  void* hint = reinterpret_cast<void*>(wanted);
  void* got = MAP_FAILED;
  if (option("RELOCATE") != "1") got = ::mmap(hint, size, PROT_NONE, kFlags | MAP_FIXED_NOREPLACE, -1, 0);
  if (got == MAP_FAILED) got = ::mmap(nullptr, size, PROT_NONE, kFlags, -1, 0);  // as ROCr: another, no error
  *out = got;
  return HSA_STATUS_SUCCESS;
}

hsa_status_t vmem_free(void* address, std::size_t size) {
  ::munmap(address, size);
  return HSA_STATUS_SUCCESS;
}

hsa_status_t vmem_create(hsa_amd_memory_pool_t, std::size_t size, std::uint32_t, std::uint64_t, Handle** out) {
  std::lock_guard<std::mutex> hold(mutex);
  if (used + size > number("MEMORY", "0x200000000")) return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  used += size;
  int file = ::memfd_create("standin", 0);
  if (::ftruncate(file, static_cast<off_t>(size)) != 0) return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  *out = new Handle{file};
  return HSA_STATUS_SUCCESS;
}

hsa_status_t vmem_release(Handle*) { return HSA_STATUS_SUCCESS; }

// Reachable only once access is set, as on a GPU.
hsa_status_t vmem_map(void* address, std::size_t size, std::size_t offset, Handle* handle, std::uint64_t) {
  void* got = ::mmap(address, size, PROT_NONE, MAP_SHARED | MAP_FIXED, handle->file, static_cast<off_t>(offset));
  return got == address ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR;
}

hsa_status_t vmem_unmap(void* address, std::size_t size) {
  ::mmap(address, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  return HSA_STATUS_SUCCESS;
}

hsa_status_t vmem_set_access(void* address, std::size_t size, const void*, std::size_t) {
  return ::mprotect(address, size, PROT_READ | PROT_WRITE) == 0 ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR;
}

}  // namespace

std::uint64_t device_memory(std::uint64_t size) { return allocate(size, true); }

// Takes an address before anybody asks for it, unless something holds it: what a real runtime does to a wanted range.
void squat() {
  auto* place = reinterpret_cast<void*>(number("SQUAT", "0"));
  if (place) ::mmap(place, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

void copied() {
  static std::atomic<std::uint64_t> count{0};
  if (++count == number("DIE_AFTER_COPIES", "0")) ::raise(SIGKILL);
}

void add_memory_calls(CoreApiTable& core) {
  core.hsa_iterate_agents_fn = iterate_agents;
  core.hsa_agent_get_info_fn = agent_info;
  core.hsa_agent_iterate_regions_fn = iterate_regions;
  core.hsa_region_get_info_fn = region_info;
  core.hsa_memory_allocate_fn = [](hsa_region_t region, std::size_t size, void** out) {
    return allocate_from(region.handle, size, out);
  };
  core.hsa_memory_free_fn = free_memory;
  core.hsa_memory_copy_fn = [](void* to, const void* from, std::size_t size) {
    copy_now(to, from, size);
    return HSA_STATUS_SUCCESS;
  };
}

void* amd_memory_call(const std::string& name) {
  static const std::map<std::string, void*> calls = {
      {"hsa_amd_agent_iterate_memory_pools", reinterpret_cast<void*>(iterate_pools)},
      {"hsa_amd_memory_pool_get_info", reinterpret_cast<void*>(pool_info)},
      {"hsa_amd_memory_pool_allocate",
       reinterpret_cast<void*>(+[](hsa_amd_memory_pool_t pool, std::size_t size, std::uint32_t, void** out) {
         return allocate_from(pool.handle, size, out);
       })},
      {"hsa_amd_memory_pool_free", reinterpret_cast<void*>(free_memory)},
      {"hsa_amd_memory_async_copy", reinterpret_cast<void*>(async_copy)},
      {"hsa_amd_memory_async_copy_rect", reinterpret_cast<void*>(copy_rect)},
      {"hsa_amd_agents_allow_access",
       reinterpret_cast<void*>(
           +[](std::uint32_t, const hsa_agent_t*, const std::uint32_t*, const void*) { return HSA_STATUS_SUCCESS; })},
      {"hsa_amd_memory_fill", reinterpret_cast<void*>(+[](void* to, std::uint32_t value, std::size_t count) {
         for (std::size_t at = 0; at < count; ++at) static_cast<std::uint32_t*>(to)[at] = value;
         return HSA_STATUS_SUCCESS;
       })},
      {"hsa_amd_memory_lock", reinterpret_cast<void*>(+[](void* host, std::size_t, hsa_agent_t*, int, void** out) {
         *out = host;
         return HSA_STATUS_SUCCESS;
       })},
      {"hsa_amd_memory_unlock", reinterpret_cast<void*>(+[](void*) { return HSA_STATUS_SUCCESS; })},
      {"hsa_amd_svm_attributes_set", reinterpret_cast<void*>(+[](void*, std::size_t, hsa_amd_svm_attribute_pair_t*,
                                                                 std::size_t) { return HSA_STATUS_SUCCESS; })},
      {"hsa_amd_ipc_memory_attach",
       reinterpret_cast<void*>(+[](const hsa_amd_ipc_memory_t*, std::size_t size, std::uint32_t, const hsa_agent_t*,
                                   void** out) { return allocate_from(kHost * 16 + 3, size, out); })},
      {"hsa_amd_ipc_memory_detach", reinterpret_cast<void*>(free_memory)},
      {"hsa_amd_vmem_address_reserve", reinterpret_cast<void*>(vmem_reserve)},
      {"hsa_amd_vmem_address_free", reinterpret_cast<void*>(vmem_free)},
      {"hsa_amd_vmem_handle_create", reinterpret_cast<void*>(vmem_create)},
      {"hsa_amd_vmem_handle_release", reinterpret_cast<void*>(vmem_release)},
      {"hsa_amd_vmem_map", reinterpret_cast<void*>(vmem_map)},
      {"hsa_amd_vmem_unmap", reinterpret_cast<void*>(vmem_unmap)},
      {"hsa_amd_vmem_set_access", reinterpret_cast<void*>(vmem_set_access)},
  };
  auto known = calls.find(name);
  return known == calls.end() ? nullptr : known->second;
}

}  // namespace standin
