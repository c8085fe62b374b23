// The program's queues: made so that every packet passes by us, and drained on request.
#pragma once

#include <dlfcn.h>

#include <cstdint>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "hsa/capture/tables.h"

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

  void install(HsaApiTable& table);

  // Empty, or why some of the program's queues are not seen.
  const std::string& unseen() const { return unseen_; }

  // One more batch of a single-producer queue; the barrier that follows it counts it down.
  void expect(const Queue& queue) const { api_.hsa_signal_add_scacq_screl(queue.drained, 1); }

  // Puts a barrier at the end of every queue but `own`; each counts its `drained` signal down.
  void put_barriers(const Queue& own);

  // The `drained` signal of each queue but `own`. Copies: the program may destroy a queue meanwhile.
  std::vector<hsa_signal_t> others(const Queue& own);

 private:
  hsa_status_t create(hsa_agent_t agent, std::uint32_t size, hsa_queue_type32_t type,
                      void (*callback)(hsa_status_t, hsa_queue_t*, void*), void* data, std::uint32_t private_bytes,
                      std::uint32_t group_bytes, hsa_queue_t** out);

  hsa_status_t destroy(hsa_queue_t* handle);

  // The next free place, or none: waiting for one could last as long as the capture itself.
  std::optional<std::uint64_t> claimed(const Queue& queue) const;

  void put(const Queue& queue, const hsa_barrier_and_packet_t& packet);

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
      unseen_ =
          "launches on queues made by hsa_amd_queue_create cannot be seen: the HSA headers on this machine are "
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
    if (set_mask_ && compute.cu_mask && compute.cu_mask_count) set_mask_(queue, compute.cu_mask_count, compute.cu_mask);
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
