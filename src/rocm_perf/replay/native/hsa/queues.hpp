// The program's queues: made so that every packet passes by us, and drained on request.
#pragma once
#include <dlfcn.h>

#include <cstring>
#include <list>
#include <mutex>
#include <optional>
#include <vector>

#include "tables.hpp"

namespace rocm_perf {

struct Queue {
  hsa_queue_t* handle = nullptr;
  hsa_agent_t agent{};
  hsa_queue_type32_t type = 0;
  // Below 1: empty. 1 until the barrier of a capture has passed; of a single-producer queue, the batches under way.
  hsa_signal_t drained{};

  // Its program may keep the write index to itself: nobody else may put a packet there.
  bool single() const { return type == HSA_QUEUE_TYPE_SINGLE; }
};

class Queues {
 public:
  Queues(const Api& api, hsa_amd_queue_intercept_handler handler) : api_(api), handler_(handler) { self_ = this; }

  void install(HsaApiTable& table) {
    AmdTable amd(table.amd_ext_->version);
    intercept_create_ = amd.get<decltype(::hsa_amd_queue_intercept_create)>(k_hsa_amd_queue_intercept_create);
    intercept_register_ = amd.get<decltype(::hsa_amd_queue_intercept_register)>(k_hsa_amd_queue_intercept_register);
    set_priority_ = amd.get<decltype(::hsa_amd_queue_set_priority)>(k_hsa_amd_queue_set_priority);
    set_mask_ = amd.get<decltype(::hsa_amd_queue_cu_set_mask)>(k_hsa_amd_queue_cu_set_mask);
    if (!intercept_create_ || !intercept_register_)
      throw std::runtime_error("this HSA runtime cannot intercept queues");
    table.core_->hsa_queue_create_fn = [](hsa_agent_t agent, std::uint32_t size, hsa_queue_type32_t type,
                                          void (*callback)(hsa_status_t, hsa_queue_t*, void*), void* data,
                                          std::uint32_t private_bytes, std::uint32_t group_bytes, hsa_queue_t** out) {
      return self_->create(agent, size, type, callback, data, private_bytes, group_bytes, out);
    };
    real_destroy_ = table.core_->hsa_queue_destroy_fn;
    table.core_->hsa_queue_destroy_fn = [](hsa_queue_t* queue) { return self_->destroy(queue); };
    replace_amd_create<AmdExtTable>(amd);
  }

  // Empty, or why some of the program's queues are not seen.
  const std::string& unseen() const { return unseen_; }

  // One more batch of a single-producer queue; the barrier that follows it counts it down.
  void expect(const Queue& queue) const { api_.hsa_signal_add_scacq_screl(queue.drained, 1); }

  // Puts a barrier at the end of every queue but `own`; each counts its `drained` signal down.
  void put_barriers(const Queue& own) {
    std::lock_guard<std::mutex> hold(mutex_);
    for (const Queue& queue : queues_)
      if (&queue != &own && !queue.single()) put(queue, barrier({0}, queue.drained));
  }

  // The `drained` signal of each queue but `own`. Copies: the program may destroy a queue meanwhile.
  std::vector<hsa_signal_t> others(const Queue& own) {
    std::lock_guard<std::mutex> hold(mutex_);
    std::vector<hsa_signal_t> out;
    for (const Queue& queue : queues_)
      if (&queue != &own) out.push_back(queue.drained);
    return out;
  }

 private:
  hsa_status_t create(hsa_agent_t agent, std::uint32_t size, hsa_queue_type32_t type,
                      void (*callback)(hsa_status_t, hsa_queue_t*, void*), void* data, std::uint32_t private_bytes,
                      std::uint32_t group_bytes, hsa_queue_t** out) {
    Queue queue{nullptr, agent, type, {}};
    hsa_status_t status = api_.hsa_signal_create(queue.single() ? 0 : 1, 0, nullptr, &queue.drained);
    if (status != HSA_STATUS_SUCCESS) return status;
    status = intercept_create_(agent, size, type, callback, data, private_bytes, group_bytes, out);
    if (status != HSA_STATUS_SUCCESS) {
      api_.hsa_signal_destroy(queue.drained);
      return status;
    }
    queue.handle = *out;
    std::lock_guard<std::mutex> hold(mutex_);
    queues_.push_back(queue);
    return intercept_register_(*out, handler_, &queues_.back());
  }

  hsa_status_t destroy(hsa_queue_t* handle) {
    std::list<Queue> ended;
    {
      std::lock_guard<std::mutex> hold(mutex_);
      for (auto one = queues_.begin(); one != queues_.end(); ++one) {
        if (one->handle != handle) continue;
        ended.splice(ended.begin(), queues_, one);
        break;
      }
    }
    hsa_status_t status = real_destroy_(handle);
    // Nothing runs there any more. The signal stays: a capture may wait for it.
    for (const Queue& one : ended) api_.hsa_signal_store_screlease(one.drained, 0);
    return status;
  }

  // The next free place, or none: waiting for one could last as long as the capture itself.
  std::optional<std::uint64_t> claimed(const Queue& queue) const {
    std::uint64_t index = api_.hsa_queue_load_write_index_relaxed(queue.handle);
    while (index - api_.hsa_queue_load_read_index_scacquire(queue.handle) < queue.handle->size) {
      std::uint64_t found = api_.hsa_queue_cas_write_index_scacq_screl(queue.handle, index, index + 1);
      if (found == index) return index;
      index = found;
    }
    return std::nullopt;
  }

  void put(const Queue& queue, const hsa_barrier_and_packet_t& packet) {
    std::optional<std::uint64_t> place = claimed(queue);
    if (!place) return;  // then it does not count as drained, and the capture says so
    std::uint64_t index = *place;
    auto* slot = static_cast<hsa_barrier_and_packet_t*>(queue.handle->base_address) + index % queue.handle->size;
    std::memcpy(reinterpret_cast<char*>(slot) + sizeof packet.header,
                reinterpret_cast<const char*>(&packet) + sizeof packet.header, sizeof packet - sizeof packet.header);
    __atomic_store_n(&slot->header, packet.header, __ATOMIC_RELEASE);
    api_.hsa_signal_store_screlease(queue.handle->doorbell_signal, static_cast<hsa_signal_value_t>(index));
  }

  // hsa_amd_queue_create (ROCm 10): several queues a call, each with a descriptor. Only headers that have it know where
  // it lies in the table.
  template <class Table>
  auto replace_amd_create(const AmdTable& amd) -> std::void_t<decltype(Table::hsa_amd_queue_create_fn)> {
    using Function = std::remove_pointer_t<decltype(Table::hsa_amd_queue_create_fn)>;
    replace_described(amd.template find<Function>(k_hsa_amd_queue_create));
  }
  template <class Table, class... None>
  void replace_amd_create(const AmdTable&, None...) {
    Dl_info runtime{};
    ::dladdr(reinterpret_cast<void*>(intercept_create_), &runtime);
    void* library = runtime.dli_fname ? ::dlopen(runtime.dli_fname, RTLD_LAZY | RTLD_NOLOAD) : nullptr;
    if (library && ::dlsym(library, "hsa_amd_queue_create"))
      unseen_ = "launches on queues made by hsa_amd_queue_create cannot be seen: the HSA headers on this machine are "
                "older than its runtime (install those of the same ROCm)";
  }

  template <class Description>
  void replace_described(hsa_status_t (**slot)(hsa_agent_t, Description*, std::uint32_t)) {
    static hsa_status_t (*real)(hsa_agent_t, Description*, std::uint32_t) = nullptr;
    if (!slot || !*slot) return;
    real = *slot;
    *slot = [](hsa_agent_t agent, Description* descriptions, std::uint32_t count) {
      hsa_status_t first = HSA_STATUS_SUCCESS;
      for (std::uint32_t index = 0; index < count; ++index) {
        Description& one = descriptions[index];
        bool compute = static_cast<int>(one.engine_type) == 0;
        hsa_status_t status = compute ? self_->create_described(agent, one) : real(agent, &one, 1);
        if (first == HSA_STATUS_SUCCESS) first = status;
      }
      return first;
    };
  }

  template <class Description>
  hsa_status_t create_described(hsa_agent_t agent, Description& one) {
    auto& compute = one.engine.compute;
    hsa_queue_t* queue = nullptr;
    hsa_status_t status = create(agent, one.queue_size_bytes / sizeof(hsa_kernel_dispatch_packet_t), compute.type,
                                 one.callback, one.callback_data, compute.private_segment_size, UINT32_MAX, &queue);
    one.queue = queue;
    if (status != HSA_STATUS_SUCCESS) return status;
    if (set_priority_) set_priority_(queue, static_cast<hsa_amd_queue_priority_t>(one.priority));
    if (set_mask_ && compute.cu_mask && compute.cu_mask_count)
      set_mask_(queue, compute.cu_mask_count, compute.cu_mask);
    return status;
  }

  static inline Queues* self_ = nullptr;
  const Api& api_;
  hsa_amd_queue_intercept_handler handler_;
  decltype(::hsa_amd_queue_intercept_create)* intercept_create_ = nullptr;
  decltype(::hsa_amd_queue_intercept_register)* intercept_register_ = nullptr;
  decltype(::hsa_amd_queue_set_priority)* set_priority_ = nullptr;
  decltype(::hsa_amd_queue_cu_set_mask)* set_mask_ = nullptr;
  decltype(::hsa_queue_destroy)* real_destroy_ = nullptr;
  std::mutex mutex_;
  std::list<Queue> queues_;
  std::string unseen_;
};

}  // namespace rocm_perf
