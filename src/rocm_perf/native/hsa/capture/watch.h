// What the program does with memory and code, seen in the API table: every live allocation, every loaded kernel, and
// the copies that may still be under way.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "capture/allocations.h"
#include "hsa/capture/kernels.h"
#include "hsa/capture/tables.h"
#include "hsa/devices.h"

namespace rocm_perf {

class Watch {
 public:
  Watch(const Api& api, const Target& target) : api(api), kernels(this->api, target) { self_ = this; }

  void install(HsaApiTable& table);

  // Found when first asked for: while the tool is loaded, the runtime is not up yet.
  const Devices& devices();

  // Completion signals of copies that the program started; some may be done long since.
  std::vector<hsa_signal_t> copies() const;

  Api api;
  Allocations live;
  Kernels kernels;
  // Shared by calls that change memory or end what a capture waits for, for as long as they take; taken alone while
  // memory must stand still.
  std::shared_mutex still;

 private:
  template <class Function>
  static void replace(Function** slot, Function*& real, Function* own) {
    if (!slot || !*slot) return;
    real = *slot;
    *slot = own;
  }
  static bool ok(hsa_status_t status) { return status == HSA_STATUS_SUCCESS; }
  static std::uint64_t number(const void* address) { return reinterpret_cast<std::uint64_t>(address); }

  void allocated(std::uint64_t pool, const void* address, std::size_t size);
  void watch_pools(HsaApiTable& table, const AmdTable& amd);
  void locked(const void* host, const void* device, std::size_t size);
  void watch_host_memory(const AmdTable& amd);
  void watch_mappings(const AmdTable& amd);
  void mapped(void* address, std::size_t size, VmemHandle handle);
  void unmapped(std::uint64_t address, std::size_t size);
  void copying(hsa_signal_t completes);
  void watch_copies(HsaApiTable& table, const AmdTable& amd);
  void watch_code(CoreApiTable& core);

  // A kernel takes an image by the address of a descriptor that the runtime made.
  void image_made(const hsa_ext_image_t& image);

  void watch_images(ImageExtTable& images, const AmdTable& amd);

  using CopyOnEngine = hsa_status_t(void*, hsa_agent_t, const void*, hsa_agent_t, std::size_t, std::uint32_t,
                                    const hsa_signal_t*, hsa_signal_t, std::uint32_t engine, bool force);
  struct Real {
    decltype(::hsa_amd_memory_pool_allocate)* pool_allocate;
    decltype(::hsa_amd_memory_pool_free)* pool_free;
    decltype(::hsa_memory_allocate)* allocate;
    decltype(::hsa_memory_free)* free;
    decltype(::hsa_amd_memory_lock)* lock;
    decltype(::hsa_amd_memory_lock_to_pool)* lock_to_pool;
    decltype(::hsa_amd_memory_unlock)* unlock;
    decltype(::hsa_amd_svm_attributes_set)* svm;
    decltype(::hsa_amd_ipc_memory_attach)* ipc_attach;
    decltype(::hsa_amd_ipc_memory_detach)* ipc_detach;
    decltype(::hsa_amd_interop_map_buffer)* interop_map;
    decltype(::hsa_amd_interop_unmap_buffer)* interop_unmap;
    VmemCreate* vmem_create;
    VmemImport* vmem_import;
    VmemMap* vmem_map;
    VmemUnmap* vmem_unmap;
    decltype(::hsa_amd_memory_async_copy)* async_copy;
    CopyOnEngine* copy_on_engine;
    decltype(::hsa_amd_memory_async_copy_rect)* copy_rect;
    decltype(::hsa_amd_memory_fill)* fill;
    decltype(::hsa_memory_copy)* copy;
    decltype(::hsa_signal_destroy)* signal_destroy;
    decltype(::hsa_code_object_reader_create_from_memory)* reader_memory;
    decltype(::hsa_code_object_reader_create_from_file)* reader_file;
    decltype(::hsa_code_object_reader_destroy)* reader_destroy;
    decltype(::hsa_executable_load_agent_code_object)* load;
    decltype(::hsa_executable_freeze)* freeze;
    decltype(::hsa_executable_destroy)* executable_destroy;
    decltype(::hsa_ext_image_create)* image;
    decltype(::hsa_ext_image_create_with_layout)* image_with_layout;
    decltype(::hsa_amd_image_create)* amd_image;
    decltype(::hsa_ext_image_destroy)* image_destroy;
  };
  struct Handle {
    int device = 0;
    int maps = 0;
    bool imported = false;
  };

  static inline Watch* self_ = nullptr;  // the table's calls carry no data of ours
  Real real_{};
  std::once_flag devices_once_;
  std::unique_ptr<Devices> devices_;
  std::mutex vmem_mutex_;
  std::unordered_map<std::uint64_t, Handle> handles_;
  std::map<std::uint64_t, std::uint64_t> mapped_at_;         // address -> handle
  std::unordered_map<std::uint64_t, std::uint64_t> locked_;  // host address -> the GPU's
  mutable std::mutex copies_mutex_;
  std::unordered_set<std::uint64_t> copies_;
};

}  // namespace rocm_perf
