#include "hsa/capture/queues.h"

#include <cstring>
#include <stdexcept>

namespace rocm_perf {

void Queues::install(HsaApiTable& table) {
  AmdTable amd(table.amd_ext_->version);
  intercept_create_ = amd.get<decltype(::hsa_amd_queue_intercept_create)>(k_hsa_amd_queue_intercept_create);
  intercept_register_ = amd.get<decltype(::hsa_amd_queue_intercept_register)>(k_hsa_amd_queue_intercept_register);
  set_priority_ = amd.get<decltype(::hsa_amd_queue_set_priority)>(k_hsa_amd_queue_set_priority);
  set_mask_ = amd.get<decltype(::hsa_amd_queue_cu_set_mask)>(k_hsa_amd_queue_cu_set_mask);
  if (!intercept_create_ || !intercept_register_) throw std::runtime_error("this HSA runtime cannot intercept queues");
  table.core_->hsa_queue_create_fn = [](hsa_agent_t agent, std::uint32_t size, hsa_queue_type32_t type,
                                        void (*callback)(hsa_status_t, hsa_queue_t*, void*), void* data,
                                        std::uint32_t private_bytes, std::uint32_t group_bytes, hsa_queue_t** out) {
    return self_->create(agent, size, type, callback, data, private_bytes, group_bytes, out);
  };
  real_destroy_ = table.core_->hsa_queue_destroy_fn;
  table.core_->hsa_queue_destroy_fn = [](hsa_queue_t* queue) { return self_->destroy(queue); };
  replace_amd_create<AmdExtTable>(amd);
}

void Queues::put_barriers(const Queue& own) {
  std::lock_guard<std::mutex> hold(mutex_);
  for (const Queue& queue : queues_)
    if (&queue != &own && !queue.single()) put(queue, barrier({0}, queue.drained));
}

std::vector<hsa_signal_t> Queues::others(const Queue& own) {
  std::lock_guard<std::mutex> hold(mutex_);
  std::vector<hsa_signal_t> out;
  for (const Queue& queue : queues_)
    if (&queue != &own) out.push_back(queue.drained);
  return out;
}

hsa_status_t Queues::create(hsa_agent_t agent, std::uint32_t size, hsa_queue_type32_t type,
                            void (*callback)(hsa_status_t, hsa_queue_t*, void*), void* data,
                            std::uint32_t private_bytes, std::uint32_t group_bytes, hsa_queue_t** out) {
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

hsa_status_t Queues::destroy(hsa_queue_t* handle) {
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

std::optional<std::uint64_t> Queues::claimed(const Queue& queue) const {
  std::uint64_t index = api_.hsa_queue_load_write_index_relaxed(queue.handle);
  while (index - api_.hsa_queue_load_read_index_scacquire(queue.handle) < queue.handle->size) {
    std::uint64_t found = api_.hsa_queue_cas_write_index_scacq_screl(queue.handle, index, index + 1);
    if (found == index) return index;
    index = found;
  }
  return std::nullopt;
}

void Queues::put(const Queue& queue, const hsa_barrier_and_packet_t& packet) {
  std::optional<std::uint64_t> place = claimed(queue);
  if (!place) return;  // then it does not count as drained, and the capture says so
  std::uint64_t index = *place;
  auto* slot = static_cast<hsa_barrier_and_packet_t*>(queue.handle->base_address) + index % queue.handle->size;
  std::memcpy(reinterpret_cast<char*>(slot) + sizeof packet.header,
              reinterpret_cast<const char*>(&packet) + sizeof packet.header, sizeof packet - sizeof packet.header);
  __atomic_store_n(&slot->header, packet.header, __ATOMIC_RELEASE);
  api_.hsa_signal_store_screlease(queue.handle->doorbell_signal, static_cast<hsa_signal_value_t>(index));
}

}  // namespace rocm_perf
