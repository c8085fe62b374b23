// The stand-in's signals and queues: a thread a queue executes its AQL packets in order; an intercept queue hands each
// batch to the tool's handler first, in the thread that rings the doorbell.
#include <unistd.h>

#include <chrono>

#include "description.h"
#include "standin.h"

namespace standin {

struct Queue {
  hsa_queue_t shown{};  // first: what the program holds is a pointer to it
  std::vector<hsa_kernel_dispatch_packet_t> ring;
  Signal doorbell;
  std::atomic<std::uint64_t> read{0}, write{0};
  std::uint64_t next = 0;           // that interception has not seen
  std::unique_ptr<Queue> hardware;  // of an intercept queue
  std::vector<std::pair<hsa_amd_queue_intercept_handler, void*>> handlers;
  std::mutex intercepting;
  std::atomic<bool> ending{false};
  std::thread worker;
};

namespace {

// Never destroyed: at the process's end the queues' threads still wait on them.
std::mutex& tick_mutex = *new std::mutex;
std::condition_variable& tick = *new std::condition_variable;

constexpr std::uint16_t kInvalid = HSA_PACKET_TYPE_INVALID << HSA_PACKET_HEADER_TYPE;
int type_of(std::uint16_t header) { return (header >> HSA_PACKET_HEADER_TYPE) & 0xff; }

bool holds(hsa_signal_value_t value, hsa_signal_condition_t condition, hsa_signal_value_t than) {
  switch (condition) {
    case HSA_SIGNAL_CONDITION_EQ:
      return value == than;
    case HSA_SIGNAL_CONDITION_NE:
      return value != than;
    case HSA_SIGNAL_CONDITION_LT:
      return value < than;
    default:
      return value >= than;
  }
}

void execute(hsa_kernel_dispatch_packet_t packet) {
  if (type_of(packet.header) == HSA_PACKET_TYPE_KERNEL_DISPATCH) {
    std::uint64_t start = ticks();
    ::usleep(static_cast<useconds_t>(1000 * number("KERNEL_MS", "0")));
    run(packet);
    if (packet.completion_signal.handle) {
      at(packet.completion_signal).start = start;
      at(packet.completion_signal).end = ticks();
    }
  } else {
    hsa_barrier_and_packet_t barrier;
    std::memcpy(&barrier, &packet, sizeof barrier);
    for (hsa_signal_t one : barrier.dep_signal)
      if (one.handle) wait(one, HSA_SIGNAL_CONDITION_EQ, 0, UINT64_MAX);
  }
  subtract(packet.completion_signal);
}

void serve(Queue& queue) {
  for (;;) {
    {
      std::unique_lock<std::mutex> hold(tick_mutex);
      auto ready = [&] { return queue.doorbell.value >= static_cast<hsa_signal_value_t>(queue.read.load()); };
      tick.wait(hold, [&] { return queue.ending || ready(); });
      if (!ready()) return;
    }
    auto& slot = queue.ring[queue.read % queue.ring.size()];
    while (type_of(__atomic_load_n(&slot.header, __ATOMIC_ACQUIRE)) == HSA_PACKET_TYPE_INVALID) ::usleep(10);
    hsa_kernel_dispatch_packet_t packet = slot;
    __atomic_store_n(&slot.header, kInvalid, __ATOMIC_RELEASE);
    execute(packet);
    ++queue.read;
  }
}

std::unique_ptr<Queue> made(std::uint32_t size, hsa_queue_type32_t type) {
  auto queue = std::make_unique<Queue>();
  queue->ring.resize(size);
  for (auto& packet : queue->ring) packet.header = kInvalid;
  queue->doorbell.value = -1;
  queue->doorbell.doorbell_of = queue.get();
  queue->shown.type = type;
  queue->shown.base_address = queue->ring.data();
  queue->shown.doorbell_signal = {reinterpret_cast<std::uint64_t>(&queue->doorbell)};
  queue->shown.size = size;
  return queue;
}

void start(Queue& queue) {
  queue.worker = std::thread([&queue] { serve(queue); });
}

hsa_status_t create(hsa_agent_t, std::uint32_t size, hsa_queue_type32_t type,
                    void (*)(hsa_status_t, hsa_queue_t*, void*), void*, std::uint32_t, std::uint32_t,
                    hsa_queue_t** out) {
  Queue* queue = made(size, type).release();
  start(*queue);
  *out = &queue->shown;
  return HSA_STATUS_SUCCESS;
}

// One batch on its way to the hardware queue.
struct Passing {
  Queue* queue = nullptr;
  std::size_t handler = 0;
  int written = 0;
};
thread_local Passing passing;

void submit(Queue& hardware, const hsa_kernel_dispatch_packet_t* packets, std::uint64_t count) {
  for (std::uint64_t at = 0; at < count; ++at) {
    std::uint64_t index = hardware.write++;
    while (index - hardware.read >= hardware.ring.size()) ::usleep(10);
    auto& slot = hardware.ring[index % hardware.ring.size()];
    std::memcpy(reinterpret_cast<char*>(&slot) + 2, reinterpret_cast<const char*>(&packets[at]) + 2, 62);
    __atomic_store_n(&slot.header, packets[at].header, __ATOMIC_RELEASE);
    store(hardware.doorbell, static_cast<hsa_signal_value_t>(index));
  }
}

void writer(const void* packets, std::uint64_t count) {
  if (!passing.queue) misuse("packets were written outside of an interception");
  if (++passing.written > 1 && option("TABLE", "6") == "5")
    misuse("an interception wrote twice, which ROCm 5 does not allow");
  submit(*passing.queue->hardware, static_cast<const hsa_kernel_dispatch_packet_t*>(packets), count);
}

void intercept(Queue& queue) {
  if (passing.queue) misuse("a doorbell was rung inside an interception");
  std::lock_guard<std::mutex> hold(queue.intercepting);
  std::vector<hsa_kernel_dispatch_packet_t> batch;
  for (; queue.next < queue.write; ++queue.next) {
    auto& slot = queue.ring[queue.next % queue.ring.size()];
    if (type_of(__atomic_load_n(&slot.header, __ATOMIC_ACQUIRE)) == HSA_PACKET_TYPE_INVALID) break;
    batch.push_back(slot);
    __atomic_store_n(&slot.header, kInvalid, __ATOMIC_RELEASE);
  }
  queue.read = queue.next;
  if (batch.empty()) return;
  if (queue.handlers.empty()) return submit(*queue.hardware, batch.data(), batch.size());
  std::size_t step = option("ONE_BY_ONE") == "1" ? 1 : batch.size();
  for (std::size_t at = 0; at < batch.size(); at += step) {
    passing = {&queue, 0, 0};
    queue.handlers.back().first(batch.data() + at, step, queue.next, queue.handlers.back().second, writer);
    passing = {};
  }
}

hsa_status_t create_intercepted(hsa_agent_t, std::uint32_t size, hsa_queue_type32_t type,
                                void (*)(hsa_status_t, hsa_queue_t*, void*), void*, std::uint32_t, std::uint32_t,
                                hsa_queue_t** out) {
  Queue* queue = made(size, type).release();
  queue->hardware = made(size, type);
  start(*queue->hardware);
  *out = &queue->shown;
  return HSA_STATUS_SUCCESS;
}

hsa_status_t register_handler(hsa_queue_t* queue, hsa_amd_queue_intercept_handler handler, void* data) {
  reinterpret_cast<Queue*>(queue)->handlers.emplace_back(handler, data);
  return HSA_STATUS_SUCCESS;
}

hsa_status_t destroy(hsa_queue_t* shown) {
  auto* queue = reinterpret_cast<Queue*>(shown);
  Queue& running = queue->hardware ? *queue->hardware : *queue;
  {
    std::lock_guard<std::mutex> hold(tick_mutex);
    running.ending = true;
  }
  tick.notify_all();
  running.worker.join();
  delete queue;
  return HSA_STATUS_SUCCESS;
}

hsa_status_t create_described(hsa_agent_t agent, QueueDescription* descriptions, std::uint32_t count) {
  for (std::uint32_t at = 0; at < count; ++at) {
    QueueDescription& one = descriptions[at];
    create(agent, one.queue_size_bytes / 64, one.engine.compute.type, nullptr, nullptr, 0, 0, &one.queue);
  }
  return HSA_STATUS_SUCCESS;
}

}  // namespace

std::uint64_t ticks() {
  auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count()) / 10;
}

void store(Signal& signal, hsa_signal_value_t value) {
  {
    std::lock_guard<std::mutex> hold(tick_mutex);
    signal.value = value;
  }
  tick.notify_all();
  if (signal.doorbell_of && signal.doorbell_of->hardware) intercept(*signal.doorbell_of);
}

void add(Signal& signal, hsa_signal_value_t value) {
  {
    std::lock_guard<std::mutex> hold(tick_mutex);
    signal.value += value;
  }
  tick.notify_all();
}

void subtract(hsa_signal_t signal) {
  if (signal.handle) add(at(signal), -1);
}

hsa_signal_value_t wait(hsa_signal_t signal, hsa_signal_condition_t condition, hsa_signal_value_t than,
                        std::uint64_t timeout_ticks) {
  std::unique_lock<std::mutex> hold(tick_mutex);
  auto done = [&] { return holds(at(signal).value, condition, than); };
  if (timeout_ticks == UINT64_MAX)
    tick.wait(hold, done);
  else
    tick.wait_for(hold, std::chrono::nanoseconds(timeout_ticks * 10), done);
  return at(signal).value;
}

void add_calls(CoreApiTable& core) {
  core.hsa_signal_create_fn = [](hsa_signal_value_t value, std::uint32_t, const hsa_agent_t*, hsa_signal_t* out) {
    auto* signal = new Signal;
    signal->value = value;
    *out = {reinterpret_cast<std::uint64_t>(signal)};
    return HSA_STATUS_SUCCESS;
  };
  core.hsa_signal_destroy_fn = [](hsa_signal_t signal) {
    at(signal).destroyed = true;
    return HSA_STATUS_SUCCESS;
  };
  core.hsa_signal_load_scacquire_fn = [](hsa_signal_t signal) { return at(signal).value.load(); };
  core.hsa_signal_store_screlease_fn = [](hsa_signal_t signal, hsa_signal_value_t value) { store(at(signal), value); };
  core.hsa_signal_add_scacq_screl_fn = [](hsa_signal_t signal, hsa_signal_value_t value) { add(at(signal), value); };
  core.hsa_signal_wait_scacquire_fn = [](hsa_signal_t signal, hsa_signal_condition_t condition, hsa_signal_value_t than,
                                         std::uint64_t timeout,
                                         hsa_wait_state_t) { return wait(signal, condition, than, timeout); };
  core.hsa_queue_create_fn = create;
  core.hsa_queue_destroy_fn = destroy;
  core.hsa_queue_load_read_index_scacquire_fn = [](const hsa_queue_t* queue) {
    return reinterpret_cast<const Queue*>(queue)->read.load();
  };
  core.hsa_queue_load_write_index_relaxed_fn = [](const hsa_queue_t* queue) {
    return reinterpret_cast<const Queue*>(queue)->write.load();
  };
  core.hsa_queue_add_write_index_scacq_screl_fn = [](const hsa_queue_t* queue, std::uint64_t count) {
    return const_cast<Queue*>(reinterpret_cast<const Queue*>(queue))->write.fetch_add(count);
  };
  core.hsa_queue_cas_write_index_scacq_screl_fn = [](const hsa_queue_t* queue, std::uint64_t expected,
                                                     std::uint64_t value) {
    const_cast<Queue*>(reinterpret_cast<const Queue*>(queue))->write.compare_exchange_strong(expected, value);
    return expected;
  };
  core.hsa_queue_store_write_index_screlease_fn = [](const hsa_queue_t* queue, std::uint64_t value) {
    const_cast<Queue*>(reinterpret_cast<const Queue*>(queue))->write.store(value);
  };
}

void* amd_call(const std::string& name) {
  static const std::map<std::string, void*> calls = {
      {"hsa_amd_queue_intercept_create", reinterpret_cast<void*>(create_intercepted)},
      {"hsa_amd_queue_intercept_register", reinterpret_cast<void*>(register_handler)},
      {"hsa_amd_queue_create", reinterpret_cast<void*>(create_described)},
      {"hsa_amd_queue_set_priority",
       reinterpret_cast<void*>(+[](hsa_queue_t*, hsa_amd_queue_priority_t) { return HSA_STATUS_SUCCESS; })},
      {"hsa_amd_profiling_set_profiler_enabled",
       reinterpret_cast<void*>(+[](hsa_queue_t*, int) { return HSA_STATUS_SUCCESS; })},
      {"hsa_amd_profiling_get_dispatch_time",
       reinterpret_cast<void*>(+[](hsa_agent_t, hsa_signal_t signal, hsa_amd_profiling_dispatch_time_t* out) {
         *out = {at(signal).start, at(signal).end};
         return HSA_STATUS_SUCCESS;
       })},
  };
  auto known = calls.find(name);
  return known == calls.end() ? amd_memory_call(name) : known->second;
}

}  // namespace standin
