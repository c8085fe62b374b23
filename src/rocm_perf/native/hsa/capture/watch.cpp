#include "hsa/capture/watch.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace rocm_perf {

void Watch::install(HsaApiTable& table) {
  AmdTable amd(table.amd_ext_->version);
  watch_pools(table, amd);
  watch_host_memory(amd);
  watch_mappings(amd);
  watch_copies(table, amd);
  watch_code(*table.core_);
  if (table.image_ext_ && table.version.minor_id > offsetof(HsaApiTable, image_ext_))
    watch_images(*table.image_ext_, amd);
}

const Devices& Watch::devices() {
  std::call_once(devices_once_, [this] { devices_ = std::make_unique<Devices>(api); });
  return *devices_;
}

std::vector<hsa_signal_t> Watch::copies() const {
  std::lock_guard<std::mutex> hold(copies_mutex_);
  std::vector<hsa_signal_t> out;
  for (std::uint64_t handle : copies_) out.push_back({handle});
  return out;
}

void Watch::allocated(std::uint64_t pool, const void* address, std::size_t size) {
  const Pool* from = devices().find(pool);
  Allocation one{number(address), size, "device", from ? std::max(from->device, 0) : 0, "", ""};
  if (!from || from->device < 0) {
    one.kind = from && from->kernarg ? "kernarg" : "host";
    one.uncovered = from && from->kernarg ? "it holds the arguments of other dispatches" : "pinned host memory";
  }
  live.add(std::move(one));
}

void Watch::watch_pools(HsaApiTable& table, const AmdTable& amd) {
  replace(
      amd.find<decltype(::hsa_amd_memory_pool_allocate)>(k_hsa_amd_memory_pool_allocate), real_.pool_allocate,
      +[](hsa_amd_memory_pool_t pool, std::size_t size, std::uint32_t flags, void** out) {
        hsa_status_t status = self_->real_.pool_allocate(pool, size, flags, out);
        if (ok(status)) self_->allocated(pool.handle, *out, size);
        return status;
      });
  replace(
      amd.find<decltype(::hsa_amd_memory_pool_free)>(k_hsa_amd_memory_pool_free), real_.pool_free, +[](void* address) {
        std::shared_lock<std::shared_mutex> moving(self_->still);
        self_->live.remove(number(address));
        return self_->real_.pool_free(address);
      });
  replace(
      &table.core_->hsa_memory_allocate_fn, real_.allocate, +[](hsa_region_t region, std::size_t size, void** out) {
        hsa_status_t status = self_->real_.allocate(region, size, out);
        if (ok(status)) self_->allocated(region.handle, *out, size);
        return status;
      });
  replace(
      &table.core_->hsa_memory_free_fn, real_.free, +[](void* address) {
        std::shared_lock<std::shared_mutex> moving(self_->still);
        self_->live.remove(number(address));
        return self_->real_.free(address);
      });
}

void Watch::locked(const void* host, const void* device, std::size_t size) {
  live.add({number(device), size, "host", 0, "", "host memory registered with the GPU"});
  std::lock_guard<std::mutex> hold(vmem_mutex_);
  locked_[number(host)] = number(device);
}

void Watch::watch_host_memory(const AmdTable& amd) {
  replace(
      amd.find<decltype(::hsa_amd_memory_lock)>(k_hsa_amd_memory_lock), real_.lock,
      +[](void* host, std::size_t size, hsa_agent_t* agents, int count, void** out) {
        hsa_status_t status = self_->real_.lock(host, size, agents, count, out);
        if (ok(status)) self_->locked(host, *out, size);
        return status;
      });
  replace(
      amd.find<decltype(::hsa_amd_memory_lock_to_pool)>(k_hsa_amd_memory_lock_to_pool), real_.lock_to_pool,
      +[](void* host, std::size_t size, hsa_agent_t* agents, int count, hsa_amd_memory_pool_t pool, std::uint32_t flags,
          void** out) {
        hsa_status_t status = self_->real_.lock_to_pool(host, size, agents, count, pool, flags, out);
        if (ok(status)) self_->locked(host, *out, size);
        return status;
      });
  replace(
      amd.find<decltype(::hsa_amd_memory_unlock)>(k_hsa_amd_memory_unlock), real_.unlock, +[](void* host) {
        {
          std::lock_guard<std::mutex> hold(self_->vmem_mutex_);
          auto known = self_->locked_.find(number(host));
          if (known != self_->locked_.end()) self_->live.remove(known->second);
        }
        return self_->real_.unlock(host);
      });
  replace(
      amd.find<decltype(::hsa_amd_svm_attributes_set)>(k_hsa_amd_svm_attributes_set), real_.svm,
      +[](void* address, std::size_t size, hsa_amd_svm_attribute_pair_t* attributes, std::size_t count) {
        hsa_status_t status = self_->real_.svm(address, size, attributes, count);
        if (ok(status)) self_->live.add({number(address), size, "managed", 0, "", "shared (managed) memory"});
        return status;
      });
}

void Watch::watch_mappings(const AmdTable& amd) {
  replace(
      amd.find<decltype(::hsa_amd_ipc_memory_attach)>(k_hsa_amd_ipc_memory_attach), real_.ipc_attach,
      +[](const hsa_amd_ipc_memory_t* handle, std::size_t size, std::uint32_t count, const hsa_agent_t* agents,
          void** out) {
        hsa_status_t status = self_->real_.ipc_attach(handle, size, count, agents, out);
        if (ok(status)) self_->live.add({number(*out), size, "ipc", 0, "", "memory of another process"});
        return status;
      });
  replace(
      amd.find<decltype(::hsa_amd_ipc_memory_detach)>(k_hsa_amd_ipc_memory_detach), real_.ipc_detach,
      +[](void* address) {
        self_->live.remove(number(address));
        return self_->real_.ipc_detach(address);
      });
  replace(
      amd.find<decltype(::hsa_amd_interop_map_buffer)>(k_hsa_amd_interop_map_buffer), real_.interop_map,
      +[](std::uint32_t count, hsa_agent_t* agents, int file, std::uint32_t flags, std::size_t* size, void** out,
          std::size_t* metadata_size, const void** metadata) {
        hsa_status_t status = self_->real_.interop_map(count, agents, file, flags, size, out, metadata_size, metadata);
        if (ok(status)) self_->live.add({number(*out), *size, "ipc", 0, "", "a buffer of a graphics interface"});
        return status;
      });
  replace(
      amd.find<decltype(::hsa_amd_interop_unmap_buffer)>(k_hsa_amd_interop_unmap_buffer), real_.interop_unmap,
      +[](void* address) {
        self_->live.remove(number(address));
        return self_->real_.interop_unmap(address);
      });
  replace(
      amd.find<VmemCreate>(k_hsa_amd_vmem_handle_create), real_.vmem_create,
      +[](hsa_amd_memory_pool_t pool, std::size_t size, std::uint32_t type, std::uint64_t flags, VmemHandle* out) {
        hsa_status_t status = self_->real_.vmem_create(pool, size, type, flags, out);
        const Pool* from = ok(status) ? self_->devices().find(pool.handle) : nullptr;
        std::lock_guard<std::mutex> hold(self_->vmem_mutex_);
        if (ok(status)) self_->handles_[out->handle] = {from ? from->device : -1, 0, false};
        return status;
      });
  replace(
      amd.find<VmemImport>(k_hsa_amd_vmem_import_shareable_handle), real_.vmem_import, +[](int file, VmemHandle* out) {
        hsa_status_t status = self_->real_.vmem_import(file, out);
        std::lock_guard<std::mutex> hold(self_->vmem_mutex_);
        if (ok(status)) self_->handles_[out->handle] = {0, 0, true};
        return status;
      });
  replace(
      amd.find<VmemMap>(k_hsa_amd_vmem_map), real_.vmem_map,
      +[](void* address, std::size_t size, std::size_t offset, VmemHandle handle, std::uint64_t flags) {
        hsa_status_t status = self_->real_.vmem_map(address, size, offset, handle, flags);
        if (ok(status)) self_->mapped(address, size, handle);
        return status;
      });
  replace(
      amd.find<VmemUnmap>(k_hsa_amd_vmem_unmap), real_.vmem_unmap, +[](void* address, std::size_t size) {
        std::shared_lock<std::shared_mutex> moving(self_->still);
        self_->unmapped(number(address), size);
        return self_->real_.vmem_unmap(address, size);
      });
}

void Watch::mapped(void* address, std::size_t size, VmemHandle handle) {
  std::lock_guard<std::mutex> hold(vmem_mutex_);
  Handle& of = handles_[handle.handle];
  Allocation one{number(address), size, "mapped", std::max(of.device, 0), "", ""};
  if (of.imported) {
    one.kind = "ipc";
    one.uncovered = "memory of another process";
  } else if (of.device < 0) {
    one.uncovered = "host memory mapped for the GPU";
  } else if (of.maps > 0) {
    one.uncovered = "the same memory is mapped at another address too";
  }
  ++of.maps;
  mapped_at_[one.base] = handle.handle;
  live.add(std::move(one));
}

void Watch::unmapped(std::uint64_t address, std::size_t size) {
  std::lock_guard<std::mutex> hold(vmem_mutex_);
  auto first = mapped_at_.lower_bound(address), last = mapped_at_.lower_bound(address + size);
  for (auto entry = first; entry != last; ++entry) --handles_[entry->second].maps;
  mapped_at_.erase(first, last);
  live.remove_within(address, size);
}

void Watch::copying(hsa_signal_t completes) {
  std::lock_guard<std::mutex> hold(copies_mutex_);
  if (completes.handle) copies_.insert(completes.handle);
}

void Watch::watch_copies(HsaApiTable& table, const AmdTable& amd) {
  replace(
      amd.find<decltype(::hsa_amd_memory_async_copy)>(k_hsa_amd_memory_async_copy), real_.async_copy,
      +[](void* to, hsa_agent_t to_agent, const void* from, hsa_agent_t from_agent, std::size_t size,
          std::uint32_t count, const hsa_signal_t* after, hsa_signal_t completes) {
        std::shared_lock<std::shared_mutex> moving(self_->still);
        self_->copying(completes);
        return self_->real_.async_copy(to, to_agent, from, from_agent, size, count, after, completes);
      });
  replace(
      amd.find<CopyOnEngine>(k_hsa_amd_memory_async_copy_on_engine), real_.copy_on_engine,
      +[](void* to, hsa_agent_t to_agent, const void* from, hsa_agent_t from_agent, std::size_t size,
          std::uint32_t count, const hsa_signal_t* after, hsa_signal_t completes, std::uint32_t engine, bool force) {
        std::shared_lock<std::shared_mutex> moving(self_->still);
        self_->copying(completes);
        return self_->real_.copy_on_engine(to, to_agent, from, from_agent, size, count, after, completes, engine,
                                           force);
      });
  replace(
      amd.find<decltype(::hsa_amd_memory_async_copy_rect)>(k_hsa_amd_memory_async_copy_rect), real_.copy_rect,
      +[](const hsa_pitched_ptr_t* to, const hsa_dim3_t* to_offset, const hsa_pitched_ptr_t* from,
          const hsa_dim3_t* from_offset, const hsa_dim3_t* range, hsa_agent_t agent, hsa_amd_copy_direction_t direction,
          std::uint32_t count, const hsa_signal_t* after, hsa_signal_t completes) {
        std::shared_lock<std::shared_mutex> moving(self_->still);
        self_->copying(completes);
        return self_->real_.copy_rect(to, to_offset, from, from_offset, range, agent, direction, count, after,
                                      completes);
      });
  replace(
      amd.find<decltype(::hsa_amd_memory_fill)>(k_hsa_amd_memory_fill), real_.fill,
      +[](void* to, std::uint32_t value, std::size_t count) {
        std::shared_lock<std::shared_mutex> moving(self_->still);
        return self_->real_.fill(to, value, count);
      });
  replace(
      &table.core_->hsa_memory_copy_fn, real_.copy, +[](void* to, const void* from, std::size_t size) {
        std::shared_lock<std::shared_mutex> moving(self_->still);
        return self_->real_.copy(to, from, size);
      });
  replace(
      &table.core_->hsa_signal_destroy_fn, real_.signal_destroy, +[](hsa_signal_t signal) {
        std::shared_lock<std::shared_mutex> moving(self_->still);  // a capture may wait for it
        {
          std::lock_guard<std::mutex> hold(self_->copies_mutex_);
          self_->copies_.erase(signal.handle);
        }
        return self_->real_.signal_destroy(signal);
      });
}

void Watch::watch_code(CoreApiTable& core) {
  replace(
      &core.hsa_code_object_reader_create_from_memory_fn, real_.reader_memory,
      +[](const void* data, std::size_t size, hsa_code_object_reader_t* out) {
        hsa_status_t status = self_->real_.reader_memory(data, size, out);
        if (ok(status)) self_->kernels.read_from_memory(*out, data, size);
        return status;
      });
  replace(
      &core.hsa_code_object_reader_create_from_file_fn, real_.reader_file,
      +[](hsa_file_t file, hsa_code_object_reader_t* out) {
        hsa_status_t status = self_->real_.reader_file(file, out);
        if (ok(status)) self_->kernels.read_from_file(*out, file);
        return status;
      });
  replace(
      &core.hsa_code_object_reader_destroy_fn, real_.reader_destroy, +[](hsa_code_object_reader_t reader) {
        self_->kernels.forget_reader(reader);
        return self_->real_.reader_destroy(reader);
      });
  replace(
      &core.hsa_executable_load_agent_code_object_fn, real_.load,
      +[](hsa_executable_t executable, hsa_agent_t agent, hsa_code_object_reader_t reader, const char* options,
          hsa_loaded_code_object_t* out) {
        hsa_status_t status = self_->real_.load(executable, agent, reader, options, out);
        if (ok(status)) self_->kernels.loaded(executable, agent, reader);
        return status;
      });
  replace(
      &core.hsa_executable_freeze_fn, real_.freeze, +[](hsa_executable_t executable, const char* options) {
        hsa_status_t status = self_->real_.freeze(executable, options);
        if (ok(status)) self_->kernels.frozen(executable);
        return status;
      });
  replace(
      &core.hsa_executable_destroy_fn, real_.executable_destroy, +[](hsa_executable_t executable) {
        std::shared_lock<std::shared_mutex> moving(self_->still);
        self_->kernels.destroyed(executable);
        return self_->real_.executable_destroy(executable);
      });
}

void Watch::image_made(const hsa_ext_image_t& image) {
  live.add({image.handle, sizeof(std::uint64_t), "host", 0, "", "an image; images are not covered"});
}

void Watch::watch_images(ImageExtTable& images, const AmdTable& amd) {
  replace(
      &images.hsa_ext_image_create_fn, real_.image,
      +[](hsa_agent_t agent, const hsa_ext_image_descriptor_t* descriptor, const void* data,
          hsa_access_permission_t access, hsa_ext_image_t* out) {
        hsa_status_t status = self_->real_.image(agent, descriptor, data, access, out);
        if (ok(status)) self_->image_made(*out);
        return status;
      });
  replace(
      &images.hsa_ext_image_create_with_layout_fn, real_.image_with_layout,
      +[](hsa_agent_t agent, const hsa_ext_image_descriptor_t* descriptor, const void* data,
          hsa_access_permission_t access, hsa_ext_image_data_layout_t layout, std::size_t row, std::size_t slice,
          hsa_ext_image_t* out) {
        hsa_status_t status = self_->real_.image_with_layout(agent, descriptor, data, access, layout, row, slice, out);
        if (ok(status)) self_->image_made(*out);
        return status;
      });
  replace(
      amd.find<decltype(::hsa_amd_image_create)>(k_hsa_amd_image_create), real_.amd_image,
      +[](hsa_agent_t agent, const hsa_ext_image_descriptor_t* descriptor, const hsa_amd_image_descriptor_t* layout,
          const void* data, hsa_access_permission_t access, hsa_ext_image_t* out) {
        hsa_status_t status = self_->real_.amd_image(agent, descriptor, layout, data, access, out);
        if (ok(status)) self_->image_made(*out);
        return status;
      });
  replace(
      &images.hsa_ext_image_destroy_fn, real_.image_destroy, +[](hsa_agent_t agent, hsa_ext_image_t image) {
        self_->live.remove(image.handle);
        return self_->real_.image_destroy(agent, image);
      });
}

}  // namespace rocm_perf
